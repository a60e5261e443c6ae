"""What a new checkpoint fixed and broke: exactly what was planted, and what plain loops count."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench.analysis.changes import diff

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


def test_a_run_and_itself() -> None:
    states = corpus(1)
    changes = diff(states, states)
    assert changes.totals.select("fixed", "broken", "net", "p", "significant").rows() == [(0, 0, 0, 1.0, False)] * 2
    assert changes.groups.is_empty()
    assert changes.dialogues.is_empty()


def test_the_other_way_round() -> None:
    before = corpus(2)
    after = worse(before, 5)
    one, other = diff(before, after, resamples=199), diff(after, before, resamples=199)
    turned = other.totals.rename({"fixed": "broken", "broken": "fixed", "better": "worse", "worse": "better"})
    names = one.totals.columns
    assert one.totals.equals(turned.with_columns(net=-pl.col("net")).select(names))


def test_p_is_that_of_compare() -> None:
    """The test of turns is the test of JGA."""
    before = corpus(3, dialogues=40)
    after = worse(before, 6)
    p = diff(before, after).totals.filter(of="turns")["p"].item()
    compared = dstbench.compare({"before": before, "after": after}, metrics="jga").differences["p"].item()
    assert p == pytest.approx(compared, abs=0.02)


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_what_differs_in_gold_is_refused() -> None:
    states = corpus(1)
    other = [{**state, "gold": {"hotel-area": "z"}} for state in states]
    with pytest.raises(dstbench.DstbenchError, match="gold"):
        diff(states, other)
