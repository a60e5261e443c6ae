"""The short way through a large file: its tokens as columns, without an object per turn or state."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.readers.builder import Listed, Words, assemble, checked_turns
from dstbench.readers.tokens import Kind, Tokens, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from dstbench.readers.source import Source
    from dstbench.readers.states import States

#: Bytes from which the short way is the shorter one.
LARGE: Final = 1 << 20


@dataclass(frozen=True)
class Columns:
    """What a file says, as columns: each turn's dialogue and number, and what the sides list."""

    dialogue: Words
    turn: pl.Series
    gold: Listed | None
    pred: Listed | None


def states_of(source: Source, form: str, layout: Callable[[Tokens], Columns | None]) -> States | None:
    """The states of a large file of the most usual kind.

    Args:
        source: The file.
        form: Name of its format.
        layout: Finds the columns among the tokens; None if anything is not as it mostly is.

    Returns:
        None if the file is small, or anything in it is rare, or wrong: the reader goes the way of objects then.
    """
    if len(source.raw) < LARGE or source.kind not in ("json", "jsonl") or not _is_json(source):
        return None
    found = tokens(source.raw, lines=source.kind == "jsonl")
    columns = None if found is None else layout(found)
    if columns is None:
        return None
    try:
        turns = checked_turns(source.name, columns.dialogue, columns.turn)
        return assemble(source.name, form, turns, columns.gold, columns.pred)
    except DstbenchError:
        return None


def _is_json(source: Source) -> bool:
    try:
        if source.kind == "jsonl":
            msgspec.json.Decoder(msgspec.Raw).decode_lines(source.raw)
            return True
        return isinstance(source.entries, (dict, list))
    except (msgspec.DecodeError, RecursionError, DstbenchError):
        return False


@dataclass(frozen=True)
class Objects:
    """The objects of a file that is a list of them, or lines: each is a turn, and has fields.

    Attributes:
        tokens: The file.
        depth: That of the fields.
        row: Of each token: its object.
        height: How many objects there are.
        at: The tokens that are fields.
        field: Their names.
    """

    tokens: Tokens
    depth: int
    row: NDArray[np.int32]
    height: int
    at: NDArray[np.int64]
    field: Words

    @staticmethod
    def of(found: Tokens) -> Objects | None:
        """The objects; None if the file is something else."""
        depth = 1 if found.lines else 2
        if found.depth[0] != depth or any(kind == Kind.ITEM for at, kind in found.shapes() if at <= depth):
            return None
        row = np.cumsum(found.low < depth, dtype=np.int32)
        row -= 1
        at = np.flatnonzero((found.depth == depth) & (found.kind < Kind.VALUE))
        return Objects(found, depth, row, int(row[-1]) + 1, at, found.words.only(at))

    def named(self, name: str) -> NDArray[np.int64]:
        """The tokens that are fields of this name."""
        word = self.field.words.index_of(name)
        return self.at[self.field.code == word] if word is not None else self.at[:0]

    def strings(self, name: str) -> Words | None:
        """A field that every object has, a string."""
        at = self.named(name)
        if len(at) != self.height or (self.tokens.kind[at] != Kind.TO_STRING).any():
            return None
        return self.tokens.words.only(at + 1)

    def flat(self, name: str) -> Listed | None:
        """The states {slot: value} that stand in a field, of objects that have it."""
        return self.tokens.flat(self.row, self.named(name), self.depth + 1)

    def nested(self, name: str, *, under: str | None = None) -> Listed | None:
        """The states {domain: {slot: value}} that stand in a field, or in a field of the field `under`."""
        if under is None:
            return self.tokens.nested(self.row, self.named(name), self.depth + 1)
        found = self.tokens
        inner = np.flatnonzero((found.depth == self.depth + 1) & (found.kind < Kind.VALUE))
        inner = inner[np.isin(found.key(self.depth)[inner], self.named(under))]
        at = inner[found.words.code[inner] == found.word(name)]
        return found.nested(self.row, at, self.depth + 2)

    def are_strings(self, *names: str) -> bool:
        """Whether these fields, where an object has them, are strings."""
        return all((self.tokens.kind[self.named(name)] == Kind.TO_STRING).all() for name in names)

    def integers(self, name: str) -> pl.Series | None:
        """A field that every object has, an integer."""
        at = self.named(name)
        found = self.tokens.integers(at) if len(at) == self.height else None
        return None if found is None else pl.Series(found)


def by_key(
    found: Tokens,
    *,
    gold: Callable[[str], bool],
    pred: Callable[[str], bool],
    states: Callable[..., Listed | None],
    under: str | None = None,
) -> Columns | None:
    """Files of the form {dialogue: {turn: {gold, pred}}}.

    Args:
        found: The tokens.
        gold: Whether a turn's key is that of the gold state.
        pred: The same of the predicted state.
        states: `Tokens.flat`, `Tokens.nested` or `Tokens.pairs`: what reads them.
        under: The key of a dialogue under which its turns stand; beside it are only strings.
    """
    depth = 2 if under is None else 3  # of the turns
    is_turn = (found.depth == depth) & (found.kind == Kind.TO_OBJECT)
    shapes = {(1, Kind.TO_OBJECT), (depth, Kind.TO_OBJECT)}
    if under is not None:
        shapes |= {(2, Kind.TO_OBJECT), (2, Kind.TO_STRING), (2, Kind.VALUE)}
        above = (found.depth == 2) & (found.kind == Kind.TO_OBJECT)
        if (found.words.code[above] != found.word(under)).any():
            return None
    at, row = np.flatnonzero(is_turn), np.cumsum(is_turn, dtype=np.int32)
    row -= 1
    if not len(at) or not found.shapes(found.depth <= depth) <= shapes:
        return None
    named = np.flatnonzero((found.depth == depth + 1) & (found.kind < Kind.VALUE))
    keys = found.words.only(named)
    sides = []
    for is_wanted in (gold, pred):
        wanted = [number for number, key in enumerate(keys.words) if is_wanted(key)]
        of_side = named[keys.code == wanted[0]] if len(wanted) == 1 else named[:0]
        sides.append(states(found, row, of_side, depth + 2) if len(of_side) == len(at) else None)
    gold_side, pred_side = sides
    if gold_side is None or pred_side is None or len(named) != 2 * len(at):
        return None
    return Columns(found.words.only(found.key(1)[at]), found.words.only(at).strings(), gold_side, pred_side)


@contextmanager
def without_collection() -> Iterator[None]:
    """What is decoded has no cycles, and to look for them again and again takes longer than to decode it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
