"""Figures for papers: their size, their look without colour, and what is said where nothing can draw them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench import audit
from dstbench.demo import synthetic
from dstbench.rendering import charts, figures
from tests import formats
from tests.commands import run

pytest.importorskip("vl_convert", reason="figures are drawn by vl-convert (the extra `report`)")

RUNS = synthetic(20)
WIDTH = 238  # points: 3.3 inches


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[dict[str, Any], str]]:
    """Each chart and what is drawn of it, of three runs and, where that is drawn otherwise, of one."""
    one = {"one": RUNS["eager"]}
    found = {
        **charts.diagnosis_charts(dstbench.diagnose(RUNS)),
        **{f"{name} of one": chart for name, chart in charts.diagnosis_charts(dstbench.diagnose(one)).items()},
        **charts.trait_charts(dstbench.traits(RUNS)),
        **charts.correlation_charts(dstbench.correlate(RUNS, metrics="jga,fga,gca")),
        **charts.leaderboard_charts(dstbench.compare(RUNS, resamples=100)),
    }
    found |= {f"{name} of audits": chart for name, chart in audit_charts({"one": RUNS["eager"]}).items()}
    return {name: (chart, figures.draw_figure(chart, "svg").decode()) for name, chart in found.items()}


def audit_charts(runs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The charts of audits that have a panel per run."""
    gold = next(iter(runs.values()))
    said = dstbench.scan(gold).select("dialogue", "turn").unique().collect().with_columns(system=None, user=pl.lit("."))
    memorised = audit.memorisation(runs, context=said.cast({"system": pl.String}), train=gold)
    scored = audit.scores(runs, {"old": gold, "new": gold}, profile="verbatim")
    return {**charts.version_charts(scored), **charts.memorisation_charts(memorised)}


@pytest.mark.parametrize("runs", [2, 7])
def test_panels_of_runs_fit_on_a_page(runs: int) -> None:
    named = {f"a_tracker_with_a_long_name_seed_{n}": RUNS["eager"] for n in range(runs)}
    for name, chart in audit_charts(named).items():
        svg = figures.draw_figure(chart, "svg").decode()
        width, height = re.findall(r'<svg [^>]*width="([0-9.]+)pt" height="([0-9.]+)pt"', svg)[0]
        assert float(width) == pytest.approx(WIDTH if runs == 2 else 505, rel=0.05), name
        assert float(height) < 700, name
        for line in ("a_tracker_", "with_a_long_", "name_seed_"):
            assert svg.count(f">{line}<") == runs, name


def test_nothing_is_drawn_too() -> None:
    same = audit.diff(RUNS["eager"], RUNS["eager"])
    for chart in charts.difference_charts(same).values():
        assert b"<svg" in figures.draw_figure(chart, "svg")


def encodings(chart: Any) -> Iterator[dict[str, Any]]:
    if isinstance(chart, dict):
        if "encoding" in chart:
            yield chart["encoding"]
        for part in chart.values():
            yield from encodings(part)
    elif isinstance(chart, list):
        for part in chart:
            yield from encodings(part)


def test_they_are_as_wide_as_a_column(drawn: dict[str, tuple[dict[str, Any], str]]) -> None:
    for name, (_, svg) in drawn.items():
        width, height = re.findall(r'<svg [^>]*width="([0-9.]+)pt" height="([0-9.]+)pt"', svg)[0]
        assert float(width) == pytest.approx(WIDTH, abs=WIDTH * 0.05), name
        assert float(height) < 2 * WIDTH or name == "correlations", name


