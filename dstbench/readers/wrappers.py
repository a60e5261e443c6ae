"""Objects that people put around their dialogues: ``{"meta": {…}, "predictions": {…}}``.

Conventions: a key of such an object is no id of a dialogue. Its name says so, or the objects under it, which name
dialogues of other ids. What stands under it is read as a file of its own would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from dstbench.readers.key_names import DIALOGUE_ONLY, folded

# Words of the names of what dialogues, turns or states stand in.
_AROUND: Final = frozenset({
    "data", "dataset", "details", "dialogues", "dialogs", "dials", "conversations", "sessions", "records", "samples",
    "examples", "instances", "items", "entries", "results", "result", "predictions", "prediction", "preds", "outputs",
    "output", "responses", "generations", "states", "evaluation", "train", "dev", "val", "validation", "test",
})  # fmt: skip
# No wrapper has more keys.
_MOST: Final = 20


def keys_around(document: Any) -> tuple[str, ...]:
    """Those of the first keys of decoded JSON that are no ids of dialogues, but names of what these stand in.

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
