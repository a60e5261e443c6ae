"""What an epoch costs in a training loop: an `Evaluator` against `dstbench.score` of the same states.

Purpose: an evaluator reads gold once, so that an epoch of 7,000 turns costs only what its predictions cost: at most
0.05 seconds.

Steps: invents N dialogues and three trackers' states; in turn, adds an epoch's states to an evaluator and computes the
default metrics, and scores the same states in memory with `dstbench.score`; checks that the numbers are the same;
prints medians of CPU time over all epochs but the first.

Caveats: the states of an epoch are decoded from JSON just before, as a loop decodes what a model generates, so that
they are not in the processor's cache. If gold is not in the same list, `score` takes longer than here.

Usage: python -m benchmarks.epochs [--dialogues 1000] [--epochs 10] [--batch 0]
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from time import process_time
from typing import Any

import polars as pl

import dstbench
from benchmarks.results import doing
from dstbench.demo import synthetic
from dstbench.errors import DstbenchWarning
from dstbench.runs.align import from_long


def states_of(table: pl.DataFrame, side: str) -> list[dict[str, Any]]:
    """The states of one side of a long table, as turns with the key `side`."""
    states = getattr(from_long(table, "corpus"), side)
    turns = [{"dialogue_id": dialogue, "turn": turn, side: {}} for dialogue, turn in states.turns.iter_rows()]
    for at, slot, value in states.cells.iter_rows():
        turns[at][side][slot] = value
    return turns


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=1_000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=0, help="turns of a batch; 0: all in one")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DstbenchWarning)

    tables = list(synthetic(given.dialogues).values())  # of several trackers, with the same gold
    gold = states_of(tables[0], "gold")
    gold_of = {(turn["dialogue_id"], turn["turn"]): turn["gold"] for turn in gold}
    evaluator = dstbench.Evaluator(gold)
    times: dict[str, list[float]] = {"add_batch": [], "compute": [], "score": []}
    texts = [json.dumps(states_of(table, "pred")) for table in tables]
    for epoch in range(given.epochs + 1):
        doing(f"epoch {epoch} of {given.epochs}")
        states = json.loads(texts[epoch % len(texts)])
        columns = [[turn[key] for turn in states] for key in ("dialogue_id", "turn", "pred")]
        size = given.batch or len(states)
        start = process_time()
        evaluator.reset()
        for first in range(0, len(states), size):
            evaluator.add_batch(*(column[first : first + size] for column in columns))
        added = process_time()
        scores = evaluator.compute()
        computed = process_time()
        states = [
            {**turn, "gold": gold_of[turn["dialogue_id"], turn["turn"]]} for turn in json.loads(json.dumps(states))
        ]
        begun = process_time()
        assert dstbench.score(states).to_dict() == scores
        for name, spent in zip(times, (added - start, computed - added, process_time() - begun), strict=True):
            times[name].append(spent)
    median = {name: statistics.median(spent[1:]) for name, spent in times.items()}
    whole = median["add_batch"] + median["compute"]
    turns, slots = len(gold), sum(len(turn["pred"]) for turn in json.loads(texts[0]))
    print(f"{turns:,} turns with {slots / turns:.1f} slots each; CPU seconds of an epoch, medians of {given.epochs}")
    for name, spent in median.items():
        print(f"{name:<12}{spent:>8.4f}")
    print(f"the evaluator: {whole:.4f}, {whole / median['score']:.2f} times score")


if __name__ == "__main__":
    main()
