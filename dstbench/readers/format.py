"""A native format: how its files are recognised, read and opened for changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dstbench.errors import DstbenchError
from dstbench.readers.builder import Pairs, StatesBuilder
from dstbench.readers.columns import columns_of
from dstbench.readers.source import Source
from dstbench.readers.states import States
from dstbench.readers.words import Columns

if TYPE_CHECKING:
    from dstbench.readers.document import Document
    from dstbench.readers.tokens import Tokens

#: What a module of a format needs, in one place.
__all__ = ["Format", "Pairs", "Said", "Source", "States", "StatesBuilder"]

#: Dialogue and turn as the file spells them, what the system said before, what the user said.
Said: TypeAlias = tuple[str, int | str, str | None, str | None]


@dataclass(frozen=True)
class Format:
    """A native file format.

    Attributes:
        name: What ``--from`` calls it.
        title: Who writes it.
        example: A few characters that show the shape.
        shape: The type of the decoded file (for JSON Lines and TSV: of one line).
        sniff: Whether a source looks like this format.
        reader: Adds the turns of a source to a builder.
        holds: Which sides it can hold: ``gold``, ``pred``, or both.
        omits: Values with which its files, that name every slot, say that one is not in the state.
        layout: Finds the columns of a large file (see `columns`); None: it is always read by `reader`.
        finish: Completes the states that were read: adds a note, say.
        sharded: Whether several files of a folder are parts of one run.
        said: What was said in each turn of a source; None: the format does not hold it. What the system said is what
            stands before the user's turn; where it said nothing, or the file does not know, it is empty or None. States
            are not checked.
        document: Opens a source that `read` (and `said`) have checked for changes; None: it cannot be written again.
    """

    name: str
    title: str
    example: str
    shape: Any
    sniff: Callable[[Source], bool]
    reader: Callable[[Source, StatesBuilder], None]
    holds: tuple[str, ...] = ("gold", "pred")
    omits: tuple[str, ...] = ()
    layout: Callable[[Tokens], Columns] | None = None
    finish: Callable[[States], States] | None = None
    sharded: bool = False
    said: Callable[[Source], Iterator[Said]] | None = None
    document: Callable[[Source], Document] | None = None

    def read(self, source: Source) -> States:
        """The states of a source of this format.

        Raises:
            DstbenchError: It cannot be read; the message says what and where.
        """
        source.hint = self.hint
        states = self._read_columns(source) or self._build(source, self.reader)
        return states if self.finish is None else self.finish(states)

    def _read_columns(self, source: Source) -> States | None:
        columns = columns_of(source, self.layout) if self.layout is not None else None
        if columns is None:
            return None
        with suppress(DstbenchError):  # the reader says where it is wrong
            return self._build(source, lambda _, states: states.take(columns))
        return None

    def _build(self, source: Source, reader: Callable[[Source, StatesBuilder], None]) -> States:
        states = StatesBuilder(source.name, self.name, self.omits)
        reader(source, states)
        return states.build()

    def spoken(self, source: Source) -> Iterator[Said]:
        """What was said in each turn, if the format holds it."""
        source.hint = self.hint
        return self.said(source) if self.said is not None else iter(())

    @property
    def hint(self) -> str:
        """What to say where a file of this format is malformed."""
        return f"a {self.name} file looks like {self.example}"
