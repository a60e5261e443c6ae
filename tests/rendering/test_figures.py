"""Charts: their numbers, their size on paper, their look without colour, and what of them comes on a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.demo import synthetic
from dstbench.rendering.charts import draw
from dstbench.rendering.charts import runs as of_runs
from dstbench.rendering.charts.audits import bias_charts, difference_charts, memorisation_charts, version_charts
from dstbench.rendering.charts.dialogues import diagnosis_charts, gold_slots, jga_line, trait_charts
from dstbench.rendering.charts.draw import draw_figure, draw_on_page
from dstbench.rendering.charts.grammar import COLOURS, Chart, Spec
from dstbench.rendering.charts.sensitivity import sensitivity_charts
from dstbench.schema.names import name_of
from tests import formats
from tests.commands import run
from tests.corpora import LARGE, States, corpora

pytestmark = [pytest.mark.looks, pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")]

RUNS = synthetic(20)
COLUMN, PAGE = 219, 455  # points: the widths of ACL's column and text
LONG = "a_tracker_with_a_long_name_seed_"


@cache
def charts_of(count: int) -> dict[str, Chart]:
    """All charts of so many runs, with long names that differ at their ends."""
    metrics = "jga,sa,rsa,aga,f1,fga,gca"
    found = {name: repeated(result, count) for name, result in results_of(min(count, len(RUNS)), metrics).items()}
    charts = {
        **charts_of_no_run(),
        **diagnosis_charts(found["diagnose"]),
        **trait_charts(found["traits"]),
        **of_runs.sweep_charts(found["sweep"]),
        "by turn": of_runs.scores_along(found["by turn"], "turn"),
        "by slot": of_runs.heat_map(found["by slot"], "slot"),
        "by domain": of_runs.heat_map(found["by domain"], "domain"),
        "score": of_runs.score_charts(found["score"])["scores"],
        **version_charts(found["versions"]),
        **memorisation_charts(found["memorisation"]),
    }
    runs = called(count)
    charts |= of_runs.correlation_charts(dstbench.correlate(runs, metrics=metrics))
    if count > 1:
        compared = of_runs.leaderboard_charts(dstbench.compare(runs, metrics=metrics, resamples=100))
        alike = {f"differences_{metric}" for metric in metrics.split(",")[1:-1]}  # but for the title
        charts |= {name: chart for name, chart in compared.items() if name not in alike}
    return charts


@cache
def charts_of_no_run() -> dict[str, Chart]:
    """The charts of gold and of metrics, which look the same for any number of runs."""
    gold, *_ = RUNS.values()
    bias = audit.bias({"train": gold, "test": gold})
    of_metrics = of_runs.metric_charts(dstbench.compare_metrics(RUNS, resamples=100))
    return {**sensitivity_charts(dstbench.sensitivity(gold)), **bias_charts(bias, 5), **of_metrics}


def called(count: int) -> dict[str, pl.DataFrame]:
    """So many runs with long names, every third with the same states."""
    return {f"{LONG}{n}": states for n, states in zip(range(count), cycle(RUNS.values()))}


@cache
def results_of(count: int, metrics: str) -> dict[str, Any]:
    """The results with rows of each run, which are those that the run alone would have."""
    runs = called(count)
    gold = runs[f"{LONG}0"]
    said = dstbench.scan(gold).select("dialogue", "turn").unique().collect()
    context = said.with_columns(system=pl.lit(None, pl.String), user=pl.lit("."))
    return {
        "diagnose": dstbench.diagnose(runs),
        "traits": dstbench.traits(runs),
        "sweep": dstbench.sweep(runs),
        "by turn": dstbench.score(runs, metrics=metrics, by="turn"),
        "by slot": dstbench.score(runs, by="slot"),
        "by domain": dstbench.score(runs, by="domain"),
        "score": dstbench.score(runs),
        "versions": audit.scores(runs, {"old": gold, "new": gold}, profile="verbatim"),
        "memorisation": audit.memorisation(runs, context=context, train=gold),
    }


def repeated(result: Any, count: int) -> Any:
    """A result of all `RUNS` with the rows of as many runs, as if it had been computed of them."""
    if isinstance(result, pl.DataFrame):
        for column in {"run", "model"} & {*result.columns}:
            named = pl.col(column)
            own = [result.filter(named == f"{LONG}{n % len(RUNS)}") for n in range(len(RUNS), count)]
            again = [rows.with_columns(pl.lit(f"{LONG}{n}").alias(column)) for n, rows in enumerate(own, len(RUNS))]
            result = pl.concat([result, *again])
        return result
    if is_dataclass(result) and not isinstance(result, type):
        return replace(result, **{part.name: repeated(getattr(result, part.name), count) for part in fields(result)})
    return result


def size(svg: str) -> tuple[float, float]:
    ((width, height),) = re.findall(r'<svg [^>]*width="([0-9.]+)pt" height="([0-9.]+)pt"', svg)
    return float(width), float(height)


def shown_texts(svg: str) -> str:
    return " ".join(re.findall(r"<(?:text|tspan)[^>]*>([^<]*)</", svg))


# --- paper ------------------------------------------------------------------------------------------------------------


def assert_names_are_whole(name: str, svg: str, count: int) -> None:
    """Every run is named in a drawing, and no name is cut, but those of hotels."""
    assert "…" not in shown_texts(svg) or name == "values", name
    if count > 1 and name not in ("gold_slots", "traits", *charts_of_no_run()):
        for number in range(count):
            assert re.search(rf">[^<]*seed_{number}(?: |<)", svg), (name, number)


@pytest.mark.parametrize("count", [1, 10])
def test_figures_fit_on_a_page_and_name_every_run_whole(count: int) -> None:
    for name, chart in charts_of(count).items():
        if count > 1 and name in charts_of_no_run():  # these are drawn with those of one run
            continue
        svg = draw_figure(chart, "svg").decode()
        width, height = size(svg)
        assert any(width == pytest.approx(wanted, rel=0.03) for wanted in (COLUMN, PAGE)), name
        assert height <= 700, name
        assert_names_are_whole(name, svg, count)


def test_the_width_can_be_chosen() -> None:
    for name, chart in charts_of(10).items():
        svg = draw_figure(chart, "svg", 300).decode()
        assert size(svg)[0] == pytest.approx(300, rel=0.03), name
        assert_names_are_whole(name, svg, 10)


def test_timing_is_drawn_as_shares_of_the_slots_that_can_be_late_or_early() -> None:
    found = dstbench.diagnose(RUNS)
    chart = diagnosis_charts(found)["timing"]
    for timing, kind in (("late", "missed"), ("early", "over")):
        drawn = [row for row in chart["data"]["values"] if row["timing"].startswith(f"{timing}, of {kind}")]
        assert [row["run"] for row in drawn] == list(RUNS)
        assert [row["share"] for row in drawn] == (found.timing[timing] / found.timing[kind]).to_list()
    late = {"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "east"}, "pred": {}}
    without_over = diagnosis_charts(dstbench.diagnose([late, {**late, "turn": 1, "pred": late["gold"]}]))["timing"]
    texts = shown_texts(draw_figure(without_over, "svg").decode())
    assert "late, of missed slots" in texts


def test_most_charts_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room for labels is estimated; a wrong estimate would change nothing but the time."""
    charts = [*diagnosis_charts(dstbench.diagnose(RUNS)).values(), *trait_charts(dstbench.traits(RUNS)).values()]
    charts += of_runs.leaderboard_charts(dstbench.compare(RUNS, metrics="jga,sa", resamples=100)).values()
    drawings: list[str] = []
    svg = draw._svg

    def drawn(chart: Spec) -> str:
        drawings.append(svg(chart))
        return drawings[-1]

    monkeypatch.setattr(draw, "_svg", drawn)
    for chart in charts:
        draw_on_page(chart)
    assert len(charts) <= len(drawings) <= 1.4 * len(charts)


