"""Readers of prediction files and datasets in their native formats.

`read` recognises the format by the file's content, never by its name, and returns `States`.

- `table`: the formats, a row each, and what a row cannot say of them; `rows`: how a row is recognised, read, checked
  and opened for changes; `walk`: paths to the turns of a file, and the walker of them; `notations`: the ways in which
  states are written; `special`: TSV, LDST's, TripPy's and dstbench's own files
- `registry`: all formats, and `read`, of files and of decoded JSON in memory; `folder`: which files of a folder to read
- `format`: what a format is; `source`: a file, its JSON, and where this is not of a type; `states`: what is
  read, and its builder; `options`, and `renaming` by the user's maps
- `records`: turns under any keys, and lists of states; `key_names` has the usual names of keys, and `state_cells` knows
  how people write states
- `contexts`: what was said; `frames`: intents and requested slots; `ontology`: the values that slots may have

The names below are imported when they are first used, because a run that already is a long table needs no reader.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dstbench.readers.format import Format
    from dstbench.readers.registry import FORMATS, find_files, find_format, read, sniff
    from dstbench.readers.rows import Row
    from dstbench.readers.source import Source

_HOME = {"Format": "format", "Row": "rows", "Source": "source"}

__all__ = ["FORMATS", "Format", "Row", "Source", "find_files", "find_format", "read", "sniff"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'dstbench.readers' has no attribute {name!r}")
    return getattr(import_module(f"dstbench.readers.{_HOME.get(name, 'registry')}"), name)
