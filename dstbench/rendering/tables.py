"""Results as text, Markdown, LaTeX, CSV or JSON.

For text, Markdown and LaTeX, a module per kind of result lays the result out as a `Page`: titles and tables of texts.
JSON and CSV hold the rows of the result as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import reduce
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, TypeVar

import polars as pl

from dstbench.io.escape import csv_text, json_text, markdown_text, plain_text
from dstbench.rendering.latex import PaperTable, latex_page
from dstbench.rendering.terminal import screen, wrapped
from dstbench.rendering.text_tables import NO_STYLES, Styles, is_numeric, text_table
from dstbench.rendering.text_tables import UNDEFINED as UNDEFINED  # noqa: PLC0414 (other modules have it from here)
from dstbench.schema.core import LOGGED
from dstbench.typing import TableFormat

_Result = TypeVar("_Result")
_Options = ParamSpec("_Options")

#: Whether the score of a row with a column `unit` is a count; otherwise it is a share.
IS_COUNT: Final = pl.col("unit") == "count"
# How many rows of a query's answer text shows, unless asked for all.
_MOST_ROWS: Final = 50
# Smaller p are shown as smaller than this.
_LEAST_P: Final = 0.0001
# Lines are cut after this many characters; a line may name many runs.
_LONGEST_LINE: Final = 100_000


class Page(NamedTuple):
    """A result as text, Markdown and LaTeX show it.

    Attributes:
        sections: Titles and tables of texts.
        below: Lines below the tables.
        label: The name by which a paper refers to its table.
        paper: The tables of a paper; None: the first of `sections`.
        styles: For text, title to the styles of the table's cells.
    """

    sections: list[tuple[str, pl.DataFrame]]
    below: list[str]
    label: str = "results"
    paper: Sequence[PaperTable] | None = None
    styles: Mapping[str, Styles] = {}

    @property
    def for_paper(self) -> Sequence[PaperTable]:
        """The tables that a paper prints of the result."""
        return self.paper or [paper_table(*section, self.label, self.below) for section in self.sections[:1]]


# --- pages, frames and rows in a format -------------------------------------------------------------------------------


def renderer(
    lay_out: Callable[Concatenate[_Result, _Options], Page],
    finding: Callable[[_Result], Sequence[str]] = lambda _: (),
    begins: Collection[str] = ("text", "md"),
) -> Callable[Concatenate[_Result, TableFormat, _Options], str]:
    """A function that renders results in any format, made from one that lays them out as a page.

    The new function takes the format as its second argument. Results are dataclasses of frames. In JSON they are one
    object with a list of rows per frame; in CSV, one table of all rows, whose first column, `table`, names the frame.
    In the formats in `begins`, the text begins with sentences: what `finding` returns.
    """

    def render(result: _Result, form: TableFormat, /, *args: _Options.args, **options: _Options.kwargs) -> str:
        if form in ("json", "csv"):
            return render_frames(result, form)
        lines = [*finding(result)] if form in begins else []
        page = render_page(lay_out(result, *args, **options), form)
        return f"{escape_lines(lines, form)}\n{page}" if lines else page

    return render


def render_frames(result: Any, form: TableFormat) -> str:
    """A dataclass of frames as JSON or CSV; see `renderer`."""
    if form == "json":
        return render_object(as_rows(result))
    frames = _printed(result)
    named = [frame.select(pl.lit(name).alias("table"), pl.all()) for name, frame in frames.items()]
    return csv_text(pl.concat(named, how="diagonal_relaxed"))


def as_rows(value: Any) -> Any:
    """A frame as a list of rows; a dataclass of frames as a dictionary of such lists; lists as they are."""
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    return value if isinstance(value, list) else {name: as_rows(part) for name, part in _printed(value).items()}


def _printed(value: Any) -> dict[str, Any]:
    """The parts of a dataclass by name, without those that are only for files of their own (`LOGGED`)."""
    return {f.name: getattr(value, f.name) for f in fields(value) if f.metadata != LOGGED}


def render_page(page: Page, form: TableFormat) -> str:
    """A page as text, Markdown or LaTeX."""
    if form == "latex" and page.sections:
        return latex_page(page.for_paper)
    mark = "### " if form == "md" else ""
    parts = [
        f"{mark}{escape_lines([title], form)}\n{draw(table, form, page.styles.get(title, NO_STYLES))}"
        for title, table in page.sections
    ]
    return "\n".join([*parts, escape_lines(page.below, form) or "\n"])


def paper_table(title: str, table: pl.DataFrame, label: str, notes: Sequence[str] = ()) -> PaperTable:
    """A table of texts for a paper; the title's first clause is the caption, the others are notes."""
    caption, *more = re.split(r"\n|; ", title)
    return PaperTable(table, f"{caption[:1].upper()}{caption[1:]}.", f"tab:{label}", [*more, *notes])


