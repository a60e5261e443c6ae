"""Every chart shows what its command says: marks are read back into values and compared with the JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.contract import drawn
from tests.contract.commands import run
from tests.contract.drawn import Drawing, middle

Made = tuple[dict[str, Any], dict[str, Drawing]]
#: Runs of the sample; not in the order of their names, which is that of their scores, or its reverse.
NAMES = ("eager", "forgetful", "careful")
METRICS = {"JGA": "jga", "FGA": "fga"}


def command(*words: str) -> None:
    """A command that succeeds."""
    code, _, err = run(*words)
    assert not code, (words, err)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    """Results and drawings of a command on three runs, each made once."""
    folder, kept = tmp_path_factory.mktemp("charts"), dict[tuple[str, ...], Made]()

    def of(name: str, *words: str) -> Made:
        key = (name, *words)
        if key not in kept:
            if not kept:
                command("demo", "-o", str(folder))
            files = [str(folder / f"{run}.parquet") for run in NAMES]
            place, out = folder / str(len(kept)), folder / f"{len(kept)}.json"
            figures = ["--figures", str(place), "--figure-format", "svg", "--format", "json", "-o", str(out)]
            command(name, *files, *words, *figures)
            drawings = {file.stem: drawn.read(file.read_bytes()) for file in place.iterdir()}
            kept[key] = json.loads(out.read_text()), drawings
        return kept[key]

    return of


def in_order(rows: list[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


@pytest.mark.parametrize(("name", "words"), [("score", ()), ("compare", ("--resamples", "50"))])
def test_points_and_both_ends_of_intervals(make: Callable[..., Made], name: str, words: tuple[str, ...]) -> None:
    result, drawings = make(name, "-m", "jga,fga", *words)
    panels = drawings["scores"].panels
    assert [panel.title for panel in panels] == [*METRICS]
    for panel in panels:
        rows = [row for row in result["scores"] if row["metric"] == METRICS[panel.title]]
        assert panel.y.names() == in_order(rows, "run")
        assert panel.x.ascends()
        for row, point, rule in zip(rows, panel.of("point"), panel.of("rule"), strict=True):
            ends = (
                [row["value"] - row["se"], row["value"] + row["se"]] if name == "score" else [row["low"], row["high"]]
            )
            assert panel.y.name(point.top) == panel.y.name(rule.top) == row["run"]
            seen = sorted(map(panel.x.value, (rule.left, rule.right)))
            assert drawn.close([panel.x.value(point.left), *seen], [row["value"], *ends], panel.x)


def test_squares_of_differences(make: Callable[..., Made]) -> None:
    result, drawings = make("compare", "-m", "jga,fga", "--resamples", "50")
    for metric in METRICS.values():
        rows = [row for row in result["differences"] if row["metric"] == metric]
        (panel,) = drawings[f"differences_{metric}"].panels
        assert (panel.y.names(), panel.x.names()) == (in_order(rows, "run"), in_order(rows, "other"))
        texts = {(panel.y.name(m.top), panel.x.name(m.left)): m.text for m in panel.of("text")}
        squares = {
            (panel.y.name(middle(m.top, m.bottom)), panel.x.name(middle(m.left, m.right))): m for m in panel.of("rect")
        }
        pairs = [(row["run"], row["other"]) for row in rows]
        assert sorted(texts) == sorted(squares) == sorted(pairs)
        for row, pair in zip(rows, pairs, strict=True):
            text = texts[pair].replace("\N{MINUS SIGN}", "-")
            assert abs(float(text.rstrip("*")) - 100 * row["difference"]) <= 0.05 + 1e-9
            assert text.endswith("*") is bool(row["significant"])
        by_size = sorted(pairs, key=lambda pair: abs(rows[pairs.index(pair)]["difference"]))
        assert by_size == sorted(pairs, key=lambda pair: squares[pair].opacity)  # darker where larger
        for sign in (True, False):  # one colour for each sign
            assert (
                len({squares[p].colour for r, p in zip(rows, pairs, strict=True) if (r["difference"] > 0) is sign}) < 2
            )


def test_spread(make: Callable[..., Made]) -> None:
    result, drawings = make("compare", "-m", "jga,fga", "--resamples", "50")
    (panel,) = drawings["spread"].panels
    assert panel.x.ascends()
    for metric, notation in METRICS.items():
        values = [row["value"] for row in result["scores"] if row["metric"] == notation]
        mean = sum(values) / len(values)
        sd = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
        (point,) = (m for m in panel.of("point") if panel.y.name(m.top) == metric)
        (rule,) = (m for m in panel.of("rule") if panel.y.name(m.top) == metric)
        seen = [panel.x.value(at) for at in (point.left, rule.left, rule.right)]
        assert drawn.close([seen[0], *sorted(seen[1:])], [mean, mean - sd, mean + sd], panel.x)
        ticks = [m for m in panel.of("rect") if panel.y.name(middle(m.top, m.bottom)) == metric]
        places = sorted(panel.x.value(middle(m.left, m.right)) for m in ticks)
        assert drawn.close(places, sorted(values), panel.x)


def test_bars_of_errors(make: Callable[..., Made]) -> None:
    result, drawings = make("diagnose")
    chart, kinds = drawings["errors"], [row for row in result["errors"] if row["kind"] != "correct" and row["n"]]
    assert [panel.title for panel in chart.panels] == in_order(kinds, "run")
    assert [*chart.legend] == in_order(kinds, "kind")
    for panel in chart.panels:
        rows = {row["class"]: row for row in kinds if row["run"] == panel.title}
        bars = {panel.y.name(middle(m.top, m.bottom)): m for m in panel.of("rect")}
        assert bars.keys() == rows.keys()
        for name, bar in bars.items():
            assert drawn.close(map(panel.x.value, (bar.left, bar.right)), (0, rows[name]["n"]), panel.x), name
            assert bar.colour == chart.legend[rows[name]["kind"]]


def test_bars_of_timing(make: Callable[..., Made]) -> None:
    result, drawings = make("diagnose")
    keys = ["late_share", "early_share"]
    for panel, key in zip(drawings["timing"].panels, keys, strict=True):
        assert panel.title.startswith(key.partition("_")[0])
        assert panel.y.names() == in_order(result["timing"], "run")
        bars = {panel.y.name(middle(m.top, m.bottom)): m for m in panel.of("rect")}
        for row in result["timing"]:
            bar = bars[row["run"]]
            assert drawn.close(map(panel.x.value, (bar.left, bar.right)), (0, row[key]), panel.x)


def test_stacked_bars_of_first_failures(make: Callable[..., Made]) -> None:
    result, drawings = make("diagnose")
    chart = drawings["first_failures"]
    assert [panel.title for panel in chart.panels] == in_order(result["first_failures"], "run")
    for panel in chart.panels:
        rows = [row for row in result["first_failures"] if row["run"] == panel.title]
        for then, (begin, end) in {
            "right again later": (None, "recovered"),
            "never again": ("recovered", "dialogues"),
        }.items():
            bars = sorted((m for m in panel.of("rect") if m.colour == chart.legend[then]), key=lambda m: m.left)
            for bar, row in zip(bars, rows, strict=True):
                assert drawn.close(map(panel.x.value, (bar.left, bar.right)), (row["low"], row["high"]), panel.x)
                assert drawn.close(
                    map(panel.y.value, (bar.bottom, bar.top)), (row[begin] if begin else 0, row[end]), panel.y
                )


@pytest.mark.parametrize(("chart", "key"), [("by_turn", "turn"), ("by_length", "length")])
def test_lines(make: Callable[..., Made], chart: str, key: str) -> None:
    result, drawings = make("diagnose")
    drawing = drawings[chart]
    (panel,) = drawing.panels
    assert panel.x.ascends()
    assert panel.y.ascends()
    assert [*drawing.legend] == in_order(result[chart], "run")
    for name, colour in drawing.legend.items():
        rows = [row for row in result[chart] if row["run"] == name]
        (line,) = (m for m in panel.of("line") if m.colour == colour)
        points = sorted((m.left, m.top) for m in panel.of("point") if m.colour == colour)
        for places in (points, line.points):
            assert drawn.close([panel.x.value(x) for x, _ in places], [row[key] for row in rows], panel.x)
            assert drawn.close([panel.y.value(y) for _, y in places], [row["value"] for row in rows], panel.y)


def test_squares_of_correlations(make: Callable[..., Made]) -> None:
    result, drawings = make("correlate", "-m", "jga,fga,gca")
    for panel in drawings["correlations"].panels:
        rows = [row for row in result["matrix"] if row["run"] == panel.title]
        texts = {(panel.y.name(m.top), panel.x.name(m.left)): m.text for m in panel.of("text")}
        assert len(texts) == 2 * len(rows) > 0
        for row in rows:
            pair = row["first"].upper(), row["second"].upper()
            for names in (pair, pair[::-1]):
                assert abs(drawn.number(texts[names]) - row["r"]) <= 0.005 + 1e-9


def test_slopes_of_conventions(make: Callable[..., Made]) -> None:
    result, drawings = make("sweep", "-m", "jga")
    (panel,) = drawings["conventions"].panels
    runs = in_order(result["sweep"], "run")
    scores = {(row["run"], row["profile"]): row["value"] for row in result["sweep"]}
    labels = [name.partition(" +")[0] for name in panel.x.names()]
    assert panel.y.ascends()
    lines = {line.colour: [panel.y.value(y) for _, y in line.points] for line in panel.of("line")}
    expected = [[scores[run, label] for label in labels] for run in runs]
    assert len(lines) == len(runs)
    colours = {mark.text: mark.colour for mark in panel.of("text")}
    for name, values in zip(runs, expected, strict=True):
        assert drawn.close(lines[colours[name]], values, panel.y), name


@pytest.mark.parametrize("by", ["domain", "slot"])
def test_squares_of_slots(make: Callable[..., Made], by: str) -> None:
    result, drawings = make("score", "-m", "jga,f1:avg=micro", "--by", by)
    (panel,) = drawings["scores"].panels
    scores = {(r[by], r["run"]): r["value"] for r in result["scores"] if r["metric"].startswith("f1")}
    assert panel.x.names() == in_order(result["scores"], "run")
    texts = {(panel.y.name(m.top), panel.x.name(m.left)): float(m.text) for m in panel.of("text")}
    shades = {
        (panel.y.name(middle(m.top, m.bottom)), panel.x.name(middle(m.left, m.right))): m.opacity
        for m in panel.of("rect")
    }
    assert texts.keys() == shades.keys() == {pair for pair in scores if scores[pair] is not None}
    assert all(abs(texts[pair] - 100 * scores[pair]) <= 0.5 + 1e-9 for pair in texts)
    by_score = [shades[pair] for pair in sorted(shades, key=lambda pair: scores[pair])]
    assert all(low <= high + 1e-9 for high, low in pairwise(by_score))  # darker where lower
    means = [sum(scores[group, run] for run in NAMES) for group in panel.y.names()]
    assert means == sorted(means)
