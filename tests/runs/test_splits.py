"""Gold in a folder of several splits: each run is scored on the split that has its dialogues, or is told to choose."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from tests import formats
from tests.corpora import EXAMPLE, EXAMPLE_SCORES
from tests.io.test_archives import pack_zip

SPLITS = ("train", "dev", "test")
IDS = {"train": "MUL7101", "dev": "MUL7201", "test": formats.ID}


def predicted(*turns: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"dialogue_id": dialogue, "turn": turn, "pred": {"hotel-area": "a"}} for dialogue, turn in turns]


def sgd(sizes: dict[str, int], value: str) -> str:
    """Dialogues of these sizes in SGD's layout, with one value everywhere."""
    frame = {"service": "hotel", "state": {"slot_values": {"hotel-area": [value]}}}
    turns = [{"speaker": "USER", "utterance": "", "frames": [frame]}, {"speaker": "SYSTEM", "frames": []}]
    return json.dumps([{"dialogue_id": name, "turns": turns * size} for name, size in sizes.items()])


def write_root(root: Path, splits: dict[str, dict[str, int]], shards: int = 1) -> None:
    for split, sizes in splits.items():
        folder = root / split
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "schema.json").write_text("[]")
        names = list(sizes)
        for shard in range(shards):
            part = {name: sizes[name] for name in names[shard::shards]}
            (folder / f"dialogues_{shard:03}.json").write_text(sgd(part, "a" if split == "test" else "b"))


#: Which files a dataset has, and its text for one dialogue.
LAYOUTS: dict[str, tuple[str, Callable[[], str]]] = {
    "STAR": ("{split}.tsv", formats.star_tsv),
    "SUMBT": ("{split}.tsv", formats.sumbt_tsv),
    "ConvLab-2": ("{split}.json.zip", formats.multiwoz),
    "TRADE": ("{split}_dials.json", formats.trade_gold),
    "CrossWOZ": ("{split}.json", formats.crosswoz),
    "MultiWOZ 2.2": ("{split}/dialogues_001.json", formats.sgd_gold),
    "records of turns": ("mine_{split}.jsonl", formats.jsonl),
    "IC-DST": ("mw24_100p_{split}.json", formats.icdst_gold),
}


def write_layout(root: Path, name: str) -> None:
    pattern, text = LAYOUTS[name]
    for split, dialogue in IDS.items():
        spelled = "val" if name == "ConvLab-2" and split == "dev" else split
        path = root / pattern.format(split=spelled)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = text().replace(formats.ID, dialogue).encode()
        path.write_bytes(pack_zip({f"{split}.json": content}) if path.suffix == ".zip" else content)
    (root / "ontology.json").write_text("{}")


def of(dialogue: str) -> list[dict[str, Any]]:
    return [{"dialogue_id": dialogue, "turn": state["turn"], "pred": state["pred"]} for state in EXAMPLE]


@pytest.mark.parametrize("split", ["dev", *(pytest.param(s, marks=pytest.mark.again) for s in ("train", "test"))])
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.filterwarnings("ignore:.*may have been altered")
def test_the_split_of_the_predictions_is_taken(name: str, split: str, here: Path) -> None:
    write_layout(here / "gold", name)
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        rows = dstbench.score(of(IDS[split]), gold="gold", metrics=list(EXAMPLE_SCORES))
    assert dict(zip(rows["metric"], rows["value"], strict=True)) == pytest.approx(EXAMPLE_SCORES, rel=1e-14)
    said = f"scored on the split {split}, the only one of gold in which it has dialogues"
    assert sum(said in str(warning.message) for warning in caught) == 1
    rows = dstbench.score(of(IDS[split]), gold="gold", metrics="jga", split=split)
    assert rows["value"].item() == EXAMPLE_SCORES["jga"]


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name not in ("records of turns", "IC-DST")])
def test_a_folder_of_gold_is_read_as_one_dataset(name: str, here: Path) -> None:
    write_layout(here / "gold", name)
    files = {
        path.relative_to("gold").as_posix(): path.read_bytes() for path in Path("gold").rglob("*") if path.is_file()
    }
    Path("gold.zip").write_bytes(pack_zip(files))
    for path in ("gold", "gold.zip") if name != "ConvLab-2" else ("gold",):  # a zip in a zip is not read
        states = dstbench.read(path)
        assert states.splits is not None
        assert dict(states.splits.iter_rows()) == {dialogue: split for split, dialogue in IDS.items()}
        (split,) = set(dstbench.read(path, split="dev").splits["split"])  # type: ignore[index] # as above
        assert split == "dev"


