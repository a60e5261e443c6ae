"""People's ratings of dialogues or turns: read from a user's table, and joined to tables of scores."""

from __future__ import annotations

from os import PathLike
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.analysis.associations import Columns, Sample
from dstbench.conventions.dialogue_ids import near_dialogues
from dstbench.conventions.slots import canonical_dialogue
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.io.files import File
from dstbench.io.tables import UserTable, read_table
from dstbench.schema.analysis import RATED
from dstbench.schema.core import MAX_TURN
from dstbench.stats import kendall, spearman
from dstbench.typing import Per

#: The column of ratings, beside those of scores.
RATING: Final = "rating"
#: With fewer rated dialogues, no correlation with the ratings is defined.
LEAST: Final = 4
_COLUMNS: Final = ("run", "dialogue", "turn", RATING)
_NEEDED: Final = ("dialogue", RATING)
# The types of columns, beside numbers.
_SIMPLE: Final = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)


class Ratings(NamedTuple):
    """Ratings, canonical and checked.

    Attributes:
        name: What messages call the table.
        rows: ([run: String,] dialogue: String, [turn: Int64,] rating: Float64), one row per rated dialogue or turn.
    """

    name: str
    rows: pl.DataFrame

    @property
    def per(self) -> Per:
        """What is rated."""
        return "turn" if "turn" in self.rows.columns else "dialogue"


def read_ratings(ratings: Any) -> Ratings:
    """Read ratings from a CSV or Parquet file, or a frame; rows whose rating is empty (or NaN) are left out.

    Args:
        ratings: A path, or a frame, with the columns dialogue, rating, and, if there are any, turn and run.

    Raises:
        DstbenchError: It cannot be read; a column is missing; a rating or turn is no number; or a dialogue (turn) is
            rated twice.
    """
    is_path = isinstance(ratings, (str, PathLike))
    name = str(ratings) if is_path else "ratings"
    table, place, first = (
        read_table(File(name), columns=_COLUMNS, numbers=("turn", RATING))
        if is_path
        else UserTable(_of_frame(ratings), "row", 1)
    )
    if missing := [column for column in _NEEDED if column not in table.columns]:
        raise DstbenchError(
            f"no column {' and no column '.join(missing)} (its columns: {', '.join(table.columns) or 'none'})",
            file=name,
            hint="ratings have the columns dialogue and rating, and, if there are any, turn and run",
        )
    columns = [column for column in _COLUMNS if column in table.columns]
    for column in columns:
        dtype = table.schema[column]
        if not (dtype.is_numeric() or isinstance(dtype, _SIMPLE)):
            raise DstbenchError(f"column {column} is {dtype}, neither texts nor numbers", file=name)
    texts = [column for column in ("run", "dialogue") if column in columns]
    numbers = [column for column in ("turn", RATING) if column in columns]
    rows = table.select(
        pl.int_range(first, pl.len() + first).alias("line"),
        *(pl.col(column).cast(pl.String).str.strip_chars().fill_null("") for column in texts),
        *(_as_text(column, table.schema[column]) for column in numbers),
    ).filter(pl.col(RATING) != "")
    parsed = rows.with_columns(canonical_dialogue(pl.col("dialogue")), pl.col(numbers).cast(pl.Float64, strict=False))
    for column in columns:
        value = pl.col(column)
        is_right = value != "" if column in texts else value.is_finite()
        if column == "turn":
            is_right &= value.is_between(0, MAX_TURN) & (value == value.floor())
        if (at := parsed.select((~is_right.fill_null(value=False)).arg_true().first()).item()) is not None:
            row = rows.row(at, named=True)
            wanted = {RATING: "no number", "turn": f"no whole number from 0 to {MAX_TURN}"}.get(column, "empty")
            raise DstbenchError(
                f"{place} {row['line']}: the {column} {row[column]!r} is {wanted}",
                file=name,
                dialogue=row["dialogue"] or None,
                hint="leave the cell empty if there is no rating" if column == RATING else None,
            )
    keys = [column for column in columns if column != RATING]
    lines = parsed.group_by(keys, maintain_order=True).agg("line").filter(pl.col("line").list.len() > 1)
    if lines.height:
        twice = lines.row(0, named=True)
        raise DstbenchError(
            f"rated twice, in {place}s {twice['line'][0]} and {twice['line'][1]}",
            file=name,
            dialogue=twice["dialogue"],
            turn=None if "turn" not in twice else int(twice["turn"]),
            hint="give one rating, such as the mean of several people's"
            + ("" if "run" in keys else "; a column run says which run is rated"),
        )
    if parsed.is_empty():
        raise DstbenchError("no rating in it", file=name)
    return Ratings(name, parsed.drop("line").cast({"turn": pl.Int64} if "turn" in columns else {}))


