"""Audits on the command line: what they print in each format, the figures, and mistakes of users."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import formats
from tests.commands import ok, run, tables
from tests.corpora import EXAMPLE


@pytest.fixture
def files(here: Path) -> dict[str, list[str]]:
    """Of each command: its arguments. The later version has another destination from the start, and a typo."""
    Path("train.tsv").write_text(formats.star_tsv())
    later = [
        {**turn, "gold": {**turn["gold"], "train-destination": "leeds", "hotel-area": "West"}, "pred": {}}
        for turn in EXAMPLE
    ]
    Path("test.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in later))
    Path("model.json").write_text(formats.gtpr())
    return {
        "bias": ["train.tsv", "test.jsonl"],
        "diff": ["train.tsv", "test.jsonl"],
        "scores": ["model.json", "--version", "2.0=train.tsv", "--version", "2.1=test.jsonl"],
    }


def test_slots_are_sorted_as_asked(here: Path) -> None:
    """Alphabetically; the least even first, one value only last; or the most frequent first."""
    areas, days = "nnnss", "mt"
    lines = [
        *({"dialogue_id": f"A{n}", "turn": 0, "gold": {"hotel-area": area}} for n, area in enumerate(areas)),
        *({"dialogue_id": f"B{n}", "turn": 0, "gold": {"bus-day": day, "taxi-day": "m"}} for n, day in enumerate(days)),
        *({"dialogue_id": f"C{n}", "turn": 0, "gold": {"taxi-day": "m"}} for n in range(8)),
    ]
    Path("gold.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    for sort, wanted in (
        ("slot", ["bus-day", "hotel-area", "taxi-day"]),
        ("entropy", ["hotel-area", "bus-day", "taxi-day"]),
        ("turns", ["taxi-day", "hotel-area", "bus-day"]),
    ):
        code, out, _ = run("audit", "bias", "gold.jsonl", "--sort", sort, "--all", "--charts", "charts")
        assert code == 0
        for table in list(tables(out).values())[:2]:
            assert list(dict.fromkeys(row[0] for row in table[1:])) == wanted
        chart = json.loads(Path("charts/bias.vl.json").read_text())
        assert chart["spec"]["layer"][0]["encoding"]["y"]["sort"] == wanted


def test_scores_as_text(files: dict[str, list[str]]) -> None:
    out = ok("audit", "scores", *files["scores"], "-m", "jga,error-turns", "--signature")
    found = tables(out)
    assert found["jga"] == [
        ["model", "runs", "2.0", "(n=1)", "2.0", "(n=1)", "exact", "2.1", "(n=1)", "2.1", "(n=1)", "exact"],
        ["model", "1", "50.00", "50.00", "0.00", "0.00"],
    ]
    assert found["error-turns"][1] == ["model", "1", "1", "1", "2", "2"]
    (slots,) = (table for title, table in found.items() if title.startswith("model: turns in which"))
    assert ["train-destination", "0.00", "0.00", "2.00", "100.00"] in slots
    assert "signature of model on 2.0: jga+error-turns|profile:qian2021.2" in out
    assert "signature of model on 2.1: the same with gold:" in out


def test_columns_of_versions_are_over_the_same_dialogues(here: Path) -> None:
    """Two of three dialogues are in both versions, of which one has another turn there."""
    turn = {"turn": 0, "gold": {"hotel-area": "north"}}
    lines = [{"dialogue_id": f"D{n}", **turn} for n in range(3)]
    more = [*lines[:2], {"dialogue_id": "D1", **turn, "turn": 1}]
    run_lines = [{**line, "pred": line["gold"] if line["dialogue_id"] != "D2" else {}} for line in (*lines, more[2])]
    for name, content in (("all", lines), ("seen", more)):
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in content))
    rows = [{key: value for key, value in line.items() if key != "gold"} for line in run_lines]
    Path("model.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in rows))
    words = ["model.jsonl", "--version", "all=all.jsonl", "--version", "seen=seen.jsonl", "--profile", "verbatim"]
    code, out, err = run("audit", "scores", *words)
    assert code == 0
    assert (
        "note: all: 1 of its 3 dialogues not scored, as not in seen; versions are compared over the 2 that all have"
    ) in err
    assert tables(out)["jga"] == [
        ["model", "runs", "all", "(n=2)", "seen", "(n=2)"],
        ["model", "1", "100.00", "100.00"],
    ]
    assert "turns of these dialogues, which versions divide differently: all 2, seen 3" in out
    Path("other.jsonl").write_text(json.dumps({"dialogue_id": "E", **turn}))
    Path("model.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in [*rows, {"dialogue_id": "E", "turn": 0, "pred": {}}])
    )
    code, out, err = run("audit", "scores", *words[:3], "--version", "other=other.jsonl")
    assert (code, out) == (1, "")
    assert "error: other: model has no dialogue there that is also in all\nhint: versions are compared" in err
