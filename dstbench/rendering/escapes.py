r"""Users' texts as text only: what a terminal or LaTeX would take for a command is spelt out.

>>> print(visible("a\x1b[2Jb"), latex_text("50 % of a_b"))
a\x1b[2Jb 50 \% of a\_b
"""

from __future__ import annotations

import re
from typing import Final

# Control characters, and those that turn the direction of what follows or cannot be seen.
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_LATEX: Final = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "{}$&#_%"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",  # a quotation mark of its own in some languages
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "[": "{[}",  # at the beginning of a row it would be an option of the one before
    "]": "{]}",
    "*": "{*}",
    "±": r"\textpm{}",
    "→": r"$\rightarrow$",
}
_SPECIAL: Final = re.compile(f"[{re.escape(''.join(_LATEX))}]")
_LIGATURE: Final = re.compile(r"([-,])(?=\1)")  # two of them would become a dash, or a quotation mark


def visible(text: str, keep: str = "") -> str:
    r"""The text with control characters as their escapes (``\x1b``), but for those to keep: no terminal obeys them."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def latex_text(text: str) -> str:
    """The text as LaTeX that typesets it, in any font encoding."""
    return _LIGATURE.sub(r"\1{}", _SPECIAL.sub(lambda found: _LATEX[found[0]], visible(text)))


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
