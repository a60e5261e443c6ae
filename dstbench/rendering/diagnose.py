"""Diagnoses, traits and correlations as text, Markdown, LaTeX, CSV or JSON.

Text, Markdown and LaTeX show shares in percent, the runs side by side where that can be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.associations import POOLED
from dstbench.rendering.tables import (
    Page,
    counts,
    plain,
    render_frames,
    render_page,
    share_text,
    signature_lines,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.traits import Traits
    from dstbench.typing import TableFormat

#: What the text says of the dialogues that correlations are over.
_TAKEN: Final = {
    "pairwise": "",
    "complete": " over dialogues in which all are defined",
    "released": " over dialogues as the authors of GCA took them",
}
_PAIR: Final = ("first", "second")
_PLACE: Final = ("run", "other_run", *_PAIR)
_KINDS: Final = (("missed", "of_gold"), ("wrong", "of_gold"), ("over", "of_predicted"), ("over", "of_inactive"))


def render_diagnosis(found: Diagnosis, form: TableFormat) -> str:
    """Where runs fail, in one of the formats."""
    return render_frames(found, form) if form in ("json", "csv") else render_page(*diagnosis_page(found), form)


def diagnosis_page(found: Diagnosis) -> Page:
    """Their tables, each with its title, and what is to be said below them."""
    few = found.runs["few_slots"].item(0)
    failing = share_text(pl.col("failing") / pl.col("dialogues"), "% failing")
    runs = found.runs.select(
        "run",
        *plain("dialogues", "turns", "failing"),
        failing,
        *plain("recovered"),
        pl.col("with_few_slots").cast(pl.String).alias(f"< {few} gold slots"),
        share_text(pl.col("share_with_few_slots"), f"% < {few}"),
    )
    failures = found.first_failures.select("run", _interval().alias("t/n"), *plain("dialogues"))
    slots = found.gold_slots.select("run", pl.col("n_gold_max").alias("slots"), *plain("dialogues"))
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
    return sections, signature_lines(found.runs.with_columns(metric=pl.lit("jga")))


def render_traits(found: Traits, form: TableFormat) -> str:
    """Traits of dialogues, in one of the formats; text, Markdown and LaTeX do not list dialogues."""
    return render_frames(found, form) if form in ("json", "csv") else render_page(*traits_page(found), form)


def traits_page(found: Traits) -> Page:
    """Their tables, each with its title, and what is to be said below them."""
    sections, counted = [], counts(found.signatures)
    for trait in found.bins["trait"].unique(maintain_order=True):
        title = f"Mean scores by {trait}, of dialogues that have both; n: how many"
        sections.append((title, _binned(found.bins.filter(trait=trait), counted)))
    sections += [*_matrices(found.correlations), *_differences(found.differences)]
    for higher, lower in found.disagreements.select("higher", "lower").unique(maintain_order=True).iter_rows():
        shown = found.disagreements.filter(higher=higher, lower=lower).select(
            "run",
            *plain("place"),
            "dialogue",
            value_text("high", is_count=higher in counted),
            value_text("low", is_count=lower in counted),
            *plain("turns", "mistakes"),
        )
        sections.append((f"Dialogues that {higher} scores highest above {lower}", shown))
    below = [
        "shares in percent; --format csv or json lists every dialogue",
        *_below(found.correlations),
        *signature_lines(found.signatures),
    ]
    return sections, below


def render_correlations(found: Correlations, form: TableFormat) -> str:
    """Correlations and their differences, in one of the formats."""
    return render_frames(found, form) if form in ("json", "csv") else render_page(*correlations_page(found), form)


def correlations_page(found: Correlations) -> Page:
    """Their tables, each with its title, and what is to be said below them."""
    sections = [*_matrices(found.matrix), *_differences(found.differences, found.tests)]
    below = _below(found.matrix)
    if found.tests.height > 1:
        below.append("p are two-sided, and not adjusted for their number")
    return sections, [*below, *signature_lines(found.signatures)]


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
        "run", by, *plain("dialogues"), share_text(pl.col("value"), "value")
    )
    values, sizes = _beside(texts, by, "value"), _beside(texts, by, "dialogues")
    names = values.columns[1:]
    return values.hstack(sizes.select(pl.col(name).alias(f"n of {name}") for name in names))


def _errors(found: Diagnosis) -> pl.DataFrame:
    shares = (share_text(pl.col(name), name) for name in ("of_gold", "of_predicted", "of_inactive"))
    return found.errors.select("run", "class", "kind", *plain("n"), *shares)


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


def _binned(bins: pl.DataFrame, counted: Collection[str]) -> pl.DataFrame:
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
        *(value_text(f"value_{metric}", is_count=metric in counted).alias(metric) for metric in metrics),
        *(pl.col(f"dialogues_{metric}").cast(pl.String).alias(f"n of {metric}") for metric in metrics),
    )


def _matrices(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Per run, correlations below the diagonal and their intervals above; and how many rows, where they differ."""
    for (run, taken), part in rows.group_by("run", "rows", maintain_order=True):
        pairs = {(first, second): rest for first, second, *rest in part.select(*_PAIR, "r", "n", "low", "high").rows()}
        sizes = part["n"].unique()
        same = f", n = {sizes.item():,}" if len(sizes) == 1 else ""
        title = f"{run}: correlations{_TAKEN[taken]}{same}; above the diagonal their {_percent(part)} intervals"
        below = {pair: _three(r) for pair, (r, *_) in pairs.items()}
        above = {pair: _limits(low, high) for pair, (_, _, low, high) in pairs.items()}
        yield title, _triangles(below, above)
        if len(sizes) > 1:
            yield f"{run}: of how many", _triangles({pair: f"{n}" for pair, (_, n, *_) in pairs.items()}, {})


