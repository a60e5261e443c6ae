"""A native format: how its files are recognised, read and opened for changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from dstbench.errors import DstbenchError
from dstbench.readers.builder import NestedState, Pairs, StatesBuilder
from dstbench.readers.columns import columns_of
from dstbench.readers.source import Source
from dstbench.readers.states import States
from dstbench.readers.words import Columns

if TYPE_CHECKING:
    from dstbench.readers.document import Document
    from dstbench.readers.tokens import Tokens

#: What the module of a format needs; some of it is defined elsewhere.
__all__ = ["Format", "NestedState", "Pairs", "Said", "Source", "States", "StatesBuilder"]

#: Dialogue and turn as the file spells them, what the system said before, what the user said.
Said: TypeAlias = tuple[str, int | str, str | None, str | None]


@dataclass(frozen=True)
class Format:
    """A native file format.

    Attributes:
        name: What ``--from`` calls it.
        title: Who writes it.
        example: A small file, or its beginning, that shows the shape.
        shape: The type of the decoded file (for JSON Lines and TSV: of one line).
        sniff: Whether a source looks like this format.
        reader: Adds the turns of a source to a builder.
        holds: Which sides it can hold: ``gold``, ``pred``, or both.
        omits: Values that say that a slot is not in the state, in files that list every slot.
        layout: Finds the columns of a large file (see `columns`); None: large files are read by `reader`, too.
        finish: Changes the states after reading, to add a note, for example; None: nothing is changed.
        sharded: Whether several files of a folder are parts of one run.
        said: Yields what was said in each turn of a source, without checking states; None: the format does not hold
            utterances. The system's utterance is the one before the user's; it is empty or None if the system said
            nothing or the file does not have it.
        free_keys: Whether a record's keys may have other names, which `Source.keys` gives.
        document: Opens a source for changes, once `read` (and `said`) have checked it; None: files of this format
            cannot be written again.
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
    free_keys: bool = False
    said: Callable[[Source], Iterator[Said]] | None = None
    document: Callable[[Source], Document] | None = None

    def read(self, source: Source) -> States:
        """The states of a source of this format.

        Raises:
            DstbenchError: It cannot be read; the message says what and where.
        """
        source.hint = self.hint
        if source.keys and not source.keys.optional and not self.free_keys:
            hint = "omit --keys, or say with --from that it is another format"
            raise source.error(f"a file of format {self.name}, whose keys have fixed names", hint)
        states = self._read_columns(source) or self._build(source, self.reader)
        return states if self.finish is None else self.finish(states)

    def _read_columns(self, source: Source) -> States | None:
        columns = columns_of(source, self.layout) if self.layout is not None else None
        if columns is None:
            return None
        with suppress(DstbenchError):  # `reader` raises it again, and says where the file is wrong
            return self._build(source, lambda _, states: states.take(columns))
        return None

    def _build(self, source: Source, reader: Callable[[Source, StatesBuilder], None]) -> States:
        states = StatesBuilder(source.name, self.name, self.omits)
        reader(source, states)
        return states.build()

    def spoken(self, source: Source) -> Iterator[Said]:
        """What was said in each turn; nothing if the format does not hold it."""
        source.hint = self.hint
        return self.said(source) if self.said is not None else iter(())

    @property
    def hint(self) -> str:
        """The hint of errors about a malformed file of this format."""
        return f"a {self.name} file looks like {self.example}"
