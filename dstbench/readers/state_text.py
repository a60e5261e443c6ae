"""States that are written as text in a cell: as JSON, or as Python prints them."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

# msgspec's error is a ValueError, as is that of a lone surrogate.
_NOT_JSON: Final = (ValueError, RecursionError)
# What Python does not know, but JSON does, or prints itself.
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
    """What a text says as JSON, or as Python prints it.

    Raises:
        Misfit: It is neither.
    """
    stripped = text.strip()
    if stripped in ("", "nan", "NaN"):
        return None
    try:
        value = _from_json(stripped)
    except _NOT_JSON:
        value = _from_python(stripped)
    return parsed(value) if isinstance(value, str) and value != text else value


def _from_json(text: str) -> Any:
    data = text.encode()
    value = msgspec.json.decode(data)
    # As in `Source.json`: a document that is shorter than its text may have lost a key.
    if len(msgspec.json.format(data, indent=-1)) != len(msgspec.json.encode(value)):
        return json.loads(text, object_pairs_hook=_object)
    return value


def _from_python(text: str) -> Any:
    if '"' not in text and "\\" not in text:  # then only the quotes differ, unless there is more than strings
        with suppress(*_NOT_JSON):
            return _from_json(text.replace("'", '"'))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash that means nothing
            tree = ast.parse(text, mode="eval")
        return _value_of(tree.body)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise Misfit(f"the text {shown!r} is neither JSON nor a Python literal") from None


def _value_of(node: ast.expr) -> Any:
    """The value of a Python literal, in which a key that stands twice is not lost."""
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
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeated(pairs)


def named(value: Any) -> str:
    """A value of another kind than it must be, in a few words."""
    if isinstance(value, (Mapping, Repeated)):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    shown = repr(value) if isinstance(value, (str, int, float)) else type(value).__name__
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
