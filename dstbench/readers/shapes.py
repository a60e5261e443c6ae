"""Where decoded JSON is not of a type."""

from __future__ import annotations

from typing import Any, Final, get_args, get_origin

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
    """A text of at most 60 characters: a longer one's beginning.

    >>> clipped("x" * 70)[-5:]
    'xx...'
    """
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
