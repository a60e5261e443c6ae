"""Which differences of runs are significant, which cannot be, and which verdicts hang on the seed.

Conventions: a difference counts as not tested, whatever its p, if its smallest possible adjusted p is above 1 − level:
`significant` is then null. This happens with few resamples for many differences, and if runs differ in few dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench.arrays import Flags, Floats
from dstbench.errors import number_of
from dstbench.stats import (
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    hochberg,
    holm,
    max_t,
    resamples_needed,
    smallest_p,
)
from dstbench.stats.attainable import at_most
from dstbench.stats.normal import two_sided
from dstbench.typing import Adjustment

if TYPE_CHECKING:
    from dstbench.stats import Null, Spread

#: Models with fewer seeds are not tested.
FEWEST_SEEDS: Final = 3
_ADJUST: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "holm": holm,
    "hochberg": hochberg,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "bonferroni": bonferroni,
    "max-t": lambda p: p,  # its smallest p is that of a single difference, if no resample reaches it
    "none": lambda p: p,
}
# So many standard errors of a p beyond the level, another seed gives the other verdict in less than one in 1,000 cases.
_SAFE: Final = 4
# A line of text names at most this many pairs.
_MOST_PAIRS: Final = 5


def judge(nulls: Sequence[Null], adjust: Adjustment, level: float) -> list[dict[str, Any]]:
    """For each of a metric's differences of runs, the columns `p` to `may_flip` of `RUN_DIFFERENCES`."""
    resamples, bounds = np.array([len(null.resampled) for null in nulls]), np.array([null.bound for null in nulls])
    p = np.array([null.p() for null in nulls])
    defined, alpha = ~np.isnan(p), 1 - level
    needed = np.full(len(p), None, object)
    needed[defined] = resamples_needed(bounds[defined], alpha, _ADJUST[adjust])
    own_smallest = np.where(defined, smallest_p(bounds, resamples), np.nan)
    smallest = adjust_defined(own_smallest, adjust)
    low, high = (np.clip(p + sign * _SAFE * np.sqrt(p * (1 - p) / resamples), bounds, 1) for sign in (-1, 1))
    if adjust == "max-t":
        # p may have a bound, below which no p adjusted for several differences is.
        adjusted = np.full(len(p), np.nan)
        if chosen := [null for null in nulls if not np.isnan(null.observed)]:
            observed, tolerances = ([getattr(null, name) for null in chosen] for name in ("observed", "tolerance"))
            by_largest = max_t(observed, np.stack([null.resampled for null in chosen], axis=1), tolerances)
            adjusted[defined] = np.maximum(by_largest, p[defined])
        reach = _SAFE * np.sqrt(adjusted * (1 - adjusted) / resamples)
        lowest, highest = np.maximum(adjusted - reach, low), np.minimum(adjusted + reach, 1)
    else:
        adjusted, lowest, highest = (adjust_defined(each, adjust) for each in (p, low, high))
    testable = at_most(smallest, alpha)
    may_flip = at_most(own_smallest, alpha) & at_most(low, alpha) & ~at_most(high, alpha)
    may_flip |= testable & at_most(lowest, alpha) & ~at_most(highest, alpha)
    return _verdicts(
        p, adjusted, testable, 1 - level, adjust,
        p_smallest=smallest, resamples=resamples, resamples_needed=needed, may_flip=may_flip,
    )  # fmt: skip


def judge_models(
    spreads: Sequence[Spread | None], differences: Floats, adjust: Adjustment, level: float
) -> list[dict[str, Any]]:
    """The same for differences of models, whose p need no resamples."""
    p = np.array([np.nan if of is None else of.p(size) for of, size in zip(spreads, differences, strict=True)])
    return _verdicts(p, adjust_defined(p, adjust), ~np.isnan(p), 1 - level, adjust, may_flip=np.zeros(len(p), bool))


