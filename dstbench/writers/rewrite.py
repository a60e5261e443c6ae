"""Rewrites a dataset in its own format, with edited states or utterances.

Conventions: only what is edited changes (see `readers.rows.Document`). Each file that is written is read back
before it gets its name; if its states or utterances are not as requested, the file is discarded.
"""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import polars as pl

from dstbench.conventions.slots import canonical_dialogue, hint_at_dialogue
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.io import archives
from dstbench.io.atomic import refuse_overwriting, replacing
from dstbench.readers import Format, Source, find_files
from dstbench.readers.registry import WRITABLE
from dstbench.readers.rows import Document
from dstbench.readers.states import States, canonical_ids, error_in

#: The columns of edits of states, and of utterances; but for the last, they say what is edited.
STATES: Final = pl.Schema({"dialogue": pl.String, "turn": pl.UInt16, "slot": pl.String, "value": pl.String})
SAID: Final = pl.Schema({"dialogue": pl.String, "turn": pl.UInt16, "speaker": pl.String, "text": pl.String})
_CELL, _WORDS = [*STATES][:-1], [*SAID][:-1]
# What is wrong with an edit of a dialogue, of a turn's state, and of an utterance.
_NOWHERE: Final = ("no such dialogue", "no turn with a state", "no such turn, or no text of this speaker in it")


def rewrite(
    path: str | PathLike[str],
    out: str | PathLike[str],
    *,
    states: pl.DataFrame | None = None,
    said: pl.DataFrame | None = None,
    without: Collection[str] = (),
    format: str | None = None,  # noqa: A002 (the field's word)
) -> None:
    """Write a dataset again in its own format, with edits.

    Args:
        path: The dataset: a file, packed or not, or a folder or zip of files. A folder or zip is written as a folder,
            with copies of the files that are not data.
        out: The file or folder to write; packed if its name ends with ``.gz`` or ``.bz2``.
        states: Edits of gold states: (dialogue, turn, slot, value), canonical names; a null value removes the slot.
        said: Edits of utterances: (dialogue, turn, speaker, text). The speaker is ``user``, or ``system`` for what the
            system says before the user's turn; its last utterance has the number after the last user turn's.
        without: Dialogues to leave out.
        format: Native format; None: detect it.

    Raises:
        DstbenchError: The format cannot be written or cannot hold an edit, or an edit has no place in the data.
        UsageError: `out` is the dataset itself.

    The same edits give the same bytes.
    """
    source, target = Source(fspath(path)), Path(fspath(out))
    source.check()
    refuse_overwriting([source.path], [target])
    edits, data, is_left = _Edits(states, said, without), set(), False
    with replacing(target, is_folder=source.is_folder) as part:

        def place(file: Source) -> Path:
            path = part / file.path.relative_to(source.path) if source.is_folder else part
            path.parent.mkdir(parents=True, exist_ok=True)
            return path

        for file, form in find_files(source, format):
            is_left |= edits.write(file, form, place(file), place(file) if source.is_folder else target)
            data.add(file.name)
        if not is_left:
            raise source.error("no dialogue would be left in it")
        for file in source.files() if source.is_folder else ():
            if file.name not in data:
                place(file).write_bytes(file.content())
        edits.check_all_used(source)


def spoken(path: str | PathLike[str], *, format: str | None = None) -> pl.DataFrame:  # noqa: A002
    """All utterances of a dataset that can be rewritten.

    Unlike `contexts` it has a row per utterance, and includes what the system says after the last user turn.

    Args:
        path: A file or a folder.
        format: Native format; None: detect it.

    Returns:
        (dialogue, turn, speaker, text), as `rewrite` takes it; sorted by dialogue and turn, the system before the user.

    Raises:
        DstbenchError: The dataset cannot be read, or its format cannot be written.
    """
    texts = [
        (turn.dialogue, int(turn.number), speaker, turn.text(speaker))
        for file, form in find_files(Source(fspath(path)), format)
        for turn in _open(file, form, with_words=True)[0].turns()
        for speaker in turn.texts
    ]
    table = pl.DataFrame(texts, schema=SAID, orient="row").filter(pl.col("text") != "")
    return table.with_columns(canonical_dialogue(pl.col("dialogue"))).sort(_WORDS)


