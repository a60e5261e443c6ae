"""Signatures: what was computed and every setting that can move it, as one line, and back.

Conventions: a signature is parts joined by bars, each ``key:value`` but the first, which is the metric with all its
parameters. Bars and backslashes inside a part are escaped, and colons inside a key, so that no two settings print
alike. A choice of the convention that is the default one (of ``verbatim``) is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from dstbench.conventions.choices import CHOICES, SIGNED
from dstbench.conventions.convention import DEFAULTS, why_unknown
from dstbench.conventions.profiles import PROFILES
from dstbench.errors import UsageError, did_you_mean
from dstbench.metrics import REGISTRY
from dstbench.metrics import parse as parse_metric
from dstbench.schema.core import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_COLON: Final = "\\:"
# What each key of a signature is, for people.
_MEANINGS: Final[Mapping[str, str]] = {
    "metric": "the metric",
    **{key: choice.metadata["meaning"] for key, choice in SIGNED.items()},
    "missing": CHOICES["missing"].metadata["meaning"],
    "by": "the grouping",
    "frames": "the number of gold's frames",
    "gold": "gold, as it is compared",
    "d": "the number of dialogues",
    "t": "the number of turns",
    "v": "the version of dstbench",
}
# What is counted or computed has a form; others are choices.
_FORMS: Final = {
    "gold": ("[0-9a-f]{8}", "eight hexadecimal digits"),
    "d": ("[0-9]+", "a number"),
    "t": ("[0-9]+", "a number"),
}


def meaning_of(key: str) -> str:
    """What a key of a signature is, in words; an unknown key is its own.

    Args:
        key: The key.

    >>> meaning_of("dontcare"), meaning_of("another")
    ('what dontcare is', 'another')
    """
    return _MEANINGS.get(key, key)


@dataclass(frozen=True)
class Signature:
    """A signature's parts.

    Attributes:
        metric: The metric with all its parameters.
        settings: Key to value, in order, as they stand there.
    """

    metric: str
    settings: Mapping[str, str]

    def __str__(self) -> str:
        return sign(self.metric, self.settings)

    def complete(self) -> dict[str, str]:
        """Metric and settings, those at their default too.

        Returns:
            ``metric`` and each key to its value, as text.
        """
        return {"metric": self.metric, **DEFAULTS, **self.settings}


def sign(metric: str, settings: Mapping[str, str]) -> str:
    """The signature of a metric under settings.

    Args:
        metric: The metric with all its parameters.
        settings: Key to value, in order.

    >>> sign("fga(lam=0.5)", {"profile": "verbatim.1", "missing": "error"})
    'fga(lam=0.5)|profile:verbatim.1|missing:error'
    """
    parts = (f"{_escape(key).replace(':', _COLON)}:{_escape(value)}" for key, value in settings.items())
    return "|".join([_escape(metric), *parts])


def parse(text: str) -> Signature:
    """A signature's parts; ``str(parse(text)) == text``.

    Args:
        text: The signature, as it was printed.

    Raises:
        UsageError: The text is no signature.

    >>> parse("jga|profile:verbatim.1|d:1000").settings["d"]
    '1000'
    """
    bare = re.sub(r"^signature(?: of [^:]*)?: ", "", text.strip())  # as tables print it
    metric, *parts = [part for part, _ in re.findall(r"((?:[^|\\]|\\.)*)(\||$)", bare, re.DOTALL)][:-1] or [""]
    settings: dict[str, str] = {}
    for part in parts:
        found = re.fullmatch(r"((?:[^:\\]|\\.)*):(.*)", part, re.DOTALL)
        if found is None or _unescape(found[1]) in settings:
            raise UsageError(
                f"{text!r} is no signature: {part!r} is no key:value of its own",
                hint="give it as it was printed, in quotes",
            )
        settings[_unescape(found[1])] = _unescape(found[2])
    if not metric or not settings:
        raise UsageError(f"{text!r} is no signature", hint="give it as it was printed, in quotes")
    return Signature(_unescape(metric), settings)


def differences(one: str, other: str) -> list[str]:
    """How two signatures differ, a clause each; none if scores with them are comparable.

    Args:
        one: A signature.
        other: Another.

    Returns:
        For each setting that differs, what it is in the one and in the other.

    Raises:
        UsageError: A text is no signature.

    >>> differences("jga|profile:verbatim.1|d:5", "jga|profile:verbatim.1+|dontcare:drop|d:5")[1]
    'what dontcare is (dontcare): keep, or drop'
    """
    first, second = parse(one).complete(), parse(other).complete()
    return [
        f"{meaning_of(key)} ({key}): {first.get(key, 'not said')}, or {second.get(key, 'not said')}"
        for key in dict.fromkeys([*first, *second])
        if first.get(key) != second.get(key)
    ]


def explain(text: str) -> list[str]:
    """What a signature says, a clause per setting, those at their default too.

    Args:
        text: The signature, as it was printed.

    Returns:
        The clauses, in the order of the signature; then its `doubts`, each after ``note:``.

    Raises:
        UsageError: The text is no signature, or no profile is called so.

    >>> explain("jga|profile:verbatim.1|d:5")[0]
    'the metric (metric): jga'
    >>> explain("jga|profile:verbatim.2|d:5")[-1]
    'note: this dstbench has verbatim.1, not verbatim.2: the choices that are not listed may be others'
    """
    clauses = [f"{meaning_of(key)} ({key}): {value}" for key, value in parse(text).complete().items()]
    return clauses + [f"note: {doubt}" for doubt in doubts(text)]


def doubts(text: str) -> list[str]:
    """What this version of dstbench does not know in a signature, or would have printed otherwise.

    Args:
        text: The signature, as it was printed.

    Returns:
        A clause each; none of a signature that this version prints.

    Raises:
        UsageError: The text is no signature, or no profile is called so.

    >>> doubts("jga|profile:verbatim.1+|dontcare:lose")
    ["dontcare='lose' is none of keep, drop, drop-gold, drop-pred, skip"]
    """
    signature = parse(text)
    found = [*_of_metrics(signature.metric), *_of_profile(signature.settings)]
    for key, value in signature.settings.items():
        if key not in _MEANINGS:
            hint = did_you_mean(key, _MEANINGS)
            found.append(f"this dstbench has no setting {key!r}" + (f"; {hint}" if hint else ""))
        elif key == "missing":  # of a run that was converted and aligned again, there are two
            found += filter(None, (why_unknown(key, part) for part in value.split("+")))
        elif key in DEFAULTS and key != "profile":
            found += filter(None, [why_unknown(key, value)])
        elif key == "by":
            found += [f"scores cannot be grouped by {part!r}" for part in value.split(",") if part not in GROUPS]
        elif key in _FORMS and not re.fullmatch(_FORMS[key][0], value):
            found.append(f"{_MEANINGS[key]} ({key}) is {value!r}, not {_FORMS[key][1]}")
    return found


def _of_metrics(heads: str) -> Iterator[str]:
    """Doubts about the metric, or about each of those that a table joins in one line."""
    for head in re.findall(r"[^+(@]+(?:\([^)]*\))?(?:@[^+]*)?", heads):
        name, _, given = head.partition("@")[0].removesuffix(")").partition("(")
        if name not in REGISTRY:
            yield f"metric {name!r} is not built into this dstbench"
            continue
        # What a metric fills in for itself, such as where its number of slots is from, is in a class of its own.
        filled_in = {f.name for kind in REGISTRY[name].__subclasses__() for f in fields(kind)}
        filled_in -= {f.name for f in fields(REGISTRY[name])}
        for part in given.split(",") if given else []:
            if part.partition("=")[0] not in filled_in:
                try:
                    parse_metric(f"{name}:{part}")
                except UsageError as error:
                    yield error.what


def _of_profile(settings: Mapping[str, str]) -> Iterator[str]:
    """Doubts about the profile, and about choices that are not its own."""
    written = settings.get("profile")
    if written is None:
        yield "it names no profile"
        return
    name, version = re.fullmatch(r"(.*?)(\.\d+)?\+?", written, re.DOTALL).groups("")  # type: ignore[union-attr]
    if name not in PROFILES:
        variants = " or ".join(known for known in PROFILES if known.startswith(f"{name}@"))
        hint = f"did you mean {variants}?" if variants else did_you_mean(name, PROFILES)
        raise UsageError(f"there is no profile {name!r}", hint=hint or "`dstbench ls profiles` lists them")
    here = PROFILES[name]
    if name + version != here.name:
        yield f"this dstbench has {here.name}, not {written}: the choices that are not listed may be others"
    elif not written.endswith("+"):
        own, given = ({**DEFAULTS, **choices} for choices in (here.settings(), settings))
        for key, value in own.items():
            if given[key] != value and key != "profile":
                yield f"{written} has {key}:{value}, not {given[key]}: the signature is not whole, or was changed"


def _escape(text: str) -> str:
    return re.sub(r"([\\|])", r"\\\1", text)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
