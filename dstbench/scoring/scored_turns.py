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

#: The columns that say which turn it is, in a table of several dialogues.
TURN: Final = ("number", "turn")
#: What a turn counts in which neither state has anything.
EMPTY_TURN: Final[Mapping[str, Any]] = {"local_error": False, "error_age": None, "soft_joint": 1.0}


def columns_of_scored(convention: Convention) -> set[str]:
    """The columns of the turn table that `scored_turns` needs beside ``number``."""
    drops = convention.drops_turns
    return {"n_gold", "n_pred", "n_dropped"} if convention.turns in ("gold", "pred") or drops else set()


def scored_turns(whole: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The turns that the convention scores: not those whose gold has values, all of which are dropped."""
    if "n_dropped" in columns_of_scored(convention):
        whole = whole.filter((pl.col("n_gold") > 0) | (pl.col("n_dropped") == 0)).drop("n_dropped")
    match convention.turns:
        case "gold":
            return whole.filter(pl.col("n_gold") > 0)
        case "pred":
            return whole.filter(pl.col("n_pred") > 0)
        case "last":
            return whole.filter(pl.col("number") != pl.col("number").shift(-1, fill_value=0))
        case _:
            return whole


def turns_of_frames(counted: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The turns in which gold has a frame of the domain; where the slots of one kind are scored, of a service with any.

    Args:
        counted: The scored turns of each domain, with ``is_frame``.
        convention: Which slots are scored.
    """
    counted = counted.filter("is_frame")
    if convention.slots not in KINDS or convention.scope is None:
        return counted
    services = sorted({domain_of(slot) for slot in convention.scope})
    return counted.filter(pl.col("domain").cast(pl.String).is_in(services))


def turns_of_domains(
    counted: pl.DataFrame, listed: pl.DataFrame, scored: pl.DataFrame, convention: Convention
) -> pl.DataFrame:
    """The turns that count for a domain.

    Args:
        counted: The scored turns of each domain, from the first that lists it.
        listed: The same, scored or not: they say which domains a dialogue has.
        scored: The scored turns.
        convention: Which of them count.
    """
    in_gold, in_pred = pl.col("n_gold") > 0, pl.col("n_pred") > 0
    if convention.domain_turns != "dialogue":
        return counted.filter(in_gold | in_pred if convention.domain_turns == "either" else in_gold)
    names = [name for name in ("number", "dialogue", "domain") if name in listed.columns]
    turns = scored.select(TURN).join(listed.filter(in_gold).select(names).unique(), on="number", maintain_order="left")
    found = turns.join(counted.drop("dialogue", strict=False), on=[*TURN, "domain"], how="left", maintain_order="left")
    return found.with_columns(
        pl.col(name).fill_null(EMPTY_TURN.get(name, 0))
        for name in found.columns
        if name in TURNS.columns and name not in ("dialogue", "turn", "error_age")
    )
