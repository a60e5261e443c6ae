"""Correlations of columns of numbers, and differences between two correlations, as rows.

Conventions: correlations are Pearson's r. A correlation uses the rows in which both of its columns are defined.
Two correlations that are compared use the rows in which all of their columns are defined. Pooling runs concatenates
their rows: a dialogue counts once for each run that has it. Intervals, and the p on which verdicts rest, are over
dialogues: each is left out in turn with all of its rows, turns and runs alike. Fisher's and Zou's intervals and the
classical tests, which assume independent rows of normal data, stand beside them where rows are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from dstbench.analysis.verdicts import adjust_defined
from dstbench.arrays import Flags, Floats, Integers
from dstbench.errors import UsageError, warn
from dstbench.schema.analysis import CORRELATION_DIFFERENCES, CORRELATION_TESTS, CORRELATIONS
from dstbench.schema.core import Table
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
#: The column `rows` of correlations given `CONTROLS`.
GIVEN: Final = "given"
#: What correlations with traits are given, as most traits follow from it: the numbers of mistakes and of turns.
CONTROLS: Final = ("mistakes", "turns")
# Scores and traits are rounded to this many decimals before they are correlated.
_DECIMALS: Final = 12
# Correlations above this are 1, apart from rounding errors.
_EXACT: Final = 1 - 1e-9
# The variance of a difference counts as 0 if it is a smaller part than this of those of the two correlations.
_NEGLIGIBLE: Final = 1e-12
# Residuals that are a smaller part than this of a column are rounding errors.
_NO_REST: Final = 1e-9
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
        return self.taken == "released" or (
            self.taken != GIVEN and len(np.unique(self.dialogues)) == len(self.dialogues)
        )

    def defined(self, *names: str) -> Flags:
        """The rows in which all of these columns are defined."""
        return np.asarray(~np.isnan([self.columns[name] for name in names]).any(axis=0))


def with_pooled(
    tables: Sequence[tuple[str, pl.DataFrame]], variables: Sequence[str], per: Per = "dialogue", taken: str = "pairwise"
) -> list[Rows]:
    """The rows of each run, and after several runs, of all of them, as `POOLED`, which no run may be called."""
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


def as_frame(rows: Sequence[Mapping[str, Any]], table: Table) -> pl.DataFrame:
    """Rows as a frame with the columns of the table; null for a value that a row lacks, and for NaN."""
    return pl.DataFrame(rows, schema=table.schema).fill_nan(None)


def correlations(rows: Rows, level: float) -> pl.DataFrame:
    """The correlation of each pair of columns, as rows of `schema.analysis.CORRELATIONS`."""
    result = []
    for first, second in combinations(rows.columns, 2):
        r, n = pearson(rows.columns[first], rows.columns[second])
        has_fisher = rows.is_classical and n >= LEAST and not np.isnan(r)
        limits = limits_of(rows, first, second, level)
        fisher = interval(r, n, level) if has_fisher else _NO_LIMITS
        result.append((rows.run, rows.taken, rows.per, first, second, r, n, *limits, *fisher, level))
    return pl.DataFrame(result, schema=CORRELATIONS.schema, orient="row").fill_nan(None)


def given(rows: Rows, names: Sequence[str], controls: Sequence[str]) -> Rows:
    """The rows with what is left of columns when the controls are known: residuals of least squares.

    Their correlation is the partial one. Its jackknife may leave the residuals as they are, because they do not
    correlate with the controls (Frisch & Waugh 1933). A control that is itself a column is not used.
    """
    used = [name for name in controls if name not in names]
    defined = rows.defined(*names, *used)
    known = np.column_stack([np.ones(int(defined.sum())), *(rows.columns[name][defined] for name in used)])
    columns = {name: np.full(len(defined), np.nan) for name in names}
    for name, column in columns.items():
        values = rows.columns[name][defined]
        left = values - known @ np.linalg.lstsq(known, values, rcond=None)[0] if len(values) else values
        column[defined] = 0 if np.abs(left).max(initial=0) <= _NO_REST * np.abs(values).max(initial=0) else left
    return rows._replace(columns=columns)


def limits_of(rows: Rows, first: str, second: str, level: float) -> tuple[float, float] | tuple[None, None]:
    """The interval of a correlation over dialogues, symmetric in Fisher's z."""
    of_rows = jackknifed_correlation(rows.columns[first], rows.columns[second], rows.dialogues)
    return of_rows.limits(level, fisher=True) or _NO_LIMITS


