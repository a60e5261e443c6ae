"""Correlations of columns of numbers, and differences between two correlations, as rows.

Conventions: correlations are Pearson's r. A correlation uses the rows in which both of its columns are defined.
Two correlations that are compared use the rows in which all of their columns are defined. Pooling runs concatenates
their rows: a dialogue counts once for each run that has it. Intervals, and the p on which verdicts rest, are over
dialogues: each is left out in turn with all of its rows, turns and runs alike. Fisher's and Zou's intervals and the
classical tests, which assume independent rows of normal data, stand beside them where rows are independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from dstbench.arrays import Flags, Floats, Integers
from dstbench.errors import UsageError, warn
from dstbench.schema.analysis import CORRELATION_DIFFERENCES, CORRELATION_TESTS, CORRELATIONS
from dstbench.stats import (
    Comparison,
    Jackknifed,
    Outcome,
    compare_independent,
    compare_nonoverlapping,
    compare_overlapping,
    interval,
    jackknifed_correlation,
    pearson,
)
from dstbench.stats.correlations import LEAST
from dstbench.typing import Per

Pair: TypeAlias = tuple[str, str]
#: Columns by name, NaN where undefined.
Columns: TypeAlias = "Mapping[str, Floats]"

#: The name that stands for all runs together.
POOLED: Final = "pooled"
#: The classical tests of each kind of difference, by their names in cocor.
TESTS: Final[Mapping[str, tuple[str, ...]]] = {
    "overlapping": (
        *("williams1959", "pearson1898", "hotelling1940", "olkin1967", "dunn1969", "hendrickson1970"),
        *("steiger1980", "meng1992", "hittner2003"),
    ),
    "nonoverlapping": ("steiger1980", "pearson1898", "dunn1969", "raghunathan1996", "silver2004"),
    "independent": ("fisher1925",),
}
#: The name that stands for all tests of a kind.
ALL_TESTS: Final = "all"
#: The name of intervals and p over dialogues.
JACKKNIFE: Final = "jackknife"
# Scores and traits are rounded to this many decimals before they are correlated.
_DECIMALS: Final = 12
# Correlations above this are 1, apart from rounding errors.
_EXACT: Final = 1 - 1e-9
# The variance of a difference counts as 0 if it is a smaller part than this of those of the two correlations.
_NEGLIGIBLE: Final = 1e-12
_NO_LIMITS: Final = (None, None)


class Rows(NamedTuple):
    """The columns of a run, or of all runs pooled, and the dialogue of each row."""

    run: str
    columns: Columns
    dialogues: Integers  # numbered in any way
    per: Per = "dialogue"
    taken: str = "pairwise"  # the column `rows` of `schema.analysis.CORRELATIONS`

    @property
    def is_classical(self) -> bool:
        """Whether Fisher's and Zou's intervals and classical tests may be had: no dialogue has several rows.

        The authors of GCA took the rows of several runs as independent, so their protocol has them too.
        """
        return self.taken == "released" or len(np.unique(self.dialogues)) == len(self.dialogues)


def with_pooled(
    tables: Sequence[tuple[str, pl.DataFrame]], variables: Sequence[str], per: Per = "dialogue", taken: str = "pairwise"
) -> list[Rows]:
    """The rows of each run, and after several runs, of all of them, as `POOLED`.

    Raises:
        UsageError: One of several runs is called `POOLED`.
    """
    if len(tables) > 1:
        if POOLED in (name for name, _ in tables):
            raise UsageError(
                f"a run is called {POOLED!r}, which is the name of all runs together", hint="--name renames it"
            )
        tables = [*tables, (POOLED, pl.concat([table.select("dialogue", *variables) for _, table in tables]))]
    return [Rows(name, as_columns(table, variables), numbered(table["dialogue"]), per, taken) for name, table in tables]


def numbered(dialogues: pl.Series) -> Integers:
    """The number of each row's dialogue, from 0."""
    return (dialogues.cast(pl.String).rank("dense") - 1).to_numpy().astype(np.int64)


def as_columns(table: pl.DataFrame, variables: Sequence[str]) -> Columns:
    """The numbers in columns of a table, NaN where undefined."""
    # Equal scores that come from different sums can differ in their last bits; rounding removes the difference.
    return {v: table[v].cast(pl.Float64).fill_null(float("nan")).to_numpy().round(_DECIMALS) for v in variables}


