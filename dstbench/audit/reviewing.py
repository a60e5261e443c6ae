"""Review of a correction by hand: a sheet to fill in, and precision, recall and F1 from the filled sheet.

(Qian et al. 2021, Table 3.) Reviewers read a sample of changed dialogues and one of unchanged dialogues. They say of
each addition whether it is right, and of each dialogue how many annotations it still lacks. Each sample is weighted by
the number of such dialogues, so that the estimates are of the whole dataset. Several readers fill in a copy of the
sheet each, and kappa says how much they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.arrays import Floats
from dstbench.audit.inputs import gold_and_utterances
from dstbench.audit.missing_annotations import Inconsistency
from dstbench.errors import DstbenchError, UsageError, first_repeated
from dstbench.readers.states import Side
from dstbench.runs.open import Data
from dstbench.schema.audit_words import AGREEMENT, READER, REVIEW, SHEET
from dstbench.stats import kappa, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray


_KEY: Final = ["dialogue", "turn"]
_CELL: Final = ["dialogue", "turn", "slot"]
_GROUPS: Final = ("changed", "unchanged")
_ANSWERS: Final = {"yes": True, "y": True, "right": True, "no": False, "n": False, "wrong": False}
# What tells the rows of sheets; spreadsheets may write values otherwise.
_ROW: Final = ("row", "group", "of", "dialogue", "turn", "slot")
# Whether a reader has left a row empty.
_EMPTY: Final = pl.when(pl.col("row") == "addition").then("right").otherwise("missed") == ""
_HINT: Final = "`right`: yes or no, of every addition; `missed`: a number, of every dialogue"


@dataclass(frozen=True)
class Agreement:
    """What several readers of one sheet say, as frames (schemas in `dstbench.schema.audit_words`).

    Attributes:
        measures: Precision, recall and F1 by reader, schema `READER`.
        agreement: How much the readers agree, schema `AGREEMENT`.
    """

    measures: pl.DataFrame
    agreement: pl.DataFrame


def review_sheet(
    data: Data,
    found: Inconsistency,
    *,
    said: pl.DataFrame | None = None,
    split: str | None = None,
    sample: int = 50,
    seed: int = 0,
) -> pl.DataFrame:
    """The sheet for a review by hand.

    Args:
        data: The dataset, before the correction.
        found: What `inconsistency` found in it.
        said: Its utterances, as `inconsistency` takes them.
        split: The split that `inconsistency` looked at.
        sample: How many changed and how many unchanged dialogues; all where there are fewer.
        seed: Random seed of the samples.

    Returns:
        Schema `SHEET`: a row per dialogue, followed by one per addition to it.

    Raises:
        DstbenchError: The data cannot be read, hold no gold or no utterances; or the sample is of less than one.
    """
    if sample < 1 or seed < 0:
        raise UsageError(f"sample={sample}, seed={seed}", hint="dialogues per group, from 1, and a number from 0")
    gold, said = gold_and_utterances(data, said, split)
    every = gold.turns["dialogue"].unique().sort()
    is_changed = every.is_in(found.proposals["dialogue"].unique().implode())
    random = np.random.default_rng(seed)
    samples = []
    for group, of_group in zip(_GROUPS, (every.filter(is_changed), every.filter(~is_changed)), strict=True):
        drawn = of_group.gather(np.sort(random.permutation(len(of_group))[:sample]))
        samples.append(drawn.to_frame().with_columns(group=pl.lit(group), of=len(of_group)))
    dialogues = pl.concat(samples).with_row_index("order")
    additions = found.proposals.join(dialogues, on="dialogue").select(
        "order", "group", "of", *_CELL, "value",
        row=pl.lit("addition"), text=pl.format("{}: {}", "speaker", "utterance"), right=pl.lit(""),
    )  # fmt: skip
    transcripts = dialogues.join(_transcripts(gold, said, additions), on="dialogue", how="left")
    transcripts = transcripts.with_columns(row=pl.lit("dialogue"), missed=pl.lit(""))
    sheet = pl.concat([transcripts, additions], how="diagonal")
    return SHEET.conform(sheet.sort("order", pl.col("row") == "addition", "turn", "slot"))


def review(path: str | PathLike[str]) -> pl.DataFrame:
    """Precision, recall and F1 of a correction, from a filled sheet.

    Precision is the share of additions that are right, recall the share of what was missing that has been added, in
    the whole dataset. Their 95 % intervals are Wilson's. The effective sample size comes from the variance between
    dialogues (linearised, by group) and is at most the number of judged annotations.

    Args:
        path: The filled sheet: CSV with commas or semicolons.

    Returns:
        Schema `REVIEW`: a row per measure.

    Raises:
        DstbenchError: It cannot be read or is no such sheet, or a cell is empty or holds something else.
    """
    return REVIEW.conform(_measures(_answers(_read_sheet(str(path)), str(path)), str(path)))


def agreement(paths: Sequence[str | PathLike[str]]) -> Agreement:
    """What several readers of one sheet say: precision, recall and F1 of each (as `review` has them), and kappa.

    Rows that a reader has left empty are left out, for all readers; if it is the row of a dialogue, the measures leave
    out the whole dialogue.

    Args:
        paths: The filled sheets, one per reader, of the same rows in the same order; the file's name is the reader's.

    Returns:
        The measures by reader, and the agreement: Cohen's kappa of two readers, Fleiss' of more (`stats.kappa`), with
        95 % intervals by a bootstrap over dialogues. Numbers of missed annotations are categories: 1 and 2 are as
        different as 1 and 9.

    Raises:
        DstbenchError: As `review`, but for empty cells; or a sheet has other rows.
        UsageError: There are less than two sheets, or two have one name.
    """
    files = {Path(path).stem: str(path) for path in paths}
    if len(paths) < 2:
        raise UsageError("agreement is that of several readers", hint="give a filled sheet of each")
    if (repeated := first_repeated(Path(path).stem for path in paths)) is not None:
        raise UsageError(f"two sheets are called {repeated!r}", hint="give each reader's file a name of its own")
    sheets = {reader: _read_sheet(file) for reader, file in files.items()}
    _check_same_rows(sheets, files)
    empties = pl.DataFrame({reader: sheet.select(_EMPTY).to_series() for reader, sheet in sheets.items()})
    is_empty = empties.select(pl.any_horizontal(pl.all())).to_series()
    left_out = next(iter(sheets.values())).filter(is_empty)
    answers = {reader: _answers(sheet.filter(~is_empty), files[reader]) for reader, sheet in sheets.items()}
    dialogues = left_out.filter(row="dialogue").select("group", "dialogue")
    measures = [
        _measures(answered.join(dialogues, on=["group", "dialogue"], how="anti", maintain_order="left"), files[reader])
        for reader, answered in answers.items()
    ]
    rows = []
    for question, row, answer in (("right", "addition", "answer"), ("missed", "dialogue", "n_missed")):
        of_row = [
            answered.filter(row=row).select("dialogue", pl.col(answer).cast(pl.Int64)) for answered in answers.values()
        ]
        ratings = np.column_stack([answered[answer] for answered in of_row])
        found = kappa(ratings, of_row[0]["dialogue"].to_numpy())
        statistic = "cohen" if len(files) == 2 else "fleiss"
        rows.append((question, statistic, len(files), len(ratings), left_out.filter(row=row).height, *astuple(found)))
    return Agreement(
        READER.conform(
            pl.concat(of.with_columns(reader=pl.lit(name)) for name, of in zip(files, measures, strict=True))
        ),
        pl.DataFrame(rows, schema=AGREEMENT.schema, orient="row"),
    )


def _transcripts(gold: Side, said: pl.DataFrame, additions: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, text): all that is said in the dialogues to be reviewed, and what gold sets turn by turn."""
    turns = gold.turns.with_row_index("at").sort(_KEY)
    turns = turns.with_columns(before=pl.col("at").shift(1).over("dialogue"))
    cells = gold.cells.cast({"slot": pl.String, "value": pl.String})
    was = cells.select("slot", before="at", was="value")
    new = cells.join(turns, on="at").join(was, on=["before", "slot"], how="left")
    new = new.filter(pl.col("value").ne_missing(pl.col("was"))).select(*_CELL, text=pl.format("{}={}", "slot", "value"))
    added = additions.select(*_CELL, text=pl.format("+{}={}", "slot", "value"))
    changes = pl.concat([new, added]).sort(_CELL).group_by(_KEY, maintain_order=True)
    changes_of_turn = changes.agg(state=pl.col("text").str.join(", "))
    lines = turns.join(said, on=_KEY, how="left").join(changes_of_turn, on=_KEY, how="left")
    texts = [pl.format(f"{name}: {{}}", name) for name in ("system", "user", "state")]
    lines = lines.sort(_KEY).with_columns(text=pl.concat_list(texts).list.drop_nulls().list.join("\n"))
    return lines.group_by("dialogue", maintain_order=True).agg(pl.col("text").str.join("\n"))


