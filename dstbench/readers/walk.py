r"""Paths to the turns of a decoded file, and the walker that follows them.

Conventions: the path to the turns is written in steps, separated by spaces.

| step | stands for |
|---|---|
| `{dialogue}`, `{turn}` | an object whose keys are dialogues, or numbers of turns |
| `{dialogue_turn}` | an object whose keys are both, as `MUL0484.json_3` |
| `[turn]`, `[dialogue]` | a list, whose indices are the numbers of turns, or stand for dialogues |
| `[dialogue=dial_id]` | a list of objects with the dialogue under a key; `[dialogue=ID,turn=turn_id]`: and the turn |
| `[{dialogue=dialogue_id}]` | likewise, or an object of such objects |
| `[dialogue-turn=example_id]` | likewise, with both in one, as `MUL0484-3` |
| `[turn=utt_idx/2]` | likewise, numbers that count both speakers' turns |
| `[dialogue=dialogue_idx:int]` | likewise, ids that are numbers |
| `[speaker:user\|system]` | a list of both speakers' turns, with the speaker under a key; the user's are the turns |
| `[role:usr\|sys>]` | likewise; the state is in what the system answers |
| `[>]` | likewise; user and system alternate |
| `(a,b)[turn]` | lists under several keys, with an item for each turn |
| `<dialogue=session-id>` | an object that is a dialogue |
| `[]`, `{}` | a list or an object that names neither, but has objects that do |
| any other word | a key |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from dstbench.errors import DstbenchError
from dstbench.readers.notations import Place
from dstbench.readers.source import Source
from dstbench.readers.state_text import named

_ID: Final = re.compile(r"(dialogue|turn|dialogue-turn)=([^,:/\]>}]+)(?::(int|any))?(?:/(\d))?")
_NO_TEXTS: Final[Mapping[str, Place]] = MappingProxyType({})


class Id(NamedTuple):
    """An id that a step gives: of a dialogue, a turn, or both; its key, or none for that of the object."""

    of: str
    key: str = ""
    kind: Any = str
    step: int = 1


@dataclass(frozen=True)
class Step:
    """A step of a path (see above)."""

    kind: Literal["key", "object", "list", "speakers", "lists", "dialogue"]
    key: str = ""
    ids: tuple[Id, ...] = ()
    or_object: bool = False
    names: tuple[str, ...] = ()
    speakers: tuple[tuple[str, ...], ...] = ()
    is_answer: bool = False

    @classmethod
    def of(cls, word: str) -> Step:
        """The step that a word of a path stands for."""
        if word[0] == "{":
            return cls("object", ids=(Id(word[1:-1].replace("_", "-")),))
        if word in ("[turn]", "[dialogue]"):
            return cls("list", ids=(Id(word[1:-1]),))
        if word[0] == "(":
            return cls("lists", names=tuple(word[1 : word.index(")")].split(",")))
        if word == "[>]":
            return cls("speakers", is_answer=True)
        if word[0] == "[" and "|" in word:
            key, _, speakers = word[1:-1].removesuffix(">").partition(":")
            names = tuple(tuple(names.split("/")) for names in speakers.split("|"))
            return cls("speakers", key, speakers=names, is_answer=word.endswith(">]"))
        if word[0] in "[<":
            ids = tuple(
                Id(of, key, str | int if kind == "any" else int if kind or of == "turn" else str, int(step or 1))
                for of, key, kind, step in _ID.findall(word[1:-1])
            )
            return cls("list" if word[0] == "[" else "dialogue", ids=ids, or_object=word.startswith("[{"))
        return cls("key", word)


def steps_of(path: str) -> tuple[Step, ...]:
    """The steps of a path."""
    return tuple(Step.of(word) for word in path.split())


# The turns of a dialogue, numbered or in their order.
_TURN: Final = (Id("turn"),)


class Turn(NamedTuple):
    """A turn of a file.

    Attributes:
        dialogue: Its dialogue, as the file spells it.
        number: Its number, likewise.
        content: The object or list that it is; None: the user says nothing, or has no answer.
        around: The dialogue's object or list.
        texts: The places of utterances that the path gives.
        place: Where it is in the file, for messages, if the walker tells.
    """

    dialogue: Any
    number: Any
    content: Any
    around: Any
    texts: Mapping[str, Place] = _NO_TEXTS
    place: str = ""


#: What a path has given so far: dialogue, turn, the dialogue's content; and the place for messages (None: sniffing).
At: TypeAlias = tuple[Any, Any, Any, str | None]
START: Final[At] = (None, 0, None, "")
SNIFFING: Final[At] = (None, 0, None, None)


class Broken(TypeError):  # noqa: N818 (readers turn it into an error about the file)
    """What is there is not nested as the path says."""


@dataclass(frozen=True)
class Walker:
    """Follows paths through decoded JSON.

    Attributes:
        source: The file, for messages.
        said: The keys of utterances, for lists of both speakers' turns and for lists under several keys.
        naming: Names a dialogue's object; None: the path does.
        tells_places: Whether turns say where in the file they are, which takes time.
    """

    source: Source
    said: tuple[str, ...] = ()
    naming: Callable[[Any], str] | None = None
    tells_places: bool = False

    def walk(self, node: Any, steps: Sequence[Step], at: At = START) -> Iterator[Turn]:
        """The turns below a node.

        Raises:
            Broken: They are nested in another way.
            DstbenchError: An id is not of the form that a step says.
        """
        if not steps:
            yield Turn(at[0], at[1], node, node if at[2] is None else at[2], _NO_TEXTS, at[3] or "")
            return
        step, rest = steps[0], steps[1:]
        if step.kind == "speakers":
            for number, content, texts in self._exchanges(step, node):
                yield Turn(at[0], number, content, at[2], texts)
        elif step.kind == "lists":
            yield from self._listed(step, node, at[0])
        else:
            if not rest and step.ids == _TURN and not self.tells_places:  # as `at` says it, in half of the time
                around = at[2]
                for key, item in self._through(step, node, at):
                    yield Turn(at[0], key, item, item if around is None else around, _NO_TEXTS, at[3] or "")
                return
            for key, item in self._through(step, node, at):
                here = self.at(step, key, item, at if key is None else self._below(at, key))
                if rest:
                    yield from self.walk(item, rest, here)
                else:  # not by the next call, which takes as long as everything else here
                    dialogue, number, around, place = here
                    yield Turn(dialogue, number, item, item if around is None else around, _NO_TEXTS, place or "")

    def _through(self, step: Step, node: Any, at: At) -> Iterable[tuple[Any, Any]]:
        """What a step leads to, each with its key or index, if it has one."""
        if step.kind == "dialogue":
            return [(None, node)]
        if step.kind == "key":
            if not isinstance(node, Mapping) or step.key not in node:
                raise Broken(f"{at[3]}no key {step.key!r} here, unlike before")
            return [(step.key, node[step.key])]
        if not isinstance(node, (Mapping, list)):
            raise Broken(f"{at[3]}{named(node)}, where the file has records elsewhere")
        if step.kind != ("object" if isinstance(node, Mapping) else "list") and not step.or_object:
            raise Broken
        return node.items() if isinstance(node, Mapping) else enumerate(node)

    def _below(self, at: At, key: Any) -> At:
        """The same, with a key's place."""
        if not self.tells_places:
            return at
        return (*at[:3], f"{at[3]}{key!r}: " if isinstance(key, str) else f"{at[3]}item {key}: ")

    def _listed(self, step: Step, node: Any, dialogue: Any) -> Iterator[Turn]:
        """The turns whose states, and utterances, are in lists of a dialogue."""
        lists = [node[name] for name in step.names]
        spoken = [said if isinstance(said := node.get(name, []), list) else [said] for name in self.said]
        systems, users = spoken or ([], [])
        for number in range(max(len(lists[0]), len(users)) + 1):
            texts: dict[str, Place] = {"system": (systems, number - 1)} if 0 < number <= len(systems) else {}
            if number < len(users):
                texts["user"] = (users, number)
            content = {
                name: items[number] for name, items in zip(step.names, lists, strict=True) if number < len(items)
            }
            if content or texts:
                yield Turn(dialogue, number, content or None, node, texts)

    def at(self, step: Step, key: Any, item: Any, at: At) -> At:
        """What a step adds to what the path has given before."""
        dialogue, turn, around, place = at
        for id_ in step.ids:
            value = item.get(id_.key) if id_.key else key
            if id_.key and not isinstance(value, id_.kind):
                if id_.of != "turn":
                    raise TypeError  # while it is sniffed
                continue
            if value is None:  # of a layout that nobody declares
                continue
            if id_.of == "dialogue":
                dialogue, around = (str(value) if self.naming is None else self.naming(item)), item
            elif id_.of == "turn":
                turn = value // id_.step if id_.step > 1 else value
            else:
                what = f"{place or ''}the {id_.key}" if id_.key else "the key"
                try:
                    dialogue, turn = self.source.split_key(value, "-" if id_.key else "_", what)
                except DstbenchError:
                    if place is not None:  # reading says what is wrong
                        raise
        return dialogue, turn, around, place

    def _exchanges(self, step: Step, items: list[Any]) -> Iterator[tuple[int, Any, Mapping[str, Place]]]:
        """(number, the part that has the state, places of utterances) of the turns in a list of both speakers'."""
        number, text, texts = 0, self.said[0] if self.said else "", dict[str, Place]()
        for index, item in enumerate(items):
            if item.get(step.key) in step.speakers[0] if step.key else index % 2 == 0:
                if not step.is_answer:
                    yield number, item, texts | {"user": (item, text)}
                    number, texts = number + 1, {}
                else:
                    number += "user" in texts  # the user spoke before, too, and had no answer
                    texts = {**texts, "user": (item, text)}
            elif not step.is_answer:
                texts = {"system": (item, text)}
            elif "user" in texts:
                yield number, item, texts
                number, texts = number + 1, {"system": (item, text)}
        if texts:
            yield number, None, texts
