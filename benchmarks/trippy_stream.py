"""How fast a TripPy file of a gigabyte is scored, and in how much memory.

Purpose: TripPy repeats every turn's whole input for every slot, so its files are large, and nearly all of their content
is not needed. Shows the peak memory of `dstbench score` as a whole process, and its time as a ratio, since machines
differ: to merely reading the bytes, and to decoding the file with the standard library's JSON.

Steps: writes an invented file of N megabytes once (30 slots, eleven keys each, indented as TripPy's own); then, in a
fresh process for each measure, reads its bytes in pieces, scores it, or decodes its first part as a whole; takes the
median of several runs in turn, so that a noisy machine disturbs all of them alike.

Caveats: all values are invented and half of the slots hold none; the file is in the system's file cache after the
first run, which is not counted, so that reading is faster here than from a disk; the standard library decodes only a
part of the file (its time is per byte), as the whole would take ten times the file's size in memory.

Usage: python -m benchmarks.trippy_stream [--megabytes 1000] [--runs 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.results import doing

ROOT = Path(__file__).resolve().parent.parent

_MEASURES = {
    "read": """
        with open(path, "rb") as file:
            while file.read(1 << 22):
                pass
    """,
    "score": """
        import contextlib, io, runpy
        sys.argv = ["dstbench", "score", path]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runpy.run_module("dstbench", run_name="__main__")
        except SystemExit as done:
            assert not done.code, done.code
    """,
    "decode": """
        import json
        json.load(open(part))
    """,
}

_FRAME = """
import json, sys, warnings
from time import perf_counter as clock
path, part = sys.argv[1:]
start = clock()
{measure}
seconds = clock() - start
# Not getrusage: its peak survives from the process that started this one.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps([seconds, peak]))
"""


def write(path: Path, size: int) -> int:
    """Write turns until the file has `size` bytes; returns how many."""
    from dstbench.conventions.slots import DATASET_SLOTS

    tokens = [101, *range(2000, 2508), 102, 0, 0]
    numbers = ("class_prediction", "class_label_id", "start_prediction", "start_pos", "end_prediction", "end_pos",
               "refer_prediction", "refer_id")  # fmt: skip
    turn: dict[str, object] = {"guid": ["test", "@dialogue", "@turn"]}
    for n, slot in enumerate(sorted(DATASET_SLOTS["multiwoz-30"])):
        turn |= {f"{name}_{slot}": 0 for name in numbers}
        turn |= {f"input_ids_{slot}": tokens, f"slot_prediction_{slot}": "@value" if n % 2 else "none"}
        turn[f"slot_groundtruth_{slot}"] = "value 1" if n % 2 else "none"
    text = json.dumps(turn, indent=2)
    turns = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n")
        while turns * len(text) < size:
            named = text.replace("@dialogue", f"MUL{turns // 8:04}.json").replace('"@turn"', f'"{turns % 8}"')
            file.write((",\n" if turns else "") + named.replace("@value", f"value {turns % 5}"))
            turns += 1
        file.write("\n]\n")
    return turns


def measure(name: str, path: Path, part: Path) -> tuple[float, float]:
    """Seconds and megabytes of one measure in a process of its own."""
    lines = _MEASURES[name].strip("\n").splitlines()
    script = _FRAME.format(measure="\n".join(line[8:] for line in lines))
    command = [sys.executable, "-c", script, str(path), str(part)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3, help="counted runs of each measure")
    given = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        path, part = Path(folder) / "pred_res.json", Path(folder) / "part.json"
        turns = write(path, given.megabytes * 10**6)
        write(part, given.megabytes * 10**5)
        share = path.stat().st_size / part.stat().st_size
        print(f"{turns:,} turns, {path.stat().st_size / 1e6:,.0f} MB")
        times_of: dict[str, list[tuple[float, float]]] = {name: [] for name in _MEASURES}
        for turn in range(given.runs + 1):
            for name, results in times_of.items():
                doing(f"run {turn} of {given.runs}: {name}")
                result = measure(name, path, part)
                if turn:
                    results.append(result)

    seconds = {name: statistics.median(s for s, _ in results) for name, results in times_of.items()}
    print(f"peak memory, score: {statistics.median(peak for _, peak in times_of['score']):,.0f} MB")
    print(
        f"score: {seconds['score']:.1f} s, {seconds['score'] / seconds['read']:.1f} times as long as reading the bytes"
    )
    print(f"against the standard library's JSON: {seconds['decode'] * share / seconds['score']:.1f} times as fast")


if __name__ == "__main__":
    main()
