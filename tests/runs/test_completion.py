"""Predictions that are whole only beside gold: what they become, and what is said where they do not fit it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench.readers import read
from dstbench.readers.states import only_split
from dstbench.runs.align import to_long
from tests import formats
from tests.corpora import EXAMPLE, EXAMPLE_SCORES

#: Format to a gold file whose states spell values as the example does, in the order of the predictions.
GOLD: dict[str, Callable[[], str]] = {
    "savn": formats.sumbt_tsv,
    "dstc10": lambda: formats.dstc10(side="gold"),
    "ldst": formats.sgd_gold,
}


@pytest.mark.filterwarnings("ignore:.*each turn of .* is a dialogue of its own:dstbench.errors.DstbenchWarning")
@pytest.mark.parametrize("name", GOLD)
@pytest.mark.parametrize("split", [None, "test"])
def test_they_may_be_in_a_folder_with_the_name_of_a_split(name: str, split: str | None, here: Path) -> None:
    for path, text in (("run/test/preds", formats.ONLY_PRED[name]()), ("gold/test/dialogues_001.json", GOLD[name]())):
        Path(path).parent.mkdir(parents=True)
        Path(path).write_text(text, encoding="utf-8")
    rows = dstbench.score("run", gold="gold", metrics="jga", split=split)
    assert rows["value"].to_list() == [EXAMPLE_SCORES["jga"]]


def test_turns_without_ids_must_be_as_many(here: Path) -> None:
    Path("run").write_text(formats.dstc10())
    Path("gold").write_text(json.dumps(EXAMPLE[0]))
    with pytest.raises(dstbench.DstbenchError, match="run: 2 predicted turns for 1 in gold"):
        dstbench.score("run", gold="gold")


def _places(folder: Path, name: str, position: int) -> Any:
    (folder / "gold").write_text(formats.jsonl())
    places = pl.DataFrame({"dialogue": ["MUL7001"], "file": [name], "position": [position]})
    return replace(read(folder / "gold"), places=places.cast({"position": pl.UInt32}))


def test_dialogues_are_found_by_their_place(here: Path) -> None:
    Path("run").write_text(formats.ldst())
    found = to_long(read("run"), _places(here, "dialogues_001.json", 0)).table
    assert found.equals(dstbench.scan(EXAMPLE).drop("run").collect())
    for name, position in (("dialogues_002.json", 0), ("dialogues_001.json", 1)):
        with pytest.raises(dstbench.DstbenchError, match=r"no dialogue at place 0 of dialogues_001\.json"):
            to_long(read("run"), _places(here, name, position))
    with pytest.raises(dstbench.DstbenchError, match=r"gold is no such dataset"):
        to_long(read("run"), read("gold"))


def test_files_of_one_name_in_several_splits_are_told_apart(here: Path) -> None:
    Path("run").write_text(formats.ldst().replace("dialogues_001", "data/dialogues_001"))
    for folder, name in (("train", "MUL1"), ("test", formats.ID)):
        Path("gold", folder).mkdir(parents=True)
        content = formats.sgd_gold().replace(formats.ID, name).encode()
        Path("gold", folder, "dialogues_001.json.gz").write_bytes(gzip.compress(content))
    with pytest.raises(dstbench.DstbenchError, match=r"\(ldst\), and gold has several splits\nhint: .* `split` test"):
        dstbench.score("run", gold="gold")
    with pytest.raises(dstbench.DstbenchError, match=r"several files dialogues_001\.json\nhint: .* `split`"):
        to_long(read("run"), read("gold"))
    choices: dict[str, str | None] = {"gold": "test", "gold/test": None}
    for gold, split in choices.items():
        rows = dstbench.score("run", gold=gold, split=split, metrics=list(EXAMPLE_SCORES))
        assert dict(zip(rows["metric"], rows["value"], strict=True)) == pytest.approx(EXAMPLE_SCORES, rel=1e-14)
    whole = read("gold")
    assert whole.places is not None
    kept = only_split(whole, "test").places
    assert kept is not None
    assert kept["dialogue"].to_list() == [formats.ID]


def test_nothing_in_a_file_is_evaluated(here: Path) -> None:
    Path("run").write_text(formats.ldst().replace("['west']", "[open('made', 'w').name]", 1))
    with pytest.raises(dstbench.DstbenchError, match="is not a list of strings"):
        read("run")
    assert not Path("made").exists()
