"""Review of a correction by hand: the sheet for readers, and precision, recall and F1 from filled sheets.

(Qian et al. 2021, Table 3.) Readers get a sample of changed dialogues and one of unchanged dialogues. They
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
from dstbench.audit.corpus import first_of
from dstbench.audit.inputs import Dialogues
from dstbench.audit.missing_annotations import Inconsistency
from dstbench.audit.search import canonical, marked
from dstbench.errors import DstbenchError, UsageError, first_repeated
from dstbench.io.files import File
from dstbench.io.tables import read_table
from dstbench.runs.open import Data
from dstbench.schema.audit import AGREEMENT, READER, REVIEW, REVIEWED_ADDITIONS, REVIEWED_DIALOGUES, SHEET
from dstbench.schema.core import BETWEEN
from dstbench.schema.record import Record
from dstbench.stats import kappa, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Whether the correction added anything to a dialogue.
GROUPS: Final = ("changed", "unchanged")
_KEY: Final = ["dialogue", "turn"]
_CELL: Final = ["dialogue", "turn", "slot"]
_PARTIES: Final = ("system", "user")

# What a speaker does with a value, by rule and speaker; else the speaker says it.
_VERBS: Final = {
    "name user": "names", "name system": "offers", "kind user": "asks for", "feature user": "wishes for",
    "wish user": "wishes for",
}  # fmt: skip
# What tells the rows of sheets; spreadsheets may write values otherwise.
_ROW: Final = ("row", "group", "of", "dialogue", "turn", "slot")
_NEEDED: Final = ("row", "group", "of", "dialogue", "slot", "right", "missed")
_ANSWERS: Final = {"yes": True, "y": True, "right": True, "no": False, "n": False, "wrong": False}
_IS_ADDITION: Final = pl.col("row") == "addition"
_IS_CHANGED: Final = pl.col("group") == "changed"
_RIGHT, _MISSED, _N_MISSED = pl.col("right"), pl.col("missed"), pl.col("n_missed")
# Whether a reader has left a row empty.
_EMPTY: Final = pl.when(_IS_ADDITION).then("right").otherwise("missed") == ""
_N_ADDITIONS: Final = _IS_ADDITION.sum().over("dialogue")
# Faults of rows: they are no longer those that were written, sampled dialogues, each with its additions.
_FAULTS: Final = {
    "`row` is neither dialogue nor addition": ~pl.col("row").is_in(["dialogue", "addition"]),
    "`group` is neither changed nor unchanged": ~pl.col("group").is_in(GROUPS),
    "`of` is not a number": pl.col("of").is_null(),
    "`slot` is empty": _IS_ADDITION & (pl.col("slot") == ""),
    "`of` is not the same as in the rows before": pl.col("of") != pl.col("of").first().over("group"),
    "a dialogue without a row of its own (or with several)": (~_IS_ADDITION).sum().over("dialogue") != 1,
    "a dialogue that is in both groups": pl.col("group").n_unique().over("dialogue") != 1,
    "a changed dialogue without additions": _IS_CHANGED & (_N_ADDITIONS == 0),
    "an unchanged dialogue with additions": ~_IS_CHANGED & (_N_ADDITIONS > 0),
}
# Faults of what readers fill in.
_FAULTY_ANSWERS: Final = {
    "`right` is not filled in": _IS_ADDITION & (_RIGHT == ""),
    "`right` is neither yes nor no": _IS_ADDITION & pl.col("answer").is_null(),
    "`missed` is not filled in": ~_IS_ADDITION & (_MISSED == "") & (~_IS_ADDITION & (_MISSED != "")).any(),
    "`missed` is not a number": ~_IS_ADDITION & (_MISSED != "") & _N_MISSED.is_null(),
}


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
    _refuse(sheet, {**_FAULTS, **_FAULTY_ANSWERS}, str(path))
    counts = _counts(sheet)
    of_dialogues = counts.with_columns(
        right=_IS_CHANGED & (pl.col("wrong") == 0),
        wrong=_IS_CHANGED & (pl.col("wrong") > 0),
        missed=pl.when(_MISSED.is_not_null()).then(~_IS_CHANGED & (_MISSED > 0)),
    )
    by_unit = {"additions": counts, "dialogues": of_dialogues}
    measures = pl.concat(_measures(of_unit).with_columns(unit=pl.lit(unit)) for unit, of_unit in by_unit.items())
    return Review(REVIEW.conform(measures), _by_slot(sheet, counts), _by_group(counts))


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
    (one, first), *others = sheets.items()
    for reader, other in others:
        _check_same_rows(first, other, one, files[reader])
    _refuse(first, _FAULTS, files[one])
    is_empty = pl.select(pl.any_horizontal(sheet.select(_EMPTY).to_series() for sheet in sheets.values())).to_series()
    left_out = first.filter(is_empty)
    dialogues = left_out.filter(row="dialogue").select("group", "dialogue")
    if dialogues.height == (first["row"] == "dialogue").sum():
        # Without `missed`, all dialogues are kept, because their rows say how they were sampled.
        none = {"missed": pl.lit(""), "n_missed": pl.lit(None, pl.UInt32)}
        sheets = {reader: sheet.with_columns(**none) for reader, sheet in sheets.items()}
        is_empty, dialogues = is_empty & (first["row"] == "addition"), dialogues.clear()
    measures, rows = list[pl.DataFrame](), list[tuple[object, ...]]()
    for reader, sheet in sheets.items():
        sheets[reader] = answered = sheet.filter(~is_empty)
        _refuse(answered, _FAULTY_ANSWERS, files[reader])
        kept = answered.join(dialogues, on=["group", "dialogue"], how="anti", maintain_order="left")
        measures.append(_measures(_counts(kept)).with_columns(reader=pl.lit(reader)))
    for question, row, answer in (("right", "addition", "answer"), ("missed", "dialogue", "n_missed")):
        of_row = [sheet.filter(row=row).drop_nulls(answer) for sheet in sheets.values()]
        ratings = np.column_stack([answered[answer].cast(pl.Int64) for answered in of_row])
        agreed = astuple(kappa(ratings, of_row[0]["dialogue"].to_numpy()))
        statistic, n_left_out = "cohen" if len(files) == 2 else "fleiss", left_out.filter(row=row).height
        rows.append((question, statistic, len(files), len(ratings), n_left_out, *agreed))
    return Agreement(READER.conform(pl.concat(measures)), pl.DataFrame(rows, AGREEMENT.schema, orient="row"))


def _read_sheet(path: str) -> pl.DataFrame:
    """A sheet's texts, and what the cells mean: `of`, `answer`, `n_missed` (null: not filled in, or no answer)."""
    sheet = read_table(File(path), columns=(*_NEEDED, *_ROW)).rows
    if missing := [name for name in _NEEDED if name not in sheet.columns]:
        hint = "`dstbench audit inconsistency DATA --review FILE.csv` writes one"
        raise DstbenchError(f"not a review sheet: no column {', '.join(missing)}", file=path, hint=hint)
    if sheet.is_empty():
        raise DstbenchError("no dialogue in the sheet", file=path)
    sheet = sheet.select(name for name in sheet.columns if name in (*_NEEDED, *_ROW))
    sheet = sheet.cast(pl.String).fill_null("").select(pl.all().str.strip_chars()).with_row_index("line", offset=1)
    return sheet.with_columns(
        pl.col("of").cast(pl.UInt32, strict=False),
        answer=_RIGHT.str.to_lowercase().replace_strict(_ANSWERS, default=None, return_dtype=pl.Boolean),
        n_missed=_MISSED.cast(pl.UInt32, strict=False),
    )


