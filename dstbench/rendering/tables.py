"""A frame of scores, or any frame, as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from dstbench.io.escape import csv_text, json_text, markdown_text, plain_text
from dstbench.rendering.latex import latex_page
from dstbench.schema.core import SCORES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dstbench.typing import TableFormat

#: Tables of texts, each with its title, and the lines below them.
Page: TypeAlias = "tuple[list[tuple[str, pl.DataFrame]], list[str]]"

_UNDEFINED: Final = "-"
# The column of scores with exact matching, beside fuzzy ones.
_EXACT: Final = "exact"
# What JGA of a single slot is called.
_OF_A_SLOT: Final = {"jga": "accuracy (jga)", f"jga {_EXACT}": f"accuracy (jga) {_EXACT}"}
# What a line of standard errors begins with.
_ERROR: Final = "±"
#: Whether a row with a column `unit` is of a count.
IS_COUNT: Final = pl.col("unit") == "count"
# A line may name many runs.
_LONGEST: Final = 100_000
# Text wider than this goes on in the next line of its cell; numbers never do.
_WIDEST: Final = 60


def render_scores(scores: pl.DataFrame, form: TableFormat) -> str:
    """Score rows in one of the formats.

    Args:
        scores: What `dstbench.score` gives.
        form: ``json`` (one object, its ``scores`` the rows) and ``csv`` give the rows as they are: fractions, empty
            or null where undefined. The others give a table with a column per metric, in percent (counts as they
            are), the runs ordered by the first metric and below each its standard errors, and the signature below.
            It is as wide as need be, on a terminal too: no number is ever cut.
    """
    if form == "json":
        return render_object({"scores": scores.to_dicts()})
    if form == "csv":
        return csv_text(scores)
    table, told = wide(scores), "values in percent, counts as they are"
    if table.select((pl.first() == _ERROR).any()).item():
        told += f"; {_ERROR} one standard error over dialogues"
    below = [told]
    sizes = scores.select("turns", "dialogues").unique()
    if sizes.height == 1:  # one line says it for all
        turns, dialogues = sizes.row(0)
        in_frames = scores["signature"].str.contains("|unit:frame|", literal=True).all()
        unit = "frames" if in_frames and "slot" not in scores.columns else "turns"
        table, below = table.drop("turns", "dialogues"), [f"{below[0]}; {turns:,} {unit}, {dialogues:,} dialogues"]
    if "slot" in scores.columns:
        below.append("by slot every scored turn counts, and a slot that neither side has is right")
    below += signature_lines(scores)
    if form == "latex":
        by = [name for name in _groups(scores) if name != "run"]
        return latex_page([(table, ["Scores" + (f" by {' and '.join(by)}" if by else ""), *below])])
    text = lines(below, form)
    return f"{_markdown(table)}\n\n{text}" if form == "md" else f"{text_table(table)}{text}"


def render_sweep(rows: pl.DataFrame, form: TableFormat) -> str:
    """A sweep over profiles in one of the formats; as text and Markdown, a table per run with its spread.

    Args:
        rows: What `dstbench.sweep` gives.
        form: ``json`` and ``csv`` give the rows as they are, the others a column per metric, in percent.
    """
    if form in ("json", "csv"):
        return render_rows(rows, "sweep", form)
    if form == "latex":
        return render_page(*sweep_page(rows), form)
    return "\n".join(
        f"{draw(texts, form)}\n{lines([told], form)}" if form == "md" else draw(texts, form) + lines([told], form)
        for told, texts in sweep_page(rows)[0]
    )


def sweep_page(rows: pl.DataFrame) -> Page:
    """Its tables, a run's each, with what is to be said of them for titles."""
    sections = []
    for (run,), part in rows.group_by("run", maintain_order=True):
        metrics = part["metric"].unique(maintain_order=True).to_list()
        table = part.pivot(
            on="metric", on_columns=metrics, index=["profile", "changed"], values="value", maintain_order=True
        )
        numbers = [_number(metric, is_count=metric in counts(part)) for metric in metrics]
        texts = (
            table.select(pl.struct(metrics).rle_id().alias("line"), "profile", "changed", *numbers)
            .group_by("line", maintain_order=True)  # profiles that agree stand in one line
            .agg(pl.col(metrics).first(), pl.col("profile").str.join(", "), pl.col("changed").first())
            .select(*metrics, "profile", pl.col("changed").alias("changed from the line above"))
        )
        spread = table.select("profile", value=metrics[0]).drop_nulls()
        told = "undefined under every profile"
        if spread.height:
            least, most = spread["value"][-1], spread["value"][0]
            ends = {end: spread.filter(pl.col("value") == end)["profile"].to_list() for end in (least, most)}
            named = {
                end: names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "") for end, names in ends.items()
            }
            apart = f"{100 * (most - least):.2f} points apart"
            told = f"{100 * least:.2f} ({named[least]}) to {100 * most:.2f} ({named[most]}): {apart}"
        sections.append((f"{run}: the same predictions, {metrics[0]} {told} by convention alone", texts))
    return sections, []


