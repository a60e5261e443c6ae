"""Audits of a dataset: what in it distorts scores, measured and mended (Qian et al. 2021).

Functions take what the readers open, and return frames.
"""

from dstbench.audit.grounding import Memorisation, memorisation
from dstbench.audit.replacement import Replacement, replace
from dstbench.audit.rewriting import rewrite, spoken

__all__ = ["Memorisation", "Replacement", "memorisation", "replace", "rewrite", "spoken"]
