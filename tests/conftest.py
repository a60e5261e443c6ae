"""Fixtures that several test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=60)
settings.load_profile("default")

_HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with real predictions and gold; tests that need it skip where it is not."""
    folder = Path(os.environ.get("DSTBENCH_DATA", _HERE.parent.parent / "shared" / "data"))
    if not (folder / "predictions").is_dir():
        pytest.skip(f"no real predictions at {folder}; set DSTBENCH_DATA to a folder that has them")
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
