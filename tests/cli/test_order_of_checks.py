"""A wrong option is told before a file is read: here no file exists, and the message, which is recorded, says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commands import run
from tests.contract import recorded
from tests.interface import LEAVES, is_text

#: The words of each command that reads files, none of which exists.
COMMANDS: dict[str, tuple[str, ...]] = {
    "score": ("a.json", "b.json"),
    "compare": ("a.json", "b.json"),
    "pairs": ("a.json",),
    "sweep": ("a.json",),
    "check": ("a.json",),
    "reconcile": ("50", "a.json"),
    "diff": ("a.json", "b.json"),
    "diagnose": ("a.json",),
    "traits": ("a.json",),
    "correlate": ("a.json",),
    "show": ("a.json", "MUL0001"),
    "query": ("SELECT * FROM scores", "a.json"),
    "compare-metrics": ("a.json", "b.json"),
    "sensitivity": ("a.json",),
    "report": ("a.json", "b.json", "-o", "report.html"),
    "convert": ("a.json", "-o", "a.parquet"),
    "contexts": ("a.json", "-o", "a.parquet"),
    "audit bias": ("a.json",),
    "audit diff": ("a.json", "b.json"),
    "audit scores": ("a.json", "--version", "2.1=gold.json"),
    "audit inconsistency": ("a.json",),
    "audit contradictions": ("a.json",),
    "audit replace": ("a.json", "--train", "b.json", "-o", "c.json"),
    "audit memorisation": ("a.json", "--context", "b.json"),
}
#: Commands that read no data.
OTHERS = {"demo", "ls", "signature", "help", "audit review"}
#: A wrong value of each option that has a text or a number; in a list, those to be tried one by one.
WRONG: dict[str, list[tuple[str, ...]]] = {
    "--profile": [("tarde",)],
    "--match": [("fzzy:90",), ("levenshtein:900",)],
    "--gold-steps": [("lwoer",)],
    "--pred-steps": [("lwoer",)],
    "--slots": [("nonesuch",)],
    "--metrics": [("jag",), ("fga:lambda=2",), ("fga:lam=x",), ("joint_goal_accuracy,slot_acc",)],
    "--by": [("slto",)],
    "--level": [("2",), ("nan",)],
    "--from": [("jsnol",)],
    "--keys": [("perd=x",), ("x",), ("id=a,id=b",), ("gold=x,pred=x",), ("id=a,,",)],
    "--profiles": [("trade,tarde",)],
    "--kinds": [("mised",)],
    "--counting": [("cumulativ",)],
    "--versus": [("jga",), ("jga,jag,fga",), ("jga,fga",), ("jga,jga,fga",), ("jga,fga,fga,jga",),
                 ("jga,fga,gca", "--per", "turn", "--test", "all")],
    "--disagree": [("jga", "jag"), ("fga", "fga")],
    "--test": [("wiliams",)],
    "--target": [("high",), ("jgaa=24.0",), ("jga=24.0,jga=25.0",)],
    "--table": [("x",)],
    "--plugins": [("no_such_module",)],
    "--label": [("a b", "--format", "latex"), ("a",)],
    "--group": [("x",), ("Title=nonesuch",)],
    "--along": [("metric",), ("=x.csv",), ("share",)],
    "--model": [("x",), ("model=nonesuch",)],
    "--baseline": [("nonesuch",)],
    "--only": [("x",), ("2.2=a",)],
    "--version": [("x",)],
    "--other-gold": [("x",)],
    "--with": [("jag",)],
    "--map": [("x",)],
    "--name": [("one", "--name", "two", "--name", "three"), ("one", "--name", "one")],
}  # fmt: skip
#: Options whose texts are free, or depend on what is in the files.
FREE = {"--address", "--title", "--note", "--slot", "--train", "--split"}
#: Likewise, of one command only.
FREE_HERE = {("convert", "--name"), ("audit replace", "--slots")}


def _texts(name: str) -> set[str]:
    """The options of a command whose values are texts or floats without bounds."""
    return {
        max(option.opts, key=len)
        for option in LEAVES[name].params
        if option.opts[0].startswith("-") and _is_free(option)
    }


def _is_free(option: Any) -> bool:
    if hasattr(option, "type"):  # Typer before 0.29
        return is_text(option) or str(option.type) == "FLOAT"
    of = option.type_descriptor
    return is_text(option) or (of.annotation is float and not of.is_ranged)


def test_every_command_and_option_is_covered() -> None:
    assert {*COMMANDS, *OTHERS} == set(LEAVES)
    assert {option for name in COMMANDS for option in _texts(name)} == {*WRONG, *FREE}


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        (name, option, words)
        for name in COMMANDS
        for option in sorted(_texts(name) - FREE)
        if (name, option) not in FREE_HERE
        for words in WRONG[option]
    ],
)
def test_a_wrong_option_is_told_before_a_file_is_read(
    name: str, option: str, words: tuple[str, ...], here: Path
) -> None:
    code, out, err = run(*name.split(), *COMMANDS[name], option, *words)
    assert (code, out) == (2, ""), err
    assert "no such file" not in err
    if "Usage: " not in err:  # Typer's own, in other words in other versions
        recorded.check(
            "refusals", f"dstbench {' '.join((name, *COMMANDS[name], option, *words))}", err.replace(str(here), "HERE")
        )
    assert list(here.iterdir()) == []
