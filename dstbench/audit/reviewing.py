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
from dstbench.audit.inputs import Dialogues
from dstbench.audit.mentions import CANONICAL, marked
from dstbench.audit.missing_annotations import Inconsistency
from dstbench.conventions.convention import Convention
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
    dialogues = _drawn(corpus.turns["dialogue"].unique().sort(), found.proposals, sample, seed)
    turns = corpus.turns.join(dialogues, on="dialogue", how="semi").join(corpus.said, on=_KEY, how="left").sort(_KEY)
    cells = corpus.cells.join(dialogues, on="dialogue", how="semi")
    cells = cells.filter(~pl.col("value").is_in(Convention().absent))
    proposals = found.proposals.join(dialogues, on="dialogue")
    additions = (
        _with_exchanges(proposals, turns)
        .join(_states(proposals, cells), on=_CELL, how="left")
        .join(_meanings(proposals), on=["slot", "value"], how="left")
        .with_columns(state=pl.col("state").fill_null("(empty)"), evidence=evidence_in_words() + _meaning_in_words())
        .with_columns(row=pl.lit("addition"), right=pl.lit(""))
    )
    transcripts = dialogues.join(_transcripts(turns, cells, proposals), on="dialogue", how="left")
    transcripts = transcripts.with_columns(row=pl.lit("dialogue"), missed=pl.lit(""))
    sheet = pl.concat([transcripts, additions], how="diagonal")
    return SHEET.conform(sheet.sort("order", pl.col("row") == "addition", "turn", "slot"))


def _drawn(every: pl.Series, proposals: pl.DataFrame, sample: int, seed: int) -> pl.DataFrame:
    """(dialogue, group, of, order): the dialogues that are drawn from all."""
    is_changed = every.is_in(proposals["dialogue"].unique().implode())
    random = np.random.default_rng(seed)
    samples = []
    for group, of_group in zip(GROUPS, (every.filter(is_changed), every.filter(~is_changed)), strict=True):
        drawn = of_group.gather(np.sort(random.permutation(len(of_group))[:sample]))
        samples.append(drawn.to_frame().with_columns(group=pl.lit(group), of=len(of_group)))
    return pl.concat(samples).with_row_index("order")


def _with_exchanges(proposals: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Proposals with the `exchange` of their turn, where the value is marked, and those `before` and `after`."""
    exchange = _lines(*_PARTIES).alias("exchange")
    around = turns.with_columns(before=exchange.shift(1).over("dialogue"), after=exchange.shift(-1).over("dialogue"))
    text = marked(pl.col("utterance"), pl.col("start"), pl.col("end"))
    is_speaker = (pl.when(speaker=who).then(text).otherwise(who).alias(who) for who in _PARTIES)
    return proposals.join(around, on=_KEY).with_columns(is_speaker).with_columns(exchange)


def _lines(*names: str) -> pl.Expr:
    """What is in some columns, each in a line that begins with the column's name; without those that are null."""
    return pl.concat_list(pl.format(f"{name}: {{}}", name) for name in names).list.drop_nulls().list.join("\n")


def _states(proposals: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, turn, slot, state): gold's state in the turn of each proposal, the slot's domain first."""
    entries = proposals.select(_CELL).join(cells.rename({"slot": "of_gold"}), on=_KEY)
    domain, other = (pl.col(name).str.split("-").list.first() for name in ("slot", "of_gold"))
    entries = entries.sort(*_CELL, domain != other, "of_gold")
    return entries.group_by(_CELL, maintain_order=True).agg(
        state=pl.format("{} = {}", "of_gold", "value").str.join("; ")
    )


def _transcripts(turns: pl.DataFrame, cells: pl.DataFrame, proposals: pl.DataFrame) -> pl.DataFrame:
    """(dialogue, transcript): all that is said in dialogues, and how gold's state changes turn by turn."""
    before = turns.select(*_KEY, next=pl.col("turn").shift(-1).over("dialogue")).drop_nulls()
    was = cells.join(before, on=_KEY).select("dialogue", "slot", turn="next", was="value")
    changes = cells.join(was, on=_CELL, how="full", coalesce=True).filter(pl.col("value").ne_missing(pl.col("was")))
    changes = changes.select(
        *_CELL, text=pl.when(pl.col("value").is_null()).then(pl.format("{} removed", "slot")).otherwise(_setting())
    )
    added = proposals.select(*_CELL, text=pl.format("+ {}", _setting()))
    state = pl.concat([changes, added]).sort(*_CELL, "text").group_by(_KEY, maintain_order=True)
    lines = turns.join(state.agg(state=pl.col("text").str.join("; ")), on=_KEY, how="left").sort(_KEY)
    texts = pl.format("[turn {}]\n{}", "turn", _lines(*_PARTIES, "state"))
    return lines.group_by("dialogue", maintain_order=True).agg(transcript=texts.str.join("\n"))


def _setting() -> pl.Expr:
    return pl.format("{} = {}", "slot", "value")


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
        pl.coalesce(pl.when(holds).then(pl.lit(words)) for words, holds in alike.items()),
        pl.coalesce(pl.format(" Later in the dialogue gold has {}.", "later"), none),
    )  # fmt: skip


def _meanings(proposals: pl.DataFrame) -> pl.DataFrame:
    """(slot, value, meaning): what true and false mean in slots that some files write like that (`hotel-type`)."""
    pairs = proposals.filter(pl.col("value").is_in(["true", "false"])).select("slot", "value").unique().iter_rows()
    rows = [(slot, value, meaning) for slot, value in pairs if (meaning := CANONICAL(slot, value)) not in ("yes", "no")]
    return pl.DataFrame(rows, dict.fromkeys(("slot", "value", "meaning"), pl.String), orient="row")


def _meaning_in_words() -> pl.Expr:
    return pl.format(" The value {} stands for {}.", "value", "meaning").fill_null("")
