"""Tables of text: as wide as a page if possible, nothing lost or broken; runs by short names, and nothing else."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench.rendering.tables import renamed, signature_lines
from dstbench.rendering.terminal import Screen, laid_out_for
from dstbench.rendering.text_tables import text_table
from dstbench.runs.open import short_names

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


WIDE = pl.DataFrame({"run": ["a", "b"], **{f"number{n}": ["10.00 ± 1.00", "2.00 ± 0.50"] for n in range(9)}})


def test_standard_errors_go_below_their_numbers_where_there_is_not_enough_room() -> None:
    with laid_out_for(Screen(120)):
        lines = text_table(WIDE).splitlines()
    assert [line.split() for line in lines[2:4]] == [["a", *["10.00"] * 9], ["±", "1.00"] * 9]


def test_rows_become_lists_where_all_columns_are_asked_for_and_do_not_fit() -> None:
    with laid_out_for(Screen(50, everything=True)):
        rows = text_table(WIDE).strip("\n").split("\n\n")
    assert [row.splitlines()[:2] for row in rows] == [
        [" run       a", " number0   10.00 ± 1.00"], [" run       b", " number0   2.00 ± 0.50"]
    ]  # fmt: skip


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


# --- names of runs ---------------------------------------------------------------------------------------------------

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
