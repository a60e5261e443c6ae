"""Laws that hold for any corpus."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench.metrics import REGISTRY
from dstbench.runs.open import open_runs
from dstbench.runs.run import Run
from tests.corpora import FEW, LARGE, OF_FRAMES, States, corpora

#: Invented predictions may have slots that invented gold never has.
pytestmark = pytest.mark.filterwarnings("ignore:.*of slots that gold never has:dstbench.errors.DstbenchWarning")

ALL_NAMES = [name for name in REGISTRY if name not in OF_FRAMES]
ALL = ",".join(ALL_NAMES)


def values(states: States | pl.DataFrame, metrics: str = ALL) -> dict[str, float | None]:
    rows = dstbench.score(states, metrics=metrics)
    return dict(zip(rows["metric"], rows["value"], strict=True))


@FEW
@given(corpora(LARGE))
def test_a_run_against_its_own_gold_scores_1_wherever_1_is_possible(states: States) -> None:
    found = values([{**state, "pred": state["gold"]} for state in states], f"{ALL},gca:counting=paper")
    any_gold = any(v not in ("none", "") for s in states for v in s["gold"].values())
    for name in ("jga", "sa", "f1", "precision", "recall", "fga", "tla"):
        assert found[name] == 1
    for name in ("aga", "iaga", "gca:counting=paper"):
        assert found[name] == (pytest.approx(1, abs=1e-15) if any_gold else None)
    # As released, GCA counts a slot that both sides drop in one turn as correct and as missed: 1 is out of reach.
    drops = any(v in ("none", "") for s in states for v in s["gold"].values()) or any(
        slot not in after["gold"]
        for before, after in pairwise(states)
        if before["dialogue_id"] == after["dialogue_id"]
        for slot in before["gold"]
    )
    if not drops:
        assert found["gca"] == (pytest.approx(1, abs=1e-15) if any_gold else None)
    else:
        assert found["gca"] is not None
        assert found["gca"] < 1
    turns_with_gold = sum(any(v not in ("none", "") for v in s["gold"].values()) for s in states)
    assert found["rsa"] == turns_with_gold / len(states)  # an empty turn has RSA 0, whatever is predicted


@FEW
@given(corpora(LARGE), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(states: States, rng: random.Random) -> None:
    table = dstbench.scan(states).drop("run").collect()
    columns = table.columns
    rng.shuffle(columns)
    mixed = table.sample(fraction=1, shuffle=True, seed=rng.randrange(2**32)).select(columns)
    assert values(mixed) == values(states)


@FEW
@given(corpora(LARGE), st.sampled_from(["dialogue", "turn", "dialogue,turn", "n_gold", "length"]))
def test_slices_sum_to_the_whole(states: States, by: str) -> None:
    run = open_runs(states)
    whole, parts = (dstbench.score(run, metrics=ALL, by=group) for group in ("run", by))
    assert parts.filter(metric="jga")["turns"].sum() == len(states)
    for name in ("jga", "sa", "rsa", "fga", "tla", "f1", "precision", "recall"):  # means over turns
        mean = sum(Fraction(v) * n for v, n in parts.filter(metric=name).select("value", "turns").iter_rows())
        assert whole.filter(metric=name)["value"].item() == pytest.approx(float(mean / len(states)), rel=1e-14)
    for name in ("correct", "wrong", "missed", "over", "error-turns"):  # counts
        assert whole.filter(metric=name)["value"].item() == parts.filter(metric=name)["value"].sum()


@pytest.mark.filterwarnings("ignore:.*not comparable:dstbench.errors.DstbenchWarning")  # each has its own gold
@FEW
@given(corpora(LARGE))
def test_a_union_of_runs_scores_as_each_alone(states: States) -> None:
    first = [s for s in states if s["dialogue_id"] == "MUL0"]
    both = dstbench.score({"first": first, "all": states}, metrics=ALL)
    for name, part in (("first", first), ("all", states)):
        rows = both.filter(run=name)
        assert dict(zip(rows["metric"], rows["value"], strict=True)) == values(part)


def under(states: States | Run, metrics: str = ALL, **choices: Any) -> dict[str, float | None]:
    data = [states] if isinstance(states, Run) else states
    rows = dstbench.score(data, metrics=metrics, profile=dstbench.profile("verbatim", **choices))
    return dict(zip(rows["metric"], rows["value"], strict=True))


def keeping(states: States, side: str, wanted: Callable[[str, str, dict[str, str]], bool]) -> States:
    """The same states, of one side only the slots and values that are wanted, given gold's state."""
    return [{**state, side: {s: v for s, v in state[side].items() if wanted(s, v, state["gold"])}} for state in states]


