"""Charts: their size on paper, their look, and what of them comes on a page; `tests/contract` has their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.rendering.charts.chart import COLOURS, Chart
from dstbench.rendering.charts.draw import draw_figure, specification
from dstbench.rendering.charts.runs import jga_line
from tests import formats
from tests.commands import run
from tests.contract import charts, drawn

pytestmark = [pytest.mark.looks, pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")]

COLUMN, PAGE = 219, 455  # points: the widths of ACL's column and text
LONG = "aTrackerWithALongNameOfOneWordSeed"  # which is not shortened
TEN = [f"{LONG}{n}" for n in range(10)]
#: Charts that name no run, and those that draw all of them in one.
NAMELESS = {"bias", "values", "pairs", "modified", "speakers", "sensitivity", "spread", "orders", "traits",
            "gold_slots", "judged"}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The corpora, and ten runs of each with long names that differ at their ends."""
    place = tmp_path_factory.mktemp("figures")
    charts.write(place)
    for n, name in enumerate(TEN):
        for of in (place, place / "small"):
            tracker = ("keen", "steady", "hasty")[n % 3]
            (of / f"{name}.jsonl").write_text((of / f"{tracker}.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        yield place


def of_ten(line: str) -> list[str]:
    """A command line with ten runs in place of each list of several."""
    line = line.replace(charts.RUNS, " ".join(f"small/{name}.jsonl" for name in TEN))
    return line.replace("keen.jsonl steady.jsonl", " ".join(f"{name}.jsonl" for name in TEN)).split()


def size(svg: str) -> tuple[float, float]:
    ((width, height),) = re.findall(r'<svg [^>]*width="([0-9.]+)pt" height="([0-9.]+)pt"', svg)
    return float(width), float(height)


@pytest.mark.parametrize(
    "name",
    [name for name in charts.LINES if name not in ("report", "compare models", "diagnose a little", "score along")],
)
def test_figures_fit_on_a_page_and_name_every_run_whole(name: str, folder: Path) -> None:
    words = of_ten(charts.LINES[name])
    for width in (None, 300) if LONG in " ".join(words) else (None,):
        place = folder / f"{name} {width}"
        code, _, err = run(*words, "--figures", str(place), *(("--width", str(width)) if width else ()))
        assert code == 0, err
        for file in place.iterdir():
            svg = file.read_text(encoding="utf-8")
            is_wide, height = size(svg)
            assert any(
                is_wide == pytest.approx(wanted, rel=0.03) for wanted in ([width] if width else (COLUMN, PAGE))
            ), file
            assert height <= 700 or width, file
            if LONG in " ".join(words) and file.stem not in NAMELESS:
                assert all(re.search(rf">[^<]*Seed{n}(?: |<)", svg) for n in range(10)), file


def by_turn(runs: dict[str, Any]) -> Chart:
    return jga_line(dstbench.diagnose(runs).by_turn, "turn")


def test_the_formats_and_a_notebook() -> None:
    chart = by_turn(synthetic(20))
    before = chart.to_json()
    assert draw_figure(chart, "pdf").startswith(b"%PDF")
    png = draw_figure(chart, "png")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == pytest.approx(COLUMN / 72 * 300, rel=0.05)
    assert chart.to_json() == before  # nothing is drawn into what was given
    assert specification(chart)["config"]["range"]["category"] == list(COLOURS)


def test_on_a_page_a_drawing_has_the_page_s_colours_and_nothing_but_shapes(folder: Path) -> None:
    assert run(*of_ten(charts.LINES["report"]), "-o", "page.html")[0] == 0
    drawings = drawn.SVG.findall((folder / "page.html").read_text(encoding="utf-8"))
    assert len(drawings) > 15
    for svg in drawings:
        assert set(re.findall(r"<([a-z]+)", svg)) <= {"svg", "g", "path", "line", "text", "tspan", "rect", "title"}
        assert not re.findall(r" (?:style|class|href|on\w+|font-family)=", svg)
        assert not set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', svg))  # no colour that is not the page's


def test_what_cannot_be_drawn_is_refused(here: Path) -> None:
    Path("model.json").write_text(formats.gtpr())
    code, _, err = run("score", "model.json", "--by", "dialogue", "--figures", "figures")
    assert code == 2
    assert "there is no figure of scores by dialogue" in err
    assert not Path("figures").exists()
    Path("taken").write_text("")
    code, _, err = run("diagnose", "model.json", "--charts", "taken")
    assert code == 1
    assert "cannot be made" in err
