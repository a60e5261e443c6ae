"""Gold states as MultiWOZ itself has them: ``data.json`` of 2.0, 2.1, 2.3 and 2.4 (Budzianowski et al. 2018).

Conventions: user and system turns alternate; the state after user turn t is the ``metadata`` of the system turn that
follows it, ``log[2t+1]``. Every slot is always there: the empty string and ``not mentioned`` say that one is not in the
state, and so do, in MultiWOZ-zh (Zhu et al. 2020), the three Chinese spellings that ConvLab-2's ``evaluate.py`` drops.
Any other value is kept as written, even ``none``. Alternatives in lists (2.2, converted to this layout) are joined by
``|``. ``booked`` is not a slot. The files of raw dialogues per split in TripPy and 2.4 (``test_dials.json``) have the
same layout. ``testListFile.json`` and ``valListFile.json`` beside the file list the dialogues of these splits, as plain
text in spite of their names.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

import msgspec

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.schema.core import BETWEEN

#: A value, or its alternatives; for ``booked``, a list of bookings.
Value = str | list[Any]


class Domain(msgspec.Struct, forbid_unknown_fields=True):
    """A domain's slots."""

    semi: dict[str, Value] = {}
    book: dict[str, Value] = {}


class LogTurn(msgspec.Struct):
    """A turn of the user (``metadata`` is empty) or of the system."""

    metadata: dict[str, Domain]


class Dialogue(msgspec.Struct):
    """One dialogue."""

    log: list[LogTurn]


class _SpokenTurn(msgspec.Struct):
    text: str = ""


class _SpokenDialogue(msgspec.Struct):
    log: list[_SpokenTurn]


_SHAPE: Final = dict[str, Dialogue]
_OMITTED: Final = ("", "not mentioned", "未提及", "未提到", "没有提到")
_BOOKED: Final = "booked"


def _sniff(source: Source) -> bool:
    return any(
        isinstance(log := dialogue.get("log"), list)
        and any(isinstance(turn, dict) and "metadata" in turn for turn in log[:4])
        for dialogue in source.objects_at(1, dict)
    )


def _read(source: Source, states: StatesBuilder) -> None:
    dialogues = source.whole(_SHAPE, "dialogue", None, None, None, "slot", None, "slot")
    unanswered, bare = 0, 0
    for dialogue, content in dialogues.items():
        unanswered += len(content.log) % 2
        for number, turn in enumerate(content.log[1::2]):
            bare += not turn.metadata
            slots = [
                (f"{prefix}{slot}", value)
                for domain, parts in turn.metadata.items()
                for prefix, part in ((f"{domain}-", parts.semi), (f"{domain}-book ", parts.book))
                for slot, value in part.items()
                if slot != _BOOKED and value not in _OMITTED
            ]
            cells = [
                (slot, value if isinstance(value, str) else _joined(source, value, dialogue, number, slot))
                for slot, value in slots
            ]
            states.gold.cells(states.turn(dialogue, number), cells)
    if unanswered:
        states.note(f"{unanswered:,} dialogues end with a user turn, which has no state; it is left out")
    if bare:
        states.note(f"{bare:,} system turns without metadata: the state is read as empty")
    states.splits = _splits(source, dialogues)


def _joined(source: Source, value: list[Any], dialogue: str, turn: int, slot: str) -> str:
    """Alternatives in one string; no alternative is the empty string, as elsewhere in these files."""
    if not all(isinstance(item, str) for item in value):
        what = f"expected a list of strings, found {value}"
        raise source.misshapen(what, dialogue=dialogue, turn=turn, slot=slot)
    return BETWEEN.join(value)


def _splits(source: Source, dialogues: Iterable[str]) -> dict[str, str]:
    """The split of every dialogue, if both lists are beside the file: ``train`` if it is in neither."""
    split_by_name: dict[str, str] = {}
    for split, name in (("dev", "val"), ("test", "test")):
        file = source.sibling(f"{name}ListFile.json", f"{name}ListFile.txt")
        if file is None:
            return {}
        lines = file.read().decode(errors="replace").splitlines()
        split_by_name |= {line.strip().removesuffix(".json"): split for line in lines}
    return {dialogue: split_by_name.get(dialogue.removesuffix(".json"), "train") for dialogue in dialogues}


class _SizedDialogue(msgspec.Struct):
    log: list[msgspec.Raw]


def _outline(source: Source) -> Iterator[tuple[str, int]]:
    for name, dialogue in msgspec.json.decode(source.raw, type=dict[str, _SizedDialogue]).items():
        yield name, len(dialogue.log) // 2


class _Document(JsonDocument):
    absent = "not mentioned"
    usual: ClassVar = {"leaveat": "leaveAt", "arriveby": "arriveBy"}

    def turns(self) -> Iterator[DocumentTurn]:
        for name, dialogue in self.dialogues():
            log = dialogue["log"]
            for number in range(len(log) // 2 + 1):
                at = 2 * number  # where the user speaks; the state is in what the system answers
                texts = {
                    speaker: (log[place], "text")
                    for speaker, place in (("system", at - 1), ("user", at))
                    if 0 <= place < len(log)
                }
                yield DocumentTurn(name, number, log[at + 1] if at + 1 < len(log) else None, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, parts in state["metadata"].items():
            for part, prefix in (("semi", ""), ("book", "book ")):
                for slot in parts.get(part, ()):
                    if slot != _BOOKED:
                        place = (parts[part], slot)
                        yield canonical_slot(f"{domain}-{prefix}{slot}"), place, (domain, part, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            name = self.usual_name(slot)
            part = "book" if name.startswith("book ") else "semi"
            spelling = domain_of(slot), part, name.removeprefix("book ")
        domain, part, name = spelling
        parts = state["metadata"].setdefault(domain, {"book": {_BOOKED: []}, "semi": {}})
        return parts.setdefault(part, {}), name

    def put(self, place: Place, value: str | None) -> None:
        holder, key = place
        if isinstance(holder.get(key), list):
            holder[key] = [] if value is None else value.split(BETWEEN)
        else:
            super().put(place, value)


FORMAT: Final = Format(
    name="multiwoz",
    title="MultiWOZ 2.0, 2.1, 2.3, 2.4 (data.json, or <split>_dials.json of raw dialogues), gold",
    holds=("gold",),
    example=(
        '{"MUL9901.json": {"log": [{"metadata": {}}, {"metadata": {"hotel": {"semi": {"area": "north", '
        '"name": "not mentioned"}, "book": {"booked": [], "day": "friday"}}}}]}}'
    ),
    shape=_SHAPE,
    sniff=_sniff,
    reader=_read,
    omits=_OMITTED,
    outline=_outline,
    said=said_in(_Document, lambda source: source.whole(dict[str, _SpokenDialogue], "dialogue")),
    document=_Document,
)
