"""Annotations that are missing: a value is said and not annotated, though in such places elsewhere it is.

(Qian et al. 2021, §3.) What counts as such a place, `evidence` says. An annotation that is added holds from its turn on
until gold says something of the slot, and overwrites nothing. Those that are found become evidence themselves, and the
search is repeated until it finds nothing: so a corrected dataset lacks none, and correcting it again changes nothing.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.audit.evidence import CUES, PARTS, Corpus, judge, lay_out, propose
from dstbench.audit.mentions import Vocabulary, spans
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
from dstbench.io.atomic import replacing
from dstbench.io.escape import csv_text
from dstbench.readers.contexts import contexts
from dstbench.readers.ontology import read_database, read_ontology
from dstbench.runs.open import Data, open_gold
from dstbench.schema.audit_words import PROPOSALS, RATES, SHARES, SUMMARY
from dstbench.writers.rewrite import rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dstbench.readers.states import Side

_CELL: Final = ["row", "slot"]
_SPEAKERS: Final = ("user", "system")


@dataclass(frozen=True)
class Inconsistency:
    """The annotations that a dataset lacks, as frames (schemas in `audit.tables`).

    Attributes:
        summary: One row: of how many dialogues and turns, how many lack one.
        rates: How often each slot lacks one.
        shares: The same by who says the value.
        proposals: Each of them, with its evidence.
    """

    summary: pl.DataFrame
    rates: pl.DataFrame
    shares: pl.DataFrame
    proposals: pl.DataFrame


def inconsistency(
    data: Data,
    *,
    ontology: str | PathLike[str] | Mapping[str, Iterable[str]] | None = None,
    database: str | PathLike[str] | None = None,
    said: pl.DataFrame | None = None,
    split: str | None = None,
    support: int = 10,
    at_least: float = 0.5,
) -> Inconsistency:
    """Find the annotations that are missing in a dataset.

    Args:
        data: The dataset: a file or folder that holds gold states and utterances, or states in memory.
        ontology: Values to search for: an ontology {slot: [values]}, a schema, or the path of either.
        database: Values to search for: a folder of ``DOMAIN_db.json``. With neither, those that gold has.
        said: What was said, schema `schema.CONTEXTS`; None: it is in the data's files.
        split: The split to look at, where there are several; None: all.
        support: In how many places elsewhere something must be alike to be evidence.
        at_least: The share of such places that gold annotates elsewhere, from which on one that it does not is missing.

    Returns:
        What is missing; the frames may be empty but for `summary`.

    Raises:
        DstbenchError: The data cannot be read, hold no gold or no utterances, or none of their slots has a value.
        UsageError: `support` or `at_least` cannot be meant.

    >>> talk = [("i want a hotel in the north", "north"), ("a hotel in the south please", "south")] * 8
    >>> states = [{"dialogue_id": f"D{n}", "turn": 0, "gold": {"hotel-area": area, "hotel-stars": "4"}}
    ...           for n, (_, area) in enumerate(talk)]
    >>> del states[-1]["gold"]["hotel-area"]
    >>> said = pl.DataFrame([(f"D{n}", 0, None, text) for n, (text, _) in enumerate(talk)], orient="row",
    ...                     schema={"dialogue": pl.String, "turn": pl.UInt16, "system": pl.String, "user": pl.String})
    >>> inconsistency(states, said=said, support=5).proposals.select("dialogue", "slot", "value", "share").rows()
    [('D15', 'hotel-area', 'south', 1.0)]
    """
    if support < 1 or not 0 < at_least <= 1:
        raise UsageError(f"support={support}, at_least={at_least}", hint="a number of places, and a share up to 1")
    gold, said = read_dataset(data, said, split)
    corpus = lay_out(gold, said, _vocabulary(gold, ontology, database))
    rounds: list[pl.DataFrame] = []
    cells = corpus.cells
    judged = first = judge(corpus, cells, support=support)
    while True:
        found = _until(propose(judged, at_least=at_least), corpus, cells)
        if found.is_empty():
            break
        rounds.append(found.with_columns(round=pl.lit(len(rounds) + 1, pl.UInt32)))
        cells = pl.concat([cells, _cells(found)])
        judged = judge(corpus, cells, support=support)
    proposals = _evidence(rounds, corpus)
    rates, shares = _rates(corpus, first, proposals)
    return Inconsistency(_summary(corpus, proposals), rates, shares, proposals)


def additions(proposals: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The states' new entries.

    Args:
        proposals: Missing annotations, schema `tables.PROPOSALS`.
        turns: (dialogue, turn), the dataset's turns.

    Returns:
        (dialogue, turn, slot, value), one row per turn whose state gets the slot, sorted.
    """
    rows = turns.select("dialogue", "turn").sort("dialogue", "turn").with_row_index("row")
    held = proposals.join(rows, on=["dialogue", "turn"], how="left", maintain_order="left")
    spans_of = held.select("slot", "value", row=pl.int_ranges("row", pl.col("row") + pl.col("turns"), dtype=pl.UInt32))
    entries = spans_of.explode("row").join(rows, on="row").select("dialogue", "turn", "slot", "value")
    return entries.sort("dialogue", "turn", "slot")


