"""dstbench: evaluation of dialogue state tracking over one long table.

>>> import dstbench
>>> states = [{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}]
>>> dstbench.score(states, metrics="jga")["value"].item()
1.0

Names are imported when they are first used, so that ``import dstbench`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dstbench import audit, signature, stats
    from dstbench.align import to_long
    from dstbench.checks import check
    from dstbench.context import contexts
    from dstbench.conventions import Convention
    from dstbench.correlating import correlate
    from dstbench.diagnosis import diagnose
    from dstbench.engines import engine
    from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
    from dstbench.longtable import open_runs, scan, write_long
    from dstbench.metrics import Metric, parse
    from dstbench.pairs import fuzzy_pairs
    from dstbench.profiles import profile
    from dstbench.queries import query
    from dstbench.readers import read
    from dstbench.reporting import Report, report
    from dstbench.runs import Run
    from dstbench.scoring import score, turns
    from dstbench.significance import compare
    from dstbench.slots import canonical_slot
    from dstbench.sweeps import sweep
    from dstbench.tendencies import traits
    from dstbench.turntable import to_turns

_HOME = {
    "Convention": "conventions",
    "DstbenchError": "errors",
    "DstbenchWarning": "errors",
    "Metric": "metrics",
    "Report": "reporting",
    "Run": "runs",
    "UsageError": "errors",
    "canonical_slot": "slots",
    "check": "checks",
    "compare": "significance",
    "fuzzy_pairs": "pairs",
    "contexts": "context",
    "correlate": "correlating",
    "diagnose": "diagnosis",
    "engine": "engines",
    "open_runs": "longtable",
    "parse": "metrics",
    "profile": "profiles",
    "query": "queries",
    "read": "readers",
    "report": "reporting",
    "scan": "longtable",
    "score": "scoring",
    "sweep": "sweeps",
    "to_long": "align",
    "to_turns": "turntable",
    "traits": "tendencies",
    "turns": "scoring",
    "write_long": "longtable",
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
