"""The first screen of a command, of seven runs in a terminal of 80 columns: what was found, on at most 25 lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from dstbench.demo import synthetic
from tests.contract.commands import compute_once, run

RUNS: Final = tuple(f"run{number}.jsonl" for number in range(7))
#: Commands, each with the beginning of its first sentence.
COMMANDS: Final = {
    "score": (("score", *RUNS), r"\w+ has the highest JGA, "),
    "compare": (
        ("compare", *RUNS, "--resamples", "2000"),
        r"\w+ has the highest JGA, [0-9.]+ %: [0-9.]+ points above ",
    ),
    "check": (
        ("check", *RUNS),
        r"(\d+ checks? fails?, )?(\d+ checks? warns?, )?\d+ checks? (are|is) passed by all 7 runs",
    ),
    "sweep": (("sweep", *RUNS), r"by convention alone, JGA changes by "),
    "diagnose": (("diagnose", *RUNS), r"[0-9.]+ % \(\w+\) to [0-9.]+ % \(\w+\) of dialogues fail"),
    "correlate": (("correlate", *RUNS), r"\w+ and \w+ agree most \(r 0\.\d\d\), \w+ and \w+ least"),
    "traits": (("traits", *RUNS), r"r\(to_mean, fga\) is |the difference of r\(to_mean, fga\)"),
    "compare-metrics": (
        ("compare-metrics", *RUNS, "--resamples", "200"),
        r"\w+ orders random halves of the dialogues most alike: [0-9.]+ % of pairs differ",
    ),
    "sensitivity": (("sensitivity", RUNS[0]), r"\w+ depends most on the position"),
    "audit bias": (("audit", "bias", RUNS[0]), r"in \d+ slots? of \d+, |no slot has "),
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Seven runs over one gold: each has the dialogues of one tracker up to some number, then those of another."""
    folder, corpus = tmp_path_factory.mktemp("seven"), synthetic(28)
    first, second = (
        corpus[name].select(pl.col("dialogue", "slot", "gold", "pred").cast(pl.String), "turn")
        for name in ("careful", "forgetful")
    )
    dialogues = first["dialogue"].unique(maintain_order=True).to_list()
    for number, name in enumerate(RUNS):
        own = pl.col("dialogue").is_in(dialogues[: 4 * number])
        states: dict[tuple[str, int], dict[str, dict[str, str]]] = {}
        for row in pl.concat([first.filter(own), second.filter(~own)]).iter_rows(named=True):
            state = states.setdefault((row["dialogue"], row["turn"]), {"gold": {}, "pred": {}})
            for side in ("gold", "pred"):
                if row[side] is not None:
                    state[side][row["slot"]] = row[side]
        lines = ({"dialogue_id": dialogue, "turn": turn, **state} for (dialogue, turn), state in states.items())
        (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        compute_once(patch.setattr)
        yield folder


@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_screen_says_first_what_was_found(name: str) -> None:
    words, finding = COMMANDS[name]
    found = run(*words, columns=80)
    assert found.code == 0, found.err
    lines = found.out.rstrip("\n").split("\n")
    assert len(lines) <= 25, found.out
    assert max(map(len, lines)) <= 80
    assert re.match(finding, " ".join(lines)), found.out
    every = run(*words, "--all", columns=80).out
    assert len(every) > len(found.out), "the rest is there when asked for"
    assert name in ("check", "sweep", "audit bias") or "gold:" in every, "so is the whole signature"
