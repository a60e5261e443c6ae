"""Datasets written again: nothing changes but what is edited, and the reader of the format gives it back."""

from __future__ import annotations

import bz2
import gzip
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.audit import rewrite, spoken
from dstbench.errors import DstbenchWarning
from dstbench.readers.registry import WRITABLE
from tests import formats

pytestmark = pytest.mark.filterwarnings("ignore:.*its predictions stay:dstbench.errors.DstbenchWarning")

FILES = {name.partition(" ")[0]: text for name, text in (formats.ONLY_GOLD | formats.RESTAURANT).items()}
FILES["jsonl"] = formats.jsonl
IDS = {name: "7001" if name in formats.RESTAURANT else formats.ID for name in WRITABLE}
SLOTS = {
    name: ("restaurant-area", "restaurant-pricerange", "restaurant-food")
    if name in formats.RESTAURANT
    else ("hotel-area", "hotel-book day", "taxi-leaveat", "bus-leaveat", "train-day")
    for name in WRITABLE
}
#: Formats whose files end with the user's turn: what the system says after it is nowhere.
ENDING_WITH_THE_USER = ("star-tsv", "sumbt-tsv", "woz-tsv", "woz", "trade-gold", "t5dst-gold", "simulated", "jsonl")
VALUES = (None, "north", "cheap", "two words", "a|b", "x-y", 'Zoë\'s "café" 🍰')

State = dict[tuple[str, int, str], str]


def read_states(path: Path | str) -> State:
    """(dialogue, turn, slot) to value, by the format's reader."""
    gold = dstbench.read(path).gold
    assert gold is not None
    places = gold.turns.rows()
    return {(*places[at], slot): value for at, slot, value in gold.cells.rows()}


def decoded(name: str, text: str) -> Any:
    """A JSON document, or the lines of JSON Lines."""
    return [json.loads(line) for line in text.splitlines()] if name == "jsonl" else json.loads(text)


def encoded(name: str, content: Any, *, end: str = "", **how: Any) -> str:
    """The inverse."""
    if name != "jsonl":
        return json.dumps(content, **how) + end
    return "".join(json.dumps(line, **{**how, "indent": None}) + "\n" for line in content)


def of_dialogues(name: str, ids: Iterable[str]) -> str:
    """A format's file, with its dialogue under each of the ids, which are numbers of four digits."""
    text = FILES[name]()
    if "tsv" in name:
        head, body = ("", text) if name == "woz-tsv" else text.split("\n", 1)
        return (head and head + "\n") + "".join(body.replace("7001", number) for number in ids)
    contents = [decoded(name, text.replace("7001", number)) for number in ids]
    if isinstance(contents[0], dict):
        return encoded(name, {key: value for content in contents for key, value in content.items()})
    return encoded(name, [item for content in contents for item in content])


def state_edits(changes: Mapping[tuple[str, int, str], str | None]) -> pl.DataFrame:
    rows = [(*key, value) for key, value in changes.items()]
    return pl.DataFrame(rows, schema=["dialogue", "turn", "slot", "value"], orient="row")


