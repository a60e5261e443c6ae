"""No output destroys an input: every path that is read against every path that is written, of every command."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from tests import formats
from tests.commands import run
from tests.faults import there
from tests.interface import LEAVES, PathOption, line, path_options


def _line(number: int = 1) -> str:
    return json.dumps({"dialogue_id": f"D{number}", "turn": 0, "gold": {"hotel-area": "a"}, "pred": {}}) + "\n"


def _same(file: Path) -> tuple[Path, Path]:
    return file, file


def _other_spelling(file: Path) -> tuple[Path, Path]:
    return file, Path(f"{file.parent}/../{file}")


def _link(file: Path) -> tuple[Path, Path]:
    (link := file.with_name(f"link{file.suffix}")).symlink_to(file.name)
    return file, link


def _hard_link(file: Path) -> tuple[Path, Path]:
    (link := file.with_name(f"hard{file.suffix}")).hardlink_to(file)
    return file, link


#: How an input and an output are one: an input, and the output that would destroy it.
FILES: list[Callable[[Path], tuple[Path, Path]]] = [_same, _other_spelling, _link, _hard_link]
_ENDINGS = {"plugins": ".py", "profile": ".toml", "profiles": ".toml"}


def _is_file(option: PathOption) -> bool:
    return option.is_output and not option.is_folder


WRITERS = [name for name in LEAVES if any(_is_file(option) for option in path_options(name))]


@pytest.mark.parametrize("name", WRITERS)
def test_no_output_over_any_input(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All options that read × all that write; the ways in which they are one take turns."""
    ways = cycle(FILES)
    options = path_options(name)
    for read in [option for option in options if not option.is_output]:
        for written in [option for option in options if _is_file(option)]:
            here = tmp_path / f"{read.name}-{written.name}"
            (here / "in").mkdir(parents=True)
            monkeypatch.chdir(here)
            file = Path("in", f"x{_ENDINGS.get(read.name, '.json')}")
            file.write_text("" if read.name in _ENDINGS else _line())
            way = next(ways)
            source, target = way(file)
            before = there()
            words = line(name, **{read.name: str(source), written.name: str(target)})
            code, out, err = run(*words)
            assert (code, out) == (2, ""), (way.__name__, words, err)
            assert "read and would be overwritten\nhint: " in err, (way.__name__, words, err)
            assert err.count("\n") == 2, err
            assert there() == before


#: A command, and the file that it reads (or writes) though no option says so, and then would replace.
UNNAMED = {
    "a link in the folder for charts": ("score a.jsonl --charts charts", "charts/scores.vl.json"),
    "a link in the folder that is the run": ("score run -o b.jsonl", "b.jsonl"),
    "an archive": ("score pack.zip/a.jsonl -o pack.zip", "pack.zip"),
    "a file that a convention names": ("score a.jsonl --profile own.toml -o typos.json", "typos.json"),
    "a file that a reader looks for": ("audit bias data.json -o valListFile.json", "valListFile.json"),
    "what the same command has written": ("score a.jsonl --charts out -o out/scores.vl.json", "out/scores.vl.json"),
}


@pytest.mark.parametrize("case", UNNAMED)
def test_what_no_option_names(case: str, here: Path) -> None:
    words, target = UNNAMED[case]
    for folder in ("charts", "run"):
        Path(folder).mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text(_line())
    with zipfile.ZipFile("pack.zip", "w") as archive:
        archive.write("a.jsonl")
    Path("charts/scores.vl.json").symlink_to("../a.jsonl")
    Path("run/b.jsonl").symlink_to("../b.jsonl")
    Path("own.toml").write_text('typos = "typos.json"')
    Path("typos.json").write_text('{"centre": ["center"]}')
    Path("data.json").write_text(formats.multiwoz())
    Path("valListFile.json").write_text("MUL7001.json\n")
    before = there()
    code, out, err = run(*words.split())
    assert (code, out) == (2, ""), err
    said = "two output files have the same name" if target.startswith("out/") else "read and would be overwritten"
    assert said in err.splitlines()[-2], err
    assert {name: content for name, content in there().items() if not name.startswith("out/")} == before


@pytest.mark.again
@pytest.mark.parametrize(
    "words", ["score a.jsonl >> a.jsonl", "score - -o a.jsonl < a.jsonl", "score a.jsonl -o b.txt > b.txt"]
)
def test_a_stream_is_the_input(words: str, here: Path) -> None:
    """Or the output: then the text would be lost with the file that is replaced."""
    Path("a.jsonl").write_text(_line())
    command = f"{sys.executable} -m dstbench {words}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602 (our own)
    assert (done.returncode, done.stderr.count("\n")) == (2, 2), done.stderr
    assert Path("a.jsonl").read_text() == _line()
