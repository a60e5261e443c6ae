"""Numbers in the lines around tables, and beside names in them: those that were asked for, and those of the frames."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract import corpora, small_corpus
from tests.contract.commands import run

RUNS = ("keen.jsonl", "steady.jsonl", "hasty.jsonl")
JSON = ("--format", "json")


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


@pytest.mark.again
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


#: Commands that show runs by name, and what they take before the runs.
NAMING = ("score -m jga", "compare -m jga --resamples 40", "check", "sweep -m jga", "diagnose", "traits -m jga,sa",
          "report -m jga,sa --most 1 --format md -o -")  # fmt: skip


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=[] if line in NAMING[:3] else pytest.mark.again) for line in NAMING]
)
def test_runs_are_called_by_what_tells_their_files_apart(line: str, folder: Path) -> None:
    """Where people read them; JSON, which programs read, has the whole names."""
    files = []
    for name, share in zip(RUNS, ("0.1", "0.25", "1.0"), strict=True):
        files.append(f"t5_{share}_seed-3_pred.jsonl")
        (folder / files[-1]).write_bytes((folder / name).read_bytes())
    said = run(*line.split(), *files)
    assert not said.code, said.err
    for file in files:
        name = file.removesuffix(".jsonl")
        assert re.search(rf"(?<![\w.]){name.split('_')[1]}(?![\w.])", said.out + said.err)
        assert name not in said.out
        assert not re.search(rf"{name}(?!\.jsonl)", said.err)
    whole = run(*line.replace("--format md", "--format json").split(), *files, *(() if "md" in line else JSON)).out
    assert all(file.removesuffix(".jsonl") in whole for file in files)


def test_a_short_name_is_understood_where_a_name_is_asked_for(folder: Path) -> None:
    files = []
    for name in RUNS:
        files.append(f"run_{name}")
        (folder / files[-1]).write_bytes((folder / name).read_bytes())
    line = ("compare", *files, "-m", "jga", "--resamples", "40", *JSON)
    assert run(*line, "--baseline", "keen").out == run(*line, "--baseline", "run_keen").out
    models = (run(*line, "--model", f"both={names}").out for names in ("keen,hasty", "run_keen,run_hasty"))
    assert len({*models}) == 1


def test_a_narrow_table_says_how_many_columns_are_left_out() -> None:
    def columns(text: str) -> int:
        head = re.search(r"\n\n (run .*)\n -+\n", text)
        assert head
        return len(re.split(r" {2,}", head[1].strip()))

    whole, narrow = (run("score", *RUNS, columns=width).out for width in (400, 50))
    left_out = re.search(r"(\d+) more columns?: --all", narrow)
    assert left_out
    assert int(left_out[1]) == columns(whole) - columns(narrow) > 0


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("score hasty.jsonl -m jga --charts charts", ["charts/scores.vl.json"]),
        ("report keen.jsonl -m jga --most 1 --format md -o page.md", ["page.md"]),
        ("audit inconsistency all/gold.jsonl --support 2 --apply -o better.jsonl --log l.csv --review sheet.csv",
         ["better.jsonl", "l.csv", "sheet.csv"]),
    ],
)  # fmt: skip
def test_files_that_are_written_are_named(line: str, written: list[str], folder: Path) -> None:
    corpora.write(folder / "all")
    said = run(*line.split())
    assert not said.code, said.err
    assert [text for text in said.err.splitlines() if text.startswith("wrote ")] == [
        f"wrote {name}" for name in written
    ]
    assert all(Path(name).stat().st_size for name in written)
