"""Formats as rows of a table: where the turns of a decoded file are, and under which keys their states are.

Conventions: `walk` says how paths are written. A state is named by the keys to it in a turn, joined by dots, and its
notation: `state.slot_values:flat`. A star at the end of a key stands for any letters; a question mark says that turns
may lack the state; without a key, the whole turn is the state. The key of an utterance may have dots, too, and lead to
an item of a list (`dialog.usr.-1`); one that begins with `<` is in the turn before.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import count
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.errors import UsageError, did_you_mean
from dstbench.readers.format import Format, Said
from dstbench.readers.key_names import PREDICTIONS, named
from dstbench.readers.notations import NOTATIONS, Cell, Loose, Notation, Place
from dstbench.readers.source import Misfit, Source, clipped
from dstbench.readers.state_cells import StateCells, no_state
from dstbench.readers.states import StatesBuilder
from dstbench.readers.walk import Broken, Step, Turn, Walker, follow

_NOT_THERE: Final = (KeyError, IndexError, TypeError, AttributeError, ValueError, Misfit)
# Entries of a file, and turns, that are looked at to recognise a format.
_FIRST, _ENOUGH = 50, 300


@dataclass(frozen=True)
class Side:
    """Where a state is in a turn, and how it is written."""

    keys: tuple[str, ...]
    notation: Notation
    is_optional: bool = False

    @classmethod
    def of(cls, text: str) -> Side:
        """The side that a text such as `state.slot_values:flat` stands for."""
        path, _, notation = text.rpartition(":")
        keys = tuple(path.removesuffix("?").split(".")) if path.strip("?") else ()
        return cls(keys, NOTATIONS[notation], path.endswith("?"))


class Document:
    """A file that a row describes, open for changes: the decoded file, in which only what is edited changes.

    Callers use canonical names of slots; the file keeps its own spelling. A slot that is new in a turn is spelled as in
    other turns of the file, and by its canonical name if the file has it nowhere. It is removed as the format leaves
    slots out. Other annotations stay as they are, but for the ``turn_label`` of TRADE's and WOZ 2.0's files.
    """

    def __init__(self, source: Source, row: Row) -> None:
        self.source, self.row, self._gold = source, row, row.sides["gold"]
        self.content = self.items = row.decode(source)
        self.domains = row.domains(self.turns())  # before any edit, which may remove the slots that show them
        for turn in self.turns():
            try:
                if turn.content is not None:
                    self._gold.notation.pairs(follow(turn.content, self._gold.keys))
            except Misfit as error:
                where = {"dialogue": turn.dialogue, "turn": turn.number, "slot": error.slot}
                raise source.misshapen(f"{turn.place}it cannot be edited: {error.what}", **where) from None

    def turns(self) -> Iterator[Turn]:
        """The turns with the places of their utterances; those without content have no state."""
        for turn in self.row.turns_with_texts(self.source, self.content):
            lacks = turn.content is not None and follow(turn.content, self._gold.keys) is msgspec.UNSET
            yield turn._replace(content=None) if lacks else turn

    def drop(self, dialogues: Collection[str]) -> None:
        """Leave out the dialogues of these names, spelled as in the file."""
        gone = {id(turn.around) for turn in self.turns() if turn.dialogue in dialogues}
        if isinstance(self.content, dict):
            self.content = {key: item for key, item in self.content.items() if id(item) not in gone}
        else:
            self.content = [item for item in self.content if id(item) not in gone]

    def dump(self) -> bytes:
        """The file's new content, laid out as the old one is."""
        return laid_out_as(self.source.raw, self.content)

    def cells(self, turn: Turn) -> Iterator[Cell]:
        """The slots of a turn's state, by canonical names."""
        domain = self.domains.get(turn.dialogue, "")
        for slot, place, spelling in self._gold.notation.cells(follow(turn.content, self._gold.keys)):
            yield canonical_slot(f"{domain}{slot}"), place, spelling

    def edit(self, turn: Turn, changes: Mapping[str, str | None]) -> None:
        """Set slots of a turn's state, by canonical names; None removes a slot."""
        notation, state = self._gold.notation, follow(turn.content, self._gold.keys)
        places: dict[str, list[Place]] = {}
        for slot, place, _ in self.cells(turn):
            places.setdefault(slot, []).append(place)
        for slot, value in changes.items():
            if slot not in places and value is not None:
                name = slot.removeprefix(self.domains.get(turn.dialogue, ""))
                places[slot] = [notation.make(state, name, self._spellings.get(slot))]
            for place in places.get(slot, ()):
                notation.put(place, value, self.row.absent)
        notation.tidy(state)

    @cached_property
    def _spellings(self) -> dict[str, Any]:
        """The first spelling of each slot of the file, as `cells` gives it."""
        spellings: dict[str, Any] = {}
        for turn in self.turns():
            for slot, _, spelling in self.cells(turn) if turn.content is not None else ():
                spellings.setdefault(slot, spelling)
        return spellings


