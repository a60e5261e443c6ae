"""The inputs of audits: gold states of datasets, and what is said in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Final

import polars as pl

from dstbench.audit.search import CANONICAL
from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import canonical_slot
from dstbench.errors import DstbenchError, UsageError, first_repeated, warn
from dstbench.readers.contexts import contexts
from dstbench.readers.ontology import read_entities
from dstbench.readers.states import Side, States, in_split, merge_states
from dstbench.runs import align
from dstbench.runs.open import Data, named_parts, open_gold
from dstbench.schema.core import CONTEXTS
from dstbench.scoring.values import with_judgements

#: The gold side of states; DstbenchError if they have none.
gold_of: Final = partial(align.gold_of, hint="an audit takes files that have gold states")
_USUAL_ORDER: Final = {"train": 0, "dev": 1, "test": 2}


def open_golds(data: Data, split: str | None = None) -> dict[str, States]:
    """The gold states of one or several datasets (or of one split of each), by name; no two may have the same name."""
    datasets = named_parts(data)
    if not datasets:
        raise UsageError("no dataset to open", hint="give at least one file, folder or list of states")
    if (repeated := first_repeated(name for name, _ in datasets)) is not None:
        raise UsageError(f"two datasets are called {repeated!r}", hint="give each a name of its own")
    return {name: open_gold(dataset, split) for name, dataset in datasets}


def split_names(states: States) -> list[str]:
    """The splits that a dataset knows, training first; none if it does not know them."""
    names: Iterable[str] = [] if states.splits is None else states.splits["split"].unique()
    return sorted(names, key=lambda name: (_USUAL_ORDER.get(name, len(_USUAL_ORDER)), name))


def gold_cells(data: Data) -> pl.DataFrame:
    """(dialogue, turn, slot, value) of a dataset's gold states, as strings; sorted."""
    return cells_of(gold_of(open_gold(data)))


def cells_of(gold: Side) -> pl.DataFrame:
    """(dialogue, turn, slot, value) of gold states, as strings; sorted."""
    cells = gold.cells.join(gold.turns.with_row_index("at"), on="at")
    return cells.select("dialogue", "turn", pl.col("slot", "value").cast(pl.String)).sort("dialogue", "turn", "slot")


@dataclass(frozen=True)
class Dialogues:
    """The gold states of one or several datasets, and what is said in them."""

    turns: pl.DataFrame  # (dialogue, turn)
    cells: pl.DataFrame  # (dialogue, turn, slot, value), gold's values as written, without those that mean absent
    said: pl.DataFrame  # schema `CONTEXTS`
    splits: pl.DataFrame | None = None  # (dialogue, split: Enum, in the order of the splits); None: there is only one

    @classmethod
    def read(cls, data: Data, said: pl.DataFrame | None = None, split: str | None = None) -> Dialogues:
        """Read a dataset, or several as one, whose splits they are; without `said`, what is said is in the files."""
        golds = open_golds(data, split)
        states = _as_one(golds)
        gold, splits, names = gold_of(states), None, list(golds) if len(golds) > 1 else split_names(states)
        if states.splits is not None and len(names) > 1:
            splits = states.splits.select("dialogue", pl.col("split").cast(pl.Enum(names)))
        if said is None:
            paths = [item for _, item in named_parts(data)]
            if not all(isinstance(path, (str, PathLike)) for path in paths):
                hint = "pass the result of dstbench.contexts as said="
                raise UsageError("states in memory hold no utterances", hint=hint)
            said = contexts(paths, split)
        said, key = _as_contexts(said), ["dialogue", "turn"]  # a column of nulls only has no type
        spoken = said.filter(pl.any_horizontal(pl.col("system", "user").str.contains(r"\w")))
        if gold.turns.join(spoken, on=key, how="semi").is_empty():
            hint = "are they of this dataset?"
            raise DstbenchError("none of the turns has utterances", file=states.source, hint=hint)
        if (silent := gold.turns.join(said, on=key, how="anti")).height:
            first, what = "first: dialogue {}, turn {}".format(*silent.row(0)), "turns without utterances"
            warn(f"{silent.height:,} {what} ({first})", file=states.source, kind=what, count=silent.height)
        cells = cells_of(gold).filter(~pl.col("value").is_in(Convention().absent))
        return cls(gold.turns.select("dialogue", "turn"), cells, said, splits)


