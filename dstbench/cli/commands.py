"""The commands of runs: for each, the function of which it shows the result, or what it does; `audits` has the others.

The keyword arguments of a function here are options of its command; their help, and the command's, is its docstring.
"""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dstbench.cli.command import Call, Result, command, promised, shows
from dstbench.cli.options import TURNS_AND_VALUES, VALUES, load
from dstbench.cli.output import require_parquet, write_files
from dstbench.errors import UsageError, check_known, number_of
from dstbench.typing import Listing, ReportFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

# The demo writes no report on more dialogues: such a sample is for measuring time.
_MOST_REPORTED: Final = 5_000


@command(
    "score predictions.json --profile trade", of="scoring.score:score", charts="rendering.charts.runs:score_charts",
    details={"group": {"names": ("group and its runs", "'Open vocabulary=trade,som*'"), "metavar": "TITLE=RUNS"}},
)  # fmt: skip
def score(call: Call, *, group: Mapping[str, str] | None = None, along: str | None = None) -> Result:
    """Score runs: JGA, SA, RSA, AGA, F1, FGA, GCA, TLA or others.

    Args:
        group: Runs to show as a group, by name or pattern: 'Open vocabulary=trade,som*'.
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
        rows, gold = call.named([rows, gold])
    drawn = call.drawn(rows, "rendering.charts.runs:along_charts" if along else "", along=number)
    text = render({"scores": rows}, call.shared.form, groups=group, gold=gold, along=number or None)
    return Result(text, drawn)


shows(
    "compare a.json b.json c.json --baseline a -m jga,gca",
    "Test which runs are better than others over the same gold. Gives scores and differences with intervals, and p.",
    of="analysis.compare:compare", charts="rendering.charts.runs:leaderboard_charts",
)  # fmt: skip
shows(
    "pairs predictions.json --profile qian2021", "List values that only fuzzy matching or a label map accepts.",
    of="analysis.fuzzy_pairs:fuzzy_pairs", choices=VALUES,
)  # fmt: skip
shows(
    "sweep predictions.json --label-map multiwoz21.json",
    "Score the same predictions under every profile. This shows how much the convention matters.",
    of="analysis.sweep:sweep", charts="rendering.charts.runs:sweep_charts",
)  # fmt: skip
shows(
    "reconcile 55.3 predictions.json --with jga",
    "Find out why a published score is not the one computed here: which choices of convention lead to it.",
    of="analysis.reconcile:reconcile", charts="rendering.charts.runs:reconciliation_charts", choices=(),
    details={
        "metrics": {
            "flags": ["--with"], "type": str, "metavar": "METRIC", "help": "The metric of a score that names none.",
        },
        "other_golds": {"metavar": "NAME=FILE", "names": ("name and file of gold", "2.4=gold24.json"), "once": True},
        "most": {"min": 1, "max": 4},
    },
)  # fmt: skip


@command("diff before.json after.json", of="analysis.changes:diff", choices=TURNS_AND_VALUES)
def diff(call: Call, *, read: bool = False, context: str | None = None) -> Result:
    """Show what a new checkpoint fixed and broke: turns and values, by slot, domain, error and turn.

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


@command("check predictions.json --ontology ontology.json", of="analysis.check:check")
def check(call: Call, *, strict: bool = False) -> Result:
    """Check runs before you believe their scores. Looks at floors, coverage, slots, values and cumulative states.

    Args:
        strict: Exit with 1 if a check fails, for scripts.
    """
    rows = call.named(call.compute())
    failed = load("analysis.findings:failed")(rows)
    shown = rows if call.shared.form in ("text", "md", "latex") else rows.drop("short", "n", "jga")
    return call.shown({"checks": shown})._replace(summary=failed, code=int(bool(strict and failed)))


