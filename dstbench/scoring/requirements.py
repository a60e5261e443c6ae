"""What some scores need of a run and of a convention; without it there is an error, and no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dstbench.conventions.slots import domain_of
from dstbench.errors import DstbenchError, UsageError
from dstbench.readers.frames import all_say
from dstbench.runs.codes import ABSENT, distinct, to_strings
from dstbench.schema.core import SEEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from dstbench.conventions.convention import Convention
    from dstbench.runs.layout import Layout
    from dstbench.runs.run import Run


def check_request(run: Run, stats: Mapping[str, pl.Expr], by: Sequence[str], convention: Convention) -> None:
    """Refuse groups that exclude each other, and what needs frames or a schema that are not there."""
    if "slot" in by and (counts := [name for name in by if name.startswith("n_")]):
        raise UsageError(f"scores by slot cannot be grouped by {counts[0]} as well")
    if SEEN in by and convention.seen is None:
        raise UsageError("which services are seen is not known", hint="--seen schema.json, that of the training set")
    if SEEN in by and convention.unit != "frame" and "slot" not in by:
        raise UsageError("scores by seen are over frames", hint="--profile sgd, or --unit frame")
    needed = {name for stat in stats.values() for name in stat.meta.root_names()}
    for column, key, words in (
        ("right_intent", "intent", "active intents"),
        ("requested_f1", "requested", "requested slots"),
    ):
        if column not in needed:
            continue
        scores_frames = convention.unit == "frame" and convention.domain_turns == "frames" and "slot" not in by
        if not scores_frames or convention.slots is not None:
            raise UsageError(f"{words} are scored over all frames of gold", hint="--profile sgd, not by slot")
        frames = run.meta.get("frames")
        if frames is None or not all_say(frames, key):
            gold_lacks = frames is None or frames["gold"] > frames[f"gold_{key}"]
            raise DstbenchError(
                f"gold does not say the {words} of every frame" if gold_lacks else f"the predictions lack {words}",
                file=run.name,
                hint="omit that metric; SGD's own files, and predictions in their layout, may have them",
            )


def check_services(rows: Layout, convention: Convention) -> None:
    """Refuse a schema that lacks a service of gold: its frames would silently count nothing."""
    if convention.schema is None or convention.slot_set is not None:
        return
    slot, gold, _ = rows.cells
    services = {domain_of(name) for name in to_strings(distinct(slot[gold != ABSENT]))}
    if lacking := sorted(services - convention.schema.services):
        raise DstbenchError(
            f"the schema has no service {lacking[0]}, which gold has", hint="--schema takes that of the scored split"
        )
