"""What a person sees in a chart: its marks, read back into values through the ticks of its axes and its legend.

The one place in the contract that knows how Vega writes SVG.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, NamedTuple
from xml.etree import ElementTree as Xml

_RECT = re.compile(r"M([-\d.e]+),([-\d.e]+)h([-\d.e]+)v([-\d.e]+)h[-\d.e]+Z")
_MOVE = re.compile(r"translate\(([-\d.e]+),([-\d.e]+)\)")
_SUFFIXES = {"%": 0.01, "k": 1000.0, "M": 1e6}
#: The drawings of a page.
SVG = re.compile(r'<svg [^>]*role="img".*?</svg>', re.DOTALL)
#: Ticks are drawn on whole points, half a point beside the marks.
PIXEL = 1.0


class Mark(NamedTuple):
    """What is drawn: a box from (left, top) to (right, bottom); a rule's may be turned round."""

    kind: Literal["rect", "rule", "point", "line", "text"]
    left: float
    top: float
    right: float
    bottom: float
    colour: str
    opacity: float
    text: str
    points: tuple[tuple[float, float], ...] = ()
    told: str = ""  # what the mouse shows
    shape: str = ""  # of a point: its outline, whatever its size; of a line: its dashes
    size: float = 0.0


@dataclass
class Axis:
    """An axis: the texts of its ticks, where they are, and by how much they are turned."""

    way: Literal["x", "y"]
    ticks: list[tuple[str, float]]
    across: float
    angle: str = ""

    def names(self) -> list[str]:
        """Names from left to right, or from top to bottom."""
        return [text for text, _ in sorted(self.ticks, key=lambda tick: tick[1])]

    def at(self, value: str | float) -> float:
        """Where a name is; where a value is, by the first and the last tick, on a scale that fits those between."""
        if isinstance(value, str):
            return dict(self.ticks)[value]
        ticks = sorted((number(text), place) for text, place in self.ticks)
        for bend in (float, _root):
            (first, start), *_, (last, end) = [(bend(tick), place) for tick, place in ticks]
            values = [*(tick for tick, _ in ticks), value]
            places = [start + (bend(at) - first) / (last - first) * (end - start) for at in values]
            if all(abs(a - b) <= PIXEL for a, (_, b) in zip(places, ticks, strict=False)):
                return places[-1]
        raise AssertionError(f"no scale fits: {ticks}")

    def ascends(self) -> bool:
        """Whether values grow to the right, or upwards."""
        values = [number(text) for text, _ in sorted(self.ticks, key=lambda tick: tick[1])]
        return (values[0] < values[-1]) is (self.way == "x")


@dataclass
class Panel:
    """A panel: where it is, its title, what it shows, and its axes."""

    left: float
    top: float
    right: float
    bottom: float
    title: str = ""
    marks: list[Mark] = field(default_factory=list)
    axes: dict[str, Axis] = field(default_factory=dict)

    @property
    def x(self) -> Axis:
        """The horizontal axis."""
        return self.axes["x"]

    @property
    def y(self) -> Axis:
        """The vertical axis."""
        return self.axes["y"]

    def of(self, kind: str) -> list[Mark]:
        """The marks of a kind."""
        return [mark for mark in self.marks if mark.kind == kind]


@dataclass
class Drawing:
    """A chart: its panels in reading order, its legend, names to colours, and their shapes there."""

    panels: list[Panel]
    legend: dict[str, str]
    shapes: dict[str, str]


def lines(drawing: Drawing) -> Iterator[str]:
    """What is around the marks of a drawing: its legend, and each panel's title and ticks, with places from 0 to 1."""
    if drawing.legend:
        yield f"legend: {', '.join(drawing.legend)}"
    for panel in drawing.panels:
        for way, start, end in (("x", panel.left, panel.right), ("y", panel.bottom, panel.top)):
            axis = panel.axes.get(way, Axis("x", [], 0))
            ticks = " | ".join(f"{text} {(at - start) / (end - start):.2f}" for text, at in axis.ticks)
            yield f"{panel.title} {way}{axis.angle and f' turned by {axis.angle}'}: {ticks or 'nothing'}"


