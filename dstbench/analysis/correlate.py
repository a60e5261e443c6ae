"""Correlations of metrics, traits and people's ratings, and differences between them (see `dstbench help statistics`).

A correlation (Kim et al. 2022, Figs 3 and A1) uses the rows in which both of its columns are defined; two that are
compared use the rows in which all of their columns are. Pooling runs concatenates their rows: a dialogue counts once
for each run that has it. Intervals and p are over dialogues: each is left out in turn with all of its rows. Classical
ones, which assume independent rows of normal data, stand beside them where rows are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, combinations, product
from typing import Any, Final, NamedTuple, TypeAlias, Unpack, get_args

import numpy as np
import polars as pl

from dstbench.analysis.dialogue_traits import per_dialogue, with_scores
from dstbench.analysis.user_tables import read_user_table
from dstbench.arrays import Flags, Floats, Integers
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, UsageError, check_known, did_you_mean, is_or_are, number_of, warn
from dstbench.metrics import Metric, parse_all
from dstbench.metrics.registry import PLUGINS, REGISTRY, find_metric, sign_of, split
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema import analysis as schema
from dstbench.schema.core import TURNS
from dstbench.schema.record import Record
from dstbench.scoring.partitions import over_parts
from dstbench.scoring.validation import open_under
from dstbench.stats import (
    Jackknifed,
    Outcome,
    RankCorrelation,
    compare_independent,
    compare_nonoverlapping,
    compare_overlapping,
    compare_rank_correlations,
    interval,
    jackknifed_correlation,
    kendall,
    pearson,
    spearman,
)
from dstbench.stats.adjust import adjust_defined
from dstbench.stats.correlations import LEAST
from dstbench.stats.normal import check_level
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
    return schema.CORRELATIONS.of(result)


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
    orders = product(((j, k), (k, j)), ((h, m), (m, h)))
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
    return with_holm(schema.CORRELATION_DIFFERENCES.of([{**each.row, "rows": taken, "per": per} for each in compared]))


def with_holm(rows: pl.DataFrame, *within: str) -> pl.DataFrame:
    """Rows with `p_adjusted`: p adjusted after Holm for all rows that have one, or for those alike in some columns."""
    adjusted = pl.col("p").map_batches(
        lambda p: pl.Series(adjust_defined(p.to_numpy(), "holm")).fill_nan(None), pl.Float64
    )
    return rows.with_columns(p_adjusted=adjusted.over(within) if within else adjusted)


# --- correlations of metrics and traits -------------------------------------------------------------------------------

#: The metrics that are correlated by default.
CORRELATED: Final = "jga,sa,rsa,aga,f1,fga,gca"
#: The columns that can be correlated in addition to metrics.
COLUMNS: Final[Mapping[Per, tuple[str, ...]]] = {
    "dialogue": tuple(name for name in schema.DIALOGUES.columns if name not in ("run", "dialogue")),
    "turn": tuple(name for name in TURNS.columns if name != "dialogue"),
}
#: The column of ratings, beside those of scores.
RATING: Final = "rating"
_RANKED: Final[Mapping[str, Callable[..., RankCorrelation]]] = {"spearman": spearman, "kendall": kendall}


@dataclass(frozen=True)
class Correlations(Record):
    """Correlations, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        matrix: A row per pair of columns and run; if there are several runs, also of all runs pooled.
        differences: The differences that were asked for, with intervals and p.
        tests: The classical tests of these differences that were asked for.
        signatures: (run, metric, unit, signature) of the scores.
        rated: How much each metric agrees with the ratings; empty without ratings.
        rated_differences: How much more each metric agrees with the ratings than another does, with tests; empty
            without ratings.
    """

    matrix: pl.DataFrame
    differences: pl.DataFrame
    tests: pl.DataFrame
    signatures: pl.DataFrame
    rated: pl.DataFrame
    rated_differences: pl.DataFrame


def correlate(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    per: Per | None = None,
    differences: Iterable[str | Sequence[str | Metric]] = (),
    between_runs: bool = False,
    ratings: Any = None,
    test: str | None = None,
    level: float = 0.95,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Correlations:
    """Correlate scores, and compare correlations.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation, and columns of `schema.analysis.DIALOGUES` (over turns: of
            `schema.core.TURNS`), such as ``to_mean`` or ``turns``; None: the usual metrics.
        per: Correlate the scores of dialogues (the default), or of turns. With ratings, the default is what they
            rate.
        differences: Correlations to compare, each as four metrics or columns, A,B,C,D: r(A, B) less r(C, D); or as
            three, A,B,C: r(A, B) less r(A, C). The metrics and columns that they name are correlated too.
        between_runs: Compare each correlation of one run with that of another. Two runs must have the same
            dialogues, or no dialogue in common. Not over turns.
        ratings: People's ratings: CSV or Parquet with the columns dialogue, rating[, turn][, run]. In Python, also
            a frame. They have `turn` if turns are rated, and `run` if runs are rated. Only rated dialogues or turns
            are correlated. The correlations of any two metrics with the rating are compared, unless lower scores
            are better by one of them.
        test: A classical test of differences, by its name in cocor, or ``all``. It stands beside p. These tests
            assume independent rows of normal data, so there are none over turns or of pooled runs, and scores of
            dialogues make them reject too often or too seldom.
        level: Confidence level of the intervals.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data or ratings cannot be used; two runs share only a part of their dialogues; or a metric, test
            or profile is unknown.

    >>> area = {"hotel-area": "north"}
    >>> states = [{"dialogue_id": f"D{n}", "turn": t, "gold": area, "pred": area if t < n else {}}
    ...           for n in range(4) for t in range(3)]
    >>> correlate(states, metrics="jga,wrong_turns").matrix.select("first", "second", pl.col("r").round(9), "n").rows()
    [('jga', 'wrong_turns', -1.0, 4)]
    """
    check_level(level)
    rated_by = None
    if ratings is not None:
        rated_by = Ratings(*read_user_table(ratings, "ratings", ("dialogue",), RATING, ("run", "turn")))
    per = _unit(per, test, rated_by)
    contrasts = [_contrast(each, per) for each in differences]
    if per == "turn" and (between_runs or test is not None):
        what = "one run's correlations are compared with another's" if between_runs else "a test is named"
        raise UsageError(
            f"{what}, which needs independent rows, and turns of one dialogue are not independent",
            hint="omit --per turn" if between_runs else "omit --test: differences have a p over dialogues without it",
        )
    variables = None if metrics is None else _variables(metrics, per)
    convention = as_convention(profile)
    runs = open_under(convention, data, **reading)
    if variables is None:
        variables = _variables(next((run.meta["only"] for run in runs if run.meta.get("only")), CORRELATED), per)
    chosen = variables | {name: metric for _, named in contrasts for name, metric in named.items()}
    if len(chosen) + (rated_by is not None) < 2:
        raise UsageError("a correlation is between two metrics", hint="-m jga,fga")
    if between_runs and len(runs) < 2:
        raise UsageError("only one run is given: there is none to compare it with")
    results = [(run.name, *_of_run(run, chosen, per, convention)) for run in runs]
    names, rated_pairs = list(chosen), list[tuple[Pair, Pair]]()
    if rated_by is not None:
        results = _rated_runs(rated_by, results)
        # Not metrics whose lower scores are known to be better.
        scores = [name for name, metric in chosen.items() if metric is not None and sign_of(name) != -1]
        rated_pairs = [((RATING, a), (RATING, b)) for a, b in combinations(scores, 2)]
        names.append(RATING)
    signatures = pl.concat([of_run for *_, of_run in results])
    heads = pl.col("signature").str.split("|").list.first().unique(maintain_order=True)
    for metric, ways in signatures.group_by("metric", maintain_order=True).agg(heads).iter_rows():
        if len(ways) > 1:
            warn(f"{metric} has different parameters in the pooled runs: {' and '.join(ways)}; name its parameters")
    tables = [(name, table) for name, table, _ in results]
    of_runs = with_pooled(tables, names, per=per)
    compared = partial(compare_correlations, level=level, test=test)
    asked = [compared(rows, rows, pairs) for pairs, _ in contrasts for rows in of_runs]
    asked += _between(tables, of_runs, compared) if between_runs else ()
    about_rating = [[compared(rows, rows, pairs) for pairs in rated_pairs] for rows in of_runs]
    for each in [*asked, *chain.from_iterable(zip(*about_rating, strict=True))]:
        _warn_of(each, test)
    for rows in of_runs[: len(tables)]:
        warn_of_gaps(rows.run, rows.columns, f"{'' if rated_by is None else 'rated '}{per}s")
    matrix = pl.concat([correlations(rows, level) for rows in of_runs])
    warn_of_no_interval(matrix)
    rated, rated_differences = schema.RATED.empty(), schema.RATED_DIFFERENCES.empty()
    if rated_by is not None:
        agreements = (_agreement(*of_run, level) for of_run in zip(of_runs, about_rating, strict=True))
        rated, rated_differences = map(pl.concat, zip(*agreements, strict=True))
    tests = [
        {
            **each.row,
            **vars(outcome),
            "test": name,
            **dict(zip(("low", "high"), outcome.interval or _NO_LIMITS, strict=True)),
        }
        for each in asked
        for name, outcome in each.tests.items()
    ]
    return Correlations(
        matrix,
        difference_rows(asked, per=per),
        schema.CORRELATION_TESTS.of(tests),
        signatures,
        rated,
        rated_differences,
    )


def _unit(per: Per | None, test: str | None, ratings: Ratings | None) -> Per:
    """What is correlated; refuses a unit or a test that does not exist."""
    tests = [*dict.fromkeys(chain.from_iterable(TESTS.values())), ALL_TESTS]
    check_known([] if test is None else [test], tests, "there is no test {!r}", f"one of {', '.join(tests)}")
    if per not in (None, *get_args(Per)):
        raise UsageError(f"per={per!r} is none of {', '.join(get_args(Per))}")
    if ratings is not None and per not in (None, ratings.per):
        hint = "--per turn" if ratings.per == "turn" else "--per dialogue, or a column turn in the file"
        raise UsageError(f"{ratings.name} rates {ratings.per}s, not {per}s", hint=hint)
    return per or (ratings.per if ratings else "dialogue")


def _warn_of(compared: Compared, test: str | None) -> None:
    """Warn of two correlations that cannot be compared, or not by the test that is asked for."""
    kind = compared.row["kind"]
    if compared.why_not:
        what = f"cannot be compared: {compared.why_not}"
    elif test not in (None, ALL_TESTS, *TESTS[kind]):
        what = f"are {kind}, and {test} does not test such correlations"
    else:
        return
    both = " and ".join(dict.fromkeys(f"r({', '.join(pair)})" for pair in compared.pairs))
    place = " and ".join(dict.fromkeys((compared.row["run"], compared.row["other_run"])))
    warn(f"{both} {what}", run=place, kind=f"correlations that {what}")


def _variables(notations: str | Iterable[str | Metric], per: Per) -> dict[str, Metric | None]:
    """Each metric's notation to the metric, and each column's name to None, in the order in which they are given."""
    variables: dict[str, Metric | None] = {}
    for part in split(notations):
        if isinstance(part, str) and part in COLUMNS[per]:
            variables[part] = None
            continue
        if isinstance(part, str) and find_metric(part.partition(":")[0]) is None:
            near = did_you_mean(part, [*REGISTRY, *PLUGINS.names(), *COLUMNS[per]])
            hint = near or f"a metric, or one of {', '.join(COLUMNS[per])}"
            raise UsageError(f"there is no metric and no column of {per}s {part!r}", hint=hint)
        variables |= {str(metric): metric for metric in parse_all([part])}
    return variables


def _contrast(notations: str | Sequence[str | Metric], per: Per) -> tuple[tuple[Pair, Pair], dict[str, Metric | None]]:
    """The two correlations that three or four names stand for (see `correlate`), and their variables."""
    variables = [_variables([part], per) for part in split(notations)]
    names = [name for each in variables for name in each]
    if len(names) not in (3, 4):
        raise UsageError(
            f"a difference of correlations names three or four columns, not {len(names)}",
            hint="jga,fga,gca is r(jga, fga) less r(jga, gca)",
        )
    first, second = (names[0], names[1]), (names[0] if len(names) == 3 else names[2], names[-1])
    for one, other in (first, second):
        if one == other:
            raise UsageError(f"r({one}, {other}) is the correlation of a column with itself")
    if set(first) == set(second):
        raise UsageError(f"r({', '.join(first)}) is compared with itself")
    return (first, second), {name: metric for each in variables for name, metric in each.items()}


def _of_run(
    run: Run, variables: Mapping[str, Metric | None], per: Per, convention: Convention
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A row per dialogue (or turn) with a column per variable, and the signatures of the metrics."""
    metrics = [metric for metric in variables.values() if metric is not None]
    columns = [name for name, metric in variables.items() if metric is None]
    if run.meta.get("only") and columns:
        raise UsageError(f"{run.name}: {', '.join(columns)} cannot be computed, as the run holds no states")
    if per == "dialogue":
        table, signatures = per_dialogue(run, metrics, convention)
        return table.select(*dict.fromkeys(("dialogue", *variables))), signatures
    needed = dict.fromkeys(["dialogue", "turn", *columns])
    of_parts = over_parts(run, lambda part: part.turns(convention).scored.select(*needed).collect())
    table, signatures = with_scores(pl.concat(of_parts), ["dialogue", "turn"], run, metrics, convention)
    return table.select(*dict.fromkeys(("dialogue", "turn", *variables))), signatures