def test_predictions_of_two_splits_are_not_one_run(here: Path) -> None:
    Path("run").mkdir()
    for split, dialogue in IDS.items():
        Path(f"run/{split}.json").write_text(formats.trade().replace(formats.ID, dialogue))
    with pytest.raises(dstbench.DstbenchError, match=r"3 data files that are not parts of one run: run/dev\.json"):
        dstbench.score("run")


sizes = st.dictionaries(st.sampled_from(["1_0", "1_1", "2_0", "2_1"]), st.integers(1, 3), min_size=1)
split_sizes = st.dictionaries(st.sampled_from(SPLITS), sizes, min_size=2)


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
@given(splits=split_sizes, data=st.data())
def test_ids_that_repeat_across_splits(
    splits: dict[str, dict[str, int]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The split is the only one with some dialogues, or with all turns, or with all turns and no other ones."""
    root = tmp_path_factory.mktemp("sgd")
    write_root(root, splits, shards=data.draw(st.integers(1, 2)))
    turns = {
        split: {(name, turn) for name, size in own.items() for turn in range(size)} for split, own in splits.items()
    }
    all_turns = sorted(set().union(*turns.values()))
    own = st.sampled_from([sorted(own) for own in turns.values()])
    run = data.draw(st.one_of(own, st.lists(st.sampled_from(all_turns), min_size=1, unique=True)))
    named = {name for name, _ in run}
    some = {split for split, own in turns.items() if any(name in named for name, _ in own)}
    whole = {split for split in some if set(run) <= turns[split]}
    exact = {split for split in whole if {turn for turn in turns[split] if turn[0] in named} == set(run)}
    wanted = next((kind for kind in (some, whole, exact) if len(kind) == 1), None)
    if wanted is None:
        with pytest.raises(dstbench.DstbenchError, match=r"predictions in the splits .*\nhint: choose one: `split`"):
            dstbench.open_runs(predicted(*run), gold=root, missing="wrong")
        return
    (split,) = wanted
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        (found,) = dstbench.open_runs(predicted(*run), gold=root, missing="wrong")
    said = f"scored on the split {split}, the only one of {root} "
    assert sum(said in str(warning.message) for warning in caught) == 1
    (alone,) = dstbench.open_runs(predicted(*run), gold=root / split, missing="wrong")
    assert found.read().equals(alone.read())
    assert found.meta["coverage"] == alone.meta["coverage"]


def test_no_dialogue_is_in_any_split(here: Path) -> None:
    write_root(here / "sgd", {"train": {"1_0": 2}, "test": {"1_1": 2}})
    with pytest.raises(dstbench.DstbenchError, match="no turn is in both gold and predictions"):
        dstbench.score(predicted(("9_9", 0)), gold="sgd")


def test_variants_below_the_splits_are_left_out(here: Path) -> None:
    """As in SGD's repository, whose folder `sgd_x` has the same dialogues with other schemas."""
    write_root(here / "sgd", {"train": {"1_0": 2}, "test": {"1_1": 2}})
    for variant in ("v1", "v2"):
        write_root(here / "sgd" / "sgd_x" / variant, {"train": {"1_0": 2}, "test": {"1_1": 2}})
    run = predicted(("1_1", 0), ("1_1", 1))
    for split in (None, "test"):
        with pytest.warns(dstbench.DstbenchWarning) as caught:
            assert dstbench.score(run, gold="sgd", metrics="jga", split=split)["value"].item() == 1
        said = "sgd: splits in subfolders are left out: sgd_x/v1, sgd_x/v2"
        assert [str(warning.message) for warning in caught].count(said) == 1
    with pytest.raises(dstbench.DstbenchError, match="the same turn in two files"):
        dstbench.score(run, gold="sgd/sgd_x", metrics="jga", split="test")
