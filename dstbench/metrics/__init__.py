"""The metrics: a metric is (stats, score); see `base`."""

from __future__ import annotations

from typing import Final

from dstbench.metrics.base import Metric, score_of, stats_of
from dstbench.metrics.registry import REGISTRY, parse, parse_all

__all__ = ["DEFAULT", "DEFAULT_PER_SLOT", "REGISTRY", "Metric", "parse", "parse_all", "score_of", "stats_of"]

#: What is computed when nothing is asked for.
DEFAULT: Final = "jga,sa,rsa,aga,f1,fga,gca,tla"
#: The same for a per-slot table, where a mean over turns of one slot's F1 would only be its accuracy again.
DEFAULT_PER_SLOT: Final = "jga,precision:avg=micro,recall:avg=micro,f1:avg=micro,correct,wrong,missed,over,error-turns"
