"""Diagnoses and traits as text, Markdown, CSV or JSON.

Text and Markdown show shares in percent, the runs side by side where that can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.metrics import parse
from dstbench.report.tables import render_frames, render_page, share_text, signature_lines

if TYPE_CHECKING:
    from dstbench.diagnosis import Diagnosis
    from dstbench.options import TableFormat
    from dstbench.tendencies import Traits

_KINDS: Final = (("missed", "of_gold"), ("wrong", "of_gold"), ("over", "of_predicted"), ("over", "of_inactive"))


def render_diagnosis(found: Diagnosis, form: TableFormat) -> str:
    """Where runs fail, in one of the formats."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    few = found.runs["few_slots"].item(0)
    failing = share_text(pl.col("failing") / pl.col("dialogues"), "% failing")
    runs = found.runs.select(
        "run",
        *_plain("dialogues", "turns", "failing"),
        failing,
        *_plain("recovered"),
        pl.col("with_few_slots").cast(pl.String).alias(f"< {few} gold slots"),
        share_text(pl.col("share_with_few_slots"), f"% < {few}"),
    )
    failures = found.first_failures.select("run", _interval().alias("t/n"), *_plain("dialogues"))
    slots = found.gold_slots.select("run", pl.col("n_gold_max").alias("slots"), *_plain("dialogues"))
    sections = [
        ("Dialogues; failing: the last turn is wrong; recovered: of these, right again in between", runs),
        ("First wrong turn t of n, of failing dialogues: dialogues", _beside(failures, "t/n", "dialogues")),
        ("Largest number of gold slots in a turn: dialogues", _beside(slots.sort("slots"), "slots", "dialogues")),
        ("JGA by turn, in percent", _scores(found.by_turn, "turn")),
        ("JGA by number of turns, in percent", _scores(found.by_length, "length")),
        ("Slots of turns by class, and percent of gold's, of the predicted, of those not in gold", _errors(found)),
        ("By domain: slots of turns, and percent by kind of error", _kinds(found.errors_by_domain, "domain")),
        ("By slot", _kinds(found.errors_by_slot, "slot")),
    ]
    return render_page(sections, signature_lines(found.runs.with_columns(metric=pl.lit("jga"))), form)


def render_traits(found: Traits, form: TableFormat) -> str:
    """Traits of dialogues, in one of the formats; text and Markdown show bins and disagreements only."""
    if form in ("json", "csv"):
        return render_frames(found, form)
    sections = []
    for trait in found.bins["trait"].unique(maintain_order=True):
        title = f"Mean scores by {trait}, of dialogues that have both; n: how many"
        sections.append((title, _binned(found.bins.filter(trait=trait))))
    for higher, lower in found.disagreements.select("higher", "lower").unique(maintain_order=True).iter_rows():
        shown = found.disagreements.filter(higher=higher, lower=lower).select(
            "run",
            *_plain("place"),
            "dialogue",
            _mean(higher, "high"),
            _mean(lower, "low"),
            *_plain("turns", "mistakes"),
        )
        sections.append((f"Dialogues that {higher} scores highest above {lower}", shown))
    below = ["shares in percent; --format csv or json lists every dialogue", *signature_lines(found.signatures)]
    return render_page(sections, below, form)


def _plain(*names: str) -> list[pl.Expr]:
    return [pl.col(name).cast(pl.String) for name in names]


def _interval() -> pl.Expr:
    return pl.format("{} to {}", pl.col("low").round(3), pl.col("high").round(3))


def _beside(table: pl.DataFrame, index: str, values: str) -> pl.DataFrame:
    """The runs side by side; where a run has no row, a dash."""
    runs = table["run"].unique(maintain_order=True).to_list()
    wide = table.pivot(on="run", on_columns=runs, index=index, values=values, maintain_order=True)
    return wide.select(pl.all().cast(pl.String).fill_null("-"))


def _scores(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """The runs side by side, and of how many dialogues each score is."""
    texts = rows.sort(by, maintain_order=True).select(
        "run", by, *_plain("dialogues"), share_text(pl.col("value"), "value")
    )
    values, sizes = _beside(texts, by, "value"), _beside(texts, by, "dialogues")
    names = values.columns[1:]
    return values.hstack(sizes.select(pl.col(name).alias(f"n of {name}") for name in names))


def _errors(found: Diagnosis) -> pl.DataFrame:
    shares = (share_text(pl.col(name), name) for name in ("of_gold", "of_predicted", "of_inactive"))
    return found.errors.select("run", "class", "kind", *_plain("n"), *shares)


def _kinds(errors: pl.DataFrame, by: str) -> pl.DataFrame:
    """Rates of whole kinds: a row per run and group."""
    rates = [
        share_text(pl.col(rate).filter(pl.col("kind") == kind).sum(), f"{kind} {rate}", pl.col(size).first() > 0)
        for kind, rate in _KINDS
        for size in [rate.removeprefix("of_")]
    ]
    sizes = (pl.col(name).first().cast(pl.String) for name in ("gold", "predicted", "inactive"))
    grouped = errors.group_by("run", by, maintain_order=True).agg(*sizes, *rates)
    return grouped.with_columns(pl.col(by).fill_null("-"))


def _binned(bins: pl.DataFrame) -> pl.DataFrame:
    metrics = bins["metric"].unique(maintain_order=True).to_list()
    wide = bins.pivot(
        on="metric",
        on_columns=metrics,
        index=["run", "low", "high"],
        values=["value", "dialogues"],
        maintain_order=True,
    )
    return wide.select(
        "run",
        _interval().alias("bin"),
        *(_mean(metric, f"value_{metric}").alias(metric) for metric in metrics),
        *(pl.col(f"dialogues_{metric}").cast(pl.String).alias(f"n of {metric}") for metric in metrics),
    )


def _mean(metric: str, column: str) -> pl.Expr:
    """A metric's values, or their means: shares in percent, counts as they are."""
    value = pl.col(column)
    return share_text(value / 100 if parse(metric).is_count else value, column)