def number(text: str) -> float:
    """The value of a tick's text, below which a number of dialogues may stand."""
    text = text.partition(" n=")[0]
    text = text.replace("\N{MINUS SIGN}", "-").replace(",", "")
    factor = _SUFFIXES.get(text[-1:], 1.0)
    return float(text[:-1] if factor != 1.0 else text) * factor


def _root(value: float) -> float:
    return math.copysign(math.sqrt(abs(value)), value)


class _Reader:
    def __init__(self) -> None:
        self.panels: list[Panel] = []
        self.axes: list[Axis] = []
        self.legend: dict[str, str] = {}
        self.symbols: list[tuple[str, str]] = []
        self.shapes: dict[str, str] = {}

    def walk(self, node: Xml.Element, x: float, y: float, roles: Sequence[str], panel: Panel | None) -> None:
        for move in _MOVE.findall(node.get("transform", ""))[:1]:
            x, y = x + float(move[0]), y + float(move[1])
        roles = [*roles, *re.findall(r"role-[\w-]+", node.get("class", ""))]
        if roles and roles[-1] == "role-axis" and node.get("class") and node.get("aria-hidden") != "true":
            self._axis(node, x, y)
        tag, in_mark = node.tag.rpartition("}")[2], "role-mark" in roles
        background = node.find("./{*}path[@class='background']") if tag == "g" else None
        if background is not None and not in_mark and not {"role-axis", "role-legend", "role-title"} & {*roles}:
            box = _RECT.match(background.get("d", ""))
            if box and float(box[3]) and float(box[4]):
                edges = x, y, x + float(box[3]), y + float(box[4])
                if panel is None or edges != (panel.left, panel.top, panel.right, panel.bottom):
                    panel = Panel(*edges)
                    self.panels.append(panel)
        if in_mark and panel is not None and (mark := _mark(node, tag, x, y)):
            panel.marks.append(mark)
        text = re.sub(r"([-_/]) ", r"\1", " ".join(node.itertext())).strip() if tag == "text" else ""
        if text and panel is not None and "role-title-text" in roles:
            panel.title = " ".join(filter(None, [panel.title, text]))
        if "role-legend-symbol" in roles and tag == "path":
            fill = node.get("fill", "none")
            colour = node.get("stroke", "") if fill in ("none", "transparent") else fill
            self.symbols.append((colour, _outline(node)))
        if "role-legend-label" in roles and text and self.symbols:
            self.legend[text], self.shapes[text] = self.symbols.pop(0)
        for inner in node:
            self.walk(inner, x, y, roles, panel)

    def _axis(self, node: Xml.Element, x: float, y: float) -> None:
        inner = node.find("{*}g")
        assert inner is not None
        for move in _MOVE.findall(inner.get("transform", ""))[:1]:
            x, y = x + float(move[0]), y + float(move[1])
        lines = [line for group in _of_role(inner, "role-axis-tick") for line in group.findall(".//{*}line")]
        texts = [text for group in _of_role(inner, "role-axis-label") for text in group.findall(".//{*}text")]
        label = [tuple(map(float, _MOVE.findall(text.get("transform", ""))[0])) for text in texts]
        if not texts:
            return
        flat = "X-axis" in node.get("aria-label", "")
        at = [place[0 if flat else 1] for place in label]
        ticks = [tuple(map(float, _MOVE.findall(line.get("transform", ""))[0]))[0 if flat else 1] for line in lines]
        if len(ticks) == len(at):  # letters of a row stand below its tick
            shift = median(a - b for a, b in zip(at, ticks, strict=True))
            at = ticks if abs(shift) > PIXEL else at
        shown = [" ".join(part.strip() for part in text.itertext() if part.strip()) for text in texts]
        places = [place + (x if flat else y) for place in at]
        (angle, *_) = [*re.findall(r"rotate\(([-\d.]+)", texts[0].get("transform", "")), ""]
        self.axes.append(Axis("x" if flat else "y", list(zip(shown, places, strict=True)), y if flat else x, angle))


def _of_role(node: Xml.Element, role: str) -> list[Xml.Element]:
    return [group for group in node.findall(".//{*}g") if role in group.get("class", "").split()]


