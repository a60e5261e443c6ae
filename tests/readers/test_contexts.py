"""What was said: the same from every format that holds it, turn for turn beside the states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.readers.registry import WITH_UTTERANCES
from dstbench.schema.core import CONTEXTS
from tests import formats
from tests.commands import run
from tests.corpora import FEW
from tests.readers.test_datasets import multiwoz_with_splits
from tests.readers.test_readers import ALL

#: Examples in which nothing is said, of formats that may hold it.
SILENT = ("jsonl (list)", "records (flags)", "records (wrapped)", "csv (slots)")
WITH = [name for name in ALL if name.partition(" ")[0] in WITH_UTTERANCES and name not in SILENT]


@pytest.mark.parametrize("name", WITH)
def test_what_was_said_is_the_same_from_every_format(name: str, here: Path) -> None:
    Path("p").write_text(ALL[name]())
    table = dstbench.contexts("p")
    assert table.schema == CONTEXTS.schema
    system = None if name == "dstc2-gold" else formats.SYSTEM
    assert table.drop("dialogue").rows() == [(0, None, formats.USER[0]), (1, system, formats.USER[1])]
    states = dstbench.read("p")
    side = states.gold or states.pred
    assert side is not None
    assert table.select("dialogue", "turn").equals(side.turns)


@pytest.mark.parametrize("name", [name for name in ALL if name not in WITH_UTTERANCES and " " not in name])
def test_a_format_without_utterances_is_said_so(name: str, here: Path) -> None:
    Path("p").write_text(ALL[name]())
    with pytest.raises(
        dstbench.DstbenchError, match=f"p: files of format {name} hold no utterances\nhint: give the data"
    ):
        dstbench.contexts("p")


def test_a_file_that_could_hold_utterances_but_does_not(here: Path) -> None:
    Path("p").write_text(formats.json_list())
    with pytest.raises(dstbench.DstbenchError, match="p: no turn has its utterances"):
        dstbench.contexts("p")


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


def test_contexts_of_one_split(here: Path) -> None:
    Path("MULTIWOZ").mkdir()
    for name, content in multiwoz_with_splits().items():
        Path(name).write_bytes(content.replace(b'"text": ""', b'"text": "Hello"'))
    assert dstbench.contexts("MULTIWOZ")["dialogue"].to_list() == ["MUL1", "MUL2", "MUL3", "MUL4"]
    assert dstbench.contexts("MULTIWOZ", split="dev")["dialogue"].to_list() == ["MUL3"]
    with pytest.raises(dstbench.DstbenchError, match="no dialogue of the split 'trial'"):
        dstbench.contexts("MULTIWOZ", split="trial")


def test_the_command_writes_the_table(here: Path) -> None:
    Path("gold.tsv").write_text(formats.star_tsv())
    code, out, err = run("contexts", "gold.tsv", "-o", "said.parquet")
    assert (code, out, err) == (0, "", "said.parquet: 1 dialogue, 2 turns\n")
    assert pl.read_parquet("said.parquet").equals(dstbench.contexts("gold.tsv"))
    code, _, err = run("contexts", "gold.tsv", "-o", "said.csv")
    assert (code, err) == (2, "error: said.csv: a table of contexts is written as Parquet\nhint: -o said.parquet\n")
    code, _, err = run("contexts", "gold.tsv", "gold.tsv", "-o", "said.parquet")
    assert (code, err.splitlines()[0]) == (
        1,
        "error: gold.tsv and 1 more: the same turn in two files (dialogue MUL7001, turn 0)",
    )
