"""Objects that people put around their dialogues: ``{"meta": {…}, "predictions": {…}}``.

Conventions: the keys of such an object are not ids of dialogues: their names say so, or the objects under them, which
name other dialogues. What is under such a key is read like a file of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from dstbench.readers.key_names import DIALOGUE_ONLY, folded

# Words in the names of objects and lists that hold dialogues, turns or states.
_AROUND: Final = frozenset({
    "data", "dataset", "details", "dialogues", "dialogs", "dials", "conversations", "sessions", "records", "samples",
    "examples", "instances", "items", "entries", "results", "result", "predictions", "prediction", "preds", "outputs",
    "output", "responses", "generations", "states", "evaluation", "train", "dev", "val", "validation", "test",
})  # fmt: skip
# The most keys of a wrapper that are looked at.
_MOST: Final = 20


def keys_around(document: Any) -> tuple[str, ...]:
    """The keys of decoded JSON, among its first, under which dialogues are and which are not ids of dialogues.

    >>> keys_around({"summary": {"jga": 0.5}, "testResults": [{}], "SNG1": [{}]})
    ('testResults',)
    """
    if not isinstance(document, dict):
        return ()
    inner = ((key, item) for key, item in document.items() if isinstance(item, (dict, list)) and item)
    return tuple(key for key, item in islice(inner, _MOST) if _names_others(key) or _has_others(key, item))


def _names_others(key: str) -> bool:
    return not any(map(str.isdecimal, key)) and not _AROUND.isdisjoint(folded(key).split("_"))


def _has_others(key: str, content: Any) -> bool:
    """Whether objects under a key, or a level or two below, name a dialogue of another id."""
    for item in (content, *values(content, 1), *values(content, 2)):
        for name, text in item.items() if isinstance(item, Mapping) else ():
            if isinstance(text, str) and folded(name) in DIALOGUE_ONLY:
                return not key.lower().startswith(text.lower().removesuffix(".json"))
    return False


def values(document: Any, depth: int, most: int = 20) -> list[Any]:
    """Some of the values `depth` levels down in decoded JSON."""
    level = [document]
    for _ in range(depth):
        below: list[Any] = []
        for item in level:
            inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            below.extend(islice(inner, most))
            if len(below) >= most:
                break
        level = below[:most]
    return level
