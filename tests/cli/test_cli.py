"""The command line as users meet it: whole commands, what they print, where, and how they exit."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise, product
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
from tests.corpora import EXAMPLE, EXAMPLE_SCORES, OF_FRAMES
from tests.once import compute_once
from tests.planted import consistent


@pytest.fixture
def example(here: Path) -> Path:
    """A folder with the example dialogue in three files."""
    (here / "model.json").write_text(formats.gtpr())
    (here / "bare.json").write_text(formats.mwzeval())
    (here / "gold.tsv").write_text(formats.star_tsv())
    return here


def test_score_prints_a_table_and_nothing_else(example: Path) -> None:
    lines = ok("score", "model.json", "-m", "jga,sa,f1,aga", "--signature").splitlines()
    assert lines[0].split() == ["run", "jga", "sa", "f1", "aga"]
    assert lines[2].split() == ["model", "50.00", "98.33", "94.44", "94.44"]
    assert lines[4] == "scores in %; 2 turns, 1 dialogue"
    assert lines[-1].startswith("signature: jga+sa(T=30,slots=multiwoz-30)+f1(avg=macro,")
    assert "|profile:verbatim.1|" in lines[-1]


def test_score_as_json(example: Path) -> None:
    scores = json.loads(ok("score", "model.json", "--format", "json"))
    assert scores.keys() == {"scores"}
    rows = {row["metric"]: row for row in scores["scores"]}
    assert list(rows) == ["jga", "sa", "rsa", "aga", "f1", "fga", "gca", "tla"]
    for name, value in EXAMPLE_SCORES.items():
        assert rows[name]["value"] == pytest.approx(value, rel=1e-14)
    assert rows["jga"].keys() == {"run", "metric", "unit", "value", "se", "turns", "dialogues", "signature"}
    assert rows["jga"]["run"] == "model"


def test_undefined_is_null_in_json_empty_in_csv_and_a_dash_in_text(here: Path) -> None:
    Path("p.json").write_text('{"D": {"0": {"gt": {}, "pr": {}}}}')
    words = ["score", "p.json", "-m", "aga,gca,jga"]
    assert [row["value"] for row in json.loads(ok(*words, "--format", "json"))["scores"]] == [None, None, 1.0]
    assert [row["value"] for row in csv.DictReader(io.StringIO(ok(*words, "--format", "csv")))] == ["", "", "1.0"]
    assert ok(*words).splitlines()[2].split() == ["p", "-", "-", "100.00"]


def test_by_slot_shows_counts(example: Path) -> None:
    lines = ok("score", "model.json", "--by", "slot").splitlines()
    assert re.split(r"  +", lines[0].strip()) == [
        "run", "slot", "accuracy (jga)", "precision:avg=micro", "recall:avg=micro", "f1:avg=micro",
        "correct", "wrong", "missed", "over", "error-turns",
    ]  # fmt: skip
    numbers = ["50.00", "0.00", "0.00", "0.00", "0", "1", "0", "0", "1"]
    row = next(line for line in lines if "train-leaveat" in line).split()
    assert row == ["model", "train-leaveat", *numbers]
    assert "by slot: every scored turn counts; a slot in neither gold nor prediction is correct" in lines
    lines = ok("score", "model.json", "--by", "slot,domain").splitlines()
    row = next(line for line in lines if "train-leaveat" in line).split()
    assert row == ["model", "train-leaveat", "train", *numbers]
    assert "accuracy" not in ok("score", "model.json", "--by", "domain")


def test_scores_along_a_number_of_the_runs(here: Path) -> None:
    """The one in which their names differ, or the column of a table; beside them, how far each metric is from GCA."""
    named = dict(zip(("t5_0.5_seed_7", "t5_0.05_seed_7", "t5_1_seed_7"), synthetic(20).values(), strict=True))
    for run_ in dstbench.open_runs(named):
        dstbench.write_long(run_, f"{run_.name}.parquet")
    runs = [f"t5_{share}_seed_7.parquet" for share in ("1", "0.05", "0.5")]
    words = ("score", *runs, "-m", "jga,gca,wrong", "--along", "share")
    rows = [line.split() for line in run(*words, "--charts", "charts")[1].splitlines()]
    assert [row[:2] for row in rows if row[2:] and row[0] in ("0.05", "0.5", "1") and row[1] != "has"] == [
        ["0.05", "0.05"], ["0.5", "0.5"], ["1", "1.0"],
    ]  # fmt: skip
    scores = json.loads(ok(*words, "--format", "json"))["scores"]
    of = {(row["share"], row["metric"]): row["value"] for row in scores}
    drawn = json.loads(Path("charts/along.vl.json").read_text())["data"]["values"]
    assert len(drawn) == 3 * 3
    for row in drawn:
        jga, gca = of[row["number"], "jga"], of[row["number"], "gca"]
        wanted = abs(gca - jga) if row["what"] != "Score" else {"JGA": jga, "GCA": gca}[row["metric"]]
        assert row["value"] == pytest.approx(wanted)
    Path("steps.csv").write_text("run,steps\n" + "".join(f"{run[:-8]},{n}\n" for n, run in enumerate(runs)))
    scores = json.loads(ok(*words[:-1], "steps=steps.csv", "--format", "json"))["scores"]
    assert {row["run"]: row["steps"] for row in scores} == {run[:-8]: n for n, run in enumerate(runs)}
    Path("steps.csv").write_text("run,steps\nt5_1_seed_7,1\n")
    for wrong, said in (("steps=steps.csv", "no steps for t5_0.05_seed_7, t5_0.5_seed_7"), ("metric", "metric")):
        code, _, err = run(*words[:-1], wrong)
        assert (code != 0, said in err) == (True, True)
    code, _, err = run("score", *runs[:1], "-m", "jga", "--along", "share")
    assert (code, "the runs' names do not differ in one number only" in err) == (2, True)
    assert run(*words, "--by", "domain")[0] == run(*words, "--group", "a=t5*")[0] == 2


def test_by_slot_means_over_turns_that_are_asked_for_are_named(example: Path) -> None:
    words = ["score", "model.json", "--by", "slot,turn", "--format", "json", "-m"]
    code, out, err = run(*words, "jga,f1,precision:wrong=missed,f1:avg=micro,recall:empty=0")
    assert (code, {row["metric"] for row in json.loads(out)["scores"]}) == (
        0, {"jga", "f1", "precision:wrong=missed", "f1:avg=micro", "recall:empty=0"},
    )  # fmt: skip
    assert err == (
        "note: by slot, a mean over turns of f1 or precision:wrong=missed is the slot's accuracy, as jga is; "
        "-m f1:avg=micro,precision:avg=micro:wrong=missed is from summed counts\n"
    )
    assert ok(*words, "f1:avg=micro,precision:avg=micro:wrong=missed")


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


def test_usual_names_of_metrics_are_answered_with_ours(example: Path) -> None:
    code, _, err = run("score", "model.json", "-m", "joint_goal_accuracy,slot_acc")
    assert (code, err.splitlines()[-1]) == (2, "hint: did you mean jga?; did you mean sa?")


@pytest.mark.again
def test_the_demo_ends_with_a_command_that_can_be_pasted(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `uv run dstbench demo`, the shell knows no command `dstbench`."""
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    assert "\nYour own run: dstbench predictions.json\n" in run("demo", "--dialogues", "1")[1]
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert "\nYour own run: uv run dstbench predictions.json\n" in run("demo", "--dialogues", "1")[1]


