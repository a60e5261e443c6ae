"""What the name of a record's key says: which field it is, and whether a state under it is cumulative.

Every repository names its keys in its own way, but of the same few words: `ground_truth`, `gold_belief_state`,
`predBelief`. The words are listed here; `record_keys` chooses among the keys of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Side = Literal["gold", "pred", "either"]
Span = Literal["cumulative", "turn", "another turn"]

# Words of states, which name no side.
_STATE: Final = frozenset({"state", "states", "belief", "beliefs", "bs", "slot", "slots", "value", "values", "dst"})
# Words beside these that do not change the meaning.
_NEUTRAL: Final = frozenset({
    "dialogue", "dialog", "cumulative", "accumulated", "full", "all", "current", "dict", "json", "set", "y",
})  # fmt: skip
_GOLD: Final = frozenset({"gold", "golds", "golden", "gt", "gts", "ground", "truth", "groundtruth", "true"})
_GOLD_WEAK: Final = frozenset({
    "label", "labels", "target", "targets", "reference", "references", "ref", "answer", "answers", "expected", "actual",
    "annotation",
})  # fmt: skip
_PRED: Final = frozenset({
    "pred", "preds", "predict", "predicts", "predicted", "prediction", "predictions", "hyp", "hyps", "hypothesis",
})  # fmt: skip
_PRED_WEAK: Final = frozenset({
    "output", "outputs", "generated", "generation", "gen", "inferred", "response", "responses", "completion",
})  # fmt: skip
# Words that mean a prediction only beside a word of states.
_PRED_BESIDE: Final = frozenset({"total", "model", "tracked", "parsed", "result"})
_KNOWN: Final = _STATE | _NEUTRAL | _GOLD | _GOLD_WEAK | _PRED | _PRED_WEAK | _PRED_BESIDE
# Words of what one turn adds or changes, and of the state in another turn.
_OF_TURN: Final = frozenset({"turn", "delta", "deltas", "update", "updates", "change", "changes", "diff"})
_OF_ANOTHER: Final = frozenset({"last", "prev", "previous", "prior", "initial", "init", "next", "old", "before"})
# Names that do not mean what their words say: TRADE's gold is cumulative; FGA and DAMD's descendants abbreviate.
_EXACTLY: Final[dict[str, tuple[Side, int]]] = {
    "turn_belief": ("gold", 0), "pr": ("pred", 0), "bspn": ("gold", 0), "bspn_gen": ("pred", 0),
}  # fmt: skip

_TURN_NUMBER: Final = re.compile(r"(?:turn[-_ ]?)?([0-9]{1,19})", re.IGNORECASE)
# A longer key is no name.
_LONGEST: Final = 100
#: Names of the dialogue's id, in order of preference.
DIALOGUE: Final = (
    "dialogue_id", "dialog_id", "dial_id", "dialogue_idx", "dialog_idx", "dial_idx", "dialogue_name", "dialogue_index",
    "dialog_index", "conversation_id", "conv_id", "convo_id", "session_id", "dialogue", "dialog", "original_id",
    "flag", "custom_id", "id", "ids", "guid", "example_id", "sample_id", "key", "uid", "idx", "file", "file_name",
    "filename",
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


class Meaning(NamedTuple):
    """What the name of a key of states says: their side (``either``: none), how clearly, and if they are cumulative.

    The rank is 0 for a plain and 1 for a weaker word of a side, 2 and 3 for these beside unknown words, and 4 for words
    of states only.
    """

    side: Side
    rank: int
    span: Span


@lru_cache(maxsize=4096)
def folded(key: str) -> str:
    """A key in lower case, its words joined by underscores; a very long one is no name, and stays as it is.

    >>> folded("dialogueID"), folded("Ground-Truth"), folded("turn idx")
    ('dialogue_id', 'ground_truth', 'turn_idx')
    """
    if len(key) > _LONGEST:
        return key
    return "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+", key)).lower()


def turn_in(text: str) -> int | None:
    """The turn that a text names; None: it names none.

    >>> turn_in("3"), turn_in("turn_3"), turn_in("Turn 3"), turn_in("3rd"), turn_in("MUL0484-3")
    (3, 3, 3, None, None)
    """
    match = _TURN_NUMBER.fullmatch(text.strip())
    return int(match[1]) if match is not None else None


def name_sides(keys: Iterable[str], *sides: Side) -> bool:
    """Whether some of these keys say plainly that they hold gold or predictions (or those of `sides` only)."""
    meanings = [said for key in keys if (said := meaning(key)) is not None and said.rank < 2]
    return any(not sides or said.side in sides for said in meanings)


def says_its_side(key: str) -> bool:
    """Whether a key says plainly, in known words only, that it holds gold or predictions."""
    return (said := meaning(key)) is not None and said.rank == 0


def name_record(keys: Iterable[str]) -> bool:
    """Whether these keys name a dialogue, a turn or predictions, so that an object with them is a record by itself."""
    return name_sides(keys, "pred") or any(folded(key) in DIALOGUE + TURN for key in keys)


@lru_cache(maxsize=4096)
def meaning(key: str) -> Meaning | None:
    """What a key's name says of states under it; None: it is not the name of states.

    >>> meaning("gold_belief_state"), meaning("predict_turn_label"), meaning("utterance")
    (Meaning(side='gold', rank=0, span='cumulative'), Meaning(side='pred', rank=0, span='turn'), None)
    """
    name = folded(key)
    if len(key) > _LONGEST:
        return None
    if name in _EXACTLY:
        return Meaning(*_EXACTLY[name], "cumulative")
    words = set(name.split("_"))
    span: Span = "another turn" if words & _OF_ANOTHER else "turn" if words & _OF_TURN else "cumulative"
    words -= _OF_TURN | _OF_ANOTHER
    pred_weak = _PRED_WEAK | _PRED_BESIDE if words & _STATE else _PRED_WEAK
    sides: tuple[tuple[Side, int, frozenset[str]], ...] = (
        ("pred", 0, _PRED), ("gold", 0, _GOLD), ("gold", 1, _GOLD_WEAK), ("pred", 1, pred_weak),
    )  # fmt: skip
    for side, rank, names in sides:
        if words & names:
            return Meaning(side, rank + 2 * bool(words - _KNOWN), span)
    if words & _STATE and words <= _STATE | _NEUTRAL:
        return Meaning("either", 4, span)
    return None
