"""The metrics: each consists of statistics that are summed, and a score computed from the sums (see `base`)."""

from __future__ import annotations

from typing import Final

from dstbench.metrics.base import Metric, counts_and_stats, score_of, stats_of
from dstbench.metrics.registry import REGISTRY, parse, parse_all

__all__ = [
    "DEFAULT", "DEFAULT_PER_SLOT", "REGISTRY", "Metric", "counts_and_stats", "parse", "parse_all", "score_of",
    "stats_of",
]  # fmt: skip

#: The metrics that are computed by default.
DEFAULT: Final = "jga,sa,rsa,aga,f1,fga,gca,tla"
#: The default by slot, where the mean over turns of a slot's F1 would only repeat its accuracy.
DEFAULT_PER_SLOT: Final = "jga,precision:avg=micro,recall:avg=micro,f1:avg=micro,correct,wrong,missed,over,error-turns"
