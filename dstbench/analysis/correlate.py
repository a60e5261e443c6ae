"""Correlations of metrics and traits (Kim et al. 2022, Figs 3 and A1), and differences between correlations.

Conventions: see `associations`. Correlations are over dialogues. They can also be computed over turns, as papers print
them, but turns of one dialogue are not independent: the intervals are too narrow, and differences are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple, Unpack, get_args

import polars as pl

from dstbench.analysis.associations import (
    ALL_TESTS,
    TESTS,
    Compared,
    Pair,
    as_columns,
    compare_pairs,
    compare_separate_runs,
    correlations,
    difference_rows,
    outcome_rows,
    with_pooled,
)
from dstbench.analysis.dialogues import per_dialogue, with_scores
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, UsageError, did_you_mean, warn
from dstbench.metrics import REGISTRY, Metric, parse, parse_all
from dstbench.metrics.registry import split
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.analysis import DIALOGUES
from dstbench.schema.core import TURNS
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.scope import open_under
from dstbench.scoring.scored_turns import columns_of_scored, scored_turns
from dstbench.scoring.turn_table import to_turns
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
class Correlations:
    """Correlations, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        matrix: A row per pair of columns and run; if there are several runs, also of all runs pooled.
        differences: The differences that were asked for, with Zou's interval.
        tests: The tests of these differences.
        signatures: (run, metric, unit, signature) of the scores.
    """

    matrix: pl.DataFrame
    differences: pl.DataFrame
    tests: pl.DataFrame
    signatures: pl.DataFrame


def correlate(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    per: Per = "dialogue",
    differences: Iterable[str | Sequence[str | Metric]] = (),
    between_runs: bool = False,
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
        per: Correlate scores of dialogues or of turns.
        differences: Correlations to compare, each as four metrics or columns, A,B,C,D: r(A, B) less r(C, D); or as
            three, A,B,C: r(A, B) less r(A, C). The metrics and columns that they name are correlated too.
        between_runs: Compare each correlation between each two runs. Two runs must have the same dialogues, or no
            dialogue in common.
        test: The test of the differences, by its name in cocor, or ``all``; None: Williams' if the correlations share
            a column, Steiger's if they do not, Fisher's between runs that share no dialogue. Choose before you look at
            the results: with nine tests of one difference, one is more likely to be significant by chance.
        level: Confidence level of all intervals.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used; two runs share only a part of their dialogues; or a metric, test or profile
            is unknown.

    >>> area = {"hotel-area": "north"}
    >>> states = [{"dialogue_id": f"D{n}", "turn": t, "gold": area, "pred": area if t < n else {}}
    ...           for n in range(4) for t in range(3)]
    >>> correlate(states, metrics="jga,wrong_turns").matrix.select("first", "second", pl.col("r").round(9), "n").rows()
    [('jga', 'wrong_turns', -1.0, 4)]
    """
    if per not in get_args(Per):
        raise UsageError(f"per={per!r} is none of {', '.join(get_args(Per))}")
    check_level(level)
    _check_test(test)
    contrasts = [_contrast(each, per) for each in differences]
    if per == "turn" and (contrasts or between_runs):
        raise UsageError(
            "correlations are compared over dialogues: turns of one dialogue are not independent, and tests over them "
            "find differences where there are none",
            hint="omit --per turn",
        )
    variables = None if metrics is None else _variables(metrics, per)
    convention = as_convention(profile)
    runs = open_under(convention, data, **reading)
    if variables is None:
        variables = _variables(next((run.meta["only"] for run in runs if run.meta.get("only")), CORRELATED), per)
    chosen = variables | {name: metric for each in contrasts for name, metric in each.variables.items()}
    if len(chosen) < 2:
        raise UsageError("a correlation is between two metrics", hint="-m jga,fga")
    if between_runs and len(runs) < 2:
        raise UsageError("only one run is given: there is none to compare it with")
    tables, signatures = zip(*(_of_run(run, chosen, per, convention) for run in runs), strict=True)
    names_and_columns = with_pooled([(run.name, table) for run, table in zip(runs, tables, strict=True)], list(chosen))
    _warn_of_rows(per, pl.concat(signatures))
    compared = [
        compare_pairs((name, name), [columns[c] for c in (*each.first, *each.second)], each.first, each.second, level)
        for each in contrasts
        for name, columns in names_and_columns
    ]
    if between_runs:
        compared += _between(runs, tables, list(chosen), level)
    for each in compared:
        if each.why_not:
            _warn_of(each, f"cannot be compared: {each.why_not}")
        elif test not in (None, ALL_TESTS, *TESTS[each.kind]):
            _warn_of(each, f"are {each.kind}, and {test} does not test such correlations")
    return Correlations(
        pl.concat([correlations(name, columns, level) for name, columns in names_and_columns]),
        difference_rows(compared, level),
        outcome_rows(compared, test, level),
        pl.concat(signatures),
    )


