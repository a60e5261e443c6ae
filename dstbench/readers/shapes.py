"""Where decoded JSON is not of a type."""

from __future__ import annotations

from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec

_UNIONS: Final = (UnionType, Union)
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
    """A text of at most 60 characters: a longer one's beginning.

    >>> clipped("x" * 70)[-5:]
    'xx...'
    """
    return text if len(text) <= 60 else f"{text[:57]}..."


def first_misfit(value: Any, shape: Any, reason: str, path: tuple[Any, ...] = ()) -> tuple[tuple[Any, ...], Any, str]:
    """The innermost place at which `value` is not of type `shape`: its keys, the value there, and why."""
    if get_origin(shape) in _UNIONS:  # an optional field
        shape = next(kind for kind in get_args(shape) if kind is not msgspec.UnsetType)
        return first_misfit(value, shape, reason, path)
    children: list[tuple[Any, Any, Any]] = []
    if get_origin(shape) is dict and isinstance(value, dict):
        children = [(key, item, get_args(shape)[1]) for key, item in value.items()]
    elif get_origin(shape) is list and isinstance(value, list):
        children = [(i, item, get_args(shape)[0]) for i, item in enumerate(value)]
    elif get_origin(shape) is tuple and isinstance(value, list) and len(value) == len(get_args(shape)):
        children = list(zip(range(len(value)), value, get_args(shape), strict=True))
    elif isinstance(shape, type) and issubclass(shape, msgspec.Struct) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)}
        children = [(name, value[name], kind) for name, kind in fields.items() if name in value]
    for key, item, kind in children:
        try:
            msgspec.convert(item, kind)
        except msgspec.ValidationError as error:
            return first_misfit(item, kind, str(error), (*path, key))
    reason = reason.partition(" - at ")[0].partition(", got ")[0]
    if reason.startswith("Object missing required field"):
        reason = f"no {reason.rpartition(' ')[2]} here"
    elif reason.startswith("Object contains unknown field"):
        reason = f"unexpected key {reason.rpartition(' ')[2]} here"
    elif get_origin(shape) is Literal:
        reason = f"expected {' or '.join(get_args(shape))}"
    for kind, name in _TYPES.items():
        reason = reason.replace(f"Expected `{kind}`", f"expected {name}")
    return path, value, reason.replace("`", "")
