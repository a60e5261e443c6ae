"""Gold that is recognised: named if and only if it is equal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.errors import DstbenchWarning
from dstbench.runs import gold_sets as module
from dstbench.runs import run as runs
from dstbench.runs.gold_sets import gold_lines, gold_sets, line_of, recognise
from dstbench.runs.open import open_runs, write_long
from tests.commands import ok, run
from tests.corpora import EXAMPLE, States, corpora

#: The states of each turn, by dialogue.
Dialogues = dict[str, list[dict[str, str]]]

#: Registered sets, and the file of each in the folder of real data.
FILES = {
    "MultiWOZ 2.0 dev, SUMBT's preparation": "multiwoz20/dev.tsv",
    "MultiWOZ 2.0 test, SUMBT's preparation": "multiwoz20/test.tsv",
    "MultiWOZ 2.0 test, T5DST's preparation, restaurant domain": (
        "predictions/gca_t5_train/t5dst_native_attraction_restaurant.json"
    ),
    "MultiWOZ 2.1 train, STAR's preparation": "multiwoz21/train.tsv.gz",
    "MultiWOZ 2.1 dev, STAR's preparation": "multiwoz21/dev.tsv",
    "MultiWOZ 2.1 test, STAR's preparation": "multiwoz21/test.tsv",
    "MultiWOZ 2.1 test, TripPy's preparation": "predictions/trippy/trippy_result.json",
    "MultiWOZ 2.1 test, T5DST's preparation, train domain": (
        "predictions/gca_t5_train/ratio_0.3_seed_557_prediction.json"
    ),
    "SGD dev, dialogues_001.json only": "sgd/dialogues_001.json",
    "SGD dev, dialogues_002.json only": "sgd/dialogues_002.json",
}
STAR = "MultiWOZ 2.1 test, STAR's preparation"
NAMED: dict[str, Any] = {"dataset": "Invented 1.0", "split": "test", "source": "nowhere"}


@contextmanager
def registered(*lines: str) -> Iterator[None]:
    """The registry has these lines and no others."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        registry = Path(folder) / "gold_sets.jsonl"
        registry.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        patch.setattr(module, "_REGISTRY", registry)
        gold_sets.cache_clear()
        try:
            yield
        finally:
            gold_sets.cache_clear()


def line(gold: Any, preparation: str = "ours", **others: Any) -> str:
    return line_of(gold, **NAMED, preparation=preparation, **others)


def text_of(data: Any, **reading: Any) -> str | None:
    (opened,) = open_runs(data, **reading)
    recognised = recognise(opened)
    return recognised and recognised.name + recognised.size


def states_of(dialogues: Dialogues, side: str = "gold") -> States:
    return [
        {"dialogue_id": name, "turn": turn, side: state}
        for name, turns in dialogues.items()
        for turn, state in enumerate(turns)
    ]


# --- laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.again
@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
@given(states=corpora(), data=st.data())
def test_a_set_is_named_whatever_is_predicted_and_however_the_file_spells_it(
    states: States, data: st.DataObject
) -> None:
    ids = {turn["dialogue_id"] for turn in states}
    spelled = {name: data.draw(st.sampled_from([name, f"{name.lower()}.json"])) for name in sorted(ids)}
    respelled = [
        {
            "dialogue_id": spelled[turn["dialogue_id"]],
            "turn": turn["turn"],
            "gold": {
                slot.replace("leaveat", "leaveAt"): value
                for slot, value in [*turn["gold"].items(), ("hotel-stars", data.draw(st.sampled_from(["none", ""])))]
                if value not in ("none", "") or data.draw(st.booleans())
            },
            "pred": data.draw(st.sampled_from(states))["pred"],
        }
        for turn in states
    ]
    own = data.draw(st.permutations(respelled))
    with registered(line(states)), TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        assert text_of(own) == "Invented 1.0 test, ours"
        patch.setattr(runs, "_ROW_GROUP", 1)  # a Parquet file of many parts
        write_long(open_runs(own)[0], f"{folder}/own.parquet")
        assert text_of(f"{folder}/own.parquet") == "Invented 1.0 test, ours"


VALUES = st.sampled_from(["north", "south", "north|south", "dontcare", "7"])
STATE = st.dictionaries(st.sampled_from(["hotel-area", "hotel-stars", "train-day"]), VALUES, max_size=2)


