"""Correlations of columns of numbers, and differences between two correlations, as rows.

Conventions: correlations are Pearson's r. A correlation uses the rows in which both of its columns are defined.
Two correlations that are compared use the rows in which all of their columns are defined. Pooling runs concatenates
their rows: a dialogue counts once for each run that has it. Intervals and tests either treat rows as independent (then
intervals of pooled runs are too narrow), or resample clusters of rows: all rows of a dialogue together.
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
    Outcome,
    compare_independent,
    compare_nonoverlapping,
    compare_overlapping,
    matrix,
    pearson,
    resampled_correlations,
)
from dstbench.stats.correlations import LEAST
from dstbench.typing import Per

Pair: TypeAlias = tuple[str, str]
#: Columns by name, NaN where undefined.
Columns: TypeAlias = "Mapping[str, Floats]"

#: The name that stands for all runs together.
POOLED: Final = "pooled"
#: The tests of each kind of difference, by their names in cocor; the first one is the default.
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
#: The name in place of a test's where clusters are resampled.
BOOTSTRAP: Final = "bootstrap"
# Scores and traits are rounded to this many decimals before they are correlated.
_DECIMALS: Final = 12
# Correlations above this are 1, apart from rounding errors.
_EXACT: Final = 1 - 1e-9
_NO_LIMITS: Final = (float("nan"), float("nan"))
# Why correlations cannot be compared.
_CONSTANT: Final = "a column does not vary"


class Sample(NamedTuple):
    """What a row is, and which rows are resampled together."""

    per: Per = "dialogue"
    clusters: Integers | None = None  # each row's cluster, from 0; None: rows are independent
    resamples: int = 10_000
    seed: int = 0


_INDEPENDENT: Final = Sample()


def with_pooled(tables: Sequence[tuple[str, pl.DataFrame]], variables: Sequence[str]) -> list[tuple[str, Columns]]:
    """Each run's name and columns, and after several runs, `POOLED` and the columns of all of them.

    Raises:
        UsageError: One of several runs is called `POOLED`.
    """
    named = [(name, as_columns(table, variables)) for name, table in tables]
    if len(named) > 1:
        if POOLED in (name for name, _ in named):
            raise UsageError(
                f"a run is called {POOLED!r}, which is the name of all runs together", hint="--name renames it"
            )
        named.append((POOLED, {v: np.concatenate([columns[v] for _, columns in named]) for v in variables}))
    return named


def as_columns(table: pl.DataFrame, variables: Sequence[str]) -> Columns:
    """The numbers in columns of a table, NaN where undefined."""
    # Equal scores that come from different sums can differ in their last bits; rounding removes the difference.
    return {v: table[v].cast(pl.Float64).fill_null(float("nan")).to_numpy().round(_DECIMALS) for v in variables}


def correlations(
    run: str, columns: Columns, level: float, rows_taken: str = "pairwise", sample: Sample = _INDEPENDENT
) -> pl.DataFrame:
    """The correlation of each pair of columns, as rows of `schema.analysis.CORRELATIONS` (`rows_taken`: its `rows`)."""
    m = matrix(columns, level)
    names = list(columns)
    pairs = list(combinations(range(len(names)), 2))
    limits = {(i, j): (m.lo[i, j], m.hi[i, j]) for i, j in pairs}
    if sample.clusters is not None:
        both = [(columns[names[i]], columns[names[j]]) for i, j in pairs]
        limits = dict(zip(pairs, resampled_limits(both, sample.clusters, sample, level), strict=True))
    by = "fisher" if sample.clusters is None else BOOTSTRAP
    rows = [
        (run, rows_taken, sample.per, names[i], names[j], m.r[i, j], int(m.n[i, j]), *limits[i, j], by, level)
        for i, j in pairs
    ]
    return _frame(rows, CORRELATIONS.schema)


def resampled_limits(
    pairs: Sequence[tuple[Floats, Floats]], clusters: Integers, sample: Sample, level: float
) -> list[tuple[float, float]]:
    """The interval of each pair's correlation, by resampling clusters; NaN if it has none."""
    enough = [len(np.unique(clusters[_defined(pair)])) >= LEAST for pair in pairs]
    if not any(enough):
        return [_NO_LIMITS] * len(pairs)
    replicates = resampled_correlations(pairs, clusters, sample.resamples, sample.seed)
    return [
        (each.limits(level) if is_enough else None) or _NO_LIMITS
        for each, is_enough in zip(replicates, enough, strict=True)
    ]


