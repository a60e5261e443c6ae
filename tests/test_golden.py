"""Long tables of every schema version so far, as files that were written once: each later dstbench must read them.

A file in `golden/` is never written anew. Where the schema gets a new version, the file of the last one stays, a file
of the new one comes beside it, and both go through these tests. A table without rows of frames is still of version 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import dstbench
from dstbench.schema.core import SCHEMA_VERSION
from tests import oracle
from tests.corpora import States

GOLDEN = Path(__file__).parent / "golden"
VERSION_1 = GOLDEN / "long_table_1.parquet"
VERSION_2 = GOLDEN / "long_table_2.parquet"

#: Version 1's file is ``write_long(*open_runs({"golden": PRED}, gold={"gold": GOLD}, missing="wrong"), VERSION_1)``.
#: In it: a turn without slots, a turn without a prediction, slots that go and come, and values that must stay as they
#: are written, whatever they look like.
GOLD: States = [
    {"dialogue_id": "MUL9001.json", "turn": 0, "gold": {}},
    {"dialogue_id": "MUL9001.json", "turn": 1, "gold": {"hotel-area": "centre"}},
    {"dialogue_id": "MUL9001.json", "turn": 2, "gold": {"hotel-area": "dontcare", "hotel-name": "café, Łódź"}},
    {"dialogue_id": "PMUL9002", "turn": 0, "gold": {"train-leaveat": "09:05", "train-day": "none"}},
    {"dialogue_id": "PMUL9002", "turn": 1, "gold": {"train-leaveat": "09:05"}},
]
PRED: States = [
    {"dialogue_id": "MUL9001.json", "turn": 0, "pred": {}},
    {"dialogue_id": "MUL9001.json", "turn": 1, "pred": {"hotel-area": "centre", "hotel-stars": ""}},
    {"dialogue_id": "MUL9001.json", "turn": 2, "pred": {"hotel-area": " Dontcare", "hotel-name": "café, Łódź"}},
    {"dialogue_id": "PMUL9002", "turn": 0, "pred": {"train-leaveat": "09:05"}},
]
ROWS = [
    ("MUL9001", 0, None, None, None),
    ("MUL9001", 1, "hotel-area", "centre", "centre"),
    ("MUL9001", 2, "hotel-area", "dontcare", " Dontcare"),
    ("MUL9001", 2, "hotel-name", "café, Łódź", "café, Łódź"),
    ("MUL9001", 1, "hotel-stars", None, ""),
    ("MUL9001", 2, "hotel-stars", None, None),
    ("PMUL9002", 1, None, None, "no prediction for turn 1"),
    ("PMUL9002", 0, "train-day", "none", None),
    ("PMUL9002", 1, "train-day", None, None),
    ("PMUL9002", 0, "train-leaveat", "09:05", "09:05"),
    ("PMUL9002", 1, "train-leaveat", "09:05", None),
]
META: dict[str, Any] = {
    "schema_version": 1,
    "run": "golden",
    "files": ["golden"],
    "format": "jsonl",
    "gold": "gold",
    "missing": "wrong",
    "coverage": {
        "turns": 5, "dialogues": 2,
        "missing_turns": 1, "missing_dialogues": 0, "extra_turns": 0, "extra_dialogues": 0,
    },
}  # fmt: skip

#: Turns 0 and 1 of the first dialogue and 0 of the second are right under `verbatim`; `trade` takes "none" for a value
#: of gold.
SCORES = {
    ("verbatim", "jga"): 3 / 5,
    ("verbatim", "sa"): 1 - 3 / (5 * 30),
    ("verbatim", "rsa"): 1 / 2,
    ("verbatim", "aga"): 5 / 8,
    ("verbatim", "f1"): 7 / 10,
    ("verbatim", "fga"): 3 / 5,
    ("verbatim", "wrong"): 1,
    ("trade", "jga"): 2 / 5,
    ("trade", "missed"): 2,
}
FINGERPRINTS = {"verbatim": "557d9781", "trade": "dbef7a16"}


def test_version_1_is_read_as_it_was_written() -> None:
    (run,) = dstbench.open_runs(VERSION_1)
    assert run.table.collect().rows() == ROWS
    assert run.meta == META
    assert run.cuts == (0, len(ROWS))


@pytest.mark.filterwarnings("ignore:.*fail on spelling:dstbench.DstbenchWarning")
@pytest.mark.parametrize("profile", FINGERPRINTS)
def test_version_1_is_scored_as_it_was(profile: str) -> None:
    wanted = {metric: value for (name, metric), value in SCORES.items() if name == profile}
    rows = dstbench.score(VERSION_1, metrics=list(wanted), profile=profile)
    assert dict(rows.select("metric", "value").rows()) == pytest.approx(wanted, rel=1e-14)
    for signature in rows["signature"]:
        settings = dstbench.signature.parse(signature).settings
        assert settings["gold"] == FINGERPRINTS[profile], "a hash of gold has changed: old signatures compare no more"
        assert {key: settings[key] for key in ("missing", "by", "d", "t")} == {
            "missing": "wrong", "by": "run", "d": "2", "t": "5",
        }  # fmt: skip


def test_the_scores_of_version_1_are_the_oracles() -> None:
    """Of the states as they stand above; a turn without a prediction has one false pair of its own."""
    states = {(s["dialogue_id"], s["turn"]): {**s, "pred": {"?": "?"}} for s in GOLD}
    for pred in PRED:
        states[pred["dialogue_id"], pred["turn"]]["pred"] = pred["pred"]
    turns = oracle.turns([*states.values()])
    found = oracle.all_metrics(turns, 30) | {"wrong": sum(map(oracle.n_wrong, turns))}
    wanted = {metric: value for (profile, metric), value in SCORES.items() if profile == "verbatim"}
    assert {metric: found["sa:T=30" if metric == "sa" else metric] for metric in wanted} == pytest.approx(wanted)


@pytest.mark.filterwarnings("ignore:golden. 1 gold turn without a prediction:dstbench.DstbenchWarning")
def test_the_writer_still_writes_version_1(tmp_path: Path) -> None:
    (run,) = dstbench.open_runs({"golden": PRED}, gold={"gold": GOLD}, missing="wrong")
    dstbench.write_long(run, tmp_path / "run.parquet")
    for read in (pl.read_parquet, pq.read_schema):
        new, old = read(tmp_path / "run.parquet"), read(VERSION_1)
        assert new.equals(old)
    new, old = (pl.read_parquet_metadata(path) for path in (tmp_path / "run.parquet", VERSION_1))
    # These came later, and a reader need not know them.
    assert new.keys() - old.keys() == {"dstbench.gold", "dstbench.file"}
    assert old.keys() <= new.keys()
    for key in ("dstbench", "dstbench.cuts"):
        assert json.loads(new[key]) == json.loads(old[key])


#: Version 2's file is written as version 1's, of these: frames with and without slots, one of them not predicted.
FRAMES: States = [
    {"dialogue_id": "1_00000", "turn": 0, "gold": {"Hotels_1-#frame": "Find|"}},
    {"dialogue_id": "1_00000", "turn": 1, "gold": {"Hotels_1-#frame": "Book|price", "Hotels_1-city": "Ely|Ely, UK"}},
    {"dialogue_id": "1_00000", "turn": 2, "gold": {"Hotels_1-#frame": "NONE|"}},
]
PREDICTED: States = [
    {"dialogue_id": "1_00000", "turn": 0, "pred": {"Hotels_1-#frame": "Find|"}},
    {"dialogue_id": "1_00000", "turn": 1, "pred": {"Hotels_1-#frame": "Find|price|city", "Hotels_1-city": "Ely"}},
]
ROWS_OF_FRAMES = [
    ("1_00000", 0, None, None, None),
    ("1_00000", 2, None, None, "no prediction for turn 2"),
    ("1_00000", 0, "Hotels_1-#frame", "Find|", "Find|"),
    ("1_00000", 1, "Hotels_1-#frame", "Book|price", "Find|price|city"),
    ("1_00000", 2, "Hotels_1-#frame", "NONE|", None),
    ("1_00000", 1, "Hotels_1-city", "Ely|Ely, UK", "Ely"),
    ("1_00000", 2, "Hotels_1-city", None, None),
]


@pytest.mark.filterwarnings("ignore:.*(categorical slots|MultiWOZ's|without a prediction):dstbench.DstbenchWarning")
def test_version_2_is_read_scored_and_written_as_it_was(tmp_path: Path) -> None:
    (run,) = dstbench.open_runs(VERSION_2)
    assert run.table.collect().rows() == ROWS_OF_FRAMES
    assert run.meta["schema_version"] == 2
    assert run.meta["frames"] == {
        "gold": 3, "gold_intent": 3, "gold_requested": 3, "pred": 2, "pred_intent": 2, "pred_requested": 2,
    }  # fmt: skip
    # The last frame's turn is not predicted, which is wrong also where gold has nothing in it.
    wanted = {"soft-jga": 2 / 3, "soft-aga": 1, "intent": 1 / 3, "requested-f1": (1 + 2 / 3 + 0) / 3}
    rows = dstbench.score(VERSION_2, metrics=list(wanted), profile="sgd")
    assert dict(rows.select("metric", "value").rows()) == pytest.approx(wanted, rel=1e-14)
    (again,) = dstbench.open_runs({"golden": PREDICTED}, gold={"gold": FRAMES}, missing="wrong")
    dstbench.write_long(again, tmp_path / "run.parquet")
    assert pl.read_parquet(tmp_path / "run.parquet").equals(pl.read_parquet(VERSION_2))
    assert again.meta == run.meta


def test_there_is_a_file_of_every_version() -> None:
    assert {path.stem for path in GOLDEN.glob("long_table_*.parquet")} == {
        f"long_table_{version}" for version in range(1, SCHEMA_VERSION + 1)
    }
