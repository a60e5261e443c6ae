"""What results share: how a notebook shows them."""

from __future__ import annotations

from collections.abc import Callable

_renderers: list[Callable[[object], str]] = []


def show_with(renderer: Callable[[object], str]) -> Callable[[object], str]:
    """Set what makes an element for a notebook of a result: rendering, which is built on the classes that it shows."""
    _renderers[:] = [renderer]
    return renderer


def as_html(result: object) -> str:
    """A result as an element for a notebook."""
    return _renderers[0](result)


class Shown:
    """A result that notebooks show as a table of its attributes."""

    _repr_html_ = as_html


class Record(Shown):
    """A result of several tables. A notebook shows what was found first, then the tables."""
