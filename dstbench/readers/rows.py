r"""Formats as rows of a table: where the turns of a decoded file are, and under which keys their states are.

Conventions: `walk` says how paths are written. A state is named by the keys to it in a turn, joined by dots, and its
notation: `state.slot_values:flat`. A star at the end of a key stands for any letters; a question mark says that turns
may lack the state; without a key, the whole turn is the state. A key of an utterance that begins with `<` is in the
turn before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Final

import msgspec

from dstbench.errors import DstbenchError
from dstbench.readers.builder import State
from dstbench.readers.document import Document, DocumentTurn
from dstbench.readers.format import Format, Said, Source, StatesBuilder
from dstbench.readers.key_names import name_sides
from dstbench.readers.notations import NOTATIONS, Notation, Place, Written
from dstbench.readers.row_document import RowDocument
from dstbench.readers.row_types import OPTIONAL, inner_type, type_of
from dstbench.readers.shapes import clipped
from dstbench.readers.state_cells import StateCells, no_state
from dstbench.readers.state_text import Misfit
from dstbench.readers.walk import SNIFFING, START, Step, Turn, Walker, steps_of

_NOT_THERE: Final = (KeyError, IndexError, TypeError, AttributeError, ValueError)
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
        path, _, notation = text.rpartition(":")
        keys = tuple(path.removesuffix("?").split(".")) if path.strip("?") else ()
        return cls(keys, NOTATIONS[notation], path.endswith("?"))

    def find(self, turn: Any) -> Any:
        """The state in a turn; ``msgspec.UNSET``: there is none. A `Misfit`: the turn has another type."""
        for key in self.keys:
            if type(turn) is dict:
                turn = turn.get(key, msgspec.UNSET) if key[-1] != "*" else turn[self._starred(turn)]
            elif type(turn) is list and key.isdecimal() and int(key) < len(turn):
                turn = turn[int(key)]
            else:
                raise Misfit(f"no {'.'.join(self.keys)} here")
        return turn

    def _starred(self, turn: Mapping[str, Any]) -> str:
        """The one key of a turn that begins as the row says."""
        keys = [key for key in turn if key.startswith(self.keys[-1][:-1])]
        if len(keys) != 1:
            raise Misfit(f"a turn needs one {self.keys[-1]} list, found {', '.join(turn) or 'nothing'}")
        return keys[0]


_BOTH: Final = ("gold", "pred")


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
        domain: The domain of slots without one, or a function that finds it in a dialogue.
        also: Further keys that turns must have, with their types.
        beside: Further keys of dialogues, with their types.
        prepare: Changes the decoded file, whose keys are spelled in several ways, before it is read.
        naming: Makes a function that names a dialogue's object, of the whole document; None: by the path.
        after: Adds notes, splits and so on, after reading.
        document: Opens a file for changes.
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
    domain: str | Callable[[Any], str] = ""
    also: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[Any], Any] = lambda document: document
    naming: Callable[[Any], Callable[[Any], str]] | None = None
    after: Callable[[Source, StatesBuilder, list[Turn]], None] | None = None
    unanswered: str = ""
    document: Callable[[Source, Row], Document] = RowDocument
    options: Mapping[str, Any] = field(default_factory=dict)

    def format(self) -> Format:
        """The format that the row declares."""
        can_rewrite = self.said and type(self.sides["gold"].notation).make is not Notation.make
        options: dict[str, Any] = {
            "shape": self.shape,
            "said": self.spoken if self.said else None,
            "document": (lambda source: self.document(source, self)) if can_rewrite else None,
            **self.options,
        }
        return Format(
            name=self.name,
            title=self.title,
            example=self.example,
            sniff=self.sniff,
            reader=self.read,
            holds=tuple(side for side in ("gold", "pred") if getattr(self, side)),
            omits=self.omits,
            **options,
        )

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return steps_of(self.path)

    @cached_property
    def sides(self) -> dict[str, Side]:
        """The sides that the file has."""
        texts = {"gold": self.gold, "pred": self.pred}
        return {side: Side.of(text) for side, text in texts.items() if text is not None}

    # --- the type of a file -------------------------------------------------------------------------------------------

    @cached_property
    def shape(self) -> Any:
        """The type of the decoded file, or of a line, in msgspec's sense."""
        return self._type_of(self.steps, _BOTH)

    def _type_of(self, steps: Sequence[Step], sides: Collection[str]) -> Any:
        """The type of what these last steps lead through, with the states of these sides."""
        return type_of(steps, self._of_turn(sides), self.beside)

    def _of_turn(self, sides: Collection[str]) -> Any:
        """The type of a turn: a nested dictionary stands for an object."""
        of_turn: dict[str, Any] = dict(self.also)
        for side in (side for name, side in self.sides.items() if name in sides):
            shape = side.notation.shape
            if not side.keys:
                return shape
            if side.keys[-1][-1] == "*":
                return dict[str, side.notation.shape]  # type: ignore[name-defined] # made at run time
            inner = of_turn
            for above in side.keys[:-1]:
                inner = inner.setdefault(above, {})
            key = side.keys[-1]
            is_optional = side.is_optional or (bool(self.steps[-1].speakers) and key not in self.also)
            inner[key] = shape | OPTIONAL if is_optional else shape
        if of_turn and all(map(str.isdecimal, of_turn)):  # the sides of a list
            return tuple[*(of_turn.get(str(number), Any) for number in range(len(self.sides)))]  # type: ignore[misc] # likewise
        return of_turn

    def check(self, source: Source, sides: Collection[str] = _BOTH) -> Any:
        """The decoded file, or a list of its lines with their places, once its types have been checked.

        Args:
            source: The file.
            sides: The sides whose states are checked.

        Raises:
            DstbenchError: Something has another type; the message says what and where.
        """
        if self.lines:
            lines = [*source.whole_lines()]
            for place, item in lines:
                self._convert(source, item, self._type_of(self.steps, sides), self.steps, place)
            return lines
        document = node = self.prepare(source.json)
        steps = self.steps
        while steps[0].kind == "key":
            if not isinstance(node, dict) or steps[0].key not in node:
                raise source.misshapen(f"no JSON object with the key `{steps[0].key}`")
            node, steps = node[steps[0].key], steps[1:]
        step, shape = steps[0], self._type_of(steps, sides)
        if step.kind == "list" and isinstance(node, dict) and step.or_object:
            node = [*node.values()]
        if step.kind == "list":
            if not isinstance(node, list):
                raise source.misshapen("not a JSON list")
            for number, item in enumerate(node):
                ids = item if isinstance(item, dict) else {}
                where = {id_.of.partition("-")[0]: ids.get(id_.key) if id_.key else number for id_ in step.ids}
                self._convert(source, item, inner_type(shape), steps[1:], f"item {number}: ", where)
        elif step.kind == "object" and isinstance(node, dict):
            for key, item in node.items():
                self._convert(source, item, inner_type(shape), steps[1:], "", {"dialogue": key})
        else:
            self._convert(source, node, shape, steps)
        return document

    def _convert(  # noqa: PLR0917 (a place)
        self, source: Source, item: Any, shape: Any, steps: Sequence[Step], place: str = "",
        where: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        try:
            msgspec.convert(item, shape)
        except msgspec.ValidationError as error:
            raise source.misfit(item, shape, error, lambda path: self._levels(steps, path), place, where) from None

    def _levels(self, steps: Sequence[Step], path: Sequence[Any]) -> list[str | None]:
        """What each of the keys on the way to a misfit is."""
        levels: list[str | None] = []
        for step in steps:
            if step.kind != "dialogue":
                levels += [None] * (step.kind in ("key", "lists"))
                levels += {"key": [], "object": [id_.of for id_ in step.ids]}.get(
                    step.kind, ["turn/2" if step.is_answer else "turn"]
                )
        rest = tuple(map(str, path[len(levels) :]))
        sides = [*self.sides.values()]
        side = next((side for side in sides if rest[: len(side.keys)] == side.keys), sides[0])
        return [*levels, *[None] * len(side.keys), *side.notation.levels]

    # --- turns --------------------------------------------------------------------------------------------------------

    def turns(self, source: Source, document: Any) -> Iterator[Turn]:
        """The turns of a document whose types have been checked."""
        walker = self.walker(source, document)
        for place, item in document if self.lines else [("", document)]:
            yield from walker.walk(item, self.steps, (*START[:3], place))

    def walker(self, source: Source, document: Any) -> Walker:
        return Walker(source, self.said, None if self.naming is None else self.naming(document))

    # --- what a format does -------------------------------------------------------------------------------------------

    def sniff(self, source: Source) -> bool:
        """Whether one of the first turns of a file has the row's keys, and a file of gold no predictions."""
        if self.lines:
            items: list[Any] = [source.first_line()]
        elif source.kind != "json" or (source.around and self.steps[0].kind == "object"):
            return False
        elif self.steps[0].kind not in ("object", "list"):
            items = [self.prepare(source.sample)]
        elif isinstance(source.sample, dict):
            items = [{key: item} for key, item in source.sample.items()]
        else:
            items = [[item] for item in source.sample] if isinstance(source.sample, list) else []
        walker, looked_at = Walker(source, self.said), count()
        for item in items[:_FIRST]:
            with suppress(*_NOT_THERE, DstbenchError):
                for turn in walker.walk(item, self.steps, SNIFFING):
                    if turn.content is not None and self._is_one(turn):
                        return True
                    if next(looked_at) > _ENOUGH:
                        return False
        return False

    def _is_one(self, turn: Turn) -> bool:
        """Whether a turn has the marks."""
        side = self.sides.get("pred") or self.sides["gold"]
        marks = side.keys[:1] if self.marks is None else self.marks
        if isinstance(turn.content, list) and marks:
            return False
        if isinstance(turn.content, dict):
            if "pred" not in self.sides and name_sides(turn.content, "pred"):
                return False
            for mark in marks:
                if not any(key.startswith(mark[:-1]) if mark[-1] == "*" else key == mark for key in turn.content):
                    return False
        return isinstance(turn.content, (dict, list)) and self.matches(turn)

    def read(self, source: Source, states: StatesBuilder) -> None:
        """Add the turns of a file."""
        checked = _BOTH if source.unreadable == "error" else ("gold",)
        document = self.check(source, checked)
        loose = StateCells(source.unreadable)
        turns = [*self.turns(source, document)]
        if self.unanswered and (unanswered := self._unanswered(turns)):
            states.note(self.unanswered.format(unanswered))
        turns = [turn for turn in turns if turn.content is not None]
        rows = states.open(turns)
        domains = self._domains(turns, states)
        unreadable = set[int]()
        for name, side in self.sides.items():
            of_side = getattr(states, name)
            pairs_of: Callable[[Any], State] = loose.read if isinstance(side.notation, Written) else side.notation.pairs
            for at, turn in zip(rows, turns, strict=True):
                state = turn.content
                try:
                    state = side.find(turn.content)
                    if state is msgspec.UNSET:
                        if not side.is_optional:
                            raise self._without_state(source, turn, side)
                        continue
                    if name not in checked:
                        side.notation.check(state)
                    pairs = pairs_of(state)
                except Misfit as error:
                    if name in checked:
                        raise self._misfit(source, turn, side, error, is_pred=name == "pred") from None
                    loose.take_unreadable(of_side, at, state)
                    unreadable.add(at)
                    continue
                if domains and (domain := domains[at]):
                    slots = pairs.items() if isinstance(pairs, Mapping) else filter(None, pairs)
                    pairs = [(domain + slot, value) for slot, value in slots]
                of_side.state(at, pairs)
        if note := loose.note():
            states.note(note)
        if self.after is not None:
            self.after(source, states, [turn for at, turn in zip(rows, turns, strict=True) if at not in unreadable])

    def _misfit(self, source: Source, turn: Turn, side: Side, error: Misfit, *, is_pred: bool) -> DstbenchError:
        """The error for a state that is none."""
        where = {"dialogue": turn.dialogue, "turn": turn.number}
        if isinstance(side.notation, Written):
            return no_state(source, error, is_gold=not is_pred, **where)
        slot = {} if error.slot is None else {"slot": error.slot}
        return source.misshapen(error.what, **where, **slot)

    def _unanswered(self, turns: Sequence[Turn]) -> int:
        """The number of utterances of users without an answer, which has the state."""
        number, last, following = 0, None, 0
        for turn in turns:
            following = following if turn.dialogue == last else 0
            number += int(turn.number) - following + (turn.content is None and "user" in turn.texts)
            last, following = turn.dialogue, int(turn.number) + 1
        return number

    def _domains(self, turns: Sequence[Turn], states: StatesBuilder) -> list[str]:
        """What stands before the slots of each turn; empty if slots have their domains."""
        if not self.domain:
            return []
        domains: list[str] = []
        around = None
        for turn in turns:
            if not domains or turn.around is not around:
                around, domain = turn.around, self.domain_of(turn.around)
                if domain:
                    states.domains[turn.dialogue] = domain.removesuffix("-")
            domains.append(domain)
        return domains

    def _without_state(self, source: Source, turn: Turn, side: Side) -> DstbenchError:
        """The error for a turn that lacks a state."""
        step, key = self.steps[-1], ".".join(side.keys)
        if step.kind == "lists":
            sizes = [len(turn.around[name]) for name in step.names]
            what = f"{sizes[0]} gold turns and {sizes[1]} generated ones"
            return source.error(what, "write it again", dialogue=turn.dialogue)
        what = f"a {'user ' * (step.kind == 'speakers')}turn without a {key}"
        if step.is_answer:
            what = f"the system's message has no {key}"
        return source.misshapen(what, dialogue=turn.dialogue, turn=turn.number)

    def domain_of(self, dialogue: Any) -> str:
        """What stands before the slots of a dialogue: its domain and a hyphen, or nothing."""
        domain = self.domain if isinstance(self.domain, str) else self.domain(dialogue)
        return f"{domain}-" if domain else ""

    def spoken(self, source: Source) -> Iterator[Said]:
        """What was said in each turn."""
        for turn in self.document_turns(source, self.check(source, ())):
            for holder, key in turn.texts.values():
                text = holder.get(key, "") if isinstance(holder, dict) else holder[key]
                if not isinstance(text, str):
                    name = key if isinstance(key, str) else "an utterance"
                    what = f"{name}: expected a string, found {clipped(str(text))}"
                    raise source.misshapen(what, dialogue=turn.dialogue, turn=turn.number)
            if turn.state is not None:
                yield turn.dialogue, turn.number, turn.text("system"), turn.text("user")

    def document_turns(self, source: Source, document: Any) -> Iterator[DocumentTurn]:
        """The turns with the places of their utterances."""
        before: Turn | None = None
        for turn in self.turns(source, document):
            if before is not None and before.dialogue != turn.dialogue:
                yield from self._last(before)
                before = None
            yield DocumentTurn(turn.dialogue, turn.number, turn if turn.content is not None else None,
                               turn.texts or self._texts(turn, before))  # fmt: skip
            before = turn
        if before is not None:
            yield from self._last(before)

    def _texts(self, turn: Turn, before: Turn | None) -> dict[str, Place]:
        """The places of utterances that are in the turn, or in the one before."""
        texts: dict[str, Place] = {}
        for speaker, key in zip(("system", "user"), self.said, strict=True):
            holder = (before and before.content) if key.startswith("<") else turn.content
            *above, last = key.removeprefix("<").split(".")
            if not last or holder is None or (speaker == "system" and self.is_silent_first and turn.number == 0):
                continue
            if above and above[0] in holder:
                inner = holder[above[0]]
                is_there = isinstance(inner, dict) and last in inner
                texts[speaker] = (inner, last) if is_there else ([inner], 0)  # which is no text, and so refused
            elif not above:
                texts[speaker] = (holder, last)
        return texts

    def _last(self, turn: Turn) -> Iterator[DocumentTurn]:
        """What the system says after the last turn of a dialogue, if the path does not give it."""
        if not turn.texts and self.said[0].startswith("<"):
            texts = {"system": (turn.content, self.said[0].removeprefix("<"))}
            yield DocumentTurn(turn.dialogue, int(turn.number) + 1, None, texts)
