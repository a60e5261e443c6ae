"""The papers' figures as SVG for the page, drawn from the same frames as the Vega-Lite specifications of `charts`.

Runs and metrics differ in colour, dash and the shape of the mark, so that no figure needs colour. All colours and
dashes are in page.css, under the classes used here: the page's content security policy allows no styles in elements. A
figure of several runs has a panel per run, all on the same scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any, Final

import polars as pl

from dstbench.rendering.html import Markup, element, join

# The number of kinds of line in page.css (classes s0, s1 …); further lines start again with the first.
_LINES: Final = 8
# The margins of a panel with two axes, in pixels.
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 22, 40
# The shapes of marks: circle, square, triangle, diamond.
_SHAPES: Final = ("M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", "M-3-3h6v6h-6z", "M0-4L4 3H-4z", "M0-4L4 0L0 4L-4 0z")


@dataclass(frozen=True)
class Axis:
    """A scale from numbers between `low` and `high` to pixels; `percent`: the numbers are shares, shown in percent."""

    title: str
    low: float
    high: float
    percent: bool = False

    def at(self, value: float, start: float, end: float) -> float:
        """The position of a number, if the axis goes from pixel `start` to pixel `end`."""
        return round(start + (value - self.low) / ((self.high - self.low) or 1) * (end - start), 1)

    def ticks(self, about: int = 4) -> list[tuple[float, str]]:
        """About so many round numbers on the axis, with their texts."""
        unit = 100 if self.percent else 1
        low, high = self.low * unit, self.high * unit
        step = 10 ** floor(log10((high - low or 1) / about))
        step = next((step * by for by in (1, 2, 5, 10) if (high - low) / (step * by) <= about + 1.5), step * 10)
        numbers = [n * step for n in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
        return [(number / unit, f"{number:.10g}") for number in numbers]

    def text(self, value: float) -> str:
        """The text of a number."""
        return f"{100 * value:.2f} %" if self.percent else f"{value:g}"


def histograms(rows: pl.DataFrame, x: str, width: float, title: str, part: str | None = None) -> Markup:
    """A histogram per run: bars from `x` to `x` + `width`, whose lower, darker part is the column `part`."""
    y = Axis("dialogues", 0, max(_limits(rows["dialogues"])[1], 1))
    low, high = _limits(rows[x])
    figures = []
    for (run,), of_run in rows.group_by("run", maintain_order=True):
        panel = _Panel(Axis(title, low, high + width), y)
        bars = []
        for start, height, lower in of_run.select(x, "dialogues", part or pl.lit(0)).iter_rows():
            tip = f"{start:g}: {height}" + (f", {part} {lower}" if part else "")
            bars += [panel.bar(start, width, height, tip, "bar"), panel.bar(start, width, lower, tip, "bar part")]
        figures.append(panel.draw(str(run), bars))
    return join(figures)


def ranked(rows: pl.DataFrame, name: str, value: str, kind: str) -> Markup:
    """Horizontal bars per run: each row's `name`, its `value` as length and number, and its `kind` as shade."""
    left, width, step = 120, 330, 17
    axis = Axis("", 0, _limits(rows[value])[1] or 1)
    figures = []
    for (run,), of_run in rows.group_by("run", maintain_order=True):
        parts = [_text(left, 14, str(run), "title")]
        for number, (text, amount, shade) in enumerate(of_run.select(name, value, kind).iter_rows()):
            y, end = _TOP + step * number, axis.at(amount, left, width - 50)
            bar = {"x": left, "y": y, "width": end - left, "height": step - 4, "class_": f"kind-{shade}"}
            parts.append(_text(left - 6, y + 11, text, "tick end"))
            parts.append(_shape("rect", f"{text}: {amount:,}", **bar))
            parts.append(_text(end + 5, y + 11, f"{amount:,}", "tick"))
        figures.append(_svg(f"{run}: {value} by {name}", width, _TOP + step * of_run.height + 6, parts))
    return join(figures)