def _between(
    tables: Sequence[tuple[str, pl.DataFrame]], of_runs: Sequence[Rows], compared: Callable[..., Compared]
) -> Iterator[Compared]:
    """Each correlation between each two runs, whose tables are sorted by dialogue."""
    # `of_runs` ends with all runs pooled, which no table is of.
    for ((_, first), one), ((_, second), other) in combinations(zip(tables, of_runs, strict=False), 2):
        shared = first.join(second, on="dialogue", how="semi").height
        if 0 < shared < max(first.height, second.height):
            raise DstbenchError(
                f"{one.run} and {other.run} share {number_of(shared, 'dialogue')} "
                f"of {first.height:,} and {second.height:,}: they are neither the same nor independent",
                hint="score them on the same gold, or on different dialogues",
            )
        for pair in combinations(one.columns, 2):
            yield compared(one, other, (pair, pair), separate=not shared)


# --- people's ratings -------------------------------------------------------------------------------------------------


class Ratings(NamedTuple):
    """Ratings, canonical and checked; rows whose rating is empty (or NaN) are left out."""

    name: str  # what messages call the table
    rows: pl.DataFrame  # (at, [run: String,] dialogue: String, [turn: Int64,] rating: Float64), each rated once

    @property
    def per(self) -> Per:
        """What is rated."""
        return "turn" if "turn" in self.rows.columns else "dialogue"

    @property
    def keys(self) -> list[str]:
        """The columns that say what a rating is of, apart from the run."""
        return ["dialogue", "turn"] if self.per == "turn" else ["dialogue"]


