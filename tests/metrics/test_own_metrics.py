"""Metrics that are not built in: they change no other number, sign as themselves and are shown as what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.metrics import REGISTRY, parse_all, stats_of
from dstbench.metrics.base import Metric, turns
from dstbench.metrics.built_in import JGA
from tests.corpora import EXAMPLE, LARGE, OF_FRAMES, States, corpora


@dataclass(frozen=True)
class Empty(Metric):
    """The share of turns in which nothing is predicted; its statistics are called as other metrics' are."""

    called: str = "right"

    name = "empty"
    title = "turns without a prediction"
    source = "this test"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.called: (pl.col("n_pred") == 0).cast(pl.Int64), "how many turns": turns()}

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        return sums[self.called] / sums["how many turns"]


#: Every name that a built-in metric gives a statistic.
TAKEN = sorted({name for metric in REGISTRY.values() for name in stats_of(metric())})


def values(states: States, metrics: list[str | Metric], **how: Any) -> dict[str, float | None]:
    rows = dstbench.score(states, metrics=metrics, **how)
    return dict(zip(rows["metric"], rows["value"], strict=True))


@pytest.mark.again
@settings(max_examples=6)
@given(
    corpora(LARGE),
    st.sampled_from(TAKEN),
    st.permutations([*(name for name in REGISTRY if name not in OF_FRAMES), "empty"]),
)
def test_no_statistic_of_an_own_metric_changes_another(states: States, called: str, order: list[str]) -> None:
    own = Empty(called)
    together = values(states, [own if name == "empty" else name for name in order])
    assert together.pop(str(own)) == sum(
        all(value in ("none", "") for value in state["pred"].values()) for state in states
    ) / len(states)
    assert together == values(states, [name for name in order if name != "empty"])


def test_an_own_metric_signs_with_where_it_is_from() -> None:
    (signature,) = dstbench.score(EXAMPLE, metrics=[Empty()])["signature"]
    assert signature.startswith("empty(called=right)@tests.metrics.test_own_metrics#")
    (built_in,) = dstbench.score(EXAMPLE, metrics="jga")["signature"]
    assert built_in.startswith("jga|")


def _own(**attributes: Any) -> type[Metric]:
    made: Any = dataclass(frozen=True)(type("Own", (Empty,), attributes))
    own: type[Metric] = made
    return own


@pytest.mark.parametrize("base", [JGA, Empty])
def test_a_built_in_name_cannot_be_borrowed(base: type[Metric]) -> None:
    for name in REGISTRY:
        borrowed: Any = dataclass(frozen=True)(type("Mine", (base,), {"name": name}))
        with pytest.raises(
            dstbench.UsageError, match=f"'{name}' is the name of a built-in metric\nhint: .*\"my-{name}\""
        ):
            parse_all([borrowed()])


@pytest.mark.parametrize(
    ("statistic", "said"),
    [
        (lambda: pl.col("n_correct").sum(), "not a value of each turn"),
        (lambda: pl.col("n_correct").shift(1), "not a value of each turn"),
        (lambda: pl.col("n_correct").cum_sum(), "not a value of each turn"),
        (lambda: pl.lit(1), "not a value of each turn"),
        (lambda: pl.col("n_corect"), "cannot be computed"),  # misspelt
        (lambda: pl.col("dialogue"), "is String, not a number"),
    ],
)
def test_a_statistic_that_cannot_be_summed_is_refused(statistic: Callable[[], pl.Expr], said: str) -> None:
    own = _own(stats=lambda _: {"right": statistic(), "how many turns": turns()})
    with pytest.raises(dstbench.UsageError, match=f"statistic 'right' .*{said}"):
        dstbench.score(EXAMPLE, metrics=[own()])


def test_two_metrics_of_one_name_are_refused() -> None:
    with pytest.raises(dstbench.UsageError, match="two metrics are called 'empty'"):
        parse_all([_own()(), Empty()])


@pytest.mark.parametrize("name", [None, "", "a b", "a,b", "a:b", "a|b", "9", 7])
def test_a_name_that_cannot_be_written_is_refused(name: object) -> None:
    with pytest.raises(dstbench.UsageError, match="its name is"):
        parse_all([_own(name=name)()])
