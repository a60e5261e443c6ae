"""Comparisons on the command line: what they print in each format, the figures, and mistakes of users."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

import dstbench
from dstbench.rendering.tables import render
from dstbench.typing import TableFormat
from tests.commands import run
from tests.corpora import States


@pytest.fixture
def runs(here: Path) -> list[str]:
    """Three runs that are right in 8, 6 and 5 of 10 dialogues, and in the same ones."""
    for name, number in (("worst", 5), ("best", 8), ("middle", 6)):
        lines = [
            {
                "dialogue_id": f"D{i}",
                "turn": 0,
                "gold": {"hotel-area": "north"},
                "pred": {"hotel-area": "north" if i < number else "south"},
            }
            for i in range(10)
        ]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return ["worst.jsonl", "best.jsonl", "middle.jsonl"]


def test_a_seed_draws_its_own_swaps(runs: list[str]) -> None:
    """Of all swaps of three dialogues, one in four differs as much; of two, one in two; of one, all."""
    found = {}
    for seed in ("1", "2"):
        _, out, _ = run("compare", *runs, "--resamples", "2000", "--seed", seed, "--format", "json")
        rows = json.loads(out)["differences"]
        found[seed] = [row["p"] for row in rows]
        assert [row["run"] + row["other"] for row in rows] == ["worstbest", "worstmiddle", "bestmiddle"]
        assert found[seed] == pytest.approx([0.25, 1, 0.5], abs=0.04)
    assert found["1"] != found["2"]


def run_of(right: set[int]) -> States:
    """Forty dialogues of one turn, of which some are right."""
    gold = {"hotel-area": "north"}
    return [{"dialogue_id": f"D{i}", "turn": 0, "gold": gold, "pred": gold if i in right else {}} for i in range(40)]


@pytest.mark.again
@pytest.mark.parametrize("form", ["text", "md", "latex", "json", "csv"])
def test_every_format_says_which_differences_could_not_be_tested(form: TableFormat) -> None:
    """Of four runs that clearly differ; six differences are too many for a hundred resamples."""
    runs = {f"run{i}": run_of(set(range(12 * i))) for i in range(4)}
    told = "jga: with 100 resamples and 6 differences no adjusted p can reach 0.05; --resamples 119 or more can"  # fmt: skip  # noqa: E501
    in_python = told.replace("--resamples", "`resamples`")  # who calls a function has no options
    with pytest.warns(dstbench.DstbenchWarning, match=f"^{re.escape(in_python)}$"):
        found = dstbench.compare(runs, resamples=100, seed=1)
    page = render(found, form)
    if form == "json":
        assert {row["significant"] for row in json.loads(page)["differences"]} == {None}
        assert {row["resamples_needed"] for row in json.loads(page)["differences"]} == {119}
    elif form == "csv":
        rows = [row for row in csv.DictReader(io.StringIO(page)) if row["table"] == "differences"]
        assert {row["significant"] for row in rows} == {""}
    else:
        said = told.partition("; --")[0] if form == "latex" else told  # a paper has no options
        assert said in page.replace("\\-", "-")
        assert "significant" not in page
    enough = dstbench.compare(runs, resamples=119, seed=1)
    assert enough.differences["significant"].null_count() == 0


def test_real_runs(data: Path) -> None:
    """Seven systems that others have evaluated: the five best differ from the two worst, whatever the adjustment."""
    folder = data / "predictions" / "mwzeval"
    paths = sorted(map(str, folder.glob("*.json")))
    code, out, _ = run(
        "compare", *paths, "--gold", str(data / "multiwoz21" / "test.tsv"), "--missing", "wrong", "--format", "json"
    )
    assert code == 0
    found = json.loads(out)
    assert len(found["differences"]) == 21
    assert found["design"][0]["dialogues"] == 999
    for row in found["differences"]:
        pair = {row["run"], row["other"]}
        if len(pair & {"damd", "mintl"}) == 1:
            assert row["significant"]
        assert row["low"] < row["difference"] < row["high"]
        assert row["p"] >= 1 / 10_001
