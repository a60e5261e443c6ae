"""Inputs that cannot be read, that vanish, or that become others while they are read: one message, no number."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import dstbench
from dstbench.demo import synthetic

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
