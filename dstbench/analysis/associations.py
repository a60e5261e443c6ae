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

from dstbench.analysis.compare import adjust_defined
from dstbench.arrays import Flags, Floats, Integers
from dstbench.errors import UsageError, warn
from dstbench.schema.analysis import CORRELATION_DIFFERENCES, CORRELATIONS
from dstbench.stats import (
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

    @classmethod
    def of(cls, run: str, table: pl.DataFrame, variables: Sequence[str], **about: Any) -> Rows:
        """Those of a table with the column `dialogue`."""
        # Equal scores that come from different sums can differ in their last bits; rounding removes the difference.
        numbers = {v: table[v].cast(pl.Float64).fill_null(np.nan).to_numpy().round(_DECIMALS) for v in variables}
        dialogues = (table["dialogue"].cast(pl.String).rank("dense") - 1).to_numpy().astype(np.int64)
        return cls(run, numbers, dialogues, **about)

    @property
    def is_classical(self) -> bool:
        """Whether no dialogue has several rows; GCA's authors took the rows of several runs as independent."""
        is_single = len(np.unique(self.dialogues)) == len(self.dialogues)
        return self.taken == "released" or (self.taken != GIVEN and is_single)

    def defined(self, *names: str) -> Flags:
        """The rows in which all of these columns are defined."""
        return np.asarray(~np.isnan([self.columns[name] for name in names]).any(axis=0))


def with_pooled(tables: Sequence[tuple[str, pl.DataFrame]], variables: Sequence[str], **about: Any) -> list[Rows]:
    """The rows of each run, and after several runs, of all of them, as `POOLED`, which no run may be called."""
    if len(tables) > 1:
        if POOLED in (name for name, _ in tables):
            raise UsageError(
                f"a run is called {POOLED!r}, which is the name of all runs together", hint="--name renames it"
            )
        tables = [*tables, (POOLED, pl.concat([table.select("dialogue", *variables) for _, table in tables]))]
    return [Rows.of(name, table, variables, **about) for name, table in tables]


def correlations(rows: Rows, level: float) -> pl.DataFrame:
    """The correlation of each pair of columns, as rows of `schema.analysis.CORRELATIONS`."""
    result = []
    for first, second in combinations(rows.columns, 2):
        r, n = pearson(rows.columns[first], rows.columns[second])
        has_fisher = rows.is_classical and n >= LEAST and not np.isnan(r)
        limits = limits_of(rows, first, second, level)
        fisher = interval(r, n, level) if has_fisher else _NO_LIMITS
        result.append((rows.run, rows.taken, rows.per, first, second, r, n, *limits, *fisher, level))
    return CORRELATIONS.of(result)


def given(rows: Rows, names: Sequence[str], controls: Sequence[str]) -> Rows:
    """The rows with residuals of least squares on the controls (but for columns), whose r is the partial one."""
    used = [name for name in controls if name not in names]
    defined = rows.defined(*names, *used)
    of_controls = np.column_stack([np.ones(int(defined.sum())), *(rows.columns[name][defined] for name in used)])
    columns = {name: np.full(len(defined), np.nan) for name in names}
    for name, column in columns.items():
        values = rows.columns[name][defined]
        left = values
        if len(values):
            left = values - of_controls @ np.linalg.lstsq(of_controls, values, rcond=None)[0]
        column[defined] = 0 if np.abs(left).max(initial=0) <= _NO_REST * np.abs(values).max(initial=0) else left
    return rows._replace(columns=columns)


def limits_of(rows: Rows, first: str, second: str, level: float) -> tuple[float, float] | tuple[None, None]:
    """The interval of a correlation over dialogues, symmetric in Fisher's z."""
    of_rows = jackknifed_correlation(rows.columns[first], rows.columns[second], rows.dialogues)
    return of_rows.limits(level, fisher=True) or _NO_LIMITS


def warn_of_no_interval(matrix: pl.DataFrame) -> None:
    """Warn of correlations that have no interval over dialogues."""
    what = "too few dialogues, or all but one have the same value"
    for row in matrix.filter(pl.col("r").is_not_null(), pl.col("low").is_null()).iter_rows(named=True):
        pair = f"r({row['first']}, {row['second']})"
        warn(f"{pair} has no interval: {what}", run=row["run"], kind=f"correlations without an interval: {what}")


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

    pairs: tuple[Pair, Pair]
    row: dict[str, Any]  # of `schema.analysis.CORRELATION_DIFFERENCES`; without `p`: they cannot be compared
    tests: Mapping[str, Outcome] = {}  # the classical ones that are asked for; none: rows are not independent
    why_not: str | None = None  # why they cannot be compared


def compare_correlations(
    one: Rows, other: Rows, pairs: tuple[Pair, Pair], level: float, *, separate: bool = False, test: str | None = None
) -> Compared:
    """Compare two correlations over the same dialogues in the same order, or over none in common (`separate`)."""
    columns = [rows.columns[name] for rows, pair in zip((one, other), pairs, strict=True) for name in pair]
    taken = slice(None) if separate else ~np.isnan(columns).any(axis=0)
    j, k, h, m = (column[taken] for column in columns)
    (r_one, n_one), (r_other, n_other) = pearson(j, k), pearson(h, m)
    first = jackknifed_correlation(j, k, one.dialogues[taken])
    second = jackknifed_correlation(h, m, other.dialogues[taken])
    # For each shared column, what the first and the second pair have beside it.
    orders = (((j, k), (h, m)), ((j, k), (m, h)), ((k, j), (h, m)), ((k, j), (m, h)))
    unshared = [(a[1], b[1]) for a, b in orders if not separate and np.array_equal(a[0], b[0])]
    kind = "independent" if separate else "overlapping" if unshared else "nonoverlapping"
    both = Jackknifed(first.value - second.value, np.concatenate([first.influence, -second.influence]))
    difference = both if separate else first - second
    row: dict[str, Any] = {
        "run": one.run, "other_run": other.run, "first": ",".join(pairs[0]), "second": ",".join(pairs[1]),
        "kind": kind, "r_first": r_one, "r_second": r_other, "n_first": n_one, "n_second": n_other, "level": level,
    }  # fmt: skip
    limits, dialogues = difference.limits(level), min(len(first.influence), len(second.influence))
    why_not = None
    if dialogues < LEAST:
        why_not = f"all of their columns are defined in {dialogues} dialogues only, and a correlation needs {LEAST}"
    elif limits is None:
        why_not = "a column does not vary, or in one dialogue only"
    elif difference.spread.se**2 <= _NEGLIGIBLE * (first.spread.se**2 + second.spread.se**2):
        is_exact = max(abs(r_one), abs(r_other)) > _EXACT
        why_not = "two columns correlate perfectly" if is_exact else "one of the columns follows from the others"
    if why_not or limits is None:
        return Compared(pairs, row, why_not=why_not)
    row |= {"difference": r_one - r_other, "low": limits[0], "high": limits[1], "p": difference.p()}
    if not one.is_classical:
        return Compared(pairs, row)
    try:
        if separate:
            classical = compare_independent(r_one, n_one, r_other, n_other, level=level)
        elif unshared:
            classical = compare_overlapping(r_one, r_other, pearson(*unshared[0])[0], n_one, level=level)
        else:
            r_jh, r_jm, r_kh, r_km = (pearson(a, b)[0] for a in (j, k) for b in (h, m))
            classical = compare_nonoverlapping(r_one, r_other, r_jh, r_jm, r_kh, r_km, n_one, level=level)
    except UsageError:  # a correlation is ±1, or a column follows from the others
        return Compared(pairs, row)
    row |= dict(zip(("zou_low", "zou_high"), classical.zou, strict=True))
    return Compared(pairs, row, {name: classical.tests[name] for name in TESTS[kind] if test in (name, ALL_TESTS)})


def difference_rows(compared: Iterable[Compared], taken: str = "complete", per: Per = "dialogue") -> pl.DataFrame:
    """Differences as rows of `schema.analysis.CORRELATION_DIFFERENCES`; `taken` is its `rows`."""
    return with_holm(CORRELATION_DIFFERENCES.of([{**each.row, "rows": taken, "per": per} for each in compared]))


def with_holm(rows: pl.DataFrame, *within: str) -> pl.DataFrame:
    """Rows with `p_adjusted`: p adjusted after Holm for all rows that have one, or for those alike in some columns."""
    adjusted = pl.col("p").map_batches(
        lambda p: pl.Series(adjust_defined(p.to_numpy(), "holm")).fill_nan(None), pl.Float64
    )
    return rows.with_columns(p_adjusted=adjusted.over(within) if within else adjusted)