def read_dataset(data: Data, said: pl.DataFrame | None, split: str | None) -> tuple[Side, pl.DataFrame]:
    """Gold's states, and what was said.

    Args:
        data: The dataset.
        said: What was said, where that is known already; None: it is in the data's files.
        split: The split to read; None: all.

    Raises:
        DstbenchError: There is no gold, or there are no utterances of it.
    """
    states = open_gold(data, split)
    if states.gold is None:
        raise DstbenchError(f"no gold inside ({states.format})", file=states.source, hint="give the dataset")
    if said is None:
        if not isinstance(data, (str, PathLike)):
            raise UsageError("states in memory hold no utterances", hint="said= takes what dstbench.contexts gives")
        said = contexts(data, split)
    silent = states.gold.turns.join(said, on=["dialogue", "turn"], how="anti")
    if silent.height == states.gold.turns.height:
        raise DstbenchError("none of the turns has utterances", file=states.source, hint="are they of this dataset?")
    if silent.height:
        dialogue, turn = silent.row(0)
        warnings.warn(
            f"{states.source}: {silent.height:,} turns without utterances (first: dialogue {dialogue}, turn {turn})",
            DstbenchWarning,
            stacklevel=3,
        )
    return states.gold, said


def _vocabulary(
    gold: Side,
    ontology: str | PathLike[str] | Mapping[str, Iterable[str]] | None,
    database: str | PathLike[str] | None,
) -> Vocabulary:
    """The values to search for, of slots that gold has."""
    own = gold.cells.select(pl.col("slot", "value").cast(pl.String)).group_by("slot").agg(pl.col("value").unique())
    of_gold = {slot: frozenset(values) for slot, values in own.iter_rows()}
    if ontology is None and database is None:
        return Vocabulary.of(of_gold)
    values: dict[str, frozenset[str]] = {}
    if ontology is not None:
        values |= read_ontology(str(ontology) if isinstance(ontology, PathLike) else ontology)
    for slot, others in (read_database(str(database)) if database is not None else {}).items():
        values[slot] = values.get(slot, frozenset()) | others
    known = {slot: values[slot] for slot in values.keys() & of_gold.keys()}
    if not known:
        raise DstbenchError(
            "ontology and database have none of the dataset's slots",
            hint=f"the dataset has {', '.join(sorted(of_gold)[:3])}, …; they {', '.join(sorted(values)[:3]) or 'none'}",
        )
    return Vocabulary.of(known)


