"""Commands that do more than show what one function returns: their further options, and what they do.

The keyword arguments of a function here are options of its command, and their help is what its docstring says of them.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dstbench.cli.command import Call, Result, promised
from dstbench.cli.options import load
from dstbench.cli.output import require_parquet, write_files
from dstbench.errors import UsageError, number_of
from dstbench.typing import Listing, Preset, ReportFormat, SlotOrder, TableFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstbench.rendering.report import Report

# The demo writes no report on more dialogues: such a sample is for measuring time.
_MOST_REPORTED: Final = 5_000


def score(call: Call, *, group: Mapping[str, str] | None = None, along: str | None = None) -> Result:
    """Scores, perhaps of groups of runs, with the lines on gold.

    Args:
        group: Runs to show as a group, by name or pattern: 'Open vocabulary=trade,som*'. Repeatable.
        along: Order runs by a number, called share: the one in which their names differ; or by share=FILE, a table with
            the columns run and share.
    """
    import polars as pl

    from dstbench.analysis.user_tables import numbers_along
    from dstbench.rendering.of_runs import titles_of
    from dstbench.rendering.tables import render
    from dstbench.runs.gold_sets import gold_lines
    from dstbench.runs.open import parts_to_open
    from dstbench.scoring.score import open_and_score

    by = call.arguments["by"]
    if group and along:
        raise UsageError("--along orders runs, --group groups them", hint="choose one of them")
    names = [name for name, _ in parts_to_open(call.arguments["data"], **call.reading)] if group or along else []
    if group:
        titles_of(group, names, by.split(","))
    if along and by != "run":
        raise UsageError("--along takes scores by run", hint="omit --by")
    number, numbers = numbers_along(along, names) if along else ("", {})
    rows: pl.DataFrame
    opened, rows = open_and_score(**{"metrics": None, **call.arguments})
    gold = gold_lines(opened)
    if along:
        of_run = pl.col("run").replace_strict(numbers, return_dtype=pl.Float64)
        rows = rows.with_columns(of_run.alias(number)).sort(number, maintain_order=True)
    if not group:  # which finds runs by their whole names
        rows, gold = call.for_people([rows, gold])
    drawn = call.drawn(rows, number, charts="rendering.charts.runs:along_charts") if along else call.drawn(rows)
    text = render({"scores": rows}, call.shared.form, groups=group, gold=gold, along=number or None)
    return Result(text, drawn)


def compare(call: Call, *, pairs: bool = False) -> Result:
    """Differences, or those of pairs alone.

    Args:
        pairs: Show the differences of pairs only: in LaTeX, a table of their own.
    """
    return call.shown(call.compute(), pairs=pairs)


def pairs(call: Call) -> Result:
    """Pairs of values, in text in quotes, so that a space at the end can be seen."""
    import polars as pl

    rows = call.compute()
    if call.shared.form in ("text", "md"):
        rows = rows.with_columns(pl.format("'{}'", name).alias(name) for name in ("gold", "pred"))
    return call.shown({"pairs": rows})


def check(call: Call, *, strict: bool = False) -> Result:
    """Checks, with the failed ones in one line.

    Args:
        strict: Exit with 1 if a check fails, for scripts.
    """
    rows = call.for_people(call.compute())
    failed = load("analysis.findings:failed")(rows)
    shown = rows if call.shared.form in ("text", "md", "latex") else rows.drop("short", "n", "jga")
    return call.shown({"checks": shown})._replace(summary=failed, code=int(bool(strict and failed)))


def diff(call: Call, *, read: bool = False, context: str | None = None) -> Result:
    """What a new checkpoint changed.

    Args:
        read: Show the dialogues to read first on one page: turn by turn, both runs side by side, as `show` does.
        context: File with the utterances of these: the dataset, or a table that `contexts` wrote.
    """
    from dstbench.analysis.show import walk_through

    changes = call.compute()
    if not read or changes.dialogues.is_empty():
        return call.shown(changes)
    runs = {name: call.arguments[name] for name in ("before", "after")}
    dialogues = changes.dialogues["dialogue"].to_list()
    return call.shown(walk_through(runs, dialogues, context=context, profile=call.convention(), **call.reading))


def show(
    call: Call,
    run: str,
    dialogue: str | None = None,
    *,
    against: str | None = None,
    context: str | None = None,
    metrics: list[str] | None = None,
    most: int = 10,
) -> Result:
    """One dialogue, or those that are worst.

    Args:
        run: A prediction file, packed or not, or a long table (.parquet).
        dialogue: The dialogue's id; without it, the worst dialogues are listed.
        against: Another run to show beside it.
        context: File with the utterances: the dataset, or a table that `contexts` wrote.
        metrics: Metrics.
        most: Number of dialogues that are listed.
    """
    from dstbench.analysis.show import walk_through, worst_dialogues

    paths = [run] if against is None else [run, against]
    common = {"metrics": metrics, "profile": call.convention(), **call.reading}
    if dialogue is None:
        return call.shown(worst_dialogues(paths, most=most, **common))
    return call.shown(walk_through(paths, dialogue, context=context, **common))


def report(call: Call, *, output: Path, form: ReportFormat | None = None, paper: bool = False) -> Result:
    """A report, in the format of the file's name or of ``--format``.

    Args:
        output: The file to write; - for stdout.
        form: An HTML page, its tables as Markdown, the main tables as LaTeX, or the rows as JSON; default: by the name
            of -o (report.md), else HTML.
        paper: Write files for a paper to the folder -o: table.tex, figures, methods.tex, references.bib.
    """
    if paper:
        if form or output.suffix or str(output) == "-":
            raise UsageError("--paper writes several files", hint="-o paper, a folder, without --format")
        page = call.with_short_names(call.compute())
        return Result(written=[*call.drawn(page), *write_files(page.to_paper(output.name), output)])
    form = form or promised(output, ReportFormat) or "html"
    ending = "tex" if form == "latex" else form
    if output.suffix not in ("", f".{ending}"):
        hint = f"-o {output.stem}.{ending}, or another --format"
        raise UsageError(f"{output}: the report's format is {form}", hint=hint)
    page = call.compute() if form == "json" else call.with_short_names(call.compute())
    text: str = getattr(page, {"md": "to_markdown"}.get(form, f"to_{form}"))()
    return Result(text, [*call.drawn(page), *([output] if str(output) != "-" else [])], output=output)


def charts_of(page: Report) -> Any:
    """The charts of a report."""
    return page.charts


def signature(call: Call, texts: list[str], *, everything: bool = False) -> Result:
    """What signatures say.

    Args:
        texts: One to explain, or two to compare.
        everything: List every setting of one signature.
    """
    from dstbench.io.escape import plain_text
    from dstbench.signature import differences, doubts, explain, summary

    texts = [re.sub(r"\s*\n\s*", "", text) for text in texts]  # as narrow terminals show them
    if len(texts) > 2:
        raise UsageError(f"{len(texts)} signatures", hint="give one to explain, or two to compare")
    lines = explain(texts[0]) if everything else summary(texts[0])
    if len(texts) == 2:
        notes = dict.fromkeys(f"note: {doubt}" for text in texts for doubt in doubts(text))
        lines = [*(differences(*texts) or ["no difference: scores with them are comparable"]), *notes]
    return Result("".join(f"{plain_text(line)}\n" for line in lines))


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

    paths = [Path(file) for file in files]
    (run,) = open_runs({name or Source(paths[0]).title: paths}, **call.reading)
    write_long(run, output)
    return _written(output, run.meta["coverage"]["dialogues"], run.meta["coverage"]["turns"])


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
        split: train, dev or test, if there are several splits.
    """
    require_parquet(output, "a table of contexts")
    from dstbench.io.parquet import write
    from dstbench.readers.contexts import contexts as read_contexts

    table = read_contexts(files, split, format=format)
    write(output, table.schema, [table])
    return _written(output, table["dialogue"].n_unique(), table.height)


