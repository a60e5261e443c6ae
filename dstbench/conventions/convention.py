"""What a value means: the choices that turn a verbatim long table into comparable values.

A convention is an explicit, named, printable set of choices. Every field of it that can move a number is part of every
score's signature. `profiles.PROFILES` are the named ones; `scoring.compare_values` applies one to a long table.
"""

from __future__ import annotations

import re
from dataclasses import Field, dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

from dstbench.conventions.matching import Matcher, ValueMatcher
from dstbench.conventions.normalise import LOOSE, STEPS, Table
from dstbench.conventions.services import Schema
from dstbench.conventions.slots import SLOT_SETS
from dstbench.errors import UsageError, did_you_mean
from dstbench.schema.core import NOTHING
from dstbench.typing import (
    DomainTurns,
    Dontcare,
    Fuzzy,
    Missing,
    Multi,
    NoneRule,
    Outside,
    Over,
    Turns,
    Unit,
    WrongCosts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


#: The slots of a schema by kind, as `Convention.slots` names them: whether they are categorical.
KINDS: Final[Mapping[str, bool]] = {"categorical": True, "non-categorical": False}
# Choices that move no number by themselves: the run's own `missing` and each metric's parameters are signed.
_UNSIGNED: Final = frozenset({"missing", "metrics", "title"})


@dataclass(frozen=True, kw_only=True)
class Convention:
    """A set of choices about values and turns.

    Attributes:
        name: Name and version of the profile.
        slots: The slots that are scored, as the name of a registered set, or ``categorical`` or ``non-categorical``,
            those of the schema. None: all slots, or all of the schema. They also fix T of slot accuracy. What is
            predicted of other slots counts only where `outside` says so.
        outside: What gold's values of other slots count.
        absent: Literals that mean "not in the state".
        none: On which sides they are taken out.
        dontcare: What "dontcare" in any of its spellings is.
        gold_steps: The normaliser of gold values, as names of `normalise.STEPS`, in order.
        pred_steps: The normaliser of predicted values.
        typos: The user's typo table, for the step ``typos``.
        multi: What the alternatives of a value (``a|b``) mean.
        match: The matcher, in its notation: ``exact``, ``levenshtein:above=0.9``, …
        labels: The user's label map: variants that are accepted for a gold value.
        fuzzy: Which values a fuzzy matcher is asked about.
        schema: The services and slots of the dataset: no others are scored, categorical slots are never compared
            fuzzily, and some rules of `multi` tell them from others.
        seen: The schema of the training set, whose services are seen ones, for scores by ``seen``.
        over: What a predicted slot counts for that gold does not have.
        wrong_costs: How many slot errors a wrong value is in slot accuracy.
        turns: Which turns are scored.
        unit: What a score is a mean over.
        domain_turns: Which turns count in a per-domain score, and which frames.
        missing: What is done with gold turns that have no prediction where the user does not say.
        metrics: The metrics that are computed where the user names none; None: the default ones.
        title: What it is, in a line, for lists.
    """

    name: str = "verbatim.1"
    slots: str | None = None
    outside: Outside = "scored"
    absent: tuple[str, ...] = NOTHING
    none: NoneRule = "drop"
    dontcare: Dontcare = "keep"
    gold_steps: tuple[str, ...] = ()
    pred_steps: tuple[str, ...] = ()
    typos: Table | None = None
    multi: Multi = "literal"
    match: str = "exact"
    labels: Table | None = None
    fuzzy: Fuzzy = "text"
    schema: Schema | None = None
    seen: Schema | None = None
    over: Over = "count"
    wrong_costs: WrongCosts = "once"
    turns: Turns = "all"
    unit: Unit = "turn"
    domain_turns: DomainTurns = "gold"
    missing: Missing = "error"
    metrics: str | None = None
    title: str = "values compared as written"

    def __post_init__(self) -> None:
        for name, kind in _kinds().items():
            value = getattr(self, name)
            if get_origin(kind) is Literal and value not in get_args(kind):
                raise UsageError(f"{name}={value!r} is none of {', '.join(get_args(kind))}")
            if get_origin(kind) is tuple and (
                not isinstance(value, tuple) or not all(isinstance(item, str) for item in value)
            ):
                raise UsageError(f"{name}={value!r} is not a tuple of strings", hint='("none", "")')
        for step in (*self.gold_steps, *self.pred_steps):
            if step not in STEPS:
                hint = did_you_mean(step, STEPS) or f"one of {', '.join(STEPS)}"
                raise UsageError(f"there is no step {step!r} of normalising", hint=hint)
        if self.slots is not None and self.slots not in (*SLOT_SETS, *KINDS):
            hint = did_you_mean(self.slots, (*SLOT_SETS, *KINDS)) or f"one of {', '.join((*SLOT_SETS, *KINDS))}"
            raise UsageError(f"there is no slot set {self.slots!r}", hint=hint)
        if self.slots in KINDS and self.schema is None:
            raise UsageError(f"which slots are {self.slots} is not known", hint="--schema schema.json says it")
        object.__setattr__(self, "match", str(Matcher.parse(self.match)))  # one notation for one matcher

    @property
    def matcher(self) -> ValueMatcher:
        """The rule by which values match."""
        categorical = frozenset() if self.schema is None else self.schema.kind(categorical=True)
        return ValueMatcher(Matcher.parse(self.match), self.multi, self.fuzzy, self.labels, categorical)

    @property
    def slot_set(self) -> str | None:
        """The registered set whose slots are scored; None: they are not those of one."""
        return self.slots if self.slots in SLOT_SETS else None

    @property
    def scope(self) -> frozenset[str] | None:
        """The slots that are scored; None: all."""
        if self.slots in SLOT_SETS:
            return SLOT_SETS[self.slots]
        if self.schema is None:
            return None
        return frozenset(self.schema.slots) if self.slots is None else self.schema.kind(categorical=KINDS[self.slots])

    @property
    def scope_name(self) -> str:
        """What the slots that are scored are called, where not all are."""
        return self.slots or "schema"

    @property
    def drops_turns(self) -> bool:
        """Whether a turn whose gold has values is left out if none of them is scored; SGD's frames are not."""
        return self.slots is not None and self.outside == "dropped" and self.domain_turns != "frames"

    @property
    def is_fuzzy(self) -> bool:
        """Whether a prediction may match without being equal to gold or one of its alternatives."""
        return self.match != "exact" or self.labels is not None

    @property
    def takes_gold_as_written(self) -> bool:
        """Whether gold is what the file says, but for what means "not in the state" in most files."""
        drops_nothing_else = self.none in ("drop", "drop-gold") and self.absent == NOTHING
        keeps_dontcare = self.dontcare in ("keep", "drop-pred")
        return drops_nothing_else and keeps_dontcare and not self.gold_steps and self.scope is None

    def loosened(self) -> Convention:
        """The same convention with both sides brought to one spelling (`normalise.LOOSE`) after its own steps."""
        gold, pred = (
            (*steps, *(step for step in LOOSE if step not in steps)) for steps in (self.gold_steps, self.pred_steps)
        )
        return replace(self, gold_steps=gold, pred_steps=pred)

    def exact(self) -> Convention:
        """The same convention with exact matching."""
        if self.match == "exact" and self.labels is None:
            return self
        return replace(self, match="exact", labels=None)

    def settings(self) -> dict[str, str]:
        """Profile and every choice that is not `verbatim`'s, as text, by its key in the signature.

        Derived from the fields, so none is forgotten; a choice that is left out is the default one.

        Returns:
            Key to text; ``profile`` first.
        """
        return {
            key: show(getattr(self, f.name))
            for key, f in _signed()
            if f.name == "name" or getattr(self, f.name) != f.default
        }


@cache
def _kinds() -> Mapping[str, Any]:
    """The types of a convention's choices."""
    return get_type_hints(Convention)


def _signed() -> Iterator[tuple[str, Field[Any]]]:
    """Key in the signature, and field, of every choice that can move a number."""
    for f in fields(Convention):
        if f.name not in _UNSIGNED:
            yield "profile" if f.name == "name" else f.name.replace("_", "-"), f


def show(value: object) -> str:
    """A choice as text; no two choices print alike."""
    if isinstance(value, tuple):
        return ",".join(item if _is_plain(item) else repr(item) for item in value) or "-"
    return "-" if value is None else str(value)


def _is_plain(item: str) -> bool:
    return bool(item) and item != "-" and all(letter.isalnum() or letter in "-_. " for letter in item)


#: The keys of a convention in a signature, with the text of the default choice.
DEFAULTS: Final[Mapping[str, str]] = {key: show(f.default) for key, f in _signed()}


def why_unknown(key: str, text: str) -> str | None:
    """Why no choice of this version prints as `text`; None if one does.

    Args:
        key: A key of `DEFAULTS`, or ``missing``.
        text: What a signature has there.

    >>> why_unknown("multi", "any"), why_unknown("dontcare", "lose")
    (None, "dontcare='lose' is none of keep, drop, drop-gold, drop-pred, skip")
    """
    name = key.replace("-", "_")
    value: Any = None if text == "-" else text
    if get_origin(_kinds()[name]) is tuple:
        value = () if text == "-" else tuple(text.split(","))
    elif name in ("typos", "labels", "schema", "seen"):
        what = "table" if name in ("typos", "labels") else "schema"
        return None if re.fullmatch("-|#[0-9a-f]{8}", text) else f"{name}={text!r} is no {what}"
    elif text in KINDS:  # they take a schema
        return None
    elif name != "slots":
        value = text
    try:
        replace(Convention(), **{name: value})
    except UsageError as error:
        return error.what
    return None
