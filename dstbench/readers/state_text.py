"""States that are written as text in a cell: as JSON, or as Python prints them."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from dstbench.readers.shapes import clipped

# Texts that mean no state, in lower case.
_NOTHING: Final = frozenset({"", "null", "none", "nan"})
_FENCE: Final = re.compile(r"```\w*\n(.*?)\s*```", re.DOTALL)
# A lone surrogate is a ValueError, and so is msgspec's error from its version 0.20.
_NOT_JSON: Final = (ValueError, msgspec.DecodeError, RecursionError)
# Names that are no Python literals, but that JSON has, or Python prints for NaN.
_NAMES: Final = {"null": None, "nan": None, "NaN": None, "true": True, "false": False}


class Misfit(Exception):  # noqa: N818 (readers turn it into an error that says where)
    """A cell that is no state, or a value that is none.

    Args:
        what: What is wrong.
        slot: The slot at which it is wrong.
    """

    def __init__(self, what: str, slot: str | None = None) -> None:
        super().__init__(what)
        self.what, self.slot = what, slot


class Repeated(list[tuple[str, Any]]):
    """The keys and values of an object that has a key twice."""


def parsed(text: str) -> Any:
    """What a text says as JSON, or as Python prints it. A `Misfit`: it is neither."""
    stripped = unfenced(text)
    if says_nothing(stripped):
        return None
    try:
        msgspec.json.decode(stripped.encode())  # stricter than Python's decoder, which accepts half characters
        value = json.loads(stripped, object_pairs_hook=_object)
    except _NOT_JSON:
        value = _from_python(stripped)
    return parsed(value) if isinstance(value, str) and value != text else value


def found_in(text: str) -> Any:
    """The one object in the prose of a language model; None: there is none.

    What a model thinks before it answers is no answer.

    >>> found_in('<think>{"a": 1}?</think> Here it is: {"hotel-area": "north"}. Is there more?')
    {'hotel-area': 'north'}
    >>> found_in('{"hotel-area": "north"} or {"hotel-area": "south"}'), found_in('<think>Is it {"a": "b"}')
    (None, None)
    """
    answer = text.rpartition("</think>")[2]
    begin, end = answer.find("{"), answer.rfind("}") + 1
    if not 0 <= begin < end or "<think>" in answer:
        return None
    with suppress(Misfit):
        value = parsed(answer[begin:end])
        return value if isinstance(value, (dict, Repeated)) else None
    return None


def says_nothing(text: str) -> bool:
    """Whether a text is empty, or a word for null."""
    return text.strip().casefold() in _NOTHING


def unfenced(text: str) -> str:
    """A text without the space around it, or the Markdown fence in which language models put JSON."""
    stripped = text.strip()
    fence = _FENCE.fullmatch(stripped) if stripped.startswith("```") else None
    return fence[1] if fence else stripped


def _from_python(text: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes before other letters
            return _value_of(ast.parse(text, mode="eval").body)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise Misfit(f"the text {clipped(text)!r} is neither JSON nor a Python literal") from None


def _value_of(node: ast.expr) -> Any:
    """The value of a Python literal, in which repeated keys are not lost."""
    if isinstance(node, ast.Dict):
        keys = [ast.literal_eval(key) for key in node.keys if key is not None]  # None: another object is unpacked
        return _object(zip(keys, map(_value_of, node.values), strict=True))
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value_of(element) for element in node.elts]
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    return ast.literal_eval(node)


def _object(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any] | Repeated:
    pairs = list(pairs)
    content = dict(pairs)
    return content if len(content) == len(pairs) else Repeated(pairs)


def named(value: Any) -> str:
    """A value of the wrong type, in a few words.

    >>> named(None), named(True), named([]), named("x" * 70)[-5:]
    ('null', 'true', 'a list', 'xx...')
    """
    if isinstance(value, (Mapping, Repeated)):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    shown = repr(value) if isinstance(value, (str, int, float)) else type(value).__name__
    return clipped(shown)
