"""Folders, and zips of several files: which files in them are one run, or one dataset.

Conventions: a folder is one run if it holds one file of a known format, or several files of one sharded format; or one
file of a format of gold per split. Files of records are one run if their names differ in numbers only
(``part-000.jsonl``), or are ids of MultiWOZ's dialogues (``SNG01.json``). A file of no known format is an error if its
name differs from a data file's only in numbers or splits: it seems to be a damaged part. Other files (ontologies,
schemas, lists of dialogues, logs, SGD's files of metrics) are ignored, and so are files of a loose format beside one of
another format. The dialogues in a subfolder named after a split are of that split; so are those in a file with a split
in its name (``woz_validate_en.json``), if files beside it name other splits. If there are such subfolders on several
levels, the highest ones are the dataset (SGD's repository has variants of the dataset further down).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from dstbench.errors import warn
from dstbench.io import archives

if TYPE_CHECKING:  # formats import the names of splits from here
    from dstbench.readers.format import Format, Source

#: The splits, by the names that datasets give them.
SPLITS: Final = {
    "train": "train", "training": "train", "test": "test",
    "dev": "dev", "val": "dev", "valid": "dev", "validate": "dev", "validation": "dev",
}  # fmt: skip
# SGD's official evaluation writes such a file beside the predictions: a copy of them with the scores of each.
_EVALUATED: Final = "dialogues_and_metrics.json"
# Endings of names of files that should hold data.
_OF_DATA: Final = (".json", ".jsonl", ".ndjson", ".tsv", ".csv")
_SHOWN: Final = 8
_HINT: Final = "`dstbench ls formats` shows each with an example"


def data_files(
    folder: Source,
    sniff: Callable[[Source], Format | None],
    split: str | None = None,
) -> Iterator[tuple[Source, Format]]:
    """The files of a folder that are data, sorted by name; each knows its split (`Source.split`)."""
    files, left_out = split_files(folder)
    if left_out:
        warn(f"splits in subfolders are left out: {', '.join(left_out[:_SHOWN])}", file=folder.name)
    files = [file for file in files if split in (None, file.split)] or files
    data: list[tuple[Source, Format | None]] = []
    loose: list[tuple[Source, Format | None]] = []
    unknown: list[Source] = []
    for file in files:
        is_readable = may_be_read(file)
        form = sniff(file) if is_readable else None
        if form is not None or file.is_parquet:
            (loose if form is not None and form.loose else data).append((file, form))
        elif is_readable:
            unknown.append(file)
        file.forget()
    data = data or loose
    if not data:
        if not files:
            raise folder.error("an empty folder", _HINT)
        others = Counter(file.foreign for file in files if file.foreign is not None)
        kinds = "".join(f"; {kind.what}: {count}" for kind, count in others.items())
        hint = next(iter(others)).hint if len(others) == 1 else _HINT
        raise folder.error(f"a folder without a file of a known format ({len(files)} files{kinds})", hint)
    first = data[0][1]
    series = set.intersection(*(_series(form, file) for file, form in data))
    splits = {file.split for file, _ in data}
    is_one = first is not None and all(form is first for _, form in data)
    if is_one and first is not None and len(data) > 1:
        are_splits = None not in splits and len(splits) == len(data) and first.holds == ("gold",)
        is_one = first.sharded or are_splits or bool(series)
    if not is_one:
        listed = [f"{file.name} ({form.name if form else 'long table'})" for file, form in data[:_SHOWN]]
        listed += [f"{len(data) - _SHOWN} more"] if len(data) > _SHOWN else []
        what = f"a folder with {len(data)} data files that are not parts of one run: {', '.join(listed)}"
        raise folder.error(what, "name one of the files, or several: each is then scored as its own run")
    alike = set[str]().union(*(_alike(file) for file, _ in data))
    if damaged := next((file for file in unknown if alike & _alike(file)), None):
        raise damaged.error(
            "no known format, although data files beside it have similar names",
            "if it is a part of the run, repair it; if not, move it elsewhere",
        )
    if series and len(data) > 1:
        warn(f"{len(data):,} files are read as one run: {data[0][0].name} to {data[-1][0].name}", file=folder.name)
    yield from ((file, form) for file, form in data if form is not None)


def may_be_read(file: Source) -> bool:
    """Whether a file of a folder may be of a native format: it is not empty, and not of a kind that holds no data."""
    if file.foreign is not None:
        if archives.unpacked_name(file.name).lower().endswith(_OF_DATA):
            file.check()
        return False
    return file.beginning(1 << 16).strip() not in (b"", b"[]", b"{}")


def _series(form: Format | None, file: Source) -> set[str]:
    """The series that a file of records belongs to by its name: numbered files, or one file per dialogue."""
    if form is None or file.split is not None or not (form.free_keys or form.loose):
        return set()
    return _without_numbers(file, file.path.name)


def _alike(file: Source) -> set[str]:
    """What a file's name shares with those of other parts of a run or dataset: names but for numbers and splits."""
    name = re.sub(r"[A-Za-z]+", lambda word: "" if word[0].lower() in SPLITS else word[0], file.path.name)
    return _without_numbers(file, name)


def _without_numbers(file: Source, name: str) -> set[str]:
    """What `name` shares with names that differ from it in numbers only; and with those of dialogues, if it is one."""
    names = [re.sub(r"\d+", "", name), *["dialogues"] * (file.dialogue is not None)]
    return {f"{file.path.parent} {name}" for name in names}


def split_files(folder: Source) -> tuple[list[Source], list[str]]:
    """The files of a folder, sorted, that may be data; and the subfolders with splits that are left out.

    Each file gets its split (`Source.split`).
    """
    files = [file for file in folder.files() if not file.name.endswith(_EVALUATED)]
    places: dict[PurePath, list[Source]] = {}  # files in folders that are splits, by where these folders are
    others: dict[PurePath, list[Source]] = {}
    for file in files:
        path = file.path.relative_to(folder.path)
        at = next((at for at in range(len(path.parts) - 2, -1, -1) if path.parts[at].lower() in SPLITS), None)
        if at is None:
            others.setdefault(path.parent, []).append(file)
        else:
            file.split = SPLITS[path.parts[at].lower()]
            places.setdefault(PurePath(*path.parts[:at]), []).append(file)
    for siblings in others.values():
        splits = [_named_split(file.path.name) for file in siblings]
        if len({*splits} - {None}) > 1:
            for file, split in zip(siblings, splits, strict=True):
                file.split = split
    highest, *lower = sorted(places, key=lambda place: len(place.parts)) or [PurePath()]
    if not lower or len(highest.parts) == len(lower[0].parts) or len({file.split for file in places[highest]}) < 2:
        return files, []
    below = {file.name for place in lower for file in places[place]}
    return [file for file in files if file.name not in below], [place.as_posix() for place in lower]


def _named_split(name: str) -> str | None:
    """The split that a file's name has as a word; None: none, or several."""
    splits = {SPLITS[word] for word in re.split(r"[^a-z]+", name.lower()) if word in SPLITS}
    return splits.pop() if len(splits) == 1 else None