def _as_text(column: str, dtype: pl.DataType) -> pl.Expr:
    """A column of numbers, or of texts, as texts; empty where undefined."""
    value = pl.col(column).cast(pl.Int8) if dtype == pl.Boolean else pl.col(column)
    value = value.fill_nan(None) if dtype.is_float() else value
    return value.cast(pl.String).str.strip_chars().fill_null("")


def _of_frame(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(f"{type(frame).__name__} holds no ratings", hint="give a path or a frame")
    return frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)


def rated_rows(ratings: Ratings, table: pl.DataFrame, run: str) -> pl.DataFrame:
    """The rated rows of a run's table of dialogues or turns, with their rating; warns if ratings or rows are left out.

    Args:
        ratings: The ratings.
        table: A row per dialogue, or per (dialogue, turn).
        run: The run's name.
    """
    if RATING in table.columns:
        raise UsageError(f"a metric is called {RATING!r}, which is the name of the ratings", hint="rename the metric")
    of_run = ratings.rows.filter(run=run).drop("run") if "run" in ratings.rows.columns else ratings.rows
    keys = ["dialogue", "turn"][: 1 + (ratings.per == "turn")]
    rated = table.with_columns(pl.col(keys[1:]).cast(pl.Int64)).join(
        of_run, on=keys, how="inner", maintain_order="left"
    )
    things, n = f"{ratings.per}s", rated.height
    if not n:
        return rated
    if n < of_run.height:
        unknown = of_run.join(table, on="dialogue", how="anti")["dialogue"]
        near = near_dialogues(unknown[0], table["dialogue"]) if len(unknown) else []
        meant = f" ({unknown[0]}; did you mean {' or '.join(near)}?)" if near else ""
        warn(
            f"{n:,} of {of_run.height:,} ratings are used: the others are of {things} that it does not score{meant}",
            run=run,
            when="before",
        )
    if n < table.height:
        warn(f"{n:,} of {table.height:,} {things} are rated; all correlations are over these", run=run, when="before")
    if (dialogues := rated["dialogue"].n_unique()) < LEAST:
        warn(f"{dialogues} dialogues are rated, and a correlation needs {LEAST}", run=run, when="before")
    elif rated[RATING].n_unique() == 1:
        warn(f"all ratings are {rated[RATING][0]:g}, so nothing correlates with them", run=run, when="before")
    return rated


def warn_of_runs(ratings: Ratings, runs: list[str]) -> None:
    """Warn of ratings of other runs, and of ratings that are taken for several runs."""
    if "run" not in ratings.rows.columns:
        if len(runs) > 1:
            warn("the ratings name no run, and are taken for every run", file=ratings.name, when="before")
        return
    others = ratings.rows.filter(~pl.col("run").is_in(runs))["run"]
    if len(others):
        names = ", ".join(others.unique(maintain_order=True))
        warn(
            f"{len(others):,} ratings are of runs that are not here ({names}), and left out",
            file=ratings.name,
            when="before",
        )


def agreement(run: str, columns: Columns, matrix: pl.DataFrame, sample: Sample, level: float) -> pl.DataFrame:
    """How much each column agrees with the rating, as rows of `schema.analysis.RATED`.

    Args:
        run: The run's name.
        columns: Its columns, with `RATING`.
        matrix: Their correlations, as rows of `schema.analysis.CORRELATIONS`.
        sample: Which rows belong together.
        level: Confidence level of the intervals.
    """
    rating = columns[RATING]
    clusters = np.arange(len(rating)) if sample.clusters is None else sample.clusters
    of_rating = matrix.filter(pl.any_horizontal(pl.col("first", "second") == RATING))
    rows: list[tuple[Any, ...]] = []
    for pearson_row in of_rating.iter_rows(named=True):
        metric = pearson_row["first"] if pearson_row["second"] == RATING else pearson_row["second"]
        both = ~np.isnan(columns[metric]) & ~np.isnan(rating)
        x, y, dialogues = columns[metric][both], rating[both], np.unique(clusters[both], return_inverse=True)
        size = len(dialogues[0])
        values = {
            "pearson": (*(pearson_row[name] for name in ("r", "low", "high")), pearson_row["interval"]),
            "spearman": (*spearman(x, y, dialogues[1], level=level), "linearised"),
            "kendall": (*kendall(x, y, dialogues[1], level=level), "linearised"),
        }
        if size < LEAST <= len(np.unique(clusters)):
            warn(f"{metric} is defined in {size} rated dialogues only, and a correlation needs {LEAST}", run=run)
        elif size >= LEAST and x.min() == x.max():
            warn(f"{metric} is the same in all that is rated, so it does not correlate with the ratings", run=run)
        for coefficient, (value, low, high, interval) in values.items():
            shown = (value, low, high) if size >= LEAST else (None, None, None)
            rows.append((run, sample.per, metric, coefficient, *shown, interval, len(x), size, level))
    return pl.DataFrame(rows, schema=RATED.schema, orient="row").fill_nan(None)
