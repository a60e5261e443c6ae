"""Formats that a user declares as rows: ``[[format]]`` in a TOML file, with the words of `rows.Row`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dstbench.errors import UsageError, did_you_mean
from dstbench.readers.notations import NOTATIONS
from dstbench.readers.rows import Row

_KINDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("name", "path", "gold", "pred", "title", "example", "absent", "domain"), str),
    **dict.fromkeys(("marks", "omits", "said"), list),
    "lines": bool,
}
_CALLED: Final = {bool: "true or false", list: "a list of texts", str: "a text"}


def row_of(table: Mapping[str, Any]) -> Row:
    """The row that a table declares.

    Raises:
        UsageError: It has a word that rows do not have, or no dialogue, state or notation follows from its words.
    """
    for key, value in table.items():
        if (kind := _KINDS.get(key)) is None:
            raise UsageError(f"a row has no {key!r}", hint=did_you_mean(key, _KINDS) or f"one of {', '.join(_KINDS)}")
        if not isinstance(value, kind) or (kind is list and not all(isinstance(item, str) for item in value)):
            raise UsageError(f"{key} = {value!r} is not {_CALLED[kind]}")
    for key, example in (("name", "my-tracker"), ("path", "[dialogue=dial_id] turns [turn]")):
        if not table.get(key):
            raise UsageError(f"a row without {key}", hint=f'{key} = "{example}"')
    sides = {side: table[side] for side in ("gold", "pred") if side in table}
    if not sides:
        raise UsageError("a row without states", hint='gold = "state:flat", or pred = "prediction:flat"')
    for side, text in sides.items():
        if text.rpartition(":")[2] not in NOTATIONS:
            raise UsageError(f"{side} = {text!r} has no known notation", hint=f"one of {', '.join(NOTATIONS)}")
    listed = [f"{side} at {text}" for side, text in sides.items()]
    words: dict[str, Any] = {"title": "a row of yours", "example": f"turns at {table['path']}, {', '.join(listed)}"}
    words |= {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    row = Row(**words)
    if not any("dialogue" in id_.of for step in row.steps for id_ in step.ids):
        raise UsageError(f"the path {row.path!r} names no dialogue", hint="[dialogue=KEY], {dialogue}, …")
    are_of_both = any(step.kind == "speakers" for step in row.steps)
    if row.said and len(row.said) != 2 - are_of_both:
        hint = 'said = ["text"]' if are_of_both else 'said = ["system", "user"]'
        raise UsageError(f"said = {table['said']!r} names other keys than those of what is said", hint=hint)
    return row
