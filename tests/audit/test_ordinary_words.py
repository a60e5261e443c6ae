"""Values among the words that are said: ordinary ones, and longer ones, against plain loops."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dstbench.audit.replacement import LEAST, SHARE, Content, ordinary_words
from dstbench.writers.rewrite import STATES

#: Dialogues: what is said, and the values of all states.
Told: TypeAlias = list[tuple[list[str], list[str]]]


def bare(value: str) -> list[str]:
    words = re.findall(r"[^\W_]+", value)
    return words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words


def letters(value: str) -> str:
    return "".join(bare(value.lower()))


def said_in(text: str, values: Iterable[str]) -> Iterator[str]:
    """The keys of the values in a text, from left to right; of those that begin with the same word, the longest."""
    spelled = {tuple(words) for v in values for words in (bare(v.lower()), re.findall(r"[^\W_]+", v.lower()))} - {()}
    words = re.findall(r"[^\W_]+", text)
    at = 0
    while at < len(words):
        long = next((n for n in range(len(words) - at, 0, -1) if tuple(words[at : at + n]) in spelled), 0)
        if long:
            yield letters(" ".join(words[at : at + long]))
        at += long or 1


def plainly_ordinary(datasets: list[Told]) -> dict[str, tuple[int, int]]:
    values = [value for dataset in datasets for _, of_states in dataset for value in of_states]
    said, annotated = Counter[str](), Counter[str]()
    for texts, of_states in (dialogue for dataset in datasets for dialogue in dataset):
        for name in {name for text in texts for name in said_in(text, values)}:
            said[name] += 1
            annotated[name] += name in {letters(value) for value in of_states}
    return {
        name: (n, annotated[name])
        for name, n in said.items()
        if n - annotated[name] >= LEAST and n - annotated[name] > SHARE * n
    }


def content(dataset: Told) -> Content:
    cells = [(f"D{n}", 0, f"s-{at}", value) for n, (_, values) in enumerate(dataset) for at, value in enumerate(values)]
    texts = [(f"D{n}", text) for n, (texts, _) in enumerate(dataset) for text in texts]
    return Content(
        pl.DataFrame(cells, STATES, orient="row"),
        pl.DataFrame(texts, dict.fromkeys(("dialogue", "text"), pl.String), orient="row"),
    )


VALUES = ("ask", "the lion", "lion", "red lion inn", "red lion", "St. Ann's", "a", "Ask me")
DATASETS = st.lists(
    st.tuples(
        st.integers(1, LEAST + 3),
        st.lists(st.lists(st.sampled_from((*VALUES, "ASK", "may", "i")), max_size=4).map(" ".join), max_size=2),
        st.lists(st.sampled_from(VALUES), max_size=2),
    ).map(lambda drawn: [(drawn[1], drawn[2])] * drawn[0]),
    max_size=4,
).map(lambda kinds: [dialogue for kind in kinds for dialogue in kind])


@given(datasets=st.lists(DATASETS, min_size=1, max_size=2))
def test_ordinary_words_are_those_that_mostly_are_not_annotated(datasets: list[Told]) -> None:
    found = ordinary_words([content(dataset) for dataset in datasets])
    assert {name: (said, annotated) for name, said, annotated in found.rows()} == plainly_ordinary(datasets)
