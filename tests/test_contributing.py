"""What CONTRIBUTING says is to be touched for a metric, a profile, a command, …: each is made so in a copy, and works.

For each entry of the list there is an example here: texts that are replaced in files, and a test of what is new, which
runs in the copy with tests that are there already. The files that change must be those that the entry names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from dstbench.runs.gold_sets import line_of
from tests.corpora import EXAMPLE
from tests.paths import ROOT

CONTRIBUTING = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = ("dstbench", "tests", "benchmarks", "data_schemas", ".github", ".ci", "README.md", "pyproject.toml")
#: What the list calls the scripts that write files, and what they write.
SCRIPTS = {"python data_schemas/write.py": "data_schemas/", "python -m tests.test_public": "tests/golden/"}
#: A set for the registry: the dialogue of ``p.json``.
LINE = line_of(EXAMPLE, dataset="Invented 1.0", split="test", preparation="ours", source="us", whole={"dialogues": 9})
#: Tests that schemas are as written and true.
SCHEMAS = (
    "tests/schema/test_schemas.py::test_the_files_are_what_the_code_says",
    "tests/schema/test_schemas.py::test_tables_have_the_types_and_rows_that_the_schemas_say",
)


@dataclass(frozen=True)
class Example:
    """An example of an entry of the list.

    Attributes:
        edits: File, a text that it has once, and what stands in its place; an empty text is the file's end.
        test: The body of a test of what is new.
        runs: Tests that are there already and concern what is new.
    """

    edits: tuple[tuple[str, str, str], ...]
    test: str
    runs: tuple[str, ...]


EXAMPLES = {
    "a metric": Example(
        (
            ("dstbench/metrics/counts.py", "", '''

@dataclass(frozen=True)
class RightTurns(_Count):
    """Turns whose state is right."""

    name = "right-turns"
    title = "turns without an error"

    def stats(self) -> dict[str, pl.Expr]:
        return {self.name: (pl.col("n_correct") == pl.col("n_union")).cast(pl.Int64)}
'''),
            ("dstbench/metrics/registry.py", "import Correct, ErrorTurns,", "import Correct, ErrorTurns, RightTurns,"),
            ("dstbench/metrics/registry.py", "Over, ErrorTurns,", "Over, ErrorTurns, RightTurns,"),
            ("README.md", "\n| `iaga`,", "\n| `right-turns` | turns whose states are equal | |\n| `iaga`,"),
            ("tests/oracle.py", '"error-turns": ',
             '"right-turns": sum(1 for t in ts if t.right),\n        "error-turns": '),
        ),
        """
        lines = ok("score", "p.json", "-m", "right-turns").splitlines()
        assert lines[2].split() == ["p", "1"]
        assert lines[-1].startswith("signature: right-turns|profile:verbatim.1|")
        assert "right-turns" in oracle.all_metrics([], 30)
        """,
        ("tests/scoring/test_score.py::test_the_whole_corpus_every_turn_and_every_group",
         "tests/metrics/test_metrics.py::test_every_metric_says_what_it_is_and_whence",
         "tests/test_readme.py::test_it_names_every_format_metric_and_profile"),
    ),
    "a count": Example(
        (
            ("dstbench/schema/core.py", "    n_charged_again=count(",
             '    n_missed=count("Slots of gold only."),\n    n_charged_again=count('),
            ("dstbench/scoring/turn_table.py", '_LASTING: Final = (', '_LASTING: Final = ("n_missed", '),
            ("dstbench/scoring/turn_table.py", '"n_union": g_is | p_is',
             '"n_union": g_is | p_is, "n_missed": g_is & ~p_is'),
        ),
        """
        gold = {"hotel-area": "north", "hotel-stars": "4"}
        states = [{"dialogue_id": "D", "turn": turn, "gold": gold, "pred": {"hotel-stars": "4"}} for turn in (0, 1)]
        assert dstbench.turns(states)["n_missed"].to_list() == [1, 1]
        assert ok("score", "p.json", "-m", "jga", "--by", "n_missed").splitlines()[2].split()[:3] == ["p", "0", "50.00"]
        """,
        (*SCHEMAS, "tests/scoring/test_score.py::test_the_whole_corpus_every_turn_and_every_group"),
    ),
    "a native format": Example(
        (
            ("dstbench/readers/guesses.py", "", '''"""An invented format: true states and guesses."""

from typing import Final

import msgspec

from dstbench.readers.format import Format, Source, StatesBuilder


class Guesses(msgspec.Struct):
    """A whole file."""

    truth: dict[str, list[dict[str, str]]]
    guess: dict[str, list[dict[str, str]]]


def _read(source: Source, states: StatesBuilder) -> None:
    file = source.whole(Guesses, None, "dialogue", "turn", "slot")
    for dialogue, turns in file.truth.items():
        for number, state in enumerate(turns):
            at = states.turn(dialogue, number)
            states.gold.flat(at, state)
            states.pred.flat(at, file.guess[dialogue][number])


FORMAT: Final = Format(
    name="guesses",
    title="an invented tracker",
    example='{"truth": {"MUL9901": [{"hotel-area": "north"}]}, "guess": {"MUL9901": [{"hotel-area": "north"}]}}',
    shape=Guesses,
    sniff=lambda source: any(document.keys() == {"truth", "guess"} for document in source.objects_at(0)),
    reader=_read,
)
'''),
            ("dstbench/readers/registry.py", "    fga_gca,\n", "    fga_gca,\n    guesses,\n"),
            ("dstbench/readers/registry.py", "        dstc2.GOLD,\n", "        dstc2.GOLD,\n        guesses.FORMAT,\n"),
            ("dstbench/cli/topics/formats.md", "| `mwzeval` |", "| `guesses` | nobody | yes |\n| `mwzeval` |"),
            ("tests/formats.py", "\n\ndef trade(", '''

def guesses(turns: Turns = TOLD) -> str:
    sides = {"truth": "gold", "guess": "pred"}
    return json.dumps({
        key: {name: [t[side] for t in of] for name, of in _by_dialogue(turns).items()} for key, side in sides.items()
    })


def trade('''),
            ("tests/formats.py", '    "gtpr": gtpr,', '    "guesses": guesses, "gtpr": gtpr,'),
            ("tests/contract/test_readers.py", "BY_POSITION: Final = (", 'BY_POSITION: Final = ("guesses",'),
        ),
        """
        Path("p.json").write_text(formats.guesses())
        for words in ([], ["--from", "guesses"]):
            assert ok("score", "p.json", "-m", "jga", *words).splitlines()[2].split() == ["p", "50.00"]
        assert "an invented tracker" in ok("ls", "formats")
        """,
        (*SCHEMAS, "tests/test_readme.py::test_it_names_every_format_metric_and_profile",
         "tests/contract/test_readers.py::test_every_format_is_written_here",
         "tests/contract/test_readers.py::test_gold_and_predictions_in_one_file[guesses]",
         "tests/test_architecture.py::test_what_is_known_of_a_format_is_in_the_module_of_its_project"),
    ),
    "a profile": Example(
        (
            ("dstbench/conventions/profiles.py", '    Convention(\n        name="dstc10.2"',
             '    Convention(\n        name="lower.1", gold_steps=("case",), pred_steps=("case",), metrics="jga",\n'
             '        title="An example: capitals do not matter",\n    ),\n    Convention(\n        name="dstc10.2"'),
            ("dstbench/cli/topics/conventions.md", "`icdst`, `dstc10`", "`icdst`, `lower`, `dstc10`"),
            ("tests/conventions/test_profiles.py", "\nCASES: ",
             '\nLOWER = {"capitals": ({AREA: "North"}, {AREA: "north"}, [\n'
             '    ("jga", "verbatim", {}, 0), ("jga", "lower", {}, 1),\n])}\nCASES: '),
            ("tests/conventions/test_profiles.py", '    "a wrong value in slot accuracy":',
             '    **LOWER,  # type: ignore[dict-item]\n    "a wrong value in slot accuracy":'),
        ),
        """
        assert "|profile:lower.1|" in ok("score", "p.json", "--profile", "lower").splitlines()[-1]
        assert "An example: capitals do not matter" in ok("ls", "profiles")
        """,
        ("tests/conventions/test_profiles.py::test_where_conventions_disagree[capitals]",
         "tests/conventions/test_profiles.py::test_every_profile_has_its_say_above",
         "tests/test_readme.py::test_it_names_every_format_metric_and_profile"),
    ),
    "a choice of a convention": Example(
        (
            ("dstbench/conventions/choices.py", "    wrong_costs: Literal[",
             '''    under: Literal["count", "free"] = field(
        default="count",
        metadata=_words("what gold's slots count that the prediction lacks", "an error (count), or nothing (free)"),
    )
    wrong_costs: Literal['''),
            ("dstbench/cli/topics/conventions.md", "| `--wrong-costs` |",
             "| `--under` | whether gold's slots that the prediction lacks are errors |\n| `--wrong-costs` |"),
            ("dstbench/scoring/compare_values.py", "        return Compared(",
             '        if c.under == "free":\n            g[p == ABSENT] = ABSENT\n        return Compared('),
        ),
        """
        gold = {"hotel-stars": "4", "hotel-area": "west"}
        state = {"dialogue_id": "D", "turn": 0, "gold": gold, "pred": {"hotel-stars": "4"}}
        Path("p.json").write_text(json.dumps([state]))
        for words, score, signed in (([], "0.00", False), (["--under", "free"], "100.00", True)):
            lines = ok("score", "p.json", "-m", "jga", *words).splitlines()
            assert lines[2].split() == ["p", score]
            assert ("|under:free|" in lines[-1]) == signed
        assert "what gold's slots count that the prediction lacks" in " ".join(ok("score", "--help").lower().split())
        assert "what gold's slots count that the prediction lacks" in ok("signature", lines[-1].partition(": ")[2])
        """,
        ("tests/test_signature.py::test_every_choice_of_a_convention_is_in_the_signature",),
    ),
    "a public gold set": Example(
        (
            ("dstbench/runs/gold_sets.jsonl", "", f"{LINE}\n"),
        ),
        """
        assert "\\ngold: Invented 1.0 test, ours (1 dialogue; the whole test set has 9)\\n" in ok("score", "p.json")
        assert "Invented 1.0 test, ours" in ok("ls", "gold")
        """,
        ("tests/runs/test_gold_sets.py::test_a_line_agrees_with_itself",
         "tests/runs/test_gold_sets.py::test_no_set_is_registered_twice_or_like_another",
         "tests/runs/test_gold_sets.py::test_the_registry_has_no_ids_and_no_values"),
    ),
    "a column of `compare`": Example(
        (
            ("dstbench/schema/analysis.py", "    detectable=number(",
             '    z=number("difference by its standard error; null: undefined.", nullable=True),\n'
             "    detectable=number("),
            ("dstbench/analysis/compare.py", '"detectable": detectable, **verdict}',
             '"z": float(values[a] - values[b]) / se if se > 0 else None, "detectable": detectable, **verdict}'),
            ("dstbench/rendering/compare.py", '        value_text("detectable"',
             '        pl.col("z").round(1).cast(pl.String),\n        value_text("detectable"'),
        ),
        """
        for name, right in (("better", 50), ("worse", 20)):
            states = [{"dialogue_id": f"D{n}", "turn": 0, "gold": {"hotel-stars": "1"},
                       "pred": {"hotel-stars": str(int(n < right))}} for n in range(60)]
            Path(f"{name}.jsonl").write_text("".join(json.dumps(state) + "\\n" for state in states))
        files = ["better.jsonl", "worse.jsonl"]
        (row,) = json.loads(ok("compare", *files, "--format", "json"))["differences"]
        jsonschema.validate(row, schema("run_differences"))
        assert row["z"] == pytest.approx(row["difference"] / row["se"])
        assert " z " in ok("compare", *files)
        """,
        (*SCHEMAS,),
    ),
    "a command": Example(
        (
            ("dstbench/analysis/lengths.py", "", '''"""How long dialogues are."""

from __future__ import annotations

from typing import Unpack

import polars as pl

from dstbench.runs.open import Data, Reading, open_runs


def lengths(data: Data, **reading: Unpack[Reading]) -> pl.DataFrame:
    """How many turns the dialogues of runs have.

    Args:
        data: One run or several, as `dstbench.open_runs` takes them.
        **reading: `gold`, `format`, `names`, `missing`, `split`: see `dstbench.open_runs`.

    Returns:
        A row per run: (run, dialogues, turns).

    Raises:
        DstbenchError: Data cannot be used.
    """
    turns = [(run.name, run.read().select("dialogue", "turn").unique()) for run in open_runs(data, **reading)]
    counts = [(name, table["dialogue"].n_unique(), table.height) for name, table in turns]
    return pl.DataFrame(counts, schema=["run", "dialogues", "turns"], orient="row")
'''),
            ("dstbench/rendering/lengths.py", "", '''"""The lengths of dialogues in one of the formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstbench.rendering.tables import render_rows