def _check_same_rows(sheet: pl.DataFrame, other: pl.DataFrame, reader: str, file: str) -> None:
    """Refuse a sheet whose rows differ from a reader's; the error names the first such row."""
    names = [name for name in _ROW if name in sheet.columns and name in other.columns]
    rows = zip_longest(*(table.select(names).iter_rows(named=True) for table in (sheet, other)))
    for number, (row, its) in enumerate(rows, 1):
        if row != its:
            what = f"row {number} is not that of {reader}" if its else f"row {number} of {reader} is missing"
            hint = "readers' sheets have the same rows in the same order, and differ in `right` and `missed` only"
            raise DstbenchError(what, file=file, dialogue=(its or row)["dialogue"], hint=hint)


def _refuse(sheet: pl.DataFrame, faults: Mapping[str, pl.Expr], path: str) -> None:
    """Raise the first fault that a row has, and name the first such row."""
    for fault, is_faulty in faults.items():
        faulty = sheet.filter(is_faulty)
        if faulty.height:
            line, dialogue = faulty.select("line", "dialogue").row(0)
            more = f", and in {faulty.height - 1:,} more" if faulty.height > 1 else ""
            hint = "`right`: yes or no, of every addition; `missed`: a number, of every dialogue or of none"
            hint = "keep all rows of a dialogue as they are, or remove all of them" if fault in _FAULTS else hint
            raise DstbenchError(f"{fault} in row {line}{more}", file=path, dialogue=dialogue, hint=hint)


