"""How fast a whole corpus is scored, and in how much memory, as the corpus grows.

Purpose: time and memory of scoring all default metrics, and JGA alone, from a Parquet file; as ratios, since machines
differ: to merely decoding the same columns, to plain Python loops (the test oracle) over the same states, and to a
plain Polars query of the same counts (GCA's as Algorithm 1 has them), as one would write it in a notebook. And whether
they scale: the cost of a row and the peak memory should not grow with the corpus.

Steps: for each size, writes an invented corpus of that many dialogues once; then, in a fresh process for each measure,
decodes the file, scores it, or loops over its first dialogues, several times in turn, so that a noisy machine disturbs
all of them alike. Medians are printed; -o writes every single measurement as Parquet, and a Vega-Lite chart of the
medians, with its data inside. Peak memory is the process's, imports included.

Caveats: the loops run over a part of the corpus (their time is per turn); "decoding" is collecting all five columns
into memory, which scoring never does as a whole; the first run of each size warms the file cache and is not counted.
Seconds are of the clock, and suffer if others use the machine; processor seconds do, too, but less.

Usage: python -m benchmarks.scale [--dialogues 1000 10000 100000 200000 1000000] [--runs 5] [--loops 2000]
       [-o DIR]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import polars as pl

from benchmarks.results import can_keep, doing, keep

# The panels of the chart.
_PANELS: Final = {
    "seconds": "seconds, all default metrics",
    "ns_per_row": "nanoseconds per row",
    "of_decode": "times as long as decoding",
    "of_loops": "times as fast as plain loops",
    "of_query": "times as long as a notebook's query",
    "jga_of_all": "JGA alone, of all",
    "MB": "peak memory, MB",
}
ROOT: Final = Path(__file__).resolve().parent.parent

_MEASURES: Final = {
    "decode": """
        import polars as pl
        start = clock()
        pl.scan_parquet(path).collect()
    """,
    "score": """
        import dstbench.scoring.score, dstbench.runs.open, dstbench.metrics
        start = clock()
        turns = dstbench.score(path)["turns"][0]
    """,
    "score jga": """
        import dstbench.scoring.score, dstbench.runs.open, dstbench.metrics
        start = clock()
        turns = dstbench.score(path, metrics="jga")["turns"][0]
    """,
    "query": """
        import polars as pl
        start = clock()
        g, p, slot = pl.col("g"), pl.col("p"), ("dialogue", "slot")
        rows = pl.scan_parquet(path).with_columns(
            g=pl.when(pl.col("gold") != "none").then("gold"), p=pl.when(pl.col("pred") != "none").then("pred"),
        ).with_columns(
            ok=(g == p).fill_null(False),
            g_set=g.is_not_null() & g.ne_missing(g.shift(1).over(slot)),
            p_set=p.is_not_null() & p.ne_missing(p.shift(1).over(slot)),
        )
        ok, is_set = pl.col("ok"), pl.col("g_set") | pl.col("p_set")
        states = rows.group_by("dialogue", "turn").agg(
            n_gold=g.count(), n_pred=p.count(), n_correct=ok.sum(), n_union=(g.is_not_null() | p.is_not_null()).sum(),
            fresh=(is_set & ~ok).sum(), c=(is_set & ok).sum(),
            w=(is_set & g.is_not_null() & p.is_not_null() & ~ok).sum(),
            m=(pl.col("g_set") & p.is_null()).sum(), o=(pl.col("p_set") & g.is_null()).sum(),
        ).sort("dialogue", "turn")
        wrong = pl.col("n_correct") != pl.col("n_union")
        new = wrong & (~wrong.shift(1).over("dialogue").fill_null(False) | (pl.col("fresh") > 0))
        age = pl.col("turn") - pl.when(new).then("turn").forward_fill().over("dialogue")
        turns = states.select(
            pl.all().exclude("dialogue", "turn").sum().name.suffix("_sum"), jga=(~wrong).mean(), tla=(~new).mean(),
            fga=pl.when(~wrong).then(1.0).when(new).then(0.0).otherwise(1 - (-0.5 * age).exp()).mean(),
            rsa=pl.when(pl.col("n_union") > 0).then(pl.col("n_correct") / pl.col("n_union")).mean(),
            turns=pl.len(),
        ).collect()["turns"][0]
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
        scored = oracle.turns(states)
        oracle.default_metrics(scored, 30)
        turns = len(scored)
    """,
}

# Number of dialogues in a block of an invented corpus.
_BLOCK: Final = 100_000

_FRAME: Final = """
import sys, json
from time import perf_counter, process_time
def clock():
    global cpu
    cpu = process_time() - cpu
    return perf_counter()
