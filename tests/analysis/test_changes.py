"""What a new checkpoint fixed and broke: exactly what was planted, and what plain loops count."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.analysis.changes import diff
from dstbench.rendering.tables import render

State = dict[str, Any]
SLOTS = ("hotel-area", "hotel-stars", "taxi-departure", "train-day")


def corpus(seed: int, dialogues: int = 12) -> list[State]:
    """Dialogues of several turns with predictions of which a third of the values are wrong."""
    draw = random.Random(seed)  # noqa: S311 (no secrets)
    states = []
    for number in range(dialogues):
        for turn in range(draw.randrange(1, 5)):
            gold = {slot: draw.choice("ab") for slot in draw.sample(SLOTS, draw.randrange(4))}
            pred = {slot: draw.choice("abc") for slot in draw.sample(SLOTS, draw.randrange(4))}
            states.append({"dialogue_id": f"D{number}", "turn": turn, "gold": gold, "pred": {**gold, **pred}})
    return states


def worse(states: list[State], seed: int) -> list[State]:
    draw = random.Random(seed)  # noqa: S311 (no secrets)
    return [
        {**state, "pred": {slot: value for slot, value in state["pred"].items() if draw.random() > 0.2}}
        for state in states
    ]


def is_right(state: State, slot: str) -> bool:
    return bool(state["gold"].get(slot) == state["pred"].get(slot))


@pytest.mark.parametrize("seed", range(4))
def test_the_counts_of_plain_loops(seed: int) -> None:
    before = corpus(seed)
    after = worse(before, seed)
    changes = diff(before, after, resamples=99)
    fixed, broken = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    turns = Counter[str]()
    for was, now in zip(before, after, strict=True):
        for slot in SLOTS:
            which = {(False, True): fixed, (True, False): broken}.get((is_right(was, slot), is_right(now, slot)))
            if which is not None:
                for group in (
                    ("slot", slot),
                    ("domain", slot.split("-")[0]),
                    ("turn", str(was["turn"])),
                    ("values", ""),
                ):
                    which[group] += 1
        turns[f"{was['gold'] == was['pred']} {now['gold'] == now['pred']}"] += 1
    for by, group, *counts in (
        changes.groups.filter(pl.col("by") != "class").select("by", "group", "fixed", "broken").rows()
    ):
        assert counts == [fixed[by, group], broken[by, group]]
    of = {
        name: (fix, broke, net)
        for name, fix, broke, net in changes.totals.select("of", "fixed", "broken", "net").rows()
    }
    values = fixed["values", ""], broken["values", ""]
    assert of["values"] == (*values, values[0] - values[1])
    assert of["turns"][:2] == (turns["False True"], turns["True False"])
    jga = [dstbench.score(states, metrics="jga").value("jga") or 0 for states in (before, after)]
    assert of["turns"][2] == round((jga[1] - jga[0]) * len(before))
    by_class = changes.groups.filter(by="class")
    assert (by_class["fixed"].sum(), by_class["broken"].sum()) == values
    assert changes.dialogues["values_fixed"].sum() <= values[0]


@given(st.data())
def test_planted_fixes_and_breaks_are_found_and_no_others(data: st.DataObject) -> None:
    """Values that are put right, and right ones that are spoilt, in cells that are drawn: exactly these are listed."""
    before = corpus(data.draw(st.integers(0, 9)))
    cells = [(at, slot) for at, state in enumerate(before) for slot in state["gold"]]
    planted = data.draw(st.lists(st.sampled_from(cells), unique=True, max_size=6)) if cells else []
    after = [{**state, "pred": dict(state["pred"])} for state in before]
    wanted = {"fixed": Counter[str](), "broken": Counter[str]()}
    for at, slot in planted:
        right = is_right(before[at], slot)
        after[at]["pred"][slot] = "spoilt" if right else before[at]["gold"][slot]
        wanted["broken" if right else "fixed"][slot] += 1
    changes = diff(before, after, resamples=9, most=99)
    found = changes.groups.filter(by="slot")
    for name, counts in wanted.items():
        assert {slot: n for slot, n in found.select("group", name).rows() if n} == dict(counts)
    assert {*changes.dialogues["dialogue"]} == {before[at]["dialogue_id"] for at, _ in planted}
    assert changes.to_dict()["values_fixed"] == wanted["fixed"].total()


def test_a_run_and_itself() -> None:
    states = corpus(1)
    assert render(diff(states, states), "text") == "nothing changed: every value is as right or wrong as before\n"
    changes = diff(states, states)
    assert changes.totals.select("fixed", "broken", "net", "p", "significant").rows() == [(0, 0, 0, 1.0, False)] * 2
    assert changes.groups.is_empty()
    assert changes.dialogues.is_empty()


def test_p_is_that_of_compare() -> None:
    """The test of turns is the test of JGA."""
    before = corpus(3, dialogues=40)
    after = worse(before, 6)
    p = diff(before, after).totals.filter(of="turns")["p"].item()
    compared = dstbench.compare({"before": before, "after": after}, metrics="jga").differences["p"].item()
    assert p == pytest.approx(compared, abs=0.02)


def test_p_of_groups_are_those_of_each_alone_after_holm() -> None:
    before = corpus(3, dialogues=40)
    after = worse(before, 6)

    def only(states: list[State], slot: str) -> list[State]:
        sides = ("gold", "pred")
        return [{**state, **{side: {s: v for s, v in state[side].items() if s == slot} for side in sides}}
                for state in states]  # fmt: skip

    alone = {slot: diff(only(before, slot), only(after, slot)).totals.filter(of="values")["p"].item() for slot in SLOTS}
    wanted, least = dict[str, float](), 0.0
    for place, slot in enumerate(sorted(SLOTS, key=lambda slot: alone[slot])):
        least = max(least, min(1.0, (len(SLOTS) - place) * alone[slot]))
        wanted[slot] = least
    assert max(wanted.values()) > 2 * min(alone.values())
    found = dict(diff(before, after).groups.filter(by="slot").select("group", "p").iter_rows())
    assert found == pytest.approx(wanted, abs=0.05)