def _counts(sheet: pl.DataFrame) -> pl.DataFrame:
    """(group, dialogue, of, right, wrong, missed) per dialogue; missed is null if it is not filled in."""
    answer, n_missed = pl.col("answer").filter(_IS_ADDITION), _N_MISSED.filter(~_IS_ADDITION)
    counts = sheet.group_by("group", "dialogue").agg(
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


def _by_slot(sheet: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """`Review.additions`."""
    dialogues, additions = counts.filter(_IS_CHANGED).select("dialogue"), sheet.filter(_IS_ADDITION)
    rows = []
    for slot in [None, *additions["slot"].unique().sort()] if additions.height else []:
        of_slot = additions if slot is None else additions.filter(slot=slot)
        judged = of_slot.group_by("dialogue").agg(right=pl.col("answer").sum(), n=pl.len())
        judged = dialogues.join(judged, on="dialogue", how="left", maintain_order="left").fill_null(0)
        right, n = (judged[name].cast(pl.Float64).to_numpy() for name in ("right", "n"))
        ratio = _ratio(right, n, np.ones_like(n), np.zeros(len(n), np.intp))
        rows.append((slot, len(of_slot), int(right.sum()), int((n - right).sum()), *ratio))
    return pl.DataFrame(rows, REVIEWED_ADDITIONS.schema, orient="row")


def _by_group(counts: pl.DataFrame) -> pl.DataFrame:
    """`Review.dialogues`."""
    is_complete, is_said, n, right = _MISSED == 0, _MISSED.is_not_null().all(), pl.col("dialogues"), _RIGHT
    is_right = pl.when(_IS_CHANGED).then(pl.col("wrong") == 0).otherwise(is_complete)
    of_group = counts.group_by("group").agg(
        of=pl.col("of").first(),
        dialogues=pl.len(),
        right=pl.when(is_said | _IS_CHANGED.all()).then(is_right.sum()),
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


# --- the sheet --------------------------------------------------------------------------------------------------------


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
        data: The dataset, or several, as `inconsistency` takes them; before the correction.
        found: The result of `inconsistency` for it.
        said: Its utterances, as `inconsistency` takes them.
        split: The split that `inconsistency` looked at.
        sample: How many changed and how many unchanged dialogues to draw; if there are fewer, all.
        seed: Random seed of the samples.

    Returns:
        Schema `SHEET`: a row per dialogue, followed by one per addition to it.

    Raises:
        DstbenchError: The data cannot be read, hold no gold or no utterances; or `sample` is less than 1.
    """
    if sample < 1 or seed < 0:
        raise UsageError(f"sample={sample}, seed={seed}", hint="dialogues per group, from 1, and a number from 0")
    corpus = Dialogues.read(data, said, split)
    every, random = corpus.turns["dialogue"].unique().sort(), np.random.default_rng(seed)
    is_changed = every.is_in(found.proposals["dialogue"].unique().implode())
    samples = []
    for group, of_group in zip(GROUPS, (every.filter(is_changed), every.filter(~is_changed)), strict=True):
        drawn = of_group.gather(np.sort(random.permutation(len(of_group))[:sample]))
        samples.append(drawn.to_frame().with_columns(group=pl.lit(group), of=len(of_group)))
    dialogues = pl.concat(samples).with_row_index("order")
    turns = corpus.turns.join(dialogues, on="dialogue", how="semi").join(corpus.said, on=_KEY, how="left").sort(_KEY)
    cells = corpus.cells.join(dialogues, on="dialogue", how="semi")
    proposals = found.proposals.join(dialogues, on="dialogue")
    sheet = pl.concat([_transcripts(turns, cells, proposals), _additions(turns, cells, proposals)], how="diagonal")
    sheet = sheet.join(dialogues, on="dialogue")
    return SHEET.conform(sheet.sort("order", pl.col("row") == "addition", "turn", "slot"))


def _lines(*names: str) -> pl.Expr:
    """What is in some columns, each in a line that begins with the column's name; without those that are null."""
    return pl.concat_list(pl.format(f"{name}: {{}}", name) for name in names).list.drop_nulls().list.join("\n")


def _additions(turns: pl.DataFrame, cells: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """The rows of additions: the evidence in words, what is said around the value, gold's state of the turn."""
    entries = proposals.select(_CELL).join(cells.rename({"slot": "of_gold"}), on=_KEY)
    domain, other = (pl.col(name).str.split("-").list.first() for name in ("slot", "of_gold"))
    entries = entries.sort(*_CELL, domain != other, "of_gold")
    entry = pl.format("{} = {}", "of_gold", "value")
    states = entries.group_by(_CELL, maintain_order=True).agg(state=entry.str.join("; "))
    exchange, text = _lines(*_PARTIES).alias("exchange"), marked(pl.col("utterance"), pl.col("start"), pl.col("end"))
    around = turns.with_columns(before=exchange.shift(1).over("dialogue"), after=exchange.shift(-1).over("dialogue"))
    additions = proposals.drop("group", "of", "order").join(around, on=_KEY).join(states, on=_CELL, how="left")
    additions = additions.with_columns(
        *(pl.when(speaker=who).then(text).otherwise(who).alias(who) for who in _PARTIES),
        meaning=canonical(additions["slot"], additions["value"]),
    )
    # Some files write a hotel's type as true or false.
    is_coded = pl.col("value").is_in(["true", "false"]) & ~pl.col("meaning").is_in(["yes", "no"])
    meaning = pl.when(is_coded).then(pl.format(" The value {} stands for {}.", "value", "meaning")).fill_null("")
    return additions.with_columns(
        exchange, pl.col("state").fill_null("(empty)"), evidence=evidence_in_words() + meaning,
        row=pl.lit("addition"), right=pl.lit(""),
    )  # fmt: skip


def _transcripts(turns: pl.DataFrame, cells: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """The rows of dialogues: all that is said in them, and how gold's state changes turn by turn."""
    before, setting = turns.select(*_KEY, next=pl.col("turn").shift(-1).over("dialogue")).drop_nulls(), "{} = {}"
    was = cells.join(before, on=_KEY).select("dialogue", "slot", turn="next", was="value")
    changes = cells.join(was, on=_CELL, how="full", coalesce=True).filter(pl.col("value").ne_missing(pl.col("was")))
    change = pl.coalesce(pl.format(setting, "slot", "value"), pl.format("{} removed", "slot"))
    added = proposals.select(*_CELL, text=pl.format(f"+ {setting}", "slot", "value"))
    state = pl.concat([changes.select(*_CELL, text=change), added]).sort(*_CELL, "text")
    state = state.group_by(_KEY, maintain_order=True).agg(state=pl.col("text").str.join("; "))
    lines = turns.join(state, on=_KEY, how="left").sort(_KEY).group_by("dialogue", maintain_order=True)
    texts = pl.format("[turn {}]\n{}", "turn", _lines(*_PARTIES, "state"))
    transcripts = lines.agg(transcript=texts.str.join("\n"))
    return transcripts.with_columns(row=pl.lit("dialogue"), missed=pl.lit(""))


# --- evidence in words ------------------------------------------------------------------------------------------------


def evidence_in_words() -> pl.Expr:
    """The evidence of proposals (schema `PROPOSALS`) in plain sentences.

    >>> row = {"rule": "fact", "speaker": "system", "said": "north", "entity": "acorn lodge", "fact": "north",
    ...        "refused": False, "place": "rule=fact", "annotated": 5, "mentions": 103, "value": "north", "later": None}
    >>> print(pl.DataFrame([row]).select(evidence_in_words()).item())
    The system says "north"; the database has north for acorn lodge. Elsewhere gold annotates 5 of 103 such mentions.
    """
    rule, none = pl.col("rule"), pl.lit("")
    verb = pl.format("{} {}", "rule", "speaker").replace_strict(_VERBS, default="says", return_dtype=pl.String)
    # By default, neither lists nor refused offers are added.
    is_list, is_refused = pl.col("value").str.contains(BETWEEN, literal=True), pl.col("refused").fill_null(False)
    offer = pl.when(is_list).then(pl.lit(", among others")).when(is_refused).then(pl.lit(", which the user refuses"))
    of_place = pl.coalesce(
        pl.when(rule == "name").then(none),  # a name is the place itself
        pl.format("; the database has {} for {}", "fact", "entity"),
        pl.format("; no database has it for {}", "entity"),  # there may be no database, or it may not have the slot
        none,
    )
    alike = {
        "such mentions of any slot": pl.col("place").str.ends_with("slot=any"),
        "similar mentions": rule == "similar",
        "such mentions": pl.lit(True),
    }
    return pl.format(
        'The {} {} "{}"{}{}. Elsewhere gold annotates {} of {} {}.{}',
        "speaker", verb, "said", offer.otherwise(none), of_place, "annotated", "mentions",
        first_of(alike),
        pl.coalesce(pl.format(" Later in the dialogue gold has {}.", "later"), none),
    )  # fmt: skip
