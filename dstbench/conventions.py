"""What a value means: the choices that turn a verbatim long table into comparable values.

A convention is an explicit, named, printable set of choices. Every field of it is part of every score's signature.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, get_args

import polars as pl

from dstbench.errors import UsageError, did_you_mean
from dstbench.options import DomainTurns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

#: The code of what is not in a state.
ABSENT: Final = 2**32 - 1


@dataclass(frozen=True, kw_only=True)
class Convention:
    """A set of choices about values and turns.

    Attributes:
        name: Name and version of the profile.
        absent: Literals that mean "not in the state", on both sides.
        domain_turns: Which turns count in a per-domain score: ``gold`` (those whose gold state has a slot of the
            domain; SOM-DST's rule) or ``either`` (gold or predicted state).
    """

    name: str = field(default="verbatim.1", metadata={"key": "profile"})
    absent: tuple[str, ...] = field(default=("none", ""), metadata={"key": "absent"})
    domain_turns: DomainTurns = field(default="gold", metadata={"key": "domain-turns"})

    def __post_init__(self) -> None:
        if isinstance(self.absent, str) or not all(isinstance(literal, str) for literal in self.absent):
            raise UsageError(f"absent={self.absent!r} is not a tuple of strings", hint='absent=("none", "")')
        if self.domain_turns not in get_args(DomainTurns):
            raise UsageError(f"domain_turns={self.domain_turns!r} is none of {', '.join(get_args(DomainTurns))}")

    def values(self, verbatim: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Values under this convention.

        Args:
            verbatim: `codes` of values as written.

        Returns:
            Codes to compare: `ABSENT` where the value means "not in the state".
        """
        values = verbatim.copy()
        for literal in codes(pl.Series(self.absent, dtype=pl.Categorical)):
            values[verbatim == literal] = ABSENT
        return values

    def settings(self) -> dict[str, str]:
        """Every choice as text, by its key in the signature; derived from the fields, so none is forgotten."""
        return {f.metadata["key"]: _show(getattr(self, f.name)) for f in fields(self)}


def codes(column: pl.Series) -> NDArray[np.uint32]:
    """The codes of a dictionary column; `ABSENT` for null. Equal strings have equal codes in all columns."""
    return column.to_physical().fill_null(ABSENT).to_numpy()


def match(g: NDArray[np.uint32], p: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether gold matches prediction: both are in the state and equal."""
    equal: NDArray[np.bool_] = (g == p) & (g != ABSENT)
    return equal


#: Conventions by the name that ``--profile`` takes.
PROFILES: Final[dict[str, Convention]] = {"verbatim": Convention()}


def profile(name: str) -> Convention:
    """The convention called `name`.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in PROFILES:
        raise UsageError(
            f"there is no profile {name!r}",
            hint=did_you_mean(name, PROFILES) or f"one of {', '.join(PROFILES)}",
        )
    return PROFILES[name]


def signature(head: str, settings: Mapping[str, str]) -> str:
    """What was computed and every setting that can move it, as one line.

    Bars, colons and backslashes inside a part are escaped, so that no two settings print alike.

    >>> signature("fga(lam=0.5)", {"profile": "verbatim.1", "absent": "none"})
    'fga(lam=0.5)|profile:verbatim.1|absent:none'
    """
    return "|".join([head, *(f"{_escape(key)}:{_escape(value)}" for key, value in settings.items())])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace(":", "\\:")


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(item if item.isalnum() else repr(item) for item in value) or "-"
    return str(value)
