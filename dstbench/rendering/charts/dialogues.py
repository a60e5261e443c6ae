"""Charts of where runs fail, and of how scores depend on where in a dialogue mistakes are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dstbench.analysis.traits import ROOT
from dstbench.errors import UsageError
from dstbench.metrics.base import divide
from dstbench.metrics.exact_sums import exact_sum
from dstbench.metrics.registry import name_of
from dstbench.rendering.charts.grammar import (
    COLOURS,
    Chart,
    Spec,
    chart,
    ends,
    in_panels,
    integer,
    middles,
    named_axis,
    number,
    percent,
    row_step,
    specification,
    unique,
    with_names,
)
from dstbench.rendering.views import IS_COUNT
from dstbench.scoring.timing import TIMING

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
    """JGA by turn or by length, from `Diagnosis.by_turn` or `Diagnosis.by_length`."""
    x = integer(by, title, *ends(rows[by]), grid=False)
    axes = {"x": x, "y": percent("value", scale={"domain": [0, 1]}, title="JGA")}
    shown = rows.select("run", by, "value", "turns", "dialogues")
    return chart(f"JGA by {by}", "line", shown, axes)


def gold_slots(rows: pl.DataFrame) -> Chart:
    """The largest number of gold slots in a dialogue (Kim et al. 2022, Fig 2), from `Diagnosis.gold_slots`."""
    if same_gold(rows):
        rows = rows.filter(pl.col("run") == pl.col("run").first())
    x: Spec = {"field": "n_gold_max", "type": "ordinal", "title": "Largest number of gold slots in a turn"}
    x["axis"] = {"labelAngle": 0}
    y = integer("dialogues", "Dialogues", 0, ends(rows["dialogues"])[1], 3)
    mark = "bar" if rows["run"].n_unique() == 1 else "line"
    return chart("How many slots dialogues have", mark, rows, {"x": x, "y": y})


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
    x = {"field": "low", "bin": {"binned": True, "step": 0.1}, "title": "First wrong turn, as a share of the dialogue"}
    x["axis"] = {"format": "~%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
    y = integer("n", "Dialogues", 0, ends(rows["dialogues"])[1], 3) | {"stack": "zero"}
    encoding = {"x": x, "x2": {"field": "high"}, "y": y}
    whole = chart("Where dialogues first fail", "bar", split, encoding, by="then")
    return in_panels(whole, "run", unique(rows["run"]))


def _kinds_of_errors(rows: pl.DataFrame) -> Chart:
    """How many slots of turns are in each class of errors, from `Diagnosis.errors`, a panel per run."""
    errors = rows.filter(pl.col("kind") != "correct").select("run", "class", "kind", "n")
    shown = errors.filter(pl.col("n") > 0)
    present = set(shown["class"])
    classes = [text for text in unique(errors["class"]) if text in present]
    x = integer("n", "Slots of turns", 0, ends(shown["n"])[1], 3, format="~s")
    whole = chart("Kinds of errors", "bar", shown, {"x": x, "y": named_axis("class", classes)}, by="kind")
    return in_panels(Chart({**whole, "height": row_step(classes)}), "run", unique(shown["run"]))


def _timing(rows: pl.DataFrame) -> Chart:
    """The shares of missed slots that are late and of over-predicted ones that are early, from `Diagnosis.timing`."""
    shares = [
        rows.select("run", timing=pl.lit(f"{timed}, of {name_of(kind).lower()}"), share=f"{timed}_share", slots=kind)
        for kind, timed in TIMING.items()
    ]
    shown = pl.concat(shares)
    x = percent("share", 3, title="Share of these slots of turns", scale={"zero": True})
    y = named_axis("run", unique(rows["run"]))
    bar = {"type": "bar", "color": COLOURS[0], "tooltip": True}
    whole = specification("Errors of timing", shown, mark=bar, encoding={"x": x, "y": y})
    return in_panels(Chart({**whole, "height": row_step(unique(rows["run"]))}), "timing", unique(shown["timing"]))


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
    shown = with_names(middles(means.join(spread, on=["run", "metric", "low", "high"], maintain_order="left")))
    domain = {} if shown.is_empty() else {"domain": [shown["low"].min(), shown["high"].max()]}
    # All of a bin, as the only tick of an axis without an extent is called 0.
    x = number("middle", title=name_of(trait), axis={"grid": False, "tickCount": 4}, scale={**_scale(trait), **domain})
    y: Spec = {"title": "Mean and quartiles", "scale": {"zero": True}}
    looks = chart("", "line", shown, {}, by="metric")["encoding"]
    line = {channel: looks[channel] for channel in ("color", "strokeDash")}
    sizes = shown.select(pl.col("dialogues").min(), pl.col("dialogues").max().alias("most")).row(0)
    legend = {"values": unique(pl.Series([size for size in sizes if size is not None]))}
    size = number("dialogues", scale={"range": [4, 60]}, title="Dialogues in a bin", legend=legend)
    point = {channel: looks[channel] for channel in ("color", "shape")} | {"size": size}
    mean = {"x": x, "y": percent("mean", **y)}
    band = {"type": "area", "opacity": 0.18}
    band_encoding = {"x": x, "y": percent("lower", **y), "y2": {"field": "upper"}, "color": looks["color"]}
    whole = specification(
        f"Scores by {name_of(trait).lower()}", shown,
        layer=[
            {"mark": band, "encoding": band_encoding},
            {"mark": "line", "encoding": {**line, **mean}},
            {"mark": {"type": "point", "filled": True, "opacity": 1, "tooltip": True}, "encoding": {**point, **mean}},
        ],
    )  # fmt: skip
    return in_panels(whole, "run", unique(shown["run"]))


def _both_traits(dialogues: pl.DataFrame, bins: pl.DataFrame) -> Chart:
    """Mean scores of all runs' dialogues by both traits, darker where higher, a panel per metric."""
    metrics = unique(bins["metric"])
    rows, axes = dialogues, {}
    for channel, ((trait,), of_trait) in zip("xy", bins.group_by("trait", maintain_order=True), strict=True):
        rows = _binned(rows, of_trait, str(trait)).rename({"low": f"{channel}_low", "high": f"{channel}_high"})
        axes[channel] = number(f"{channel}_low", bin={"binned": True}, title=name_of(str(trait)))
        axes[channel]["scale"] = _scale(str(trait))
        axes[channel]["axis"] = {"tickCount": 4, "grid": False}
        axes[f"{channel}2"] = {"field": f"{channel}_high"}
    edges = ["x_low", "x_high", "y_low", "y_high"]
    long = rows.unpivot(on=metrics, index=edges, variable_name="metric").drop_nulls("value")
    means = long.group_by("metric", *edges).agg(mean=divide(exact_sum(pl.col("value")), pl.len()), dialogues=pl.len())
    shown = with_names(means.sort("metric", *edges))
    opacity = number(
        "mean",
        scale={"domain": [0, 1], "range": [0.05, 1]},
        title="Mean score",
        legend={"format": "%", "values": [0.2, 1]},
    )
    mark = {"type": "rect", "color": COLOURS[0], "tooltip": True}
    whole = specification("Scores by both traits", shown, mark=mark, encoding={**axes, "opacity": opacity})
    return in_panels(whole, "metric", [name_of(metric) for metric in metrics])


def _scale(trait: str) -> Spec:
    """The scale on which a trait's bins are equally wide."""
    return {"type": "sqrt"} if trait in ROOT else {}


def _binned(dialogues: pl.DataFrame, bins: pl.DataFrame, trait: str) -> pl.DataFrame:
    """Dialogues in which the trait is defined, with the ends of its bin."""
    edges = bins.select("low", "high").unique().sort("low")
    of = dialogues.drop_nulls(trait).sort(trait)
    return of.join_asof(edges, left_on=trait, right_on="low", strategy="backward")
