"""Charts of audits: of values and how often they occur, of versions, of missing annotations and memorised values."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.rendering.charts.chart import COLOURS, INK, Axis, Chart, Mark, bars, chart, long
from dstbench.rendering.of_audits import frequent_values, pair_texts, slot_order, split_rows
from dstbench.schema.audit import KINDS
from dstbench.typing import SlotOrder

if TYPE_CHECKING:
    from dstbench.audit import Bias, Differences, Inconsistency, Memorisation, VersionScores

# Lines of text are wrapped to so many characters.
_LINE: Final = 58
_MEASURES: Final = {"H1/H0": pl.col("h1_h0"), "H∞/H0": pl.col("hinf_h0")}


def bias_charts(bias: Bias, top: int, sort: SlotOrder = "slot") -> dict[str, Chart]:
    """H1/H0 and H∞/H0 per slot, and the `top` most frequent values of each slot (Qian et al. 2021, Fig 2)."""
    order = slot_order(bias, sort)
    counting = pl.format(", {}", "counting") if bias.slots["counting"].n_unique() > 1 else pl.lit("")
    measures = long(bias.slots, _MEASURES, "measure", "value").with_columns(pl.col("measure") + counting)
    x = Axis("value", scale={"domain": [0, 1]}, axis={"format": ",~f"})
    dots = Mark("point", x, Axis("slot", names=order), "split")
    frequent = frequent_values(bias, top).sort(pl.col("slot").cast(pl.Enum(order)), maintain_order=True)
    labels = {"labelLimit": 80, "minExtent": 80}
    values = Axis("value", channel={"sort": None, "scale": {}, "axis": labels})  # each panel has values of its own
    shares = Axis("share", "Share of the slot's values", axis={"tickCount": 2})
    return {
        "bias": chart("How evenly values are distributed", measures, dots, panel="measure", step=10),
        "values": bars("Most frequent values", frequent, shares, values, "split", beside=True, panel="slot", own="y",
                       least=40),  # so that those of 30 slots fit on a page
    }  # fmt: skip


def difference_charts(differences: Differences) -> dict[str, Chart]:
    """The figure of two versions: in which share of the turns each slot differs, by kind, a panel per split."""
    of_split = pl.col("turns").filter(pl.col("domain").is_null(), pl.col("slot").is_null()).first().over("split")
    shares = {kind.replace("_", " "): pl.col(kind) / pl.col("of_split") for kind in sorted(KINDS)}
    slots = split_rows(differences).with_columns(of_split=of_split).drop_nulls("slot")
    shown = long(slots, shares, "kind", "share").filter(pl.col("share") > 0)
    return {"differences": _slot_bars("Slots that differ", shown, "Share of turns", by="kind", panel="split")}


def inconsistency_charts(inconsistency: Inconsistency, pairs: int) -> dict[str, Chart]:
    """Missing annotations by split, by speaker, and in pairs (Qian et al. 2021, Table 1, Figs 4, 1 and 10)."""
    slots = inconsistency.modified.drop_nulls("slot").filter(pl.col("dialogues").sum().over("slot") > 0)
    slots = slots.drop_nulls("split") if slots["split"].count() else slots.with_columns(split=pl.lit("all"))
    speakers = inconsistency.shares.drop_nulls("share").sort("slot", "speaker")  # as the bars are stacked
    speakers = speakers.with_columns(by=pl.format("said by the {}", "speaker"))
    charts = {
        "modified": _slot_bars("Dialogues that lack annotations", slots.drop_nulls("share"),
                               "Share of dialogues with the domain", by="split", stacked=False),
        "speakers": _slot_bars("Who says what is not annotated", speakers, "Share of missing annotations", by="by"),
    }  # fmt: skip
    shown = pair_texts(inconsistency.pairs.head(pairs))
    return {**charts, "pairs": _side_by_side(shown)} if shown.height else charts


def version_charts(scored: VersionScores) -> dict[str, Chart]:
    """The figure of scores on versions: in which share of the turns each slot is wrong, a panel per model."""
    shown = scored.slots.select("version", "model", "slot", "error_turns", "share")
    return {"error_turns": _slot_bars("Turns in which a slot is wrong", shown, "Share of turns", by="version",
                                      panel="model", stacked=False)}  # fmt: skip


def memorisation_charts(memorisation: Memorisation) -> dict[str, Chart]:
    """The figure of memorised values: how many of a slot's wrong values nobody has said, a panel per run."""
    turns = {"in training": pl.col("in_train"), "not in training": pl.col("ungrounded") - pl.col("in_train")}
    if memorisation.runs["in_train"].is_null().all():
        turns = {"unknown": pl.col("ungrounded")}
    counts = pl.col("searched", "ungrounded", "in_train").sum()
    sums = memorisation.slots.group_by("run", "slot", maintain_order=True).agg(counts)
    sums = sums.filter(pl.col("ungrounded") > 0)
    shares = {value: n / pl.col("searched") for value, n in turns.items()}
    shown = long(sums, shares, "value", "share").filter(pl.col("share") > 0)
    title = "Share of wrong values that nobody has said"
    return {"memorised": _slot_bars("Values that nobody has said", shown, title, by="value", panel="run")}


def _slot_bars(
    title: str, rows: pl.DataFrame, x_title: str, *, by: str, panel: str = "", stacked: bool = True
) -> Chart:
    """Bars of the column `share` per slot, the largest first, in a panel per value of the column `panel`."""
    panels = [panel] if panel else []
    parts = rows.group_by("slot", *panels, *([] if stacked else [by])).agg(pl.col("share").sum())
    largest = -pl.col("share").round(9)  # sums of the same shares may differ in their last bits
    order = parts.group_by("slot").agg(pl.col("share").max()).sort(largest, "slot")["slot"].to_list()
    x = Axis("share", x_title, axis={"tickCount": 3 if panel and rows[panel].n_unique() > 1 else 5})
    least = 60  # so many slots are high: more panels beside each other
    return bars(title, rows, x, Axis("slot", names=order), by, beside=not stacked, panel=panel, least=least)


def _side_by_side(pairs: pl.DataFrame) -> Chart:
    """Pairs of turns (`pair_texts`) as text, in two columns, a pair below the other."""
    rows, at = list[tuple[str, int, str, str]](), 0
    for slot, *turns in pairs.iter_rows():
        rows.append(("not annotated", at, str(slot), "slot"))
        for side, *texts in (("not annotated", turns[0], *turns[1]), ("annotated", turns[2], *turns[3])):
            parts = [*["said"] * (len(texts) - 1), "gold"]  # what gold has comes last
            lines = [(line, part) for text, part in zip(texts, parts, strict=True)
                     for line in textwrap.wrap(text, _LINE)]  # fmt: skip
            rows += [(side, at + place, *line) for place, line in enumerate(lines, 1)]
        at = max(row[1] for row in rows) + 2
        rows.append(("annotated", at - 1, "", "said"))  # a blank line
    schema = {"side": pl.String, "line": pl.UInt16, "text": pl.String, "part": pl.String}
    looks = {"domain": ["slot", "gold", "said"], "range": [COLOURS[6], COLOURS[0], INK]}
    channels = {
        "x": {"value": 0}, "text": {"field": "text", "type": "nominal"},
        "color": {"field": "part", "type": "nominal", "scale": looks, "legend": None},
    }  # fmt: skip
    line = Axis("line", channel={"type": "ordinal", "axis": None})
    text = Mark("text", None, line, options={"align": "left", "baseline": "middle"}, channels=channels)
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return chart("Alike in what is said", table, text, panel="side", step=9, least=200)
