"""The registry of formats: `find_format` recognises a file's format by its content, and `read` reads the file."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Final

from dstbench.errors import DstbenchError, UsageError, did_you_mean
from dstbench.plugins import Plugins, Table, origin_of
from dstbench.readers import (
    dstc2,
    fga_gca,
    jsonl,
    ldst,
    parlai,
    records,
    savn,
    state_lists,
    trippy,
    tsv,
)
from dstbench.readers.declared import row_of
from dstbench.readers.folder import data_files
from dstbench.readers.foreign import checked_format
from dstbench.readers.format import Format, Source, States
from dstbench.readers.options import Keys
from dstbench.readers.record_keys import KeysError, present
from dstbench.readers.rows import Row
from dstbench.readers.state_text import named
from dstbench.readers.states import in_split, merge_states, noting_doubts, only_split
from dstbench.readers.table import ROWS
from dstbench.typing import Unreadable

#: The native formats, by the name that ``--from`` takes. Sniffing asks them in this order.
FORMATS: Final[dict[str, Format]] = {
    form.name: form
    for form in (
        trippy.FORMAT,  # first, as it looks no further than the first turn
        jsonl.FORMAT,
        fga_gca.MARKS,
        parlai.FORMAT,
        savn.FORMAT,
        ldst.FORMAT,
        *tsv.FORMATS,
        *ROWS.values(),
        dstc2.FORMAT,
        # last, as they take any keys
        records.CSV,
        records.FORMAT,
        state_lists.FORMAT,
    )
}

#: The formats that are not built in. Sniffing asks them last.
PLUGINS: Final = Plugins(
    "format",
    FORMATS,
    is_one=lambda item: (
        isinstance(item, (Row, Table)) or (isinstance(item, Format) and item is not FORMATS.get(item.name))
    ),
    name_of=lambda item: item.get("name") if isinstance(item, Table) else item.name,
    checked=lambda item, origin: checked_format(_format_in(item), origin),
)


def _format_in(item: Format | Row | Table) -> Format:
    """The format that a module has, or that its row, or a table in a file, declares."""
    if isinstance(item, Format):
        return item
    return (row_of(item) if isinstance(item, Table) else item).format()


def check_declared() -> None:
    """Raise a `UsageError` for a table of a file of the user's that declares no format."""
    for name, item in PLUGINS.of_modules():
        if isinstance(item, Table):
            try:
                PLUGINS.find(name)
            except DstbenchError as error:
                raise UsageError(error.what, hint=error.hint) from None


#: Names of the formats that can be written again.
WRITABLE: Final = tuple(form.name for form in FORMATS.values() if form.document is not None)
#: Names of the formats that hold utterances.
WITH_UTTERANCES: Final = tuple(form.name for form in FORMATS.values() if form.said is not None)


def named_format(name: str) -> Format:
    """The format of this name."""
    name = name.partition("@")[0]  # long tables name formats that are not built in as NAME@ORIGIN
    if (form := FORMATS.get(name) or PLUGINS.find(name)) is not None:
        return form
    names = [*FORMATS, *PLUGINS.names()]
    raise UsageError(f"there is no format {name!r}", hint=did_you_mean(name, names) or f"one of {', '.join(names)}")


def find_format(source: Source, name: str | Format | None = None) -> Format:
    """The format called `name` (or this format itself); without one, the format that the file's content shows."""
    if isinstance(name, Format):
        return name if name is FORMATS.get(name.name) else checked_format(name, origin_of(name.reader))
    if name is not None:
        wanted = named_format(name)
        if not source.is_folder and source.around:
            _shows(wanted, source)
        return wanted
    if form := sniff(source):
        return form
    raise _without_keys(source) or source.error(*_unknown(source))


def sniff(source: Source) -> Format | None:
    """The format of a file by its content; None: no known one. With keys, formats with keys of any name go first.

    If the content is a wrapper, and what is under one of its keys has a known format, the source becomes that part.
    """
    forms = [*FORMATS.values()]
    if source.keys and not source.keys.optional:
        forms.sort(key=lambda form: not form.free_keys)
    exact = next((form for form in forms if not form.loose and form.sniff(source)), None)
    own = exact or next((form for _, form, _ in PLUGINS.usable() if form.sniff(source)), None)
    for loose in (False, True):
        if loose:
            own = own or next((form for form in forms if form.loose and form.sniff(source)), None)
        own = own or _sniff_parts(source, [form for form in forms if form.loose == loose and not form.free_keys])
    return own


def _shows(form: Format, source: Source) -> bool:
    """Whether the content, or that of a part of a wrapper, is of a format; then the source becomes that part."""
    return form.sniff(source) or (not form.free_keys and _sniff_parts(source, [form]) is not None)