def test_the_formats() -> None:
    chart = jga_line(dstbench.diagnose(RUNS).by_turn, "turn", "Turn")
    before = json.dumps(chart)
    assert draw_figure(chart, "pdf").startswith(b"%PDF")
    png = draw_figure(chart, "png")
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == pytest.approx(COLUMN / 72 * 300, rel=0.05)
    assert json.dumps(chart) == before  # nothing is drawn into what was given


def encodings(chart: Any) -> Iterator[dict[str, Any]]:
    if isinstance(chart, dict):
        if "encoding" in chart:
            yield chart["encoding"]
        for part in chart.values():
            yield from encodings(part)
    elif isinstance(chart, list):
        for part in chart:
            yield from encodings(part)


def test_runs_are_told_apart_without_colour() -> None:
    """Wherever the colour of a line names the run, shape and dash do too, or its name stands beside it."""
    several = 0
    for name, chart in charts_of(10).items():
        for encoding in encodings(chart):
            colour = encoding.get("color", {})
            if colour.get("field") == "run" and len(colour["scale"]["domain"]) > 1 and "text" not in encoding:
                several += 1
                looks = [encoding[channel] for channel in ("color", "shape", "strokeDash")]
                assert [look["field"] for look in looks] == ["run"] * 3, name
                assert all(look["scale"]["domain"] == looks[0]["scale"]["domain"] for look in looks), name
    assert several >= 3
    svg = draw_figure(diagnosis_charts(dstbench.diagnose(RUNS))["by_turn"], "svg").decode()
    for run_name in RUNS:
        assert svg.count(f">{run_name}<") == 1  # one legend, whatever the channels
    assert len(set(re.findall('stroke-dasharray="([^"]*)"', svg))) == len(RUNS)