def test_runs_are_told_apart_without_colour(drawn: dict[str, tuple[dict[str, Any], str]]) -> None:
    """Wherever colour names the run, shape does too, or there is one run only."""
    for name, (chart, _) in drawn.items():
        for encoding in encodings(chart):
            if encoding.get("color", {}).get("field") == "run" and len(encoding["color"]["scale"]["domain"]) > 1:
                assert encoding["shape"]["field"] == "run", name
                assert encoding["strokeDash"]["field"] in ("run", "metric"), name
    (line, svg), (bar, _) = drawn["by_turn"], drawn["first_failures of one"]
    assert bar["mark"]["type"] == "bar"
    assert line["mark"]["type"] == "line"
    for run_name in RUNS:
        assert svg.count(f">{run_name}<") == 1  # one legend, whatever the channels


def test_the_same_gold_is_drawn_once(drawn: dict[str, tuple[dict[str, Any], str]]) -> None:
    chart, _ = drawn["gold_slots"]
    assert {row["run"] for row in chart["data"]["values"]} == {"careful"}
    other = {**RUNS, "other": synthetic(21)["eager"]}
    assert len({row["run"] for row in charts.gold_slots(dstbench.diagnose(other).gold_slots)["data"]["values"]}) == 4


def test_panels_are_in_the_order_of_metrics() -> None:
    found = charts.leaderboard_charts(dstbench.compare(RUNS, metrics="jga,aga", resamples=100))
    assert found["scores"]["facet"]["row"]["sort"] == ["jga", "aga"]
    svg = figures.draw_figure(found["scores"], "svg").decode()
    assert svg.index(">jga<") < svg.index(">aga<")


def test_the_formats() -> None:
    chart = charts.jga_line(dstbench.diagnose(RUNS).by_turn, "turn", "turn")
    before = json.dumps(chart)
    assert figures.draw_figure(chart, "pdf").startswith(b"%PDF")
    png = figures.draw_figure(chart, "png")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == pytest.approx(WIDTH / 72 * 300, rel=0.05)
    assert json.dumps(chart) == before  # nothing is drawn into what was given


def test_names_are_text() -> None:
    hostile = {"</text><script>x</script>": RUNS["eager"], "b": RUNS["careful"]}
    svg = figures.draw_figure(charts.diagnosis_charts(dstbench.diagnose(hostile))["by_turn"], "svg").decode()
    assert "<script" not in svg


def test_on_the_command_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("model.json").write_text(formats.gtpr())
    code, _, err = run(
        "traits", "model.json", "--figures", "new/figures", "--charts", "specs", "--figure-format", "png"
    )
    assert code == 0
    wanted = [Path("specs/to_mean.vl.json"), Path("specs/nu_paper.vl.json")]
    wanted += [Path("new/figures/to_mean.png"), Path("new/figures/nu_paper.png")]
    assert err.splitlines() == [f"wrote {path}" for path in wanted]
    assert all(path.stat().st_size for path in wanted)


def test_without_the_package_one_message_says_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(dstbench.DstbenchError, match=r"not installed\nhint: pip install 'dstbench\[report\]'"):
        figures.check_drawing()


def test_kinds_of_errors_are_the_diagnosis_s_counts() -> None:
    found = dstbench.diagnose(RUNS)
    chart = charts.diagnosis_charts(found)["errors"]
    counts = {(row["run"], row["class"]): row["n"] for row in chart["data"]["values"]}
    wrong = found.errors.filter((pl.col("kind") != "correct") & (pl.col("n") > 0))
    assert counts == {(run, name): n for run, name, n in wrong.select("run", "class", "n").iter_rows()}
    shown = chart["spec"]["encoding"]["y"]["sort"]
    assert shown == [name for name in found.errors["class"].unique(maintain_order=True) if name in set(wrong["class"])]


def test_scores_by_turn_have_a_panel_per_run_and_a_line_per_metric() -> None:
    scores = dstbench.score(RUNS, metrics="jga,rsa", by="turn")
    chart = charts.scores_by_turn(scores)
    assert chart["facet"]["row"]["field"] == "run"
    assert [chart["spec"]["encoding"][name]["field"] for name in ("color", "shape", "strokeDash")] == ["metric"] * 3
    assert [row["value"] for row in chart["data"]["values"]] == scores["value"].to_list()
