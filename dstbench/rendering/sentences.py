"""Sentences that sum results up, for text, Markdown, notebooks and the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis.findings import best_run, listed, place
from dstbench.errors import number_of
from dstbench.metrics import parse
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.views import percent, text_of

if TYPE_CHECKING:
    from dstbench.analysis.changes import Changes
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.reconcile import Reconciliation
    from dstbench.analysis.sensitivity import Sensitivity
    from dstbench.audit import Bias

    Design = Mapping[str, Any]
    from dstbench.analysis.compare import Leaderboard

# A sentence names at most so many runs, and pairs of runs.
_MOST_RUNS: Final = 5
_MOST_PAIRS: Final = 3
# What p may be above the level by rounding.
_ROUNDING: Final = 1e-12
_IS_SIGNIFICANT: Final = pl.col("p_adjusted") <= 1 - pl.col("level") + _ROUNDING
_BLIND: Final = 0.05  # errors that change nothing are named if they are at least this share
# Traits of mistakes, in words.
_SWAYED: Final = {"turns": "by length", "to_mean": "by when mistakes happen", "nu_paper": "by their spread"}
# Measures of metrics, in words.
_IN: Final = {"soft_accuracy": "this order", "swap_rate": "reliability"}
# Which dialogues correlations are over, by the value of the column `rows`.
_DIALOGUES_TAKEN: Final = {
    "pairwise": "",
    "complete": " over dialogues in which all are defined",
    "released": " over dialogues as the authors of GCA took them",
    "given": " given the dialogues' mistakes and turns",
}

# --- metrics ----------------------------------------------------------------------------------------------------------


def which_metric(compared: MetricComparison) -> list[str]:
    """Which metric to report, what others are better for, and what cannot be told; empty without tests of metrics."""
    tests = compared.contests.filter(pl.col("measure") != "power").drop_nulls("p")
    if tests.is_empty() or not compared.power["power"].count():
        return []
    measure = "soft_accuracy" if compared.validity.height else "swap_rate"
    values = compared.reliability.select("metric", value=-pl.col("swap_rate"))
    if compared.validity.height:
        values = compared.validity.filter(measure="soft_accuracy").select("metric", "value")
    beaten = _beaten(compared.contests, "soft_accuracy", -1) + _beaten(compared.contests, "swap_rate", 1)
    ranked = values.drop_nulls().sort("value", descending=True, maintain_order=True)["metric"].to_list()
    unbeaten = [metric for metric in ranked if metric not in beaten]
    if not unbeaten:
        return []
    best, *others = unbeaten
    row = compared.reliability.filter(metric=best).row(0, named=True)
    lines = [f"report {best}: random halves of the dialogues order {_whole(row['swap_rate'])} of pairs otherwise"]
    if measure == "soft_accuracy":
        tau = compared.validity.filter(metric=best, measure="tau").row(0, named=True)
        ends = "" if tau["low"] is None else f" ({tau['low']:.2f} to {tau['high']:.2f})"
        lines = [f"report {best}: it orders runs along {tau['along']} best, tau {tau['value']:.2f}{ends}"]
    worse = [metric for metric in ranked if metric in beaten]
    sides = (("not significantly worse", others), ("significantly worse", worse))
    lines.append("; ".join(f"{words}: {', '.join(names)}" for words, names in sides if names))
    lines.append(_least_swayed(compared))
    counted = tests.group_by("measure", maintain_order=True).agg(open=(~_IS_SIGNIFICANT).sum(), of=pl.len())
    parts = [f"{number} of {of} in {_IN[name]}" for name, number, of in counted.iter_rows()]
    lines.append(f"of the differences between metrics, {' and '.join(parts)} may be chance")
    lines.append(f"`dstbench sensitivity` shows which errors {best} does not see")
    return [line for line in lines if line]


def _whole(share: float) -> str:
    """A share in whole percents."""
    return "less than 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _beaten(contests: pl.DataFrame, measure: str, sign: int) -> list[str]:
    """The metrics that another one is significantly better than; `sign`: of the difference by which the first loses."""
    loses = pl.when(pl.col("difference") * sign > 0).then("first").otherwise("second")
    return contests.filter(_IS_SIGNIFICANT, measure=measure).select(loses).to_series().to_list()


def _least_swayed(compared: MetricComparison) -> str:
    """For traits of mistakes, the metric whose scores depend least on them, given the numbers of mistakes and turns."""
    known = compared.dependence.drop_nulls("partial").filter(pl.col("trait").is_in(list(_SWAYED)))
    traits = known["trait"].unique(maintain_order=True)
    known = known.sort(pl.col("partial").abs(), maintain_order=True).filter(pl.len().over("trait") > 1)
    least = dict(known.unique("trait", keep="first").select("trait", "metric").iter_rows())
    parts = [f"{_SWAYED[trait]}: {least[trait]}" for trait in traits if trait in least]
    return f"least swayed {'; '.join(parts)}" if parts else ""


def metrics_apart(compared: MetricComparison) -> list[str]:
    """Which metrics surely tell more pairs of runs apart than others, and which pairs two metrics surely reverse."""
    return _power_in_words(compared) + _orders_in_words(compared)


def _power_in_words(compared: MetricComparison) -> list[str]:
    """Whether some metric tells significantly more pairs apart than another; or why none can be told apart."""
    if compared.power["power"].count() == 0:
        untold = "no pair of runs can be told apart: too few resamples, or too few dialogues differ"
        return [untold] if compared.power["pairs"].sum() else []
    contests = compared.contests.filter(measure="power").drop_nulls("p")
    sure = contests.filter(_IS_SIGNIFICANT)
    if sure.is_empty():
        return ["no metric tells significantly more pairs of runs apart than another"] if contests.height else []
    widest = sure.sort(pl.col("difference").abs(), descending=True, maintain_order=True).row(0, named=True)
    names = [widest["first"], widest["second"]][:: 1 if widest["difference"] > 0 else -1]
    (more, pairs), (less, _) = (compared.power.filter(metric=name).select("apart", "pairs").row(0) for name in names)
    p = "< 0.001" if widest["p_adjusted"] < 0.001 else f"= {widest['p_adjusted']:.3f}"
    return [f"{names[0]} tells significantly more pairs of runs apart than {names[1]}: "
            f"{more} and {less} of {pairs} (adjusted p {p})"]  # fmt: skip


def _orders_in_words(compared: MetricComparison) -> list[str]:
    """The pairs of runs that two metrics reverse, both significantly; without tests, of the least alike orders."""
    orders = compared.agreement.drop_nulls("tau").sort("tau", maintain_order=True)
    if orders.is_empty():
        return []
    least = orders.row(0, named=True)
    if least["tau"] == 1:
        which = "all metrics" if compared.agreement["tau"].null_count() == 0 else "all metrics that have one"
        return [f"the orders of {which} agree: tau 1.00"]
    turned = orders["reversed"].sum()
    if least["reversed_surely"] is not None:
        surely = orders.sort("reversed_surely", descending=True, maintain_order=True).row(0, named=True)
        if not surely["reversed_surely"]:
            return [f"no pair is reversed significantly in both of two metrics; {turned} may be chance"]
        both = reversed_pairs(compared, surely["first"], surely["second"])
        sure = orders["reversed_surely"].sum()
        return [f"{surely['first']} and {surely['second']} reverse {both}, significantly in both",
                f"of {turned} pairs that two metrics reverse, {sure} are significant in both"]  # fmt: skip
    names = f"{least['first']} and {least['second']}"
    line = f"the orders of {names} agree least" if orders.height > 1 else f"the orders of {names}"
    named = f"they reverse {reversed_pairs(compared, least['first'], least['second'])}"
    return [f"{line}: tau {least['tau']:.2f}", *([named] if least["reversed"] else [])]


def reversed_pairs(compared: MetricComparison, first: str, second: str) -> str:
    """The names of the pairs of runs that two metrics reverse, those with the largest differences first."""
    rows = compared.reversals.filter(first=first, second=second)
    if rows["significant"].any():
        rows = rows.filter("significant")
    size = pl.min_horizontal(pl.col("difference_first").abs(), pl.col("difference_second").abs())
    named = rows.sort(size, descending=True, maintain_order=True).head(_MOST_PAIRS)
    more = f" and {rows.height - _MOST_PAIRS} more" if rows.height > _MOST_PAIRS else ""
    return ", ".join(f"{run}/{other}" for run, other in named.select("run", "other").iter_rows()) + more


def pairs_of_all(compared: MetricComparison) -> int | None:
    """The number of pairs of runs that are tested, if it is the same by all metrics; None if there is none."""
    pairs = compared.power["pairs"].unique()
    return pairs.item() or None if len(pairs) == 1 else None


# --- correlations -----------------------------------------------------------------------------------------------------


_EXCLUDES_0: Final = (pl.col("zou_low") > 0) | (pl.col("zou_high") < 0)
# Whether Zou's interval excludes 0 where p is above 1 - level, or holds it where p is not; false without it.
_DIFFERS: Final = ((pl.col("p") <= 1 - pl.col("level") + _ROUNDING) != _EXCLUDES_0).fill_null(value=False)
#: The same in words, for the end of a cell.
ZOU_DIFFERS: Final = pl.when(_DIFFERS).then(pl.lit(" (differs)")).otherwise(pl.lit(""))


def differences(rows: pl.DataFrame) -> list[str]:
    """For each two correlations that are compared: the runs in which the first is stronger, weaker, or perhaps neither.

    Those of one sign are compared by their size; of others, it is said which is lower.
    """
    from dstbench.analysis.associations import GIVEN  # not before: it needs the modules of statistics

    tested = rows.filter(pl.col("run") == pl.col("other_run"), pl.col("p").is_not_null())
    lines = []
    one_sign = pl.col("r_first") * pl.col("r_second") > 0
    weaker, lower = pl.col("r_first").abs() < pl.col("r_second").abs(), pl.col("difference") < 0
    verdicts = {
        "weaker than": one_sign & weaker, "stronger than": one_sign & ~weaker,
        "below": ~one_sign & lower, "above": ~one_sign & ~lower,
    }  # fmt: skip
    for compared, of_pair in tested.group_by("first", "second", maintain_order=True):
        alpha = 1 - of_pair["level"][0]
        first, second = (f"r({str(pair).replace(',', ', ')})" for pair in compared)
        sides = list[str]()
        for words, verdict in verdicts.items():
            if runs := _in_runs(of_pair.filter(_IS_SIGNIFICANT & verdict)["run"].to_list()):
                sides.append(f"{words} {'it' if sides else second}{runs}")
        chance = _in_runs(of_pair.filter(~_IS_SIGNIFICANT)["run"].to_list())
        given = ", given mistakes and turns" if of_pair["rows"][0] == GIVEN else ""
        adjusted = "adjusted p" if tested["p_adjusted"].count() > 1 else "p"
        if sides:
            lines.append(f"{first} is {', '.join(sides)}{given} ({adjusted} at most {alpha:.2g})")
        if chance:
            what = "the difference" if sides else f"the difference of {first} and {second}{given}"
            lines.append(f"{what} could be chance{chance}")
        if differs := _in_runs(of_pair.filter(_DIFFERS)["run"].to_list()):
            lines.append(f"by Zou's interval, which assumes normal data, it is otherwise{differs}")
    return lines


def most_alike(pairs: pl.DataFrame) -> list[str]:
    """The two columns of a matrix that agree most, and those that agree least."""
    ordered = pairs.drop_nulls("r").sort("r", descending=True, maintain_order=True)
    if ordered.height < 2:
        return []
    (one, other, high), (first, second, low) = ordered.select("first", "second", "r").gather([0, -1]).iter_rows()
    return [f"{one} and {other} agree most (r {high:.2f}), {first} and {second} least ({low:.2f})"]


def rows_taken(rows: pl.DataFrame) -> str:
    """Which dialogues, or turns, correlations are over; empty: those in which both columns are defined."""
    return _DIALOGUES_TAKEN[rows["rows"][0]].replace("dialogues in", f"{rows['per'][0]}s in")


def _in_runs(runs: list[str]) -> str:
    """The runs, in words; empty if there is none."""
    more = f" and {len(runs) - _MOST_RUNS} more" if len(runs) > _MOST_RUNS else ""
    return f" in {', '.join(runs[:_MOST_RUNS])}{more}" if runs else ""


# --- ratings ----------------------------------------------------------------------------------------------------------


def shown_run(correlations: Correlations) -> str:
    """The run that text and LaTeX show: all runs together, if there are several."""
    from dstbench.analysis.associations import POOLED  # not before, as above

    runs: list[str] = correlations.rated["run"].to_list()
    return POOLED if POOLED in runs else runs[0]


def best_by_ratings(correlations: Correlations) -> list[str]:
    """Which metric agrees best with the ratings, and whether it is better than the others by more than chance."""
    ranked = _ranked(correlations, "pearson")
    if ranked.is_empty():
        return ["no score has a correlation with the ratings"] if _scores(correlations) else []
    best = best_metric(correlations, "pearson")
    if best is None:
        names = ", ".join(ranked["metric"])
        return [f"no metric agrees best with the ratings: each of {names} is behind another where both are defined"]
    row = ranked.row(by_predicate=pl.col("metric") == best, named=True)
    r = f"r = {row['value']:.3f}" + ("" if row["low"] is None else f", {row['low']:.3f} to {row['high']:.3f}")
    of = over(row["n"], row["dialogues"], row["per"])
    if row["value"] <= 0:
        return [f"no metric rises with the ratings: the highest is {best} ({r}; {of}); is a high rating a good one?"]
    is_chance = row["low"] is None or row["low"] <= 0
    lines = [f"{best} agrees best with the ratings ({r}; {of}){', which could be chance' if is_chance else ''}"]
    if higher := ranked.filter(pl.col("value") > row["value"])["metric"].to_list():
        where = f"where both are defined, {best}'s is higher"
        lines.append(f"r of {', '.join(higher)} is higher, but over other {row['per']}s: {where}")
    lead, others = _lead(correlations, "pearson", best), dict[str, list[str]]()
    for coefficient in ("spearman", "kendall"):
        also = best_metric(correlations, coefficient)
        if also is None:
            continue
        of_ranks = _lead(correlations, coefficient, also)
        if also != best:
            of_ranks = f"{also} agrees best" + (f": {of_ranks}" if of_ranks else "")
        if of_ranks != lead:
            others.setdefault(of_ranks, []).append(f"{coefficient.capitalize()}'s")
    by = [f"by {' and '.join(names)} coefficient{'s' if len(names) > 1 else ''}, {of}" for of, names in others.items()]
    return [*lines, *([lead] if lead else []), *by]


def _lead(correlations: Correlations, coefficient: str, best: str) -> str:
    """Which scores this one is ahead of by more than chance, and of which perhaps not; empty if there is no other."""
    others, is_better = leads(correlations, coefficient, best), _IS_SIGNIFICANT & (pl.col("difference") > 0)
    clauses = [
        (", ".join(others.filter(is_better)["other"]), "better than {} by more than chance"),
        (", ".join(others.filter(~is_better)["other"]), "its lead on {} could be chance"),
    ]
    return "; ".join(text.format(names) for names, text in clauses if names)


def over(n: int, dialogues: int, per: str) -> str:
    """What correlations are over, in words."""
    if n == dialogues:
        return number_of(n, per)
    if per == "turn":
        return f"{number_of(n, 'turn')} of {number_of(dialogues, 'dialogue')}"
    return f"{n:,} dialogues ({dialogues:,} different)"


def _scores(correlations: Correlations) -> list[str]:
    """The metrics of which a higher score is the better one."""
    names = correlations.signatures["metric"].unique(maintain_order=True)
    return [name for name in names if sign_of(name) != -1]


def _ranked(correlations: Correlations, coefficient: str) -> pl.DataFrame:
    """The rows of `rated` of these metrics and of the shown run that have a value, the highest first."""
    rows = correlations.rated.filter(run=shown_run(correlations), coefficient=coefficient).drop_nulls("value")
    rows = rows.filter(pl.col("metric").is_in(_scores(correlations)))
    return rows.sort("value", descending=True, maintain_order=True)


def best_metric(correlations: Correlations, coefficient: str) -> str | None:
    """The score that is behind no other where both are defined; of several, the one with the highest value.

    The values alone do not tell, because each is over the rows in which its own score is defined.
    """
    value, other = pl.col("value"), pl.col("other_value")
    behind = rated_differences(correlations, coefficient).select(
        behind=pl.when(value < other).then("metric").when(value > other).then("other")
    )
    ranked = _ranked(correlations, coefficient)
    ahead = ranked.filter(~pl.col("metric").is_in(behind["behind"].drop_nulls().to_list()))
    return None if ahead.is_empty() else ahead["metric"][0]


def rated_differences(correlations: Correlations, coefficient: str) -> pl.DataFrame:
    """The differences of the shown run, each with its first test."""
    rows = correlations.rated_differences.filter(run=shown_run(correlations), coefficient=coefficient)
    return rows.unique(["metric", "other"], keep="first", maintain_order=True)


def leads(correlations: Correlations, coefficient: str, best: str) -> pl.DataFrame:
    """The differences of the best score from each `other` score, in which a lead is positive."""
    ahead = pl.col("metric") == best
    rows = rated_differences(correlations, coefficient).filter(ahead | (pl.col("other") == best))
    return rows.with_columns(
        other=pl.when(ahead).then("other").otherwise("metric"),
        difference=pl.when(ahead).then("difference").otherwise(-pl.col("difference")),
        **{
            name: pl.when(ahead).then(name).otherwise(-pl.col(opposite))
            for pair in (("low", "high"), ("zou_low", "zou_high"))
            for name, opposite in (pair, pair[::-1])
        },
    )


# --- costs of errors --------------------------------------------------------------------------------------------------


#: What an error of each kind is.
ERRORS: Final = {
    "missed": "the slot is absent as long as gold keeps the value",
    "wrong": "the slot has another value as long as gold keeps this one",
    "late": "the value comes one turn later",
    "dropped": "the value is right at first, then absent as long as gold keeps it",
    "over": "a slot that gold lacks is predicted to the end",
    "swap": "the value stands in another slot of the domain",
}
_ONE: Final = {
    "missed": "one missed value",
    "wrong": "one wrong value",
    "late": "one late value",
    "dropped": "one dropped value",
    "over": "one slot too many",
    "swap": "one swapped slot",
}
_FEW: Final = 0.05  # fewer than these are expected by chance: almost none
# Biases relative to the mean loss are equal, but for rounding, if these decimals are.
_DECIMALS: Final = 9
BIN: Final = pl.format(
    "{}-{} %", (100 * pl.col("start")).round().cast(pl.Int64), (100 * pl.col("end")).round().cast(pl.Int64)
)


def costs(sensitivity: Sensitivity) -> list[str]:
    """For the first kind of error that was made: the metrics to which it matters most and least when it happens.

    They are those of the run's own predictions, if there are any, with the metrics that do not see the error.

    What matters is the bias relative to the mean loss: slot accuracy falls by little because it divides by all slots.
    """
    way = pl.col("way") == "put in"
    bias, losses, errors = sensitivity.bias, sensitivity.costs, sensitivity.errors
    of_run = sensitivity.own_errors.filter(way, pl.col("errors") > 0).height > 0
    if of_run:
        own = (sensitivity.own_bias, sensitivity.own_costs, sensitivity.own_errors)
        bias, losses, errors = (frame.filter(way) for frame in own)
    kind = errors.filter(pl.col("errors") > 0)["kind"].item(0)
    size = pl.col("relative").abs().round(_DECIMALS)
    rows = bias.filter(kind=kind).drop_nulls("relative").with_columns(size=size)
    if rows.is_empty():
        return [f"whether {_ONE[kind]} costs more early or late in a dialogue cannot be said"]
    lines: list[str] = []
    for extreme in dict.fromkeys([rows["size"].max(), rows["size"].min()]):
        row, *alike = rows.filter(size=extreme).iter_rows(named=True)
        metric, others = row["metric"], [other["metric"] for other in alike]
        does = f"do{'es' if len(others) == 1 else ''} {listed(others, len(others))}" if others else ""
        if extreme == 0:
            also = f", nor {does}" if others else ""
            lines.append(f"{metric} does not depend on the position{also}: {_ONE[kind]} costs {_mean_cost(row)}")
        else:
            also = f", as {does}" if others else ""
            rank = "" if rows["size"].n_unique() == 1 else " least" if lines else " most"
            # A larger bias, of a loss that falls to almost nothing, says less than the losses.
            cost = _mean_cost(row) if row["size"] < 1 else _costs_at_ends(losses.filter(kind=kind, metric=metric))
            lines.append(f"{metric} depends{rank} on the position{also}: {_ONE[kind]} costs {cost}")
    lines = [f"{line}, estimated from a sample" for line in lines] if sensitivity.is_sample else lines
    if not of_run:
        return lines
    blind = bias.filter(pl.col("blind") >= _BLIND, kind=kind).sort("blind", descending=True, maintain_order=True)
    unseen = [f"{metric} {_whole(share)}" for metric, share in blind.select("metric", "blind").iter_rows()]
    lines += [f"{_ONE[kind]} put into the run changes nothing in {listed(unseen)} of cases"] if unseen else []
    never = bias.filter(blind=1).group_by("kind", maintain_order=True).agg("metric")
    for of, metrics in never.iter_rows():
        lines.append(f"{listed(metrics)} never {'sees' if len(metrics) == 1 else 'see'} {_ONE[of]}")
    return lines


def _mean_cost(row: dict[str, Any]) -> str:
    """The mean loss and the bias; below, the text says what a bias is."""
    bias = f"{100 * row['bias']:+.2f}" if row["size"] else "0"
    return f"{100 * row['loss']:.2f} points on average (bias {bias})"


def _costs_at_ends(of_metric: pl.DataFrame) -> str:
    """The mean losses in the first and in the last bin that have any."""
    (first, start), (last, end) = of_metric.drop_nulls("loss").select("loss", BIN).gather([0, -1]).iter_rows()
    return f"{100 * first:.2f} points at {start}" + (f", {100 * last:.2f} at {end}" if end != start else "")


# --- audits -----------------------------------------------------------------------------------------------------------


def least_even(slots: pl.DataFrame) -> list[str]:
    """The slots whose most frequent value makes up most of their values."""
    over = slots.filter(pl.col("share") > 0.5)
    if over.is_empty():
        return ["no slot has a value that makes up more than half of its values"]
    slot, value, share = over.select("slot", "most_frequent", "share").row(0)
    one = "one value makes" if over.height == 1 else "one value each makes"
    return [
        f"in {number_of(over.height, 'slot')} of {slots.height}, {one} up more than half of all values; the least even "
        f"is {slot}: {100 * share:.1f} % are {value!r}"
    ]


def seen_in_training(bias: Bias) -> list[str]:
    """A line per split: how much of all its values, by the first way of counting, the training set has."""
    overlap = bias.overlap.filter(pl.col("counting") == pl.col("counting").first())
    if overlap.is_empty():
        return []
    train = overlap["train"].item(0)
    sums = overlap.group_by("split", maintain_order=True).agg(pl.col("values", "values_seen", "n", "n_seen").sum())
    return [
        f"{split}: {train} has {seen:,} of {values:,} values of slots ({100 * seen / values:.2f} %); these are "
        f"{100 * n_seen / n:.2f} % of n, the number of times that values are counted"
        for split, values, seen, n, n_seen in sums.iter_rows()
    ]


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
    from dstbench.analysis.significance import pairs_text  # not before, as above

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
        bound = "at most " if targets.height > 1 and by_chance >= _FEW else ""
        chance = f"{bound}{_expected(by_chance)} of {number}"
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
    where = "higher" if off > 0 else "lower"
    off_by = _number(abs(off), unit, " points")
    return f"the nearest is {metric} {_number(value, unit)} under {_names(nearest)}, {off_by} {where}"


def _number(value: float, unit: str, of_shares: str = "") -> str:
    """A score, or the distance of two."""
    return f"{value:,.0f}" if unit == "count" else f"{100 * value:.2f}{of_shares}"


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
    low, high = _number(least[1], unit), _number(most[1], unit, " points")
    lines = [f"by convention alone, {name_of(metric)} changes by {low} ({least[0]}) to {high} ({most[0]})"]
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
    """The highest and the lowest score, each with its profiles, and how far they are apart."""
    defined = rows.drop_nulls("value")
    if defined.is_empty():
        return "is undefined under every profile"
    unit, high, low = rows["unit"][0], defined["value"][0], defined["value"][-1]
    ends = []
    for value in (low, high):
        name, *others = _names(defined.filter(value=value)).split(", ")
        ends.append(f"{_number(value, unit)} ({name}{f' and {len(others)} more' if others else ''})")
    return f"{' to '.join(ends)}: {_number(high - low, unit, ' points')} apart"


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


# --- changes, and published scores ------------------------------------------------------------------------------------

_SUSPECTS: Final = 3  # how many single choices are named where nothing reaches the published scores


def what_changed(changes: Changes) -> list[str]:
    """What was fixed and broken, and whether it may be chance."""
    turns, values = changes.totals.rows(named=True)
    if not values["fixed"] + values["broken"]:
        return ["nothing changed: every value is as right or wrong as before"]
    lines = [f"{_counts_in_words(turns, 'turn')}; {_counts_in_words(values, 'value')}"]
    for by in ("slot", "domain"):
        sure = changes.groups.filter("significant", by=by)
        for words, groups in (("better", sure.filter(pl.col("net") > 0)), ("worse", sure.filter(pl.col("net") < 0))):
            if groups.height:
                listed = ", ".join(f"{name} ({net:+d})" for name, net in groups.head(3).select("group", "net").rows())
                more = f" and {groups.height - 3} more" if groups.height > 3 else ""
                lines.append(f"{words} by {by}, beyond chance: {listed}{more}")
    return lines


def _counts_in_words(total: dict[str, object], what: str) -> str:
    fixed, broken, net = (int(str(total[name])) for name in ("fixed", "broken", "net"))
    counts = f"{number_of(fixed, what)} fixed, {broken:,} broken"
    if not net:
        return f"{counts}: as many right as before"
    chance = "more than chance" if total["significant"] else "which may be chance"
    return f"{counts}: {abs(net):,} {'more' if net > 0 else 'fewer'} right, {chance}"


def way_to_published(result: Reconciliation) -> list[str]:
    """What makes the number, as far as it can be told, in two sentences."""
    start, best = result.steps.filter(step=0), result.sets.filter(choices=result.sets["choices"][0])
    wanted, ours = _scores_of(start, pl.col("target")), _scores_of(start, text_of("{value:score}"))
    tried, size = result.tried.row(-1, named=True), best["size"][0]
    chance = f"by chance, {_expected(tried['by_chance'] or 0)} of these would reach it"
    if not best["reaches"][0]:
        gives, over = (_scores_of(best, text_of(cell)) for cell in ("{value:score}", "{off:score}"))
        nearest = f"the nearest, {gives}, needs {best['choices'][0]}" if size else "none is nearer"
        lines = [
            f"{wanted} is not reached from {ours} by any set of choices that was tried; {nearest}",
            f"what is left over: {over}; check first in the code that gave {wanted}: {'; '.join(_suspects(result))}",
        ]
    elif not size:
        lines = [f"{wanted} needs no other choice: here it is {ours}"]
    else:
        reached = f"{wanted} is reached from {ours} by"
        of = f"of the {sets_of(size, tried['sets'])} that were tried"
        if tried["by_chance"] is None:
            needs = f"{size} choices of a published convention, {best['choices'][0]}"
            lines = [f"{reached} {needs}; of all sets of fewer choices that were tried, none reaches it"]
        elif tried["reached"] == 1:
            lines = [f"{reached} {best['choices'][0]} alone {of}; {chance}"]
        else:
            lines = [
                f"{reached} {tried['reached']:,} {of}, such as {best['choices'][0]}, so it "
                f"does not tell which was used; {chance}"
            ]
    return [*lines, *(line.partition(": ")[2] for line in profiles_that_agree(result.profiles))]


def sets_of(size: int, number: int) -> str:
    """So many sets of so many choices, in words."""
    nouns = {1: "single choice", 2: "pair", 3: "three", 4: "four"}
    return number_of(number, nouns[size]) if size in nouns else f"{number_of(number, 'set')} of {size}"


def _scores_of(rows: pl.DataFrame, score: pl.Expr) -> str:
    """The metrics of some rows, each with its score."""
    return " and ".join(with_unit(rows).select(pl.format("{} {}", "metric", score)).to_series())


def _expected(expected: float) -> str:
    return f"{expected:.1f}" if expected >= _FEW else "fewer than 0.1"


def _suspects(result: Reconciliation) -> list[str]:
    """What to check first: the choices that bring the first metric nearest to its score, then what was not given."""
    ours, off = result.steps.filter(step=0).select("value", "off").row(0)
    metric, published = result.steps["metric"][0], ours - off
    nearer = result.choices.filter(metric=metric).with_columns(off=(pl.col("value") - published).abs())
    nearer = nearer.filter(pl.col("off") < abs(off)).sort("off", maintain_order=True)
    first = nearer.unique("value", keep="first", maintain_order=True).head(_SUSPECTS)
    named = pl.format("{} ({} {})", "choice", "metric", text_of("{value:score}"))
    given = result.choices["choice"]
    further = [
        *(["which version of gold it had (--other-gold)"] if not given.str.starts_with("gold ").any() else []),
        *(["whether it accepted variants of values (--label-map)"] if "label-map" not in given else []),
        "which checkpoint and split it was",
    ]
    return [*with_unit(first).select(named).to_series(), *further][:_SUSPECTS]


def with_unit(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of scores, with the unit of their metric."""
    is_count = pl.col("metric").map_elements(lambda metric: parse(metric).is_count, pl.Boolean)
    return rows.with_columns(unit=pl.when(is_count).then(pl.lit("count")).otherwise(pl.lit("share")))
