"""Who works on partitions: the choice of an engine, where it holds, and what is said where it cannot be had."""

from __future__ import annotations

from typing import Any

import pytest

import dstbench
from dstbench.scoring import ray as engine_ray


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
