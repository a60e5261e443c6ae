"""How much scores agree with people's ratings, and how much more one score does than another.

Conventions: see `associations`. A score's agreement is over the rated rows in which it is defined; two scores are
compared over those in which both are. Differences of Pearson's r have the interval and test of `correlate`; those of
rank correlations have Zou's interval and a test from linearised standard errors, dialogues as clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
import polars as pl

from dstbench.analysis.associations import JACKKNIFE, Compared, Rows, chosen_outcomes, values_of
from dstbench.analysis.ratings import RATING
from dstbench.arrays import Flags
from dstbench.errors import UsageError, warn
from dstbench.metrics import Metric
from dstbench.metrics.registry import sign_of
from dstbench.schema.analysis import RATED, RATED_DIFFERENCES
from dstbench.stats import RankCorrelation, compare_rank_correlations, holm, kendall, spearman
from dstbench.stats.correlations import LEAST

_RANKED: Final[Mapping[str, Callable[..., RankCorrelation]]] = {"spearman": spearman, "kendall": kendall}
# The columns `difference`, `low`, `high`, `interval`, `zou_low`, `zou_high`, `test`, `statistic`, `df` and `p` of a
# difference that cannot be computed.
_NO_DIFFERENCE: Final = (None,) * 10


def pairs_of_scores(variables: Mapping[str, Metric | None]) -> list[tuple[str, str]]:
    """All pairs of metrics, except metrics whose lower scores are known to be better."""
    return [*combinations((v for v, metric in variables.items() if metric is not None and sign_of(v) != -1), 2)]


@dataclass(frozen=True, eq=False)
class RatedRun:
    """A run, or all of them pooled, with people's ratings.

    Attributes:
        rows: Its columns, with `RATING`; a row per rated dialogue or turn.
        level: Confidence level of all intervals.
    """

    rows: Rows
    level: float

    def agreement(self, matrix: pl.DataFrame) -> pl.DataFrame:
        """How much each column agrees with the rating, as rows of `schema.analysis.RATED`.

        Args:
            matrix: The run's correlations, as rows of `schema.analysis.CORRELATIONS`.
        """
        rows: list[tuple[Any, ...]] = []
        of_rating = matrix.filter(pl.any_horizontal(pl.col("first", "second") == RATING))
        for first, second, *r in of_rating.select("first", "second", "r", "low", "high").iter_rows():
            metric = first if second == RATING else second
            n, dialogues = self._sizes(metric)
            self._warn_of(metric, dialogues)
            values = {"pearson": [*r, JACKKNIFE]}
            for coefficient in _RANKED:
                ranked = self._ranked(coefficient, metric, self._defined(metric).tobytes())
                values[coefficient] = [ranked.value, ranked.low, ranked.high, "linearised"]
            for coefficient, (*value, interval) in values.items():
                shown = value if dialogues >= LEAST else (None, None, None)
                rows.append((
                    self.rows.run, self.rows.per, metric, coefficient, *shown, interval, n, dialogues, self.level
                ))  # fmt: skip
        return pl.DataFrame(rows, schema=RATED.schema, orient="row").fill_nan(None)

    def differences(self, compared: Iterable[Compared], test: str | None) -> pl.DataFrame:
        """How much more a column agrees with the rating than another, as rows of `schema.analysis.RATED_DIFFERENCES`.

        Args:
            compared: Comparisons of two columns' r with the rating: r(rating, one) less r(rating, other).
            test: The test of differences of r, as `correlate` takes it.
        """
        rows: list[tuple[Any, ...]] = []
        for each in compared:
            pair = each.first[1], each.second[1]
            values = {"pearson": _of_r(each, test)}
            for coefficient in _RANKED:
                values[coefficient] = [self._of_ranks(coefficient, pair, has_r=each.why_not is None)]
            n, dialogues = self._sizes(*pair)
            for coefficient, tests in values.items():
                for value in tests:
                    shown = value if dialogues >= LEAST else (None, None, *_NO_DIFFERENCE)
                    rows.append((
                        self.rows.run, self.rows.per, *pair, coefficient, *shown, None, n, dialogues, self.level
                    ))  # fmt: skip
        return _with_adjusted(pl.DataFrame(rows, schema=RATED_DIFFERENCES.schema, orient="row").fill_nan(None))

    def _defined(self, *metrics: str) -> Flags:
        """The rows in which the rating and these metrics are defined."""
        undefined = np.isnan([self.rows.columns[name] for name in (RATING, *metrics)])
        return np.asarray(~undefined.any(axis=0))

    def _sizes(self, *metrics: str) -> tuple[int, int]:
        """The number of these rows, and of their dialogues."""
        rows = self._defined(*metrics)
        return int(rows.sum()), len(np.unique(self.rows.dialogues[rows]))

    @cached_property
    def _ranked(self) -> Callable[[str, str, bytes], RankCorrelation]:
        """A metric's rank correlation with the rating over some rows (flags, as bytes), each computed once."""

        @cache
        def ranked(coefficient: str, metric: str, rows: bytes) -> RankCorrelation:
            at = np.frombuffer(rows, bool)
            columns = (self.rows.columns[name][at] for name in (metric, RATING))
            return _RANKED[coefficient](*columns, self.rows.dialogues[at], level=self.level)

        return ranked

    def _of_ranks(self, coefficient: str, pair: tuple[str, str], *, has_r: bool) -> tuple[Any, ...]:
        """The columns `value` to `p` of a difference of rank correlations; warns if it has none, but r has."""
        rows = self._defined(*pair).tobytes()
        one, other = (self._ranked(coefficient, metric, rows) for metric in pair)
        try:
            comparison = compare_rank_correlations(one, other)
        except UsageError as error:
            if has_r:
                what = f"no difference of {coefficient.capitalize()}'s coefficients with the ratings: {error.what}"
                warn(f"{' and '.join(pair)}: {what}", run=self.rows.run, kind=what)
            return one.value, other.value, *_NO_DIFFERENCE
        ((test, outcome),) = comparison.tests.items()
        tested = test, outcome.statistic, outcome.df, outcome.p
        return one.value, other.value, comparison.difference, *comparison.zou, "zou2007", None, None, *tested

    def _warn_of(self, metric: str, dialogues: int) -> None:
        """Warn of a metric that does not correlate with the ratings, and is defined in so many dialogues."""
        column = self.rows.columns[metric][self._defined(metric)]
        if dialogues < LEAST:
            if len(np.unique(self.rows.dialogues)) >= LEAST:  # otherwise a warning has said so
                what = f"is defined in {dialogues} rated dialogues only, and a correlation needs {LEAST}"
                warn(f"{metric} {what}", run=self.rows.run)
        elif column.min() == column.max():
            rated = f"rated {self.rows.per}s"
            warn(f"{metric} is the same in all {rated}, so it does not correlate with the ratings", run=self.rows.run)


