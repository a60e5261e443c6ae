"""ParlAI's world logs of DST-BART (Qian et al. 2021).

Conventions: JSON Lines; cumulative states as triples ``hotel book day friday`` between commas. ``not mentioned`` says
that a slot is not in the state; a literal ``none`` and ``dontcare`` are kept as written. A value that contains a comma
is split there, as in the authors' code.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from dstbench.readers.format import Format, Said, Source, StatesBuilder
from dstbench.readers.notations import NOTATIONS
from dstbench.readers.states import noting_gaps

_COMMAS: Final = NOTATIONS["commas"]


class ParlaiTeacher(msgspec.Struct):
    """What ParlAI's teacher says: the turn, its gold, whose key depends on the split, and what was said up to it."""

    dial_id: str
    turn_num: int
    eval_labels: list[str] | msgspec.UnsetType = msgspec.UNSET
    labels: list[str] | msgspec.UnsetType = msgspec.UNSET
    text: str = ""


class ParlaiModel(msgspec.Struct):
    """What the model answers: the predicted state."""

    text: str


class ParlaiLine(msgspec.Struct):
    """One line of a ParlAI world log: an episode of one exchange."""

    dialog: list[tuple[ParlaiTeacher, ParlaiModel]]


def _read(source: Source, states: StatesBuilder) -> None:
    for place, item in source.whole_lines():
        line = source.convert(item, ParlaiLine, place=place)
        if not line.dialog:
            raise source.misshapen(f"{place}a dialogue without turns")
        for teacher, model in line.dialog:
            gold = teacher.eval_labels or teacher.labels or []
            if len(gold) != 1:
                what = f"{place}{len(gold) or 'no'} gold states, where there must be one (eval_labels, or labels)"
                raise source.misshapen(what, dialogue=teacher.dial_id, turn=teacher.turn_num)
            at = states.turn(teacher.dial_id, teacher.turn_num)
            states.gold.state(at, _COMMAS.pairs(gold[0]))
            states.pred.state(at, _COMMAS.pairs(model.text))


def _said(source: Source) -> Iterator[Said]:
    for place, item in source.whole_lines():
        for teacher, _ in source.convert(item, ParlaiLine, place=place).dialog:
            # "<user> a <system> b <user> c" becomes ["user", "a", "system", "b", "user", "c"].
            words = [word.strip() for word in re.split(r"<(user|system)>", teacher.text)[1:]]
            user = words[-1] if words[-2:-1] == ["user"] else None
            system = words[-3] if user is not None and words[-4:-3] == ["system"] else None
            yield teacher.dial_id, teacher.turn_num, system, user


FORMAT: Final = Format(
    name="parlai",
    title="ParlAI world logs of DST-BART (Qian et al. 2021)",
    example=(
        '{"dialog": [[{"dial_id": "mul9901.json", "turn_num": 0, "eval_labels": ["hotel area north,"]}, '
        '{"text": "hotel area north,"}]]}'
    ),
    shape=ParlaiLine,
    sniff=lambda source: isinstance((source.first_line("dialog") or {}).get("dialog"), list),
    reader=_read,
    omits=("not mentioned",),
    finish=noting_gaps(": is it the sample of 3,000 validation turns that ParlAI evaluates unless told otherwise?"),
    said=_said,
)
