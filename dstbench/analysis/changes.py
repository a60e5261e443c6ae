"""What a new checkpoint fixed and broke: turns and values that were wrong and are right, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Unpack

import polars as pl

from dstbench.analysis.dialogue_sums import pair_up
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError
from dstbench.metrics import parse_all
from dstbench.runs.align import over_common_turns
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.analysis import CHANGED_DIALOGUES, CHANGED_GROUPS, CHANGED_TOTALS
from dstbench.schema.record import Record
from dstbench.scoring.error_classes import list_classes
from dstbench.scoring.scope import open_under
from dstbench.stats.adjust import holm
from dstbench.stats.normal import check_level
from dstbench.stats.resampling import Randomisation

#: What values are grouped by, in the order of `Changes.groups`.
GROUPS: Final = ("slot", "domain", "class", "turn")
_COUNTS: Final = ("fixed", "broken")


@dataclass(frozen=True)
class Changes(Record):
    """What changed from one run to another, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        totals: The turns, and the values (slots of turns), that were fixed and broken, with p.
        groups: The values that were fixed and broken, by slot, domain, class of error and turn, with adjusted p.
        dialogues: The dialogues to read first: those with the most turns that were fixed or broken.
    """

    totals: pl.DataFrame
    groups: pl.DataFrame
    dialogues: pl.DataFrame

    def to_dict(self) -> dict[str, float]:
        """The totals for loggers.

        Returns:
            Each number by its name: ``turns_fixed``, ``turns_broken``, ``values_fixed``, ``values_broken``.
        """
        return {f"{row['of']}_{name}": float(row[name]) for row in self.totals.to_dicts() for name in _COUNTS}


def diff(
    before: Data,
    after: Data,
    *,
    most: int = 10,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Changes:
    """Find out what a new checkpoint fixed and broke.

    A turn is right if all its slots are, as in JGA; a slot that neither gold nor the prediction has is right. Each p is
    of the test of `dstbench.compare`: how often the difference is as large if whole dialogues are swapped between the
    two runs at random. Those of groups are adjusted after Holm, for all groups of one kind.

    Args:
        before: One run: a path, a frame, states.
        after: The other, over the same turns.
        most: How many dialogues are listed.
        resamples: Number of random swaps.
        seed: Random seed.
        level: A net change is significant if its (adjusted) p is at most 1 − level.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used, or the runs do not have the same turns and gold.

    >>> states = [{"dialogue_id": f"D{n}", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}} for n in range(9)]
    >>> right = [{**state, "pred": state["gold"]} for state in states]
    >>> diff(states, right).totals.select("of", "fixed", "broken", "significant").rows()
    [('turns', 9, 0, True), ('values', 9, 0, True)]
    """
    if most < 1:
        raise UsageError(f"most={most} dialogues", hint="1 or more")
    check_level(level)
    convention = as_convention(profile)
    runs = over_common_turns(open_under(convention, {"before": before, "after": after}, **reading))
    if len(runs) != 2:
        raise UsageError(f"{len(runs)} runs, and one is compared with one", hint="name one before and one after")
    for run in runs:
        run.need_states("changes of values")
    scores = pair_up(runs, parse_all("jga"), convention).scores  # refuses runs that differ in their turns or gold
    values = _values(runs, convention)
    turns = values.group_by("dialogue", "turn").agg(pl.col("was", "now").any())
    changed = {of: _changed(table, of) for of, table in (("turns", turns), ("values", values))}
    test = _Test(resamples, seed, level)
    totals = pl.concat([test.of(table, "of") for table in changed.values()])
    named = pl.lit(scores["signature"][1]).alias("signature")
    groups = [
        test.of(changed["values"], by).select(
            pl.lit(by).alias("by"), pl.col(by).cast(pl.String).alias("group"), pl.exclude(by)
        )
        for by in GROUPS
    ]
    return Changes(
        CHANGED_TOTALS.conform(_for_both(totals).with_columns(named)),
        CHANGED_GROUPS.conform(pl.concat(groups)),
        CHANGED_DIALOGUES.conform(_to_read(pl.concat(changed.values(), how="diagonal"), most)),
    )


def _for_both(totals: pl.DataFrame) -> pl.DataFrame:
    """The totals with a row of zeros where nothing changed."""
    both = pl.DataFrame({"of": ["turns", "values"]}).join(totals, on="of", how="left", maintain_order="left")
    return both.with_columns(pl.col("p").fill_null(1), pl.col("significant").fill_null(value=False)).fill_null(0)


def _values(runs: Sequence[Run], convention: Convention) -> pl.DataFrame:
    """The values (dialogue, turn, slot, domain) that were wrong (`was`) or are (`now`), with the error's `class`."""
    errors = []
    for run, name in zip(runs, ("was", "now"), strict=True):
        listed = list_classes(run.read(), convention).filter(pl.col("kind") != "correct")
        errors.append(
            listed.select("dialogue", "turn", pl.col("slot", "domain", "class").cast(pl.String)).rename({"class": name})
        )
    key = ["dialogue", "turn", "slot", "domain"]
    both = errors[0].join(errors[1], on=key, how="full", coalesce=True, nulls_equal=True)
    return both.with_columns(pl.coalesce("now", "was").alias("class"), pl.col("was", "now").is_not_null())