def test_names_are_text() -> None:
    hostile = {"</text><script>x</script>": RUNS["eager"], "b\u202e\0": RUNS["careful"]}
    chart = diagnosis_charts(dstbench.diagnose(hostile))["by_turn"]
    assert "<script" not in draw_figure(chart, "svg").decode()
    page = draw_on_page(chart)
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\\u202e" in page


# --- pages ------------------------------------------------------------------------------------------------------------


def test_on_a_page_a_drawing_has_the_page_s_colours_and_nothing_but_shapes() -> None:
    for name, chart in charts_of(10).items():
        svg = draw_on_page(chart)
        assert set(re.findall(r"<([a-z]+)", svg)) <= {"svg", "g", "path", "line", "text", "tspan", "rect", "title"}, (
            name
        )
        assert not re.findall(r" (?:style|class|href|on\w+|font-family)=", svg), name
        assert not set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', svg)), name  # no colour that is not the page's
        assert f'aria-label="{chart["title"]}"' in svg, name


def test_the_mouse_shows_the_numbers() -> None:
    found = dstbench.diagnose(RUNS).by_turn
    told = titles(jga_line(found, "turn", "Turn"))
    assert set(told) == {
        f"Turn: {turn}; JGA: {100 * round(jga, 4):.2f} %; run: {name}"
        for name, turn, jga in found.drop_nulls("value").select("run", "turn", "value").iter_rows()
    }
    scores = dstbench.score(RUNS, metrics="jga", by="domain").with_columns(pl.col("value").round(4))
    told = [text for text in titles(of_runs.heat_map(scores, "domain")) if "value" in text]
    assert sorted(told) == sorted(
        f"run: {name}; domain: {domain}; value: {value:g}"
        for name, domain, value in scores.select("run", "domain", "value").iter_rows()
    )
    correlations = dstbench.correlate(RUNS, metrics="jga,missed")
    told = [text for text in titles(of_runs.correlation_charts(correlations)["correlations"]) if "r:" in text]
    assert (correlations.matrix["r"] < 0).all()
    assert [float(text.rpartition(": ")[2].replace("\N{MINUS SIGN}", "-")) for text in told[::2]] == (
        correlations.matrix.sort(pl.col("run") != "pooled", maintain_order=True)["r"].round(4).to_list()
    )


def titles(chart: Chart) -> list[str]:
    """What the mouse shows on a page."""
    return re.findall(r"<title>(.*?)</title>", draw_on_page(chart))


# --- numbers ----------------------------------------------------------------------------------------------------------


def values(chart: Chart) -> list[dict[str, Any]]:
    return chart["data"]["values"]  # type: ignore[no-any-return]


