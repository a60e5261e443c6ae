"""Columns and types of every table, in one place.

``data_schemas/`` is written from here (``python data_schemas/write.py``) and tested equal to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The latest version of the long table's layout; each file's is in its metadata. Version 2 has rows of frames; a table
#: without such rows is of version 1.
SCHEMA_VERSION: Final = 2
#: What stands between the alternatives of a multi-valued state, in gold and prediction columns.
BETWEEN: Final = "|"
#: The largest turn number that the tables hold.
MAX_TURN: Final = 2**16 - 1


@dataclass(frozen=True)
class Column:
    """One column: its Polars type, whether it may be null, what it means."""

    dtype: pl.DataType
    meaning: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A table's name, purpose and columns, in order; an open one may have more."""

    name: str
    meaning: str
    columns: Mapping[str, Column]
    is_open: bool = False

    @property
    def schema(self) -> pl.Schema:
        """The Polars schema of the table."""
        return pl.Schema({name: column.dtype for name, column in self.columns.items()})

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The table's columns of a frame, in the table's order and cast to its types; other columns are dropped."""
        return frame.select(pl.col(name).cast(column.dtype) for name, column in self.columns.items())

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema (2020-12) of one row, each column with its Polars type as ``x-polars``."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.name,
            "description": self.meaning,
            "type": "object",
            "properties": {name: _column_schema(column) for name, column in self.columns.items()},
            "required": list(self.columns),
            "additionalProperties": self.is_open,
        }


_LARGEST: Final[dict[pl.DataType, int]] = {pl.UInt16(): MAX_TURN, pl.UInt32(): 2**32 - 1, pl.UInt64(): 2**64 - 1}


def _column_schema(column: Column) -> dict[str, Any]:
    if column.dtype in (pl.String, pl.Categorical):
        json: dict[str, Any] = {"type": "string"}
    elif column.dtype == pl.Boolean:
        json = {"type": "boolean"}
    elif column.dtype == pl.Float64:
        json = {"type": "number"}
    else:
        json = {"type": "integer", "minimum": 0, "maximum": _LARGEST[column.dtype]}
    if column.nullable:
        json["type"] = [json["type"], "null"]
    return {"description": column.meaning, **json, "x-polars": str(column.dtype)}


_TEXT, _DICTIONARY, _COUNT, _NUMBER = pl.String(), pl.Categorical(), pl.UInt32(), pl.Float64()

#: Values that mean "not in the state", as most files have them.
NOTHING: Final = ("none", "")

LONG: Final = Table(
    "long table",
    "One row per (dialogue, turn, slot): a slot has a row from the first turn in which gold or prediction lists it "
    "to the dialogue's last turn; a turn in which no slot has been listed yet has one row with a null slot. "
    "Sorted by (dialogue, slot, turn). Rows of the slot <service>-#frame are those of a frame, as in SGD, and of no "
    "state: gold is not null where gold has the frame; a value is its active intent, then its requested slots, each "
    "after a bar.",
    {
        "dialogue": Column(_TEXT, "Canonical dialogue id: PMUL4234 for MultiWOZ, any other as it is."),
        "turn": Column(pl.UInt16(), "0-based index of the user turn."),
        "slot": Column(_DICTIONARY, "domain-slot; null where the turn has no slot yet.", nullable=True),
        "gold": Column(_DICTIONARY, "Value in the gold state, verbatim; null: not in the state.", nullable=True),
        "pred": Column(
            _DICTIONARY,
            "Value in the predicted state, verbatim; null: not in the state. With a null slot: the mark of a turn "
            "without a prediction, which counts as wrong (--missing wrong).",
            nullable=True,
        ),
    },
)

TURNS: Final = Table(
    "turn table",
    "One row per (dialogue, turn), or per (dialogue, turn, domain or slot): integer counts under a convention, "
    "from which every metric is a sum and a short expression. Sorted by (dialogue, [domain or slot,] turn).",
    {
        "dialogue": LONG.columns["dialogue"],
        "turn": LONG.columns["turn"],
        "n_gold": Column(_COUNT, "Slots with a gold value."),
        "n_pred": Column(_COUNT, "Slots with a predicted value."),
        "n_correct": Column(_COUNT, "Slots with both, where gold matches prediction."),
        "n_union": Column(_COUNT, "Slots with either (T* of Kim et al.)."),
        "n_charged_again": Column(_COUNT, "Wrong values that SA and RSA count as two slots (0 unless told to)."),
        "n_fresh_errors": Column(_COUNT, "Slots set or changed in this turn, in gold or prediction, and wrong (FGA)."),
        "local_error": Column(pl.Boolean(), "FGA: the turn is wrong and its error is not merely carried over."),
        "error_age": Column(
            pl.UInt16(),
            "FGA: turns since the latest local error, where the turn only carries an old error; else null.",
            nullable=True,
        ),
        "soft_correct": Column(pl.Float64(), "Sum of similarities of predicted to gold values, slots of both states."),
        "soft_joint": Column(
            pl.Float64(), "Product of similarities over the slots of both states; 0 where one side lacks a slot."
        ),
        "gca_correct": Column(_COUNT, "C: correct changes of state, counted as the GCA authors' code does."),
        "gca_wrong": Column(_COUNT, "W: wrong changes, likewise."),
        "gca_missed": Column(_COUNT, "M: missed changes, likewise."),
        "gca_over": Column(_COUNT, "O: over-predicted changes, likewise."),
        "gca_paper_correct": Column(_COUNT, "C, counted as Algorithm 1 of the GCA paper does."),
        "gca_paper_wrong": Column(_COUNT, "W, likewise."),
        "gca_paper_missed": Column(_COUNT, "M, likewise."),
        "gca_paper_over": Column(_COUNT, "O, likewise."),
    },
)

#: The group that says whether a service is one of the training set's.
SEEN: Final = "seen"
#: The group that is a dialogue's number of turns.
LENGTH: Final = "length"
#: What scores can be grouped by: a view, whether a service is seen, the dialogue's length in turns, or any column of
#: the turn table.
GROUPS: Final = (
    "run",
    "domain",
    "slot",
    "dialogue",
    "turn",
    SEEN,
    LENGTH,
    *(c for c in TURNS.columns if c[:2] == "n_"),
)

SCORES: Final = Table(
    "score rows",
    "One row per (run, group, metric). Beside these columns there is one per --by column, after `run`.",
    {
        "run": Column(_TEXT, "Name of the run."),
        "metric": Column(_TEXT, "The metric in dstbench's notation, e.g. fga:lam=0.25."),
        "unit": Column(_TEXT, "What the value is: share (tables show percent) or count."),
        "value": Column(pl.Float64(), "The score as a fraction (a count for count metrics); null: undefined.", True),
        "se": Column(
            pl.Float64(),
            "Standard error of the score over dialogues, linearised; null: undefined, a count, by slot or by dialogue.",
            True,
        ),
        "turns": Column(_COUNT, "Turns in the group."),
        "dialogues": Column(_COUNT, "Dialogues in the group."),
        "signature": Column(_TEXT, "Every setting that can move the number, and the version."),
    },
    is_open=True,
)

CONTEXTS: Final = Table(
    "contexts",
    "One row per (dialogue, turn): what was said. Sorted by (dialogue, turn).",
    {
        "dialogue": LONG.columns["dialogue"],
        "turn": LONG.columns["turn"],
        "system": Column(_TEXT, "What the system said before this turn; null: nothing, or unknown.", nullable=True),
        "user": Column(_TEXT, "What the user said; null: unknown.", nullable=True),
    },
)

#: By the name of their schema's file.
TABLES: Final = {
    "long_table": LONG,
    "turn_table": TURNS,
    "score_rows": SCORES,
    "contexts": CONTEXTS,
}
