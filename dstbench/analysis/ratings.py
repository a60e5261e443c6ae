"""People's ratings of dialogues or turns: read, joined to tables of scores, and how much scores agree with them.

Conventions: see `associations`. A score's agreement is over the rated rows in which it is defined; two scores are
compared over those in which both are. Differences of Pearson's r have the interval and test of `correlate`; those of
rank correlations have Zou's interval and a test from linearised standard errors, dialogues as clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.analysis.associations import JACKKNIFE, Compared, Rows, as_frame, limits_of
from dstbench.analysis.user_tables import read_user_table
from dstbench.analysis.verdicts import adjust_defined
from dstbench.arrays import Flags
from dstbench.conventions.slots import canonical_dialogue, near_dialogues
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.schema.analysis import RATED, RATED_DIFFERENCES
from dstbench.schema.core import MAX_TURN
from dstbench.stats import RankCorrelation, compare_rank_correlations, kendall, pearson, spearman
from dstbench.stats.correlations import LEAST
from dstbench.typing import Per

#: The column of ratings, beside those of scores.
RATING: Final = "rating"
_RANKED: Final[Mapping[str, Callable[..., RankCorrelation]]] = {"spearman": spearman, "kendall": kendall}


class Ratings(NamedTuple):
    """Ratings, canonical and checked."""

    name: str  # what messages call the table
    rows: pl.DataFrame  # ([run: String,] dialogue: String, [turn: Int64,] rating: Float64), each rated once

    @property
    def per(self) -> Per:
        """What is rated."""
        return "turn" if "turn" in self.rows.columns else "dialogue"


def read_ratings(ratings: Any) -> Ratings:
    """Read ratings from a CSV or Parquet file, or a frame; rows whose rating is empty (or NaN) are left out."""
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
    """The rated rows of a run's table, with their rating; warns if ratings or rows are left out."""
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
    """Warn of ratings of other runs, and of ratings that are used for several runs because they name none."""
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


# --- how much scores agree with ratings -------------------------------------------------------------------------------


def compare_with_ratings(
    rows: Rows, compared: Iterable[Compared], test: str | None, level: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """How much each column agrees with the ratings (`RATED`), and how much more than another (`RATED_DIFFERENCES`)."""

    @cache  # most metrics are defined in the same rows
    def ranked(coefficient: str, metric: str, taken: bytes) -> RankCorrelation:
        at = np.frombuffer(taken, bool)
        columns = (rows.columns[name][at] for name in (metric, RATING))
        return _RANKED[coefficient](*columns, rows.dialogues[at], level=level)

    rated, differences = list[dict[str, Any]](), list[dict[str, Any]]()
    for metric in rows.columns:
        if metric == RATING:
            continue
        taken, sizes = _rows_with(rows, metric)
        _warn_of_metric(rows, metric, taken, sizes["dialogues"])
        (r, _), limits = pearson(rows.columns[metric], rows.columns[RATING]), limits_of(rows, metric, RATING, level)
        values = {"pearson": (r, *limits)}
        for coefficient in _RANKED:
            of_metric = ranked(coefficient, metric, taken.tobytes())
            values[coefficient] = of_metric.value, of_metric.low, of_metric.high
        for coefficient, (value, low, high) in values.items():
            shown = {"value": value, "low": low, "high": high} if sizes["dialogues"] >= LEAST else {}
            how = JACKKNIFE if coefficient == "pearson" else "linearised"
            rated.append({"metric": metric, "coefficient": coefficient, "interval": how, **shown, **sizes})
    for each in compared:
        one, other = (pair[1] for pair in each.pairs)
        taken, sizes = _rows_with(rows, one, other)
        found = [{"coefficient": "pearson", **of_test} for of_test in _by_r(each, test)]
        for coefficient in _RANKED:
            both = [ranked(coefficient, metric, taken.tobytes()) for metric in (one, other)]
            of_ranks, why_not = _by_ranks(*both)
            found.append({"coefficient": coefficient, **of_ranks})
            if why_not and not each.why_not:
                what = f"no difference of {coefficient.capitalize()}'s coefficients with the ratings: {why_not}"
                warn(f"{one} and {other}: {what}", run=rows.run, kind=what)
        for row in found:
            shown = row if sizes["dialogues"] >= LEAST else {"coefficient": row["coefficient"]}
            differences.append({"metric": one, "other": other, **shown, **sizes})
    about = {"run": rows.run, "per": rows.per, "level": level}
    return (
        as_frame([row | about for row in rated], RATED),
        as_frame([row | about for row in differences], RATED_DIFFERENCES).with_columns(
            p_adjusted=pl.col("p").map_batches(_by_holm, pl.Float64).over("coefficient", "test")
        ),
    )


def _rows_with(rows: Rows, *metrics: str) -> tuple[Flags, dict[str, int]]:
    """The rows in which the rating and these metrics are defined; and their number, and that of their dialogues."""
    taken = rows.defined(RATING, *metrics)
    return taken, {"n": int(taken.sum()), "dialogues": len(np.unique(rows.dialogues[taken]))}


def _warn_of_metric(rows: Rows, metric: str, taken: Flags, dialogues: int) -> None:
    """Warn of a metric that does not correlate with the ratings, and is defined in so many dialogues."""
    column = rows.columns[metric][taken]
    if dialogues < LEAST:
        if len(np.unique(rows.dialogues)) >= LEAST:  # otherwise a warning has said so
            what = f"is defined in {dialogues} rated dialogues only, and a correlation needs {LEAST}"
            warn(f"{metric} {what}", run=rows.run)
    elif column.min() == column.max():
        warn(f"{metric} is the same in all rated {rows.per}s, so it does not correlate with the ratings", run=rows.run)


def _by_r(compared: Compared, test: str | None) -> list[dict[str, Any]]:
    """The difference of two r, over dialogues, and by each classical test that is asked for."""
    values = {"value": compared.r[0], "other_value": compared.r[1]}
    if compared.limits is None:
        return [values]
    tests: list[dict[str, Any]] = [{"test": JACKKNIFE, "p": compared.p}]
    tests += [
        {"test": name, "statistic": outcome.statistic, "df": outcome.df, "p": outcome.p}
        for name, outcome in compared.outcomes(test)
    ]
    return [{**values, **compared.values(), "interval": JACKKNIFE, **of_test} for of_test in tests]


def _by_ranks(one: RankCorrelation, other: RankCorrelation) -> tuple[dict[str, Any], str | None]:
    """The difference of two rank correlations; or why they have none."""
    values: dict[str, Any] = {"value": one.value, "other_value": other.value}
    try:
        comparison = compare_rank_correlations(one, other)
    except UsageError as error:
        return values, error.what
    ((test, outcome),) = comparison.tests.items()
    values |= {"difference": comparison.difference, "interval": "zou2007", "test": test}
    values |= {"low": comparison.zou[0], "high": comparison.zou[1]}
    return {**values, "statistic": outcome.statistic, "df": outcome.df, "p": outcome.p}, None


def _by_holm(p: pl.Series) -> pl.Series:
    """The p of one coefficient and test, adjusted for their number."""
    return pl.Series(adjust_defined(p.to_numpy(), "holm")).fill_nan(None)