def test_the_same_gold_is_drawn_once() -> None:
    chart = diagnosis_charts(dstbench.diagnose(RUNS))["gold_slots"]
    assert {row["run"] for row in values(chart)} == {"careful"}
    other = {**RUNS, "other": synthetic(21)["eager"]}
    assert len({row["run"] for row in values(gold_slots(dstbench.diagnose(other).gold_slots))}) == 4


def test_panels_are_in_the_order_of_metrics_and_have_their_names() -> None:
    charts = of_runs.leaderboard_charts(dstbench.compare(RUNS, metrics="sa,jga", resamples=100))
    assert list(charts) == ["scores", "differences_sa", "differences_jga", "spread"]
    svg = draw_figure(charts["scores"], "svg").decode()
    assert svg.index(">Slot accuracy<") < svg.index(">JGA<")


def test_squares_have_the_scores_of_slots_that_gold_has_worst_first() -> None:
    rows = dstbench.score(RUNS, by="slot")
    f1 = rows.filter(metric="f1:avg=micro").drop_nulls("value")
    counts = (
        rows.filter(pl.col("metric").is_in(["correct", "wrong", "missed"])).group_by("slot").agg(pl.col("value").sum())
    )
    in_gold = set(counts.filter(pl.col("value") > 0)["slot"])
    chart = of_runs.heat_map(rows, "slot")
    drawn = {(row["run"], row["slot"]): row["value"] for row in values(chart)}
    wanted = {(r, s): v for r, s, v in f1.select("run", "slot", "value").iter_rows() if s in in_gold}
    assert drawn == wanted
    order = chart["encoding"]["y"]["sort"]
    means = [sum(wanted[r, slot] for r in RUNS) / len(RUNS) for slot in order]
    assert means == sorted(means)


def test_one_run_has_a_column_per_metric() -> None:
    chart = of_runs.heat_map(dstbench.score(RUNS["eager"], by="slot"), "slot")
    assert chart["encoding"]["x"]["sort"] == ["JGA", "Precision", "Recall", "F1"]


def test_conventions_with_the_same_scores_share_a_place_and_none_is_lost() -> None:
    swept = dstbench.sweep(RUNS)
    line, ends = charts_of_layers(of_runs.sweep_charts(swept)["conventions"])
    labels = line["encoding"]["x"]["sort"]
    assert sum(1 + int(label.partition(" +")[2] or 0) for label in labels) == swept["profile"].n_unique()
    scores = {(r, p): v for r, p, v in swept.select("run", "profile", "value").iter_rows()}
    for row in values(of_runs.sweep_charts(swept)["conventions"]):
        assert row["value"] == scores[row["run"], row["profile"]]
    assert {row["run"] for row in ends["data"]["values"]} == set(RUNS)


def charts_of_layers(chart: Chart) -> list[dict[str, Any]]:
    return chart["layer"]  # type: ignore[no-any-return]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_labels_stand_apart_and_never_below_their_value(numbers: list[float]) -> None:
    ends = sorted(numbers)
    span = 1.0
    places = of_runs._apart(pl.Series(ends), span).to_list()
    least = span * of_runs._LABEL / of_runs._HEIGHT
    assert all(place >= value - 1e-12 for place, value in zip(places, ends, strict=True))
    assert all(b - a >= least - 1e-9 for a, b in pairwise(places))


def test_the_spread_of_runs_is_that_of_kim_s_figure_4() -> None:
    """Kim et al. 2022, Table 1: ten models' JGA and slot accuracy; their mean and deviation are what Fig 4 draws."""
    jga = [0.5446, 0.6131, 0.5242, 0.5605, 0.5357, 0.4939, 0.4879, 0.5483, 0.5178, 0.4699]
    sa = [0.9748, 0.9707, 0.9735, 0.9761, 0.9749, 0.9700, 0.9652, 0.9754, 0.9690, 0.9666]
    rows = [
        {"model": f"m{n}", "metric": metric, "value": value}
        for metric, column in (("jga", jga), ("sa", sa))
        for n, value in enumerate(column)
    ]
    charts = of_runs.metric_charts(dstbench.compare_metrics(table=pl.DataFrame(rows)))
    drawn = {row["metric"]: row for row in values(charts["spread"])}
    for metric, mean, sd, span in (("JGA", 0.5296, 0.0412, 0.1432), ("Slot accuracy", 0.9716, 0.0039, 0.0109)):
        row = drawn[metric]
        assert (row["mean"], row["sd"]) == (pytest.approx(mean, abs=1e-4), pytest.approx(sd, abs=1e-4))
        assert row["range"] == pytest.approx(span, abs=1e-4)


