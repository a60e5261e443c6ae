"""The turns and frames that a convention scores, and which of their rows are summed in a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.conventions.convention import SLOT_KINDS, Convention
from dstbench.conventions.slots import domain_of
from dstbench.runs.layout import Layout, over_distinct
from dstbench.schema.core import LENGTH, SEEN, TURNS
from dstbench.scoring.turn_table import to_turns
from dstbench.typing import View

#: The columns that identify a turn in a table of several dialogues.
TURN: Final = ("number", "turn")
#: The values, where not 0, of a turn whose states are both empty.
EMPTY_TURN: Final[Mapping[str, Any]] = {"local_error": False, "error_age": None, "soft_joint": 1.0}


def columns_of_scored(convention: Convention) -> set[str]:
    """The columns of the turn table that `scored_turns` needs in addition to ``number``."""
    drops = convention.drops_turns
    return {"n_gold", "n_pred", "n_dropped"} if convention.turns in ("gold", "pred") or drops else set()


def scored_turns(turns: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The turns that the convention scores; if it drops turns, without those whose gold values are all dropped."""
    if "n_dropped" in columns_of_scored(convention):
        turns = turns.filter((pl.col("n_gold") > 0) | (pl.col("n_dropped") == 0)).drop("n_dropped")
    if convention.turns == "last":
        return turns.filter(pl.col("number") != pl.col("number").shift(-1, fill_value=0))
    return turns if convention.turns == "all" else turns.filter(pl.col(f"n_{convention.turns}") > 0)


class GroupedTurns(NamedTuple):
    """The turns of a partition."""

    scored: pl.DataFrame  # the turns that the convention scores
    counted: pl.DataFrame  # the rows to sum: the scored turns; in a view, those of their rows that count
    fingerprint: int  # of the scored turns' gold; 0: not requested


def view_of(by: Sequence[str], convention: Convention) -> View | None:
    """The view whose turns are grouped."""
    if "slot" in by:
        return "slot"
    return "domain" if "domain" in by or convention.unit == "frame" else None


def group_turns(
    rows: Layout, in_view: Layout, needed: set[str], by: Sequence[str], convention: Convention, *, hashed: bool
) -> GroupedTurns:
    """The turns of a partition, with the needed columns and those to group by.

    `in_view` is the layout of the same rows in the view; `hashed` says whether to compute the fingerprint.
    """
    view = view_of(by, convention)
    gold_hash = {"gold_hash"} if hashed else set()
    columns = needed | gold_hash if view is None else {*TURN, *{"dialogue"}.intersection(by)}
    columns = columns | columns_of_scored(convention) | ({"turn_hash"} if hashed else set())
    whole = to_turns(rows, convention, columns=columns)
    scored = gold = counted = scored_turns(whole, convention)
    if view is not None:
        columns = {*needed, *gold_hash, view, "n_gold", "n_pred", "is_frame"}
        listed = gold = counted = to_turns(in_view, convention, view=view, columns=columns)
        if scored.height < whole.height:
            gold = counted = listed.join(scored.select(TURN), on=TURN, how="semi", maintain_order="left")
        if view == "domain" and in_view.frames is not None:
            counted = _with_frame(counted, convention)
        elif view == "domain":
            counted = _of_domains(counted, listed, scored, convention)
        elif "domain" in by:
            counted = counted.with_columns(over_distinct(counted["slot"], domain_of).alias("domain"))
        if convention.seen is not None and SEEN in by:
            seen = convention.seen.services
            is_seen = over_distinct(counted[view], lambda name: "seen" if domain_of(name) in seen else "unseen")
            counted = counted.with_columns(is_seen.alias(SEEN))
    if LENGTH in by:
        lengths = np.bincount(rows.group).astype(np.uint32)  # turns of each dialogue
        scored, counted = (
            turns.with_columns(pl.Series(LENGTH, lengths[turns["number"].to_numpy() - 1]))
            for turns in (scored, counted)
        )
    hashes = [scored["turn_hash"], gold["gold_hash"]] if hashed else []
    fingerprint = sum(int(np.add.reduce(column.to_numpy(), dtype=np.uint64)) for column in hashes)
    return GroupedTurns(scored, counted, fingerprint)


def _with_frame(turns: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The rows whose domain has a gold frame; if one kind of slots is scored, only services that have such a slot."""
    turns = turns.filter("is_frame")
    if convention.slots not in SLOT_KINDS or convention.scope is None:
        return turns
    services = sorted({domain_of(slot) for slot in convention.scope})
    return turns.filter(pl.col("domain").cast(pl.String).is_in(services))


def _of_domains(
    counted: pl.DataFrame, listed: pl.DataFrame, scored: pl.DataFrame, convention: Convention
) -> pl.DataFrame:
    """The scored turns that count for each domain (`Choices.domain_turns`).

    `listed` has a domain's turns from the first that lists it, scored or not, so it shows which domains a dialogue has;
    `counted` has only those of them that are scored; `scored` has the scored turns without a view.
    """
    in_gold = pl.col("n_gold") > 0
    if convention.domain_turns != "dialogue":
        return counted.filter(in_gold | (pl.col("n_pred") > 0) if convention.domain_turns == "either" else in_gold)
    names = [name for name in ("number", "dialogue", "domain") if name in listed.columns]
    turns = scored.select(TURN).join(listed.filter(in_gold).select(names).unique(), on="number", maintain_order="left")
    joined = turns.join(counted.drop("dialogue", strict=False), on=[*TURN, "domain"], how="left", maintain_order="left")
    empty = {name: EMPTY_TURN.get(name, 0) for name in TURNS.columns if name not in ("dialogue", "turn", "error_age")}
    return joined.with_columns(pl.col(name).fill_null(empty[name]) for name in joined.columns if name in empty)