cpu = 0.0
path, loops = sys.argv[1], int(sys.argv[2])
turns = 0
{measure}
seconds = clock() - start
# Not getrusage: its peak survives from the process that started this one.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(json.dumps({{"seconds": seconds, "cpu": cpu, "turns": turns, "MB": peak}}))
"""


def measure(name: str, path: Path, loops: int) -> dict[str, Any]:
    """One measure in a process of its own."""
    lines = _MEASURES[name].strip("\n").splitlines()
    script = _FRAME.format(measure="\n".join(line[8:] for line in lines))
    command = [sys.executable, "-c", script, str(path), str(loops)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def corpus(dialogues: int) -> pl.DataFrame:
    """An invented corpus, made block by block, because a million dialogues at once would not fit into memory."""
    from dstbench.demo import synthetic

    blocks = []
    for number, start in enumerate(range(0, dialogues, _BLOCK)):
        table = synthetic(min(_BLOCK, dialogues - start), seed=number, trackers=["forgetful"])["forgetful"]
        blocks.append(table.with_columns(pl.format("{}-{}", pl.lit(f"{number:03}"), "dialogue").alias("dialogue")))
    return pl.concat(blocks, rechunk=True)


def measure_all(dialogues: int, runs: int, loops: int) -> pl.DataFrame:
    """(dialogues, rows, measure, run, seconds, cpu, turns, MB): every counted measurement of one size."""
    from dstbench.runs.open import open_runs, write_long

    measured = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.parquet"
        table = corpus(dialogues)
        rows = table.height
        write_long(open_runs({"corpus": table})[0], path)
        del table
        for run in range(runs + 1):
            for name in _MEASURES:
                result = measure(name, path, min(loops, dialogues))
                if run:
                    measured.append({"dialogues": dialogues, "rows": rows, "measure": name, "run": run, **result})
    return pl.DataFrame(measured, infer_schema_length=None)


def ratios(measured: pl.DataFrame) -> pl.DataFrame:
    """One row per size: medians, and their ratios.

    Returns:
        dialogues, rows; of all default metrics: seconds, ns_per_row, cpu (seconds), of_decode and decode_cpu (times
        as long as decoding, by the clock and by processor seconds), of_loops and loops_cpu (times as fast as plain
        loops, per turn, likewise; loops use one processor); of_query and query_cpu (times as long as a notebook's
        query, likewise); jga_of_all (JGA's seconds as a part of these); and peak
        memory of each.
    """
    medians = measured.group_by("dialogues", "rows", "measure", maintain_order=True).agg(
        pl.col("seconds", "cpu", "turns", "MB").median()
    )

    def of(measure: str, column: str) -> pl.Expr:
        return pl.col(column).filter(pl.col("measure") == measure).first()

    def of_loops(column: str) -> pl.Expr:
        return of("loops", column) / of("loops", "turns") * of("score", "turns") / of("score", column)

    return medians.group_by("dialogues", "rows", maintain_order=True).agg(
        seconds=of("score", "seconds"),
        ns_per_row=of("score", "seconds") * 1e9 / pl.col("rows").first(),
        cpu=of("score", "cpu"),
        of_decode=of("score", "seconds") / of("decode", "seconds"),
        decode_cpu=of("score", "cpu") / of("decode", "cpu"),
        of_loops=of_loops("seconds"),
        loops_cpu=of_loops("cpu"),
        of_query=of("score", "seconds") / of("query", "seconds"),
        query_cpu=of("score", "cpu") / of("query", "cpu"),
        jga_of_all=of("score jga", "seconds") / of("score", "seconds"),
        MB=of("score", "MB"),
        MB_jga=of("score jga", "MB"),
        MB_decode=of("decode", "MB"),
    )


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, nargs="+", default=[1000, 10_000, 100_000, 200_000, 1_000_000])
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each measure")
    parser.add_argument("--loops", type=int, default=2000, help="dialogues that the plain loops go through")
    can_keep(parser)
    given = parser.parse_args()

    measured = []
    for dialogues in given.dialogues:
        doing(f"writing and scoring {dialogues:,} dialogues")
        measured.append(measure_all(dialogues, given.runs, given.loops))
        (row,) = ratios(measured[-1]).to_dicts()
        if len(measured) == 1:
            print("".join(f"{name:>11.10}" for name in row))
        print("".join(f"{value:>11,.2f}" if isinstance(value, float) else f"{value:>11,}" for value in row.values()))
        sys.stdout.flush()  # a million dialogues take minutes
    whole = pl.concat(measured)
    size = {"field": "dialogues", "type": "quantitative", "scale": {"type": "log"}}
    panels = [
        {
            "mark": {"type": "line", "point": True},
            "encoding": {"x": size, "y": {"field": name, "type": "quantitative", "title": title}},
        }
        for name, title in _PANELS.items()
    ]
    keep(given.output, "scale", whole, ratios(whole), title="Scoring a corpus that grows", columns=3, concat=panels)


if __name__ == "__main__":
    main()