def render_rows(rows: pl.DataFrame, name: str, form: TableFormat) -> str:
    """Any frame in one of the formats; in JSON, one object whose key `name` holds the rows."""
    if form == "json":
        return render_object({name: rows.to_dicts()})
    if form == "csv":
        return csv_text(rows)
    return draw(rows.select(pl.all().cast(pl.String).fill_null(_UNDEFINED)), form)


def render_answer(rows: pl.DataFrame, form: TableFormat) -> str:
    """What a query selects, whatever its types, in one of the formats.

    Numbers have six significant digits where they are to be read. Other types than numbers, texts and lists are
    written as texts; NaN and infinities, which JSON does not have, are null.
    """
    kept = (pl.String(), pl.Boolean(), pl.Null())
    rows = rows.with_columns(
        pl.col(name).cast(pl.Float64) if dtype.is_decimal() else pl.col(name).cast(pl.String)
        for name, dtype in rows.schema.items()
        if dtype.is_decimal() or not (dtype.is_numeric() or dtype.is_nested() or dtype in kept)
    )
    floats = pl.selectors.float()
    rows = rows.with_columns(pl.when(floats.is_finite()).then(floats))
    if form == "json":
        return json_text({"rows": rows.to_dicts()}, default=str)
    lists = [name for name, dtype in rows.schema.items() if dtype.is_nested()]
    texts = (pl.Series(name, [_as_json(value) for value in rows[name].to_list()], pl.String) for name in lists)
    rows = rows.with_columns(*texts)
    return csv_text(rows) if form == "csv" else render_rows(rows.with_columns(floats.round_sig_figs(6)), "rows", form)


def _as_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


def render_frames(found: Any, form: TableFormat) -> str:
    """A dataclass of frames as data.

    Args:
        found: Its fields are frames.
        form: ``json``: one object with a list of rows per frame. ``csv``: one table of all their rows, whose first
            column, `table`, says of which frame a row is.
    """
    frames: dict[str, pl.DataFrame] = {f.name: getattr(found, f.name) for f in fields(found)}
    if form == "json":
        return render_object({name: frame.to_dicts() for name, frame in frames.items()})
    named = [frame.select(pl.lit(name).alias("table"), pl.all()) for name, frame in frames.items()]
    return csv_text(pl.concat(named, how="diagonal_relaxed"))


