"""Pearson correlations, their intervals, and the difference of two of them.

The formulas are those that Diedenhofen & Musch (2015) collect in the R package cocor, under its names. All p are
two-sided. n is the number of independent units: dialogues, as the turns of a dialogue are not independent. Ten tests of
one difference are ten chances to reject: prefer Zou's interval, or choose a test before you look at results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import atanh, isfinite, nextafter, sqrt, tanh
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dstbench.errors import UsageError
from dstbench.schema.record import Shown
from dstbench.stats.normal import critical, two_sided

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: With fewer independent units, a correlation has no interval and no test.
LEAST: Final = 4
_BELOW_1: Final = nextafter(1, 0)  # the largest correlation between two estimates, as the tests divide by 1 less it
_LEAST_EIGENVALUE: Final = 1e-12  # smaller ones count as 0, from which a computed one may differ


@dataclass(frozen=True)
class Outcome(Shown):
    """The outcome of a test.

    Attributes:
        statistic: The test statistic.
        df: Degrees of freedom of its t distribution; None: it is normally distributed.
        p: Two-sided p.
        interval: Confidence interval of the difference of Fisher's z; only Meng's test has one.
    """

    statistic: float
    df: int | None
    p: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Comparison(Shown):
    """The difference of two correlations.

    Attributes:
        difference: The first minus the second.
        zou: Confidence interval of the difference (Zou 2007), on the scale of r.
        tests: The classical tests, by cocor's names.
        level: Confidence level of the intervals.
    """

    difference: float
    zou: tuple[float, float]
    tests: Mapping[str, Outcome]
    level: float


def compare_overlapping(r_jk: float, r_jh: float, r_kh: float, n: int, *, level: float = 0.95) -> Comparison:
    """Compare two correlations of one sample that share the variable j: r_jk minus r_jh.

    Args:
        r_jk: The first correlation.
        r_jh: The second.
        r_kh: The correlation of the two variables that are not shared.
        n: Independent units in the sample; four or more.
        level: Confidence level of the intervals.

    >>> comparison = compare_overlapping(0.59, 0.40, 0.69, 1344)
    >>> [round(limit, 4) for limit in comparison.zou], round(comparison.tests["williams1959"].statistic, 4)
    ([0.1543, 0.2266], 10.887)
    """
    _check(n, r_jk=r_jk, r_jh=r_jh, r_kh=r_kh)
    _check_together([[1, r_jk, r_jh], [r_jk, 1, r_kh], [r_jh, r_kh, 1]])
    r1, r2, r3 = float(r_jk), float(r_jh), float(r_kh)
    squares, d = r1**2 + r2**2, r1 - r2
    determinant = 1 + 2 * r1 * r2 * r3 - r1**2 - r2**2 - r3**2
    unshared = (1 - r1**2) ** 2 + (1 - r2**2) ** 2
    olkin = unshared - 2 * r3**3 - (2 * r3 - r1 * r2) * (1 - r1**2 - r2**2 - r3**2)
    williams = 2 * (n - 1) / (n - 3) * determinant + ((r1 + r2) / 2) ** 2 * (1 - r3) ** 3
    hendrickson = 2 * determinant + d**2 * (1 - r3) ** 3 / (4 * (n - 1))
    f = min(1, (1 - r3) / (2 - squares))
    meng = sqrt(2 * (1 - r3) * (1 - f * squares / 2) / (1 - squares / 2) / (n - 3))
    z, reach = atanh(r1) - atanh(r2), critical(level) * meng

    def twice_covariance(r1: float, r2: float) -> float:
        return 2 * (r3 * (1 - r1**2 - r2**2) - r1 * r2 * (1 - r1**2 - r2**2 - r3**2) / 2)

    tests = {
        "hotelling1940": _t(d * sqrt((n - 3) * (1 + r3) / (2 * determinant)), n - 3),
        "williams1959": _t(d * sqrt((n - 1) * (1 + r3) / williams), n - 3),
        "olkin1967": _normal(sqrt(n) * d / sqrt(olkin)),
        "hendrickson1970": _t(d * sqrt((n - 3) * (1 + r3) / hendrickson), n - 3),
        "meng1992": _normal(z / meng, (z - reach, z + reach)),
    }
    return _compared(r1, r2, n, twice_covariance, "hittner2003", tests, level)


def compare_nonoverlapping(
    r_jk: float, r_hm: float, r_jh: float, r_jm: float, r_kh: float, r_km: float, n: int, *, level: float = 0.95
) -> Comparison:
    """Compare two correlations of one sample that share no variable: r_jk minus r_hm.

    Args:
        r_jk: The first correlation.
        r_hm: The second.
        r_jh: The correlation of j and h.
        r_jm: The correlation of j and m.
        r_kh: The correlation of k and h.
        r_km: The correlation of k and m.
        n: Independent units in the sample; four or more.
        level: Confidence level of the interval.

    >>> round(compare_nonoverlapping(0.3, 0.4, 0.5, 0.8, 0.6, 0.7, 100).tests["steiger1980"].statistic, 4)
    -1.0744
    """
    _check(n, r_jk=r_jk, r_hm=r_hm, r_jh=r_jh, r_jm=r_jm, r_kh=r_kh, r_km=r_km)
    _check_together([[1, r_jk, r_jh, r_jm], [r_jk, 1, r_kh, r_km], [r_jh, r_kh, 1, r_hm], [r_jm, r_km, r_hm, 1]])

    def twice_covariance(r_jk: float, r_hm: float) -> float:
        return (
            (r_jh - r_jk * r_kh) * (r_km - r_kh * r_hm)
            + (r_jm - r_jh * r_hm) * (r_kh - r_jk * r_jh)
            + (r_jh - r_jm * r_hm) * (r_km - r_jk * r_jm)
            + (r_jm - r_jk * r_km) * (r_kh - r_km * r_hm)
        )

    r1, r2 = float(r_jk), float(r_hm)
    c = _correlation(r1, r2, twice_covariance)
    tests = {"raghunathan1996": _normal(sqrt((n - 3) / 2) * (atanh(r1) - atanh(r2)) / sqrt(1 - c))}
    return _compared(r1, r2, n, twice_covariance, "silver2004", tests, level)


def compare_independent(r1: float, n1: int, r2: float, n2: int, *, level: float = 0.95) -> Comparison:
    """Compare the correlations of two samples: r1 minus r2.

    Args:
        r1: The first correlation.
        n1: Independent units in its sample; four or more.
        r2: The second.
        n2: Independent units in its sample.
        level: Confidence level of the interval.

    >>> round(compare_independent(0.4, 100, 0.5, 100).tests["fisher1925"].statistic, 6)
    -0.875101
    """
    _check(n1, r1=r1)
    _check(n2, r2=r2)
    z = atanh(r1) - atanh(r2)
    return Comparison(
        difference=float(r1 - r2),
        zou=_zou(float(r1), n1, float(r2), n2, 0, level),
        tests={"fisher1925": _normal(z / sqrt(1 / (n1 - 3) + 1 / (n2 - 3)))},
        level=level,
    )


def interval(r: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """The confidence interval of a correlation by Fisher's z; for ±1, that point.

    Args:
        r: The correlation.
        n: Independent units in the sample; four or more.
        level: Confidence level.

    Returns:
        Its lower and upper end.

    >>> [round(limit, 4) for limit in interval(0.5, 103)]
    [0.3393, 0.6323]
    """
    reach = critical(level)
    if abs(r) == 1:
        _check(n)
        return float(r), float(r)
    _check(n, r=r)
    reach /= sqrt(n - 3)
    return tanh(atanh(r) - reach), tanh(atanh(r) + reach)


def pearson(x: ArrayLike, y: ArrayLike) -> tuple[float, int]:
    """The correlation of two columns over the rows in which both are defined.

    Args:
        x: Numbers; NaN where undefined.
        y: As many numbers.

    Returns:
        r, NaN if a column does not vary; and the number of rows in which both are defined.

    Raises:
        UsageError: The columns have different lengths.

    >>> pearson([1, 2, float("nan"), 4], [2, 4, 5, 8])
    (1.0, 3)
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise UsageError(f"columns of shape {a.shape} and {b.shape} cannot be correlated")
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    # The mean of equal numbers can differ from them in its last bits, so check for constant columns before centring.
    if len(a) < 2 or a.min() == a.max() or b.min() == b.max():
        return float("nan"), len(a)
    a, b = a - a.mean(), b - b.mean()
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    r = float(np.sum(a * b) / sqrt(float(np.sum(a * a)) * float(np.sum(b * b))))
    return max(-1.0, min(1.0, r)), len(a)


