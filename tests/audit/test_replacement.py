"""Entity-replaced sets: perfect against themselves, consistent, and with no value that training has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.audit import Replacement, replace, rewrite, spoken
from dstbench.audit.replacement import LEAST, Content, donor_values, read_content
from tests.audit.test_ordinary_words import Told, letters, plainly_ordinary
from tests.commands import run
from tests.writers.test_rewrite import read_states

NAMES = ("cambridge", "cambridge belfry", "Ely", "the lion", "lion", "o'neil bar", "Fen-Ditton")
SLOTS = ("hotel-name", "train-departure", "train-destination", "attraction-type")
OTHER = ("09:15", "dontcare", "3", "yes")


def told_dialogue(number: int, turns: list[tuple[dict[str, str], str, str]]) -> dict[str, Any]:
    """A dialogue as T5DST has it: per turn its state, and what is said."""
    said = [
        {"system": system if at else "none", "user": user, "state": {"slot_values": state}}
        for at, (state, system, user) in enumerate(turns)
    ]
    return {"dial_id": f"D{number}", "turns": said}


@st.composite
def dialogues(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for number in range(draw(st.integers(1, 7))):
        turns: list[tuple[dict[str, str], str, str]] = []
        state: dict[str, str] = {}
        for _ in range(draw(st.integers(1, 3))):
            new = draw(st.dictionaries(st.sampled_from(SLOTS), st.sampled_from((*NAMES, *OTHER)), max_size=2))
            state = {**state, **new}
            words = st.lists(st.sampled_from((*NAMES, *map(str.upper, NAMES), "rely", ",")), max_size=4)
            told = [draw(words), draw(words)]
            told[draw(st.integers(0, 1))] += draw(st.sampled_from((list(new.values()), [*new.values()][::-1], [])))
            system, user = (" ".join(text) for text in told)
            turns.append((state, system, user))
        found.append(told_dialogue(number, turns))
    return found


def plainly(dialogue: dict[str, Any], new: dict[str, str], known: set[str]) -> list[str]:
    """The texts of a dialogue with old values replaced, longest first, by a loop; in lower case.

    Args:
        dialogue: Its states and texts.
        new: New names, by the letters of the old ones.
        known: The values of all dialogues: within a longer one, no name is replaced.
    """
    own = {v.lower() for turn in dialogue["turns"] for v in turn["state"]["slot_values"].values() if v not in OTHER}
    values = own | {v for v in known if letters(v) not in map(letters, own) and any(f"{name} " in v for name in own)}
    words = {value: re.sub(r"[\W_]", "", value) for value in values}
    forms = sorted(values, key=lambda value: (-len(words[value]), words[value]))
    looks = "|".join(r"\W*".join(".?".join(word) for word in re.findall(r"[^\W_]+", form)) for form in forms)
    pattern = re.compile(rf"\b(?:{looks})\b" if looks else "(?!)")

    def name(match: re.Match[str]) -> str:
        return new.get(re.sub(r"[\W_]", "", match[0]), match[0])

    texts = [turn[who] for at, turn in enumerate(dialogue["turns"]) for who in ("system", "user")[not at :]]
    return [pattern.sub(name, text.lower()) for text in texts]


def told(content: list[dict[str, Any]]) -> Told:
    """What is said in dialogues, and the values of their states."""
    return [
        (
            [turn[who] for at, turn in enumerate(d["turns"]) for who in ("system", "user")[not at :]],
            [value for turn in d["turns"] for value in turn["state"]["slot_values"].values()],
        )
        for d in content
    ]


#: What training knows besides: names that have a beginning and an end.
KNOWN = dict.fromkeys(SLOTS, "quill house|great hall|high moor")
#: Few, so that dialogues ask for the same ones.
FEW = {key: ["Aa", "Bb Bb", "cc", "Dd-d", "Ee", "Ff", "Gg"] for key in SLOTS}


@pytest.mark.again
@settings(max_examples=10)
@given(
    content=dialogues(),
    seed=st.integers(0, 3),
    keep=st.booleans(),
    donors=st.sampled_from((None, FEW)),
    chat=st.sampled_from(("hi", *NAMES)),
)
def test_replaced_sets(
    content: list[dict[str, Any]],
    seed: int,
    keep: bool,
    donors: dict[str, list[str]] | None,
    chat: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("replaced")
    data, train, out = folder / "data", folder / "train", folder / "out"
    data.write_text(json.dumps(content))
    known = [*content, *(told_dialogue(n, [(KNOWN if n < 9 else {}, "", f"well {chat}")]) for n in range(7, 7 + LEAST))]
    train.write_text(json.dumps(known))
    ordinary = plainly_ordinary([told(content), told(known)])
    slots = sorted(
        {slot for slot in SLOTS[:3] for d in content for t in d["turns"] if slot in t["state"]["slot_values"]}
    )
    try:
        found = replace(data, out, train=train, donors=donors, slots=slots or None, seed=seed, keep_unfound=keep)
    except dstbench.DstbenchError as error:
        assert re.search("no dialogue is left with a value|no slot is called", str(error))  # noqa: PT017
        assert not out.exists()
        return
    refused = set(found.refused.filter(reason="not said")["dialogue"])
    before, after = read_states(data), read_states(out)
    wanted = {key for key in before if keep or key[0] not in refused}
    assert set(after) == wanted
    manifest: dict[tuple[str, str], str] = {}
    for dialogue, slot, value, new, states, _ in found.replaced.rows():
        assert dialogue not in refused
        assert sum(before[key] == value for key in after if key[0] == dialogue and key[2] == slot) == states
        key = dialogue, re.sub(r"[\W_]", "", value.lower())
        assert manifest.setdefault(key, new.lower()) == new.lower()  # one entity, one name
    for dialogue in {dialogue for dialogue, _ in manifest}:
        names = [new for (of, _), new in manifest.items() if of == dialogue]
        assert len(set(names)) == len(names)  # two entities, two names
    old = {re.sub(r"[\W_]", "", value.lower()) for value in before.values()}
    for (dialogue, turn, slot), value in after.items():
        was = before[dialogue, turn, slot]
        if was in OTHER or dialogue in refused or letters(was) in ordinary:
            assert value == was
        elif slot in slots:
            assert re.sub(r"[\W_]", "", value.lower()) not in old
            assert value.islower() == was.islower()
        else:
            assert value.lower() == manifest.get((dialogue, re.sub(r"[\W_]", "", was.lower())), was).lower()
    assert {
        (dialogue, slot, value) for dialogue, _, slot, value, reason, *_ in found.refused.rows() if reason != "not said"
    } == {
        (dialogue, slot, value)
        for (dialogue, _, slot), value in before.items()
        if slot in slots and letters(value) in ordinary
    }
    values = {value.lower() for value in before.values() if value not in OTHER}
    texts = {name: part["text"].to_list() for (name,), part in spoken(out).group_by("dialogue", maintain_order=True)}
    for dialogue in content:
        name = dialogue["dial_id"]
        if name not in refused:
            renamed = {key: new for (of, key), new in manifest.items() if of == name}
            assert [text.lower() for text in texts.get(name, [])] == [
                t for t in plainly(dialogue, renamed, values) if t
            ]
    again = folder / "again"
    replace(data, again, train=train, donors=donors, slots=slots or None, seed=seed, keep_unfound=keep)
    assert again.read_bytes() == out.read_bytes()


def small(*, user: str, state: dict[str, str], train: dict[str, str] | None = None, **how: Any) -> Replacement:
    Path("data").write_text(json.dumps([told_dialogue(1, [(state, "", user)]), told_dialogue(2, [({}, "", "hi")])]))
    Path("train").write_text(json.dumps([told_dialogue(1, [(train or {"a-b": "c"}, "", "we go to Quill House now")])]))
    return replace("data", "out", train="train", **how)


def test_donors_that_training_has_or_says_are_not_taken(here: Path) -> None:
    donors = {"hotel-name": ["The-Lion", "quill house", "Gable|Inn", "12", "dontcare", "!", "Bell"]}
    found = small(user="ely", state={"hotel-name": "ely"}, train={"bus-name": "the lion"}, donors=donors)
    assert found.replaced["new"].to_list() == ["bell"]
    with pytest.raises(dstbench.DstbenchError, match="of 1 donor value, none is new for hotel-name\nhint: name"):
        small(user="ely", state={"hotel-name": "ely"}, donors={"hotel-name": ["quill house"]})
    with pytest.raises(dstbench.DstbenchError, match="no donor values for hotel-name"):
        small(user="ely", state={"hotel-name": "ely"}, donors={"hotel-area": ["north"]})
    with pytest.raises(dstbench.DstbenchError, match=r"too few new values: 1 \(dialogue D1, slot train-d"):
        small(user="ely or rye", state={"train-departure": "ely", "train-destination": "rye"},
              donors={slot: ["Bell"] for slot in ("train-departure", "train-destination")})  # fmt: skip


NAMES_OF_TRAINING = [
    {"hotel-name": "acorn guest house|worth lodge", "train-departure": "kings lynn"},
    {"hotel-name": "the old inn", "train-departure": "Ely"},
]


def trained(*states: dict[str, str], times: int = 2) -> str:
    return json.dumps([told_dialogue(n, [(state, "", "hi")]) for n, state in enumerate(times * states)])


def test_invented_names_are_made_of_the_words_of_known_ones(here: Path) -> None:
    Path("train").write_text(trained(*NAMES_OF_TRAINING))
    slots = ["hotel-name", "train-departure", "bus-departure"]
    train = read_content("train")
    table = donor_values(None, slots, 7, train=train)
    assert table.equals(donor_values(None, slots, 7, train=train))
    assert table.rows() != donor_values(None, slots, 8, train=train).rows()
    assert sorted(table.rows()) == [
        ("bus-departure", "Ely lynn"),  # training does not have the slot: the words are those of a slot like it
        ("bus-departure", "kings lynn"),
        *(("hotel-name", name) for name in (
            "acorn guest house", "acorn inn", "acorn lodge", "the old guest house", "the old inn", "the old lodge",
            "worth guest house", "worth inn", "worth lodge",
        )),
        ("train-departure", "Ely lynn"),
        ("train-departure", "kings lynn"),
    ]  # fmt: skip


@given(names=st.lists(st.text("ab -", min_size=1, max_size=9), min_size=1, max_size=6), seed=st.integers(0, 3))
def test_invented_names_are_distinct_and_no_word_is_new(names: list[str], seed: int) -> None:
    donors = {"hotel-name": names}
    table = donor_values(donors, ["hotel-name"], seed, train=Content(pl.DataFrame(), pl.DataFrame()), invent=True)
    words = {word for name in names for word in name.split()}
    assert table["donor"].is_unique().all()
    for name in table["donor"]:
        parts = name.split()
        assert len(parts) > 1
        assert {*parts} <= words


def test_what_has_not_been_said_is_refused_or_kept(here: Path) -> None:
    content = [told_dialogue(1, [({"hotel-name": "ely"}, "", "hi"), ({"hotel-name": "ely"}, "ely ?", "yes")]),
               told_dialogue(2, [({"hotel-name": "rye"}, "", "to rye")])]  # fmt: skip
    for name in ("data", "train"):
        Path(name).write_text(json.dumps(content))
    donors = {"hotel-name": ["Bell"]}
    found = replace("data", "out", train="train", donors=donors)
    assert found.refused.rows() == [("D1", 0, "hotel-name", "ely", "not said", None, None)]
    assert {key[0] for key in read_states("out")} == {"D2"}
    kept = replace("data", "kept", train="train", donors=donors, keep_unfound=True)
    assert kept.refused.equals(found.refused)
    assert read_states("kept") == read_states("data") | read_states("out")
    Path("data").write_text(json.dumps(content[:1]))
    with pytest.raises(dstbench.DstbenchError, match="data: no dialogue is left with a value to replace in hotel-name"):
        replace("data", "none", train="train")


@pytest.mark.parametrize(("old", "new"), [("Pine Cone Lodge", "Golden Gable"), ("pine cone lodge", "golden gable")])
def test_names_are_written_as_the_old_ones_are(old: str, new: str, here: Path) -> None:
    Path("data").write_text(json.dumps([told_dialogue(0, [({"hotel-name": old}, "", f"book the {old} for me")])]))
    Path("train").write_text(json.dumps([told_dialogue(1, [({"hotel-name": "Old Mill"}, "", "the Old Mill")])]))
    for donor in ("golden gable", "Golden Gable"):
        replace("data", "out", train="train", donors={"hotel-name": [donor]})
        assert spoken("out")["text"].to_list() == [f"book the {new} for me"]
        (dialogue,) = json.loads(Path("out").read_text())
        assert dialogue["turns"][0]["state"]["slot_values"] == {"hotel-name": new}


def test_misspelt_names_are_replaced_too(here: Path) -> None:
    """Not what is like a name only because of words that many say, nor another name of the dialogue."""
    said = [
        "the ashely hotel , or ashley hotl ?",
        "the ashley hotels , and the missing sock",
        "missing sock ? , in a hotel",
    ]
    states = [{"hotel-name": "ashley hotel"}, {"hotel-name": "ashley hotel", "restaurant-name": "the missing sock"}]
    content = [told_dialogue(n, [(states[min(n, 1)], "", text)]) for n, text in enumerate(said[:2])]
    content[1]["turns"].append({"system": said[2], "user": "yes", "state": content[1]["turns"][0]["state"]})
    Path("data").write_text(json.dumps(content))
    Path("train").write_text(json.dumps([told_dialogue(n, [({"a-b": "c"}, "", "a hotel ?")]) for n in range(40)]))
    replace("data", "out", train="train", donors={"hotel-name": ["Bell"], "restaurant-name": ["Oak"]})
    assert spoken("out")["text"].to_list() == [
        "the bell , or bell ?", "the bell , and oak", "oak ? , in a hotel", "yes",
    ]  # fmt: skip


def test_an_ordinary_word_stays_and_is_listed_with_the_reason(here: Path) -> None:
    state = {"hotel-name": "ask|the acorn", "taxi-departure": "Ask"}
    content = [told_dialogue(1, [(state, "", "may i ask for the acorn ?")]), told_dialogue(2, [({}, "", "ask me")])]
    Path("data").write_text(json.dumps(content))
    Path("train").write_text(json.dumps([told_dialogue(n, [({}, "", "may i ask ?")]) for n in range(LEAST)]))
    Path("donors").write_text('{"hotel-name": ["Bell"]}')
    words = ("audit", "replace", "data", "-o", "out", "--train", "train", "--donors", "donors")
    code, shown, _ = run(*words, "--manifest", "m.csv")
    assert code == 0
    assert read_states("out") == {("D1", 0, "hotel-name"): "ask|bell", ("D1", 0, "taxi-departure"): "Ask"}
    assert spoken("out")["text"].to_list() == ["may i ask for bell ?", "ask me"]
    rows = shown.partition("Not replaced, as they are ordinary words")[2].splitlines()
    assert [row.split() for row in rows[4:6]] == [
        ["hotel-name", "ask|the", "acorn", "12", "1", "1"], ["taxi-departure", "Ask", "12", "1", "1"],
    ]  # fmt: skip
    assert "refused,D1,taxi-departure,Ask,,,,0,ordinary word,12,1" in Path("m.csv").read_text()
    Path("data").write_text(json.dumps([told_dialogue(1, [({"hotel-name": "ask"}, "", "may i ask ?")])]))
    code, _, err = run(*words)
    assert (code, err.partition("\n")[2]) == (1, "hint: values that stay: 1 ordinary word\n")


def test_multiwoz_against_its_training_set(data: Path, here: Path) -> None:
    test, train = data / "multiwoz21" / "test.tsv", data / "multiwoz21" / "train.tsv.gz"
    found = replace(test, "new.tsv", train=train)
    after = read_states("new.tsv")
    slots = [
        slot for slot in {key[2] for key in after} if slot.rpartition("-")[2] in ("name", "departure", "destination")
    ]
    assert len(slots) == 7
    known = read_states(train)
    trained_values = {re.sub(r"[\W_]", "", value) for value in known.values()}
    words = {word for value in known.values() for word in value.split()}
    assert all(word in words for new in found.replaced["new"] for word in re.split(r"[ |]", new))
    ordinary = found.refused.filter(reason="ordinary word")
    assert "ask" in ordinary["value"]
    asks = [text for dialogue, *_, text in spoken("new.tsv").rows() if dialogue == "PMUL2351"]
    assert asks == [text for dialogue, *_, text in spoken(test).rows() if dialogue == "PMUL2351"]
    untouched = {"do not care", *ordinary["value"]}
    for (_, _, slot), value in after.items():
        if slot in slots and value not in untouched:
            assert re.sub(r"[\W_]", "", value) not in trained_values
    heard: dict[str, list[tuple[int, str]]] = {}
    for dialogue, turn, _, text in spoken("new.tsv").rows():
        heard.setdefault(dialogue, []).append((turn, text))
    for (dialogue, turn, slot), value in after.items():  # what a tracker must find is there to be found
        if slot in slots and value not in untouched:
            assert any(said <= turn and value.partition("|")[0] in text for said, text in heard[dialogue])
    gold = dstbench.read("new.tsv").gold
    assert gold is not None
    states: dict[tuple[str, int], dict[str, str]] = {turn: {} for turn in gold.turns.rows()}
    for (dialogue, turn, slot), value in after.items():
        states[dialogue, turn][slot] = value
    table = [{"dialogue_id": d, "turn": t, "gold": state, "pred": state} for (d, t), state in states.items()]
    assert dstbench.score(table, metrics="jga,f1")["value"].to_list() == [1.0, 1.0]
    left_out = found.refused.filter(reason="not said")["dialogue"].n_unique()
    before = dstbench.read(test).gold
    assert before is not None
    assert gold.turns["dialogue"].n_unique() == before.turns["dialogue"].n_unique() - left_out
    rewrite("new.tsv", "same.tsv")
    assert Path("same.tsv").read_bytes() == Path("new.tsv").read_bytes()
