"""The fast path for large JSON files: states from tokens, as columns, without an object per turn or state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
import polars as pl

from dstbench.arrays import Integers, Numbers
from dstbench.errors import DstbenchError
from dstbench.readers.source import Source
from dstbench.readers.tokens import Kind, Tokens, Unusual, tokens
from dstbench.readers.words import Columns, Listed, Words

#: What the layout of a format needs; some of it is defined elsewhere.
__all__ = ["Columns", "Objects", "Tokens", "Unusual", "by_key", "columns_of"]

#: Bytes from which on this path is the faster one.
LARGE: Final = 1 << 20


def columns_of(source: Source, layout: Callable[[Tokens], Columns]) -> Columns | None:
    """The turns and states of a large file, as columns.

    Args:
        source: The file.
        layout: Finds the columns among the tokens; raises `Unusual` if the file is not of the usual form.

    Returns:
        The columns; None if the file is small, or anything in it is rare or wrong: then it must be read as objects.
    """
    if len(source.raw) < LARGE or source.kind not in ("json", "jsonl"):
        return None
    lines = source.kind == "jsonl"
    try:
        if lines:
            msgspec.json.Decoder(msgspec.Raw).decode_lines(source.raw)  # is it valid?
        elif not isinstance(source.entries, (dict, list)):
            return None
        return layout(tokens(source.raw, lines=lines))
    except (msgspec.DecodeError, RecursionError, DstbenchError, Unusual):
        return None


@dataclass(frozen=True)
class Objects:
    """The turns of a file that has one object per turn, in a list or in lines, and the objects' fields.

    The methods raise `Unusual` if a field is not as they expect it.

    Attributes:
        tokens: The file.
        depth: Depth of the fields.
        row: For each token: the number of its object.
        height: Number of objects.
        at: Indices of the tokens that are names of fields.
        field: These names.
    """

    tokens: Tokens
    depth: int
    row: Numbers
    height: int
    at: Integers
    field: Words

    @staticmethod
    def of(file: Tokens) -> Objects:
        """The objects of a file."""
        depth = 1 if file.lines else 2
        if file.depth[0] != depth or any(kind == Kind.ITEM for at, kind in file.shapes() if at <= depth):
            raise Unusual
        row = np.cumsum(file.low < depth, dtype=np.int32)
        row -= 1
        at = np.flatnonzero((file.depth == depth) & (file.kind < Kind.VALUE))
        return Objects(file, depth, row, int(row[-1]) + 1, at, file.words.only(at))

    def named(self, name: str, *, in_all: bool = False) -> Integers:
        """The tokens that are fields of this name; with `in_all`, every object must have it."""
        word = self.field.words.index_of(name)
        at = self.at[self.field.code == word] if word is not None else self.at[:0]
        if in_all and len(at) != self.height:
            raise Unusual
        return at

    def strings(self, name: str) -> Words:
        """A field that every object has, a string."""
        at = self.named(name, in_all=True)
        self.expect_strings(name)
        return self.tokens.words.only(at + 1)

    def integers(self, name: str) -> pl.Series:
        """A field that every object has, an integer."""
        return pl.Series(self.tokens.integers(self.named(name, in_all=True)))

    def expect_strings(self, *names: str) -> None:
        """Check that these fields are strings in all objects that have them."""
        if not all((self.tokens.kind[self.named(name)] == Kind.TO_STRING).all() for name in names):
            raise Unusual

    def flat(self, name: str, *, in_all: bool = True) -> Listed:
        """The states {slot: value} in a field."""
        return self.tokens.flat(self.row, self.named(name, in_all=in_all), self.depth + 1)

    def nested(self, name: str, *, under: str | None = None) -> Listed:
        """The states {domain: {slot: value}} in a field of every object, or in a field of its object `under`."""
        if under is None:
            return self.tokens.nested(self.row, self.named(name, in_all=True), self.depth + 1)
        file = self.tokens
        inner = np.flatnonzero((file.depth == self.depth + 1) & (file.kind < Kind.VALUE))
        inner = inner[np.isin(file.key(self.depth)[inner], self.named(under))]
        at = inner[file.words.code[inner] == file.word(name)]
        if len(at) != self.height:
            raise Unusual
        return file.nested(self.row, at, self.depth + 2)


def by_key(
    gold: Callable[[str], bool],
    pred: Callable[[str], bool],
    states: Callable[..., Listed],
    under: str | None = None,
) -> Callable[[Tokens], Columns]:
    """The layout of files of the form {dialogue: {turn: {gold, pred}}}.

    Args:
        gold: Whether a key in a turn is that of the gold state.
        pred: Whether it is that of the predicted state.
        states: What reads the states: `Tokens.flat`, `Tokens.nested` or `Tokens.pairs`.
        under: The key in a dialogue that leads to its turns, if other keys lead to strings and scalars; None: turns are
            the dialogue's own keys.
    """
    depth = 2 if under is None else 3  # of the turns
    shapes = {(1, Kind.TO_OBJECT), (depth, Kind.TO_OBJECT)}
    if under is not None:
        shapes |= {(2, Kind.TO_OBJECT), (2, Kind.TO_STRING), (2, Kind.VALUE)}

    def layout(file: Tokens) -> Columns:
        if under is not None:
            above = (file.depth == 2) & (file.kind == Kind.TO_OBJECT)
            if (file.words.code[above] != file.word(under)).any():
                raise Unusual
        is_turn = (file.depth == depth) & (file.kind == Kind.TO_OBJECT)
        at, row = np.flatnonzero(is_turn), np.cumsum(is_turn, dtype=np.int32)
        row -= 1
        fields = np.flatnonzero((file.depth == depth + 1) & (file.kind < Kind.VALUE))
        if not len(at) or len(fields) != 2 * len(at) or not file.shapes(file.depth <= depth) <= shapes:
            raise Unusual
        keys = file.words.only(fields)
        sides = []
        for is_wanted in (gold, pred):
            wanted = [code for code, key in enumerate(keys.words) if is_wanted(key)]
            of_side = fields[keys.code == wanted[0]] if len(wanted) == 1 else fields[:0]
            if len(of_side) != len(at):
                raise Unusual
            sides.append(states(file, row, of_side, depth + 2))
        return Columns(file.words.only(file.key(1)[at]), file.words.only(at).strings(), *sides)

    return layout
