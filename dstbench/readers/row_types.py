"""The types of files that rows describe, in msgspec's sense."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

import msgspec

from dstbench.readers.walk import Step

#: What says that an object may lack a key.
OPTIONAL: Final = msgspec.UnsetType


def inner_type(shape: Any) -> Any:
    """The type of the items of a list or an object."""
    return shape.__args__[-1]


def type_of(steps: Sequence[Step], inner: Any, beside: Mapping[str, Any]) -> Any:
    """The type of what the first step leads through; `inner` is that of a turn, `beside` has keys of dialogues."""
    for step in reversed(steps):
        if step.kind == "key":
            inner = {step.key: inner}
        elif step.kind == "lists":
            inner = {name: list[inner.get(name, Any)] for name in step.names}  # type: ignore[misc] # made at run time
        else:
            if isinstance(inner, dict):
                ids = {id_.key: str if "-" in id_.of else id_.kind for id_ in step.ids if id_.key}
                speaker = {step.key: Literal[*[n for of in step.speakers for n in of]]} if step.speakers else {}
                further = beside if any(id_.of == "dialogue" for id_ in step.ids) else {}
                inner = _struct({**ids, **speaker, **inner, **further})
            if step.kind == "object":
                inner = dict[str, inner]
            elif step.kind != "dialogue":
                inner = list[inner]
    return _struct(inner) if isinstance(inner, dict) else inner


def _struct(fields: Mapping[str, Any]) -> Any:
    """A msgspec type of an object with these keys."""
    made: list[Any] = []
    for number, (key, inner) in enumerate(fields.items()):
        kind = _struct(inner) if isinstance(inner, dict) else inner
        default = {"default": msgspec.UNSET} if OPTIONAL in get_args(kind) else {}
        made.append((f"field{number}", kind, msgspec.field(name=key, **default)))
    title = "".join(word.capitalize() for word in re.findall(r"[A-Za-z]+", " ".join(fields)))
    return msgspec.defstruct(title or "Object", made, kw_only=True)
