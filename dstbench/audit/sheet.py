"""The sheet for a review of a correction by hand: each addition with everything needed to judge it.

(Qian et al. 2021, Table 3.) `reviewing` reads the filled sheet.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from dstbench.audit.inputs import Dialogues
from dstbench.audit.mentions import CANONICAL
from dstbench.audit.missing_annotations import Inconsistency
from dstbench.conventions.convention import Convention
from dstbench.errors import UsageError
from dstbench.runs.open import Data
from dstbench.schema.audit import SHEET
from dstbench.schema.core import BETWEEN

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


def marked(text: pl.Expr, start: pl.Expr, end: pl.Expr) -> pl.Expr:
    """A text with the words that say a value, from `start` to before `end`, between ``>>`` and ``<<``."""
    return pl.format("{}>>{}<<{}", text.str.head(start), text.str.slice(start, end - start), text.str.slice(end))


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
