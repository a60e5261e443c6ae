"""What results share: how a notebook shows them."""

from __future__ import annotations

from importlib import import_module


def as_html(result: object) -> str:
    """A result as an element for a notebook."""
    # Imported by name and only when needed, because rendering is built on the classes that are shown.
    text: str = import_module("dstbench.rendering.notebook").as_html(result)
    return text


class Shown:
    """A result that notebooks show as a table of its attributes."""

    def _repr_html_(self) -> str:
        return as_html(self)


class Record(Shown):
    """A result of several tables. A notebook shows what was found first, then the tables."""
