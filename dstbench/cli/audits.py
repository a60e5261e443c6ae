"""Commands that audit a dataset and do more than show what one function returns."""

from __future__ import annotations

from pathlib import Path

from dstbench.cli.command import Call, Result
from dstbench.cli.output import as_path
from dstbench.errors import UsageError
from dstbench.typing import Preset, SlotOrder


def bias(call: Call, *, top: int = 5, sort: SlotOrder = "slot") -> Result:
    """How values are distributed.

    Args:
        top: Number of values per slot that text and figures show.
        sort: Slots by name, the least even values first, or the most frequent slot first.
    """
    return call.shown(call.compute(), top, sort, top=top, sort=sort)


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
    data = call.arguments["data"]
    if preset is not None and "rules" in call.arguments:
        raise UsageError("--as and --rules exclude each other", hint="--as names rules that come with dstbench")
    if apply and output is None:
        raise UsageError("--apply needs a file to write the corrected dataset to", hint="-o OUT")
    if apply and len(data) > 1:
        hint = "correct them one at a time, with the others as --evidence"
        raise UsageError(f"--apply writes one dataset, not {len(data)}", hint=hint)
    from dstbench.audit import correct, review_sheet, write_log
    from dstbench.io.atomic import replacing
    from dstbench.io.escape import csv_text
    from dstbench.rendering.tables import render
    from dstbench.rendering.terminal import laid_out_for, screen

    if preset is not None:
        call.arguments["rules"] = preset
    missing = call.compute()
    if review is not None:
        split = call.arguments.get("split")
        sheet = review_sheet(data, missing, split=split, sample=sample, seed=seed)
        with replacing(review) as part:
            part.write_text(csv_text(sheet), encoding="utf-8-sig")  # so that spreadsheets take it for UTF-8
    if apply and output is not None:
        correct(data[0], output, missing)
    if log is not None:
        write_log(missing, log)
    written = [path for path in (output if apply else None, log, review) if path is not None]
    written += call.drawn(missing, pairs)
    report = None if apply else output
    form = call.shared.form_of(report)
    with laid_out_for(screen() if report is None else screen()._replace(width=None, coloured=False)):
        text = render(missing, form, pairs=pairs)
    return Result(text, written, output=report)


def review(call: Call, sheets: list[Path]) -> Result:
    """What filled sheets say.

    Args:
        sheets: The sheet of `audit inconsistency --review`, filled in; or one per reader.
    """
    from dstbench.audit import agreement
    from dstbench.audit import review as outcome

    paths = [as_path(sheet) for sheet in sheets]
    return call.shown(outcome(paths[0]) if len(paths) == 1 else agreement(paths))


def replace(call: Call, *, manifest: Path | None = None) -> Result:
    """A dataset with other values.

    Args:
        manifest: Also list every replacement in this file (.csv or .json).
    """
    if manifest is not None and manifest.suffix not in (".csv", ".json"):
        raise UsageError(f"{manifest}: a manifest is written as CSV or JSON", hint=f"--manifest {manifest.stem}.csv")
    from dstbench.io.atomic import replacing
    from dstbench.rendering.tables import render

    maps, kept = call.arguments.get("mapping") or {}, call.arguments["keep_unfound"]
    call.arguments["mapping"] = {slot: others.split(",") for slot, others in maps.items()}
    replacement = call.compute()
    if manifest is not None:
        with replacing(manifest) as part:
            listed = render(replacement, "csv" if manifest.suffix == ".csv" else "json", kept=kept)
            part.write_text(listed, encoding="utf-8")
    written = [Path(call.arguments["out"]), *([manifest] if manifest else [])]
    return call.shown(replacement, kept=kept)._replace(written=written)
