"""Which turns and frames are scored under a convention, of those in a turn table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dstbench.conventions.convention import KINDS
from dstbench.conventions.slots import domain_of
from dstbench.schema.core import TURNS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstbench.conventions.convention import Convention

#: The columns that identify a turn in a table of several dialogues.
TURN: Final = ("number", "turn")
#: The columns of a turn in which neither state has anything, where they are not 0.
EMPTY_TURN: Final[Mapping[str, Any]] = {"local_error": False, "error_age": None, "soft_joint": 1.0}


def columns_of_scored(convention: Convention) -> set[str]:
    """The columns of the turn table that `scored_turns` needs beside ``number``."""
    drops = convention.drops_turns
    return {"n_gold", "n_pred", "n_dropped"} if convention.turns in ("gold", "pred") or drops else set()


def scored_turns(turns: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The turns that the convention scores: none whose gold has only values that are dropped."""
    if "n_dropped" in columns_of_scored(convention):
        turns = turns.filter((pl.col("n_gold") > 0) | (pl.col("n_dropped") == 0)).drop("n_dropped")
    if convention.turns == "last":
        return turns.filter(pl.col("number") != pl.col("number").shift(-1, fill_value=0))
    return turns if convention.turns == "all" else turns.filter(pl.col(f"n_{convention.turns}") > 0)


def turns_of_frames(turns: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The scored turns of each domain in which gold has its frame (``is_frame``).

    Where only the slots of one kind are scored, the service must have a slot of that kind.
    """
    turns = turns.filter("is_frame")
    if convention.slots not in KINDS or convention.scope is None:
        return turns
    services = sorted({domain_of(slot) for slot in convention.scope})
    return turns.filter(pl.col("domain").cast(pl.String).is_in(services))


def turns_of_domains(
    counted: pl.DataFrame, listed: pl.DataFrame, scored: pl.DataFrame, convention: Convention
) -> pl.DataFrame:
    """The turns that count for a domain.

    Args:
        counted: The scored turns of each domain, from the first that lists it.
        listed: The same with turns that are not scored: they say which domains a dialogue has.
        scored: The scored turns.
        convention: Which of them count.
    """
    in_gold = pl.col("n_gold") > 0
    if convention.domain_turns != "dialogue":
        return counted.filter(in_gold | (pl.col("n_pred") > 0) if convention.domain_turns == "either" else in_gold)
    names = [name for name in ("number", "dialogue", "domain") if name in listed.columns]
    turns = scored.select(TURN).join(listed.filter(in_gold).select(names).unique(), on="number", maintain_order="left")
    joined = turns.join(counted.drop("dialogue", strict=False), on=[*TURN, "domain"], how="left", maintain_order="left")
    empty = {name: EMPTY_TURN.get(name, 0) for name in TURNS.columns if name not in ("dialogue", "turn", "error_age")}
    return joined.with_columns(pl.col(name).fill_null(empty[name]) for name in joined.columns if name in empty)
