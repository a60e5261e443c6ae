"""Conventions in TOML files: the same choices as in Python, signed by a hash that a signature can be held to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.choices import CHOICES, SIGNED
from dstbench.conventions.files import Table
from dstbench.conventions.matching import MATCHERS
from dstbench.conventions.normalise import STEPS
from dstbench.conventions.profiles import PROFILES, profile
from dstbench.conventions.slots import SLOT_SETS
from dstbench.signature import doubts, explain, parse, sign
from tests.commands import ok, run
from tests.corpora import EXAMPLE

STEP_LISTS = st.lists(st.sampled_from(sorted(STEPS)), max_size=3, unique=True).map(tuple)
#: What a file may choose, except files.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    name: st.sampled_from(get_args(choice.type))
    for name, choice in CHOICES.items()
    if get_origin(choice.type) is Literal
} | {
    "slots": st.sampled_from([*SLOT_SETS, None]),
    "absent": st.lists(st.sampled_from(["none", "", "a,b", "-"]), max_size=2).map(tuple),
    "gold_steps": STEP_LISTS,
    "pred_steps": STEP_LISTS,
    "match": st.sampled_from([*MATCHERS, "partial:above=0.95"]),
    "metrics": st.sampled_from(["jga", "jga,f1:avg=micro"]),
    "title": st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=9),
}  # fmt: skip
bases = st.sampled_from(list(PROFILES))
choices = st.fixed_dictionaries({}, optional=VALUES)


def toml(base: str, chosen: dict[str, Any], spell: str = "_") -> str:
    """A file of choices; JSON's strings and lists are also TOML's."""
    lines = [f"base = {json.dumps(base)}"]
    for name, value in chosen.items():
        text = "-" if value is None else list(value) if isinstance(value, tuple) else value
        lines.append(f"{name.replace('_', spell)} = {json.dumps(text, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def write(folder: Path, text: str, name: str = "mylab.toml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profiles")


@given(base=bases, chosen=choices, spell=st.sampled_from("_-"))
def test_a_file_chooses_as_python_does(base: str, chosen: dict[str, Any], spell: str, folder: Path) -> None:
    found = profile(write(folder, toml(base, chosen, spell)))
    in_python = {name: "-" if value is None else value for name, value in chosen.items()}
    expected = replace(profile(base, **in_python), name=found.name)
    assert replace(found, title="") == replace(expected, title="")
    assert found.title == chosen.get("title", f"choices of mylab.toml, otherwise as {base}")
    assert found.name.startswith("mylab#")


@given(one=bases, chosen=choices, other=bases, chosen_too=choices)
def test_the_hash_is_that_of_the_choices(
    one: str, chosen: dict[str, Any], other: str, chosen_too: dict[str, Any], folder: Path
) -> None:
    def signed(base: str, values: dict[str, Any]) -> dict[str, str]:
        return profile(write(folder, toml(base, values))).settings()

    first, second = signed(one, chosen), signed(other, chosen_too)
    bare = [{key: text for key, text in settings.items() if key != "profile"} for settings in (first, second)]
    assert (first["profile"] == second["profile"]) == (bare[0] == bare[1])


@given(base=bases, chosen=choices, key=st.sampled_from([*SIGNED][1:]), changes=st.booleans())
def test_a_signature_is_whole_or_a_doubt_says_that_it_is_not(
    base: str, chosen: dict[str, Any], key: str, changes: bool, folder: Path
) -> None:
    settings = profile(write(folder, toml(base, chosen))).settings()
    rest = {"missing": "error", "d": "1"}
    whole = sign("jga", {**settings, **rest})
    assert doubts(whole) == []
    assert parse(whole).settings["profile"] == settings["profile"]
    changed = {name: text for name, text in settings.items() if name != key}
    if changes:
        changed["over"] = "free" if settings.get("over", "count") != "free" else "count"
    if changed != settings:
        said = f"{settings['profile']} has other choices: the signature is not whole, or was changed"
        assert said in doubts(sign("jga", {**changed, **rest}))
        assert f"note: {said}" in explain(sign("jga", {**changed, **rest}))


def test_files_are_beside_the_file_and_part_of_its_hash(here: Path) -> None:
    (here / "lab").mkdir()
    Path("lab/labels.json").write_text('{"centre": ["center"]}')
    write(here / "lab", 'label-map = "labels.json"\nmatch = "exact"\n')
    found = profile("lab/mylab.toml")
    assert found.labels == Table.of({"centre": ["center"]})
    Path("lab/labels.json").write_text('{"centre": ["middle"]}')
    assert profile("lab/mylab.toml").name != found.name
    Path("lab/labels.json").unlink()
    with pytest.raises(dstbench.DstbenchError, match=r"lab/labels\.json: no such file"):
        profile("lab/mylab.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('dontcar = "drop"', "a convention has no choice 'dontcar'\nhint: did you mean dontcare?"),  # misspelt
        ('name = "mylab.1"', "a convention has no choice 'name'\nhint: "),
        (
            'dontcare = "drpo"',
            "dontcare='drpo' is none of keep, drop, drop-gold, drop-pred, skip\nhint: did you mean drop",
        ),
        ("dontcare = true", "dontcare=True is none of keep"),
        ("match = 5", "match=5 is not a string"),
        ('match = "levenstein"', "there is no matcher 'levenstein'\nhint: did you mean levenshtein?"),  # misspelt
        ('slots = "multiwoz"', "there is no slot set 'multiwoz'\nhint: did you mean multiwoz"),
        ('slots = ["hotel-area"]', "slots=['hotel-area'] is not a string"),
        ("gold-steps = [1]", "gold_steps=(1,) is not a tuple of strings"),
        ('gold-steps = "case,spce"', "there is no normalising step 'spce'\nhint: did you mean space"),  # misspelt
        ('base = "trad"', "there is no profile 'trad'\nhint: did you mean trade"),  # misspelt
        ('base = "other.toml"', "base = 'other.toml' names no profile"),
        ("base = 3", "base = 3 names no profile"),
        ("label-map = 3", "label-map = 3 is not the name of a file"),
        ('labels = "x.json"\nlabel-map = "x.json"', "two values of labels"),
        ("dontcare = drop", "not TOML: "),
        ("[dontcare]\n", "dontcare={} is none of"),
        (b"title = '\xff'", "not TOML: "),
        ('slots = "categorical"', "it is not known which slots are categorical"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_name(text: str | bytes, said: str, here: Path) -> None:
    Path("x.json").write_text("{}")
    Path("mylab.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(dstbench.DstbenchError) as caught:
        profile("mylab.toml")
    assert str(caught.value).startswith("mylab.toml: ")
    assert said in str(caught.value)
    Path("p.jsonl").write_text("broken")  # which is not even read
    code, out, err = run("score", "p.jsonl", "--profile", "mylab.toml")
    assert (code, out) == (1, "")
    assert err.startswith("error: mylab.toml: ")


def test_commands_take_a_file_wherever_they_take_a_profile(here: Path) -> None:
    write(here, 'base = "trade"\ntitle = "ours"\ndontcare = "drop"\nmetrics = ["jga", "f1"]\n')
    Path("p.jsonl").write_text("".join(json.dumps(state) + "\n" for state in EXAMPLE))
    lines = ok("score", "p.jsonl", "--profile", "mylab.toml", "--signature").splitlines()
    assert lines[0].split() == ["run", "jga", "f1"]
    name = profile("mylab.toml").name
    assert f"|profile:{name}|none:drop-pred|dontcare:drop|" in lines[-1]
    assert "note" not in ok("signature", lines[-1])
    (row,) = json.loads(ok("ls", "profiles", "mylab.toml", "--format", "json"))["profiles"]
    assert row["name"] == "mylab.toml"
    assert row["title"] == "ours"
    assert "dontcare=drop" in row["choices"].split()
    assert set(row["choices"].split()) - {"dontcare=drop"} <= set(
        json.loads(ok("ls", "profiles", "trade", "--format", "json"))["profiles"][0]["choices"].split()
    )
    found = dstbench.sweep("p.jsonl", profiles=["verbatim", "mylab.toml"])
    assert set(found["profile"]) == {"verbatim", "mylab.toml"}
    assert dstbench.score("p.jsonl", profile=Path("mylab.toml")).equals(dstbench.score("p.jsonl", profile="mylab.toml"))  # type: ignore[arg-type] # it may
