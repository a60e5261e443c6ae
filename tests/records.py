"""What tests of records of turns share."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest

import dstbench

#: For tests of what is read, where what is said of it does not matter.
quiet = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")


def table_of(data: Any, **how: Any) -> pl.DataFrame:
    """The long table of one run."""
    return dstbench.scan(data, **how).drop("run").collect()


def notes_of(data: Any, **how: Any) -> list[str]:
    """What is said of data, without the name of the file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dstbench.scan(data, **how)
    return [str(warning.message).partition(": ")[2] for warning in caught]