if TYPE_CHECKING:
    import polars as pl

    from dstbench.typing import TableFormat


def render_lengths(counts: pl.DataFrame, form: TableFormat) -> str:
    """What `dstbench.lengths` gives in one of the formats."""
    return render_rows(counts, "lengths", form)
'''),
            ("dstbench/cli/analyse.py", "", '''

@command(app, doing="counting", example="lengths predictions.json")
def lengths(*, runs: Runs, table: TableOutput) -> str:
    """Count the turns of dialogues."""
    from dstbench.rendering.lengths import render_lengths

    return render_lengths(dstbench.lengths(runs.paths, **runs.reading), table.form)
'''),
            ("dstbench/__init__.py", '    "analysis.query": ',
             '    "analysis.lengths": ["lengths"],\n    "analysis.query": '),
            ("dstbench/__init__.py", "    from dstbench.analysis.query ",
             "    from dstbench.analysis.lengths import lengths as lengths\n    from dstbench.analysis.query "),
            ("dstbench/__init__.py", "query            any",
             "lengths          how long dialogues are\nquery            any"),
            ("dstbench/cli/topics/questions.md", "\nFive tables",
             "\n`dstbench lengths predictions.json` counts the turns of dialogues.\n\nFive tables"),
        ),
        """
        assert ok("lengths", "p.json").splitlines()[2].split() == ["p", "1", "2"]
        assert json.loads(ok("lengths", "p.json", "--format", "json")) == {
            "lengths": [{"run": "p", "dialogues": 1, "turns": 2}]
        }
        assert dstbench.lengths("p.json")["turns"].item() == 2
        assert "dstbench lengths predictions.json" in test_readme.commands()
        assert "Example: dstbench lengths predictions.json" in ok("lengths", "--help")
        """,
        ("tests/test_public.py::test_the_public_names_and_their_parameters_are_those_of_the_list",
         "tests/test_public.py::test_help_lists_the_functions_first_and_all_public_names_on_one_screen",
         "tests/test_architecture.py::test_every_module_has_its_place"),
    ),
}  # fmt: skip

#: Few examples, none of which is kept, and pytest alone.
ENVIRONMENT = {"HYPOTHESIS_PROFILE": "few", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
#: The files of the tests of what is new.
NEW = {name: f"tests/test_new_{number}.py" for number, name in enumerate(EXAMPLES)}
#: Runs, in one process, scripts, and then tests, if any; writes their outcomes to a file.
DRIVER = """
import json, runpy, sys
for script in json.loads(sys.argv[1]):
    kind, name = script.split()[-2:]
    if kind == "-m":
        runpy.run_module(name, run_name="__main__")
    else:
        runpy.run_path(name, run_name="__main__")
outcomes = {}

class Noted:
    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            outcomes[report.nodeid] = report.outcome

if sys.argv[3:]:
    import pytest
    pytest.main(["-q", "-p", "no:cacheprovider", "-o", "addopts=", *sys.argv[3:]], plugins=[Noted()])
with open(sys.argv[2], "w") as file:
    json.dump(outcomes, file)
"""
#: What the test of what is new begins with.
HEAD = """
import json
from pathlib import Path

import jsonschema
import pytest

import dstbench
from tests import formats, oracle, test_readme
from tests.commands import ok
from tests.schemas import schema


def test_what_is_new(here: Path) -> None:
        assert Path(dstbench.__file__).is_relative_to(Path(__file__).parent.parent)
        Path("p.json").write_text(formats.gtpr())
"""


def entries() -> dict[str, str]:
    """The text of each entry of the list, by what it is for."""
    (section,) = re.findall(r"## What to touch for\n\n(.*?)\n\n(?!-)", CONTRIBUTING, re.DOTALL)
    texts = [" ".join(text.split()) for text in re.split(r"^- ", section, flags=re.MULTILINE)[1:]]
    return {text[2:].partition("**")[0]: text for text in texts}


def named(text: str) -> set[str]:
    """The files and folders (which end in a slash) that an entry names, from the top of the repository."""
    words = re.findall(r"`([\w./-]+)`", text)
    paths = {word for word in words if "/" in word or Path(word).suffix in (".py", ".md")}
    paths |= {written for script, written in SCRIPTS.items() if f"`{script}`" in text}
    return {path if (ROOT / path).exists() else f"dstbench/{path}" for path in paths}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        if (ROOT / name).is_dir():
            # With what is compiled.
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".*_cache"))
        else:
            shutil.copy(ROOT / name, folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not path.relative_to(folder).parts[0].startswith(".hypothesis")
    }


@contextmanager
def restored(folder: Path) -> Iterator[dict[str, bytes]]:
    """What is in a folder, which has it again afterwards."""
    before = contents(folder)
    try:
        yield before
    finally:
        for name, content in contents(folder).items():
            if name not in before:
                (folder / name).unlink()
            elif content != before[name]:
                (folder / name).write_bytes(before[name])


def edit(folder: Path, name: str) -> None:
    """Change the files of an example."""
    for file, old, new in EXAMPLES[name].edits:
        path = folder / file
        source = path.read_text(encoding="utf-8") if path.exists() else ""
        assert old == "" or source.count(old) == 1, f"adapt the example: {file} has {old!r} {source.count(old)} times"
        path.write_text(source.replace(old, new) if old else source + new, encoding="utf-8")


def drive(folder: Path, scripts: list[str], outcomes: Path, *tests: str) -> tuple[dict[str, str], str]:
    """Run scripts, and then tests; the outcomes of these, and what was printed."""
    done = subprocess.run(  # noqa: S603 (our own code)
        [sys.executable, "-c", DRIVER, json.dumps(scripts), str(outcomes), *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(outcomes.read_text()), done.stdout + done.stderr


def scripts_in(text: str) -> list[str]:
    """The scripts that an entry names."""
    return [script for script in SCRIPTS if f"`{script}`" in text]


@pytest.fixture(scope="module")
def outcomes(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], str]:
    """The outcomes of the tests of all examples, and what was printed; all of them are made in the copy, for once."""
    with restored(copy):
        for name, file in NEW.items():
            edit(copy, name)
            (copy / file).write_text(HEAD + EXAMPLES[name].test, encoding="utf-8")
        tests = dict.fromkeys(test for name, file in NEW.items() for test in (file, *EXAMPLES[name].runs))
        return drive(copy, [*SCRIPTS], tmp_path_factory.mktemp("all") / "outcomes.json", *tests)


def test_each_entry_has_an_example() -> None:
    assert entries().keys() == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_named_is_what_has_to_be_touched(
    name: str, copy: Path, outcomes: tuple[dict[str, str], str], tmp_path: Path
) -> None:
    text = entries()[name]
    with restored(copy) as before:
        edit(copy, name)
        if scripts := scripts_in(text):
            drive(copy, scripts, tmp_path / "none.json")
        changed = {file for file, content in contents(copy).items() if before.get(file) != content}
    paths = named(text)
    ways = {
        file: [path for path in paths if file == path or (path[-1] == "/" and file.startswith(path))]
        for file in changed
    }
    assert all(ways.values()), f"not named in CONTRIBUTING: {[file for file, by in ways.items() if not by]}"
    assert paths == {max(by, key=len) for by in ways.values()}, "named in CONTRIBUTING, and not changed"
    of_tests, printed = outcomes
    for test in (NEW[name], *EXAMPLES[name].runs):
        own = [
            outcome
            for found, outcome in of_tests.items()
            if found == test or found.startswith((f"{test}[", f"{test}::"))
        ]
        assert set(own) == {"passed"}, f"{test}: {own}\n{printed}"