def word_edits(*rows: tuple[str, int, str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["dialogue", "turn", "speaker", "text"], orient="row")


@pytest.mark.again
@pytest.mark.parametrize("name", WRITABLE)
def test_without_edits_the_bytes_are_the_same(name: str, here: Path) -> None:
    text = FILES[name]()
    layouts = [text]
    if "tsv" in name:
        layouts.append(text.replace("\n", "\r\n"))
    else:
        content, foreign = decoded(name, text), decoded(name, text.replace("cheap", "chéap 🍰"))
        layouts += [encoded(name, content, indent=2, end="\n"), encoded(name, content, separators=(",", ":"))]
        layouts.append(encoded(name, foreign, ensure_ascii=False, indent=4))
        layouts.append(encoded(name, foreign))
    for layout in layouts:
        Path("in").write_bytes(layout.encode())
        rewrite("in", "out")
        assert Path("out").read_bytes() == layout.encode()


@pytest.mark.again
@pytest.mark.parametrize("name", WRITABLE)
def test_edits_of_states_are_read_back(name: str, tmp_path: Path) -> None:
    path, out, again = (tmp_path / file for file in ("in", "out", "again"))
    path.write_text(of_dialogues(name, [str(7001 + number) for number in range(12)]))
    states, said = read_states(path), dstbench.contexts(path)

    edits = st.dictionaries(
        st.tuples(st.integers(0, 1), st.sampled_from(SLOTS[name])), st.sampled_from(VALUES), max_size=6
    )

    @settings(max_examples=5)
    @given(st.lists(edits, min_size=1, max_size=12))
    def are_read_back(edited: list[dict[tuple[int, str], str | None]]) -> None:
        changes: dict[tuple[str, int, str], str | None] = {
            (IDS[name].replace("7001", str(7001 + number)), *place): value
            for number, of_dialogue in enumerate(edited)
            for place, value in of_dialogue.items()
        }
        rewrite(path, out, states=state_edits(changes) if changes else None)
        wanted = {place: value for place, value in (states | changes).items() if value is not None}
        assert read_states(out) == wanted
        assert dstbench.contexts(out).equals(said)
        rewrite(out, again, states=state_edits(changes) if changes else None)
        assert again.read_bytes() == out.read_bytes()

    are_read_back()


@pytest.mark.parametrize("name", WRITABLE)
def test_edits_of_words_are_read_back(name: str, here: Path) -> None:
    Path("in").write_text(FILES[name]())
    told = ("Zoë's ☕", "and 🍰 please")
    dialogue = IDS[name]
    rewrite("in", "out", said=word_edits((dialogue, 1, "system", told[0]), (dialogue, 1, "user", told[1])))
    assert dstbench.contexts("out")["system", "user"].rows() == [(None, formats.USER[0]), told]
    assert read_states("out") == read_states("in")
    texts = spoken("out").select("turn", "speaker", "text").rows()
    assert [row[:2] for row in texts[:3]] == [(0, "user"), (1, "system"), (1, "user")]
    assert bool(texts[3:]) == (name not in ENDING_WITH_THE_USER)
    if texts[3:]:
        assert [row[:2] for row in texts[3:]] == [(2, "system")]
        rewrite("in", "out", said=word_edits((dialogue, 2, "system", "bye")))
        assert spoken("out").row(-1) == (dialogue, 2, "system", "bye")


def test_other_fields_and_the_spelling_of_slots_stay(here: Path) -> None:
    Path("data.json").write_text(formats.multiwoz())
    changes = {(formats.ID, 1, "taxi-leaveat"): "9:00", (formats.ID, 1, "bus-leaveat"): "10:00"}
    rewrite("data.json", "out.json", states=state_edits({**changes, (formats.ID, 1, "hotel-book day"): None}))
    before, after = (json.loads(Path(name).read_text())[f"{formats.ID}.json"] for name in ("data.json", "out.json"))
    metadata = after["log"][3]["metadata"]
    assert metadata["taxi"]["semi"]["leaveAt"] == "9:00"
    assert metadata["hotel"]["book"]["day"] == "not mentioned"
    assert metadata.pop("bus") == {"book": {"booked": []}, "semi": {"leaveat": "10:00"}}
    metadata["taxi"]["semi"]["leaveAt"], metadata["hotel"]["book"]["day"] = "", "monday"
    assert after == before
    assert list(after["log"][3]["metadata"]) == list(before["log"][3]["metadata"])


def test_a_turn_without_an_answer_has_a_number_too(here: Path) -> None:
    """A user of CrossWOZ may speak twice; the state is that of the next answer."""
    content = json.loads(formats.crosswoz())
    messages = content[f"{formats.ID}.json"]["messages"]
    messages.insert(0, messages[0] | {"content": "hm"})
    Path("in").write_text(json.dumps(content))
    rewrite("in", "out", states=state_edits({(formats.ID, 1, "hotel-area"): "south"}))
    before, after = read_states("in"), read_states("out")
    assert after == before | {(formats.ID, 1, "hotel-area"): "south"} != before
    assert spoken("in").row(0)[:3] == (formats.ID, 1, "user")


@pytest.mark.parametrize("is_list", [False, True])
def test_turns_of_ones_own_format_keep_all_else(is_list: bool, here: Path) -> None:
    """Predictions, other keys, and the bytes of lines that are not edited: here with odd spaces and empty lines."""
    turns = [
        {"dialogue_id": f"MUL{number}", "turn": 0, "gold": {"hotel-semi-area": "wést"}, "pred": {"hotel-area": "é"},
         "more": [1, 2.50, None]}
        for number in range(3)
    ]  # fmt: skip
    lines = [json.dumps(turns[0]), '  {"dialogue_id" : "MUL1", "turn":0, "gold": {"hotel-area":"e"},"x":1e2}\r', "", ""]
    lines.append(json.dumps(turns[2], ensure_ascii=False, separators=(",", ":")))
    text = json.dumps([*turns, {**turns[0], "dialogue_id": "MUL3"}], indent=1) if is_list else "\n".join(lines)
    Path("in").write_bytes(text.encode())
    with pytest.warns(DstbenchWarning, match="^in: its predictions stay as they are"):
        rewrite(
            "in", "out", states=state_edits({("MUL2", 0, "hotel-area"): "south", ("MUL2", 0, "taxi-leaveat"): "9:00"})
        )
    wanted = {**turns[2], "gold": {"hotel-semi-area": "south", "taxi-leaveat": "9:00"}}
    written = Path("out").read_bytes()
    if is_list:
        assert written.decode() == json.dumps([*turns[:2], wanted, {**turns[0], "dialogue_id": "MUL3"}], indent=1)
    else:
        assert written.split(b"\n")[:-1] == text.encode().split(b"\n")[:-1]
        assert written.split(b"\n")[-1].decode() == json.dumps(wanted, ensure_ascii=False, separators=(",", ":"))
    rewrite("in", "out", without=["MUL0"])
    assert {key[0] for key in read_states("out")} == {key[0] for key in read_states("in")} - {"MUL0"}


# The reader of jsonl checks utterances, too.
@pytest.mark.again
@pytest.mark.parametrize("name", [name for name in WRITABLE if "tsv" not in name and name != "jsonl"])
def test_what_is_not_understood_stays_or_is_an_error(name: str, here: Path) -> None:
    texts = (
        "transcript", "system_transcript", "user", "system", "usr", "sys", "text", "utterance", "turn_label", "content",
        "user_utterance", "system_utterance",
    )  # fmt: skip

    def broken(item: object, junk: object) -> object:
        if isinstance(item, dict):
            return {key: junk if key in texts else broken(value, junk) for key, value in item.items()}
        return [broken(value, junk) for value in item] if isinstance(item, list) else item

    junks: tuple[object, ...] = (5, None, [5], {"a": []})
    for junk in junks:
        content = broken(decoded(name, FILES[name]()), junk)
        Path("in").write_text(encoded(name, content))
        slot = SLOTS[name][0]
        rewrite("in", "out", states=state_edits({(IDS[name], 0, slot): "north"}))
        assert read_states("out") == {**read_states("in"), (IDS[name], 0, slot): "north"}
        with pytest.raises(dstbench.DstbenchError, match=r"^in: "):
            rewrite("in", "out", said=word_edits((IDS[name], 0, "user", "hi")))
        with pytest.raises(dstbench.DstbenchError, match=r"^in: "):
            spoken("in")


@pytest.mark.parametrize("name", WRITABLE)
def test_dialogues_are_left_out(name: str, here: Path) -> None:
    Path("in").write_text(of_dialogues(name, ["7001", "7002"]))
    left = IDS[name].replace("7001", "7002")
    rewrite("in", "out", without=[IDS[name]])
    assert {key[0] for key in read_states("out")} == {left}
    with pytest.raises(dstbench.DstbenchError, match="in: no dialogue would be left in it"):
        rewrite("in", "none", without=[IDS[name], left])
    assert not Path("none").exists()


def test_folders_and_packed_files(here: Path) -> None:
    for number in (1, 2):
        text = formats.sgd_gold().replace(formats.ID, f"MUL700{number}")
        Path("sgd/test").mkdir(parents=True, exist_ok=True)
        Path(f"sgd/test/dialogues_00{number}.json").write_text(text)
    Path("sgd/test/schema.json").write_text("[]")
    with zipfile.ZipFile("sgd.zip", "w") as archive:
        for path in sorted(Path("sgd/test").iterdir()):
            archive.write(path)
    changes = state_edits({("MUL7002", 1, "hotel-area"): "north"})
    for source in ("sgd", "sgd.zip"):
        rewrite(source, f"out of {source}", states=changes)
        inner = "" if source == "sgd" else "sgd/"
        written = Path(f"out of {source}/{inner}test")
        assert sorted(path.name for path in written.iterdir()) == [
            "dialogues_001.json", "dialogues_002.json", "schema.json"
        ]  # fmt: skip
        assert read_states(f"out of {source}") == {**read_states("sgd"), ("MUL7002", 1, "hotel-area"): "north"}
    rewrite("sgd", "one", without=["MUL7001"])
    assert not Path("one/test/dialogues_001.json").exists()
    with pytest.raises(dstbench.DstbenchError, match="one: is there already"):
        rewrite("sgd", "one")
    Path("in.tsv.gz").write_bytes(gzip.compress(formats.star_tsv().encode()))
    for ending, unpack in {"gz": gzip.decompress, "bz2": bz2.decompress}.items():
        rewrite("in.tsv.gz", f"out.tsv.{ending}")
        assert unpack(Path(f"out.tsv.{ending}").read_bytes()).decode() == formats.star_tsv()
    with pytest.raises(dstbench.UsageError, match=r"out\.tsv\.zst: \.zst is not written\nhint: one of \.gz, "):
        rewrite("in.tsv.gz", "out.tsv.zst")
    assert sorted(path.name for path in here.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("name", ["multiwoz21/test.tsv", "multiwoz20/test.tsv", "sgd/dialogues_001.json"])
def test_real_files_come_back_byte_for_byte(name: str, data: Path, here: Path) -> None:
    rewrite(data / name, "out")
    assert Path("out").read_bytes() == (data / name).read_bytes()


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        (
            {"states": {("MUL701", 0, "hotel-area"): "no"}},
            "no such dialogue .*\nhint: .* MUL7001",
        ),
        ({"states": {(formats.ID, 9, "hotel-area"): "no"}}, "no turn with a state"),
        ({"said": (formats.ID, 5, "user", "hi")}, "no such turn"),
        ({"without": ["MUL1", "MUL2"]}, "no such dialogue, and 1 more .dialogue MUL1"),
    ],
)
def test_an_edit_without_a_place_is_refused(edits: dict[str, Any], message: str, here: Path) -> None:
    Path("in").write_text(formats.star_tsv())
    make: dict[str, Any] = {"states": state_edits, "said": word_edits, "without": list}
    with pytest.raises(dstbench.DstbenchError, match=f"^in: an edit has no place in the data: {message}"):
        rewrite("in", "out", **{name: make[name](given) for name, given in edits.items()})
    assert not Path("out").exists()


