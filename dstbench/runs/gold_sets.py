"""Gold that many papers share: the registered set on which a run is scored, or how its gold differs from one.

The registry is ``gold_sets.jsonl``, a line per preparation of a split, which `line_of` makes. It has no data, only
counts and fingerprints (`runs.gold`): of gold as written, once slots and dialogue ids are canonical and values
that mean "not in the state" are left out. So a set is recognised in any file format, whatever is predicted and whatever
the convention is. A line also has a number of 64 bits for each dialogue, which consists of (highest bits first) 32 bits
of the hash of its id, the lowest 24 bits of its gold's fingerprint, and 8 for its number of turns (255: 255 or more).

A set is named only if the whole fingerprint is equal. Gold is *like* a set if nine tenths of its dialogues are in the
set with the same states in all turns. (Versions of MultiWOZ have up to three tenths in common.)
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.errors import number_of, shortened, warn
from dstbench.runs.gold import gold_by_dialogue, gold_slots, string_hash
from dstbench.runs.open import Data, gold_run
from dstbench.runs.run import Run

_REGISTRY: Final = Path(__file__).with_name("gold_sets.jsonl")
# Lines of larger sets have no numbers of dialogues: these are training sets, on which nothing is scored.
_MOST: Final = 4_000
# In a dialogue's number, the factors of the id's hash and of gold's fingerprint.
_ID_AT, _GOLD_AT = pl.lit(2**32, pl.UInt64), pl.lit(2**8, pl.UInt64)
# Gold is like a set if at least this share and this number of its dialogues are in it; unrelated gold may have a few.
_ALIKE: Final = 0.9
_FEWEST: Final = 20
# The most characters of a dialogue's id, and the most runs, that are shown.
_LONGEST: Final = 50
_NAMED: Final = 3


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
    each: str = ""  # the numbers of its dialogues, ascending, in base64; empty: they are not kept

    @property
    def name(self) -> str:
        """The set in words."""
        return f"{self.dataset} {self.split}, {self.preparation}"

    @property
    def size(self) -> str:
        """What the set lacks of its split as published, in words; empty: nothing."""
        for what, own in (("dialogues", self.dialogues), ("turns", self.turns)):
            whole = self.whole.get(what, own)
            if own < whole:
                return f"{own:,} of {whole:,} {what}"
        return ""


class Recognised(NamedTuple):
    """A registered set that is a run's gold, or that the gold resembles."""

    gold_set: GoldSet
    difference: str  # what is different in the run's gold, in words; empty: nothing

    @property
    def text(self) -> str:
        """The set and the difference in words."""
        if self.difference:
            return f"like {self.gold_set.name}, but {self.difference}"
        return self.gold_set.name + (f" ({self.gold_set.size})" if self.gold_set.size else "")


@cache
def gold_sets() -> Sequence[GoldSet]:
    """The registered sets, in the order of the registry."""
    return tuple(GoldSet(**json.loads(line)) for line in _REGISTRY.read_text(encoding="utf-8").splitlines())


def _as_large_as(run: Run) -> list[GoldSet]:
    """The registered sets with as many dialogues and turns as a run has; none for a run without states."""
    size = tuple(run.meta["coverage"][what] for what in ("dialogues", "turns"))
    return [] if run.meta.get("only") else [one for one in gold_sets() if (one.dialogues, one.turns) == size]


def recognise(run: Run) -> Recognised | None:
    """The registered set that is a run's gold, or that the gold is like; None: there is none."""
    as_large, least = _as_large_as(run), max(_ALIKE * run.meta["coverage"]["dialogues"], _FEWEST)
    similar = [one for one in gold_sets() if one.each and one.dialogues >= least and not run.meta.get("only")]
    if not as_large and not similar:  # large runs are not read
        return None
    by_dialogue = gold_by_dialogue(run.read())
    for one in as_large:
        if one.fingerprint == _sum(by_dialogue):
            return Recognised(one, "")
    compared = [(one, _compared(_numbers(by_dialogue), one)) for one in similar]
    compared.sort(key=lambda each: -each[1]["same"].sum())
    same = [int(dialogues["same"].sum()) for _, dialogues in compared]
    if not same or same[0] < max(_ALIKE * by_dialogue.height, _FEWEST) or same[:1] == same[1:2]:
        return None
    difference = _in_words(*compared[0])
    return Recognised(compared[0][0], difference) if difference else None


