"""The commands of audits: for each, the function of which it shows the result, or what it does (see `commands`)."""

from __future__ import annotations

from pathlib import Path

from dstbench.cli.command import Call, Result, command, shows
from dstbench.cli.options import GOLD, MATCH, listed_names, load
from dstbench.errors import UsageError
from dstbench.typing import Preset, TableFormat

shows(
    "audit bias train.tsv test.tsv --slot train-destination --top 13",
    "Measure entity bias. Shows how unevenly values are distributed, and which test values training has.",
    of="audit.entity_bias:bias", charts="rendering.charts.audits:bias_charts", choices=GOLD,
    details={"data": {"type": list[Path]}, "train": {"metavar": "NAME"}, "slots": {"type": list[str]}},
)  # fmt: skip
shows(
    "audit diff multiwoz20/test.tsv multiwoz21/test.tsv --profile star",
    "Compare two versions of a dataset, cell by cell.\n\n"
    "Each slot of a turn that differs is of one kind: respelled (the same value in another spelling); moved "
    "earlier (the later version already has the value that the earlier version has in a later turn) or moved "
    "later; added; removed; or changed.",
    of="audit.version_diff:diff", charts="rendering.charts.audits:difference_charts", choices=MATCH,
    details={"names": {"parse": lambda given: listed_names(given, 2), "help": "Names of both versions: 2.0,2.1."}},
)  # fmt: skip
shows(
    "audit scores t5_*.json --version 2.0=old.tsv --version 2.1=new.tsv --model 't5=t5_*'",
    "Score runs on several versions of their dataset. Gives exact and fuzzy scores, spread over seeds, error turns.",
    of="audit.version_scores:scores", charts="rendering.charts.audits:version_charts", profile="qian2021",
    details={
        "data": {"type": list[Path], "metavar": "RUN..."},
        "versions": {"metavar": "NAME=GOLD", "names": ("version and its gold", "2.1=gold.tsv"), "once": True},
        "only": {"names": ("version and its runs", "2.1=t5_seed1"), "metavar": "VERSION=RUNS"},
    },
)  # fmt: skip


@command(
    "audit inconsistency data.json --ontology ontology.json --apply -o better.json",
    of="audit.missing_annotations:inconsistency", charts="rendering.charts.audits:inconsistency_charts", table="shown",
    details={
        "data": {"type": list[Path]}, "evidence": {"type": list[Path]},
        "preset": {"flags": ["--as"]}, "pairs": {"min": 0},
    },
)  # fmt: skip
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
    """Find missing annotations. These are values that are said and not annotated, though they are in similar places.

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
    written += call.drawn(missing, pairs=pairs)
    with laid_out_for(screen() if report is None else screen()._replace(width=None, coloured=False)):
        return Result(render(missing, call.shared.form_of(report), pairs=pairs), written, output=report)


@command("audit review filled.csv", details={"sheets": {"metavar": "FILE..."}})
def review(call: Call, sheets: list[Path]) -> Result:
    """Score a correction from filled review sheets. Gives precision, recall and F1 with intervals.

    Fill in `right` (yes or no) of every addition, and `missed` (how many annotations are still missing) of every
    dialogue, or of none: then there is no recall. For the sheets of several readers it also gives their agreement:
    Cohen's kappa of two readers, Fleiss' of more.

    Args:
        sheets: The sheet of `audit inconsistency --review`, filled in; or one per reader.
    """
    return call.shown(load("audit:review")(sheets[0]) if len(sheets) == 1 else load("audit:agreement")(sheets))


shows(
    "audit contradictions test.tsv --database db",
    "Find doubtful gold values. They contradict the database, or nobody has said them.",
    of="audit.contradictions:contradictions",
)  # fmt: skip


@command(
    "audit replace test.tsv -o unseen.tsv --train train.tsv.gz --manifest new.csv", of="audit.replacement:replace",
    table="shown",
    details={
        "slots": {
            "parse": lambda given: given and [slot.strip() for slot in given.split(",")],
            "help": "The slots, comma-separated; default: name, departure and destination of all domains.",
        },
        "mapping": {
            "flags": ["--map"], "metavar": "SLOT=SLOT",
            "names": ("slot and its donors' slot", "hotel-name=Hotels_4-place_name"),
        },
        "keep_unfound": {"flags": ["--keep"]},
    },
)  # fmt: skip
def replace(call: Call, *, manifest: Path | None = None) -> Result:
    """Write a test set with names and places unseen in training.

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


shows(
    "audit memorisation predictions.json --context test.tsv --train train.tsv.gz",
    "Count wrong values that nobody has said. Trackers may have memorised them.",
    of="audit.memorised_values:memorisation", charts="rendering.charts.audits:memorisation_charts",
    details={"context": {"type": list[Path]}, "most": {"min": 0}},
)  # fmt: skip
