"""Audits of a dataset: what in it distorts scores, measured and mended (Qian et al. 2021).

Functions take what the readers open, and return frames.
"""

from dstbench.audit.detection import Inconsistency, inconsistency
from dstbench.audit.rewriting import rewrite, spoken

__all__ = ["Inconsistency", "inconsistency", "rewrite", "spoken"]
