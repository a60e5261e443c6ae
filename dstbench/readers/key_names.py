"""What the name of a record's key says: which field it is, or of which side it holds the cumulative state."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Side = Literal["gold", "pred", "either"]

#: Names of the dialogue's id, in order of preference.
DIALOGUE: Final = (
    "dialogue_id", "dialog_id", "dial_id", "dialogue_idx", "dialog_idx", "dial_idx", "dialogue_name", "dialogue_index",
    "conversation_id", "conv_id", "session_id", "dialogue", "dialog", "original_id", "flag", "custom_id", "id", "ids",
    "guid", "example_id", "sample_id", "key", "uid", "idx", "file", "file_name", "filename",
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

# Words in the names of states, which name no side; and words beside them that do not change the meaning.
_STATE: Final = frozenset({"state", "states", "belief", "beliefs", "bs", "slot", "slots", "value", "values", "dst"})
_NEUTRAL: Final = frozenset({"dialogue", "dialog", "cumulative", "accumulated", "full", "all", "current", "dict"})
# Words that name a side plainly, and weaker ones.
_GOLD: Final = frozenset({"gold", "golds", "golden", "gt", "gts", "ground", "truth", "true"})
_GOLD_WEAK: Final = frozenset({"label", "labels", "target", "targets", "reference", "references", "answer", "expected"})
_PRED: Final = frozenset({"pred", "preds", "predict", "predicted", "prediction", "predictions", "hyp", "hypothesis"})
_PRED_WEAK: Final = frozenset({"output", "outputs", "generated", "response", "responses", "completion"})
# Words that mean a prediction only beside a word of states, as in `total_state`.
_PRED_BESIDE: Final = frozenset({"total", "model", "tracked", "parsed"})
_KNOWN: Final = _STATE | _NEUTRAL | _GOLD | _GOLD_WEAK | _PRED | _PRED_WEAK | _PRED_BESIDE
# Words of what one turn adds or changes, and of the state in another turn.
_NOT_CUMULATIVE: Final = frozenset({
    "turn", "delta", "deltas", "update", "updates", "change", "changes", "diff",
    "last", "prev", "previous", "prior", "initial", "init", "next", "old", "before",
})  # fmt: skip
# Names that do not mean what their words say: TRADE's gold is cumulative; FGA and DAMD's descendants abbreviate.
_EXACTLY: Final[dict[str, Side]] = {"turn_belief": "gold", "pr": "pred", "bspn": "gold", "bspn_gen": "pred"}

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_TURN_NUMBER: Final = re.compile(r"(?:turn[-_ ]?)?([0-9]{1,19})", re.IGNORECASE)
# A longer key is no name.
_LONGEST: Final = 100


class Meaning(NamedTuple):
    """The side of the states under a key (``either``: its name does not say), and how clearly the name says so.

    The rank is 0 for a plain and 1 for a weaker word of a side, 2 and 3 for these beside unknown words, and 4 for words
    of states only.
    """

    side: Side
    rank: int


@lru_cache(maxsize=4096)
def folded(key: str) -> str:
    """A key in lower case, its words joined by underscores; a very long one is no name, and stays as it is.

    >>> folded("dialogueID"), folded("Ground-Truth"), folded("turn idx")
    ('dialogue_id', 'ground_truth', 'turn_idx')
    """
    return key if len(key) > _LONGEST else "_".join(_WORD.findall(key)).lower()


def turn_in(text: str) -> int | None:
    """The turn that a text names; None: it names none.

    >>> turn_in("3"), turn_in("turn_3"), turn_in("Turn 3"), turn_in("3rd"), turn_in("MUL0484-3")
    (3, 3, 3, None, None)
    """
    match = _TURN_NUMBER.fullmatch(text.strip())
    return int(match[1]) if match is not None else None


@lru_cache(maxsize=4096)
def meaning(key: str) -> Meaning | None:
    """What a key's name says of the states under it; None: it is not the name of cumulative states.

    >>> meaning("gold_belief_state"), meaning("state"), meaning("predict_turn_label"), meaning("utterance")
    (Meaning(side='gold', rank=0), Meaning(side='either', rank=4), None, None)
    """
    name = folded(key)
    words = set(name.split("_"))
    if name in _EXACTLY:
        return Meaning(_EXACTLY[name], 0)
    if len(key) > _LONGEST or words & _NOT_CUMULATIVE:
        return None
    pred_weak = _PRED_WEAK | _PRED_BESIDE if words & _STATE else _PRED_WEAK
    sides: tuple[tuple[Side, int, frozenset[str]], ...] = (
        ("pred", 0, _PRED), ("gold", 0, _GOLD), ("gold", 1, _GOLD_WEAK), ("pred", 1, pred_weak),
    )  # fmt: skip
    for side, rank, names in sides:
        if words & names:
            return Meaning(side, rank if words <= _KNOWN else rank + 2)
    return Meaning("either", 4) if words & _STATE and words <= _STATE | _NEUTRAL else None


def name_sides(keys: Iterable[str], *sides: Side) -> bool:
    """Whether some of these keys say plainly that they hold gold or predictions (or those of `sides` only)."""
    meanings = [of_key for key in keys if (of_key := meaning(key)) is not None and of_key.rank < 2]
    return any(not sides or of_key.side in sides for of_key in meanings)


def says_its_side(key: str) -> bool:
    """Whether a key says plainly, in known words only, that it holds gold or predictions."""
    return (of_key := meaning(key)) is not None and of_key.rank == 0


def name_record(keys: Iterable[str]) -> bool:
    """Whether these keys name a dialogue, a turn or predictions, so that an object with them is a record by itself."""
    return name_sides(keys, "pred") or any(folded(key) in DIALOGUE + TURN for key in keys)
