"""Hypothesis strategies for small corpora, and helpers that several test modules share."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import KNOWN_SLOTS, SLOT_SETS
from dstbench.schema.core import NOTHING
from dstbench.testing.of_metrics import SLOTS, VALUES, States
from tests.formats import EXAMPLE, EXAMPLE_SCORES

__all__ = [
    "EXAMPLE", "EXAMPLE_SCORES", "FEW", "LARGE", "OF_FRAMES", "SLOTS", "States", "corpora", "dialogues",
    "has_other_slots", "is_refused", "states_of_a_turn",
]  # fmt: skip

#: For laws of scores, whose time is that of calls whatever the corpus: fewer examples, of larger corpora.
FEW = settings(max_examples=max(2, settings().max_examples // 4))
LARGE = 18

#: The metrics of what frames say, which these states have not.
OF_FRAMES = ("intent", "requested-f1")

states_of_a_turn = st.dictionaries(st.sampled_from(SLOTS), st.sampled_from(VALUES), max_size=4)

_CHANGES = st.booleans()
_FOLLOWS = st.sampled_from(["gold", "itself", "nothing"])


def dialogues(
    draw: st.DrawFn, states: st.SearchStrategy[dict[str, str]], *, prefix: str, most: int, most_turns: int
) -> States:
    """Dialogues whose states come, stay and go at will: more than any tracker does.

    Args:
        draw: Hypothesis's.
        states: What the state of a turn may be.
        prefix: What the dialogues' ids begin with; a number follows.
        most: The largest number of dialogues.
        most_turns: The largest number of turns of one.
    """
    drawn: States = []
    for dialogue in range(draw(st.integers(1, most))):
        gold: dict[str, str] = {}
        pred: dict[str, str] = {}
        for turn in range(draw(st.integers(1, most_turns))):
            # Numbers choose, as `st.just(gold) | states` would be a strategy of its own for each turn, and slow.
            gold = draw(states) if draw(_CHANGES) else gold
            follows = draw(_FOLLOWS)
            pred = gold if follows == "gold" else pred if follows == "itself" else draw(states)
            drawn.append({"dialogue_id": f"{prefix}{dialogue}", "turn": turn, "gold": gold, "pred": pred})
    return drawn


@st.composite
def corpora(draw: st.DrawFn, max_dialogues: int = 4, max_turns: int = 6) -> States:
    """Dialogues of MultiWOZ, by their ids."""
    return dialogues(draw, states_of_a_turn, prefix="MUL", most=max_dialogues, most_turns=max_turns)


def has_other_slots(states: States) -> bool:
    """Whether no predicted slot is one of gold's, so that the states are refused, whatever the convention."""
    gold = {slot for state in states for slot in state["gold"]}
    pred = {slot for state in states for slot, value in state["pred"].items() if value not in NOTHING}
    spelled_alike = bool(gold & KNOWN_SLOTS) and pred <= KNOWN_SLOTS
    return bool(gold and pred) and not gold & pred and not spelled_alike


def is_refused(states: States, convention: Convention) -> bool:
    """Whether gold has values under a convention, and none of them is of a slot that it scores."""
    absent = convention.absent if convention.none in ("drop", "drop-gold") else ()
    slots = {slot for state in states for slot, value in state["gold"].items() if value not in absent}
    return convention.slots is not None and bool(slots) and not slots & SLOT_SETS[convention.slots]
