"""Scores the states of a training loop, epoch after epoch, against gold that is read once.

The states are scored as `dstbench.score` scores them, by the same expressions over the same long table. From one epoch
to the next, only gold is kept: its states, the order of its turns, and the row of each turn.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import polars as pl

from dstbench.analysis.changes import Changes, diff
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import canonical_dialogue
from dstbench.errors import DstbenchError, UsageError, did_you_mean, number_of
from dstbench.metrics import Metric, parse_all
from dstbench.readers.options import Keys, ReadOptions
from dstbench.readers.records import from_memory
from dstbench.readers.states import SideBuilder, States, StatesBuilder, sides_of, warn_of_notes
from dstbench.runs.align import gold_of, named_under, usable_aliases
from dstbench.runs.gold import gold_fingerprint
from dstbench.runs.open import Data, gold_alone, open_gold, open_runs
from dstbench.runs.run import Run
from dstbench.scoring.score import Scores, choose_metrics, score, values_of, warn_of_frames
from dstbench.scoring.validation import check_gold_scope, check_metrics, warn_of_unscored
from dstbench.typing import Missing

State = dict[str, str]

# The name of the states in messages and tables, as for states in memory that `dstbench.score` takes.
_NAME: Final = "states"


@dataclass
class _Epoch:
    """The states of an epoch: by their rows in gold, and as the columns that are scored."""

    states: dict[int, State] = field(default_factory=dict)
    side: SideBuilder = field(default_factory=SideBuilder)

    def add(self, states: Mapping[int, State]) -> None:
        """Add states of other turns than there are, by their rows in gold."""
        for row, state in states.items():
            self.states[row] = dict(state)  # as the caller may change it
            self.side.state(row, state)


class Evaluator:
    """Collects the predicted states of a training loop and scores them against gold, which is read once.

    In each epoch, `add` or `add_batch` the states, `compute` the scores, and `reset`. If several processes each
    evaluate a part, one of them merges the others' evaluators (`merge`), which can be pickled.

    Args:
        gold: The gold states: a path, a frame, or states in memory (see `dstbench.score`).
        metrics: Metrics in dstbench's notation, comma-separated or in a list; None: those of the profile.
        profile: The convention, or its name.
        missing: What to do with gold turns that got no state: ``error``, ``wrong``, ``empty`` or ``intersect`` (see
            `dstbench.open_runs`); None: the convention's.
        split: The split to score, if gold has several.
        keys: The keys of gold's records of turns, if dstbench does not know them (see `dstbench.open_runs`).

    Raises:
        DstbenchError: Gold cannot be used, or has several splits and none is named; a metric or profile is unknown.

    >>> north = {"hotel-area": "north"}
    >>> gold = [{"dialogue_id": "MUL1", "turn": turn, "gold": north} for turn in (0, 1)]
    >>> evaluator = Evaluator(gold, metrics="jga,f1")
    >>> evaluator.add("MUL1", 0, north)
    >>> evaluator.add("MUL1", 1, {})
    >>> evaluator.compute()
    {'jga': 0.5, 'f1': 0.5}
    """

    def __init__(
        self,
        gold: Data,
        *,
        metrics: str | Iterable[str | Metric] | None = None,
        profile: str | Convention = "verbatim",
        missing: Missing | None = None,
        split: str | None = None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        requested = None if metrics is None else parse_all(metrics)
        self._convention = as_convention(profile)
        check_metrics(self._convention)
        self._missing: Missing = missing or self._convention.missing
        options = ReadOptions(keys=Keys.of(keys) if keys else None, missing=self._missing)
        self._gold = open_gold(gold, split, options)
        splits = [] if self._gold.splits is None else sorted(self._gold.splits["split"].unique())
        if len(splits) > 1:
            what = f"{self._gold.source} has the splits {', '.join(splits)}"
            raise UsageError(what, hint=f'name the one to score: split="{splits[0]}"')
        side = gold_of(self._gold, "give the file that has it")
        self._turns = side.turns
        self._row_of: dict[Any, int] = {turn: row for row, turn in enumerate(side.turns.iter_rows())}
        aliases = usable_aliases(self._gold)
        self._by_alias = {} if aliases is None else dict(aliases.select("alias", "dialogue").iter_rows())
        self._epoch = _Epoch()
        self._before = _Epoch()  # the epoch before; empty: there was none
        # Gold aligned with itself shows what is doubtful about gold and the convention before anything is trained.
        (run,) = open_runs({self._gold.source: gold_alone(self._gold, side)})
        run.need_states("scores of states")
        check_gold_scope(run, self._convention)
        warn_of_frames([run], self._convention)
        self._metrics = choose_metrics(requested, [run], self._convention)
        self._fingerprint = gold_fingerprint(run.read())

    def add(self, dialogue: str, turn: int, state: Mapping[str, str]) -> None:
        """Add the predicted state of one turn.

        Args:
            dialogue: The dialogue's id; MultiWOZ's in any spelling (``mul0484.json``).
            turn: The user turn, from 0.
            state: The cumulative state, {slot: value}, or any other form that `dstbench.score` takes from memory.

        Raises:
            DstbenchError: Gold has no such dialogue or turn, the state cannot be read, or the turn has another state
                already (see `reset`). Then nothing was added.
        """
        self.add_batch([dialogue], [turn], [state])

    def add_batch(self, dialogues: Iterable[str], turns: Iterable[int], states: Iterable[Mapping[str, str]]) -> None:
        """Add the predicted states of several turns, given as the columns of a batch.

        Args:
            dialogues: Each turn's dialogue.
            turns: Each turn's number; a list, an array, or a tensor of integers.
            states: Each turn's state.

        Raises:
            DstbenchError: As of `add`; or the columns differ in length.
        """
        columns: tuple[Any, ...] = (dialogues, turns, states)  # elements of arrays and tensors become Python's
        names, numbers, predicted = (each.tolist() if hasattr(each, "tolist") else list(each) for each in columns)
        if not len(names) == len(numbers) == len(predicted):
            raise UsageError(
                f"a batch of {number_of(len(names), 'dialogue')}, {number_of(len(numbers), 'turn')} "
                f"and {number_of(len(predicted), 'state')}",
                hint="one of each for every turn",
            )
        rows = [self._row(name, number) for name, number in zip(names, numbers, strict=True)]
        batch = self._new(zip(rows, predicted, strict=True), {})
        is_plain = all(
            isinstance(state, dict) and all(isinstance(text, str) for text in chain(state, state.values()))
            for state in batch.values()
        )
        self._epoch.add(self._new((batch if is_plain else self._read(batch)).items(), self._epoch.states))

    def _new(self, states: Iterable[tuple[int, Any]], before: Mapping[int, Any]) -> dict[int, Any]:
        """Those states, by their rows in gold, that were not there before; refuses a turn that has another state."""
        new, changed = dict[int, Any](), list[tuple[int, Any, Any]]()
        for row, state in states:
            first = before[row] if row in before else new.setdefault(row, state)
            if first is not state and first != state:
                changed.append((row, first, state))
        if not changed:
            return new
        row, one, other = min(changed, key=operator.itemgetter(0))
        dialogue, turn = self._turns.row(row)
        difference = f"{one!r} and {other!r}"
        if isinstance(one, dict) and isinstance(other, dict):
            slot = next(slot for slot in [*one, *other] if one.get(slot) != other.get(slot))
            difference = f"{slot} is {one.get(slot)!r} and {other.get(slot)!r}"
        more = f", and of {len(changed) - 1:,} more" if len(changed) > 1 else ""
        raise DstbenchError(
            f"two different states of one turn{more}: {difference}",
            dialogue=dialogue,
            turn=turn,
            hint="reset() before each epoch; of turns that several processes predict, add one state only",
        )

    def merge(self, other: Evaluator) -> None:
        """Add the states of another evaluator, such as that of another process.

        A turn may be in both with the same state, because samplers repeat turns so that all processes get equally many.

        Args:
            other: An evaluator of the same gold, metrics and convention.

        Raises:
            DstbenchError: It has others, or a turn has another state there. Then nothing was added.
        """
        alike = {
            "metrics": list(self._metrics) == list(other._metrics),
            "conventions": (self._convention, self._missing) == (other._convention, other._missing),
            "gold states": self._fingerprint == other._fingerprint,
        }
        if different := [what for what, are_alike in alike.items() if not are_alike]:
            raise UsageError(f"the two evaluators have different {different[0]}", hint="make both of them alike")
        self._epoch.add(self._new(other._epoch.states.items(), self._epoch.states))

    def compute(self) -> dict[str, float | None]:
        """The scores of the states that were added since the last `reset`, bit for bit those of `dstbench.score`.

        Returns:
            The value of each metric, by its notation: a fraction, or a count for count metrics; None: undefined.

        Raises:
            DstbenchError: No state was added, or, with ``missing="error"``, a gold turn has none.
        """
        return values_of(self._run(), self._metrics, self._convention)

    def scores(self) -> Scores:
        """The rows that `dstbench.score` returns for these states, with standard errors and signatures."""
        return score([self._run()], metrics=self._metrics, profile=self._convention, missing=self._missing)

    def diff(self) -> Changes:
        """What these states fix and break, compared with those before the last `reset`: see `dstbench.diff`.

        Raises:
            UsageError: There was no epoch before.
        """
        if not self._before.states:
            raise UsageError("there was no epoch before", hint="add its states, reset(), then add those of the next")
        before, after = self._run(self._before), self._run()
        return diff(before, after, profile=self._convention, missing=self._missing)

    def reset(self) -> None:
        """Begin an epoch without states; gold stays, and for `diff` the states of the epoch that ends."""
        if self._epoch.states:
            self._before, self._epoch = self._epoch, _Epoch()

    def _run(self, epoch: _Epoch | None = None) -> Run:
        """The states of an epoch (None: this one) as a run."""
        epoch = epoch or self._epoch
        if not epoch.states:
            raise UsageError("no state was added", hint="add(dialogue, turn, state) before compute()")
        builder = StatesBuilder(_NAME, self._gold.format, pred=epoch.side)
        pred = builder.side("pred", self._turns)
        read = States(_NAME, self._gold.format, None, pred, builder.notes, numbered=True, in_training=True)
        (run,) = open_runs({_NAME: read}, gold=self._gold, missing=self._missing)
        check_gold_scope(run, self._convention)  # under ``intersect`` there may be less gold than there was
        warn_of_unscored(run, self._convention)
        whole = None if self._missing == "intersect" else self._fingerprint
        return named_under(self._convention, replace(run, fingerprint=whole))

    def _row(self, name: Any, number: Any) -> int:
        """The row of a turn in gold; a dialogue or number that is spelled differently there is remembered."""
        if not isinstance(name, str):
            raise DstbenchError(f"the dialogue id {name!r} is not a string")
        try:
            row = self._row_of.get((name, number))
            turn = operator.index(number) if row is None else 0  # also of integers of NumPy and PyTorch
        except TypeError:
            raise DstbenchError("the turn is not an integer", dialogue=name, turn=number) from None
        if row is not None:
            return row
        canonical = _canonical(name)
        dialogue = self._by_alias.get(canonical, canonical)
        row = self._row_of.get((dialogue, turn))
        if row is not None:
            self._row_of[name, turn] = row
            return row
        turns = sorted(self._turns.filter(pl.col("dialogue") == dialogue)["turn"])
        if turns:
            what, hint = "turn", f"its turns are {turns[0]} to {turns[-1]}; number user turns from 0"
        else:
            ids = self._turns["dialogue"].unique(maintain_order=True).to_list()
            what, hint = "dialogue", did_you_mean(dialogue, ids) or f"gold has dialogues such as {ids[0]}"
        raise DstbenchError(f"{self._gold.source} has no such {what}", dialogue=dialogue, turn=turn, hint=hint)

    def _read(self, batch: Mapping[int, Any]) -> dict[int, State]:
        """States of any form that `dstbench.score` takes from memory, as dictionaries of strings."""
        turns = self._turns.select(pl.all().gather(list(batch))).iter_rows()
        items = [
            {"dialogue_id": dialogue, "turn": turn, "pred": state}
            for (dialogue, turn), state in zip(turns, batch.values(), strict=True)
        ]
        read = from_memory(items, _NAME)
        warn_of_notes(read)
        (side,) = sides_of(read)
        states: list[State] = [{} for _ in items]
        for cells in (side.cells, side.frames):
            for at, slot, value in () if cells is None else cells.iter_rows():
                states[at][slot] = value
        return dict(zip(batch, states, strict=True))


@lru_cache(2**16)
def _canonical(name: str) -> str:
    return str(pl.select(canonical_dialogue(pl.lit(name))).item())