def test_pairs_of_runs_are_squares_with_their_difference_in_points() -> None:
    board = dstbench.compare(RUNS, metrics="jga,missed", resamples=200)
    drawn = {
        (row["metric"], row["run"], row["other"]): (row["difference"], row["significant"])
        for metric in ("jga", "missed")
        for row in values(of_runs.leaderboard_charts(board)[f"differences_{metric}"])
    }
    wanted = {
        (name_of(m), r, o): (pytest.approx(d * (100 if m == "jga" else 1), abs=1e-12), s)
        for m, r, o, d, s in board.differences.select("metric", "run", "other", "difference", "significant").iter_rows()
    }
    assert drawn == wanted


def test_correlations_have_all_runs_pooled_first() -> None:
    found = dstbench.correlate(RUNS, metrics="jga,fga,gca")
    chart = of_runs.correlation_charts(found)["correlations"]
    assert chart["facet"]["sort"] == ["pooled", *RUNS]
    wanted = {
        (r, name_of(a), name_of(b)): v for r, a, b, v in found.matrix.select("run", "first", "second", "r").iter_rows()
    }
    for row in values(chart):
        key = (row["run"], row["first"], row["second"])
        assert row["r"] == wanted.get(key, wanted.get((key[0], key[2], key[1])))


def test_traits_are_drawn_with_their_distribution() -> None:
    """The mean of each bin is that of `Traits.bins`; the quartiles are those of the bin's dialogues."""
    found = dstbench.traits(RUNS)
    for trait, chart in list(trait_charts(found).items())[:2]:
        rows = [row for row in values(chart["spec"] if "data" in chart.get("spec", {}) else chart) if row["dialogues"]]
        assert rows
        for row in rows:
            last = row["high"] == max(other["high"] for other in rows)
            inside = found.dialogues.filter(
                pl.col("run") == row["run"],
                pl.col(trait) >= row["low"] - 1e-9,
                (pl.col(trait) < row["high"] - 1e-9) | pl.lit(last),
            )
            scores = inside[{"FGA": "fga", "GCA": "gca"}[row["metric"]]].drop_nulls()
            assert len(scores) == row["dialogues"], (trait, row)
            assert row["lower"] == scores.quantile(0.25, "linear")
            assert row["upper"] == scores.quantile(0.75, "linear")
            assert row["mean"] == pytest.approx(scores.mean(), abs=1e-12)


@given(corpora(LARGE), st.sampled_from(["mean", "sum", "released"]), st.sampled_from(["paper", "released"]))
@settings(max_examples=15)
@example(
    # Four turns, the second wrong: 0.333; eleven, the fourth wrong: 0.3, exactly where a bin begins.
    [
        {
            "dialogue_id": name,
            "turn": turn,
            "gold": {"a-b": f"{turn}"},
            "pred": {"a-b": "x" if turn == wrong else f"{turn}"},
        }
        for name, turns, wrong in (("A", 4, 1), ("B", 11, 3))
        for turn in range(turns)
    ],
    "mean",
    "paper",
)
def test_a_dialogue_is_in_the_same_bin_in_the_table_and_in_the_figure(states: States, to: Any, nu: Any) -> None:
    found = dstbench.traits(states, to=to, nu=nu)
    for trait, chart in list(trait_charts(found).items())[:2]:
        drawn = {(row["low"], row["metric"]): row["dialogues"] for row in values(chart) if row["dialogues"]}
        counted = found.bins.filter(pl.col("dialogues") > 0, trait=trait).select("low", "metric", "dialogues").rows()
        assert drawn == {(low, name_of(metric)): n for low, metric, n in counted}


