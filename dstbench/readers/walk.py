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
| `[dialogue=0.dial_id]` | likewise, under several keys, or indices, joined by dots |
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
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import msgspec

from dstbench.errors import DstbenchError, UsageError
from dstbench.readers.notations import Place
from dstbench.readers.source import Misfit, Source, clipped

_ID: Final = re.compile(r"(dialogue|turn|dialogue-turn)=([^,:/\]>}]+)(?::(int|any))?(?:/(\d))?")
_KEYS: Final = re.compile(r"(?:\{(dialogue|turn|dialogue_turn|)\}|\[(dialogue|turn|)\])")
_LISTS: Final = re.compile(r"\(([^()]+)\)\[turn\]")
_SPEAKERS: Final = re.compile(r"\[([^:\]]*):([^|\]]+\|[^\]>]+)(>?)\]")
_NAMED: Final = re.compile(rf"(?:\[|\[{{|<)((?:{_ID.pattern},?)+)(?:\]|}}\]|>)")
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
        if match := _KEYS.fullmatch(word):
            of = (match[1] or match[2] or "").replace("_", "-")
            return cls("object" if word[0] == "{" else "list", ids=(Id(of),) if of else ())
        if word == "[>]":
            return cls("speakers", is_answer=True)
        if match := _LISTS.fullmatch(word):
            return cls("lists", names=tuple(match[1].split(",")))
        if match := _SPEAKERS.fullmatch(word):
            speakers = tuple(tuple(names.split("/")) for names in match[2].split("|"))
            return cls("speakers", match[1], speakers=speakers, is_answer=bool(match[3]))
        if match := _NAMED.fullmatch(word):
            kinds: dict[str, Any] = {"any": str | int, "int": int}
            ids = tuple(
                Id(of, key, kinds.get(kind, int if of == "turn" else str), int(step or 1))
                for of, key, kind, step in _ID.findall(match[1])
            )
            return cls("list" if word[0] == "[" else "dialogue", ids=ids, or_object=word.startswith("[{"))
        if word[0] in "[{(<":
            hint = "{dialogue} {turn}, [dialogue=ID] turns [turn=KEY], <dialogue-turn=KEY>, …; see `help plugins`"
            raise UsageError(f"the path has a step {word!r}, which is of no known form", hint=hint)
        return cls("key", word)


class Turn(NamedTuple):
    """A turn of a file, as it spells it, with the places of what the ``user`` says, and the ``system`` before."""

    dialogue: Any
    number: Any
    content: Any  # the object or list that it is; None: the user says nothing, or has no answer
    around: Any = None  # the dialogue's object or list
    texts: Mapping[str, Place] = _NO_TEXTS
    place: str = ""  # where it is in the file, for messages

    def text(self, speaker: str) -> Any:
        """What a speaker says; empty: nothing."""
        holder, key = self.texts.get(speaker, ({}, ""))
        return holder.get(key, "") if isinstance(holder, dict) else holder[key]


def follow(node: Any, keys: Sequence[str]) -> Any:
    """What is under keys, of which numbers are indices; ``msgspec.UNSET``: nothing. A `Misfit`: it is nested otherwise.

    A star at the end of a key stands for any letters.
    """
    for key in keys:
        if key == "-1" or key.isdecimal():
            if not isinstance(node, list) or int(key) >= len(node):
                raise Misfit(f"expected a list with an item {key}, found {clipped(repr(node))}")
            node = node[int(key)] if node else msgspec.UNSET
        elif not isinstance(node, dict):
            raise Misfit(f"expected an object, found {clipped(repr(node))}")
        elif key[-1] == "*":
            names = [name for name in node if name.startswith(key[:-1])]
            if len(names) != 1:
                raise Misfit(f"a turn needs one {key} list, found {', '.join(node) or 'nothing'}")
            node = node[names[0]]
        else:
            node = node.get(key, msgspec.UNSET)
        if node is msgspec.UNSET:
            break
    return node


@dataclass(eq=False)
class Broken(TypeError):  # noqa: N818 (readers turn it into an error about the file)
    """What is there is not nested as the path says."""

    what: str
    turn: Turn
    found: Any = msgspec.UNSET
    is_id: bool = False

    def __str__(self) -> str:  # not before it is shown, as sniffing meets large objects
        found = "" if self.found is msgspec.UNSET else f", found {clipped(repr(self.found))}"
        return f"{self.turn.place}{self.what}{found}"

    def in_file(self, source: Source, *, names_turn: bool = True) -> DstbenchError:
        """The error about the file; where it is no id that is wrong, with the dialogue and turn, if `names_turn`."""
        if self.is_id:
            return source.error(str(self))
        where = {"dialogue": self.turn.dialogue, "turn": self.turn.number} if names_turn else {}
        return source.misshapen(str(self), **where)