def lines(rows: pl.DataFrame, x: str, series: str, title: str, *, panels: str | None = None) -> Markup:
    """A line per value of the column `series`, of `value` (shares) over `x`; a panel per value of `panels`."""
    names = rows[series].unique(maintain_order=True).to_list()
    defined = rows.drop_nulls("value")
    panel = _Panel(Axis(title, *_limits(rows[x])), Axis("percent", 0, 1, percent=True), width=300 if panels else 560)
    figures = []
    for panel_name in rows[panels].unique(maintain_order=True) if panels else [""]:
        shown = defined.filter(pl.col(panels) == panel_name) if panels else defined
        drawn = []
        for number, name in enumerate(names):
            points = shown.filter(pl.col(series) == name).sort(x).select(x, "value").rows()
            drawn.append(panel.line(points, number, name))
        figures.append(panel.draw(panel_name, drawn))
    return join([*figures, _legend(names)])


def intervals(rows: pl.DataFrame) -> Markup:
    """Scores with their intervals: a panel per metric, with the runs below each other, the highest first."""
    first = rows.filter(pl.col("metric") == rows["metric"][0])
    runs = first.sort("value", descending=True, nulls_last=True, maintain_order=True)["run"].to_list()
    figures = []
    for (metric,), scores in rows.group_by("metric", maintain_order=True):
        numbers = pl.concat([scores["low"], scores["high"], scores["value"]]).drop_nulls().to_list()
        low, high = min(numbers, default=0), max(numbers, default=1)
        margin = (high - low) * 0.06 or 0.01 if numbers else 0
        percent = scores["unit"].item(0) == "share"
        axis = Axis("percent" if percent else "count", low - margin, high + margin, percent=percent)
        of_run = {run: rest for run, *rest in scores.select("run", "value", "low", "high").iter_rows()}
        figures.append(_forest_plot(str(metric), axis, [(run, *of_run[run]) for run in runs]))
    return join(figures)


def _forest_plot(
    title: str, axis: Axis, rows: Sequence[tuple[str, float | None, float | None, float | None]]
) -> Markup:
    """A panel with a value and its interval for each name, below each other."""
    left, width, step = 110, 330, 20
    height = _TOP + step * len(rows) + _BOTTOM
    right, bottom = width - _RIGHT, height - _BOTTOM
    parts = [_text(left, 14, title, "title")]
    for number, text in axis.ticks():
        x = axis.at(number, left, right)
        parts += [_line(f"M{x} {_TOP}V{bottom}", "grid"), _text(x, bottom + 14, text, "tick middle")]
    parts.append(_text((left + right) / 2, height - 8, axis.title, "tick middle"))
    for number, (run, value, low, high) in enumerate(rows):
        y = _TOP + step * (number + 0.5)
        parts.append(_text(left - 8, y + 4, _short(run), "tick end"))
        if value is None:
            continue
        tip = f"{run}: {axis.text(value)}"
        if low is not None and high is not None:
            tip += f" ({axis.text(low)} to {axis.text(high)})"
            parts.append(_line(f"M{axis.at(low, left, right)} {y}H{axis.at(high, left, right)}", "whisker", tip))
        parts.append(_mark(0, axis.at(value, left, right), y, "dot", tip))
    return _svg(title, width, height, parts)


def heat_maps(rows: pl.DataFrame) -> Markup:
    """Correlations as squares with their numbers, a panel per run, without the diagonal."""
    size, left, top = 42, 74, 40
    figures = []
    for (run,), of_run in rows.group_by("run", maintain_order=True):
        names = pl.concat([of_run["first"], of_run["second"]]).unique(maintain_order=True).to_list()
        parts = [_text(left, 14, str(run), "title")]
        for number, name in enumerate(names):
            middle = size * (number + 0.5)
            parts.append(_text(left + middle, top - 6, _short(name, 7), "tick middle"))
            parts.append(_text(left - 6, top + middle + 4, _short(name, 10), "tick end"))
        for first, second, r in of_run.select("first", "second", "r").iter_rows():
            look, shown, text = "undefined", "", "undefined"
            if r is not None:
                look = f"{'minus' if r < 0 else 'plus'} h{min(9, int(abs(r) * 10))}"
                shown, text = f"{r:.2f}".replace("0.", "."), f"{r:.3f}"
            for column, row in ((first, second), (second, first)):
                x, y = left + size * names.index(column), top + size * names.index(row)
                square = {"x": x, "y": y, "width": size - 1, "height": size - 1, "class_": f"cell {look}"}
                parts.append(_shape("rect", f"{first}, {second}: {text}", **square))
                parts.append(_text(x + size / 2, y + size / 2 + 4, shown, f"middle on {look}"))
        side = size * len(names) + 10
        figures.append(_svg(f"Correlations, {run}", left + side, top + side, parts))
    return join(figures)


