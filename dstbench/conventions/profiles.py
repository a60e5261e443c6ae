"""The named conventions: how each repository cleans, compares and counts.

Profiles have versions: if a rule changes, add a new version; never edit one. If the original has a bug that changes
scores, there are two profiles: ``P@faithful`` has the bug and ``P@fixed`` has not. Plain ``P`` is the faithful one,
which gives the published numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

from dstbench.conventions.choices import CHOICES, file_type
from dstbench.conventions.convention import DEFAULTS, SLOT_KINDS, Convention, from_text
from dstbench.conventions.files import UserFile
from dstbench.conventions.slots import KNOWN_SLOTS, SLOT_SETS, domain_of
from dstbench.errors import DstbenchError, UsageError, check_known, did_you_mean
from dstbench.plugins import Plugins

#: The key of the profile to start from.
BASE: Final = "base"
#: The ending of such a file.
ENDING: Final = ".toml"
# Fields by the keys that a file may use: the field's name, the same with hyphens, or the option's name.
_KEYS: Final[Mapping[str, str]] = {
    spelling: name
    for name, choice in CHOICES.items()
    if name != "name"
    for spelling in (name, name.replace("_", "-"), choice.metadata["option"] or name)
}


def read_choices(path: Path) -> tuple[str, dict[str, Any]]:
    """The profile to start from (``verbatim`` if the file names none), and the choices that replace its own."""
    import tomllib

    from dstbench.io.files import File

    file = File(path)
    try:
        document = tomllib.loads(file.read().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise file.error(f"not TOML: {error}", 'base = "trade", then a line such as dontcare = "drop"') from None
    base = document.pop(BASE, "verbatim")
    if not isinstance(base, str) or base.endswith(ENDING):
        raise file.error(f"{BASE} = {base!r} names no profile", "one of `dstbench ls profiles`")
    chosen: dict[str, Any] = {}
    for key, value in document.items():
        name = _KEYS.get(key)
        if name is None:
            hint = did_you_mean(key, [BASE, *_KEYS]) or f"{BASE}, {', '.join(dict.fromkeys(_KEYS.values()))}"
            raise file.error(f"a convention has no choice {key!r}", hint)
        if name in chosen:
            raise file.error(f"two values of {name}", "keep one of them")
        if file_type(CHOICES[name]) is not None:
            if not isinstance(value, str):
                raise file.error(f"{key} = {value!r} is not the name of a file")
            value = path.parent / value  # noqa: PLW2901
        elif name == "metrics" and isinstance(value, list):
            value = ",".join(map(str, value))  # noqa: PLW2901
        chosen[name] = from_text(name, value)
    return base, {"title": f"choices of {path.name}, otherwise as {base}", **chosen}


def hash_of(settings: Mapping[str, str]) -> str:
    """A hash of the choices in the settings of a signature (`Convention.settings`), whatever the profile's name."""
    choices = {key: text for key, text in settings.items() if key in DEFAULTS and key != "profile"}
    return UserFile.of(choices).digest


# What TRADE and its successors do to gold, and to gold only.
_TRADE_GOLD: Final = ("dontcare", "typos", "labels")
# The steps of scripts that normalise both sides alike.
_CANONICAL: Final = ("case", "space", "typos", "dontcare", "times", "booleans")
# MultiWOZ_Evaluation's own steps, after those that make STAR's true and false the values of MultiWOZ.
_MWZEVAL: Final = ("booleans", "mwzeval")