class LinesDocument(Document):
    """A file of lines, of which those that are not edited stay as they are."""

    def is_item(self, line: bytes) -> bool:
        """Whether a line is a turn."""
        return bool(line.strip())

    def written(self, line: bytes, item: Any) -> bytes:
        """The line for a turn, which was this one."""
        return line if msgspec.json.decode(line) == item else laid_out_as(line, item)

    def dump(self) -> bytes:
        lines, items, kept = [], iter(self.items), {*map(id, self.content)}
        for line in io.BytesIO(self.source.raw):
            text = line.rstrip(b"\r\n")
            item = next(items) if self.is_item(text) else None
            if item is None or id(item) in kept:
                lines.append(line if item is None else self.written(text, item) + line[len(text) :])
        return b"".join(lines)


def laid_out_as(raw: bytes, content: Any) -> bytes:
    """JSON with the indentation, spaces, escapes and last newline of a file, `raw`."""
    indent = re.match(rb"\s*[\[{]\r?\n([ \t]+)", raw)
    spaced = re.search(rb'"\s*:( ?)', raw[: 1 << 16])
    width = len(indent[1]) if indent else 0 if spaced and spaced[1] else -1
    data = msgspec.json.format(msgspec.json.encode(content), indent=width)
    if raw.isascii():
        data = re.sub(r"[^\x00-\x7f]", lambda letter: json.dumps(letter[0])[1:-1], data.decode()).encode()
    return data + (b"\n" if raw.endswith(b"\n") else b"")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A format as a row of the table.

    Attributes:
        name: What ``--from`` calls it.
        title: Who writes it, and in which file.
        example: A small file, or its beginning, that shows the shape.
        path: Where turns are (see above).
        gold: Where the gold state is in a turn (see above); None: the file has none.
        pred: Likewise, the predicted state.
        lines: Whether it is JSON Lines, of which each line has this path.
        marks: Keys of a turn by which the format is recognised; None: the first key of the prediction, or of gold.
        matches: Whether a turn that has the marks is one of this format.
        omits: Values that say that a slot is not in the state.
        absent: The one of them that is written for a slot that is removed; None: its key is dropped.
        said: The keys of what the system says and of what the user says in a turn; one key in a list of both speakers.
        is_silent_first: Whether what the system says in turn 0 is no utterance.
        divide: Finds what system and user said last in a text of all that was said; None: texts are of one speaker.
        domain: The domain of slots without one, or a function that finds it in a dialogue.
        naming: Makes a function that names a dialogue's object, of the whole document; None: by the path.
        after: Adds notes, splits and so on, after reading.
        document: Opens a file of gold for changes; None: such files cannot be written again.
        decode: Decodes a file.
        options: Further parts of the `Format`.
        unanswered: The note on utterances of users without an answer, which has the state.
    """

    name: str
    title: str
    example: str
    path: str
    gold: str | None = None
    pred: str | None = None
    lines: bool = False
    marks: tuple[str, ...] | None = None
    matches: Callable[[Turn], bool] = lambda _: True
    omits: tuple[str, ...] = ()
    absent: str | None = None
    said: tuple[str, ...] = ()
    is_silent_first: bool = False
    divide: Callable[[str], tuple[str | None, str | None]] | None = None
    domain: str | Callable[[Any], str] = ""
    naming: Callable[[Any], Callable[[Any], str]] | None = None
    after: Callable[[Source, StatesBuilder, list[Turn]], None] | None = None
    document: Callable[[Source, Row], Document] | None = Document
    decode: Callable[[Source], Any] = lambda source: source.json
    options: Mapping[str, Any] = field(default_factory=dict)
    unanswered: str = ""

    def format(self) -> Format:
        """The format that the row declares."""
        gold, opened = self.sides.get("gold"), self.document
        is_writable = opened and self.said and gold and gold.notation.is_writable
        return Format(
            name=self.name,
            title=self.title,
            example=self.example,
            reader=self.read,
            holds=tuple(self.sides),
            omits=self.omits,
            said=self.spoken if self.said else None,
            document=(lambda source: opened(source, self)) if opened and is_writable else None,
            **{"sniff": self.sniff, **self.options},
        )

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the path."""
        return tuple(map(Step.of, self.path.split()))

    @cached_property
    def sides(self) -> dict[str, Side]:
        """The sides that the file has."""
        texts = {"gold": self.gold, "pred": self.pred}
        return {side: Side.of(text) for side, text in texts.items() if text is not None}

    # --- turns --------------------------------------------------------------------------------------------------------

    def walker(self, source: Source) -> Walker:
        """The walker of a file, which says what is wrong in it."""
        return Walker(source, self.said, self.naming and self.naming(source.json))

    def turns(self, source: Source, content: Any = None) -> Iterator[Turn]:
        """The turns of a file, whose content may be decoded already; their states are not checked."""
        walker = self.walker(source)
        try:
            documents = source.whole_lines() if self.lines else [("", content or self.decode(source))]
            for place, document in documents:
                turns: Iterable[Turn] = walker.walk(document, self.steps, place)
                if self.lines and not (turns := [*turns]):
                    raise source.misshapen(f"{place}a dialogue without turns")
                yield from turns
        except Broken as error:
            raise error.in_file(source) from None

    def turns_with_texts(self, source: Source, content: Any = None) -> Iterator[Turn]:
        """The turns with the places of their utterances, and what the system says at the end of a dialogue."""
        before: Turn | None = None
        for turn in self.turns(source, content):
            if before is not None and before.dialogue != turn.dialogue:
                yield from self._end(before)
                before = None
            yield turn if turn.texts else turn._replace(texts=self._texts(turn, before))
            before = turn
        if before is not None:
            yield from self._end(before)

    def _texts(self, turn: Turn, before: Turn | None) -> dict[str, Place]:
        """The places of utterances that are in the turn, or in the one before."""
        texts: dict[str, Place] = {}
        for speaker, path in zip(("system", "user"), self.said, strict=True):
            holder = (before and before.content) if path.startswith("<") else turn.content
            *above, last = path.removeprefix("<").split(".")
            is_first = before is None and path.startswith("<")
            if not last or is_first or (speaker == "system" and self.is_silent_first and turn.number == 0):
                continue
            try:
                holder = follow(holder, above)
            except Misfit:
                holder = None  # refused below
            if isinstance(holder, list) and last == "-1":
                texts |= {speaker: (holder, -1)} if holder else {}
            elif isinstance(holder, dict) and (not above or last in holder):
                texts[speaker] = holder, last
            elif holder is not msgspec.UNSET:
                texts[speaker] = [None], 0  # which is no text, and so refused
        return texts

    def _end(self, turn: Turn) -> Iterator[Turn]:
        """What the system says after the last turn of a dialogue, if the path does not give it."""
        if not turn.texts and self.said[0].startswith("<"):
            texts = {"system": (turn.content, self.said[0].removeprefix("<"))}
            yield turn._replace(number=int(turn.number) + 1, content=None, texts=texts)

    def spoken(self, source: Source) -> Iterator[Said]:
        """What was said in each turn."""
        for turn in self.turns_with_texts(source):
            texts: dict[str, str] = {}
            for speaker in turn.texts:
                text = turn.text(speaker)
                if isinstance(text, list) and all(isinstance(word, str) for word in text):
                    text = " ".join(text)  # GLAD has words
                if not isinstance(text, str):
                    what = f"what the {speaker} says: expected a string, found {clipped(str(text))}"
                    raise source.misshapen(what, dialogue=turn.dialogue, turn=turn.number)
                texts[speaker] = text
            if turn.content is not None:
                system, user = texts.get("system"), texts.get("user")
                yield turn.dialogue, turn.number, *((system, user) if self.divide is None else self.divide(user or ""))

    def domains(self, turns: Iterable[Turn]) -> dict[str, str]:
        """What stands before the slots of dialogues whose slots have no domain: this and a hyphen."""
        dialogues, domain = {turn.dialogue: turn.around for turn in turns} if self.domain else {}, self.domain
        of_dialogues = {name: domain if isinstance(domain, str) else domain(one) for name, one in dialogues.items()}
        return {name: f"{domain}-" for name, domain in of_dialogues.items() if domain}

    # --- what a format does -------------------------------------------------------------------------------------------

    def sniff(self, source: Source) -> bool:
        """Whether one of the first turns of a file has the row's keys, and a file of gold no predictions."""
        step = self.steps[0].kind
        if not self.lines and (source.kind != "json" or (source.around and step == "object")):
            return False
        document = source.first_line() if self.lines else source.sample
        items = [document]
        if step in ("object", "list") and isinstance(document, dict):
            items = [{key: item} for key, item in document.items()]
        elif step in ("object", "list"):
            items = [[item] for item in document] if isinstance(document, list) else []
        side = self.sides.get("pred") or self.sides["gold"]
        marks = side.keys[:1] if self.marks is None else self.marks
        walker, looked_at = Walker(source, self.said), count()
        for item in items[:_FIRST]:
            with suppress(*_NOT_THERE):
                for turn in walker.walk(item, self.steps):
                    content = turn.content
                    is_one = isinstance(content, dict if marks else (dict, list))
                    if isinstance(content, dict):
                        there = (mark in content or any(fnmatchcase(key, mark) for key in content) for mark in marks)
                        is_one = all(there) and ("pred" in self.sides or not named(content, PREDICTIONS))
                    if is_one and self.matches(turn):
                        return True
                    if next(looked_at) > _ENOUGH:
                        return False
        return False

    def read(self, source: Source, states: StatesBuilder) -> None:
        """Add the turns of a file."""
        loose = StateCells(source.unreadable)
        turns = [*self.turns(source)]
        spoken = {turn.dialogue: turn for turn in turns if turn.content is not None or "user" in turn.texts}
        turns = [turn for turn in turns if turn.content is not None or not turn.texts]
        if self.unanswered and (number := sum(int(last.number) + 1 for last in spoken.values()) - len(turns)):
            states.note(self.unanswered.format(number, s="s" * (number > 1)))
        domains = self.domains(turns)
        if "gold" in self.sides:
            states.domains |= {name: domain.removesuffix("-") for name, domain in domains.items()}
        unreadable = set[int]()
        for turn in turns:
            at = states.turn(turn.dialogue, turn.number or 0)
            for name, side in self.sides.items():
                state = turn.content
                try:
                    if (state := follow(state, side.keys)) is msgspec.UNSET and side.is_optional:
                        continue
                    if state is msgspec.UNSET:
                        raise Misfit(f"no {'.'.join(side.keys)} here")
                    pairs = side.notation.pairs(state)
                    pairs = loose.read(state) if isinstance(side.notation, Loose) else pairs
                except Misfit as error:
                    if name == "gold" or source.unreadable == "error" or state is msgspec.UNSET:
                        where = {"dialogue": turn.dialogue, "turn": turn.number}
                        if isinstance(side.notation, Loose) and state is not msgspec.UNSET:
                            raise no_state(source, error, turn.place, is_gold=name == "gold", **where) from None
                        raise source.misshapen(f"{turn.place}{error.what}", **where, slot=error.slot) from None
                    loose.take_unreadable(states.pred, at, state)
                    unreadable.add(at)
                    continue
                if domain := domains.get(turn.dialogue):
                    slots = pairs.items() if isinstance(pairs, Mapping) else filter(None, pairs)
                    pairs = [(domain + slot, value) for slot, value in slots]
                getattr(states, name).state(at, pairs)
        for note in loose.notes():
            states.note(note)
        if self.after is not None:
            self.after(source, states, [turn for at, turn in enumerate(turns) if at not in unreadable])


