"""Predictions that are in no score are named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench.scoring.scope import unscored
from tests.corpora import FEW, States, is_refused
from tests.scoring.test_compare_values import compared, conventions, corpora


@FEW
@given(corpora(), conventions, st.sampled_from(["all", "gold", "pred", "last"]), st.sampled_from(["turn", "frame"]))
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_a_prediction_is_scored_or_said_not_to_be(
    states: States, convention: dstbench.Convention, turns: str, unit: str
) -> None:
    """Under any convention, the predicted values in its scores and those of the note are all that there are."""
    convention = replace(convention, turns=turns, unit=unit)  # type: ignore[arg-type]
    assume(not is_refused(states, convention))
    keeps_all = replace(
        convention, slots=None, over="count", dontcare={"skip": "keep"}.get(d := convention.dontcare, d)
    )
    predicted = sum(len(compared(state, keeps_all)["pred"]) for state in states)
    run = dstbench.open_runs(states)
    counts = unscored(run[0], convention)
    scored = dstbench.score(run, metrics="correct,wrong,over", profile=convention)["value"].sum()
    assert int(counts["unscored"].sum()) == predicted - scored
    assert not len(counts) or counts["predicted"].sum() == predicted