def _check(n: float, **correlations: float) -> None:
    if not (isfinite(n) and n >= LEAST and n == int(n)):
        raise UsageError(f"n = {n} is not a whole number of at least {LEAST} units")
    for name, r in correlations.items():
        if not -1 < r < 1:
            raise UsageError(f"{name} = {r} is not between -1 and 1", hint="a correlation of ±1 cannot be compared")


def _check_together(correlations: Sequence[Sequence[Any]]) -> None:
    if np.linalg.eigvalsh(np.array(correlations, np.float64))[0] < _LEAST_EIGENVALUE:
        raise UsageError(
            f"no {len(correlations)} variables have these correlations (their matrix is not positive definite)",
            hint="compute all of them over the same units: leave out units in which any variable is undefined",
        )


def _normal(statistic: float, limits: tuple[float, float] | None = None) -> Outcome:
    return Outcome(statistic, None, two_sided(statistic), limits)


def _t(statistic: float, df: int) -> Outcome:
    return Outcome(statistic, df, two_sided(statistic, df))


def _correlation(r1: float, r2: float, twice_covariance: Callable[[float, float], float]) -> float:
    """The correlation between the estimates of two correlations; `twice_covariance` is theirs, times n."""
    return min(twice_covariance(r1, r2) / (2 * (1 - r1**2) * (1 - r2**2)), _BELOW_1)


