"""Tables of text: as wide as a page if that is possible, and nothing is lost or broken."""

from __future__ import annotations

import re

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dstbench.rendering.text_tables import text_table

PAGE = 100
NUMBERS = ("7", "94 (23.5)", "0.25", "-")
COLUMNS = st.integers(1, 6).flatmap(
    lambda height: st.lists(
        st.one_of(
            st.lists(st.sampled_from(NUMBERS), min_size=height, max_size=height),
            st.lists(
                st.lists(st.text("xyz", min_size=1, max_size=24), min_size=1, max_size=30).map(" ".join),
                min_size=height,
                max_size=height,
            ),
        ),
        min_size=1,
        max_size=5,
    )
)


@given(COLUMNS)
def test_long_texts_are_wrapped_and_no_word_is_broken(columns: list[list[str]]) -> None:
    table = pl.DataFrame({f"column{number}": column for number, column in enumerate(columns)})
    lines = text_table(table).splitlines()
    assert sorted(" ".join(lines).split()) == sorted(
        [*" ".join([*table.columns, *(cell for column in columns for cell in column)]).split(), rule(lines)]
    )
    of_texts = sum(column[0] not in NUMBERS for column in columns)
    if 24 * of_texts + 9 * (len(columns) - of_texts) + 3 * len(columns) < PAGE:
        assert max(map(len, lines)) <= PAGE


def rule(lines: list[str]) -> str:
    (line,) = (line for line in lines if re.fullmatch(" -+", line) and len(line) > 3)
    return line.strip()


def test_a_table_that_is_narrow_enough_or_can_never_be_is_left_alone() -> None:
    text = "a text of thirty-five characters, or"
    narrow = pl.DataFrame({"one": [text], "other": [text]})
    assert text_table(narrow).count(text) == 2
    wide = pl.DataFrame({"name": [text], "word": ["w" * 59], **{f"number {n}": ["1.25"] for n in range(9)}})
    assert text in text_table(wide)
