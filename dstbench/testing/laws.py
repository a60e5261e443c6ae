"""Trying a law: the outcome, and the corpora on which it is tried."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from dstbench.errors import DstbenchError
from dstbench.plugins import fault_of

#: Turns, as `dstbench.score` takes them: dialogue_id, turn, gold, pred.
States: TypeAlias = list[dict[str, Any]]

#: Slots of random corpora.
SLOTS: Final = ("hotel-area", "hotel-name", "hotel-book day", "train-day", "train-leaveat")
#: Values of random corpora; "none" and "" mean absent under the default convention, but a listed one is a value to GCA.
VALUES: Final = ("north", "south", "centre", "none", "", "dontcare")


class BrokenLawError(AssertionError):
    """A law is broken; the message says how."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of trying a law.

    Attributes:
        law: The law, as a sentence without a full stop.
        fault: How it is broken; None: it was kept.
        example: A counterexample, line by line.
        is_note: Whether this is not a law, but something that the author of the metric may want to know.
    """

    law: str
    fault: str | None = None
    example: tuple[str, ...] = ()
    is_note: bool = False

    def lines(self) -> list[str]:
        """The outcome in lines of text."""
        said = [self.fault, *self.example] if self.fault else []
        word = "broken" if self.fault else "note  " if self.is_note else "kept  "
        return [f"  {word}  {self.law}", *(f"          {line}" for line in said)]


def fault_in(attempt: Callable[[], object]) -> str | None:
    """How an attempt breaks a law, also by an error in dstbench or in the code that is tried; None: it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those about random corpora and damaged files are expected
            attempt()
    except BrokenLawError as error:
        return str(error)
    except DstbenchError as error:
        return "; ".join(filter(None, [error.what, error.hint]))
    except Exception as error:
        return fault_of(error)
    return None


def raise_if_broken(what: str, outcomes: Iterable[Outcome]) -> None:
    """Raise a `BrokenLawError` that lists the broken laws, if there are any."""
    lines = [line for outcome in outcomes if outcome.fault for line in outcome.lines()]
    if lines:
        raise BrokenLawError("\n".join([f"{what} breaks laws:", *lines]))


def random_states(rng: np.random.Generator, most_dialogues: int = 4, most_turns: int = 5) -> States:
    """A few dialogues whose states change at random, some of them empty."""

    def state() -> dict[str, str]:
        slots = rng.permutation(len(SLOTS))[: rng.integers(len(SLOTS))]
        return {SLOTS[slot]: VALUES[rng.integers(len(VALUES))] for slot in slots}

    states: States = []
    for dialogue in range(rng.integers(1, most_dialogues, endpoint=True)):
        gold: dict[str, str] = {}
        pred: dict[str, str] = {}
        for turn in range(rng.integers(1, most_turns, endpoint=True)):
            gold = gold if rng.random() < 0.5 else state()
            pred = (gold, pred, state())[rng.integers(3)]
            states.append({"dialogue_id": f"MUL{dialogue}", "turn": turn, "gold": dict(gold), "pred": dict(pred)})
    return states
