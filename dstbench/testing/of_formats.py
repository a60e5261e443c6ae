"""The laws of formats: which files are recognised, how the example is read, and what happens to damaged files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.plugins import fault_of
from dstbench.readers import FORMATS, Format, Source
from dstbench.readers.format import checked_format
from dstbench.readers.states import States, sides_of
from dstbench.runs.align import to_long
from dstbench.testing.laws import BrokenLawError, check_laws, fault_in

#: Contents that are of no format.
_NOBODYS: Final = (b"{}", b"[]", b'{"a": 1}', b'[{"a": 1}]', b"a,b\n1,2\n", b"JGA 54.2\n", b"\xff\xfe\0", b'"text"')
# A string, number, word, list or object in JSON, or else a byte; and what may stand in its place.
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|\[[^\[\]]*\]|\{[^{}]*\}|.', re.DOTALL)
_STRANGE: Final = (
    b"null", b"true", b"0", b"-1", b"65536", b"1e30", b"0.5", b'""', b'"x"', b'"D_0"', b'"hotel-area"', b'"\\ud7ff"',
    b'"|||"', b"[]", b"{}", b"[[]]", b'{"": ""}', b'["x", "y"]', b'{"hotel": {"area": "east"}}', b"[1, 0]", b"", b"\0",
    b"\xff", b"{", b"}", b"]", b'"', b"\t", b"\n", b"|||", b"-", b"9",
)  # fmt: skip


def check_format(form: Format, *, sample: bytes | str | None = None, damages: int = 200, seed: int = 0) -> None:
    """Try all laws on a format.

    Args:
        form: The format.
        sample: The content of a small file; None: the format's example is a whole one.
        damages: How many damaged files are tried.
        seed: Random seed.

    Raises:
        AssertionError: The format breaks a law; the message says how, and shows a damaged file that breaks it.
    """
    what = f"format {getattr(form, 'name', form)!r}"
    check_laws(what, {"it has a name, an example, a sniffer and a reader": lambda: checked_format(form, "here")})
    content = form.example if sample is None else sample
    content = content.encode() if isinstance(content, str) else content
    with tempfile.TemporaryDirectory() as folder:

        def file(content: bytes) -> Source:
            path = Path(folder) / "sample"
            path.unlink(missing_ok=True)  # on ext4, writing over a file takes six times as long
            path.write_bytes(content)
            return Source(path)

        check_laws(
            what,
            {
                "its example is of this format, and of no other": lambda: _is_recognised(form, file(content)),
                "no other format's example is of this format": lambda: _recognises_no_other(form, file),
                "its example is read, with the sides that it holds": lambda: _is_read(
                    form, file(content), sample is None
                ),
                f"each of {damages:,} damaged files is read completely or refused with a message": lambda: _damage(
                    form, file, content, damages, np.random.default_rng(seed)
                ),
            },
        )


def _damage(
    form: Format, file: Callable[[bytes], Source], content: bytes, damages: int, rng: np.random.Generator
) -> None:
    """Read damaged files; the shortest that breaks the law is shown."""
    damaged = [_damaged(content, rng) for _ in range(damages)]
    faults = {changed: fault_in(partial(_is_read_or_refused, form, file, changed)) for changed in damaged}
    if broken := sorted((changed for changed, fault in faults.items() if fault), key=len):
        shown = broken[0][:400].decode(errors="replace").splitlines()[:4]
        raise BrokenLawError("\n    ".join([f"{faults[broken[0]]}; the file:", *shown]))


def _damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content cut off, or with something else in place of some of its JSON or bytes."""
    if rng.random() < 0.1:
        return content[: rng.integers(len(content) + 1)]
    for _ in range(rng.integers(1, 4)):
        tokens = [token.span() for token in _TOKEN.finditer(content)] or [(0, 0)]
        start, end = tokens[rng.integers(len(tokens))]
        content = content[:start] + _STRANGE[rng.integers(len(_STRANGE))] + content[end:]
    return content


