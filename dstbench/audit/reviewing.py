"""Review of a correction by hand: precision, recall and F1 from filled sheets.

(Qian et al. 2021, Table 3.) Readers get a sample of changed dialogues and one of unchanged dialogues (`sheet`). They
say whether each addition is right and, if they read whole dialogues, how many annotations each dialogue still lacks.
Each sample is weighted by the number of such dialogues in the dataset, so that the estimates are of the whole dataset.
Several readers each fill in a copy of the sheet, and kappa says how much they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.arrays import Floats
from dstbench.audit.sheet import GROUPS
from dstbench.errors import DstbenchError, UsageError, first_repeated
from dstbench.io.files import File
from dstbench.io.tables import read_table
from dstbench.schema.audit import AGREEMENT, READER, REVIEW, REVIEWED_ADDITIONS, REVIEWED_DIALOGUES
from dstbench.schema.record import Record
from dstbench.stats import kappa, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray


_ANSWERS: Final = {"yes": True, "y": True, "right": True, "no": False, "n": False, "wrong": False}
# What tells the rows of sheets; spreadsheets may write values otherwise.
_ROW: Final = ("row", "group", "of", "dialogue", "turn", "slot")
_NEEDED: Final = ("row", "group", "of", "dialogue", "slot", "right", "missed")
_IS_ADDITION: Final = pl.col("row") == "addition"
# Whether a reader has left a row empty.
_EMPTY: Final = pl.when(_IS_ADDITION).then("right").otherwise("missed") == ""
_HINT: Final = "`right`: yes or no, of every addition; `missed`: a number, of every dialogue or of none"


@dataclass(frozen=True)
class Review(Record):
    """What a filled sheet says about a correction, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        measures: Precision, recall and F1, schema `REVIEW`: estimates for the whole dataset.
        additions: How many additions of the sample are right, by slot, schema `REVIEWED_ADDITIONS`; may be empty.
        dialogues: How many dialogues of the sample are right, schema `REVIEWED_DIALOGUES`.
    """

    measures: pl.DataFrame
    additions: pl.DataFrame
    dialogues: pl.DataFrame


@dataclass(frozen=True)
class Agreement(Record):
    """What several readers of one sheet say, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        measures: Precision, recall and F1 by reader, schema `READER`.
        agreement: How much the readers agree, schema `AGREEMENT`.
    """

    measures: pl.DataFrame
    agreement: pl.DataFrame


def review(path: str | PathLike[str]) -> Review:
    """Precision, recall and F1 of a correction, of additions and of dialogues, from a filled sheet.

    Precision is the share of additions that are right, and recall the share of missing annotations that were added, in
    the whole dataset. Their 95 % intervals are Wilson's. The effective sample size comes from the variance between
    dialogues (linearised, by group) and is at most the number of judged annotations.

    For dialogues, precision is the share of changed dialogues all of whose additions are right; recall is the number of
    these divided by that number plus the number of unchanged dialogues that lack an annotation.

    If `missed` is filled in for no dialogue, recall and F1 are undefined.

    Args:
        path: The filled sheet: CSV with commas or semicolons.

    Returns:
        The estimates, and the counts of the sample by slot and by group of dialogues.

    Raises:
        DstbenchError: It cannot be read or is not a review sheet, or a cell is empty or has an invalid value.
    """
    sheet = _read_sheet(str(path))
    _check_rows(sheet, str(path))
    answers = _answers(sheet, str(path))
    counts = _counts(answers)
    is_changed, missed = pl.col("group") == "changed", pl.col("missed")
    of_dialogues = counts.with_columns(
        right=is_changed & (pl.col("wrong") == 0),
        wrong=is_changed & (pl.col("wrong") > 0),
        missed=pl.when(missed.is_not_null()).then(~is_changed & (missed > 0)),
    )
    by_unit = {"additions": counts, "dialogues": of_dialogues}
    measures = pl.concat(_measures(of_unit).with_columns(unit=pl.lit(unit)) for unit, of_unit in by_unit.items())
    return Review(REVIEW.conform(measures), _by_slot(answers, counts), _by_group(counts))


def agreement(paths: Sequence[str | PathLike[str]]) -> Agreement:
    """What several readers of one sheet say: precision, recall and F1 of each (as `review` has them), and kappa.

    The measures are those of additions. Rows that some reader has left empty are ignored for all readers; if such a row
    is that of a dialogue, the measures ignore the whole dialogue. If there is no dialogue for which all readers have
    filled in `missed`, the measures ignore no dialogue, and recall and F1 are undefined.

    Args:
        paths: The filled sheets, one per reader, of the same rows in the same order; the file's name is the reader's.

    Returns:
        The measures by reader, and the agreement: Cohen's kappa of two readers, Fleiss' of more (`stats.kappa`), with
        95 % intervals by a bootstrap over dialogues. Numbers of missed annotations are categories: 1 and 2 are as
        different as 1 and 9.

    Raises:
        DstbenchError: As `review`, except for empty cells; or the sheets do not have the same rows.
        UsageError: There are fewer than two sheets, or two have the same name.
    """
    if len(paths) < 2:
        raise UsageError("agreement needs several readers", hint="give the filled sheet of each")
    if (repeated := first_repeated(Path(path).stem for path in paths)) is not None:
        raise UsageError(f"two sheets are called {repeated!r}", hint="give each reader's file a name of its own")
    files = {Path(path).stem: str(path) for path in paths}
    sheets = {reader: _read_sheet(file) for reader, file in files.items()}
    _check_same_rows(sheets, files)
    first = next(iter(sheets.values()))
    _check_rows(first, next(iter(files.values())))
    empties = pl.DataFrame({reader: sheet.select(_EMPTY).to_series() for reader, sheet in sheets.items()})
    is_empty = empties.select(pl.any_horizontal(pl.all())).to_series()
    left_out = first.filter(is_empty)
    dialogues = left_out.filter(row="dialogue").select("group", "dialogue")
    if dialogues.height == (first["row"] == "dialogue").sum():
        # Without `missed`, all dialogues are kept, because their rows say how they were sampled.
        sheets = {reader: sheet.with_columns(missed=pl.lit("")) for reader, sheet in sheets.items()}
        is_empty, dialogues = is_empty & (first["row"] == "addition"), dialogues.clear()
    answers = {reader: _answers(sheet.filter(~is_empty), files[reader]) for reader, sheet in sheets.items()}
    measures = [
        _measures(
            _counts(answered.join(dialogues, on=["group", "dialogue"], how="anti", maintain_order="left"))
        ).with_columns(reader=pl.lit(reader))
        for reader, answered in answers.items()
    ]
    rows = []
    for question, row, answer in (("right", "addition", "answer"), ("missed", "dialogue", "n_missed")):
        of_row = [
            answered.filter(row=row).select("dialogue", pl.col(answer).cast(pl.Int64)).drop_nulls()
            for answered in answers.values()
        ]
        ratings = np.column_stack([answered[answer] for answered in of_row])
        agreed = astuple(kappa(ratings, of_row[0]["dialogue"].to_numpy()))
        statistic, n_left_out = "cohen" if len(files) == 2 else "fleiss", left_out.filter(row=row).height
        rows.append((question, statistic, len(files), len(ratings), n_left_out, *agreed))
    return Agreement(READER.conform(pl.concat(measures)), pl.DataFrame(rows, AGREEMENT.schema, orient="row"))


def _read_sheet(path: str) -> pl.DataFrame:
    sheet = read_table(File(path), columns=(*_NEEDED, *_ROW)).rows
    if missing := [name for name in _NEEDED if name not in sheet.columns]:
        hint = "`dstbench audit inconsistency DATA --review FILE.csv` writes one"
        raise DstbenchError(f"not a review sheet: no column {', '.join(missing)}", file=path, hint=hint)
    sheet = sheet.select(name for name in sheet.columns if name in (*_NEEDED, *_ROW))
    return sheet.cast(pl.String).fill_null("").select(pl.all().str.strip_chars()).with_row_index("line", offset=1)


def _check_same_rows(sheets: Mapping[str, pl.DataFrame], files: Mapping[str, str]) -> None:
    """Refuse sheets whose rows differ from those of the first sheet; the error names the first such row."""
    (first, sheet), *others = sheets.items()
    hint = "readers' sheets have the same rows in the same order, and differ in `right` and `missed` only"
    for reader, other in others:
        names = [name for name in _ROW if name in sheet.columns and name in other.columns]
        rows = zip_longest(*(table.select(names).iter_rows(named=True) for table in (sheet, other)))
        for number, (row, its) in enumerate(rows, 1):
            if row != its:
                what = f"row {number} is not that of {first}" if its else f"row {number} of {first} is missing"
                raise DstbenchError(what, file=files[reader], dialogue=(its or row)["dialogue"], hint=hint)


def _check_rows(sheet: pl.DataFrame, path: str) -> None:
    """Refuse a sheet whose rows are no longer those that were written: sampled dialogues, each with its additions."""
    if sheet.is_empty():
        raise DstbenchError("no dialogue in the sheet", file=path)
    is_changed, n, n_additions = pl.col("group") == "changed", (~_IS_ADDITION).sum(), _IS_ADDITION.sum()
    _refuse(
        sheet,
        {
            "`row` is neither dialogue nor addition": ~pl.col("row").is_in(["dialogue", "addition"]),
            "`group` is neither changed nor unchanged": ~pl.col("group").is_in(GROUPS),
            "`of` is not a number": pl.col("of").cast(pl.UInt32, strict=False).is_null(),
            "`slot` is empty": _IS_ADDITION & (pl.col("slot") == ""),
            "`of` is not the same as in the rows before": pl.col("of") != pl.col("of").first().over("group"),
        },
        path,
    )
    of_dialogues = sheet.sort("dialogue", maintain_order=True).with_columns(n=n.over("dialogue"))
    faults = {
        "the dialogue itself has {} rows, not one": n.over("dialogue") != 1,
        "the dialogue is changed in one row and unchanged in another": pl.col("group").n_unique().over("dialogue") != 1,
        "a changed dialogue without additions": is_changed & (n_additions.over("dialogue") == 0),
        "an unchanged dialogue with additions": ~is_changed & (n_additions.over("dialogue") > 0),
    }
    for fault, is_faulty in faults.items():
        for dialogue, rows in of_dialogues.filter(is_faulty).select("dialogue", "n").head(1).iter_rows():
            hint = "keep all rows of a dialogue, or remove all of them"
            raise DstbenchError(fault.format(rows), file=path, dialogue=dialogue, hint=hint)


def _answers(sheet: pl.DataFrame, path: str) -> pl.DataFrame:
    """The sheet with `of`, `answer` and `n_missed` (null if `missed` is empty in all rows), if cells are filled in."""
    right, missed = pl.col("right"), pl.col("missed")
    sheet = sheet.with_columns(
        pl.col("of").cast(pl.UInt32),
        answer=right.str.to_lowercase().replace_strict(_ANSWERS, default=None, return_dtype=pl.Boolean),
        n_missed=missed.cast(pl.UInt32, strict=False),
    )
    faults = {
        "`right` is not filled in": _IS_ADDITION & (right == ""),
        "`right` is neither yes nor no": _IS_ADDITION & pl.col("answer").is_null(),
        "`missed` is not filled in": ~_IS_ADDITION & (missed == "") & (~_IS_ADDITION & (missed != "")).any(),
        "`missed` is not a number": ~_IS_ADDITION & (missed != "") & pl.col("n_missed").is_null(),
    }
    _refuse(sheet, faults, path)
    return sheet


def _refuse(sheet: pl.DataFrame, faults: Mapping[str, pl.Expr], path: str) -> None:
    """Raise the first fault that a row has, and name the first such row."""
    for fault, is_faulty in faults.items():
        faulty = sheet.filter(is_faulty)
        if faulty.height:
            line, dialogue = faulty.select("line", "dialogue").row(0)
            more = f", and in {faulty.height - 1:,} more" if faulty.height > 1 else ""
            raise DstbenchError(f"{fault} in row {line}{more}", file=path, dialogue=dialogue, hint=_HINT)


def _counts(answers: pl.DataFrame) -> pl.DataFrame:
    """(group, dialogue, of, right, wrong, missed) per dialogue; missed is null if it is not filled in."""
    answer, n_missed = pl.col("answer").filter(_IS_ADDITION), pl.col("n_missed").filter(~_IS_ADDITION)
    counts = answers.group_by("group", "dialogue").agg(
        of=pl.col("of").first(), right=answer.sum(), wrong=(~answer).sum(), missed=n_missed.first()
    )
    return counts.sort("group", "dialogue")


def _measures(counts: pl.DataFrame) -> pl.DataFrame:
    """Precision, recall and F1 with their intervals, and the totals of the sample, from counts per dialogue."""
    # Where `missed` is null, it is NaN here, and so is each total with it.
    right, wrong, missed, of = (counts[name].cast(pl.Float64).to_numpy() for name in ("right", "wrong", "missed", "of"))
    _, group = np.unique(counts["group"].to_numpy(), return_inverse=True)
    weight = of / np.bincount(group)[group]
    wholes = {"precision": right + wrong, "recall": right + missed, "f1": right + (wrong + missed) / 2}
    rows = [
        (measure, *_ratio(right, whole, weight, group), _ratio(right, whole, np.ones_like(weight), group)[0])
        for measure, whole in wholes.items()
    ]
    names = ("measure", "value", "low", "high", "in_sample")
    estimates = pl.DataFrame(rows, dict.fromkeys(names, pl.Float64) | {"measure": pl.String}, orient="row")
    totals = counts.select(
        pl.col("right", "wrong").sum(),
        missed=pl.when(pl.col("missed").is_not_null().all()).then(pl.col("missed").sum()),
        dialogues=pl.len(),
    )
    return estimates.join(totals, how="cross")


def _by_slot(answers: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """`Review.additions`."""
    dialogues = counts.filter(group="changed").select("dialogue")
    additions = answers.filter(_IS_ADDITION)
    slots = additions["slot"].unique().sort().to_list()
    rows = []
    for slot in [None, *slots] if slots else []:
        of_slot = additions if slot is None else additions.filter(slot=slot)
        judged = of_slot.group_by("dialogue").agg(right=pl.col("answer").sum(), wrong=(~pl.col("answer")).sum())
        judged = dialogues.join(judged, on="dialogue", how="left", maintain_order="left").fill_null(0)
        right, wrong = (judged[name].cast(pl.Float64).to_numpy() for name in ("right", "wrong"))
        ratio = _ratio(right, right + wrong, np.ones_like(right), np.zeros(len(right), np.intp))
        rows.append((slot, len(of_slot), int(right.sum()), int(wrong.sum()), *ratio))
    return pl.DataFrame(rows, REVIEWED_ADDITIONS.schema, orient="row")


def _by_group(counts: pl.DataFrame) -> pl.DataFrame:
    """`Review.dialogues`."""
    is_changed, is_complete = pl.col("group") == "changed", pl.col("missed") == 0
    is_right = pl.when(is_changed).then(pl.col("wrong") == 0).otherwise(is_complete)
    is_said, n, right = pl.col("missed").is_not_null().all(), pl.col("dialogues"), pl.col("right")
    of_group = counts.group_by("group").agg(
        of=pl.col("of").first(),
        dialogues=pl.len(),
        right=pl.when(is_said | is_changed.all()).then(is_right.sum()),
        complete=pl.when(is_said).then((is_right & is_complete).sum()),
    )
    return REVIEWED_DIALOGUES.conform(of_group.with_columns(wrong=n - right, share=right / n).sort("group"))


def _ratio(part: Floats, whole: Floats, weight: Floats, group: NDArray[np.intp]) -> tuple[float | None, ...]:
    """A ratio of weighted totals and the ends of its interval; None where it would be divided by 0."""
    total = float(weight @ whole)
    if not total > 0:  # NaN is not, either
        return None, None, None
    share = float(weight @ part) / total
    residuals = weight * (part - share * whole) / total
    by_group = [residuals[group == number] for number in np.unique(group)]
    variance = sum(len(own) * float(own.var(ddof=1)) for own in by_group if len(own) > 1)
    judged = float(whole.sum())
    effective = min(judged, share * (1 - share) / variance) if variance > 0 and 0 < share < 1 else judged
    return share, *wilson(share, effective)
