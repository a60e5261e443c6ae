"""Predictions that are in no score are named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import dstbench
from dstbench.analysis.show import walk_through
from dstbench.scoring.validation import unscored
from tests.commands import run as command
from tests.corpora import FEW, States, has_other_slots, is_refused
from tests.scoring.test_values import compared, conventions, corpora

AREA = {"hotel-area": "north"}
#: Of five predicted values, two are of a slot that no dataset has.
INVENTS: States = [
    {"dialogue_id": f"MUL000{n}", "turn": turn, "gold": AREA, "pred": AREA | ({"hotel-wifi": "yes"} if turn else {})}
    for n in range(2) for turn in range(3)
]  # fmt: skip


@FEW
@given(corpora(), conventions, st.sampled_from(["all", "gold", "pred", "last"]), st.sampled_from(["turn", "frame"]))
@example(INVENTS, dstbench.Convention(), "last", "turn")  # which leaves out predictions by this alone
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_a_prediction_is_scored_or_said_not_to_be(
    states: States, convention: dstbench.Convention, turns: str, unit: str
) -> None:
    """Under any convention, the predicted values in its scores and those of the note are all that there are."""
    convention = replace(convention, turns=turns, unit=unit)  # type: ignore[arg-type]
    assume(not is_refused(states, convention) and not has_other_slots(states))
    dontcare = "keep" if convention.dontcare == "skip" else convention.dontcare
    keeps_all = replace(convention, slots=None, over="count", dontcare=dontcare)
    predicted = sum(len(compared(state, keeps_all)["pred"]) for state in states)
    run = dstbench.open_runs(states)
    counts = unscored(run[0], convention)
    scored = dstbench.score(run, metrics="correct,wrong,over", profile=convention)["value"].sum()
    assert int(counts["unscored"].sum()) == predicted - scored
    assert not len(counts) or counts["predicted"].sum() == predicted


def evaluated(states: States, profile: dstbench.Convention) -> None:
    evaluator = dstbench.Evaluator([{**state, "pred": {}} for state in states], profile=profile)
    for state in states:
        evaluator.add(state["dialogue_id"], state["turn"], state["pred"])
    evaluator.compute()


SAID = pl.DataFrame({"dialogue": ["MUL0000"], "turn": [0], "system": [None], "user": ["north"]})
SCORING: dict[str, Callable[[States, dstbench.Convention], object]] = {
    "score": lambda states, profile: dstbench.score(states, profile=profile),
    "score by domain": lambda states, profile: dstbench.score(states, by="domain", profile=profile),
    "turns": lambda states, profile: dstbench.turns(states, profile=profile),
    "compare": lambda states, profile: dstbench.compare({"a": states, "b": states}, profile=profile, resamples=100),
    "compare-metrics": lambda states, profile: dstbench.compare_metrics(
        {"a": states, "b": states}, profile=profile, resamples=100
    ),
    "check": lambda states, profile: dstbench.check(states, profile=profile),
    "report": lambda states, profile: dstbench.report(states, profile=profile),
    "diagnose": lambda states, profile: dstbench.diagnose(states, profile=profile),
    "traits": lambda states, profile: dstbench.traits(states, profile=profile),
    "correlate": lambda states, profile: dstbench.correlate(states, profile=profile),
    "query": lambda states, profile: dstbench.query("SELECT * FROM scores", states, profile=profile),
    "pairs": lambda states, profile: dstbench.fuzzy_pairs(states, profile=replace(profile, match="partial")),
    "show": lambda states, profile: walk_through(states, "MUL0000", profile=profile),
    "audit memorisation": lambda states, profile: dstbench.audit.memorisation(states, context=SAID, profile=profile),
    "audit scores": lambda states, profile: dstbench.audit.scores({"run": states}, {"gold": states}, profile=profile),
    "evaluator": evaluated,
}


@pytest.mark.again
@pytest.mark.parametrize("name", SCORING)
@pytest.mark.usefixtures("undrawn")
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_every_function_that_scores_says_what_it_does_not_score(name: str) -> None:
    with pytest.warns(
        dstbench.DstbenchWarning, match=r"4 of 10 predicted values are not scored under .*hotel-wifi \(4\)"
    ):
        SCORING[name](INVENTS, dstbench.profile("verbatim", slots="multiwoz-30"))


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_every_function_refuses_gold_without_a_slot_of_the_set() -> None:
    spa = {"spa-pool": "4"}
    states: States = [{"dialogue_id": f"MUL000{n}", "turn": 0, "gold": spa, "pred": spa} for n in range(3)]
    refused = "none of gold's 1 slots, such as spa-pool, is in multiwoz-30"
    for ask in SCORING.values():
        with pytest.raises(dstbench.DstbenchError, match=refused):
            ask(states, dstbench.profile("star"))
    with pytest.raises(dstbench.DstbenchError, match=refused):
        dstbench.sensitivity(states, profile="star")


@pytest.mark.filterwarnings("ignore:.*kept as written:dstbench.errors.DstbenchWarning")
def test_golds_values_outside_the_set_are_counted_without_those_that_mean_absent() -> None:
    golds = (AREA | {"spa-pool": "4", "hotel-stars": "none"}, AREA | {"spa-pool": "none", "spa-sauna": "none"})
    states: States = [{"dialogue_id": "MUL1", "turn": n, "gold": gold, "pred": AREA} for n, gold in enumerate(golds)]
    counted = r"1 of gold's 2 slots, and 1 of its 3 values, are not in multiwoz-30: spa-pool \(1 values\);"
    with pytest.warns(dstbench.DstbenchWarning, match=counted):
        dstbench.score(states, profile="star")


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_a_sweep_says_so_of_each_profile() -> None:
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        dstbench.sweep(INVENTS)
    said = [re.findall(r"4 of 10 predicted values are not scored under ([\w-]+)", str(each.message)) for each in caught]
    assert sorted(name for names in said for name in names) == ["dstc10", "star"]


@pytest.mark.filterwarnings("ignore:.*kept as written:dstbench.errors.DstbenchWarning")
@pytest.mark.filterwarnings("ignore:.*slots that gold never has:dstbench.errors.DstbenchWarning")
def test_a_note_above_the_table_names_what_is_not_scored_and_check_fails(here: Path) -> None:
    dstbench.write_long(dstbench.open_runs(INVENTS)[0], "p.parquet")
    code, _, err = command("score", "p.parquet", "--slots", "multiwoz-hotel", "--outside", "scored")
    note = "p: 4 of 10 predicted values are not scored under verbatim.1+ (slots multiwoz-hotel): hotel-wifi (4)"
    assert (code, note in err) == (0, True)
    assert command("check", "p.parquet", "--profile", "star", "--strict")[0] == 1
    assert "not scored" not in command("score", "p.parquet", "--profile", "kim2022")[2]
