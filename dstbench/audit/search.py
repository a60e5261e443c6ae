"""Where values are said: two searches for all values in all utterances, and the forms in which words are compared.

`find_mentions` tells where values stand, whole and in order, in any of their spellings (`normalise.spellings`). Of
overlapping values, only the first is said, and of those that begin with the same word, the longest: `pizza hut city
centre` does not say `centre`. Yes, no and dontcare are not searched for, as they do not tell their slot.

`find_values` tells which texts say a value at all, also in other words: with other spaces and signs, and in another
order (``Christ's College``, ``college of christ``); a time also without am or pm (``5:15`` is 05:15 and 17:15).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy as np
import polars as pl

from dstbench.audit.rules import WORD, english
from dstbench.conventions.convention import Convention
from dstbench.conventions.files import Table
from dstbench.conventions.normalise import STEPS, TYPOS, alternatives, normaliser, spellings, tells_slot

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


# --- in any spelling -------------------------------------------------------------------------------------------------


def find_values(texts: pl.Series, values: pl.Series, typos: Table | None = None) -> pl.DataFrame:
    """(text, value): the rows of `texts` that say those of `values`, each pair once, in no particular order.

    >>> find_values(pl.Series(["for two at 5:15 , at christ s college"]), pl.Series(["2", "17:15", "Christ College"])
    ... ).sort("value")["value"].to_list()
    [0, 1, 2]
    """
    phrases = {**english().phrases, **english().numbers, **TYPOS, **(typos.rights if typos else {})}
    text_words, value_words = (pl.select(bare_words(pl.lit(column))).to_series() for column in (texts, values))
    times = pl.Series("time", [_time_of(value) for value in values], dtype=pl.String)
    no_times = value_words.zip_with(times.is_null(), pl.Series([""]))  # 17:15 is not 15:17
    texts_in_one_spelling, values_in_one_spelling = (_one_spelling(words, phrases) for words in (text_words, no_times))
    matches = [
        _with_same_letters(text_words, value_words),
        _with_same_letters(texts_in_one_spelling, values_in_one_spelling),
        _with_same_words(texts_in_one_spelling, values_in_one_spelling),
        _times(texts).join(times.to_frame().with_row_index("value"), on="time").select("text", "value"),
    ]
    return pl.concat(matches).unique()


def with_unsaid(rows: pl.DataFrame, said: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """Rows (dialogue, turn, slot, value, …), whether the value is `searched` for, and whether `unsaid` by its turn."""
    normalise, key = normaliser(convention.pred_steps, convention.typos), ["dialogue", "slot", "value"]
    values = rows.select(key).unique(maintain_order=True)
    distinct = values.select("slot", "value").unique(maintain_order=True)
    spelled = [
        [text for text in (*alternatives(value), *alternatives(normalise(slot, value))) if tells_slot(text)]
        for slot, value in distinct.iter_rows()
    ]
    texts_of = distinct.with_columns(spelled=pl.Series(spelled, dtype=pl.List(pl.String))).explode("spelled")
    texts_of = texts_of.filter(pl.col("spelled").str.contains(r"[^\W_]")).unique()
    texts, wanted = said.drop_nulls().join(values, on="dialogue", how="semi"), texts_of["spelled"].unique()
    found = find_values(texts["text"], wanted, convention.typos)
    found = texts.select("dialogue", "turn")[found["text"]].with_columns(spelled=wanted.gather(found["value"]))
    first = found.group_by("dialogue", "spelled").agg(said_at=pl.col("turn").min())
    first = values.join(texts_of, on=["slot", "value"]).join(first, on=["dialogue", "spelled"], how="left")
    first = first.group_by(key).agg(pl.col("said_at").min(), searched=True)
    rows = rows.join(first, on=key, how="left", maintain_order="left")
    unsaid = pl.col("said_at").is_null() | (pl.col("said_at") > pl.col("turn"))
    return rows.with_columns(pl.col("searched").fill_null(False), unsaid=pl.col("searched").is_not_null() & unsaid)


def _time_of(value: str) -> str | None:
    """The time of the day that a value is, as ``HH:MM``; None: it is not one."""
    time = STEPS["times"].function("time", "".join(value.lower().removeprefix("the ").replace("-", " ").split()))
    return time.replace("24:", "00:") if re.fullmatch(r"\d\d:\d\d", time) else None


def _one_spelling(words: pl.Series, phrases: Mapping[str, str]) -> pl.Series:
    """Plurals and phrases in one form, without small words."""

    def stemmed(text: pl.Expr) -> pl.Expr:
        for plural, stem in english().plurals:
            text = text.str.replace_all(plural, stem)
        return padded(text)

    pairs = pl.DataFrame({"from": list(phrases), "to": list(phrases.values())})
    pairs = pairs.select(stemmed(bare_words(pl.col(name))) for name in ("from", "to"))
    pairs = pairs.sort(pl.col("from").str.len_chars(), descending=True, maintain_order=True)
    # Of the phrases that match at one position, the longest is replaced.
    replaced = stemmed(pl.lit(words)).str.replace_many(pairs["from"].to_list(), pairs["to"].to_list(), leftmost=True)
    without_small_words = replaced.str.replace_all(english().small_words, "").str.replace_all(" +", " ")
    return pl.select(without_small_words.str.strip_chars(" ")).to_series()


def _with_same_letters(texts: pl.Series, values: pl.Series) -> pl.DataFrame:
    """(text, value) where some whole words of the text, one after the other, have the letters of the value.

    The text ``a guest house`` is searched without spaces, ``aguesthouse``: ``guesthouse`` is found at 1 … 11, and
    words begin or end at 0, 1, 6 and 11; ``thou`` at 5 … 9 is no match.
    """
    letters = pl.col("letters")
    squeeze = letters.str.replace_all(" ", "", literal=True)
    wanted = values.to_frame("letters").select(squeeze).with_row_index("value").filter(letters != "")
    patterns = pl.lit(wanted["letters"].unique().implode())
    size = letters.str.len_bytes().cast(pl.Int64)
    hits = texts.to_frame("letters").select(squeeze).with_row_index("text").select(
        "text",
        text_start=size.cum_sum() - size,
        start=letters.str.find_many(patterns, overlapping=True),
        letters=letters.str.extract_many(patterns, overlapping=True),
    )  # fmt: skip
    hits = hits.filter(pl.col("start").list.len() > 0).explode("start", "letters")
    word_ends = texts.str.split(" ").explode().str.len_bytes().cast(pl.Int64).cum_sum().to_numpy()
    is_boundary = np.zeros(int(word_ends.max(initial=0)) + 1, np.bool_)
    is_boundary[0] = is_boundary[word_ends] = True
    start = (hits["text_start"] + hits["start"]).to_numpy()
    whole_words = is_boundary[start] & is_boundary[start + hits["letters"].str.len_bytes().to_numpy()]
    return hits.filter(whole_words).join(wanted, on="letters").select("text", "value")


def _with_same_words(texts: pl.Series, values: pl.Series) -> pl.DataFrame:
    """(text, value) where as many words of the text, one after the other, are the value's words, in any order.

    Each word has a hash, and sequences are compared by the sums of their hashes modulo 2⁶⁴, which are equal by chance
    with a probability of 2⁻⁶⁴.
    """
    words = pl.concat([texts, values]).str.split(" ").to_frame("word").with_row_index("owner").explode("word")
    words = words.filter(pl.col("word") != "").select("owner", hash=pl.col("word").hash())
    is_text = pl.col("owner") < len(texts)
    wanted = words.filter(~is_text).group_by(value=pl.col("owner") - len(texts)).agg(
        size=pl.len(), key=pl.col("hash").sum()
    )  # fmt: skip
    owner, hashes = (words.filter(is_text)[name].to_numpy() for name in ("owner", "hash"))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    matches = [pl.DataFrame(schema={"text": pl.UInt32, "key": pl.UInt64})]
    for (size,), keys in wanted.group_by("size"):
        key = sums[size:] - sums[:-size]
        hit = np.flatnonzero(np.isin(key, keys["key"].to_numpy()))
        hit = hit[owner[hit] == owner[hit + size - 1]]  # the sequence ends in the text in which it begins
        matches.append(pl.DataFrame({"text": owner[hit], "key": key[hit]}))
    return pl.concat(matches).join(wanted, on="key").select("text", "value")


def _times(texts: pl.Series) -> pl.DataFrame:
    """(text, time: ``HH:MM``): all times of the day that a text may mean."""
    said, words = pl.col("said"), english()
    lower = pl.DataFrame({"said": texts.str.to_lowercase()}).with_row_index("text")
    times = [
        lower.filter(said.str.contains(rf"\b{name}\b")).select("text", time=pl.lit(time))
        for name, time in words.named_times.items()
    ]
    in_digits = pl.format(" {} ", said.str.replace_all(r"\s+", " "))
    for word, digits in words.numbers.items():
        in_digits = in_digits.str.replace_all(rf"\b{word}\b", digits)
    has_number = said.str.contains(rf"\d|\b(?:{'|'.join(words.numbers)})\b")
    with_numbers = lower.filter(has_number).select("text", said=in_digits)
    clocks = pl.concat(
        with_numbers.select("text", said.str.extract_all(pattern), default=pl.lit(minute), more=more)
        .explode("said")
        .drop_nulls()
        .with_columns(said.str.extract_groups(pattern))
        .unnest("said")
        for pattern, minute, more in words.clocks
    ).with_columns(pl.col("minute", "half").fill_null(""), written=pl.col("hour").cast(pl.Int32))
    hour, half = pl.col("written") + pl.col("more"), pl.col("half")
    is_short = ~pl.col("hour").str.starts_with("0") & (pl.col("written") <= 12)
    readings = (
        hour,
        pl.when(is_short, half == "").then((hour + 12) % 24),
        pl.when(half != "").then(hour % 12 + pl.when(half == "p").then(12).otherwise(0)),
    )
    minute = pl.when(pl.col("minute") == "").then("default").otherwise("minute")
    meant = clocks.select("text", hour=pl.concat_list(readings), minute=minute).explode("hour").drop_nulls()
    two_digits = pl.col("hour").replace(24, 0).cast(pl.String).str.zfill(2)
    times.append(meant.select("text", time=pl.format("{}:{}", two_digits, "minute")))
    return pl.concat(times).unique()
