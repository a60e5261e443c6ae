"""How fast a whole corpus is scored, and in how much memory.

Purpose: rows and turns per second of scoring all default metrics from a Parquet file; as ratios, since machines
differ: to merely decoding the same columns, and to plain Python loops (the test oracle) over the same states.

Steps: writes an invented corpus of N dialogues once; then, in a fresh process for each measure, decodes the file,
scores it, or loops over its first dialogues; takes the median of several runs in turn, so that a noisy machine
disturbs all of them alike. Peak memory is the process's, imports included.

Caveats: the loops run over a part of the corpus (their time is per turn); "decoding" is collecting all five columns
into memory, which scoring never does as a whole; the first run warms the file cache and is not counted.

Usage: python benchmarks/scale.py [--dialogues 200000] [--runs 5] [--loops 2000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_MEASURES = {
    "decode": """
        import polars as pl
        start = clock()
        rows = pl.scan_parquet(path).collect().height
    """,
    "score": """
        import dstbench.scoring, dstbench.longtable, dstbench.metrics
        start = clock()
        turns = dstbench.score(path)["turns"][0]
    """,
    "score jga": """
        import dstbench.scoring, dstbench.longtable, dstbench.metrics
        start = clock()
        turns = dstbench.score(path, metrics="jga")["turns"][0]
    """,
    "loops": """
        import polars as pl
        from tests import oracle
        table = pl.scan_parquet(path).head(loops * 100).collect()
        kept = table["dialogue"].unique(maintain_order=True).head(loops)
        states = {}
        for dialogue, turn, slot, gold, pred in table.filter(pl.col("dialogue").is_in(kept.implode())).iter_rows():
            state = states.setdefault((dialogue, turn),
                                      {"dialogue_id": dialogue, "turn": turn, "gold": {}, "pred": {}})
            if gold is not None:
                state["gold"][slot] = gold
            if pred is not None:
                state["pred"][slot] = pred
        states = list(states.values())
        start = clock()
        found = oracle.turns(states)
        oracle.default_metrics(found, 30)
        turns = len(found)
    """,
}

_FRAME = """
import sys, json
from time import perf_counter as clock
path, loops = sys.argv[1], int(sys.argv[2])
rows = turns = 0
{measure}
seconds = clock() - start
# Not getrusage: its peak survives from the process that started this one.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps({{"seconds": seconds, "rows": rows, "turns": turns, "MB": peak}}))
"""


def measure(name: str, path: Path, loops: int) -> dict[str, Any]:
    """One measure in a process of its own."""
    lines = _MEASURES[name].strip("\n").splitlines()
    script = _FRAME.format(measure="\n".join(line[8:] for line in lines))
    command = [sys.executable, "-c", script, str(path), str(loops)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each measure")
    parser.add_argument("--loops", type=int, default=2000, help="dialogues that the plain loops go through")
    given = parser.parse_args()

    from dstbench.demo import synthetic
    from dstbench.longtable import open_runs, write_long

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.parquet"
        table = synthetic(given.dialogues, trackers=["forgetful"])
        rows = table["forgetful"].height
        write_long(open_runs(table)[0], path)
        del table
        print(f"{given.dialogues:,} dialogues, {rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB of Parquet")
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in _MEASURES}
        for turn in range(given.runs + 1):
            for name, results in found.items():
                result = measure(name, path, given.loops)
                if turn:
                    results.append(result)

    median = {name: statistics.median(r["seconds"] for r in results) for name, results in found.items()}
    turns = found["score"][0]["turns"]
    per_turn = {name: median[name] / found[name][0]["turns"] for name in ("score", "score jga", "loops")}
    print(f"all default metrics: {rows / median['score']:,.0f} rows/s, {turns / median['score']:,.0f} turns/s")
    print(f"against decoding the file: {median['score'] / median['decode']:.1f} times as long")
    print(f"against plain loops: {per_turn['loops'] / per_turn['score']:.0f} times as fast per turn")
    print(f"JGA alone: {median['score jga'] / median['score']:.2f} times as long as all")
    for name in ("decode", "score", "score jga"):
        print(f"peak memory, {name}: {statistics.median(r['MB'] for r in found[name]):,.0f} MB")


if __name__ == "__main__":
    main()