def _written(output: Path, dialogues: int, turns: int) -> Result:
    return Result(summary=f"{output}: {number_of(dialogues, 'dialogue')}, {number_of(turns, 'turn')}")


def demo(call: Call, *, dialogues: int = 200, output: Path | None = None) -> Result:
    """Scores of a sample, and a report.

    Args:
        dialogues: Number of invented dialogues.
        output: Write the report and the sample to this folder.
    """
    from dstbench.demo import synthetic, worked_scores, write_sample
    from dstbench.rendering.report import report
    from dstbench.rendering.tables import render
    from dstbench.scoring.score import score

    corpus = synthetic(dialogues)
    written = write_sample(corpus, output) if output else []
    text = render({"scores": score(corpus)}, call.shared.form)
    if call.shared.form == "text":
        started = "uv run " if "UV_RUN_RECURSION_DEPTH" in os.environ else ""  # as what is pasted must be, too
        text = (
            f"Three invented trackers on {number_of(dialogues, 'invented dialogue')}\n\n{text}\n"
            "Worked dialogues: the scores that the papers print, and dstbench's\n\n"
            f"{render({'worked': worked_scores()}, 'text')}\n"
            f"Your own run: {started}dstbench predictions.json\n"
        )
    if 1 < dialogues <= _MOST_REPORTED:  # there are no intervals over a single dialogue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report has the warnings as its notes
            page = report(corpus).to_html()
        written += write_files({"dstbench-demo.html": page.encode()}, output or Path())
    return Result(text, written)


