"""People's ratings of dialogues or turns: read, joined to tables of scores, and how much scores agree with them.

Conventions: see `associations`. A score's agreement is over the rated rows in which it is defined; two scores are
compared over those in which both are. Differences of Pearson's r have the interval and test of `correlate`; those of
rank correlations have Zou's interval and a test from linearised standard errors, dialogues as clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.analysis.associations import JACKKNIFE, Compared, Rows, as_frame, limits_of, with_holm
from dstbench.analysis.user_tables import read_user_table
from dstbench.errors import DstbenchError, UsageError, did_you_mean, warn
from dstbench.schema.analysis import RATED, RATED_DIFFERENCES
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

    @property
    def keys(self) -> list[str]:
        """The columns that say what a rating is of, apart from the run."""
        return ["dialogue", "turn"] if self.per == "turn" else ["dialogue"]


def read_ratings(ratings: Any) -> Ratings:
    """Read ratings from a CSV or Parquet file, or a frame; rows whose rating is empty (or NaN) are left out."""
    name, rows = read_user_table(ratings, "ratings", ("dialogue",), RATING, ("run", "turn"))
    return Ratings(name, rows.drop("at"))


def rated_runs(
    ratings: Ratings, runs: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]]
) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """The runs with ratings (name, table of scores, signatures), with only the rated rows, and their ratings."""
    names = [name for name, *_ in runs]
    if "run" in ratings.rows.columns:
        others = ratings.rows.filter(~pl.col("run").is_in(names))["run"]
        other_names = ", ".join(others.unique(maintain_order=True))
        if len(others) == ratings.rows.height:
            raise DstbenchError(
                f"it rates {other_names}, and none of the runs here",
                file=ratings.name,
                hint=f"these are called {', '.join(names)}; --name renames them",
            )
        if len(others):
            what = f"{len(others):,} ratings are of runs that are not here ({other_names}), and left out"
            warn(what, file=ratings.name, when="before")
    elif len(runs) > 1:
        warn("the ratings name no run, and are used for every run", file=ratings.name, when="before")
    every = [(name, _rated_rows(ratings, table, name), signatures) for name, table, signatures in runs]
    if not any(table.height for _, table, _ in every):
        run, table, _ = runs[0]
        first, other = (", turn ".join(map(str, rows.select(ratings.keys).row(0))) for rows in (ratings.rows, table))
        hint = f"its first {ratings.per} is {first}, that of {run} is {other}"
        raise DstbenchError(f"it rates no {ratings.per} of the runs", file=ratings.name, hint=hint)
    for name, table, _ in every:
        if table.is_empty():
            warn(f"none of its {ratings.per}s is rated, so it is left out", run=name, when="before")
    return [result for result in every if result[1].height]


def _rated_rows(ratings: Ratings, table: pl.DataFrame, run: str) -> pl.DataFrame:
    """The rated rows of a run's table, with their rating; warns if ratings or rows are left out."""
    if RATING in table.columns:
        raise UsageError(f"a metric is called {RATING!r}, which is the name of the ratings", hint="rename the metric")
    of_run = ratings.rows.filter(run=run).drop("run") if "run" in ratings.rows.columns else ratings.rows
    if ratings.per == "turn":
        table = table.with_columns(pl.col("turn").cast(pl.Int64))
        last = table.group_by("dialogue").agg(last=pl.col("turn").max())
        late = of_run.join(last, on="dialogue", maintain_order="left").filter(pl.col("turn") > pl.col("last"))
        none_of = "turn 0" if (of_run["turn"] > 0).all() else "an odd turn"
        if late.height and (none_of == "turn 0" or (of_run["turn"] % 2 == 0).all()):
            raise DstbenchError(  # they would be joined to the wrong turns
                f"{late.height:,} of {of_run.height:,} ratings are of turns after a dialogue's last, none of {none_of}",
                file=ratings.name,
                dialogue=late["dialogue"][0],
                turn=late["turn"][0],
                hint="count the user's turns only, from 0",
            )
    rated = table.join(of_run, on=ratings.keys, how="inner", maintain_order="left")
    things, n = f"{ratings.per}s", rated.height
    if 0 < n < of_run.height:
        unknown = of_run.join(table, on="dialogue", how="anti")["dialogue"]
        near = did_you_mean(unknown[0], table["dialogue"].unique(maintain_order=True)) if len(unknown) else None
        meant = f" ({unknown[0]}; {near})" if near else ""
        what = f"{n:,} of {of_run.height:,} ratings are used: the others are of {things} that it does not score{meant}"
        warn(what, run=run, when="before")
    if 0 < n < table.height:
        warn(f"{n:,} of {table.height:,} {things} are rated; all correlations are over these", run=run, when="before")
    return rated


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

    def rows_with(*metrics: str) -> tuple[bytes, dict[str, Any]]:
        """The rows in which the rating and these metrics are defined; and what all rows about them have."""
        taken = rows.defined(RATING, *metrics)
        sizes = {"n": int(taken.sum()), "dialogues": len(np.unique(rows.dialogues[taken]))}
        return taken.tobytes(), {"run": rows.run, "per": rows.per, "level": level, **sizes}

    rated, differences = list[dict[str, Any]](), list[dict[str, Any]]()
    _warn_of_columns(rows)
    for metric in [name for name in rows.columns if name != RATING]:
        taken, about = rows_with(metric)
        r, _ = pearson(rows.columns[metric], rows.columns[RATING])
        values = {"pearson": (JACKKNIFE, r, *limits_of(rows, metric, RATING, level))}
        for coefficient in _RANKED:
            of_metric = ranked(coefficient, metric, taken)
            values[coefficient] = "linearised", of_metric.value, of_metric.low, of_metric.high
        for coefficient, (how, value, low, high) in values.items():
            shown = {"value": value, "low": low, "high": high} if about["dialogues"] >= LEAST else {}
            rated.append({"metric": metric, "coefficient": coefficient, "interval": how, **shown, **about})
    for each in compared:
        one, other = (pair[1] for pair in each.pairs)
        taken, about = rows_with(one, other)
        of_r = {**each.row, "coefficient": "pearson", "value": each.row["r_first"], "other_value": each.row["r_second"]}
        found = [of_r]
        if each.why_not is None:
            of_r |= {"interval": JACKKNIFE, "test": JACKKNIFE}
            found += [{**of_r, **vars(of), "interval": JACKKNIFE, "test": name} for name, of in each.outcomes(test)]
        for coefficient in _RANKED:
            first, second = (ranked(coefficient, metric, taken) for metric in (one, other))
            row = {"coefficient": coefficient, "value": first.value, "other_value": second.value}
            try:
                comparison = compare_rank_correlations(first, second)
                (name, outcome), (low, high) = *comparison.tests.items(), comparison.zou
                row |= {**vars(outcome), "difference": comparison.difference, "low": low, "high": high}
                row |= {"interval": "zou2007", "test": name}
            except UsageError as error:
                if not each.why_not:
                    kind = f"no difference of {coefficient.capitalize()}'s coefficients with the ratings: {error.what}"
                    warn(f"{one} and {other}: {kind}", run=rows.run, kind=kind)
            found.append(row)
        for row in found:
            shown = row if about["dialogues"] >= LEAST else {"coefficient": row["coefficient"]}
            differences.append({**shown, "metric": one, "other": other, **about})
    return as_frame(rated, RATED), with_holm(as_frame(differences, RATED_DIFFERENCES), "coefficient", "test")


def _warn_of_columns(rows: Rows) -> None:
    """Warn of columns that cannot correlate with the ratings; if it is the ratings themselves, of these only."""
    for name in (RATING, *(name for name in rows.columns if name != RATING)):
        taken = rows.defined(RATING, name)
        dialogues, column = len(np.unique(rows.dialogues[taken])), rows.columns[name][taken]
        what = ""
        if dialogues < LEAST:
            what = f"is defined in {dialogues} rated dialogues only, and a correlation with the ratings needs {LEAST}"
        elif column.min() == column.max():
            what = f"is the same in all rated {rows.per}s, so nothing correlates with it"
        if what:
            warn(f"{name} {what}", run=rows.run, when="before")
            if name == RATING:
                return