def warn_of_no_interval(run: str | None, first: str, second: str) -> None:
    """Warn of a correlation that has no interval over dialogues."""
    what = "too few dialogues, or all but one have the same value"
    warn(f"r({first}, {second}) has no interval: {what}", run=run, kind=f"correlations without an interval: {what}")


def warn_of_gaps(run: str | None, columns: Columns, rows: str) -> None:
    """Warn of columns that are undefined in most rows; `rows` is what a row is, in the plural, such as ``turns``."""
    for name, column in columns.items():
        defined = np.count_nonzero(~np.isnan(column))
        if 2 * defined < len(column):
            rest = f"its correlations are over the other {defined:,}" if defined else "nothing correlates with it"
            lacking = f"is undefined in {len(column) - defined:,} of {len(column):,} {rows}"
            warn(f"{name} {lacking}: {rest}", run=run, kind=f"columns that are undefined in most {rows}")


# --- differences between two correlations -----------------------------------------------------------------------------


class Compared(NamedTuple):
    """Two correlations and their comparison."""

    runs: Pair
    pairs: tuple[Pair, Pair]
    kind: str  # a key of `TESTS`
    r: tuple[float, float]
    n: tuple[int, int]
    limits: tuple[float, float] | None = None  # the interval of the difference; None: they cannot be compared
    p: float | None = None
    classical: Comparison | None = None  # Zou's interval and the classical tests; None: rows are not independent
    why_not: str | None = None  # why they cannot be compared

    def outcomes(self, test: str | None) -> list[tuple[str, Outcome]]:
        """The classical tests that are asked for: by name, `ALL_TESTS`, or none."""
        tests = {} if self.classical is None else self.classical.tests
        return [(name, tests[name]) for name in TESTS[self.kind] if name in tests and test in (name, ALL_TESTS)]

    def values(self) -> dict[str, float | None]:
        """The difference, its interval, and Zou's interval; None if it has none."""
        low, high = self.limits or _NO_LIMITS
        zou_low, zou_high = self.classical.zou if self.classical else _NO_LIMITS
        difference = None if self.limits is None else self.r[0] - self.r[1]
        return {"difference": difference, "low": low, "high": high, "zou_low": zou_low, "zou_high": zou_high}

    def names(self) -> dict[str, str]:
        """The runs and the columns that are compared."""
        first, second = (",".join(pair) for pair in self.pairs)
        return {"run": self.runs[0], "other_run": self.runs[1], "first": first, "second": second}


def compare_within(rows: Rows, pairs: tuple[Pair, Pair], level: float) -> Compared:
    """Compare two correlations in the same rows."""
    return compare_pairs((rows.run,) * 2, pairs, [rows.columns[name] for pair in pairs for name in pair], rows, level)