def _triangles(below: dict[tuple[str, str], str], above: dict[tuple[str, str], str]) -> pl.DataFrame:
    names = list(dict.fromkeys(name for pair in below for name in pair))
    columns = {
        second: [below.get((second, first)) or above.get((first, second), "") for first in names] for second in names
    }
    return pl.DataFrame({"": names, **columns})


def _differences(rows: pl.DataFrame, tests: pl.DataFrame | None = None) -> Iterator[tuple[str, pl.DataFrame]]:
    """Differences with Zou's interval and, where each has one test, that; else the tests in a table of their own."""
    if rows.is_empty():
        return
    shown = rows.select(
        *_PLACE,
        *(pl.col(name).map_elements(_three, pl.String, skip_nulls=False) for name in ("r_first", "r_second")),
        pl.col("difference").map_elements(_three, pl.String, skip_nulls=False),
        pl.struct("low", "high")
        .map_elements(lambda limits: _limits(limits["low"], limits["high"]), pl.String)
        .alias(f"{_percent(rows)} interval"),
        pl.when(pl.col("n_first") == pl.col("n_second"))
        .then(pl.col("n_first").cast(pl.String))
        .otherwise(pl.format("{} and {}", "n_first", "n_second"))
        .alias("n"),
    )
    one_each = tests is not None and not tests.is_empty() and not tests.select(_PLACE).is_duplicated().any()
    if tests is not None and one_each:
        shown = shown.join(_tests(tests), on=_PLACE, how="left", maintain_order="left")
    named = [pl.col(name).alias(name.replace("_", " ")) for name in shown.columns if name not in _PLACE]
    yield f"Differences of correlations{_TAKEN[rows['rows'].item(0)]}", shown.select(*_names(), *named).fill_null("-")
    if tests is not None and not one_each and tests.height:
        yield "Tests of them", _tests(tests).select(*_names(), pl.exclude(_PLACE))


def _names() -> list[pl.Expr]:
    """Run or runs, and what is compared, from the columns of `_PLACE`."""
    same_run, same_pair = pl.col("run") == pl.col("other_run"), pl.col("first") == pl.col("second")
    first, second = (pl.format("r({})", pl.col(name).str.replace(",", ", ")) for name in _PAIR)
    return [
        pl.when(same_run).then("run").otherwise(pl.format("{} - {}", "run", "other_run")).alias("run"),
        pl.when(same_pair).then(first).otherwise(pl.format("{} - {}", first, second)).alias("of"),
    ]


def _tests(tests: pl.DataFrame) -> pl.DataFrame:
    return tests.select(
        *_PLACE,
        "test",
        pl.col("statistic").map_elements(_three, pl.String),
        pl.col("df").cast(pl.String).fill_null("-"),
        pl.col("p").map_elements(lambda p: f"{p:.3g}", pl.String),
    )


def _below(rows: pl.DataFrame) -> list[str]:
    """What is to be known of the intervals."""
    told = ["intervals of correlations by Fisher's z, of differences by Zou (2007)"]
    if POOLED in rows["run"]:
        told.append(f"{POOLED}: a dialogue that several runs have counts as often, and intervals are too narrow")
    return told


def _percent(rows: pl.DataFrame) -> str:
    return f"{100 * rows['level'].item(0):g} %"


def _three(value: float | None) -> str:
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"  # the sum makes -0.0 a 0.0


def _limits(low: float | None, high: float | None) -> str:
    return "-" if low is None else f"{_three(low)} to {_three(high)}"