#: Metrics that ask nothing of the turn before, be it scored or not.
OF_A_TURN = ",".join(name for name in ALL_NAMES if name not in ("fga", "tla") and "gca" not in name)


@pytest.mark.filterwarnings(
    "ignore:.*(are not in multiwoz-30|not scored under|have gaps):dstbench.errors.DstbenchWarning"
)
@FEW
@given(corpora(LARGE))
def test_slots_outside_the_set_are_as_if_they_had_never_been(states: States) -> None:
    outside = "hospital-department"

    def renamed(state: dict[str, str]) -> dict[str, str]:
        return {outside if slot == "hotel-name" else slot: value for slot, value in state.items()}

    all_slots = [{**state, "gold": renamed(state["gold"]), "pred": renamed(state["pred"])} for state in states]

    def has_values(state: dict[str, Any]) -> bool:
        return any(value not in ("none", "") for value in state["gold"].values())

    assume(any(slot != outside and v not in ("none", "") for s in all_slots for slot, v in s["gold"].items()))
    inside = keeping(all_slots, "gold", lambda slot, *_: slot != outside)
    inside = keeping(inside, "pred", lambda slot, *_: slot != outside)
    # A turn whose gold has no other values would be right by leaving them out: it is not scored.
    inside = [one for one, whole in zip(inside, all_slots, strict=True) if has_values(one) or not has_values(whole)]
    found = under(all_slots, OF_A_TURN, slots="multiwoz-30", outside="dropped")
    assert found == under(inside, OF_A_TURN, slots="multiwoz-30")


@pytest.mark.filterwarnings("ignore:.*not scored under:dstbench.errors.DstbenchWarning")
@FEW
@given(corpora(LARGE))
def test_predictions_outside_golds_domains_are_as_if_they_had_never_been(states: States) -> None:
    def is_inside(slot: str, _: str, gold: dict[str, str]) -> bool:
        return any(s.split("-")[0] == slot.split("-", maxsplit=1)[0] and v not in ("none", "") for s, v in gold.items())

    assert under(states, over="gold-domains") == under(keeping(states, "pred", is_inside))


#: All but GCA as released, to which a slot that is listed is one that changes, whatever its value means.
BY_VALUE = ",".join(["gca:counting=paper", *(name for name in ALL_NAMES if "gca" not in name)])


@pytest.mark.again
@FEW
@given(corpora(LARGE))
def test_what_means_absent_is_as_if_it_were_not_there(states: States) -> None:
    def is_there(_: str, value: str, __: dict[str, str]) -> bool:
        return value not in ("none", "")

    (run,) = open_runs(states)
    gold, pred = keeping(states, "gold", is_there), keeping(states, "pred", is_there)
    assert under(run, BY_VALUE, none="drop-gold") == under(gold, BY_VALUE, none="keep")
    assert under(run, BY_VALUE, none="drop-pred") == under(pred, BY_VALUE, none="keep")
    assert under(run, BY_VALUE, none="drop") == under(keeping(gold, "pred", is_there), BY_VALUE, none="keep")


@pytest.mark.again
@pytest.mark.filterwarnings("ignore:.*not scored under:dstbench.errors.DstbenchWarning")
@FEW
@given(corpora(LARGE))
def test_dontcare_is_dropped_or_skipped_as_if_it_were_not_there(states: States) -> None:
    def is_other(_: str, value: str, __: dict[str, str]) -> bool:
        return value != "dontcare"

    (run,) = open_runs(states)
    gold, pred = keeping(states, "gold", is_other), keeping(states, "pred", is_other)
    skipped = keeping(states, "pred", lambda slot, _, gold: gold.get(slot) != "dontcare")
    assert under(run, BY_VALUE, dontcare="drop-gold") == under(gold, BY_VALUE)
    assert under(run, BY_VALUE, dontcare="drop-pred") == under(pred, BY_VALUE)
    assert under(run, BY_VALUE, dontcare="drop") == under(keeping(gold, "pred", is_other), BY_VALUE)
    assert under(run, BY_VALUE, dontcare="skip") == under(keeping(skipped, "gold", is_other), BY_VALUE)