# --- rows of users ----------------------------------------------------------------------------------------------------


_KINDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("name", "path", "gold", "pred", "title", "example", "absent", "domain"), str),
    **dict.fromkeys(("marks", "omits", "said"), list),
    "lines": bool,
}
_IN_WORDS: Final = {bool: "true or false", list: "a list of texts", str: "a text"}


def row_of(table: Mapping[str, Any]) -> Row:
    """The row that a table declares.

    Raises:
        UsageError: It has a word that rows do not have, or no dialogue, state or notation follows from its words.
    """
    for key, value in table.items():
        if (kind := _KINDS.get(key)) is None:
            raise UsageError(f"a row has no {key!r}", hint=did_you_mean(key, _KINDS) or f"one of {', '.join(_KINDS)}")
        if not isinstance(value, kind) or (kind is list and not all(isinstance(item, str) for item in value)):
            raise UsageError(f"{key} = {value!r} is not {_IN_WORDS[kind]}")
    for key, example in (("name", "my-tracker"), ("path", "[dialogue=dial_id] turns [turn]")):
        if not table.get(key):
            raise UsageError(f"a row without {key}", hint=f'{key} = "{example}"')
    sides = {side: table[side] for side in ("gold", "pred") if side in table}
    if not sides:
        raise UsageError("a row without states", hint='gold = "state:flat", or pred = "prediction:flat"')
    for side, text in sides.items():
        if text.rpartition(":")[2] not in NOTATIONS:
            raise UsageError(f"{side} = {text!r} has no known notation", hint=f"one of {', '.join(NOTATIONS)}")
    listed = [f"{side} at {text}" for side, text in sides.items()]
    words: dict[str, Any] = {"title": "a row of yours", "example": f"turns at {table['path']}, {', '.join(listed)}"}
    words |= {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    row = Row(**words)
    if not any("dialogue" in id_.of for step in row.steps for id_ in step.ids):
        raise UsageError(f"the path {row.path!r} names no dialogue", hint="[dialogue=KEY], {dialogue}, …")
    are_of_both = any(step.kind == "speakers" for step in row.steps)
    if row.said and len(row.said) != 2 - are_of_both:
        hint = 'said = ["text"]' if are_of_both else 'said = ["system", "user"]'
        raise UsageError(f"said = {table['said']!r} names other keys than those of what is said", hint=hint)
    return row
