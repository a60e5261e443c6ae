"""Folders, and zips of several files: which files in them are one run, or one dataset.

Conventions: a folder is one run if it holds one file of a known format, or several files of one sharded format. Other
files (ontologies, schemas, lists of dialogues, logs, SGD's files of metrics) are ignored. The dialogues in a subfolder
that has the name of a split are of that split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from dstbench.io import archives, foreign

if TYPE_CHECKING:  # formats import the names of splits from here
    from dstbench.readers.format import Format, Source

#: The splits, by the names that datasets give them.
SPLITS: Final = {
    "train": "train", "training": "train", "test": "test",
    "dev": "dev", "val": "dev", "valid": "dev", "validate": "dev", "validation": "dev",
}  # fmt: skip
# SGD's official evaluation writes such a file beside the predictions: a copy of them with the scores of each.
_EVALUATED: Final = "dialogues_and_metrics.json"
_SHOWN: Final = 8


def data_files(
    folder: Source, sniff: Callable[[Source], Format | None], split: str | None = None
) -> Iterator[tuple[Source, Format]]:
    """The files of a folder that are data, one by one, sorted by name.

    Args:
        folder: The folder.
        sniff: Returns the format of a file; None: it is of no known format.
        split: If subfolders are splits, only the files of this one; None: all.

    Raises:
        DstbenchError: There are no such files, or they are of several formats or runs.
    """
    files = [file for file in folder.files() if not file.name.endswith(_EVALUATED)]
    splits = [split_of(folder, file) for file in files]
    if split is not None and split in splits:
        files = [file for file, named in zip(files, splits, strict=True) if named == split]
    number = len(files)
    data: list[tuple[str, str]] = []
    others: dict[str, int] = {}
    first: Format | None = None
    while files:
        file = files.pop(0)  # so that nothing holds on to its content once it has been read
        if file.foreign is not None:
            if foreign.should_be_data(archives.unpacked_name(file.name)):  # without it, the run would have gaps
                file.check()
            others[file.foreign.what] = others.get(file.foreign.what, 0) + 1
            continue
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
        kinds_of_others = "".join(f"; {what}: {count}" for what, count in others.items())
        what = f"a folder without a file of a known format ({number} files{kinds_of_others})"
        raise folder.error(
            what if number else "an empty folder",
            "`dstbench ls formats` shows each with an example",
        )
    kinds = {kind for _, kind in data}
    if len(kinds) > 1 or first is None or not (first.sharded or len(data) == 1):
        listed = [f"{name} ({kind})" for name, kind in data[:_SHOWN]]
        more = [f"{len(data) - _SHOWN} more"] if len(data) > _SHOWN else []
        raise folder.error(
            f"a folder with {len(data)} files of data that are not parts of one run: {', '.join(listed + more)}",
            "name the file that is meant, or several: each is then scored as a run of its own",
        )


def split_of(folder: Source, file: Source) -> str | None:
    """The split that is named by the nearest of the folders between `folder` and a file; None: by none of them."""
    inside = file.path.relative_to(folder.path).parts[:-1]
    return next((SPLITS[part.lower()] for part in reversed(inside) if part.lower() in SPLITS), None)
