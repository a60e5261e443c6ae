"""Commands that do more than show what one function returns: their further options, and what they do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dstbench.cli.command import Call, Result, promised
from dstbench.cli.output import as_path, write_files
from dstbench.errors import UsageError
from dstbench.typing import ReportFormat

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    form, data, by = call.form, call.arguments["data"], call.arguments["by"]
    if group and along:
        raise UsageError("--along orders runs, --group groups them", hint="choose one of them")
    names = [name for name, _ in parts_to_open(data, **call.reading)] if group or along else []
    if group:
        titles_of(group, names, by.split(","))
    if along and by != "run":
        raise UsageError("--along takes scores by run", hint="omit --by")
    number, numbers = numbers_along(along, names) if along else ("", {})
    opened, rows = open_and_score(**{"metrics": None, **call.arguments})
    gold = gold_lines(opened)
    if not along:
        return Result(render({"scores": rows}, form, groups=group, gold=gold), call.drawn(rows))
    of_run = pl.col("run").replace_strict(numbers, return_dtype=pl.Float64)
    numbered = rows.with_columns(of_run.alias(number)).sort(number, maintain_order=True)
    drawn = call.shared.write("rendering.charts.runs:along_charts", numbered, number)
    return Result(render({"scores": numbered}, form, gold=gold, along=number), drawn)


def pairs(call: Call) -> Result:
    """Pairs of values, in text in quotes, so that a space at the end can be seen."""
    import polars as pl

    from dstbench.rendering.tables import render

    rows = call.compute()
    if call.form in ("text", "md"):
        rows = rows.with_columns(pl.format("'{}'", name).alias(name) for name in ("gold", "pred"))
    return Result(render({"pairs": rows}, call.form))


def check(call: Call, *, strict: bool = False) -> Result:
    """Checks, with the failed ones in one line.

    Args:
        strict: Exit with 1 if a check fails, for scripts.
    """
    from dstbench.rendering.sentences import failed

    rows = call.compute()
    shown = rows if call.form in ("text", "md", "latex") else rows.drop("short", "n", "jga")
    return call.shown({"checks": shown})._replace(summary=failed(rows), code=1 if strict and failed(rows) else 0)


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
    if len(texts) == 1:
        lines = explain(texts[0]) if everything else summary(texts[0])
    else:
        notes = dict.fromkeys(f"note: {doubt}" for text in texts for doubt in doubts(text))
        lines = [*(differences(*texts) or ["no difference: scores with them are comparable"]), *notes]
    return Result("".join(f"{plain_text(line)}\n" for line in lines))


def diff(call: Call, *, read: bool = False, context: Path | None = None) -> Result:
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
    dialogues, said = changes.dialogues["dialogue"].to_list(), None if context is None else as_path(context)
    return call.shown(walk_through(runs, dialogues, context=said, profile=call.convention(), **call.reading))


def show(
    call: Call,
    run: Path,
    dialogue: str | None = None,
    *,
    against: Path | None = None,
    context: Path | None = None,
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

    paths = [as_path(path) for path in (run, against) if path is not None]
    common = {"metrics": metrics, "profile": call.convention(), **call.reading}
    if dialogue is None:
        return call.shown(worst_dialogues(paths, most=most, **common))
    return call.shown(walk_through(paths, dialogue, context=None if context is None else as_path(context), **common))


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
        page = call.compute()
        return Result(written=[*call.drawn(page), *write_files(page.to_paper(output.name), output)])
    form = form or promised(output, ReportFormat) or "html"
    ending = "tex" if form == "latex" else form
    if output.suffix not in ("", f".{ending}"):
        hint = f"-o {output.stem}.{ending}, or another --format"
        raise UsageError(f"{output}: the report's format is {form}", hint=hint)
    page = call.compute()
    renderers = {"html": page.to_html, "md": page.to_markdown, "latex": page.to_latex, "json": page.to_json}
    return Result(renderers[form](), [*call.drawn(page), *([output] if str(output) != "-" else [])], output=output)


def charts_of(page: Any) -> Any:
    """The charts of a report."""
    return page.charts
