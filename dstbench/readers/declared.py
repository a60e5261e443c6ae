"""Formats that a user declares as rows: ``[[format]]`` in a TOML file, with the words of `rows.Row`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dstbench.errors import UsageError, did_you_mean
from dstbench.readers.notations import NOTATIONS
from dstbench.readers.rows import Row

_TEXTS: Final = ("name", "path", "gold", "pred", "title", "example", "absent", "domain")
_LISTS: Final = ("marks", "omits", "said")
_WORD: Final = re.compile(
    r"\{(dialogue|turn|dialogue_turn)\}|\[(turn|dialogue|>)\]|\([^()]+\)\[turn\]|\[[^:\]]*:[^|\]]+\|[^\]]+\]"
    r"|[\[<]\{?(dialogue|turn|dialogue-turn)=[^\]}>]+\}?[\]>]|[\[{][\]}]|[^\[({<].*"
)


def row_of(table: Mapping[str, Any]) -> Row:
    """The row that a table declares.

    Args:
        table: Its words, by the names of the row's attributes.

    Raises:
        UsageError: A word is unknown, of another type, or missing; or the path or a notation is.
    """
    for key, value in table.items():
        kind: Any = bool if key == "lines" else list if key in _LISTS else str
        if key not in (*_TEXTS, *_LISTS, "lines"):
            every = ("lines", *_TEXTS, *_LISTS)
            raise UsageError(f"a row has no {key!r}", hint=did_you_mean(key, every) or f"one of {', '.join(every)}")
        if not isinstance(value, kind) or (kind is list and not all(isinstance(item, str) for item in value)):
            wanted = {bool: "true or false", list: "a list of texts", str: "a text"}[kind]
            raise UsageError(f"{key} = {value!r} is not {wanted}")
    for key, example in (("name", "my-tracker"), ("path", "[dialogue=dial_id] turns [turn]")):
        if not table.get(key):
            raise UsageError(f"a row without {key}", hint=f'{key} = "{example}"')
    _check(table)
    told = [f"{side} at {table[side]}" for side in ("gold", "pred") if side in table]
    words: dict[str, Any] = {"title": "a row of yours", "example": f"turns at {table['path']}, {', '.join(told)}"}
    words |= {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return Row(**words)


def _check(table: Mapping[str, Any]) -> None:
    """Raise a `UsageError` if no dialogue, no state or no notation follows from the words."""
    words = str(table["path"]).split()
    if wrong := [word for word in words if not _WORD.fullmatch(word)]:
        hint = "{dialogue} {turn}, [dialogue=ID] turns [turn=KEY], <dialogue-turn=KEY>, …; see `help plugins`"
        raise UsageError(f"the path has a step {wrong[0]!r}, which is of no known form", hint=hint)
    if "dialogue" not in "".join(word for word in words if word[0] in "[{<"):
        raise UsageError(f"the path {table['path']!r} names no dialogue", hint="[dialogue=KEY], {dialogue}, …")
    if not {"gold", "pred"} & table.keys():
        raise UsageError("a row without states", hint='gold = "state:flat", or pred = "prediction:flat"')
    for side in ("gold", "pred"):
        notation = str(table.get(side, ":flat")).rpartition(":")[2]
        if notation not in NOTATIONS:
            raise UsageError(f"{side} = {table[side]!r} has no known notation", hint=f"one of {', '.join(NOTATIONS)}")
    is_of_both = any("|" in word or word == "[>]" for word in words)
    if table.get("said") and len(table["said"]) != 2 - is_of_both:
        hint = 'said = ["text"]' if is_of_both else 'said = ["system", "user"]'
        raise UsageError(f"said = {table['said']!r} names other keys than those of what is said", hint=hint)
