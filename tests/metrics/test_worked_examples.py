"""Golden values of small dialogues, each with its source. (Others that papers print: `tests/test_published.py`.)"""

from __future__ import annotations

import pytest

import dstbench
from dstbench.demo import worked, worked_scores

pytestmark = pytest.mark.filterwarnings(
    "ignore::dstbench.errors.DstbenchWarning"
)  # one example's slot is no MultiWOZ's


@pytest.mark.parametrize("example", worked(), ids=lambda e: f"{e.source}, {e.name}")
def test_what_the_papers_print(example: object) -> None:
    from dstbench.demo import Worked

    assert isinstance(example, Worked)
    for metric, printed in example.printed.items():
        if isinstance(printed, list):
            rows = dstbench.score(example.states, metrics=metric, by="turn", profile=example.profile)
            assert rows["value"].round(4).to_list()[: len(printed)] == pytest.approx(printed, abs=1e-9)
        else:
            value = dstbench.score(example.states, metrics=metric, profile=example.profile)["value"].item()
            assert round(value, 4) == pytest.approx(printed, abs=1e-9)


@pytest.mark.again
def test_the_demo_shows_them_as_they_are() -> None:
    rows = worked_scores()
    assert rows.height == sum(len(example.printed) for example in worked())
    assert rows["printed"].to_list() == rows["measured"].to_list()


@pytest.mark.parametrize(("step", "fga"), [(1, 0.342), (2, 0.499)])
@pytest.mark.filterwarnings("ignore:.*turn numbers:dstbench.errors.DstbenchWarning")
def test_fga_of_an_error_that_is_only_carried(step: int, fga: float) -> None:
    """CONVENTIONS' example E24: an error in the first of three turns: (0 + .3935 + .6321) / 3; its age is in turns."""
    gold = {"hotel-area": "north"}
    states = [{"dialogue_id": "D", "turn": step * t, "gold": gold, "pred": {"hotel-area": "south"}} for t in range(3)]
    assert round(dstbench.score(states, metrics="fga")["value"].item(), 3) == fga


@pytest.mark.parametrize(
    ("counting", "counted"),
    [("released", {"gca_correct": 0, "gca_missed": 1}), ("paper", {"gca_paper_correct": 0, "gca_paper_missed": 0})],
)
def test_the_two_gca_countings_differ_where_a_slot_is_dropped(counting: str, counted: dict[str, int]) -> None:
    """A prediction that loses a slot is a missed change to the authors' code, and nothing to their Algorithm 1."""
    gold = {"hotel-area": "north"}
    states = [
        {"dialogue_id": "D", "turn": 0, "gold": gold, "pred": gold},
        {"dialogue_id": "D", "turn": 1, "gold": gold, "pred": {}},
    ]
    row = dstbench.turns(states).row(1, named=True)
    assert {name: row[name] for name in counted} == counted
    scores = dstbench.score(states, metrics=f"gca:counting={counting}")["value"].item()
    assert (scores == 1) == (counting == "paper")
