"""The conclusion of a diagnosis, of runs whose faults were planted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.analysis.findings import conclusion

GOLD = [{"hotel-area": "north"}, {"hotel-area": "north", "hotel-name": "ashley"}]


def run_of(*dialogues: list[dict[str, str]]) -> list[dict[str, Any]]:
    """A run that predicts these states; gold of every dialogue is `GOLD`, whose last state stays."""
    return [
        {"dialogue_id": f"D{number}", "turn": turn, "gold": GOLD[min(turn, 1)], "pred": pred}
        for number, states in enumerate(dialogues)
        for turn, pred in enumerate(states)
    ]


def test_a_run_without_a_fault() -> None:
    assert conclusion(dstbench.diagnose(run_of(GOLD, GOLD))) == ["no dialogue fails"]


def test_a_run_that_never_predicts_a_slot() -> None:
    """Of four turns per dialogue, the slot is in the last three: all fail first in the second."""
    area = {"hotel-area": "north"}
    assert conclusion(dstbench.diagnose(run_of([area] * 4, [area] * 4))) == [
        "100.0 % of dialogues fail, half of these within the first 30 % of their turns",
        "Missed slots are the most frequent errors: 100.0 %, wrong values 0.0 % and over-predicted slots 0.0 %; at "
        "least 66.7 % of errors are carried over from the turn before (stale)",
        "states never predicts 1 slot of gold: hotel-name",
    ]


@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_two_runs_one_worse_than_the_other() -> None:
    wrong = [{"hotel-area": "south"}, {"hotel-area": "south", "hotel-name": "ashley", "hotel-stars": "4"}]
    runs = {"good": run_of(GOLD, GOLD, GOLD, wrong), "bad": run_of(GOLD, wrong, wrong, wrong)}
    assert conclusion(dstbench.diagnose(runs)) == [
        "25.0 % (good) to 75.0 % (bad) of dialogues fail, half of these within the first 10 % of their turns",
        "Wrong values are the most frequent errors: 66.7 %, over-predicted slots 33.3 % and missed slots 0.0 %; at "
        "least 33.3 % of errors are carried over from the turn before (stale)",
        "The slots with the lowest F1: hotel-area (25.0 to 75.0 %)",
    ]


def test_a_dialogue_that_fails_at_its_end() -> None:
    found = conclusion(dstbench.diagnose(run_of([GOLD[0], *[GOLD[1]] * 18, {}])))
    assert found[0] == "100.0 % of dialogues fail, more than half of these first in their last tenth"


STATES = st.sampled_from([{}, GOLD[0], GOLD[1], {"hotel-name": "x"}, {"hotel-area": "north", "taxi-leaveat": "1"}])


@given(st.lists(st.lists(STATES, min_size=1, max_size=4), min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
def test_the_share_that_fails_is_that_of_last_turns_that_are_wrong(dialogues: list[list[dict[str, str]]]) -> None:
    lines = conclusion(dstbench.diagnose(run_of(*dialogues)))
    fails = sum(states[-1] != GOLD[min(len(states) - 1, 1)] for states in dialogues)
    assert lines[0].partition(" of dialogues")[0] == (
        f"{100 * fails / len(dialogues):.1f} %" if fails else "no dialogue fails"
    )
    assert len(lines) <= 4
    used = {slot for states in dialogues for state in states for slot in state}
    of_gold = {slot for states in dialogues for turn in range(len(states)) for slot in GOLD[min(turn, 1)]}
    assert any("never predicts" in line for line in lines) == bool(of_gold - used)
