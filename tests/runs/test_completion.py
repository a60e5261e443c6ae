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
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench.readers import read
from dstbench.readers.convlab import split_state
from dstbench.readers.states import only_split
from dstbench.runs.align import to_long
from dstbench.runs.open import read_run
from tests import formats
from tests.corpora import EXAMPLE, EXAMPLE_SCORES, States, corpora

#: Format to a gold file whose states spell values as the example does, in the order of the predictions.
GOLD: dict[str, Callable[[], str]] = {
    "star-partial": formats.star_tsv,
    "savn": formats.sumbt_tsv,
    "convlab-raw": formats.convlab,
    "dstc10": lambda: formats.dstc10(side="gold"),
    "ldst": formats.sgd_gold,
}


def write_sdp_dst(folder: Path, index: str = "test.idx", values: str = "generated_predictions.txt") -> None:
    """The two files of the example."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip((index, values), formats.sdp_dst(), strict=True):
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("run", ["run/test.idx", "run"])
@pytest.mark.parametrize("values", ["generated_predictions.txt", "test.txt"])
def test_two_files_score_as_the_example(run: str, values: str, here: Path) -> None:
    write_sdp_dst(here / "run", values=values)
    Path("dialogues_001.json").write_text(formats.sgd_gold())
    rows = dstbench.score(run, gold="dialogues_001.json", metrics=list(EXAMPLE_SCORES))
    assert dict(zip(rows["metric"], rows["value"], strict=True)) == pytest.approx(EXAMPLE_SCORES, rel=1e-14)
    found = dstbench.scan(run, gold="dialogues_001.json").filter(
        ~pl.col("slot").cast(pl.String).str.ends_with("#frame")
    )
    assert found.drop("run").collect().equals(dstbench.scan(EXAMPLE).drop("run").collect())


@given(
    values=st.lists(st.sampled_from(["NONE", "north", "", "a|b", "['x']", " two words "]), min_size=1, max_size=6),
    ends=st.booleans(),
)
def test_values_are_those_of_their_lines(
    values: list[str], ends: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(any(value.strip() for value in values))  # a file of nothing is refused
    folder = tmp_path_factory.mktemp("sdp")
    index = "".join(f"test|||MUL1.json|||{2 * turn + 1}|||4|||hotel|||area\n" for turn in range(len(values)))
    (folder / "dev.idx").write_text(index)
    (folder / "generated_predictions.txt").write_text("\n".join(values) + "\n" * ends)
    states = read(folder / "dev.idx").pred
    assert states is not None
    found = dict(zip(states.cells["at"], states.cells["value"].cast(pl.String), strict=True))
    assert states.turns.rows() == [("MUL1", turn) for turn in range(len(values))]
    assert found == {turn: value.strip() for turn, value in enumerate(values) if value != "NONE"}


def test_one_of_two_files_is_not_enough(here: Path) -> None:
    write_sdp_dst(here)
    Path("other").mkdir()
    Path("other/generated_predictions.txt").write_text("north\n")
    with pytest.raises(dstbench.DstbenchError, match=r"no known format: it starts with 'north"):
        read("other/generated_predictions.txt")
    with pytest.raises(
        dstbench.DstbenchError, match=r"\.txt: no known format: lines of text\nhint: .* name .*test\.idx"
    ):
        read("generated_predictions.txt")
    Path("other/test.idx").write_text(formats.sdp_dst()[0])
    with pytest.raises(
        dstbench.DstbenchError,
        match=r"test\.idx: 60 lines, but other/generated_predictions\.txt has 1\nhint: .* split\?",
    ):
        read("other/test.idx")
    Path("other/generated_predictions.txt").unlink()
    with pytest.raises(dstbench.DstbenchError, match=r"other/test\.idx: it names slots, but"):
        read("other")
    for form in (None, "sdp-dst"):
        with pytest.raises(
            dstbench.DstbenchError,
            match=r"test\.idx: it names slots, but the .* no generated_predictions\.txt or test\.txt",
        ):
            read("other/test.idx", form)
    Path("test.idx").write_text(formats.sdp_dst()[0].replace("|||2|||", "|||two|||", 1))
    with pytest.raises(dstbench.DstbenchError, match=r"line 31: the turn is not a number \(dialogue 0, turn two\)"):
        read("test.idx")


@pytest.mark.parametrize("name", GOLD)
@pytest.mark.parametrize("split", [None, "test"])
def test_they_may_be_in_a_folder_with_the_name_of_a_split(name: str, split: str | None, here: Path) -> None:
    for path, text in (("run/test/preds", formats.ONLY_PRED[name]()), ("gold/test/dialogues_001.json", GOLD[name]())):
        Path(path).parent.mkdir(parents=True)
        Path(path).write_text(text, encoding="utf-8")
    rows = dstbench.score("run", gold="gold", metrics="jga", split=split)
    assert rows["value"].to_list() == [EXAMPLE_SCORES["jga"]]


@given(states=corpora())
def test_wrong_slots_in_gold_are_the_prediction(states: States, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the states: cut down to wrong slots and put back, they are the same."""
    plain = [{**s, **{side: {k: v for k, v in s[side].items() if v != "none"} for side in ("gold", "pred")}}
             for s in states]  # fmt: skip
    wrong: dict[str, dict[str, Any]] = {}
    for s in plain:
        pairs = {slot: (s["pred"].get(slot, "none"), s["gold"].get(slot, "none")) for slot in s["pred"] | s["gold"]}
        cells = {slot: {"pred": pred, "gt": gold} for slot, (pred, gold) in pairs.items() if pred != gold}
        wrong[f"{s['dialogue_id']}_{s['turn']}"] = cells
    folder = tmp_path_factory.mktemp("files")
    (folder / "run").write_text(json.dumps(wrong))
    (folder / "gold").write_text("".join(json.dumps({**s, "pred": {}}) + "\n" for s in plain))
    found = to_long(read(folder / "run", "star-partial"), read(folder / "gold")).table
    assert found.equals(dstbench.scan(plain).drop("run").collect())


