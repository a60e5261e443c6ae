"""Where values are said: one search for all values in all utterances, and the forms in which words are compared.

Conventions: texts and values are words, in lower case and without punctuation; a value is said where its words stand,
whole and in order, in any of its spellings (`normalise.spellings`). Of overlapping values, only the first is said, and
of those that begin with the same word, the longest: `pizza hut city centre` does not say `centre`. Yes, no and dontcare
are not searched for, as they do not tell their slot.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import polars as pl

from dstbench.audit.rules import WORD
from dstbench.conventions.normalise import alternatives, normaliser, spellings, tells_slot

#: The canonical form of values, by which annotated and said values are compared: (slot, value) → value.
CANONICAL: Final = normaliser(
    ("case", "space", "hyphens", "dontcare", "typos", "times", "numbers", "booleans", "articles")
)
#: The domain of the row's slot.
DOMAIN: Final = pl.col("slot").str.extract("^([^-]*)")


def canonical(slots: Iterable[str], values: Iterable[str]) -> pl.Series:
    """`CANONICAL` of columns."""
    return pl.Series([CANONICAL(*pair) for pair in zip(slots, values, strict=True)], dtype=pl.String)


def vocabulary(values: Mapping[str, Collection[str]]) -> pl.DataFrame:
    """(pattern: `as_pattern` of a spelling, slot, value: canonical, written: as in the source) of {slot: values}.

    >>> vocabulary({"hotel-area": ["Centre", "dontcare"]}).sort("pattern").rows()
    [(' center ', 'hotel-area', 'centre', 'Centre'), (' centre ', 'hotel-area', 'centre', 'Centre')]
    """
    rows: dict[tuple[str, str, str], str] = {}
    for slot in sorted(values):
        for written in sorted(part for value in values[slot] for part in alternatives(value)):
            value = CANONICAL(slot, written)
            for text in (written, *spellings(slot, value)) if tells_slot(value) else ():
                if re.search(WORD, text):
                    rows.setdefault((as_pattern(text), slot, value), written)
    schema = dict.fromkeys(("pattern", "slot", "value", "written"), pl.String)
    return pl.DataFrame([(*key, written) for key, written in sorted(rows.items())], schema, orient="row")


def as_pattern(text: str) -> str:
    """Words with a space on either side of each, so that patterns match whole words and neighbours both match."""
    return f" {'  '.join(re.findall(WORD, text.lower()))} "


def utterances(said: pl.DataFrame) -> pl.DataFrame:
    """(row, speaker, text, words: in lower case, starts, ends: which characters each is), a row per utterance."""
    text, length = pl.col("text"), pl.element().str.len_chars()
    texts = said.unpivot(["user", "system"], index="row", variable_name="speaker", value_name="text").drop_nulls()
    words, ends = text.str.extract_all(WORD), text.str.extract_all(rf"\W*(?:{WORD})").list.eval(length.cum_sum())
    texts = texts.with_columns(words=words, ends=ends)
    starts = pl.col("ends") - pl.col("words").list.eval(length)
    return texts.with_columns(words=pl.col("words").list.eval(pl.element().str.to_lowercase()), starts=starts)


def longest_first(patterns: pl.Series) -> pl.Expr:
    """Distinct patterns for a search that finds, of those that match at one position, the first in the list."""
    distinct = patterns.unique().to_frame("pattern")
    size = pl.col("pattern").str.len_bytes()
    return pl.lit(distinct.sort(size, "pattern", descending=[True, False])["pattern"].implode())


def find_mentions(texts: pl.DataFrame, patterns: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Every mention of a value, by its patterns (`vocabulary`), in `utterances`; a row per slot with such a value.

    (mention: its number, row, speaker, start, end: of its characters, before and after: the words beside it, slot,
    domain, value: canonical; talk, id, is_evidence: of `Corpus.turns`); sorted by mention, slot and value.
    """
    padded, pattern = pl.col("padded"), pl.col("pattern")
    longest = longest_first(patterns["pattern"])
    spoken = texts.select("row", "speaker", "starts", "ends", padded=pl.format(" {} ", pl.col("words").list.join("  ")))
    found = spoken.with_columns(
        at=padded.str.find_many(longest, leftmost=True), pattern=padded.str.extract_many(longest, leftmost=True)
    )
    found = found.explode("at", "pattern").drop_nulls("at").with_row_index("mention")
    head = padded.cast(pl.Binary).bin.slice(0, pl.col("at")).cast(pl.String)
    tail = padded.cast(pl.Binary).bin.slice(pl.col("at") + pattern.str.len_bytes(), None).cast(pl.String)
    first = head.str.count_matches(r"\S+")
    found = found.select(
        "mention", "row", "speaker", "pattern",
        start=pl.col("starts").list.get(first),
        end=pl.col("ends").list.get(first + pattern.str.count_matches(r"\S+") - 1),
        before=head.str.extract(r"(\S+) *$"),
        after=tail.str.extract(r"(\S+)"),
    )  # fmt: skip
    mentions = found.join(patterns.select("pattern", "slot", "value").unique(), on="pattern").drop("pattern")
    mentions = mentions.join(turns.select("row", "talk", "id", "is_evidence"), on="row").with_columns(domain=DOMAIN)
    return mentions.sort("mention", "slot", "value")


def marked(text: pl.Expr, start: pl.Expr, end: pl.Expr) -> pl.Expr:
    """A text with the words that say a value, from `start` to before `end`, between ``>>`` and ``<<``."""
    return pl.format("{}>>{}<<{}", text.str.head(start), text.str.slice(start, end - start), text.str.slice(end))


# --- wording ----------------------------------------------------------------------------------------------------------


def squeezed(text: pl.Expr) -> pl.Expr:
    """Letters and digits only, in lower case: the same for spellings that differ in spaces, signs and case."""
    return text.str.to_lowercase().str.replace_all(r"[\W_]+", "")


def in_words(text: pl.Expr) -> pl.Expr:
    """Words with one space between, without signs."""
    return text.str.replace_all(r"[\W_]+", " ").str.strip_chars(" ")


def bare_words(text: pl.Expr) -> pl.Expr:
    """Words in lower case with one space between, without signs."""
    return in_words(text.str.to_lowercase())


def padded(words: pl.Expr) -> pl.Expr:
    """Words with a space on either side of each, so that only whole words match, and so do adjacent ones."""
    return pl.format(" {} ", words.str.replace_all(" ", "  ", literal=True))
