"""Inputs that cannot be read, that vanish, or that become others while they are read: one message, no number."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.io.files import File
from dstbench.scoring.partitions import over_partitions
from tests.faults import call, write_inputs

pytestmark = pytest.mark.kill


def table(path: str, tracker: str = "careful", dialogues: int = 300) -> None:
    dstbench.write_long(dstbench.open_runs(synthetic(dialogues, trackers=[tracker]))[0], path)


def replaced() -> None:
    os.replace("other.parquet", "run.parquet")


def overwritten() -> None:
    """As `cp` does it: the same file, its content another."""
    Path("run.parquet").write_bytes(Path("other.parquet").read_bytes())


def made_a_folder() -> None:
    os.remove("run.parquet")
    os.mkdir("run.parquet")


_CHANGED = "the file was replaced or changed while it was read"
CHANGES: dict[str, tuple[Callable[[], None], str]] = {
    "vanished": (lambda: os.remove("run.parquet"), "no such file any more"),
    "replaced": (replaced, _CHANGED),
    "overwritten": (overwritten, _CHANGED),
    "cut off": (lambda: os.truncate("run.parquet", 3000), _CHANGED),
    "a folder": (made_a_folder, _CHANGED),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_long_table_that_is_another_when_it_is_scored(how: str, here: Path) -> None:
    change, said = CHANGES[how]
    table("run.parquet")
    table("other.parquet", "forgetful")
    runs = dstbench.open_runs("run.parquet")
    change()
    uses: list[Callable[[], object]] = [
        lambda: dstbench.score(runs),
        lambda: dstbench.diagnose(runs),
        lambda: dstbench.sweep(runs),
        lambda: dstbench.query("SELECT count(*) FROM long", runs),
        lambda: dstbench.write_long(runs[0], "copy.parquet"),
    ]
    for use in uses:
        with pytest.raises(dstbench.DstbenchError, match=f"{here}/run.parquet: {said}.*\nhint: "):
            use()
    assert not Path("copy.parquet").exists()


@pytest.mark.parametrize("how", CHANGES)
def test_a_long_table_that_changes_between_two_partitions(
    how: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, said = CHANGES[how]
    monkeypatch.setattr("dstbench.runs.run._ROW_GROUP", 500)
    monkeypatch.setattr("dstbench.scoring.partitions.partitions.__defaults__", (500,))
    table("run.parquet")
    table("other.parquet", "forgetful")
    (opened,) = dstbench.open_runs("run.parquet")
    assert len(opened.cuts) > 20
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 0)  # one worker: some changes are two steps
    changes = iter([change])

    def count(part: pl.DataFrame) -> int:
        for act in changes:
            act()
        return part.height

    with pytest.raises(dstbench.DstbenchError, match=said):
        over_partitions(opened, count)


@pytest.mark.parametrize("words", ["score one.jsonl two.jsonl -m jga", "convert one.jsonl two.jsonl -o out.parquet"])
@pytest.mark.parametrize("how", ["vanishes", "shrinks"])
def test_a_native_file_that_does_not_stay(
    how: str, words: str, here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each time that a file is opened, once."""
    write_inputs()
    two = Path("two.jsonl")
    content, opened, disk = two.read_bytes(), 0, File._disk

    def counted(file: File) -> Any:
        nonlocal opened
        opened += 1
        if opened == moment:
            two.unlink() if how == "vanishes" else two.write_bytes(content[: len(content) // 2])
        return disk(file)

    monkeypatch.setattr(File, "_disk", counted)
    codes, moment = set(), 0
    while opened >= moment:
        moment, opened = moment + 1, 0
        two.write_bytes(content)
        Path("out.parquet").write_text("what was there before")
        code = call(words)
        codes.add(code)
        err = capfd.readouterr().err
        if code:
            assert re.match(r"error: two\.jsonl: (no such file|line \d+: the JSON ends too early)", err), err
            assert Path("out.parquet").read_text() == "what was there before"
    assert codes == {0, 1}
    assert moment > 4
