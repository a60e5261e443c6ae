"""Functions that compute once: for tests of how one result is shown at several widths and in several formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dstbench import demo
from dstbench.rendering.report import Report
from dstbench.scoring import score
from tests.contract import commands
from tests.contract.commands import Kept, once


def compute_once(set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Make all public functions compute once, and a report draw once."""
    commands.compute_once(set_attribute)
    kept: Kept = {}
    for place, name in ((Report, "to_html"), (demo, "worked_scores"), (score, "open_and_score")):
        set_attribute(place, name, once(getattr(place, name), kept))
