"""Every chart shows what its command says: marks are read back and compared with the rows of the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.contract import charts, drawn, recorded
from tests.contract.charts import CHARTS, LATER, LINES, REPORTED, Chart, Marks, Rows, in_order
from tests.contract.commands import run
from tests.contract.drawn import Drawing, Mark, Panel
from tests.contract.options import ROWS

Made = tuple[dict[str, Any], dict[str, Drawing]]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Made]]:
    """The JSON and the drawings of a command line, each made once."""
    folder, kept = tmp_path_factory.mktemp("charts"), dict[str, Made]()
    charts.write(folder)

    def of(name: str) -> Made:
        if name not in kept:
            place = folder / f"drawings {len(kept)}"
            drawing = ("--format", "json", "--figure-format", "svg", "--figures", str(place))
            code, out, err = run(*LINES[name].split(), *drawing, *(("-o", "-") if name == "report" else ()))
            assert not code, err
            kept[name] = json.loads(out), {file.stem: drawn.read(file.read_bytes()) for file in place.iterdir()}
        return kept[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield of


def test_every_command_that_draws_has_rows() -> None:
    drawing = {command for command, option in ROWS if option == "--figures"}
    assert drawing == {" ".join(line.split()[: 1 + line.startswith("audit")]) for line in LINES.values()}
    assert LINES.keys() == CHARTS.keys()


def case(name: str, *more: str) -> Any:
    """A case of the tests below, of the layer that draws the command line."""
    return pytest.param(name, *more, marks=[pytest.mark.looks] if name in LATER else [])


@pytest.mark.parametrize("name", [case(name) for name in LINES])
def test_every_chart_of_a_command_has_a_row(name: str, make: Callable[[str], Made]) -> None:
    _, drawings = make(name)
    assert drawings.keys() == CHARTS[name].keys()
    legends = [(name, colour) for drawing in drawings.values() for name, colour in drawing.legend.items()]
    runs = {name for name, _ in legends} & {"keen", "steady", "hasty"}
    assert all(len({colour for name, colour in legends if name == run}) == 1 for run in runs)  # the same in each chart


@pytest.mark.parametrize(("name", "stem"), [case(name, stem) for name in CHARTS for stem in CHARTS[name]])
def test_marks_are_where_the_json_says(name: str, stem: str, make: Callable[[str], Made]) -> None:
    result, drawings = make(name)
    if name == "report":
        result = result[REPORTED[stem]]
        result = result if isinstance(result, dict) else {"scores": result, "sweep": result}
    compare(CHARTS[name][stem], drawings[stem], result)


@pytest.mark.parametrize(("name", "stem"), [case(name, stem) for name in CHARTS for stem in CHARTS[name]])
def test_axes_and_legends_are_as_recorded(name: str, stem: str, make: Callable[[str], Made]) -> None:
    _, drawings = make(name)
    recorded.check("charts", f"{name}: {stem}", "\n".join(drawn.lines(drawings[stem])))


@pytest.mark.again
@pytest.mark.parametrize("runs", ["small/keen.jsonl", pytest.param(charts.RUNS, marks=pytest.mark.looks)])
def test_the_page_of_a_report_has_the_marks_of_its_figures(runs: str, make: Callable[[str], Made]) -> None:
    """In the same places, too, if figures are as wide: those of two panels at most."""
    make("score")  # the corpora
    words = ["report", *runs.split(), "-m", "fga,gca", "--most", "1", "-o", "page.html"]
    folder = Path(f"of {len(words)}")
    assert not run(*words, "--figures", str(folder), "--width", str(drawn.PAGE_WIDTH)).code
    page = Path("page.html").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--(s\d): (#\w+);", page.partition("@media")[0]))
    on_page = [drawn.on_page(svg, colours) for svg in drawn.SVG.findall(page)]
    figures = {file.stem: drawn.on_paper(file.read_text(encoding="utf-8")) for file in folder.iterdir()}
    assert len(figures) > 12
    of_width = [marks for width, marks in on_page if width == drawn.PAGE_WIDTH]
    assert len(of_width) > 4
    assert all(marks in figures.values() for marks in of_width)
    seen = [[mark[:2] for mark in marks] for _, marks in on_page]
    assert all([mark[:2] for mark in marks] in seen for marks in figures.values())


# --- how a chart is compared ------------------------------------------------------------------------------------------


def compare(chart: Chart, drawing: Drawing, result: dict[str, Any]) -> None:
    """Whether a drawing has the marks of the rows, and no other."""
    rows = chart.rows(result)
    assert rows
    shown = [row for row in rows if all(row.get(key, 0) is not None for marks in chart.marks for key in ends(marks.x))]
    names = in_order(shown, chart.panel) if chart.panel else [""]
    is_divided = bool(chart.panel) and len(in_order(rows, chart.panel)) > 1
    assert [panel.title for panel in drawing.panels] == (names if is_divided else [chart.below.format(**rows[0])])
    colours = in_order(rows, chart.colour) if chart.colour else []
    if len(colours) > 1:
        known = drawing.legend or {mark.text: mark.colour for panel in drawing.panels for mark in panel.of("text")}
        assert {*colours} <= known.keys()
        assert not drawing.legend or [*known][: len(colours)] == colours
        assert len({known[name] for name in colours}) == len(colours)
    else:
        known = {}
    for title, panel in zip(names, drawing.panels, strict=True):
        own = [row for row in rows if not chart.panel or row[chart.panel] == title]
        kinds = set()
        for marks in chart.marks:
            kinds.add("line" if marks.kind == "area" else marks.kind)
            of = own if marks.of is None else [row for row in marks.of(result) if row.get(chart.panel, title) == title]
            check_axes(chart, marks, panel, own if chart.own else rows, of)
            if marks.kind in ("line", "area"):
                check_lines(chart, marks, panel, of, known)
            elif marks.x:
                check_marks(chart, marks, panel, of, known)
            else:
                texts = sorted(panel.of("text"), key=lambda mark: mark.top)
                assert [mark.text for mark in texts] == [row[marks.text] for row in of]
                assert one_to_one((row[marks.sign], mark.colour) for row, mark in zip(of, texts, strict=True))
        assert {mark.kind for mark in panel.marks} <= kinds
    check_looks(chart, drawing, colours, known)


def ends(column: str | tuple[str, str]) -> tuple[str, ...]:
    return (column,) if isinstance(column, str) else column


def check_axes(chart: Chart, marks: Marks, panel: Panel, rows: Rows, own: Rows) -> None:
    """Names stand in their order, numbers grow to the right or upwards, and whole ones have whole ticks."""
    for way, column in (("x", marks.x), ("y", marks.y)):
        values = [row[key] for row in own for key in ends(column) if key]
        if any(isinstance(value, str) for value in values):
            (key,) = ends(column)
            of = rows if key in rows[0] else own
            assert panel.axes[way].names() == (chart.order[key](of) if key in chart.order else in_order(of, key))
        elif values:
            assert panel.axes[way].ascends()
            if all(isinstance(value, int) for value in values):
                ticks = [drawn.number(text) for text, _ in panel.axes[way].ticks]
                assert all(tick == int(tick) for tick in ticks), f"{column} is a whole number: {ticks}"
                assert len({*ticks}) == len(ticks)


def places(panel: Panel, marks: Marks, row: dict[str, Any], shift: float) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a row's mark."""
    xs = sorted(panel.x.at(row[key]) for key in ends(marks.x))
    ys = sorted(panel.y.at(row[key]) + shift for key in ends(marks.y))
    return xs[0], ys[0], xs[-1], ys[-1]