def _mark(node: Xml.Element, tag: str, x: float, y: float) -> Mark | None:
    fill, stroke = node.get("fill", "none"), node.get("stroke", "none")
    colour = fill if fill not in ("none", "transparent") else stroke
    opacity = float(node.get("fill-opacity") or node.get("opacity") or 1)
    d, told = node.get("d", ""), node.get("aria-label", "")
    if tag == "text":
        return Mark("text", x, y, x, y, colour, opacity, " ".join("".join(node.itertext()).split()), told=told)
    if tag == "line":
        right, bottom = x + float(node.get("x2", 0)), y + float(node.get("y2", 0))
        return Mark("rule", x, y, right, bottom, colour, opacity, "", told=told)
    if tag != "path" or not d:
        return None
    if node.get("transform"):
        size = max(abs(float(part)) for part in re.findall(r"-?[\d.]+", d)) ** 2
        return Mark("point", x, y, x, y, colour, opacity, "", told=told, shape=_outline(node), size=size)
    if box := _RECT.match(d):
        left, top, width, height = map(float, box.groups())
        return Mark("rect", x + left, y + top, x + left + width, y + top + height, colour, opacity, "", told=told)
    points = tuple((x + float(a), y + float(b)) for a, b in re.findall(r"([-\d.e]+),([-\d.e]+)", d))
    dash = node.get("stroke-dasharray", "")
    return Mark("line", *points[0], *points[-1], colour, opacity, "", points, told, dash)


def _outline(node: Xml.Element) -> str:
    """The letters of a path, and the signs of its numbers."""
    parts = re.findall(r"[A-Za-z]|-?[\d.]+", node.get("d", ""))
    return "".join(part if part.isalpha() else "+-0"[2 * (abs(float(part)) < 0.1) or part[0] == "-"] for part in parts)


def read(svg: str | bytes) -> Drawing:
    """What is seen in an SVG."""
    reader = _Reader()
    reader.walk(Xml.fromstring(svg), 0, 0, [], None)  # noqa: S314 (our own drawing)
    panels = [panel for panel in reader.panels if panel.marks]
    for panel in panels:
        for axis in reader.axes:
            low, high = (panel.left, panel.right) if axis.way == "x" else (panel.top, panel.bottom)
            if all(low - 2 <= at <= high + 2 for _, at in axis.ticks):
                edge = panel.bottom if axis.way == "x" else panel.left
                best = panel.axes.get(axis.way)
                if best is None or abs(axis.across - edge) < abs(best.across - edge):
                    panel.axes[axis.way] = axis
    return Drawing(panels, reader.legend, reader.shapes)


#: The width of a drawing of one panel or two on a page, at the scale of paper.
PAGE_WIDTH = 340
#: What the mouse shows of a mark, its colour, and its path and place.
OfMark = tuple[str, str, str, str]


def on_page(svg: str, colours: dict[str, str]) -> tuple[float, list[OfMark]]:
    """The width of a drawing on a page, at the scale of paper, and its marks."""
    root, marks = Xml.fromstring(svg), list[OfMark]()  # noqa: S314 (our own drawing)
    for node in root.iter():
        if (title := node.find("title")) is not None:
            variable = re.fullmatch(r"var\(--(s\d)\)", _colour(node))
            colour = colours[variable[1]] if variable else "#000000"
            marks.append((title.text or "", colour, node.get("d", ""), node.get("transform", "")))
    return float(root.get("width", 0)) / 1.5, marks


def on_paper(svg: str) -> list[OfMark]:
    """The marks of a figure, spelled as pages do."""
    marks = []
    for node in Xml.fromstring(svg).iter():  # noqa: S314 (our own drawing)
        if (told := node.get("aria-label")) and node.get("aria-roledescription") != "axis" and not len(node):
            told = re.sub(r"(\d+\.\d{6})%", lambda share: f"{float(share[1]):.2f} %", told)
            path, place = (re.sub(r"(\.\d\d)\d+", r"\1", node.get(key, "")) for key in ("d", "transform"))
            marks.append((told, _colour(node), path, place))
    return marks


def _colour(node: Xml.Element) -> str:
    fill = node.get("fill", "none")
    return node.get("stroke", "") if fill in ("none", "transparent") else fill
