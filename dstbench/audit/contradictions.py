"""Gold values that are doubtful: they contradict the database, or nobody has said them (Qian et al. 2021, section 7).

Conventions: the entity of a domain is the one that gold names in the same state. Values are compared in one spelling
(`search.CANONICAL`, letters and digits only); dontcare, and attributes that the database leaves open, contradict
nothing. A value is *unsaid* if neither user nor system says it up to the first turn whose state has it, in any spelling
(`search`); yes, no and dontcare could be said of any slot, and are not searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Final

import polars as pl

from dstbench.audit.inputs import Dialogues, agreed_facts, database_facts, spoken_texts
from dstbench.audit.search import DOMAIN, canonical, squeezed, with_unsaid
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import DONTCARE
from dstbench.errors import DstbenchError
from dstbench.metrics.base import divide
from dstbench.runs.open import Data
from dstbench.schema.audit import DOUBTFUL, DOUBTFUL_SLOTS
from dstbench.schema.core import BETWEEN
from dstbench.schema.record import Record

_IS_NAME: Final = pl.col("slot").str.ends_with("-name")
_VALUE: Final = ["slot", "dialogue", "value"]


@dataclass(frozen=True)
class Contradictions(Record):
    """Doubtful values of gold, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        slots: How many there are per slot, schema `DOUBTFUL_SLOTS`.
        values: Each of them, schema `DOUBTFUL`.
    """

    slots: pl.DataFrame
    values: pl.DataFrame


def contradictions(
    data: Data,
    *,
    database: str | PathLike[str] | None = None,
    said: pl.DataFrame | None = None,
    split: str | None = None,
) -> Contradictions:
    """Find gold values that contradict the database, and gold values that nobody has said.

    Args:
        data: The dataset: a file or folder with gold states and utterances. In Python, also states in memory.
        database: Folder of hotel_db.json, …: compare values with the entity that gold names in the state. None: no
            value is compared.
        said: What was said, schema `schema.CONTEXTS`; None: read it from the data's files.
        split: The split to look at, where there are several; None: all.

    Returns:
        Both frames; `values` has no rows if nothing is doubtful.

    Raises:
        DstbenchError: The data cannot be read, hold no gold or no utterances; or the database cannot be read, or has
            none of the names in gold.

    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}}]
    >>> said = pl.DataFrame({"dialogue": ["D"], "turn": [0], "system": [None], "user": ["a hotel please"]})
    >>> contradictions(states, said=said).values.select("slot", "kind", "value").rows()
    [('hotel-area', 'unsaid', 'north')]
    """
    dialogues = Dialogues.read(data, said, split)
    unsaid = with_unsaid(_first_turns(dialogues.cells), spoken_texts(dialogues.said), Convention()).filter("searched")
    compared = _compare(dialogues.cells if database is not None else dialogues.cells.clear(), database)
    slots = unsaid.group_by("slot").agg(searched=pl.len(), unsaid=pl.col("unsaid").sum())
    checked = compared.group_by("slot").agg(checked=pl.len(), contradicting=pl.col("contradicts").sum())
    slots = slots.join(checked, on="slot", how="full", coalesce=True)
    if database is not None:
        slots = slots.with_columns(pl.exclude("slot").fill_null(0))
    slots = slots.with_columns(
        divide(pl.col(part), pl.col(whole)).alias(f"rate_{part}")
        for part, whole in (("contradicting", "checked"), ("unsaid", "searched"))
    )
    doubtful = {"database": compared.filter("contradicts"), "unsaid": unsaid.filter("unsaid")}
    tables = (table.with_columns(kind=pl.lit(kind)) for kind, table in doubtful.items())
    values = pl.concat([DOUBTFUL.schema.to_frame(), *tables], how="diagonal_relaxed")
    return Contradictions(
        DOUBTFUL_SLOTS.conform(slots).sort("slot"),
        DOUBTFUL.conform(values).sort("slot", "dialogue", "turn", "kind", "value", "name"),
    )


def _first_turns(cells: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Each value of a dialogue once, with the first `turn` and the number of `turns` whose states have it."""
    return cells.group_by(*_VALUE, *keys, maintain_order=True).agg(turn=pl.col("turn").first(), turns=pl.len())


def _compare(cells: pl.DataFrame, folder: str | PathLike[str] | None) -> pl.DataFrame:
    """The values whose entity is in the `database`, and whether they contradict what all entities of this name have."""
    facts = database_facts(folder, cells["slot"].unique().to_list()).with_columns(squeezed(pl.col("entity", "fact")))
    entities = facts.filter(_IS_NAME).select("domain", "name", entity="fact")
    cells = cells.with_columns(domain=DOMAIN)
    named = cells.filter(_IS_NAME, ~pl.col("value").str.contains(BETWEEN, literal=True))
    named = named.select("dialogue", "turn", "domain", name="value", entity=_key(named["slot"], named["value"]))
    if named.height and named.join(entities, on=["domain", "entity"], how="semi").is_empty():
        names = ", ".join(entities["name"].unique().sort()[:3]) or "no names"
        hint = f"gold names {named['name'][0]!r}, the database has {names}"
        raise DstbenchError("the database has none of gold's names", file=str(folder), hint=hint)
    facts = agreed_facts(facts.filter(~_IS_NAME)).drop("name")
    pairs = cells.filter(~_IS_NAME).join(named, on=["dialogue", "turn", "domain"], maintain_order="left")
    pairs = pairs.join(facts, on=["domain", "entity", "slot"], maintain_order="left")
    meant = pairs.select("slot", "value", part=pl.col("value").str.split(BETWEEN)).unique().explode("part")
    meant = meant.with_columns(keys=_key(meant["slot"], meant["part"])).group_by("slot", "value").agg("keys")
    pairs, keys = pairs.join(meant, on=["slot", "value"], maintain_order="left"), pl.col("keys").list
    pairs = pairs.with_columns(contradicts=~keys.contains(DONTCARE) & ~keys.contains(pl.col("fact")))
    return _first_turns(pairs, "name", "database", "contradicts")


def _key(slots: pl.Series, values: pl.Series) -> pl.Series:
    """The keys in which spellings of a value are equal: canonical, letters and digits only."""
    return pl.select(squeezed(pl.lit(canonical(slots, values)))).to_series()
