"""Columns and types of the tables of `reconcile` and `diff`."""

from __future__ import annotations

from typing import Final

import polars as pl

from dstbench.schema.analysis import SWEEP_TARGETS
from dstbench.schema.core import LONG, SCORES, Column, Table, count, flag, large, p, ratio, score, text

_RECONCILED: Final = {
    **SCORES.only("metric"),
    "target": SWEEP_TARGETS.columns["target"],
    "value": score("Its value; null: undefined, or the choices do not suit the run."),
}

RECONCILED_STEPS: Final = Table(
    "steps of a reconciliation",
    "One row per (step, metric), from the scores under the convention to the published ones.",
    step=count("0: under the convention; then one choice more each time."),
    choice=text("The choice; empty: none."),
    meaning=text("What it is about."),
    **_RECONCILED,
    change=score("Value minus that of the step before; null: there is none, or either is undefined."),
    off=SWEEP_TARGETS.columns["off"],
)

RECONCILED_SETS: Final = Table(
    "sets of choices",
    "One row per (set, metric): the sets of the smallest number of choices that reaches all published scores; if none "
    "does, the nearest set of each number, the nearest first.",
    choices=text("The names of the choices, joined by +; empty: none."),
    size=count("The number of choices."),
    **_RECONCILED,
    off=SWEEP_TARGETS.columns["off"],
    reaches=flag("Whether the set reaches the published scores of all metrics."),
)

RECONCILED_TRIED: Final = Table(
    "sets that were tried",
    "One row per number of choices.",
    size=count("The number of choices."),
    sets=count("The sets of that number that suit the run, of choices of which each changes a score."),
    reached=count("Those of them that reach all published scores."),
    by_chance=ratio(
        "How many of them would on average reach scores anywhere between their lowest and highest ones, as in "
        "`sweep_targets`; null: no set was tried, or only those of published conventions that need more choices."
    ),
)

RECONCILED_CHOICES: Final = Table(
    "single choices",
    "One row per (choice, metric), the largest change first.",
    **RECONCILED_STEPS.only("choice", "meaning", "metric"),
    value=score("The value with this choice alone."),
    change=score("Value minus that under the convention."),
)

_CHANGED: Final = {
    "fixed": large("Those that were wrong and are right."),
    "broken": large("Those that were right and are wrong."),
    "net": Column(pl.Int64(), "count", "Fixed minus broken.", nullable=False),
    "better": count("The dialogues in which more were fixed than broken."),
    "worse": count("The dialogues in which more were broken than fixed."),
    "p": p("Two-sided p of the net change, if dialogues are swapped at random; of groups, adjusted after Holm."),
    "significant": flag("Whether p is at most 1 - level."),
}

CHANGED_TOTALS: Final = Table(
    "changes",
    "A row for turns and one for values (slots of turns), from one run to another.",
    of=text("``turns`` or ``values``."),
    **_CHANGED,
    signature=text("The signature of the run after, whose JGA is the share of right turns."),
)

CHANGED_GROUPS: Final = Table(
    "changed values by group",
    "One row per group in which a value was fixed or broken; of each kind, the largest net change first.",
    by=text("What values are grouped by: slot, domain, class (of the error that went or came) or turn."),
    group=text("The slot, domain, class or turn; null: the mark of a turn without a prediction."),
    **_CHANGED,
)

CHANGED_DIALOGUES: Final = Table(
    "changed dialogues",
    "The dialogues with the most turns, then values, that were fixed or broken.",
    **LONG.only("dialogue"),
    turns_fixed=count("Turns that were wrong and are right."),
    turns_broken=count("Turns that were right and are wrong."),
    values_fixed=count("Values that were wrong and are right."),
    values_broken=count("Values that were right and are wrong."),
)
