"""Reviewing a correction by hand: a sheet to fill in, and precision, recall and F1 from the filled one.

(Qian et al. 2021, Table 3.) A sample of changed dialogues and one of unchanged ones are read; a reviewer says of each
addition whether it is right, and of each dialogue how many annotations it still lacks. Both samples are weighted by how
many dialogues there are of their kind, so that the estimates are of the whole dataset.
"""

from __future__ import annotations

from io import StringIO
from os import PathLike
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.audit.missing_annotations import Inconsistency, read_dataset
from dstbench.errors import DstbenchError, UsageError
from dstbench.schema.audit_words import REVIEW, SHEET
from dstbench.stats import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dstbench.arrays import Floats
    from dstbench.readers.states import Side
    from dstbench.runs.open import Data


_KEY: Final = ["dialogue", "turn"]
_CELL: Final = ["dialogue", "turn", "slot"]
_GROUPS: Final = ("changed", "unchanged")
_ANSWERS: Final = {"yes": True, "y": True, "right": True, "no": False, "n": False, "wrong": False}
_HINT: Final = "`right`: yes or no, of every addition; `missed`: a number, of every dialogue"


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
        split: The split that was looked at.
        sample: How many changed and how many unchanged dialogues; all where there are fewer.
        seed: Of the draw.

    Returns:
        Schema `tables.SHEET`: a row per dialogue, followed by one per addition to it.

    Raises:
        DstbenchError: The data cannot be read, hold no gold or no utterances; or the sample is of less than one.
    """
    if sample < 1 or seed < 0:
        raise UsageError(f"sample={sample}, seed={seed}", hint="dialogues per group, from 1, and a number from 0")
    gold, said = read_dataset(data, said, split)
    changed = found.proposals["dialogue"].unique()
    every = gold.turns.select(pl.col("dialogue").unique()).sort("dialogue")
    every = every.with_columns(
        group=pl.when(pl.col("dialogue").is_in(changed.implode()))
        .then(pl.lit("changed"))
        .otherwise(pl.lit("unchanged"))
    )
    random = np.random.default_rng(seed)
    drawn = []
    for group in _GROUPS:
        there = every.filter(group=group)["dialogue"]
        chosen = np.sort(random.permutation(len(there))[:sample])
        drawn.append(pl.DataFrame({"dialogue": there.gather(chosen)}).with_columns(group=pl.lit(group), of=len(there)))
    dialogues = pl.concat(drawn).with_row_index("order")
    additions = found.proposals.join(dialogues, on="dialogue").select(
        "order",
        "group",
        "of",
        *_CELL,
        "value",
        row=pl.lit("addition"),
        text=pl.format("{}: {}", "speaker", "utterance"),
        right=pl.lit(""),
    )
    heads = dialogues.join(_transcripts(gold, said, additions), on="dialogue", how="left").with_columns(
        row=pl.lit("dialogue"), missed=pl.lit("")
    )
    sheet = pl.concat([heads, additions], how="diagonal").sort("order", pl.col("row") == "addition", "turn", "slot")
    return SHEET.conform(sheet)


def review(path: str | PathLike[str]) -> pl.DataFrame:
    """Precision, recall and F1 of a correction, from a filled sheet.

    Precision is the share of additions that are right; recall the share of what was missing that has been added; both
    of the whole dataset. Their 95 % intervals are Wilson's, with the effective number that the spread over dialogues
    gives (linearised, by group), at most that of the annotations that were judged.

    Args:
        path: The filled sheet: CSV with commas or semicolons.

    Returns:
        Schema `tables.REVIEW`: a row per measure.

    Raises:
        DstbenchError: It cannot be read, is no such sheet, or a cell is not filled in, or with something else.
    """
    return _estimates(_counts(_read_sheet(str(path)), str(path)))


def _transcripts(gold: Side, said: pl.DataFrame, additions: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, text): all that is said in the dialogues to be reviewed, and what is annotated turn by turn."""
    turns = gold.turns.with_row_index("at").sort(_KEY)
    before = turns.select("dialogue", pl.col("turn").shift(-1).over("dialogue"), old="at").drop_nulls()
    cells = gold.cells.cast({"slot": pl.String, "value": pl.String})
    old = cells.rename({"at": "old", "value": "was"})
    fresh = (
        cells.join(turns, on="at")
        .join(before, on=_KEY, how="left")
        .join(old, on=["old", "slot"], how="left")
        .filter(pl.col("value").ne_missing(pl.col("was")))
        .select(*_CELL, text=pl.format("{}={}", "slot", "value"))
    )
    added = additions.select(*_CELL, text=pl.format("+{}={}", "slot", "value"))
    marks = pl.concat([fresh, added]).sort(_CELL).group_by(_KEY, maintain_order=True).agg(pl.col("text").str.join(", "))
    there = turns.drop("at").join(said, on=_KEY, how="left", maintain_order="left").join(marks, on=_KEY, how="left")
    lines = [
        pl.format(f"{name}: {{}}", column)
        for name, column in (("system", "system"), ("user", "user"), ("state", "text"))
    ]
    told = there.with_columns(pl.concat_list(lines).list.drop_nulls().list.join("\n").alias("text")).sort(_KEY)
    return told.group_by("dialogue", maintain_order=True).agg(pl.col("text").str.join("\n"))


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
    columns = [pl.col(name).fill_null("").str.strip_chars() for name in needed]
    return sheet.with_row_index("line", offset=1).select("line", *columns)


