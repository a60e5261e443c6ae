"""The notation of metrics: ``name`` or ``name:param=value:param=value``.

Parameters at their default are omitted, and ``parse(str(m)) == m``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from dstbench.errors import UsageError, did_you_mean
from dstbench.metrics import built_in
from dstbench.metrics.base import Metric, called, check_own, is_built_in
from dstbench.plugins import Plugins
from dstbench.schema.analysis import LABELS

#: The built-in metrics by name.
REGISTRY: Final = built_in.REGISTRY
# The papers' letters for parameters.
_LETTERS: Final = {"lam": "λ", "alpha": "α"}  # noqa: RUF001 (a Greek letter)
#: The name of all metrics that need states alone: all but `intent` and `requested-f1`.
ALL: Final = "all"
_OF_STATES: Final = tuple(name for name in REGISTRY if name not in ("intent", "requested-f1"))


def checked_metric(metric: type[Metric], _: str = "") -> type[Metric]:
    """The class of a metric that is not built in; refuses a class that cannot be used by its name."""
    if "__dataclass_fields__" not in vars(metric):  # then signatures would lack its parameters
        raise UsageError(f"{metric.__qualname__} is not a dataclass", hint="put @dataclass(frozen=True) above it")
    if required := [f.name for f in fields(metric) if f.default is MISSING]:
        raise UsageError(
            f"parameter {required[0]!r} has no default", hint="give it one: a metric may be named without parameters"
        )
    check_own(called(metric, f"{metric.__qualname__} cannot be made"), REGISTRY)
    return metric


#: The metrics that are not built in.
PLUGINS: Final = Plugins(
    "metric",
    REGISTRY,
    is_one=lambda thing: isinstance(thing, type) and issubclass(thing, Metric),
    name_of=lambda metric: getattr(metric, "name", None),
    checked=checked_metric,
)


def find_metric(name: str) -> type[Metric] | None:
    """The metric of this name, in upper or lower case; None: there is none."""
    return REGISTRY.get(name.lower()) or PLUGINS.find(name) or PLUGINS.find(name.lower())


def name_of(notation: str) -> str:
    """What papers call a metric, in its notation, or a column of the dialogues' table; else the text itself."""
    name, *parameters = notation.split(":")
    if name in LABELS:
        return LABELS[name]
    label = vars(find_metric(name) or Metric).get("label") or name
    pairs = (parameter.partition("=") for parameter in parameters)
    shown = ", ".join(f"{_LETTERS.get(key, key)} = {value}" for key, _, value in pairs)
    return f"{label} ({shown})" if shown else label


def sign_of(notation: str) -> Literal[1, -1] | None:
    """A metric's direction: 1 if the higher score is the better one, -1 if the lower one is; None if unknown."""
    return (find_metric(notation.partition(":")[0]) or Metric).direction


@lru_cache(maxsize=1024)
def parse(notation: str) -> Metric:
    """The metric that is written `notation`.

    Args:
        notation: Its name, in upper or lower case, and parameters, as in ``fga:lam=0.25``.

    Raises:
        UsageError: The name, a parameter or the value of a parameter is unknown.
        DstbenchError: The metric is not built in, and cannot be used.

    >>> str(parse("fga:lam=0.5")), str(parse("fga:lam=0.25"))
    ('fga', 'fga:lam=0.25')
    """
    name, *parts = notation.strip().split(":")
    metric = find_metric(name)
    if metric is None:
        names = [*REGISTRY, *PLUGINS.names()]
        hint = did_you_mean(name, names) or f"one of {', '.join(names)}, or {ALL} for all of states"
        letters = re.sub(r"acc$", "accuracy", re.sub(r"[\W_]", "", name.lower()))
        if meant := [one.name for one in REGISTRY.values() if one.title.replace(" ", "") == letters]:
            hint = f"did you mean {meant[0]}?"
        if "=" in name:
            hint = "a metric's parameters follow it after colons: fga:lam=0.25"
        raise UsageError(f"there is no metric {name!r}", hint=hint)
    return with_parameters(metric, parts, notation)


def with_parameters(metric: type[Metric], parts: Sequence[str], notation: str) -> Metric:
    """A metric with the parameters that its notation has after the name, such as ``lam=0.25``."""
    place = f"metric {notation!r}"
    try:
        hints = get_type_hints(metric)
    except NameError as error:  # of a metric that is not built in
        raise UsageError(f"{place}: a parameter's type cannot be read: {error}") from None
    types = {f.name: hints[f.name] for f in fields(metric)}
    values: dict[str, Any] = {}
    for part in parts:
        key, equals, text = part.partition("=")
        if key not in types or not equals or key in values:
            takes = ", ".join(f"{parameter}=…" for parameter in types) or "no parameters"
            raise UsageError(f"{place}: {part!r} is no parameter and its value", hint=f"{metric.name} takes {takes}")
        default = next(f.default for f in fields(metric) if f.name == key)
        example = f"{metric.name}:{key}={30 if default is None else default}"
        values[key] = _value(text, types[key], f"{place}: {key}", example)
    made: Metric = called(lambda: metric(**values), f"{place} cannot be made")
    return made


def split(notations: str | Iterable[str | Metric]) -> list[str | Metric]:
    """The notations of comma-separated texts, and the metrics, in one list, with the names that `ALL` stands for."""
    items = [notations] if isinstance(notations, str) else notations
    parts = (part for item in items for part in (map(str.strip, item.split(",")) if isinstance(item, str) else [item]))
    return [one for part in parts for one in (_OF_STATES if isinstance(part, str) and part.lower() == ALL else [part])]


def says_all(notations: object) -> bool:
    """Whether the notations contain `ALL`."""
    texts = notations if isinstance(notations, list | tuple) else [notations]
    return any(part.strip().lower() == ALL for text in texts if isinstance(text, str) for part in text.split(","))


def parse_all(notations: str | Iterable[str | Metric]) -> list[Metric]:
    """Several metrics in order, each once, from texts and metrics; the error names all that are wrong."""
    metrics: dict[str, Metric] = {}
    errors: list[UsageError] = []
    for part in split(notations):
        try:
            metric = parse(part) if isinstance(part, str) else part
            if not isinstance(metric, Metric):
                hint = 'a notation such as "fga:lam=0.25", or a Metric object'
                raise UsageError(f"{metric!r} is not a metric", hint=hint)
            if not is_built_in(metric):
                check_own(metric, REGISTRY)
            if metrics.setdefault(str(metric), metric) != metric:
                raise UsageError(f"two metrics are called {str(metric)!r}", hint="give each a name of its own")
        except UsageError as error:
            errors.append(error)
    if not metrics and not errors:
        raise UsageError("no metric is named", hint="omit -m to take the default ones")
    if errors:
        hints = "; ".join(dict.fromkeys(error.hint for error in errors if error.hint))
        raise UsageError("; ".join(error.what for error in errors), hint=hints)
    return list(metrics.values())


def _value(text: str, kind: Any, place: str, hint: str) -> Any:
    import msgspec  # not before: few metrics are written with parameters

    wanted = f"not a {'' if kind is float else 'whole '}number"
    if get_origin(kind) is Literal:
        wanted = f"none of {', '.join(get_args(kind))}"
    try:
        if kind is float:
            numerator, _, denominator = text.partition("/")
            return float(numerator) / float(denominator or 1)
        return msgspec.convert(text, kind, strict=False)
    except (msgspec.ValidationError, ValueError, ZeroDivisionError):
        raise UsageError(f"{place} is {text!r}, {wanted}", hint=hint) from None