@command("signature 'jga|profile:trade@faithful.1|…' 'jga|profile:verbatim.1|…'", table="")
def signature(call: Call, signatures: list[str], *, everything: bool = False) -> Result:
    """Explain a signature, or say how two signatures differ.

    Args:
        signatures: One to explain, or two to compare.
        everything: List every setting of one signature.
    """
    from dstbench.io.escape import plain_text
    from dstbench.signature import differences, doubts, explain, summary

    texts = [re.sub(r"\s*\n\s*", "", text) for text in signatures]  # as narrow terminals show them
    if len(texts) > 2:
        raise UsageError(f"{len(texts)} signatures", hint="give one to explain, or two to compare")
    lines = explain(texts[0]) if everything else summary(texts[0])
    if len(texts) == 2:
        notes = dict.fromkeys(f"note: {doubt}" for text in texts for doubt in doubts(text))
        lines = [*(differences(*texts) or ["no difference: scores with them are comparable"]), *notes]
    return Result("".join(f"{plain_text(line)}\n" for line in lines))


shows(
    "diagnose predictions.json --charts figures",
    "Find out where runs fail. Shows first failures, gold slots, JGA by turn and length, errors by kind and timing.",
    of="analysis.diagnose:diagnose", charts="rendering.charts.runs:diagnosis_charts",
)  # fmt: skip
shows(
    "traits predictions.json --disagree fga gca",
    "Show how scores depend on where in dialogues mistakes are. Uses tail orientation and non-uniformity.",
    of="analysis.traits:traits", charts="rendering.charts.runs:trait_charts",
)  # fmt: skip
shows(
    "correlate predictions.json -m jga,fga,gca --versus jga,fga,gca",
    "Correlate metrics, traits and ratings, and compare correlations.",
    of="analysis.correlate:correlate", charts="rendering.charts.runs:correlation_charts",
    details={"metrics": {"help": "Metrics, and traits such as turns, n_gold_max, to_mean, nu_paper."}},
)  # fmt: skip


@command(
    "show predictions.json PMUL4648 --against other.json", reads=True,
    details={"run": {"type": Path}, "against": {"type": Path, "metavar": "RUN"}},
)  # fmt: skip
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
    """Show one dialogue turn by turn. Shows utterances, gold and predicted slots, scores and changes of state.

    Without DIALOGUE it lists the dialogues with the lowest scores, or (--against) those in which two runs differ most.

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


@command(
    "query \"SELECT slot, count(*) AS n FROM classes WHERE kind = 'wrong' GROUP BY slot ORDER BY n DESC\" "
    "predictions.json",
    of="analysis.query:query",
    details={
        "tables": {"metavar": "NAME=FILE", "names": ("table and its file", "said=said.parquet"), "once": True},
    },
)  # fmt: skip
def query(call: Call) -> Result:
    """Query runs in SQL. The tables are long, classes, turns, dialogues and scores, and those of --table."""
    return Result(load("rendering.tables:render_answer")(call.compute(), call.shared.form))


shows(
    "compare-metrics t5_0.1.json t5_0.5.json t5_1.0.json --along share",
    "Find out which metric to trust: compare metrics over the same runs. "
    "Shows agreement with a known order, reliability, spread, pairs told apart, reversals, dependence on traits.",
    of="analysis.compare_metrics:compare_metrics", charts="rendering.charts.runs:metric_charts",
    details={"table": {"type": Path, "metavar": "FILE"}},
)  # fmt: skip
shows(
    "sensitivity predictions.json -m jga,fga,gca --kinds missed,late",
    "Show what one error costs under each metric, by kind of error and by when it happens, in a run or in gold.",
    of="analysis.sensitivity:sensitivity", charts="rendering.charts.runs:sensitivity_charts",
    details={"data": {"metavar": "RUN"}},
)  # fmt: skip


@command(
    "report model_a.json model_b.json --context data.json -o report.html", of="rendering.report:report",
    charts="rendering.report:Report.charts.fget", table="",
    details={"form": {"flags": ["--format"]}, "title": {"show_default": False}, "context": {"type": list[Path]}},
)  # fmt: skip
def report(call: Call, *, output: Path, form: ReportFormat | None = None, paper: bool = False) -> Result:
    """Write a report on runs over the same gold. It has the main findings, scores, slots, errors and dialogues.

    Args:
        output: The file to write; - for stdout.
        form: An HTML page, its tables as Markdown, the main tables as LaTeX, or the rows as JSON; default: by the name
            of -o (report.md), else HTML.
        paper: Write files for a paper to the folder -o: table.tex, figures, methods.tex, references.bib.
    """
    if paper:
        if form or output.suffix or str(output) == "-":
            raise UsageError("--paper writes several files", hint="-o paper, a folder, without --format")
        page = call.named(call.compute(), "latex")
        return Result(written=[*call.drawn(page), *write_files(page.to_paper(output.name), output)])
    form = form or promised(output, ReportFormat) or "html"
    ending = "tex" if form == "latex" else form
    if output.suffix not in ("", f".{ending}"):
        hint = f"-o {output.stem}.{ending}, or another --format"
        raise UsageError(f"{output}: the report's format is {form}", hint=hint)
    page = call.named(call.compute(), form)
    text: str = getattr(page, {"md": "to_markdown"}.get(form, f"to_{form}"))()
    return Result(text, [*call.drawn(page), *([output] if str(output) != "-" else [])], output=output)


@command("convert preds.json --gold test.tsv --missing wrong -o model.parquet", reads=True, table="")
def convert(call: Call, files: list[Path], *, output: Path, name: str | None = None) -> Result:
    """Convert prediction files to one long table (Parquet).

    Several files are read one after the other, and are one run. The table is written whole, or not at all. It has a
    checksum, which is verified whenever it is scored.

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


