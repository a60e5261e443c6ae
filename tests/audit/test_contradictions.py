"""Gold values that contradict the database, and gold values that nobody has said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench import audit
from dstbench.errors import DstbenchError, UsageError

HOTELS = [
    {"name": "acorn guest house", "area": "north", "stars": "4", "type": "guesthouse", "parking": "yes"},
    {"name": "the lensfield hotel", "area": "south", "stars": "3", "type": "hotel", "parking": "no"},
    {"name": "autumn house", "area": "east", "stars": "?", "type": "guesthouse", "parking": "yes"},
    {"name": "city lodge", "area": "centre", "stars": "2", "type": "hotel", "parking": "yes"},
    {"name": "city lodge", "area": "west", "stars": "2", "type": "hotel", "parking": "yes"},  # the same name twice
]


@pytest.fixture
def database(tmp_path: Path) -> str:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "hotel_db.json").write_text(json.dumps(HOTELS), encoding="utf-8")
    return str(tmp_path / "db")


def said(*utterances: str, dialogue: str = "D") -> pl.DataFrame:
    """What the user says in each turn of a dialogue."""
    turns = list(range(len(utterances)))
    columns = {"dialogue": [dialogue] * len(turns), "turn": turns, "system": [None] * len(turns), "user": utterances}
    return pl.DataFrame(columns, schema_overrides={"system": pl.String})


def states(*golds: dict[str, str]) -> list[dict[str, Any]]:
    return [{"dialogue_id": "D", "turn": turn, "gold": gold} for turn, gold in enumerate(golds)]


def doubtful(golds: list[dict[str, str]], database: str, kind: str = "database") -> list[tuple[Any, ...]]:
    silence = said(*("hello" for _ in golds))
    found = audit.contradictions(states(*golds), database=database, said=silence)
    return found.values.filter(kind=kind).select("slot", "turn", "turns", "value", "name", "database").rows()


def test_a_value_is_compared_with_the_entity_that_the_same_state_names(database: str) -> None:
    acorn = {"hotel-name": "Acorn Guest House", "hotel-stars": "4"}
    golds = [{"hotel-area": "south"}, {**acorn, "hotel-area": "south"}, {**acorn, "hotel-area": "south"}]
    assert doubtful(golds, database) == [("hotel-area", 1, 2, "south", "Acorn Guest House", "north")]


@pytest.mark.parametrize(
    "gold",
    [
        {"hotel-name": "acorn guesthouse", "hotel-type": "guest house", "hotel-parking": "true"},  # other spellings
        {"hotel-name": "lensfield hotel", "hotel-area": "dontcare"},
        {"hotel-name": "lensfield hotel", "hotel-area": "north|south"},  # one alternative is right
        {"hotel-name": "lensfield hotel", "hotel-area": "east|dontcare"},
        {"hotel-name": "autumn house", "hotel-stars": "4"},  # the database leaves it open
        {"hotel-name": "city lodge", "hotel-area": "north"},  # two entities, which differ in it
        {"hotel-name": "acorn guest house|autumn house", "hotel-area": "west"},  # which of them?
        {"hotel-name": "lensfield hotel", "restaurant-area": "north"},
    ],
)  # fmt: skip
def test_what_contradicts_nothing(gold: dict[str, str], database: str) -> None:
    known = {"hotel-name": "lensfield hotel"}  # else the database is of another dataset
    assert doubtful([known, gold], database) == []


@given(
    rows=st.lists(st.sampled_from(HOTELS[:3]), min_size=1, max_size=4),
    spoilt=st.sampled_from([None, "area", "stars", "type", "parking"]),
)
def test_states_copied_from_the_database_contradict_nothing_but_what_is_spoilt(
    rows: list[dict[str, str]], spoilt: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("db")
    (folder / "hotel_db.json").write_text(json.dumps(HOTELS[:3]), encoding="utf-8")
    golds = [{f"hotel-{name}": value for name, value in row.items() if value != "?"} for row in rows]
    other = {"area": "centre", "stars": "1", "type": "museum", "parking": "perhaps"}
    if spoilt is not None:
        golds[-1][f"hotel-{spoilt}"] = other[spoilt]
    rows_found = doubtful(golds, str(folder))
    expected = spoilt is not None and rows[-1][spoilt] != "?"
    assert [row[:2] for row in rows_found] == ([(f"hotel-{spoilt}", len(golds) - 1)] if expected else [])
    if expected:
        assert rows_found[0][3:] == (other[str(spoilt)], rows[-1]["name"], rows[-1][str(spoilt)])


def test_a_value_is_unsaid_until_somebody_says_it() -> None:
    golds = [{"train-day": "monday"}, {"train-day": "monday", "hotel-area": "centre"}, {"hotel-parking": "yes"}]
    found = audit.contradictions(states(*golds), said=said("a train", "on Monday, in the center", "with parking"))
    assert found.values.select("slot", "kind", "turn", "turns", "value").rows() == [
        ("train-day", "unsaid", 0, 2, "monday")
    ]
    slots = found.slots.select("slot", "checked", "searched", "unsaid", "rate_unsaid").rows()
    assert slots == [("hotel-area", None, 1, 0, 0.0), ("train-day", None, 1, 1, 1.0)]


def test_mistakes_have_one_message(database: str, tmp_path: Path) -> None:
    with pytest.raises(
        DstbenchError, match=r"the database has none of gold's names\nhint: gold names 'ritz', the data"
    ):
        doubtful([{"hotel-name": "ritz"}], database)
    with pytest.raises(DstbenchError, match=r"a folder without a file named …_db\.json"):
        doubtful([{"hotel-name": "ritz"}], str(tmp_path))
    with pytest.raises(UsageError, match="states in memory hold no utterances"):
        audit.contradictions(states({"hotel-area": "north"}))


def test_the_examples_of_the_paper(data: Path) -> None:
    found = audit.contradictions(data / "multiwoz21" / "test.tsv", database=data / "multiwoz_db")
    of_database = found.values.filter(kind="database")
    autumn = of_database.filter(dialogue="MUL2523", slot="hotel-type").select("name", "database").rows()
    assert autumn == [("autumn house", "guesthouse")]
    assert of_database.height == 19
    assert found.slots.select(pl.col("checked", "searched").sum()).row(0)[0] == 1710
