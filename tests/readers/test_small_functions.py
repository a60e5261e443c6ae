"""What small functions of the readers make of texts and keys: an example of each case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from dstbench.readers.folder import _named_split
from dstbench.readers.frames import frame_value, requested_f1, same_intent
from dstbench.readers.key_names import folded, turn_in
from dstbench.readers.notations import split_span, split_triple
from dstbench.readers.options import Keys, is_long, parse_keys
from dstbench.readers.records import are_lists, turn_number
from dstbench.readers.source import clipped, in_words
from dstbench.readers.special import detokenised, literal
from dstbench.readers.state_cells import found_in, split_text, states_in, written_out
from dstbench.readers.states import _kind

NORTH: Final = {"hotel-area": "north"}
#: A function, and what it makes of which arguments.
EXAMPLES: Final[dict[Callable[..., Any], list[tuple[tuple[Any, ...], Any]]]] = {
    _named_split: [(("woz_validate_en.json",), "dev"), (("test.json.zip",), "test"), (("dialogues_001.json",), None),
                   (("contest.tsv",), None)],
    frame_value: [(("FindHotels", []), "FindHotels|"), (("FindHotels", None), "FindHotels"),
                  ((None, ["price", "city"]), "|price|city")],
    same_intent: [(("FindHotels|price", "FindHotels|"), True), (("FindHotels|", "NONE|"), False)],
    requested_f1: [(("NONE|price|city", "NONE|price"), 2 / 3), (("NONE|", "NONE|"), 1.0), (("NONE|", "NONE|a"), 0.0)],
    folded: [(("dialogueID",), "dialogue_id"), (("Ground-Truth",), "ground_truth"), (("turn idx",), "turn_idx")],
    turn_in: [(("3",), 3), (("turn_3",), 3), (("Turn 3",), 3), (("3rd",), None), (("MUL0484-3",), None)],
    turn_number: [(("3",), 3), ((3.0,), 3), (("3rd",), None)],
    split_triple: [(("hotel book day friday",), ("hotel-book day", "friday")),
                   (("taxi leaveat 09:15",), ("taxi-leaveat", "09:15")), (("hotel",), None)],
    split_span: [(("[hotel] area north book day [train] leave 09:15",),
                  [("hotel-area", "north book"), ("hotel-book day", ""), ("train-leaveat", "09:15")]),
                 (("area north [hotel]",), [None, None])],
    Keys.of: [(({"id": "flag", "pred": "predict"},), Keys("flag", pred="predict"))],
    is_long: [((["dialogue", "turn", "slot"], None), True), ((["d", "slot"], Keys("d")), False),
              ((["id", "turn"], None), False)],
    parse_keys: [((["id=flag,gold=ground_truth", "pred=predict"],),
                  {"id": "flag", "gold": "ground_truth", "pred": "predict"})],
    are_lists: [(([[NORTH, {}], []],), True), (([["hotel-area-north"]],), False)],
    clipped: [(("x" * 70,), "x" * 57 + "..."), (("x" * 60,), "x" * 60)],
    in_words: [((None,), "null"), ((True,), "true"), (([],), "a list"), (("x" * 70,), f"'{'x' * 56}...")],
    literal: [(("['north']",), ("north",)), (("north",), None)],
    detokenised: [(("09 : 45",), "09:45"), (("§§rosa ' s",), "rosa ' s"), (("Ġpine Ġco ne",), "pine cone"),
                  (("true",), "true")],
    states_in: [(([NORTH, {}],), {0: NORTH, 1: {}}), (({"1": NORTH},), {1: NORTH}),
                (([["hotel-area", "north"]],), None)],
    split_text: [(("hotel-book day-friday",), ("hotel-book day", "friday")),
                 (("hotel-area = north",), ("hotel-area", "north")), (("no state",), None),
                 (("hotel-area-north, hotel-stars-4",), None),
                 (("hotel-name: the nook, by the river",), ("hotel-name", "the nook, by the river"))],
    found_in: [(('<think>{"a": 1}?</think> Here it is: {"hotel-area": "north"}. Is there more?',), NORTH),
               (('{"hotel-area": "north"} or {"hotel-area": "south"}',), None), (('<think>Is it {"a": "b"}',), None)],
    written_out: [(("hotel-area=north; hotel-name=the nook, by the river",),
                   [("hotel-area", "north"), ("hotel-name", "the nook, by the river")]), (("north; and more",), None)],
    _kind: [(("1,204 gold states without a slot (first: dialogue MUL1, turn 0)",),
             ("gold states without a slot", 1204)),
            (("1 gold state without a slot (first: dialogue MUL2, turn 0)",), ("gold states without a slot", 1))],
}  # fmt: skip


@pytest.mark.parametrize("function", EXAMPLES, ids=lambda function: function.__qualname__)
def test_a_small_function_makes_of_texts_what_it_says(function: Callable[..., Any]) -> None:
    for arguments, made in EXAMPLES[function]:
        assert function(*arguments) == made, arguments


def test_several_texts_of_a_slot_and_a_value_are_not_several_states() -> None:
    assert states_in(["hotel-area-north", "hotel-stars-4"], surely=False) is None
