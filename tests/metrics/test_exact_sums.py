"""Sums of ratios: exact, whatever their order, against fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dstbench.metrics.exact_sums import STEP, exact_sum, from_halves, from_parts, halves, in_steps

#: Ratios of counts, as metrics have them: each is a double of at least 2⁻⁹, or 0.
RATIOS = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 400)).map(lambda pair: min(pair) / max(pair)))


@given(RATIOS)
def test_ratios_add_up_exactly_in_any_order(ratios: list[float]) -> None:
    whole = float(sum(map(Fraction, ratios)))  # the nearest double to the true sum
    table = pl.DataFrame({"ratio": [*ratios, None]}, schema={"ratio": pl.Float64})
    for order in (table, table.reverse(), table.sort("ratio")):
        assert order.select(exact_sum(pl.col("ratio"))).item() == whole
    higher, lower = (int(half.sum()) for half in halves(np.array(ratios)))
    joined = pl.select(from_parts(from_halves(pl.lit(higher), pl.lit(lower)))).item()
    assert joined == whole


@given(RATIOS)
def test_sums_are_rounded_to_the_nearest_step(ratios: list[float]) -> None:
    higher, lower = (half.sum(keepdims=True) for half in halves(np.array(ratios)))
    steps = sum(map(Fraction, ratios)) / Fraction(STEP)
    assert in_steps(higher, lower).tolist() == [floor(steps + Fraction(1, 2))]


def test_two_billion_ratios_fit() -> None:
    higher, lower = halves(np.array([1.0, np.nextafter(1, 0)]))
    assert max(int(higher.max()), int(lower.max())) * 2**31 < 2**63
