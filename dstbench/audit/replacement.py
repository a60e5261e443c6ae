"""A test set whose entities no model can have seen in training (Qian et al. 2021, §4).

Conventions: an *entity* is what a value names in one dialogue: spellings that differ in case, spaces and signs only
are one, and so are the alternatives of a value (``a|b``). Every entity that a chosen slot has gets one new name, and
has it wherever the dialogue has the old one: in all its slots, and in what user and system say. The longest value
counts where several could be meant (``cambridge`` is not looked for in ``cambridge belfry``, if that is a value too).
Numbers, times, days, yes and no, and dontcare are no names and stay. A value must have been said when a state first
has it; else its dialogue is left out, or kept as it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.audit.donors import FORM, donor_values, gold_cells, unseen
from dstbench.audit.mentions import WHOLE, pattern, squeezed
from dstbench.conventions.normalise import is_text
from dstbench.conventions.slots import canonical_slot
from dstbench.errors import DstbenchError, UsageError, did_you_mean
from dstbench.schema.audit_words import REFUSED, REPLACED
from dstbench.schema.core import BETWEEN
from dstbench.writers.rewrite import rewrite, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dstbench.audit.donors import Donors

#: The slots that are replaced unless others are named: names and places.
_OPEN: Final = r"(^|[-_ ])(name|departure|destination)$"
_ENTITY: Final = ["dialogue", "entity"]


@dataclass(frozen=True)
class Replacement:
    """What has been replaced, and what could not be.

    Attributes:
        replaced: Schema `tables.REPLACED`: the manifest.
        refused: Schema `tables.REFUSED`: the values that have not been said, for which dialogues are left out (or kept
            as they were).
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
        train: The training set, whose values (and words) no new value may be.
        donors: Where new values come from: a mapping or a JSON file, {slot: [values]}; a dataset, whose like-named
            slots give theirs; None: they are invented.
        slots: The slots whose values are replaced; None: those that are called name, departure or destination.
        seed: Of the choice among the donors; the same seed gives the same bytes.
        keep_unfound: Keep dialogues with a value that has not been said, as they were; else they are left out.

    Returns:
        What was replaced, and what was refused.

    Raises:
        DstbenchError: A file cannot be used, or there are too few donors that are new.
        UsageError: A slot that the data do not have.
    """
    cells = gold_cells(data)
    chosen = _chosen(cells["slot"].unique().sort().to_list(), slots)
    names = _names(cells, chosen)
    texts, mentions = _mentions(spoken(data), names)
    refused = _refused(cells, names, mentions, chosen)
    entities = names.drop_nulls("slot").join(refused, on="dialogue", how="anti").select(*_ENTITY, "slot").unique()
    if entities.is_empty():
        unsaid = f"{refused.height:,} values have not been said word for word" if refused.height else None
        what = f"no dialogue is left with a value to replace in {', '.join(chosen)}"
        raise DstbenchError(what, file=str(data), hint=unsaid or "--slots names others")
    values = _new_values(entities["slot"].unique().sort().to_list(), donors, seed, (train, data))
    new = _assigned(entities.sort(_ENTITY), values, seed)
    changed = cells.join(_renamed(names, new), on=["dialogue", "value"], maintain_order="left")
    rewrite(
        data,
        out,
        states=changed.select("dialogue", "turn", "slot", value="new"),
        said=_retold(texts, mentions, new),
        without=[] if keep_unfound else refused["dialogue"].unique().to_list(),
    )
    counts = mentions.group_by(_ENTITY).agg(mentions=pl.len())
    manifest = (
        changed.group_by("dialogue", "slot", "value", "new", "entity")
        .agg(states=pl.len())
        .join(counts, on=_ENTITY, how="left")
        .with_columns(pl.col("mentions").fill_null(0))
        .sort("dialogue", "slot", "value")
    )
    return Replacement(manifest.match_to_schema(REPLACED.schema, extra_columns="ignore"), refused)


def _chosen(there: list[str], slots: Sequence[str] | None) -> list[str]:
    """The slots to replace."""
    chosen = sorted({canonical_slot(slot) for slot in slots}) if slots else [s for s in there if re.search(_OPEN, s)]
    if not chosen:
        raise UsageError("no slot is called name, departure or destination", hint="say which: --slots SLOT,SLOT")
    if unknown := [slot for slot in chosen if slot not in there]:
        raise UsageError(
            f"the data have no slot {unknown[0]!r}",
            hint=did_you_mean(unknown[0], there) or f"one of {', '.join(there)}",
        )
    return chosen


def _names(cells: pl.DataFrame, chosen: list[str]) -> pl.DataFrame:
    """The alternatives of each dialogue's values.

    Returns:
        (dialogue, value, name: the alternative; and, null if it is no name: key, pattern, entity; slot: the chosen slot
        that gives the entity its donors, null if it has none), in the order of alternatives.
    """
    names = cells.select("dialogue", "value").unique(maintain_order=True)
    names = names.with_columns(name=pl.col("value").str.split(BETWEEN)).explode("name")
    distinct = names.select(pl.col("name").unique()).with_columns(key=squeezed(pl.col("name")))
    patterns = [pattern(name) if is_text(name) and key else None for name, key in distinct.iter_rows()]
    distinct = distinct.with_columns(pattern=pl.Series(patterns, dtype=pl.String)).drop_nulls("pattern")
    names = names.join(distinct, on="name", how="left", maintain_order="left").with_columns(entity=pl.col("key"))
    while True:  # alternatives are one entity: the least key of all that hang together, step by step
        in_value = pl.col("entity").min().over("dialogue", "value")
        nearer = names.with_columns(entity=pl.when(pl.col("key").is_not_null()).then(in_value))
        nearer = nearer.with_columns(entity=pl.col("entity").min().over("dialogue", "key"))
        if nearer.equals(names):
            break
        names = nearer
    wanted = cells.filter(pl.col("slot").is_in(chosen)).select("dialogue", "value", "slot").unique()
    donors = (
        wanted.join(names, on=["dialogue", "value"]).drop_nulls("entity").group_by(_ENTITY).agg(pl.col("slot").min())
    )
    return names.join(donors, on=_ENTITY, how="left", maintain_order="left")


def _mentions(words: pl.DataFrame, names: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Where the names of dialogues with a chosen entity are said, the longest that fits.

    Returns:
        (row, dialogue, turn, speaker, text, between: list of what stands around the mentions), one row per text with
        any; and (row, at, dialogue, turn, said, entity), one per mention.
    """
    there = names.drop_nulls("slot").select("dialogue").unique()
    spelled = names.drop_nulls("pattern").join(there, on="dialogue", how="semi")
    order = [pl.col("dialogue"), -pl.col("key").str.len_chars().cast(pl.Int64), pl.col("key"), pl.col("pattern")]
    patterns = (
        spelled.select("dialogue", "key", "pattern")
        .unique()
        .sort(order)
        .group_by("dialogue", maintain_order=True)
        .agg(pattern=pl.format(WHOLE, pl.col("pattern").str.join("|")))
    )
    texts = words.join(patterns, on="dialogue", maintain_order="left").with_row_index("row")
    texts = texts.with_columns(
        between=pl.col("text").str.split(pl.col("pattern"), literal=False),
        said=pl.col("text").str.extract_all(pl.col("pattern")),
    ).filter(pl.col("said").list.len() > 0)
    known = names.drop_nulls("key").select("dialogue", "key", "entity").unique()
    mentions = (
        texts.select("row", "dialogue", "turn", "said")
        .explode("said")
        .with_columns(at=pl.int_range(pl.len()).over("row"), key=squeezed(pl.col("said")))
        .join(known, on=["dialogue", "key"], how="left", maintain_order="left")
    )
    return texts.drop("pattern", "said"), mentions.drop("key")


