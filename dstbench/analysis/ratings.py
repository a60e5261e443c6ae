"""People's ratings of dialogues or turns: read from a user's table, and joined to tables of scores."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.analysis.user_tables import read_user_table
from dstbench.conventions.dialogue_ids import near_dialogues
from dstbench.conventions.slots import canonical_dialogue
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.schema.core import MAX_TURN
from dstbench.stats.correlations import LEAST
from dstbench.typing import Per

#: The column of ratings, beside those of scores.
RATING: Final = "rating"


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
        DstbenchError: It cannot be read; a column is missing; a rating or turn is not a number; or a dialogue (turn) is
            rated twice.
    """
    name, rows = read_user_table(ratings, "ratings", ("dialogue", RATING), ("run", "turn"), numbers=("turn", RATING))
    columns = [column for column in rows.columns if column != "at"]
    numbers = [column for column in columns if column in ("turn", RATING)]
    rows = rows.filter(pl.col(RATING) != "")
    parsed = rows.with_columns(canonical_dialogue(pl.col("dialogue")), pl.col(numbers).cast(pl.Float64, strict=False))
    for column in columns:
        value = pl.col(column)
        is_right = value.is_finite() if column in numbers else value != ""
        if column == "turn":
            is_right &= value.is_between(0, MAX_TURN) & (value == value.floor())
        if (at := parsed.select((~is_right.fill_null(value=False)).arg_true().first()).item()) is not None:
            row = rows.row(at, named=True)
            fault = {RATING: "not a number", "turn": f"not a whole number from 0 to {MAX_TURN}"}.get(column, "empty")
            raise DstbenchError(
                f"{row['at']}: the {column} {row[column]!r} is {fault}",
                file=name,
                dialogue=row["dialogue"] or None,
                hint="leave the cell empty if there is no rating" if column == RATING else None,
            )
    keys = [column for column in columns if column != RATING]
    places = parsed.group_by(keys, maintain_order=True).agg("at").filter(pl.col("at").list.len() > 1)
    if places.height:
        twice = places.row(0, named=True)
        raise DstbenchError(
            f"rated twice, in {twice['at'][0]} and {twice['at'][1]}",
            file=name,
            dialogue=twice["dialogue"],
            turn=None if "turn" not in twice else int(twice["turn"]),
            hint="give one rating, such as the mean of several people's"
            + ("" if "run" in keys else "; a column run says which run is rated"),
        )
    if parsed.is_empty():
        raise DstbenchError("no rating in it", file=name)
    return Ratings(name, parsed.drop("at").cast({"turn": pl.Int64} if "turn" in columns else {}))


def rated_rows(ratings: Ratings, table: pl.DataFrame, run: str) -> pl.DataFrame:
    """The rated rows of a run's table of dialogues or turns, with their rating; warns if ratings or rows are left out.

    Args:
        ratings: The ratings.
        table: A row per dialogue, or per (dialogue, turn).
        run: The run's name.

    Raises:
        DstbenchError: The ratings count turns from 1, or count the system's turns too.
        UsageError: A metric has the ratings' name.
    """
    if RATING in table.columns:
        raise UsageError(f"a metric is called {RATING!r}, which is the name of the ratings", hint="rename the metric")
    of_run = ratings.rows.filter(run=run).drop("run") if "run" in ratings.rows.columns else ratings.rows
    keys = ["dialogue", "turn"][: 1 + (ratings.per == "turn")]
    table = table.with_columns(pl.col(keys[1:]).cast(pl.Int64))
    if ratings.per == "turn":
        _check_turns(ratings.name, of_run, table)
    rated = table.join(of_run, on=keys, how="inner", maintain_order="left")
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
        what = f"{dialogues} dialogue{' is' if dialogues == 1 else 's are'} rated"
        warn(f"{what}, and a correlation with the ratings needs {LEAST}: there is none", run=run, when="before")
    elif rated[RATING].n_unique() == 1:
        warn(f"all ratings are {rated[RATING][0]:g}, so nothing correlates with them", run=run, when="before")
    return rated


def _check_turns(name: str, ratings: pl.DataFrame, table: pl.DataFrame) -> None:
    """Refuse ratings whose turns are numbered in another way, which would be joined to the wrong turns."""
    last = table.group_by("dialogue").agg(last=pl.col("turn").max())
    late = ratings.join(last, on="dialogue", maintain_order="left").filter(pl.col("turn") > pl.col("last"))
    none_of = {"turn 0": (ratings["turn"] > 0).all(), "an odd turn": (ratings["turn"] % 2 == 0).all()}
    for turn, is_none in none_of.items():
        if is_none and late.height:
            raise DstbenchError(
                f"{late.height:,} of {ratings.height:,} ratings are of turns after a dialogue's last, none of {turn}",
                file=name,
                dialogue=late["dialogue"][0],
                turn=late["turn"][0],
                hint="count the user's turns only, from 0",
            )


def check_runs(ratings: Ratings, runs: list[str]) -> None:
    """Warn of ratings of other runs, and of ratings that are used for several runs because they name none.

    Raises:
        DstbenchError: All ratings are of other runs.
    """
    if "run" not in ratings.rows.columns:
        if len(runs) > 1:
            warn("the ratings name no run, and are used for every run", file=ratings.name, when="before")
        return
    others = ratings.rows.filter(~pl.col("run").is_in(runs))["run"]
    names = ", ".join(others.unique(maintain_order=True))
    if len(others) == ratings.rows.height:
        raise DstbenchError(
            f"it rates {names}, and none of the runs here",
            file=ratings.name,
            hint=f"these are called {', '.join(runs)}; --name renames them",
        )
    if len(others):
        warn(
            f"{len(others):,} ratings are of runs that are not here ({names}), and left out",
            file=ratings.name,
            when="before",
        )
