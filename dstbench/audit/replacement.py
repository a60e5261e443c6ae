"""A test set whose entities no model can have seen in training (Qian et al. 2021, §4).

Conventions: an *entity* is what a value names in one dialogue. Spellings that differ only in case, spaces and signs
name the same entity, and so do the alternatives of a value (``a|b``). Every entity of a chosen slot gets one new name
in the whole dialogue: in all its slots, and in what user and system say. Where values overlap, the longest is replaced
(not ``cambridge`` in ``cambridge belfry``, if that is a value too). Numbers, times, days, yes and no, and dontcare are
no names and stay. A value must have been said by the time a state first has it; else its dialogue is omitted, or kept
as it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Final

import numpy as np
import polars as pl

from dstbench.audit.donors import FORM, Donors, donor_values, unseen
from dstbench.audit.inputs import gold_cells
from dstbench.audit.mentions import WHOLE, pattern, squeezed
from dstbench.conventions.normalise import is_text
from dstbench.conventions.slots import canonical_slot
from dstbench.errors import DstbenchError, UsageError, check_known
from dstbench.schema.audit_words import REFUSED, REPLACED
from dstbench.schema.core import BETWEEN
from dstbench.writers.rewrite import rewrite, spoken

# The slots that are replaced by default: names and places.
_DEFAULT_SLOTS: Final = r"(^|[-_ ])(name|departure|destination)$"
_ENTITY: Final = ["dialogue", "entity"]


@dataclass(frozen=True)
class Replacement:
    """What has been replaced, and what could not be, as frames (schemas in `dstbench.schema.audit_words`).

    Attributes:
        replaced: The manifest: one row per dialogue, slot and old value, schema `REPLACED`.
        refused: The values that have not been said, so that their dialogues are omitted (or kept as they were), schema
            `REFUSED`.
    """

    replaced: pl.DataFrame
    refused: pl.DataFrame


def replace(
    data: str | PathLike[str],
    out: str | PathLike[str],
    *,
    train: str | PathLike[str],
    donors: Donors = None,
    slots: Sequence[str] | None = None,
    seed: int = 0,
    keep_unfound: bool = False,
) -> Replacement:
    """Write a dataset again, the values of some slots replaced by values that training has not seen.

    States and words are changed; dialogue acts, spans and goals that stand beside them in a file are not.

    Args:
        data: The dataset, in a format that `rewrite` can write.
        out: The file (or folder) to write.
        train: The training set; no new value is among its values or said in it.
        donors: Where new values come from: a mapping or a JSON file, {slot: [values]}; a dataset, whose similar slots
            give theirs; None: they are invented.
        slots: The slots whose values are replaced; None: those called name, departure or destination.
        seed: Random seed of the choice among the donors; the same seed gives the same bytes.
        keep_unfound: Keep dialogues with a value that has not been said, as they were; by default they are omitted.

    Returns:
        What was replaced, and what was refused.

    Raises:
        DstbenchError: A file cannot be used, or there are too few donors that are new.
        UsageError: A slot that the data do not have.
    """
    cells = gold_cells(data)
    chosen = _chosen(cells["slot"].unique().sort().to_list(), slots)
    names = _names(cells, chosen)
    pieces = _pieces(spoken(data), names)
    mentions = pieces.drop_nulls("said")
    refused = _refused(cells, names, mentions, chosen)
    entities = names.drop_nulls("slot").join(refused, on="dialogue", how="anti").select(*_ENTITY, "slot").unique()
    if entities.is_empty():
        unsaid = f"{refused.height:,} values have not been said word for word" if refused.height else None
        what = f"no dialogue is left with a value to replace in {', '.join(chosen)}"
        raise DstbenchError(what, file=str(data), hint=unsaid or "--slots names others")
    values = _new_values(entities["slot"].unique().sort().to_list(), donors, seed, (train, data))
    new_names = _assign(entities.sort(_ENTITY), values, seed)
    changed = cells.join(_renamed(names, new_names), on=["dialogue", "value"], maintain_order="left")
    rewrite(
        data,
        out,
        states=changed.select("dialogue", "turn", "slot", value="new"),
        said=_retold(pieces, new_names),
        without=[] if keep_unfound else refused["dialogue"].unique().to_list(),
    )
    manifest = changed.group_by("dialogue", "slot", "value", "new", "entity").agg(states=pl.len())
    n_mentions = mentions.group_by(_ENTITY).agg(mentions=pl.len())
    manifest = manifest.join(n_mentions, on=_ENTITY, how="left").with_columns(pl.col("mentions").fill_null(0))
    return Replacement(REPLACED.conform(manifest).sort("dialogue", "slot", "value"), refused)


def _chosen(slots_of_data: list[str], slots: Sequence[str] | None) -> list[str]:
    """The slots to replace."""
    if slots:
        chosen = sorted({canonical_slot(slot) for slot in slots})
        check_known(chosen, slots_of_data, "the data have no slot {!r}")
    else:
        chosen = [slot for slot in slots_of_data if re.search(_DEFAULT_SLOTS, slot)]
    if not chosen:
        raise UsageError("no slot is called name, departure or destination", hint="say which: --slots SLOT,SLOT")
    return chosen


def _names(cells: pl.DataFrame, chosen: list[str]) -> pl.DataFrame:
    """The alternatives of each dialogue's values.

    Returns:
        (dialogue, value, name: the alternative; and, null if it is no name: key: the name squeezed, pattern, entity;
        slot: the chosen slot that gives the entity its donors, null if it has none), in the order of alternatives.
    """
    names = cells.select("dialogue", "value").unique(maintain_order=True)
    names = names.with_columns(name=pl.col("value").str.split(BETWEEN)).explode("name")
    distinct = names.select(pl.col("name").unique()).with_columns(key=squeezed(pl.col("name")))
    patterns = [pattern(name) if is_text(name) and key else None for name, key in distinct.iter_rows()]
    distinct = distinct.with_columns(pattern=pl.Series(patterns, dtype=pl.String)).drop_nulls("pattern")
    names = names.join(distinct, on="name", how="left", maintain_order="left").with_columns(entity=pl.col("key"))
    # All alternatives of a value get the smallest key, then all names with the same key, until nothing changes:
    # from a|b and b|c, all of a, b and c become the entity a.
    in_value = pl.when(pl.col("key").is_not_null()).then(pl.col("entity").min().over("dialogue", "value"))
    while True:
        merged = names.with_columns(entity=in_value).with_columns(pl.col("entity").min().over("dialogue", "key"))
        if merged.equals(names):
            break
        names = merged
    wanted = cells.filter(pl.col("slot").is_in(chosen)).select("dialogue", "value", "slot").unique()
    wanted = wanted.join(names.drop_nulls("entity"), on=["dialogue", "value"])
    slots = wanted.group_by(_ENTITY).agg(pl.col("slot").min())
    return names.join(slots, on=_ENTITY, how="left", maintain_order="left")


def _pieces(texts: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """The texts that say names of a dialogue with a chosen entity, cut after each mention; the longest name counts.

    Returns:
        (row: of the text; dialogue, turn, speaker, before: text before the mention, said: the mention, entity); the
        last piece of each text has no mention.
    """
    spelled = names.drop_nulls("pattern").filter(pl.col("slot").is_not_null().any().over("dialogue"))
    longest_first = -pl.col("key").str.len_chars().cast(pl.Int64)
    patterns = spelled.select("dialogue", "key", "pattern").unique().sort("dialogue", longest_first, "key", "pattern")
    whole = pl.format(WHOLE, pl.col("pattern").str.join("|"))
    patterns = patterns.group_by("dialogue", maintain_order=True).agg(pattern=whole)
    text, any_name = pl.col("text"), pl.col("pattern")
    pieces = texts.join(patterns, on="dialogue", maintain_order="left").with_row_index("row")
    pieces = pieces.with_columns(before=text.str.split(any_name, literal=False), said=text.str.extract_all(any_name))
    pieces = pieces.filter(pl.col("said").list.len() > 0).drop("text", "pattern")
    no_mention = pl.lit([None], pl.List(pl.String))
    pieces = pieces.with_columns(pl.col("said").list.concat(no_mention)).explode("before", "said")
    pieces = pieces.with_columns(key=squeezed(pl.col("said")))
    entities = spelled.select("dialogue", "key", "entity").unique()
    return pieces.join(entities, on=["dialogue", "key"], how="left", maintain_order="left").drop("key")


def _refused(cells: pl.DataFrame, names: pl.DataFrame, mentions: pl.DataFrame, chosen: list[str]) -> pl.DataFrame:
    """The chosen slots' values that have not been said by the time a state first has them, schema `REFUSED`."""
    wanted = cells.filter(pl.col("slot").is_in(chosen)).group_by("dialogue", "slot", "value").agg(pl.col("turn").min())
    entities = names.drop_nulls("entity").select("dialogue", "value", "entity").unique()
    first_said = mentions.group_by(_ENTITY).agg(first_said=pl.col("turn").min())
    wanted = wanted.join(entities, on=["dialogue", "value"]).join(first_said, on=_ENTITY, how="left")
    in_time = (pl.col("first_said") <= pl.col("turn")).fill_null(False)
    return REFUSED.conform(wanted.filter(~in_time)).sort("dialogue", "slot", "value")


