"""Maps of names: the user's own names of slots and dialogues are replaced, in states, by the names that others use.

Conventions: a map of slots is applied to all states that are read, including gold from a file of its own; so no name
may be both one of the user's slots and the other name of a slot. A map of ids says which of gold's dialogues the user's
are, so gold from a file of its own keeps its ids. All names are made canonical before they are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from os import PathLike, fspath
from typing import Final, Literal, Self, TypeAlias

import polars as pl

from dstbench.conventions.files import UserFile, read_json
from dstbench.conventions.slots import canonical_slot
from dstbench.errors import UsageError, first_of, number_of
from dstbench.io.files import File
from dstbench.io.tables import read_pairs
from dstbench.readers.states import Side, States, canonical_ids, error_in, only_turns, sides_of, with_note, with_sides
from dstbench.schema.core import MAX_TURN

#: A map of names: a file, or a mapping in memory.
NameMap: TypeAlias = str | PathLike[str] | Mapping[str, str]

# Names that a note has.
_SHOWN: Final = 4
_HINTS: Final = {
    "slot": '--slot-map takes {"your slot": "its other name"} as JSON, or two such columns as CSV or TSV',
    "dialogue": '--id-map takes {"your id": "gold\'s id"} as JSON, or two such columns as CSV or TSV',
}


class Names(UserFile):
    """The user's own names, each with the other name that it stands for."""

    content: Mapping[str, str]

    @classmethod
    def read(cls, names: NameMap | None, kind: Literal["slot", "dialogue"]) -> Self | None:
        """The map that a user gives, with canonical names; None: none."""
        if names is None:
            return None
        pairs = [*names.items()] if isinstance(names, Mapping) else _pairs(File(fspath(names)), kind)
        if wrong := [name for pair in pairs for name in pair if not isinstance(name, str)]:
            raise UsageError(f"a map of {kind}s has {wrong[0]!r}, not a name", hint='{"your name": "its other name"}')
        source = "the map" if isinstance(names, Mapping) else fspath(names)
        content: dict[str, str] = {}
        for own, other in zip(*(_canonical(column, kind) for column in zip(*pairs, strict=True)), strict=True):
            if content.setdefault(own, other) != other:
                raise UsageError(f"{source}: {own!r} stands both for {content[own]!r} and for {other!r}")
        content = {own: other for own, other in content.items() if own != other}
        if kind == "slot" and (both := next((name for name in content.values() if name in content), None)):
            raise UsageError(
                f"{source}: {both!r} is both one of your slots and the other name of one",
                hint="such a map would change gold, too; rename the slots in the predictions",
            )
        return cls.of(content)


def _pairs(file: File, kind: str) -> list[tuple[str, str]]:
    """The two columns of a file."""
    if file.read().lstrip()[:1] not in (b"{", b"["):
        return read_pairs(file, _HINTS[kind])
    pairs = [*read_json(file.path, dict).items()]
    for own, other in pairs:
        if not isinstance(other, str):
            raise file.error(f"the other name of {own!r} is not a string", _HINTS[kind])
    return pairs


def _canonical(names: Collection[str], kind: str) -> list[str]:
    if kind == "slot":
        return [canonical_slot(name.strip()) for name in names]
    return canonical_ids([name.strip() for name in names])


def rename(states: States, slots: Names | None, dialogues: Names | None = None) -> States:
    """The states with the user's names replaced by the other names, and notes on names that they do not have."""
    complete, renamed = states.complete, states
    if slots is not None:

        def with_slots(whole: States) -> States:
            return with_sides(whole, lambda side: _with_slots(states, side, slots))

        renamed = with_slots(states)
        if complete is not None:  # gold has the other names, so states completed from it may, too
            renamed = replace(renamed, complete=lambda gold: with_slots(complete(gold)))
        renamed = _with_note_on("slots of the slot map", slots, states, "slot", renamed)
    if dialogues is not None:
        if complete is not None:
            raise error_in(states, f"its dialogues are known from gold only ({states.format})", "omit --id-map")
        renamed = _with_note_on(
            "dialogues of the id map", dialogues, states, "dialogue", _with_dialogues(renamed, dialogues)
        )
    return renamed


def _with_note_on(what: str, names: Names, states: States, column: str, renamed: States) -> States:
    """The renamed states with a note on names of a map that the states do not have."""
    tables = [side.cells if column == "slot" else side.turns for side in sides_of(states)]
    present = {name for table in tables for name in table[column].unique().cast(pl.String)}
    absent = sorted(names.content.keys() - present)
    return with_note(renamed, f"{what} that it does not have: {first_of(absent, _SHOWN)}") if absent else renamed