_PROFILES: Final = (
    Convention(),
    Convention(
        name="kim2022.2", metrics="jga,sa:T=30,aga,rsa",
        title="Kim et al. 2022: JGA, SA over 30 slots, AGA, RSA, exact strings",
    ),
    Convention(
        name="fga2022@faithful.3", absent=("none",), none="keep", wrong_costs="hyphen",
        metrics="jga,sa:T=30,aga,fga:lam=0.25,fga,fga:lam=0.75,fga:lam=1",
        title="Dey et al. 2022, released script: `none` is a value; values split at the last hyphen",
    ),
    Convention(
        name="fga2022@fixed.3", absent=("none",), none="keep",
        metrics="jga,sa:T=30,aga,fga:lam=0.25,fga,fga:lam=0.75,fga:lam=1",
        title="Dey et al. 2022: `none` is a value",
    ),
    Convention(
        name="gca2024@faithful.3", absent=("none",), wrong_costs="hyphen",
        metrics="jga,sa:T=30,aga,iaga,rsa,fga:lam=0.25,fga,fga:lam=0.75,fga:lam=1,gca",
        title="Aksu & Chen 2024, released script: values split at the last hyphen",
    ),
    Convention(
        name="gca2024@fixed.3", absent=("none",),
        metrics="jga,sa:T=30,aga,iaga,rsa,fga:lam=0.25,fga,fga:lam=0.75,fga:lam=1,gca",
        title="Aksu & Chen 2024",
    ),
    Convention(
        name="trade@faithful.1", none="drop-pred", gold_steps=_TRADE_GOLD, wrong_costs="hyphen",
        domain_turns="dialogue", metrics="jga,sa:T=30,f1",
        title="Wu et al. 2019: gold's labels fixed, its `none` kept (such turns cannot be right); last-hyphen split",
    ),
    Convention(
        name="trade@fixed.1", gold_steps=_TRADE_GOLD, domain_turns="dialogue", metrics="jga,sa:T=30,f1",
        title="Wu et al. 2019: gold's labels fixed, `none` dropped on both sides",
    ),
    Convention(
        name="som-dst@faithful.1", gold_steps=_TRADE_GOLD, wrong_costs="hyphen", metrics="jga,sa:T=30,f1",
        title="Kim et al. 2020: as TRADE, `none` dropped on both sides; last-hyphen split",
    ),
    Convention(
        name="som-dst@fixed.1", gold_steps=_TRADE_GOLD, metrics="jga,sa:T=30,f1",
        title="Kim et al. 2020: as TRADE, `none` dropped on both sides",
    ),
    Convention(
        name="star.1", slots="multiwoz-30", gold_steps=_CANONICAL, pred_steps=_CANONICAL, metrics="jga,sa",
        title="Ye et al. 2021: 30 slots, both sides in one spelling of times, booleans and dontcare",
    ),
    Convention(
        name="trippy.1", slots="multiwoz-30", gold_steps=("case", "tokens"), pred_steps=("case", "tokens"),
        metrics="jga,sa",
        title="Heck et al. 2020: both sides in tokens; a label map (--label-map FILE) accepts variants of gold values",
    ),
    Convention(
        name="simpletod-v0.1", absent=("not mentioned", ""), dontcare="drop",
        gold_steps=("case", "labels", "booleans"), pred_steps=("case", "labels", "booleans"), metrics="jga",
        title="Hosseini-Asl et al. 2020, first release: dontcare dropped on both sides",
    ),
    Convention(
        name="simpletod-v1.1", absent=("not mentioned", ""),
        gold_steps=("case", "labels", "booleans"), pred_steps=("case", "labels", "booleans"), metrics="jga",
        title="Hosseini-Asl et al. 2020, since September 2020: only `not mentioned` dropped",
    ),
    Convention(
        name="t5dst@faithful.1", none="drop-pred", domain_turns="dialogue", wrong_costs="hyphen",
        metrics="jga,sa,f1",
        title="Lin et al. 2021: TRADE's counting on raw gold; gold's `none` kept",
    ),
    Convention(
        name="t5dst@fixed.1", domain_turns="dialogue", metrics="jga,sa,f1",
        title="Lin et al. 2021: TRADE's counting on raw gold; `none` dropped on both sides",
    ),
    Convention(
        name="mwzeval@faithful.2", booking="as-written", dontcare="drop-gold", gold_steps=_MWZEVAL,
        pred_steps=_MWZEVAL, multi="first", match="partial-best:above=0.95", fuzzy="all", missing="intersect",
        metrics="jga,f1:avg=micro:empty=0",
        title="Nekvinda & Dušek 2021: first gold value, gold's dontcare dropped, partial ratio above 95 on all values; "
        "a booking slot that the file does not call as gold does (`day` for `bookday`) is another slot",
    ),
    Convention(
        name="mwzeval@mapped.1", dontcare="drop-gold", gold_steps=_MWZEVAL,
        pred_steps=(*_MWZEVAL, "mwzeval-book-times"), multi="first", match="partial-best:above=0.95", fuzzy="all",
        missing="intersect", metrics="jga,f1:avg=micro:empty=0",
        title="Nekvinda & Dušek 2021, with booking slots under gold's names (`day` is `bookday`)",
    ),
    Convention(
        name="mwzeval@fixed.1", dontcare="drop", gold_steps=("first", *_CANONICAL), pred_steps=_CANONICAL,
        match="partial:above=0.95", missing="wrong", metrics="jga,f1:avg=micro:empty=0",
        title="Nekvinda & Dušek 2021, but dontcare dropped on both sides, no partial match of numbers and times",
    ),
    Convention(
        name="sgd.2", none="keep", multi="by-kind", pred_steps=("first",), match="token-sort:least=1", fuzzy="all",
        unit="frame", domain_turns="frames", missing="intersect", metrics="soft-jga,soft-aga,jga",
        title="Rastogi et al. 2020: mean over gold's frames of the product of token-sort scores; give it --schema",
    ),
    Convention(
        name="sgd-mwz.1", absent=("",), multi="any", pred_steps=("first",), over="gold-domains", missing="intersect",
        metrics="jga,aga",
        title="SGD's evaluator in MultiWOZ style: exact match with any alternative, joint over gold's frames of a turn",
    ),
    Convention(
        name="convlab3-unified.1", absent=("",), gold_steps=("case", "no-space"), pred_steps=("case", "no-space"),
        multi="overlap", over="gold-domains", metrics="jga,f1:avg=micro:empty=0",
        title="ConvLab-3: any predicted among any gold alternatives; predictions outside gold's domains ignored",
    ),
    Convention(
        name="qian2021.2", dontcare="drop", gold_steps=("case", "space"), pred_steps=("case", "space"),
        match="levenshtein:above=0.9", metrics="jga,sa:T=30,error-turns",
        title="Qian et al. 2021, §5: Levenshtein similarity above 90 %",
    ),
    Convention(
        name="qian2021-code.2", dontcare="drop", match="partial:least=0.9", fuzzy="all", wrong_costs="twice",
        metrics="jga,sa:T=30",
        title="Qian et al. 2021, released script: partial ratio from 90; a wrong value costs two slots",
    ),
    Convention(
        name="icdst@faithful.1", multi="any", pred_steps=("first",), domain_turns="dialogue", wrong_costs="hyphen",
        metrics="jga,sa:T=30,f1",
        title="Hu et al. 2022: any gold alternative, the first predicted one; last-hyphen split",
    ),
    Convention(
        name="icdst@fixed.1", multi="any", pred_steps=("first",), domain_turns="dialogue", metrics="jga,sa:T=30,f1",
        title="Hu et al. 2022: any gold alternative, the first predicted one",
    ),
    Convention(
        name="dstc10.2", slots="dstc10-19", none="keep", gold_steps=("case", "numbers"), pred_steps=("case", "numbers"),
        multi="all", metrics="jga,sa",
        title="DSTC10 track 2: 19 slots, the same set of alternatives on both sides; `none` is a value",
    ),
)  # fmt: skip

