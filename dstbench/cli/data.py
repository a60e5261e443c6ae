"""Commands that write tables of data, and lists: convert, contexts, demo, ls."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Final

from dstbench.cli.command import Call, Result
from dstbench.cli.output import as_path, require_parquet
from dstbench.errors import UsageError, number_of
from dstbench.typing import Listing

# The demo writes no report on more dialogues: such a sample is for measuring time.
_MOST_REPORTED: Final = 5_000


def convert(call: Call, files: list[Path], *, output: Path, name: str | None = None) -> Result:
    """A long table.

    Args:
        files: Prediction files of one run.
        output: The long table to write (.parquet).
        name: Name of the run; default: the first file's name without its ending.
    """
    require_parquet(output, "a long table")
    from dstbench.readers import Source
    from dstbench.runs.open import open_runs, write_long

    data = {name or Source(files[0]).title: [Path(as_path(path)) for path in files]}
    (run,) = open_runs(data, **call.reading)
    write_long(run, output)
    return Result(summary=_written(output, run.meta["coverage"]["dialogues"], run.meta["coverage"]["turns"]))


def _written(output: Path, dialogues: int, turns: int) -> str:
    return f"{output}: {number_of(dialogues, 'dialogue')}, {number_of(turns, 'turn')}"


def contexts(
    call: Call,
    files: list[Path],
    *,
    output: Path,
    format: str | None = None,  # noqa: A002
    split: str | None = None,
) -> Result:
    """A table of utterances.

    Args:
        files: Files or folders that hold utterances.
        output: The table to write (.parquet).
    """
    require_parquet(output, "a table of contexts")
    from dstbench.io.parquet import write
    from dstbench.readers.contexts import contexts as read_contexts

    table = read_contexts([as_path(path) for path in files], split, format=format)
    write(output, table.schema, [table])
    return Result(summary=_written(output, table["dialogue"].n_unique(), table.height))


def demo(call: Call, *, dialogues: int = 200, output: Path | None = None) -> Result:
    """Scores of a sample, and a report.

    Args:
        dialogues: Number of invented dialogues.
        output: Write the report and the sample to this folder.
    """
    from dstbench.demo import synthetic, worked_scores, write_sample
    from dstbench.io.atomic import replacing
    from dstbench.rendering.report import report
    from dstbench.rendering.tables import render
    from dstbench.scoring.score import score

    form, corpus = call.form, synthetic(dialogues)
    written = write_sample(corpus, output) if output else []
    text = render({"scores": score(corpus)}, form)
    if form == "text":
        started = "uv run " if "UV_RUN_RECURSION_DEPTH" in os.environ else ""  # as what is pasted must be, too
        text = (
            f"Three invented trackers on {number_of(dialogues, 'invented dialogue')}\n\n{text}\n"
            "Worked dialogues: the scores that the papers print, and dstbench's\n\n"
            f"{render({'worked': worked_scores()}, 'text')}\n"
            f"Your own run: {started}dstbench predictions.json\n"
        )
    if 1 < dialogues <= _MOST_REPORTED:  # there are no intervals over a single dialogue
        page = (output or Path()) / "dstbench-demo.html"
        with replacing(page) as part, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report has the warnings as its notes
            part.write_text(report(corpus).to_html(), encoding="utf-8")
        written.append(page)
    return Result(text, written)


def ls(call: Call, what: Listing | None = None, only: list[str] | None = None, *, expressions: bool = False) -> Result:
    """A list.

    Args:
        what: What to list; without it, what can be listed.
        only: Only these; a profile may also be a file of choices (.toml).
        expressions: Metrics as queries: what a turn adds (n_...: numbers of slots), and the value of sums (sa: T=30).
    """
    from dstbench.cli import listing
    from dstbench.rendering.tables import render

    form = call.form
    if expressions and what != "metrics":
        raise UsageError("--expressions is for metrics", hint="dstbench ls metrics --expressions")
    if what is not None:
        rows = listing.expressions() if expressions else listing.listing(what)
        return Result(render({what: listing.only(rows, what, only) if only else rows}, form))
    text = render({"listings": listing.listings()}, form)
    return Result(f"{text.rstrip()}\n\n`dstbench ls metrics` lists the metrics\n" if form == "text" else text)