# --- what is correlated --------------------------------------------------------------------------------------------


class _Contrast(NamedTuple):
    """Two correlations to compare, and their variables."""

    first: Pair
    second: Pair
    variables: dict[str, Metric | None]


def _variables(notations: str | Iterable[str | Metric], per: Per) -> dict[str, Metric | None]:
    """Each metric's notation to the metric, and each column's name to None, in the order in which they are given."""
    parts = split(notations)
    columns = COLUMNS[per]
    for part in parts:
        if isinstance(part, str) and part not in columns and part.partition(":")[0].lower() not in REGISTRY:
            raise UsageError(
                f"there is no metric and no column of {per}s {part!r}",
                hint=did_you_mean(part, [*REGISTRY, *columns]) or f"a metric, or one of {', '.join(columns)}",
            )
    named = {str(metric): metric for metric in parse_all([part for part in parts if part not in columns])}
    names = [str(parse(part)) if isinstance(part, str) and part not in columns else str(part) for part in parts]
    return {name: named.get(name) for name in names}


def _contrast(notations: str | Sequence[str | Metric], per: Per) -> _Contrast:
    """The two correlations that three or four names stand for; see `correlate`."""
    parts = [next(iter(_variables([part], per).items())) for part in split(notations)]
    names = [name for name, _ in parts]
    if len(names) == 3:
        names = [*names[:2], names[0], names[2]]
    if len(names) != 4:
        raise UsageError(
            f"a difference of correlations names three or four columns, not {len(names)}",
            hint="jga,fga,gca is r(jga, fga) less r(jga, gca)",
        )
    first, second = (names[0], names[1]), (names[2], names[3])
    for pair in (first, second):
        if pair[0] == pair[1]:
            raise UsageError(f"r({pair[0]}, {pair[1]}) is the correlation of a column with itself")
    if set(first) == set(second):
        raise UsageError(f"r({', '.join(first)}) is compared with itself")
    return _Contrast(first, second, dict(parts))


def _check_test(test: str | None) -> None:
    tests = dict.fromkeys(name for names in TESTS.values() for name in names)
    if test is not None and test not in (*tests, ALL_TESTS):
        hint = did_you_mean(test, tests) or f"one of {', '.join(tests)}, {ALL_TESTS}"
        raise UsageError(f"there is no test {test!r}", hint=hint)


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
    else:
        needed = {"dialogue", "turn", "number", *columns, *columns_of_scored(convention)}
        parts = over_partitions(run, lambda part: scored_turns(to_turns(part, convention, columns=needed), convention))
        table, signatures = with_scores(pl.concat(parts), ["dialogue", "turn"], run, metrics, convention)
    return table.select("dialogue", *variables), signatures


def _between(
    runs: Sequence[Run], tables: Sequence[pl.DataFrame], variables: Sequence[str], level: float
) -> Iterator[Compared]:
    """Each correlation between each two runs."""
    for (one, first), (other, second) in combinations(zip(runs, tables, strict=True), 2):
        named = one.name, other.name
        # Both tables are sorted by dialogue, so the dialogues that they share are in the same order.
        shared = [
            table.join(another, on="dialogue", how="semi", maintain_order="left")
            for table, another in ((first, second), (second, first))
        ]
        alone = as_columns(first, variables), as_columns(second, variables)
        if 0 < shared[0].height < max(first.height, second.height):
            raise DstbenchError(
                f"{one.name} and {other.name} share {shared[0].height:,} dialogues of {first.height:,} and "
                f"{second.height:,}: they are neither the same nor independent",
                hint="score them on the same gold, or on different dialogues",
            )
        here, there = (as_columns(table, variables) for table in shared)
        for pair in combinations(variables, 2):
            if shared[0].is_empty():
                yield compare_separate_runs(named, *alone, pair, level)
            else:
                columns = [*(here[v] for v in pair), *(there[v] for v in pair)]
                yield compare_pairs(named, columns, pair, pair, level)


def _warn_of(compared: Compared, what: str) -> None:
    """Warn of two correlations; `what` continues a sentence whose subject they are."""
    place = " and ".join(dict.fromkeys(compared.runs))
    pairs = " and ".join(dict.fromkeys(f"r({', '.join(pair)})" for pair in (compared.first, compared.second)))
    warn(f"{pairs} {what}", run=place, kind=f"correlations that {what}")


def _warn_of_rows(per: Per, signatures: pl.DataFrame) -> None:
    """Warn if intervals are too narrow, and if a metric has other parameters in one of the pooled runs."""
    if per == "turn":
        warn("turns of one dialogue are not independent: intervals over turns are too narrow")
    heads = signatures.group_by("metric", maintain_order=True).agg(
        pl.col("signature").str.split("|").list.first().unique(maintain_order=True)
    )
    for metric, ways in heads.iter_rows():
        if len(ways) > 1:
            warn(f"{metric} has different parameters in the pooled runs: {' and '.join(ways)}; name its parameters")
