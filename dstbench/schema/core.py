"""Declarations of tables: what a table is, and the tables that many modules share.

The JSON Schemas in ``data_schemas/`` are written from these declarations by ``python data_schemas/write.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import polars as pl

from dstbench.schema.kinds import Column, category, count, flag, number, score, text, turn

#: The latest version of the long table's layout; a file's version is in its metadata. A table with rows of frames has
#: version 2, any other has version 1.
SCHEMA_VERSION: Final = 2
#: Separates the alternatives of a multi-valued state, in gold and prediction columns.
BETWEEN: Final = "|"
#: Metadata of a dataclass field whose frame is not printed with the others, but written as a log.
LOGGED: Final = {"logged": True}
#: The largest turn number that the tables hold.
MAX_TURN: Final = 2**16 - 1


class Table:
    """A table: its title and what a row is, how rows are sorted, and its columns, in order.

    >>> table = Table("rates: One row per slot.", slot=text("domain-slot."), errors=count("Wrong turns."))
    >>> table.schema
    Schema([('slot', String), ('errors', UInt32)])
    """

    is_open = False

    def __init__(self, text: str = "", /, **columns: Column) -> None:
        self.title, _, self.meaning = text.partition(": ")
        self.columns = columns

    def only(self, *names: str) -> dict[str, Column]:
        """Some of the columns, for another table that has them too."""
        return {name: self.columns[name] for name in names}

    @cached_property
    def schema(self) -> pl.Schema:
        """The Polars schema of the table."""
        return pl.Schema({name: column.dtype for name, column in self.columns.items()})

    def of(self, rows: Sequence[Sequence[Any] | Mapping[str, Any]]) -> pl.DataFrame:
        """Rows as a frame; null for a value that a row lacks, and for NaN."""
        return pl.DataFrame(rows, schema=self.schema, orient="row").fill_nan(None)

    def empty(self) -> pl.DataFrame:
        """The table without a row."""
        return pl.DataFrame(schema=self.schema)

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The table's columns of a frame, in the table's order and cast to its types; other columns are dropped."""
        return frame.select(pl.col(name).cast(column.dtype) for name, column in self.columns.items())


class OpenTable(Table):
    """A table whose frames may have more columns than it declares."""

    is_open = True


def signed(meaning: str) -> Column:
    """A column of counts that may be negative."""
    return count(meaning)._replace(dtype=pl.Int64())


def interval(make: Callable[..., Column], lower: str, prefix: str = "") -> dict[str, Column]:
    """The columns of the two ends of an interval, which may be null; `lower` is what the lower one means."""
    return {f"{prefix}low": make(lower, nullable=True), f"{prefix}high": make("Upper end, likewise.", nullable=True)}


#: Values that mean "not in the state", as most files have them.
NOTHING: Final = ("none", "")

LONG: Final = Table(
    "long table: A row per (dialogue, turn, slot), sorted by (dialogue, slot, turn). A slot has a row from the first "
    "turn in which gold or prediction lists it to the last turn; a turn in which no slot is listed yet has one row "
    "with a null slot. A row with the slot <service>-#frame describes a frame: its active intent, then requested "
    "slots.",
    dialogue=text("Canonical dialogue id: PMUL4234 for MultiWOZ, any other as in the file."),
    turn=turn("0-based index of the user turn."),
    slot=category("domain-slot; null where the turn has no slot yet.", nullable=True),
    gold=category("Value in the gold state, verbatim; null: not in the state."),
    pred=category("Value in the predicted state; null: none. With a null slot: the mark of a turn without one."),
)