def _until(found: pl.DataFrame, corpus: Corpus, cells: pl.DataFrame) -> pl.DataFrame:
    """What is found, with the row `until` which each holds, and what gold says `later`; without mere repetitions."""
    ends = corpus.turns.group_by("dialogue").agg(end=pl.col("row").max() + 1)
    rows = found.join(corpus.turns.select("row", "dialogue"), on="row").join(ends, on="dialogue")
    rows = rows.join(
        corpus.spelled.rename({"value": "written"}), left_on=["slot", "value"], right_on=["slot", "canonical"]
    )
    dialogues = corpus.turns.select("row", "dialogue")
    listed = cells.join(dialogues, on="row").with_columns(pl.col("slot", "value").cast(pl.String))
    said_next = listed.select("dialogue", "slot", "row", next="row", later="value").sort("row")
    held = (
        rows.sort("row")
        .join_asof(
            said_next,
            on="row",
            by=["dialogue", "slot"],
            strategy="forward",
            allow_exact_matches=False,
            check_sortedness=False,
        )
        .with_columns(until=pl.min_horizontal("end", "next"))
        .sort("dialogue", "slot", "row")
    )
    same = pl.struct("dialogue", "slot", "until")  # one stretch of turns in which gold says nothing of the slot
    repeats = (same == same.shift(1)) & (pl.col("written") == pl.col("written").shift(1))
    held = held.filter(~repeats.fill_null(False))
    ended = pl.when(same == same.shift(-1)).then(pl.col("row").shift(-1)).otherwise("until")
    return held.with_columns(until=ended.fill_null(pl.col("until"))).drop("end", "next", "dialogue")


def _cells(found: pl.DataFrame) -> pl.DataFrame:
    """The states' new cells."""
    rows = pl.int_ranges("row", "until", dtype=pl.UInt32)
    entries = found.select("slot", row=rows, value="written").explode("row")
    return entries.select("row", pl.col("slot", "value").cast(pl.Categorical))


def _evidence(rounds: list[pl.DataFrame], corpus: Corpus) -> pl.DataFrame:
    """All that is found, with its evidence; schema `tables.PROPOSALS`."""
    if not rounds:
        return PROPOSALS.schema.to_frame()
    found = (
        spans(pl.concat(rounds), corpus.texts)
        .join(corpus.turns, on="row")
        .with_columns(
            said=pl.col("text").str.slice(pl.col("start"), pl.col("end") - pl.col("start")),
            turns=pl.col("until") - pl.col("row"),
            utterance=pl.col("text"),
        )
    )
    columns = {name: pl.col(name) for name in PROPOSALS.columns}
    columns |= {
        "value": pl.col("written"),
        "place": _place(),
        "mentions": pl.col("others"),
    }
    return PROPOSALS.conform(found.with_columns(**columns)).sort("dialogue", "turn", "slot")


def _place() -> pl.Expr:
    """What is alike in such places, in words."""
    texts = pl.lit("")
    for speaker, cues in CUES.items():
        names = {"focus": "when", "value": "value", "one": cues[0], "other": cues[1]}
        for level, parts in enumerate(PARTS):
            words = [pl.format(f"{names[part]}={{}}", pl.col(part).fill_null("-")) for part in parts]
            text = pl.concat_str(words, separator=" ")
            texts = pl.when((pl.col("speaker") == speaker) & (pl.col("level") == level)).then(text).otherwise(texts)
    return texts