def _new_values(slots: list[str], donors: Donors, seed: int, seen: Sequence[str | PathLike[str]]) -> pl.DataFrame:
    """(slot, donor) of values that are in none of the seen datasets."""
    all_values = new = donor_values(donors, slots, seed)
    for path in seen:
        new = unseen(new, path)
    if lacking := [slot for slot in slots if slot not in new["slot"]]:
        searched = all_values.filter(pl.col("slot").is_in(lacking)).height
        none_is_new = f"none of the {searched:,} donor values is new" if searched else "no donor values"
        raise DstbenchError(
            f"{none_is_new} for {', '.join(lacking)}",
            file=str(donors) if isinstance(donors, (str, PathLike)) else None,
            hint=f"name other slots (--slots), or a JSON file of values: {FORM}; without donors, they are invented",
        )
    return new


def _assign(entities: pl.DataFrame, donors: pl.DataFrame, seed: int) -> pl.DataFrame:
    """(dialogue, entity, donor): each entity's new name, no two of a dialogue the same.

    Each entity asks for a random donor of its slot. In every round, those whose donor is taken ask for the next one.
    """
    donors = donors.with_columns(place=pl.int_range(pl.len()).over("slot"), key=squeezed(pl.col("donor")))
    start = np.random.default_rng(seed).integers(2**31, size=entities.height)
    waiting = entities.with_columns(start=start).join(donors.group_by("slot").agg(size=pl.len()), on="slot")
    waiting = waiting.sort(_ENTITY)
    names = pl.DataFrame(schema=dict.fromkeys((*_ENTITY, "donor", "key"), pl.String))
    for step in range(donors.height):
        requests = waiting.with_columns(place=(pl.col("start") + step) % pl.col("size"))
        requests = requests.join(donors, on=["slot", "place"], maintain_order="left")
        free = requests.join(names, on=["dialogue", "key"], how="anti", maintain_order="left")
        granted = free.unique(["dialogue", "key"], keep="first", maintain_order=True).select(names.columns)
        names = pl.concat([names, granted])
        waiting = waiting.join(granted, on=_ENTITY, how="anti", maintain_order="left")
        if waiting.is_empty():
            return names.drop("key")
    dialogue, _, slot, _, size = waiting.row(0)
    raise DstbenchError(f"too few new values: {size}", dialogue=dialogue, slot=slot, hint="give more donors")


