"""ParlAI's world logs of DST-BART (Qian et al. 2021), and CheckDST's predictions (Cho et al. 2022).

Conventions: JSON Lines; cumulative states as triples ``hotel book day friday`` between commas. ``not mentioned`` is
how these files leave a slot out, and such a value is no value; a literal ``none`` and ``dontcare`` are kept as
written. A value that contains a comma reads as two, as it does upstream.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dstbench.readers.source import Format, Source
from dstbench.readers.states import States
from dstbench.readers.text_states import TextStates, lines, sniff_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.readers.source import Said


class ParlaiTeacher(msgspec.Struct):
    """What ParlAI's teacher says: the turn and its gold, whose key depends on the split."""

    dial_id: str
    turn_num: int
    eval_labels: list[str] | msgspec.UnsetType = msgspec.UNSET
    labels: list[str] | msgspec.UnsetType = msgspec.UNSET


class ParlaiModel(msgspec.Struct):
    """What the model answers: the predicted state."""

    text: str


class ParlaiLine(msgspec.Struct):
    """One line of a ParlAI world log: an episode of one exchange."""

    dialog: list[tuple[ParlaiTeacher, ParlaiModel]]


class CheckdstLine(msgspec.Struct):
    """One line of CheckDST's predictions (Cho et al. 2022)."""

    dial_id: str
    gold: str
    pred: str


class SpokenTeacher(msgspec.Struct):
    """A turn of ParlAI, and what was said up to it."""

    dial_id: str
    turn_num: int
    text: str = ""


class SpokenLine(msgspec.Struct):
    """A line of a ParlAI world log."""

    dialog: list[tuple[SpokenTeacher, Any]]


def sniff(source: Source) -> bool:
    """Whether lines hold ``dialog``."""
    return sniff_lines(source, "dialog")


def read(source: Source) -> States:
    """Read a ParlAI world log of the task ``multiwoz_dst``."""
    texts = TextStates(source, FORMAT)
    for place, line in lines(source, FORMAT):
        for teacher, model in line.dialog:
            gold = teacher.labels if teacher.eval_labels is msgspec.UNSET else teacher.eval_labels
            if gold is msgspec.UNSET or len(gold) != 1:
                found = "no" if gold is msgspec.UNSET else len(gold)
                raise source.error(
                    f"{place}: {found} gold states where one is meant (eval_labels, or labels)",
                    FORMAT.hint,
                    dialogue=teacher.dial_id,
                    turn=teacher.turn_num,
                )
            at = texts.states.turn(teacher.dial_id, teacher.turn_num)
            texts.triples(at, texts.states.gold, _unwrap(gold[0]))
            texts.triples(at, texts.states.pred, _unwrap(model.text))
    if skipped := texts.states.skipped():
        texts.states.note(
            f"{skipped:,} turns between others are not in the file: is it the sample of 3,000 validation turns that "
            "ParlAI evaluates unless told otherwise?"
        )
    return texts.build()


def _unwrap(state: str) -> list[str]:
    """The triples of a comma-separated state, without ``<bs>`` and ``</bs>`` around it."""
    return state.strip().removeprefix("<bs>").removesuffix("</bs>").split(",")


def sniff_checkdst(source: Source) -> bool:
    """Whether lines hold ``dial_id``, ``gold`` and ``pred``."""
    return sniff_lines(source, "dial_id", "gold", "pred")


def read_checkdst(source: Source) -> States:
    """Read CheckDST's predictions; the turn stands after the last hyphen of ``dial_id``."""
    texts = TextStates(source, CHECKDST)
    for place, line in lines(source, CHECKDST):
        at = texts.states.turn(*source.dialogue_and_turn(line.dial_id, "-", f"{place}: the dial_id"))
        texts.triples(at, texts.states.gold, _unwrap(line.gold))
        texts.triples(at, texts.states.pred, _unwrap(line.pred))
    return texts.build()


def said(source: Source) -> Iterator[Said]:
    """What was said in each turn."""
    for _, line in lines(source, FORMAT, SpokenLine):
        for teacher, _ in line.dialog:
            # "<user> … <system> … <user> …": alternately who and what, after what stands before the first of them.
            words = [word.strip() for word in re.split(r"<(user|system)>", teacher.text)[1:]]
            user = words[-1] if words[-2:-1] == ["user"] else None
            system = words[-3] if user is not None and words[-4:-3] == ["system"] else None
            yield teacher.dial_id, teacher.turn_num, system, user


FORMAT: Final = Format(
    name="parlai",
    title="ParlAI world logs of DST-BART (Qian et al. 2021)",
    holds=("gold", "pred"),
    example=(
        '{"dialog": [[{"dial_id": "mul9901.json", "turn_num": 0, "eval_labels": ["hotel area north,"]}, '
        '{"text": "hotel area north,"}]]}'
    ),
    shape=ParlaiLine,
    sniff=sniff,
    read=read,
    said=said,
)
CHECKDST: Final = Format(
    name="checkdst",
    title="CheckDST predictions",
    holds=("gold", "pred"),
    example='{"dial_id": "mul9901-0", "gold": "hotel area north,", "pred": "hotel area north,"}',
    shape=CheckdstLine,
    sniff=sniff_checkdst,
    read=read_checkdst,
)
