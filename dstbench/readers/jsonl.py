"""dstbench's own format: one JSON object per line and turn, for models whose code writes no predictions.

Conventions: ``dialogue_id`` and ``turn`` (user turns from 0) name the turn; ``gold`` and ``pred`` are cumulative states
``{"hotel-area": "north"}``. A slot that is not in the state is left out. A line may lack ``gold`` (then ``--gold``
gives it) or ``pred`` (then the turn has no prediction). ``system`` and ``user`` are utterances: that of the system
before the user's turn, and the user's. A JSON list of such objects is read, too. Files with other keys or values are
read as `records`, with notes on what was read loosely.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from dstbench.readers import records
from dstbench.readers.document import Document, LinesDocument
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.rows import Row


def _decoded(source: Source) -> list[Any]:
    return source.json if source.kind == "json" else [item for _, item in source.json_lines()]


def _sniff(source: Source) -> bool:
    if source.kind == "jsonl":
        return source.first_line("dialogue_id") is not None
    items = source.sample if source.kind == "json" and isinstance(source.sample, list) else []
    return any({"dialogue_id", "turn"} <= item.keys() for item in items if isinstance(item, dict))


def _read(source: Source, states: StatesBuilder) -> None:
    if source.kind not in ("json", "jsonl"):
        raise source.misshapen("not JSON Lines")
    records.FORMAT.reader(source, states)


_ROW: Final = Row(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    path="[dialogue=dialogue_id,turn=turn]", gold="gold?:flat", pred="pred?:flat", said=("system", "user"),
    decode=_decoded,
    document=lambda source, row: (Document if source.kind == "json" else LinesDocument)(source, row),
)  # fmt: skip
FORMAT: Final[Format] = replace(
    _ROW.format(), sniff=_sniff, reader=_read, said=records.FORMAT.said,
    finish=records.FORMAT.finish, free_keys=True,
)  # fmt: skip
