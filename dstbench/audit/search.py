"""Values in what is said, in any spelling: all of them in all texts at once.

Conventions: a text has a value if some of its words, one after the other, are those of the value: with or without
spaces and signs between them; or, where the typo table's phrases, numbers and plurals are brought to one form and small
words are left out, also in another order. So ``Christ's College``, ``christ s college`` and ``college of christ`` are
one. A time of the day is said by any text that may mean it: without am or pm, ``5:15`` is 05:15 and 17:15.

Words of all texts stand in one array, and a run of words is known by the difference of two sums of numbers that stand
for words (in any order) or letters (in order), modulo 2⁶⁴: two unlike ones are taken for one with a chance of 2⁻⁶⁴.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from dstbench.conventions.normalise import NUMBERS, STEPS, TYPOS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstbench.arrays import Hashes, Integers
    from dstbench.conventions.files import Table


# Words that do not tell one value from another; the s is a genitive's, or a plural's that a tokeniser has cut off.
_SMALL: Final = r"\b(?:the|an?|of|and|in|at|on|to|by|s|called|named)\b"
_NUMBERS: Final = {**NUMBERS, "ten": "10", "eleven": "11", "twelve": "12"}
# What people say beside what the typo table has.
_PHRASES: Final = {
    **dict.fromkeys(("b and b", "b b", "bnb", "bed breakfast"), "bed and breakfast"),
    **dict.fromkeys(("central", "centrally"), "centre"),
    "catherine": "catharine",
    "moderatly": "moderate",
    "portugese": "portuguese",
    "st": "saint",
}
_PLURALS: Final = (
    (r"\b(\w{2,})ies\b", "${1}y"),
    (r"\b(\w*(?:ch|sh|ss|x))es\b", "${1}"),
    (r"\b(\w{2,}[^\Ws])s\b", "${1}"),
)
# Odd, so that it has an inverse modulo 2⁶⁴.
_BASE: Final = 0x9E3779B97F4A7C15
_HALF: Final = r"(?: ?(?P<half>[ap])(?: ?\.? ?m)?\b)?"
# An hour, its minute and half of the day in a text, and what is told where the text has no such part.
_TIMES: Final = (
    (rf"\b(?P<hour>\d{{1,2}}) ?[:.] ?(?P<minute>\d{{2}})(?::\d{{2}})?{_HALF}", "00", 0),
    (rf"\b(?P<hour>\d{{1,2}}) ?(?P<minute>\d{{2}})\b{_HALF}", "00", 0),
    (r"\b(?P<hour>\d{1,2})(?P<minute>) ?(?P<half>[ap])\.? ?m\b", "00", 0),
    (r"\b(?P<hour>\d{1,2})(?P<minute>) ?o ?.? ?clock(?P<half>)", "00", 0),
    (r"\b(?:at|by|after|before|around|about|until|till|from|than) (?P<hour>\d{1,2})(?P<minute>)(?P<half>)\b", "00", 0),
    (r"\bhalf past (?P<hour>\d{1,2})(?P<minute>)(?P<half>)\b", "30", 0),
    (r"\bquarter past (?P<hour>\d{1,2})(?P<minute>)(?P<half>)\b", "15", 0),
    (r"\bquarter (?:to|before) (?P<hour>\d{1,2})(?P<minute>)(?P<half>)\b", "45", -1),
)
_CALLED: Final = {"noon": "12:00", "midnight": "00:00"}


def find_values(texts: pl.Series, values: pl.Series, typos: Table | None = None) -> pl.DataFrame:
    """Which texts say which values.

    Args:
        texts: What is said.
        values: Values, without alternatives.
        typos: The user's typo table, whose phrases come before those of our own.

    Returns:
        (text: UInt32 row of `texts`, value: UInt32 row of `values`), each pair once, in no particular order.

    >>> find_values(pl.Series(["for two at 5:15 , at christ s college"]), pl.Series(["2", "17:15", "Christ College"])
    ... ).sort("value")["value"].to_list()
    [0, 1, 2]
    """
    table = {**_PHRASES, **_NUMBERS, **TYPOS, **(typos.rights if typos else {})}
    said, asked = (side.to_frame("text").select(_words(pl.col("text"))).to_series() for side in (texts, values))
    times = pl.Series("time", [_time(value) for value in values], dtype=pl.String)
    others = pl.select(pl.when(times.is_null()).then(asked).otherwise(pl.lit(""))).to_series()  # 17:15 is not 15:17
    one_said, one_asked = (_one_spelling(side, table) for side in (said, others))
    spellings = _spellings(asked, times, table)
    written = _runs(said, spellings["words"], in_order=True)
    moments = times.to_frame().with_row_index("value").drop_nulls()
    found = [
        written.with_columns(spellings["value"].gather(written["value"])),
        _runs(one_said, one_asked, in_order=True),
        _runs(one_said, one_asked, in_order=False),
        _times(texts).join(moments, on="time").select("text", "value"),
    ]
    return pl.concat(found).unique()


def _time(value: str) -> str | None:
    """The time of the day that a value is, as ``HH:MM``."""
    time = STEPS["times"].function("time", "".join(value.lower().removeprefix("the ").replace("-", " ").split()))
    return time.replace("24:", "00:") if re.fullmatch(r"\d\d:\d\d", time) else None


def _spellings(words: pl.Series, times: pl.Series, table: Mapping[str, str]) -> pl.DataFrame:
    """(value: UInt32, words): how values are written, whichever spaces are between: in what the table makes alike too.

    Of times: with and without the first zero, and of twelve hours with am or pm.
    """
    values = pl.DataFrame({"words": words, "time": times}).with_row_index("value")
    bare = values.select("value", pl.col("words").str.replace_all(_SMALL, "").str.replace_all(" +", " "))
    pairs = pl.DataFrame({"right": list(table.values()), "words": list(table)}, schema_overrides={"right": pl.String})
    alike = pl.concat([pairs, pairs.select("right", words="right")]).with_columns(_words(pl.col("words", "right")))
    alike = alike.with_columns(pl.col("words").str.replace_all(" ", "").alias("key")).unique()
    classes = alike.select("key", "right").join(alike.select("right", other="words"), on="right")
    plain = pl.concat([values.select("value", "words"), bare])
    put = plain.with_columns(pl.col("words").str.replace_all(" ", "").alias("key")).join(classes, on="key")
    hour, minute = pl.col("time").str.head(2).cast(pl.Int32), pl.col("time").str.tail(2)
    half = pl.when(hour < 12).then(pl.lit("a")).otherwise(pl.lit("p"))
    twelve = (hour - 1) % 12 + 1
    of_halves = [pl.format(f"{zero}{{}}{{}}{{}}{m}", twelve, minute, half) for zero in ("", "0") for m in ("", "m")]
    on_the_hour = pl.when(minute == "00").then(pl.format("{}{}m", twelve, half))
    of_day = pl.format("{}{}", hour, minute), pl.col("time").str.replace(":", "")
    clock = values.drop_nulls("time").select("value", words=pl.concat_list(*of_day, *of_halves, on_the_hour))
    return pl.concat([plain, put.select("value", words="other"), clock.explode("words").drop_nulls()]).unique()


def _words(text: pl.Expr) -> pl.Expr:
    """Words in lower case with one space between."""
    return text.str.to_lowercase().str.replace_all(r"[\W_]+", " ").str.strip_chars(" ")


def _one_spelling(words: pl.Series, table: Mapping[str, str]) -> pl.Series:
    """Plurals and the table's phrases in one form, without small words."""
    phrases = pl.DataFrame(
        {"from": list(table), "to": list(table.values())}, schema={"from": pl.String, "to": pl.String}
    )
    apart = phrases.select(_apart(_words(pl.col(name))) for name in ("from", "to"))
    longest = apart.sort(pl.col("from").str.len_chars(), descending=True, maintain_order=True)
    spelled = _apart(pl.col("words")).str.replace_many(
        longest["from"].to_list(), longest["to"].to_list(), leftmost=True
    )
    small = spelled.str.replace_all(_SMALL, "").str.replace_all(" +", " ").str.strip_chars(" ")
    return words.to_frame("words").select(small).to_series()


