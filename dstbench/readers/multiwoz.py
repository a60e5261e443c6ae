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
from itertools import chain
from typing import Annotated, Any, ClassVar, Final

import msgspec

from dstbench.conventions.slots import canonical_slot, domain_of
from dstbench.readers.document import Cell, DocumentTurn, JsonDocument, Place, said_in
from dstbench.readers.format import Format, Source, StatesBuilder
from dstbench.readers.shapes import AS_TEXT, check, parts_of, text_of
from dstbench.schema.core import BETWEEN

#: A value, or its alternatives; for ``booked``, a list of bookings.
Value = str | list[Any]


class Domain(msgspec.Struct, forbid_unknown_fields=True):
    """A domain's slots."""

    semi: dict[str, Value] = {}
    book: dict[str, Value] = {}


class LogTurn(msgspec.Struct):
    """A turn of the user (``metadata`` is empty) or of the system."""

    metadata: dict[str, Annotated[Domain, AS_TEXT]]


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
    numbered: dict[tuple[str, bytes], int] = {}  # distinct domains of states
    first: dict[tuple[str, bytes], tuple[str, int]] = {}  # and the turn in which each first comes
    for dialogue, turns in dialogues.items():
        unanswered += len(turns.log) % 2
        for number, turn in enumerate(turns.log[1::2]):
            bare += not turn.metadata
            parts = [(domain, text_of(content)) for domain, content in turn.metadata.items()]
            first |= {part: (dialogue, number) for part in parts if part not in first}
            numbers = [numbered.setdefault(part, len(numbered)) for part in parts]
            states.gold.parted(states.turn(dialogue, number), numbers)
    contents = parts_of([text for _, text in numbered], Domain)
    for (part, (dialogue, number)), content in zip(first.items(), contents, strict=True):
        cells = [*_cells(source, part[0], content, dialogue=dialogue, turn=number)]
        states.gold.part([slot for slot, _ in cells], [value for _, value in cells])
    users = (turn.metadata.values() for turns in dialogues.values() for turn in turns.log[::2])
    check(chain.from_iterable(users), Domain)
    if unanswered:
        states.note(f"{unanswered:,} dialogues end with a user turn, which has no state; it is left out")
    if bare:
        states.note(f"{bare:,} system turns without metadata: the state is read as empty")
    states.splits = _splits(source, dialogues)


def _cells(source: Source, domain: str, parts: Domain, **where: Any) -> Iterator[tuple[str, str]]:
    """The slots of a domain, alternatives joined in one string; an empty list gives the empty string."""
    for prefix, part in ((f"{domain}-", parts.semi), (f"{domain}-book ", parts.book)):
        for slot, value in part.items():
            if slot == _BOOKED or value in _OMITTED:
                continue
            if isinstance(value, list) and not all(isinstance(item, str) for item in value):
                what = f"expected a list of strings, found {value}"
                raise source.misshapen(what, **where, slot=f"{prefix}{slot}")
            yield f"{prefix}{slot}", value if isinstance(value, str) else BETWEEN.join(value)


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
