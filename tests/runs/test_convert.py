"""Many files to one long table: the same as read at once, in any number of processes, and after any interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.io import parquet
from dstbench.io.files import File
from dstbench.readers import Source
from dstbench.runs import convert as conversion
from dstbench.runs.convert import convert
from dstbench.runs.gold import gold_fingerprint
from dstbench.runs.open import read_run, write_long
from dstbench.runs.parquet import Footer, read_footer
from dstbench.typing import Missing
from tests import formats
from tests.commands import run
from tests.corpora import LARGE, States, corpora

OUT = Path("out.parquet")
PARTS = Path(".out.parquet.parts")


def footer(path: Path) -> Footer:
    return read_footer(parquet.scan(File(path)).texts)


def write(states: States, count: int) -> list[str]:
    """The states as files, each dialogue in one of them."""
    names = sorted({state["dialogue_id"] for state in states})
    paths = [f"part{number}.jsonl" for number in range(count)]
    for number, path in enumerate(paths):
        own = [state for state in states if names.index(state["dialogue_id"]) % count == number]
        Path(path).write_text("".join(json.dumps(state) + "\n" for state in own))
    return [path for path in paths if Path(path).read_text()]


def outcome(work: Any, *given: Any, **how: Any) -> tuple[Any, set[str]]:
    """What comes of it (or is said instead), and all notes."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", dstbench.DstbenchWarning)
        try:
            found = work(*given, **how)
        except dstbench.DstbenchError as error:
            found = str(error)
    return found, {str(warning.message) for warning in said}


def dialogues(count: int, turns: int = 3) -> States:
    return [
        {"dialogue_id": f"D{number:03}", "turn": turn, "gold": {"hotel-area": "north"}, "pred": {"hotel-name": "elm"}}
        for number in range(count)
        for turn in range(turns)
    ]


@pytest.mark.parametrize("missing", ["error", "wrong", "empty", "intersect"])
def test_parts_put_together_are_the_run_read_at_once(
    missing: Missing, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "_GROUP", 3)  # so that parts have several row groups

    @settings(max_examples=10)
    @given(
        states=corpora(max_dialogues=LARGE),
        count=st.integers(1, 4),
        own=st.sampled_from([False, True, True, True, True]),
        data=st.data(),
    )
    def check(states: States, count: int, own: bool, data: st.DataObject) -> None:
        gold = None  # then it does not matter what is done with missing turns
        if own:  # gold of its own, with dialogues and turns that the predictions lack, or that lack
            kept = data.draw(st.lists(st.booleans(), min_size=len(states), max_size=len(states)))
            Path("gold.json").write_text(json.dumps([s for s, k in zip(states, kept, strict=True) if k] or states))
            kept = data.draw(st.lists(st.booleans(), min_size=len(states), max_size=len(states)))
            states = [s for s, k in zip(states, kept, strict=True) if k] or states
            gold = "gold.json"
        files = write(states, count)
        how: dict[str, Any] = {"gold": gold, "missing": missing}
        at_once, _ = outcome(read_run, "run", files, **how)
        OUT.unlink(missing_ok=True)
        done, _ = outcome(convert, "run", files, OUT, jobs=1, **how)
        if isinstance(at_once, str):
            assert done == at_once
            assert not OUT.exists()
        else:
            table = at_once.table.collect()
            assert pl.read_parquet(OUT).equals(table)
            assert footer(OUT).meta == at_once.meta
            assert int(footer(OUT).fingerprint, 16) == gold_fingerprint(table)
            assert dict(done.coverage) == at_once.meta["coverage"]
            assert not PARTS.exists()

    check()


def test_processes_change_nothing(here: Path) -> None:
    files = write(dialogues(50), 5)
    convert("run", files, OUT, jobs=1)
    convert("run", files, Path("two.parquet"), jobs=2)
    assert OUT.read_bytes() == Path("two.parquet").read_bytes()
    write_long(read_run("run", files), "once.parquet")
    assert OUT.read_bytes() == Path("once.parquet").read_bytes()