def _apart(words: pl.Expr) -> pl.Expr:
    """Stems of words, each with spaces of its own around it."""
    stems = words
    for pattern, stem in _PLURALS:
        stems = stems.str.replace_all(pattern, stem)
    return pl.format(" {} ", stems.str.replace_all(" ", "  ", literal=True))


def _runs(texts: pl.Series, values: pl.Series, *, in_order: bool) -> pl.DataFrame:
    """(text, value) where words of a text, one after the other, are those of the value: as letters, or in any order."""
    words = pl.concat([texts, values]).str.split(" ").to_frame("word").with_row_index("owner").explode("word")
    words = words.filter(pl.col("word") != "")
    if not any(values):  # none of them has a word
        return pl.DataFrame(schema={"text": pl.UInt32, "value": pl.UInt32})
    owner, (code, distinct) = words["owner"].to_numpy(), _numbered(words["word"])
    size = distinct.str.len_bytes().to_numpy().astype(np.int64)[code] if in_order else np.ones(len(code), np.int64)
    start = np.concatenate([[0], np.cumsum(size)])  # where a word begins, in letters or in words
    if in_order:
        powers = _powers(_BASE, int(start[-1]) + 1)
        numbers = _letters(distinct, powers)[code] * powers[start[:-1]]
        scale = _powers(pow(_BASE, -1, 2**64), int(start[-1]) + 1)
    else:
        numbers = np.random.default_rng(0).integers(0, 2**64, len(distinct), dtype=np.uint64)[code]
        scale = np.ones(int(start[-1]) + 1, dtype=np.uint64)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(numbers, dtype=np.uint64)])

    of_value = np.flatnonzero(owner >= len(texts))
    first = of_value[np.flatnonzero(np.diff(owner[of_value], prepend=-1))]  # the first word of each value
    after = np.append(first[1:], len(owner))
    wanted = pl.DataFrame({
        "value": (owner[first] - len(texts)).astype(np.uint32),
        "size": start[after] - start[first],
        "key": (sums[after] - sums[first]) * scale[start[first]],
    })  # fmt: skip
    n = int(np.count_nonzero(owner < len(texts)))  # words of texts, which stand before those of values
    letters = values.str.replace_all(" ", "", literal=True)
    begins_at = np.full(int(start[-1]) + 1, -1)
    begins_at[start] = np.arange(len(start))
    last = int(start[n])
    found = []
    for (length,), keys in wanted.group_by("size"):
        may_begin = np.zeros(len(distinct), dtype=np.bool_)
        if in_order:  # with a word that is the first letters of a value
            asked_for = letters.gather(keys["value"]).unique()
            may_begin |= distinct.is_in(
                {value[:end] for value in asked_for for end in range(1, len(value) + 1)}
            ).to_numpy()
        else:  # with any of its words
            may_begin[code[n:][np.isin(owner[n:] - len(texts), keys["value"])]] = True
        begin = np.flatnonzero(may_begin[code[:n]])
        ends = start[begin] + length
        end = begins_at[np.minimum(ends, last)]
        kept = (ends <= last) & (end >= 0)
        at, end = begin[kept], end[kept]
        kept = owner[at] == owner[end - 1]  # it ends in the text in which it begins
        at, end = at[kept], end[kept]
        key = (sums[end] - sums[at]) * scale[start[at]]
        asked = np.sort(keys["key"].to_numpy())
        hit = asked[np.minimum(np.searchsorted(asked, key), len(asked) - 1)] == key
        found.append((owner[at[hit]].astype(np.uint32), key[hit]))
    runs = pl.DataFrame(
        {name: np.concatenate(parts) for name, parts in zip(("text", "key"), zip(*found, strict=True), strict=True)}
    )
    return runs.join(wanted, on="key").select("text", "value")


