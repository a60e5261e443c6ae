"""dstbench: evaluation of dialogue state tracking over one long table.

>>> import dstbench
>>> states = [{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}]
>>> dstbench.score(states, metrics="jga")["value"].item()
1.0

Names are imported when they are first used, so that ``import dstbench`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dstbench._version import __version__

if TYPE_CHECKING:
    from dstbench import audit, signature, stats
    from dstbench.analysis.check import check
    from dstbench.analysis.compare import compare
    from dstbench.analysis.correlate import correlate
    from dstbench.analysis.diagnose import diagnose
    from dstbench.analysis.fuzzy_pairs import fuzzy_pairs
    from dstbench.analysis.query import query
    from dstbench.analysis.sweep import sweep
    from dstbench.analysis.traits import traits
    from dstbench.conventions.convention import Convention
    from dstbench.conventions.profiles import profile
    from dstbench.conventions.slots import canonical_slot
    from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
    from dstbench.metrics import Metric, parse
    from dstbench.readers import read
    from dstbench.readers.contexts import contexts
    from dstbench.rendering.report import Report, report
    from dstbench.runs.align import to_long
    from dstbench.runs.open import open_runs, scan, write_long
    from dstbench.runs.run import Run
    from dstbench.scoring.engines import engine
    from dstbench.scoring.score import score, turns
    from dstbench.scoring.turn_table import to_turns

_HOME = {
    "Convention": "conventions.convention",
    "DstbenchError": "errors",
    "DstbenchWarning": "errors",
    "Metric": "metrics",
    "Report": "rendering.report",
    "Run": "runs.run",
    "UsageError": "errors",
    "canonical_slot": "conventions.slots",
    "check": "analysis.check",
    "compare": "analysis.compare",
    "fuzzy_pairs": "analysis.fuzzy_pairs",
    "contexts": "readers.contexts",
    "correlate": "analysis.correlate",
    "diagnose": "analysis.diagnose",
    "engine": "scoring.engines",
    "open_runs": "runs.open",
    "parse": "metrics",
    "profile": "conventions.profiles",
    "query": "analysis.query",
    "read": "readers",
    "report": "rendering.report",
    "scan": "runs.open",
    "score": "scoring.score",
    "sweep": "analysis.sweep",
    "to_long": "runs.align",
    "to_turns": "scoring.turn_table",
    "traits": "analysis.traits",
    "turns": "scoring.score",
    "write_long": "runs.open",
}

#: Modules that are offered as such: `dstbench.signature.parse`, `dstbench.stats.holm`.
_MODULES = ("audit", "signature", "stats")

__all__ = [
    "Convention",
    "DstbenchError",
    "DstbenchWarning",
    "Metric",
    "Report",
    "Run",
    "UsageError",
    "__version__",
    "audit",
    "canonical_slot",
    "check",
    "compare",
    "contexts",
    "correlate",
    "diagnose",
    "engine",
    "fuzzy_pairs",
    "open_runs",
    "parse",
    "profile",
    "query",
    "read",
    "report",
    "scan",
    "score",
    "signature",
    "stats",
    "sweep",
    "to_long",
    "to_turns",
    "traits",
    "turns",
    "write_long",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"dstbench.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'dstbench' has no attribute {name!r}")
    return getattr(import_module(f"dstbench.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
