"""Audits of a dataset: what in it distorts every score (Qian et al. 2021).

>>> from dstbench import audit
>>> turns = [{"dialogue_id": "D", "turn": 0, "gold": {"train-destination": "ely"}}]
>>> audit.bias(turns).slots.select("counting", "most_frequent", "share").row(0)
('cumulative', 'ely', 1.0)
"""

from dstbench.audit.entity_bias import Bias, bias
from dstbench.audit.rescoring import VersionScores, scores
from dstbench.audit.versions import Differences, diff

__all__ = ["Bias", "Differences", "VersionScores", "bias", "diff", "scores"]
