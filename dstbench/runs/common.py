"""Runs restricted to the turns that all of them have, so that they can be compared although some lack turns."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import polars as pl

from dstbench.errors import DstbenchError, DstbenchWarning, warn
from dstbench.readers.states import Side, only_turns
from dstbench.runs.align import from_long, to_long
from dstbench.runs.run import Run, in_memory

_KEY = ["dialogue", "turn"]


def over_common_turns(runs: Sequence[Run]) -> list[Run]:
    """The runs over the turns that all of them have, if one of them was opened with ``missing="intersect"``.

    A warning says how many turns these are. If no run was opened so, or all have the same turns, all are returned as
    they are; else runs that have other turns, too, are returned without these, in memory.
    """
    if len(runs) < 2 or not any("intersect" in run.meta["missing"] for run in runs):
        return list(runs)
    turns = [run.read(run.table.select(_KEY).unique().sort(_KEY)) for run in runs]
    if all(of_run.equals(turns[0]) for of_run in turns):
        return list(runs)
    common = reduce(lambda one, other: one.join(other, on=_KEY, how="semi"), turns)
    if common.is_empty():
        raise DstbenchError(
            "no turn is in all runs", file=", ".join(run.name for run in runs), hint="are they of one test set?"
        )
    total = pl.concat(turns).unique().height
    warn(
        f"compared over the {common.height:,} of {total:,} turns that all {len(runs)} runs have (--missing intersect)",
        when="before",
    )
    return [
        _cut_to(run, common) if of_run.height > common.height else run for run, of_run in zip(runs, turns, strict=True)
    ]


def _cut_to(run: Run, turns: pl.DataFrame) -> Run:
    """The run without any other turns, as if neither gold nor prediction had them."""
    states = from_long(run.read(), run.name)
    gold, pred = (_of_turns(side, turns) for side in (states.gold, states.pred) if side is not None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)  # its warnings were given when the run was opened
        aligned = to_long(
            replace(states, gold=gold, pred=pred), missing="wrong"
        )  # a turn without a prediction stays wrong
    coverage = {**run.meta["coverage"], **{name: aligned.coverage[name] for name in ("turns", "dialogues")}}
    frames = {} if aligned.frames is None else {"frames": dict(aligned.frames)}
    return in_memory(run.name, aligned.table, {**run.meta, "coverage": coverage, **frames})


def _of_turns(side: Side, turns: pl.DataFrame) -> Side:
    kept = side.turns.join(turns.with_columns(kept=True), on=_KEY, how="left", maintain_order="left")["kept"]
    return only_turns(side, kept.fill_null(value=False))