# Profiles that suit any dataset, not only MultiWOZ.
_ANY_DATASET: Final = frozenset({"verbatim", "gca2024", "sgd", "sgd-mwz", "convlab3-unified"})

#: Conventions by the name that ``--profile`` takes; a name without its ``@faithful`` means that one.
PROFILES: Final[dict[str, Convention]] = {c.name.rpartition(".")[0]: c for c in _PROFILES}


def _checked(convention: Convention, origin: str) -> Convention:
    """A convention that is not built in, under its name in signatures: its name, version and origin."""
    if not _VERSIONED.fullmatch(convention.name):
        raise UsageError(
            f"the convention cannot be called {convention.name!r}", hint='a name and a version: name="mylab.1"'
        )
    return replace(convention, name=f"{convention.name}@{origin}")


_VERSIONED: Final = re.compile(r"[A-Za-z][\w@-]*\.[0-9]+")
#: The profiles that are not built in.
PLUGINS: Final = Plugins(
    "profile",
    PROFILES,
    is_one=lambda item: isinstance(item, Convention) and item not in _PROFILES,
    name_of=lambda convention: convention.name.rpartition(".")[0] or None,
    checked=_checked,
)


def profile(name: str | PathLike[str], **overrides: Any) -> Convention:
    """The convention of a profile, with some of its choices replaced.

    If `slots` are those of one domain or one kind, `outside` becomes ``dropped`` unless it is set, too.

    Args:
        name: A name in `PROFILES`, of which ``trade`` is ``trade@faithful``; the name of a profile that is not built in
            (see `plugins`); or a TOML file of choices, ``mylab.toml``, whose ``base`` names the profile from which all
            other choices come.
        **overrides: Fields of `Convention`; None keeps the profile's choice. `typos`, `labels`, `schema` and `seen` may
            be the path of a file, and steps a comma-separated text (``-`` for none).

    Returns:
        The convention; if a choice differs from the profile's, its name ends in ``+``.

    Raises:
        UsageError: There is no such profile or choice.
        DstbenchError: A file cannot be read, or names a choice that does not exist; or a profile that is not built in
            cannot be used.

    >>> profile("trade").name, profile("trade", dontcare="drop").name
    ('trade@faithful.1', 'trade@faithful.1+')
    """
    if not isinstance(name, (str, PathLike)):
        raise UsageError(f"{name!r} is not a profile", hint='the name of one, "star", or a file of choices')
    name = fspath(name)
    base = _in_file(Path(name)) if name.endswith(ENDING) else None
    base = base or PROFILES.get(name) or PROFILES.get(f"{name}@faithful") or PLUGINS.find(name)
    if base is None:
        raise UsageError(f"there is no profile {name!r}", hint=_other_profiles(name))
    chosen = {key: value for key, value in overrides.items() if value is not None}
    if unknown := chosen.keys() - CHOICES.keys():
        check_known(sorted(unknown), CHOICES, "a convention has no {!r}")
    changed = _with(base, {key: from_text(key, value) for key, value in chosen.items()}) if chosen else base
    return base if changed == base else replace(changed, name=f"{base.name}+")


