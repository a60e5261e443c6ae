"""How metrics agree with people's ratings, as text, Markdown and LaTeX: which agrees best, and whether by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.associations import POOLED
from dstbench.analysis.ratings import RATING
from dstbench.rendering.latex import PaperTable, cell
from dstbench.rendering.tables import UNDEFINED, interval_text, pivoted, three_decimals
from dstbench.schema.names import name_of, sign_of

if TYPE_CHECKING:
    from dstbench.analysis.correlate import Correlations

_COEFFICIENTS: Final = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}
#: Whether a difference, or its test, is about the rating.
OF_RATING: Final = pl.col("first").str.starts_with(f"{RATING},") & pl.col("second").str.starts_with(f"{RATING},")


def shown_run(correlations: Correlations) -> str:
    """The run that text and LaTeX show: all runs together, if there are several."""
    runs: list[str] = correlations.rated["run"].to_list()
    return POOLED if POOLED in runs else runs[0]


def finding(correlations: Correlations) -> list[str]:
    """Which metric agrees best with the ratings, and whether it is better than the others by more than chance."""
    best = _best(correlations)
    if best is None:
        return ["no score has a correlation with the ratings"] if _scores(correlations) else []
    row = correlations.rated.row(
        by_predicate=(pl.col("metric") == best)
        & (pl.col("coefficient") == "pearson")
        & (pl.col("run") == shown_run(correlations)),
        named=True,
    )
    r = f"r = {row['value']:.3f}" + ("" if row["low"] is None else f", {row['low']:.3f} to {row['high']:.3f}")
    over = _over(row["n"], row["dialogues"], row["per"])
    if row["value"] <= 0:
        return [f"no metric rises with the ratings: the highest is {best} ({r}; {over}); is a high rating a good one?"]
    is_chance = row["low"] is None or row["low"] <= 0
    lines = [f"{best} agrees best with the ratings ({r}; {over}){', which could be chance' if is_chance else ''}"]
    others = _differences_of(correlations, best)
    alpha = 1 - row["level"]
    is_better = (pl.col("p_adjusted") <= alpha + 1e-12) & (pl.col("difference") > 0)
    clauses = [
        (", ".join(others.filter(is_better)["other"]), "better than {} by more than chance"),
        (", ".join(others.filter(~is_better)["other"]), "its lead on {} could be chance"),
    ]
    named = [text.format(names) for names, text in clauses if names]
    if named:
        differences = correlations.tests.filter(OF_RATING, run=row["run"]).select("first", "second").n_unique()
        by = f", by Holm's method for {differences} differences" if differences > 1 else ""
        lines.append(f"{'; '.join(named)} (level {alpha:.2g}{by})")
    return lines


def rated_sections(correlations: Correlations) -> list[tuple[str, pl.DataFrame]]:
    """Each metric's correlations with the ratings, and what the best one is ahead of the others."""
    run, rated = shown_run(correlations), correlations.rated
    rows = rated.filter(run=run)
    percent = f"{100 * rows['level'][0]:g} %"
    text = pl.format("{} ({})", three_decimals("value"), interval_text(three_decimals))
    text = pl.when(pl.col("low").is_null()).then(three_decimals("value")).otherwise(text)
    table = pivoted(rows.with_columns(text.alias("text")), "coefficient", ["metric", "n"], "text")
    sizes = rows.select("n", "dialogues", "per").unique()
    same = sizes.height == 1
    n = f"n = {_over(*sizes.row(0))}" if same else f"n: rated {rows['per'][0]}s"
    title = f"{run}: correlations with the ratings, with {percent} intervals; {n}"
    counts = [] if same else [pl.col("n").cast(pl.String)]
    sections = [(title, table.select("metric", *_COEFFICIENTS, *counts).rename(_COEFFICIENTS))]
    if rated["run"].n_unique() > 1:
        pearson = rated.filter(coefficient="pearson").with_columns(three_decimals("value"))
        sections.append(("Pearson's r with the ratings, by run", pivoted(pearson, "run", "metric", "value")))
    best = _best(correlations)
    others = None if best is None else _differences_of(correlations, best)
    if others is not None and others.height:
        shown = others.select(
            pl.col("other").alias("than"),
            three_decimals("difference"),
            interval_text(three_decimals).alias(f"{percent} interval"),
            *(pl.col(name).map_elements(lambda p: f"{p:.3g}", pl.String) for name in ("p", "p_adjusted")),
            "test",
            pl.col("n_first").cast(pl.String).alias("n"),
        )
        title = f"{run}: r of {best} with the ratings less r of others, where both are defined; p adjusted by Holm"
        sections.append((title, shown.rename({"p_adjusted": "p, adjusted"}).fill_null(UNDEFINED)))
    return sections


def rated_table(correlations: Correlations, notes: list[str]) -> PaperTable:
    """A row per metric: its three correlations with the ratings."""
    rows = correlations.rated.filter(run=shown_run(correlations))
    limits = pl.format("[{}, {}]", three_decimals("low"), three_decimals("high"))
    small = pl.when(pl.col("low").is_null()).then(pl.lit("")).otherwise(limits)
    cells = rows.select("metric", "coefficient", cell(three_decimals("value"), "cell", small=small))
    table = pivoted(cells, "coefficient", "metric", "cell").with_columns(
        pl.col("metric").replace({name: name_of(name) for name in rows["metric"]})
    )
    over = _over(*rows.select(pl.col("n", "dialogues").max(), pl.col("per").first()).row(0))
    caption = f"Correlations with people's ratings of {over}, with {100 * rows['level'][0]:g} % intervals."
    return PaperTable(table, caption, "tab:correlate", notes, (), {**_COEFFICIENTS, "metric": "Metric"})


def _over(n: int, dialogues: int, per: str) -> str:
    """What correlations are over, in words."""
    if n == dialogues:
        return f"{n:,} {per}s"
    return f"{n:,} turns of {dialogues:,} dialogues" if per == "turn" else f"{n:,} dialogues ({dialogues:,} different)"


def _best(correlations: Correlations) -> str | None:
    """The score whose r with the ratings is highest."""
    rows = correlations.rated.filter(
        pl.col("metric").is_in(_scores(correlations)),
        pl.col("value").is_not_null(),
        run=shown_run(correlations),
        coefficient="pearson",
    )
    return None if rows.is_empty() else rows.sort("value", descending=True, maintain_order=True)["metric"].item(0)


def _scores(correlations: Correlations) -> list[str]:
    """The metrics of which a higher score is the better one."""
    return [name for name in correlations.signatures["metric"].unique() if sign_of(name) != -1]


def _differences_of(correlations: Correlations, best: str) -> pl.DataFrame:
    """The differences of the best metric's correlation from each `other`, with their default test."""
    of_run = pl.col("run") == shown_run(correlations), OF_RATING
    keys = ["first", "second"]
    tests = correlations.tests.filter(*of_run).unique(keys, keep="first", maintain_order=True)
    rows = correlations.differences.filter(*of_run).join(
        tests.select(*keys, "test", "p", "p_adjusted"), on=keys, how="left", maintain_order="left"
    )
    mine = f"{RATING},{best}"
    ahead, behind = pl.col("first") == mine, pl.col("second") == mine
    return rows.filter(ahead | behind).with_columns(
        other=pl.when(ahead).then("second").otherwise("first").str.strip_prefix(f"{RATING},"),
        difference=pl.when(ahead).then("difference").otherwise(-pl.col("difference")),
        low=pl.when(ahead).then("low").otherwise(-pl.col("high")),
        high=pl.when(ahead).then("high").otherwise(-pl.col("low")),
    )