def gold_lines(runs: Sequence[Run]) -> list[str]:
    """The registered sets of runs, a line for each set; lines name their runs unless all runs have the same gold."""
    runs_with: dict[str, list[str]] = {}
    for run in runs:
        if (recognised := recognise(run)) is not None:
            runs_with.setdefault(recognised.text, []).append(run.name)
        elif (meant := predicted_set(run)) is not None:
            warn(f"its predictions are the gold of {meant.name}: are the two swapped?", run=run.name, when="before")
    lines = []
    for text, names in runs_with.items():
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        of = "" if len(names) == len(runs) else f" of {', '.join(names[:_NAMED])}{more}"
        lines.append(f"gold{of}: {text}")
    return lines


def predicted_set(run: Run) -> GoldSet | None:
    """The registered set that a run's predictions are; None: they are none."""
    as_large = _as_large_as(run)
    predicted = _sum(gold_by_dialogue(run.read().with_columns(gold="pred"))) if as_large else ""
    return next((one for one in as_large if one.fingerprint == predicted), None)


def line_of(
    gold: Data, *, dataset: str, split: str, preparation: str, source: str, whole: Mapping[str, int] | None = None
) -> str:
    """The line of the registry for a set: a path, a frame, or states; the further parameters are as in `GoldSet`."""
    table = gold_run(gold).read()
    by_dialogue = gold_by_dialogue(table)
    numbers = _numbers(by_dialogue)["number"].sort().to_numpy().astype("<u8")
    counts = {"dialogues": by_dialogue.height, "turns": int(by_dialogue["turns"].sum())}
    one = GoldSet(
        dataset=dataset,
        split=split,
        preparation=preparation,
        **counts,
        slots=len(gold_slots(table)),
        whole=counts if whole is None else whole,
        source=source,
        fingerprint=_sum(by_dialogue),
        each=base64.b64encode(numbers.tobytes()).decode() if len(numbers) <= _MOST else "",
    )
    return json.dumps(one._asdict(), ensure_ascii=False)


def _sum(by_dialogue: pl.DataFrame) -> str:
    """The fingerprint of all dialogues, as the registry writes it."""
    return f"{int(by_dialogue['fingerprint'].sum() or 0):016x}"


def _numbers(by_dialogue: pl.DataFrame) -> pl.DataFrame:
    """What `gold_by_dialogue` returns, with each dialogue's number of 64 bits (`number`) and its highest 32 (`id`)."""
    numbered = by_dialogue.with_columns(id=string_hash("dialogue") // _ID_AT)
    gold, turns = pl.col("fingerprint") % 2**24, pl.col("turns").clip(upper_bound=255).cast(pl.UInt64)
    return numbered.with_columns(number=pl.col("id") * _ID_AT + gold * _GOLD_AT + turns)


def _compared(own: pl.DataFrame, gold_set: GoldSet) -> pl.DataFrame:
    """Whether each of a run's dialogues (`_numbers`) is the same in a set, not in it (others), or how it differs."""
    numbers = np.frombuffer(base64.b64decode(gold_set.each), "<u8").astype(np.uint64)
    of_set = pl.DataFrame({"there": numbers}).with_columns(id=pl.col("there") // _ID_AT)
    both = own.join(of_set.unique("id", keep="first", maintain_order=True), on="id", how="left", maintain_order="left")
    here, there = pl.col("number"), pl.col("there")
    same_turns = here % _GOLD_AT == there % _GOLD_AT
    return both.select(
        "dialogue",
        same=here == there,
        others=there.is_null(),
        more_or_fewer=~same_turns,
        changed=same_turns & (here != there),
    )


def _in_words(gold_set: GoldSet, dialogues: pl.DataFrame) -> str:
    """The differences that `_compared` has found, each with its number of dialogues and the id of the first."""
    clauses = []
    if missing := gold_set.dialogues - int((~dialogues["others"]).sum()):
        is_missing = "is missing" if missing == 1 else "are missing"
        clauses.append(f"{missing:,} of its {gold_set.dialogues:,} dialogues {is_missing}")
    for what, one, several in (
        ("others", "is not in it", "are not in it"),
        ("more_or_fewer", "has more or fewer turns", "have more or fewer turns"),
        ("changed", "has other states", "have other states"),
    ):
        ids = dialogues.filter(what)["dialogue"]
        if len(ids):
            first = ("" if len(ids) == 1 else "first: ") + shortened(ids[0], _LONGEST)
            clauses.append(f"{number_of(len(ids), 'dialogue')} {one if len(ids) == 1 else several} ({first})")
    return ", ".join(clauses)