def render_page(
    sections: Sequence[tuple[str, pl.DataFrame]],
    below: Sequence[str],
    form: TableFormat,
    captions: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Tables of texts, each under its title, and lines below them, as text, Markdown or LaTeX.

    In LaTeX, where tables are pasted one by one, the lines stand in each caption, or those of `captions` for its title.
    """
    if form == "latex":
        told = captions or {}
        return latex_page([(table, [title, *told.get(title, below)]) for title, table in sections])
    marks = "### " if form == "md" else ""
    pages = [f"{marks}{lines([title], form)}\n{draw(table, form)}" for title, table in sections]
    return "\n".join([*pages, lines(below, form) or "\n"])


def lines(texts: Sequence[str], form: TableFormat) -> str:
    """Lines of text or of Markdown, each with its end."""
    escaped = markdown_text if form == "md" else plain_text
    return "".join(f"{escaped(line, _LONGEST)}\n" for text in texts for line in text.split("\n"))


def draw(texts: pl.DataFrame, form: TableFormat) -> str:
    """A table of texts, as LaTeX, as Markdown or as text."""
    if form == "latex":
        return latex_page([(texts, ())])
    return f"{_markdown(texts)}\n" if form == "md" else text_table(texts)


def render_object(content: dict[str, object]) -> str:
    """One JSON object, indented."""
    return json_text(content, allow_nan=False)


def wide(scores: pl.DataFrame) -> pl.DataFrame:
    """Score rows as a table of texts: a row per run and group, a column per metric."""
    metrics = scores["metric"].unique(maintain_order=True).to_list()
    by = _groups(scores)
    if _EXACT in scores.columns:
        beside = scores.with_columns(pl.format("{} exact", "metric").alias("metric"), value=pl.col(_EXACT))
        scores = pl.concat([scores, beside])
        metrics = [name for metric in metrics for name in (metric, f"{metric} exact")]
    table = scores.pivot(
        on="metric",
        on_columns=metrics,
        index=[*by, "turns", "dialogues"],
        values="value",
        maintain_order=True,
    )
    if by == ["run"]:
        table = table.sort(metrics[0], descending=True, nulls_last=True, maintain_order=True)
    texts = [_number(metric, is_count=metric in counts(scores)) for metric in metrics]
    plain = [pl.col(name).cast(pl.String) for name in (*by, "turns", "dialogues")]
    shown = table.select(*plain[: len(by)], *texts, *plain[len(by) :])
    if "slot" in by:
        shown = shown.rename(_OF_A_SLOT, strict=False)
    return _with_errors(shown, scores) if by == ["run"] and scores["se"].is_not_null().any() else shown


def counts(rows: pl.DataFrame) -> frozenset[str]:
    """The metrics of rows with `metric` and `unit` that are counts; the others are shares."""
    return frozenset(rows.filter(IS_COUNT)["metric"])


def _groups(scores: pl.DataFrame) -> list[str]:
    """What scores are grouped by, the run first."""
    return [name for name in scores.columns if name not in (*SCORES.columns, _EXACT) or name == "run"]


def _with_errors(shown: pl.DataFrame, scores: pl.DataFrame) -> pl.DataFrame:
    """The table with a second line per run, its standard errors."""
    lines = shown.with_row_index("line")
    given = scores.filter(pl.col("se").is_not_null())
    metrics = given["metric"].unique(maintain_order=True).to_list()
    errors = given.pivot(on="metric", on_columns=metrics, index="run", values="se")
    below = lines.select("line", "run").join(errors, on="run").with_columns(share_text(pl.col(m), m) for m in metrics)
    below = below.with_columns(run=pl.lit(_ERROR))
    both = pl.concat([lines, below], how="diagonal").sort("line", maintain_order=True).drop("line")
    return both.with_columns(pl.all().fill_null(""))


def value_text(column: str, *, is_count: bool | pl.Expr) -> pl.Expr:
    """Values of a metric, or their means, with two decimals: shares in percent, counts as they are.

    Args:
        column: The column that has them.
        is_count: Whether the metric is a count: of all rows, or of each (`IS_COUNT`, where rows have `unit`).
    """
    return share_text(pl.when(is_count).then(pl.col(column) / 100).otherwise(pl.col(column)), column)


def _number(metric: str, *, is_count: bool) -> pl.Expr:
    value = pl.col(metric)
    if not is_count:
        return share_text(value, metric)
    return value.cast(pl.Int64).cast(pl.String).fill_null(_UNDEFINED).alias(metric)


def share_text(share: pl.Expr, name: str, where: pl.Expr | None = None) -> pl.Expr:
    """Shares as texts in percent; undefined ones, and those where a condition does not hold, as a dash."""
    text = pl.format("{}", (100 * share).round(2)).str.replace(r"\.(\d)$", ".${1}0")  # so that columns line up
    text = text.str.replace(r"^-0\.00$", "0.00")
    known = share.is_not_null() if where is None else share.is_not_null() & where
    return pl.when(known).then(text).otherwise(pl.lit(_UNDEFINED)).alias(name)


def plain(*names: str) -> list[pl.Expr]:
    """Columns as texts."""
    return [pl.col(name).cast(pl.String) for name in names]


def signature_lines(scores: pl.DataFrame) -> list[str]:
    """The distinct signatures, those of one run's metrics folded into one line."""
    parts = scores.select("run", "metric", pl.col("signature").str.splitn("|", 2).struct.unnest()).unique(
        maintain_order=True
    )
    folded = (
        parts.group_by("run", "field_1", maintain_order=True)
        .agg(heads=pl.col("field_0").unique(maintain_order=True).str.join("+"))
        .group_by("heads", "field_1", maintain_order=True)
        .agg(pl.col("run"))
    )
    several = folded.height > 1
    return [
        f"signature{' of ' + ', '.join(runs) if several else ''}: {heads}|{settings}"
        for heads, settings, runs in folded.iter_rows()
    ]


def _markdown(table: pl.DataFrame) -> str:
    names = [_cell(name) for name in table.columns]
    rows = [names, ["---" if i == 0 else "---:" for i in range(len(names))]]
    rows += [[_cell(text) for text in row] for row in table.iter_rows()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str) -> str:
    return markdown_text(text.replace("\n", " ")).replace("|", "\\|")


def text_table(table: pl.DataFrame, styles: Sequence[Sequence[str]] | None = None) -> str:
    """A table by Rich, without markup: a run may well be called ``[red]``, and no value commands the terminal.

    Args:
        table: Its texts.
        styles: The style of every cell, row by row, for a terminal with colours; None: plain text.
    """
    from rich.box import Box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rule = Box("    \n" * 2 + " -- \n" + "    \n" * 5, ascii=True)  # one under the header, in ASCII
    drawn = Table(box=rule, pad_edge=False)
    for name in table.columns:
        numeric = _is_numeric(table[name])
        drawn.add_column(
            Text(plain_text(name)),
            justify="right" if numeric else "left",
            no_wrap=numeric,
            overflow="fold",
            max_width=_WIDEST,
        )
    for number, row in enumerate(table.iter_rows()):
        looks = styles[number] if styles else [""] * len(row)
        drawn.add_row(*(Text(plain_text(text), style=look) for text, look in zip(row, looks, strict=True)))
    page = io.StringIO()
    colours: Any = {"color_system": "standard", "force_terminal": True} if styles else {"color_system": None}
    Console(file=page, width=1_000_000, legacy_windows=False, **colours).print(drawn)
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().split("\n") if line.strip()) + "\n"


def _is_numeric(column: pl.Series) -> bool:
    return column.str.contains(rf"^(?:[-0-9.]*|{_UNDEFINED})$").all()
