"""What `dstbench ls` lists, as frames."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.conventions.matching import MATCHERS, Matcher
from dstbench.conventions.normalise import STEPS
from dstbench.conventions.profiles import PROFILES
from dstbench.conventions.slots import SLOT_SETS
from dstbench.metrics import REGISTRY
from dstbench.readers import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dstbench.typing import Listing


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
    """Profiles: (name, title, choices: those that are not `verbatim`'s)."""
    rows = []
    for name, convention in PROFILES.items():
        choices = list(convention.settings().items())[1:]
        rows.append(
            (
                name,
                convention.title,
                " ".join(f"{key}={value!r}" if " " in value else f"{key}={value}" for key, value in choices),
            )
        )
    return pl.DataFrame(rows, schema=["name", "title", "choices"], orient="row")


def matchers() -> pl.DataFrame:
    """Matchers: (name, default: with its default threshold, meaning)."""
    rows = [(name, str(Matcher.parse(name)), kind.meaning) for name, kind in MATCHERS.items()]
    return pl.DataFrame(rows, schema=["name", "default", "meaning"], orient="row")


def steps() -> pl.DataFrame:
    """Steps of normalisers: (name, meaning)."""
    return pl.DataFrame(
        [(name, step.meaning) for name, step in STEPS.items()], schema=["name", "meaning"], orient="row"
    )


def slots() -> pl.DataFrame:
    """Registered slot sets: (name, slots: how many, members)."""
    return pl.DataFrame(
        [(name, len(members), ", ".join(sorted(members))) for name, members in SLOT_SETS.items()],
        schema=["name", "slots", "members"],
        orient="row",
    )


LISTINGS: Final[dict[Listing, Callable[[], pl.DataFrame]]] = {
    "formats": formats,
    "matchers": matchers,
    "metrics": metrics,
    "profiles": profiles,
    "slots": slots,
    "steps": steps,
}