def warn_of_no_interval(run: str | None, first: str, second: str) -> None:
    """Warn of a correlation whose interval would need resamples in which both columns vary."""
    what = "too few dialogues, or too few in which a column varies"
    warn(
        f"r({first}, {second}) has no interval: there are {what}",
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
    limits: tuple[float, float] | None  # the interval of the difference; None: they cannot be compared
    outcomes: Mapping[str, Outcome]  # by test, the default one first
    why_not: str | None  # why they cannot be compared


def compare_pairs(runs: Pair, columns: Sequence[Floats], first: Pair, second: Pair, level: float) -> Compared:
    """Compare two correlations over the rows in which all four columns are defined; rows are independent.

    A column of the first pair that equals one of the second counts as shared, whatever the two are called.

    Args:
        runs: The runs of the first and of the second correlation.
        columns: The two columns of the first pair, then those of the second, all of one length; NaN where undefined.
        first: Names of the first pair.
        second: Names of the second pair.
        level: Confidence level of the interval.
    """
    j, k, h, m = (column[_defined(columns)] for column in columns)
    unshared = _unshared(j, k, h, m)
    compared = _observed(runs, (j, k, h, m), first, second)
    (r_first, r_second), (n, _) = compared.r, compared.n
    if why_not := _why_not(compared.r, compared.n):
        return compared._replace(why_not=why_not)
    try:
        if unshared:
            comparison = compare_overlapping(r_first, r_second, pearson(*unshared[0])[0], n, level=level)
        else:
            r_jh, r_jm, r_kh, r_km = (pearson(a, b)[0] for a in (j, k) for b in (h, m))
            comparison = compare_nonoverlapping(r_first, r_second, r_jh, r_jm, r_kh, r_km, n, level=level)
    except UsageError:  # it is about the correlations: the level and the number of rows have been checked
        return compared._replace(why_not="one of the columns follows from the others")
    outcomes = {name: comparison.tests[name] for name in TESTS[compared.kind]}
    return compared._replace(limits=comparison.zou, outcomes=outcomes)


def compare_resampled(
    run: str, columns: Columns, contrasts: Iterable[tuple[Pair, Pair]], level: float, sample: Sample
) -> list[Compared]:
    """Compare pairs of correlations by resampling clusters, each over the rows in which its four columns are defined.

    Args:
        run: The run's name.
        columns: Its columns.
        contrasts: The names of each first and second pair.
        level: Confidence level of the intervals.
        sample: The clusters.
    """
    clusters = np.asarray(sample.clusters)
    pairs: dict[tuple[Pair, bytes], tuple[Floats, Floats]] = {}  # each once, even if several contrasts have it
    results: list[tuple[Compared, bytes]] = []
    for first, second in contrasts:
        four = [columns[name] for name in (*first, *second)]
        rows = _defined(four)
        compared = _observed((run, run), [column[rows] for column in four], first, second)
        if (dialogues := len(np.unique(clusters[rows]))) < LEAST:
            compared = compared._replace(why_not=_too_few(dialogues))
        elif np.isnan(compared.r).any():
            compared = compared._replace(why_not=_CONSTANT)
        else:
            j, k, h, m = (np.where(rows, column, np.nan) for column in four)
            pairs |= {(first, rows.tobytes()): (j, k), (second, rows.tobytes()): (h, m)}
        results.append((compared, rows.tobytes()))
    drawn = resampled_correlations(list(pairs.values()), clusters, sample.resamples, sample.seed) if pairs else []
    replicates = dict(zip(pairs, drawn, strict=True))
    for at, (compared, rows_taken) in enumerate(results):
        if compared.why_not:
            continue
        difference = replicates[compared.first, rows_taken] - replicates[compared.second, rows_taken]
        if limits := difference.limits(level):
            outcomes = {BOOTSTRAP: Outcome(np.nan, None, difference.p())}
            results[at] = compared._replace(limits=limits, outcomes=outcomes), rows_taken
        else:
            undefined = np.count_nonzero(np.isnan(difference.resampled))
            why_not = f"a column does not vary in {undefined:,} of {sample.resamples:,} resamples"
            results[at] = compared._replace(why_not=why_not), rows_taken
    return [compared for compared, _ in results]


def _defined(columns: Sequence[Floats]) -> Flags:
    """The rows in which all columns are defined."""
    defined: Flags = np.logical_and.reduce([~np.isnan(column) for column in columns])
    return defined


def _unshared(j: Floats, k: Floats, h: Floats, m: Floats) -> list[tuple[Floats, Floats]]:
    """For each shared column: the columns of the first and the second pair that are paired with it."""
    orders = (((j, k), (h, m)), ((j, k), (m, h)), ((k, j), (h, m)), ((k, j), (m, h)))
    return [(one[1], other[1]) for one, other in orders if np.array_equal(one[0], other[0])]


def _observed(runs: Pair, columns: Sequence[Floats], first: Pair, second: Pair) -> Compared:
    """Two correlations of four columns without gaps, not yet compared."""
    j, k, h, m = columns
    kind = "overlapping" if _unshared(j, k, h, m) else "nonoverlapping"
    r, n = (pearson(j, k)[0], pearson(h, m)[0]), (len(j), len(h))
    return Compared(runs, first, second, kind, r, n, None, {}, None)


def compare_separate_runs(runs: Pair, one: Columns, other: Columns, pair: Pair, level: float) -> Compared:
    """Compare one correlation between two runs that share no dialogue."""
    (r_first, n_first), (r_second, n_second) = (pearson(*(columns[name] for name in pair)) for columns in (one, other))
    r, n = (r_first, r_second), (n_first, n_second)
    compared = Compared(runs, pair, pair, "independent", r, n, None, {}, _why_not(r, n))
    if compared.why_not:
        return compared
    comparison = compare_independent(r_first, n_first, r_second, n_second, level=level)
    return compared._replace(limits=comparison.zou, outcomes=comparison.tests)


def _why_not(r: tuple[float, float], n: tuple[int, int]) -> str | None:
    """Why two correlations cannot be compared, as far as r and n show; None: they can."""
    if min(n) < LEAST:
        return _too_few(min(n))
    if np.isnan(r).any():
        return _CONSTANT
    return "two columns correlate perfectly" if max(map(abs, r)) > _EXACT else None


def _too_few(dialogues: int) -> str:
    return f"all of their columns are defined in {dialogues} dialogues only, and a correlation needs {LEAST}"


def interval_of(compared: Compared) -> str | None:
    """How the interval of a difference is computed; None if it has none."""
    return None if compared.limits is None else BOOTSTRAP if BOOTSTRAP in compared.outcomes else "zou2007"


def chosen_outcomes(compared: Compared, test: str | None) -> list[tuple[str, Outcome]]:
    """The tests of a difference that are asked for.

    Args:
        compared: The difference.
        test: A test's name, `ALL_TESTS`, or None: the default test of the kind of difference. Where clusters are
            resampled, there is one p, by `BOOTSTRAP`, whatever the test.
    """
    return [
        (name, outcome)
        for rank, (name, outcome) in enumerate(compared.outcomes.items())
        if name == BOOTSTRAP or test in (name, ALL_TESTS) or (test is None and rank == 0)
    ]


def difference_rows(
    compared: Iterable[Compared], level: float, rows_taken: str = "complete", per: Per = "dialogue"
) -> pl.DataFrame:
    """Differences as rows of `schema.analysis.CORRELATION_DIFFERENCES`; `rows_taken`: see `correlations`."""
    rows = []
    for each in compared:
        difference = None if each.limits is None else each.r[0] - each.r[1]
        values = *each.r, difference, *(each.limits or (None, None)), interval_of(each)
        rows.append((*_keys(each), rows_taken, per, each.kind, *values, *each.n, level))
    return _frame(rows, CORRELATION_DIFFERENCES.schema)


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
