"""Which differences of runs are significant, which cannot be, and which verdicts hang on the seed.

Conventions: a difference counts as not tested, whatever its p, if its smallest possible adjusted p is above 1 − level:
`significant` is then null. This happens with few resamples for many differences, and if runs differ in few dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench.arrays import Floats
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
from dstbench.stats.adjust import at_most
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
    defined = [null for null in nulls if not np.isnan(null.observed)]
    columns = _columns_of_verdicts(defined, adjust, level) if defined else {}
    rows = iter(pl.DataFrame(columns).to_dicts())
    same = {"adjustment": adjust, "m": len(defined)}
    undefined = {"may_flip": False}
    return [
        {"resamples": len(null.resampled), **(undefined if np.isnan(null.observed) else next(rows)), **same}
        for null in nulls
    ]


def _columns_of_verdicts(nulls: Sequence[Null], adjust: Adjustment, level: float) -> dict[str, Any]:
    alpha, adjusting = 1 - level, _ADJUST[adjust]
    p, bounds = (np.array(column) for column in zip(*((null.p(), null.bound) for null in nulls), strict=True))
    resamples = np.array([len(null.resampled) for null in nulls])
    own_smallest = smallest_p(bounds, resamples)
    smallest = adjusting(own_smallest)

    def reach(p: Floats) -> Floats:
        return np.asarray(_SAFE * np.sqrt(p * (1 - p) / resamples))

    low, high = np.clip(p - reach(p), bounds, 1), np.clip(p + reach(p), bounds, 1)
    adjusted, lowest, highest = (adjusting(each) for each in (p, low, high))
    if adjust == "max-t":
        observed, tolerances = ([getattr(null, name) for null in nulls] for name in ("observed", "tolerance"))
        by_largest = max_t(observed, np.stack([null.resampled for null in nulls], axis=1), tolerances)
        adjusted = np.maximum(by_largest, p)  # p may have a bound, below which no adjusted p is
        lowest = np.maximum(adjusted - reach(adjusted), low)
        highest = np.minimum(adjusted + reach(adjusted), 1)
    testable = at_most(smallest, alpha)
    may_flip = at_most(own_smallest, alpha) & at_most(low, alpha) & ~at_most(high, alpha)
    return {
        "p": p,
        "p_adjusted": adjusted,
        "significant": np.where(testable, at_most(adjusted, alpha), np.full(len(p), None)).tolist(),
        "p_smallest": smallest,
        "resamples_needed": resamples_needed(bounds, alpha, adjusting),
        "may_flip": may_flip | (testable & at_most(lowest, alpha) & ~at_most(highest, alpha)),
    }


def judge_models(
    spreads: Sequence[Spread | None], differences: Floats, adjust: Adjustment, level: float
) -> list[dict[str, Any]]:
    """The same for differences of models, whose p need no resamples; None: one of them has too few seeds."""
    p = np.array([np.nan if of is None else of.p(size) for of, size in zip(spreads, differences, strict=True)])
    adjusted, m = adjust_defined(p, adjust), int((~np.isnan(p)).sum())
    return [
        {"p": own, "p_adjusted": of_all, "significant": None if np.isnan(own) else bool(at_most(of_all, 1 - level)),
         "may_flip": False, "adjustment": adjust, "m": m}
        for own, of_all in zip(p.tolist(), adjusted.tolist(), strict=True)
    ]  # fmt: skip


def strictest_level(nulls: Sequence[Null], m: int, adjust: Adjustment, level: float) -> float:
    """The level that one of m differences meets if no other is significant: the strictest of its test."""
    alpha = 1 - level
    if adjust == "max-t":
        drawn = np.abs(np.stack([null.resampled for null in nulls], axis=1))
        scale = np.sqrt((drawn**2).mean(axis=0))
        scale[scale == 0] = 1  # no resample differs from 0
        return two_sided(float(np.quantile((drawn / scale).max(axis=1), level)))
    few = alpha / m**2  # so small that its adjusted p is below 1
    return alpha * few / float(_ADJUST[adjust](np.append(few, np.ones(m - 1)))[0])


def adjust_defined(p: Floats, adjust: Adjustment) -> Floats:
    """Adjusted p; NaN where p is undefined."""
    adjusted, defined = np.full(len(p), np.nan), ~np.isnan(p)
    adjusted[defined] = _ADJUST[adjust](p[defined])
    return adjusted


def doubts(differences: pl.DataFrame, resamples: int, level: float) -> list[str]:
    """Lines about differences that cannot be significant, and about verdicts that another seed may turn round."""
    alpha = f"{1 - level:g}"
    metrics_of: dict[str, list[str]] = {}
    for (metric,), rows in differences.drop_nulls("p").group_by("metric", maintain_order=True):
        p = "p" if rows["adjustment"][0] == "none" else "adjusted p"
        needed = pl.col("resamples_needed")
        later, never = (rows.filter(pl.col("significant").is_null(), of) for of in (needed > 0, needed.is_null()))
        clauses = []
        if later.height:
            no = f"no {p} of {pairs_text(later)}" if later.height < rows.height else f"no {p}"
            clauses.append(
                f"with {resamples:,} resamples and {number_of(rows.height, 'difference')} {no} can reach {alpha}; "
                f"--resamples {max(later['resamples_needed'])} or more can"
            )
        if never.height:
            no = f"with any number of resamples no {p} can reach {alpha} where so few dialogues differ"
            clauses.append(f"{no}: {pairs_text(never, 'discordant')}")
        for clause in clauses:
            metrics_of.setdefault(clause, []).append(str(metric))
    if (close := differences.filter("may_flip")).height:
        drawn, metrics = max(close["resamples"]), close["metric"].unique(maintain_order=True).to_list()
        which = pairs_text(close) if len(metrics) == 1 else number_of(close.height, "difference")
        clause = f"p is so close to {alpha} that another --seed may give the other verdict, even with {drawn:,}"
        metrics_of[f"{clause} resamples: {which}; `compare --resamples {10 * drawn}` says more"] = metrics
    return [f"{', '.join(metrics)}: {clause}" for clause, metrics in metrics_of.items()]


def pairs_text(rows: pl.DataFrame, beside: str | None = None) -> str:
    """The names of pairs of runs, or of the first pairs if there are many; perhaps with a number beside each."""
    texts = pl.format(
        "{} and {}" if beside is None else "{} and {} ({})", "run", "other", *([beside] if beside else [])
    )
    more = f", and {rows.height - _MOST_PAIRS} more" if rows.height > _MOST_PAIRS else ""
    return "; ".join(rows.head(_MOST_PAIRS).select(texts).to_series()) + more
