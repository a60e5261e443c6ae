"""What results share: how a notebook shows them."""

from __future__ import annotations

from importlib import import_module


class Shown:
    """A result that notebooks show as a table of its attributes."""

    def _repr_html_(self) -> str:
        # By name, when it is asked for: rendering is a later package, built on the very classes that inherit this.
        text: str = import_module("dstbench.rendering.notebook").as_html(self)
        return text


class Record(Shown):
    """A result of several tables. A notebook shows what was found first, then the tables."""
