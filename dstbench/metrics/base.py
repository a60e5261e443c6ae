"""What a metric is: integer statistics that add up, and a score over their sums.

One and the same metric therefore works per turn, dialogue, slot, domain, run, or anything a user groups by; and parts
agree with the whole exactly, in any order and on any number of threads.

Notation: ``name`` or ``name:param=value:param=value``; parameters at their default are left out, and
``parse(str(m)) == m``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, get_args, get_origin, get_type_hints

import polars as pl

from dstbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Average = Literal["macro", "micro"]

# A turn's ratio is added up as an integer multiple of 2⁻⁶²: exact for every double of at least 2⁻⁹, and a sum of
# integers does not depend on its order. 2⁶⁵ turns fit.
_UNIT: Final = 2.0**62


@dataclass(frozen=True)
class Metric:
    """A metric and its parameters.

    Subclasses are frozen dataclasses whose fields are the parameters; they define `stats` and `score`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    #: Whether the value is a share (shown in percent) or a count.
    is_count: ClassVar[bool] = False

    def stats(self) -> dict[str, pl.Expr]:
        """Integer expressions over the turn table, by a name that belongs to the definition.

        Two metrics that need the same statistic name it alike, and it is summed once.
        """
        raise NotImplementedError

    def score(self, sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """The value (Float64) from the sums of `stats`; null where undefined."""
        raise NotImplementedError

    def expr(self) -> pl.Expr:
        """The metric as an aggregation over turn-table rows, for a user's own ``group_by(...).agg(...)``.

        >>> turns = pl.DataFrame({"turn": [0, 0, 1], "n_correct": [1, 1, 1], "n_union": [1, 2, 2]})
        >>> turns.group_by("turn", maintain_order=True).agg(parse("jga").expr())["jga"].to_list()
        [0.5, 0.0]
        """
        return self.score({name: stat.sum() for name, stat in self.stats().items()}).alias(str(self))

    def resolve(self, slots: frozenset[str]) -> Metric:
        """The metric with every parameter that depends on the run's slots filled in."""
        return self

    def settings(self) -> str:
        """Name and all parameters, also those at their default: the metric's part of a signature."""
        given = ",".join(f"{f.name}={getattr(self, f.name)}" for f in fields(self))
        return f"{self.name}({given})" if given else self.name

    def __str__(self) -> str:
        given = (f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default)
        return ":".join([self.name, *given])


#: The metrics by name, in the order in which they are shown.
REGISTRY: Final[dict[str, type[Metric]]] = {}


def register(metric: type[Metric]) -> type[Metric]:
    """Class decorator: make a metric known by its name."""
    REGISTRY[metric.name] = metric
    return metric


def parse(notation: str) -> Metric:
    """The metric that `notation` names.

    Raises:
        UsageError: The name, a parameter or its value is unknown.

    >>> str(parse("fga:lam=0.5")), str(parse("fga:lam=0.25"))
    ('fga', 'fga:lam=0.25')
    """
    name, *parts = notation.strip().split(":")
    if name not in REGISTRY:
        raise UsageError(
            f"there is no metric {name!r}", hint=did_you_mean(name, REGISTRY) or f"one of {', '.join(REGISTRY)}"
        )
    metric = REGISTRY[name]
    hints = get_type_hints(metric)
    known = {f.name: hints[f.name] for f in fields(metric)}
    given: dict[str, Any] = {}
    for part in parts:
        key, equals, text = part.partition("=")
        if key not in known or not equals or key in given:
            what = f"{key!r} twice" if key in given else f"no parameter {key!r}" if equals else f"no value in {part!r}"
            takes = f"{name} takes {', '.join(f'{k}=…' for k in known)}" if known else f"{name} takes no parameters"
            raise UsageError(f"metric {notation!r}: {what}", hint=takes)
        given[key] = _value(text, known[key], f"metric {notation!r}: {key}")
    return metric(**given)


def parse_all(notations: str | Iterable[str | Metric]) -> list[Metric]:
    """Several metrics, each once, in order; comma-separated text or an iterable.

    Raises:
        UsageError: One message that names all that is wrong.
    """
    parts = notations.split(",") if isinstance(notations, str) else list(notations)
    metrics: dict[Metric, None] = {}
    wrong: list[UsageError] = []
    for part in parts:
        try:
            metrics[parse(part) if isinstance(part, str) else part] = None
        except UsageError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        raise UsageError(
            "; ".join(error.what for error in wrong), hint="; ".join(error.hint for error in wrong if error.hint)
        )
    return list(metrics)


def _value(text: str, hint: Any, place: str) -> Any:
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise UsageError(f"{place} is {text!r}, none of {', '.join(get_args(hint))}")
        return text
    if hint is float:
        try:
            return float(Fraction(text))
        except (ValueError, ZeroDivisionError):
            raise UsageError(f"{place} is {text!r}, not a number") from None
    try:
        number = int(text)
    except ValueError:
        raise UsageError(f"{place} is {text!r}, not a whole number") from None
    return number


# --- pieces that metrics are made of -----------------------------------------------------------------------------


def turns() -> pl.Expr:
    """1 per turn."""
    return pl.col("n_union").is_not_null().cast(pl.Int64)  # never null; a literal would not be one per row


def count(name: str) -> pl.Expr:
    """A count of the turn table, wide enough to add up."""
    return pl.col(name).cast(pl.Int64)


def divide(numerator: pl.Expr, denominator: pl.Expr, *, empty: float | None = None) -> pl.Expr:
    """A ratio of counts; where the denominator is 0, `empty` (None: undefined, null)."""
    return pl.when(denominator > 0).then(numerator / denominator).otherwise(pl.lit(empty, pl.Float64))


def exact(ratio: pl.Expr) -> pl.Expr:
    """A turn's ratio as an integer that adds up exactly; null (undefined) adds nothing."""
    return (ratio * _UNIT).cast(pl.Int128)


def mean(total: pl.Expr, number: pl.Expr) -> pl.Expr:
    """The mean of `number` ratios from the sum of their `exact` values; null if there is none."""
    return divide(total.cast(pl.Float64) / _UNIT, number)
