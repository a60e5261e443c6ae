"""What commands show in a terminal: lines that fit, notes on lines of their own, colours, conclusions first."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

import dstbench
from dstbench.demo import synthetic, write_sample
from tests.commands import ok, run
from tests.contract import corpora
from tests.once import compute_once
from tests.terminal import Shown, in_terminal, in_terminals, plain

pytestmark = pytest.mark.looks

pytest.importorskip("pty", reason="terminals are made by the operating system")

WIDTHS = (80, 100, 160)
RUNS = ("careful.parquet", "eager.parquet", "forgetful.parquet")
# Ten runs that lack turns, one more each, have slots of their own, and names of several lengths.
MANY = tuple(f"a_long_name_of_a_run_{'x' * n}.jsonl" for n in range(10))
LACKING = (*MANY, "--gold", "gold.jsonl", "--missing", "wrong")
#: Of the commands' usual tables, `tests/contract/test_tables.py` asks the same.
COMMANDS = {
    "score --signature": ("score", *RUNS, "--signature"),
    "score of many": ("score", *LACKING),
    "compare of many": ("compare", *LACKING, "--resamples", "50"),
    "compare-metrics of many": ("compare-metrics", *LACKING, "--resamples", "50"),
    "sweep of many": ("sweep", *LACKING),
    "check": ("check", *RUNS),
    "check of many": ("check", *LACKING),
    "check --all": ("check", *LACKING, "--all"),
    "diagnose of many": ("diagnose", *LACKING),
    "query --all": ("query", "SELECT * FROM long", "careful.parquet", "--all"),
    **{f"ls {what}": ("ls", what) for what in ("formats", "gold", "matchers", "metrics", "profiles", "slots", "steps")},
    "ls formats --all": ("ls", "formats", "--all"),
    "help": ("help", "conventions"),
    "demo": ("demo", "--dialogues", "1", "-o", "sample"),  # of more it writes a report, which takes most of its time
    "an error": ("score", *MANY, "--gold", "gold.jsonl", "--missing", "error"),
}


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_sample(synthetic(40), folder)
    for number, name in enumerate(("gold.jsonl", *MANY), -1):
        own = []
        for turn in corpora.RUNS["hasty"]:  # without what further notes are about
            gold = {slot: value.partition("|")[0] for slot, value in turn["gold"].items()}
            side = (
                {"gold": gold} if number < 0 else {"pred": {slot: gold[slot] for slot in gold if slot in turn["pred"]}}
            )
            own.append({"dialogue_id": turn["dialogue_id"], "turn": turn["turn"], **side})
        for at in range(3 if number >= 0 else 0):
            own[at]["pred"] = own[at]["pred"] | {f"taxi-odd{at}": "x"}
        (folder / name).write_text("\n".join(map(json.dumps, own[: len(own) - max(number, 0)])), "utf-8")
    return folder


@pytest.fixture(scope="session")
def shown(files: Path) -> Callable[[str, int], Shown]:
    """What a command of `COMMANDS` shows in a terminal of some width."""
    of_widths = in_terminals(list(COMMANDS.values()), WIDTHS, files)
    of_names = {width: dict(zip(COMMANDS, of_width, strict=True)) for width, of_width in of_widths.items()}
    return lambda name, width: of_names[width][name]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_the_window(name: str, width: int, shown: Callable[[str, int], Shown]) -> None:
    found = shown(name, width)
    assert found.code == (1 if name == "an error" else 0), plain(found.err)
    assert found.out.strip() or name == "an error"
    for line in [*found.lines, *plain(found.err).split("\n")]:
        assert cell_len(line) <= width, line


@pytest.mark.parametrize("name", COMMANDS)
def test_no_note_is_on_a_spinners_line(name: str, shown: Callable[[str, int], Shown]) -> None:
    err = shown(name, 80).err
    assert err.count("note: ") == len(re.findall(r"(?:^|\n|\r|\x1b\[2K|\x1b\[\?25h)note: ", err))


def test_a_note_of_each_kind_above_or_below_the_table(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    compute_once(monkeypatch.setattr)
    lines = run("score", *LACKING, "-m", "jga")[2].splitlines()
    assert lines[0] == (
        "note: 9 files: gold turns without a prediction, counted as wrong (--missing wrong): "
        f"9 in {MANY[9]}, 8 in {MANY[8]}, 7 in {MANY[7]}, 21 in 6 more (--verbose lists them)"
    )
    assert [line for line in lines if "--verbose" in line] == [
        lines[0], "note: 10 files: 3 slots that MultiWOZ does not have, kept as written (--verbose lists them)"
    ]  # fmt: skip
    told = run("score", *LACKING, "-m", "jga", "--verbose")[2].splitlines()
    assert sum("without a prediction" in line for line in told) == 9
    assert sum("MultiWOZ does not have" in line for line in told) == 10
    assert not any("--verbose" in line for line in told)


def test_what_changes_the_meaning_of_a_table_is_above_it(files: Path) -> None:
    words = [sys.executable, "-m", "dstbench", "score", *LACKING, "-m", "jga"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, cwd=files)  # noqa: S603
    above, _, below = done.stdout.partition(" run ")
    assert ("without a prediction" in above, "without a prediction" in below) == (True, False)
    assert ("MultiWOZ does not have" in above, "MultiWOZ does not have" in below) == (False, True)


def test_a_note_that_the_table_has_below_it_is_not_told_again(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["compare", "careful.parquet", "eager.parquet", "forgetful.parquet", "--resamples", "100"]
    (found,) = in_terminal([words], 80, files)
    monkeypatch.chdir(files)
    said = "p is so close to 0.05"
    of_pipe = run(*words)  # of which the user may see standard error alone
    assert [said in text for text in of_pipe[1:]] == [True, True]
    assert [said in " ".join(plain(text).split()) for text in found[1:]] == [True, False]


def test_a_file_and_a_pipe_get_all_columns_and_no_colours(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    text = ok("check", *RUNS)
    assert "\x1b" not in text
    (shown,) = in_terminal([("check", *RUNS, "-o", "checks.txt")], 60, files)
    assert (shown.out, (files / "checks.txt").read_text()) == ("", text)


def test_colours_only_where_wanted(files: Path, shown: Callable[[str, int], Shown]) -> None:
    for status, colour, name in (("ok", 32, "check --all"), ("warn", 33, "check of many")):
        assert re.search(rf"\x1b\[{colour}m{status} *\x1b\[0m", shown(name, 100).out)
    found = shown("check", 100)
    assert "\x1b" in found.out
    (grey,) = in_terminal([COMMANDS["check"]], 100, files, NO_COLOR="1")
    assert "\x1b" not in grey.out
    assert [line.rstrip() for line in grey.lines] == [line.rstrip() for line in found.lines]


def test_a_query_shows_fifty_rows_and_says_how_many_there_are(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    n = dstbench.scan("careful.parquet").collect().height
    words = ("query", "SELECT slot FROM long", "careful.parquet")
    *rows, last = ok(*words).splitlines()
    assert (len(rows) - 3, last) == (50, f"the first 50 of {n:,} rows; --all shows them all")
    assert len(ok(*words, "--all").splitlines()) - 3 == n
    assert len(json.loads(ok(*words, "--format", "json"))["rows"]) == n
    assert "--all" not in ok("query", "SELECT slot FROM long LIMIT 50", "careful.parquet")


def test_a_wrapped_signature_can_be_pasted(shown: Callable[[str, int], Shown], files: Path) -> None:
    text = plain(shown("score --signature", 80).out)
    pasted = text[text.index("signature: ") :].rstrip()
    assert pasted.count("\n") > 1
    printed = dstbench.score([str(files / run) for run in RUNS], metrics="tla")["signature"][0].partition("|")[2]
    assert ok("signature", pasted, f"jga|{printed}") == ok("signature", pasted.replace("\n  ", ""), f"jga|{printed}")
