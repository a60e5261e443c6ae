"""States that are written out as text: as JSON they are the same, or they are refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot
from dstbench.readers.state_cells import StateCells
from dstbench.readers.state_phrases import written_out
from dstbench.readers.state_text import Misfit

values = st.text(st.sampled_from("ab 3:',;|=-\n"), min_size=1, max_size=9).map(str.strip).filter(bool)
slots = st.sampled_from([*sorted(KNOWN_SLOTS), "Hotels_1-star_rating"])


@given(
    state=st.dictionaries(slots, values, min_size=1, max_size=4),
    separator=st.sampled_from(["; ", ", ", " | ", "\n", ",\n", "\n- "]),
    sign=st.sampled_from([" = ", "=", ": ", "-"]),
)
def test_a_text_says_what_was_written_or_nothing(state: dict[str, str], separator: str, sign: str) -> None:
    """No value loses or gains a part, whatever is in it: at worst the text is refused."""
    text = separator.join(f"{slot}{sign}{value}" for slot, value in state.items())
    pairs = written_out(text)
    is_simple = not any(set(value) & set(",;|=:\n'-") for value in state.values())
    if sign != "-" or all(slot in KNOWN_SLOTS for slot in state):
        assert isinstance(pairs, list) or not is_simple
    if isinstance(pairs, list) and not any(set(value) & set(",;|\n") for value in state.values()):
        assert {canonical_slot(slot): value for slot, value in pairs} == {
            canonical_slot(slot): value for slot, value in state.items()
        }


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("hotel area north, hotel stars 4", "hotel area north"),
        ("hotel-area = north, cheap", "cheap"),
        ("hotel-area = north hotel-stars = 4", None),
        ("hotel-area: north\nhotel-stars: 4 hotel-name: x", "hotel-stars: 4 hotel-name: x"),
        ("hotel-area = north; stars = 4", "stars = 4"),
        ("The state is: hotel-area = north; hotel-stars = 4", "The state is: hotel-area = north"),
        ("hotel-area = north, hotel-stars = 4; train-day = monday", "hotel-area = north, hotel-stars = 4"),
        ("x [hotel] area north", None),
    ],
)
def test_what_may_mean_several_things_is_refused_with_the_part(text: str, part: str | None) -> None:
    with pytest.raises(Misfit) as caught:
        StateCells().read(text)
    assert repr(text if len(text) <= 60 else f"{text[:57]}...") in caught.value.what
    assert (f"and {part!r} in it is not of the form slot = value" in caught.value.what) == (part is not None)
    with pytest.raises(dstbench.DstbenchError, match=r"pred: the text '.*(hotel-area = north; hotel-stars = 4)?"):
        dstbench.scan([{"dialogue_id": "SNG1", "turn": 0, "gold": {}, "pred": text}])


@pytest.mark.parametrize("long", [" ", "\t", ";", "; ", "a "])
def test_a_long_text_without_lines_is_looked_at_once(long: str) -> None:
    """The square of its length would be steps for minutes."""
    text = f"hotel-name = a{long * 200_000}b"
    assert written_out(text) == ([("hotel-name", text[13:])] if ";" not in long else "b")


@pytest.mark.parametrize("text", ["", "none", "None", "NULL", "nan", "```\nnone\n```"])
def test_a_word_for_nothing_is_an_empty_state(text: str) -> None:
    assert not StateCells().read(text)


def test_a_list_of_texts_with_several_slots_each_is_no_state() -> None:
    for text in ("hotel-area-north, hotel-stars-4", "hotel-area = north; hotel-stars = 4"):
        with pytest.raises(Misfit, match="is not of the form domain-slot-value"):
            StateCells().read([text])
        assert StateCells().read(text) == StateCells().read(json.dumps([["hotel-area", "north"], ["hotel-stars", "4"]]))


def test_spans_are_read_as_pptod_reads_them() -> None:
    text = "[hotel] area north stars not mentioned [train] leave 09:15"
    assert written_out(text) == [("hotel-area", "north"), ("train-leaveat", "09:15")]
