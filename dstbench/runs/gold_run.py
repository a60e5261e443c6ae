"""Gold alone, as a run."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

from dstbench.errors import DstbenchError, UsageError
from dstbench.io.files import File
from dstbench.runs.align import to_long
from dstbench.runs.load import named_parts
from dstbench.runs.open import Data, open_gold, open_runs
from dstbench.runs.run import Run, in_memory, run_meta


def gold_run(data: Data, split: str | None = None) -> Run:
    """Gold as a run, whose predictions do not matter. A Parquet file is not read yet, as it may be large.

    Args:
        data: Gold: a path, a frame, or states.
        split: The split to take, if gold has several; None: all.

    Raises:
        DstbenchError: Data cannot be read, hold no gold, or are several.
    """
    parts = named_parts(data)
    if len(parts) != 1:
        raise UsageError(f"gold comes from one place, not from {len(parts)}", hint="give one file, frame or list")
    name, item = parts[0]
    if isinstance(item, Run) or (isinstance(item, (str, PathLike)) and File(str(item)).is_parquet):
        return open_runs({name: item}, split=split)[0]
    states = open_gold(data, split)
    if states.gold is None:
        raise DstbenchError(
            f"no gold inside ({states.format})", file=states.source, hint="give the file that has the gold states"
        )
    aligned = to_long(replace(states, pred=states.gold, either=False, complete=None, notes=()))
    read: dict[str, Any] = {"files": [states.source], "format": states.format, "gold": None, "missing": "error"}
    meta = run_meta(name, aligned.frames, with_book=aligned.with_book, **read, coverage=aligned.coverage)
    return in_memory(name, aligned.table, meta)
