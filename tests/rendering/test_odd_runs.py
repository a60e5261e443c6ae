"""Runs with odd names, metrics that are counts or of the user's own, and gold without slots: right numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any
from xml.etree import ElementTree as Xml

import polars as pl
import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.errors import UsageError
from dstbench.metrics import Metric
from dstbench.metrics.base import divide, turns
from dstbench.rendering import chapters
from dstbench.rendering.charts import runs as of_runs
from dstbench.rendering.charts.draw import draw_figure
from dstbench.rendering.charts.runs import trait_charts
from dstbench.rendering.tables import render
from dstbench.rendering.terminal import Screen, laid_out_for
from dstbench.runs.run import Run

pytestmark = [pytest.mark.looks, pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")]

RUNS = synthetic(12)
PLAIN = ("A", "B", "C")
#: Names that tables have as columns, or that one of them needs for another run.
NAMES = [
    ("turn", "n of turn", "mean"),
    ("profile", "profile ", "domain"),
]
PROFILES = ("verbatim", "star", "trade")


@cache
def opened() -> list[Run]:
    """The runs, whose rows are laid out once, whatever they are called."""
    return dstbench.open_runs(RUNS)


def shown(names: tuple[str, ...]) -> dict[str, str]:
    runs = dict(zip(names, opened(), strict=True))
    swept, diagnosis = dstbench.sweep(runs, profiles=PROFILES), dstbench.diagnose(runs)
    parts = {f"sweep {form}": render({"sweep": swept}, form) for form in ("text", "md", "latex")}
    parts |= {f"diagnose {form}": render(diagnosis, form) for form in ("text", "md", "latex")}
    chart = of_runs.sweep_charts(swept)["conventions"]
    values = [row["value"] for row in chart.to_dict()["data"]["values"]]
    return {**parts, "chart": str(values)}


@pytest.fixture(scope="module")
def plainly_shown() -> dict[str, str]:
    return shown(PLAIN)


@pytest.mark.parametrize("names", NAMES)
def test_tables_and_figures_have_the_same_numbers_whatever_runs_are_called(
    names: tuple[str, ...], plainly_shown: dict[str, str]
) -> None:
    for part, text in shown(names).items():
        assert re.findall(r"\d+\.\d+", text) == re.findall(r"\d+\.\d+", plainly_shown[part]), part


@pytest.mark.parametrize("name", ["metric", "run", "value"])
def test_a_single_run_is_called_like_a_column(name: str) -> None:
    (states, *_) = RUNS.values()
    report = dstbench.report({name: states}, metrics="jga")
    leaderboard = report.leaderboard
    table = chapters.chapters_of(report)[0].blocks[0].table
    assert table is not None
    assert table.columns[1].strip() == name
    assert table.row(0)[1].startswith(f"{100 * leaderboard.scores['value'][0]:.2f} (")


# --- counts -----------------------------------------------------------------------------------------------------------


def predicting(missing: int, dialogues: int = 20) -> list[dict[str, Any]]:
    """A run that misses the only slot in so many dialogues."""
    gold = {"hotel-area": "north"}
    return [
        {"dialogue_id": f"D{d:02}", "turn": 0, "gold": gold, "pred": {} if d < missing else gold}
        for d in range(dialogues)
    ]


MISSING = {"most": predicting(15), "few": predicting(1), "none": predicting(0)}


def test_a_report_ranks_by_a_metric_of_errors_from_the_fewest() -> None:
    report = dstbench.report(MISSING, metrics="missed")
    table = chapters.chapters_of(report)[0].blocks[0].table
    assert table is not None
    assert table.select("run", "no.", "beats significantly").rows() == [
        ("none", "1", "3"),
        ("few", "2", "3"),
        ("most", "3", "-"),
    ]
    assert "%" not in str(report.charts["conventions"].to_dict()["layer"])
    assert "domains" not in report.charts
    (rows,) = (chapter.blocks[1].table for chapter in chapters.chapters_of(report) if chapter.name == "conventions")
    assert rows is not None
    assert rows.filter(profile="verbatim")["most"].item() == "15"
    report.to_html()


def test_there_is_no_figure_of_counts_by_traits() -> None:
    with pytest.raises(UsageError, match="counts"):
        trait_charts(dstbench.traits(MISSING, metrics="missed"))
    charts = trait_charts(dstbench.traits(RUNS, metrics="fga,missed"))
    assert {row["metric"] for chart in charts.values() for row in chart.to_dict()["data"]["values"]} == {"FGA"}


# --- metrics ----------------------------------------------------------------------------------------------------------


class Lateness(Metric):
    """The share of turns that are wrong: the lower, the better, which dstbench cannot know."""

    name = "wrong-share"

    def stats(self) -> dict[str, pl.Expr]:
        return {"wrong": pl.col("n_correct") != pl.col("n_union"), "turns": turns()}

    def score(self, sums: Any) -> pl.Expr:
        return divide(sums["wrong"], sums["turns"])


def test_no_run_is_called_better_by_a_metric_of_the_users_own() -> None:
    report = dstbench.report(MISSING, metrics=[Lateness()])
    (best, *_) = report.findings
    assert "most has the highest wrong-share, 75.0 %" in best.text
    assert "significantly above" in best.text
    assert "better" not in best.text
    table = chapters.chapters_of(report)[0].blocks[0].table
    assert table is not None
    assert "beats significantly" not in table.columns
    with laid_out_for(Screen(100, coloured=True)):
        assert "\x1b[1m" not in render({"scores": dstbench.score(MISSING, metrics=[Lateness()])}, "text")
        assert "\x1b[1m" in render({"scores": dstbench.score(MISSING, metrics="jga")}, "text")


# --- gold, and names of files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pred", [{}, {"hotel-area": "north"}])
def test_gold_without_slots(pred: dict[str, str], request: pytest.FixtureRequest) -> None:
    if pred:  # figures of nothing are drawn of the others
        request.getfixturevalue("undrawn")
    states = [{"dialogue_id": f"D{d}", "turn": t, "gold": {}, "pred": pred} for d in range(3) for t in range(2)]
    report = dstbench.report({"a": states, "b": states}, metrics="jga,aga,gca")
    write: Callable[[], str]
    for write in (report.to_html, report.to_latex, report.to_markdown, report.to_json):
        assert write()


# --- long names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stem", ["t5", "a_long_name_of_a_tracker_", "a_very_long_name_of_a_tracker_at_a_checkpoint_"])
def test_names_of_columns_can_be_told_apart_and_stand_beside_each_other(stem: str) -> None:
    runs = {f"{stem}seed{n}": states for n, states in enumerate(RUNS.values())}
    heat_map = of_runs.heat_map(dstbench.score(runs, by="slot"), "slot")
    differences = of_runs.leaderboard_charts(dstbench.compare(runs, resamples=200))["differences"]
    for chart in (heat_map, differences):
        drawn = Xml.fromstring(draw_figure(chart, "svg"))  # noqa: S314 # our own drawing
        texts = ["".join(part.itertext()) for part in drawn.iter() if part.tag.endswith("}text")]
        assert {f"seed{n}" for n in (1, 2)} <= set(re.findall(r"seed\d", " ".join(texts)))
    (width,) = {len(name) for name in runs}
    is_sloping = heat_map.to_dict()["layer"][0]["encoding"]["x"]["axis"]["labelAngle"] != 0
    assert is_sloping == (3 * width > 36)
