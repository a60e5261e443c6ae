"""What a convention costs: scoring under every profile, as a ratio to scoring verbatim.

Purpose: normalising, matching and other rules work on distinct values and pairs, so that no profile should take more
than twice the time of `verbatim`, although fuzzy ones score twice (fuzzy and exact).

Steps: writes an invented corpus of N dialogues once; in one process, scores it under every profile once to warm up, and
then several times in turn, so that a noisy machine disturbs all of them alike; prints each profile's median as a ratio.

Caveats: what is looked up once per distinct value (normalising, fuzzy matching) is paid for in the uncounted first run,
whose time is printed, too. The corpus has few distinct values, as MultiWOZ has.

Usage: python -m benchmarks.profiles [--dialogues 100000] [--runs 5]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

from benchmarks.results import doing
from dstbench.conventions.profiles import PROFILES
from dstbench.demo import synthetic
from dstbench.errors import DstbenchWarning
from dstbench.metrics import DEFAULT
from dstbench.runs.open import open_runs, write_long
from dstbench.scoring.score import score


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each profile")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DstbenchWarning)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.parquet"
        write_long(open_runs(synthetic(given.dialogues, trackers=["forgetful"]))[0], path)

        def seconds(name: str) -> float:
            doing(f"scoring {given.dialogues:,} dialogues under {name}")
            start = perf_counter()
            score(path, metrics=DEFAULT, profile=name)
            return perf_counter() - start

        first = {name: seconds(name) for name in ("verbatim", *PROFILES)}
        times_of: dict[str, list[float]] = {name: [] for name in PROFILES}
        for _ in range(given.runs):
            for name, times in times_of.items():
                times.append(seconds(name))
    median = {name: statistics.median(times) for name, times in times_of.items()}
    base = median["verbatim"]
    print("profile             times verbatim   the first run")
    for name, time in median.items():
        print(f"{name:<18}{time / base:>16.2f}{first[name] / base:>16.2f}")
    print(f"the slowest: {max(median.values()) / base:.2f} times verbatim")


if __name__ == "__main__":
    main()
