"""The normal distribution's tails and quantiles are SciPy's, though SciPy need not be loaded for them."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from dstbench.stats.normal import quantile, two_sided


def test_tails_and_quantiles_are_those_of_scipy() -> None:
    z = np.concatenate([np.linspace(-8, 8, 4001), np.linspace(-37, 37, 1001)])
    np.testing.assert_allclose([two_sided(x) for x in z], 2 * special.ndtr(-np.abs(z)), rtol=1e-12)
    share = np.concatenate([np.linspace(0, 1, 4001)[1:-1], 10.0 ** -np.arange(1, 300), 1 - 10.0 ** -np.arange(1, 16)])
    np.testing.assert_allclose([quantile(p) for p in share], special.ndtri(share), rtol=1e-14, atol=1e-15)


def test_ends_have_values() -> None:
    assert (quantile(0), quantile(1), quantile(0.5)) == (-math.inf, math.inf, 0)
    assert two_sided(math.inf) == 0
    assert math.isnan(two_sided(math.nan))
