"""Sentences that sum results up, for text, Markdown, notebooks and the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis.associations import POOLED
from dstbench.analysis.sentences import listed
from dstbench.errors import number_of
from dstbench.metrics.registry import sign_of
from dstbench.rendering.views import percent

if TYPE_CHECKING:
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.sensitivity import Sensitivity
    from dstbench.audit import Bias

    Design = Mapping[str, Any]

# A sentence names at most so many runs, and pairs of runs.
_MOST_RUNS: Final = 5
_MOST_PAIRS: Final = 3
# Which dialogues correlations are over, by the value of the column `rows`.
_DIALOGUES_TAKEN: Final = {
    "pairwise": "",
    "complete": " over dialogues in which all are defined",
    "released": " over dialogues as the authors of GCA took them",
}

# --- metrics ----------------------------------------------------------------------------------------------------------


def metrics_apart(compared: MetricComparison) -> list[str]:
    """Which metrics tell most and fewest pairs of runs apart, and whose orders agree least; empty for one run."""
    orders = compared.agreement.drop_nulls("tau").sort("tau", maintain_order=True)
    return _power_in_words(compared) + _orders_in_words(compared, orders)


def _power_in_words(compared: MetricComparison) -> list[str]:
    """The metrics that tell the largest and the smallest share of pairs apart."""
    ranked = compared.power.drop_nulls("power_adjusted").sort("power_adjusted", descending=True, maintain_order=True)
    if ranked.is_empty():
        is_tested = compared.power["pairs"].sum() > 0
        return (
            ["no pair of runs can be told apart: too few resamples, or too few dialogues differ"] if is_tested else []
        )
    design = compared.design.row(0, named=True)
    adjusted = "" if design["adjustment"] == "none" else f", adjusted by {design['adjustment']}"
    parts = ranked.group_by("apart_adjusted", "pairs", maintain_order=True).agg("metric").rows()
    apart, pairs, metrics = parts[0]
    verb = "tells" if len(metrics) == 1 else "tell"
    if len(parts) == 1:
        line = f"{', '.join(metrics)} {verb} {apart} of {number_of(pairs, 'pair')} of runs apart"
    else:
        fewest, of, others = parts[-1]
        line = f"{', '.join(metrics)} {verb} most pairs of runs apart, {apart} of {pairs}; "
        line += f"{', '.join(others)} fewest, {fewest} of {of}"
    return [f"{line} (at {percent(1 - design['level'])}{adjusted})"]


def _orders_in_words(compared: MetricComparison, orders: pl.DataFrame) -> list[str]:
    """The two metrics whose orders agree least, and the pairs of runs that they reverse.

    Args:
        compared: What `dstbench.compare_metrics` returned.
        orders: Its `agreement`, where tau is defined, the lowest tau first.
    """
    if orders.is_empty():
        return []
    least = orders.row(0, named=True)
    limits = "" if least["low"] is None else f" ({least['low']:.2f} to {least['high']:.2f})"
    if least["tau"] == 1:
        which = "all metrics" if compared.agreement["tau"].null_count() == 0 else "all metrics that have one"
        return [f"the orders of {which} agree: tau 1.00"]
    names, tau = f"{least['first']} and {least['second']}", f"tau {least['tau']:.2f}{limits}"
    if orders["reversed"].sum() == 0:
        return [f"no two metrics reverse a pair of runs; {names} agree least: {tau}"]
    line = f"the orders of {names} agree least: {tau}" if orders.height > 1 else f"the orders of {names}: {tau}"
    return (
        [line, f"they reverse {reversed_pairs(compared, least['first'], least['second'])}"]
        if least["reversed"]
        else [line]
    )


def reversed_pairs(compared: MetricComparison, first: str, second: str) -> str:
    """The names of the pairs of runs that two metrics reverse, those with the largest differences first."""
    rows = compared.reversals.filter(first=first, second=second)
    size = pl.min_horizontal(pl.col("difference_first").abs(), pl.col("difference_second").abs())
    named = rows.sort(size, descending=True, maintain_order=True).head(_MOST_PAIRS)
    more = f" and {rows.height - _MOST_PAIRS} more" if rows.height > _MOST_PAIRS else ""
    return ", ".join(f"{run}/{other}" for run, other in named.select("run", "other").iter_rows()) + more


def pairs_of_all(compared: MetricComparison) -> int | None:
    """The number of pairs of runs that are tested, if it is the same by all metrics; None if there is none."""
    pairs = compared.power["pairs"].unique()
    return pairs.item() or None if len(pairs) == 1 else None


# --- correlations -----------------------------------------------------------------------------------------------------


_IS_SIGNIFICANT: Final = pl.col("p") <= 1 - pl.col("level") + 1e-12
_EXCLUDES_0: Final = (pl.col("zou_low") > 0) | (pl.col("zou_high") < 0)
# Whether Zou's interval excludes 0 where p is above 1 - level, or holds it where p is not; false without it.
_DIFFERS: Final = (_EXCLUDES_0 != _IS_SIGNIFICANT).fill_null(value=False)
#: The same in words, for the end of a cell.
ZOU_DIFFERS: Final = pl.when(_DIFFERS).then(pl.lit(" (differs)")).otherwise(pl.lit(""))


def differences(rows: pl.DataFrame) -> list[str]:
    """For each two correlations that are compared: the runs in which the first is lower, higher, or perhaps neither.

    Args:
        rows: Rows of `schema.analysis.CORRELATION_DIFFERENCES`.
    """
    tested = rows.filter(pl.col("run") == pl.col("other_run"), pl.col("p").is_not_null())
    lines = []
    for compared, of_pair in tested.group_by("first", "second", maintain_order=True):
        alpha = 1 - of_pair["level"][0]
        is_lower = pl.col("difference") < 0
        verdicts = _IS_SIGNIFICANT & is_lower, _IS_SIGNIFICANT & ~is_lower, ~_IS_SIGNIFICANT
        below, above, chance = (_in_runs(of_pair.filter(verdict)["run"].to_list()) for verdict in verdicts)
        first, second = (f"r({str(pair).replace(',', ', ')})" for pair in compared)
        sides = [f"below {second}{below}"] if below else []
        sides += [f"above {'it' if sides else second}{above}"] if above else []
        if sides:
            lines.append(f"{first} is {', '.join(sides)} (p at most {alpha:.2g})")
        if chance:
            what = "the difference" if sides else f"the difference of {first} and {second}"
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
    runs: list[str] = correlations.rated["run"].to_list()
    return POOLED if POOLED in runs else runs[0]


def best_by_ratings(correlations: Correlations) -> list[str]:
    """Which metric agrees best with the ratings, and whether it is better than the others by more than chance."""
    scores = _scores(correlations)
    ranked = _values(correlations, "pearson").filter(pl.col("metric").is_in(scores))
    if ranked.is_empty():
        return ["no score has a correlation with the ratings"] if scores else []
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
        lines.append(
            f"r of {', '.join(higher)} is higher, but over other {row['per']}s: "
            f"where both are defined, {best}'s is higher"
        )
    return lines + _leads_in_words(correlations, best)


def _leads_in_words(correlations: Correlations, best: str) -> list[str]:
    """Which scores the best one exceeds by more than chance, and where the rank correlations say something else."""
    lead = _lead(correlations, "pearson", best)
    others: dict[str, list[str]] = {}
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
    return [*([lead] if lead else []), *by]


def _lead(correlations: Correlations, coefficient: str, best: str) -> str:
    """Which scores this one is ahead of by more than chance, and of which perhaps not; empty if there is no other."""
    others = leads(correlations, coefficient, best)
    alpha = 1 - correlations.rated["level"][0]
    is_better = (pl.col("p_adjusted") <= alpha + 1e-12) & (pl.col("difference") > 0)
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


def _values(correlations: Correlations, coefficient: str) -> pl.DataFrame:
    """The rows of `rated` of the shown run that have a value, the highest first."""
    rows = correlations.rated.filter(run=shown_run(correlations), coefficient=coefficient).drop_nulls("value")
    return rows.sort("value", descending=True, maintain_order=True)


def best_metric(correlations: Correlations, coefficient: str) -> str | None:
    """The score that is behind no other where both are defined; of several, the one with the highest value.

    The values alone do not tell, because each is over the rows in which its own score is defined.
    """
    value, other = pl.col("value"), pl.col("other_value")
    behind = rated_differences(correlations, coefficient).select(
        behind=pl.when(value < other).then("metric").when(value > other).then("other")
    )
    ranked = _values(correlations, coefficient).filter(pl.col("metric").is_in(_scores(correlations)))
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
# Biases relative to the mean loss are equal, but for rounding, if these decimals are.
_DECIMALS: Final = 9
BIN: Final = pl.format(
    "{}-{} %", (100 * pl.col("start")).round().cast(pl.Int64), (100 * pl.col("end")).round().cast(pl.Int64)
)


def costs(sensitivity: Sensitivity) -> list[str]:
    """For the first kind of error that was made: the metrics to which it matters most and least when it happens.

    What matters is the bias relative to the mean loss: slot accuracy falls by little because it divides by all slots.
    """
    kind = sensitivity.errors.filter(pl.col("errors") > 0)["kind"].item(0)
    size = pl.col("relative").abs().round(_DECIMALS)
    rows = sensitivity.bias.filter(kind=kind).drop_nulls("relative").with_columns(size=size)
    if rows.is_empty():
        return [f"whether {_ONE[kind]} costs more early or late in a dialogue cannot be said"]
    lines: list[str] = []
    for extreme in dict.fromkeys([rows["size"].max(), rows["size"].min()]):
        row, *alike = rows.filter(size=extreme).iter_rows(named=True)
        metric, others = row["metric"], [other["metric"] for other in alike]
        if extreme == 0:
            also = f", nor do{_es(others)} {listed(others, len(others))}" if others else ""
            lines.append(f"{metric} does not depend on the position{also}: {_ONE[kind]} costs {_mean_cost(row)}")
        else:
            also = f", as do{_es(others)} {listed(others, len(others))}" if others else ""
            rank = "" if rows["size"].n_unique() == 1 else " least" if lines else " most"
            # A larger bias, of a loss that falls to almost nothing, says less than the losses.
            cost = _mean_cost(row) if row["size"] < 1 else _costs_at_ends(sensitivity, kind, metric)
            lines.append(f"{metric} depends{rank} on the position{also}: {_ONE[kind]} costs {cost}")
    return [f"{line}, estimated from a sample" for line in lines] if sensitivity.is_sample else lines


def _mean_cost(row: dict[str, Any]) -> str:
    """The mean loss and the bias; below, the text says what a bias is."""
    bias = f"{100 * row['bias']:+.2f}" if row["size"] else "0"
    return f"{100 * row['loss']:.2f} points on average (bias {bias})"


def _costs_at_ends(sensitivity: Sensitivity, kind: str, metric: str) -> str:
    """The mean losses in the first and in the last bin that have any."""
    losses = sensitivity.costs.filter(kind=kind, metric=metric).drop_nulls("loss").select("loss", BIN)
    (first, start), (last, end) = losses.gather([0, -1]).iter_rows()
    return f"{100 * first:.2f} points at {start}" + (f", {100 * last:.2f} at {end}" if end != start else "")


def _es(names: list[str]) -> str:
    return "es" if len(names) == 1 else ""


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