def _compared(
    r1: float, r2: float, n: int, twice_covariance: Callable[[float, float], float], by_back_transformed: str,
    tests: Mapping[str, Outcome], level: float,
) -> Comparison:  # fmt: skip
    """Two correlations of one sample, with more tests: the interval, and what is tested alike with and without overlap.

    `by_back_transformed` is the name of the test of z that takes the covariance at the mean z.
    """
    d, z = r1 - r2, atanh(r1) - atanh(r2)
    middle, back = (r1 + r2) / 2, tanh((atanh(r1) + atanh(r2)) / 2)
    at = {"dunn1969": (r1, r2), "steiger1980": (middle, middle), by_back_transformed: (back, back)}
    of_z = {name: _correlation(*pair, twice_covariance) for name, pair in at.items()}
    variance = (1 - r1**2) ** 2 + (1 - r2**2) ** 2 - twice_covariance(r1, r2)
    pearson = {"pearson1898": _normal(sqrt(n) * d / sqrt(variance))}
    by_z = {name: _normal(z * sqrt(n - 3) / sqrt(2 - 2 * c)) for name, c in of_z.items()}
    by_year = dict(sorted({**pearson, **tests, **by_z}.items(), key=lambda test: test[0][-4:]))
    return Comparison(d, _zou(r1, n, r2, n, of_z["dunn1969"], level), by_year, level)


def _zou(r1: float, n1: int, r2: float, n2: int, c: float, level: float) -> tuple[float, float]:
    return limits_of_difference((r1, r2), (interval(r1, n1, level), interval(r2, n2, level)), c)


def limits_of_difference(
    r: tuple[float, float], limits: tuple[tuple[float, float], tuple[float, float]], c: float
) -> tuple[float, float]:
    """Zou's (2007) interval of a difference of two estimates r, from the interval of each, and their correlation c."""
    (r1, r2), ((l1, u1), (l2, u2)) = r, limits

    def reach(one: float, other: float) -> float:
        return sqrt(max(one**2 + other**2 - 2 * c * one * other, 0))

    return r1 - r2 - reach(r1 - l1, u2 - r2), r1 - r2 + reach(u1 - r1, r2 - l2)