def compare_pairs(
    runs: Pair, pairs: tuple[Pair, Pair], columns: Sequence[Floats], rows: Rows, level: float
) -> Compared:
    """Compare two correlations over the rows in which all four columns are defined.

    A column of the first pair that equals one of the second counts as shared, whatever the two are called.
    """
    defined = ~np.isnan(columns).any(axis=0)
    j, k, h, m = (column[defined] for column in columns)
    r, n, dialogues = (pearson(j, k)[0], pearson(h, m)[0]), len(j), rows.dialogues[defined]
    orders = (((j, k), (h, m)), ((j, k), (m, h)), ((k, j), (h, m)), ((k, j), (m, h)))
    # For each shared column, what the first and the second pair have beside it.
    unshared = [(one[1], other[1]) for one, other in orders if np.array_equal(one[0], other[0])]

    def classical() -> Comparison:
        if unshared:
            return compare_overlapping(*r, pearson(*unshared[0])[0], n, level=level)
        r_jh, r_jm, r_kh, r_km = (pearson(a, b)[0] for a in (j, k) for b in (h, m))
        return compare_nonoverlapping(*r, r_jh, r_jm, r_kh, r_km, n, level=level)

    one, other = jackknifed_correlation(j, k, dialogues), jackknifed_correlation(h, m, dialogues)
    compared = Compared(runs, pairs, "overlapping" if unshared else "nonoverlapping", r, (n, n))
    return _tested(compared, (one, other, one - other), classical if rows.is_classical else None, level)


def compare_separate_runs(one: Rows, other: Rows, pair: Pair, level: float) -> Compared:
    """Compare one correlation between two runs that share no dialogue."""
    columns = [[rows.columns[name] for name in pair] for rows in (one, other)]
    (r_one, n_one), (r_other, n_other) = (pearson(*of_run) for of_run in columns)
    first, second = (
        jackknifed_correlation(x, y, rows.dialogues) for (x, y), rows in zip(columns, (one, other), strict=True)
    )
    difference = Jackknifed(first.value - second.value, np.concatenate([first.influence, -second.influence]))
    compared = Compared((one.run, other.run), (pair, pair), "independent", (r_one, r_other), (n_one, n_other))
    classical = lambda: compare_independent(r_one, n_one, r_other, n_other, level=level)  # noqa: E731
    return _tested(compared, (first, second, difference), classical, level)


def _tested(
    compared: Compared,
    jackknifed: tuple[Jackknifed, Jackknifed, Jackknifed],
    classical: Callable[[], Comparison] | None,
    level: float,
) -> Compared:
    """The comparison with interval, p and classical tests of the difference, or with the reason why it has none.

    `jackknifed` are both correlations and their difference.
    """
    one, other, difference = jackknifed
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
    if why_not:
        return compared._replace(why_not=why_not)
    compared = compared._replace(limits=limits, p=difference.p())
    try:
        return compared._replace(classical=classical and classical())
    except UsageError:  # a correlation is ±1, or a column follows from the others
        return compared


def difference_rows(
    compared: Iterable[Compared], level: float, taken: str = "complete", per: Per = "dialogue"
) -> pl.DataFrame:
    """Differences as rows of `schema.analysis.CORRELATION_DIFFERENCES`; `taken` is its `rows`."""
    rows = [
        {
            **each.names(), "rows": taken, "per": per, "kind": each.kind, "r_first": each.r[0], "r_second": each.r[1],
            **each.values(), "p": each.p, "n_first": each.n[0], "n_second": each.n[1], "level": level,
        }
        for each in compared
    ]  # fmt: skip
    return with_holm(as_frame(rows, CORRELATION_DIFFERENCES))


def with_holm(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with `p_adjusted`: p adjusted after Holm for all rows that have one."""
    adjusted = adjust_defined(rows["p"].fill_null(np.nan).to_numpy(), "holm")
    return rows.with_columns(p_adjusted=pl.Series(adjusted, dtype=pl.Float64).fill_nan(None))


def outcome_rows(compared: Iterable[Compared], test: str | None, level: float) -> pl.DataFrame:
    """The classical tests of differences that are asked for, as rows of `schema.analysis.CORRELATION_TESTS`."""
    rows = []
    for each in compared:
        for name, outcome in each.outcomes(test):
            low, high = outcome.interval or _NO_LIMITS
            found = {"statistic": outcome.statistic, "df": outcome.df, "p": outcome.p, "low": low, "high": high}
            rows.append({**each.names(), "test": name, **found, "level": level})
    return as_frame(rows, CORRELATION_TESTS)