def test_the_wrong_gold_is_noticed(here: Path) -> None:
    Path("run").write_text(formats.star_partial())
    Path("gold").write_text(formats.star_tsv().replace("\t10:30", "\t10:45"))
    with pytest.raises(
        dstbench.DstbenchError,
        match=r"1 gold values .*'10:30' instead of '10:45' \(dialogue MUL7001, turn 1, slot train-lea",
    ):
        dstbench.score("run", gold="gold")


@pytest.mark.parametrize(
    ("gt", "gold", "said"), [("east", "none", "'east' instead of 'none'"), ("none", "east", "'none' instead of ")]
)
def test_a_gold_value_on_one_side_only_is_another(gt: str, gold: str, said: str, here: Path) -> None:
    Path("run").write_text(json.dumps({"MUL7001.json_0": {"attraction-area": {"pred": "west", "gt": gt}}}))
    lines = [line.split("\t") for line in formats.star_tsv().splitlines()]
    lines[1][lines[0].index("attraction-area")] = gold
    Path("gold").write_text("".join("\t".join(line) + "\n" for line in lines))
    with pytest.raises(dstbench.DstbenchError, match=f"1 gold values .*{said}"):
        dstbench.score("run", gold="gold")


def test_parts_of_a_run_are_filled_in_each(here: Path) -> None:
    turns = json.loads(formats.star_partial())
    turns["MUL7001.json_0"] = {"hotel-area": {"pred": "none", "gt": "west"}}
    for n, (key, content) in enumerate(turns.items()):
        Path(f"{n}.json").write_text(json.dumps({key: content}))
    Path("gold").write_text(formats.star_tsv())
    table = read_run("both", ["0.json", "1.json"], gold="gold").table.filter(pl.col("slot") == "hotel-area").collect()
    assert table.select("turn", "gold", "pred").rows() == [(0, "west", None), (1, "west", "west")]


@pytest.mark.parametrize("name", ["convlab-raw", "dstc10"])
def test_turns_without_ids_must_be_as_many(name: str, here: Path) -> None:
    Path("run").write_text(formats.ONLY_PRED[name]())
    Path("gold").write_text(json.dumps(EXAMPLE[0]))
    with pytest.raises(dstbench.DstbenchError, match="run: 2 predicted turns for 1 in gold"):
        dstbench.score("run", gold="gold")


def test_another_order_is_noticed_where_the_file_has_gold_of_its_own(here: Path) -> None:
    Path("run").write_text("".join(reversed(formats.convlab_raw().splitlines(keepends=True))))
    Path("gold").write_text(formats.convlab())
    with pytest.warns(dstbench.DstbenchWarning, match="run: in 2 of 2 turns its own gold lists other slots than gold"):
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
    with pytest.raises(dstbench.DstbenchError, match=r"\(ldst\), and gold has several splits\nhint: .* --split test"):
        dstbench.score("run", gold="gold")
    with pytest.raises(dstbench.DstbenchError, match=r"several files dialogues_001\.json\nhint: .* --split"):
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


def test_a_slot_that_ldst_leaves_out_is_no_value(here: Path) -> None:
    lines = formats.ldst().replace("dialogues_001.json|||0|||", "data.json|||MUL7001.json|||")
    Path("run").write_text(lines.replace("NONE", "not mentioned", 20).replace("['NONE']", "[]", 3))
    found = dstbench.scan("run", gold=EXAMPLE).drop("run").collect()
    assert found.equals(dstbench.scan(EXAMPLE).drop("run").collect())


def test_dialogues_that_are_named_need_no_place(here: Path) -> None:
    Path("run").write_text(formats.ldst().replace("dialogues_001.json|||0|||", "data.json|||MUL7001.json|||"))
    Path("gold").write_text(formats.jsonl())
    assert dstbench.score("run", gold="gold", metrics="jga")["value"].item() == 0.5


def test_nothing_in_a_file_is_evaluated(here: Path) -> None:
    Path("run").write_text(formats.ldst().replace("['west']", "[open('made', 'w').name]", 1))
    with pytest.raises(dstbench.DstbenchError, match="is not a list of strings"):
        read("run")
    assert not Path("made").exists()


@given(st.dictionaries(st.sampled_from(["hotel-area", "hotel-book day", "train-x"]), st.text("ab :,()", max_size=5)))
def test_a_state_written_as_text_is_read_back(state: dict[str, str]) -> None:
    domains = formats._nested(state).items()
    text = ";".join(f"[{d}]({','.join(f'[{s}][{v}]' for s, v in slots.items())})" for d, slots in domains)
    pairs, lost = split_state(text)
    assert (dict(pairs), lost) == (state, 0)