def _sniff_parts(source: Source, forms: list[Format]) -> Format | None:
    """Which of these formats a part of a wrapper has; the source becomes that part. None: no part has any of them."""
    shown = [
        (part, form) for part in source.parts()
        if (form := next((form for form in forms if form.sniff(part)), None) or _sniff_parts(part, forms)) is not None
    ]  # fmt: skip
    if len(shown) > 1:
        keys = ", ".join(str(part.inside[-1]) for part, _ in shown)
        raise source.error(f"data of format {shown[0][1]} under several keys: {keys}", "write each to its own file")
    for part, form in shown:
        source.become(part)
        return form
    return None


def has_utterances(name: str) -> bool:
    """Whether the format of this name is one that holds utterances, and can be used here."""
    try:
        form = FORMATS.get(name) or PLUGINS.find(name.partition("@")[0])
    except DstbenchError:
        return False
    return form is not None and form.said is not None


def find_files(
    source: Source, name: str | Format | None = None, split: str | None = None
) -> Iterator[tuple[Source, Format]]:
    """The file, or the files of a folder that are data, each with its format, one by one."""
    if not source.is_folder:
        yield source, find_format(source, name)
        return
    source.check()  # a file of a model's weights may be a zip, which looks like a folder
    if name is None:
        yield from data_files(source, sniff, split)
    else:
        wanted = find_format(source, name)
        yield from data_files(source, lambda file: wanted if _shows(wanted, file) else None, split)


def _without_keys(file: Source) -> DstbenchError | None:
    """The error for a file that lacks a key that the user gives; None: it has them all, or no keys are given."""
    if file.keys is None or file.keys.optional:
        return None
    names = records.keys_in(file)
    if (turns := file.keys.turns) is not None and turns not in names:
        return file.error(f"no object has the key {turns!r} (keys: turns={turns})", did_you_mean(turns, names))
    try:
        present(names, file.keys if names else Keys())
    except KeysError as error:
        return file.error(error.what, error.hint)
    return None


def read(
    source: Source | str | PathLike[str],
    format: str | Format | None = None,  # noqa: A002 (the field's word)
    split: str | None = None,
    keys: Keys | None = None,
    unreadable: Unreadable = "error",
) -> States:
    """Read a native file, or a folder (or zip) that holds one run or one dataset.

    Args:
        source: The file, or its path.
        format: Its format, or the format's name; None: detect it.
        split: The split to read, ``train``, ``dev`` or ``test``, if the data say which dialogues are in it; None: all.
        keys: The keys of records of turns; None: by their usual names.
        unreadable: What to do with a predicted state that is none: ``error``, or take it as ``empty``, or count it as
            ``wrong``.

    Returns:
        Its states.

    Raises:
        DstbenchError: It cannot be read; the message says what is wrong, where, and what to do.
    """
    if not isinstance(source, Source):
        source = Source(fspath(source))
    if keys is not None:
        source.keys = keys
    source.unreadable = unreadable
    parts = []
    with _without_collection():
        for file, form in find_files(source, format, split):
            states = form.read(file)
            file.forget()  # before the garbage collector is on again and looks at millions of objects
            if states.splits is None and file.split is not None:
                states = in_split(states, file.split)
            parts.append(states)
    whole = merge_states(parts, source.name)
    return noting_doubts(whole if split is None else only_split(whole, split))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector: decoded JSON has no cycles, and looking for them takes longer than decoding it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _unknown(source: Source) -> tuple[str, str]:
    """What is wrong with a file of no known format, and what to do."""
    if source.kind == "json" and isinstance(source.json, dict) and source.json.keys() >= {"class_types", "slots"}:
        what = "TripPy's configuration, not its predictions"
        return what, "score pred_res.*.json; this file is what --label-map takes"
    hint = "`dstbench ls formats` shows each with an example; --from FORMAT says which it is"
    line = records.line_that_works(source)
    if line is not None:
        hint = f"{line} may be what it needs; {hint}"
    elif source.kind in ("json", "jsonl"):
        hint += "; if its objects are turns, --keys id=KEY,turn=KEY,gold=KEY,pred=KEY says which key holds what"
    return f"no known format: {_describe(source)}", hint


def _describe(source: Source) -> str:
    """What a file looks like, in a few words."""
    if source.kind == "jsonl":
        first = next(source.json_lines())[1]
        return f"JSON Lines whose objects have the keys {', '.join(list(first)[:6])}"
    binary = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PA": "Parquet"}
    if form := binary.get(source.raw[:2]):
        return f"it looks like {form}, where UTF-8 text is expected"
    if source.kind != "json":
        return f"it starts with {source.raw.lstrip()[:40].decode(errors='replace')!r}"
    document, what = source.json, "object"
    if isinstance(document, list):
        document, what = document[0] if document else None, "list of objects"
        if not isinstance(document, dict):
            return f"a JSON list that begins with {named(document)}" if source.json else "an empty JSON list"
    inner = next(iter(document.values()), None)
    if what == "object" and isinstance(inner, dict):
        document, what = inner, "object of objects"
    elif not document:
        return f"an empty JSON {what}"
    return f"a JSON {what} with the keys {', '.join(list(document)[:6]) or 'none'}"
