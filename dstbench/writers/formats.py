"""The datasets that can be written again: one document per native format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from dstbench.conventions.slots import KNOWN_SLOTS, canonical_slot, domain_of
from dstbench.readers import convlab, multiwoz, sgd, simpletod, star, sumbt, t5dst, trade, tsv, woz
from dstbench.schema.core import BETWEEN
from dstbench.writers.document import Document, JsonDocument, Place, TextDocument, Turn, exchanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dstbench.writers.document import Cell


class _Multiwoz(JsonDocument):
    form = multiwoz.FORMAT
    absent = "not mentioned"
    usual: ClassVar = {"leaveat": "leaveAt", "arriveby": "arriveBy"}

    def turns(self) -> Iterator[Turn]:
        for name, dialogue in self.dialogues():
            log = dialogue["log"]
            for number in range(len(log) // 2 + 1):
                at = 2 * number  # where the user speaks; the state is in what the system answers
                texts = {
                    speaker: (log[place], "text")
                    for speaker, place in (("user", at), ("system", at - 1))
                    if 0 <= place < len(log)
                }
                yield Turn(name, number, log[at + 1] if at + 1 < len(log) else None, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, parts in state["metadata"].items():
            for part, prefix in (("semi", ""), ("book", "book ")):
                for slot in parts.get(part, ()):
                    if slot != "booked":
                        place = (parts[part], slot)
                        yield canonical_slot(f"{domain}-{prefix}{slot}"), place, (domain, part, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            name = self._usual(slot)
            part = "book" if name.startswith("book ") else "semi"
            spelling = domain_of(slot), part, name.removeprefix("book ")
        domain, part, name = spelling
        parts = state["metadata"].setdefault(domain, {"book": {"booked": []}, "semi": {}})
        return parts.setdefault(part, {}), name

    def put(self, place: Place, value: str | None) -> None:
        holder, key = place
        if isinstance(holder.get(key), list):
            holder[key] = [] if value is None else value.split(BETWEEN)
        else:
            super().put(place, value)


class _Sgd(JsonDocument):
    form = sgd.FORMAT
    name = "dialogue_id"

    def turns(self) -> Iterator[Turn]:
        for name, dialogue in self.dialogues():
            spoken = exchanges(dialogue["turns"], lambda turn: bool(turn["speaker"].upper() == sgd.USER))
            for number, user, system in spoken:
                texts = {"user": (user, "utterance"), "system": (system, "utterance")}
                there = {speaker: place for speaker, place in texts.items() if place[0] is not None}
                yield Turn(name, number, user and user["frames"], there)

    def cells(self, state: Any) -> Iterator[Cell]:
        for frame in state:
            values = frame.get("state", {}).get("slot_values", {})
            for slot in values:
                name = slot if "-" in slot else f"{frame['service']}-{slot}"
                yield canonical_slot(name), (values, slot), (frame["service"], slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        if spelling is None:
            service, _, name = slot.partition("-")
            is_prefixed = slot in KNOWN_SLOTS or "-" in name  # MultiWOZ 2.2's, or a name that would be cut
            spelling = service, slot.replace(" ", "") if is_prefixed else name
        service, name = spelling
        frame = next((frame for frame in state if frame["service"] == service), None)
        if frame is None:
            frame = {"service": service, "slots": []}
            state.append(frame)
        empty = {"active_intent": "NONE", "requested_slots": [], "slot_values": {}}
        return frame.setdefault("state", empty)["slot_values"], name

    def put(self, place: Place, value: str | None) -> None:
        super().put(place, value)
        if value is not None:
            place[0][place[1]] = value.split(BETWEEN)


class _Unified(JsonDocument):
    form = convlab.GOLD
    name = "dialogue_id"
    absent = ""
    usual: ClassVar = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}

    def title(self, dialogue: Any) -> str:
        return str(dialogue.get("original_id", dialogue[self.name]))

    def turns(self) -> Iterator[Turn]:
        for name, dialogue in self.dialogues():
            for number, user, system in exchanges(dialogue["turns"], lambda turn: bool(turn["speaker"] == "user")):
                texts = {"user": (user, "utterance"), "system": (system, "utterance")}
                there = {speaker: place for speaker, place in texts.items() if place[0] is not None}
                yield Turn(name, number, user and user["state"], there)

    def cells(self, state: Any) -> Iterator[Cell]:
        for domain, slots in state.items():
            for slot in slots:
                yield canonical_slot(f"{domain}-{slot}"), (slots, slot), (domain, slot)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self._usual(slot))
        return state.setdefault(domain, {}), name


class _T5dst(JsonDocument):
    form = t5dst.GOLD
    name = "dial_id"

    def turns(self) -> Iterator[Turn]:
        for name, dialogue in self.dialogues():
            for number, turn in enumerate(dialogue["turns"]):
                texts = {"user": (turn, "user")} | ({"system": (turn, "system")} if number else {})  # at first "none"
                yield Turn(name, number, turn["state"]["slot_values"], texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        yield from ((canonical_slot(slot), (state, slot), slot) for slot in state)

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        return state, spelling or slot


class _Trade(JsonDocument):
    form = trade.GOLD
    name = "dialogue_idx"
    domain = ""

    def turns(self) -> Iterator[Turn]:
        for name, dialogue in self.dialogues():
            before: dict[str, Any] = {"belief_state": []}
            for turn in dialogue["dialogue"]:
                texts = {"user": (turn, "transcript"), "system": (turn, "system_transcript")}
                yield Turn(name, turn["turn_idx"], (turn, before), texts)
                before = turn

    def _named(self, pair: Any) -> str:
        return canonical_slot(f"{self.domain}{pair[0]}")

    def cells(self, state: Any) -> Iterator[Cell]:
        turn, _ = state
        for entry in turn["belief_state"]:
            for pair in entry["slots"] if entry["act"] == "inform" else ():
                yield self._named(pair), (pair, 1), pair[0]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        pair = [spelling or (self._usual(slot) if self.domain else slot), None]
        state[0]["belief_state"].append({"slots": [pair], "act": "inform"})
        return pair, 1

    def put(self, place: Place, value: str | None) -> None:
        place[0][place[1]] = value

    def edit(self, turn: Turn, changes: Mapping[str, str | None]) -> None:
        content, before = turn.state
        had = {name for name, _, _ in self.cells(turn.state)}
        super().edit(turn, changes)
        for entry in content["belief_state"]:
            entry["slots"] = [pair for pair in entry["slots"] if pair[1] is not None]
        content["belief_state"] = [entry for entry in content["belief_state"] if entry["slots"]]
        if _is_pairs(content.get("turn_label")):
            old = {name: place[0][1] for name, place, _ in self.cells((before, None))}
            added = [place[0] for name, place, _ in self.cells(turn.state) if name in changes.keys() - had]
            label = [[pair[0], changes.get(self._named(pair), pair[1])] for pair in content["turn_label"]]
            label += [[*pair] for pair in added if old.get(self._named(pair)) != pair[1]]
            content["turn_label"] = [pair for pair in label if pair[1] is not None]


def _is_pairs(label: Any) -> bool:
    return isinstance(label, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in label)


class _Woz(_Trade):
    form = woz.FORMAT
    domain = "restaurant-"
    usual: ClassVar = {"pricerange": "price range"}


class _Simpletod(JsonDocument):
    form = simpletod.GOLD
    absent = "not mentioned"
    usual: ClassVar = {"leaveat": "leaveAt", "arriveby": "arriveBy"}

    def turns(self) -> Iterator[Turn]:
        for name, dialogue in self.dialogues():
            said = [texts if isinstance(texts := dialogue.get(key), list) else [] for key in ("usr", "sys")]
            (users, systems), states = said, dialogue["bstate"]
            for number in range(len(states) + 1):
                texts = {"user": (users, number)} if number < len(users) else {}
                if 0 < number <= len(systems):
                    texts["system"] = (systems, number - 1)
                yield Turn(name, number, states[number] if number < len(states) else None, texts)

    def cells(self, state: Any) -> Iterator[Cell]:
        for triple in state:
            yield canonical_slot(f"{triple[0]}-{triple[1]}"), (triple, 2), triple[:2]

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        domain, name = spelling or (domain_of(slot), self._usual(slot))
        state.append([domain, name, None])
        return state[-1], 2


class _Star(TextDocument):
    form = star.TSV
    speakers: ClassVar = {"system": 3, "user": 4}

    def body(self, text: str) -> str:
        head, _, body = text.lstrip().partition("\n")
        self._header = head.split("\t")
        self.columns = [(canonical_slot(name), column) for column, name in enumerate(self._header) if "-" in name]
        return body

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        """A new column, in all lines."""
        column = self.columns[-1][1] + 1
        self.columns.append((slot, column))
        self._header.insert(column, f"{domain_of(slot)}-{self._usual(slot)}")
        for fields, _ in self.lines:
            if fields:
                fields.insert(column, tsv.LEAVES_OUT)
        return state, column

    def dump(self) -> bytes:
        return "\t".join(self._header).encode() + b"\n" + super().dump()


class _Sumbt(_Star):
    form = sumbt.FORMAT
    speakers: ClassVar = {"user": 2, "system": 3}
    usual: ClassVar = {"leaveat": "leave at", "arriveby": "arrive by", "pricerange": "price range"}


class _WozTsv(TextDocument):
    form = woz.TSV
    speakers: ClassVar = {"user": 2, "system": 3}

    def body(self, text: str) -> str:
        self.columns = [(f"restaurant-{name}", column) for column, name in enumerate(woz.COLUMNS) if column >= 4]
        return text

    def make(self, state: Any, slot: str, spelling: Any) -> Place:
        """There is none: these files have no header."""
        raise self.source.error("no column for this slot, and no header to add one to", slot=slot)


#: The documents, by the names of their formats.
DOCUMENTS: Final[dict[str, type[Document]]] = {
    kind.form.name: kind
    for kind in (_Star, _Sumbt, _Trade, _T5dst, _Simpletod, _Multiwoz, _Sgd, _Unified, _Woz, _WozTsv)
}