def ls(call: Call, what: Listing | None = None, only: list[str] | None = None, *, expressions: bool = False) -> Result:
    """A list.

    Args:
        what: What to list; without it, what can be listed.
        only: Only these; a profile may also be a file of choices (.toml).
        expressions: Metrics as queries: what a turn adds (n_...: numbers of slots), and the value of sums (sa: T=30).
    """
    from dstbench.cli import listing

    if expressions and what != "metrics":
        raise UsageError("--expressions is for metrics", hint="dstbench ls metrics --expressions")
    if what is not None:
        rows = listing.expressions() if expressions else listing.listing(what)
        return call.shown({what: listing.only(rows, what, only) if only else rows})
    overview = call.shown({"listings": listing.listings()})
    more = "`dstbench ls metrics` lists the metrics\n" if call.shared.form == "text" else ""
    return overview._replace(text=f"{overview.text}{more}")


def bias(call: Call, *, top: int = 5, sort: SlotOrder = "slot") -> Result:
    """How values are distributed.

    Args:
        top: Number of values per slot that text and figures show.
        sort: Slots by name, the least even values first, or the most frequent slot first.
    """
    return call.shown(call.compute(), top, sort, top=top, sort=sort)


def first_rows(call: Call, *, top: int = 20) -> Result:
    """A result of which text shows the first rows.

    Args:
        top: Number of changes (of doubtful values: of each kind) that text shows.
    """
    return call.shown(call.compute(), top=top)


def inconsistency(
    call: Call,
    *,
    preset: Preset | None = None,
    apply: bool = False,
    output: Path | None = None,
    log: Path | None = None,
    review: Path | None = None,
    sample: int = 50,
    seed: int = 0,
    pairs: int = 3,
) -> Result:
    """Missing annotations: shown, added, listed, sampled.

    Args:
        preset: Add what the correction of this paper adds; default: precision first.
        apply: Write the dataset with the missing annotations, in its own format, to -o OUT.
        output: The corrected dataset (--apply), or else the report (x.json: as JSON).
        log: Write every value that could be annotated, with its checks, the rule and the outcome (CSV).
        review: Write a sheet to judge additions by hand (CSV), for `audit review`.
        sample: Number of changed and of unchanged dialogues in the sheet.
        seed: Random seed of the choice of dialogues.
        pairs: Number of slots for which text shows two similar turns, one of them annotated.
    """
    data, report = call.arguments["data"], None if apply else output
    if preset is not None and "rules" in call.arguments:
        raise UsageError("--as and --rules exclude each other", hint="--as names rules that come with dstbench")
    if apply and output is None:
        raise UsageError("--apply needs a file to write the corrected dataset to", hint="-o OUT")
    if apply and len(data) > 1:
        hint = "correct them one at a time, with the others as --evidence"
        raise UsageError(f"--apply writes one dataset, not {len(data)}", hint=hint)
    from dstbench.audit import correct, review_sheet, write_log
    from dstbench.io.atomic import write_whole
    from dstbench.io.escape import csv_text
    from dstbench.rendering.tables import render
    from dstbench.rendering.terminal import laid_out_for, screen

    if preset is not None:
        call.arguments["rules"] = preset
    missing = call.compute()
    if review is not None:
        sheet = review_sheet(data, missing, split=call.arguments.get("split"), sample=sample, seed=seed)
        write_whole(review, csv_text(sheet).encode("utf-8-sig"))  # so that spreadsheets take it for UTF-8
    if apply and output is not None:
        correct(data[0], output, missing)
    if log is not None:
        write_log(missing, log)
    written = [path for path in (output if apply else None, log, review) if path is not None]
    written += call.drawn(missing, pairs)
    with laid_out_for(screen() if report is None else screen()._replace(width=None, coloured=False)):
        return Result(render(missing, call.shared.form_of(report), pairs=pairs), written, output=report)


def review(call: Call, sheets: list[Path]) -> Result:
    """What filled sheets say.

    Args:
        sheets: The sheet of `audit inconsistency --review`, filled in; or one per reader.
    """
    return call.shown(load("audit:review")(sheets[0]) if len(sheets) == 1 else load("audit:agreement")(sheets))


def replace(call: Call, *, manifest: Path | None = None) -> Result:
    """A dataset with other values.

    Args:
        manifest: Also list every replacement in this file (.csv or .json).
    """
    if manifest is not None and manifest.suffix not in (".csv", ".json"):
        raise UsageError(f"{manifest}: a manifest is written as CSV or JSON", hint=f"--manifest {manifest.stem}.csv")
    from dstbench.io.atomic import write_whole
    from dstbench.rendering.tables import render

    maps, kept = call.arguments.get("mapping") or {}, call.arguments["keep_unfound"]
    call.arguments["mapping"] = {slot: others.split(",") for slot, others in maps.items()}
    replacement = call.compute()
    if manifest is not None:
        form: TableFormat = "csv" if manifest.suffix == ".csv" else "json"
        write_whole(manifest, render(replacement, form, kept=kept).encode())
    written = [Path(call.arguments["out"]), *([manifest] if manifest else [])]
    return call.shown(replacement, kept=kept)._replace(written=written)
