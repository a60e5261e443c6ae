"""Signatures: a score's metric and every setting that can change the score, written in one line and read back.

A signature is the metric with all its parameters, then ``key:value`` for each setting, joined by bars. Bars and
backslashes are escaped everywhere, and colons in keys, so that different settings never look alike. A choice of the
convention is omitted if it is the default (that of ``verbatim``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from dstbench.conventions.choices import CHOICES, SIGNED
from dstbench.conventions.convention import DEFAULTS, why_unknown
from dstbench.conventions.profiles import PLUGINS, PROFILES, hash_of
from dstbench.errors import UsageError, did_you_mean
from dstbench.metrics import REGISTRY
from dstbench.metrics import parse as parse_metric
from dstbench.plugins import is_here
from dstbench.schema.core import GROUPS
from dstbench.schema.record import Shown

# The keys of a signature: each in words, and the form of its value, if it is a number or a hash.
_NUMBER: Final = ("[0-9]+", "a number")
_HASH: Final = ("#[0-9a-f]{8}", "a hash of its content")
_KEYS: Final[Mapping[str, tuple[str, tuple[str, str] | None]]] = {
    "metric": ("the metric", None),
    **{key: (choice.metadata["meaning"], None) for key, choice in SIGNED.items()},
    "missing": (CHOICES["missing"].metadata["meaning"], None),
    "slot-map": ("the other names of slots", _HASH),
    "id-map": ("gold's ids of dialogues", _HASH),
    "turns-from": ("the number of the turn that is gold's turn 0", ("-?[0-9]+", "a number")),
    "turn-step": ("the step of the turns' numbers", _NUMBER),
    "unreadable": ("how predicted states that cannot be read are taken", None),
    "by": ("the grouping", None),
    "frames": ("the number of gold's frames", None),
    "format": ("the format, as it is not built in", None),
    "gold": ("gold, as it is compared", ("[0-9a-f]{8}", "eight hexadecimal digits")),
    "d": ("the number of dialogues", _NUMBER),
    "t": ("the number of turns", _NUMBER),
    "v": ("the version of dstbench", None),
}
_SIZES: Final = {"d": "dialogues", "t": "turns"}
_ESCAPES: Final = str.maketrans({"\\": r"\\", "|": r"\|"})
_AS_PRINTED: Final = "write it as it was printed, in quotes"


def meaning_of(key: str) -> str:
    """A key of a signature in words; an unknown key is returned as is.

    Args:
        key: The key.

    >>> meaning_of("dontcare"), meaning_of("another")
    ('what dontcare is', 'another')
    """
    return _KEYS[key][0] if key in _KEYS else key


@dataclass(frozen=True)
class Signature(Shown):
    """The parts of a signature.

    Attributes:
        metric: The metric with all its parameters.
        settings: The value of each key, in the order of the signature.
    """

    metric: str
    settings: Mapping[str, str]

    def __str__(self) -> str:
        return sign(self.metric, self.settings)

    def complete(self) -> dict[str, str]:
        """The metric and all settings, including omitted defaults.

        Returns:
            The text of each, by its key; that of the metric by ``metric``.
        """
        return {"metric": self.metric, **DEFAULTS, **self.settings}


def sign(metric: str, settings: Mapping[str, str]) -> str:
    """The signature of a metric under settings.

    Args:
        metric: The metric with all its parameters.
        settings: The value of each key, in order.

    >>> sign("fga(lam=0.5)", {"profile": "verbatim.1", "missing": "error"})
    'fga(lam=0.5)|profile:verbatim.1|missing:error'
    """
    escaped = {key.translate(_ESCAPES): value.translate(_ESCAPES) for key, value in settings.items()}
    parts = (key.replace(":", r"\:") + ":" + value for key, value in escaped.items())
    return "|".join([metric.translate(_ESCAPES), *parts])


def parse(text: str) -> Signature:
    """The parts of a signature; ``str(parse(text)) == text``.

    Args:
        text: The signature, as it was printed.

    Raises:
        UsageError: The text is not a signature.

    >>> parse("signature of jga: jga|profile:verbatim.1|d:1000").settings["d"]
    '1000'
    """
    bare = re.sub(r"^signature(?: of [^:]*)?: ", "", text.strip())  # below tables, these words precede it
    metric, *parts = [part for part, _ in re.findall(r"((?:[^|\\]|\\.)*)(\||$)", bare, re.DOTALL)][:-1] or [""]
    settings: dict[str, str] = {}
    for part in parts:
        setting = re.fullmatch(r"((?:[^:\\]|\\.)*):(.*)", part, re.DOTALL)
        if setting is None or _unescape(setting[1]) in settings:
            what = f"{text!r} is not a signature: {part!r} is not key:value, or repeats a key"
            raise UsageError(what, hint=_AS_PRINTED)
        settings[_unescape(setting[1])] = _unescape(setting[2])
    if metric.startswith("profile:"):
        raise UsageError(f"{text!r} is not a whole signature", hint="--signature shows the whole one")
    if not metric or not settings:
        raise UsageError(f"{text!r} is not a signature", hint=_AS_PRINTED)
    return Signature(_unescape(metric), settings)


def differences(one: str, other: str) -> list[str]:
    """How two signatures differ; empty if scores with these signatures are comparable.

    Args:
        one: A signature.
        other: Another signature.

    Returns:
        A clause for each setting that differs, with both values.

    Raises:
        UsageError: A text is not a signature.

    >>> differences("jga|profile:verbatim.1|d:5", "jga|profile:verbatim.1+|dontcare:drop|d:5")[1]
    'what dontcare is (dontcare): keep in one, drop in the other'
    """
    first, second = parse(one).complete(), parse(other).complete()
    return [
        f"{meaning_of(key)} ({key}): {first.get(key, 'not given')} in one, {second.get(key, 'not given')} in the other"
        for key in dict.fromkeys([*first, *second])
        if first.get(key) != second.get(key)
    ]


def explain(text: str) -> list[str]:
    """A signature in words, including omitted defaults.

    Args:
        text: The signature, as it was printed.

    Returns:
        A clause per setting, in the order of the signature; then its `doubts`, each with ``note:`` in front.

    Raises:
        UsageError: The text is not a signature, or its profile does not exist.

    >>> explain("jga|profile:verbatim.2|d:5")[-1]
    'note: this dstbench has verbatim.1, not verbatim.2: the choices that are not listed may be others'
    """
    clauses = [f"{meaning_of(key)} ({key}): {value}" for key, value in parse(text).complete().items()]
    return clauses + [f"note: {doubt}" for doubt in doubts(text)]


def summary(text: str) -> list[str]:
    """A signature in three sentences.

    Args:
        text: The signature, as it was printed.

    Returns:
        What was scored; by which convention; how turns without a prediction count, and by which dstbench. Then its
        `doubts`, each with ``note:`` in front.

    Raises:
        UsageError: The text is not a signature, or its profile does not exist.

    >>> summary("jga|profile:verbatim.1+|dontcare:drop|missing:error|by:run|d:200|t:1428|v:0.1.0")[0]
    'jga by run, over 200 dialogues with 1,428 turns.'
    """
    metric, settings = (signature := parse(text)).metric, signature.settings
    sizes = [f"{int(settings[key]):,} {what}" for key, what in _SIZES.items() if settings.get(key, "").isdecimal()]
    gold = f", gold {settings['gold']}" if "gold" in settings else ""
    over = f", over {' with '.join(sizes)}" if sizes else ""
    profile = settings.get("profile", "none")
    built_in = PROFILES.get(_unversioned(profile))
    title = f" ({built_in.title})" if built_in and built_in.title else ""
    in_sentences = ("profile", "by", "gold", "missing", "v", *_SIZES)
    others = [f"{meaning_of(key)}: {value}" for key, value in settings.items() if key not in in_sentences]
    but = f", but {'; '.join(others)}" if others else ""
    return [
        f"{metric.replace('+', ', ')} by {settings.get('by', 'run')}{over}{gold}.",
        f"The convention is the profile {profile}{title}{but}.",
        f"Turns without a prediction: {settings.get('missing', 'not given')}; dstbench {settings.get('v', 'unknown')}.",
        *(f"note: {doubt}" for doubt in doubts(text)),
    ]


def doubts(text: str) -> list[str]:
    """What this version of dstbench does not know in a signature, or would print differently.

    Args:
        text: The signature, as it was printed.

    Returns:
        A clause for each doubt; empty if this version can print the signature.

    Raises:
        UsageError: The text is not a signature, or its profile does not exist.

    >>> doubts("jga|profile:verbatim.1+|dontcare:lose")
    ["dontcare='lose' is none of keep, drop, drop-gold, drop-pred, skip"]
    """
    signature = parse(text)
    clauses = [*_doubts_of_metrics(signature.metric), *_doubts_of_profile(signature.settings)]
    for key, value in signature.settings.items():
        form = _KEYS[key][1] if key in _KEYS else None
        if key not in _KEYS:
            clauses.append("; ".join(filter(None, [f"this dstbench has no setting {key!r}", did_you_mean(key, _KEYS)])))
        elif key == "missing" or (key in DEFAULTS and key != "profile"):
            # A run that was converted and then aligned again has two values of `missing`, joined by a plus.
            values = value.split("+") if key == "missing" else [value]
            clauses += filter(None, (why_unknown(key, part) for part in values))
        elif key == "by":
            clauses += [f"scores cannot be grouped by {part!r}" for part in value.split(",") if part not in GROUPS]
        elif key == "format" and not is_here(value.partition("@")[2]):
            clauses.append(f"format {_not_here(value)}")
        elif form and not re.fullmatch(form[0], value):
            clauses.append(f"{meaning_of(key)} ({key}) is {value!r}, not {form[1]}")
    return clauses


def _doubts_of_metrics(metrics: str) -> Iterator[str]:
    """Doubts about the metric, or about several that a table has joined by plus signs."""
    for metric in re.findall(r"[^+(@]+(?:\([^)]*\))?(?:@[^+]*)?", metrics):
        settings, at, origin = metric.partition("@")
        name, _, parameters = settings.removesuffix(")").partition("(")
        if at:
            if not is_here(origin):
                yield f"metric {_not_here(f'{name}@{origin}')}"
        elif name not in REGISTRY:
            yield f"metric {name!r} is not built into this dstbench"
        else:
            # Parameters that users cannot set, such as the source of T, are fields of a subclass.
            filled_in = {f.name for kind in REGISTRY[name].__subclasses__() for f in fields(kind)}
            filled_in -= {f.name for f in fields(REGISTRY[name])}
            for part in parameters.split(",") if parameters else []:
                if part.partition("=")[0] not in filled_in:
                    try:
                        parse_metric(f"{name}:{part}")
                    except UsageError as error:
                        yield error.what


def _doubts_of_profile(settings: Mapping[str, str]) -> Iterator[str]:
    """Doubts about the profile, and about choices that differ from the profile's."""
    signed = settings.get("profile")
    if signed is None:
        yield "it names no profile"
        return
    if in_file := re.fullmatch(r"[^@]*#([0-9a-f]{8})\+?", signed):
        if not signed.endswith("+") and hash_of(settings) != in_file[1]:
            yield f"{signed} has other choices: the signature is not whole, or was changed"
        return
    name = _unversioned(signed)
    if from_plugin := re.fullmatch(r"(.+)\.\d+@([^+]+)\+?", signed):  # a name, a version, and where it is from
        installed = PLUGINS.find(from_plugin[1]) if is_here(from_plugin[2]) else None
    elif (installed := PROFILES.get(name)) is None:
        variants = " or ".join(profile for profile in PROFILES if profile.startswith(f"{name}@"))
        hint = f"did you mean {variants}?" if variants else did_you_mean(name, PROFILES)
        raise UsageError(f"there is no profile {name!r}", hint=hint or "`dstbench ls profiles` lists them")
    if installed is None:
        yield f"profile {_not_here(signed)}"
        return
    if signed.removesuffix("+") != installed.name:
        yield f"this dstbench has {installed.name}, not {signed}: the choices that are not listed may be others"
    elif not signed.endswith("+"):
        expected, choices = {**DEFAULTS, **installed.settings()}, {**DEFAULTS, **settings}
        for key, value in expected.items():
            if choices[key] != value and key != "profile":
                yield f"{signed} has {key}:{value}, not {choices[key]}: the signature is not whole, or was changed"


def _not_here(signed: str) -> str:
    """The doubt about something that is not built in, ``name@origin``, and not available."""
    name, _, origin = signed.removesuffix("+").rpartition("@")
    return f"{name!r} is not built in: it is from {origin}, which is not available here"


def _unversioned(profile: str) -> str:
    """The name of a profile without its version and the plus of changed choices."""
    return re.sub(r"(\.\d+)?\+?$", "", profile)


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
