"""A convention: a set of checked `choices`, and what follows from them.

`profiles.PROFILES` has the named conventions; `scoring.values` applies a convention to a long table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal, get_args, get_origin

from dstbench.conventions.choices import CHOICES, SIGNED, Choices, description, file_type
from dstbench.conventions.files import Table
from dstbench.conventions.matching import Matcher, ValueMatcher
from dstbench.conventions.normalise import LOOSE, STEPS
from dstbench.conventions.slots import SLOT_SETS
from dstbench.errors import UsageError, check_known, did_you_mean
from dstbench.schema.core import NOTHING
from dstbench.schema.record import Record

#: The kinds of slots that `Convention.slots` can name, and whether the schema has to call a slot categorical.
SLOT_KINDS: Final[Mapping[str, bool]] = {"categorical": True, "non-categorical": False}


@dataclass(frozen=True, kw_only=True)
class Convention(Choices, Record):
    """A set of choices about values and turns."""

    def __post_init__(self) -> None:
        for name, choice in CHOICES.items():
            value, kind = getattr(self, name), get_origin(choice.type)
            if kind is Literal and value not in get_args(choice.type):
                values = get_args(choice.type)
                near = did_you_mean(value, values) if isinstance(value, str) else None
                raise UsageError(f"{name}={value!r} is none of {', '.join(values)}", hint=near)
            if choice.type in (str, str | None) and not isinstance(value, get_args(choice.type) or str):
                raise UsageError(f"{name}={value!r} is not a string")
            if kind is tuple and not (isinstance(value, tuple) and all(isinstance(item, str) for item in value)):
                raise UsageError(f"{name}={value!r} is not a tuple of strings", hint='("a", "b"); in a file ["a", "b"]')
        check_known([*self.gold_steps, *self.pred_steps], STEPS, "there is no normalising step {!r}")
        if self.slots is not None:
            check_known([self.slots], [*SLOT_SETS, *SLOT_KINDS], "there is no slot set {!r}")
        if self.slots in SLOT_KINDS and self.schema is None:
            raise UsageError(f"it is not known which slots are {self.slots}", hint="--schema schema.json says which")
        object.__setattr__(self, "match", str(Matcher.parse(self.match)))  # equal matchers are written alike

    @property
    def matcher(self) -> ValueMatcher:
        """The rule by which values match."""
        categorical = frozenset() if self.schema is None else self.schema.kind(categorical=True)
        return ValueMatcher(Matcher.parse(self.match), self.multi, self.fuzzy, self.labels, categorical)

    @property
    def slot_set(self) -> str | None:
        """The name of the slot set that is scored; None: no named set is."""
        return self.slots if self.slots in SLOT_SETS else None

    @cached_property
    def scope(self) -> frozenset[str] | None:
        """The slots that are scored; None: all."""
        if self.slots in SLOT_SETS:
            return SLOT_SETS[self.slots]
        if self.schema is None:
            return None
        return (
            frozenset(self.schema.content)
            if self.slots is None
            else self.schema.kind(categorical=SLOT_KINDS[self.slots])
        )

    @cached_property
    def scope_name(self) -> str:
        """The name of the scored slots, if not all slots are scored."""
        return self.slots or "schema"

    @cached_property
    def drops_turns(self) -> bool:
        """Whether turns with gold values, but with none of a scored slot, are left out; never with SGD's frames."""
        return self.slots is not None and self.outside == "dropped" and self.domain_turns != "frames"

    @cached_property
    def is_fuzzy(self) -> bool:
        """Whether a prediction may match without being equal to gold or one of its alternatives."""
        return self.match != "exact" or self.labels is not None

    @cached_property
    def takes_gold_as_written(self) -> bool:
        """Whether gold is scored as the file has it, except that the usual literals for "absent" are dropped."""
        drops_only_absent = absent_literals(self, "gold") == frozenset(NOTHING)
        keeps_dontcare = self.dontcare in ("keep", "drop-pred")
        return drops_only_absent and keeps_dontcare and not self.gold_steps and self.scope is None

    def loosened(self) -> Convention:
        """The same convention with the steps `normalise.LOOSE` after its own."""
        both = self.gold_steps, self.pred_steps
        gold, pred = ((*own, *(step for step in LOOSE if step not in own)) for own in both)
        return replace(self, gold_steps=gold, pred_steps=pred)

    def exact(self) -> Convention:
        """The same convention with exact matching."""
        return replace(self, match="exact", labels=None) if self.is_fuzzy else self

    def settings(self) -> dict[str, str]:
        """The profile, and every choice that differs from `verbatim`'s, as text, by its key in the signature.

        Returns:
            Key to text; ``profile`` first.
        """
        return dict(self._settings)

    @cached_property
    def _settings(self) -> dict[str, str]:
        values = {key: (getattr(self, choice.name), choice.default) for key, choice in SIGNED.items()}
        return {key: to_text(value) for key, (value, default) in values.items() if key == "profile" or value != default}


Convention.__doc__ = "\n    ".join(
    [f"{Convention.__doc__}\n\nAttributes:", *(f"{name}: {description(choice)}" for name, choice in CHOICES.items())]
)


def absent_literals(convention: Convention, side: Literal["gold", "pred"]) -> frozenset[str]:
    """The literals that mean "not in the state" on one side; none where the convention keeps them as values."""
    return frozenset(convention.absent if convention.none in ("drop", f"drop-{side}") else ())


def to_text(value: object) -> str:
    """The text of a choice's value; no two values have the same text."""
    if isinstance(value, tuple):  # an item is quoted where a comma, a quote or a lone hyphen would be ambiguous
        return ",".join(item if re.fullmatch(r"(?!-$)[\w. -]+", item) else repr(item) for item in value) or "-"
    return "-" if value is None else str(value)


#: The keys of a convention in a signature, with the text of the default choice.
DEFAULTS: Final[Mapping[str, str]] = {key: to_text(choice.default) for key, choice in SIGNED.items()}


def from_text(name: str, value: Any) -> Any:
    """A choice's value from its text in signatures, or from the path of its file; other objects stay as they are."""
    reader = file_type(CHOICES[name])
    if reader is not None:
        return value if isinstance(value, reader) else reader.read(value)
    if get_origin(CHOICES[name].type) is not tuple:
        return CHOICES[name].default if value == "-" and CHOICES[name].default is None else value
    if isinstance(value, str):
        return () if value.strip() == "-" else tuple(item.strip() for item in value.split(","))
    return tuple(value) if isinstance(value, list) else value


def why_unknown(key: str, text: str) -> str | None:
    """Why no value of a choice has the text `text` in this version; None: one has."""
    name = key.replace("-", "_")
    if reader := file_type(CHOICES[name]):
        what = "table" if reader is Table else "schema"
        return None if re.fullmatch("-|#[0-9a-f]{8}", text) else f"{name}={text!r} is no {what}"
    if name == "slots" and text in SLOT_KINDS:  # a kind of slots needs a schema, which is not available here
        return None
    try:
        replace(Convention(), **{name: from_text(name, text)})
    except UsageError as error:
        return error.what
    return None
