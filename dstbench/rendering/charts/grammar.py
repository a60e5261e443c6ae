"""What all charts share: their colours, marks, axes and panels, as parts of Vega-Lite specifications.

A chart is a plain dictionary with its data inside, which any Vega-Lite renderer draws. Runs differ in colour (for every
kind of colour vision, after Okabe & Ito 2008), and in shape and dash, for print without colour. Shares are shown in
percent, metrics by the names that papers give them, runs in the order of the rows.
"""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from dstbench.metrics.registry import name_of

Spec = dict[str, Any]

#: The colours of runs (or metrics); the page replaces each by its own for light and dark screens.
COLOURS: Final = ("#0072b2", "#d55e00", "#00795a", "#a8487f", "#8a6a00", "#2a8ac0", "#333333", "#7d5fb2")
#: The colours of kinds of errors, and their order.
KINDS: Final = {"missed": COLOURS[5], "wrong": COLOURS[1], "over": COLOURS[4], "no-prediction": COLOURS[6]}
#: The colour of everything that is not a run: text, reference lines.
INK: Final = "#000000"
# Their number and that of the colours have no common divisor, so 56 lines differ in colour or dash.
_DASHES: Final = ([1, 0], [5, 2], [2, 2], [7, 2, 2, 2], [1, 1], [9, 3], [4, 1, 1, 1, 1, 1])
# How each kind of mark looks, and which channels tell runs apart in addition to colour.
_LOOKS: Final[dict[str, tuple[Spec, list[str]]]] = {
    "bar": ({}, []),
    "line": ({"point": True}, ["shape", "strokeDash"]),
    "point": ({"filled": True}, ["shape"]),
}
#: Labels break after so many characters, so that none is cut: seeds often differ at the end of their names.
LABEL: Final = 24
_SLOPING: Final = 44


def in_lines(length: int = LABEL) -> str:
    """The expression of a label in lines of at most so many characters, which break after a mark if they can."""
    parts = rf"(.{{1,{length}}}$|.{{1,{length - 1}}}[-_\/ :]|.{{1,{length}}})"
    return (
        rf"length(datum.label) <= {length} ? datum.label : split(trim(replace(datum.label, /{parts}/g, '$1\n')), '\n')"
    )


class Chart(Spec):
    """A chart, as a Vega-Lite specification; a notebook draws it."""

    def _repr_mimebundle_(self, **_: object) -> Spec:
        return {"application/vnd.vegalite.v5+json": dict(self), "text/plain": f"Chart: {self['title']}"}


def specification(
    title: str, rows: pl.DataFrame, *, least: int | None = None, wide: bool = False, **content: Any
) -> Chart:
    """A chart of rows.

    Args:
        title: What it shows; papers have it in the caption.
        rows: Its data.
        least: The smallest width of a panel in points, if it needs more than usual.
        wide: Whether it needs the width of a page in a paper with two columns.
        content: The rest of the specification.
    """
    return Chart({
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "config": {"range": {"category": list(COLOURS)}},
        "usermeta": {key: value for key, value in (("least", least), ("wide", wide)) if value},
        "title": title,
        "data": {"values": rows.to_dicts()},
        **content,
    })  # fmt: skip


def chart(title: str, mark: str, rows: pl.DataFrame, encoding: Spec, by: str = "run", **content: Any) -> Chart:
    """A chart of runs (or of the values of the column `by`); if there are several, with a legend."""
    names = unique(rows[by])
    legend: Spec = {"title": None, "legend": {"labelExpr": in_lines()}} if len(names) > 1 else {"legend": None}
    look, channels = _LOOKS[mark]
    # Vega-Lite merges the legends of channels with the same domain into one.
    apart: Spec = {channel: {**name(by, names), **legend} for channel in ("color", *channels)}
    if "strokeDash" in apart:  # its legend would dash the others' symbols
        apart["strokeDash"] |= {"scale": {"domain": names, "range": list(_DASHES)}, "legend": None}
    if set(names) <= KINDS.keys():
        apart["color"]["scale"]["range"] = [KINDS[kind] for kind in names]
    definition = {"type": mark, **look, "tooltip": True}
    return specification(title, rows, mark=definition, encoding={**apart, **encoding}, **content)


def in_panels(whole: Chart, field: str, names: list[str], **resolve: str) -> Chart:
    """A chart divided into panels by a field, in the order of the names; `resolve`: scales that each panel has."""
    if len(names) < 2:
        return whole
    panel = {key: whole.pop(key) for key in ("mark", "encoding", "layer", "width", "height") if key in whole}
    facet = {**name(field, names), "header": {"labelExpr": in_lines()}}
    facet.pop("scale")
    parts: Spec = {"facet": facet, "columns": 1, "spec": panel}
    if resolve:
        parts["resolve"] = {"scale": resolve}
    return Chart({**whole, **parts})


def number(field: str, **options: Any) -> Spec:
    """A channel of numbers."""
    return {"field": field, "type": "quantitative", **options}


def percent(field: str, ticks: int = 5, **options: Any) -> Spec:
    """A channel of shares, which is shown in percent."""
    return number(field, axis={"format": "%", "tickCount": ticks}, **options)


def integer(field: str, title: str, least: int, most: int, ticks: int = 5, **axis: Any) -> Spec:
    """A channel of whole numbers, of which no tick is between two: Vega-Lite drops `tickMinStep`."""
    return number(field, title=title, axis={"tickCount": max(1, min(ticks, most - least)), **axis})


def name(field: str, names: list[str], **options: Any) -> Spec:
    """A channel of names, in this order."""
    return {"field": field, "type": "nominal", "sort": names, "title": None, "scale": {"domain": names}, **options}


def named_axis(field: str, names: list[str], **axis: Any) -> Spec:
    """An axis of names; long names take several lines (see `row_step`), vertically centred, or stand at an angle."""
    if axis.get("labelAngle"):
        lines = 1 + max(map(len, names), default=0) // _SLOPING
        sloping = {
            "labelExpr": in_lines(_SLOPING),
            "labelOverlap": False,
            "labelLimit": 0,
            "labelPadding": 4 * lines - 2,
        }
        return name(field, names, axis={**sloping, **axis})
    tests = {f"length(datum.label) > {most}": -4 * lines for lines, most in ((2, 2 * LABEL), (1, LABEL))}
    offset = {"condition": [{"test": test, "value": value} for test, value in tests.items()], "value": 0}
    return name(field, names, axis={"labelExpr": in_lines(), "labelOverlap": False, "labelOffset": offset, **axis})


def row_step(names: list[str], step: int = 12) -> Spec:
    """The height of a row of a named axis: that of its labels' lines."""
    lines = max((1 if len(text) <= LABEL else 1 + len(text) // (LABEL - 4) for text in names), default=1)
    return {"step": max(step, 8 * lines + 4)}


def ends(column: pl.Series) -> tuple[int, int]:
    """The least and the largest whole number of a column, 0 if it is empty."""
    return column.min() or 0, column.max() or 0  # type: ignore[return-value]


def unique(column: pl.Series) -> list[str]:
    """The texts of a column, each once, in order."""
    return column.unique(maintain_order=True).to_list()


def with_names(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Rows whose columns of metrics and traits (default: `metric`) have the names of papers in place of notations."""
    columns = columns or ("metric",)
    notations = {text for column in columns for text in rows[column].unique()}
    names = {text: name_of(text) for text in notations}
    return rows.with_columns(pl.col(columns).replace_strict(names, default=None, return_dtype=pl.String))


def middles(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of bins with the column `middle`."""
    return rows.with_columns(middle=(pl.col("low") + pl.col("high")) / 2)
