"""What one error costs, as text, Markdown, LaTeX, CSV or JSON; text begins with what matters most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.analysis.sentences import listed
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of
from dstbench.rendering.latex import PaperTable, cell
from dstbench.rendering.tables import (
    Page,
    brackets,
    interval_text,
    pivoted,
    renderer,
    share_text,
    signature_lines,
    three_decimals,
)

if TYPE_CHECKING:
    from dstbench.analysis.sensitivity import Sensitivity

#: What an error of each kind is.
MEANINGS: Final = {
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
_BIN: Final = pl.format(
    "{}-{} %", (100 * pl.col("start")).round().cast(pl.Int64), (100 * pl.col("end")).round().cast(pl.Int64)
)


def sensitivity_page(sensitivity: Sensitivity) -> Page:
    """A table per kind of error that was made: mean loss of each metric by position, and its position bias."""
    errors = sensitivity.errors.filter(pl.col("errors") > 0).select("kind", "errors", "possible")
    wide = _by_position(sensitivity)
    level = f"{100 * sensitivity.bias['level'].item(0):g} % interval"
    sections = []
    for kind, number, possible in errors.iter_rows():
        rows = wide.filter(kind=kind)
        limits = interval_text(share_text).alias(level)
        drawn_from = f"drawn of {possible:,} " if sensitivity.is_sample else ""
        shown = rows.select("metric", *_bins(sensitivity), share_text("bias"), limits, three_decimals("relative"))
        sections.append((f"{kind}: {MEANINGS[kind]}; {number:,} {drawn_from}errors", shown))
    counts = sensitivity.errors.row(0, named=True)
    drawn = (
        f"estimated from a sample: at most {counts['sample']} errors of each kind in a dialogue, seed {counts['seed']}"
    )
    dialogues = max(sensitivity.bias["dialogues"].to_list())
    below = [
        "loss in points, by the position t/(n - 1) of the change in a dialogue of n turns",
        "bias: how many points more an error costs in the last turn than in the first turn of the same",
        "dialogue (slope); losses by position are means over dialogues that differ in length, too",
        "relative: the bias divided by the mean loss; intervals over dialogues",
        f"{number_of(counts['changes'], 'change')} of gold; {number_of(dialogues, 'dialogue')}",
        *([drawn] if sensitivity.is_sample else []),
        *signature_lines(sensitivity.signatures),
    ]
    return Page(
        sections, below, paper=[_table(wide.filter(pl.col("kind").is_in(errors["kind"].to_list())), sensitivity, below)]
    )


def conclusion(sensitivity: Sensitivity) -> list[str]:
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


render_sensitivity = renderer(sensitivity_page, conclusion, ("text",))


def _mean_cost(row: dict[str, Any]) -> str:
    """The mean loss and the bias; below, the text says what a bias is."""
    bias = f"{100 * row['bias']:+.2f}" if row["size"] else "0"
    return f"{100 * row['loss']:.2f} points on average (bias {bias})"


def _costs_at_ends(sensitivity: Sensitivity, kind: str, metric: str) -> str:
    """The mean losses in the first and in the last bin that have any."""
    losses = sensitivity.costs.filter(kind=kind, metric=metric).drop_nulls("loss").select("loss", _BIN)
    (first, start), (last, end) = losses.gather([0, -1]).iter_rows()
    return f"{100 * first:.2f} points at {start}" + (f", {100 * last:.2f} at {end}" if end != start else "")


def _es(names: list[str]) -> str:
    return "es" if len(names) == 1 else ""


def _by_position(sensitivity: Sensitivity) -> pl.DataFrame:
    """A row per kind and metric: a column per bin (texts), bias, and the ends of its interval."""
    losses = sensitivity.costs.select("kind", "metric", _BIN.alias("bin"), share_text("loss"))
    table = pivoted(losses, "bin", ["kind", "metric"], "loss")
    bias = sensitivity.bias.select("kind", "metric", "bias", "low", "high", "relative")
    return table.join(bias, on=["kind", "metric"], how="left", maintain_order="left")


def _bins(sensitivity: Sensitivity) -> list[str]:
    return sensitivity.costs.select(_BIN.alias("bin"))["bin"].unique(maintain_order=True).to_list()


def _table(wide: pl.DataFrame, sensitivity: Sensitivity, notes: list[str]) -> PaperTable:
    """All kinds below each other."""
    names = pl.col("metric").replace({metric: name_of(metric) for metric in wide["metric"].unique()})
    table = wide.select(names, *_bins(sensitivity), cell(share_text("bias"), "bias", small=brackets(share_text)))
    caption = (
        "What one error costs, in points, by the position of the change in its dialogue, and the position bias with "
        f"its {100 * sensitivity.bias['level'].item(0):g} % interval."
    )
    groups = [f"{kind}: {MEANINGS[kind]}" for kind in wide["kind"]]
    return PaperTable(table, caption, "tab:sensitivity", notes, groups, {"metric": "", "bias": "Position bias"})