def correlations(rows: Rows, level: float) -> pl.DataFrame:
    """The correlation of each pair of columns, as rows of `schema.analysis.CORRELATIONS`."""
    result = []
    for first, second in combinations(rows.columns, 2):
        pair = rows.columns[first], rows.columns[second]
        r, n = pearson(*pair)
        has_fisher = rows.is_classical and n >= LEAST and not np.isnan(r)
        fisher = interval(r, n, level) if has_fisher else _NO_LIMITS
        limits = limits_of(pair, rows.dialogues, level)
        result.append((rows.run, rows.taken, rows.per, first, second, r, n, *limits, *fisher, level))
    return _frame(result, CORRELATIONS.schema)


def limits_of(
    pair: tuple[Floats, Floats], dialogues: Integers, level: float
) -> tuple[float, float] | tuple[None, None]:
    """The interval of a correlation over dialogues, symmetric in Fisher's z."""
    return jackknifed_correlation(*pair, dialogues).limits(level, fisher=True) or _NO_LIMITS


def warn_of_no_interval(run: str | None, first: str, second: str) -> None:
    """Warn of a correlation that has no interval over dialogues."""
    what = "too few dialogues, or all but one have the same value"
    warn(
        f"r({first}, {second}) has no interval: {what}",
        run=run,
        kind=f"correlations without an interval: {what}",
    )


def warn_of_gaps(run: str | None, columns: Columns, rows: str) -> None:
    """Warn of columns that are undefined in most rows; `rows` is what a row is, in the plural, such as ``turns``."""
    for name, column in columns.items():
        defined = np.count_nonzero(~np.isnan(column))
        if 2 * defined < len(column):
            rest = f"its correlations are over the other {defined:,}" if defined else "nothing correlates with it"
            lacking = f"is undefined in {len(column) - defined:,} of {len(column):,} {rows}"
            warn(f"{name} {lacking}: {rest}", run=run, kind=f"columns that are undefined in most {rows}")


class Compared(NamedTuple):
    """Two correlations and their comparison."""

    runs: Pair
    first: Pair
    second: Pair
    kind: str  # a key of `TESTS`
    r: tuple[float, float]
    n: tuple[int, int]
    limits: tuple[float, float] | None = None  # the interval of the difference; None: they cannot be compared
    p: float | None = None
    classical: Comparison | None = None  # Zou's interval and the classical tests; None: rows are not independent
    why_not: str | None = None  # why they cannot be compared


def compare_pairs(
    runs: Pair, columns: Sequence[Floats], rows: Rows, pairs: tuple[Pair, Pair], level: float
) -> Compared:
    """Compare two correlations over the rows in which all four columns are defined.

    A column of the first pair that equals one of the second counts as shared, whatever the two are called.

    Args:
        runs: The runs of the first and of the second correlation.
        columns: The two columns of the first pair, then those of the second, all of one length; NaN where undefined.
        rows: The dialogues of their rows.
        pairs: Names of the first and of the second pair.
        level: Confidence level of the interval.
    """
    defined = _defined(columns)
    j, k, h, m = (column[defined] for column in columns)
    dialogues = rows.dialogues[defined]
    unshared = _unshared(j, k, h, m)
    r, n = (pearson(j, k)[0], pearson(h, m)[0]), len(j)
    compared = Compared(runs, *pairs, "overlapping" if unshared else "nonoverlapping", r, (n, n))
    one, other = jackknifed_correlation(j, k, dialogues), jackknifed_correlation(h, m, dialogues)
    compared = _over_dialogues(compared, one, other, one - other, level)
    if compared.why_not or not rows.is_classical:
        return compared
    try:
        if unshared:
            classical = compare_overlapping(*r, pearson(*unshared[0])[0], n, level=level)
        else:
            r_jh, r_jm, r_kh, r_km = (pearson(a, b)[0] for a in (j, k) for b in (h, m))
            classical = compare_nonoverlapping(*r, r_jh, r_jm, r_kh, r_km, n, level=level)
    except UsageError:  # a correlation is ±1, or a column follows from the others
        return compared
    return compared._replace(classical=classical)