TURNS: Final = Table(
    "turn table: A row per (dialogue, turn[, domain or slot]): counts of a convention, sorted by these.",
    **LONG.only("dialogue", "turn"),
    n_gold=count("Slots with a gold value."),
    n_pred=count("Slots with a predicted value."),
    n_correct=count("Slots with both values, which match."),
    n_union=count("Slots with either value (T* of Kim et al.)."),
    n_charged_again=count("Wrong values that SA and RSA count as two slots (0 unless the convention says so)."),
    n_fresh_errors=count("Slots set or changed in this turn, in gold or prediction, and wrong (FGA)."),
    local_error=flag("FGA: the turn is wrong and its error is not merely carried over."),
    error_age=turn("FGA: turns since the latest local error; null: the turn does not merely carry over an old error."),
    soft_correct=number("Sum of similarities of predicted to gold values, over the slots of both states."),
    soft_joint=number("Product of similarities over the slots of both states; 0 where one side lacks a slot."),
    gca_correct=count("C: correct changes of state, counted as the GCA authors' code does."),
    gca_wrong=count("W: wrong changes, likewise."),
    gca_missed=count("M: missed changes, likewise."),
    gca_over=count("O: over-predicted changes, likewise."),
    gca_paper_correct=count("C, counted as Algorithm 1 of the GCA paper does."),
    gca_paper_wrong=count("W, likewise."),
    gca_paper_missed=count("M, likewise."),
    gca_paper_over=count("O, likewise."),
    soft_gca_correct=number("Sum of similarities over the changes counted in C and W."),
    soft_gca_paper_correct=number("The same, of Algorithm 1."),
)

# The counts of the turn table to which a row of the long table may add 1.
_COUNTED: Final = [name for name in TURNS.columns if name.startswith(("n_", "gca_"))]

ROWS: Final = Table(
    "judged rows: A row per (run, dialogue, turn, slot), sorted by (run, dialogue, slot, turn): the long table under a "
    "convention, without rows of frames. The row before is the slot's turn before, unless `first` is true.",
    run=text("Name of the run."),
    **LONG.only("dialogue", "turn", "slot"),
    domain=category("The slot's domain; null where the slot is.", nullable=True),
    **LONG.only("gold", "pred"),
    g=category("Gold's value under the convention; null: the slot is not in the state."),
    p=category("The predicted value, likewise. With a null slot: the mark that `pred` has.", nullable=True),
    ok=flag("Both are in the state and match."),
    credit=number("Similarity of p to g, from 0 to 1; null: not both are in the state."),
    first=flag("The slot's first row in the dialogue; true where the slot is null."),
    g_new=flag("g is not that of the row before (with `first`: not null)."),
    p_new=flag("p is not that of the row before, likewise."),
    is_scored=flag("The convention scores the turn."),
    **{name: flag(f"The row adds 1 to the turn's: {TURNS.columns[name].meaning}") for name in _COUNTED},
    n_dropped=flag("Gold's value is not scored, because the slot is not."),
    n_ignored=flag("The predicted value is not scored: for its slot or domain, or for gold's dontcare."),
)

#: A slot, in tables that hold it as text.
SLOT: Final = text("domain-slot.")
#: The group of scores by whether the training set has the service.
SEEN: Final = "seen"
#: The group of scores by the dialogue's number of turns.
LENGTH: Final = "length"
#: What scores can be grouped by: a view, whether a service is seen, the dialogue's length in turns, or any column of
#: the turn table.
GROUPS: Final = (
    "run", "domain", "slot", "dialogue", "turn", SEEN, LENGTH, *(c for c in TURNS.columns if c[:2] == "n_"),
)  # fmt: skip

SCORES: Final = OpenTable(
    "score rows: A row per (run, group, metric). Beside these columns there is one per --by column, after `run`.",
    run=text("Name of the run."),
    metric=text("The metric in dstbench's notation, e.g. fga:lam=0.25."),
    unit=text("What the value is: share (tables show percent) or count."),
    value=score("The score as a fraction (a count for count metrics); null: undefined."),
    se=score("Standard error over dialogues, linearised; null: undefined, a count, by slot or dialogue, or all alike."),
    turns=count("Turns in the group."),
    dialogues=count("Dialogues in the group."),
    signature=text("Every setting that can change the value, and the version of dstbench."),
)

CONTEXTS: Final = Table(
    "contexts: A row per (dialogue, turn): what was said. Sorted by (dialogue, turn).",
    **LONG.only("dialogue", "turn"),
    system=text("What the system said before this turn; null: nothing, or unknown."),
    user=text("What the user said; null: unknown."),
)
