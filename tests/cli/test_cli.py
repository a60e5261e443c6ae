"""The command line as users meet it: whole commands, what they print, where, and how they exit."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

import dstbench
from dstbench.cli.app import app
from dstbench.demo import synthetic
from dstbench.metrics import REGISTRY
from dstbench.typing import Listing
from tests import formats
from tests.commands import ok, run, run_apart
from tests.corpora import EXAMPLE, OF_FRAMES


@pytest.fixture
def example(here: Path) -> Path:
    """A folder with the example dialogue in three files."""
    (here / "model.json").write_text(formats.gtpr())
    (here / "bare.json").write_text(formats.mwzeval())
    (here / "gold.tsv").write_text(formats.star_tsv())
    return here


def test_a_file_in_place_of_a_command_is_scored(example: Path) -> None:
    assert ok("model.json", "-m", "jga") == ok("score", "model.json", "-m", "jga")
    assert run("nofile.json")[2].startswith("error: nofile.json: no such file\nhint: in that folder: ")
    assert run_apart("./model.json", "-m", "jga")[:2] == (0, ok("score", "model.json", "-m", "jga"))


def test_the_same_file_twice_is_said_to_be_that(example: Path) -> None:
    assert run("score", "model.json", "./model.json") == (
        2, "", "error: model.json is given twice\nhint: give it once, or give each a name of its own\n"
    )  # fmt: skip
    Path("copy.json").write_bytes(Path("model.json").read_bytes())
    assert run("score", "model.json", "copy.json")[2].startswith("note: copy.json has the same content as model.json\n")


def test_gold_in_place_of_predictions_is_noticed(example: Path) -> None:
    code, _, err = run("score", "gold.tsv", "--gold", "model.json")
    assert (code, "hint: if the two are swapped: model.json --gold gold.tsv" in err) == (1, True)


@pytest.mark.again
def test_the_demo_ends_with_a_command_that_can_be_pasted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `uv run dstbench demo`, the shell knows no command `dstbench`."""
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    assert "\nYour own run: dstbench predictions.json\n" in run("demo", "--dialogues", "1")[1]
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert "\nYour own run: uv run dstbench predictions.json\n" in run("demo", "--dialogues", "1")[1]


def test_convert_then_score_is_score(example: Path) -> None:
    code, out, err = run("convert", "bare.json", "--gold", "gold.tsv", "-o", "long.parquet", "--name", "mine")
    assert (code, out) == (0, "")
    assert err == "long.parquet: 1 dialogue, 2 turns\n"
    direct = json.loads(ok("score", "bare.json", "--gold", "gold.tsv", "--format", "json"))
    stored = json.loads(ok("score", "long.parquet", "--format", "json"))
    for rows in (direct, stored):
        for row in rows["scores"]:
            row.pop("run")
    assert direct == stored
    assert dstbench.scan("long.parquet").collect().height == dstbench.scan(EXAMPLE).collect().height


@pytest.mark.parametrize(
    ("name", "form"),
    [("x.json", "json"), ("x.csv", "csv"), ("x.md", "md"), ("x.tex", "latex"), ("x.TEX", "latex"), ("x.out", "text")],
)
def test_a_file_has_the_format_of_its_ending(name: str, form: str, example: Path) -> None:
    words = ("score", "model.json", "-m", "jga", "-o", name)
    assert ok(*words) == ""
    by_name = Path(name).read_bytes()
    assert ok(*words, "--format", form) == ""
    assert by_name == Path(name).read_bytes()
    code, out, err = run(*words, "--format", other := "md" if form == "csv" else "csv")
    said = "" if form == "text" else f"note: {name} holds {other}; --format {form} writes {form}\n"
    assert (code, out, err) == (0, "", said)


def test_standard_input_and_output(example: Path) -> None:
    command = f"{sys.executable} -m dstbench score - -m jga -m f1 -o - < model.json"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 (our own command)
    assert done.stdout.splitlines()[2].split() == ["stdin", "50.00", "94.44"]


@pytest.mark.again
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_under_standard_output(example: Path) -> None:
    command = f"{sys.executable} -m dstbench score model.json > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.returncode == 1
    assert done.stderr == "error: cannot print: No space left on device\n"
    assert "Traceback" not in done.stderr


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
@pytest.mark.parametrize(
    ("words", "without"),
    [
        (("score", "a.parquet"), ()),
        (("sensitivity", "a.parquet"), ("correct", "wrong", "missed", "over", "error-turns")),
        *(
            pytest.param(words.split(), (), marks=pytest.mark.options)
            for words in (
                "compare a.parquet b.parquet --resamples 50",
                "sweep a.parquet --profiles verbatim",
                "traits a.parquet",
                "correlate a.parquet",
                "show a.parquet DEMO0000000",
                "compare-metrics a.parquet b.parquet --resamples 50",
                "report a.parquet -o -",
                "audit scores a.parquet --version 2.1=a.parquet",
            )
        ),
        (("query", "SELECT * FROM scores", "a.parquet"), ()),
    ],
)
def test_all_metrics(words: tuple[str, ...], without: tuple[str, ...], here: Path) -> None:
    """All but those that only SGD's frames have; of counts, no loss is known."""
    for name, table in zip("ab", synthetic(6).values(), strict=False):
        dstbench.write_long(dstbench.open_runs({name: table})[0], f"{name}.parquet")
    code, out, err = run(*words, "-m", "all", "--format", "json")
    assert code == 0, err
    every = {*REGISTRY} - {*OF_FRAMES, *without}
    texts = {json.dumps(name) for name in every}
    assert {text for text in texts if text not in out} == set()


