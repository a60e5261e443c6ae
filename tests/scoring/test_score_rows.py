"""`Scores`: the values of score rows, one by one and by name, and that they are a frame still."""

from __future__ import annotations

import copy
import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench import UsageError
from tests.corpora import EXAMPLE, States, corpora

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")

RUNS = {"right": [{**state, "pred": state["gold"]} for state in EXAMPLE], "wrong": EXAMPLE}


@given(corpora(), st.sampled_from(["run", "domain", "slot", "dialogue,turn", "length"]), st.booleans())
def test_every_row_has_its_value_and_its_name(states: States, by: str, several: bool) -> None:
    data: Any = {"one": states, "two": states[:1]} if several else states
    rows = dstbench.score(data, metrics="jga,aga,correct", by=by)
    named = rows.to_dict()
    keys = rows.columns[: rows.columns.index("metric")]
    assert len(named) == rows.height
    for row in rows.iter_rows(named=True):
        assert rows.value(row["metric"], **{key: row[key] for key in keys}) == row["value"]
        name = [str(row[key]) for key in keys if rows["run"].n_unique() > 1 or key != "run"]
        assert named["/".join([*name, row["metric"]])] == row["value"]


def test_names_are_as_short_as_they_can_be() -> None:
    assert dstbench.score(EXAMPLE, metrics="jga").to_dict() == {"jga": 0.5}
    assert dstbench.score(RUNS, metrics="jga").to_dict() == {"right/jga": 1.0, "wrong/jga": 0.5}
    assert dstbench.score(EXAMPLE, metrics="jga", by="domain").to_dict() == {"hotel/jga": 1.0, "train/jga": 0.0}
    assert json.dumps(dstbench.score(EXAMPLE, metrics="jga,correct").to_dict())


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda rows: rows.value("jgaa", run="right"), r"no score of 'jgaa'\n.*did you mean jga"),
        (lambda rows: rows.value("jga", run="rihgt"), r"no score of jga with the run 'rihgt'\n.*right"),
        (lambda rows: rows.value("jga", runs="right"), r"no column 'runs'.*\n.*did you mean run"),
        (lambda rows: rows.value("jga"), r"4 scores of jga\n.*value\('jga', run='right', domain='hotel'\)"),
        (lambda rows: rows.value("jga", run="right"), r"2 scores of jga\n.*value\('jga', domain='hotel'\)"),
    ],
)
def test_a_value_that_is_not_there_or_not_the_only_one_is_refused(ask: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ask(dstbench.score(RUNS, metrics="jga,sa", by="domain"))


def test_they_are_a_frame() -> None:
    rows = dstbench.score(RUNS, metrics="jga")
    frame = pl.DataFrame(rows)
    assert type(frame) is pl.DataFrame
    assert rows.equals(frame)
    assert frame.equals(rows)
    assert rows.to_dict(as_series=False) == frame.to_dict(as_series=False)
    assert rows.to_dict(as_series=True)["value"].equals(frame["value"])
    assert pl.concat([rows, rows]).equals(pl.concat([frame, frame]))
    assert rows.filter(run="right").equals(frame.filter(run="right"))
    assert copy.copy(rows).value("jga", run="wrong") == 0.5
