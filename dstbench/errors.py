"""dstbench's errors and its warning, and helpers for their messages."""

from __future__ import annotations

import copyreg
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

When: TypeAlias = Literal["now", "before", "after"]
#: Control characters, invisible ones, and those that change the direction of writing, as ranges of a pattern.
HIDDEN: Final = "\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
#: One of them, or a surrogate, which no column can hold.
UNSEEN: Final = re.compile(f"[{HIDDEN}\ud800-\udfff]")

# An option of the command line in a message, and those that are not called as the keyword argument is.
# What is between backticks, such as a whole command, is passed over.
_OPTION: Final = re.compile(r"`[^`]*`|(?<![\w-])--([a-z][a-z-]*)")
_KEYWORDS: Final = {
    "all": "everything", "as": "preset", "from": "format", "label-map": "labels", "map": "mapping", "model": "models",
    "name": "names", "other-gold": "other_golds", "slot": "slots", "table": "tables", "version": "versions",
    "versus": "differences", "with": "metrics",
}  # fmt: skip


def in_python(message: str) -> str:
    """A message with the names of keyword arguments in place of the command line's options."""
    return _OPTION.sub(
        lambda option: f"`{_KEYWORDS.get(option[1], option[1].replace('-', '_'))}`" if option[1] else option[0], message
    )


class DstbenchError(ValueError):
    """Input that cannot be used.

    Its message says what is wrong, where, and what to do. In `args`, as the command line has it, it names options;
    as a text, it names keyword arguments.

    Args:
        what: The fault, in a clause without a full stop.
        file: Name of the file.
        dialogue: Id of the dialogue, as in the file.
        turn: The turn, as in the file.
        slot: The slot, as in the file.
        hint: What the user can do about it; several lines in a sequence.

    Line breaks and other control characters in these texts become escapes, so the message has no other lines.

    >>> print(DstbenchError("the value is not a string", file="p.json", dialogue="MUL1", turn=2, hint="quote it"))
    p.json: the value is not a string (dialogue MUL1, turn 2)
    hint: quote it
    """

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        dialogue: str | None = None,
        turn: int | str | None = None,
        slot: str | None = None,
        hint: str | Sequence[str] | None = None,
    ) -> None:
        hints = [] if not hint else [hint] if isinstance(hint, str) else list(hint)
        self.what, self.file, self.hint = what, file, "\n".join(hints) or None
        self.dialogue, self.turn, self.slot = dialogue, turn, slot
        places = {"dialogue": dialogue, "turn": turn, "slot": slot}
        place = [f"{key} {shortened(str(value), 200)}" for key, value in places.items() if value is not None]
        message = shortened(f"{file}: {what}" if file else what)
        if place:
            message += f" ({', '.join(place)})"
        lines = [message, *(f"{'' if number else 'hint: '}{shortened(line)}" for number, line in enumerate(hints))]
        super().__init__("\n".join(map(visible, lines)))

    def __str__(self) -> str:
        return in_python(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error as it is, for another process; made anew, its message would be escaped twice."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]

    def in_file(self, file: str) -> DstbenchError:
        """The same error with the name of a file, unless it has one already or is about wrong usage.

        Args:
            file: The name of the file.
        """
        if self.file is not None or type(self) is not DstbenchError:
            return self
        place: dict[str, Any] = {"dialogue": self.dialogue, "turn": self.turn, "slot": self.slot}
        return DstbenchError(self.what, file=file, hint=self.hint, **place)


class UsageError(DstbenchError):
    """Wrong usage, such as an unknown metric, parameter or option; the command line exits with 2."""


class DstbenchWarning(UserWarning):
    """Something that scores depend on is doubtful or was left out.

    The command line prints warnings of one kind as one line. Its message in `args` and as a text are as `DstbenchError`
    says.

    Args:
        text: What it is, in a clause without a full stop.
        file: The file that it is about, which the message begins with.
        run: Likewise the run (or runs).
        kind: What such warnings about other files or runs have in common; default: the text without its numbers.
        count: The number of what `kind` names.
        when: When to read it: ``before`` the result, if its numbers would be misunderstood otherwise (turns left out,
            scores not comparable); ``after`` the result; or ``now``, while the user waits.

    >>> print(DstbenchWarning("4 predicted turns without gold", file="p.json"))
    p.json: 4 predicted turns without gold
    """

    def __init__(
        self,
        text: str,
        *,
        file: str | None = None,
        run: str | None = None,
        kind: str | None = None,
        count: int | None = None,
        when: When = "after",
    ) -> None:
        self.text, self.file, self.run, self.when = text, file, run, when
        self.kind, self.count = kind or re.sub(r"\d[\d,.]*", "…", text), count
        place = file or run
        super().__init__(visible(f"{place}: {text}" if place else text))

    def __str__(self) -> str:
        return in_python(self.args[0])


def warn(what: str | DstbenchWarning, **about: Any) -> None:
    """Warn with a `DstbenchWarning`, or one made from a text; it points to the line outside dstbench that led to it."""
    warning = what if isinstance(what, DstbenchWarning) else DstbenchWarning(what, **about)
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "dstbench":
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The hint ``did you mean …?`` with the most similar known words, whatever their case; None if none is similar."""
    if len(word) > 100:  # slow to compare, and similar to no known word
        return None
    names = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), list(names), n=3, cutoff=0.55)
    return f"did you mean {' or '.join(names[name] for name in near)}?" if near else None


def check_known(names: Iterable[str], known: Iterable[str], message: str, hint: str | None = None) -> None:
    """Raise a `UsageError` for the first name that is not known.

    Its message has the name in place of ``{!r}``; its hint is a similar name, else `hint`, else all known names.
    """
    known_names = list(known)
    for name in names:
        if name not in known_names:
            hint = did_you_mean(name, known_names) or hint or f"one of {', '.join(known_names)}"
            raise UsageError(message.format(name), hint=hint)


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name, in their order, that occurs more than once; None if none does."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def visible(text: str, keep: str = "") -> str:
    """The text with control characters as escapes, except those in `keep`."""
    return UNSEEN.sub(lambda char: char[0] if char[0] in keep else char[0].encode("unicode_escape").decode(), text)


def number_of(count: int, noun: str) -> str:
    """A count with its noun: ``1 turn``, ``1,200 turns``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_of(names: Sequence[str], most: int) -> str:
    """The first few names, and how many more there are: ``a, b and 2 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def is_or_are(count: int) -> str:
    """The verb after so many."""
    return "is" if count == 1 else "are"


def all_of(count: int, noun: str) -> str:
    """All of so many, in words: ``both runs``, ``all 3 runs``."""
    return {1: f"the one {noun}", 2: f"both {noun}s"}.get(count, f"all {count:,} {noun}s")


def percent(level: float) -> str:
    """A level in percent, in words."""
    return f"{round(100 * level, 9):g} %"


def shortened(text: str, most: int = 1000) -> str:
    """The text; if it is longer than `most`, its beginning and its length: ``aaa… (5,000 characters)``."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"
