"""Trying laws, which are functions that raise how they are broken."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from dstbench.errors import DstbenchError
from dstbench.plugins import fault_of


class BrokenLawError(AssertionError):
    """A law is broken; the message says how."""


def require(is_so: bool, fault: str) -> None:
    """Raise a `BrokenLawError` that says what the fault is, if something is not so."""
    if not is_so:
        raise BrokenLawError(fault)


def check_laws(what: str, laws: Mapping[str, Callable[[], object]]) -> None:
    """Raise a `BrokenLawError` that lists the laws that are broken, each with what its function raises."""
    faults = {law: fault for law, attempt in laws.items() if (fault := fault_in(attempt))}
    listed = "".join(f"\n  {law}:\n    {fault}" for law, fault in faults.items())
    require(not faults, f"{what} breaks laws:{listed}")


def fault_in(attempt: Callable[..., object], *arguments: Any) -> str | None:
    """How a call breaks a law, also by an error in the code that is tried; None: it does not."""
    try:
        with warnings.catch_warnings(action="ignore"):  # those about random corpora and damaged files are expected
            attempt(*arguments)
    except (BrokenLawError, DstbenchError) as error:
        return str(error)
    except Exception as error:
        return f"its code fails: {fault_of(error)}"
    return None