def _changed(table: pl.DataFrame, of: str) -> pl.DataFrame:
    """The rows that are wrong in one of two runs, which `was` and `now` say."""
    was, now = pl.col("was"), pl.col("now")
    return table.filter(was ^ now).with_columns(of=pl.lit(of), fixed=was & ~now, broken=now & ~was)


class _Test(NamedTuple):
    """How net changes are tested: by swapping dialogues."""

    resamples: int
    seed: int
    level: float

    def of(self, changed: pl.DataFrame, by: str) -> pl.DataFrame:
        """The counts of groups, with p, adjusted for the number of groups; the group with most changes first."""
        of_dialogues = changed.group_by(by, "dialogue").agg(pl.col(_COUNTS).sum().cast(pl.Int64)).sort("dialogue")
        net = pl.col("fixed") - pl.col("broken")
        groups = of_dialogues.group_by(by).agg(
            pl.col(_COUNTS).sum(), better=(net > 0).sum(), worse=(net < 0).sum(), net=net.sum()
        )
        groups = groups.sort(
            pl.col("net").abs(), pl.sum_horizontal(_COUNTS), pl.col(by), descending=[True, True, False]
        )
        p = holm([self._p(of_dialogues.filter(pl.col(by).eq_missing(pl.lit(group)))) for group in groups[by]])
        return groups.with_columns(p=pl.Series(p, dtype=pl.Float64)).with_columns(
            significant=pl.col("p") <= 1 - self.level
        )

    def _p(self, dialogues: pl.DataFrame) -> float:
        counts = dialogues.select(_COUNTS).to_numpy().T[..., None].astype(float)
        if counts.shape[1] < 2:
            return 1.0  # a single dialogue that changes may change in either way
        differ = int((counts[0] != counts[1]).sum())
        return Randomisation.draw(counts, self.resamples, self.seed).null(lambda sums: sums[:, 0], 0, 1, differ).p()


def _to_read(changed: pl.DataFrame, most: int) -> pl.DataFrame:
    """The dialogues with the most turns that were fixed or broken, then values."""
    sums = {
        f"{of}_{what}": (pl.col(what) & (pl.col("of") == of)).sum() for of in ("turns", "values") for what in _COUNTS
    }
    order = [pl.sum_horizontal(f"{of}_fixed", f"{of}_broken") for of in ("turns", "values")]
    dialogues = changed.group_by("dialogue").agg(**sums)
    return dialogues.sort(*order, "dialogue", descending=[True, True, False]).head(most)
