"""Audits of a dataset: they measure, and partly correct, what in it distorts scores (Qian et al. 2021).

Functions take any dataset that the readers can open, and return frames.

>>> from dstbench import audit
>>> turns = [{"dialogue_id": "D", "turn": 0, "gold": {"train-destination": "ely"}}]
>>> audit.bias(turns).slots.select("counting", "most_frequent", "share").row(0)
('cumulative', 'ely', 1.0)
"""

from dstbench.audit.contradictions import Contradictions, contradictions
from dstbench.audit.entity_bias import Bias, bias
from dstbench.audit.memorised_values import Memorisation, memorisation
from dstbench.audit.missing_annotations import Inconsistency, additions, correct, inconsistency, write_log
from dstbench.audit.replacement import Replacement, replace
from dstbench.audit.reviewing import Agreement, Review, agreement, review, review_sheet
from dstbench.audit.version_diff import Differences, diff
from dstbench.audit.version_scores import VersionScores, scores
from dstbench.writers.rewrite import rewrite, spoken

__all__ = [
    "Agreement",
    "Bias",
    "Contradictions",
    "Differences",
    "Inconsistency",
    "Memorisation",
    "Replacement",
    "Review",
    "VersionScores",
    "additions",
    "agreement",
    "bias",
    "contradictions",
    "correct",
    "diff",
    "inconsistency",
    "memorisation",
    "replace",
    "review",
    "review_sheet",
    "rewrite",
    "scores",
    "spoken",
    "write_log",
]
