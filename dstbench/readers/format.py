"""A native format: how its files are recognised, read and opened for changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.plugins import fault_of
from dstbench.readers.source import Source
from dstbench.readers.states import Pairs, SideBuilder, States, StatesBuilder

if TYPE_CHECKING:
    from dstbench.readers.rows import Document

#: What a format's module imports, including names that are defined elsewhere.
__all__ = ["Format", "Pairs", "Said", "SideBuilder", "Source", "States", "StatesBuilder"]

#: Dialogue and turn as the file spells them, what the system said before, what the user said.
Said: TypeAlias = tuple[str, int | str, str | None, str | None]


@dataclass(frozen=True)
class Format:
    """A native file format.

    Attributes:
        name: What ``--from`` calls it.
        title: Who writes it.
        example: A small file, or its beginning, that shows the shape.
        sniff: Whether a source looks like this format.
        reader: Adds the turns of a source to a builder.
        holds: Which sides it can hold: ``gold``, ``pred``, or both.
        omits: Values that say that a slot is not in the state, in files that list every slot.
        finish: Changes the states after reading, to add a note, for example; None: nothing is changed.
        sharded: Whether several files of a folder are parts of one run.
        said: Yields what was said in each turn of a source, without checking states; None: the format does not hold
            utterances. The system's utterance is the one before the user's; it is empty or None if the system said
            nothing or the file does not have it.
        free_keys: Whether a record's keys may have other names, which `Source.keys` gives.
        loose: Whether files that hold no data may look like it: in a folder, it is used only if no file has another
            format.
        document: Opens a source for changes, once `read` (and `said`) have checked it; None: files of this format
            cannot be written again.
    """

    name: str
    title: str
    example: str
    sniff: Callable[[Source], bool]
    reader: Callable[[Source, StatesBuilder], None]
    holds: tuple[str, ...] = ("gold", "pred")
    omits: tuple[str, ...] = ()
    finish: Callable[[States], States] | None = None
    sharded: bool = False
    free_keys: bool = False
    loose: bool = False
    said: Callable[[Source], Iterator[Said]] | None = None
    document: Callable[[Source], Document] | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def hint(self) -> str:
        """The hint of errors about a malformed file of this format."""
        return f"a {self.name} file looks like {self.example}"

    def read(self, source: Source) -> States:
        """The states of a source of this format.

        Raises:
            DstbenchError: It cannot be read; the message says what and where.
        """
        source.hint = self.hint
        if source.keys and not source.keys.optional and not self.free_keys:
            hint = "omit --keys, or say with --from that it is another format"
            raise source.error(f"a file of format {self.name}, whose keys have fixed names", hint)
        builder = StatesBuilder(source.name, self.name, self.omits)
        if source.inside:
            beside = f", not what is under {', '.join(source.beside)}" if source.beside else ""
            builder.note(f"what is under {' and '.join(source.inside)} is read{beside}")
        self.reader(source, builder)
        states = builder.build()
        return states if self.finish is None else self.finish(states)

    def spoken(self, source: Source) -> Iterator[Said]:
        """What was said in each turn; nothing if the format does not hold it."""
        source.hint = self.hint
        return self.said(source) if self.said is not None else iter(())


# --- formats that are not built in ------------------------------------------------------------------------------------


_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SIDES: Final = frozenset({"gold", "pred"})


def checked_format(form: Format, origin: str) -> Format:
    """The format as it is used: its states say where it is from, and errors in its code name it and the file."""
    kinds = dict.fromkeys(("name", "title", "example"), "string") | dict.fromkeys(("sniff", "reader"), "function")
    for part, kind in kinds.items():
        value = getattr(form, part)
        if not (isinstance(value, str) if kind == "string" else callable(value)):
            raise UsageError(f"the format's {part} is {value!r}, not a {kind}")
    if not _NAME.fullmatch(form.name):
        hint = "lower-case letters, digits and hyphens: my-format"
        raise UsageError(f"the format cannot be called {form.name!r}", hint=hint)
    if not isinstance(form.holds, tuple) or not form.holds or not _SIDES.issuperset(form.holds):
        raise UsageError(f"the format's holds is {form.holds!r}", hint='("gold", "pred"), ("gold",) or ("pred",)')
    signed, said, finish = f"{form.name}@{origin}", form.said, form.finish

    def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
        """The function; an error of any other type becomes a `DstbenchError` that names the file and the format."""

        @wraps(function)
        def call(source: Any, *others: Any) -> Any:
            try:
                return function(source, *others)
            except (DstbenchError, MemoryError):
                raise
            except Exception as error:
                what = f"the reader of format {signed} fails: {fault_of(error)}"
                file = source.source if isinstance(source, States) else source.name
                raise DstbenchError(what, file=file, hint=f"is the file damaged? {form.hint}") from error

        return call

    def sniff(source: Source) -> bool:
        try:
            return bool(form.sniff(source))
        except DstbenchError:  # it is not UTF-8, for example
            return False
        except Exception as error:
            warn(f"cannot tell whether it is of format {signed}: {fault_of(error)}", file=source.name)
            return False

    return replace(
        form,
        sniff=sniff,
        reader=guarded(form.reader),
        finish=lambda states: replace(guarded(finish)(states) if finish else states, format=signed),
        said=said and guarded(lambda source: list(said(source))),
        document=form.document and guarded(form.document),
    )
