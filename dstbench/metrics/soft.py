"""RSA and GCA with partial credit: a value counts by its similarity to gold's.

Similarities are those of the convention's matcher, whatever its threshold, as in `metrics.sgd`; the signature names the
matcher. If all of them are 0 or 1, as with exact matching, the scores are those of RSA and GCA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from dstbench.metrics.gca import GCA, PREFIX
from dstbench.metrics.goal_accuracy import RSA

_FUTURE_WORK: Final = "with similarities as in Rastogi et al. 2020"


@dataclass(frozen=True)
class SoftRSA(RSA):
    """Relative slot accuracy of similarities: their sum over the slots in both states, divided by all slots in either.

    Attributes:
        empty: As of `RSA`.
    """

    name = "soft-rsa"
    label = "Soft RSA"
    title = "relative slot accuracy of similarities"
    source = f"Kim et al. 2022, eq. 3, {_FUTURE_WORK}"
    right = "soft_correct"


@dataclass(frozen=True)
class SoftGCA(GCA):
    """Granular change accuracy of similarities: a change with two values adds its similarity to C, the rest to W.

    So values (VP and VR) count by similarity, and labels (LP and LR) as in GCA.

    Attributes:
        alpha: As of `GCA`.
        counting: As of `GCA`.
    """

    name = "soft-gca"
    label = "Soft GCA"
    title = "granular change accuracy of similarities"
    source = f"Aksu & Chen 2024, {_FUTURE_WORK}"

    def _columns(self) -> tuple[str, str]:
        column = f"soft_{PREFIX[self.counting]}_correct"
        return f"{column}_whole", f"{column}_part"

    def stats(self) -> dict[str, pl.Expr]:
        # A sum of similarities may exceed 1, so its whole number and what is left are summed separately, both exactly.
        column = pl.col(f"soft_{PREFIX[self.counting]}_correct").cast(pl.Float64)
        whole, part = self._columns()
        return {**super().stats(), whole: column.floor().cast(pl.Int64), part: column - column.floor()}

    def correct(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        whole, part = self._columns()
        return sums[whole].cast(pl.Float64) + sums[part]
