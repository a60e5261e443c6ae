"""The notation of metrics, and what the oracle cannot show."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_args, get_type_hints

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.slots import DATASET_SLOTS
from dstbench.metrics import DEFAULT, DEFAULT_PER_SLOT, REGISTRY, parse_all
from dstbench.metrics.built_in import GCA, SA
from tests.corpora import EXAMPLE

_VALUES = {
    "T": st.integers(1, 100),
    "lam": st.floats(0, 10),
    "alpha": st.floats(0, 1),
    "avg": st.sampled_from(["macro", "micro"]),
    "counting": st.sampled_from(["released", "paper"]),
    "wrong": st.sampled_from(["both", "missed"]),
}


@st.composite
def metrics(draw: st.DrawFn) -> dstbench.Metric:
    metric = REGISTRY[draw(st.sampled_from(sorted(REGISTRY)))]
    hints = get_type_hints(metric)
    empties = {"empty": st.sampled_from(get_args(hints["empty"]))} if "empty" in hints else {}
    given = _VALUES | empties
    return metric(**{f.name: draw(given[f.name]) for f in fields(metric) if draw(st.booleans())})


@given(metrics())
def test_the_notation_can_be_read_back(metric: dstbench.Metric) -> None:
    assert dstbench.parse(str(metric)) == metric


@given(metrics(), metrics())
def test_two_metrics_are_written_alike_only_if_they_are_equal(one: dstbench.Metric, other: dstbench.Metric) -> None:
    assert (str(one) == str(other)) == (one == other)
    assert (one.settings() == other.settings()) == (one == other)


def test_defaults_are_left_out() -> None:
    for name in REGISTRY:
        assert str(dstbench.parse(name)) == name
    assert str(dstbench.parse("gca:alpha=10/11:counting=released")) == "gca"
    assert str(dstbench.parse(" fga:lam=1 ")) == "fga:lam=1.0"
    assert [str(m) for m in parse_all("jga,sa,jga")] == ["jga", "sa"]
    assert [str(m) for m in parse_all(DEFAULT)] == DEFAULT.split(",")
    assert [str(m) for m in parse_all(DEFAULT_PER_SLOT)] == DEFAULT_PER_SLOT.split(",")


@pytest.mark.parametrize(
    ("notation", "said"),
    [
        ("jgaa", "there is no metric 'jgaa'\nhint: did you mean jga"),
        ("", "there is no metric ''\nhint: one of jga, sa"),
        ("fga:lambda=1", "metric 'fga:lambda=1': 'lambda=1' is no parameter and its value\nhint: fga takes lam=…"),
        ("fga:lam", "'lam' is no parameter and its value"),
        ("fga:lam=1,alpha=0.5", "there is no metric 'alpha=0.5'\nhint: a metric's parameters follow it after colons"),
        ("fga:lam=1:lam=2", "'lam=2' is no parameter and its value"),
        ("fga:lam=1=2", "lam is '1=2', not a number"),
        ("fga:lam=-1", "lam is -1.0, not a number from 0"),
        ("gca:alpha=2", "alpha is 2.0, not a number from 0 to 1"),
        ("gca:counting=mine", "counting is 'mine', none of released, paper"),
        ("sa:T=thirty", "T is 'thirty', not a whole number"),
        ("sa:T=0", "T is 0, not a number of slots from 1 to 1,000,000"),
        ("fga:lam=1e99999999", "lam is inf, not a number from 0"),
        ("jgaa,sa,fgaa", "there is no metric 'jgaa'; there is no metric 'fgaa'\nhint: did you mean"),
    ],
)
def test_what_is_wrong_is_said_all_at_once(notation: str, said: str) -> None:
    with pytest.raises(dstbench.UsageError) as caught:
        parse_all(notation)
    assert said in str(caught.value)


def test_slot_accuracy_needs_its_number_of_slots() -> None:
    with pytest.raises(dstbench.UsageError, match="needs the number of slots"):
        dstbench.parse("sa").expr()
    turns = dstbench.turns(EXAMPLE)
    assert turns.select(dstbench.parse("sa:T=30").expr()).item() == pytest.approx(59 / 60)


@pytest.mark.parametrize(
    ("slots", "head"),
    [
        (["hotel-area"], "sa(T=30,slots=multiwoz-30)"),
        (["hotel-area", "hospital-department"], "sa(T=31,slots=multiwoz-31)"),
        (["bus-day"], "sa(T=35,slots=multiwoz-35)"),
        (sorted(DATASET_SLOTS["multiwoz-30"]), "sa(T=30,slots=multiwoz-30)"),
        (sorted(DATASET_SLOTS["multiwoz-31"]), "sa(T=31,slots=multiwoz-31)"),
        (["hotel-area", "hotel-sauna"], "sa(T=2,slots=gold)"),
    ],
)
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_slot_accuracy_finds_the_smallest_set_of_a_dataset(slots: list[str], head: str) -> None:
    invented = {f"spa-{number}": "x" for number in range(40)}  # no tracker makes itself more slots to be right in
    for pred in ({}, invented):
        gold = dict.fromkeys(slots, "x")
        states = [{"dialogue_id": "MUL1", "turn": 0, "gold": gold, "pred": {slots[0]: "x"} | pred}]
        rows = dstbench.score(states, metrics="sa,sa:T=5")
        assert rows["signature"][0].startswith(head)
    assert rows["signature"][1].startswith("sa(T=5)|")
    assert rows["metric"].to_list() == ["sa", "sa:T=5"]


def test_runs_whose_scores_cannot_be_compared_are_reported() -> None:
    other = [{**state, "gold": {**state["gold"], "bus-day": "monday"}} for state in EXAMPLE]
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        dstbench.score({"a": EXAMPLE, "b": other}, metrics="sa,jga")
    totals, gold = (str(warning.message) for warning in caught)
    assert re.fullmatch(r"sa: not comparable .*sa\(T=30.*\(a\), sa\(T=35.*\(b\); .* -m sa:T=30", totals)
    assert gold.startswith("sa, jga: not comparable")
    other = [{**state, "gold": {**state["gold"], "hotel-area": "east"}} for state in EXAMPLE]
    with pytest.warns(dstbench.DstbenchWarning, match=r"^jga, rsa: .*compared is \w{8} \(a\), \w{8} \(b\)") as caught:
        dstbench.score({"a": EXAMPLE, "b": other}, metrics="jga,rsa")
    assert len(caught) == 1  # once for all metrics


@pytest.mark.parametrize("total", [0, -1, -(10**30)])
def test_slot_accuracy_has_at_least_one_slot(total: int) -> None:
    states = [{"dialogue_id": "MUL1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    for make in (
        lambda: SA(T=total),
        lambda: dstbench.parse(f"SA:T={total}"),
        lambda: dstbench.score(states, metrics=["jga", f"sa:T={total}"]),
        lambda: dstbench.Evaluator(states, metrics=f"sa:T={total}"),
        lambda: dstbench.score(states, profile=dstbench.Convention(metrics=f"sa:T={total}")),
    ):
        with pytest.raises(dstbench.UsageError, match=f"T is {total}, not a number of slots"):
            make()


def test_gca_without_a_correct_change_is_0_whatever_values_weigh() -> None:
    turns = pl.DataFrame({"gca_correct": [0], "gca_wrong": [1], "gca_missed": [0], "gca_over": [0]})
    for alpha in (0, 0.5, 1):
        assert turns.select(GCA(alpha=alpha).expr()).item() == 0


def test_a_value_that_is_charged_again_is_two_slots() -> None:
    """TRADE cuts the slot off at the last hyphen: a wrong value with one is a slot of its own."""
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-name": "a-b", "hotel-area": "north"}, "pred": {}}]
    states[0]["pred"] = {"hotel-name": "c", "hotel-area": "north"}
    twice = dstbench.Convention(wrong_costs="twice")
    found = dstbench.score(states, metrics="sa:T=30,rsa", profile=twice)["value"].to_list()
    assert found == pytest.approx([28 / 30, 1 / 3])
    assert dstbench.score(states, metrics="sa:T=30,rsa")["value"].to_list() == pytest.approx([29 / 30, 1 / 2])