def _numbered(words: pl.Series) -> tuple[Integers, pl.Series]:
    """A number for each word, and the distinct words in the order of their numbers."""
    codes = words.cast(pl.Categorical).to_physical().to_numpy()
    numbers = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    numbers[codes] = 1
    numbers = np.cumsum(numbers) - 1
    number = numbers[codes]
    place = np.zeros(int(number.max()) + 1, dtype=np.int64)
    place[number] = np.arange(len(words))
    return number, words.gather(place)


def _powers(base: int, most: int) -> Hashes:
    factors = np.full(most, base, dtype=np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _letters(words: pl.Series, powers: Hashes) -> Hashes:
    """Of each word the sum of its letters, each times the power of its place."""
    sizes = words.str.len_bytes().to_numpy().astype(np.int64)
    first = np.cumsum(sizes) - sizes
    letters = np.frombuffer("".join(words.to_list()).encode(), dtype=np.uint8).astype(np.uint64) + np.uint64(1)
    place = np.arange(len(letters)) - np.repeat(first, sizes)
    return np.add.reduceat(letters * powers[place], first)


def _times(texts: pl.Series) -> pl.DataFrame:
    """(text, time: ``HH:MM``), all times of the day that a text may mean."""
    hours = "|".join(_NUMBERS)
    lower = pl.DataFrame({"said": texts.str.to_lowercase()}).with_row_index("text")
    named = [lower.filter(pl.col("said").str.contains(rf"\b{name}\b")).select("text", time=pl.lit(time))
             for name, time in _CALLED.items()]  # fmt: skip
    lower = lower.filter(pl.col("said").str.contains(rf"\d|\b(?:{hours})\b"))
    spelled = pl.format(" {} ", pl.col("said").str.replace_all(r"\s+", " "))
    for word, digits in _NUMBERS.items():
        spelled = spelled.str.replace_all(rf"\b{word}\b", digits)
    lower = lower.with_columns(spelled.alias("said"))
    found = []
    for pattern, minute, hours_more in _TIMES:
        said = lower.select("text", pl.col("said").str.extract_all(pattern)).explode("said").drop_nulls()
        parts = said.select("text", pl.col("said").str.extract_groups(pattern)).unnest("said")
        hour = pl.col("hour").cast(pl.Int32) + hours_more
        is_short = ~pl.col("hour").str.starts_with("0") & (pl.col("hour").cast(pl.Int32) <= 12)
        of_half = hour % 12 + pl.when(pl.col("half") == "p").then(12).otherwise(0)
        readings = (
            hour,
            pl.when(is_short & (pl.col("half").fill_null("") == "")).then((hour + 12) % 24),
            pl.when(pl.col("half").fill_null("") != "").then(of_half),
        )
        told = pl.when(pl.col("minute").fill_null("") == "").then(pl.lit(minute)).otherwise("minute")
        found += [
            parts.select("text", told.alias("minute"), hour=reading)
            .drop_nulls()
            .select(
                "text", time=pl.format("{}:{}", pl.col("hour").replace(24, 0).cast(pl.String).str.zfill(2), "minute")
            )
            for reading in readings
        ]
    return pl.concat([*named, *found]).unique()
