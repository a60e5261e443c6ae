"""Two versions of a dataset, cell by cell: where their annotations differ, and how (Qian et al. 2021, Tables 1 and 6).

Conventions: dialogues and turns that only one version has are counted, and no more is made of them. A slot *differs* in
a turn if its values do not match under the convention, or only one version has it. Each such cell is of the first kind
that applies:

- ``respelled``: both have the slot, with one value but for its spelling;
- ``moved_earlier``: the later version has the value that the earlier one has next, in a later turn;
- ``moved_later``: the earlier version has the value that the later one has next;
- ``added``, ``removed``: only the later, the earlier version has the slot;
- ``changed``: both have it, with different values.

States are cumulative, so that one annotation too many or too few is a cell in each turn from there on: dialogues tell
how many annotators slipped, turns how many scores it touches. (The function is called `diff`.)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dstbench.audit.golds import gold_of, open_golds, under
from dstbench.conventions.normalise import LOOSE
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import domain_of
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
from dstbench.runs.align import to_long
from dstbench.runs.codes import ABSENT, codes
from dstbench.schema.audit import CELLS, CHANGES, DIFFERENT, DIFFERENT_DOMAINS, DIFFERENT_SLOTS, KINDS
from dstbench.scoring.compare_values import comparison

if TYPE_CHECKING:
    from dstbench.arrays import Codes, Numbers
    from dstbench.conventions.convention import Convention
    from dstbench.readers.states import Side, States
    from dstbench.runs.open import Data
    from dstbench.schema.core import Table


#: What versions are called that come from no file.
_NAMES: Final = ("before", "after")


@dataclass(frozen=True)
class Differences:
    """How two versions of a dataset differ, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        versions: One row: the whole.
        domains: Per domain: dialogues and turns that have it and differ, and cells by kind.
        slots: The same per slot; the dialogues and turns are those of its domain.
        changes: Per slot, value before and value after: how often, the most frequent first.
        cells: Every cell that differs.
    """

    versions: pl.DataFrame
    domains: pl.DataFrame
    slots: pl.DataFrame
    changes: pl.DataFrame
    cells: pl.DataFrame


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
        before: The earlier version: a path, a frame, or states.
        after: The later one.
        profile: The convention, or its name; of it, what gold values mean and when two of them match.
        names: What the two are called; None: as their files are.
        split: The split that is compared, where a version has several.

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
    (first, second), (one, other) = golds, golds.values()
    before_side, after_side = gold_of(one), gold_of(other)
    _warn_of_lengths(before_side, after_side, first, second)
    long = _beside(one, before_side, other, after_side)
    cells = _compare(long, convention)
    sizes = {"before": pl.lit(first), "after": pl.lit(second), **_lacking(before_side, after_side)}
    whole = _sum_up(cells, [], DIFFERENT, sizes)
    domains = _sum_up(cells.filter("held"), ["domain"], DIFFERENT_DOMAINS)
    of_domain = domains.select("domain", "dialogues", "turns")
    slots = _sum_up(cells.filter("held"), ["domain", "slot"], DIFFERENT_SLOTS, of=of_domain)
    different = cells.filter(pl.col("kind").is_not_null())
    changes = (
        different.group_by("slot", "before", "after", "kind")
        .agg(turns=pl.len(), dialogues=pl.col("dialogue").n_unique())
        .sort(
            "turns",
            *(pl.col(name).cast(pl.String) for name in ("slot", "before", "after", "kind")),
            descending=[True, False, False, False, False],
        )
    )
    ordered = different.sort("dialogue", "turn", pl.col("slot").cast(pl.String))
    return Differences(whole, domains, slots, CHANGES.conform(changes), CELLS.conform(ordered))


def _named(before: Data, after: Data, names: Sequence[str] | None) -> Any:
    """The two versions, in a form that gives them names."""
    paths = [str(item) for item in (before, after) if isinstance(item, (str, PathLike))]
    if names is None and len(set(paths)) == 2:
        return paths
    names = _NAMES if names is None else names
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(
            f"{', '.join(names) or 'nothing'} does not name two versions", hint="give each a name of its own"
        )
    return dict(zip(names, (before, after), strict=True))


def _lacking(before: Side, after: Side) -> dict[str, pl.Expr]:
    """How many dialogues and turns only one version has."""
    found = {}
    for what, key in (("dialogues", ["dialogue"]), ("turns", ["dialogue", "turn"])):
        for name, one, other in (("before", before.turns, after.turns), ("after", after.turns, before.turns)):
            found[f"{what}_{name}"] = pl.lit(one.select(key).unique().join(other, on=key, how="anti").height)
    return found


def _warn_of_lengths(before: Side, after: Side, first: str, second: str) -> None:
    """Say it where dialogues have more turns in one version: if these were counted anew, others are compared."""
    lengths = (side.turns.group_by("dialogue").len() for side in (before, after))
    both = next(lengths).join(next(lengths), on="dialogue").filter(pl.col("len") != pl.col("len_right"))
    if both.height:
        dialogue, one, other = both.sort("dialogue").row(0)
        warnings.warn(
            f"{both.height:,} dialogues have not as many turns in both versions (first: {dialogue}, {one} in {first}, "
            f"{other} in {second}); if turns were left out and the rest counted anew, others stand beside each other",
            DstbenchWarning,
            stacklevel=3,
        )


def _beside(one: States, before: Side, other: States, after: Side) -> pl.DataFrame:
    """The long table of the turns that both have, the later version in place of a prediction."""
    if before.turns.join(after.turns, on=["dialogue", "turn"], how="semi").is_empty():
        raise DstbenchError(
            f"no turn is also in {one.source} (it has {before.turns.row(0)}, this one {after.turns.row(0)})",
            file=other.source,
            hint="are they of the same split, and are dialogue ids spelled alike?",
        )
    earlier, later = replace(one, splits=None), replace(other, gold=None, pred=after, either=False, notes=())
    with warnings.catch_warnings():  # what there is to say of missing turns is counted here
        warnings.simplefilter("ignore", DstbenchWarning)
        return to_long(later, earlier, missing="intersect").table


def _compare(long: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The long table with the `kind` of each cell that differs, and whether it is `held` by either version."""
    slot = codes(long["slot"])
    before, after = (codes(under(convention, long["slot"], long[side])) for side in ("gold", "pred"))
    group = long.select(pl.struct("dialogue", "slot").rle_id()).to_series().to_numpy()
    match = comparison(convention).match
    held = (before != ABSENT) | (after != ABSENT)
    differs = held & ~match(slot, before, after)
    loose = replace(convention, gold_steps=LOOSE)
    plain = [codes(under(loose, long["slot"], long[side])) for side in ("gold", "pred")]
    added, removed = before == ABSENT, after == ABSENT
    kinds = {
        "respelled": (plain[0] == plain[1]) & ~added & ~removed,
        "moved_earlier": match(slot, _next(before, group), after),
        "moved_later": match(slot, before, _next(after, group)),
        "added": added,
        "removed": removed,
    }
    number = np.select(list(kinds.values()), [KINDS.index(name) for name in kinds], KINDS.index("changed"))
    kind = pl.Series(number, dtype=pl.UInt32).replace_strict(range(len(KINDS)), KINDS, return_dtype=pl.String)
    domains = {name: domain_of(name) for name in long["slot"].drop_nulls().unique().cast(pl.String)}
    return long.select(
        "dialogue",
        "turn",
        "slot",
        pl.col("slot").cast(pl.String).replace_strict(domains, default=None, return_dtype=pl.String).alias("domain"),
        pl.col("gold").alias("before"),
        pl.col("pred").alias("after"),
        pl.Series("held", held),
        kind.set(pl.Series(~differs), None).alias("kind"),
        pl.struct("dialogue", "turn").rank("dense").alias("at"),
    )


