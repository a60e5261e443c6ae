"""DSTC2 (Henderson et al. 2014): the labels of its calls, and what trackers write.

Conventions: slots have no domain in these files, as there is only one, and get it here: ``food`` is
``restaurant-food``. Goals are cumulative; what the user asks for (a phone number) is not a slot. Each call has a
``label.json`` in a folder of its own.
"""

from typing import Final

import msgspec

from dstbench.readers.format import Format, Source, StatesBuilder


class Hypothesis(msgspec.Struct):
    """A joint goal and the tracker's score for it."""

    score: float
    slots: dict[str, str]


class TrackerTurn(msgspec.Struct):
    """What a tracker believes after one turn."""

    goals: dict[str, dict[str, float]] = msgspec.field(name="goal-labels")
    joint: list[Hypothesis] = msgspec.field(name="goal-labels-joint", default_factory=list)

    def best(self) -> dict[str, str]:
        """The best joint goal; without one, each slot's best value, if its score exceeds what is left for no value."""
        if self.joint:
            return max(self.joint, key=lambda hypothesis: hypothesis.score).slots
        best = {slot: max(shares, key=shares.__getitem__) for slot, shares in self.goals.items() if shares}
        return {
            slot: value for slot, value in best.items() if self.goals[slot][value] > 1 - sum(self.goals[slot].values())
        }


class TrackerCall(msgspec.Struct):
    """One call."""

    session: str = msgspec.field(name="session-id")
    turns: list[TrackerTurn]


class TrackerOutput(msgspec.Struct):
    """What a DSTC2 tracker writes."""

    sessions: list[TrackerCall]


def _read(source: Source, states: StatesBuilder) -> None:
    document = source.json if source.kind == "json" else None
    sessions = document.get("sessions") if isinstance(document, dict) else []
    for call in source.objects(TrackerCall, "session-id", None, "turn", None, "slot", items=sessions):
        for number, turn in enumerate(call.turns):
            best = {f"restaurant-{slot}": value for slot, value in turn.best().items()}
            states.pred.flat(states.turn(call.session, number), best)


FORMAT: Final = Format(
    name="dstc2",
    title="DSTC2 trackers; need --gold",
    holds=("pred",),
    example=(
        '{"sessions": [{"session-id": "voip-1", "turns": [{"goal-labels": {"pricerange": {"cheap": 0.9}}, '
        '"goal-labels-joint": [{"score": 0.9, "slots": {"pricerange": "cheap"}}]}]}]}'
    ),
    shape=TrackerOutput,
    sniff=lambda source: any(isinstance(document.get("sessions"), list) for document in source.objects_at(0)),
    reader=_read,
)
