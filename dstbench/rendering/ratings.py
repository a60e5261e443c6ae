"""How metrics agree with people's ratings, as text, Markdown and LaTeX: which agrees best, perhaps by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.associations import JACKKNIFE, POOLED
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of, sign_of
from dstbench.rendering.differences import zou_text
from dstbench.rendering.latex import PaperTable, cell
from dstbench.rendering.tables import UNDEFINED, brackets, interval_text, p_text, pivoted, three_decimals

if TYPE_CHECKING:
    from dstbench.analysis.correlate import Correlations

_COEFFICIENTS: Final = {"pearson": "Pearson", "spearman": "Spearman", "kendall": "Kendall"}


def shown_run(correlations: Correlations) -> str:
    """The run that text and LaTeX show: all runs together, if there are several."""
    runs: list[str] = correlations.rated["run"].to_list()
    return POOLED if POOLED in runs else runs[0]


def finding(correlations: Correlations) -> list[str]:
    """Which metric agrees best with the ratings, and whether it is better than the others by more than chance."""
    scores = _scores(correlations)
    ranked = _values(correlations, "pearson").filter(pl.col("metric").is_in(scores))
    if ranked.is_empty():
        return ["no score has a correlation with the ratings"] if scores else []
    best = _best(correlations, "pearson")
    if best is None:
        names = ", ".join(ranked["metric"])
        return [f"no metric agrees best with the ratings: each of {names} is behind another where both are defined"]
    row = ranked.row(by_predicate=pl.col("metric") == best, named=True)
    r = f"r = {row['value']:.3f}" + ("" if row["low"] is None else f", {row['low']:.3f} to {row['high']:.3f}")
    over = _over(row["n"], row["dialogues"], row["per"])
    if row["value"] <= 0:
        return [f"no metric rises with the ratings: the highest is {best} ({r}; {over}); is a high rating a good one?"]
    is_chance = row["low"] is None or row["low"] <= 0
    lines = [f"{best} agrees best with the ratings ({r}; {over}){', which could be chance' if is_chance else ''}"]
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
        also = _best(correlations, coefficient)
        if also is None:
            continue
        of_ranks = _lead(correlations, coefficient, also)
        if also != best:
            of_ranks = f"{also} agrees best" + (f": {of_ranks}" if of_ranks else "")
        if of_ranks != lead:
            others.setdefault(of_ranks, []).append(f"{_COEFFICIENTS[coefficient]}'s")
    by = [f"by {' and '.join(names)} coefficient{'s' if len(names) > 1 else ''}, {of}" for of, names in others.items()]
    return [*([lead] if lead else []), *by]


def _lead(correlations: Correlations, coefficient: str, best: str) -> str:
    """Which scores this one is ahead of by more than chance, and of which perhaps not; empty if there is no other."""
    others = _differences_of(correlations, coefficient, best)
    alpha = 1 - correlations.rated["level"][0]
    is_better = (pl.col("p_adjusted") <= alpha + 1e-12) & (pl.col("difference") > 0)
    clauses = [
        (", ".join(others.filter(is_better)["other"]), "better than {} by more than chance"),
        (", ".join(others.filter(~is_better)["other"]), "its lead on {} could be chance"),
    ]
    return "; ".join(text.format(names) for names, text in clauses if names)


def rated_sections(correlations: Correlations) -> list[tuple[str, pl.DataFrame]]:
    """Each metric's correlations with the ratings, and the differences between the best metric and each other one."""
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
    best = _best(correlations, "pearson")
    parts = [] if best is None else [_differences_of(correlations, name, best) for name in _COEFFICIENTS]
    others = pl.concat(parts) if parts else pl.DataFrame()
    if others.height:
        zou = [] if others["zou_low"].is_null().all() else [zou_text()]
        shown = others.select(
            pl.col("other").alias("than"),
            pl.col("coefficient").replace(_COEFFICIENTS),
            three_decimals("difference"),
            interval_text(three_decimals).alias(f"{percent} interval"),
            p_text("p_adjusted").alias("p, adjusted"),
            *zou,
            *([] if same else [pl.col("n").cast(pl.String)]),
        )
        title = f"{run}: {best} less others, where both are defined; p adjusted by Holm, for each coefficient"
        sections.append((title, shown.fill_null(UNDEFINED)))
    tested = correlations.rated_differences.filter(
        pl.col("run") == run, pl.col("coefficient") == "pearson", ~pl.col("test").is_in([JACKKNIFE])
    )
    if tested.height:
        df = pl.col("df").cast(pl.String).fill_null(UNDEFINED)
        tests = tested.select("metric", "other", "test", three_decimals("statistic"), df, p_text("p"))
        sections.append((f"{run}: classical tests of Pearson's r, which assume normal data", tests))
    if rated["run"].n_unique() > 1:
        pearson = rated.filter(coefficient="pearson").with_columns(three_decimals("value"))
        sections.append(("Pearson's r with the ratings, by run", pivoted(pearson, "run", "metric", "value")))
    return sections