def test_what_is_said_is_said_of_each_file_in_order(here: Path) -> None:
    states = dialogues(6)
    for state in states:
        others = ("area", "name", "stars", "type", "parking")  # most are in gold, or could be: no note on that
        state["pred"] = {f"x-{state['dialogue_id']}": "y"} | {f"hotel-{slot}": "y" for slot in others}
    files = write(states, 3)
    wanted = [f"{path}: 2 slots that MultiWOZ does not have" for path in files]
    for jobs in (1, 2):
        with pytest.warns(dstbench.DstbenchWarning, match="slots that MultiWOZ does not have") as said:
            convert("run", files, OUT, jobs=jobs)
        assert [str(warning.message).partition(",")[0] for warning in said] == wanted


def test_a_dialogue_in_two_files_is_one_dialogue(here: Path) -> None:
    states = dialogues(2)
    gold = Path("gold.json")
    gold.write_text(json.dumps(states))
    for number in range(3):
        Path(f"turn{number}.json").write_text(json.dumps([state for state in states if state["turn"] == number]))
    files = [f"turn{number}.json" for number in range(3)]
    ways: list[dict[str, Any]] = [{}, {"gold": "gold.json"}, {"gold": "gold.json", "missing": "wrong"}]
    for how in ways:
        at_once, said = outcome(read_run, "run", files, **how)
        done, also = outcome(convert, "run", files, OUT, **how)
        assert dict(done.coverage) == at_once.meta["coverage"]
        assert said == also
        assert pl.read_parquet(OUT).equals(at_once.table.collect())
    with pytest.raises(dstbench.DstbenchError, match="the same turn in two files"):
        convert("run", [*files, "turn0.json"], OUT)
    assert pl.read_parquet(OUT)["dialogue"].n_unique() == 2  # the one from before


def test_a_folder_is_its_files(here: Path) -> None:
    for split in ("dev", "test"):
        for number in range(2):
            for folder, text in (("SGD", formats.sgd_pred()), ("GOLD", formats.sgd_gold())):
                path = here / folder / split / f"dialogues_00{number}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace(formats.ID, f"{formats.ID}{split}{number}"))
    (here / "SGD/test/dialogues_001.json").unlink()
    how: dict[str, Any] = {"gold": "GOLD", "missing": "wrong"}
    for chosen in (None, "test", "dev"):
        at_once, said = outcome(read_run, "SGD", ["SGD"], split=chosen, **how)
        done, also = outcome(convert, "SGD", ["SGD"], OUT, split=chosen, **how)
        if chosen is None:
            assert done == at_once
            assert "predictions in the splits dev, test of GOLD" in at_once
            continue
        assert dict(done.coverage) == at_once.meta["coverage"]
        assert pl.read_parquet(OUT).equals(at_once.table.collect())
        assert footer(OUT).meta == at_once.meta
        assert len(also) >= len(said)


def test_a_broken_file_is_named_and_the_others_are_kept(here: Path) -> None:
    files = write(dialogues(9), 3)
    whole = Path(files[1]).read_text()
    for jobs in ("1", "2"):
        Path(files[1]).write_text(whole[:-9])
        code, _, err = run("convert", *files, "-o", "out.parquet", "--jobs", jobs)
        assert (code, err.splitlines()[0]) == (1, "error: part1.jsonl: line 9: the JSON ends too early")
        assert not OUT.exists()
        made = {path: path.stat().st_mtime_ns for path in PARTS.iterdir()}
        assert made
        Path(files[1]).write_text(whole)
        code, _, err = run("convert", *files, "-o", "out.parquet", "--jobs", jobs)
        ready = f" ({len(made)} of 3 files were ready from before)"
        assert (code, err) == (0, f"out.parquet: 9 dialogues, 27 turns{ready}\n")
        assert pl.read_parquet(OUT).equals(read_run("run", files).table.collect())
        assert not PARTS.exists()
        OUT.unlink()


@pytest.fixture
def interrupted(here: Path) -> list[str]:
    """Three files of which the first has its part already."""
    files = write(dialogues(9), 3)
    Path("broken.jsonl").write_text("{")
    with pytest.raises(dstbench.DstbenchError, match=r"broken\.jsonl"):
        convert("run", [files[0], "broken.jsonl"], OUT, jobs=1)
    assert len(list(PARTS.iterdir())) == 1
    return files


