"""Charts of where runs fail, and of how scores depend on where in a dialogue mistakes are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from dstbench.analysis.traits import ROOT
from dstbench.errors import UsageError
from dstbench.metrics.base import divide
from dstbench.metrics.exact_sums import exact_sum
from dstbench.metrics.registry import name_of
from dstbench.rendering.charts.forms import (
    COLOURS,
    Chart,
    apart,
    bars,
    chart,
    lines,
    named_axis,
    of_enough,
    points,
    row_step,
    share,
    unique,
    whole_number,
    with_names,
)  # fmt: skip
from dstbench.rendering.views import IS_COUNT
from dstbench.scoring.timing import TIMING
from dstbench.stats.normal import wilson

if TYPE_CHECKING:
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits


def diagnosis_charts(diagnosis: Diagnosis) -> dict[str, Chart]:
    """The figures of a diagnosis: those of Kim et al. 2022, JGA by turn and by length, kinds of errors, and timing."""
    return {
        "first_failures": _first_failures(diagnosis.first_failures),
        "gold_slots": gold_slots(diagnosis.gold_slots),
        "by_turn": jga_line(diagnosis.by_turn, "turn", "Turn"),
        "by_length": jga_line(diagnosis.by_length, "length", "Turns of the dialogue"),
        "errors": _kinds_of_errors(diagnosis.errors),
        "timing": _timing(diagnosis.timing),
    }


def trait_charts(traits: Traits) -> dict[str, Chart]:
    """The figures of traits: scores by tail orientation, by non-uniformity, and by both (Aksu & Chen 2024, Fig 1)."""
    of_shares = traits.bins.filter(pl.col("metric").is_in(traits.signatures.filter(~IS_COUNT)["metric"].to_list()))
    if of_shares.is_empty() and traits.bins.height:
        raise UsageError("there is no figure of counts by traits", hint="-m fga,gca")
    charts = {
        str(trait): _along_trait(traits.dialogues, bins)
        for (trait,), bins in of_shares.group_by("trait", maintain_order=True)
    }
    if len(charts) > 1:
        charts["traits"] = _both_traits(traits.dialogues, of_shares)
    return charts


def jga_line(rows: pl.DataFrame, by: str, title: str) -> Chart:
    """JGA by turn or by length, from `Diagnosis.by_turn` or `Diagnosis.by_length`; n is the number of dialogues.

    JGA by turn has intervals: a turn is one of each dialogue. Turns and lengths of hardly any dialogues are left out.
    """
    shown = of_enough(rows, by).select("run", by, "value", "turns", "dialogues")
    n = dict(shown.group_by(by).agg(pl.col("dialogues").max()).sort(by).iter_rows())
    ends = pl.DataFrame(
        [wilson(value, dialogues) for value, dialogues in shown.select("value", "dialogues").iter_rows()],
        schema={"low": pl.Float64, "high": pl.Float64}, orient="row",
    )  # fmt: skip
    label = f"[datum.label, 'n=' + {n}[datum.value]]"
    x = whole_number(alt.X, by, title, [*n], grid=False, labelExpr=label)
    y: dict[str, Any] = {"title": "JGA", "scale": alt.Scale(domain=[0, 1])}
    band = alt.Chart().mark_area(opacity=0.15, aria=False)
    band = band.encode(x, share(alt.Y, "low", **y), alt.Y2("high:Q"), **apart("run", unique(rows["run"])))
    below = [band] if by == "turn" else []
    return lines(f"JGA by {by}", shown.hstack(ends), x, share(alt.Y, "value", **y), "run", *below)


def gold_slots(rows: pl.DataFrame) -> Chart:
    """The largest number of gold slots in a dialogue (Kim et al. 2022, Fig 2), from `Diagnosis.gold_slots`."""
    if same_gold(rows):
        rows = rows.filter(pl.col("run") == pl.col("run").first())
    x = alt.X("n_gold_max:O", title="Largest number of gold slots in a turn", axis=alt.Axis(labelAngle=0))
    y, title = (
        whole_number(alt.Y, "dialogues", "Dialogues", [0, *rows["dialogues"]], 3),
        "How many slots dialogues have",
    )
    if rows["run"].n_unique() > 1:
        return lines(title, rows, x, y, "run")
    return bars(title, rows, x, y, "run")


def same_gold(rows: pl.DataFrame) -> bool:
    """Whether all runs have the same distribution of gold slots, as runs over one gold do: then it is drawn once."""
    runs = rows.partition_by("run", include_key=False, maintain_order=True)
    return all(run.equals(runs[0]) for run in runs)


def _first_failures(rows: pl.DataFrame) -> Chart:
    """When failing dialogues first fail (Kim et al. 2022, Fig 1): bars, with a part for those that are right again."""
    parts = {"right again later": pl.col("recovered"), "never again": pl.col("dialogues") - pl.col("recovered")}
    split = rows.select("run", "low", "high", "dialogues", **parts).unpivot(
        on=list(parts), index=["run", "low", "high", "dialogues"], variable_name="then", value_name="n"
    )
    axis = alt.Axis(format="~%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    title = "First wrong turn, as a share of the dialogue"
    x = alt.X("low:Q", bin=alt.BinParams(binned=True, step=0.1), title=title, axis=axis)
    y = whole_number(alt.Y, "n", "Dialogues", [0, *rows["dialogues"]], 3).stack("zero")
    bar = alt.Chart().mark_bar(tooltip=True).encode(x, alt.X2("high:Q"), y, **apart("then", [*parts], "depth"))
    return chart("Where dialogues first fail", split, bar, panel="run")


def _kinds_of_errors(rows: pl.DataFrame) -> Chart:
    """How many slots of turns are in each class of errors, from `Diagnosis.errors`, a panel per run."""
    errors = rows.filter(pl.col("kind") != "correct").select("run", "class", "kind", "n")
    shown = errors.filter(pl.col("n") > 0)
    present = set(shown["class"])
    classes = [text for text in unique(errors["class"]) if text in present]
    x = whole_number(alt.X, "n", "Slots of turns", [0, *shown["n"]], 3, format="~s")
    bar = (
        alt.Chart()
        .mark_bar(tooltip=True)
        .encode(x, named_axis(alt.Y, "class", classes), **apart("kind", unique(shown["kind"])))
    )
    return chart("Kinds of errors", shown, bar, panel="run", height=row_step(classes))


def _timing(rows: pl.DataFrame) -> Chart:
    """The shares of missed slots that are late and of over-predicted ones that are early, from `Diagnosis.timing`."""
    shown = pl.concat([
        rows.select("run", timing=pl.lit(f"{timed}, of {name_of(kind).lower()}"), share=f"{timed}_share", slots=kind)
        for kind, timed in TIMING.items()
    ])  # fmt: skip
    runs = unique(rows["run"])
    x = share(alt.X, "share", "Share of these slots of turns", 3, scale=alt.Scale(zero=True))
    y = named_axis(alt.Y, "run", runs)
    return bars("Errors of timing", shown, x, y, panel="timing", height=row_step(runs))


def _along_trait(dialogues: pl.DataFrame, bins: pl.DataFrame) -> Chart:
    """The distribution of dialogues' scores in each bin of one trait: mean and quartiles, a panel per run.

    The more dialogues are in a bin, the larger is its point.
    """
    trait, metrics = bins["trait"].item(0), unique(bins["metric"])
    rows = _binned(dialogues, bins, trait)
    long = rows.unpivot(on=metrics, index=["run", "low", "high"], variable_name="metric").drop_nulls("value")
    value = pl.col("value")
    spread = long.group_by("run", "metric", "low", "high", maintain_order=True).agg(
        lower=value.quantile(0.25, "linear"), upper=value.quantile(0.75, "linear"), dialogues=pl.len()
    )
    means = bins.select("run", "metric", "low", "high", mean="value")
    shown = with_names(means.join(spread, on=["run", "metric", "low", "high"], maintain_order="left"))
    shown = shown.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
    # All of a bin, as the only tick of an axis without an extent is called 0.
    domain = alt.Undefined if shown.is_empty() else [shown["low"].min(), shown["high"].max()]
    x = alt.X("middle:Q", title=name_of(trait), axis=alt.Axis(grid=False, tickCount=4), scale=_scale(trait, domain))
    y: dict[str, Any] = {"title": "Mean and quartiles", "scale": alt.Scale(zero=True)}
    looks = apart("metric", unique(shown["metric"]), "shape")
    dashes = apart("metric", unique(shown["metric"]), "dash")
    band = alt.Chart().mark_area(opacity=0.18)
    band = band.encode(x, share(alt.Y, "lower", **y), alt.Y2("upper:Q"), color=looks["color"])
    line = alt.Chart().mark_line().encode(x, share(alt.Y, "mean", **y), **dashes)
    sizes = sorted(shown["dialogues"].to_list())
    legend = alt.Legend(values=sorted({*sizes[:1], *sizes[-1:]}))
    size = alt.Size("dialogues:Q", scale=alt.Scale(range=[4, 60]), title="Dialogues in a bin", legend=legend)
    dots = points().encode(x, share(alt.Y, "mean", **y), size, **looks)
    return chart(f"Scores by {name_of(trait).lower()}", shown, band, line, dots, panel="run")


def _both_traits(dialogues: pl.DataFrame, bins: pl.DataFrame) -> Chart:
    """Mean scores of all runs' dialogues by both traits, darker where higher, a panel per metric."""
    metrics = unique(bins["metric"])
    rows, axes = dialogues, []
    for channel, second, ((trait,), of_trait) in zip(
        (alt.X, alt.Y), (alt.X2, alt.Y2), bins.group_by("trait", maintain_order=True), strict=True
    ):
        low, high = f"{trait}_low", f"{trait}_high"
        rows = _binned(rows, of_trait, str(trait)).rename({"low": low, "high": high})
        axis = alt.Axis(tickCount=4, grid=False)
        binned = channel(f"{low}:Q", bin="binned", title=name_of(str(trait)), scale=_scale(str(trait)), axis=axis)
        axes += [binned, second(f"{high}:Q")]
    edges = [f"{trait}_{end}" for trait in unique(bins["trait"]) for end in ("low", "high")]
    long = rows.unpivot(on=metrics, index=edges, variable_name="metric").drop_nulls("value")
    means = long.group_by("metric", *edges).agg(mean=divide(exact_sum(pl.col("value")), pl.len()), dialogues=pl.len())
    order = pl.col("metric").cast(pl.Enum(metrics))
    shown = with_names(means.sort(order, *edges))
    legend = alt.Legend(format="%", values=[0.2, 1])
    scale = alt.Scale(domain=[0, 1], range=[0.05, 1])
    depth = alt.Opacity("mean:Q", scale=scale, title="Mean score", legend=legend)
    rect = alt.Chart().mark_rect(color=COLOURS[0], tooltip=True).encode(*axes, depth)
    return chart("Scores by both traits", shown, rect, panel="metric")


def _scale(trait: str, domain: Any = alt.Undefined) -> alt.Scale:
    """The scale on which a trait's bins are equally wide."""
    return alt.Scale(type="sqrt" if trait in ROOT else "linear", domain=domain)


def _binned(dialogues: pl.DataFrame, bins: pl.DataFrame, trait: str) -> pl.DataFrame:
    """Dialogues in which the trait is defined, with the ends of its bin."""
    edges = bins.select("low", "high").unique().sort("low")
    of = dialogues.drop_nulls(trait).sort(trait)
    return of.join_asof(edges, left_on=trait, right_on="low", strategy="backward")
