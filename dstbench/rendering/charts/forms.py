"""The forms that charts have, in Altair: intervals, squares, lines and bars; and their colours, axes and panels.

Names differ in colour (for every kind of colour vision, after Okabe & Ito 2008), and in shape, dash or depth, for print
without colour. Shares are shown in percent, metrics by the names that papers give them.
"""

from __future__ import annotations

from typing import Any, Final

import altair as alt
import polars as pl

from dstbench.metrics.registry import name_of

#: A chart of one panel or of several.
Chart = alt.LayerChart | alt.FacetChart
Encoding = dict[str, Any]

#: The colours of runs (or metrics); the page replaces each by its own for light and dark screens.
COLOURS: Final = ("#0072b2", "#d55e00", "#00795a", "#a8487f", "#8a6a00", "#2a8ac0", "#333333", "#7d5fb2")
#: The colours of kinds of errors, and their order.
KINDS: Final = {"missed": COLOURS[5], "wrong": COLOURS[1], "over": COLOURS[4], "no-prediction": COLOURS[6]}
#: The colour of everything that is not a run: text, reference lines.
INK: Final = "#000000"
#: Labels break after so many characters, so that none is cut: seeds often differ at the end of their names.
LABEL: Final = 24
_SLOPING: Final = 44
# What tells names apart besides colour. The number of dashes and that of colours have no common divisor, so 56 lines
# differ in colour or dash; stacked bars beside each other differ in depth.
_DASHES: Final = [[1, 0], [5, 2], [2, 2], [7, 2, 2, 2], [1, 1], [9, 3], [4, 1, 1, 1, 1, 1]]
_DEPTHS: Final = [1, 0.45, 0.8, 0.3, 0.65, 0.15]
# A turn or length that a smaller share of dialogues has is not drawn.
_FEW: Final = 0.01
# The opacity of the faintest and the darkest square; black text can be read on both.
FAINT: Final = 0.03
DARK: Final = 0.7
_POINT: Final = {"filled": True, "opacity": 1, "tooltip": True}


def chart(
    title: str,
    rows: pl.DataFrame,
    *layers: alt.Chart,
    panel: str = "",
    own: str = "",
    height: alt.Step | int | None = None,
    least: int | None = None,
    wide: bool = False,
    below: str = "",
) -> Chart:
    """Layers over rows, with a panel per name of a column that has several."""
    whole: Any = alt.layer(*layers, data=rows_of(rows))
    if height is not None:
        whole = whole.properties(height=height)
    if panel and rows[panel].n_unique() > 1:
        own_scale: dict[str, Any] = {own: "independent"}
        header = alt.Header(labelExpr=in_lines())
        whole = whole.facet(alt.Facet(f"{panel}:N", sort=unique(rows[panel]), title=None, header=header), columns=1)
        whole = whole.resolve_scale(**own_scale) if own else whole
    needs: dict[str, Any] = {key: value for key, value in (("least", least), ("wide", wide), ("below", below)) if value}
    found: Chart = whole.properties(title=title, usermeta=needs)
    return found


def rows_of(rows: pl.DataFrame) -> alt.Data:
    """Rows as data inside a chart."""
    return alt.Data(values=rows.to_dicts())  # type: ignore[no-untyped-call]


def in_lines(length: int = LABEL) -> str:
    """The expression of a label in lines of at most so many characters, which break after a mark if they can."""
    parts = rf"(.{{1,{length}}}$|.{{1,{length - 1}}}[-_\/ :]|.{{1,{length}}})"
    return (
        rf"length(datum.label) <= {length} ? datum.label : split(trim(replace(datum.label, /{parts}/g, '$1\n')), '\n')"
    )


def named(channel: type[Any], column: str, names: list[str], **options: Any) -> Any:
    """A channel of names, in this order."""
    return channel(f"{column}:N", **{"sort": names, "title": None, "scale": alt.Scale(domain=names), **options})


def named_axis(channel: type[Any], column: str, names: list[str], title: str | None = None, **axis: Any) -> Any:
    """An axis of names; long names take several lines (see `row_step`), vertically centred, or stand at an angle."""
    if axis.get("labelAngle"):
        lines = 1 + max(map(len, names), default=0) // _SLOPING
        looks = {"labelExpr": in_lines(_SLOPING), "labelLimit": 0, "labelPadding": 4 * lines - 2}
    else:
        tests = {f"length(datum.label) > {most}": -4 * lines for lines, most in ((2, 2 * LABEL), (1, LABEL))}
        offset = {"condition": [{"test": test, "value": value} for test, value in tests.items()], "value": 0}
        looks = {"labelExpr": in_lines(), "labelOffset": offset}
    return named(channel, column, names, title=title, axis=alt.Axis(**{**looks, "labelOverlap": False, **axis}))


