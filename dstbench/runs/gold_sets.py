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

from dstbench.errors import shortened, warn
from dstbench.runs.gold import gold_by_dialogue, gold_fingerprint, gold_slots, string_hash
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
    """A registered set that is a run's gold, or that the gold resembles.

    Attributes:
        gold_set: The set.
        difference: What is different in the run's gold, in words; empty: nothing.
    """

    gold_set: GoldSet
    difference: str

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


def recognise(run: Run) -> Recognised | None:
    """The registered set that is a run's gold, or that the gold is like; None: there is none."""
    dialogues, turns = (run.meta["coverage"][what] for what in ("dialogues", "turns"))
    as_large = [one for one in gold_sets() if (one.dialogues, one.turns) == (dialogues, turns)]
    similar = [one for one in gold_sets() if one.each and one.dialogues >= max(_ALIKE * dialogues, _FEWEST)]
    if (
        run.meta.get("only") or not as_large + similar
    ):  # without states there is no gold to compare; large runs are not read
        return None
    by_dialogue, of_gold = None, run.fingerprint
    if of_gold is None:
        by_dialogue = gold_by_dialogue(run.read())
        of_gold = _sum(by_dialogue)
    for one in as_large:
        if one.fingerprint == f"{of_gold:016x}":
            return Recognised(one, "")
    if not similar:
        return None
    by_dialogue = gold_by_dialogue(run.read()) if by_dialogue is None else by_dialogue
    own = _numbers(by_dialogue)
    nearest, *others = sorted((_Comparison.of(one, own) for one in similar), key=lambda one: -one.same)
    if nearest.same < max(_ALIKE * own.height, _FEWEST) or (others and others[0].same == nearest.same):
        return None
    difference = nearest.in_words()
    return Recognised(nearest.gold_set, difference) if difference else None


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
    size = tuple(run.meta["coverage"][what] for what in ("dialogues", "turns"))
    as_large = [one for one in gold_sets() if (one.dialogues, one.turns) == size]
    if run.meta.get("only") or not as_large:
        return None
    predicted = f"{gold_fingerprint(run.read().with_columns(gold='pred')):016x}"
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
        fingerprint=f"{_sum(by_dialogue):016x}",
        each=base64.b64encode(numbers.tobytes()).decode() if len(numbers) <= _MOST else "",
    )
    return json.dumps(one._asdict(), ensure_ascii=False)


def _sum(by_dialogue: pl.DataFrame) -> int:
    return int(by_dialogue["fingerprint"].sum() or 0)


def _numbers(by_dialogue: pl.DataFrame) -> pl.DataFrame:
    """What `gold_by_dialogue` returns, with each dialogue's number of 64 bits (`number`) and its highest 32 (`id`)."""
    numbered = by_dialogue.with_columns(id=string_hash("dialogue") // _ID_AT)
    gold, turns = pl.col("fingerprint") % 2**24, pl.col("turns").clip(upper_bound=255).cast(pl.UInt64)
    return numbered.with_columns(number=pl.col("id") * _ID_AT + gold * _GOLD_AT + turns)


class _Comparison(NamedTuple):
    """How the dialogues of a run's gold differ from those of a set."""

    gold_set: GoldSet
    same: int  # number of dialogues that are the same in both
    dialogues: pl.DataFrame  # (dialogue, others: not in the set; more_or_fewer turns there; changed: other states)

    @classmethod
    def of(cls, gold_set: GoldSet, own: pl.DataFrame) -> _Comparison:
        """Compare; `own` is what `_numbers` returned."""
        numbers = np.frombuffer(base64.b64decode(gold_set.each), "<u8").astype(np.uint64)
        of_set = pl.DataFrame({"there": numbers}).with_columns(id=pl.col("there") // _ID_AT)
        of_set = of_set.unique("id", keep="first", maintain_order=True)
        both = own.join(of_set, on="id", how="left", maintain_order="left")
        here, there = pl.col("number"), pl.col("there")
        same_turns = here % _GOLD_AT == there % _GOLD_AT
        differences = {
            "others": there.is_null(),
            "more_or_fewer": ~same_turns,
            "changed": same_turns & (here != there),
        }
        return cls(gold_set, int(both.select((here == there).sum()).item()), both.select("dialogue", **differences))

    def in_words(self) -> str:
        """The differences, each with its number of dialogues and the id of the first."""
        missing = self.gold_set.dialogues - int((~self.dialogues["others"]).sum())
        clauses = []
        if missing:
            clauses.append(
                f"{missing:,} of its {self.gold_set.dialogues:,} dialogues {'is' if missing == 1 else 'are'} missing"
            )
        for what, one, several in (
            ("others", "1 dialogue is not in it", "{} dialogues are not in it"),
            ("more_or_fewer", "1 dialogue has more or fewer turns", "{} dialogues have more or fewer turns"),
            ("changed", "1 dialogue has other states", "{} dialogues have other states"),
        ):
            found = self.dialogues.filter(what)["dialogue"]
            if len(found):
                first = shortened(found[0], _LONGEST)
                text = one if len(found) == 1 else several.format(f"{len(found):,}")
                clauses.append(f"{text} ({'' if len(found) == 1 else 'first: '}{first})")
        return ", ".join(clauses)
