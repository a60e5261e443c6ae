"""Correcting a dataset: what is missing is added, nothing else changes, and each addition is logged.

Conventions: what is said is never touched, an annotated value never overwritten. A corrected dataset has nothing
missing any more (by the same values and thresholds), so correcting it again gives the same.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from dstbench.audit.missing_annotations import additions
from dstbench.errors import DstbenchError
from dstbench.io.atomic import replacing
from dstbench.io.escape import csv_text
from dstbench.runs.open import open_gold
from dstbench.writers.rewrite import rewrite

if TYPE_CHECKING:
    from dstbench.audit.missing_annotations import Inconsistency


def correct(
    path: str | PathLike[str],
    out: str | PathLike[str],
    found: Inconsistency,
    *,
    log: str | PathLike[str] | None = None,
) -> None:
    """Write a dataset again, in its own format, with the annotations that it lacks.

    Args:
        path: The dataset.
        out: The file or folder to write.
        found: What `inconsistency` found in it.
        log: A CSV file to write, a row per addition with its evidence (schema `tables.PROPOSALS`); None: none.

    Raises:
        DstbenchError: The dataset cannot be read, or its format cannot be written.
    """
    gold = open_gold(path).gold
    if gold is None:
        raise DstbenchError("no gold inside", file=str(path), hint="give the dataset")
    rewrite(path, out, states=additions(found.proposals, gold.turns))
    if log is not None:
        write_log(found, log)


def write_log(found: Inconsistency, path: str | PathLike[str]) -> None:
    """Write what is missing, with its evidence, as CSV.

    Args:
        found: What `inconsistency` found.
        path: The file to write, a row per addition (schema `tables.PROPOSALS`).

    Raises:
        DstbenchError: The file cannot be written.
    """
    with replacing(str(path)) as part:
        part.write_text(csv_text(found.proposals), encoding="utf-8")
