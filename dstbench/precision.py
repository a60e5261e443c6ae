"""How precise a score is: its standard error over dialogues, linearised, at next to no cost.

A score is a smooth function of sums over dialogues that does not change when all of them double. So its error is that
of Σ g·s_d, with s_d a dialogue's sums and g the score's gradient at the whole: √(D/(D−1) · Σ (g·s_d)²), which needs the
sums and their second moments only. For a ratio this is the sandwich estimate for clusters (`stats.linearised_se`).
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.ratios import STEP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dstbench.metrics import Metric

# The step of a central difference, as a part of the sum that is moved: its error and that of rounding are 10⁻¹⁰.
_STEP: Final = 2.0**-17
# A variance that is less than this part of the terms it is summed from is 0: the gradient knows no better.
_NOTHING: Final = 1e-9


def moments_of(metrics: Iterable[Metric]) -> list[tuple[str, str]]:
    """The pairs of statistics whose moments the standard errors of these metrics need."""
    pairs = [pair for metric in metrics if not metric.is_count for pair in _pairs(metric)]
    return list(dict.fromkeys(pairs))


def standard_errors(metrics: Sequence[Metric], sums: pl.DataFrame) -> list[pl.Series]:
    """The standard errors of metrics, per group.

    Args:
        metrics: The metrics.
        sums: One row per group: their statistics and moments (see `sums.Sums.table`).

    Returns:
        A column (Float64) per metric. Null for counts, which are no shares; where the score is undefined; with a
        single dialogue; without moments.
    """
    nothing = pl.Series([None] * sums.height, dtype=pl.Float64)
    smooth = [metric for metric in metrics if all(_name(pair) in sums.columns for pair in moments_of([metric]))]
    smooth = [metric for metric in smooth if not metric.is_count]
    found = dict(zip(smooth, _errors(smooth, sums), strict=True)) if smooth and sums.height else {}
    return [found.get(metric, nothing) for metric in metrics]


def _errors(metrics: Sequence[Metric], sums: pl.DataFrame) -> Iterator[pl.Series]:
    names = list(dict.fromkeys(name for metric in metrics for name in metric.stats()))
    columns = {name: pl.col(f"stat:{name}") for name in names}
    units = np.array([STEP if sums.schema[f"stat:{name}"] == pl.Float64 else 1 for name in names])
    whole = sums.select(columns[name].cast(pl.Float64) for name in names).to_numpy()
    steps = np.maximum(np.abs(whole), units) * _STEP
    # Each group as it is, and with each statistic moved up and down: ways × statistics × groups × statistics.
    ways = np.array([1, -1])[:, None, None, None] * np.eye(len(names))[:, None, :] * steps
    moved = np.concatenate([whole, (whole + ways).reshape(-1, len(names))])
    frame = pl.DataFrame(moved, schema={f"stat:{name}": pl.Float64 for name in names})
    dialogues = sums["dialogues"].to_numpy().astype(np.float64)
    values = frame.select_seq(metric.score(columns).cast(pl.Float64).alias(str(metric)) for metric in metrics)
    for metric, value in zip(metrics, values, strict=True):
        scores = value.to_numpy()
        up, down = scores[len(whole) :].reshape(2, len(names), len(whole))
        gradient = dict(zip(names, (up - down) / (2 * steps.T) * units[:, None], strict=True))
        terms = [
            gradient[one]
            * gradient[other]
            * sums[_name((one, other))].cast(pl.Float64).to_numpy()
            * (1 if one == other else 2)
            for one, other in _pairs(metric)
        ]
        variance = np.sum(terms, axis=0)
        variance[variance < _NOTHING * np.sum(np.abs(terms), axis=0)] = 0
        known = (dialogues > 1) & ~np.isnan(scores[: len(whole)])
        errors = np.sqrt(np.divide(dialogues * variance, dialogues - 1, where=known, out=np.zeros(len(known))))
        yield pl.Series(errors).zip_with(pl.Series(known), pl.Series([None], dtype=pl.Float64))


def _pairs(metric: Metric) -> list[tuple[str, str]]:
    return list(combinations_with_replacement(metric.stats(), 2))


def _name(pair: tuple[str, str]) -> str:
    return "moment:" + "*".join(pair)
