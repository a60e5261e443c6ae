"""Options of reading: what the user says about files whose content does not show it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, get_args

from dstbench.errors import UsageError, did_you_mean, first_repeated
from dstbench.typing import Missing, Unreadable

if TYPE_CHECKING:
    from dstbench.readers.format import Format
    from dstbench.readers.renaming import Names

# The columns by which long tables differ from records of turns.
_LONG: Final = frozenset({"dialogue", "turn", "slot"})
# Other words for the fields of `Keys`.
_ROLES: Final = {"id": "dialogue", "dialogue_id": "dialogue"}


@dataclass(frozen=True)
class Keys:
    """The keys (or columns) under which records of turns hold each field; None: by the key's usual names."""

    dialogue: str | None = None
    turn: str | None = None  # if it is the dialogue's, too, the ids end in the turn
    gold: str | None = None
    pred: str | None = None
    system: str | None = None
    user: str | None = None
    turns: str | None = None  # of the list of a dialogue's turns
    optional: bool = False  # records may lack these keys, because gold in a file of its own may have other keys

    @staticmethod
    def of(keys: Mapping[str, str]) -> Keys:
        """The keys that a user gives, by field; ``id`` is another word for ``dialogue``."""
        names = [field.name for field in fields(Keys) if field.name != "optional"]
        by_field: dict[str, Any] = {}
        for word, key in keys.items():
            field = _ROLES.get(word, word)
            if field not in names:
                hint = did_you_mean(field, [*names, *_ROLES]) or f"one of id, {', '.join(names[1:])}"
                raise UsageError(f"keys has no field {field!r}", hint=hint)
            if not key:
                raise UsageError(f"keys gives no key for {field}", hint=f"{field}=KEY")
            if field in by_field:
                raise UsageError(f"keys gives two keys for {field!r}", hint="a field has one key")
            by_field[field] = key
        if again := first_repeated(
            [key for field, key in by_field.items() if (field, key) != ("turn", by_field.get("dialogue"))]
        ):
            raise UsageError(f"keys gives two fields the key {again!r}", hint="a key is of one field")
        return Keys(**by_field)

    def for_gold(self) -> Keys:
        """The keys for gold that comes from a file of its own."""
        return replace(self, pred=None, optional=True)


def is_long(columns: Collection[str], keys: Keys | None) -> bool:
    """Whether a table of these columns is a long table; with keys from the user, it is one of records."""
    return {*columns} >= _LONG and (keys is None or keys.optional)


def parse_keys(parts: Iterable[str]) -> dict[str, str]:
    """The ``field=key`` pairs in these texts, each of which may have several, separated by commas."""
    keys: dict[str, str] = {}
    for part in ",".join(parts).split(","):
        field, equals, key = part.partition("=")
        if not equals:
            raise UsageError(f"--keys {part!r} is not of the form field=key", hint="--keys id=flag,pred=predict")
        if field.strip() in keys:
            raise UsageError(f"--keys gives two keys for {field.strip()!r}", hint="a field has one key")
        keys[field.strip()] = key.strip()
    return keys


@dataclass(frozen=True)
class ReadOptions:
    """How the files of a run are read; None: by their content, by usual names, without maps, as they are numbered."""

    format: str | Format | None = None
    keys: Keys | None = None
    slots: Names | None = None  # the map from the user's slots to their other names
    dialogues: Names | None = None  # the map from the user's dialogue ids to gold's
    turns_from: int | None = None  # the number of the turn that is gold's turn 0
    turn_step: int | None = None  # the difference of the numbers of consecutive turns
    unreadable: Unreadable = "error"  # what to do with predicted states that are none
    missing: Missing = "error"  # what to do with gold turns that have no prediction

    @property
    def signed(self) -> dict[str, str]:
        """What changes names and numbers (maps by their hashes), for a run's metadata and its scores' signatures."""
        step = None if self.turn_step == 1 else self.turn_step
        unreadable = None if self.unreadable == "error" else self.unreadable
        values = (self.slots, self.dialogues, self.turns_from or None, step, unreadable)
        return {name: str(value) for name, value in zip(SIGNED, values, strict=True) if value is not None}

    @property
    def changes_states(self) -> bool:
        """Whether names or turns of the states that are read are changed, or may be."""
        return any(each is not None for each in (self.slots, self.dialogues, self.turns_from, self.turn_step))

    def __post_init__(self) -> None:
        for name, number in (("number of the first turn", self.turns_from), ("step of the turns", self.turn_step)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
                raise UsageError(f"the {name} is {number!r}, not a whole number")
        if self.turn_step is not None and self.turn_step < 1:
            raise UsageError(f"--turn-step {self.turn_step} is not 1 or more", hint="--turn-step 2 for 0, 2, 4")
        if self.unreadable not in get_args(Unreadable):
            raise UsageError(f"unreadable={self.unreadable!r} is none of {', '.join(get_args(Unreadable))}")
        if isinstance(self.format, str):
            from dstbench.readers.registry import named_format  # only here: it loads every format

            named_format(self.format)  # raises if there is none
        if self.missing not in get_args(Missing):
            raise UsageError(f"missing={self.missing!r} is none of {', '.join(get_args(Missing))}")

    def for_gold(self) -> ReadOptions:
        """The options for gold in a file of its own: its format is detected, and only the map of slots applies."""
        return ReadOptions(keys=self.keys and self.keys.for_gold(), slots=self.slots)


#: The keys of `ReadOptions.signed`.
SIGNED: Final = ("slot_map", "id_map", "turns_from", "turn_step", "unreadable")
#: Formats are detected, keys have their usual names, and there are no maps.
AS_USUAL: Final = ReadOptions()