def render_object(content: dict[str, object]) -> str:
    """One JSON object, indented."""
    return json_text(content, allow_nan=False)


def render_rows(rows: pl.DataFrame, name: str, form: TableFormat, styles: Styles = NO_STYLES) -> str:
    """Any frame in one of the formats; in JSON, one object whose key `name` holds the rows; only text has styles."""
    if form == "json":
        return render_object({name: rows.to_dicts()})
    if form == "csv":
        return csv_text(rows)
    shown = rows.select(pl.all().cast(pl.String).fill_null(UNDEFINED))
    return latex_page([paper_table(name, shown, name)]) if form == "latex" else draw(shown, form, styles)


def render_answer(rows: pl.DataFrame, form: TableFormat, *, everything: bool = True) -> str:
    """The rows that a query selects, of any types, in one of the formats.

    Text, Markdown and LaTeX show six significant digits. Values other than numbers, texts and lists become texts. NaN
    and infinities, which JSON does not have, become null. Text has the first rows only, unless it is to have
    everything.
    """
    if form == "text" and not everything and rows.height > _MOST_ROWS:
        shown = render_answer(rows.head(_MOST_ROWS), form)
        return shown + escape_lines([f"the first {_MOST_ROWS} of {rows.height:,} rows; --all shows them all"], form)
    kept_types = (pl.String(), pl.Boolean(), pl.Null())
    rows = rows.with_columns(
        pl.col(name).cast(pl.Float64) if dtype.is_decimal() else pl.col(name).cast(pl.String)
        for name, dtype in rows.schema.items()
        if dtype.is_decimal() or not (dtype.is_numeric() or dtype.is_nested() or dtype in kept_types)
    )
    floats = pl.selectors.float()
    rows = rows.with_columns(pl.when(floats.is_finite()).then(floats))
    if form == "json":
        return json_text({"rows": rows.to_dicts()}, default=str)
    lists = [name for name, dtype in rows.schema.items() if dtype.is_nested()]
    rows = rows.with_columns(pl.Series(name, map(_as_json, rows[name].to_list()), pl.String) for name in lists)
    return render_rows(rows if form == "csv" else rows.with_columns(floats.round_sig_figs(6)), "rows", form)


def _as_json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str)


# --- columns of texts -------------------------------------------------------------------------------------------------


def signature_lines(scores: pl.DataFrame) -> list[str]:
    """The distinct signatures, one line for all metrics of a run; a later one is cut to its few parts that differ."""
    heads_and_settings = pl.col("signature").str.splitn("|", 2).struct.unnest()
    folded = (
        scores.select("run", "metric", heads_and_settings)
        .unique(maintain_order=True)
        .group_by("run", "field_1", maintain_order=True)
        .agg(heads=pl.col("field_0").unique(maintain_order=True).str.join("+"))
        .group_by("heads", "field_1", maintain_order=True)
        .agg(pl.col("run").str.join(", "))
    )
    if folded.height < 2:
        return [f"signature: {heads}|{settings}" for heads, settings, _ in folded.iter_rows()]
    lines: list[str] = []
    first = folded.row(0)
    for heads, settings, runs in folded.iter_rows():
        parts, usual = ([heads, *text.split("|")] for text in (settings, first[1]))
        usual[0] = first[0]
        own = [part for part, other in zip(parts, usual, strict=False) if part != other]
        same_keys = [part.partition(":")[0] for part in parts[1:]] == [part.partition(":")[0] for part in usual[1:]]
        short = lines and same_keys and 2 * len(own) <= len(parts)
        lines.append(f"signature of {runs}: {'the same with ' if short else ''}{'|'.join(own if short else parts)}")
    return lines


def counts(rows: pl.DataFrame) -> frozenset[str]:
    """The metrics of rows with `metric` and `unit` that are counts; the others are shares."""
    return frozenset(rows.filter(IS_COUNT)["metric"])


def texts(*names: str, **renamed: str) -> list[pl.Expr]:
    """Columns as texts; ``title="column"`` renames one."""
    columns = {**dict(zip(names, names, strict=True)), **renamed}
    return [pl.col(name).cast(pl.String).alias(title) for title, name in columns.items()]


def share_text(share: str | pl.Expr, title: str | None = None) -> pl.Expr:
    """Shares (a column or an expression) as texts in percent with two decimals; a dash if undefined."""
    value = pl.col(share) if isinstance(share, str) else share
    text = pl.format("{}", (100 * value).round(2)).str.replace(r"\.(\d)$", ".${1}0")  # so that columns line up
    text = text.str.replace(r"^-0\.00$", "0.00")
    return pl.when(value.is_not_null()).then(text).otherwise(pl.lit(UNDEFINED)).alias(title or value.meta.output_name())