def compare_separate_runs(runs: Pair, one: Rows, other: Rows, pair: Pair, level: float) -> Compared:
    """Compare one correlation between two runs that share no dialogue."""
    a, b = pair
    (r_first, n_first), (r_second, n_second) = (pearson(rows.columns[a], rows.columns[b]) for rows in (one, other))
    compared = Compared(runs, pair, pair, "independent", (r_first, r_second), (n_first, n_second))
    first, second = (jackknifed_correlation(rows.columns[a], rows.columns[b], rows.dialogues) for rows in (one, other))
    difference = Jackknifed(first.value - second.value, np.concatenate([first.influence, -second.influence]))
    compared = _over_dialogues(compared, first, second, difference, level)
    if compared.why_not or max(map(abs, compared.r)) >= 1:
        return compared
    return compared._replace(classical=compare_independent(r_first, n_first, r_second, n_second, level=level))


def _over_dialogues(
    compared: Compared, one: Jackknifed, other: Jackknifed, difference: Jackknifed, level: float
) -> Compared:
    """The comparison with the interval and p of the difference over dialogues, or with the reason why it has none."""
    dialogues = min(len(one.influence), len(other.influence))
    why_not, limits = None, difference.limits(level)
    if dialogues < LEAST:
        why_not = f"all of their columns are defined in {dialogues} dialogues only, and a correlation needs {LEAST}"
    elif np.isnan(difference.value):
        why_not = "a column does not vary"
    elif limits is None:
        why_not = "a column varies in one dialogue only"
    elif difference.spread.se**2 <= _NEGLIGIBLE * (one.spread.se**2 + other.spread.se**2):
        is_exact = max(map(abs, compared.r)) > _EXACT
        why_not = "two columns correlate perfectly" if is_exact else "one of the columns follows from the others"
    return compared._replace(why_not=why_not) if why_not else compared._replace(limits=limits, p=difference.p())


def _defined(columns: Sequence[Floats]) -> Flags:
    """The rows in which all columns are defined."""
    defined: Flags = np.logical_and.reduce([~np.isnan(column) for column in columns])
    return defined


def _unshared(j: Floats, k: Floats, h: Floats, m: Floats) -> list[tuple[Floats, Floats]]:
    """For each shared column: the columns of the first and the second pair that are paired with it."""
    orders = (((j, k), (h, m)), ((j, k), (m, h)), ((k, j), (h, m)), ((k, j), (m, h)))
    return [(one[1], other[1]) for one, other in orders if np.array_equal(one[0], other[0])]


def chosen_outcomes(compared: Compared, test: str | None) -> list[tuple[str, Outcome]]:
    """The classical tests of a difference that are asked for: by name, `ALL_TESTS`, or none."""
    tests = {} if compared.classical is None else compared.classical.tests
    return [(name, tests[name]) for name in TESTS[compared.kind] if name in tests and test in (name, ALL_TESTS)]


def difference_rows(
    compared: Iterable[Compared], level: float, taken: str = "complete", per: Per = "dialogue"
) -> pl.DataFrame:
    """Differences as rows of `schema.analysis.CORRELATION_DIFFERENCES`; `taken` is its `rows`."""
    rows = [(*_keys(each), taken, per, each.kind, *each.r, *values_of(each), *each.n, level) for each in compared]
    return _frame(rows, CORRELATION_DIFFERENCES.schema)


def values_of(compared: Compared) -> tuple[float | None, ...]:
    """The difference, its interval, p and Zou's interval; None if it has none."""
    difference = None if compared.limits is None else compared.r[0] - compared.r[1]
    zou = _NO_LIMITS if compared.classical is None else compared.classical.zou
    return difference, *(compared.limits or _NO_LIMITS), compared.p, *zou


def outcome_rows(compared: Iterable[Compared], test: str | None, level: float) -> pl.DataFrame:
    """Tests of differences, as rows of `schema.analysis.CORRELATION_TESTS`.

    Args:
        compared: The differences.
        test: See `chosen_outcomes`.
        level: Confidence level of the intervals that tests have.
    """
    rows = [
        (*_keys(each), name, outcome.statistic, outcome.df, outcome.p, *(outcome.interval or (None, None)), level)
        for each in compared
        for name, outcome in chosen_outcomes(each, test)
    ]
    return _frame(rows, CORRELATION_TESTS.schema)


def _keys(compared: Compared) -> tuple[str, ...]:
    """The columns `run`, `other_run`, `first` and `second` of a row."""
    return *compared.runs, ",".join(compared.first), ",".join(compared.second)


def _frame(rows: Sequence[tuple[Any, ...]], schema: pl.Schema) -> pl.DataFrame:
    """Rows as a frame, with null for NaN."""
    return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)
