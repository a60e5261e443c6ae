"""Notes on the files of a folder: told once for all of them, with their sum."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dstbench
from dstbench.errors import DstbenchWarning
from tests.commands import run


@pytest.fixture
def shards(here: Path) -> str:
    """A folder of SGD's layout; each file has a state that lists a slot twice, and each another slot."""
    Path("data").mkdir()
    for number, slot in enumerate(("area", "name", "stars", "type")):
        values = {f"hotel-{slot}": ["a"], f"hotel-semi-{slot}": ["b"]}
        frames = [{"service": "hotel", "state": {"slot_values": values}}]
        turns = [{"speaker": "USER", "utterance": "x", "frames": frames}]
        content = [{"dialogue_id": f"{number}_0", "turns": turns}]
        Path(f"data/dialogues_{number:03}.json").write_text(json.dumps(content))
    return "data"


def test_a_folders_notes_are_told_once(shards: str) -> None:
    code, _, err = run("score", shards, "--gold", shards, "-m", "jga")
    assert code == 0
    assert [line for line in err.splitlines() if "listed twice" in line] == [
        f"note: data: 4 slots listed twice in a {side} state, with different values; the last is kept "
        "(first: dialogue 0_0, turn 0, slot hotel-area) (in 4 of 4 files)"
        for side in ("gold", "predicted")
    ]
    with pytest.warns(DstbenchWarning) as caught:
        dstbench.open_runs(shards, gold=shards)
    told = [str(warning.message) for warning in caught]
    assert len(told) == len(set(told)) + 2  # gold and predictions are of one folder here
    code, _, err = run("convert", shards, "--gold", shards, "-o", "long.parquet")
    assert code == 0
    assert sum("listed twice" in line for line in err.splitlines()) == 2


def test_states_that_are_probably_mistakes_are_noted(here: Path) -> None:
    states = [{"hotel-area": '{"x": "y"}'}, *[{}] * 7]
    turns = [{"dialogue_id": "A", "turn": turn, "gold": state} for turn, state in enumerate(states)]
    Path("gold.json").write_text(json.dumps(turns))
    notes = dstbench.read("gold.json").notes
    assert "gold.json: more than half of the gold states of 1 of 1 dialogues are empty, such as those of A" in notes
    assert any(
        note.startswith("gold.json: 1 gold text (slot or value) like a state or list, such as") for note in notes
    )
