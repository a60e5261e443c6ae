"""One dialogue, turn by turn: utterances, gold and predicted slots, scores; and the dialogues to look at first.

Conventions: scores are those of `dstbench.score` by turn, over this dialogue alone. Changes of state are counted as by
GCA's authors. Turns that the convention does not score have no scores and no classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Unpack

import polars as pl

from dstbench.analysis.dialogues import cut_to, per_dialogue
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import canonical_dialogue, hint_at_dialogue
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.metrics import Metric, parse_all
from dstbench.metrics.registry import sign_of
from dstbench.readers.contexts import contexts
from dstbench.readers.registry import has_utterances
from dstbench.runs.open import Data, Reading, parts_to_open
from dstbench.runs.run import Run
from dstbench.schema.analysis import CHANGES, SLOT_CLASSES, TURN_SCORES
from dstbench.schema.core import CONTEXTS
from dstbench.scoring.error_classes import list_classes
from dstbench.scoring.scope import open_under
from dstbench.scoring.score import score_run
from dstbench.scoring.sums import resolve, sum_up
from dstbench.scoring.turns import to_turns

#: The default metrics of a turn.
SHOWN: Final = "jga,rsa,fga,gca"


@dataclass(frozen=True)
class Walkthrough:
    """A dialogue, as frames (schemas in `dstbench.schema.analysis`; `schema.CONTEXTS`).

    Attributes:
        said: The utterances of its turns; no row for turns whose utterances are not known.
        slots: Every slot of every turn that gold or a run has, with its class.
        changes: The numbers of correct, wrong, missed and over-predicted changes of state, per run and turn.
        scores: The scores of each turn, and of the dialogue (turn: null).
        signatures: (run, metric, unit, signature) of the dialogue's scores.
    """

    said: pl.DataFrame
    slots: pl.DataFrame
    changes: pl.DataFrame
    scores: pl.DataFrame
    signatures: pl.DataFrame


def walk_through(
    data: Data,
    dialogue: str | Sequence[str],
    *,
    context: str | None = None,
    metrics: str | Iterable[str | Metric] | None = None,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Walkthrough:
    """Dialogues of runs turn by turn; utterances are those of `context`, or of the files of runs or gold."""
    convention = as_convention(profile)
    chosen = parse_all(metrics or SHOWN)
    parts_to_open(data, **reading)
    said = None if context is None else contexts(context)  # first, so that its errors come before runs are read
    runs = open_under(convention, data, "classes of errors", **reading)
    given = pl.Series([dialogue] if isinstance(dialogue, str) else [*dialogue], dtype=pl.String)
    names = pl.select(canonical_dialogue(pl.lit(given))).to_series().to_list()
    cut = [(cut_to(run, [name]), run, name) for name in names for run in runs]
    for part, run, name in cut:
        if not part.cuts[-1]:
            every = run.read(run.table.select(pl.col("dialogue").unique(maintain_order=True)))["dialogue"]
            raise DstbenchError("no such dialogue", file=run.name, dialogue=name, hint=hint_at_dialogue(name, every))
    resolved = {run.name: resolve(chosen, [sum_up(run, chosen, [], convention)], convention) for run in runs}
    if said is None:
        said = said_in(runs)
    elif missing := [name for name in names if name not in said["dialogue"]]:
        warn(f"{context} has no utterances of {', '.join(missing)}")
    frames = [_of_run(part, resolved[run.name], convention) for part, run, _ in cut]
    slots, changes, scores, signatures = (pl.concat(tables) for tables in zip(*frames, strict=True))
    return Walkthrough(said.filter(pl.col("dialogue").is_in(names)), slots, changes, scores, signatures)


@dataclass(frozen=True)
class Worst:
    """The traits and scores of the dialogues to look at first (`DIALOGUES`), in order, and the signatures of scores."""

    dialogues: pl.DataFrame
    signatures: pl.DataFrame


def worst_dialogues(
    data: Data,
    *,
    most: int = 10,
    metrics: str | Iterable[str | Metric] | None = None,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Worst:
    """The dialogues with the lowest scores by the first metric, or of several runs, the most different ones."""
    if most < 1:
        raise UsageError(f"most={most} is not a number of dialogues", hint="10")
    convention, chosen = as_convention(profile), parse_all(metrics or SHOWN)
    runs = open_under(convention, data, "classes of errors", **reading)
    tables, signatures = zip(*(per_dialogue(run, chosen, convention) for run in runs), strict=True)
    frame, first = pl.concat(tables), str(chosen[0])
    badness = -(sign_of(first) or 1) * pl.col(first)
    if len(runs) > 1:
        # Rounded, as 1 - 2/3 and 1/3 are the same difference.
        badness = (pl.col(first).max() - pl.col(first).min()).over("dialogue").round(12)
    wrong_turns = pl.col("wrong_turns").cast(pl.Int64).sum().over("dialogue")
    ordered = frame.sort(
        badness.fill_nan(None), wrong_turns, "dialogue", descending=[True, True, False], nulls_last=True,
        maintain_order=True,
    )  # fmt: skip
    worst = ordered["dialogue"].unique(maintain_order=True).head(most)
    return Worst(ordered.filter(pl.col("dialogue").is_in(worst.implode())), pl.concat(signatures))


def said_in(runs: Sequence[Run]) -> pl.DataFrame:
    """The utterances in the first file of the runs or of gold that has any; no row if none has."""
    files = [(run.meta["files"], run.meta["format"]) for run in runs if has_utterances(str(run.meta.get("format")))]
    gold = runs[0].meta.get("gold")
    for path, form in [*files, *([(gold, None)] if isinstance(gold, str) else [])]:
        with suppress(DstbenchError):  # utterances are optional here: the user has not asked for them
            return contexts(path, format=form)
    return CONTEXTS.empty()


def _of_run(run: Run, metrics: Sequence[Metric], convention: Convention) -> tuple[pl.DataFrame, ...]:
    """The frames of one run, in the order of `Walkthrough` after `said`."""
    table, named = run.read(), pl.lit(run.name).alias("run")
    whole = score_run(run, metrics, [], convention)[0]
    of_turns = score_run(run, metrics, ["turn"], convention)[0]
    scores = pl.concat([of_turns, whole.with_columns(turn=pl.lit(None, pl.UInt16))], how="diagonal")
    counted = {name: pl.col(f"gca_{name}") for name in ("correct", "wrong", "missed", "over")}
    return (
        SLOT_CLASSES.conform(list_classes(table, convention).sort("turn", "slot").with_columns(named)),
        CHANGES.conform(to_turns(table, convention).with_columns(named, **counted)),
        TURN_SCORES.conform(scores.with_columns(named, dialogue=pl.lit(table["dialogue"][0]))),
        whole.select("run", "metric", "unit", "signature"),
    )
