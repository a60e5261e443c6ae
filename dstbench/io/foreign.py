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

_WRITE: Final = "write the predictions as JSON Lines; `dstbench help own-data` shows how"
_BINARY: Final = Foreign(
    "a pickle, a model's weights, arrays or a database, which are not read, as loading some can run any code",
    f"dstbench scores predictions: load it in Python, if you trust it, and {_WRITE}",
)
_PACKED: Final = Foreign(
    "packed (twice, or in a way that is not read)",
    "unpack it first; gzip, bzip2, zstd and zip are read as they are, once and not in each other",
)
_OFFICE: Final = Foreign("a document of an office program", "save the sheet as CSV")
_PAGE: Final = Foreign(
    "a web page or XML, not the file that it shows or links to",
    "download the file itself: on GitHub, its button Raw leads to it",
)
_POINTER: Final = Foreign(
    "a pointer of Git LFS or git-annex to a file that has not been downloaded",
    "git lfs pull, or git annex get, downloads it",
)
# Patterns of beginnings; the first that matches tells the kind.
_BEGINNINGS: Final = (
    (rb"\x1f\x8b|PK\x03\x04|PK\x05\x06|BZh|\xfd7zXZ\0|\x28\xb5\x2f\xfd", _PACKED),
    (rb"\x04\x22\x4d\x18|7z\xbc\xaf\x27\x1c|Rar!|.{257}ustar", _PACKED),
    # Pickles of protocols 2 to 5, and of protocol 0, which is ASCII; safetensors.
    (rb"\x80[\x02-\x05]|\(?[dl]p\d+\n|c(?:copy_?reg|__builtin__|collections|numpy|pandas|torch)[\w.]*\n", _BINARY),
    (rb".{7}\0\{[^\n]*?\"(?:dtype|__metadata__)\"", _BINARY),
    # NumPy, HDF5, Arrow, SQLite.
    (rb"\x93NUMPY|\x89HDF\r\n|ARROW1\0\0|\xff\xff\xff\xff|SQLite format 3\0", _BINARY),
    (rb"\xd0\xcf\x11\xe0|%PDF-", _OFFICE),
    (rb"(?i:\s*<(?:!doctype\s+html|html|head|\?xml)\b|404: Not Found\s*$)", _PAGE),
    (rb"version https://git-lfs\.github|[./a-z]*/annex/objects/", _POINTER),
)
# Kinds of zips, each by the ends of names that some of its members have.
_MEMBERS: Final = (
    (("/data.pkl", "/version"), _BINARY),
    (("[Content_Types].xml", ".xml.rels"), _OFFICE),
    (("mimetype", "content.xml"), _OFFICE),
)
# At least two letters before the colon: one is a drive.
_URL: Final = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.IGNORECASE | re.DOTALL)


def by_content(beginning: bytes) -> Foreign | None:
    """The kind of a file with this beginning; None: it may hold data."""
    beginning = beginning[:LOOKED_AT]
    return next((kind for pattern, kind in _BEGINNINGS if re.match(pattern, beginning, re.DOTALL)), None)


def by_members(names: Sequence[str]) -> Foreign | None:
    """The kind of a zip with these members; None: it may be a folder of data."""
    if names and all(name.endswith(".npy") for name in names):
        return _BINARY
    kinds = (kind for ends, kind in _MEMBERS if all(any(name.endswith(end) for name in names) for end in ends))
    return next(kinds, None)


def url(path: str) -> Foreign | None:
    """The kind of a path that is a URL, possibly with one slash for two; None: it is not."""
    if (address := _URL.fullmatch(path)) is None:
        return None
    scheme, rest = address.groups()
    if scheme.lower() == "file":
        return Foreign("a URL, which is not read", f"name the file: /{rest}")
    return Foreign("a URL, which is not read", f"download it and name the file: curl -LO {scheme}://{rest}")
