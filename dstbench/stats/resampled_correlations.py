"""Correlations over rows that belong to clusters, such as the turns of dialogues, by resampling whole clusters.

The rows of a cluster are not independent, so tests over rows reject too often. Here, each cluster's sums of products
are computed once; a resample of clusters adds them up as often as each cluster is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.stats.bootstrap import Replicates
from dstbench.stats.resampling import as_exact_floats, multiply, scores_of, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# A variance below this part of the mean square is 0, apart from rounding errors.
_CONSTANT: Final = 1e-9


def resampled_correlations(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], clusters: ArrayLike, resamples: int = 10_000, seed: int = 0
) -> list[Replicates]:
    """Pearson's r of pairs of columns in resamples of clusters; all pairs share the draws, so differences are paired.

    Args:
        pairs: Pairs of columns; NaN where undefined. A pair's r is over the rows in which both are defined.
        clusters: For each row, the number of its cluster, from 0.
        resamples: How many times clusters are drawn.
        seed: Random seed.

    Returns:
        One per pair; NaN in resamples in which a column does not vary.

    Raises:
        UsageError: The columns have different lengths, or there are fewer than two clusters.

    >>> x, y, z, dialogue = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], [1, 3, 2, 6, 4, 5], [0, 0, 1, 1, 2, 2]
    >>> one, other = resampled_correlations([(x, y), (x, z)], dialogue, resamples=100)
    >>> round((one - other).observed, 4)
    0.0571
    """
    of_rows = np.asarray(clusters, np.int64)
    sums = as_exact_floats([_sums(x, y, of_rows) for x, y in pairs])
    whole = scores_of(_correlation, sums.sum(axis=1))
    totals = multiply(weights(sums.shape[1], resamples, seed), sums, resamples)
    resampled = scores_of(_correlation, totals)
    return [Replicates(float(value), resampled[:, pair], abs(float(value))) for pair, value in enumerate(whole)]


def _sums(x: ArrayLike, y: ArrayLike, clusters: ArrayLike) -> Floats:
    """Per cluster, over the rows in which both are defined: their number, and the sums of x, y, x², y² and x·y."""
    a, b, of_rows = np.asarray(x, np.float64), np.asarray(y, np.float64), np.asarray(clusters)
    if a.ndim != 1 or a.shape != b.shape or a.shape != of_rows.shape:
        raise UsageError(f"columns of shape {a.shape} and {b.shape} cannot be correlated over {of_rows.shape} clusters")
    size = int(of_rows.max(initial=-1)) + 1
    both = ~(np.isnan(a) | np.isnan(b))
    a, b, of_rows = _standard(a[both]), _standard(b[both]), of_rows[both]
    products = (np.ones_like(a), a, b, a * a, b * b, a * b)
    return np.stack([np.bincount(of_rows, product, size) for product in products], axis=1)


def _standard(column: Floats) -> Floats:
    """The column, centred and scaled to at most 1: this changes no correlation, and keeps differences precise."""
    if not len(column) or column.min() == column.max():
        return np.zeros_like(column)
    centred = column - column.mean()
    standard: Floats = centred / np.abs(centred).max()
    return standard


def _correlation(sums: Floats) -> Floats:
    """Pearson's r from sums as `_sums` gives them."""
    n, x, y, xx, yy, xy = sums.T
    spread_x, spread_y = xx - x * x / n, yy - y * y / n
    varies = (spread_x > _CONSTANT * xx) & (spread_y > _CONSTANT * yy)
    r = (xy - x * y / n) / np.sqrt(np.where(varies, spread_x * spread_y, np.nan))
    clipped: Floats = np.clip(r, -1, 1)
    return clipped
