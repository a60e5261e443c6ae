"""The table of contexts: what was said in each turn. It is made only on request."""

from collections.abc import Sequence
from os import PathLike, fspath

import polars as pl

from dstbench.errors import DstbenchError, first_of
from dstbench.io import parquet
from dstbench.readers import Format, Source, find_files, read
from dstbench.readers.options import ReadOptions
from dstbench.readers.registry import WITH_UTTERANCES
from dstbench.readers.states import StatesBuilder, sides_of
from dstbench.schema.core import CONTEXTS

_KEY = ["dialogue", "turn"]


def contexts(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    split: str | None = None,
    *,
    format: str | Format | None = None,  # noqa: A002 (the field's word)
) -> pl.DataFrame:
    """What user and system say in each turn, from files that hold it.

    Args:
        path: A file or folder, or several; each may also be a table of contexts as Parquet.
        split: The split to read, if there are several; None: all.
        format: Native format; None: detect it.

    Returns:
        (dialogue, turn, system, user), schema `schema.CONTEXTS`, sorted by dialogue and turn.

    Raises:
        DstbenchError: The format holds no utterances, a turn is in two files, or a file cannot be read.
    """
    ReadOptions(format)  # raises if there is no such format
    sources = [Source(fspath(item)) for item in ([path] if isinstance(path, (str, PathLike)) else path)]
    parts = []
    for source in sources:
        if source.is_parquet:  # a table of contexts
            try:
                part = parquet.read(source).select(pl.col(name).cast(dtype) for name, dtype in CONTEXTS.schema.items())
            except pl.exceptions.PolarsError as error:
                reason = str(error).splitlines()[0]
                hint = "`dstbench contexts` writes such a table"
                raise source.error(f"not a table of contexts: {reason}", hint) from None
        else:
            part = pl.concat([_said(file, form) for file, form in find_files(source, format, split)])
            if split is not None:
                dialogues = [side.turns.select("dialogue") for side in sides_of(read(source, format, split))]
                part = part.join(pl.concat(dialogues), on="dialogue", how="semi")
        if part["system"].null_count() == part["user"].null_count() == part.height:
            raise source.error("no turn has its utterances")
        parts.append(part)
    table = pl.concat(parts).sort(_KEY)
    if (twice := table.filter(pl.struct(_KEY).is_duplicated())).height:
        dialogue, turn, *_ = twice.row(0)
        name = first_of([source.name for source in sources], 1)
        raise DstbenchError("the same turn in two files", file=name, dialogue=dialogue, turn=turn)
    return table


def _said(source: Source, form: Format) -> pl.DataFrame:
    """The contexts of one file, in its order."""
    if form.said is None:
        raise source.error(
            f"files of format {form.name} hold no utterances",
            f"give the dataset, or another format that has them: {', '.join(WITH_UTTERANCES)}",
        )
    turns = StatesBuilder(source.name, form.name)
    texts: list[tuple[str | None, str | None]] = []
    for dialogue, turn, system, user in form.spoken(source):
        turns.turn(dialogue, turn)
        texts.append((system or None, user or None))
    said = pl.DataFrame(texts, schema={"system": pl.String, "user": pl.String}, orient="row")
    return turns.turns().hstack(said).match_to_schema(CONTEXTS.schema)
