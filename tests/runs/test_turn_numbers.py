"""Turns that predictions number differently than gold: refused under every ``missing``, and mended by options."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench.typing import Missing
from tests.corpora import States

MISSING: tuple[Missing, ...] = get_args(Missing)
SLOTS = ("hotel-area", "hotel-name", "hotel-book day", "train-day", "train-leaveat")
#: Numberings of turns that people use: the number of gold's turn 0, and the step; and others.
USUAL = [(1, 1), (0, 2), (1, 2), (2, 2)]
NUMBERINGS = [*USUAL, (3, 1), (7, 2)]

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")


def gold_of(sizes: list[int]) -> States:
    """Dialogues of so many turns, in each of which another slot or value is new."""
    return [
        {
            "dialogue_id": f"MUL{dialogue}",
            "turn": turn,
            "gold": {SLOTS[t % len(SLOTS)]: f"{dialogue} at {t}" for t in range(turn + 1)},
        }
        for dialogue, size in enumerate(sizes)
        for turn in range(size)
    ]


def predicted(gold: States, first: int = 0, step: int = 1) -> States:
    """What a perfect tracker predicts, with its own numbers of turns."""
    return [
        {"dialogue_id": state["dialogue_id"], "turn": first + step * state["turn"], "pred": state["gold"]}
        for state in gold
    ]


def scored(states: Any, **reading: Any) -> list[tuple[Any, ...]]:
    return dstbench.score(states, metrics="jga,sa,gca", **reading).select("value", "turns", "dialogues").rows()


def options_in(message: str) -> dict[str, Any]:
    """The options of renumbering that a message names first, as keywords."""
    hint = message.partition("hint: ")[2].partition(" renumbers")[0]
    return {name: int(value) for name, value in re.findall(r"`(turns_from|turn_step)` (-?\d+)", hint)}


@pytest.mark.again
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.sampled_from(NUMBERINGS), st.data())
def test_a_perfect_tracker_is_refused_with_the_options_that_mend_it(
    sizes: list[int], numbering: tuple[int, int], data: st.DataObject
) -> None:
    gold = gold_of(sizes)
    part, missing = gold, data.draw(st.sampled_from(MISSING), label="missing")
    if numbering in USUAL and missing != "error" and data.draw(st.booleans(), label="partial"):
        kept = data.draw(st.sets(st.sampled_from(range(len(gold))), min_size=min(2, len(gold))), label="kept")
        part = [gold[at] for at in sorted(kept)]
        first, step = numbering  # one turn under another number may as well be an error of the tracker
        assume(sum(first + step * state["turn"] != state["turn"] for state in part) > 1)
    right = scored(predicted(part), gold=gold, missing=missing)
    if part is gold or missing == "intersect":
        assert right[0][0] == 1
    try:  # a dialogue's turn 0 is turn 0 in twos, too
        assert scored(predicted(part, *numbering), gold=gold, missing=missing) == right
    except dstbench.DstbenchError as error:
        options = options_in(str(error))
        assert scored(predicted(part, *numbering), gold=gold, missing=missing, **options) == right


@pytest.mark.again
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.data())
def test_partial_runs_with_golds_numbers_are_never_refused(sizes: list[int], data: st.DataObject) -> None:
    gold = gold_of(sizes)
    states = predicted(gold)
    kept = data.draw(st.lists(st.sampled_from(range(len(states))), min_size=1, unique=True), label="kept")
    wrong = data.draw(st.sets(st.sampled_from(kept)), label="wrong")
    part = [{**states[at], "pred": {"hotel-stars": "9"}} if at in wrong else states[at] for at in kept]
    for missing in MISSING[1:]:
        (jga, turns, _), *_ = scored(part, gold=gold, missing=missing)
        assert turns == (len(kept) if missing == "intersect" else len(gold))
        assert jga == (len(kept) - len(wrong)) / turns


def test_gold_that_counts_from_1_is_met_too() -> None:
    gold = [{**state, "turn": state["turn"] + 1} for state in gold_of([3, 4])]
    pred = predicted(gold_of([3, 4]))
    for missing in MISSING:
        with pytest.raises(dstbench.DstbenchError, match="`turns_from` -1 renumbers them"):
            scored(pred, gold=gold, missing=missing)
        assert scored(pred, gold=gold, missing=missing, turns_from=-1)[0] == (1, 7, 2)


def test_values_that_mean_absent_spelling_and_alternatives_do_not_hide_it() -> None:
    gold = [{**state, "gold": {slot: f"{value}|x" for slot, value in state["gold"].items()}} for state in gold_of([4])]
    pred = predicted(gold_of([4]), first=1)
    for state in pred:
        state["pred"] = dict.fromkeys(SLOTS, "none") | {s: f" {value.upper()}" for s, value in state["pred"].items()}
    with pytest.raises(dstbench.DstbenchError, match="`turns_from` 1 renumbers them"):
        scored(pred, gold=gold, missing="intersect")


def test_what_the_user_says_is_done() -> None:
    gold, pred = gold_of([4, 4]), predicted(gold_of([4, 4]), first=1)
    assert scored(pred, gold=gold, missing="intersect", turns_from=0)[0] == (0, 6, 2)
    every = predicted(gold, step=2) + [
        {**state, "turn": 2 * state["turn"] + 1, "pred": {}} for state in predicted(gold)
    ]
    with pytest.warns(dstbench.DstbenchWarning, match=r"8 predicted turns not numbered 0, 2, 4, …") as said:
        assert scored(every, gold=gold, turn_step=2)[0] == (1, 8, 2)
    assert len(said) == 1
    with pytest.raises(dstbench.DstbenchError, match=r"a turn not numbered 9, 10, 11.*dialogue MUL0, turn 1"):
        scored(pred, gold=gold, turns_from=9)
    both = [{**state, "pred": state["gold"], "turn": state["turn"] + 1} for state in gold]
    assert scored(both, turns_from=1)[0] == (1, 8, 2)
    with pytest.raises(dstbench.DstbenchError, match=r"a turn not numbered 2, 3, 4.*dialogue MUL0, turn 1"):
        scored(both, turns_from=2)  # turns of gold would be lost
    with pytest.raises(dstbench.UsageError, match="`turn_step` 0 is not 1 or more"):
        scored(pred, gold=gold, turn_step=0)
