"""Formats that are not built in: they are checked, and errors in their code become dstbench's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, Final

from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.plugins import fault_of
from dstbench.readers.format import Format, Said, Source, States, StatesBuilder

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SIDES: Final = frozenset({"gold", "pred"})


def checked_format(form: Format, origin: str) -> Format:
    """The format as it is used: its states say where it is from, and errors in its code name it and the file."""
    for part in ("name", "title", "example"):
        if not isinstance(getattr(form, part), str):
            raise UsageError(f"the format's {part} is {getattr(form, part)!r}, not a string")
    if not _NAME.fullmatch(form.name):
        raise UsageError(
            f"the format cannot be called {form.name!r}", hint="lower-case letters, digits and hyphens: my-format"
        )
    for part in ("sniff", "reader"):
        if not callable(getattr(form, part)):
            raise UsageError(f"the format's {part} is {getattr(form, part)!r}, not a function")
    if not isinstance(form.holds, tuple) or not form.holds or not _SIDES.issuperset(form.holds):
        raise UsageError(f"the format's holds is {form.holds!r}", hint='("gold", "pred"), ("gold",) or ("pred",)')
    code = _Code(form, f"{form.name}@{origin}")
    return replace(
        form,
        sniff=code.sniff,
        reader=code.read,
        finish=code.finish,
        said=None if form.said is None else code.said,
        document=None if form.document is None else code.guarded(form.document),
    )


class _Code:
    """The functions of a format that is not built in; whatever they raise becomes a `DstbenchError`.

    Args:
        form: The format.
        signed: Its name and where it is from.
    """

    def __init__(self, form: Format, signed: str) -> None:
        self._form, self._signed = form, signed

    def sniff(self, source: Source) -> bool:
        """Whether a source looks like the format; False if its own function fails."""
        try:
            return bool(self._form.sniff(source))
        except DstbenchError:  # it is not UTF-8, for example
            return False
        except Exception as error:
            warn(f"cannot tell whether it is of format {self._signed}: {fault_of(error)}", file=source.name)
            return False

    def read(self, source: Source, states: StatesBuilder) -> None:
        self.guarded(self._form.reader)(source, states)

    def finish(self, states: States) -> States:
        finished = states if self._form.finish is None else self.guarded(self._form.finish)(states)
        return replace(finished, format=self._signed)

    def said(self, source: Source) -> Iterator[Said]:
        said = self._form.said
        yield from self.guarded(lambda file: [] if said is None else list(said(file)))(source)

    def guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function; an error of any other type becomes a `DstbenchError` that names the file and the format."""

        @wraps(function)
        def call(source: Any, *others: Any) -> Any:
            try:
                return function(source, *others)
            except (DstbenchError, MemoryError):
                raise
            except Exception as error:
                raise DstbenchError(
                    f"the reader of format {self._signed} fails: {fault_of(error)}",
                    file=source.source if isinstance(source, States) else source.name,
                    hint=f"is the file damaged? {self._form.hint}",
                ) from error

        return call
