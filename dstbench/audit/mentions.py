"""Where values are said: one search for all values in all utterances.

Conventions: texts and values are words, in lower case and without punctuation; a value is said where its words stand,
whole and in order, in any of its spellings (`normalise.spellings`). Of overlapping values, only the first is said, and
of those that begin with the same word, the longest: `pizza hut city centre` does not say `centre`. Yes, no and dontcare
are not searched for, as they do not tell their slot.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

import polars as pl

from dstbench.conventions.normalise import alternatives, normaliser, spellings, tells_slot

#: A word; a time of the day is one.
WORD: Final = r"\d{1,2}:\d{2}\b|\w+"
#: The canonical form of values, by which annotated and said values are compared: (slot, value) → value.
CANONICAL: Final = normaliser(
    ("case", "space", "hyphens", "dontcare", "typos", "times", "numbers", "booleans", "articles")
)


@dataclass(frozen=True)
class Vocabulary:
    """The values to search for.

    Attributes:
        patterns: (pattern: String, slot: String, value: String canonical), distinct; a pattern is a spelling's words as
            `as_pattern` joins them.
        spelled: (slot, canonical value) → the value as written in its source.
    """

    patterns: pl.DataFrame
    spelled: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, values: Mapping[str, Collection[str]]) -> Vocabulary:
        """The vocabulary of an ontology {slot: values}.

        >>> Vocabulary.of({"hotel-area": ["Centre", "dontcare"]}).patterns.sort("pattern").rows()
        [(' center ', 'hotel-area', 'centre'), (' centre ', 'hotel-area', 'centre')]
        """
        rows: set[tuple[str, str, str]] = set()
        spelled: dict[tuple[str, str], str] = {}
        for slot in sorted(values):
            for written in sorted(part for value in values[slot] for part in alternatives(value)):
                value = CANONICAL(slot, written)
                if tells_slot(value):
                    spelled.setdefault((slot, value), written)
                    texts = (text for text in (written, *spellings(slot, value)) if re.search(WORD, text))
                    rows |= {(as_pattern(text), slot, value) for text in texts}
        schema = {"pattern": pl.String, "slot": pl.String, "value": pl.String}
        return cls(pl.DataFrame(sorted(rows), schema=schema, orient="row"), spelled)


def as_pattern(text: str) -> str:
    """Words with a space on either side of each, so that patterns match whole words and neighbours both match."""
    return f" {'  '.join(re.findall(WORD, text.lower()))} "


def utterances(said: pl.DataFrame) -> pl.DataFrame:
    """(row, speaker, text, words: in lower case, starts, ends: which characters each is), a row per utterance."""
    text, length = pl.col("text"), pl.element().str.len_chars()
    texts = said.unpivot(["user", "system"], index="row", variable_name="speaker", value_name="text").drop_nulls()
    texts = texts.with_columns(
        words=text.str.extract_all(WORD),
        # Each word, and what stands before it.
        ends=text.str.extract_all(rf"\W*(?:{WORD})").list.eval(length.cum_sum()),
    )
    lower = pl.element().str.to_lowercase()
    return texts.with_columns(
        words=pl.col("words").list.eval(lower), starts=pl.col("ends") - pl.col("words").list.eval(length)
    )


def find_mentions(texts: pl.DataFrame, patterns: pl.DataFrame) -> pl.DataFrame:
    """Every mention of a value, by its patterns (`Vocabulary.patterns`), in `utterances`.

    Returns:
        (mention: its number, row, speaker, first: number of its first word, count: of its words, before and after: the
        words beside it, null at the ends, slot, value: canonical); one row per mention and slot with such a value.
    """
    # Of the patterns that match at the same position, the search takes the first in its list, which is the longest.
    distinct = patterns.select(pl.col("pattern").unique())
    longest = distinct.sort(pl.col("pattern").str.len_bytes(), "pattern", descending=[True, False])["pattern"].implode()
    padded, pattern = pl.col("padded"), pl.col("pattern")
    spoken = texts.select("row", "speaker", padded=pl.format(" {} ", pl.col("words").list.join("  ")))
    places = spoken.with_columns(
        start=padded.str.find_many(longest, leftmost=True), pattern=padded.str.extract_many(longest, leftmost=True)
    )
    places = places.explode("start", "pattern").drop_nulls("start").with_row_index("mention")
    in_bytes = padded.cast(pl.Binary).bin
    head = in_bytes.slice(0, pl.col("start")).cast(pl.String)
    tail = in_bytes.slice(pl.col("start") + pattern.str.len_bytes(), None).cast(pl.String)
    places = places.select(
        "mention", "row", "speaker", "pattern",
        first=head.str.count_matches(r"\S+"),
        count=pattern.str.count_matches(r"\S+"),
        before=head.str.extract(r"(\S+) *$"),
        after=tail.str.extract(r"(\S+)"),
    )  # fmt: skip
    mentions = places.join(patterns, on="pattern").drop("pattern")
    return mentions.sort("mention", "slot", "value")


def spans(mentions: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Mentions with the `text` of their utterance, and in it the characters of their `start` and `end` (exclusive)."""
    texts = texts.filter(pl.col("words").list.len() > 0)
    count = pl.col("words").list.len()
    spoken = texts.select("row", "speaker", "text", word=count.cum_sum() - count)  # its first, of all words
    mentions = mentions.join(spoken, on=["row", "speaker"], how="left", maintain_order="left")
    starts, ends = (texts[name].explode() for name in ("starts", "ends"))
    first = mentions["word"] + mentions["first"]
    return mentions.drop("word").with_columns(
        start=starts.gather(first), end=ends.gather(first + mentions["count"] - 1)
    )


# --- wording ----------------------------------------------------------------------------------------------------------

#: The regular expression around patterns: upper or lower case, from the beginning of a word to the end of one.
WHOLE: Final = r"(?i)\b(?:{})\b"
# Between the letters of a word there may be an apostrophe, a hyphen or a space, and any signs between words. Not all
# signs that Unicode knows: compiling these takes longer than the search.
_IN_WORD: Final = "['\u2019 -]?"
_SIGNS: Final = r"\s!-/:-@\[-`{-~\u2018-\u201e\u2013\u2014"


def squeezed(text: pl.Expr) -> pl.Expr:
    """Letters and digits only, in lower case: all spellings of a value that `pattern` finds share these."""
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


def spaced(text: pl.Expr) -> pl.Expr:
    """Bare words with a space at either end, so that a text contains another only as whole words."""
    return pl.format(" {} ", bare_words(text))


def pattern(value: str) -> str:
    """A regular expression of a value in texts, to be put into `WHOLE`.

    >>> college = WHOLE.format(pattern("saint johns college"))
    >>> [bool(re.search(college, text)) for text in ("Saint John's", "Saint John's College")]
    [False, True]
    """
    parts = re.split(r"([\W_]+)", re.sub(r"^[\W_]+|[\W_]+$", "", value))  # words, with signs between
    signs = (f"[{_SIGNS}{''.join(sign for sign in between if not sign.isascii())}]*" for between in parts[1::2])
    words = (_IN_WORD.join(word) for word in parts[::2])
    return "".join(piece for pair in zip_longest(words, signs, fillvalue="") for piece in pair)
