"""Differences of correlations, as tables of texts and in words."""

from __future__ import annotations

from typing import Final

import polars as pl

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
_IN_TITLE: Final = {"of": ": {}", "n": "; n = {}", "test": "; {}", "df": ", df = {}"}
# A sentence names at most so many runs.
_MOST_RUNS: Final = 5


def difference_sections(rows: pl.DataFrame, tests: pl.DataFrame | None = None) -> list[tuple[str, pl.DataFrame]]:
    """Differences with interval and p over dialogues and Zou's interval, in two tables if one would be too wide; tests.

    Args:
        rows: Rows of `schema.analysis.CORRELATION_DIFFERENCES`.
        tests: Rows of `CORRELATION_TESTS`.
    """
    if rows.is_empty():
        return []
    same_n = pl.col("n_first") == pl.col("n_second")
    n = pl.when(same_n).then(pl.col("n_first").cast(pl.String)).otherwise(pl.format("{} and {}", "n_first", "n_second"))
    zou = [] if rows["zou_low"].is_null().all() else [zou_text()]
    interval = interval_text(three_decimals).alias(f"{100 * rows['level'].item(0):g} % interval")
    uncertain = rows.select(*_COMPARED, interval, p_text("p"), *zou)
    shown = rows.select(
        *_COMPARED, *(three_decimals(name) for name in ("r_first", "r_second", "difference")), n.alias("n")
    )
    title = f"Differences of correlations{rows_taken(rows)}"
    if rows.select("first", "second").n_unique() > 1:
        sections = [(title, shown), ("Differences of correlations: intervals and p", uncertain)]
    else:
        sections = [(title, side_by_side([shown, uncertain], on=_COMPARED).select(pl.exclude("n"), "n"))]
    if tests is not None and tests.height:
        df = pl.col("df").cast(pl.String).fill_null(UNDEFINED)
        tested = tests.select(*_COMPARED, "test", three_decimals("statistic"), df, p_text("p"))
        sections.append(("Classical tests of these differences, which assume normal data", tested))
    return [_titled(title, _named(table)) for title, table in sections]


def zou_text() -> pl.Expr:
    """Zou's intervals, and whether they differ from p in whether there is a difference."""
    text = interval_text(three_decimals, "zou_low", "zou_high")
    return pl.when(_zou_differs()).then(pl.format("{} (differs)", text)).otherwise(text).alias("by Zou (2007)")


def _zou_differs() -> pl.Expr:
    """Whether Zou's interval excludes 0 where p is above 1 − level, or holds it where p is not; false without it."""
    excludes = (pl.col("zou_low") > 0) | (pl.col("zou_high") < 0)
    return (excludes != _is_significant()).fill_null(value=False)


def _is_significant() -> pl.Expr:
    return pl.col("p") <= 1 - pl.col("level") + 1e-12


def differences_in_words(rows: pl.DataFrame) -> list[str]:
    """For each two correlations that are compared: the runs in which the first is lower, higher, or perhaps neither.

    Args:
        rows: Rows of `schema.analysis.CORRELATION_DIFFERENCES`.
    """
    tested = rows.filter(pl.col("run") == pl.col("other_run"), pl.col("p").is_not_null())
    lines = []
    for compared, of_pair in tested.group_by("first", "second", maintain_order=True):
        alpha = 1 - of_pair["level"][0]
        is_lower = pl.col("difference") < 0
        verdicts = _is_significant() & is_lower, _is_significant() & ~is_lower, ~_is_significant()
        below, above, chance = (_in_runs(of_pair.filter(verdict)["run"].to_list()) for verdict in verdicts)
        first, second = (f"r({str(pair).replace(',', ', ')})" for pair in compared)
        sides = [f"below {second}{below}"] if below else []
        sides += [f"above {'it' if sides else second}{above}"] if above else []
        if sides:
            lines.append(f"{first} is {', '.join(sides)} (p at most {alpha:.2g})")
        if chance:
            what = "the difference" if sides else f"the difference of {first} and {second}"
            lines.append(f"{what} could be chance{chance}")
        if differs := _in_runs(of_pair.filter(_zou_differs())["run"].to_list()):
            lines.append(f"by Zou's interval, which assumes normal data, it is otherwise{differs}")
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