def renumber(states: States, first: int, step: int) -> States:
    """The states with turns numbered as gold's."""
    if states.complete is not None:
        what = f"its turns are known from gold only ({states.format})"
        raise error_in(states, what, "omit --turns-from and --turn-step")
    turn = pl.col("turn").cast(pl.Int32) - first
    fits = (turn % step == 0) & (turn // step).is_between(0, MAX_TURN)
    turns = pl.concat([side.turns for side in sides_of(states)]).unique(maintain_order=True)
    others = turns.filter(~fits)
    if others.height:
        dialogue, number = others.row(0)
        what = f"not numbered {first}, {first + step}, {first + 2 * step}, …, as --turns-from and --turn-step say"
        if others.height == turns.height or (states.gold is not None and not states.either):
            raise error_in(states, f"a turn {what}", dialogue=dialogue, turn=number)
        count = number_of(others.height, "predicted turn")
        states = with_note(states, f"{count} {what}, left out (first: dialogue {dialogue}, turn {number})")

    def of_side(side: Side) -> Side:
        kept = only_turns(side, side.turns.select(fits).to_series())
        return replace(kept, turns=kept.turns.with_columns((turn // step).cast(pl.UInt16).alias("turn")))

    return with_sides(states, of_side, numbered=True)


def with_domains(states: States, gold: States) -> States:
    """The states with gold's domain before predicted slots that have none, if its reader put it before gold's."""
    if states.pred is None or gold.gold is None or gold.domains is None:
        return states
    of_gold, listed = (set(side.cells["slot"].unique().cast(pl.String)) for side in (gold.gold, states.pred))
    others = sorted(listed - of_gold)
    content: dict[tuple[str, str], str] = {}
    for domain in gold.domains["domain"].unique().sort():
        own = {name: canonical_slot(f"{domain}-{name}") for name in others if "-" not in name}
        # `restaurant_name`, say, has been read as the slot `name` of a restaurant
        bare = {
            canonical_slot(slot.partition("-")[2]): slot for slot in sorted(of_gold) if slot.startswith(f"{domain}-")
        }
        content |= {(domain, name): slot for name, slot in own.items() if slot in of_gold}
        content |= {(domain, name): bare[name] for name in others if name in bare}
    if not content:
        return states
    rows = [(*key, slot) for key, slot in content.items()]
    names = pl.DataFrame(rows, schema=["domain", "slot", "name"], orient="row").cast({"slot": pl.Categorical})
    of_turn = states.pred.turns.join(gold.domains, on="dialogue", how="left", maintain_order="left")["domain"]
    cells = states.pred.cells.with_columns(domain=of_turn.gather(states.pred.cells["at"]))
    cells = cells.join(names, on=["domain", "slot"], how="left", maintain_order="left")
    cells = cells.select("at", pl.coalesce(pl.col("name").cast(pl.Categorical), "slot").alias("slot"), "value")
    pred = _without_clashes(states, states.pred, cells, lambda _: "with and without domain")
    (_, first), name = next(iter(content.items()))
    count = number_of(len({own for _, own in content}), "predicted slot")
    return with_note(replace(states, pred=pred), f"{count} without a domain: {first} is {name}, as in gold")


def _with_slots(states: States, side: Side, names: Names) -> Side:
    """One side, with slots under their other names."""
    cells = side.cells.with_columns(pl.col("slot").cast(pl.String).replace(names.content).cast(pl.Categorical))
    owners: dict[str, list[str]] = defaultdict(list)
    for own, other in names.content.items():
        owners[other].append(own)
    return _without_clashes(
        states, side, cells, lambda slot: f"--slot-map gives the name to {' and '.join(owners[slot])}"
    )


def _without_clashes(states: States, side: Side, cells: pl.DataFrame, why: Callable[[str], str]) -> Side:
    """One side with these cells, of which two may be of one slot if they have the same value."""
    key = pl.struct("at", "slot")
    clash = cells.filter(key.is_duplicated()).unique(maintain_order=True).filter(key.is_duplicated()).sort("at", "slot")
    if clash.height:
        at, slot, value = clash.row(0)
        dialogue, turn = side.turns.row(at)
        what = f"two values, {value!r} and {clash['value'][1]!r}: {why(slot)}"
        raise error_in(states, what, "keep one of the two slots", dialogue=dialogue, turn=turn, slot=slot)
    return replace(side, cells=cells.unique(["at", "slot"], keep="first", maintain_order=True))


def _with_dialogues(states: States, names: Names) -> States:
    """States with dialogues under their other ids."""
    other_name = pl.col("dialogue").replace(names.content)

    def of_side(side: Side) -> Side:
        turns = side.turns.with_columns(other_name)
        twice = turns.filter(pl.struct("dialogue", "turn").is_duplicated())
        if twice.height:
            dialogue, turn = twice.row(0)
            what = "two dialogues get this id from --id-map, and both have the turn"
            raise error_in(states, what, "each turn of gold has one prediction", dialogue=dialogue, turn=turn)
        return replace(side, turns=turns)

    tables = {name: getattr(states, name) for name in ("splits", "places")}
    renamed = {name: table.with_columns(other_name) for name, table in tables.items() if table is not None}
    return with_sides(states, of_side, **renamed)
