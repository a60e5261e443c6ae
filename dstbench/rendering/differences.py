"""Differences of correlations, as tables of texts and in words."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.analysis.associations import BOOTSTRAP, POOLED
from dstbench.rendering.tables import UNDEFINED, interval_text, p_text, side_by_side, three_decimals

# Which dialogues correlations are over, by the value of the column `rows`.
_DIALOGUES_TAKEN: Final = {
    "pairwise": "",
    "complete": " over dialogues in which all are defined",
    "released": " over dialogues as the authors of GCA took them",
}
# The columns that name the two correlations of a difference: r(first) in `run` and r(second) in `other_run`.
_COMPARED: Final = ("run", "other_run", "first", "second")
# Columns that the title has if all rows have the same text, and how.
_IN_TITLE: Final = {"of": ": {}", "n": "; n = {}", "test": "; p by {}", "df": ", df = {}"}
# A sentence names at most so many runs.
_MOST_RUNS: Final = 5


def difference_sections(rows: pl.DataFrame, tests: pl.DataFrame | None = None) -> list[tuple[str, pl.DataFrame]]:
    """Differences with their intervals, and their tests, in a second table if one would be too wide or too long.

    Args:
        rows: Rows of `schema.analysis.CORRELATION_DIFFERENCES`.
        tests: Rows of `CORRELATION_TESTS`.
    """
    if rows.is_empty():
        return []
    same_n = pl.col("n_first") == pl.col("n_second")
    n = pl.when(same_n).then(pl.col("n_first").cast(pl.String)).otherwise(pl.format("{} and {}", "n_first", "n_second"))
    shown = rows.select(
        *_COMPARED,
        *(three_decimals(name) for name in ("r_first", "r_second", "difference")),
        interval_text(three_decimals).alias(f"{100 * rows['level'].item(0):g} % interval"),
        n.alias("n"),
    )
    title = f"Differences of correlations{rows_taken(rows)}"
    if tests is None or tests.is_empty():
        return [_titled(title, _named(shown))]
    df = pl.col("df").cast(pl.String).fill_null(UNDEFINED)
    statistics = [] if tests["statistic"].is_null().all() else [three_decimals("statistic"), df]
    tested = tests.select(*_COMPARED, "test", *statistics, p_text("p"))
    is_wide = bool(statistics) and rows.select("first", "second").n_unique() > 1
    if is_wide or tested.select(_COMPARED).is_duplicated().any():
        return [_titled(title, _named(shown)), _titled("Tests of these differences", _named(tested))]
    return [_titled(title, _named(side_by_side([shown, tested], on=_COMPARED)).fill_null(UNDEFINED))]


def differences_in_words(rows: pl.DataFrame, tests: pl.DataFrame) -> list[str]:
    """For each two correlations that are compared: the runs in which the first is lower, higher, or perhaps neither.

    Runs pooled as if their dialogues were independent are left out.

    Args:
        rows: Rows of `schema.analysis.CORRELATION_DIFFERENCES`.
        tests: Rows of `CORRELATION_TESTS`; of several tests of a difference, the first counts.
    """
    first_tests = tests.select(*_COMPARED, "p").unique(_COMPARED, keep="first", maintain_order=True)
    is_too_narrow = (pl.col("run") == POOLED) & (pl.col("interval") != BOOTSTRAP)
    of_runs = rows.filter(pl.col("run") == pl.col("other_run"), ~is_too_narrow)
    tested = of_runs.join(first_tests, on=_COMPARED, how="inner", maintain_order="left")
    lines = []
    for compared, of_pair in tested.group_by("first", "second", maintain_order=True):
        alpha = 1 - of_pair["level"][0]
        is_chance, is_lower = pl.col("p") > alpha + 1e-12, pl.col("difference") < 0
        verdicts = ~is_chance & is_lower, ~is_chance & ~is_lower, is_chance
        below, above, chance = (_in_runs(of_pair.filter(verdict)["run"].to_list()) for verdict in verdicts)
        first, second = (f"r({str(pair).replace(',', ', ')})" for pair in compared)
        sides = [f"below {second}{below}"] if below else []
        sides += [f"above {'it' if sides else second}{above}"] if above else []
        if sides:
            lines.append(f"{first} is {', '.join(sides)} (p at most {alpha:.2g})")
        if chance:
            what = "the difference" if sides else f"the difference of {first} and {second}"
            lines.append(f"{what} could be chance{chance}")
    return lines


def rows_taken(rows: pl.DataFrame) -> str:
    """Which dialogues, or turns, correlations are over; empty: those in which both columns are defined."""
    return _DIALOGUES_TAKEN[rows["rows"][0]].replace("dialogues in", f"{rows['per'][0]}s in")


def _in_runs(runs: list[str]) -> str:
    """The runs, in words; empty if there is none."""
    more = f" and {len(runs) - _MOST_RUNS} more" if len(runs) > _MOST_RUNS else ""
    return f" in {', '.join(runs[:_MOST_RUNS])}{more}" if runs else ""


def _named(table: pl.DataFrame) -> pl.DataFrame:
    """The table with two columns in place of the four of `_COMPARED`: `run`, and `of`, the correlations."""
    first, second = (pl.format("r({})", pl.col(name).str.replace(",", ", ")) for name in ("first", "second"))
    run = pl.when(pl.col("run") == pl.col("other_run")).then("run").otherwise(pl.format("{} - {}", "run", "other_run"))
    of = pl.when(pl.col("first") == pl.col("second")).then(first).otherwise(pl.format("{} - {}", first, second))
    others = pl.exclude(_COMPARED).name.map(lambda name: name.replace("_", " "))
    return table.select(run.alias("run"), of.alias("of"), others)


def _titled(title: str, table: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """The title and the table, where columns with one value in all rows become part of the title."""
    if table["of"].n_unique() == 1 and " - " in table["of"][0]:
        table = table.rename(dict(zip(("r first", "r second"), table["of"][0].split(" - "), strict=True)), strict=False)
    same = [name for name in _IN_TITLE if name in table.columns and table[name].n_unique() == 1]
    texts = {name: table[name][0] for name in same if table[name][0] != UNDEFINED}
    numbers = {name: f"{int(text):,}" for name, text in texts.items() if text.isdecimal()}
    return title + "".join(_IN_TITLE[name].format(numbers.get(name, text)) for name, text in texts.items()), table.drop(
        same
    )
