"""Runs that lack different turns are compared over those that all have: as if there were no others."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.errors import DstbenchWarning
from tests.corpora import States, dialogues, states_of_a_turn

METRICS = "jga,sa,rsa,f1,fga,gca,tla,missed"


@st.composite
def runs_with_gaps(draw: st.DrawFn) -> dict[str, States]:
    """Two or three runs over one gold; turns without a prediction have no ``pred``."""
    gold = dialogues(draw, states_of_a_turn, prefix="MUL", most=12, most_turns=4)
    runs = {}
    for name in ("one", "two", "three")[: draw(st.integers(2, 3))]:
        states = [{**state, "pred": draw(states_of_a_turn)} for state in gold]
        for state in states:
            if draw(st.sampled_from([False, False, False, True])):
                del state["pred"]
        runs[name] = states
    return runs


@pytest.mark.again
@settings(max_examples=7)  # of several runs, each opened and compared twice
@given(runs=runs_with_gaps(), as_tables=st.booleans())
def test_a_comparison_over_common_turns_is_one_without_the_others(
    runs: dict[str, States], as_tables: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    turns = [{(state["dialogue_id"], state["turn"]) for state in states if "pred" in state} for states in runs.values()]
    common = set.intersection(*turns)
    assume(len({dialogue for dialogue, _ in common}) > 1)
    only = {
        name: [state for state in states if (state["dialogue_id"], state["turn"]) in common]
        for name, states in runs.items()
    }
    given_runs: dict[str, object] = dict(runs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        if as_tables:
            folder = tmp_path_factory.mktemp("runs")
            for run in dstbench.open_runs(runs, missing="intersect"):
                dstbench.write_long(run, folder / f"{run.name}.parquet")
                given_runs[run.name] = str(folder / f"{run.name}.parquet")
        compared = dstbench.compare(given_runs, metrics=METRICS, missing="intersect", resamples=20)
        wanted = dstbench.compare(only, metrics=METRICS, missing="intersect", resamples=20)
    for name in ("scores", "differences", "design"):
        assert getattr(compared, name).equals(getattr(wanted, name)), name
    said = [str(warning.message) for warning in caught if "compared over" in str(warning.message)]
    every = len(set.union(*turns))
    differ = any(of_run != turns[0] for of_run in turns)
    assert (
        said
        == [
            f"compared over the {len(common):,} of {every:,} turns that "
            f"{'both' if len(runs) == 2 else f'all {len(runs)}'} runs have (`missing` intersect)"
        ]
        * differ
    )


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_every_command_that_compares_runs_does_so() -> None:
    gold = {"hotel-area": "north"}
    runs: dict[str, States] = {}
    for lacking, name in enumerate(("one", "other")):
        runs[name] = [
            {"dialogue_id": f"D{dialogue}", "turn": turn, "gold": gold}
            | ({"pred": gold if turn == lacking else {}} if (dialogue, turn) != (lacking, 0) else {})
            for dialogue in range(4)
            for turn in range(2)
        ]
    results = {
        "compare": dstbench.compare(runs, missing="intersect", resamples=20).scores,
        "compare_metrics": dstbench.compare_metrics(runs, metrics="jga,f1", missing="intersect", resamples=20).scores,
        "report": dstbench.report(runs, metrics="jga,f1", missing="intersect").leaderboard.scores,
    }
    for command, rows in results.items():
        assert rows["signature"].str.contains("|d:4|t:6|", literal=True).all(), command
    incomplete = {
        name: [{**state, "pred": state.get("pred", {})} for state in states if "pred" in state]
        for name, states in runs.items()
    }
    with pytest.raises(dstbench.DstbenchError, match="`missing` intersect leaves them out for all runs"):
        dstbench.compare(incomplete)
