"""Trying laws, and the random corpora on which those of metrics are tried."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
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


def check_laws(what: str, laws: Mapping[str, Callable[[], object]]) -> None:
    """Raise a `BrokenLawError` that lists the laws that are broken, each with what its function raises."""
    if faults := {law: fault for law, attempt in laws.items() if (fault := fault_in(attempt))}:
        listed = "".join(f"\n  {law}:\n    {fault}" for law, fault in faults.items())
        raise BrokenLawError(f"{what} breaks laws:{listed}")


def fault_in(attempt: Callable[..., object], *arguments: Any) -> str | None:
    """How a call breaks a law, also by an error in the code that is tried; None: it does not."""
    try:
        with warnings.catch_warnings(action="ignore"):  # those about random corpora and damaged files are expected
            attempt(*arguments)
    except (BrokenLawError, DstbenchError) as error:
        return str(error)
    except Exception as error:
        return f"its code fails: {fault_of(error)}"
    return None


def random_states(rng: np.random.Generator, most: int) -> States:
    """Up to so many dialogues, of up to so many turns, whose states change at random; some are empty."""

    def state() -> dict[str, str]:
        slots = rng.permutation(len(SLOTS))[: rng.integers(len(SLOTS))]
        return {SLOTS[slot]: VALUES[rng.integers(len(VALUES))] for slot in slots}

    states: States = []
    for dialogue in range(rng.integers(1, most, endpoint=True)):
        gold, pred = dict[str, str](), dict[str, str]()
        for turn in range(rng.integers(1, most, endpoint=True)):
            gold = gold if rng.random() < 0.5 else state()
            pred = (gold, pred, state())[rng.integers(3)]
            states.append({"dialogue_id": f"MUL{dialogue}", "turn": turn, "gold": dict(gold), "pred": dict(pred)})
    return states
