"""The two layers of tests, the skips that CI expects, and fixtures that several test modules share."""

from __future__ import annotations

import os

# Before Polars is imported. The workers share the cores, and corpora are small: with more threads, a sixth of the
# processor's time goes to waiting. What threads change is asked where there are seven (`test_same_results.py`).
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# What `dstbench demo` says is the same however the tests are started.
os.environ.pop("UV_RUN_RECURSION_DEPTH", None)

import gc
import re
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import Phase, settings

from benchmarks.measured import find_data
from tests.charts import draw_empty

# What Python compiles is kept, as where nothing forbids it: compiling is a fifth of a start, and half of collecting.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# As in commands: with Python's default, looking for garbage takes a tenth of the time of small tests.
gc.set_threshold(200_000)

#: Markers of the tests that only `--all` runs, or `-m MARKER`; `simulation` is run by `-m simulation` alone.
SECOND_LAYER: Final = ("again", "browser", "data", "fuzz", "kill", "looks", "options", "ray", "tex")
#: The skips that CI expects, by reason: any other fails it.
SKIPS: Final = Path(__file__).with_name("skips.txt")

# The two layers try the same examples each time, so that a run says the same twice; HYPOTHESIS_PROFILE=long looks for
# new ones, for hours.
settings.register_profile("default", deadline=None, max_examples=6, derandomize=True, database=None)
settings.register_profile("all", settings.get_profile("default"), max_examples=40)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.register_profile(  # the same examples for every mutant, and none made smaller: pyproject.toml
    "mutants", deadline=None, max_examples=20, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)
# Test modules derive their settings from these when they are imported, so it must be known by now.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all`: both layers."""
    parser.addoption(
        "--all", action="store_true", help="also run the slow tests: those marked " + ", ".join(SECOND_LAYER)
    )


def pytest_configure(config: pytest.Config) -> None:
    """Both layers look at more examples."""
    if config.getoption("--all") and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.load_profile("all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the second layer out, unless it is asked for; what takes real data is marked by that."""
    for item in items:
        if {"data", "shared"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.data)
    chosen = config.getoption("-m")
    omitted = {"simulation"} if config.getoption("--all") or chosen else {"simulation", *SECOND_LAYER}
    if "simulation" in chosen:  # by its name only: a simulation on real data has the marker `data`, too
        return
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (left_out if any(mark.name in omitted for mark in item.iter_markers()) else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, a skip that is not expected is a failure: a test that never runs looks like one that passes."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI") or hasattr(session.config, "workerinput"):
        return
    reasons = Counter(re.sub(r"^Skipped: ", "", report.longrepr[2]) for report in reporter.stats.get("skipped", []))
    expected = [line for line in SKIPS.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    try:
        find_data()
    except FileNotFoundError:
        expected.append(r"no real predictions at .*|no fixtures? .*")
    surprises = {reason: n for reason, n in reasons.items() if not any(re.fullmatch(line, reason) for line in expected)}
    for reason, n in surprises.items():
        reporter.write_line(f"{n} unexpected skip(s): {reason} (tests/skips.txt says which are expected)", red=True)
    if surprises and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


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
