"""Hints at ids of dialogues, for ids that do not exist."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

_MOST: Final = 3
# Share of the letters that a similar id has in common.
_SIMILAR: Final = 0.6


def near_dialogues(dialogue: str, dialogues: pl.Series) -> list[str]:
    """The ids that may be meant by an id that does not exist: those with the same number, else the most similar ones.

    >>> near_dialogues("mul484.json", pl.Series(["MUL0481", "PMUL0484", "MUL0484"]))
    ['PMUL0484', 'MUL0484']
    >>> near_dialogues("MUL0448", pl.Series(["MUL0484", "SNG0073"])), near_dialogues("x", pl.Series(["MUL0484"]))
    (['MUL0484'], [])
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    dialogues = dialogues.unique(maintain_order=True)
    if number := re.sub(r"\D", "", dialogue).lstrip("0"):
        same = dialogues.filter(dialogues.str.replace_all(r"\D", "").str.strip_chars_start("0") == number)
        if len(same):
            return same.head(_MOST).to_list()
    similar = process.extract(
        dialogue.lower(),
        dialogues.str.to_lowercase().to_list(),
        scorer=OSA.normalized_similarity,
        limit=_MOST,
        score_cutoff=_SIMILAR,
    )
    return dialogues.gather([at for _, _, at in similar]).to_list()


def hint_at_dialogue(dialogue: str, dialogues: pl.Series) -> str:
    """The hint for an id that does not exist: ids that may be meant, or the first ones; see `near_dialogues`.

    >>> hint_at_dialogue("x", pl.Series(["MUL0484"]))
    'there is 1 dialogue, such as MUL0484'
    """
    if near := near_dialogues(dialogue, dialogues):
        return f"did you mean {' or '.join(near)}?"
    count = f"are {len(dialogues):,} dialogues" if len(dialogues) != 1 else "is 1 dialogue"
    return f"there {count}, such as {', '.join(dialogues.head(_MOST))}"
