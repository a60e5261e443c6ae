"""Tables of text: as wide as a page if that is possible, and nothing is lost or broken."""

from __future__ import annotations

import re

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dstbench.rendering.tables import signature_lines
from dstbench.rendering.terminal import Screen, laid_out_for
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


@given(COLUMNS, st.integers(40, 160), st.booleans(), st.sampled_from([1, 5]))
def test_in_a_terminal_no_line_is_too_long_and_columns_that_are_left_out_are_counted(
    columns: list[list[str]], width: int, wide: bool, copies: int
) -> None:
    table = pl.DataFrame({f"column{number}": column * copies for number, column in enumerate(columns)})
    with laid_out_for(Screen(width, everything=wide)):
        lines = text_table(table).splitlines()
    assert max(map(len, lines)) <= width
    left_out = [int(line.split()[0]) for line in lines if line.endswith("--all")]
    shown = set(re.findall(r"column\d", " ".join(lines)))
    assert sum(left_out) == len(columns) - len(shown)
    assert not (left_out and wide)


def full(line: str, first: str) -> str:
    """The whole signature of a line of `signature_lines`, whose first line is `first`."""
    text = line.partition(": ")[2]
    if not text.startswith("the same with "):
        return text
    parts = first.split("|")
    for own in text.removeprefix("the same with ").split("|"):
        key = own.partition(":")[0]
        at = next((n for n, part in enumerate(parts) if n and part.partition(":")[0] == key), 0)
        parts[at] = own
    return "|".join(parts)


@given(st.lists(st.tuples(st.sampled_from(["jga", "sa(T=3)"]), st.sampled_from("ab"), st.integers(1, 3)), min_size=1))
def test_every_runs_signature_can_be_put_together(runs: list[tuple[str, str, int]]) -> None:
    signed = [f"{head}|profile:verbatim.1|missing:error|gold:{gold}|d:{d}|t:9|v:1" for head, gold, d in runs]
    names = [f"run{number}" for number in range(len(runs))]
    lines = signature_lines(pl.DataFrame({"run": names, "metric": "jga", "signature": signed}))
    assert len(lines) == len(set(signed))
    first = lines[0].partition(": ")[2]
    if len(lines) > 1:
        told = {name: full(line, first) for line in lines for name in line[13:].partition(":")[0].split(", ")}
        assert told == dict(zip(names, signed, strict=True))
