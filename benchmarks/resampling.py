"""How long resampling takes, and in how much memory.

Purpose: bootstrap and randomisation of many runs over many dialogues, with every score and every pair of runs.

Steps: invents sums per dialogue; draws resamples of both kinds; scores two metrics of all runs, with intervals, and
tests all pairs of them. Peak memory is the process's, imports included.

Caveats: the product of weights and sums takes the most, and its time is that of the machine's BLAS.

Usage: python benchmarks/resampling.py [--dialogues 10000] [--runs 20] [--statistics 15] [--resamples 10000]
"""

from __future__ import annotations

import argparse
import resource
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from dstbench.stats import Bootstrap, Randomisation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def _first(sums: Floats) -> Floats:
    shares: Floats = sums[:, 0] / sums[:, -1]
    return shares


def _second(sums: Floats) -> Floats:
    shares: Floats = 2 * sums[:, 1] / (sums[:, 1] + sums[:, -1])
    return shares


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in (("dialogues", 10_000), ("runs", 20), ("statistics", 15), ("resamples", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    sums = np.random.default_rng(0).integers(0, 20, size=(given.runs, given.dialogues, given.statistics)) + 0.0
    times, start = {}, perf_counter()

    def lap(name: str) -> None:
        nonlocal start
        times[name], start = perf_counter() - start, perf_counter()

    bootstrap = Bootstrap.draw(sums, given.resamples)
    lap("draw the bootstrap")
    scored = [bootstrap.replicates(score) for score in (_first, _second)]
    found = [one.estimate() for runs in scored for one in runs]
    lap(f"{len(found)} estimates")
    found = [(runs[a] - runs[b]).estimate() for runs in scored for a, b in combinations(range(given.runs), 2)]
    lap(f"{len(found)} differences")
    coins = Randomisation.draw(sums, given.resamples)
    lap("draw the randomisation")
    tests = [coins.null(s, a, b).p() for s in (_first, _second) for a, b in combinations(range(given.runs), 2)]
    lap(f"{len(tests)} tests")
    for name, seconds in times.items():
        print(f"{name:28}{seconds:8.2f} s")
    print(f"{'in all':28}{sum(times.values()):8.2f} s")
    print(f"{'peak memory':28}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MiB")


if __name__ == "__main__":
    main()
