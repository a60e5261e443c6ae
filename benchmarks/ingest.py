"""How fast native files become long tables, as a ratio to merely parsing the same bytes.

Purpose: reading a file should take at most three times as long as its parser. For every format, it measures three
steps. `parse`: decoding the bytes with msgspec to plain objects and doing nothing with them, or splitting lines that
are not JSON at their separators. `read`: reading the file, aligning its two sides and laying them out as a long table
in memory. `convert`: the same, and writing it as Parquet. The last two are printed as ratios to the first, since
machines differ: of the processor time of all threads, which does not depend on what else the machine does, and for
`read` also of clock time.

Steps: writes the same invented corpus of N dialogues in each format, shaped as the repositories' own code shapes it, or
N copies of the tests' example, if `WRITERS` lacks the format; in one process, does everything once to warm up, and then
several times in turn, so that a noisy machine disturbs all of it alike; prints medians. `-o` keeps every single
measurement as Parquet and draws them (Vega-Lite, its data inside).

Caveats: Python's garbage collector is off while the clock runs, because reading turns it off by itself. By default it
is on, and parsing alone takes one to ten times as long: the ratio of both with the collector is printed, too. Files
come from the system's cache. The corpus has few distinct values, as MultiWOZ has, and an enlarged example fewer still.
Datasets hold no predictions beside gold, and mwzeval's files no gold: they are only read, and nothing is aligned or
written.

Usage: python -m benchmarks.ingest [--dialogues 10000] [--runs 5] [--formats jsonl,gtpr] [-o DIR]
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import msgspec
import polars as pl

from benchmarks.results import can_keep, doing, keep
from dstbench.demo import synthetic
from dstbench.errors import DstbenchWarning
from dstbench.readers import FORMATS, Source, read
from dstbench.runs.open import open_runs, write_long

State = dict[str, str]
Turn = tuple[int, State, State]
Dialogue = tuple[str, list[Turn]]


def corpus(dialogues: int) -> list[Dialogue]:
    """The invented corpus: (dialogue, [(turn, gold, pred)])."""
    table = synthetic(dialogues, trackers=["forgetful"])["forgetful"].sort("dialogue", "turn", maintain_order=True)
    turns_of: dict[str, dict[int, Turn]] = {}
    strings = table.cast({"slot": pl.String, "gold": pl.String, "pred": pl.String})
    for dialogue, number, slot, gold, pred in strings.iter_rows():
        turn = turns_of.setdefault(f"MUL{dialogue[4:]}.json", {}).setdefault(number, (number, {}, {}))
        for state, value in zip(turn[1:], (gold, pred), strict=True):
            if value is not None:
                state[slot] = value
    return [(dialogue, list(turns.values())) for dialogue, turns in turns_of.items()]


def nested(state: State) -> dict[str, State]:
    """A state by domain."""
    state_of_domain: dict[str, State] = {}
    for slot, value in state.items():
        domain, _, name = slot.partition("-")
        state_of_domain.setdefault(domain, {})[name] = value
    return state_of_domain


def pairs(state: State) -> list[str]:
    """A state as TRADE writes it."""
    return [f"{slot}-{value}" for slot, value in state.items()]


def keyed(dialogues: list[Dialogue], turn: Callable[[State, State], Any]) -> str:
    """{dialogue: {turn: …}}."""
    return json.dumps({name: {str(n): turn(gold, pred) for n, gold, pred in turns} for name, turns in dialogues})


def of_turns(dialogues: list[Dialogue]) -> Iterator[tuple[str, int, State, State]]:
    """The turns of all dialogues."""
    return ((name, *turn) for name, turns in dialogues for turn in turns)


def jsonl(dialogues: list[Dialogue]) -> str:
    """One object per line and turn, without what was said."""
    rows = ({"dialogue_id": d, "turn": n, "gold": gold, "pred": pred} for d, n, gold, pred in of_turns(dialogues))
    return "".join(json.dumps(row) + "\n" for row in rows)


#: By format, the function that writes the corpus in it; of another, the tests' example is enlarged.
WRITERS: dict[str, Callable[[list[Dialogue]], str]] = {
    "jsonl": jsonl,
    "gtpr": lambda d: keyed(d, lambda gold, pred: {"gt": nested(gold), "pr": nested(pred)}),
    "trade": lambda d: keyed(d, lambda gold, pred: {"turn_belief": pairs(gold), "pred_bs_ptr": pairs(pred)}),
    "som": lambda d: json.dumps({f"{name}_{n}": [pairs(pred), pairs(gold)] for name, n, gold, pred in of_turns(d)}),
}
#: The number of the dialogue in the examples of the tests.
NUMBER = "7001"


def enlarged(text: str, copies: int) -> str | None:
    """A file with copies of an example's dialogue, each with a number of its own; None: it can hold one only."""
    numbers = [str(10_000 + copy) for copy in range(copies)]
    try:
        content = msgspec.json.decode(text)
    except msgspec.DecodeError:
        lines = [(line, NUMBER in line or NUMBER not in text) for line in text.splitlines(keepends=True)]
        header, rows = ("".join(line for line, is_row in lines if is_row == wanted) for wanted in (False, True))
        return header + "".join(rows.replace(NUMBER, number) for number in numbers)
    inner = content
    while isinstance(inner, dict) and not any(NUMBER in key for key in inner):
        inner = next(
            (value for value in inner.values() if isinstance(value, (dict, list)) and NUMBER in str(value)), None
        )
    if inner is None:
        return None
    ends = ("[", "]") if isinstance(inner, list) else ("{", "}")
    several = json.dumps(inner)[1:-1]
    copied = ends[0] + ",".join(several.replace(NUMBER, number) for number in numbers) + ends[1]
    return json.dumps(content).replace(json.dumps(inner), copied, 1)


