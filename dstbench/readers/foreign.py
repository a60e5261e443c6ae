"""Formats that are not built in: they are checked, and errors in their code become dstbench's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Final

from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.plugins import fault_of
from dstbench.readers.format import Format, Source, States

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SIDES: Final = frozenset({"gold", "pred"})


def checked_format(form: Format, origin: str) -> Format:
    """The format as it is used: its states say where it is from, and errors in its code name it and the file."""
    for part in ("name", "title", "example", "sniff", "reader"):
        is_text, value = part in ("name", "title", "example"), getattr(form, part)
        if not (isinstance(value, str) if is_text else callable(value)):
            raise UsageError(f"the format's {part} is {value!r}, not a {'string' if is_text else 'function'}")
    if not _NAME.fullmatch(form.name):
        hint = "lower-case letters, digits and hyphens: my-format"
        raise UsageError(f"the format cannot be called {form.name!r}", hint=hint)
    if not isinstance(form.holds, tuple) or not form.holds or not _SIDES.issuperset(form.holds):
        raise UsageError(f"the format's holds is {form.holds!r}", hint='("gold", "pred"), ("gold",) or ("pred",)')
    signed, said = f"{form.name}@{origin}", form.said

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

    def finish(states: States) -> States:
        return replace(states if form.finish is None else guarded(form.finish)(states), format=signed)

    return replace(
        form,
        sniff=sniff,
        reader=guarded(form.reader),
        finish=finish,
        said=None if said is None else guarded(lambda source: list(said(source))),
        document=None if form.document is None else guarded(form.document),
    )
