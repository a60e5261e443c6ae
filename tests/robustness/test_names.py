"""Names that are not UTF-8, as in a home folder of Latin-1: they are read and shown, or refused in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.commands import run
from tests.interface import LEAVES, is_text, line, path_options
from tests.robustness.test_streams import folder, words_of

__all__ = ["folder"]
NAME = os.fsdecode(b"\xff.jsonl")
HOME = os.fsdecode(b"Jos\xe9")


@pytest.fixture(scope="module")
def home(folder: Path) -> Path:
    """A folder with such a name, in which a file has such a name."""
    try:
        (folder / HOME).mkdir()
    except OSError:
        pytest.skip("file names are UTF-8 here")
    for name in ("b.jsonl", "names.json"):
        (folder / HOME / name).symlink_to(folder / name)
    (folder / HOME / NAME).write_bytes((folder / "a.jsonl").read_bytes())
    (folder / HOME / "a.jsonl").write_bytes((folder / "a.jsonl").read_bytes())
    return folder / HOME


@pytest.mark.again
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.options] if at % 4 else []) for at, name in enumerate(LEAVES)]
)
def test_a_file_is_used_whatever_its_name(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, and by its path: as long as Parquet is not read by such a name, that makes no difference."""
    monkeypatch.chdir(home)
    code, out, err = run(*words_of(name, str(home / NAME)))
    assert code == (name == "audit review"), err  # which reads only what another command writes
    assert "\udcff" not in out + err
    assert not out or run(*words_of(name, NAME))[:2] == (code, out)


@pytest.mark.parametrize("name", LEAVES)
def test_a_text_must_be_utf8(name: str, here: Path) -> None:
    """Every option and argument that is a text, but NAME=FILE."""
    files = {option.name for option in path_options(name) if option.form != "{}"}
    texts = [option for option in LEAVES[name].params if is_text(option) and option.name not in files]
    for option in texts:
        code, out, err = run(*line(name, **{option.name: NAME}))
        assert (code, out) == (2, "")
        assert "\\udcff" in err
        assert "is not UTF-8\nhint: " in err or "is not one of" in err  # as Typer says