def box(mark: Mark, marks: Marks) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a mark; its middle, where rows have but one place."""
    (left, right), (top, bottom) = sorted((mark.left, mark.right)), sorted((mark.top, mark.bottom))
    if isinstance(marks.x, str):
        left = right = (left + right) / 2
    if isinstance(marks.y, str):
        top = bottom = (top + bottom) / 2
    return left, top, right, bottom


def check_marks(chart: Chart, marks: Marks, panel: Panel, rows: Rows, colours: dict[str, str]) -> None:
    """Each row has its mark, and each mark its row."""
    left, shades, signs = panel.of(marks.kind), [], []
    sizes: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if any(row[key] is None for column in (marks.x, marks.y) for key in ends(column)):
            continue  # what is not defined has no mark
        colour = colours.get(row.get(chart.colour, ""))
        shift = 0.0
        if chart.beside and colours:
            height = left[0].bottom - left[0].top
            shift = ([*colours].index(row[chart.colour]) - (len(colours) - 1) / 2) * height
        wanted = places(panel, marks, row, shift)
        is_named = [isinstance(row[ends(column)[0]], str) for column in (marks.x, marks.y)]
        rooms = [3.0 if named else 1.5 for named in is_named * 2]  # letters stand a little below their middle
        if marks.near:
            rooms = 2 * [8, panel.bottom]  # beside the place, or above it
        fit = [mark for mark in left
               if all(abs(a - b) <= room for a, b, room in zip(box(mark, marks), wanted, rooms, strict=True))
               and colour in (None, mark.colour) and says(mark, row.get(marks.text))]  # fmt: skip
        assert fit, (row, wanted, [box(mark, marks) for mark in left])
        mark = min(fit, key=lambda mark: sum(abs(a - b) for a, b in zip(box(mark, marks), wanted, strict=True)))
        columns = chart.told if marks.kind in ("rect", "point") else (*ends(marks.x), *ends(marks.y))
        assert told(mark, [row[key] for key in columns if key in row]), (mark.told, row)
        left.remove(mark)
        shades.append((abs(row.get(marks.shade, 0)), mark.opacity))
        sizes.setdefault(mark.colour, []).append((row.get(marks.size, 0), mark.size))
        signs.append((row.get(marks.sign, 0) < 0, mark.colour))
        if marks.near:
            assert mark.top <= wanted[1] + 3
    assert not left, left
    assert not marks.shade or grows(shades), shades
    assert not marks.size or all(map(grows, sizes.values())), sizes
    if marks.near:
        ordered = sorted(rows, key=lambda row: row[ends(marks.y)[0]])
        tops = {mark.text: mark.top for mark in panel.of(marks.kind)}
        assert all(tops[a[marks.text]] > tops[b[marks.text]] + 7 for a, b in pairwise(ordered))  # letters' height
    assert not marks.sign or one_to_one(signs)
    if not colours and not marks.sign and marks.kind != "text":
        assert len({mark.colour for mark in panel.of(marks.kind)}) == 1


def check_lines(chart: Chart, marks: Marks, panel: Panel, rows: Rows, colours: dict[str, str]) -> None:
    """Each name has a line through its rows' places, or what is enclosed by them."""
    lines = [line for line in panel.of("line") if (line.opacity < 1) is (marks.kind == "area")]
    names = in_order(rows, chart.colour)
    assert len(lines) == len(names)
    for name in names:
        (line,) = (line for line in lines if not colours or line.colour == colours[name])
        spots = [places(panel, marks, row, 0) for row in rows if row[chart.colour] == name]
        wanted = [(x, bottom) for x, _, _, bottom in spots]
        if marks.kind == "area":
            wanted += [(x, top) for x, top, _, _ in reversed(spots)]
        assert all(abs(a - b) <= 1.5 for one, other in zip(line.points, wanted, strict=True)
                   for a, b in zip(one, other, strict=True)), (line.points, wanted)  # fmt: skip


