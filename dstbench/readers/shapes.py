"""Where decoded JSON is not of a type, and what is there instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, TypeAlias, get_args, get_origin

import msgspec

# The names of types in msgspec's messages and in ours.
_TYPES: Final = {
    "str": "a string",
    "object": "an object",
    "array": "a list",
    "str | array": "a string or a list",
    "array` of length": "a list of length",
    "int": "an integer",
}


def clipped(text: str) -> str:
    """A text of at most 60 characters: a longer one's beginning."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def first_misfit(value: Any, shape: Any, reason: str, path: tuple[Any, ...] = ()) -> tuple[tuple[Any, ...], Any, str]:
    """The innermost place at which `value` is not of type `shape`: its keys, the value there, and why."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    kind = get_args(shape)[-1] if get_origin(shape) in (dict, list) else Any
    for key, item in items:
        try:
            msgspec.convert(item, kind)
        except msgspec.ValidationError as error:
            return first_misfit(item, kind, str(error), (*path, key))
    reason = reason.partition(" - at ")[0].partition(", got ")[0]
    for kind, name in _TYPES.items():
        reason = reason.replace(f"Expected `{kind}`", f"expected {name}")
    return path, value, reason.replace("`", "")


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


def in_words(value: Any) -> str:
    """A value of the wrong type, in a few words."""
    if isinstance(value, (Mapping, Repeated)):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    shown = repr(value) if isinstance(value, (str, int, float)) else type(value).__name__
    return clipped(shown)


Kinds: TypeAlias = type | tuple[type, ...]

_CALLED: Final[dict[Kinds, str]] = {
    dict: "an object", (dict, NoneType): "an object", list: "a list", str: "a string", int: "an integer",
    (str, list): "a string or a list", (int, float): "a number",
}  # fmt: skip


def typed(value: Any, kind: Kinds, slot: str | None = None) -> Any:
    """A value of a type of JSON. A `Misfit`: it has another one."""
    if not isinstance(value, kind) or (type(value) is bool and kind is not bool):
        shown = repr(value) if isinstance(value, str) else str(value)
        raise Misfit(f"expected {_CALLED[kind]}, found {clipped(shown)}", slot)
    return value