@st.composite
def changed_golds(draw: st.DrawFn) -> tuple[Dialogues, Dialogues]:
    """Gold of many dialogues, and the same after a few changes."""
    gold = {f"MUL{at}": draw(st.lists(STATE, min_size=1, max_size=3)) for at in range(30)}
    own = {name: [dict(state) for state in turns] for name, turns in gold.items()}
    for _ in range(draw(st.integers(0, 5))):
        name = draw(st.sampled_from(sorted(own)))
        match draw(st.sampled_from(["drop", "add", "shorten", "lengthen", "edit"])):
            case "drop":
                del own[name]
            case "add":
                own[f"SNG{len(own)}"] = [draw(STATE)]
            case "shorten" if len(own[name]) > 1:
                own[name].pop()
            case "lengthen":
                own[name].append(dict(own[name][-1]))
            case _:
                own[name][draw(st.integers(0, len(own[name]) - 1))] = draw(STATE)
    return gold, own


@given(changed_golds())
def test_gold_is_named_if_and_only_if_it_is_equal(golds: tuple[Dialogues, Dialogues]) -> None:
    gold, own = golds
    with registered(line(states_of(gold))):
        text = text_of([{**turn, "pred": {}} for turn in states_of(own)])
    assert text == ("Invented 1.0 test, ours" if gold == own else None)


# --- where it is shown ------------------------------------------------------------------------------------------------


@pytest.fixture
def own(here: Path) -> Iterator[str]:
    """The registered gold of a file ``p.jsonl`` with predictions."""
    Path("p.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in EXAMPLE))
    with registered(line("p.jsonl", whole={"dialogues": 10})):
        yield "Invented 1.0 test, ours (1 of 10 dialogues)"


def test_scores_and_checks_name_gold(own: str) -> None:
    for form in ("text", "md"):
        assert f"\ngold: {own}\n" in ok("score", "p.jsonl", "--format", form)
    assert "gold: Invented 1.0 test" in ok("score", "p.jsonl", "--format", "latex")
    first = json.loads(ok("check", "p.jsonl", "--format", "json"))["checks"][0]
    assert (first["check"], first["status"], first["found"]) == ("gold", "note", own)


def test_a_line_names_the_runs_whose_gold_it_is_unless_it_is_that_of_all(own: str) -> None:
    Path("other.jsonl").write_text("".join(f"{json.dumps(turn | {'gold': {'hotel-area': 'x'}})}\n" for turn in EXAMPLE))
    Path("q.jsonl").write_bytes(Path("p.jsonl").read_bytes())
    assert f"\ngold of p: {own}\n" in run("score", "p.jsonl", "other.jsonl")[1]
    assert f"\ngold: {own}\n" in run("score", "p.jsonl", "q.jsonl")[1]


# --- real files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_real_files_have_the_gold_that_is_registered(name: str, data: Path) -> None:
    (one,) = (one for one in gold_sets() if one.name == name)
    path = str(data / FILES[name])
    again = json.loads(line_of(path, dataset="", split="", preparation="", source=""))
    for key in ("dialogues", "turns", "slots", "fingerprint"):
        assert again[key] == getattr(one, key)


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_a_real_run_that_lacks_dialogues_is_scored_on_a_part(data: Path) -> None:
    gold, runs = str(data / "multiwoz21" / "test.tsv"), data / "predictions" / "mwzeval"
    whole = f"{STAR} (999 of 1,000 dialogues)"
    for name, missing, text in (
        ("labes.json", "wrong", whole),
        ("labes.json", "intersect", None),  # 56 dialogues are missing
        ("augpt.json", "intersect", whole),
    ):
        assert text_of(str(runs / name), gold=gold, missing=missing) == text


def test_predictions_that_are_public_gold_look_swapped() -> None:
    turns = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "east"}, "pred": {"hotel-area": "west"}}]
    swapped = [{**turn, "gold": turn["pred"], "pred": turn["gold"]} for turn in turns]
    with registered(line(turns)):
        assert gold_lines(open_runs(turns)) == ["gold: Invented 1.0 test, ours"]
        with pytest.warns(DstbenchWarning, match="its predictions are the gold of Invented 1.0 test, ours: are the"):
            assert gold_lines(open_runs(swapped)) == []
        told = dstbench.check(swapped)["found"].to_list()
        assert "predictions are the gold of Invented 1.0 test, ours: are the two swapped?" in told
