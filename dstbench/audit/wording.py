"""Values in what is said: when a text has a value, word for word.

Conventions: case does not matter, nor which spaces and signs stand between words (``fen ditton``, ``fenditton``,
``Fen-Ditton``); a value begins and ends where words do.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Final

import polars as pl

#: The whole regular expression around patterns: in any case, from where a word begins to where one ends.
WHOLE: Final = r"(?i)\b(?:{})\b"
# Between the letters of a word there may be an apostrophe, a hyphen or a space, and any signs between words. Not all
# signs that Unicode knows: compiling these takes longer than the search.
_IN_WORD: Final = "['\u2019 -]?"
_SIGNS: Final = r"\s!-/:-@\[-`{-~\u2018-\u201e\u2013\u2014"


def squeezed(text: pl.Expr) -> pl.Expr:
    """Letters and digits only, in lower case: what all spellings of a value that `pattern` finds have in common."""
    return text.str.to_lowercase().str.replace_all(r"[\W_]+", "")


def spaced(text: pl.Expr) -> pl.Expr:
    """Words with one space between and around them, so that one text holds another only word by word."""
    return pl.format(" {} ", text.str.to_lowercase().str.replace_all(r"[\W_]+", " ").str.strip_chars())


def pattern(value: str) -> str:
    """What a value looks like in a text: a regular expression to put into `WHOLE`.

    >>> college = WHOLE.format(pattern("saint johns college"))
    >>> [bool(re.search(college, text)) for text in ("Saint John's", "Saint John's College")]
    [False, True]
    """
    parts = re.split(r"([\W_]+)", re.sub(r"^[\W_]+|[\W_]+$", "", value))  # words, with signs between
    signs = (f"[{_SIGNS}{''.join(sign for sign in between if not sign.isascii())}]*" for between in parts[1::2])
    words = (_IN_WORD.join(word) for word in parts[::2])
    return "".join(piece for pair in zip_longest(words, signs, fillvalue="") for piece in pair)
