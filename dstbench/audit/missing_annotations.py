"""Missing annotations: values that are said and not annotated, although they are annotated in similar places.

(Qian et al. 2021, §3.) A value that is said belongs to the state by a rule (`discussion`), or, in domains without
names and on request, because gold annotates most similar places (`rounds`). An added annotation holds from its turn
until gold next has a value of the slot. Additions change what is discussed and are evidence themselves, so the search
is repeated until it finds nothing: correcting a corrected dataset changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Final

import polars as pl

from dstbench.audit.corpus import Corpus, lay_out, lay_out_places, look_up
from dstbench.audit.inputs import Dialogues, gold_of
from dstbench.audit.rounds import list_candidates, mentions_like, search, with_words
from dstbench.audit.rules import Rules, read_rules
from dstbench.audit.search import DOMAIN, vocabulary
from dstbench.conventions.slots import domain_of
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.io.atomic import write_whole
from dstbench.io.escape import csv_text
from dstbench.metrics.base import divide
from dstbench.readers.ontology import read_database, read_ontology
from dstbench.runs.open import Data, open_gold
from dstbench.schema.audit import MODIFIED, OF_PAIR, PAIRS, PROPOSALS, RATES, SHARES, SUMMARY
from dstbench.schema.core import BETWEEN, LOGGED
from dstbench.schema.record import Record
from dstbench.writers.rewrite import rewrite

_CELL: Final = ["dialogue", "turn", "slot"]
_IS_LATE: Final = (pl.col("later") == pl.col("value")).fill_null(False)
# What both mentions of a pair share, and what `PAIRS` has of each.
_PLACE: Final = ["slot", "speaker", "rule"]
_SAID: Final = ["dialogue", "turn", "value", "start"]
#: The most mentions of a kind that are compared: those in the turns with the fewest words, because all pairs would be
#: too many, and short turns are easy to read.
_COMPARED: Final = 8


@dataclass(frozen=True)
class Inconsistency(Record):
    """The annotations that a dataset lacks, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        summary: One row: how many dialogues and turns there are, and how many lack an annotation.
        modified: In how many dialogues of each split each slot lacks one (Qian et al. 2021, Table 1).
        rates: How often each slot lacks one.
        shares: The same by who says the value.
        pairs: For each slot, two similar dialogues, of which gold annotates one (their Figs 1 and 10).
        proposals: Each missing annotation, with its evidence.
        candidates: Each mention that gold could annotate, with everything that the rules check, and the decision.
            Tables and JSON leave this frame out; `write_log` writes it.
    """

    summary: pl.DataFrame
    modified: pl.DataFrame
    rates: pl.DataFrame
    shares: pl.DataFrame
    pairs: pl.DataFrame
    proposals: pl.DataFrame
    candidates: pl.DataFrame = field(metadata=LOGGED)


def inconsistency(
    data: Data,
    *,
    ontology: str | PathLike[str] | Mapping[str, Iterable[str]] | None = None,
    database: str | PathLike[str] | None = None,
    said: pl.DataFrame | None = None,
    split: str | None = None,
    support: int | None = None,
    at_least: float | None = None,
    rules: str | PathLike[str] | None = None,
    evidence: Data | None = None,
) -> Inconsistency:
    """Find the annotations that are missing in a dataset.

    Args:
        data: A dataset, a file or folder with gold states and utterances; or one per split. In Python, also states in
            memory, or a mapping from name to dataset. A single dataset may know its splits.
        ontology: Values to search for: JSON {slot: [values]}, or a schema. In Python, also a mapping.
        database: A folder of hotel_db.json, …: values to search for, and what confirms what is said of a place.
            Without it and an ontology, gold's values are searched for; without it, a place's name must be in the
            same sentence.
        said: What was said, schema `schema.CONTEXTS`; None: read it from the data's files.
        split: The split to look at, where there are several; None: all.
        support: Judge domains without names by similar places, too: the fewest that are evidence (10). Slots of these
            domains cannot be judged by rules. (With a rule, gold must annotate `discussion.SUPPORT` of them.)
        at_least: The same: the least share of similar places that gold annotates (0.5).
        rules: Words and patterns by which values are judged, JSON; None: English. Or the name of rules that come
            with dstbench (``qian2021`` adds what the script of Qian et al. adds).
        evidence: A dataset that shows how gold annotates; None: the other dialogues of the data. In Python, also
            several. What is missing in a dialogue depends only on it and this dataset, such as the training set.

    Returns:
        What is missing; all frames but `summary` may be empty.

    Raises:
        DstbenchError: The data cannot be read, hold no gold or no utterances; or gold has no values, or the evidence
            has none of its slots.
        UsageError: `support` or `at_least` is out of range.

    >>> talk = [("i want a hotel in the north", "north"), ("a hotel in the south please", "south")] * 8
    >>> states = [{"dialogue_id": f"D{n}", "turn": 0, "gold": {"hotel-area": area, "hotel-stars": "4"}}
    ...           for n, (_, area) in enumerate(talk)]
    >>> del states[-1]["gold"]["hotel-area"]
    >>> said = pl.DataFrame([(f"D{n}", 0, None, text) for n, (text, _) in enumerate(talk)], orient="row",
    ...                     schema={"dialogue": pl.String, "turn": pl.UInt16, "system": pl.String, "user": pl.String})
    >>> inconsistency(states, said=said, support=5).proposals.select("dialogue", "slot", "value", "share").rows()
    [('D15', 'hotel-area', 'south', 1.0)]
    """
    is_compared = support is not None or at_least is not None
    support, at_least = 10 if support is None else support, 0.5 if at_least is None else at_least
    if support < 1 or not 0 < at_least <= 1:
        raise UsageError(
            f"support={support}, at_least={at_least}", hint="support is 1 or more; at_least is a share above 0, up to 1"
        )
    words = read_rules(rules)
    dialogues = Dialogues.read(data, said, split)
    elsewhere = None if evidence is None else Dialogues.read(evidence)
    cells = (elsewhere or dialogues).cells
    _check(words, dialogues.cells["slot"].unique().sort(), cells["slot"].unique())
    folder = None if database is None else str(database)
    searched = vocabulary(_values(cells, ontology, folder))
    corpus = lay_out(dialogues, searched, elsewhere, words.over_dontcare)
    places = lay_out_places(corpus, folder, words)
    named, judged = ([], []) if places is None else (places.name_slots["domain"].to_list(), places.slots)
    slots = {*corpus.forms["slot"], *searched["slot"]} - {*judged}
    unnamed = sorted(slot for slot in slots if domain_of(slot) not in named)
    compared = unnamed if is_compared else []
    if unnamed and not is_compared and not named:
        more = f", … ({len(unnamed)} slots)" if len(unnamed) > 3 else ""
        warn(
            f"no rule judges {', '.join(unnamed[:3])}{more}, because no slot names places (as {words.names} does); "
            "--support 10 judges them by similar places",
            when="before",
        )
    similar = mentions_like(corpus, searched, compared)
    first, added = search(corpus, places, words, compared=similar, support=support, at_least=at_least)
    del places, similar  # the next step takes most memory
    candidates = list_candidates(first, added, corpus, at_least)
    del first
    proposals = PROPOSALS.conform(with_words(added.with_columns(value="written"), corpus)).sort(_CELL)
    annotated = annotated_mentions(candidates)
    rates, shares = count_missing(annotated, proposals)
    return Inconsistency(
        summary=summarise(dialogues, proposals),
        modified=count_modified(dialogues, proposals),
        rates=rates,
        shares=shares,
        pairs=find_pairs(corpus, dialogues.cells, candidates, annotated),
        proposals=proposals,
        candidates=candidates,
    )


def _check(rules: Rules, slots: pl.Series, others: pl.Series) -> None:
    """Refuse rules that leave out all slots, and evidence without any of them: nothing would be found in any data."""
    first, of_evidence = (", ".join(listed.sort().head(3)) for listed in (slots, others))
    if slots.len() and not slots.str.contains(rules.slots).any():
        hint = f"they add to slots like {rules.slots}; the dataset has {first}, …"
        raise DstbenchError("the rules add nothing to any of the dataset's slots", hint=hint)
    if others.is_empty():
        hint = "an annotation is found to be missing only if gold annotates similar places"
        raise DstbenchError("gold has no value in any turn of the data, or of the evidence", hint=hint)
    if slots.len() and not slots.is_in(others.implode()).any():
        hint = f"the dataset has {first}, …; the evidence {of_evidence}, …"
        raise DstbenchError("the evidence has none of the dataset's slots", hint=hint)


def _values(
    cells: pl.DataFrame,
    ontology: str | PathLike[str] | Mapping[str, Iterable[str]] | None,
    database: str | None,
) -> dict[str, Collection[str]]:
    """The values to search for, of slots that gold has: those of ontology and database, else gold's."""
    of_gold = dict(cells.group_by("slot").agg(pl.col("value").unique()).iter_rows())
    if ontology is None and database is None:
        return of_gold
    given = {} if ontology is None else read_ontology(str(ontology) if isinstance(ontology, PathLike) else ontology)
    of_database = {} if database is None else read_database(database)
    values = {slot: given.get(slot, frozenset()) | of_database.get(slot, frozenset()) for slot in given | of_database}
    if values.keys().isdisjoint(of_gold):
        first, others = (", ".join(sorted(slots)[:3]) for slots in (of_gold, values))
        hint = f"the dataset has {first}, …; they {others or 'none'}"
        raise DstbenchError("ontology and database have none of the dataset's slots", hint=hint)
    return {slot: listed for slot, listed in values.items() if slot in of_gold}


