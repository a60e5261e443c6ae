"""Two versions of a dataset, cell by cell: where their annotations differ, and how (Qian et al. 2021, Tables 1 and 6).

Conventions: dialogues and turns that only one version has are counted and otherwise ignored. A slot *differs* in a turn
if its values do not match under the convention, or only one version has it. Each such (turn, slot) pair, a *cell*, is
of the first kind that applies:

- ``respelled``: both have the slot, with values that differ in spelling only;
- ``moved_earlier``: the later version has the value that the earlier one has next, in a later turn;
- ``moved_later``: the earlier version has the value that the later one has next;
- ``added``, ``removed``: only the later, the earlier version has the slot;
- ``changed``: both have it, with different values.

States are cumulative: one annotation too many or too few makes a cell in each turn from there on. So the number of
dialogues shows how many slips there are, and the number of turns how many scores they affect. (The function is `diff`.)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Final

import polars as pl

from dstbench.audit.corpus import first_of
from dstbench.audit.inputs import gold_of, open_golds, split_names, under
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import LOOSE
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, number_of, warn
from dstbench.metrics.base import divide
from dstbench.readers.states import Side, States
from dstbench.runs.align import to_long
from dstbench.runs.open import Data
from dstbench.schema.audit import (
    CELLS,
    CHANGES,
    DIFFERENT,
    DIFFERENT_DOMAINS,
    DIFFERENT_SLOTS,
    DIFFERENT_SPLITS,
    KINDS,
)
from dstbench.schema.record import Record
from dstbench.scoring.rows import DOMAIN
from dstbench.scoring.values import with_matches

_CHANGE: Final = ["slot", "before", "after", "kind"]


@dataclass(frozen=True)
class Differences(Record):
    """How two versions of a dataset differ, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        versions: One row: the whole dataset.
        domains: Per domain: dialogues and turns that have it and that differ, and cells by kind.
        slots: The same per slot; dialogues and turns are those that have its domain.
        changes: Per slot, value before and value after: how often, the most frequent first.
        cells: Every cell that differs.
        splits: The rows of `versions`, `domains` and `slots` per split, if the versions have several; else empty.
    """

    versions: pl.DataFrame
    domains: pl.DataFrame
    slots: pl.DataFrame
    changes: pl.DataFrame
    cells: pl.DataFrame
    splits: pl.DataFrame


def diff(
    before: Data,
    after: Data,
    *,
    profile: str | Convention = "verbatim",
    names: Sequence[str] | None = None,
    split: str | None = None,
) -> Differences:
    """Compare two versions of a dataset.

    Args:
        before: The earlier version of a dataset. In Python, also a frame, or states.
        after: The later version. In Python, likewise.
        profile: The convention, or its name: it decides what gold values mean and when two of them match.
        names: Names of the two versions; None: those of their files.
        split: The split to compare, where a version has several; None: all, each of them and the whole.

    Raises:
        DstbenchError: Data cannot be used, or the versions have no turn in common.

    >>> old = [{"dialogue_id": "D", "turn": 0, "gold": {}},
    ...        {"dialogue_id": "D", "turn": 1, "gold": {"hotel-area": "north", "hotel-stars": "4"}}]
    >>> new = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}},
    ...        {"dialogue_id": "D", "turn": 1, "gold": {"hotel-area": "north"}}]
    >>> diff(old, new).cells.select("turn", "slot", "kind").rows()
    [(0, 'hotel-area', 'moved_earlier'), (1, 'hotel-stars', 'removed')]
    """
    convention = as_convention(profile)
    golds = open_golds(_named(before, after, names), split)
    (before_name, after_name), (before_states, after_states) = golds, golds.values()
    before_gold, after_gold = gold_of(before_states), gold_of(after_states)
    _warn_of_lengths(before_gold, after_gold, before_name, after_name)
    cells = _compare(_side_by_side(before_states, after_states), convention)
    names_of_both = pl.lit(before_name).alias("before"), pl.lit(after_name).alias("after")
    versions, domains, slots = _measure(cells.with_columns(split=pl.lit("")))
    in_one_only = {
        f"{key[-1]}s_{name}": pl.lit(one.turns.select(key).unique().join(other.turns, on=key, how="anti").height)
        for key in (["dialogue"], ["dialogue", "turn"])
        for name, one, other in (("before", before_gold, after_gold), ("after", after_gold, before_gold))
    }
    versions = versions.with_columns(*names_of_both, **in_one_only)
    different = cells.drop_nulls("kind")
    changes = different.group_by(_CHANGE).agg(turns=pl.len(), dialogues=pl.col("dialogue").n_unique())
    by_name = [pl.col(name).cast(pl.String) for name in _CHANGE]  # `slot` first
    return Differences(
        DIFFERENT.conform(versions),
        DIFFERENT_DOMAINS.conform(domains),
        DIFFERENT_SLOTS.conform(slots),
        CHANGES.conform(changes.sort("turns", *by_name, descending=[True] + [False] * 4)),
        CELLS.conform(different.sort("dialogue", "turn", by_name[0])),
        DIFFERENT_SPLITS.conform(_per_split(cells, after_states if after_states.splits is not None else before_states)),
    )


def _named(before: Data, after: Data, names: Sequence[str] | None) -> Any:
    """The two versions as `open_golds` takes them: by name, or as two paths, from which names are derived."""
    paths = [str(item) for item in (before, after) if isinstance(item, (str, PathLike))]
    if names is None and len(set(paths)) == 2:
        return paths
    names = ("before", "after") if names is None else names
    if len(names) != 2 or names[0] == names[1]:
        what = ", ".join(names) or "nothing"
        raise UsageError(f"names={what}: two different names are needed", hint="one for each version")
    return dict(zip(names, (before, after), strict=True))


def _warn_of_lengths(before: Side, after: Side, before_name: str, after_name: str) -> None:
    """Warn of dialogues that have more turns in one version: if turns were renumbered, the wrong ones are compared."""
    n_before, n_after = (side.turns.group_by("dialogue").len() for side in (before, after))
    different = n_before.join(n_after, on="dialogue").filter(pl.col("len") != pl.col("len_right")).sort("dialogue")
    if different.height:
        dialogue, earlier, later = different.row(0)
        count = number_of(different.height, "dialogue")
        warn(
            f"{count} with more turns in one version (first: {dialogue}, {earlier} in "
            f"{before_name}, {later} in {after_name}); if turns were renumbered, the wrong ones are compared",
            when="before",
        )


def _side_by_side(before: States, after: States) -> pl.DataFrame:
    """The long table of the turns that both versions have, with the later version as the prediction."""
    before_turns, after_turns = gold_of(before).turns, gold_of(after).turns
    if before_turns.join(after_turns, on=["dialogue", "turn"], how="semi").is_empty():
        raise DstbenchError(
            f"no turn is also in {before.source} (it has {before_turns.row(0)}, this one {after_turns.row(0)})",
            file=after.source,
            hint="are they of the same split, and are dialogue ids spelled alike?",
        )
    prediction = replace(after, gold=None, pred=after.gold, either=False, notes=())
    with warnings.catch_warnings():  # missing turns are counted in the result
        warnings.simplefilter("ignore", DstbenchWarning)
        return to_long(prediction, replace(before, splits=None), missing="intersect").table


def _compare(long: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """Cells with `kind` (null: no difference), `held` (whether a version has the slot) and `at` (the turn's number)."""
    loose = replace(convention, gold_steps=LOOSE)
    values = {
        f"{name}{suffix}": under(meaning, long["slot"], long[side])
        for suffix, meaning in (("", convention), ("_loosely", loose))
        for name, side in (("old", "gold"), ("new", "pred"))
    }
    rows = long.lazy().with_columns(DOMAIN, **values, group=pl.struct("dialogue", "slot").rle_id())
    rows = rows.with_columns(next_old=_next("old"), next_new=_next("new"))
    for name, old, new in (("match", "old", "new"), ("earlier", "next_old", "new"), ("later", "old", "next_new")):
        rows = with_matches(rows, convention, old, new, name)
    in_old, in_new = pl.col("old").is_not_null(), pl.col("new").is_not_null()
    conditions = {
        "respelled": in_old & in_new & (pl.col("old_loosely") == pl.col("new_loosely")),
        "moved_earlier": pl.col("earlier"),
        "moved_later": pl.col("later"),
        "added": ~in_old,
        "removed": ~in_new,
        "changed": pl.lit(value=True),
    }
    kind, held = first_of(conditions), in_old | in_new
    return rows.select(
        "dialogue", "turn", "slot", pl.col("domain").cast(pl.String), before="gold", after="pred", held=held,
        kind=pl.when(held & ~pl.col("match")).then(kind),
        at=pl.struct("dialogue", "turn").rank("dense"),
    ).collect()  # fmt: skip


def _next(column: str) -> pl.Expr:
    """The next other value in the rows below, of the same group: 7 7 8 8 7 becomes 8 8 7 7 null."""
    value, group = pl.col(column), pl.col("group")
    begins = value.ne_missing(value.shift(1)) | group.ne_missing(group.shift(1))
    following = pl.when(begins).then(pl.int_range(pl.len())).shift(-1).backward_fill()
    return pl.when(group.gather(following) == group).then(value.gather(following))


def _measure(cells: pl.DataFrame) -> list[pl.DataFrame]:
    """Counts of cells by kind, of dialogues and turns: per split, per split and domain, and per split and slot."""
    differs, units = pl.col("kind").is_not_null(), {"dialogues": pl.col("dialogue"), "turns": pl.col("at")}
    counts = {
        **{unit: number.n_unique() for unit, number in units.items()},
        **{f"changed_{unit}": number.filter(differs).n_unique() for unit, number in units.items()},
        **{kind: (pl.col("kind") == kind).sum() for kind in KINDS},
    }
    held, group = cells.filter("held"), ["split", "domain"]
    domains = held.group_by(group).agg(**counts)
    slots = held.group_by(*group, pl.col("slot").cast(pl.String)).agg(**counts).drop(units)
    slots = slots.join(domains.select(*group, *units), on=group)
    tables = cells.group_by("split").agg(**counts), domains.sort(group), slots.sort("split", "slot")
    shares = {f"share_{unit}": divide(pl.col(f"changed_{unit}"), pl.col(unit)) for unit in units}
    return [table.with_columns(**shares) for table in tables]


def _per_split(cells: pl.DataFrame, states: States) -> pl.DataFrame:
    """`_measure` of each split that these states know; no rows if all cells are of one."""
    none = DIFFERENT_SPLITS.schema.to_frame()
    if states.splits is None:
        return none
    order = pl.Enum(split_names(states))
    cells = cells.join(states.splits.cast({"split": order}), on="dialogue", maintain_order="left")
    if cells["split"].n_unique() < 2:
        return none
    return pl.concat(_measure(cells), how="diagonal").sort("split", "domain", maintain_order=True)
