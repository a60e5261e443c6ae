"""What a new checkpoint fixed and broke: turns and values that were wrong and are right, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Unpack

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
from dstbench.scoring.validation import open_under
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
        before: The run before: a prediction file or a long table. In Python, also a frame, or states.
        after: The run after, over the same turns.
        most: How many dialogues are listed.
        resamples: Number of random swaps.
        seed: Random seed.
        level: A net change is significant if its (adjusted) p is at most 1 − level.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used, or the runs do not have the same turns and gold.
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
    was, now = pl.col("was"), pl.col("now")
    changed = {
        of: table.filter(was ^ now).with_columns(of=pl.lit(of), fixed=now.not_(), broken=was.not_())
        for of, table in (("turns", turns), ("values", values))
    }
    counted = partial(_counted, resamples=resamples, seed=seed, level=level)
    totals = pl.DataFrame({"of": [*changed]}).join(
        pl.concat([counted(table, "of") for table in changed.values()]), on="of", how="left", maintain_order="left"
    )
    groups = [counted(changed["values"], by).with_columns(by=pl.lit(by), group=by) for by in GROUPS]
    nothing = pl.col("p").fill_null(1), pl.col("significant").fill_null(value=False)
    sums = {f"{of}_{what}": pl.col(what).filter(of=of).sum() for of in changed for what in _COUNTS}
    order = [pl.sum_horizontal(f"{of}_fixed", f"{of}_broken") for of in changed]
    dialogues = pl.concat(changed.values(), how="diagonal").group_by("dialogue").agg(**sums)
    to_read = dialogues.sort(*order, "dialogue", descending=[True, True, False]).head(most)
    return Changes(
        CHANGED_TOTALS.conform(totals.with_columns(*nothing, signature=pl.lit(scores["signature"][1])).fill_null(0)),
        pl.concat([CHANGED_GROUPS.conform(group) for group in groups]),
        CHANGED_DIALOGUES.conform(to_read),
    )


def _values(runs: Sequence[Run], convention: Convention) -> pl.DataFrame:
    """The values (dialogue, turn, slot, domain) that were wrong (`was`) or are (`now`), with the error's `class`."""
    key = ["dialogue", "turn", "slot", "domain"]
    listed = [list_classes(run.read(), convention).filter(pl.col("kind") != "correct") for run in runs]
    errors = [of.select("dialogue", "turn", pl.col("slot", "domain", "class").cast(pl.String)) for of in listed]
    both = errors[0].join(errors[1], on=key, how="full", coalesce=True, nulls_equal=True, suffix="_now")
    was, now = pl.col("class"), pl.col("class_now")
    return both.with_columns(was=was.is_not_null(), now=now.is_not_null()).with_columns(
        pl.coalesce(now, was).alias("class")
    )


def _counted(changed: pl.DataFrame, by: str, resamples: int, seed: int, level: float) -> pl.DataFrame:
    """The counts of groups, with p, adjusted for the number of groups; the group with most changes first."""
    of_dialogues = changed.group_by(by, "dialogue").agg(pl.col(_COUNTS).sum().cast(pl.Int64)).sort("dialogue")
    net = pl.col("fixed") - pl.col("broken")
    groups = of_dialogues.group_by(by).agg(
        pl.col(_COUNTS).sum(), better=(net > 0).sum(), worse=(net < 0).sum(), net=net.sum()
    )
    groups = groups.sort(pl.col("net").abs(), pl.sum_horizontal(_COUNTS), pl.col(by), descending=[True, True, False])
    p = []
    for group in groups[by]:
        counts = of_dialogues.filter(pl.col(by).eq_missing(pl.lit(group))).select(_COUNTS).to_numpy().T.astype(float)
        differing = int((counts[0] != counts[1]).sum())
        swaps = Randomisation.draw(counts[..., None], resamples, seed) if counts.shape[1] > 1 else None
        # A single dialogue that changes may change in either way.
        p.append(1.0 if swaps is None else swaps.null(lambda sums: sums[:, 0], 0, 1, differing).p())
    return groups.with_columns(p=pl.Series(holm(p), dtype=pl.Float64)).with_columns(
        significant=pl.col("p") <= 1 - level
    )
