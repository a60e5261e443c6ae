"""The predictions of SDP-DST, also called DST-as-Prompting (Lee et al. 2021).

Conventions: they are in two files. ``test.idx``, written by the preprocessing, has a line per turn and slot, with the
parts file, dialogue, turn, frame, domain and slot between ``|||``. ``generated_predictions.txt``, written by the script
of the model, has a predicted value per line, in the same order. The user names the first, or the folder of both; the
second must be beside it, under this name or as ``test.txt``. The rest is as in `ldst`: a line names a dialogue by its
id, or by its place in a file of gold's dataset; states are cumulative; ``NONE`` says that a slot is not in the state.
Blanks around a value are removed.
"""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

import msgspec

from dstbench.errors import DstbenchError
from dstbench.readers import ldst
from dstbench.readers.format import Format, Source, StatesBuilder

_PREDICTIONS: Final = "generated_predictions.txt"


class IndexLine(msgspec.Struct):
    """The parts of a line of ``test.idx``, between ``|||``."""

    file: str
    dialogue: str
    turn: str
    frame: str
    domain: str
    slot: str


_PARTS: Final = len(IndexLine.__struct_fields__)


def is_index(source: Source) -> bool:
    """Whether the first line of a file has the parts of an index, and numbers where an index has them."""
    if source.kind != "text":
        return False
    parts = source.raw.lstrip().partition(b"\n")[0].decode(errors="replace").strip().split(ldst.BAR)
    return len(parts) == _PARTS and parts[2].isdecimal() and parts[3].isdecimal()


def without_values(source: Source) -> DstbenchError:
    """The error for an index without a file of values."""
    what = f"it names slots, but the predicted values are missing: no {' or '.join(_names(source))} beside it"
    return source.error(what, "put that file there: one value per line, in the same order")


def _names(source: Source) -> tuple[str, str]:
    return _PREDICTIONS, f"{PurePath(source.path.name.removesuffix('.gz')).stem}.txt"


def _values(source: Source) -> Source | None:
    """The file of the predicted values; None: there is none."""
    return source.sibling(*_names(source))


def _lines(source: Source) -> Iterator[ldst.Predicted]:
    values = _values(source)
    if values is None:
        raise without_values(source)
    index = source.text.removesuffix("\n").split("\n")
    predicted = values.text.split("\n")
    if len(predicted) != len(index) and not predicted[-1]:  # the empty text after the last line break
        del predicted[-1]
    if len(predicted) != len(index):
        what = f"{len(index):,} lines, but {values.name} has {len(predicted):,}"
        raise source.error(what, "it must have a value for each line, in the same order: are both of the same split?")
    for number, (text, value) in enumerate(zip(index, predicted, strict=True), start=1):
        parts = text.strip().split(ldst.BAR)
        if len(parts) != _PARTS:
            raise source.misshapen(f"line {number} has {len(parts)} parts between {ldst.BAR}")
        line = IndexLine(*parts)
        turn = ldst.turn_number(source, number, line.dialogue, line.turn)
        yield ldst.Predicted(line.file, line.dialogue, turn, f"{line.domain}-{line.slot}", value.strip())


def _read(source: Source, states: StatesBuilder) -> None:
    if source.kind != "text":
        raise source.misshapen(f"no lines with {ldst.BAR}")
    ldst.add_lines(_lines(source), states)


FORMAT: Final = Format(
    name="sdp-dst",
    title=f"SDP-DST (test.idx, with {_PREDICTIONS} beside it); needs the dataset as --gold",
    holds=("pred",),
    example="dialogues_001.json|||0|||0|||4|||hotel|||area",
    shape=IndexLine,
    sniff=lambda source: is_index(source) and _values(source) is not None,
    reader=_read,
    omits=("NONE",),
    finish=ldst.needing_gold,
)
