"""TripPy's files: what tokens and marks become, names without domains, and that a large file is not loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.readers import Source, find_format
from tests import formats


def _turn(turn: int, dialogue: str = "MUL1", /, **slots: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"guid": ["test", *dialogue.split("-"), str(turn)]}
    for slot, (pred, gold) in slots.items():
        found |= {f"slot_prediction_{slot}": pred, f"slot_groundtruth_{slot}": gold}
    return found


def _pred(turns: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    Path("p.json").write_text(json.dumps(turns))
    table = dstbench.scan("p.json").filter(slot=dstbench.scan("p.json").collect()["slot"][0]).collect()
    return table.select("dialogue", "turn", "slot", "gold", "pred").rows()


@pytest.mark.filterwarnings("ignore:.*(MultiWOZ's|marks of tokens):dstbench.DstbenchWarning")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("09 : 45", "09:45"),
        ("after 09 : 45", "after 09:45"),
        ("rosa ' s", "rosa ' s"),
        ("a : b", "a : b"),
        ("§§pine cone", "pine cone"),
        ("Ġpine Ġco ne", "pine cone"),
        ("Ġ09 : 45", "09:45"),
        ("§§", ""),
    ],
)
def test_a_predicted_value_is_the_text_that_was_meant(written: str, meant: str, here: Path) -> None:
    assert _pred([_turn(0, x=(written, written))]) == [("MUL1", 0, "x", written, meant)]  # gold as it is


def test_an_informed_none_keeps_what_was_there(here: Path) -> None:
    slots = ["none", "§§none", "north", "§§none", "§§none", "none", "south"]
    turns = [_turn(n, **{"hotel-area": (value, "north")}) for n, value in enumerate(slots)]
    again = [_turn(n, "MUL2", **{"hotel-area": ("§§none", "north")}) for n in range(2)]
    with pytest.warns(dstbench.DstbenchWarning, match=r"p\.json: 5 predicted values §§none"):
        found = _pred([*turns, *again])
    wanted = [None, None, "north", "north", "north", None, "south", None, None]
    assert [row[-1] for row in found] == wanted


def test_tokens_are_counted(here: Path) -> None:
    Path("p.json").write_text(formats.trippy())
    with pytest.warns(dstbench.DstbenchWarning, match=r"p\.json: 2 predicted values with marks of tokens"):
        dstbench.score("p.json")


@pytest.mark.filterwarnings("ignore:.*MultiWOZ's:dstbench.DstbenchWarning")
@pytest.mark.parametrize(
    ("slots", "first"),
    [
        (("area", "food", "price_range"), "restaurant-area"),
        (("date", "movie", "num_tickets"), "movie-date"),
        (("meal", "restaurant_name"), "restaurant-meal"),
        (("date", "theatre_name"), "date"),
    ],
)
def test_slots_without_a_domain_get_that_of_their_dataset(slots: tuple[str, ...], first: str, here: Path) -> None:
    assert _pred([_turn(0, **dict.fromkeys(slots, ("a", "a")))])[0][2] == first


@pytest.mark.filterwarnings("ignore:.*MultiWOZ's:dstbench.DstbenchWarning")
def test_an_id_with_hyphens_is_put_together(here: Path) -> None:
    assert _pred([_turn(0, "a-b-c", x=("1", "1"))])[0][:2] == ("a-b-c", 0)


def test_a_large_file_is_neither_loaded_to_find_its_format_nor_to_read_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("p.json").write_text(formats.trippy())
    monkeypatch.setattr(Source, "raw", property(lambda _: pytest.fail("the whole file is read")))
    source = Source("p.json")
    form = find_format(source)
    assert form.name == "trippy"
    gold = form.read(source).gold
    assert gold is not None
    assert gold.turns.height == 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"guid": ["test", "MUL1"]}, "item 1: the guid .* is not of the form"),
        ({"guid": ["test", "MUL1", "one"]}, "item 1: the guid .* is not of the form"),
        ({"guid": "test-MUL1-1"}, "item 1: expected a list, found 'test-MUL1-1'"),
        ({"slot_prediction_x": 3}, r"item 1: expected a string, found 3 \(dialogue MUL1, turn 1, slot slot_pred"),
        ({"slot_prediction_y": "a"}, r"item 1: not both .* of y \(dialogue MUL1, turn 1\)"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(changed: dict[str, Any], said: str, here: Path) -> None:
    Path("p.json").write_text(json.dumps([_turn(0, x=("a", "a")), _turn(1, x=("a", "a")) | changed]))
    with pytest.raises(dstbench.DstbenchError, match=said):
        dstbench.score("p.json")
