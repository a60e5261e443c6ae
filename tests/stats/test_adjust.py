"""p of several hypotheses: by hand, by scipy, and laws."""

from __future__ import annotations

import statistics
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

import dstbench
from dstbench.analysis.compare import judge
from dstbench.stats import (
    Null,
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni,
    hochberg,
    holm,
    max_t,
)
from dstbench.typing import Adjustment

ALL = (bonferroni, holm, hochberg, benjamini_hochberg, benjamini_yekutieli)
several = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0])), max_size=12)


def test_by_hand() -> None:
    p = [0.04, 0.01, 0.02, 0.03]
    assert bonferroni(p).tolist() == pytest.approx([0.16, 0.04, 0.08, 0.12])
    assert holm(p).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])  # 4·.01, 3·.02, 2·.03, 1·.04
    assert hochberg(p).tolist() == pytest.approx([0.04, 0.04, 0.04, 0.04])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.04] * 4)
    assert benjamini_yekutieli(p).tolist() == pytest.approx([0.04 * 25 / 12] * 4)
    p = [0.5, 0.001, 0.02]
    assert bonferroni(p).tolist() == pytest.approx([1, 0.003, 0.06])
    assert holm(p).tolist() == pytest.approx([0.5, 0.003, 0.04])
    assert benjamini_hochberg(p).tolist() == pytest.approx([0.5, 0.003, 0.03])


@given(several)
def test_benjaminis_are_scipys(p: list[float]) -> None:
    if p:
        assert benjamini_hochberg(p) == pytest.approx(reference.false_discovery_control(p))
        assert benjamini_yekutieli(p) == pytest.approx(reference.false_discovery_control(p, method="by"))


@pytest.mark.parametrize("p", [[-0.1], [1.1], [float("nan")], [[0.5]], 0.5])
def test_what_is_no_p_is_refused(p: list[float]) -> None:
    for adjust in ALL:
        with pytest.raises(dstbench.UsageError, match="from 0 to 1"):
            adjust(p)


def test_max_t_by_hand() -> None:
    resampled = [[1, 2], [-1, 4], [1, 0], [-1, 0], [1, 0], [-1, 2], [1, 4], [-1, 0]]
    assert np.sqrt(np.mean(np.square(resampled), axis=0)) == pytest.approx([1, np.sqrt(5)])
    # In units of those, the first is 2, which none of the largest reaches (4/√5 = 1.79); the second is 3.8/√5, which
    # two of its own reach.
    assert max_t([2, 3.8], resampled).tolist() == pytest.approx([1 / 9, 3 / 9])
    # Tied but for the last bits.
    assert max_t([2, 4 + 1e-12], resampled).tolist() == pytest.approx([1 / 9, 1 / 9])
    assert max_t([2, 4 + 1e-12], resampled, [0, 1e-9]).tolist() == pytest.approx([1 / 9, 3 / 9])


@given(st.integers(0, 1000), st.integers(1, 6))
def test_max_t_is_its_definition_and_never_below_single_p(seed: int, hypotheses: int) -> None:
    rng = np.random.default_rng(seed)
    resampled = rng.standard_normal((199, hypotheses)) + rng.standard_normal((199, 1))
    resampled[rng.random(resampled.shape) < 0.01 * (seed % 3)] = np.nan  # counts as extreme
    observed = rng.standard_normal(hypotheses) * 3
    alone = (1 + (~(np.abs(resampled) < np.abs(observed))).sum(axis=0)) / 200
    found = max_t(observed, resampled)
    assert (found >= alone - 1e-12).all()
    scale = [statistics.fmean(float(t) ** 2 for t in column if not np.isnan(t)) ** 0.5 for column in resampled.T]
    sizes = {j: abs(float(observed[j])) / scale[j] for j in range(hypotheses)}
    reached = 0.0
    for j in sorted(sizes, key=lambda j: -sizes[j]):  # the largest is compared with all, the last with itself only
        left = [i for i in sizes if sizes[i] <= sizes[j]]
        extreme = [row for row in resampled if any(not abs(row[i]) / scale[i] < sizes[j] for i in left)]
        reached = max(reached, (1 + len(extreme)) / 200)
        assert found[j] == pytest.approx(reached)
    if hypotheses == 1:
        assert found == pytest.approx(alone)
    same = max_t(np.repeat(observed[:1], 5), np.repeat(resampled[:, :1], 5, axis=1))
    assert same == pytest.approx(alone[:1].repeat(5))  # one hypothesis said five times costs nothing
    scaled = max_t(observed * np.arange(1, hypotheses + 1), resampled * np.arange(1, hypotheses + 1))
    assert scaled == pytest.approx(found)


# --- what can be significant at all ----------------------------------------------------------------------------------

ADJUSTMENTS = get_args(Adjustment)
levels = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])
#: How many dialogues of each pair of runs differ; None: the test has no such bound.
discordant = st.lists(st.one_of(st.none(), st.integers(0, 14)), min_size=1, max_size=8)


def extreme(counts: list[int | None], resamples: int) -> list[Null]:
    """Differences that no resample reaches: there are no smaller p."""
    return [
        Null(float(2 + number), np.zeros(resamples), 0.0, 0.0 if k is None else min(1.0, 2.0 ** (1 - k)))
        for number, k in enumerate(counts)
    ]


@given(discordant, st.sampled_from(ADJUSTMENTS), levels)
def test_the_resamples_that_are_named_suffice_and_one_less_does_not(
    counts: list[int | None], adjust: Adjustment, level: float
) -> None:
    named = [row["resamples_needed"] for row in judge(extreme(counts, 1), adjust, level)]
    for number, needed in enumerate(named):
        if needed is None:  # ten thousand are not enough either
            assert judge(extreme(counts, 10**4), adjust, level)[number]["significant"] is None
        else:
            assert judge(extreme(counts, needed), adjust, level)[number]["significant"]
            assert needed == 1 or judge(extreme(counts, needed - 1), adjust, level)[number]["significant"] is None