def test_a_label_of_a_turn_follows_its_state(here: Path) -> None:
    """TRADE's `turn_label` has what is new in a turn: what is added, with its later turns left alone."""

    def turn(number: int, new: list[list[str]], state: list[list[str]]) -> dict[str, Any]:
        belief = [{"slots": [pair], "act": "inform"} for pair in state]
        return {"turn_idx": number, "turn_label": new, "belief_state": belief}

    north, four = ["hotel-area", "north"], ["hotel-stars", "4"]
    turns = [turn(0, [north], [north]), turn(1, [four], [north, four])]
    Path("gold.json").write_text(json.dumps([{"dialogue_idx": "MUL1.json", "dialogue": turns}]), encoding="utf-8")
    added = {"dialogue": ["MUL1", "MUL1"], "turn": [0, 1], "slot": ["hotel-internet"] * 2, "value": ["yes"] * 2}
    rewrite("gold.json", "new.json", states=pl.DataFrame(added))
    (dialogue,) = json.loads(Path("new.json").read_text(encoding="utf-8"))
    labels = [one["turn_label"] for one in dialogue["dialogue"]]
    assert [[pair[1] for pair in label] for label in labels] == [["north", "yes"], ["4"]]
    assert labels[0][1][0].replace(" ", "-").endswith("internet")