def _refused(cells: pl.DataFrame, names: pl.DataFrame, mentions: pl.DataFrame, chosen: list[str]) -> pl.DataFrame:
    """The chosen slots' values that have not been said when a state first has them, schema `REFUSED`."""
    wanted = cells.filter(pl.col("slot").is_in(chosen)).group_by("dialogue", "slot", "value").agg(pl.col("turn").min())
    entities = names.drop_nulls("entity").select("dialogue", "value", "entity").unique()
    said = mentions.group_by(_ENTITY).agg(said=pl.col("turn").min())
    late = wanted.join(entities, on=["dialogue", "value"]).join(said, on=_ENTITY, how="left")
    late = late.filter(pl.col("said").is_null() | (pl.col("said") > pl.col("turn")))
    return late.select(*REFUSED.columns).sort("dialogue", "slot", "value")


def _new_values(slots: list[str], donors: Donors, seed: int, seen: Sequence[str | PathLike[str]]) -> pl.DataFrame:
    """(slot, donor) of values that are in none of the datasets."""
    given = donor_values(donors, slots, seed)
    found = given
    for path in seen:
        found = unseen(found, path)
    if lacking := [slot for slot in slots if found.filter(slot=slot).is_empty()]:
        known = given.filter(pl.col("slot").is_in(lacking)).height
        raise DstbenchError(
            f"{f'none of the {known:,} donor values is new' if known else 'no donor values'} for {', '.join(lacking)}",
            file=str(donors) if isinstance(donors, (str, PathLike)) else None,
            hint=f"name other slots (--slots), or a JSON file of values: {FORM}; without donors, they are invented",
        )
    return found