def _rated_runs(
    ratings: Ratings, runs: Sequence[tuple[str, pl.DataFrame, pl.DataFrame]]
) -> list[tuple[str, pl.DataFrame, pl.DataFrame]]:
    """The runs with ratings (name, table of scores, signatures), with only the rated rows, and their ratings."""
    names = [name for name, *_ in runs]
    if "run" in ratings.rows.columns:
        others = ratings.rows.filter(~pl.col("run").is_in(names))["run"]
        other_names = ", ".join(others.unique(maintain_order=True))
        if len(others) == ratings.rows.height:
            hint = f"these are called {', '.join(names)}; --name renames them"
            raise DstbenchError(f"it rates {other_names}, and none of the runs here", file=ratings.name, hint=hint)
        if len(others):
            what = f"{number_of(len(others), 'rating')} of runs that are not here ({other_names}), left out"
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
    of_run = ratings.rows.filter(run=run) if "run" in ratings.rows.columns else ratings.rows
    if ratings.per == "turn":
        table = table.with_columns(pl.col("turn").cast(pl.Int64))
        last = table.group_by("dialogue").agg(last=pl.col("turn").max())
        late = of_run.join(last, on="dialogue", maintain_order="left").filter(pl.col("turn") > pl.col("last"))
        none_of = "turn 0" if (of_run["turn"] > 0).all() else "an odd turn"
        if late.height and (none_of == "turn 0" or (of_run["turn"] % 2 == 0).all()):
            count = f"{late.height:,} of {of_run.height:,} ratings {is_or_are(late.height)}"
            raise DstbenchError(  # they would be joined to the wrong turns
                f"{count} of turns after a dialogue's last, none of {none_of}",
                file=ratings.name,
                dialogue=late["dialogue"][0],
                turn=late["turn"][0],
                hint="count the user's turns only, from 0",
            )
    of_run = of_run.select(*ratings.keys, RATING)
    rated = table.join(of_run, on=ratings.keys, how="inner", maintain_order="left")
    things, n = f"{ratings.per}s", rated.height
    if 0 < n < of_run.height:
        unknown = of_run.join(table, on="dialogue", how="anti")["dialogue"]
        near = did_you_mean(unknown[0], table["dialogue"].unique(maintain_order=True)) if len(unknown) else None
        meant = f" ({unknown[0]}; {near})" if near else ""
        what = f"{n:,} of {of_run.height:,} ratings used: the rest is of {things} that it does not score{meant}"
        warn(what, run=run, when="before")
    if 0 < n < table.height:
        warn(f"{n:,} of {table.height:,} {things} rated; all correlations are over these", run=run, when="before")
    return rated


