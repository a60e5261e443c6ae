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
from dstbench.runs.gold_sets import gold_sets

if TYPE_CHECKING:
    from collections.abc import Callable

    from dstbench.typing import Listing

# Names that `listings` shows of each kind.
_SHOWN: Final = 3
_OPTIONS: Final[dict[Listing, str]] = {
    "formats": "--from",
    "gold": "--gold",
    "matchers": "--match",
    "metrics": "-m",
    "profiles": "--profile",
    "slots": "--slots",
    "steps": "--gold-steps, --pred-steps",
}


def formats() -> pl.DataFrame:
    """Native formats: (name, holds, written_by, example)."""
    return pl.DataFrame(
        {"name": f.name, "holds": " and ".join(f.holds), "written_by": f.title, "example": f.example}
        for f in FORMATS.values()
    )


def metrics() -> pl.DataFrame:
    """Metrics: (name, parameters: with their defaults, title, source)."""
    rows = []
    for name, metric in REGISTRY.items():
        parameters = " ".join(f"{f.name}={f.metadata.get('shown', f.default)}" for f in fields(metric))
        rows.append({"name": name, "parameters": parameters, "title": metric.title, "source": metric.source})
    return pl.DataFrame(rows)


def profiles() -> pl.DataFrame:
    """Profiles: (name, title, choices: those that differ from `verbatim`)."""
    rows = []
    for name, convention in PROFILES.items():
        settings = list(convention.settings().items())[1:]
        choices = " ".join(f"{key}={value!r}" if " " in value else f"{key}={value}" for key, value in settings)
        rows.append({"name": name, "title": convention.title, "choices": choices})
    return pl.DataFrame(rows)


def matchers() -> pl.DataFrame:
    """Matchers: (name, default: with its default threshold, meaning)."""
    return pl.DataFrame(
        {"name": name, "default": str(Matcher.parse(name)), "meaning": kind.meaning} for name, kind in MATCHERS.items()
    )


def steps() -> pl.DataFrame:
    """Steps of normalisers: (name, meaning)."""
    return pl.DataFrame({"name": name, "meaning": step.meaning} for name, step in STEPS.items())


def slots() -> pl.DataFrame:
    """Registered slot sets: (name, slots: how many, members)."""
    return pl.DataFrame(
        {"name": name, "slots": len(members), "members": ", ".join(sorted(members))}
        for name, members in SLOT_SETS.items()
    )


def gold() -> pl.DataFrame:
    """Gold that is recognised: (name, dialogues, turns, slots, fingerprint)."""
    return pl.DataFrame(
        {
            "name": one.name,
            "dialogues": one.dialogues,
            "turns": one.turns,
            "slots": one.slots,
            "fingerprint": one.fingerprint,
        }
        for one in gold_sets()
    )


def listings() -> pl.DataFrame:
    """What can be listed: (name, number: how many, option: which takes them, such_as: the first of them)."""
    rows = []
    for name, of_kind in LISTINGS.items():
        names = of_kind()["name"]
        shown = ", ".join(names.head(_SHOWN))
        rows.append({"name": name, "number": len(names), "option": _OPTIONS[name], "such_as": f"{shown}, …"})
    return pl.DataFrame(rows)


LISTINGS: Final[dict[Listing, Callable[[], pl.DataFrame]]] = {
    "formats": formats,
    "gold": gold,
    "matchers": matchers,
    "metrics": metrics,
    "profiles": profiles,
    "slots": slots,
    "steps": steps,
}
