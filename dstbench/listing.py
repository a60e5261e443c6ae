"""What `dstbench ls` lists, as frames."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.conventions import PROFILES
from dstbench.metrics import REGISTRY
from dstbench.readers import FORMATS
from dstbench.slots import SLOT_SETS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dstbench.options import Listing


def formats() -> pl.DataFrame:
    """Native formats: (name, holds, written_by, example)."""
    return pl.DataFrame(
        [(f.name, " and ".join(f.holds), f.title, f.example) for f in FORMATS.values()],
        schema=["name", "holds", "written_by", "example"],
        orient="row",
    )


def metrics() -> pl.DataFrame:
    """Metrics: (name, parameters with their defaults, title, source)."""
    return pl.DataFrame(
        [
            (
                name,
                " ".join(f"{f.name}={f.metadata.get('shown', f.default)}" for f in fields(metric)),
                metric.title,
                metric.source,
            )
            for name, metric in REGISTRY.items()
        ],
        schema=["name", "parameters", "title", "source"],
        orient="row",
    )


def profiles() -> pl.DataFrame:
    """Profiles: (name, and a column per setting)."""
    return pl.DataFrame([{"name": name, **convention.settings()} for name, convention in PROFILES.items()])


def slots() -> pl.DataFrame:
    """Registered slot sets: (name, slots: how many, members)."""
    return pl.DataFrame(
        [(name, len(members), ", ".join(sorted(members))) for name, members in SLOT_SETS.items()],
        schema=["name", "slots", "members"],
        orient="row",
    )


LISTINGS: Final[dict[Listing, Callable[[], pl.DataFrame]]] = {
    "formats": formats,
    "metrics": metrics,
    "profiles": profiles,
    "slots": slots,
}
