"""Who works on partitions: the choice of an engine, where it holds, and what is said where it cannot be had."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pytest

import dstbench
from dstbench.scoring import ray as engine_ray
from dstbench.scoring.partitions import partitions, worked_on_by
from tests import formats
from tests.commands import run
from tests.corpora import EXAMPLE

T = TypeVar("T")


class Counting:
    """An engine that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, run: dstbench.Run, function: Callable[[pl.DataFrame], T]) -> list[T]:
        self.calls += 1
        return [function(run.table.slice(*part).collect()) for part in partitions(run)]


def test_an_engine_works_in_its_block_and_thread_only() -> None:
    counting = Counting()
    whole = dstbench.score(EXAMPLE)
    with worked_on_by(counting):
        assert dstbench.score(EXAMPLE).equals(whole, null_equal=True)
        assert counting.calls == 1
        with ThreadPoolExecutor(1) as pool:
            pool.submit(dstbench.score, EXAMPLE).result()
        with dstbench.engine("local"):
            dstbench.score(EXAMPLE)
        assert counting.calls == 1
        dstbench.diagnose(EXAMPLE)
    calls = counting.calls
    assert calls > 1
    with pytest.raises(ZeroDivisionError), worked_on_by(counting):
        raise ZeroDivisionError
    dstbench.score(EXAMPLE)
    assert counting.calls == calls


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"name": "rya"}, "there is no engine 'rya'\nhint: did you mean ray?"),
        ({"name": "local", "address": "head:6379"}, "the local engine has no address"),
    ],
)
def test_what_no_engine_is(how: dict[str, Any], message: str) -> None:
    with pytest.raises(dstbench.UsageError, match=message), dstbench.engine(**how):
        raise AssertionError("entered")


def test_without_ray_one_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_ray, "find_spec", lambda _: None)
    with pytest.raises(dstbench.DstbenchError, match=r"pip install 'dstbench\[ray\]'"), dstbench.engine("ray"):
        raise AssertionError("entered")


def test_on_the_command_line_an_address_needs_the_engine(here: Path) -> None:
    Path("p.json").write_text(formats.gtpr())
    assert run("score", "p.json", "--address", "head:6379") == (
        2, "", "error: the local engine has no address\nhint: --engine ray\n",
    )  # fmt: skip


def test_ray_is_not_imported_unless_it_is_asked_for() -> None:
    script = (
        "import sys, dstbench; from tests.corpora import EXAMPLE\n"
        "with dstbench.engine('local'):\n    dstbench.score(EXAMPLE)\n"
        "assert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603 (our own code)
