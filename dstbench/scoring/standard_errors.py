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

from dstbench.metrics import score_of, stats_of
from dstbench.metrics.exact_sums import STEP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dstbench.arrays import Floats
    from dstbench.metrics import Metric


# The step of a central difference, as a part of the sum that is moved: its error and that of rounding are 10⁻¹⁰.
_STEP: Final = 2.0**-17
# A variance that is less than this part of the terms it is summed from is 0: the gradient knows no better.
_NOTHING: Final = 1e-9


def moments_of(metrics: Iterable[Metric]) -> list[tuple[str, str]]:
    """The pairs of statistics whose moments the standard errors of these metrics need."""
    pairs = [pair for metric in metrics if not metric.is_count for pair in _pairs(metric)]
    return list(dict.fromkeys(pairs))


def scores_and_errors(metrics: Sequence[Metric], sums: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The scores of metrics, and their standard errors, per group.

    Args:
        metrics: The metrics.
        sums: One row per group: their statistics and moments (see `sums.Sums.table`).

    Returns:
        As `scores` gives them; and likewise their errors, null for counts, which are no shares; where the score is
        undefined; with a single dialogue; without moments.
    """
    there = set(sums.columns)
    smooth = [not metric.is_count and all(_name(pair) in there for pair in _pairs(metric)) for metric in metrics]
    names = list(dict.fromkeys(name for metric in metrics for name in stats_of(metric)))
    whole = sums.select(pl.col(f"stat:{name}").cast(pl.Float64) for name in names).to_numpy()
    units = np.array([STEP if sums.schema[f"stat:{name}"] == pl.Float64 else 1 for name in names])
    steps = np.maximum(np.abs(whole), units) * _STEP
    rows = whole
    if any(smooth):
        # Each group as it is, and with each statistic moved up and down: ways × statistics × groups × statistics.
        ways = np.array([1, -1])[:, None, None, None] * np.eye(len(names))[:, None, :] * steps
        rows = np.concatenate([whole, (whole + ways).reshape(-1, len(names))])
    frame = pl.DataFrame(rows, schema={f"stat:{name}": pl.Float64 for name in names}, orient="row")
    values = scores(metrics, frame)
    nothing = pl.Series([None] * sums.height, dtype=pl.Float64)
    errors = {}
    for metric, value, is_smooth in zip(metrics, values, smooth, strict=True):
        errors[value.name] = nothing
        if is_smooth:
            up, down = value.to_numpy()[sums.height :].reshape(2, len(names), sums.height)
            gradient = dict(zip(names, (up - down) / (2 * steps.T) * units[:, None], strict=True))
            errors[value.name] = pl.Series(_errors(metric, gradient, sums)).zip_with(
                (sums["dialogues"] > 1) & value.head(sums.height).is_not_null(), nothing
            )
    return values.head(sums.height), pl.DataFrame(errors)


def scores(metrics: Sequence[Metric], sums: pl.DataFrame) -> pl.DataFrame:
    """The scores of metrics, a column (Float64) each, called by its number, from sums ``stat:<name>``."""
    columns = {name: pl.col(f"stat:{name}") for metric in metrics for name in stats_of(metric)}
    return sums.select_seq(score_of(metric, columns).alias(str(number)) for number, metric in enumerate(metrics))


def _errors(metric: Metric, gradient: Mapping[str, Floats], sums: pl.DataFrame) -> Floats:
    """The standard errors of a metric, per group: √(D/(D−1) · Σ (g·s_d)²), from the moments of dialogues' sums s_d."""
    terms = [
        gradient[one]
        * gradient[other]
        * sums[_name((one, other))].cast(pl.Float64).to_numpy()
        * (1 if one == other else 2)
        for one, other in _pairs(metric)
    ]
    variance = np.sum(terms, axis=0)
    variance[~(variance >= _NOTHING * np.sum(np.abs(terms), axis=0))] = 0
    dialogues = sums["dialogues"].to_numpy().astype(np.float64)
    errors: Floats = np.sqrt(variance * dialogues / np.maximum(dialogues - 1, 1))
    return errors


def _pairs(metric: Metric) -> list[tuple[str, str]]:
    return list(combinations_with_replacement(stats_of(metric), 2))


def _name(pair: tuple[str, str]) -> str:
    return f"moment:{pair}"
