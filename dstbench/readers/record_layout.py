"""Where the records of turns are in a document: at the top level, or nested in objects and lists.

Records may be nested in any way: `{"summary": …, "details": […]}`, a list of dialogues that hold their turns, an object
of dialogues by id, of turns by number, or of records by `<dialogue>-<turn>`. `find_steps` finds the path from the top
to the records of a sample; `walk` follows it, and yields every record with what the keys on its path say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from dstbench.readers.key_names import DIALOGUE, TURN, folded, turn_in
from dstbench.readers.state_text import named

#: The keys from a document to its records; None stands for every key or index.
Steps: TypeAlias = tuple[str | None, ...]

# No layout nests records deeper, and no more entries are looked at on each level.
_DEPTH: Final = 4
_SAMPLE: Final = 20


class Row(NamedTuple):
    """A record of a turn.

    Attributes:
        place: Where it is in the file, for messages.
        record: The record.
        dialogue: The dialogue that objects around it name; None: they do not.
        turn: The turn, by its key or index in that dialogue; None: they do not say it.
        group: The key of the object or list that it is in, if that is not its dialogue.
    """

    place: str
    record: Any
    dialogue: Any = None
    turn: int | str | None = None
    group: str | None = None


class Broken(Exception):  # noqa: N818 (readers turn it into an error about the file)
    """Some records are not nested as the first ones are."""


def find_steps(document: Any, is_record: Callable[[Mapping[str, Any]], bool], depth: int = 0) -> Steps | None:
    """The path from a document to its records; None: there seem to be none.

    Args:
        document: Decoded JSON, or its beginning.
        is_record: Whether an object is a record.
        depth: How deep the document is nested in another.
    """
    if depth > _DEPTH or not document:
        return None
    if isinstance(document, list):
        ways = (find_steps(item, is_record, depth + 1) for item in document[:_SAMPLE])
        return next(((None, *way) for way in ways if way is not None), None)
    if not isinstance(document, Mapping):
        return None
    if is_record(document):
        return ()
    inner = ((key, value) for key, value in document.items() if isinstance(value, (list, Mapping)) and value)
    ways_by_key = {
        key: way
        for key, value in islice(inner, _SAMPLE)
        if (way := find_steps(value, is_record, depth + 1)) is not None
    }
    if not ways_by_key:
        return None
    key, way = next(iter(ways_by_key.items()))
    is_id = any(map(str.isdecimal, str(key))) and all(isinstance(value, (list, Mapping)) for value in document.values())
    return (None if len(ways_by_key) > 1 or is_id else key, *way)


def walk(document: Any, steps: Steps, place: str = "") -> Iterator[Row]:
    """All records of a document.

    Args:
        document: Decoded JSON.
        steps: The path to its records, from `find_steps`.
        place: Where in the file the document is, for messages.

    Raises:
        Broken: Records are nested in different ways.
    """
    if steps == (None,) and isinstance(document, list):  # most files have this layout
        for number, record in enumerate(document):
            yield Row(f"{place}item {number}: ", record)
    else:
        yield from _walk(document, steps, place, _Around())


class _Around(NamedTuple):
    """The surroundings of records: keys and indices at the open steps of the path; the dialogue and turn of objects."""

    keys: tuple[int | str, ...] = ()
    dialogue: str | int | None = None
    turn: str | int | None = None

    def row(self, place: str, record: Any) -> Row:
        """A record in these surroundings."""
        keys, dialogue, turn = self
        last = keys[-1] if keys else None
        is_number = isinstance(last, int) or (last is not None and turn_in(last) is not None)
        if dialogue is not None:
            return Row(place, record, dialogue, turn if turn is not None else last if is_number else None)
        names = [key for key in keys if isinstance(key, str)]
        if isinstance(last, int) or (is_number and len(names) > 1):
            of_dialogue = next((key for key in reversed(keys[:-1]) if isinstance(key, str)), None)
            return Row(place, record, of_dialogue, None if of_dialogue is None else last, of_dialogue)
        return Row(place, record, last, None, last)


def _walk(document: Any, steps: Steps, place: str, around: _Around) -> Iterator[Row]:
    if not steps:
        yield around.row(place, document)
        return
    step, *rest = steps
    if isinstance(document, Mapping) and step is not None:
        if step not in document:
            raise Broken(f"{place}no key {step!r} here, unlike before")
        by_name = {folded(key): value for key, value in document.items() if isinstance(value, (str, int))}
        dialogue, turn = (
            next((by_name[name] for name in names if name in by_name), before)
            for names, before in ((DIALOGUE, around.dialogue), (TURN, around.turn))
        )
        yield from _walk(document[step], tuple(rest), f"{place}{step!r}: ", _Around(around.keys, dialogue, turn))
    elif step is None and isinstance(document, (Mapping, list)):
        for key, value in document.items() if isinstance(document, Mapping) else enumerate(document):
            at = f"{place}{key!r}: " if isinstance(key, str) else f"{place}item {key}: "
            yield from _walk(value, tuple(rest), at, _Around((*around.keys, key), around.dialogue))
    else:
        raise Broken(f"{place}{named(document)}, where the file has records elsewhere")