def _counts(sheet: pl.DataFrame, path: str) -> pl.DataFrame:
    """(group, of, right, wrong, missed) per dialogue, once every cell is known to be filled in."""
    sheet = sheet.with_columns(
        of=pl.col("of").cast(pl.UInt32, strict=False),
        answer=pl.col("right").str.to_lowercase().replace_strict(_ANSWERS, default=None, return_dtype=pl.Boolean),
        number=pl.col("missed").cast(pl.UInt32, strict=False),
        is_addition=pl.col("row") == "addition",
    )
    faults = {
        "`row` is neither dialogue nor addition": ~pl.col("row").is_in(["dialogue", "addition"]),
        "`group` is neither changed nor unchanged": ~pl.col("group").is_in(list(_GROUPS)),
        "`of` is no number": pl.col("of").is_null(),
        "`right` is not filled in": pl.col("is_addition") & (pl.col("right") == ""),
        "`right` is neither yes nor no": pl.col("is_addition") & pl.col("answer").is_null(),
        "`missed` is not filled in": ~pl.col("is_addition") & (pl.col("missed") == ""),
        "`missed` is no number": ~pl.col("is_addition") & pl.col("number").is_null(),
    }
    for fault, found in faults.items():
        bad = sheet.filter(found)
        if bad.height:
            more = f", and in {bad.height - 1:,} more" if bad.height > 1 else ""
            raise DstbenchError(
                f"{fault} in row {bad['line'][0]}{more}", file=path, dialogue=bad["dialogue"][0], hint=_HINT
            )
    counts = sheet.group_by("group", "dialogue").agg(
        of=pl.col("of").first(),
        heads=(~pl.col("is_addition")).sum(),
        right=pl.col("answer").filter("is_addition").sum(),
        wrong=(~pl.col("answer").filter("is_addition")).sum(),
        missed=pl.col("number").filter(~pl.col("is_addition")).sum(),
    )
    lost = counts.filter(pl.col("heads") != 1).sort("dialogue")
    if lost.height:
        raise DstbenchError(
            f"{lost['heads'][0]} rows of the dialogue itself instead of one", file=path, dialogue=lost["dialogue"][0]
        )
    if counts.is_empty():
        raise DstbenchError("no dialogue in the sheet", file=path)
    return counts.sort("group", "dialogue")


def _estimates(counts: pl.DataFrame) -> pl.DataFrame:
    right, wrong, missed, of = (counts[name].cast(pl.Float64).to_numpy() for name in ("right", "wrong", "missed", "of"))
    _, group = np.unique(counts["group"].to_numpy(), return_inverse=True)
    weight = of / np.bincount(group)[group]
    rows = []
    for measure, part, whole in (
        ("precision", right, right + wrong),
        ("recall", right, right + missed),
        ("f1", right, right + (wrong + missed) / 2),
    ):
        rows.append((measure, *_ratio(part, whole, weight, group)))
    sizes = (int(column.sum()) for column in (right, wrong, missed))
    names = ("right", "wrong", "missed", "dialogues")
    table = pl.DataFrame(rows, schema=["measure", "value", "low", "high"], orient="row").with_columns(
        pl.lit(size).alias(name) for name, size in zip(names, (*sizes, counts.height), strict=True)
    )
    return REVIEW.conform(table)


def _ratio(part: Floats, whole: Floats, weight: Floats, group: NDArray[np.intp]) -> tuple[float | None, ...]:
    """A ratio of weighted totals, and the ends of its interval; None where there is nothing to divide by."""
    total = float(weight @ whole)
    if not total:
        return None, None, None
    share = float(weight @ part) / total
    residual = weight * (part - share * whole) / total
    variance = 0.0
    for one in np.unique(group):
        of_group = residual[group == one]
        if len(of_group) > 1:
            variance += len(of_group) * float(of_group.var(ddof=1))
    judged = float(whole.sum())
    effective = min(judged, share * (1 - share) / variance) if variance > 0 and 0 < share < 1 else judged
    return share, *wilson(share, effective)
