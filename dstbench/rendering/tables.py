"""Results as text, Markdown, LaTeX, CSV or JSON, as their layouts say; JSON and CSV have the rows as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial, reduce
from importlib import import_module
from typing import Any, Final, TypeVar

import polars as pl
import polars.selectors as cs

from dstbench.io.escape import csv_text, json_text, markdown_text, plain_text
from dstbench.rendering.latex import latex_page
from dstbench.rendering.terminal import screen, wrapped
from dstbench.rendering.text_tables import NO_STYLES, UNDEFINED, Styles, is_numeric, text_table
from dstbench.rendering.views import Layout, OwnLines, View
from dstbench.schema.core import LOGGED
from dstbench.typing import TableFormat

_T = TypeVar("_T")
_MOST_ROWS: Final = 50  # how many rows of a query's answer text shows, unless asked for all
# Lines are cut after this many characters; a line may name many runs.
_LONGEST_LINE: Final = 100_000


def render(result: Any, form: TableFormat, **options: Any) -> str:
    """A result, a dataclass of frames or a frame by its name, in a format; in CSV, `table` names the frame."""
    if form == "json":
        return json_text(as_rows(result), allow_nan=False)
    if form == "csv" and isinstance(result, dict):
        return csv_text(*result.values())
    if form == "csv":
        named = [frame.select(pl.lit(name).alias("table"), pl.all()) for name, frame in _printed(result).items()]
        return csv_text(pl.concat(named, how="diagonal_relaxed"))
    layout = layout_of(result, **options)
    if form == "latex" and (papers := layout.for_paper):
        return latex_page(papers)
    if form == "text" and not screen().everything:
        layout = layout.in_short()
    mark = "### " if form == "md" else ""
    parts = [escape_lines(layout.findings, form)] if layout.findings else []
    for title, table, styles in (part for view in layout.shown for part in view.parts()):
        drawn = [draw(table, form, styles)] if table.height or not title else []
        parts.append("\n".join([*([f"{mark}{escape_lines([title], form)}"] if title else []), *drawn]))
    text = "\n".join([*parts, *([escape_lines(below, form)] if (below := layout.below) else [])])
    return re.sub("\n{3,}", "\n\n", text)


#: Class of a result, or name of a frame, to the module whose function of the same name lays it out.
LAYOUTS: Final = {
    name: module
    for module, names in {
        "of_runs": ("scores", "pairs", "sweep", "checks", "Leaderboard", "Changes", "Reconciliation", "Walkthrough",
                    "Worst"),
        "of_analyses": ("Diagnosis", "Traits", "Correlations", "MetricComparison", "Sensitivity"),
        "of_audits": ("Bias", "Differences", "VersionScores", "Replacement", "Memorisation", "Contradictions",
                      "Inconsistency", "Review", "Agreement"),
    }.items()
    for name in names
}  # fmt: skip


def layout_function(name: str) -> Callable[..., Layout] | None:
    """The function that lays out a result of this class, or a frame of this name; None: it is shown as it is."""
    if name not in LAYOUTS:
        return None
    module = import_module(f"dstbench.rendering.{LAYOUTS[name]}")  # when it is needed
    layout: Callable[..., Layout] = getattr(module, re.sub(r"\B[A-Z]", r"_\g<0>", name).lower())
    return layout


def layout_of(result: Any, **options: Any) -> Layout:
    """How a result is shown; a frame of a name without a layout as it is."""
    name = next(iter(result)) if isinstance(result, dict) else type(result).__name__
    if layout := layout_function(name):
        return layout(result, **options)
    shown = result[name].select(pl.all().cast(pl.String).fill_null(UNDEFINED))
    return Layout([View("", shown, caption=f"{name.capitalize()}.")], label=name)


def as_rows(value: Any) -> Any:
    """A frame as a list of rows; frames in a dataclass or by name as a dictionary of such lists; lists as they are."""
    if isinstance(value, (pl.DataFrame, list)):
        return value.to_dicts() if isinstance(value, pl.DataFrame) else value
    return {name: as_rows(part) for name, part in _printed(value).items()}


def _printed(value: Any) -> dict[str, Any]:
    """Parts by name, without those of a dataclass that are only for files of their own (`LOGGED`)."""
    if isinstance(value, dict):
        return value
    return {f.name: getattr(value, f.name) for f in fields(value) if f.metadata != LOGGED}


def render_answer(rows: pl.DataFrame, form: TableFormat) -> str:
    """The rows that a query selects, of any types, in a format: other types than numbers, texts and lists as texts."""
    if form == "text" and not screen().everything and rows.height > _MOST_ROWS:
        shown = render_answer(rows.head(_MOST_ROWS), form)
        return shown + escape_lines([f"the first {_MOST_ROWS} of {rows.height:,} rows; --all shows them all"], form)
    kept = cs.numeric() | cs.string() | cs.boolean() | cs.nested() | cs.by_dtype(pl.Null)
    rows = rows.with_columns(cs.decimal().cast(pl.Float64), (~kept).cast(pl.String))
    rows = rows.with_columns(pl.when(cs.float().is_finite()).then(cs.float()))
    if form == "json":
        return json_text({"rows": rows.to_dicts()}, default=str)
    written = partial(json.dumps, ensure_ascii=False, default=str)
    rows = rows.with_columns(
        pl.Series(column.name, [None if value is None else written(value) for value in column.to_list()], pl.String)
        for column in rows.select(cs.nested())
    )
    return render({"rows": rows if form == "csv" else rows.with_columns(cs.float().round_sig_figs(6))}, form)


def signature_lines(scores: pl.DataFrame) -> list[str]:
    """The distinct signatures, one line for all metrics of a run; a later one is cut to its few parts that differ."""
    heads_and_settings = pl.col("signature").str.splitn("|", 2).struct.unnest()
    of_runs = scores.select("run", "metric", heads_and_settings).group_by("run", "field_1", maintain_order=True)
    by_heads = of_runs.agg(heads=pl.col("field_0").unique(maintain_order=True).str.join("+"))
    folded = by_heads.group_by("heads", "field_1", maintain_order=True).agg(pl.col("run").str.join(", "))
    if folded.height < 2:
        return [f"signature: {heads}|{settings}" for heads, settings, _ in folded.iter_rows()]
    lines, usual = list[str](), list[str]()
    for heads, settings, runs in folded.iter_rows():
        parts = [heads, *settings.split("|")]
        own = [part for part, other in zip(parts, usual, strict=False) if part != other]
        keys, usual_keys = ([part.partition(":")[0] for part in of_line[1:]] for of_line in (parts, usual))
        short = keys == usual_keys and 2 * len(own) <= len(parts)
        lines.append(f"signature of {runs}: {'the same with ' if short else ''}{'|'.join(own if short else parts)}")
        usual = usual or parts
    return lines


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


# Columns of what runs are about, in which a text like a run's name is no name of a run.
_NO_NAMES: Final = ("dialogue", "slot", "gold", "pred", "system", "user")


def renamed(result: _T, names: Mapping[str, str]) -> _T:
    """A result in which all names of runs, also those within texts, are replaced."""
    # The shortest first: what a name becomes may be another, shorter one, which must not be replaced in turn.
    longer = {name: names[name] for name in sorted(names, key=len) if names[name] != name}
    return _renamed(result, longer) if longer else result


def _renamed(thing: Any, names: Mapping[str, str]) -> Any:
    if isinstance(thing, pl.DataFrame):
        texts = (cs.string(include_categorical=True) | cs.enum()) - cs.by_name(*_NO_NAMES, require_all=False)
        return thing.with_columns(reduce(_replaced, names.items(), texts.cast(pl.String)))
    if isinstance(thing, str):  # as a column, so that names in texts are found in one way
        return _renamed(pl.DataFrame({"text": [thing]}), names).item()
    if isinstance(thing, (list, tuple)) and not (thing and isinstance(thing[0], (int, float))):
        return type(thing)(_renamed(item, names) for item in thing)
    if isinstance(thing, dict):
        return {_renamed(key, names): _renamed(value, names) for key, value in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        values = {one.name: _renamed(getattr(thing, one.name), names) for one in fields(thing) if one.init}
        return replace(thing, **values)
    return thing


def _replaced(texts: pl.Expr, name: tuple[str, str]) -> pl.Expr:
    """Texts in which a whole name is replaced; within a path or another word, it is not the run's."""
    whole, short = name
    pattern = rf"(^|[^\w/.-]){re.escape(whole)}($|[^\w.-]|\.$|\.\W)"
    return texts.str.replace_all(pattern, f"${{1}}{short.replace('$', '$$')}${{2}}")
