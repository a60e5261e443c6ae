"""Each law of metrics is kept by those that are built in (`tests/metrics/test_laws.py`), and broken by one here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench.metrics import Metric
from dstbench.metrics.base import turns
from dstbench.testing import check_metric

CALLS = count()
#: On how many corpora a metric is tried: on four of one dialogue and one of two.
CORPORA = 5


@dataclass(frozen=True)
class Right(Metric):
    """JGA under another name, of which each metric below is a spoilt copy."""

    name = "right"
    title = "right turns"
    source = "this test"

    def stats(self) -> dict[str, pl.Expr]:
        return {"right": (pl.col("n_correct") == pl.col("n_union")).cast(pl.Int64), "turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return sums["right"] / sums["turns"]


def spoilt(**attributes: Any) -> type[Metric]:
    made: Any = dataclass(frozen=True)(type("Spoilt", (Right,), {"name": "spoilt", **attributes}))
    metric: type[Metric] = made
    return metric


NAMED = "it has a name, and statistics that can be summed"
ORDER = "the order of dialogues, turns and slots changes nothing"
PARTS = "the sums of parts add up to the whole, on any number of threads"
NULL = "undefined is null, never NaN or infinite"
RANGE = "a share is from 0 to 1"
TWICE = "every dialogue twice: a share stays, a count doubles"
WRITTEN = "its notation and its signature can be read back"


def _another(values: pl.Series) -> pl.Series:
    return values * 0 + next(CALLS) / 2**20


#: A spoilt metric, the laws that it breaks, and what is said of one of them.
SPOILT: dict[str, tuple[dict[str, Any], set[str], str]] = {
    "nothing": ({}, set(), ""),
    "the name of another": ({"name": "jga"}, {NAMED}, "'jga' is the name of a built-in metric"),
    "another at each call": (
        {"score": lambda _, sums: sums["right"].map_batches(_another, return_dtype=pl.Float64)},
        {ORDER, PARTS, TWICE}, "in another",
    ),
    "NaN": ({"score": lambda _, sums: sums["right"] / sums["right"]}, {NULL}, "spoilt is nan for run states; not null"),
    "percent": (
        {"score": lambda _, sums: 100 * sums["right"] / sums["turns"]}, {RANGE}, "; if it is no share",
    ),
    "a mean that is called a count": ({"is_count": True}, {TWICE}, "2.0 and 1.0"),
    "a float that is not written as it is": (
        {"__annotations__": {"part": "float"}, "part": 0.5, "__str__": lambda self: f"spoilt:part={self.part:.0f}"},
        {WRITTEN}, "is read as",
    ),
}  # fmt: skip


@pytest.mark.again
@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_metric_breaks_the_laws_that_it_breaks(name: str) -> None:
    attributes, laws, fault = SPOILT[name]
    metric = spoilt(**attributes)
    if not laws:
        check_metric(metric, corpora=CORPORA)
        return
    with pytest.raises(AssertionError, match="breaks laws:") as caught:
        check_metric(metric, corpora=CORPORA)
    assert {law for law in (NAMED, ORDER, PARTS, NULL, RANGE, TWICE, WRITTEN) if law in str(caught.value)} == laws
    assert fault in str(caught.value)


@pytest.mark.again
@pytest.mark.parametrize(
    "name", ["wrong", *(pytest.param(name, marks=pytest.mark.again) for name in ("jga", "sa", "gca:counting=paper"))]
)
def test_built_in_metrics_keep_them(name: str) -> None:
    check_metric(dstbench.parse(name), corpora=4)
