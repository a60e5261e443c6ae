"""Correlations of metrics and traits (Kim et al. 2022, Figs 3 and A1), and differences between correlations.

Conventions: see `associations`. Correlations are over dialogues, or over turns, as papers print them. Turns of one
dialogue are not independent, nor are the scores of several runs in it, so intervals and p are over whole dialogues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Final, Unpack, get_args

import polars as pl

from dstbench.analysis.associations import (
    ALL_TESTS,
    TESTS,
    Compared,
    Pair,
    Rows,
    as_frame,
    compare_correlations,
    correlations,
    difference_rows,
    warn_of_gaps,
    warn_of_no_interval,
    with_pooled,
)
from dstbench.analysis.dialogues import per_dialogue, with_scores
from dstbench.analysis.ratings import RATING, Ratings, compare_with_ratings, rated_runs, read_ratings
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, UsageError, check_known, did_you_mean, warn
from dstbench.metrics import Metric, parse_all
from dstbench.metrics.registry import PLUGINS, REGISTRY, find_metric, sign_of, split
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.analysis import CORRELATION_TESTS, DIALOGUES, RATED, RATED_DIFFERENCES
from dstbench.schema.core import TURNS
from dstbench.schema.record import Record
from dstbench.scoring.partitions import over_parts
from dstbench.scoring.scope import open_under
from dstbench.scoring.turns import scored_turns
from dstbench.stats.normal import check_level
from dstbench.typing import Per

#: The metrics that are correlated by default.
CORRELATED: Final = "jga,sa,rsa,aga,f1,fga,gca"
#: The columns that can be correlated in addition to metrics.
COLUMNS: Final[Mapping[Per, tuple[str, ...]]] = {
    "dialogue": tuple(name for name in DIALOGUES.columns if name not in ("run", "dialogue")),
    "turn": tuple(name for name in TURNS.columns if name != "dialogue"),
}


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
    rated_by = None if ratings is None else read_ratings(ratings)
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
        results = rated_runs(rated_by, results)
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
    asked = [compare_correlations(rows, rows, pairs, level) for pairs, _ in contrasts for rows in of_runs]
    if between_runs:
        asked += _between(tables, of_runs, level)
    about_rating = [[compare_correlations(rows, rows, pairs, level) for pairs in rated_pairs] for rows in of_runs]
    for each in [*asked, *chain.from_iterable(zip(*about_rating, strict=True))]:
        _warn_of(each, test)
    for rows in of_runs[: len(tables)]:
        warn_of_gaps(rows.run, rows.columns, f"{'' if rated_by is None else 'rated '}{per}s")
    matrix = pl.concat([correlations(rows, level) for rows in of_runs])
    warn_of_no_interval(matrix)
    rated, rated_differences = RATED.empty(), RATED_DIFFERENCES.empty()
    if rated_by is not None:
        compared = [compare_with_ratings(*of_run, test, level) for of_run in zip(of_runs, about_rating, strict=True)]
        rated, rated_differences = (pl.concat(of_each) for of_each in zip(*compared, strict=True))
    return Correlations(
        matrix,
        difference_rows(asked, per=per),
        as_frame([row for each in asked for row in each.test_rows(test)], CORRELATION_TESTS),
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
    of_parts = over_parts(run, lambda part: scored_turns(part.turns(convention), convention).select(*needed).collect())
    table, signatures = with_scores(pl.concat(of_parts), ["dialogue", "turn"], run, metrics, convention)
    return table.select(*dict.fromkeys(("dialogue", "turn", *variables))), signatures


def _between(tables: Sequence[tuple[str, pl.DataFrame]], of_runs: Sequence[Rows], level: float) -> Iterator[Compared]:
    """Each correlation between each two runs, whose tables are sorted by dialogue."""
    # `of_runs` ends with all runs pooled, which no table is of.
    for ((_, first), one), ((_, second), other) in combinations(zip(tables, of_runs, strict=False), 2):
        shared = first.join(second, on="dialogue", how="semi").height
        if 0 < shared < max(first.height, second.height):
            raise DstbenchError(
                f"{one.run} and {other.run} share {shared:,} dialogues of {first.height:,} and {second.height:,}: "
                "they are neither the same nor independent",
                hint="score them on the same gold, or on different dialogues",
            )
        for pair in combinations(one.columns, 2):
            yield compare_correlations(one, other, (pair, pair), level, separate=not shared)