def _is_recognised(form: Format, source: Source) -> None:
    """A file of the format is found by its content: by the format, and by none that is asked before it."""
    if not form.sniff(source):
        raise BrokenLawError("it is not recognised: `sniff` is false")
    asked = [other for other in FORMATS.values() if other.name != form.name and not other.loose]
    if others := [other.name for other in asked if other.sniff(source)]:
        raise BrokenLawError(f"it looks like {', '.join(others)} too, which is built in and asked first")


def _recognises_no_other(form: Format, file: Callable[[bytes], Source]) -> None:
    """A file of another format, or of none, is not taken for one of this format, unless the other is asked first."""
    before = [] if form.loose else [other for other in FORMATS.values() if other.name != form.name]
    contents = {f"{other.name}: {other.example}": other.example.replace("⇥", "\t").encode() for other in before}
    for what, content in (contents | {repr(content): content for content in _NOBODYS}).items():
        with suppress(DstbenchError):  # such as: no UTF-8
            if form.sniff(file(content)):
                raise BrokenLawError(f"`sniff` is true of {what}")


def _is_read(form: Format, source: Source, is_whole: bool) -> None:
    """A file is read to states that hold together, the same each time; if it `is_whole`, it has all sides."""
    states = form.read(source)
    if states.complete is None:
        holds_together(states)
        sides = [name for name in ("gold", "pred") if getattr(states, name) is not None]
        if not set(sides) <= set(form.holds) or (is_whole and len(sides) < len(form.holds)):
            declared = " and ".join(form.holds)
            raise BrokenLawError(f"it holds {' and '.join(sides)}, where the format says {declared}")
        if states.gold is not None and states.pred is not None:
            to_long(states, states if states.either else None, missing="wrong")
    again = form.read(Source(source.path))
    if any(not one.equals(other) for one, other in zip(_tables(states), _tables(again), strict=True)):
        raise BrokenLawError("a second reading gives other states")
    if form.said is not None and not list(form.spoken(source)):
        raise BrokenLawError("it has no utterance, though the format says that it holds them")


def _is_read_or_refused(form: Format, file: Callable[[bytes], Source], content: bytes) -> None:
    """A damaged file is read to states that hold together, or a `DstbenchError` says what is wrong with it."""
    source = file(content)
    try:
        with suppress(DstbenchError):  # what is said is optional
            form.sniff(source)
            list(form.spoken(source))
        states = form.read(source)
    except DstbenchError:
        return
    except Exception as error:
        what = f"its code fails: {fault_of(error)}; report faults of a file by source.error(…)"
        raise BrokenLawError(what) from error
    if states.complete is None:
        holds_together(states)


def holds_together(states: States) -> None:
    """Every cell belongs to a turn, and no turn or slot is there twice."""
    if not sides_of(states):
        raise BrokenLawError("there is neither gold nor prediction")
    turn_types = {"dialogue": pl.String, "turn": pl.UInt16}
    for side in sides_of(states):
        at = side.cells["at"]
        rules = {
            "the columns of turns are dialogue (String) and turn (UInt16)": side.turns.schema == turn_types,
            "there is a turn": side.turns.height > 0,
            "no turn lacks its dialogue or number": not any(column.null_count() for column in side.turns),
            "no turn is there twice": not side.turns.is_duplicated().any(),
            "the columns of cells are at, slot and value": side.cells.columns == ["at", "slot", "value"],
            "no cell lacks anything": not any(column.null_count() for column in side.cells),
            "each cell is of a turn": at.filter(at >= side.turns.height).is_empty(),
            "no slot is twice in a turn": not side.cells.select("at", "slot").is_duplicated().any(),
        }
        for rule, is_kept in rules.items():
            if not is_kept:
                raise BrokenLawError(f"not so: {rule}")


def _tables(states: States) -> Iterator[pl.DataFrame]:
    for side in sides_of(states):
        yield from (side.turns, side.cells.with_columns(pl.col("slot", "value").cast(pl.String)))