def _in_case_of(old: str, new: str) -> pl.Expr:
    """The new name, in lower case where the old one is, else with capitals; the old one where there is no new one."""
    old_name, new_name = pl.col(old), pl.col(new)
    lower = new_name.str.to_lowercase()
    capitals = pl.when(new_name == lower).then(new_name.str.to_titlecase()).otherwise(new_name)
    return pl.coalesce(pl.when(old_name == old_name.str.to_lowercase()).then(lower).otherwise(capitals), old_name)


def _renamed(names: pl.DataFrame, new_names: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, value, entity, new) of the values that have a new name; alternatives of one entity become one."""
    names = names.join(new_names, on=_ENTITY, how="left", maintain_order="left")
    has_donor, is_first = pl.col("donor").is_not_null(), pl.struct("dialogue", "value", "entity").is_first_distinct()
    names = names.filter(is_first | ~has_donor, has_donor.any().over("dialogue", "value"))
    new = _in_case_of("name", "donor").str.join(BETWEEN)
    values = names.group_by("dialogue", "value", maintain_order=True)
    return values.agg(pl.col("entity").drop_nulls().first(), new=new)


def _retold(pieces: pl.DataFrame, new_names: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, turn, speaker, text) of the texts that change."""
    named = pieces.join(new_names, on=_ENTITY, how="left", maintain_order="left")
    named = named.filter(pl.col("donor").is_not_null().any().over("row"))
    piece = pl.col("before") + _in_case_of("said", "donor").fill_null("")
    texts = named.group_by("row", "dialogue", "turn", "speaker", maintain_order=True).agg(text=piece.str.join(""))
    return texts.drop("row")
