"""What `dstbench ls` lists, as frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl

from dstbench.conventions import profiles as conventions
from dstbench.conventions.matching import MATCHERS, Matcher
from dstbench.conventions.normalise import STEPS
from dstbench.conventions.profiles import ENDING
from dstbench.conventions.slots import SLOT_SETS, slot_total
from dstbench.errors import check_known, warn
from dstbench.metrics import REGISTRY, registry
from dstbench.metrics.formulas import formulas
from dstbench.readers import FORMATS
from dstbench.readers import registry as readers
from dstbench.runs.gold_sets import gold_sets

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention
    from dstbench.metrics import Metric
    from dstbench.plugins import Plugins
    from dstbench.readers import Format
    from dstbench.typing import Listing

T = TypeVar("T")


def _of_format(form: Format) -> dict[str, str]:
    return {"holds": " and ".join(form.holds), "written_by": form.title, "example": form.example}


def _of_metric(metric: type[Metric]) -> dict[str, str]:
    parameters = " ".join(f"{f.name}={f.metadata.get('shown', f.default)}" for f in fields(metric))
    return {"parameters": parameters, "title": metric.title, "source": metric.source}


def _as_query(kind: type[Metric]) -> dict[str, str]:
    metric = kind()
    return formulas(metric.resolve(slot_total((), is_multiwoz=True)) if metric.needs_total else metric)


def _of_profile(convention: Convention) -> dict[str, str]:
    settings = list(convention.settings().items())[1:]
    choices = " ".join(f"{key}={value!r}" if " " in value else f"{key}={value}" for key, value in settings)
    return {"title": convention.title, "choices": choices}


def _with_plugins(
    built_in: Mapping[str, T], plugins: Plugins[T], row: Callable[[T], dict[str, str]]
) -> Iterable[dict[str, str]]:
    """A row per built-in thing and per plugin; if there are plugins, a column says where each is from."""
    for place in plugins.shadowed():
        warn(f"{place} is a built-in name, and the built-in one is used")
    rows = [{"name": name, **row(one), "from": "dstbench"} for name, one in built_in.items()]
    others = [{"name": name, **row(one), "from": origin} for name, one, origin in plugins.usable()]
    return rows + others if others else [{key: one[key] for key in one if key != "from"} for one in rows]


def expressions() -> pl.DataFrame:
    """Metrics as queries: (name, per_turn, value; with plugins also from, and counts of its own)."""
    rows = pl.DataFrame(_with_plugins(REGISTRY, registry.PLUGINS, _as_query))
    return rows.drop("counts") if (rows["counts"] == "").all() else rows


def only(rows: pl.DataFrame, what: Listing, names: Sequence[str]) -> pl.DataFrame:
    """The rows with these names; a profile's name may be that of a file of choices."""
    in_files = [name for name in names if what == "profiles" and name.endswith(ENDING)]
    if in_files:
        of_files = [{"name": name, **_of_profile(conventions.profile(name))} for name in in_files]
        rows = pl.concat([rows, pl.DataFrame(of_files)], how="diagonal")
    if what == "profiles":
        names = [f"{name}@faithful" if f"{name}@faithful" in rows["name"] else name for name in names]
    check_known(names, rows["name"], f"there is no {what.removesuffix('s')} {{!r}}")
    return rows.filter(pl.col("name").is_in(list(names)))


#: What makes the rows of each list, and the option that takes the names in it.
_LISTINGS: Final[dict[Listing, tuple[Callable[[], Iterable[Mapping[str, Any]]], str]]] = {
    "formats": (lambda: _with_plugins(FORMATS, readers.PLUGINS, _of_format), "--from"),
    "gold": (
        lambda: (
            {name: getattr(one, name) for name in ("name", "dialogues", "turns", "slots", "fingerprint")}
            for one in gold_sets()
        ),
        "--gold",
    ),
    "matchers": (
        lambda: (
            {"name": name, "default": str(Matcher.parse(name)), "meaning": kind.meaning}
            for name, kind in MATCHERS.items()
        ),
        "--match",
    ),
    "metrics": (lambda: _with_plugins(REGISTRY, registry.PLUGINS, _of_metric), "-m"),
    "profiles": (lambda: _with_plugins(conventions.PROFILES, conventions.PLUGINS, _of_profile), "--profile"),
    "slots": (
        lambda: (
            {"name": name, "slots": len(slots), "members": ", ".join(sorted(slots))}
            for name, slots in SLOT_SETS.items()
        ),
        "--slots",
    ),
    "steps": (
        lambda: ({"name": name, "meaning": step.meaning} for name, step in STEPS.items()),
        "--gold-steps, --pred-steps",
    ),
}


def listing(what: Listing) -> pl.DataFrame:
    """What can be named of a kind: (name, and what there is to say of it; with plugins also from)."""
    return pl.DataFrame(_LISTINGS[what][0]())


def listings() -> pl.DataFrame:
    """What can be listed: (name, number: how many, option: the one that takes them, such_as: the first few)."""
    rows = []
    for name, (_, option) in _LISTINGS.items():
        names = listing(name)["name"]
        rows.append({"name": name, "number": len(names), "option": option, "such_as": f"{', '.join(names.head(3))}, …"})
    return pl.DataFrame(rows)