def written(form: str, dialogues: list[Dialogue]) -> str | None:
    """The corpus in a format, or the format's example enlarged; None: no example can be enlarged."""
    if form in WRITERS:
        return WRITERS[form](dialogues)
    from tests.robustness.test_fuzz import ALL  # every new format is added there

    return enlarged(ALL[form](), len(dialogues)) if form in ALL else None


def parse(path: Path, kind: str) -> object:
    """The bytes as plain objects: the base of the comparison."""
    data = path.read_bytes()
    if kind == "jsonl":
        return msgspec.json.Decoder().decode_lines(data)
    if kind == "json":
        return msgspec.json.decode(data)
    text = data.decode()
    separator = next(sign for sign in ("\t", "|||", ",") if sign in text)
    return [line.split(separator) for line in text.splitlines()]


def measures(form: str, path: Path) -> dict[str, Callable[[], object]]:
    """What is timed for one format."""
    kind, states = Source(path).kind, read(Source(path), form)
    if states.either or states.gold is None or states.pred is None:
        return {"parse": lambda: parse(path, kind), "read": lambda: read(Source(path))}
    return {
        "parse": lambda: parse(path, kind),
        "read": lambda: open_runs(path)[0].table.collect(),  # noqa: PLW0108 (opening is what takes the time)
        "convert": lambda: write_long(open_runs(path)[0], path.with_suffix(".parquet")),
    }


def seconds(work: Callable[[], object], *, collecting: bool = False) -> tuple[float, float]:
    """The processor time and the clock time of `work`; its result is kept until both have been taken."""
    gc.collect()
    if not collecting:
        gc.disable()
    clock, start = perf_counter(), process_time()
    made = work()
    taken = process_time() - start, perf_counter() - clock
    gc.enable()
    del made
    return taken


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogues", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each measure")
    parser.add_argument("--formats", default=",".join(FORMATS), help="which formats, separated by commas")
    can_keep(parser)
    given = parser.parse_args()
    warnings.simplefilter("ignore", DstbenchWarning)

    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder, dialogues = Path(name), corpus(given.dialogues)
        paths = {}
        for form in given.formats.split(","):
            if (text := written(form, dialogues)) is None:
                print(f"{form}: not measured, as its files hold one dialogue each, or are read with others beside them")
                continue
            paths[form] = folder / f"{form}.json"
            paths[form].write_text(text, encoding="utf-8")
        works_of = {form: measures(form, path) for form, path in paths.items()}
        for number in range(given.runs + 1):
            for form, path in paths.items():
                doing(f"run {number} of {given.runs}: {form}")
                works = works_of[form]
                taken = {measure: seconds(work) for measure, work in works.items()}
                for measure in ("parse", "read"):
                    taken[f"{measure}, collecting"] = seconds(works[measure], collecting=True)
                if number:  # the first fills caches
                    size = path.stat().st_size / 1e6
                    rows += [(form, size, measure, number, *times) for measure, times in taken.items()]
        measured = pl.DataFrame(rows, schema=["format", "MB", "measure", "run", "cpu", "clock"], orient="row")
        parsed = (
            measured.filter(measure="parse").group_by("format").agg(pl.col("cpu", "clock").median().name.suffix("_"))
        )
        ratios = {
            "cpu_times_parse": pl.col("cpu") / pl.col("cpu_"),
            "clock_times_parse": pl.col("clock") / pl.col("clock_"),
        }
        measured = (
            measured.join(parsed, on="format", maintain_order="left").with_columns(**ratios).drop("cpu_", "clock_")
        )
        report(measured)
    keep(
        given.output,
        "ingest",
        measured,
        measured.filter(pl.col("measure") != "parse"),
        title="Time to read and to convert, as a multiple of the time to parse",
        mark={"type": "point", "tooltip": True},
        encoding={
            "x": {
                "field": "cpu_times_parse",
                "type": "quantitative",
                "title": "times the median of parsing, processor time",
            },
            "y": {"field": "format", "type": "nominal", "title": None},
            "color": {"field": "measure", "type": "nominal", "title": None},
        },
    )


def report(measured: pl.DataFrame) -> None:
    """Print the medians, a line per format."""
    groups = measured.group_by("format", "MB", "measure", maintain_order=True)
    medians = groups.agg(pl.col("cpu", "cpu_times_parse", "clock_times_parse").median())
    print("                           processor time, times parse   both with collector   by the clock")
    print("format          MB   parse, MB/s      read       convert            read/parse     read/parse")
    for (form, size), rows in medians.group_by("format", "MB", maintain_order=True):
        of = {row["measure"]: row for row in rows.iter_rows(named=True)}
        written = f"{of['convert']['cpu_times_parse']:.2f}" if "convert" in of else "-"
        speed, read_ = size / of["parse"]["cpu"], of["read"]
        collecting = of["read, collecting"]["cpu_times_parse"] / of["parse, collecting"]["cpu_times_parse"]
        print(
            f"{form:<10}{size:>8.1f}{speed:>14.0f}{read_['cpu_times_parse']:>10.2f}{written:>14}"
            f"{collecting:>22.2f}{read_['clock_times_parse']:>15.2f}"
        )


if __name__ == "__main__":
    main()
