"""What `dstbench ls` lists, as frames."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final, TypeVar

import polars as pl

from dstbench.conventions import profiles as conventions
from dstbench.conventions.matching import MATCHERS, Matcher
from dstbench.conventions.normalise import STEPS
from dstbench.conventions.profiles import ENDING, PROFILES
from dstbench.conventions.slots import SLOT_SETS, slot_total
from dstbench.errors import check_known, warn
from dstbench.metrics import REGISTRY, registry
from dstbench.metrics.formulas import formulas
from dstbench.readers import FORMATS
from dstbench.readers import registry as readers
from dstbench.runs.gold_sets import gold_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dstbench.conventions.convention import Convention
    from dstbench.metrics import Metric
    from dstbench.plugins import Plugins
    from dstbench.readers import Format
    from dstbench.typing import Listing

T = TypeVar("T")

# How many names `listings` shows of each kind.
_SHOWN: Final = 3
# The number of slots in formulas that depend on it: MultiWOZ's.
_TOTAL: Final = slot_total((), is_multiwoz=True)


def formats() -> pl.DataFrame:
    """Native formats: (name, holds, written_by, example; with plugins also from)."""

    def row(form: Format) -> dict[str, str]:
        return {"holds": " and ".join(form.holds), "written_by": form.title, "example": form.example}

    return _with_plugins(FORMATS, readers.PLUGINS, row)


def metrics() -> pl.DataFrame:
    """Metrics: (name, parameters: with their defaults, title, source; with plugins also from)."""

    def row(metric: type[Metric]) -> dict[str, str]:
        parameters = " ".join(f"{f.name}={f.metadata.get('shown', f.default)}" for f in fields(metric))
        return {"parameters": parameters, "title": metric.title, "source": metric.source}

    return _with_plugins(REGISTRY, registry.PLUGINS, row)


def expressions() -> pl.DataFrame:
    """Metrics as queries: (name, per_turn, value; with plugins also from, and counts of its own)."""

    def row(kind: type[Metric]) -> dict[str, str]:
        metric = kind()
        return formulas(metric.resolve(_TOTAL) if metric.needs_total else metric)

    rows = _with_plugins(REGISTRY, registry.PLUGINS, row)
    return rows.drop("counts") if (rows["counts"] == "").all() else rows


def profiles() -> pl.DataFrame:
    """Profiles: (name, title, choices: those that differ from `verbatim`; with plugins also from)."""
    return _with_plugins(PROFILES, conventions.PLUGINS, _of_profile)


def only(rows: pl.DataFrame, what: Listing, names: Sequence[str]) -> pl.DataFrame:
    """The rows with these names; a profile's name may be that of a file of choices.

    Raises:
        UsageError: There is no such name.
        DstbenchError: A file cannot be read.
    """
    in_files = [name for name in names if what == "profiles" and name.endswith(ENDING)]
    if in_files:
        of_files = [{"name": name, **_of_profile(conventions.profile(name))} for name in in_files]
        rows = pl.concat([rows, pl.DataFrame(of_files)], how="diagonal")
    if what == "profiles":
        names = [f"{name}@faithful" if f"{name}@faithful" in rows["name"] else name for name in names]
    check_known(names, rows["name"], f"there is no {what.removesuffix('s')} {{!r}}")
    return rows.filter(pl.col("name").is_in(list(names)))


def _of_profile(convention: Convention) -> dict[str, str]:
    settings = list(convention.settings().items())[1:]
    choices = " ".join(f"{key}={value!r}" if " " in value else f"{key}={value}" for key, value in settings)
    return {"title": convention.title, "choices": choices}


def _with_plugins(built_in: Mapping[str, T], plugins: Plugins[T], row: Callable[[T], dict[str, str]]) -> pl.DataFrame:
    """A row per built-in thing and per plugin; if there are plugins, a column says where each is from."""
    for place in plugins.shadowed():
        warn(f"{place} is a built-in name, and the built-in one is used")
    rows = [{"name": name, **row(one), "from": "dstbench"} for name, one in built_in.items()]
    others = [{"name": name, **row(one), "from": origin} for name, one, origin in plugins.usable()]
    return pl.DataFrame(rows + others) if others else pl.DataFrame(rows).drop("from")


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
    """Public gold sets: (name, dialogues, turns, slots, fingerprint)."""
    columns = ("name", "dialogues", "turns", "slots", "fingerprint")
    return pl.DataFrame({column: getattr(one, column) for column in columns} for one in gold_sets())


def listings() -> pl.DataFrame:
    """What can be listed: (name, number: how many, option: the one that takes them, such_as: the first few)."""
    rows = []
    for name, (of_kind, option) in LISTINGS.items():
        names = of_kind()["name"]
        shown = ", ".join(names.head(_SHOWN))
        rows.append({"name": name, "number": len(names), "option": option, "such_as": f"{shown}, …"})
    return pl.DataFrame(rows)


#: What makes each list, and the option that takes the names in it.
LISTINGS: Final[dict[Listing, tuple[Callable[[], pl.DataFrame], str]]] = {
    "formats": (formats, "--from"),
    "gold": (gold, "--gold"),
    "matchers": (matchers, "--match"),
    "metrics": (metrics, "-m"),
    "profiles": (profiles, "--profile"),
    "slots": (slots, "--slots"),
    "steps": (steps, "--gold-steps, --pred-steps"),
}