def _agreement(rows: Rows, compared: Iterable[Compared], level: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """How much each column agrees with the ratings (`RATED`), and how much more than another (`RATED_DIFFERENCES`)."""

    @cache  # most metrics are defined in the same rows
    def ranked(coefficient: str, metric: str, taken: bytes) -> RankCorrelation:
        at = np.frombuffer(taken, bool)
        columns = (rows.columns[name][at] for name in (metric, RATING))
        return _RANKED[coefficient](*columns, rows.dialogues[at], level=level)

    def about(*metrics: str) -> tuple[bytes, dict[str, Any]]:
        """The rows in which the rating and these metrics are defined; and what is said of them."""
        taken = rows.defined(RATING, *metrics)
        sizes = {"n": int(taken.sum()), "dialogues": len(np.unique(rows.dialogues[taken]))}
        named = dict(zip(("metric", "other"), metrics, strict=False))
        return taken.tobytes(), {"run": rows.run, "per": rows.per, "level": level, **named, **sizes}

    rated, differences = list[dict[str, Any]](), list[dict[str, Any]]()
    _warn_of_columns(rows)
    for metric in [name for name in rows.columns if name != RATING]:
        taken, of_metric = about(metric)
        r, _ = pearson(rows.columns[metric], rows.columns[RATING])
        limits = dict(zip(("low", "high"), limits_of(rows, metric, RATING, level), strict=True))
        rated.append({"coefficient": "pearson", "interval": JACKKNIFE, "value": r, **limits, **of_metric})
        for coefficient in _RANKED:
            value = vars(ranked(coefficient, metric, taken))
            rated.append({**value, "coefficient": coefficient, "interval": "linearised", **of_metric})
    for each in compared:
        one, other = (pair[1] for pair in each.pairs)
        taken, of_both = about(one, other)
        of_r = {"coefficient": "pearson", "value": each.row["r_first"], "other_value": each.row["r_second"], **of_both}
        named = {} if each.why_not else {"interval": JACKKNIFE, "test": JACKKNIFE}
        differences.append(each.row | of_r | named)
        for name, outcome in each.tests.items():
            differences.append(each.row | vars(outcome) | of_r | {"interval": JACKKNIFE, "test": name})
        for coefficient in _RANKED:
            first, second = (ranked(coefficient, metric, taken) for metric in (one, other))
            row = {"coefficient": coefficient, "value": first.value, "other_value": second.value, **of_both}
            try:
                comparison = compare_rank_correlations(first, second)
                (name, outcome), (low, high) = *comparison.tests.items(), comparison.zou
                row |= {**vars(outcome), "difference": comparison.difference, "low": low, "high": high}
                row |= {"interval": "zou2007", "test": name}
            except UsageError as error:
                if not each.why_not:
                    kind = f"no difference of {coefficient.capitalize()}'s coefficients with the ratings: {error.what}"
                    warn(f"{one} and {other}: {kind}", run=rows.run, kind=kind)
            differences.append(row)
    enough, kept = (
        pl.col("dialogues") >= LEAST,
        ("run", "per", "level", "metric", "other", "n", "dialogues", "coefficient"),
    )
    of_metrics = schema.RATED.of(rated).with_columns(pl.when(enough).then(pl.col("value", "low", "high")))
    of_pairs = schema.RATED_DIFFERENCES.of(differences).with_columns(pl.when(enough).then(pl.exclude(kept)))
    return of_metrics, with_holm(of_pairs, "coefficient", "test")


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
