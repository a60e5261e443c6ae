"""The usual names of records' keys, in lower case, their words joined by underscores; ``--keys`` gives others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

#: Names of the dialogue's id, in order of preference.
DIALOGUE: Final = (
    "dialogue_id", "dialog_id", "dial_id", "dialogue_idx", "dialog_idx", "dial_idx", "dialogue_name", "dialogue_index",
    "conversation_id", "conv_id", "session_id", "dialogue", "dialog", "original_id", "flag", "id", "ids", "guid",
    "example_id", "sample_id", "key", "uid", "idx", "file", "file_name", "filename",
)  # fmt: skip
#: Of these, the names that only dialogues have.
DIALOGUE_ONLY: Final = DIALOGUE[: DIALOGUE.index("dialogue")]
#: Names of the turn's number.
TURN: Final = (
    "turn", "turn_id", "turn_idx", "turn_num", "turn_index", "turn_number", "turn_no", "dialogue_turn", "dialog_turn",
    "user_turn", "round",
)  # fmt: skip
#: Names of a slot, in rows of one slot each; and of its domain, if it has a key of its own.
SLOT: Final = ("slot", "slot_name", "domain_slot")
DOMAIN: Final = ("domain",)
#: Names of who speaks, in lists of both speakers' turns.
SPEAKER: Final = ("role", "speaker", "from")
#: Names of what the system said before the user, and of what the user said.
SYSTEM: Final = ("system", "system_utterance", "sys", "system_transcript", "agent")
USER: Final = ("user", "user_utterance", "usr", "user_input", "transcript", "utterance")
#: Names of the gold state: those of nothing else; and those that other things have, too, if there is none of these.
GOLD: Final = (
    ("gold", "golds", "gold_state", "gold_states", "gold_belief", "gold_belief_state", "gold_bs", "gold_slots",
     "gold_dst", "gold_label", "gold_labels", "gt", "gt_state", "ground_truth", "ground_truth_state", "truth", "true",
     "true_state", "true_belief_state", "turn_belief", "bspn"),
    ("label", "labels", "target", "targets", "target_state", "reference", "references", "ref", "refs", "answer",
     "expected", "expected_output"),
)  # fmt: skip
#: Likewise, of the predicted state.
PRED: Final = (
    ("pred", "preds", "pred_state", "pred_states", "pred_belief", "pred_belief_state", "pred_bs", "pred_bs_ptr",
     "pred_slots", "pred_dst", "pred_label", "predict", "predicted", "predicted_state", "predicted_belief",
     "predicted_belief_state", "predicted_slots", "prediction", "predictions", "pr", "bspn_gen", "hyp", "hypothesis"),
    ("output", "outputs", "model_output", "model_state", "output_state", "total_state", "response", "responses",
     "generated", "generated_state", "generated_text", "completion"),
)  # fmt: skip
#: Names of states that may be gold or predicted.
EITHER: Final = (
    "state", "states", "belief", "beliefs", "belief_state", "belief_states", "bs", "dialogue_state", "dialog_state",
    "current_state", "cumulative_state", "slot_values", "slots", "dst", "value",
)  # fmt: skip
#: All names of predictions, and of states.
PREDICTIONS: Final = PRED[0] + PRED[1]
STATES: Final = GOLD[0] + GOLD[1] + PREDICTIONS + EITHER

_PLAIN: Final = frozenset(GOLD[0] + PRED[0])
# Words of what one turn adds or changes, and of the state in another turn.
_OF_OTHERS: Final = re.compile(
    r"(^|_)(turn|deltas?|updates?|changes?|diff|last|prev(ious)?|prior|init(ial)?|next)(_|$)"
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_TURN_NUMBER: Final = re.compile(r"(?:turn[-_ ]?)?([0-9]{1,19})", re.IGNORECASE)
# A longer key is no name.
_LONGEST: Final = 100


@lru_cache(maxsize=4096)
def folded(key: str) -> str:
    """A key in lower case, its words joined by underscores; a very long one is no name, and stays as it is."""
    return key if len(key) > _LONGEST else "_".join(_WORD.findall(key)).lower()


def named(keys: Iterable[Any], names: Iterable[str]) -> list[str]:
    """The keys that have these names, in the order of the names."""
    by_name = {folded(key): key for key in reversed([*keys]) if isinstance(key, str)}
    return [by_name[name] for name in names if name in by_name]


def says_its_side(key: Any) -> bool:
    """Whether a key has a name that only gold, or only predictions, have."""
    return isinstance(key, str) and folded(key) in _PLAIN


def cumulative(keys: Iterable[str]) -> list[str]:
    """The keys of states whose names do not say that these are of one turn only, or of another turn."""
    return [key for key in keys if not _OF_OTHERS.search(folded(key))]


def turn_in(text: str) -> int | None:
    """The turn that a text names; None: it names none."""
    match = _TURN_NUMBER.fullmatch(text.strip())
    return int(match[1]) if match is not None else None