def row_step(names: list[str], step: int = 12) -> alt.Step:
    """The height of a row of a named axis: that of its labels' lines."""
    lines = max((1 if len(text) <= LABEL else 1 + len(text) // (LABEL - 4) for text in names), default=1)
    return alt.Step(max(step, 8 * lines + 4))


def share(channel: type[Any], column: str, title: str | None, ticks: int = 5, **options: Any) -> Any:
    """A channel of shares, which is shown in percent."""
    return channel(f"{column}:Q", title=title, axis=alt.Axis(format="~%", tickCount=ticks), **options)


def whole_number(channel: type[Any], column: str, title: str, ends: list[int], ticks: int = 5, **axis: Any) -> Any:
    """A channel of whole numbers, of which no tick is between two: Vega-Lite drops `tickMinStep`."""
    span = max(ends, default=0) - min(ends, default=0)
    return channel(f"{column}:Q", title=title, axis=alt.Axis(tickCount=max(1, min(ticks, span)), **axis))


def apart(column: str, names: list[str], *channels: str, legend: bool = True) -> Encoding:
    """The channels that tell the names of a column apart: colour, and others; with a legend if there are several."""
    shown = {"legend": alt.Legend(labelExpr=in_lines()) if legend and len(names) > 1 else None}
    colours = [KINDS[kind] for kind in names] if set(names) <= KINDS.keys() else alt.Undefined
    found = {"color": named(alt.Color, column, names, scale=alt.Scale(domain=names, range=colours), **shown)}
    if "shape" in channels:
        found["shape"] = named(alt.Shape, column, names, **shown)
    if "dash" in channels:  # its legend would dash the others' symbols
        dashes = alt.Scale(domain=names, range=_DASHES)
        found["strokeDash"] = named(alt.StrokeDash, column, names, scale=dashes, legend=None)
    if "depth" in channels:
        depths = alt.Scale(domain=names, range=_DEPTHS)
        found["fillOpacity"] = named(alt.FillOpacity, column, names, scale=depths, **shown)
    return found


def points(**options: Any) -> Any:
    """Points, of which the mouse shows the row."""
    return alt.Chart().mark_point(**{**_POINT, **options})


def squares(
    title: str, rows: pl.DataFrame, axes: list[Any], shade: str, domain: list[float], *, text: str, minus: str = "",
    **content: Any,
) -> Chart:  # fmt: skip
    """Squares with texts, which can be read on each."""
    depths = alt.Scale(domain=domain, range=[DARK, FAINT, DARK][: len(domain)])
    colour = alt.when(minus or "true").then(alt.value(COLOURS[1])).otherwise(alt.value(COLOURS[0]))
    depth = alt.FillOpacity(f"{shade}:Q", scale=depths, legend=None)
    rect = alt.Chart().mark_rect(tooltip=True).encode(*axes, depth, color=colour)
    texts = alt.Chart().mark_text().transform_calculate(text=text).encode(*axes, alt.Text("text:N"))
    return chart(title, rows, rect, texts, **content)


def lines(title: str, rows: pl.DataFrame, x: Any, y: Any, by: str, *more: alt.Chart, **content: Any) -> Chart:
    """Lines with points, one per name of the column `by`, over or below what else there is."""
    names = unique(rows[by])
    line = alt.Chart().mark_line().encode(x, y, **apart(by, names, "dash"))
    return chart(title, rows, *more, line, points().encode(x, y, **apart(by, names, "shape")), **content)


def bars(
    title: str, rows: pl.DataFrame, x: Any, y: Any, by: str = "", *, stacked: bool = False, **content: Any
) -> Chart:
    """Horizontal bars; those of the names in the column `by` are stacked, or below each other."""
    names = unique(rows[by]) if by else []
    looks = apart(by, names, "depth") if by else {"color": alt.value(COLOURS[0])}
    if len(names) > 1 and not stacked:
        looks["yOffset"] = named(alt.YOffset, by, names)
        content["height"] = alt.Step(3.7)  # of one bar: 30 slots of ten runs fit on a page
    return chart(title, rows, alt.Chart().mark_bar(tooltip=True).encode(x, y, **looks), **content)


def of_enough(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Rows of the turns or lengths that more than hardly any dialogues have."""
    n = pl.col("dialogues").max()
    return rows.filter(n.over(by) >= _FEW * n)


def unique(column: pl.Series) -> list[str]:
    """The texts of a column, each once, in order."""
    return column.unique(maintain_order=True).to_list()


def with_names(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Rows whose columns of metrics and traits (default: `metric`) have the names of papers in place of notations."""
    columns = columns or ("metric",)
    notations = {text for column in columns for text in rows[column].unique()}
    names = {text: name_of(text) for text in notations}
    return rows.with_columns(pl.col(columns).replace_strict(names, default=None, return_dtype=pl.String))
