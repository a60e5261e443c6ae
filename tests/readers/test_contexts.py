"""What was said: the same from every format that holds it, turn for turn beside the states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from tests import formats
from tests.corpora import FEW

speakers = st.lists(st.tuples(st.sampled_from(["USER", "SYSTEM"]), st.text(min_size=1, max_size=4)), max_size=8)


@FEW
@given(dialogues=st.lists(speakers, min_size=1, max_size=9), cut=st.integers(0, 9))
def test_each_user_turn_follows_what_the_system_said_last(
    dialogues: list[list[tuple[str, str]]], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("said")
    whole: list[dict[str, Any]] = []
    wanted = []
    for number, turns in enumerate(dialogues):
        said = [("USER", "first"), *turns]
        whole.append({"dialogue_id": f"{number}_0", "turns": [
            {"speaker": speaker, "utterance": text, "frames": []} for speaker, text in said
        ]})  # fmt: skip
        users = [at for at, (speaker, _) in enumerate(said) if speaker == "USER"]
        wanted += [
            (f"{number}_0", turn, said[at - 1][1] if at and said[at - 1][0] == "SYSTEM" else None, said[at][1])
            for turn, at in enumerate(users)
        ]
    for name, shard in (("b", whole[:cut]), ("a", whole[cut:])):  # the shards' order must not matter
        if shard:
            (folder / f"{name}.json").write_text(json.dumps(shard))
    table = dstbench.contexts(folder)
    assert table.rows() == wanted
    states = dstbench.read(folder)
    assert states.gold is not None
    assert table.select("dialogue", "turn").equals(states.gold.turns.sort("dialogue", "turn"))


def test_parlai_without_speakers_is_unknown(here: Path) -> None:
    Path("p").write_text(formats.parlai().replace("<system> ", "").replace("<user> A", "A"))
    assert dstbench.contexts("p").select("system", "user").rows() == [(None, None), (None, formats.USER[1])]
