"""How long resampling takes, and in how much memory: of invented sums, or of real runs.

Purpose: bootstrap and randomisation of many runs over many dialogues, with every score and every pair of runs.

Steps: invents sums per dialogue, or reads and sums RUN files, which is timed apart; then, which is what counts, draws
resamples of both kinds, scores all runs, with both intervals, and tests all pairs of them, as `dstbench compare` does
once runs are paired. Peak memory is the process's, with imports and the reading of runs.

Caveats: the product of weights and sums takes most of the time, which depends on the machine's BLAS. With real runs,
the first resampling is timed, with the import of SciPy.

Usage: python -m benchmarks.resampling [--dialogues 10000] [--runs 20] [--statistics 15] [--resamples 10000]
       python -m benchmarks.resampling RUN RUN... [-m jga,fga,gca] [--gold FILE] [--missing wrong]
"""

from __future__ import annotations

import argparse
import resource
import warnings
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.results import doing
from dstbench.analysis.compare import Design, resample
from dstbench.analysis.dialogue_sums import pair_up
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchWarning
from dstbench.metrics import parse_all
from dstbench.runs.open import open_runs
from dstbench.stats import Bootstrap, Randomisation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Laps:
    """Times of steps, one after the other."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._start = perf_counter()

    def lap(self, name: str) -> None:
        """End a step."""
        now = perf_counter()
        self.times[name], self._start = now - self._start, now

    def show(self, total: str) -> None:
        """Print the steps and what they add up to."""
        for name, seconds in self.times.items():
            print(f"{name:44}{seconds:8.2f} s")
        print(f"{total:44}{sum(self.times.values()):8.2f} s")


def _first(sums: Floats) -> Floats:
    shares: Floats = sums[:, 0] / sums[:, -1]
    return shares


def _second(sums: Floats) -> Floats:
    shares: Floats = 2 * sums[:, 1] / (sums[:, 1] + sums[:, -1])
    return shares


def of_invented_sums(dialogues: int, runs: int, statistics: int, resamples: int) -> None:
    """Two ratios of invented sums."""
    sums = np.random.default_rng(0).integers(0, 20, size=(runs, dialogues, statistics)) + 0.0
    laps = Laps()
    bootstrap = Bootstrap.draw(sums, resamples)
    laps.lap("draw the bootstrap")
    scored = [bootstrap.replicates(score) for score in (_first, _second)]
    estimates = [one.estimate() for of_runs in scored for one in of_runs]
    laps.lap(f"{len(estimates)} estimates")
    pairs = list(combinations(range(runs), 2))
    differences = [(of_runs[a] - of_runs[b]).estimate() for of_runs in scored for a, b in pairs]
    laps.lap(f"{len(differences)} differences")
    coins = Randomisation.draw(sums, resamples)
    laps.lap("draw the randomisation")
    tests = [coins.null(score, a, b).p() for score in (_first, _second) for a, b in pairs]
    laps.lap(f"{len(tests)} tests")
    laps.show("in all")


def of_runs(paths: list[str], metrics: str, gold: str | None, missing: str, resamples: int) -> None:
    """Metrics of real runs."""
    reading = Laps()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)
        runs = open_runs(paths, gold=gold, missing=missing)  # type: ignore[arg-type] # the function checks it
        reading.lap("read and align")
        paired = pair_up(runs, parse_all(metrics), as_convention("verbatim"))
        reading.lap("sum up by dialogue")
    reading.show("before resampling")
    shape = " x ".join(f"{size:,}" for size in paired.sums.shape)
    print(f"runs x dialogues x statistics: {shape}; metrics: {metrics}")
    times = Laps()
    compared = resample(paired, Design(resamples=resamples))
    times.lap(f"{compared.scores.height} scores, {compared.differences.height} differences")
    times.show(f"resampling, {resamples:,} times")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", nargs="*")
    parser.add_argument("-m", "--metrics", default="jga,fga,gca")
    parser.add_argument("--gold")
    parser.add_argument("--missing", default="error")
    for name, default in (("dialogues", 10_000), ("runs", 20), ("statistics", 15), ("resamples", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    doing(f"drawing {given.resamples:,} resamples")
    if given.run:
        of_runs(given.run, given.metrics, given.gold, given.missing, given.resamples)
    else:
        of_invented_sums(given.dialogues, given.runs, given.statistics, given.resamples)
    print(f"{'peak memory':44}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MiB")


if __name__ == "__main__":
    main()