def test_a_reader_that_stops_reading_is_no_error(example: Path) -> None:
    command = f"{sys.executable} -m dstbench ls slots | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 (our own command)
    assert done.stderr == ""
    assert "members" in done.stdout


@pytest.mark.again
def test_a_terminal_without_unicode_gets_codes_not_a_crash(here: Path) -> None:
    code, out, _ = run_apart("demo", "--dialogues", "1", env={"PYTHONIOENCODING": "ascii"})  # without a report
    assert code == 0
    assert "P\\xb9" in out


@pytest.mark.parametrize("what", get_args(Listing))
def test_ls(what: str) -> None:
    listed = json.loads(ok("ls", what, "--format", "json"))
    assert listed.keys() == {what}
    assert listed[what]
    assert listed[what][0]["name"] in ok("ls", what)
    overview = {row["name"]: row for row in json.loads(ok("ls", "--format", "json"))["listings"]}
    assert list(overview) == list(get_args(Listing))
    assert overview[what]["number"] == len(listed[what])
    assert overview[what]["such_as"].startswith(listed[what][0]["name"])
    options = overview[what]["option"].split(", ")
    assert options
    assert {option for option in options if option not in ok("score", "--help")} == set()


def test_version_and_help() -> None:
    assert ok("--version").strip() == dstbench.__version__
    assert "Usage:" in ok("--help")


@pytest.mark.parametrize("words", [["--help"], ["audit", "--help"]])
def test_the_list_of_commands_cuts_no_sentence(words: list[str]) -> None:
    text = CliRunner().invoke(app, words, env={"COLUMNS": "80"}).stdout
    assert "..." not in text.partition("Commands:")[2]


@pytest.mark.parametrize(
    "command",
    [command.name or command.callback.__name__ for command in app.registered_commands if command.callback],
)
def test_every_command_has_an_example_that_could_be_typed(command: str) -> None:
    text = ok(command, "--help")
    (example,) = re.findall(r"Example: (dstbench .*)", text, re.DOTALL)
    words = shlex.split(" ".join(example.split()))
    assert words[1] == command
    assert {word for word in words if word.startswith("--")} <= set(
        re.findall(r"--[\w-]+", text.partition("Example:")[0])
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [("sh", ["show"]), ("score --format l", ["latex"]), ("ls st", ["steps"])],
)
def test_names_complete_in_a_shell(words: str, offered: list[str]) -> None:
    asked = f"dstbench {words}"
    env = {"COMP_WORDS": asked, "COMP_CWORD": str(len(asked.split()) - 1), "_DSTBENCH_COMPLETE": "complete_bash"}
    assert CliRunner().invoke(app, prog_name="dstbench", env=env).stdout.split() == offered
    if words == "sh":  # and so does the command itself
        command = "import sys; sys.argv = ['dstbench']; from dstbench.cli import main; main()"
        done = subprocess.run(  # noqa: S603 (our own command)
            [sys.executable, "-c", command], capture_output=True, text=True, check=False, env={**os.environ, **env}
        )
        assert done.stdout.split() == offered


_MAIN = "from dstbench.cli import main; main()"
#: A command, or Python, and the packages that it must not load, as they take long.
LIGHT: dict[str, tuple[str, str]] = {
    "help": (f"sys.argv = ['dstbench', '--help']; {_MAIN}", "polars pyarrow numpy scipy msgspec rich"),
    **{f"score as {form}": (
        f"sys.argv = ['dstbench', 'score', 'model.parquet', '--format', '{form}']; {_MAIN}",
        "altair pyarrow scipy rapidfuzz msgspec pydantic rich ray "
        "dstbench.readers.finding dstbench.stats dstbench.audit dstbench.engine_ray",
    ) for form in ("json", "text")},
    "score of JSON": ("import dstbench; dstbench.score('model.json')", "pyarrow scipy rich typer"),
}  # fmt: skip


@pytest.mark.parametrize("case", LIGHT)
def test_what_takes_long_to_load_is_loaded_where_it_is_needed_only(case: str, example: Path) -> None:
    code, heavy = LIGHT[case]
    assert run("convert", "model.json", "-o", "model.parquet")[0] == 0
    script = (
        f"import sys\ntry: {code}\nexcept SystemExit: pass\n"
        f"loaded = set({heavy.split()}) & set(sys.modules)\n"
        "if 'typer._adapters' in sys.modules: loaded -= {'pydantic'}  # Typer itself needs it, from 0.29 on\n"
        "print(sorted(loaded), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stderr.strip().splitlines()[-1] == "[]"


@pytest.mark.again
@pytest.mark.parametrize("words", [["--help"], ["audit", "bias", "--help"]])
def test_a_process_of_its_own_has_the_options_of_the_command_that_it_runs(words: list[str]) -> None:
    """It makes no options of other commands, to start quickly."""
    code, out, _ = run_apart(*words)
    assert code == 0
    assert re.findall(r"--[a-z-]*[a-z]", out) == re.findall(r"--[a-z-]*[a-z]", run(*words)[1])