@dataclass(frozen=True)
class Walker:
    """Follows paths through decoded JSON."""

    source: Source
    said: tuple[str, ...] = ()  # the keys of utterances, for lists of both speakers' turns and lists under several keys
    naming: Callable[[Any], str] | None = None  # names a dialogue's object; None: the path does
    is_guess: bool = False  # the path was guessed: turns may lack numbers, and say by which keys they were reached

    def walk(self, node: Any, steps: Sequence[Step], place: str = "") -> Iterator[Turn]:
        """The turns below a node, which is at this place; `Broken`: they are nested in another way."""
        turns: Iterable[Turn] = [Turn(None, None, node, place=place)]
        for step in steps:
            follow_step = {"speakers": self._exchanges, "lists": self._listed}.get(step.kind, self._below)
            turns = chain.from_iterable(map(partial(follow_step, step), turns))
        return iter(turns)

    def _below(self, step: Step, above: Turn) -> Iterator[Turn]:
        """What a step leads to: an object or a list leads to all that is in it, a dialogue to itself."""
        node = above.content
        is_list = step.kind == "list"
        if not isinstance(node, (dict, list) if step.or_object else list if is_list else dict):
            raise Broken(f"expected {'a list' if is_list else 'an object'}", above, node)
        items: Iterable[tuple[Any, Any]] = node.items() if isinstance(node, dict) else enumerate(node)
        if step.kind == "dialogue":
            items = [(None, node)]
        elif step.kind == "key":
            if step.key not in node:
                raise Broken(f"no {step.key} here", above)
            items = [(step.key, above.content[step.key])]
        return (self.below(step, key, item, above) for key, item in items)

    def below(self, step: Step, key: Any, item: Any, above: Turn) -> Turn:
        """What is under a key, or an index, to which a step leads."""
        dialogue, turn, _, around, _, place = above
        if self.is_guess and key is not None:
            place += f"{key!r}: " if isinstance(key, str) else f"item {key}: "
        elif isinstance(key, int) and dialogue is None and not place:
            place = f"item {key}: "
        for id_ in step.ids:
            number = key if turn is None and dialogue is not None else turn
            value = self._id(id_, key, Turn(dialogue, number, item, place=place))
            if value is None:
                continue
            if id_.of == "dialogue":
                dialogue, around = (str(value) if self.naming is None else self.naming(item)), item
            elif id_.of == "turn":
                turn = value // id_.step if id_.step > 1 else value
            else:
                what, sign = (f"the {id_.key}", "-") if id_.key else ("the key", "_")
                dialogue, _, turn = value.rpartition(sign)
                if not (dialogue and turn.isdecimal()):
                    here = Turn(None, None, item, place=place if id_.key else "")
                    raise Broken(f"{what} {value!r} is not of the form <dialogue>{sign}<turn>", here, is_id=True)
        return Turn(dialogue, turn, item, around, _NO_TEXTS, place)

    def _id(self, id_: Id, key: Any, turn: Turn) -> Any:
        """The value of an id; None: there is none."""
        if not id_.key:
            return key
        *above, last = [id_.key] if self.is_guess else id_.key.split(".")
        try:
            node = follow(turn.content, above)
        except Misfit as error:
            raise Broken(error.what, turn) from None
        if not isinstance(node, dict):
            raise Broken("expected an object", turn, node)
        value = node.get(last)
        if isinstance(value, id_.kind) and not isinstance(value, bool):
            return value
        if self.is_guess and id_.of == "turn":
            return None
        if last in node:
            raise Broken("expected an integer" if id_.kind is int else "expected a string", turn, value)
        raise Broken(f"no {last} here", turn)

    def _listed(self, step: Step, dialogue: Turn) -> Iterator[Turn]:
        """The turns whose states, and utterances, are in lists of a dialogue."""
        node = dialogue.content
        if not isinstance(node, dict):
            raise Broken("expected an object", dialogue, node)
        for name in step.names:
            if not isinstance(node.get(name), list):
                raise Broken(f"expected a list {name}", dialogue, node)
        spoken = [said if isinstance(said := node.get(name, []), list) else [said] for name in self.said]
        systems, users = spoken or ([], [])
        for number in range(max(*(len(node[name]) for name in step.names), len(users)) + 1):
            texts: dict[str, Place] = {"system": (systems, number - 1)} if 0 < number <= len(systems) else {}
            if number < len(users):
                texts["user"] = (users, number)
            content = {name: node[name][number] for name in step.names if number < len(node[name])}
            if content or texts:
                yield dialogue._replace(number=number, content=content or None, texts=texts)

    def _exchanges(self, step: Step, dialogue: Turn) -> Iterator[Turn]:
        """The turns in a list of both speakers': each has the part with the state, and the places of utterances."""
        if not isinstance(dialogue.content, list):
            raise Broken("expected a list", dialogue, dialogue.content)
        number, text, texts = 0, self.said[0] if self.said else "", dict[str, Place]()
        names = [name for names in step.speakers for name in names]
        odd: Broken | None = None  # raised at last, so that sniffing meets the other turns
        for index, item in enumerate(dialogue.content):
            here = dialogue._replace(number=number, content=item)
            if not isinstance(item, dict):
                raise Broken("expected an object", here, item)
            speaker = item.get(step.key)
            if step.key and speaker not in names:
                odd = odd or Broken(f"{step.key}: expected {' or '.join(names)}", here, speaker)
            elif speaker in step.speakers[0] if step.key else index % 2 == 0:
                if not step.is_answer:
                    yield here._replace(texts=texts | {"user": (item, text)})
                    number, texts = number + 1, {}
                else:
                    number += "user" in texts  # the user spoke before, too, and had no answer
                    texts = {**texts, "user": (item, text)}
            elif not step.is_answer:
                texts = {"system": (item, text)}
            elif "user" in texts:
                yield here._replace(texts=texts)
                number, texts = number + 1, {"system": (item, text)}
        if odd is not None:
            raise odd
        if texts:
            yield dialogue._replace(number=number, content=None, texts=texts)
