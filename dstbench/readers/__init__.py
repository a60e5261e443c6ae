"""Other people's files: one module per native format, one verb.

`read` finds the format by content, never by the file's name, and gives `States`. Names are imported when they are
first used: who has a long table already needs no reader.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dstbench.readers.format import Format
    from dstbench.readers.registry import FORMATS, find_files, find_format, read, sniff
    from dstbench.readers.source import Source

_HOME = {"Format": "format", "Source": "source"}

__all__ = ["FORMATS", "Format", "Source", "find_files", "find_format", "read", "sniff"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dstbench.readers' has no attribute {name!r}")
    return getattr(import_module(f"dstbench.readers.{_HOME.get(name, 'registry')}"), name)
