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
_LARGE: Final = pl.UInt64()

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

_RUN: Final = SCORES.columns["run"]

DIALOGUES: Final = Table(
    "dialogues",
    "One row per (run, dialogue): when it fails, how much is in it, where its mistakes are. Turns are those that the "
    "convention scores, numbered from 0 without gaps. Beside these there is a column per metric. "
    "Sorted by (run, dialogue).",
    {
        "run": _RUN,
        "dialogue": LONG.columns["dialogue"],
        "turns": Column(_COUNT, "Turns, n."),
        "wrong_turns": Column(_COUNT, "Turns with JGA 0."),
        "ends_wrong": Column(pl.Boolean(), "Whether the last turn has JGA 0."),
        "first_wrong": Column(_COUNT, "The first turn with JGA 0; null: there is none.", nullable=True),
        "first_failure": Column(_NUMBER, "first_wrong / n, where the last turn has JGA 0; else null.", nullable=True),
        "first_failure_bin": Column(_COUNT, "The tenth in which it lies, from 0 to 9; likewise.", nullable=True),
        "recovered": Column(pl.Boolean(), "Whether a turn after the first failure has JGA 1; likewise.", nullable=True),
        "n_gold_max": Column(_COUNT, "The largest number of gold slots in a turn."),
        "mistakes": Column(_COUNT, "Wrong, missed and over-predicted changes, as the GCA authors' code counts them."),
        "to_mean": Column(
            _NUMBER, "Tail orientation: mean place of mistakes, 0 to 1; null: no mistake.", nullable=True
        ),
        "to_sum": Column(_NUMBER, "The same, as the paper's formula is printed; null: no mistake.", nullable=True),
        "to_released": Column(_NUMBER, "The same, as the authors' code has it; 0: no mistake."),
        "nu_paper": Column(_NUMBER, "Non-uniformity: sum of squared differences of mistakes per turn to their mean."),
        "nu_released": Column(_NUMBER, "The same, absolute differences by the mean; null: no mistake.", nullable=True),
    },
    is_open=True,
)

FAILURES: Final = Table(
    "runs",
    "One row per run: how many dialogues fail, and how many have few gold slots.",
    {
        "run": _RUN,
        "turns": SCORES.columns["turns"],
        "dialogues": SCORES.columns["dialogues"],
        "failing": Column(_COUNT, "Dialogues whose last turn has JGA 0."),
        "recovered": Column(_COUNT, "Of these: with a turn of JGA 1 after the first failure."),
        "few_slots": Column(_COUNT, "k: what is few."),
        "with_few_slots": Column(_COUNT, "Dialogues with fewer than k gold slots in each of their turns."),
        "share_with_few_slots": Column(_NUMBER, "Their share; null: no dialogue.", nullable=True),
        "signature": SCORES.columns["signature"],
    },
)

FIRST_FAILURES: Final = Table(
    "first failures",
    "One row per (run, tenth of the dialogue): of the dialogues whose last turn has JGA 0, when JGA is 0 first.",
    {
        "run": _RUN,
        "bin": Column(_COUNT, "Number of the tenth, from 0."),
        "low": Column(_NUMBER, "first_wrong / n is at least this,"),
        "high": Column(_NUMBER, "and less than this."),
        "dialogues": Column(_COUNT, "Dialogues that first fail there."),
        "recovered": Column(_COUNT, "Of these: with a turn of JGA 1 after the first failure."),
    },
)

GOLD_SLOTS: Final = Table(
    "gold slots",
    "One row per (run, largest number of gold slots in a dialogue's turns).",
    {
        "run": _RUN,
        "n_gold_max": DIALOGUES.columns["n_gold_max"],
        "dialogues": Column(_COUNT, "Dialogues."),
        "share": Column(_NUMBER, "Their share of the run's."),
    },
)

ERRORS: Final = Table(
    "error classes",
    "One row per (run, class), or per (run, domain or slot, class): every slot of every scored turn that gold or "
    "prediction has is in exactly one class. By domain and by slot there is such a column after `run`; it is null for "
    "turns without a prediction (--missing wrong).",
    {
        "run": _RUN,
        "class": Column(_TEXT, "The class, by the precedence of dstbench.taxonomy.CLASSES."),
        "kind": Column(_TEXT, "What it adds up to: correct, missed, wrong or over."),
        "n": Column(_LARGE, "How many slots of turns are in it."),
        "of_gold": Column(_NUMBER, "n / gold; null for over.", nullable=True),
        "of_predicted": Column(_NUMBER, "n / predicted (the precision view); null for missed.", nullable=True),
        "of_inactive": Column(_NUMBER, "n / inactive (the specificity view); null but for over.", nullable=True),
        "gold": Column(_LARGE, "Slots of turns that gold has."),
        "predicted": Column(_LARGE, "Slots of turns that the prediction has."),
        "inactive": Column(_LARGE, "Slots of turns that gold does not have; of the slots that either side ever has."),
    },
    is_open=True,
)

