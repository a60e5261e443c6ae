"""Every option of every command arrives: given a valid value, what it should change changes."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import polars as pl
import pytest

import dstbench
from tests.contract import corpora, recorded
from tests.contract.commands import Said, compute_once, run
from tests.contract.options import ECHO, FORMLESS, LATER, LINES, ROWS, SLOW, TRACKERS, Row

#: What stands for words with spaces.
QUERIES: Final = {
    "QUERY": "SELECT * FROM scores",
    "LONG": "SELECT * FROM long",
    "OWN": "SELECT dialogue FROM own",
}
#: What commands said, and what they wrote, by their words and the width of the terminal.
Output = dict[str, list[Any]]


def drawn(chart: dict[str, Any], **_: object) -> str:
    """What stands for a drawing, which takes long: it differs where the chart does."""
    width = chart.get("width") if isinstance(chart.get("width"), (int, float)) else 340
    desc = crc32(recorded.unnumbered(str(chart)))
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="9"><desc>{desc}</desc></svg>'


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with all corpora, in which all commands run."""
    folder = tmp_path_factory.mktemp("corpora")
    corpora.write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        compute_once(patch.setattr)
        patch.setattr("vl_convert.vegalite_to_svg", drawn)
        patch.setitem(sys.modules, "ray", None)  # as where it is not installed
        run("audit", "inconsistency", "gold.jsonl", "--support", "2", "--review", "sheet.csv")
        sheet = pl.read_csv("sheet.csv", infer_schema=False)
        answers = {"right": pl.lit("yes"), "missed": pl.lit("1")}
        sheet.with_columns(**answers).write_csv("sheet.csv", include_bom=True)
        yield folder


def _leaves(document: Any, key: str = "text") -> Iterator[tuple[str, Any]]:
    if isinstance(document, dict):
        for own, below in document.items():
            yield from _leaves(below, own)
    elif isinstance(document, list):
        for below in document:
            yield from _leaves(below, key)
    else:
        yield key, document


def _values(text: str) -> Output:
    """The values under each key of a JSON, in order; of any other text, the text."""
    try:
        document = json.loads(text)
    except ValueError:
        document = text
    values: Output = {}
    for key, value in _leaves(document):
        # `check` adds what to do; that names options, and is no outcome.
        values.setdefault(key, []).append(re.sub(r"; --.*", "", value) if key == "found" else value)
    return values


def _written() -> Output:
    """Of files in the folder `out`: their contents; of its folders: their files and the contents of these."""
    written: Output = {}
    for path in sorted(Path("out").rglob("*")):
        name = path.relative_to("out").parts[0]
        if path.suffix == ".parquet" and path.parent == Path("out"):
            written[name] = [path.name]
            written |= _values(json.dumps(_scanned(path)))
        elif path.is_file():
            written.setdefault(name, []).append((path.name, path.read_bytes()))
    return written


def _scanned(path: Path) -> list[dict[str, Any]]:
    frame = pl.read_parquet(path)
    run_name = re.search(rb'"run": "([^"]*)"', path.read_bytes())
    return [{**row, "run": run_name and run_name[1].decode()} for row in frame.to_dicts()]


@cache
def output(line: str, columns: int | None) -> tuple[Said, Output]:
    """What a command says and writes."""
    shutil.rmtree("out", ignore_errors=True)
    Path("out").mkdir()
    said = run(*(QUERIES.get(word, word) for word in line.split()), columns=columns)
    return said, {**_values(said.out), **_written(), "code": [said.code]}


def lines(command: str, option: str, row: Row) -> tuple[str, str]:
    """The command line without the option, and with it."""
    line = row.line or LINES[command]
    format_ = f"--format {row.form}" if row.form and option != "--format" else ""
    base = " ".join(filter(None, [line, row.both, format_]))
    given = f"{option} {row.value}".strip()
    files = [row.runs.format(tracker) for tracker in TRACKERS]
    count = 3 if " RUNS" in f"{base} {row.other}" else 2 if " PAIR" in base else 1
    texts = {"RUNS": " ".join(files), "PAIR": " ".join(files[:2]), "RUN": files[0], "NAMES": ",".join("xyz"[:count])}

    def filled(words: str) -> str:
        return " ".join(texts.get(word, word) for word in words.split())

    return filled(f"{base} {row.other}"), filled(f"{base} {given}")


def case(command: str, option: str) -> Any:
    """A case of the test below, which must fail while a fault is known."""
    fault = ROWS[command, option].fault
    marks = [pytest.mark.options] if (command, option) in LATER else []
    marks += [] if fault is None else [pytest.mark.xfail(raises=fault, strict=True)]
    return pytest.param(command, option, marks=marks, id=f"{command} {option}")


