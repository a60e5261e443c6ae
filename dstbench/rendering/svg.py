"""The papers' figures as SVG, drawn from the same frames as the Vega-Lite specifications of `charts`.

Conventions: runs and metrics are told apart by colour, dash and shape of the mark, so that no figure needs colour.
Looks are classes (page.css), as a strict content policy allows no styles inside. A figure of several runs is small
multiples on one scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.rendering.html import Markup, element, join

if TYPE_CHECKING:
    from collections.abc import Sequence

#: How many looks there are; after them they come again.
LOOKS: Final = 8
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 22, 40
_SHAPES: Final = ("M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0", "M-3-3h6v6h-6z", "M0-4L4 3H-4z", "M0-4L4 0L0 4L-4 0z")


@dataclass(frozen=True)
class Axis:
    """A scale from numbers to pixels.

    Attributes:
        title: What it shows.
        low: The least number.
        high: The largest.
        percent: Whether numbers are shares that are shown in percent.
    """

    title: str
    low: float
    high: float
    percent: bool = False

    def at(self, value: float, start: float, end: float) -> float:
        """Where a number is, between two pixels."""
        return round(start + (value - self.low) / ((self.high - self.low) or 1) * (end - start), 1)

    def ticks(self, about: int = 4) -> list[tuple[float, str]]:
        """Round numbers on the axis, about as many, with their texts."""
        unit = 100 if self.percent else 1
        low, high = self.low * unit, self.high * unit
        step = 10 ** floor(log10((high - low or 1) / about))
        step = next((step * by for by in (1, 2, 5, 10) if (high - low) / (step * by) <= about + 1.5), step * 10)
        found = [n * step for n in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
        return [(number / unit, f"{number:.10g}") for number in found]


def histograms(rows: pl.DataFrame, x: str, width: float, title: str, part: str | None = None) -> Markup:
    """Bars per run, from `x` to `x` + `width`; of each bar the lower, darker part is the column `part`."""
    y = Axis("dialogues", 0, max(_limits(rows["dialogues"])[1], 1))
    low, high = _limits(rows[x])
    figures = []
    for (run,), mine in rows.group_by("run", maintain_order=True):
        frame = _Frame(Axis(title, low, high + width), y)
        bars = []
        for at, height, lower in mine.select(x, "dialogues", part or pl.lit(0)).iter_rows():
            told = f"{at:g}: {height}" + (f", {part} {lower}" if part else "")
            bars.append(frame.bar(at, width, height, told, "bar"))
            bars.append(frame.bar(at, width, lower, told, "bar part"))
        figures.append(frame.draw(str(run), join(bars)))
    return join(figures)


def ranked(rows: pl.DataFrame, name: str, value: str, look: str) -> Markup:
    """Horizontal bars per run: of each row its `name`, its `value` as a number too, and its kind `look` by shade."""
    figures = []
    _, largest = _limits(rows[value])
    for (run,), mine in rows.group_by("run", maintain_order=True):
        left, width, step = 120, 330, 17
        axis = Axis("", 0, largest or 1)
        parts = [_text(left, 14, str(run), "title")]
        for number, (text, amount, kind) in enumerate(mine.select(name, value, look).iter_rows()):
            y, end = _TOP + step * number, axis.at(amount, left, width - 50)
            told = element("title", f"{text}: {amount:,}")
            parts.append(_text(left - 6, y + 11, text, "tick end"))
            parts.append(element("rect", told, x=left, y=y, width=end - left, height=step - 4, class_=f"kind-{kind}"))
            parts.append(_text(end + 5, y + 11, f"{amount:,}", "tick"))
        figures.append(_svg(f"{run}: {value} by {name}", width, _TOP + step * mine.height + 6, parts))
    return join(figures)


def lines(rows: pl.DataFrame, x: str, series: str, title: str, *, panels: str | None = None) -> Markup:
    """A line per value of `series` over the columns `x` and `value` (shares), a panel per value of `panels`."""
    names = rows[series].unique(maintain_order=True).to_list()
    known = rows.drop_nulls("value")
    low, high = _limits(rows[x])
    figures = []
    for name in rows[panels].unique(maintain_order=True) if panels else [""]:
        shown = known.filter(pl.col(panels) == name) if panels else known
        frame = _Frame(Axis(title, low, high), Axis("percent", 0, 1, percent=True), width=300 if panels else 560)
        drawn = []
        for number, one in enumerate(names):
            points = shown.filter(pl.col(series) == one).sort(x).select(x, "value").rows()
            drawn.append(frame.line(points, number, one))
        figures.append(frame.draw(name, join(drawn)))
    return join([*figures, legend(names)])


def intervals(rows: pl.DataFrame) -> Markup:
    """Scores with their intervals, a panel per metric, the runs below each other, the highest first."""
    runs = (
        rows.filter(pl.col("metric") == rows["metric"][0])
        .sort("value", descending=True, nulls_last=True, maintain_order=True)["run"]
        .to_list()
    )
    figures = []
    for (metric,), mine in rows.group_by("metric", maintain_order=True):
        limits = pl.concat([mine["low"], mine["high"], mine["value"]]).drop_nulls().to_list()
        room = (max(limits) - min(limits)) * 0.06 or 0.01 if limits else 0
        is_share = mine["unit"].item(0) == "share"
        axis = Axis(
            "percent" if is_share else "count",
            min(limits, default=0) - room,
            max(limits, default=1) + room,
            percent=is_share,
        )
        numbers = {run: rest for run, *rest in mine.select("run", "value", "low", "high").iter_rows()}
        figures.append(_forest(str(metric), axis, [(run, *numbers[run]) for run in runs]))
    return join(figures)


def _forest(title: str, axis: Axis, rows: Sequence[tuple[str, float | None, float | None, float | None]]) -> Markup:
    left, width, step = 110, 330, 20
    height = _TOP + step * len(rows) + _BOTTOM
    right, bottom = width - _RIGHT, height - _BOTTOM
    parts = [_text(left, 14, title, "title")]
    for number, text in axis.ticks():
        at = axis.at(number, left, right)
        parts += [
            element("path", d=f"M{at} {_TOP}V{bottom}", class_="grid"),
            _text(at, bottom + 14, text, "tick middle"),
        ]
    parts.append(_text((left + right) / 2, height - 8, axis.title, "tick middle"))
    for number, (run, value, low, high) in enumerate(rows):
        y = _TOP + step * (number + 0.5)
        parts.append(_text(left - 8, y + 4, _short(run), "tick end"))
        if value is None:
            continue
        told = element(
            "title",
            f"{run}: {_percent(value, axis)}"
            + ("" if low is None or high is None else f" ({_percent(low, axis)} to {_percent(high, axis)})"),
        )
        if low is not None and high is not None:
            parts.append(
                element(
                    "path", told, d=f"M{axis.at(low, left, right)} {y}H{axis.at(high, left, right)}", class_="whisker"
                )
            )
        parts.append(
            element("path", told, d=_SHAPES[0], transform=f"translate({axis.at(value, left, right)} {y})", class_="dot")
        )
    return _svg(title, width, height, parts)


def heat_maps(rows: pl.DataFrame) -> Markup:
    """Correlations as squares with their numbers, a panel per run, the diagonal left out."""
    figures = []
    for (run,), mine in rows.group_by("run", maintain_order=True):
        names = pl.concat([mine["first"], mine["second"]]).unique(maintain_order=True).to_list()
        size, left, top = 42, 74, 40
        parts = [_text(left, 14, str(run), "title")]
        for number, name in enumerate(names):
            parts.append(_text(left + size * (number + 0.5), top - 6, _short(name, 7), "tick middle"))
            parts.append(_text(left - 6, top + size * (number + 0.5) + 4, _short(name, 10), "tick end"))
        for first, second, r in mine.select("first", "second", "r").iter_rows():
            told = element("title", f"{first}, {second}: {'undefined' if r is None else f'{r:.3f}'}")
            for one, other in ((first, second), (second, first)):
                x, y = left + size * names.index(one), top + size * names.index(other)
                look = "undefined" if r is None else f"{'minus' if r < 0 else 'plus'} h{min(9, int(abs(r) * 10))}"
                parts.append(element("rect", told, x=x, y=y, width=size - 1, height=size - 1, class_=f"cell {look}"))
                shown = "" if r is None else f"{r:.2f}".replace("0.", ".")
                parts.append(_text(x + size / 2, y + size / 2 + 4, shown, "middle on " + look))
        figures.append(_svg(f"Correlations, {run}", left + size * len(names) + 10, top + size * len(names) + 10, parts))
    return join(figures)


def legend(names: Sequence[str]) -> Markup:
    """What the looks of lines mean."""
    items = []
    for number, name in enumerate(names):
        drawn = join(
            [
                element("path", d="M0 6H28", class_=_look(number)),
                element(
                    "path",
                    d=_SHAPES[number % len(_SHAPES)],
                    transform="translate(14 6)",
                    class_=f"mark {_look(number)}",
                ),
            ]
        )
        items.append(
            element(
                "li", element("svg", drawn, width=28, height=12, viewbox="0 0 28 12", aria_hidden="true"), " ", name
            )
        )
    return element("ul", *items, class_="legend")


@dataclass(frozen=True)
class _Frame:
    """A panel with two axes."""

    x: Axis
    y: Axis
    width: int = 300
    height: int = 190

    def place(self, x: float, y: float) -> tuple[float, float]:
        return self.x.at(x, _LEFT, self.width - _RIGHT), self.y.at(y, self.height - _BOTTOM, _TOP)

    def bar(self, x: float, width: float, height: float, told: str, look: str) -> Markup:
        left, top = self.place(x, height)
        right, bottom = self.place(x + width, 0)
        if top >= bottom:
            return Markup()
        size = {"width": round(max(right - left - 1, 0.5), 1), "height": round(bottom - top, 1)}
        return element("rect", element("title", told), x=left, y=top, class_=look, **size)

    def line(self, points: Sequence[tuple[float, float]], number: int, name: str) -> Markup:
        placed = [self.place(x, y) for x, y in points]
        if not placed:
            return Markup()
        path = element("path", d="M" + "L".join(f"{x} {y}" for x, y in placed), class_=_look(number))
        marks = [
            element(
                "path",
                element("title", f"{name}, {x:g}: {_percent(value, self.y)}"),
                d=_SHAPES[number % len(_SHAPES)],
                transform=f"translate({at} {up})",
                class_=f"mark {_look(number)}",
            )
            for (x, value), (at, up) in zip(points, placed, strict=True)
        ]
        return join([path, *marks])

    def draw(self, title: str, inside: Markup) -> Markup:
        left, right, bottom = _LEFT, self.width - _RIGHT, self.height - _BOTTOM
        parts = [_text(left, 14, title, "title")]
        for number, text in self.y.ticks():
            _, y = self.place(self.x.low, number)
            parts += [
                element("path", d=f"M{left} {y}H{right}", class_="grid"),
                _text(left - 6, y + 4, text, "tick end"),
            ]
        for number, text in self.x.ticks(6):
            parts.append(_text(self.place(number, 0)[0], bottom + 14, text, "tick middle"))
        parts.append(_text((left + right) / 2, self.height - 8, self.x.title, "tick middle"))
        parts.append(
            element(
                "text",
                self.y.title,
                x=-(self.height - _BOTTOM + _TOP) / 2,
                y=11,
                transform="rotate(-90)",
                class_="tick middle",
            )
        )
        parts.append(element("path", d=f"M{left} {bottom}H{right}", class_="axis"))
        return _svg(
            f"{title}: {self.y.title} by {self.x.title}".removeprefix(": "), self.width, self.height, [*parts, inside]
        )


def _svg(label: str, width: float, height: float, parts: Sequence[str]) -> Markup:
    drawn = element(
        "svg", *parts, viewbox=f"0 0 {width:g} {height:g}", width=width, height=height, role="img", aria_label=label
    )
    return Markup(drawn.replace(" viewbox=", " viewBox=", 1))


def _text(x: float, y: float, text: str, look: str) -> Markup:
    return element("text", text, x=round(x, 1), y=round(y, 1), class_=look)


def _limits(numbers: pl.Series) -> tuple[float, float]:
    """The least and the largest; 0 and 0 of none."""
    known = numbers.drop_nulls().to_list()
    return min(known, default=0.0), max(known, default=0.0)


def _look(number: int) -> str:
    return f"line s{number % LOOKS}"


def _short(text: str, most: int = 16) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _percent(value: float, axis: Axis) -> str:
    return f"{100 * value:.2f} %" if axis.percent else f"{value:g}"
