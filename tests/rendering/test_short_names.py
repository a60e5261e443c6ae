"""Names of runs in results: whole names are replaced, and nothing else that looks like them."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench.rendering.short_names import renamed
from dstbench.runs.open import short_names

WORDS = st.lists(st.sampled_from(["p", "q", "0.1", "a$1"]), min_size=1, max_size=4).map("_".join)


@given(st.lists(WORDS, min_size=2, max_size=5, unique=True))
def test_every_name_becomes_its_own_short_one(names: list[str]) -> None:
    """Also where a short name is another run's whole one."""
    short = short_names(names)
    assert len({*short.values()}) == len(names)
    wanted = [short[name] for name in names]
    assert renamed(pl.DataFrame({"run": names}), short)["run"].to_list() == wanted
    assert renamed("; ".join(names), short) == "; ".join(wanted)


@pytest.mark.parametrize("text", ["xrun_a", "run_ab", "out/run_a", "run_a.json", "run_a-2"])
def test_what_is_no_name_stays(text: str) -> None:
    assert renamed(f"{text}, run_a.", {"run_a": "a", "run_b": "b"}) == f"{text}, a."


def test_what_runs_are_about_stays() -> None:
    frame = pl.DataFrame({"run": ["hotel-area"], "slot": ["hotel-area"], "gold": ["hotel-area"]})
    assert renamed(frame, {"hotel-area": "area", "hotel-name": "name"}).row(0) == ("area", "hotel-area", "hotel-area")