def _as_one(golds: dict[str, States]) -> States:
    """The gold states of several datasets, as one dataset with these splits; those of a single one are unchanged."""
    if len(golds) == 1:
        return next(iter(golds.values()))
    parts = [in_split(replace(states, gold=gold_of(states), pred=None), name) for name, states in golds.items()]
    splits = pl.concat(part.splits for part in parts if part.splits is not None)
    twice = splits.filter(pl.col("dialogue").is_duplicated()).sort("dialogue", maintain_order=True)
    if twice.height:
        one, other = twice["split"].head(2)
        raise DstbenchError(
            f"this dialogue is also in {golds[one].source}",
            file=golds[other].source,
            dialogue=twice["dialogue"][0],
            hint="all files are read as one corpus: leave one of them out, or give its dialogues other ids",
        )
    return merge_states(parts)


def under(convention: Convention, slots: pl.Series, values: pl.Series) -> pl.Series:
    """Gold values (a dictionary column, with their slots) under a convention; null: not in the state."""
    rows = pl.LazyFrame({"slot": slots, "gold": values}).with_columns(pred=pl.lit(None, pl.Categorical))
    return with_judgements(rows, convention).select("g").collect()["g"]


def database_facts(folder: str | PathLike[str] | None, slots: Collection[str]) -> pl.DataFrame:
    """(domain, entity, name, slot, fact, database): what a database (None: nothing) says of these slots of entities.

    `entity` and `fact` are canonical, `name` and `database` as written. What it leaves open ("?") is omitted.
    """
    rows = [
        (domain, CANONICAL(f"{domain}-name", entity["name"]), entity["name"], slot, CANONICAL(slot, value), value)
        for domain, entities in ({} if folder is None else read_entities(str(folder))).items()
        for entity in entities
        if isinstance(entity.get("name"), str)
        for attribute, value in entity.items()
        if isinstance(value, str)
        and value not in ("", "?")
        and (slot := canonical_slot(f"{domain}-{attribute}")) in slots
    ]
    names = ("domain", "entity", "name", "slot", "fact", "database")
    return pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")


def agreed_facts(facts: pl.DataFrame) -> pl.DataFrame:
    """The facts (`database_facts`) in which all entities of one name agree, sorted."""
    facts = facts.sort("domain", "entity", "slot", "fact").unique(
        ["domain", "entity", "slot", "fact"], keep="first", maintain_order=True
    )
    return facts.unique(["domain", "entity", "slot"], keep="none", maintain_order=True)


def _as_contexts(table: pl.DataFrame) -> pl.DataFrame:
    """A table of utterances with the columns and types of `CONTEXTS`."""
    if missing := [name for name in CONTEXTS.columns if name not in table.columns]:
        raise UsageError(f"contexts without the column {', '.join(missing)}", hint="dstbench.contexts returns them")
    return CONTEXTS.conform(table)


def spoken_texts(context: pl.DataFrame | str | PathLike[str] | Sequence[str | PathLike[str]]) -> pl.DataFrame:
    """(dialogue, turn, text): a row per utterance, also per one that is null, of files or of what `contexts` gives."""
    table = _as_contexts(context if isinstance(context, pl.DataFrame) else contexts(context))
    texts = table.unpivot(["system", "user"], index=["dialogue", "turn"], value_name="text").drop("variable")
    return texts.with_columns(pl.col("text").str.replace_all(" -", "-", literal=True))  # TRADE's "moderate -ly"
