"""Predicted slots that gold never has: an error if it has none of them, a note if there are many."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.readers import read
from tests.corpora import States
from tests.formats import RESTAURANT

MOVIE = {"movie-date": "friday", "movie-theatre_name": "the plaza", "movie-time": "9 pm"}


def turns(gold: dict[str, str], pred: dict[str, str], number: int = 3) -> tuple[States, States]:
    """So many turns with the same states."""
    of_turns = [{"dialogue_id": "1", "turn": turn} for turn in range(number)]
    return [{**turn, "gold": gold} for turn in of_turns], [{**turn, "pred": pred} for turn in of_turns]


def jga(pred: States, gold: States, **reading: Any) -> float:
    return float(dstbench.score(pred, gold=gold, metrics="jga", **reading)["value"].item())


def map_in(message: str) -> dict[str, str]:
    """The map of slots that a message shows."""
    return dict(json.loads(re.findall(r"\{.*\}", message, re.DOTALL)[0]))


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
@given(
    st.dictionaries(st.sampled_from([*MOVIE, "movie-num_tickets", "movie-movie"]), st.just("x"), min_size=1),
    st.sampled_from(
        [
            lambda slot: slot.partition("-")[2],
            lambda slot: slot.replace("-", "."),
            str.upper,
            lambda slot: slot.replace("_", " ").replace("-", " "),
            lambda slot: slot.replace("movie-", "film-"),
            lambda slot: re.sub("[_-]", "", slot.title()),
        ]
    ),
)
def test_a_perfect_tracker_with_names_of_its_own_is_refused_with_the_map_that_mends_it(state: Any, spell: Any) -> None:
    gold, pred = turns(state, {spell(slot): value for slot, value in state.items()})
    with pytest.raises(dstbench.DstbenchError, match=r"predicted slots?, gold has none") as caught:
        jga(pred, gold)
    assert spell(min(state)) in str(caught.value)
    assert min(state) in str(caught.value)
    assert jga(pred, gold, slot_map=map_in(str(caught.value))) == 1


@pytest.mark.filterwarnings("ignore:.*is MultiWOZ's:dstbench.errors.DstbenchWarning")
def test_a_fifth_of_the_values_is_noted_above_the_table() -> None:
    for others, is_noted in ((1, False), (2, True)):
        pred = {f"movie-{number}": "x" for number in range(7)} | {f"film-{number}": "x" for number in range(others)}
        gold = {slot: value for slot, value in pred.items() if slot.startswith("movie")}
        with pytest.warns(dstbench.DstbenchWarning) as said:
            jga(*reversed(turns(gold, pred)))
        notes = [
            w.message for w in said if isinstance(w.message, dstbench.DstbenchWarning) and w.message.when == "before"
        ]
        assert len(notes) == is_noted
        if is_noted:
            assert "6 of 27 predicted values are of slots that gold never has" in str(notes[0])
            assert "film-0, film-1 in the predictions" in str(notes[0])


@pytest.mark.filterwarnings("error")
def test_multiwozs_own_slots_are_noted_from_a_fifth_on_and_refused_from_25_on() -> None:
    gold, pred = turns({"hotel-area": "north"}, {"hotel-area": "north", "hotel-stars": "4", "train-day": "friday"})
    with pytest.warns(dstbench.DstbenchWarning, match=r"of slots that gold never has.*: hotel-stars, train-day in the"):
        assert jga(pred, gold) == 0
    empty: States = [{**state, "pred": {}} for state in pred]
    assert jga(empty, gold) == 0
    only_stars: States = [{**state, "pred": {"hotel-stars": "4"}} for state in pred]
    with pytest.warns(dstbench.DstbenchWarning, match="hotel-stars in the predictions, hotel-area in gold$"):
        assert jga(only_stars, gold) == 0
    gold, pred = turns({"hotel-area": "north"}, {"hotel-stars": "4"}, 24)
    with pytest.warns(dstbench.DstbenchWarning, match="24 of 24 predicted values are of slots that gold never has"):
        assert jga(pred, gold) == 0
    gold, pred = turns({"hotel-area": "north"}, {"hotel-stars": "4"}, 25)
    with pytest.raises(dstbench.DstbenchError, match="of 1 predicted slot, gold has none: hotel-stars in the pred"):
        jga(pred, gold)


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_a_listed_slot_without_a_value_is_not_predicted() -> None:
    gold, pred = turns({"movie-date": "friday"}, {"movie-date": "friday", "a": "none", "b": "", "c": "none"})
    with pytest.warns(dstbench.DstbenchWarning) as said:
        assert jga(pred, gold) == 1
    assert not any("gold never has" in str(warning.message) for warning in said)


@pytest.mark.filterwarnings("ignore:.*slots that MultiWOZ does not have:dstbench.errors.DstbenchWarning")
@pytest.mark.parametrize("name", ["simulated", "woz", "woz-tsv", "glad", "dstc2-gold"])
def test_slots_without_a_domain_get_that_which_golds_reader_adds(name: str, here: Path) -> None:
    Path("gold").write_text(RESTAURANT[name]())
    gold = read("gold", name).gold
    assert gold is not None
    pred: States = [{"dialogue_id": dialogue, "turn": turn, "pred": {}} for dialogue, turn in gold.turns.rows()]
    for at, slot, value in gold.cells.with_columns(pl.col("slot", "value").cast(pl.String)).iter_rows():
        pred[at]["pred"][slot.partition("-")[2]] = value
    with pytest.warns(dstbench.DstbenchWarning, match=r"\d predicted slots? without a domain: .*, as in gold"):
        assert dstbench.score(pred, gold="gold", metrics="jga")["value"].item() == 1
    pred[-1]["pred"] |= {"area": "east", "restaurant-area": "west"}
    with pytest.raises(dstbench.DstbenchError, match=r"two values, .*: with and without domain"):
        dstbench.score(pred, gold="gold", metrics="jga")


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_each_dialogue_has_its_own_domain(here: Path) -> None:
    dialogues = {"m": ("movie", "movie"), "r": ("restaurant", "restaurant_name")}
    documents, pred = [], []
    for name, (domain, slot) in dialogues.items():
        state = [{"slot": slot, "value": domain}, {"slot": "date", "value": "friday"}]
        documents.append({"dialogue_id": name, "turns": [{"dialogue_state": state}]})
        pred.append({"dialogue_id": name, "turn": 0, "pred": {cell["slot"]: cell["value"] for cell in state}})
    Path("gold.json").write_text(json.dumps(documents))
    assert dstbench.score(pred, gold="gold.json", metrics="jga")["value"].item() == 1
