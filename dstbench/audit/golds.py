"""The gold states of datasets, by name, and their values under a convention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dstbench.errors import DstbenchError, UsageError
from dstbench.readers.states import only_split
from dstbench.runs.codes import ABSENT, codes, to_column
from dstbench.runs.open import Data, named_parts, open_gold
from dstbench.scoring.compare_values import comparison

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention
    from dstbench.readers.states import Side, States


def open_golds(data: Data, split: str | None = None) -> dict[str, States]:
    """The gold states of each dataset, by name.

    Args:
        data: A path, several, a frame, a list of states, or a mapping from name to any of these.
        split: The split of each that is wanted, where it has several; None: all of it.

    Raises:
        DstbenchError: One cannot be read, or has no gold.
        UsageError: There is none, or two have one name.
    """
    parts = named_parts(data)
    if not parts:
        raise UsageError("no dataset to open", hint="give at least one file, folder or list of states")
    names = [name for name, _ in parts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two datasets are called {twice[0]!r}", hint="give each a name of its own")
    return {name: open_gold(item, split) for name, item in parts}


def by_split(states: States) -> dict[str, States]:
    """A dataset's splits, training first, where it says which dialogue is of which; else nothing."""
    if states.splits is None:
        return {}
    known = states.splits["split"].unique().to_list()
    return {name: only_split(states, name) for name in sorted(known, key=_split_order)}


def _split_order(name: str) -> tuple[int, str]:
    usual = ("train", "dev", "test")
    return usual.index(name) if name in usual else len(usual), name


def gold_of(states: States) -> Side:
    """The gold side.

    Raises:
        DstbenchError: There is none.
    """
    if states.gold is None:
        raise DstbenchError(
            f"no gold inside ({states.format})", file=states.source, hint="an audit takes files that have gold states"
        )
    return states.gold


def under(convention: Convention, slot: pl.Series, value: pl.Series) -> pl.Series:
    """Gold values under a convention; null where they mean that the slot is not in the state.

    Args:
        convention: Of it, what it does to gold values: the slots in scope, `none`, dontcare, normaliser.
        slot: Dictionary column of slots; null where there is none.
        value: Dictionary column of values, verbatim.
    """
    verbatim = codes(value)
    nothing = np.full(len(verbatim), ABSENT, np.uint32)
    return to_column(comparison(convention).compare(codes(slot), verbatim, nothing).gold)
