"""What results share: how a notebook shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class Shown:
    """A result that notebooks show as a table of its attributes."""

    #: What makes an element for a notebook: `dstbench` sets it, as rendering is built on the classes that it shows.
    _as_html: ClassVar[Callable[[object], str]]

    def _repr_html_(self) -> str:
        return Shown._as_html(self)


class Record(Shown):
    """A result of several tables. A notebook shows what was found first, then the tables."""
