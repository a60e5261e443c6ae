"""The number of each run, from names and tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstbench.analysis.user_tables import numbers_along
from dstbench.errors import DstbenchError


@pytest.mark.parametrize(
    ("along", "names", "numbers"),
    [
        ("share", ["ratio_0.01_seed_557", "ratio_1.0_seed_557"], [0.01, 1.0]),
        ("seed", ["ratio_0.01_seed_1", "ratio_0.5_seed_22"], [1, 22]),  # the number after the word
        ("share", ["m1-share10", "m2-Share20"], [10, 20]),  # or directly after it
        ("size", ["t5-220M", "t5-3B"], [2.2e8, 3e9]),
        ("share", ["bert_5%", "bert_10%"], [0.05, 0.1]),
        ("share", ["t5_0.1_a", "t5_0.1_b", "t5_0.2_a"], [0.1, 0.1, 0.2]),  # ties
        ("n", ["run2.1 60k", "run2.1 7k"], [60_000, 7_000]),
    ],
)
def test_numbers_in_names(along: str, names: list[str], numbers: list[float]) -> None:
    assert numbers_along(along, names)[1] == pytest.approx(dict(zip(names, numbers, strict=True)))


@pytest.mark.parametrize("names", [["a", "b_1"], ["a_1_2", "b_2_3"], ["a_1", "b_1_2"], ["a_1", "b_1"]])
def test_names_that_leave_it_open_are_refused(names: list[str]) -> None:
    with pytest.raises(DstbenchError, match="number"):
        numbers_along("share", names)


def test_a_table_gives_the_numbers(here: Path) -> None:
    def of(*rows: str) -> str:
        Path("table.csv").write_text("\n".join(["run,share", *rows]))
        return "share=table.csv"

    assert numbers_along(of("b,0.5", "a,0.25", "c,1"), ["a", "b"]) == ("share", {"a": 0.25, "b": 0.5})
    with pytest.raises(DstbenchError, match="no share for d"):
        numbers_along(of("a,1"), ["a", "d"])
    with pytest.raises(DstbenchError, match="not a number"):
        numbers_along(of("a,much"), ["a"])
    with pytest.raises(DstbenchError, match="two numbers for a"):
        numbers_along(of("a,1", "a,2"), ["a"])