def _next(values: Codes, group: Numbers) -> Codes:
    """The next other value in the rows below, of the same group; `ABSENT` where there is none."""
    begins = np.ones(len(values), np.bool_)
    begins[1:] = (values[1:] != values[:-1]) | (group[1:] != group[:-1])
    starts = np.append(np.flatnonzero(begins), len(values))
    at = starts[np.cumsum(begins)]  # where what follows a row's run begins
    there = at < len(values)
    found = np.full(len(values), ABSENT, np.uint32)
    rows = np.flatnonzero(there)
    rows = rows[group[at[rows]] == group[rows]]
    found[rows] = values[at[rows]]
    return found


def _sum_up(
    cells: pl.DataFrame,
    by: list[str],
    table: Table,
    sizes: dict[str, pl.Expr] | None = None,
    of: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Dialogues, turns and kinds of cells per group; `of` has the dialogues and turns of the groups' domains."""
    differs = pl.col("kind").is_not_null()
    counts = [
        pl.col("dialogue").n_unique().alias("dialogues"),
        pl.col("at").n_unique().alias("turns"),
        pl.col("dialogue").filter(differs).n_unique().alias("changed_dialogues"),
        pl.col("at").filter(differs).n_unique().alias("changed_turns"),
        *((pl.col("kind") == kind).sum().alias(kind) for kind in KINDS),
    ]
    summed = cells.group_by(by).agg(counts).sort(by) if by else cells.select(counts)
    if of is not None:
        summed = summed.drop("dialogues", "turns").join(of, on="domain", how="left", maintain_order="left")
    summed = summed.with_columns(
        share_dialogues=pl.when(pl.col("dialogues") > 0).then(pl.col("changed_dialogues") / pl.col("dialogues")),
        share_turns=pl.when(pl.col("turns") > 0).then(pl.col("changed_turns") / pl.col("turns")),
        **(sizes or {}),
    )
    if "slot" in by:
        summed = summed.sort(pl.col("slot").cast(pl.String))
    return table.conform(summed)
