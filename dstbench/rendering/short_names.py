"""Results with short names of runs, as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any, Final, TypeVar

import polars as pl
import polars.selectors as cs

_T = TypeVar("_T")


# Columns of what runs are about, in which a text like a run's name is no name of a run.
_NO_NAMES: Final = ("dialogue", "slot", "gold", "pred", "system", "user")


def renamed(result: _T, names: Mapping[str, str]) -> _T:
    """A result in which all names of runs, also those within texts, are replaced."""
    # The shortest first: what a name becomes may be another, shorter one, which must not be replaced in turn.
    longer = {name: names[name] for name in sorted(names, key=len) if names[name] != name}
    return _renamed(result, longer) if longer else result


def _renamed(thing: Any, names: Mapping[str, str]) -> Any:
    if isinstance(thing, pl.DataFrame):
        texts = (cs.string(include_categorical=True) | cs.enum()) - cs.by_name(*_NO_NAMES, require_all=False)
        return thing.with_columns(reduce(_replaced, names.items(), texts.cast(pl.String)))
    if isinstance(thing, str):  # as a column, so that names in texts are found in one way
        return _renamed(pl.DataFrame({"text": [thing]}), names).item()
    if isinstance(thing, (list, tuple)) and not (thing and isinstance(thing[0], (int, float))):
        return type(thing)(_renamed(item, names) for item in thing)
    if isinstance(thing, dict):
        return {_renamed(key, names): _renamed(value, names) for key, value in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        values = {one.name: _renamed(getattr(thing, one.name), names) for one in fields(thing) if one.init}
        return replace(thing, **values)
    return thing


def _replaced(texts: pl.Expr, name: tuple[str, str]) -> pl.Expr:
    """Texts in which a whole name is replaced; within a path or another word, it is not the run's."""
    whole, short = name
    pattern = rf"(^|[^\w/.-]){re.escape(whole)}($|[^\w.-]|\.$|\.\W)"
    return texts.str.replace_all(pattern, f"${{1}}{short.replace('$', '$$')}${{2}}")