def _assigned(entities: pl.DataFrame, donors: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Each entity's new name, no two of a dialogue the same: (dialogue, entity, donor)."""
    pool = donors.with_columns(place=pl.int_range(pl.len()).over("slot"), key=squeezed(pl.col("donor")))
    start = np.random.default_rng(seed).integers(2**31, size=entities.height)
    waiting = entities.with_columns(start=start).join(pool.group_by("slot").agg(size=pl.len()), on="slot")
    waiting = waiting.sort(_ENTITY)
    found = [pl.DataFrame(schema={"dialogue": pl.String, "entity": pl.String, "donor": pl.String, "key": pl.String})]
    for step in range(pool.height):  # whoever finds a name taken asks for the next
        place = (pl.col("start") + step) % pl.col("size")
        asked = waiting.with_columns(place=place).join(pool, on=["slot", "place"], maintain_order="left")
        free = asked.join(pl.concat(found), on=["dialogue", "key"], how="anti", maintain_order="left")
        found.append(free.unique(["dialogue", "key"], keep="first", maintain_order=True).select(found[0].columns))
        waiting = waiting.join(found[-1], on=_ENTITY, how="anti", maintain_order="left")
        if waiting.is_empty():
            return pl.concat(found).drop("key")
    dialogue, _, slot, _, size = waiting.row(0)
    raise DstbenchError(f"too few new values: {size}", dialogue=dialogue, slot=slot, hint="give more donors")


def _cased(old: pl.Expr, new: pl.Expr) -> pl.Expr:
    """The new name in lower case where the old one is, else with capitals."""
    lower = new.str.to_lowercase()
    is_lower, is_plain = old == old.str.to_lowercase(), new == lower
    return pl.when(is_lower).then(lower).when(is_plain).then(new.str.to_titlecase()).otherwise(new)


def _renamed(names: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, value, entity, new) of the values that have a new name; alternatives of one entity become one."""
    joined = names.join(new, on=_ENTITY, how="left", maintain_order="left")
    again = pl.struct("dialogue", "value", "entity").is_first_distinct().not_() & pl.col("donor").is_not_null()
    return (
        joined.filter(~again)
        .with_columns(name=pl.coalesce(_cased(pl.col("name"), pl.col("donor")), "name"))
        .group_by("dialogue", "value", maintain_order=True)
        .agg(
            pl.col("entity").drop_nulls().first(),
            pl.col("donor").is_not_null().any(),
            new=pl.col("name").str.join(BETWEEN),
        )
        .filter("donor")
        .drop("donor")
    )


def _retold(texts: pl.DataFrame, mentions: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, turn, speaker, text) of the texts that change."""
    named = mentions.join(new, on=_ENTITY, how="left").filter(pl.col("donor").is_not_null().any().over("row"))
    told = pl.coalesce(_cased(pl.col("said"), pl.col("donor")), "said")
    around = texts.join(named, on="row", how="semi").select("row", text="between").explode("text")
    pieces = pl.concat(
        [
            around.select("row", "text", place=2 * pl.int_range(pl.len()).over("row")),
            named.select("row", text=told, place=2 * pl.col("at") + 1),
        ]
    )
    whole = pieces.sort("row", "place").group_by("row", maintain_order=True).agg(pl.col("text").str.join(""))
    return texts.drop("text").join(whole, on="row", maintain_order="left").select("dialogue", "turn", "speaker", "text")