TRAIT_BINS: Final = Table(
    "trait bins",
    "One row per (run, trait, bin, metric): mean scores of the dialogues whose trait lies in the bin.",
    {
        "run": _RUN,
        "trait": Column(_TEXT, "The column of the dialogues' table: to_mean, nu_paper, …"),
        "bin": Column(_COUNT, "Number of the bin, from 0."),
        "low": Column(_NUMBER, "The trait is at least this,"),
        "high": Column(_NUMBER, "and less than this (in the last bin, not more)."),
        "metric": SCORES.columns["metric"],
        "value": Column(_NUMBER, "Mean of the dialogues' scores; null: none has one.", nullable=True),
        "dialogues": Column(_COUNT, "Dialogues in the bin that have a score."),
    },
)

DISAGREEMENTS: Final = Table(
    "disagreements",
    "One row per (run, metric that is higher, place): the dialogues on which two metrics differ most.",
    {
        "run": _RUN,
        "higher": Column(_TEXT, "The metric that gives the dialogue the higher score."),
        "lower": Column(_TEXT, "The other one."),
        "place": Column(_COUNT, "From 1, the strongest disagreement."),
        "dialogue": LONG.columns["dialogue"],
        "high": Column(_NUMBER, "The score by `higher`."),
        "low": Column(_NUMBER, "The score by `lower`."),
        "difference": Column(_NUMBER, "high less low."),
        "turns": DIALOGUES.columns["turns"],
        "mistakes": DIALOGUES.columns["mistakes"],
    },
)

_ROWS: Final = Column(
    _TEXT,
    "Which dialogues (turns) are taken: pairwise (those in which both columns are defined), complete (all columns), or "
    "released (as the authors of GCA took them: dstbench.tendencies).",
)

CORRELATIONS: Final = Table(
    "correlations",
    "One row per (run, pair of columns): Pearson correlations. Where there are several runs, the run `pooled` is all "
    "of them, one below the other.",
    {
        "run": Column(_TEXT, "Name of the run, or pooled."),
        "rows": _ROWS,
        "first": Column(_TEXT, "A metric in dstbench's notation, or a column of the dialogues' (turns') table."),
        "second": Column(_TEXT, "Another one."),
        "r": Column(_NUMBER, "Their correlation; null: one of them does not vary.", nullable=True),
        "n": Column(_COUNT, "Dialogues (turns) that it is of."),
        "low": Column(_NUMBER, "Its interval by Fisher's z; null: r is null, or n below 4.", nullable=True),
        "high": Column(_NUMBER, "As said.", nullable=True),
        "level": Column(_NUMBER, "Confidence level of the interval."),
    },
)

DIFFERENCES: Final = Table(
    "differences of correlations",
    "One row per (run, two correlations), over the dialogues in which all of their columns are defined; or per (two "
    "runs, correlation). Null: they cannot be compared.",
    {
        "run": Column(_TEXT, "The run of the first correlation, or pooled."),
        "other_run": Column(_TEXT, "That of the second; the same but between runs."),
        "first": Column(_TEXT, "The columns of the first correlation, with a comma between."),
        "second": Column(_TEXT, "Those of the second."),
        "rows": _ROWS,
        "kind": Column(_TEXT, "overlapping (a column is shared), nonoverlapping, or independent (other dialogues)."),
        "r_first": Column(_NUMBER, "The first correlation.", nullable=True),
        "r_second": Column(_NUMBER, "The second.", nullable=True),
        "difference": Column(_NUMBER, "The first less the second.", nullable=True),
        "low": Column(_NUMBER, "Its interval (Zou 2007).", nullable=True),
        "high": Column(_NUMBER, "As said.", nullable=True),
        "n_first": Column(_COUNT, "Dialogues that the first is of."),
        "n_second": Column(_COUNT, "Dialogues that the second is of: the same ones but where they are independent."),
        "level": Column(_NUMBER, "Confidence level of the interval."),
    },
)

CORRELATION_TESTS: Final = Table(
    "tests of differences of correlations",
    "One row per (difference, test).",
    {
        **{name: DIFFERENCES.columns[name] for name in ("run", "other_run", "first", "second")},
        "test": Column(_TEXT, "The test, by cocor's name."),
        "statistic": Column(_NUMBER, "Its statistic."),
        "df": Column(_COUNT, "Degrees of freedom of its t distribution; null: it is normal.", nullable=True),
        "p": Column(_NUMBER, "Two-sided p."),
        "low": Column(_NUMBER, "The test's own interval, of the difference of Fisher's z; null: none.", nullable=True),
        "high": Column(_NUMBER, "As said.", nullable=True),
        "level": DIFFERENCES.columns["level"],
    },
)

TABLES: Final = {
    "long_table": LONG,
    "turn_table": TURNS,
    "score_rows": SCORES,
    "contexts": CONTEXTS,
    "dialogues": DIALOGUES,
    "runs": FAILURES,
    "first_failures": FIRST_FAILURES,
    "gold_slots": GOLD_SLOTS,
    "errors": ERRORS,
    "trait_bins": TRAIT_BINS,
    "disagreements": DISAGREEMENTS,
    "correlations": CORRELATIONS,
    "differences": DIFFERENCES,
    "correlation_tests": CORRELATION_TESTS,
}
