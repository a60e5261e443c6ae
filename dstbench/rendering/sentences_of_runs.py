"""Sentences that sum up comparisons of runs, sweeps and checks; see `sentences` for those on metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from dstbench.analysis.findings import best_run
from dstbench.analysis.sentences import listed, place
from dstbench.analysis.verdicts import pairs_text
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of
from dstbench.rendering.views import percent

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard

    Design = Mapping[str, Any]

# --- comparisons of runs ----------------------------------------------------------------------------------------------


def best_in_words(leaderboard: Leaderboard) -> list[str]:
    """Which run is best in the first metric that is a share, by how much, and whether it may be chance."""
    found = best_run(leaderboard) if leaderboard.differences.height else None
    return [found.text.removesuffix(".")] if found else []


def verdicts(leaderboard: Leaderboard) -> list[str]:
    """For each metric whose differences were tested: which of them are significant."""
    design = leaderboard.design.row(0, named=True)
    return [_verdict(rows, metric, design) for metric, rows in in_order(leaderboard).items()]


def in_order(leaderboard: Leaderboard) -> dict[str, pl.DataFrame]:
    """Metric to its differences: the higher run first, and from the highest run down; to a baseline, by difference."""
    ranked = leaderboard.models.rename({"model": "run"}) if leaderboard.models.height else leaderboard.scores
    by_metric = leaderboard.differences.group_by("metric", maintain_order=True)
    if leaderboard.design["baseline"].item() is not None:
        return {
            str(metric): rows.sort("difference", descending=True, nulls_last=True, maintain_order=True)
            for (metric,), rows in by_metric
        }
    return {str(metric): _higher_first(rows, ranked.filter(metric=metric)) for (metric,), rows in by_metric}


def _higher_first(differences: pl.DataFrame, standings: pl.DataFrame) -> pl.DataFrame:
    names = standings.sort("value", descending=True, nulls_last=True, maintain_order=True)["run"].to_list()
    run, other = (
        pl.col(side).replace_strict(names, range(len(names)), return_dtype=pl.Int64) for side in ("run", "other")
    )
    negated = {"difference": "difference", "low": "high", "high": "low"}
    turned = {"run": "other", "other": "run", "wins": "losses", "losses": "wins"}
    swapped = {name: pl.col(of) for name, of in turned.items()} | {name: -pl.col(of) for name, of in negated.items()}
    return differences.with_columns(
        pl.when(run > other).then(value).otherwise(pl.col(name)).alias(name) for name, value in swapped.items()
    ).sort(run, other)


def _verdict(differences: pl.DataFrame, metric: str, design: Design) -> str:
    """The tested differences that are significant, or those that are not, whichever are fewer."""
    at = f"at {percent(1 - design['level'])}"
    tested = differences.drop_nulls("significant")
    significant, others = tested.filter("significant"), tested.filter(~pl.col("significant"))
    that = "" if tested.height == differences.height else " that can be tested"
    if tested.is_empty():
        return f"{metric}: no difference {'can be tested ' + at if differences['difference'].count() else 'is defined'}"
    if significant.is_empty():
        return f"{metric}: no difference{that} is significant {at}"
    if others.is_empty():
        every = f"{metric}: every difference{that} is significant {at}"
        return f"{every}: {pairs_text(significant)}" if that else every
    share = f"{significant.height} of {tested.height} differences{that} are significant {at}"
    fewer = pairs_text(significant) if significant.height <= others.height else f"all but {pairs_text(others)}"
    return f"{metric}: {share}: {fewer}"


# --- conventions ------------------------------------------------------------------------------------------------------


def profiles_that_agree(rows: pl.DataFrame) -> list[str]:
    """If there are published scores, a line per run: the profiles that agree with them, or come nearest."""
    if "target" not in rows.columns:
        return []
    lines = []
    for (run,), of_run in rows.group_by("run", maintain_order=True):
        of_targets = of_run.drop_nulls("target")
        targets = of_targets.select("metric", "target").unique(maintain_order=True)
        wanted = " and ".join(f"{metric} {target}" for metric, target in targets.iter_rows())
        profiles = _names(of_targets.filter("agrees_with_all"))
        number, by_chance = of_run["profile"].n_unique(), of_run["by_chance"][0]
        if not profiles:
            each = (f"; {_nearest(of_metric)}" for _, of_metric in of_targets.group_by("metric", maintain_order=True))
            lines.append(f"{run}: no profile agrees with {wanted}{''.join(each)}")
            continue
        bound = "at most " if targets.height > 1 else ""
        chance = f"{bound}{by_chance:.1f} of {number}" if by_chance >= 0.05 else f"fewer than 0.1 of {number}"
        lines.append(f"{run}: agrees with {wanted} under {profiles}; by chance, {chance} profiles would agree")
    return lines


def _names(rows: pl.DataFrame) -> str:
    return ", ".join(rows["profile"].unique(maintain_order=True))


def _nearest(rows: pl.DataFrame) -> str:
    """For one metric: the profiles that agree with its published score, or else those that are nearest to it."""
    metric, target = rows["metric"][0], rows["target"][0]
    defined = rows.drop_nulls("off").sort(pl.col("off").abs(), maintain_order=True)
    if defined.is_empty():
        return f"{metric} is undefined under every profile"
    if agreeing := _names(rows.filter("agrees")):
        return f"{metric} {target} alone: {agreeing}"
    nearest = defined.filter(pl.col("off").abs() == pl.col("off").first().abs())
    value, off, unit = nearest.select("value", "off", "unit").row(0)
    number, distance = (f"{100 * x:.2f}" if unit == "share" else f"{x:,.0f}" for x in (value, abs(off)))
    points = " points" if unit == "share" else ""
    where = "higher" if off > 0 else "lower"
    return f"the nearest is {metric} {number} under {_names(nearest)}, {distance}{points} {where}"


def spread_over_profiles(rows: pl.DataFrame) -> list[str]:
    """A line per run: the lowest and the highest score of the first metric, with their profiles."""
    metric = rows["metric"][0]
    of_first = rows.filter(metric=metric).group_by("run", maintain_order=True)
    return [f"{run}: {metric} {_spread(of_run)} by convention alone" for (run,), of_run in of_first]


def order_over_profiles(rows: pl.DataFrame) -> list[str]:
    """How far conventions alone move the first metric, who is first under them, and which run moves most."""
    metric, unit = rows.select("metric", "unit").row(0)
    rows = rows.filter(metric=metric).drop_nulls("value")
    ranges = rows.group_by("run", maintain_order=True).agg(apart=pl.col("value").max() - pl.col("value").min())
    if rows.is_empty():
        return [f"{name_of(metric)} is undefined under every profile"]
    least, most = (
        ranges.sort("apart", maintain_order=True).select("run", "apart").rows()[:: max(1, ranges.height - 1)][:2]
    )
    low, high = (f"{apart:,.0f}" if unit == "count" else f"{100 * apart:.2f}" for _, apart in (least, most))
    unit_text = "" if unit == "count" else " points"
    lines = [f"by convention alone, {name_of(metric)} changes by {low} ({least[0]}) to {high}{unit_text} ({most[0]})"]
    of_all = rows.filter(pl.len().over("profile") == ranges.height)
    above = pl.col("value").rank("min", descending=True).over("profile").cast(pl.Int64) - 1
    places = of_all.with_columns(above=above)
    number = places["profile"].n_unique()
    firsts = places.filter(above=0).group_by("run", maintain_order=True).agg("profile")
    firsts = firsts.sort(pl.col("profile").list.len(), descending=True, maintain_order=True)
    if firsts.height == 1:
        lines.append(f"{firsts['run'][0]} is first under all {number} conventions")
    elif firsts.height:
        each = [f"{run} under {len(names)}" for run, names in firsts.iter_rows()]
        lines.append(f"who is first depends on the convention: {listed(each)}")
    moved = places.group_by("run", maintain_order=True).agg(
        pl.col("above").max().alias("low"), pl.col("above").min().alias("high"),
        worst=pl.col("profile").sort_by("above", descending=True, maintain_order=True).first(),
        best=pl.col("profile").sort_by("above", maintain_order=True).first(),
    ).sort(pl.col("low") - pl.col("high"), descending=True, maintain_order=True)  # fmt: skip
    if moved.height and moved["low"][0] > moved["high"][0]:
        run, low, high, worst, best = moved.row(0)
        of = ranges.height
        lines.append(f"{run} moves most: {place(low, of)} under {worst}, {place(high, of)} under {best}")
    elif moved.height:
        lines.append(f"the order of the runs is the same under all {number} conventions")
    return lines


def _spread(rows: pl.DataFrame) -> str:
    defined = rows.drop_nulls("value")
    if defined.is_empty():
        return "is undefined under every profile"
    is_count = rows["unit"][0] == "count"
    numbers = [f"{x:,.0f}" if is_count else f"{100 * x:.2f}" for x in defined["value"]]
    names = [_names(defined.filter(value=defined["value"][end])).split(", ") for end in (-1, 0)]
    ends = (
        f"{number} ({name}{f' and {len(others)} more' if others else ''})"
        for number, (name, *others) in zip((numbers[-1], numbers[0]), names, strict=True)
    )
    apart = defined["value"][0] - defined["value"][-1]
    return f"{' to '.join(ends)}: {f'{apart:,.0f}' if is_count else f'{100 * apart:.2f} points'} apart"


# --- checks -----------------------------------------------------------------------------------------------------------


def failed(checks: pl.DataFrame) -> str | None:
    """Which checks fail, in a line, with the runs if there are several; None: none does.

    >>> rows = [("a", "coverage", "fail"), ("b", "coverage", "fail"), ("b", "slots", "ok")]
    >>> failed(pl.DataFrame(rows, schema=["run", "check", "status"], orient="row"))
    '1 check fails: coverage (a and b)'
    """
    failures = checks.filter(status="fail").group_by("check", maintain_order=True).agg("run")
    if failures.is_empty():
        return None
    several = checks["run"].n_unique() > 1
    named = [f"{check} ({listed(runs)})" if several else check for check, runs in failures.iter_rows()]
    return f"{len(named)} check{'s fail' if len(named) > 1 else ' fails'}: {', '.join(named)}"


def checks_in_short(checks: pl.DataFrame) -> list[str]:
    """How many checks fail and warn, and how many all runs pass."""
    worst = _worst(checks)
    counts = {status: worst.filter(status=status).height for status in ("fail", "warn")}
    passed = worst.height - sum(counts.values())
    clauses = [f"{number_of(n, 'check')} {status}{'s' * (n == 1)}" for status, n in counts.items() if n]
    runs, verb = checks["run"].n_unique(), "is" if passed == 1 else "are"
    return [", ".join([*clauses, f"{number_of(passed, 'check')} {verb} passed by all {runs} runs"])]


def _worst(checks: pl.DataFrame) -> pl.DataFrame:
    """The rows of each check that have its gravest outcome."""
    grave = pl.col("status").replace_strict({"fail": 2, "warn": 1}, default=0, return_dtype=pl.Int64)
    worst = checks.with_columns(grave=grave).filter(pl.col("grave") == pl.col("grave").max().over("check"))
    number = pl.col("short").str.replace_all(",", "").str.extract(r"([\d.]+)").cast(pl.Float64)
    most = pl.col("run", "short", "found").sort_by(number, descending=True, nulls_last=True, maintain_order=True)
    return worst.group_by("check", maintain_order=True).agg(
        "run",
        pl.col("status", "grave").first(),
        most.first().name.prefix("most_"),
        alike=pl.col("short").n_unique() < 2,
    )


def doubtful_checks(checks: pl.DataFrame) -> pl.DataFrame:
    """The checks that not all runs pass, the gravest first: (check, status, runs, found: where there is most)."""
    rows = _worst(checks).filter(pl.col("grave") > 0).sort("grave", descending=True, maintain_order=True)
    of = checks["run"].n_unique()
    runs = ["all" if len(names) == of else listed(names, 2) for names in rows["run"]]
    found = pl.coalesce("most_short", "most_found")
    whose = pl.when("alike").then(found).otherwise(pl.format("{} ({})", found, "most_run"))
    return rows.with_columns(runs=pl.Series(runs, dtype=pl.String), found=whose)
