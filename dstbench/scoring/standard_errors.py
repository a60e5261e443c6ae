"""Linearised standard errors of scores over dialogues, computed from sums without resampling.

A score is a smooth function of sums over dialogues, and does not change when all sums double. So its standard error is
that of Σ g·s_d, where s_d are the sums of dialogue d and g is the score's gradient at the sums of all D dialogues:
√(D/(D−1) · Σ (g·s_d)²), which needs only the sums and their second moments. For a ratio of two sums this is the
sandwich estimate for clusters (`stats.linearised_se`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Final

import numpy as np
import polars as pl
import polars.selectors as cs

from dstbench.arrays import Floats
from dstbench.metrics import Metric, score_of, stats_of
from dstbench.metrics.exact_sums import STEP
from dstbench.scoring.sums import moment_name

# The step of a central difference, relative to the sum that is moved; its error and that of rounding are about 10⁻¹⁰.
_STEP: Final = 2.0**-17
# A variance that is smaller than this share of its summed terms counts as none: the gradient is no more precise.
_NEGLIGIBLE: Final = 1e-9
# If the error is a smaller part than this of the score, dialogues are alike but for rounding.
_ALIKE: Final = 1e-9


def moments_of(metrics: Iterable[Metric]) -> list[tuple[str, str]]:
    """The pairs of statistics whose moments are needed for the standard errors of these metrics."""
    return list(dict.fromkeys(pair for metric in metrics if not metric.is_count for pair in _pairs(metric)))


def scores_and_errors(metrics: Sequence[Metric], sums: pl.DataFrame) -> tuple[pl.DataFrame, Floats]:
    """The scores of metrics (see `scores`), and their standard errors (groups × metrics), from `sums.Sums.table`.

    An error is NaN for counts, for undefined scores, for a single dialogue, where all dialogues are alike, and without
    moments.
    """
    floats = sums.select_seq(cs.starts_with("stat:", "moment:").cast(pl.Float64))  # all in one query
    numbers = dict(zip(floats.columns, floats.to_numpy().T, strict=True))
    has_moments = any(name.startswith("moment:") for name in numbers)
    names = list(dict.fromkeys(name for metric in metrics for name in stats_of(metric)))
    stats = [f"stat:{name}" for name in names]
    whole = np.stack([numbers[name] for name in stats], axis=1)
    schema = sums.schema
    units = np.array([STEP if schema[name] == pl.Float64 else 1 for name in stats])
    steps = np.maximum(np.abs(whole), units) * _STEP
    rows = whole
    if has_moments:
        # Below the groups' own sums: the same with each statistic in turn moved up, then with each moved down.
        # Axes of `moves`: direction, moved statistic, group, statistic.
        moves = np.array([1, -1])[:, None, None, None] * np.eye(len(names))[:, None, :] * steps
        rows = np.concatenate([whole, (whole + moves).reshape(-1, len(names))])
    # The array as a table, in a fifth of the time that `pl.DataFrame` takes, which makes each column by itself.
    moved = scores(metrics, pl.Series(rows).arr.to_struct(stats).struct.unnest())
    values = moved.head(sums.height)
    errors = np.full((sums.height, len(metrics)), np.nan)
    if has_moments:
        dialogues = sums["dialogues"].to_numpy().astype(np.float64)
        magnitudes = np.abs(values.to_numpy())  # NaN where undefined, and so not below any error
        up, down = moved.slice(sums.height).to_numpy().T.reshape(len(metrics), 2, len(names), -1).swapaxes(0, 1)
        gradients = (up - down) / (2 * steps.T) * units[:, None]
        for number, metric in enumerate(metrics):
            if not metric.is_count:
                gradient = dict(zip(names, gradients[number], strict=True))
                terms = [
                    gradient[one] * gradient[other] * numbers[moment_name((one, other))] * (1 if one == other else 2)
                    for one, other in _pairs(metric)
                ]
                variance = np.sum(terms, axis=0)
                variance[~(variance >= _NEGLIGIBLE * np.sum(np.abs(terms), axis=0))] = 0
                own = np.sqrt(variance * dialogues / np.maximum(dialogues - 1, 1))
                is_known = (dialogues > 1) & (own > _ALIKE * magnitudes[:, number])
                errors[:, number] = np.where(is_known, own, np.nan)
    return values, errors


def scores(metrics: Sequence[Metric], sums: pl.DataFrame) -> pl.DataFrame:
    """The scores of metrics from columns ``stat:<name>``: a column (Float64) per metric, named by its position."""
    return sums.select_seq(_score(metric).alias(str(number)) for number, metric in enumerate(metrics))


@lru_cache(maxsize=256)
def _score(metric: Metric) -> pl.Expr:
    """A metric's score from columns ``stat:<name>`` (cached, as expressions are slow to make)."""
    return score_of(metric, {name: pl.col(f"stat:{name}") for name in stats_of(metric)})


def _pairs(metric: Metric) -> list[tuple[str, str]]:
    return list(combinations_with_replacement(stats_of(metric), 2))