def _verdicts(
    p: Floats, adjusted: Floats, testable: Flags, alpha: float, adjust: Adjustment, **others: Any
) -> list[dict[str, Any]]:
    """A row per difference, with the p that it has, its significance, and other columns."""
    significant = np.where(testable, at_most(adjusted, alpha), np.full(len(p), None))
    columns = {"p": p, "p_adjusted": adjusted, "significant": significant, **others}
    same = {"adjustment": adjust, "m": int((~np.isnan(p)).sum())}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [{**dict(zip(columns, row, strict=True)), **same} for row in rows]


def strictest_level(nulls: Sequence[Null], m: int, adjust: Adjustment, level: float) -> float:
    """The level that one of m differences meets if no other is significant: the strictest of its test."""
    alpha = 1 - level
    if adjust == "max-t":
        drawn = np.abs(np.stack([null.resampled for null in nulls], axis=1))
        scale = np.sqrt((drawn**2).mean(axis=0))
        scale[scale == 0] = 1  # no resample differs from 0
        largest = (drawn / scale).max(axis=1)
        return two_sided(float(np.quantile(largest, level)))
    few = alpha / m**2  # so small that its adjusted p is below 1
    return alpha * few / float(_ADJUST[adjust](np.append(few, np.ones(m - 1)))[0])


def adjust_defined(p: Floats, adjust: Adjustment) -> Floats:
    """Adjusted p; NaN where p is undefined."""
    adjusted, defined = np.full(len(p), np.nan), ~np.isnan(p)
    adjusted[defined] = _ADJUST[adjust](p[defined])
    return adjusted


def doubts(differences: pl.DataFrame, resamples: int, level: float) -> list[str]:
    """Lines about differences that cannot be significant, and about verdicts that another seed may turn round."""
    alpha = round(1 - level, 12)
    metrics_of: dict[str, list[str]] = {}
    for (metric,), rows in differences.drop_nulls("p").group_by("metric", maintain_order=True):
        p = "p" if rows["adjustment"][0] == "none" else "adjusted p"
        cannot = rows.filter(pl.col("significant").is_null())
        later, never = cannot.drop_nulls("resamples_needed"), cannot.filter(pl.col("resamples_needed").is_null())
        clauses = []
        if later.height:
            of, least = (f" of {pairs_text(later)}", later) if cannot.height < rows.height else ("", cannot)
            clauses.append(
                f"with {resamples:,} resamples and {number_of(rows.height, 'difference')} no {p}{of} can be below "
                f"{_above(min(least['p_smallest']), alpha)}; --resamples {max(later['resamples_needed'])} or more can "
                f"reach {alpha:g}"
            )
        if never.height:
            clauses.append(
                f"with any number of resamples no {p} can reach {alpha:g} where so few dialogues differ: "
                f"{pairs_text(never, 'discordant')}"
            )
        if (close := rows.filter("may_flip")).height:
            drawn = max(close["resamples"])
            clauses.append(
                f"p is so close to {alpha:g} that another --seed may give the other verdict, even with {drawn:,} "
                f"resamples: {pairs_text(close)}; `compare --resamples {10 * drawn}` says more"
            )
        for clause in clauses:
            metrics_of.setdefault(clause, []).append(str(metric))
    return [f"{', '.join(metrics)}: {clause}" for clause, metrics in metrics_of.items()]


def pairs_text(rows: pl.DataFrame, beside: str | None = None) -> str:
    """The names of pairs of runs, or of the first pairs if there are many."""
    pairs = [f"{run} and {other}" for run, other in rows.head(_MOST_PAIRS).select("run", "other").iter_rows()]
    if beside is not None:
        pairs = [f"{pair} ({number})" for pair, number in zip(pairs, rows[beside], strict=False)]
    return "; ".join(pairs) + (f", and {rows.height - _MOST_PAIRS} more" if rows.height > _MOST_PAIRS else "")


def _above(p: float, alpha: float) -> str:
    """A p that is above a level, with enough digits to show that."""
    return next((text for digits in range(3, 18) if float(text := f"{p:.{digits}g}") > alpha), str(p))