def _read_sheet(path: str) -> pl.DataFrame:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
        header = text.partition("\n")[0]
        separator = ";" if header.count(";") > header.count(",") else ","
        sheet = pl.read_csv(StringIO(text), infer_schema=False, separator=separator)
    except OSError as error:
        raise DstbenchError(f"cannot be read: {error.strerror}", file=path) from None
    except (UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise DstbenchError(f"not a CSV file: {reason}", file=path, hint="save the sheet as CSV, in UTF-8") from None
    needed = ["row", "group", "of", "dialogue", "right", "missed"]
    if missing := [name for name in needed if name not in sheet.columns]:
        raise DstbenchError(
            f"not a review sheet: no column {', '.join(missing)}",
            file=path,
            hint="`dstbench audit inconsistency DATA --review FILE.csv` writes one",
        )
    columns = [pl.col(name).fill_null("").str.strip_chars() for name in sheet.columns if name in (*needed, *_ROW)]
    return sheet.with_row_index("line", offset=1).select("line", *columns)


def _check_same_rows(sheets: Mapping[str, pl.DataFrame], files: Mapping[str, str]) -> None:
    """Refuse sheets of other rows than the first one; the error names the first row that differs."""
    (first, rows), *others = sheets.items()
    for reader, other in others:
        names = [name for name in _ROW if name in rows.columns and name in other.columns]
        n = min(rows.height, other.height)
        is_same = pl.DataFrame([rows[name].head(n) == other[name].head(n) for name in names])
        differing = is_same.select(~pl.all_horizontal(pl.all())).to_series().arg_true()
        if len(differing) or rows.height != other.height:
            at = int(differing[0]) if len(differing) else n
            is_missing = at == other.height
            raise DstbenchError(
                f"row {at + 1} of {first} is missing" if is_missing else f"row {at + 1} is not that of {first}",
                file=files[reader],
                dialogue=(rows if is_missing else other)["dialogue"][at],
                hint="readers' sheets have the same rows in the same order, and differ in `right` and `missed` only",
            )


def _answers(sheet: pl.DataFrame, path: str) -> pl.DataFrame:
    """The sheet with `of`, `answer` and `n_missed`, after checking that every cell is filled in."""
    is_addition, missed = pl.col("row") == "addition", pl.col("missed")
    sheet = sheet.with_columns(
        of=pl.col("of").cast(pl.UInt32, strict=False),
        answer=pl.col("right").str.to_lowercase().replace_strict(_ANSWERS, default=None, return_dtype=pl.Boolean),
        n_missed=missed.cast(pl.UInt32, strict=False),
    )
    faults = {
        "`row` is neither dialogue nor addition": ~pl.col("row").is_in(["dialogue", "addition"]),
        "`group` is neither changed nor unchanged": ~pl.col("group").is_in(_GROUPS),
        "`of` is not a number": pl.col("of").is_null(),
        "`right` is not filled in": is_addition & (pl.col("right") == ""),
        "`right` is neither yes nor no": is_addition & pl.col("answer").is_null(),
        "`missed` is not filled in": ~is_addition & (missed == ""),
        "`missed` is not a number": ~is_addition & pl.col("n_missed").is_null(),
    }
    for fault, is_faulty in faults.items():
        faulty = sheet.filter(is_faulty)
        if faulty.height:
            line, dialogue = faulty.select("line", "dialogue").row(0)
            more = f", and in {faulty.height - 1:,} more" if faulty.height > 1 else ""
            raise DstbenchError(f"{fault} in row {line}{more}", file=path, dialogue=dialogue, hint=_HINT)
    return sheet


def _measures(sheet: pl.DataFrame, path: str) -> pl.DataFrame:
    """Precision, recall and F1 with their intervals, and the totals of the sample, from answers."""
    counts = _counts(sheet, path)
    right, wrong, missed, of = (counts[name].cast(pl.Float64).to_numpy() for name in ("right", "wrong", "missed", "of"))
    _, group = np.unique(counts["group"].to_numpy(), return_inverse=True)
    weight = of / np.bincount(group)[group]
    wholes = {"precision": right + wrong, "recall": right + missed, "f1": right + (wrong + missed) / 2}
    rows = [(measure, *_ratio(right, whole, weight, group)) for measure, whole in wholes.items()]
    estimates = pl.DataFrame(rows, schema=["measure", "value", "low", "high"], orient="row")
    totals = counts.select(pl.col("right", "wrong", "missed").sum(), dialogues=pl.len())
    return estimates.join(totals, how="cross")


def _counts(sheet: pl.DataFrame, path: str) -> pl.DataFrame:
    """(group, dialogue, of, right, wrong, missed) per dialogue."""
    is_addition = pl.col("row") == "addition"
    answer = pl.col("answer").filter(is_addition)
    counts = sheet.group_by("group", "dialogue").agg(
        of=pl.col("of").first(),
        n_rows=(~is_addition).sum(),
        right=answer.sum(),
        wrong=(~answer).sum(),
        missed=pl.col("n_missed").filter(~is_addition).sum(),
    )
    not_one = counts.filter(pl.col("n_rows") != 1).sort("dialogue").select("dialogue", "n_rows")
    if not_one.height:
        dialogue, n_rows = not_one.row(0)
        raise DstbenchError(f"{n_rows} rows of the dialogue itself, not one", file=path, dialogue=dialogue)
    if counts.is_empty():
        raise DstbenchError("no dialogue in the sheet", file=path)
    return counts.sort("group", "dialogue")


def _ratio(part: Floats, whole: Floats, weight: Floats, group: NDArray[np.intp]) -> tuple[float | None, ...]:
    """A ratio of weighted totals and the ends of its interval; None where it would be divided by 0."""
    total = float(weight @ whole)
    if not total:
        return None, None, None
    share = float(weight @ part) / total
    residuals = weight * (part - share * whole) / total
    by_group = [residuals[group == number] for number in np.unique(group)]
    variance = sum(len(own) * float(own.var(ddof=1)) for own in by_group if len(own) > 1)
    judged = float(whole.sum())
    effective = min(judged, share * (1 - share) / variance) if variance > 0 and 0 < share < 1 else judged
    return share, *wilson(share, effective)
