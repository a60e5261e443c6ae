"""Fixtures that several test modules share."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from benchmarks.measured import find_data
from tests.charts import draw_empty

# Processes that tests start keep what Python compiles, as where nothing forbids it: compiling is a fifth of a start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# HYPOTHESIS_PROFILE=long looks for hours where CI looks for a minute.
settings.register_profile("default", deadline=None, max_examples=40)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.register_profile(  # the same examples for every mutant, and none made smaller: pyproject.toml
    "mutants", deadline=None, max_examples=20, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)
settings.register_profile("few", settings.get_profile("mutants"), max_examples=4)  # test_contributing.py
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Never look for garbage among the thousands of tests, which stay: it takes a fourth of the time of small tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with real predictions and gold; tests that need it skip where it is not."""
    try:
        return find_data()
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty charts: drawing them takes most of the time of a page, whatever of it is tested."""
    draw_empty(monkeypatch)
