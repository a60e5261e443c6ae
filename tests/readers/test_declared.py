"""Formats that users declare as rows, in a TOML file or a module: they are used as built-in ones are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.readers import registry
from dstbench.readers.table import ROWS
from tests import formats
from tests.commands import forgetting_modules, ok, run
from tests.records import quiet, table_of

ROW = """
[[format]]
name = "mine"
path = "results [dialogue=sample] exchanges [turn=no]"
gold = "truth.slots:flat"
pred = "guess.slots:pairs"
said = ["bot", "human"]
"""
TURN: dict[str, Any] = {
    "no": 0, "bot": "", "human": "hi", "truth": {"slots": {"hotel-area": "north"}},
    "guess": {"slots": ["hotel-area-north"]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _forgotten(here: Path) -> Iterator[None]:
    Path("p.json").write_text(json.dumps({"results": [{"sample": "SNG1", "exchanges": [TURN]}]}))
    with forgetting_modules():
        yield


@pytest.mark.parametrize("option", ["--rows", "--plugins"])
def test_a_row_in_a_file_is_a_format(option: str) -> None:
    Path("mine.toml").write_text(ROW)
    out = ok("score", "p.json", option, "mine.toml", "-m", "jga", "--format", "json")
    assert "|format:mine@mine#" in out
    assert "mine" in ok("ls", "formats", option, "mine.toml")
    assert "mine@mine#" in ok("signature", json.loads(out)["scores"][0]["signature"], option, "mine.toml")


def test_it_is_sniffed_read_and_says_where_something_is_wrong() -> None:
    Path("mine.toml").write_text(ROW)
    dstbench.plugins.use("mine.toml")
    assert table_of("p.json").rows() == [("SNG1", 0, "hotel-area", "north", "north")]
    assert dstbench.contexts("p.json").rows() == [("SNG1", 0, None, "hi")]
    Path("p.json").write_text(
        json.dumps({"results": [{"sample": "SNG1", "exchanges": [{**TURN, "truth": {"slots": 7}}]}]})
    )
    with pytest.raises(dstbench.DstbenchError, match=r"found 7 \(dialogue SNG1, turn 0\)"):
        dstbench.read("p.json", "mine")


@quiet
@pytest.mark.parametrize("name", ["trade", "t5dst", "gtpr", "pptod", "kage", "fnctod", "convlab"])
def test_a_row_says_the_same_in_a_file_as_in_the_table(name: str) -> None:
    row = registry.FORMATS[name].reader.__self__  # type: ignore[attr-defined] # a row's method
    assert name in ROWS
    words = {key: getattr(row, key) for key in ("path", "gold", "pred")}
    listed = "".join(f'{key} = "{value}"\n' for key, value in words.items())
    listed += f"omits = {json.dumps(row.omits)}\n" if row.omits else ""
    Path("again.toml").write_text(f'[[format]]\nname = "again"\n{listed}')
    dstbench.plugins.use("again.toml")
    Path("q.json").write_text(formats.WITH_BOTH[name]())
    one, other = dstbench.read("q.json", name), dstbench.read("q.json", "again")
    for side in ("gold", "pred"):
        assert getattr(one, side).turns.equals(getattr(other, side).turns)
        assert getattr(one, side).cells.equals(getattr(other, side).cells)


def test_a_module_may_have_rows() -> None:
    Path("rowed.py").write_text(
        "from dstbench.readers import Row\n"
        'MINE = Row(name="rowed", title="ours", example="{}", path="results [dialogue=sample] exchanges [turn=no]",\n'
        '           gold="truth.slots:flat", pred="guess.slots:pairs")\n'
    )
    assert "|format:rowed@rowed#" in ok("score", "p.json", "--plugins", "rowed", "-m", "jga")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "mine"', "", "a row without name"),
        ('name = "mine"', 'name = "My Row"', "cannot be called 'My Row'"),
        ("path =", "paths =", "a row has no 'paths'"),
        ("[dialogue=sample]", "[]", "names no dialogue"),
        ("[dialogue=sample]", "[dialog=sample]", "a step '[dialog=sample]', which is of no known form"),
        (":pairs", ":pears", "has no known notation"),
        ('["bot", "human"]', '["bot"]', "names other keys"),
        ('["bot", "human"]', '"bot"', "is not a list of texts"),
        ("[[format]]", "[format]", "tables [[format]] declare formats"),
        ("[[format]]", "[[format", "not TOML"),
    ],
)
def test_a_row_that_is_none_is_refused_before_anything_is_read(old: str, new: str, said: str) -> None:
    Path("mine.toml").write_text(ROW.replace(old, new))
    code, _, err = run("score", "nonesuch.json", "--rows", "mine.toml")
    assert code == 2
    assert said in " ".join(err.split())


def test_a_file_that_is_not_there_is_refused() -> None:
    _, _, err = run("score", "p.json", "--rows", "nonesuch.toml")
    assert "nonesuch.toml: no such file" in err
