"""Standard errors from influences: their degrees of freedom, intervals of shares and counts, and models of seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.arrays import Floats
from dstbench.stats import Spread, influences, jackknife_se, spread, spread_over_seeds, wilson


def test_a_score_that_is_no_ratio_has_the_jackknifes_error() -> None:
    sums = np.random.default_rng(1).integers(1, 9, size=(2, 400, 3)).astype(float)

    def score(s: Floats) -> Floats:
        means: Floats = np.sqrt(s[:, 0] * s[:, 1]) / s[:, 2]
        return means

    for run, of_dialogues in zip(sums, influences(score, sums), strict=True):
        assert of_dialogues.sum() == pytest.approx(0, abs=1e-9)
        assert spread(of_dialogues).se == pytest.approx(jackknife_se(score(run.sum(axis=0) - run)), rel=0.01)


def test_what_is_undefined_or_alike_has_no_error() -> None:
    sums = np.stack([np.zeros((5, 2)), np.full((5, 2), 3.0)])
    undefined, alike = influences(lambda s: s[:, 0] / s[:, 1], sums)
    assert np.isnan(spread(undefined).se)
    assert spread(alike) == Spread(0, 4)
    for of, share, limits in ((spread(undefined), 0.5, None), (spread(alike), 1.0, wilson(1, 5, df=4))):
        assert of.limits_of_share(share, 5, 0.95) == limits
        assert of.limits(share, 0.95) is None
        assert of.limits_of_count(3, 0.95) is None
        assert np.isnan(of.p(0.1))


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.2), st.floats(1, 500), st.floats(0.5, 0.999))
def test_the_interval_of_a_share_is_of_its_effective_number(share: float, se: float, df: float, level: float) -> None:
    low, high = Spread(se, df).limits_of_share(share, 100, level) or (np.nan, np.nan)
    assert (low, high) == wilson(share, share * (1 - share) / se**2, level=level, df=df)
    assert 0 <= low < share < high <= 1
    # A count is a share of very many.
    of_count = Spread(se * 1e9, df).limits_of_count(share * 1e-3 * 1e9, level)
    of_share = Spread(se, df).limits_of_share(share * 1e-3, 100, level)
    assert of_count is not None
    assert of_share is not None
    assert of_count[0] == pytest.approx(of_share[0] * 1e9, rel=0.01, abs=1)


@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 99))
def test_models_whose_dialogues_are_alike_are_compared_by_welchs_test(one: int, other: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = [rng.random(one), rng.random(other)]
    found = spread_over_seeds(scores, [np.zeros((one, 9)), np.zeros((other, 9))])
    theirs = reference.ttest_ind(*scores, equal_var=False)
    difference = float(scores[0].mean() - scores[1].mean())
    assert found.p(difference) == pytest.approx(theirs.pvalue)
    assert difference / found.se == pytest.approx(theirs.statistic)


def test_what_dialogues_share_among_seeds_adds_to_the_variance() -> None:
    rng = np.random.default_rng(5)
    shared, own = rng.normal(0, 0.01, 200), rng.normal(0, 0.01, (4, 200))
    scores = rng.normal(0.5, 0.02, 4)
    of_seeds = shared + own
    of_seeds = of_seeds - of_seeds.mean(axis=1, keepdims=True)
    found = spread_over_seeds([scores], [of_seeds])
    expected = scores.var(ddof=1) / 4 + 200 * 0.01**2
    assert found.se**2 == pytest.approx(expected, rel=0.2)
    assert found.se > spread_over_seeds([scores], [np.zeros((4, 200))]).se
    with pytest.raises(dstbench.UsageError, match="single seed"):
        spread_over_seeds([scores[:1]], [of_seeds[:1]])
    assert spread_over_seeds([np.ones(3)], [np.zeros((3, 9))]).se == 0
    turned = np.array([[0.2, -0.1, -0.1], [-0.1, 0.2, -0.1], [-0.1, -0.1, 0.2]])  # seeds wrong in other dialogues
    assert np.isnan(spread_over_seeds([np.ones(3)], [turned]).se)
