"""How scoring scales over the workers of a Ray cluster, and what Ray costs.

Purpose: rows per second of scoring all default metrics from one Parquet file, by threads of one process and by one, two
or more Ray workers on the same machine, each with one CPU; as ratios, since machines differ. Also how long Ray takes to
start, which is not part of the rates.

Steps: writes an invented corpus of N dialogues once; starts a process for each measure, with a Ray of its own where
there are workers; each scores the file once uncounted (workers start, the file cache warms), and then several times in
turn with the others, which wait, so that a noisy machine disturbs all of them alike. All results must be identical.
With -o, all times are written as Parquet, and the medians as a Vega-Lite chart.

Caveats: driver, workers and Ray's own processes share this machine's cores, so that as many workers as cores are slower
here than on machines of their own; and all of them read one file cache, where a cluster's storage is a network away.

Usage: python -m benchmarks.ray_scaling [--dialogues 400000] [--runs 5] [--workers 1 2] [-o DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.results import can_keep, doing, keep
from dstbench.scoring.ray import BY_ITSELF

ROOT = Path(__file__).resolve().parent.parent

_SCRIPT = """
import contextlib, json, logging, sys
from time import perf_counter as clock
import dstbench, dstbench.scoring.score
path, workers = sys.argv[1], int(sys.argv[2])
engine, started = contextlib.nullcontext(), 0.0
if workers:
    start = clock()
    import ray
    ray.init(address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False,
             logging_level=logging.CRITICAL)
    started, engine = clock() - start, dstbench.engine("ray")
with engine:
    for _ in sys.stdin:
        start = clock()
        rows = dstbench.score(path)
        seconds = clock() - start
        told = {"started": started, "seconds": seconds, "turns": rows["turns"][0], "answer": rows.write_json()}
        print(json.dumps(told), flush=True)
"""


class Measure:
    """A process that scores a file on request: with this many Ray workers, or, if 0, with its own threads."""

    def __init__(self, path: Path, workers: int, threads: str | None = None) -> None:
        env = {
            **os.environ,
            "RAY_USAGE_STATS_ENABLED": "0",
            **dict([BY_ITSELF]),
            **({"POLARS_MAX_THREADS": threads} if threads else {}),
        }
        command = [sys.executable, "-c", _SCRIPT, str(path), str(workers)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=env)
        self.first = self.again()
        self.seconds: list[float] = []

    def again(self) -> dict[str, Any]:
        """Score once more."""
        assert self._process.stdin
        assert self._process.stdout
        print(file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> None:
        """Let the process end."""
        self._process.communicate()


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each measure")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    can_keep(parser)
    given = parser.parse_args()

    from dstbench.demo import synthetic
    from dstbench.runs.open import open_runs, write_long

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.parquet"
        table = synthetic(given.dialogues, trackers=["forgetful"])
        rows = table["forgetful"].height
        write_long(open_runs(table)[0], path)
        del table
        print(f"{given.dialogues:,} dialogues, {rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB of Parquet")
        measures = {"one thread": Measure(path, 0, "1"), "all threads": Measure(path, 0)}
        measures |= {_name(workers): Measure(path, workers) for workers in given.workers}
        answers = {measure.first["answer"] for measure in measures.values()}
        for number in range(given.runs):
            for name, measure in measures.items():
                doing(f"run {number + 1} of {given.runs}: {name}")
                result = measure.again()
                measure.seconds.append(result["seconds"])
                answers.add(result["answer"])
        for measure in measures.values():
            measure.end()

    assert len(answers) == 1, "not the same bits"
    turns = measures["one thread"].first["turns"]
    rates = {name: turns / statistics.median(measure.seconds) for name, measure in measures.items()}
    for name, rate in rates.items():
        print(f"{name}: {rate:,.0f} turns/s, {rate / rates['one thread']:.2f} times one thread")
    first, *more = given.workers
    for workers in more:
        print(f"{_name(workers)} against {first}: {rates[_name(workers)] / rates[_name(first)]:.2f} times as fast")
    for workers in given.workers:
        start = measures[_name(workers)].first
        print(
            f"{_name(workers)}: Ray starts in {start['started']:.1f} s, the first score takes {start['seconds']:.1f} s"
        )
    times = [(name, seconds, turns) for name, measure in measures.items() for seconds in measure.seconds]
    keep(
        given.output,
        "ray_scaling",
        pl.DataFrame(times, schema=["engine", "seconds", "turns"], orient="row"),
        pl.DataFrame({"engine": list(rates), "rate": list(rates.values())}),
        title="Turns scored per second",
        mark={"type": "bar", "tooltip": True},
        encoding={
            "y": {"field": "engine", "type": "nominal", "sort": None, "title": None},
            "x": {"field": "rate", "type": "quantitative", "title": "turns per second (median)"},
        },
    )


def _name(workers: int) -> str:
    return f"{workers} Ray worker{'s' if workers > 1 else ''}"


if __name__ == "__main__":
    main()