def test_both_traits_count_every_dialogue_once() -> None:
    found = dstbench.traits(RUNS)
    (trait, other) = found.bins["trait"].unique(maintain_order=True)
    for metric in ("fga", "gca"):
        counted = sum(
            row["dialogues"] for row in values(trait_charts(found)["traits"]) if row["metric"] == name_of(metric)
        )
        assert counted == found.dialogues.drop_nulls([trait, other, metric]).height


def test_kinds_of_errors_are_the_diagnosis_s_counts() -> None:
    found = dstbench.diagnose(RUNS)
    chart = diagnosis_charts(found)["errors"]
    counts = {(row["run"], row["class"]): row["n"] for row in values(chart)}
    wrong = found.errors.filter((pl.col("kind") != "correct") & (pl.col("n") > 0))
    assert counts == {(run, name): n for run, name, n in wrong.select("run", "class", "n").iter_rows()}
    shown = chart["spec"]["encoding"]["y"]["sort"]
    assert shown == [name for name in found.errors["class"].unique(maintain_order=True) if name in set(wrong["class"])]


def test_first_failures_are_the_diagnosis_s_counts() -> None:
    found = dstbench.diagnose(RUNS)
    parts: dict[tuple[str, float], list[int]] = {}
    for row in values(diagnosis_charts(found)["first_failures"]):
        parts.setdefault((row["run"], row["low"]), []).append(row["n"])
    assert {key: (sum(n), n[0]) for key, n in parts.items()} == {
        (run, low): (n, again)
        for run, low, n, again in found.first_failures.select("run", "low", "dialogues", "recovered").iter_rows()
    }


def test_scores_by_turn_have_a_panel_per_run_and_a_line_per_metric() -> None:
    scores = dstbench.score(RUNS, metrics="jga,rsa", by="turn")
    chart = of_runs.scores_along(scores, "turn")
    assert chart["facet"]["field"] == "run"
    assert [chart["spec"]["encoding"][name]["field"] for name in ("color", "shape", "strokeDash")] == ["metric"] * 3
    assert [row["value"] for row in values(chart)] == scores["value"].to_list()


def test_nothing_is_drawn_too() -> None:
    same = audit.diff(RUNS["eager"], RUNS["eager"])
    for chart in difference_charts(same).values():
        assert b"<svg" in draw_figure(chart, "svg")


def test_a_notebook_draws_it() -> None:
    chart = jga_line(dstbench.diagnose(RUNS).by_turn, "turn", "Turn")
    bundle = chart._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == chart
    assert "JGA by turn" in bundle["text/plain"]
    assert chart["config"]["range"]["category"] == list(COLOURS)


# --- the command line -------------------------------------------------------------------------------------------------


def test_on_the_command_line(here: Path) -> None:
    Path("model.json").write_text(formats.gtpr())
    code, _, err = run(
        "traits", "model.json", "--figures", "new/figures", "--charts", "specs", "--figure-format", "png"
    )
    assert code == 0
    wanted = [Path(f"{folder}{end}") for folder, end in (("specs/{}", ".vl.json"), ("new/figures/{}", ".png"))]
    wanted = [Path(str(path).format(name)) for path in wanted for name in ("to_mean", "nu_paper", "traits")]
    assert err.splitlines() == [f"wrote {path}" for path in wanted]
    assert all(path.stat().st_size for path in wanted)


@pytest.mark.parametrize(
    ("command", "figures"),
    [
        ("score", ["scores"]),
        ("score --by domain", ["scores"]),
        ("sweep", ["conventions"]),
        ("correlate", ["correlations"]),
        ("diagnose", ["by_length", "by_turn", "errors", "first_failures", "gold_slots", "timing"]),
    ],
)
def test_commands_draw_their_figures(command: str, figures: list[str], here: Path) -> None:
    Path("model.json").write_text(formats.gtpr())
    name, *options = command.split()
    code, _, err = run(name, "model.json", *options, "--figures", "figures", "--width", "300")
    assert code == 0, err
    assert sorted(path.stem for path in Path("figures").iterdir()) == figures


def test_what_has_no_figure_is_refused(here: Path) -> None:
    Path("model.json").write_text(formats.gtpr())
    code, _, err = run("score", "model.json", "--by", "dialogue", "--figures", "figures")
    assert code == 2
    assert "there is no figure of scores by dialogue" in err
    assert not Path("figures").exists()
