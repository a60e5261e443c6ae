"""Numbers in the lines around tables, and beside names in them: those that were asked for, and those of the frames."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract import small_corpus
from tests.contract.commands import run

RUNS = ("keen.jsonl", "steady.jsonl", "hasty.jsonl")


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("lines")
    small_corpus.write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def rows_of(*words: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(run(*words, "--format", "json").out)
    return found


def test_how_p_was_computed_names_what_was_asked_for() -> None:
    said = run("compare", *RUNS, "--seed", "7", "--resamples", "300", "--level", "0.9", "--all").out
    assert "300 resamples" in said
    assert re.search(r"seed 7\b", said)
    assert "90 % intervals" in said
    assert re.search(r"p is at most 10 %", said)
    assert "m = 3" in said


def test_a_short_signature_has_all_but_the_data_that_was_scored() -> None:
    for missing in ("wrong", "error"):
        (line,) = re.findall(r"^signature: (\S+) \(whole", run("score", *RUNS, "--missing", missing).out, re.M)
        whole = rows_of("score", *RUNS, "--missing", missing)["scores"][0]["signature"]
        of_data = ("by:", "gold:", "d:", "t:")
        wanted = [part for part in whole.split("|")[1:] if not part.startswith(of_data)]
        assert sorted(line.split("|")) == sorted(wanted)


def test_a_profile_counts_the_others_with_the_same_scores() -> None:
    rows = rows_of("sweep", *RUNS, "-m", "jga")["sweep"]
    of_profile: dict[str, list[tuple[str, float]]] = {}
    for row in rows:
        of_profile.setdefault(row["profile"], []).append((row["run"], row["value"]))
    shown = re.findall(r"^ ([\w@.-]+)(?: \+(\d+))?  ", run("sweep", *RUNS, "-m", "jga").out, re.M)
    named = {profile: int(more or 0) for profile, more in shown if profile in of_profile}
    assert named
    for profile, more in named.items():
        alike = [name for name, scores in of_profile.items() if sorted(scores) == sorted(of_profile[profile])]
        assert more == len(alike) - 1, profile
    assert sum(named.values()) + len(named) == len(of_profile)
    assert max(named.values()) > 0
