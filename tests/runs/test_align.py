"""Gold and prediction side by side: coverage, the policies for missing turns, and what is reported."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import dstbench
from dstbench.typing import Missing
from tests.corpora import States

AREA = {"hotel-area": "north"}
GOLD: States = [
    {"dialogue_id": "A", "turn": 0, "gold": {}},
    {"dialogue_id": "A", "turn": 1, "gold": AREA},
    {"dialogue_id": "B", "turn": 0, "gold": {}},
    {"dialogue_id": "B", "turn": 1, "gold": AREA},
    {"dialogue_id": "B", "turn": 2, "gold": AREA},
]
#: B is missing as a whole.
PRED: States = [{"dialogue_id": "A", "turn": 0, "pred": {}}, {"dialogue_id": "A", "turn": 1, "pred": AREA}]


def scores(missing: Missing, metrics: str = "jga,fga,rsa,tla,f1") -> dict[str, float | None]:
    rows = dstbench.score(PRED, gold=GOLD, missing=missing, metrics=metrics)
    return dict(zip(rows["metric"], rows["value"], strict=True))


@pytest.mark.parametrize(
    ("missing", "said", "wanted"),
    [
        ("wrong", "counted as wrong", {"jga": 0.4, "fga": 0.4, "rsa": 0.2, "tla": 0.4, "f1": 0.4}),
        # B's first turn is right to be empty, and its last only carries the error on.
        ("empty", "scored as empty", {"jga": 0.6, "tla": 0.8}),
        ("intersect", "left out", {"jga": 1}),
    ],
)
def test_missing_turns_are_treated_as_asked(missing: Missing, said: str, wanted: dict[str, float]) -> None:
    with pytest.warns(dstbench.DstbenchWarning, match=said):
        assert scores(missing, ",".join(wanted)) == wanted


def test_a_missing_turn_between_others_leaves_a_gap_that_is_reported() -> None:
    pred: States = [{"dialogue_id": "B", "turn": t, "pred": {}} for t in (0, 2)]
    with pytest.warns(dstbench.DstbenchWarning) as said:
        dstbench.score(pred, gold=GOLD[2:], missing="intersect")
    assert any("turn numbers have gaps in 1 dialogue (first: dialogue B before turn 2)" in str(w.message) for w in said)


def test_turns_that_a_file_with_its_own_gold_lacks_are_reported(here: Path) -> None:
    rows = [{"dialogue": "MUL1", "turn": turn, "slot": "hotel-area", "gold": "a", "pred": "a"} for turn in (0, 1, 3)]
    pl.DataFrame(rows).write_parquet("rows.parquet")
    for data in (rows, pl.DataFrame(rows), "rows.parquet"):
        with pytest.warns(dstbench.DstbenchWarning, match="gaps in 1 dialogue .first: dialogue MUL1 before turn 3"):
            checks = dstbench.check(data).filter(check="coverage")
        assert checks["status"].item() == "note"
        assert checks["found"].item().endswith("all of them predicted; turn numbers have gaps in 1 dialogue")


def test_nothing_in_common_is_always_an_error() -> None:
    other = [{"dialogue_id": "Z", "turn": 0, "pred": {}}]
    for missing in ("wrong", "empty", "intersect"):
        with pytest.raises(dstbench.DstbenchError, match="no turn is in both") as caught:
            dstbench.score(other, gold=GOLD, missing=missing)
        assert "spelled alike" in str(caught.value)


def test_dialogue_ids_are_matched_in_any_spelling() -> None:
    gold = [{"dialogue_id": "PMUL1.json", "turn": 0, "gold": AREA}]
    pred = [{"dialogue_id": "pmul1", "turn": 0, "pred": AREA}]
    assert dstbench.scan(pred, gold=gold).collect()["dialogue"].to_list() == ["PMUL1"]


def test_given_gold_replaces_the_gold_inside() -> None:
    states = [{"dialogue_id": "A", "turn": 0, "gold": {}, "pred": AREA}]
    assert dstbench.score(states, metrics="jga")["value"].item() == 0
    new = [{"dialogue_id": "A", "turn": 0, "gold": AREA}]
    for data in (states, dstbench.scan(states)):
        with pytest.warns(dstbench.DstbenchWarning, match="own gold is not used, but that of gold"):
            assert dstbench.score(data, gold=new, metrics="jga")["value"].item() == 1


def test_unknown_slots_are_counted_with_near_matches_and_kept() -> None:
    gold = {"hotel-area": "north", "hotel-aera": "north"}
    states = [{"dialogue_id": "A", "turn": t, "gold": gold, "pred": {"hotel-aera": "south"}} for t in range(2)]
    states[1]["pred"] = {}  # so that the counts of gold and predictions differ
    with pytest.warns(dstbench.DstbenchWarning, match="1 slot that MultiWOZ does not have, kept as written") as said:
        table = dstbench.scan(states).collect()
    assert "hotel-aera (2 in gold, 1 predicted; near: hotel-area" in str(said[0].message)
    assert table.filter(pl.col("slot") == "hotel-aera")["pred"].to_list() == ["south", None]


def test_a_dataset_of_its_own_is_one_short_note() -> None:
    states = [{"dialogue_id": "1", "turn": 0, "gold": {"Hotels_1-city": "Norvale"}, "pred": {}}]
    with pytest.warns(dstbench.DstbenchWarning, match="of 1 slot, none is MultiWOZ's"):
        rows = dstbench.score(states, metrics="sa")
    assert "sa(T=1,slots=gold)" in rows["signature"].item()


def test_a_dropped_slot_stays_a_row_and_no_turn_is_lost() -> None:
    states: States = [
        {"dialogue_id": "A", "turn": 0, "gold": {}, "pred": {}},
        {"dialogue_id": "A", "turn": 1, "gold": AREA, "pred": {}},
        {"dialogue_id": "A", "turn": 2, "gold": {}, "pred": {}},
        {"dialogue_id": "B", "turn": 0, "gold": {}, "pred": {}},
    ]
    assert dstbench.scan(states).drop("run").collect().rows() == [
        ("A", 0, None, None, None),
        ("A", 1, "hotel-area", "north", None),
        ("A", 2, "hotel-area", None, None),
        ("B", 0, None, None, None),
    ]


def test_a_few_cells_of_very_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots that are listed once in a long dialogue have rows to its end: refused before there are any rows."""
    monkeypatch.setattr("dstbench.runs.align.FREE", 100)
    every = {f"hotel-{number}": "x" for number in range(100)}
    states: States = [{"dialogue_id": "A", "turn": t, "gold": {} if t else every, "pred": {}} for t in range(100)]
    with pytest.warns(dstbench.DstbenchWarning, match="of 100 slots, none is MultiWOZ's"):
        assert dstbench.scan(states).collect().height == 10_000  # 50 for each of 200 turns and listed slots
    states += [{"dialogue_id": "A", "turn": 100, "gold": {}, "pred": {}}]
    with pytest.raises(
        dstbench.DstbenchError, match="10,100 rows for 101 turns that list 100 slots is above the limit of 50"
    ):
        dstbench.scan(states)