def test_a_part_is_not_made_again(interrupted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(source: Source, *how: Any, **else_how: Any) -> Any:
        read.append(source.name)
        return dstbench.read(source, *how, **else_how)

    monkeypatch.setattr(conversion, "read", noted)
    assert convert("run", interrupted, OUT, jobs=1).kept == 1
    assert read == interrupted[1:]


@pytest.mark.parametrize("what", ["input", "time", "setting", "damage", "cut", "version"])
def test_a_part_that_does_not_fit_is_made_again(
    what: str, interrupted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (part,) = PARTS.iterdir()
    first = Path(interrupted[0])
    how: dict[str, Any] = {}
    if what == "input":
        first.write_text(first.read_text().replace("elm", "oaks"))
    elif what == "time":
        os.utime(first, ns=(0, 0))
    elif what == "setting":
        how["missing"] = "wrong"
    elif what == "version":
        monkeypatch.setattr(conversion, "__version__", "0.0.0")
    else:
        content = part.read_bytes()
        start = pq.ParquetFile(part).metadata.row_group(0).column(3).data_page_offset
        damaged = content[:start] + bytes(16) + content[start + 16 :]
        part.write_bytes(damaged if what == "damage" else content[:-20])
    assert convert("run", interrupted, OUT, jobs=1, **how).kept == 0
    assert pl.read_parquet(OUT).equals(read_run("run", interrupted).table.collect())


def test_killed_and_run_again(here: Path) -> None:
    states = dialogues(1500, turns=8)
    small, large = "small.jsonl", "large.jsonl"
    Path(small).write_text("".join(json.dumps(state) + "\n" for state in states[:8]))
    Path(large).write_text("".join(json.dumps(state) + "\n" for state in states[8:]))
    convert("small", [small, large], Path("undisturbed.parquet"), jobs=1)
    for jobs in ("1", "2"):
        files = [small, large] if jobs == "1" else [small, large, "other.jsonl"]
        if jobs == "2":
            other = [{**state, "dialogue_id": "O" + state["dialogue_id"]} for state in states]
            Path("other.jsonl").write_text("".join(json.dumps(state) + "\n" for state in other))
            convert("small", files, Path("undisturbed.parquet"), jobs=1)
        command = [sys.executable, "-m", "dstbench", "convert", *files, "-o", "out.parquet", "--jobs", jobs]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as going:  # noqa: S603
            deadline = time.monotonic() + 60
            while not list(PARTS.glob("[!.]*.parquet")) and time.monotonic() < deadline:
                time.sleep(0.001)
            children = _children(going.pid)
            going.send_signal(signal.SIGKILL)
        assert going.returncode == -signal.SIGKILL, "it was done before it could be killed"
        assert not OUT.exists()
        while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not any(Path(f"/proc/{child}").exists() for child in children)
        ready = [footer(path).meta["run"] for path in PARTS.glob("[!.]*.parquet")]
        assert ready

        content = {path: Path(path).read_text() for path in ready}
        for path in ready:  # what is made of it now would be another table
            stat = os.stat(path)
            Path(path).write_text(content[path].replace("elm", "oak"))
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        assert f"({len(ready)} of {len(files)} files were ready from before)" in done.stderr
        assert OUT.read_bytes() == Path("undisturbed.parquet").read_bytes()
        assert not PARTS.exists()
        for path in ready:
            Path(path).write_text(content[path])
        OUT.unlink()


def _children(process: int) -> list[str]:
    listed = Path(f"/proc/{process}/task/{process}/children")
    return listed.read_text().split() if listed.exists() else []


def die(*_: object) -> None:
    os._exit(9)


def test_a_reading_process_that_dies_is_said_so(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(dialogues(4), 2)
    monkeypatch.setattr(conversion, "_make_part", die)
    with pytest.raises(dstbench.DstbenchError, match="was killed, perhaps because memory ran out"):
        convert("run", files, OUT, jobs=2)


def test_the_output_has_to_have_a_folder(here: Path) -> None:
    files = write(dialogues(4), 2)
    code, _, err = run("convert", *files, "-o", "none/out.parquet")
    assert code == 1
    assert err.splitlines()[0] == "error: none/out.parquet: cannot be written: No such file or directory"
