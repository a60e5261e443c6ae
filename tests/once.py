"""Functions that compute once: for tests of how one result is shown at several widths and in several formats."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import polars as pl

import dstbench
from dstbench import audit, demo
from dstbench.rendering.report import Report
from dstbench.scoring import score

Kept = dict[tuple[Callable[..., Any], str], tuple[Any, list[tuple[Any, ...]]]]


def once(compute: Callable[..., Any], kept: Kept) -> Callable[..., Any]:
    """A function that keeps what it returns and warns of, and returns and warns of it again when it is asked again."""

    def get(*args: Any, **options: Any) -> Any:
        with pl.Config(tbl_width_chars=100):  # otherwise frames are printed as wide as the terminal
            key = compute, repr((args, options))
        if key in kept:
            result, warned = kept[key]
            for warning in warned:
                warnings.showwarning(*warning)
            return result
        tell, warned = warnings.showwarning, []

        def keep(*warning: Any) -> None:
            warned.append(warning)
            tell(*warning)

        warnings.showwarning = keep  # type: ignore[assignment] # whatever arguments it has
        try:
            kept[key] = compute(*args, **options), warned
        finally:
            warnings.showwarning = tell
        return kept[key][0]

    return get


def compute_once(set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Make all public functions compute once, and a report draw once."""
    kept: Kept = {}
    public = ((place, place.__all__) for place in (dstbench, audit))
    for place, names in (*public, (Report, ["to_html"]), (demo, ["worked_scores"]), (score, ["open_and_score"])):
        for name in names:
            if inspect.isfunction(function := getattr(place, name)):
                set_attribute(place, name, once(function, kept))