# --- correction -------------------------------------------------------------------------------------------------------


def correct(
    path: str | PathLike[str],
    out: str | PathLike[str],
    found: Inconsistency,
    *,
    log: str | PathLike[str] | None = None,
) -> None:
    """Write a dataset again in its own format, with the missing annotations added.

    Args:
        path: The dataset.
        out: The file or folder to write.
        found: What `inconsistency` found in it.
        log: A CSV file to write, as `write_log` does; None: none.

    Raises:
        DstbenchError: The dataset cannot be read, or its format cannot be written.
    """
    rewrite(path, out, states=additions(found.proposals, gold_of(open_gold(path)).turns))
    if log is not None:
        write_log(found, log)


def write_log(found: Inconsistency, path: str | PathLike[str]) -> None:
    """Write all mentions that gold could annotate, with everything that the rules check and the decision, as CSV.

    Args:
        found: What `inconsistency` found.
        path: The file to write, a row per candidate (schema `CANDIDATES`).

    Raises:
        DstbenchError: The file cannot be written.
    """
    write_whole(str(path), csv_text(found.candidates).encode())


# --- how much is missing ----------------------------------------------------------------------------------------------


def additions(proposals: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """The states' new entries.

    Args:
        proposals: Missing annotations, schema `PROPOSALS`.
        turns: (dialogue, turn), the dataset's turns.

    Returns:
        (dialogue, turn, slot, value), one row per turn whose state gets the slot, sorted.
    """
    rows = turns.select("dialogue", "turn").sort("dialogue", "turn").with_row_index("row")
    first = proposals.join(rows, on=["dialogue", "turn"], how="left", maintain_order="left")
    entries = first.select("slot", "value", row=pl.int_ranges("row", pl.col("row") + pl.col("turns"), dtype=pl.UInt32))
    return entries.explode("row").join(rows, on="row").select(*_CELL, "value").sort(_CELL)


def summarise(dialogues: Dialogues, proposals: pl.DataFrame) -> pl.DataFrame:
    """How much is missing in all, schema `SUMMARY`."""
    turns, speaker = dialogues.turns, pl.col("speaker")
    summary = proposals.select(
        dialogues=pl.lit(turns["dialogue"].n_unique()),
        dialogues_changed=pl.col("dialogue").n_unique(),
        turns=pl.lit(turns.height),
        turns_changed=pl.lit(additions(proposals, turns).n_unique(["dialogue", "turn"])),
        missing=pl.len(),
        user=(speaker == "user").sum(),
        system=(speaker == "system").sum(),
        late=_IS_LATE.sum(),
        rounds=pl.col("round").max().fill_null(0),
    )
    return SUMMARY.conform(summary)


def count_modified(data: Dialogues, proposals: pl.DataFrame) -> pl.DataFrame:
    """In how many dialogues annotations are missing, schema `MODIFIED`."""
    group = ["split", "domain", "slot"]
    dialogues = data.turns.select("dialogue").unique()
    parts = dialogues.with_columns(split=pl.lit(None, pl.String))
    if data.splits is not None:
        parts = pl.concat([data.splits, parts.cast({"split": data.splits.schema["split"]})])
    missing = _with_totals(proposals)
    has = pl.concat([missing, _with_totals(data.cells), dialogues], how="diagonal").unique()
    # The whole is, for a slot and its domain, the dialogues that have the domain; for all domains, every dialogue.
    of = has.filter(pl.col("slot").is_null()).join(parts, on="dialogue")
    of = of.group_by("split", "domain").agg(of_dialogues=pl.len())
    modified = missing.join(parts, on="dialogue").group_by(group).agg(dialogues=pl.len())
    rows = parts.select("split").unique().join(has.select("domain", "slot").unique(), how="cross")
    rows = look_up(look_up(rows, of), modified)
    rows = rows.with_columns(pl.col("dialogues", "of_dialogues").fill_null(0)).sort(group, nulls_last=True)
    return MODIFIED.conform(rows.with_columns(share=divide(pl.col("dialogues"), pl.col("of_dialogues"))))


def _with_totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Distinct (dialogue, domain, slot), and such rows for each domain (slot: null) and for all (both null)."""
    rows, null = rows.select("dialogue", domain=DOMAIN, slot="slot"), pl.lit(None, pl.String)
    return pl.concat([rows, rows.with_columns(slot=null), rows.with_columns(slot=null, domain=null)]).unique()


def annotated_mentions(candidates: pl.DataFrame) -> pl.DataFrame:
    """The candidates that gold annotates and a rule explains; of a value that both say in the turn, the user's."""
    annotated = candidates.filter(pl.col("rule").is_not_null(), decision="annotated")
    is_user = pl.col("speaker") == "user"
    return annotated.select(*_PLACE, *_SAID, "end").filter(is_user | ~is_user.any().over(_CELL))


def count_missing(annotated: pl.DataFrame, proposals: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """How often each slot is annotated, and not: in all, schema `RATES`, and by who says the value, schema `SHARES`."""
    key, missing = ["slot", "speaker"], pl.col("missing")
    counts = pl.concat([
        annotated.unique(_CELL).select(*key, annotated=1, missing=0),
        proposals.select(*key, annotated=0, missing=1),
    ])  # fmt: skip
    every = counts.select(pl.col("slot").unique()).join(pl.DataFrame({"speaker": ["user", "system"]}), how="cross")
    shares = every.join(counts.group_by(key).agg(pl.all().sum()), on=key, how="left").fill_null(0)
    late = proposals.group_by("slot").agg(late=_IS_LATE.sum())
    rates = shares.group_by("slot").agg(pl.col("annotated", "missing").sum()).join(late, on="slot", how="left")
    rate, share = divide(missing, pl.col("annotated") + missing), divide(missing, missing.sum().over("slot"))
    rates = rates.with_columns(pl.col("late").fill_null(0), rate=rate).sort("slot")
    shares = shares.with_columns(rate=rate, share=share).sort("slot", pl.col("speaker") == "system")
    return RATES.conform(rates), SHARES.conform(shares)


# --- examples ---------------------------------------------------------------------------------------------------------


def find_pairs(corpus: Corpus, gold: pl.DataFrame, candidates: pl.DataFrame, annotated: pl.DataFrame) -> pl.DataFrame:
    """The most similar pair of each slot that has a missing and an annotated mention in such places, schema `PAIRS`."""
    missing = candidates.filter(decision="added")
    annotated = annotated.join(missing, on=_PLACE, how="semi")
    gold = gold.rename({"value": "gold"})
    one, other = (
        _shortest(mentions, which, corpus, gold) for which, mentions in zip(OF_PAIR, (missing, annotated), strict=True)
    )
    pairs = one.join(other, on=[*_PLACE, "same"]).filter(pl.col("missing_dialogue") != pl.col("annotated_dialogue"))
    counts = missing.group_by(_PLACE).agg(in_place=pl.len().cast(pl.Int64))
    pairs = pairs.join(counts.with_columns(missing=pl.col("in_place").sum().over("slot")), on=_PLACE)
    words, others = pl.col("missing_words").list, pl.col("annotated_words")
    common = words.set_intersection(others).list.len() / words.set_union(others).list.len()
    is_list = pl.col("annotated_gold").str.contains(BETWEEN, literal=True)
    ties = [f"{which}_{name}" for which in OF_PAIR for name in _SAID]
    best = pairs.with_columns(common=common).sort(
        "slot", pl.col("same") == "", is_list, -pl.col("in_place"), *_PLACE, -pl.col("common"), *ties
    )
    best = best.unique("slot", keep="first", maintain_order=True)
    return PAIRS.conform(best.sort("missing", "slot", descending=[True, False]))


def _shortest(mentions: pl.DataFrame, which: str, corpus: Corpus, gold: pl.DataFrame) -> pl.DataFrame:
    """The mentions of the turns with the fewest words, with what `PAIRS` has of each, and the turn's words.

    Each is there twice: with its value as `same`, and with the empty text, which matches mentions of any value.
    """
    lengths = corpus.texts.group_by("row").agg(length=pl.col("words").list.len().sum())
    mentions = mentions.select(*_PLACE, *_SAID, "end").join(corpus.data_turns, on=["dialogue", "turn"])
    mentions = mentions.join(lengths, on="row").sort("length", *_SAID)
    mentions = pl.concat(
        mentions.with_columns(same=same).group_by(*_PLACE, "same", maintain_order=True).head(_COMPARED)
        for same in (pl.col("value"), pl.lit(""))
    )
    turns = corpus.texts.join(mentions, on="row", how="semi").group_by("row").agg(
        *(pl.col("text").filter(pl.col("speaker") == who).first().alias(who) for who in ("system", "user")),
        words=pl.col("words").list.explode().drop_nulls().unique(),
    )  # fmt: skip
    of_pair = pl.col(*_SAID, "end", "gold", "system", "user", "words").name.prefix(f"{which}_")
    return mentions.join(gold, on=_CELL, how="left").join(turns, on="row").select(*_PLACE, "same", of_pair)