def _of_r(compared: Compared, test: str | None) -> list[tuple[Any, ...]]:
    """The columns `value` to `p` of the difference of two r: over dialogues, and by each classical test asked for."""
    if compared.limits is None:
        return [(*compared.r, *_NO_DIFFERENCE)]
    difference, low, high, p, *zou = values_of(compared)
    tests: list[tuple[Any, ...]] = [(JACKKNIFE, None, None, p)]
    tests += [(name, each.statistic, each.df, each.p) for name, each in chosen_outcomes(compared, test)]
    return [(*compared.r, difference, low, high, JACKKNIFE, *zou, *tested) for tested in tests]


def _with_adjusted(differences: pl.DataFrame) -> pl.DataFrame:
    """Differences with p adjusted for their number, for each coefficient and test by itself."""
    has_p = pl.col("p").is_not_null()
    adjusted = pl.col("p").map_batches(lambda p: pl.Series(holm(p.to_numpy())), pl.Float64)
    tested = differences.with_row_index("at").filter(has_p)
    if tested.is_empty():
        return differences
    tested = tested.select("at", p_adjusted=adjusted.over("coefficient", "test"))
    rows = differences.drop("p_adjusted").with_row_index("at").join(tested, on="at", how="left", maintain_order="left")
    return rows.select(differences.columns)
