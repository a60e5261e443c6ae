"""Kappa: textbook values, definitions as loops, and where it is undefined."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench.errors import UsageError
from dstbench.stats.agreement import Kappa, kappa

#: How many of 14 readers put each of 10 items into each of 5 categories: the worked example of the article on Fleiss'
#: kappa in Wikipedia (P̄ = 0.378, P̄e = 0.213, κ = 0.210).
FOURTEEN = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip
TABLES = st.integers(2, 4).flatmap(
    lambda readers: st.lists(st.lists(st.integers(0, 3), min_size=readers, max_size=readers), min_size=1, max_size=8)
)


def plainly(ratings: list[list[int]]) -> tuple[float, float | None]:
    """The observed agreement, and kappa; by loops over the definitions."""
    readers = len(ratings[0])
    pairs = [one == other for row in ratings for one, other in permutations(row, 2)]
    observed = sum(pairs) / len(pairs)
    categories = {category for row in ratings for category in row}
    if readers == 2:
        shares = [[sum(row[who] == c for row in ratings) / len(ratings) for who in (0, 1)] for c in categories]
        by_chance = sum(one * other for one, other in shares)
    else:
        by_chance = sum((sum(row.count(c) for row in ratings) / (len(ratings) * readers)) ** 2 for c in categories)
    return observed, None if by_chance == pytest.approx(1) else (observed - by_chance) / (1 - by_chance)


@given(ratings=TABLES)
def test_kappa_is_as_defined(ratings: list[list[int]]) -> None:
    observed, value = plainly(ratings)
    found = kappa(ratings, resamples=50)
    assert found.observed == pytest.approx(observed)
    assert found.kappa == (None if value is None else pytest.approx(value))
    assert found == kappa(ratings, resamples=50)
    if found.low is not None:
        assert found.high is not None
        assert found.low <= found.high


def test_where_it_is_undefined() -> None:
    assert kappa(np.zeros((0, 2))) == Kappa(None, None, None, None)
    assert kappa([[1, 1], [1, 1]]) == Kappa(1.0, None, None, None)
    assert kappa([[1, 1, 1]] * 3) == Kappa(1.0, None, None, None)
    one = kappa([[0, 1, 1], [1, 0, 0]], [4, 4])
    assert one.kappa is not None
    assert (one.low, one.high) == (None, None)
    with pytest.raises(UsageError, match="a row per item"):
        kappa([[1], [1]])
