"""Results with short names of runs, as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import polars as pl
import polars.selectors as cs

_T = TypeVar("_T")


def renamed(result: _T, names: Mapping[str, str]) -> _T:
    """A result in which all names of runs, also those within texts, are replaced."""
    longer = [name for name in sorted(names, key=len, reverse=True) if names[name] != name]  # the longest first: one
    return _renamed(result, longer, [names[name] for name in longer]) if longer else result  # may begin another


def _renamed(thing: Any, names: list[str], short: list[str]) -> Any:
    if isinstance(thing, pl.DataFrame):
        texts = cs.string(include_categorical=True) | cs.enum()
        return thing.with_columns(texts.cast(pl.String).str.replace_many(names, short, leftmost=True))
    if isinstance(thing, str):
        of = dict(zip(names, short, strict=True))
        whole = rf"(?<![\w/.-])(?:{'|'.join(map(re.escape, names))})(?![\w-]|\.\w)"  # in a path, it is a file's
        return re.sub(whole, lambda name: of[name[0]], thing)
    if isinstance(thing, (list, tuple)) and not (thing and isinstance(thing[0], (int, float))):
        return type(thing)(_renamed(item, names, short) for item in thing)
    if isinstance(thing, dict):
        return {_renamed(key, names, short): _renamed(value, names, short) for key, value in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        values = {one.name: _renamed(getattr(thing, one.name), names, short) for one in fields(thing) if one.init}
        return replace(thing, **values)
    return thing
