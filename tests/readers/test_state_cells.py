"""A cell that holds a state: its values, and what is no state."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench.readers.source import Misfit
from dstbench.readers.state_cells import StateCells, could_be_state, split_text


def _read(cell: Any) -> dict[str, str]:
    return dict(StateCells().read(cell))


@pytest.mark.parametrize(
    ("value", "text", "note"),
    [
        ("north", "north", None),
        ("", "", None),
        (4, "4", "1 number taken as text"),
        (4.0, "4", "1 number taken as text"),
        (4.5, "4.5", "1 number taken as text"),
        (-0.0, "0", "1 number taken as text"),
        (True, "true", "1 boolean taken as true and false"),
        (None, None, "1 value null or [] taken as not in the state"),
        (float("nan"), None, "1 value null or [] taken as not in the state"),
        ([], None, "1 value null or [] taken as not in the state"),
        (["north"], "north", "1 list of one value taken as the value"),
        (["a", "b"], "a|b", "1 list of several values taken as alternatives"),
        (["a", 3], "a|3", "1 number taken as text; 1 list of several values taken as alternatives"),
        ([None, None], None, "2 values null or [] taken as not in the state"),
        (np.int64(4), "4", "1 number taken as text"),
        (np.float32(4), "4", "1 number taken as text"),
        (np.array(["a", "b"]), "a|b", "1 list of several values taken as alternatives"),
    ],
)
@pytest.mark.parametrize("place", [lambda v: {"hotel-x": v}, lambda v: {"hotel": {"x": v}}, lambda v: [["hotel-x", v]]])
def test_a_value_is_text(value: Any, text: str | None, note: str | None, place: Any) -> None:
    cells = StateCells()
    assert dict(cells.read(place(value))) == ({} if text is None else {"hotel-x": text})
    assert "; ".join(cells.notes()) == (note or "")


@pytest.mark.parametrize("cell", [None, float("nan"), "", " null ", "None", "nan", {}, [], "{}", "[]"])
def test_a_cell_without_slots_is_an_empty_state(cell: Any) -> None:
    cells = StateCells()
    assert not cells.read(cell)
    assert (not cells.notes()) == (not (cell is None or isinstance(cell, float)))


NO_STATES: list[tuple[Any, str, str | None]] = [
    (4, "4, where a state must be", None),
    (True, "true, where a state must be", None),
    ("4", "4, where a state must be", None),
    ("cheap hotel", "the text 'cheap hotel' is neither JSON nor a Python literal", None),
    ('{"a": ', "is neither JSON", None),
    ("{'a': open('x')}", "is neither JSON", None),
    ("{**{'a': 'b'}}", "is neither JSON", None),
    ({"hotel": {"area": {"x": "y"}}}, "an object, where a value must be", "hotel-area"),
    ({"hotel-area": [["north"]]}, "a list, where a value must be", "hotel-area"),
    ({"hotel-area": [{"x": "y"}]}, "an object, where a value must be", "hotel-area"),
    ({"hotel-area": float("inf")}, "inf, where a value must be", "hotel-area"),
    ({"hotel-area": 10**20}, "where a value must be", "hotel-area"),
    ({"hotel-area": 1 + 2j}, "complex, where a value must be", "hotel-area"),
    ({4: "north"}, "the slot 4 is not a string", None),
    ({"hotel": {4: "north"}}, "the slot 4 is not a string", "hotel"),
    (["north"], "'north' is not of the form domain-slot-value", None),
    ([["hotel-area"]], "a list, where a slot with its value must be", None),
    ([{"hotel-area": "north"}], "an object, where a slot with its value must be", None),
    ([4], "4, where a slot with its value must be", None),
    ("{" * 50_000, "is neither JSON", None),
    ("-" * 50_000 + "1", "is neither JSON", None),
]


@pytest.mark.parametrize(("cell", "what", "slot"), NO_STATES)
def test_what_is_no_state_is_refused_with_its_slot(cell: Any, what: str, slot: str | None) -> None:
    with pytest.raises(Misfit) as caught:
        StateCells().read(cell)
    assert what in caught.value.what
    assert len(caught.value.what) < 200
    assert caught.value.slot == slot
    could_be_state(cell)  # whatever it is


values = (
    st.text(max_size=6) | st.none() | st.booleans() | st.integers(-99, 99) | st.lists(st.text(max_size=3), max_size=2)
)
states = st.dictionaries(st.text(max_size=5), values, max_size=4)
texts = st.text(st.sampled_from("'\"\\ {}[],:Nonetrue\n\té1-"), max_size=14)


@pytest.mark.again
@given(states | st.dictionaries(texts, texts | st.none(), max_size=3))
def test_a_state_as_text_says_what_the_state_says(state: dict[str, Any]) -> None:
    wanted = StateCells().read(state)
    for text in (
        json.dumps(state),
        json.dumps(state, ensure_ascii=False, indent=1),
        repr(state),
        json.dumps(json.dumps(state)),
    ):
        assert dict(StateCells().read(text)) == dict(wanted)


@pytest.mark.parametrize("write", [str, lambda text: text.replace("'", '"')])
def test_a_slot_that_stands_twice_in_a_text_is_not_lost(write: Any) -> None:
    text = write("{'hotel-area': 'north', 'hotel-area': 'south'}")
    assert StateCells().read(text) == [("hotel-area", "north"), ("hotel-area", "south")]
    text = write("{'hotel': {'area': 'north'}, 'hotel': {'stars': '4'}}")
    assert StateCells().read(text) == [("hotel-area", "north"), ("hotel-stars", "4")]


def test_requests_in_trades_states_are_none() -> None:
    inform = {"slots": [["hotel-area", "north"]], "act": "inform"}
    assert _read([inform, {"slots": [["slot", "phone"]], "act": "request"}]) == {"hotel-area": "north"}
    assert _read([{"domain": "hotel", "slot": "area", "value": "north"}]) == {"hotel-area": "north"}


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("hotel-name-alpha-milton", ("hotel-name", "alpha-milton")),
        ("train-leaveat: 09:15", ("train-leaveat", "09:15")),
        ("train-leaveat-09:15", ("train-leaveat", "09:15")),
        ("hotel-name-a=b", ("hotel-name", "a=b")),
        ("Hotels_1-city-x", ("Hotels_1-city", "x")),
        ("hotel book day friday", ("hotel-book day", "friday")),
        ("a cheap hotel please", None),
        ("", None),
    ],
)
def test_slot_and_value_in_one_text(text: str, pair: tuple[str, str] | None) -> None:
    assert split_text(text) == pair