def test_a_mistake_has_a_remedy_in_the_words_of_whoever_made_it(example: Path) -> None:
    Path("cut.json").write_text('{"a": ')
    for words, hint in {
        "-m fga:lam=x": "fga:lam=0.5",
        "-m sa:T=x": "sa:T=30",
        "--typos cut.json": "mend it there, or copy it again; python -m json.tool cut.json checks it",
        "--schema cut.json": "mend it there, or copy it again; python -m json.tool cut.json checks it",
        "--plugins mylab.py": "name the file, or an importable module: mylab",
    }.items():
        code, _, err = run("score", "model.json", *words.split())
        assert (code > 0, err.splitlines()[-1]) == (True, f"hint: {hint}")
    with pytest.raises(dstbench.DstbenchError, match=r"\nhint: name the file that has it: `gold` FILE$"):
        dstbench.score("bare.json")
    assert run("score", "bare.json")[2].endswith("\nhint: name the file that has it: --gold FILE\n")


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


def test_help_loads_nothing_that_computes() -> None:
    script = (
        "import sys; sys.argv = ['dstbench', '--help']\n"
        "from dstbench.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'polars', 'pyarrow', 'numpy', 'scipy', 'msgspec', 'rich'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stderr.strip() == "[]"


def test_scoring_a_long_table_loads_no_more_than_it_needs(example: Path) -> None:
    assert run("convert", "model.json", "-o", "model.parquet")[0] == 0
    script = (
        "import sys; sys.argv = ['dstbench', 'score']\n"
        "from dstbench.cli import main\n"
        "for form in ('json', 'text'):\n"
        "    sys.argv = ['dstbench', 'score', 'model.parquet', '--format', form]\n"
        "    try: main()\n"
        "    except SystemExit: pass\n"
        "ours = {f'dstbench.{name}' for name in ('readers.finding', 'stats', 'audit', 'engine_ray')}\n"
        "heavy = {'altair', 'pyarrow', 'scipy', 'rapidfuzz', 'msgspec', 'pydantic', 'rich', 'ray'}\n"
        "heavy = (heavy | ours) & set(sys.modules)\n"
        "if 'typer._adapters' in sys.modules: heavy -= {'pydantic'}  # Typer itself needs it, from 0.29 on\n"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stderr.strip().splitlines()[-1] == "[]"


def test_scoring_json_loads_neither_pyarrow_nor_scipy(example: Path) -> None:
    script = (
        "import sys, dstbench; dstbench.score('model.json'); "
        "print(sorted({'pyarrow', 'scipy', 'rich', 'typer'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


@pytest.mark.again
@pytest.mark.parametrize("words", [["--help"], ["audit", "bias", "--help"]])
def test_a_process_of_its_own_has_the_options_of_the_command_that_it_runs(words: list[str]) -> None:
    """It makes no options of other commands, to start quickly."""
    code, out, _ = run_apart(*words)
    assert code == 0
    assert re.findall(r"--[a-z-]*[a-z]", out) == re.findall(r"--[a-z-]*[a-z]", run(*words)[1])


def test_check_says_what_fails_and_under_strict_exits_with_1(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one run, and of two of which one has states of single turns; in every format alike."""
    compute_once(monkeypatch.setattr)
    for name in ("whole", "single"):
        states = [{**state, "pred": state["gold"]} for state in consistent(30, seed=1)]
        if name == "single":  # what is new in a turn
            states = [
                {**later, "pred": {slot: value for slot, value in later["gold"].items() if slot not in (now["gold"])}}
                for now, later in pairwise(states)
            ]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(state)}\n" for state in states))
    for files in (["whole.jsonl"], ["single.jsonl"], ["whole.jsonl", "single.jsonl"]):
        _, out, _ = run("check", *files, "--format", "json")
        fails = dict.fromkeys(row["check"] for row in json.loads(out)["checks"] if row["status"] == "fail")
        assert bool(fails) == ("single.jsonl" in files)
        for form, strict in product(("text", "json"), ([], ["--strict"])):
            code, out, err = run("check", *files, "--format", form, *strict)
            assert code == (1 if fails and strict else 0)
            assert out
            last = err.splitlines()[-1] if err else ""
            assert last.startswith(f"{len(fails)} check") == bool(fails)
            assert all(check in last for check in fails)
            assert ("(single)" in last) == (bool(fails) and len(files) > 1)