@dataclass(frozen=True)
class _Panel:
    """A panel with two axes."""

    x: Axis
    y: Axis
    width: int = 300
    height: int = 190

    def place(self, x: float, y: float) -> tuple[float, float]:
        return self.x.at(x, _LEFT, self.width - _RIGHT), self.y.at(y, self.height - _BOTTOM, _TOP)

    def bar(self, x: float, width: float, height: float, tip: str, look: str) -> Markup:
        left, top = self.place(x, height)
        right, bottom = self.place(x + width, 0)
        if top >= bottom:
            return Markup()
        size = {"width": round(max(right - left - 1, 0.5), 1), "height": round(bottom - top, 1)}
        return _shape("rect", tip, x=left, y=top, class_=look, **size)

    def line(self, points: Sequence[tuple[float, float]], number: int, name: str) -> Markup:
        if not points:
            return Markup()
        placed = [self.place(x, y) for x, y in points]
        marks = [
            _mark(number, left, top, f"mark {_look(number)}", f"{name}, {x:g}: {self.y.text(value)}")
            for (x, value), (left, top) in zip(points, placed, strict=True)
        ]
        return join([_line("M" + "L".join(f"{left} {top}" for left, top in placed), _look(number)), *marks])

    def draw(self, title: str, inside: Sequence[Markup]) -> Markup:
        """The panel: its title, its axes, and the elements inside."""
        left, right, bottom = _LEFT, self.width - _RIGHT, self.height - _BOTTOM
        parts = [_text(left, 14, title, "title")]
        for number, text in self.y.ticks():
            _, y = self.place(self.x.low, number)
            parts += [_line(f"M{left} {y}H{right}", "grid"), _text(left - 6, y + 4, text, "tick end")]
        for number, text in self.x.ticks(6):
            parts.append(_text(self.place(number, 0)[0], bottom + 14, text, "tick middle"))
        parts.append(_text((left + right) / 2, self.height - 8, self.x.title, "tick middle"))
        middle = -(bottom + _TOP) / 2
        parts.append(element("text", self.y.title, x=middle, y=11, transform="rotate(-90)", class_="tick middle"))
        parts.append(_line(f"M{left} {bottom}H{right}", "axis"))
        label = f"{title}: {self.y.title} by {self.x.title}".removeprefix(": ")
        return _svg(label, self.width, self.height, [*parts, *inside])


def _legend(names: Sequence[str]) -> Markup:
    """A list of the names, each with its line and mark."""
    items = []
    for number, name in enumerate(names):
        drawn = _line("M0 6H28", _look(number)), _mark(number, 14, 6, f"mark {_look(number)}")
        sample = element("svg", *drawn, width=28, height=12, viewBox="0 0 28 12", aria_hidden="true")
        items.append(element("li", sample, " ", name))
    return element("ul", *items, class_="legend")


def _svg(label: str, width: float, height: float, parts: Sequence[str]) -> Markup:
    box = f"0 0 {width:g} {height:g}"
    return element("svg", *parts, viewBox=box, width=width, height=height, role="img", aria_label=label)


def _shape(name: str, tip: str, **attributes: Any) -> Markup:
    """An element with a text that is shown when the mouse is over it."""
    return element(name, *([element("title", tip)] if tip else []), **attributes)


def _line(path: str, look: str, tip: str = "") -> Markup:
    return _shape("path", tip, d=path, class_=look)


def _mark(number: int, x: float, y: float, look: str, tip: str = "") -> Markup:
    """The mark of line `number`."""
    return _shape("path", tip, d=_SHAPES[number % len(_SHAPES)], transform=f"translate({x} {y})", class_=look)


def _text(x: float, y: float, text: str, look: str) -> Markup:
    return element("text", text, x=round(x, 1), y=round(y, 1), class_=look)


def _limits(numbers: pl.Series) -> tuple[float, float]:
    """The smallest and the largest number; 0 and 0 if there is none."""
    defined = numbers.drop_nulls().to_list()
    return min(defined, default=0.0), max(defined, default=0.0)


def _look(number: int) -> str:
    return f"line s{number % _LINES}"


def _short(text: str, most: int = 16) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
