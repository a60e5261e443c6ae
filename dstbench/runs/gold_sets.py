"""Gold that many papers share: the registered set on which a run is scored.

The registry is ``gold_sets.jsonl``, a line per preparation of a split, which `line_of` makes. It has no data, only
counts and fingerprints (`runs.gold`): of gold as written, once slots and dialogue ids are canonical and values
that mean "not in the state" are left out. So a set is recognised in any file format, whatever is predicted and whatever
the convention is. It is named only if the whole fingerprint is equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from dstbench.errors import first_of, warn
from dstbench.runs.gold import gold_fingerprint, gold_slots
from dstbench.runs.open import Data, gold_run
from dstbench.runs.run import Run

_REGISTRY: Final = Path(__file__).with_name("gold_sets.jsonl")
_NAMED: Final = 3  # the most runs that are named


class GoldSet(NamedTuple):
    """A line of the registry: the gold of a split of a dataset, as one project prepares it."""

    dataset: str  # with its version
    split: str  # train, dev or test
    preparation: str  # who prepared it; and which part of the split it has, if not all
    dialogues: int
    turns: int
    slots: int  # number of slots that have a value in it
    whole: Mapping[str, int]  # number of `dialogues`, and of `turns` if known, of the split as published
    source: str  # where its file comes from
    fingerprint: str  # of its gold, as 16 hexadecimal digits

    @property
    def name(self) -> str:
        """The set in words."""
        return f"{self.dataset} {self.split}, {self.preparation}"

    @property
    def size(self) -> str:
        """What the set has of its split as published, in words, in brackets; empty: all of it."""
        for what, own in (("dialogues", self.dialogues), ("turns", self.turns)):
            if own < self.whole.get(what, own):
                return f" ({own:,} of {self.whole[what]:,} {what})"
        return ""


@cache
def gold_sets() -> Sequence[GoldSet]:
    """The registered sets, in the order of the registry."""
    return tuple(GoldSet(**json.loads(line)) for line in _REGISTRY.read_text(encoding="utf-8").splitlines())


def recognise(run: Run, side: str = "gold") -> GoldSet | None:
    """The registered set that a run's gold is, or its predictions (`side`: ``pred``) are; None: there is none."""
    size = tuple(run.meta["coverage"][what] for what in ("dialogues", "turns"))
    as_large = [one for one in gold_sets() if (one.dialogues, one.turns) == size and not run.meta.get("only")]
    own = fingerprint(run, side) if as_large else ""  # other runs are not read
    return next((one for one in as_large if one.fingerprint == own), None)


def fingerprint(run: Run, side: str = "gold") -> str:
    """The fingerprint of a run's gold, or of its predictions, as the registry writes it."""
    return f"{gold_fingerprint(run.read().with_columns(gold=side)):016x}"


def gold_lines(runs: Sequence[Run]) -> list[str]:
    """The registered sets of runs, a line for each set; lines name their runs unless all runs have the same gold."""
    runs_with: dict[str, list[str]] = {}
    for run in runs:
        if (one := recognise(run)) is not None:
            runs_with.setdefault(one.name + one.size, []).append(run.name)
        elif (meant := recognise(run, "pred")) is not None:
            warn(f"its predictions are the gold of {meant.name}: are the two swapped?", run=run.name, when="before")
    lines = []
    for text, names in runs_with.items():
        of = "" if len(names) == len(runs) else f" of {first_of(names, _NAMED)}"
        lines.append(f"gold{of}: {text}")
    return lines


def line_of(gold: Data, *, whole: Mapping[str, int] | None = None, **named: Any) -> str:
    """The line of the registry for a set: a path, a frame, or states; the further parameters are as in `GoldSet`."""
    run = gold_run(gold)
    counts = {what: run.meta["coverage"][what] for what in ("dialogues", "turns")}
    slots = len(gold_slots(run.read()))
    one = GoldSet(**named, **counts, slots=slots, whole=whole or counts, fingerprint=fingerprint(run))
    return json.dumps(one._asdict(), ensure_ascii=False)
