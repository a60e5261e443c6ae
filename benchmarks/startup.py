"""How long a command takes to start: ratios to importing the packages that it needs.

Purpose: `dstbench --help` should take at most 1.2 times as long as importing Typer and Rich, and scoring a run of 1,000
dialogues, as a whole process, at most 1.8 times as long as importing Polars, or 2.1 times if its file is native (gtpr).

Steps: writes a corpus once; starts each process several times in turn, so that a noisy machine disturbs all of them
alike; takes the medians of the ratios of each round, of the clock and of the processor's time.

Caveats: the first round warms the file cache, lets Python write its compiled files (even if the environment says it
should not, as after an installer that compiles), and is not counted.

Usage: python -m benchmarks.startup [--runs 15] [-o DIR]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import polars as pl

from benchmarks.ingest import WRITERS, corpus
from benchmarks.results import can_keep, doing, keep
from dstbench.demo import synthetic
from dstbench.runs.open import open_runs, write_long

#: What is measured, what it is compared with, and the required ratio.
BARS = (
    ("--help", "import typer, rich", 1.2),
    ("score", "import polars", 1.8),
    ("score -m jga", "import polars", 1.8),
    ("score native", "import polars", 2.1),
)


def started(command: list[str]) -> tuple[float, float]:
    """Seconds of the clock and of the processor that a process takes."""
    compiling = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=compiling)
    wall, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="counted runs of each process")
    can_keep(parser)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "corpus.parquet")
        write_long(open_runs(synthetic(1000, trackers=["forgetful"]))[0], path)
        native = Path(folder) / "native.json"
        native.write_text(WRITERS["gtpr"](corpus(1000)), encoding="utf-8")
        ours = [sys.executable, "-m", "dstbench"]
        commands = {
            "import typer, rich": [sys.executable, "-c", "import typer, rich"],
            "import polars": [sys.executable, "-c", "import polars"],
            "--help": [*ours, "--help"],
            "score": [*ours, "score", path],
            "score -m jga": [*ours, "score", "-m", "jga", path],
            "score native": [*ours, "score", str(native)],
        }
        for number in range(given.runs + 1):
            doing(f"run {number} of {given.runs} of {len(commands)} commands")
            for name, command in commands.items():
                wall, cpu = started(command)
                if number:
                    rows.append({"process": name, "run": number, "seconds": wall, "processor seconds": cpu})
    measured = pl.DataFrame(rows)
    for name, base, bar in BARS:
        both = measured.filter(process=name).join(measured.filter(process=base), on="run", suffix=" of base")
        ratio, used = (
            both.select((pl.col(column) / pl.col(f"{column} of base")).median()).item()
            for column in ("seconds", "processor seconds")
        )
        print(f"{name:14} {ratio:.2f} times `{base}` (processor: {used:.2f}); required: at most {bar}")
    keep(
        given.output,
        "startup",
        measured,
        measured,
        title="Seconds of whole processes",
        mark="boxplot",
        encoding={"x": {"field": "seconds", "type": "quantitative"}, "y": {"field": "process", "type": "nominal"}},
    )


if __name__ == "__main__":
    main()