@command("contexts gold.json -o said.parquet", table="")
def contexts(
    call: Call,
    files: list[Path],
    *,
    output: Path,
    format: str | None = None,  # noqa: A002
    split: str | None = None,
) -> Result:
    """Write the utterances of each turn, as a table (Parquet). It can be joined to a long table.

    Args:
        files: Files or folders that hold utterances.
        output: The table to write (.parquet).
        format: Format of the files; None: found by content.
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


@command("demo --dialogues 1000 -o sample", table="shown", details={"output": {"metavar": "DIR"}})
def demo(call: Call, *, dialogues: int = 200, output: Path | None = None) -> Result:
    """Score a bundled sample and write a report on it. The sample has three invented trackers and papers' examples.

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


@command("ls formats", table="shown", details={"only": {"metavar": "[NAME]..."}})
def ls(call: Call, what: Listing | None = None, only: list[str] | None = None, *, expressions: bool = False) -> Result:
    """List formats, public gold sets, matchers, metrics, profiles, slots or steps.

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


@command("help conventions", table="")
def help_(call: Call, topic: str | None = None) -> Result:
    """Explain a topic: conventions, statistics, formats, and more.

    Args:
        topic: A topic; without it, all topics are listed.
    """
    texts = topics()
    if topic is None:
        width = max(map(len, texts))
        lines = (f"  {name:<{width}}  {text.partition('# ')[2].splitlines()[0]}\n" for name, text in texts.items())
        return Result("".join(["Topics, which `dstbench help TOPIC` shows:\n\n", *lines]))
    check_known([topic], texts, "there is no topic {!r}")
    if not sys.stdout.isatty():
        return Result(texts[topic])
    from rich.console import Console
    from rich.markdown import Markdown

    from dstbench.rendering.terminal import screen_of

    page, session = io.StringIO(), texts[topic].replace("```python\n>>>", "```pycon\n>>>")  # with prompts and results
    width = min(100, screen_of(sys.stdout).width or 100)  # lines of prose are no wider
    Console(file=page, force_terminal=True, width=width).print(Markdown(session, code_theme="ansi_dark"))
    return Result(page.getvalue())


def topics() -> dict[str, str]:
    """Name of each topic to its text, in alphabetical order."""
    paths = sorted(Path(__file__).with_name("topics").glob("*.md"), key=lambda path: path.name)
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}