class _Edits:
    """Edits, checked; and the keys of the edits that have not been applied yet."""

    def __init__(self, states: pl.DataFrame | None, said: pl.DataFrame | None, without: Collection[str]) -> None:
        self._states = _checked(states, STATES)
        self._without = {*canonical_ids(without)}
        self._cells: dict[tuple[str, int], dict[str, str | None]] = {}
        for dialogue, turn, slot, value in self._states.rows():
            self._cells.setdefault((dialogue, turn), {})[slot] = value
        self._words = {tuple(key): text for *key, text in _checked(said, SAID).drop_nulls("text").rows()}
        self._there: set[str] = set()  # the dialogues of the files read so far
        self._unused: set[tuple[Any, ...]] = {*self._cells, *self._words, *((name,) for name in self._without)}

    def write(self, source: Source, form: Format, part: Path, target: Path) -> bool:
        """Write one file's edited content; returns whether a dialogue is left in it."""
        document, before = _open(source, form, with_words=bool(self._words))
        turns = [*document.turns()]
        spelled = list(dict.fromkeys(turn.dialogue for turn in turns))
        names = dict(zip(spelled, canonical_ids(spelled), strict=True))
        self._there |= {*names.values()}
        for turn in turns:
            key = (names[turn.dialogue], int(turn.number))
            if turn.content is not None and key in self._cells:
                document.edit(turn, self._cells[key])
                self._unused.discard(key)
            for speaker, (holder, name) in turn.texts.items():
                if (words := (*key, speaker)) in self._words:
                    holder[name] = self._words[words]
                    self._unused.discard(words)
        left_out = {name for name, canonical in names.items() if canonical in self._without}
        self._unused -= {(names[name],) for name in left_out}
        document.drop(left_out)
        if len(left_out) == len(names):
            return False
        if before.pred is not None and not before.either and (left_out or self._cells or self._words):
            warn("its predictions stay as they are, though gold or what is said changes", file=source.name)
        part.write_bytes(archives.packed_as(target.name, document.dump()))
        written = Source(part)
        written.name = str(target)
        self._check_states(before, form.read(written))
        for dialogue, number, *texts in form.spoken(written) if self._words else ():
            for speaker, read in zip(("system", "user"), texts, strict=True):
                text = self._words.get((names[dialogue], int(number), speaker))
                if text not in (None, read or ""):
                    what = f"files of format {form.name} cannot hold the {speaker}'s words {text!r}"
                    raise written.error(what, dialogue=dialogue, turn=number)
        return True

    def check_all_used(self, source: Source) -> None:
        """Refuse edits that have no place in the data."""
        if not self._unused:
            return
        first = min(self._unused, key=str)  # (dialogue), (dialogue, turn) or (dialogue, turn, speaker)
        more = f", and {len(self._unused) - 1:,} more" if len(self._unused) > 1 else ""
        is_there = first[0] in self._there
        hint = None if is_there else hint_at_dialogue(first[0], pl.Series(sorted(self._there), dtype=pl.String))
        what = f"an edit has no place in the data: {_NOWHERE[len(first) - 1 if is_there else 0]}{more}"
        raise source.error(what, hint, **dict(zip(("dialogue", "turn"), first, strict=False)))

    def _check_states(self, before: States, after: States) -> None:
        """Check that the file holds the old states with the edits."""
        old = _cells(before).filter(~pl.col("dialogue").is_in([*self._without]))
        turns = pl.DataFrame() if before.gold is None else before.gold.turns
        new = self._states.join(turns, on=["dialogue", "turn"], how="semi")
        wanted = pl.concat([old.join(new, on=_CELL, how="anti"), new.drop_nulls("value")])
        both = wanted.join(_cells(after), on=_CELL, how="full", coalesce=True, suffix="_read")
        wrong = both.filter(pl.col("value").ne_missing(pl.col("value_read"))).sort(_CELL)
        if wrong.height:
            dialogue, turn, slot, value, read = wrong.row(0)
            read_as = "no value" if read is None else repr(read)
            what = f"files of format {after.format} cannot hold {value!r}: it would be read as {read_as}"
            raise error_in(after, what, dialogue=dialogue, turn=turn, slot=slot)


def _open(source: Source, form: Format, *, with_words: bool) -> tuple[Document, States]:
    """A file as a document, and its states; its states (and utterances) are read first, which checks the file."""
    if form.document is None:
        hint = f"those that can: {', '.join(WRITABLE)}"
        raise source.error(f"files of format {form.name} cannot be written again", hint)
    if source.inside:
        what = f"its dialogues are under {' and '.join(source.inside)}, and only whole files are written again"
        raise source.error(what, "write that part to its own file")
    states = form.read(source)
    for _ in form.spoken(source) if with_words else ():
        pass
    return form.document(source), states


def _checked(edits: pl.DataFrame | None, schema: pl.Schema) -> pl.DataFrame:
    """Edits with the columns and types of `schema`, and only one edit of each cell or text."""
    if edits is None:
        return pl.DataFrame(schema=schema)
    if missing := [name for name in schema if name not in edits.columns]:
        raise UsageError(f"edits without the column {', '.join(missing)}", hint=f"columns: {', '.join(schema)}")
    typed = edits.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
    typed = typed.with_columns(canonical_dialogue(pl.col("dialogue"))).unique(maintain_order=True)
    twice = typed.filter(pl.struct([*schema][:-1]).is_duplicated())
    if twice.height:
        dialogue, turn, what, _ = twice.row(0)
        raise DstbenchError(f"two edits of {what}", dialogue=dialogue, turn=turn)
    return typed


def _cells(states: States) -> pl.DataFrame:
    """The gold states, in the form of edits."""
    if states.gold is None:
        raise error_in(states, f"no gold inside ({states.format})")
    table = states.gold.cells.join(states.gold.turns.with_row_index("at"), on="at", maintain_order="left")
    return table.select(pl.col(name).cast(dtype) for name, dtype in STATES.items())