def check_looks(chart: Chart, drawing: Drawing, colours: list[str], known: dict[str, str]) -> None:
    """Names of lines and points differ in more than their colours, and as the legend says."""
    kinds = {marks.kind for marks in chart.marks} & {"line", "point"}
    shapes: dict[tuple[str, str], set[str]] = {}
    for mark in (mark for panel in drawing.panels for mark in panel.marks):
        if known and mark.kind in kinds and not (mark.kind == "line" and mark.opacity < 1):
            shapes.setdefault((mark.kind, mark.colour), set()).add(mark.shape)
    for kind in kinds if known else ():
        own = [shapes[kind, known[name]] for name in colours]
        assert all(len(of) == 1 for of in own)
        assert len(set.union(*own)) == len(own)
        if kind == "point" and drawing.legend:
            assert [of.copy().pop() for of in own] == [drawing.shapes[name] for name in colours]


def says(mark: Mark, text: str | tuple[float, int, str] | None) -> bool:
    """Whether a mark has this text, or this number with so many decimals."""
    if text is None or isinstance(text, str):
        return text in (None, mark.text)
    value, decimals, more = text
    shown = mark.text.removesuffix("*")
    is_close = abs(drawn.number(shown) - value) <= 0.5 * 10**-decimals + 1e-4
    return is_close and mark.text == shown + more and len(shown.partition(".")[2]) == decimals


def told(mark: Mark, values: list[Any]) -> bool:
    """Whether the mouse shows these values, if it shows anything."""
    shown = [part.rpartition(": ")[2] for part in mark.told.split("; ")]
    numbers = [drawn.number(text) for text in shown if re.fullmatch(r"[\N{MINUS SIGN}-]?[\d.,]+%?", text)]
    return not mark.told or all(
        value in shown if isinstance(value, str) else any(abs(value - n) <= 6e-5 for n in numbers) for value in values
    )


def one_to_one(pairs: Iterable[tuple[Any, Any]]) -> bool:
    """Whether each of one kind has its own of the other."""
    pairs = {*pairs}
    return len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


def grows(pairs: list[tuple[float, float]]) -> bool:
    """Whether what is drawn grows in step with values."""
    (low, first), (high, last) = min(pairs), max(pairs)
    slope = (last - first) / (high - low) if high > low else 0.0
    return (slope > 0 or high - low < 1e-3) and all(
        abs(first + slope * (value - low) - seen) <= 0.02 * (last - first) + 1e-3 for value, seen in pairs
    )
