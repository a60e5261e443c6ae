"""What commands said when it was last recorded: a change of it shows in a review, and none goes unnoticed.

This is no witness that a number is right; other tests are. It holds what people read as texts, and what programs read
as a line for each column: how many values, their sum, their sum weighted by their places, and a checksum of texts.
``RECORD=1`` before the test command records anew (with ``-n0``); then read what has changed in `recorded/`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final
from zlib import crc32

_FOLDER: Final = Path(__file__).with_name("recorded")
_NAME: Final = re.compile(r"^=== (.*) ===\n", re.MULTILINE)
_VERSION: Final = re.compile(r"(?<=\bv:)\d+\.\d+\.\d+|(?<=dstbench )\d+\.\d+\.\d+")
# Names that Altair numbers.
_NUMBERED: Final = re.compile(r"\b(view|param|selector|concat|layer)_\d+|\bdata-[0-9a-f]{8,}")


@cache
def _sections(file: str) -> dict[str, str]:
    path = _FOLDER / f"{file}.txt"
    _, *parts = _NAME.split(path.read_text("utf-8")) if path.exists() else ("",)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def check(file: str, name: str, text: str) -> None:
    """Compare a text with the one that was recorded under a name in one of the files."""
    text = "\n".join(line.rstrip() for line in _VERSION.sub("V", text).strip("\n").split("\n")) + "\n"
    sections = _sections(file)
    if os.environ.get("RECORD") and not os.environ.get("CI"):  # where nothing is recorded, so that nothing passes
        sections[name] = text
        _FOLDER.mkdir(exist_ok=True)
        whole = "".join(f"=== {key} ===\n{sections[key]}" for key in sorted(sections))
        (_FOLDER / f"{file}.txt").write_text(whole, "utf-8")
    assert name in sections, f"not recorded: RECORD=1 records it in {file}.txt"
    assert text.split("\n") == sections[name].split("\n")


def columns(result: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """A line for each column of the tables of a result."""
    for table, rows in result.items():
        for key in dict.fromkeys(key for row in rows for key in row):
            yield f"{table}.{key}: {summed(row.get(key) for row in rows)}"


def summed(values: Iterable[Any]) -> str:
    """Values in a few words: how many there are, their sums, and a checksum of those that are no numbers."""
    kept = [*values]
    numbers = [(at, value) for at, value in enumerate(kept, 1) if isinstance(value, (int, float))]
    others = [_VERSION.sub("V", _text(value)) for value in kept if not isinstance(value, (int, float))]
    said = [f"{len(kept)} values"]
    if numbers:
        said.append(f"{_short(sum(v for _, v in numbers))} {_short(sum(at * v for at, v in numbers))}")
    if {*others} - {"None"}:
        said.append(f"{crc32(chr(10).join(others).encode()):08x}")
    return ", ".join(said)


def _text(value: Any) -> str:
    """A value as text; a file, by its name and what is drawn in it, if that is no image."""
    if not isinstance(value, tuple):
        return str(value)
    name, content = value
    is_image = content[:4] in (b"\x89PNG", b"%PDF")
    text = _EXACT.sub(lambda number: _short(float(number[0])), content.decode(errors="replace"))
    return f"{name} {'' if is_image else crc32(unnumbered(text))}"


# Numbers whose last digits differ between processors.
_EXACT: Final = re.compile(r"-?\d+\.\d{6,}(?:e[-+]?\d+)?")
_HIDDEN: Final = re.compile(r"<(script|style)\b.*?</\1>|<svg(?! class=.interval).*?</svg>", re.DOTALL)
# What a reader can see or use of a tag, besides its text.
_USED: Final = re.compile(r'(?:title|href|value|aria-label|cx|x1|x2)="[^"]*"|\b(?:checked|selected|open|hidden)\b')


def text_of(html: str) -> str:
    """What one reads in a page without its figures and scripts, a row of a table in a line."""

    def said(tag: re.Match[str]) -> str:
        used = " ".join(_USED.findall(tag[0]))
        if re.match(r"</?(sup|b|em|code|span|mark|i)\b", tag[0]):
            return f" {used} " if used else ""
        is_within = re.match(r"</?(td|th|small|line|circle|svg|option|a|abbr)\b", tag[0])
        return f" {used} " if is_within else f"\n{used} "

    lines = re.sub(r"<[a-z/][^>]*>", said, re.sub(r">\s+<", "><", _HIDDEN.sub("", html))).split("\n")
    return "\n".join(text for line in lines if (text := " ".join(line.split())))


def unnumbered(drawing: str) -> bytes:
    """A drawing without what differs from one time to the next."""
    return _NUMBERED.sub("", drawing).encode()


def _short(number: float) -> str:
    return f"{0.0 if abs(number) < 1e-9 else number:.7g}"  # so that no order of sums shows
