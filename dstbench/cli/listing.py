"""What `dstbench ls` lists, as frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl

from dstbench.conventions import profiles as conventions
from dstbench.conventions.matching import MATCHERS, Matcher
from dstbench.conventions.normalise import STEPS
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
    from dstbench.typing import Listing

T = TypeVar("T")

#: Each list: the option that takes the names in it, and its rows.
_LISTS: Final[dict[Listing, tuple[str, Callable[[], Iterable[Mapping[str, Any]]]]]] = {
    "formats": ("--from", lambda: _with_plugins(FORMATS, readers.PLUGINS, lambda form: {
        "holds": " and ".join(form.holds), "written_by": form.title, "example": form.example,
    })),
    "gold": ("--gold", lambda: [
        {name: getattr(one, name) for name in ("name", "dialogues", "turns", "slots", "fingerprint")}
        for one in gold_sets()
    ]),
    "matchers": ("--match", lambda: [
        {"name": n, "default": str(Matcher.parse(n)), "meaning": one.meaning} for n, one in MATCHERS.items()
    ]),
    "metrics": ("-m", lambda: _with_plugins(REGISTRY, registry.PLUGINS, lambda metric: {
        "parameters": " ".join(f"{f.name}={f.metadata.get('shown', f.default)}" for f in fields(metric)),
        "title": metric.title, "source": metric.source,
    })),
    "profiles": ("--profile", lambda: _with_plugins(conventions.PROFILES, conventions.PLUGINS, _of_profile)),
    "slots": ("--slots", lambda: [
        {"name": n, "slots": len(s), "members": ", ".join(sorted(s))} for n, s in SLOT_SETS.items()
    ]),
    "steps": ("--gold-steps, --pred-steps", lambda: [{"name": n, "meaning": s.meaning} for n, s in STEPS.items()]),
}  # fmt: skip


def listings() -> pl.DataFrame:
    """What can be listed: (name, number: how many, option: the one that takes them, such_as: the first few)."""
    names = {what: listing(what)["name"] for what in _LISTS}
    return pl.DataFrame(
        {"name": what, "number": len(named), "option": _LISTS[what][0], "such_as": f"{', '.join(named.head(3))}, …"}
        for what, named in names.items()
    )


def listing(what: Listing) -> pl.DataFrame:
    """What can be named of a kind: (name, and what there is to say of it; with plugins also from)."""
    return pl.DataFrame(_LISTS[what][1]())


def expressions() -> pl.DataFrame:
    """Metrics as queries: (name, per_turn, value; with plugins also from, and counts of its own)."""

    def as_query(kind: type[Metric]) -> dict[str, str]:
        metric = kind()
        return formulas(metric.resolve(slot_total((), is_multiwoz=True)) if metric.needs_total else metric)

    rows = pl.DataFrame(_with_plugins(REGISTRY, registry.PLUGINS, as_query))
    return rows.drop("counts") if (rows["counts"] == "").all() else rows


def only(rows: pl.DataFrame, what: Listing, names: Sequence[str]) -> pl.DataFrame:
    """The rows with these names; a profile's name may be that of a file of choices."""
    if what == "profiles":
        in_files = [name for name in names if name.endswith(conventions.ENDING)]
        of_files = [{"name": name, **_of_profile(conventions.profile(name))} for name in in_files]
        rows = pl.concat([rows, pl.DataFrame(of_files)], how="diagonal") if of_files else rows
        names = [f"{name}@faithful" if f"{name}@faithful" in rows["name"] else name for name in names]
    check_known(names, rows["name"], f"there is no {what.removesuffix('s')} {{!r}}")
    return rows.filter(pl.col("name").is_in(list(names)))


def _of_profile(convention: Convention) -> dict[str, str]:
    settings = list(convention.settings().items())[1:]
    choices = " ".join(f"{key}={value!r}" if " " in value else f"{key}={value}" for key, value in settings)
    return {"title": convention.title, "choices": choices}


def _with_plugins(
    built_in: Mapping[str, T], plugins: Plugins[T], row: Callable[[T], dict[str, str]]
) -> list[dict[str, str]]:
    """A row per built-in thing and per plugin; if there are plugins, a column says where each is from."""
    for place in plugins.shadowed():
        warn(f"{place} is a built-in name, and the built-in one is used")
    others = [{"name": name, **row(one), "from": origin} for name, one, origin in plugins.usable()]
    source = {"from": "dstbench"} if others else {}
    return [{"name": name, **row(one), **source} for name, one in built_in.items()] + others
