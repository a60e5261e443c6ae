"""The published JSON schemas."""

from __future__ import annotations

import json
from typing import Any

from tests.paths import ROOT

FOLDER = ROOT / "data_schemas"


def schema(name: str) -> dict[str, Any]:
    """The schema of a table, by its name, or of a format, ``format_NAME``."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return found
