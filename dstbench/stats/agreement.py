"""Agreement of several readers beyond chance: Cohen's kappa of two, Fleiss' kappa of three or more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dstbench.arrays import Floats
from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.resampling import Bootstrap, scores_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Kappa(Shown):
    """How much readers agree.

    Attributes:
        observed: The share of pairs of readers, over all items, who gave the item the same category; None: no items.
        kappa: The same beyond chance; None where it is undefined: there are no items, or all are of one category.
        low: Lower end of its interval; None: there are less than two groups, or no kappa in any resample.
        high: Upper end.
    """

    observed: float | None
    kappa: float | None
    low: float | None
    high: float | None


def kappa(
    ratings: ArrayLike, groups: ArrayLike | None = None, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Kappa:
    """Cohen's kappa of two readers, or Fleiss' kappa of more, over nominal categories.

    Args:
        ratings: Items × readers: the category that a reader gave an item, as whole numbers of any kind.
        groups: The group of each item, of any kind: items of a group (of a dialogue) are drawn together, since they are
            not independent; None: each item is a group of its own.
        level: Confidence level of the interval.
        resamples: How often groups are drawn.
        seed: Random seed of the draws.

    Returns:
        Kappa, and its percentile interval by a bootstrap over groups; resamples without a kappa are left out.

    Raises:
        UsageError: The ratings are not items × readers, of two readers or more.

    Source: Cohen 1960 (Educational and Psychological Measurement 20:37); Fleiss 1971 (Psychological Bulletin 76:378).

    >>> two = kappa([[1, 1]] * 20 + [[1, 0]] * 5 + [[0, 1]] * 10 + [[0, 0]] * 15)
    >>> two.observed, round(two.kappa, 3)
    (0.7, 0.4)
    """
    table = np.asarray(ratings)
    if table.ndim != 2 or table.shape[1] < 2:
        raise UsageError(f"ratings of shape {table.shape}", hint="a row per item, a column per reader, of two or more")
    items, readers = table.shape
    if not items:
        return Kappa(None, None, None, None)
    categories, codes = np.unique(table, return_inverse=True)
    chosen = np.eye(len(categories))[codes.reshape(table.shape)]  # items × readers × categories
    counts = chosen.sum(axis=1)
    if readers == 2:
        statistics = (chosen[:, 0, :, np.newaxis] * chosen[:, 1, np.newaxis, :]).reshape(items, -1)
    else:
        statistics = np.column_stack([counts, (counts * (counts - 1)).sum(axis=1)])

    def score(sums: Floats) -> Floats:
        """Kappa of rows of sums; all terms are whole numbers, so that a denominator of 0 is 0."""
        if readers == 2:
            tables = sums.reshape(-1, len(categories), len(categories))
            total, of_one, of_other = tables.sum(axis=(1, 2)), tables.sum(axis=1), tables.sum(axis=2)
            agreeing, by_chance = total * np.trace(tables, axis1=1, axis2=2), (of_one * of_other).sum(axis=1)
        else:
            chosen = sums[:, :-1]
            total, by_chance = chosen.sum(axis=1), (chosen**2).sum(axis=1)
            agreeing = sums[:, -1] * total / (readers - 1)
        kappas: Floats = (agreeing - by_chance) / (total**2 - by_chance)
        return kappas

    _, group = np.unique(np.arange(items) if groups is None else np.asarray(groups), return_inverse=True)
    sums = np.zeros((1, group.max() + 1, statistics.shape[1]))
    np.add.at(sums[0], group, statistics)
    numbers = [float(scores_of(score, sums.sum(axis=1))[0]), np.nan, np.nan]
    if sums.shape[1] > 1 and not np.isnan(numbers[0]):
        (replicates,) = Bootstrap.draw(sums, resamples, seed).replicates(score)
        numbers[1:] = replicates.estimate(level).percentile
    observed = float((counts * (counts - 1)).sum()) / (items * readers * (readers - 1))
    return Kappa(observed, *(None if np.isnan(number) else number for number in numbers))
