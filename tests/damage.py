"""Damaged files: an example with bytes changed or cut, or with something else in one place of its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

#: What may stand where something else is meant.
STRANGE: Final[Sequence[Any]] = (
    None, True, 0, -1, 65_536, 10**30, 0.5, "", "x", "none", "D_0", "hotel-area", "\ud7ff", "|||", "][", "§§none", [],
    {}, [[]], {"": ""}, ["x", "y"], {"hotel": {"area": "east"}}, [1, 0], {"a": None},
)  # fmt: skip
_NAMES: Final = ("", "x", "0", "01", "D_7", "hotel-area", "hotel day")
_BYTES: Final = (b"", b"\0", b"\xff", b"{", b"}", b"]", b'"', b"\t", b"\n", b"|||", b"-", b"9")

#: Chooses one of several: at random, or as Hypothesis draws it.
Choose = Callable[[Sequence[Any]], Any]


def damaged(content: bytes, choose: Choose) -> bytes:
    """The content with a few bytes changed or cut, or, if it is JSON or JSON Lines, with a place of it changed."""
    document = _decoded(content)
    if document is not None and choose((True, False)):
        lines, documents = document
        changed = _swapped(documents, choose)
        if lines:
            return b"".join(json.dumps(line).encode() + b"\n" for line in changed)
        return json.dumps(changed[0] if changed else None).encode()
    cut = bytearray(content)
    for _ in range(choose((1, 2, 3))):
        at = choose(range(len(cut) + 1))
        end = min(len(cut), at + choose((0, 1, 1, 2, 40, len(cut))))
        cut[at:end] = choose(_BYTES)
    return bytes(cut)


def _decoded(content: bytes) -> tuple[bool, list[Any]] | None:
    """Whether the content is JSON Lines, and its documents; None: it is no JSON."""
    for lines in (False, True):
        try:
            texts = [line for line in content.splitlines() if line.strip()] if lines else [content]
            return lines, [json.loads(text) for text in texts]
        except ValueError:
            continue
    return None


def _swapped(documents: list[Any], choose: Choose) -> list[Any]:
    """Documents in which one place has another value, is renamed or repeated, or is missing."""
    documents = list(json.loads(json.dumps(documents)))
    *above, key = choose([path for path in paths(documents) if path] or [(0,)])
    holder = at_path(documents, above)
    way = choose(("other", "gone", "renamed"))
    if way == "other":
        holder[key] = choose(STRANGE)
    elif way == "gone":
        del holder[key]
    elif isinstance(holder, dict):
        holder[choose(_NAMES)] = holder.pop(key)
    else:
        holder.append(holder[key])
    return documents


def paths(document: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all places of a document, as keys and positions; the whole has an empty one."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [at, *(path for key, value in inner for path in paths(value, (*at, key)))]


def at_path(document: Any, path: Sequence[Any]) -> Any:
    """What stands at a path."""
    for step in path:
        document = document[step]
    return document
