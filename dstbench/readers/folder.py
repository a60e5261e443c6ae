"""Folders, and zips of several files: which files in them are one run, or one dataset.

Conventions: a folder is one run if it holds one file of a known format, or several of a sharded one. What is no data
(ontologies, schemas, lists of dialogues, logs) is passed over, as upstream does with its own ``metrics``. Subfolders
named as splits are, say which dialogue is of which split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # as formats need the names of splits
    from dstbench.readers.format import Format, Source

#: How datasets call their splits.
SPLITS: Final = {
    "train": "train", "training": "train", "test": "test",
    "dev": "dev", "val": "dev", "valid": "dev", "validate": "dev", "validation": "dev",
}  # fmt: skip
# Predictions once more, with the scores of each: what the official evaluation of SGD writes beside them.
_EVALUATED: Final = "dialogues_and_metrics.json"
_SHOWN: Final = 8


def data_files(
    folder: Source, sniff: Callable[[Source], Format | None], split: str | None = None
) -> Iterator[tuple[Source, Format]]:
    """The files of a folder that are data, one by one, sorted by name.

    Args:
        folder: The folder.
        sniff: Tells the format of a file.
        split: Where subfolders are splits, only the files of this one.

    Raises:
        DstbenchError: There are none, or they are of several formats or runs.
    """
    files = [file for file in folder.files() if not file.name.endswith(_EVALUATED)]
    splits = [split_of(folder, file) for file in files]
    if split is not None and split in splits:
        files = [file for file, named in zip(files, splits, strict=True) if named == split]
    number = len(files)
    data: list[tuple[str, str]] = []
    first: Format | None = None
    while files:
        file = files.pop(0)  # and with it, once it is read, what it keeps of its content
        is_empty = not file.beginning(1 << 16).strip()
        form = None if file.is_parquet or is_empty else sniff(file)
        if form is None and not file.is_parquet:
            continue
        kind = form.name if form else "long table"
        data.append((file.name, kind))
        first = first or form
        if form is not None and form is first and (form.sharded or len(data) == 1):
            yield file, form
    if not data:
        raise folder.error(
            f"a folder without a file of a known format ({number} files)" if number else "an empty folder",
            "`dstbench ls formats` shows each with an example",
        )
    kinds = {kind for _, kind in data}
    if len(kinds) > 1 or first is None or not (first.sharded or len(data) == 1):
        listed = [f"{name} ({kind})" for name, kind in data[:_SHOWN]]
        more = [f"{len(data) - _SHOWN} more"] if len(data) > _SHOWN else []
        raise folder.error(
            f"a folder with {len(data)} files of data that are not parts of one run: {', '.join(listed + more)}",
            "name the one that is meant; several files that are named are scored as a run each",
        )


def split_of(folder: Source, file: Source) -> str | None:
    """The split that the nearest of a file's subfolders names."""
    inside = file.path.relative_to(folder.path).parts[:-1]
    return next((SPLITS[part.lower()] for part in reversed(inside) if part.lower() in SPLITS), None)
