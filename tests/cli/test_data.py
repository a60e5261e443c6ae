"""`convert`: one or several files become one long table, whole or not at all, of what the files hold now."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.typing import Missing
from tests import formats
from tests.commands import run
from tests.corpora import LARGE, States, corpora
from tests.faults import there

OUT = Path("out.parquet")


def dialogues(count: int) -> States:
    return [
        {"dialogue_id": f"D{number}", "turn": turn, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "east"}}
        for number in range(count)
        for turn in range(3)
    ]


def write(path: str, states: States) -> None:
    Path(path).write_text("".join(json.dumps(state) + "\n" for state in states))


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
@pytest.mark.parametrize(
    "missing", ["error", "wrong", *(pytest.param(m, marks=pytest.mark.again) for m in ("empty", "intersect"))]
)
def test_several_files_are_the_run_that_one_file_of_them_is(missing: Missing, here: Path) -> None:
    """However dialogues and turns are spread over the files, and whatever gold lacks or has beside them."""

    @settings(max_examples=6)
    @given(states=corpora(max_dialogues=LARGE), count=st.integers(1, 4), own=st.booleans(), data=st.data())
    def check(states: States, count: int, own: bool, data: st.DataObject) -> None:
        how: dict[str, Any] = {"missing": missing}
        if own:
            kept = data.draw(st.lists(st.booleans(), min_size=len(states), max_size=len(states)))
            write("gold.jsonl", [state for state, keep in zip(states, kept, strict=True) if keep] or states)
            how["gold"] = "gold.jsonl"
        spread = [data.draw(st.integers(0, count - 1)) for _ in states]
        files = {number: [s for s, at in zip(states, spread, strict=True) if at == number] for number in {*spread}}
        for number, of_file in files.items():
            write(f"part{number}.jsonl", of_file)
        write("whole.jsonl", states)
        options = [word for name, value in how.items() for word in (f"--{name}", value)]
        OUT.unlink(missing_ok=True)
        code, _, err = run("convert", *(f"part{number}.jsonl" for number in files), "-o", str(OUT), *options)
        whole = run("convert", "whole.jsonl", "-o", "whole.parquet", *options)
        assert code == whole[0]
        if code:
            what = re.search(r"error: whole\.jsonl: (.*)", whole[2])
            assert what is not None
            assert what[1] in err
            assert not OUT.exists()
        else:
            (found,), (wanted,) = dstbench.open_runs(OUT), dstbench.open_runs("whole.parquet")
            assert found.read().equals(wanted.read())
            assert found.meta["coverage"] == wanted.meta["coverage"]

    check()


def test_a_broken_file_is_named_and_nothing_is_written(here: Path) -> None:
    for number, name in enumerate(("one", "two", "three")):
        write(f"{name}.jsonl", [turn for turn in dialogues(3) if turn["dialogue_id"] == f"D{number}"])
    Path("two.jsonl").write_text(Path("two.jsonl").read_text()[:-9])
    for old in (None, "what was there before"):
        if old:
            OUT.write_text(old)
        before = there()
        code, _, err = run("convert", "one.jsonl", "two.jsonl", "three.jsonl", "-o", str(OUT))
        assert (code, err.splitlines()[0]) == (1, "error: two.jsonl: line 3: the JSON ends too early")
        assert there() == before


def test_a_file_that_is_not_there_is_told_before_one_is_read(here: Path) -> None:
    Path("broken.jsonl").write_text("{")
    assert "error: none.jsonl: no such file" in run("convert", "broken.jsonl", "none.jsonl", "-o", str(OUT))[2]
    assert "error: none.json: no such file" in run("convert", "broken.jsonl", "--gold", "none.json", "-o", str(OUT))[2]


def test_a_folder_is_its_files(here: Path) -> None:
    for split in ("dev", "test"):
        for number in range(2):
            for folder, text in (("SGD", formats.sgd_pred()), ("GOLD", formats.sgd_gold())):
                path = here / folder / split / f"dialogues_00{number}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace(formats.ID, f"{formats.ID}{split}{number}"))
    words = ["convert", "SGD", "--gold", "GOLD", "-o", str(OUT)]
    assert "predictions in the splits dev, test of GOLD" in run(*words)[2]
    for split in ("dev", "test"):
        assert run(*words, "--split", split)[0] == 0
        found = pl.read_parquet(OUT)["dialogue"].unique()
        assert len(found) == 2
        assert found.str.contains(split).all()
