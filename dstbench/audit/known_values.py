"""The values of datasets in their utterances: which are ordinary words, and which longer values a dialogue says.

Conventions: a dialogue says a value if the value's words stand in an utterance, whole, and not within a longer value:
``express by holiday inn`` does not say ``holiday inn``. An article at the beginning makes no difference.

A value is an *ordinary word* if at least `LEAST` dialogues say it in lower case but never have it in their states, and
these are more than `SHARE` of all dialogues that say it in lower case: 172 dialogues of MultiWOZ 2.1 say ``ask``,
mostly as in ``may I ask``, and in 26 of them it is annotated, as a restaurant. Words with a capital are said as names,
and do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Final, NamedTuple

import polars as pl

from dstbench.audit.inputs import gold_cells
from dstbench.audit.mentions import bare_words, in_words, padded, squeezed
from dstbench.audit.rules import english
from dstbench.errors import DstbenchError, warn
from dstbench.readers.contexts import contexts
from dstbench.schema.core import BETWEEN

LEAST: Final = 10
SHARE: Final = 0.75


class Content(NamedTuple):
    """A dataset's gold states (dialogue, turn, slot, value) and utterances (dialogue, text); empty if it has none."""

    cells: pl.DataFrame
    texts: pl.DataFrame


def read_content(path: str | PathLike[str]) -> Content:
    """The content of a dataset; warns if it holds no utterances."""
    cells = gold_cells(path)
    try:
        said = contexts(path)
    except DstbenchError as error:
        warn(f"{error.what}: only its states are searched for values", when="before")
        return Content(cells, pl.DataFrame(schema={"dialogue": pl.String, "text": pl.String}))
    texts = said.unpivot(["system", "user"], index="dialogue", value_name="text").drop_nulls()
    return Content(cells, texts.select("dialogue", "text"))


def value_key(text: pl.Expr) -> pl.Expr:
    """The key that a value's spellings share: its letters and digits, without an article at the beginning."""
    return squeezed(_without_article(text))


def ordinary_words(datasets: Sequence[Content]) -> pl.DataFrame:
    """(key: `value_key`, said, annotated) of the values that are ordinary words, and in how many of all dialogues."""
    spellings = _spellings(datasets)
    counted = []
    for cells, texts in datasets:
        annotated = cells.select("dialogue", pl.col("value").str.split(BETWEEN)).explode("value")
        annotated = annotated.select("dialogue", key=value_key(pl.col("value")), annotated=True).unique()
        said = _said(texts.select("dialogue", words=in_words(pl.col("text"))), spellings).drop("words").unique()
        counted.append(said.join(annotated, on=["dialogue", "key"], how="left"))
    counts = pl.concat(counted).group_by("key").agg(said=pl.len(), annotated=pl.col("annotated").count())
    elsewhere = pl.col("said") - pl.col("annotated")
    return counts.filter(elsewhere >= LEAST, elsewhere > SHARE * pl.col("said")).sort("key")


def longer_values(names: pl.DataFrame, texts: pl.DataFrame, datasets: Sequence[Content]) -> pl.DataFrame:
    """(dialogue, name): values of any dataset that a dialogue says, and that contain one of the dialogue's names."""
    names = names.with_columns(key=value_key(pl.col("name")), short=_without_article(pl.col("name")))
    said = _said(texts.select("dialogue", words=bare_words(pl.col("text"))), _spellings(datasets)).unique()
    pairs = said.join(names, on=["dialogue", "key"], how="anti").join(names, on="dialogue")
    whole, part = (pl.format(" {} ", name) for name in ("words", "short"))
    return pairs.filter(whole.str.contains(part, literal=True)).select("dialogue", name="words").unique()


def _without_article(text: pl.Expr) -> pl.Expr:
    return bare_words(text).str.replace(rf"^(?:{english().articles}) (.+)", "${1}")


def _spellings(datasets: Sequence[Content]) -> pl.Series:
    """The padded words of all values, with and without an article; longer ones first."""
    value = pl.col("value")
    values = pl.concat([cells.select(value.str.split(BETWEEN)) for cells, _ in datasets]).explode("value").unique()
    words = pl.concat([values.select(bare_words(value)), values.select(_without_article(value))]).unique()
    spelled = words.filter(value != "").select(padded(value))
    return spelled.sort(value.str.len_bytes(), value, descending=[True, False])["value"]


def _said(texts: pl.DataFrame, spellings: pl.Series) -> pl.DataFrame:
    """(dialogue, words, key) of the values that are said in texts (dialogue, words)."""
    matches = padded(pl.col("words")).str.extract_many(pl.lit(spellings.implode()), leftmost=True)
    said = texts.select("dialogue", words=matches).explode("words").drop_nulls()
    return said.with_columns(bare_words(pl.col("words"))).with_columns(key=value_key(pl.col("words")))