@pytest.mark.parametrize(("command", "option"), [case(*key) for key in ROWS])
def test_an_option_changes_what_it_should(command: str, option: str) -> None:
    row = ROWS[command, option]
    without, given = lines(command, option, row)
    if option == "--plugins":
        name = f"plug_{command.replace(' ', '_').replace('-', '_')}"
        Path(f"{name}.py").write_text("from pathlib import Path\nPath('out/imported').touch()\n")
        given = given.replace("PLUGIN", name)
    before, was = output(without, row.columns)
    after, now = output(given, row.columns)
    assert before.code == (1 if row.mends else 0), before.err
    if row.fails:
        assert after.code in (1, 2)
        assert row.fails in after.err
        return
    assert after.code == (1 if option == "--strict" else 0), after.err
    if row.err:
        assert before.err != after.err
        return
    changed = {key for key in {*was, *now} if was.get(key) != now.get(key)}
    if row.idle or row.signed:
        assert changed == ({"signature"} if row.signed else set()), "it has an effect now: say which"
        return
    assert changed - ECHO, "the option is ignored"
    assert {*row.changes.split()} <= changed
    assert not {*row.keeps.split()} & changed
    values = [value for key in sorted(changed) for value in now.get(key, ())]
    recorded.check("options", f"dstbench {given}", f"{' '.join(sorted(changed))}: {recorded.summed(values)}")


#: Options whose drawings take long, and one that loads what no other option concerns.
DRAWING: Final = ("--charts", "--figures", "--plugins")


def several() -> Iterator[Any]:
    """Of each command, the options that need no other words, some four at a time, each beside others than its kin."""
    for command in LINES:
        own = [f"{option} {row.value}".strip() for (of, option), row in ROWS.items()
               if of == command and row.stands_alone and option not in DRAWING]  # fmt: skip
        lines = -(-len(own) // 4)
        marks = [pytest.mark.options] if command in SLOW else []
        yield from (pytest.param(command, " ".join(own[at::lines]), marks=marks) for at in range(lines) if own[1:])


@pytest.mark.parametrize(("command", "options"), [*several()])
def test_several_options_at_once(command: str, options: str) -> None:
    _, line = lines(command, options, Row(form="" if command in FORMLESS else "json"))
    said, values = output(line, None)
    texts = [f"{key}: {recorded.summed(of_key)}" for key, of_key in values.items()]
    recorded.check("several", f"dstbench {line}", "\n".join([*texts, said.err]))


def options_of(command: str) -> set[str]:
    """The options in the help of a command, by their long names."""
    said = run(*command.split(), "--help")
    assert said.code == 0, said.err
    return {*re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", said.out, re.MULTILINE)} - {"--help"}


def commands_of(group: str = "") -> list[str]:
    """The commands in the help of `dstbench`, with those of its groups."""
    _, _, listed = run(*group.split(), "--help").out.partition("Commands:\n")
    names = [f"{group} {name}".strip() for name in re.findall(r"^  ([a-z][a-z-]*)  ", listed, re.MULTILINE)]
    return [leaf for name in names for leaf in commands_of(name) or [name]]


def test_every_option_of_every_command_has_a_row() -> None:
    assert {*commands_of()} == {*LINES}
    listed = {(command, option) for command in LINES for option in options_of(command)}
    assert listed - {*ROWS} == set(), "options without a row in `ROWS`"
    assert {*ROWS} - listed == set(), "rows of options that are gone"


def test_a_number_may_be_as_small_or_large_as_help_says_and_no_more() -> None:
    line = "sensitivity gold.jsonl -m jga --kinds missed --sample 1 --bins"
    assert "1<=x<=100" in run("sensitivity", "--help").out
    assert [run(*line.split(), number).code for number in ("0", "1", "100", "101")] == [2, 0, 0, 2]


def test_runs_of_a_model_may_be_given_one_by_one() -> None:
    words = ("compare", *(f"{name}.jsonl" for name in TRACKERS), "-m", "jga", "--resamples", "40", "--format", "json")
    together, apart = "two=steady,hasty", ("--model", "two=steady", "--model", "two=hasty")
    assert json.loads(run(*words, "--model", together).out) == json.loads(run(*words, *apart).out)


def test_help_is_as_recorded_with_the_defaults_of_the_functions_of_the_same_names() -> None:
    compared, read = 0, set[str]()
    for command in LINES:
        *group, name = command.replace("-", "_").split()
        function = getattr(dstbench.audit if group else dstbench, name, None)
        parameters = inspect.signature(function).parameters if callable(function) else {}
        help_ = run(*command.split(), "--help").out
        lines = re.sub(" +", " ", help_).splitlines()[1:]  # the first has the name of what runs the tests
        recorded.check(
            "help", command, "\n".join([recorded.summed(lines), *(line for line in lines if line not in read)])
        )
        read |= {*lines}
        for option in re.split(r"^ +(?:-\w, )?--", help_, flags=re.MULTILINE)[1:]:
            default, parameter = re.search(r"\[default: ([^];]+)", option), re.split(r"[^a-z-]", option)[0]
            if default and (declared := parameters.get(parameter.replace("-", "_"))):
                assert default[1] == str(declared.default), (command, parameter)
                compared += 1
    assert compared > 30
