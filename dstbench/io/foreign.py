"""Kinds of files from which no data are read, whatever their names: how to recognise them, and what to do instead.

Conventions: the first bytes show the kind, or, of a zip, the members' names. None of these beginnings is that of a
JSON, TSV or CSV file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


class Foreign(NamedTuple):
    """A kind of file, in words that follow the file's name in a message, and a hint."""

    what: str
    hint: str


#: The first bytes that `by_content` needs.
LOOKED_AT: Final = 512

_UNPACK: Final = "unpack it first; gzip, bzip2, xz, zstd and zip are read as they are, once and not in each other"
_DOWNLOAD: Final = "download the file itself: on GitHub, its button Raw leads to it"
_WRITE: Final = "write the predictions as JSON Lines; `dstbench help own-data` shows how"
_AS_CSV: Final = "save the sheet as CSV"
_CHECKPOINT: Final = Foreign("a model's weights (PyTorch)", f"dstbench scores predictions, not models: {_WRITE}")
_PICKLE: Final = Foreign(
    "a pickle, which is not read, because loading one can run any code",
    f"if you trust it, load it in Python and {_WRITE}",
)

# Kinds of files by their first bytes: the offset, the bytes, the kind.
_MARKS: Final = (
    (0, b"\x1f\x8b", Foreign("packed (gzip)", _UNPACK)),
    (0, b"PK\x03\x04", Foreign("packed (zip)", _UNPACK)),
    (0, b"PK\x05\x06", Foreign("packed (zip)", _UNPACK)),
    (0, b"BZh", Foreign("packed (bzip2)", _UNPACK)),
    (0, b"\xfd7zXZ\0", Foreign("packed (xz)", _UNPACK)),
    (0, b"\x28\xb5\x2f\xfd", Foreign("packed (zstd)", _UNPACK)),
    (0, b"\x04\x22\x4d\x18", Foreign("packed (lz4)", _UNPACK)),
    (0, b"7z\xbc\xaf\x27\x1c", Foreign("packed (7-Zip)", _UNPACK)),
    (0, b"Rar!\x1a\x07", Foreign("packed (rar)", _UNPACK)),
    (257, b"ustar", Foreign("packed (tar)", _UNPACK)),
    (0, b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", _CHECKPOINT),
    *((0, b"\x80" + bytes([protocol]), _PICKLE) for protocol in range(2, 6)),
    (0, b"\x93NUMPY", Foreign("an array of NumPy", f"load it in Python and {_WRITE}")),
    (0, b"\x89HDF\r\n\x1a\n", Foreign("an HDF5 file", f"load it in Python and {_WRITE}")),
    (0, b"ARROW1\0\0", Foreign("an Arrow (Feather) file", "write it as Parquet")),
    (0, b"\xff\xff\xff\xff", Foreign(
        "an Arrow stream, as save_to_disk of datasets writes", "write it as Parquet: Dataset.to_parquet"
    )),
    (0, b"SQLite format 3\0", Foreign("an SQLite database", f"query it in Python and {_WRITE}")),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Foreign("an old Office file", _AS_CSV)),
    (0, b"%PDF-", Foreign("a PDF", "give the file with the data")),
)  # fmt: skip
_PAGE: Final = Foreign("a web page, not the file that it shows or links to", _DOWNLOAD)
_POINTER: Final = "which stands for a file that has not been downloaded"
_TEXTS: Final = (
    (rb"\s*<(?:!doctype\s+html|html|head)\b", _PAGE),
    (rb"\s*<\?xml\b", Foreign("XML, such as a server's error message", _DOWNLOAD)),
    (rb"404: Not Found\s*$", Foreign("a server's answer that there is no such file", _DOWNLOAD)),
    (rb"version https://git-lfs\.github", Foreign(f"a Git LFS pointer, {_POINTER}", "git lfs pull downloads it")),
    (rb"[./a-z]*/annex/objects/", Foreign(f"a git-annex pointer, {_POINTER}", "git annex get downloads it")),
    # Protocol 0, which is ASCII.
    (rb"\(?[dl]p\d+\n|c(?:copy_?reg|__builtin__|collections|numpy|pandas|torch)[\w.]*\n", _PICKLE),
    (rb'.{7}\0\{[^\n]*?"(?:dtype|__metadata__)"', Foreign("a model's weights (safetensors)", _CHECKPOINT.hint)),
)  # fmt: skip
# Kinds of zips: each has members whose names have all of these endings.
_MEMBERS: Final = (
    (("/data.pkl", "/version"), _CHECKPOINT),
    (("[Content_Types].xml", "xl/workbook.xml"), Foreign("an Excel file", _AS_CSV)),
    (("[Content_Types].xml", "word/document.xml"), Foreign("a Word file", "save its text as a file of its own")),
    (("mimetype", "content.xml"), Foreign("an OpenDocument file", _AS_CSV)),
)
_ARRAYS: Final = Foreign("arrays of NumPy", f"load them in Python and {_WRITE}")
# Endings of names of files that should hold data.
_OF_DATA: Final = (".json", ".jsonl", ".ndjson", ".tsv", ".csv")
# At least two letters before the colon: one is a drive.
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.IGNORECASE | re.DOTALL)


def by_content(beginning: bytes) -> Foreign | None:
    """The kind of a file with this beginning; None: it may hold data.

    >>> by_content(b"<!DOCTYPE html>").what
    'a web page, not the file that it shows or links to'
    """
    beginning = beginning[:LOOKED_AT]
    for at, mark, foreign in _MARKS:
        if beginning[at:].startswith(mark):
            return foreign
    return next(
        (foreign for pattern, foreign in _TEXTS if re.match(pattern, beginning, re.IGNORECASE | re.DOTALL)), None
    )


def by_members(names: Sequence[str]) -> Foreign | None:
    """The kind of a zip with these members; None: it may be a folder of data."""
    if names and all(name.endswith(".npy") for name in names):
        return _ARRAYS
    every = (
        foreign for endings, foreign in _MEMBERS if all(any(name.endswith(end) for name in names) for end in endings)
    )
    return next(every, None)


def should_be_data(name: str) -> bool:
    """Whether a file of this name, without the ending of a packing, should hold data."""
    return name.lower().endswith(_OF_DATA)


def url(path: str) -> Foreign | None:
    """The kind of a path that is a URL, possibly with one slash for two; None: it is not.

    >>> url("https:/example.org/p.json").hint
    'download it and name the file: curl -LO https://example.org/p.json'
    """
    if (address := _URL.fullmatch(path)) is None:
        return None
    scheme, rest = address.groups()
    if scheme.lower() == "file":
        return Foreign("a URL, which is not read", f"name the file: /{rest}")
    return Foreign("a URL, which is not read", f"download it and name the file: curl -LO {scheme}://{rest}")