def rated_table(correlations: Correlations) -> PaperTable:
    """A row per metric: its three correlations with the ratings."""
    rows = correlations.rated.filter(run=shown_run(correlations))
    shown = cell(three_decimals("value"), "cell", small=brackets(three_decimals))
    cells = rows.select("metric", "coefficient", shown)
    table = pivoted(cells, "coefficient", "metric", "cell").with_columns(
        pl.col("metric").replace({name: name_of(name) for name in rows["metric"]})
    )
    over = _over(*rows.select(pl.col("n", "dialogues").max(), pl.col("per").first()).row(0))
    caption = f"Correlations with people's ratings of {over}, with {100 * rows['level'][0]:g} % intervals."
    return PaperTable(table, caption, "tab:correlate", (), (), {**_COEFFICIENTS, "metric": "Metric"})


def about_tests(correlations: Correlations) -> list[str]:
    """How the intervals and tests of agreement were computed."""
    lines = ["intervals of rank correlations by linearised standard errors, dialogues as clusters"]
    tests = _differences(correlations, "pearson").drop_nulls("p")
    if tests.height:
        lines.append("p: two-sided, of Pearson's r over dialogues, of the others from these standard errors")
        of = f", adjusted by Holm's method for {tests.height} differences," if tests.height > 1 else ""
        lines.append(f"by more than chance: p{of} is at most {1 - tests['level'][0]:.2g}")
    return [*lines, "--format csv or json has every run's"] if correlations.rated["run"].n_unique() > 1 else lines


def _over(n: int, dialogues: int, per: str) -> str:
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


def _best(correlations: Correlations, coefficient: str) -> str | None:
    """The score that is behind no other where both are defined; of several, the one with the highest value.

    The values alone do not tell, because each is over the rows in which its own score is defined.
    """
    value, other = pl.col("value"), pl.col("other_value")
    behind = _differences(correlations, coefficient).select(
        behind=pl.when(value < other).then("metric").when(value > other).then("other")
    )
    ranked = _values(correlations, coefficient).filter(pl.col("metric").is_in(_scores(correlations)))
    ahead = ranked.filter(~pl.col("metric").is_in(behind["behind"].drop_nulls().to_list()))
    return None if ahead.is_empty() else ahead["metric"][0]


def _differences(correlations: Correlations, coefficient: str) -> pl.DataFrame:
    """The differences of the shown run, each with its first test."""
    rows = correlations.rated_differences.filter(run=shown_run(correlations), coefficient=coefficient)
    return rows.unique(["metric", "other"], keep="first", maintain_order=True)


def _differences_of(correlations: Correlations, coefficient: str, best: str) -> pl.DataFrame:
    """The differences of the best score from each `other` score, in which a lead is positive."""
    ahead = pl.col("metric") == best
    rows = _differences(correlations, coefficient).filter(ahead | (pl.col("other") == best))
    return rows.with_columns(
        other=pl.when(ahead).then("other").otherwise("metric"),
        difference=pl.when(ahead).then("difference").otherwise(-pl.col("difference")),
        **{
            name: pl.when(ahead).then(name).otherwise(-pl.col(opposite))
            for pair in (("low", "high"), ("zou_low", "zou_high"))
            for name, opposite in (pair, pair[::-1])
        },
    )