def _in_file(path: Path) -> Convention:
    """The convention of a TOML file."""
    base, chosen = read_choices(path)
    try:
        convention = _with(profile(base), chosen)
    except UsageError as error:
        raise DstbenchError(error.what, file=error.file or str(path), hint=error.hint) from None
    stem = re.sub(r"[^\w.-]", "-", path.stem)
    return replace(convention, name=f"{stem}#{hash_of(convention.settings())}")


def _with(base: Convention, chosen: Mapping[str, Any]) -> Convention:
    """A convention with other choices, and with those that follow from them."""
    slots = chosen.get("slots", "")
    one_domain = isinstance(slots, str) and len({domain_of(slot) for slot in SLOT_SETS.get(slots, ())}) == 1
    if one_domain or slots in [*SLOT_KINDS]:
        chosen = {"outside": "dropped", **chosen}
    return replace(base, **chosen)


def _other_profiles(name: str) -> str:
    """The hint for the name of a profile that does not exist."""
    base = name.partition("@")[0]
    if base != name and base in PROFILES:
        return f"{base} has no variants"
    names = list(dict.fromkeys(spelling for p in PROFILES for spelling in (p.partition("@")[0], p))) + PLUGINS.names()
    return (
        did_you_mean(name, names) or f"one of {', '.join(n for n in names if '@' not in n)}; see `dstbench ls profiles`"
    )


def as_convention(choice: str | PathLike[str] | Convention) -> Convention:
    """The convention itself (that of a package or named module, under its full name), or the profile of this name."""
    if not isinstance(choice, Convention):
        return profile(choice)
    if _VERSIONED.fullmatch(choice.name) and choice not in _PROFILES:
        with suppress(DstbenchError):  # the convention need not be of a package
            own = PLUGINS.find(choice.name.rpartition(".")[0])
            if own is not None and replace(own, name=choice.name) == choice:
                return own
    return choice


#: Native format to the profile of its authors' evaluation.
OF_FORMATS: Final = {
    "mwzeval": "mwzeval@fixed", "trade": "trade@fixed", "som": "som-dst@fixed", "star": "star",
    "simpletod": "simpletod-v1", "t5dst": "t5dst@fixed", "convlab3": "convlab3-unified", "sgd": "sgd",
}  # fmt: skip


def suits(convention: Convention, slots: frozenset[str]) -> str | None:
    """Why a convention does not suit a run whose gold has values of these slots; None if it suits."""
    name = convention.name.partition(".")[0].partition("@")[0]
    is_built_in = convention.name.removesuffix("+") in {built_in.name for built_in in _PROFILES}
    of_multiwoz = bool(slots & KNOWN_SLOTS) or not slots
    if not of_multiwoz and is_built_in and name not in _ANY_DATASET:
        return "for MultiWOZ"
    if of_multiwoz and name == "sgd":
        return "for services with a schema"
    if convention.slots is not None and len(slots - SLOT_SETS[convention.slots]) > len(slots) / 4:
        return f"more than a quarter of gold's slots are not in {convention.slots}"
    if name == "trippy" and convention.labels is None:
        return "needs a label map, --label-map FILE"
    return None