def _rates(corpus: Corpus, judged: pl.DataFrame, proposals: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`Inconsistency.rates` and `Inconsistency.shares`."""
    # A value that both say in the turn is the user's.
    settings = (
        judged.filter("is_set")
        .cast({"slot": pl.String, "speaker": pl.String})
        .group_by(_CELL)
        .agg(by_user=(pl.col("speaker") == "user").any())
    )
    speaker = pl.when("by_user").then(pl.lit("user")).otherwise(pl.lit("system"))
    annotated = settings.group_by("slot", speaker=speaker).agg(annotated=pl.len())
    missing = proposals.group_by("slot", "speaker").agg(missing=pl.len())
    slots = pl.concat([annotated["slot"], missing["slot"]]).unique().sort()
    every = slots.to_frame().join(pl.DataFrame({"speaker": _SPEAKERS}), how="cross")
    rate = pl.when(pl.col("annotated") + pl.col("missing") > 0).then(
        pl.col("missing") / (pl.col("annotated") + pl.col("missing"))
    )
    shares = (
        every.join(annotated, on=["slot", "speaker"], how="left")
        .join(missing, on=["slot", "speaker"], how="left")
        .with_columns(pl.col("annotated", "missing").fill_null(0))
    )
    whole = pl.col("missing").sum().over("slot")
    shares = shares.with_columns(rate=rate, share=pl.when(whole > 0).then(pl.col("missing") / whole))
    domains = corpus.domains.cast(pl.String)
    of_domain = (
        corpus.cells.cast({"slot": pl.String})
        .join(domains, on="slot")
        .join(corpus.turns, on="row")
        .group_by("domain")
        .agg(of_dialogues=pl.col("dialogue").n_unique())
    )
    per_slot = proposals.group_by("slot").agg(late=_is_late().sum(), dialogues=pl.col("dialogue").n_unique())
    rates = (
        shares.group_by("slot", maintain_order=True)
        .agg(pl.col("annotated", "missing").sum())
        .join(per_slot, on="slot", how="left")
        .join(domains, on="slot")
        .join(of_domain, on="domain")
        .with_columns(pl.col("late", "dialogues").fill_null(0), rate=rate)
        .with_columns(dialogue_rate=pl.col("dialogues") / pl.col("of_dialogues"))
    )
    return RATES.conform(rates).sort("slot"), SHARES.conform(shares).sort("slot", pl.col("speaker") == "system")


def _summary(corpus: Corpus, proposals: pl.DataFrame) -> pl.DataFrame:
    changed = additions(proposals, corpus.turns)
    return SUMMARY.conform(
        proposals.select(
            dialogues=pl.lit(corpus.turns["dialogue"].n_unique()),
            dialogues_changed=pl.col("dialogue").n_unique(),
            turns=pl.lit(corpus.turns.height),
            turns_changed=pl.lit(changed.n_unique(["dialogue", "turn"])),
            missing=pl.len(),
            user=(pl.col("speaker") == "user").sum(),
            system=(pl.col("speaker") == "system").sum(),
            late=_is_late().sum(),
            rounds=pl.col("round").max().fill_null(0),
        )
    )


def _is_late() -> pl.Expr:
    return (pl.col("later") == pl.col("value")).fill_null(False)


# --- correction -------------------------------------------------------------------------------------------------------


def correct(
    path: str | PathLike[str],
    out: str | PathLike[str],
    found: Inconsistency,
    *,
    log: str | PathLike[str] | None = None,
) -> None:
    """Write a dataset again, in its own format, with the annotations that it lacks.

    Args:
        path: The dataset.
        out: The file or folder to write.
        found: What `inconsistency` found in it.
        log: A CSV file to write, a row per addition with its evidence (schema `tables.PROPOSALS`); None: none.

    Raises:
        DstbenchError: The dataset cannot be read, or its format cannot be written.
    """
    gold = open_gold(path).gold
    if gold is None:
        raise DstbenchError("no gold inside", file=str(path), hint="give the dataset")
    rewrite(path, out, states=additions(found.proposals, gold.turns))
    if log is not None:
        write_log(found, log)


def write_log(found: Inconsistency, path: str | PathLike[str]) -> None:
    """Write what is missing, with its evidence, as CSV.

    Args:
        found: What `inconsistency` found.
        path: The file to write, a row per addition (schema `tables.PROPOSALS`).

    Raises:
        DstbenchError: The file cannot be written.
    """
    with replacing(str(path)) as part:
        part.write_text(csv_text(found.proposals), encoding="utf-8")
