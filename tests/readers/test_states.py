"""Notes on the files of a folder: told once for all of them, with their sum."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.errors import DstbenchWarning
from dstbench.readers import states as states_module
from dstbench.readers.states import Side, States
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
    assert [line for line in err.splitlines() if "slot twice" in line] == [
        f"note: data: 4 {side} states list a slot twice with different values; the last is kept "
        "(first: dialogue 0_0, turn 0, slot hotel-area) (in 4 of 4 files)"
        for side in ("gold", "pred")
    ]
    with pytest.warns(DstbenchWarning) as caught:
        dstbench.open_runs(shards, gold=shards)
    told = [str(warning.message) for warning in caught]
    assert len(told) == len(set(told)) + 2  # gold and predictions are of one folder here
    code, _, err = run("convert", shards, "--gold", shards, "-o", "long.parquet")
    assert code == 0
    assert sum("slot twice" in line for line in err.splitlines()) == 2


_dialogues = st.dictionaries(
    st.sampled_from("ABC"),
    st.lists(st.dictionaries(st.sampled_from(["a-b", "c-d", "e-f"]), st.just("x")), min_size=1, max_size=5),
    min_size=1,
)


@given(dialogues=_dialogues, data=st.data())
def test_lost_slots_and_empty_states_are_counted_as_by_loops(
    dialogues: dict[str, list[Any]], data: st.DataObject
) -> None:
    turns = [(name, number, state) for name, states in dialogues.items() for number, state in enumerate(states)]
    turns = data.draw(st.permutations(turns))
    cells = [(at, slot, value) for at, (_, _, state) in enumerate(turns) for slot, value in state.items()]
    side = Side(
        pl.DataFrame([turn[:2] for turn in turns], {"dialogue": pl.String, "turn": pl.UInt16}, orient="row"),
        pl.DataFrame(cells, {"at": pl.UInt32, "slot": pl.Categorical(), "value": pl.Categorical()}, orient="row"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states_module, "_FEW", 1)
        patch.setattr(states_module, "_FEW_OF_DIALOGUE", 2)
        vanishing = states_module.noting_vanishing_slots(States("f", "jsonl", side, None)).notes
        doubts = states_module.noting_doubts(States("f", "jsonl", side, None)).notes

    pairs = [pair for states in dialogues.values() for pair in pairwise(states) if pair[0]]
    lost = sum(not before.keys() <= after.keys() for before, after in pairs)
    assert [note.partition(" lose")[0] for note in vanishing] == (
        [f"f: {lost} of {len(pairs)} gold states"] if 2 * lost > len(pairs) else []
    )
    doubted = [
        name
        for name, states in dialogues.items()
        if len(states) > 1 and 2 * states.count({}) > len(states)
        if not any(states) or any(before and not after for before, after in pairwise(states))
    ]
    assert len(doubts) == bool(doubted and cells)
    if doubts:
        assert f"states of {len(doubted)} of {len(dialogues)} dialogues are empty" in doubts[0]
        assert doubts[0].endswith(f"such as those of {min(doubted)}")