def value_text(column: str, *, is_count: bool | pl.Expr = IS_COUNT) -> pl.Expr:
    """A column of scores, or of means of scores, as texts with two decimals: shares in percent, counts as they are.

    Args:
        column: The column.
        is_count: Whether the scores are counts, of all rows or of each; default: the column `unit` says so.
    """
    return share_text(pl.when(is_count).then(pl.col(column) / 100).otherwise(pl.col(column)), column)


def three_decimals(name: str) -> pl.Expr:
    """A column as texts with three decimals; a dash if undefined."""
    text = (
        pl.format("{}", pl.col(name).round(3))
        .str.replace(r"\.(\d{1,2})$", ".${1}00")
        .str.replace(r"(\.\d{3})\d$", "$1")
    )
    text = text.str.replace(r"^-0\.000$", "0.000")
    return pl.when(pl.col(name).is_null()).then(pl.lit(UNDEFINED)).otherwise(text).alias(name)


def p_text(name: str) -> pl.Expr:
    """A column of p-values as texts; a dash if undefined."""
    text = pl.col(name).map_elements(lambda p: f"{p:.3g}", pl.String)
    is_small = text.cast(pl.Float64) < _LEAST_P
    return pl.when(is_small).then(pl.lit(f"<{_LEAST_P:g}")).otherwise(text).fill_null(UNDEFINED).alias(name)


def interval_text(shown: Callable[[str], pl.Expr] = value_text, low: str = "low", high: str = "high") -> pl.Expr:
    """The columns `low` and `high` as one text, each made a text by `shown`; a dash if there is no interval."""
    text = pl.format("{} to {}", shown(low), shown(high))
    return pl.when(pl.col(low).is_null()).then(pl.lit(UNDEFINED)).otherwise(text)


def brackets(shown: Callable[[str], pl.Expr] = value_text) -> pl.Expr:
    """The columns `low` and `high` in brackets, to stand beside a number; empty if there is no interval."""
    text = pl.format("[{}, {}]", shown("low"), shown("high"))
    return pl.when(pl.col("low").is_null()).then(pl.lit("")).otherwise(text)


def pivoted(rows: pl.DataFrame, on: str, index: str | Sequence[str], values: str | Sequence[str]) -> pl.DataFrame:
    """A long table made wide: a column per value of `on`, in the order in which the values first occur."""
    keys = {index} if isinstance(index, str) else set(index)
    rows = rows.with_columns(apart(rows[on], keys))
    columns = rows[on].unique(maintain_order=True).to_list()
    return rows.pivot(on=on, on_columns=columns, index=index, values=values, maintain_order=True)


def apart(names: pl.Series, columns: Collection[str]) -> pl.Series:
    """Names of columns to add beside these; a run with the name of one of these gets invisible spaces at the end."""
    taken_names, renamed = {*columns, *names}, {}
    for name in columns:
        other = f"{name} "
        while other in taken_names:
            other += " "
        renamed[name] = other
    return names.replace(renamed)


def side_by_side(tables: Iterable[pl.DataFrame], on: str | Sequence[str]) -> pl.DataFrame:
    """The rows of the first table with the columns of all tables; null if another table does not have the row."""
    return reduce(lambda left, right: left.join(right, on=on, how="left", maintain_order="left"), tables)


def best_in_bold(table: pl.DataFrame, columns: Sequence[str]) -> Styles:
    """Styles for a table of texts: in each of these columns the largest number is bold, if there are several."""
    numbers = table.select(pl.col(list(columns)).cast(pl.Float64, strict=False))
    is_best = numbers.select((pl.all() == pl.all().max()) & (pl.all().n_unique() > 1))
    return {name: ["bold" if best else "" for best in is_best[name]] for name in is_best.columns}


# --- drawing ----------------------------------------------------------------------------------------------------------


class OwnLines(str):
    """Lines by dstbench or its caller, without text from files; in any other string, line breaks are escaped."""

    __slots__ = ()


def escape_lines(paragraphs: Iterable[str], form: TableFormat) -> str:
    """Lines of text or Markdown, each with its line break, in which nothing that users wrote becomes markup."""
    escaped = markdown_text if form == "md" else plain_text
    width = screen().width if form == "text" else None
    texts = (line for text in paragraphs for line in (text.split("\n") if isinstance(text, OwnLines) else [text]))
    lines = (escaped(line, _LONGEST_LINE) for line in texts)
    return "".join(f"{wrapped(line, width)}\n" for line in lines)


def draw(table: pl.DataFrame, form: TableFormat, styles: Styles = NO_STYLES) -> str:
    """A table of texts, as Markdown or as text; only text has styles."""
    if form != "md":
        return text_table(table, styles)
    names = [_markdown_cell(name) for name in table.columns]
    rows = [names, ["---:" if is_numeric(column) else "---" for column in table]]
    rows += [[_markdown_cell(text) for text in row] for row in table.iter_rows()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _markdown_cell(text: str) -> str:
    return markdown_text(text.replace("\n", " ")).replace("|", "\\|")
