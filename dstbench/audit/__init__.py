"""Audits of a dataset: what in it distorts scores, measured and mended (Qian et al. 2021).

Functions take what the readers open, and return frames.
"""

from dstbench.audit.detection import Inconsistency, additions, inconsistency
from dstbench.audit.grounding import Memorisation, memorisation
from dstbench.audit.mending import correct, write_log
from dstbench.audit.replacement import Replacement, replace
from dstbench.audit.reviewing import review, review_sheet
from dstbench.audit.rewriting import rewrite, spoken

__all__ = [
    "Inconsistency",
    "Memorisation",
    "Replacement",
    "additions",
    "correct",
    "inconsistency",
    "memorisation",
    "replace",
    "review",
    "review_sheet",
    "rewrite",
    "spoken",
    "write_log",
]
