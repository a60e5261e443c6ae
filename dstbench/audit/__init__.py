"""Audits of a dataset: what is wrong with its annotation, and mending it (Qian et al. 2021)."""

from __future__ import annotations

from dstbench.audit.detection import Inconsistency, inconsistency

__all__ = ["Inconsistency", "inconsistency"]
