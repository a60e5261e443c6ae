"""The laws of formats: which files are recognised, how the example is read, and what happens to damaged files."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from dstbench.errors import DstbenchError
from dstbench.readers import FORMATS, Format, Source
from dstbench.readers.format import checked_format
from dstbench.readers.states import States, sides_of
from dstbench.runs.align import to_long
from dstbench.testing.laws import BrokenLawError, check_laws, fault_in, require

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
    what, rng = f"format {getattr(form, 'name', form)!r}", np.random.default_rng(seed)
    check_laws(what, {"it has a name, an example, a sniffer and a reader": lambda: checked_format(form, "here")})
    content = form.example if sample is None else sample
    content = content.encode() if isinstance(content, str) else content
    others = [other for other in FORMATS.values() if other.name != form.name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sample"

        def file(content: bytes) -> Source:
            path.unlink(missing_ok=True)  # on ext4, writing over a file takes six times as long
            path.write_bytes(content)
            return Source(path)

        def damage() -> None:
            """Read damaged files; the shortest that breaks the law is shown."""
            for changed in sorted((_damaged(content, rng) for _ in range(damages)), key=len):
                if fault := fault_in(_read_or_refuse, form, file(changed)):
                    shown = changed[:400].decode(errors="replace").splitlines()[:4]
                    raise BrokenLawError("\n    ".join([f"{fault}; the file:", *shown]))

        def recognised() -> None:
            require(form.sniff(file(content)), "it is not recognised: `sniff` is false")
            alike = ", ".join(other.name for other in others if not other.loose and other.sniff(file(content)))
            require(not alike, f"it looks like {alike} too, which is built in and asked first")

        def others_not_recognised() -> None:
            examples = {f"{other.name}: {other.example}": other.example.encode() for other in others}
            for what, example in (examples | {repr(nobodys): nobodys for nobodys in _NOBODYS}).items():
                with suppress(DstbenchError):  # such as: no UTF-8
                    is_another = form.loose or not form.sniff(file(example.replace("⇥".encode(), b"\t")))
                    require(is_another, f"`sniff` is true of {what}")

        check_laws(what, {
            "its example is of this format, and of no other": recognised,
            "no other format's example is of this format": others_not_recognised,
            "its example is read, with the sides that it holds": lambda: _read(form, file(content), sample is None),
            f"each of {damages:,} damaged files is read completely or refused with a message": damage,
        })  # fmt: skip


def _damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content cut off, or with something else in place of some of its JSON or bytes."""
    if rng.random() < 0.1:
        return content[: rng.integers(len(content) + 1)]
    for _ in range(rng.integers(1, 4)):
        tokens = [token.span() for token in _TOKEN.finditer(content)] or [(0, 0)]
        start, end = tokens[rng.integers(len(tokens))]
        content = content[:start] + _STRANGE[rng.integers(len(_STRANGE))] + content[end:]
    return content


def _read(form: Format, source: Source, is_whole: bool) -> None:
    """A file is read to states, the same each time; if it `is_whole`, it has all sides."""
    states, again = _held(form, source), form.read(Source(source.path))
    if states.complete is None:
        sides = [name for name in ("gold", "pred") if getattr(states, name) is not None]
        is_declared = set(sides) <= set(form.holds) and (len(sides) == len(form.holds) or not is_whole)
        held, declared = " and ".join(sides), " and ".join(form.holds)
        require(is_declared, f"it holds {held}, where the format says {declared}")
        if len(sides) == 2:
            to_long(states, states if states.either else None, missing="wrong")
    for one, other in zip(sides_of(states), sides_of(again), strict=True):
        texts = [side.cells.with_columns(pl.col("slot", "value").cast(pl.String)) for side in (one, other)]
        is_same = one.turns.equals(other.turns) and texts[0].equals(texts[1])
        require(is_same, "a second reading gives other states")
    is_spoken = form.said is None or any(True for _ in form.spoken(source))
    require(is_spoken, "it has no utterance, though the format says that it holds them")


def _read_or_refuse(form: Format, source: Source) -> None:
    """A damaged file is read to states, or a `DstbenchError` says what is wrong with it."""
    with suppress(DstbenchError):
        with suppress(DstbenchError):  # what is said is optional
            form.sniff(source)
            list(form.spoken(source))
        _held(form, source)


def _held(form: Format, source: Source) -> States:
    """The states in a file; there are some, unless they are to be completed from gold."""
    states = form.read(source)
    require(states.complete is not None or bool(sides_of(states)), "there is neither gold nor prediction")
    return states
