"""Which differences of runs are significant, and which cannot be, with too few resamples or dialogues.

Conventions: a difference counts as not tested, whatever its p, if its smallest possible adjusted p is above 1 − level:
`significant` is then null. This happens with few resamples for many differences, and if runs differ in few dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench import stats
from dstbench.arrays import Floats
from dstbench.errors import number_of
from dstbench.stats.attainable import at_most
from dstbench.typing import Adjustment

if TYPE_CHECKING:
    from dstbench.stats import Null

_ADJUST: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "holm": stats.holm,
    "hochberg": stats.hochberg,
    "bh": stats.benjamini_hochberg,
    "by": stats.benjamini_yekutieli,
    "bonferroni": stats.bonferroni,
    "max-t": lambda p: p,  # its smallest p is that of a single difference, if no resample reaches it
    "none": lambda p: p,
}
# A line of text names at most this many pairs.
_MOST_PAIRS: Final = 5


def judge(nulls: Sequence[Null], adjust: Adjustment, level: float) -> list[dict[str, Any]]:
    """p-values of one metric's differences, adjusted for the number of defined differences, and their significance.

    Args:
        nulls: The differences, all with the same resamples.
        adjust: How p-values are adjusted.
        level: Confidence level; tests use 1 − level.

    Returns:
        For each difference, the columns `p` to `significant` of `schema.analysis.RUN_DIFFERENCES`.
    """
    p = np.array([null.p() for null in nulls])
    defined = ~np.isnan(p)
    chosen = [null for null in nulls if not np.isnan(null.observed)]
    bounds = np.array([null.bound for null in chosen])
    adjusted, smallest = np.full(len(p), np.nan), np.full(len(p), np.nan)
    needed: list[int | None] = [None] * len(p)
    if chosen:
        adjusted[defined] = _by_largest(chosen, p[defined]) if adjust == "max-t" else _ADJUST[adjust](p[defined])
        smallest[defined] = _ADJUST[adjust](stats.smallest_p(bounds, len(chosen[0].resampled)))
        enough = iter(stats.resamples_needed(bounds, 1 - level, _ADJUST[adjust]))
        needed = [next(enough) if one else None for one in defined]
    significant, testable = at_most(adjusted, 1 - level), at_most(smallest, 1 - level)
    columns = {
        "p": p.tolist(),
        "p_adjusted": adjusted.tolist(),
        "adjustment": [adjust] * len(p),
        "m": [len(chosen)] * len(p),
        "p_smallest": smallest.tolist(),
        "resamples_needed": needed,
        "significant": [bool(one) if can else None for one, can in zip(significant, testable, strict=True)],
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _by_largest(nulls: Sequence[Null], p: Floats) -> Floats:
    """p-values adjusted by `stats.max_t`, but never below the p of the difference alone, which may have a bound."""
    adjusted = stats.max_t(
        [null.observed for null in nulls],
        np.stack([null.resampled for null in nulls], axis=1),
        [null.tolerance for null in nulls],
    )
    return np.maximum(adjusted, p)


def untestable(differences: pl.DataFrame, resamples: int, level: float) -> list[str]:
    """Lines of text about differences that cannot be significant; none if all can.

    Args:
        differences: Rows of `schema.analysis.RUN_DIFFERENCES`.
        resamples: Number of resamples.
        level: Confidence level; tests use 1 − level.
    """
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
        for clause in clauses:
            metrics_of.setdefault(clause, []).append(str(metric))
    return [f"{', '.join(metrics)}: {clause}" for clause, metrics in metrics_of.items()]


def pairs_text(rows: pl.DataFrame, beside: str | None = None) -> str:
    """The names of pairs of runs, or of the first pairs if there are many.

    Args:
        rows: Rows of `schema.analysis.RUN_DIFFERENCES`.
        beside: A column whose value is shown beside each pair; None: none.
    """
    pairs = [f"{run} and {other}" for run, other in rows.head(_MOST_PAIRS).select("run", "other").iter_rows()]
    if beside is not None:
        pairs = [f"{pair} ({number})" for pair, number in zip(pairs, rows[beside], strict=False)]
    return "; ".join(pairs) + (f", and {rows.height - _MOST_PAIRS} more" if rows.height > _MOST_PAIRS else "")


def _above(p: float, alpha: float) -> str:
    """A p that is above a level, with enough digits to show that."""
    return next((text for digits in range(3, 18) if float(text := f"{p:.{digits}g}") > alpha), str(p))
