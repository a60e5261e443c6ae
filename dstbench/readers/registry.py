"""The registry of formats: `find_format` recognises a file's format by its content, and `read` reads the file."""

from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import Any, Final

from dstbench.errors import DstbenchError, UsageError, did_you_mean
from dstbench.plugins import Plugins, Table, origin_of
from dstbench.readers import lines, records, trippy
from dstbench.readers.folder import data_files
from dstbench.readers.format import Format, Source, States, checked_format
from dstbench.readers.options import Keys
from dstbench.readers.record_keys import KeysError, present
from dstbench.readers.rows import Row, row_of
from dstbench.readers.shapes import in_words
from dstbench.readers.states import in_split, merge_states, noting_doubts, only_split
from dstbench.readers.table import ROWS
from dstbench.typing import Unreadable

#: The native formats, by the name that ``--from`` takes. Sniffing asks them in this order.
FORMATS: Final[dict[str, Format]] = {
    form.name: form
    for form in (
        trippy.FORMAT,  # first, as it looks no further than the first turn
        lines.JSONL,
        lines.LDST,
        *lines.FORMATS,
        *(row.format() for row in ROWS.values()),
        # last, as they take any keys
        records.CSV,
        records.FORMAT,
        records.STATE_LISTS,
    )
}


def _is_foreign(item: object) -> bool:
    return isinstance(item, (Row, Table)) or (isinstance(item, Format) and item is not FORMATS.get(item.name))


def _checked(item: Any, origin: str) -> Format:
    """The format that a module has, or that its row, or a table in a file, declares."""
    if isinstance(item, Table):
        item = row_of(item)
    return checked_format(item.format() if isinstance(item, Row) else item, origin)


#: The formats that are not built in. Sniffing asks them last.
PLUGINS: Final = Plugins(
    "format",
    FORMATS,
    is_one=_is_foreign,
    name_of=lambda item: item.get("name") if isinstance(item, Table) else item.name,
    checked=_checked,
)


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


def _find(name: str) -> Format | None:
    """The format of this name, as the user or a long table (NAME@ORIGIN) has it."""
    name = name.partition("@")[0]
    return FORMATS.get(name) or PLUGINS.find(name)


def named_format(name: str) -> Format:
    """The format of this name."""
    if (form := _find(name)) is not None:
        return form
    names = [*FORMATS, *PLUGINS.names()]
    raise UsageError(f"there is no format {name!r}", hint=did_you_mean(name, names) or f"one of {', '.join(names)}")


def has_utterances(name: str) -> bool:
    """Whether the format of this name is one that holds utterances, and can be used here."""
    try:
        form = _find(name)
    except DstbenchError:
        return False
    return form is not None and form.said is not None


# --- sniffing ---------------------------------------------------------------------------------------------------------


def find_format(source: Source, name: str | Format | None = None) -> Format:
    """The format called `name` (or this format itself); without one, the format that the file's content shows."""
    if isinstance(name, Format):
        return name if name is FORMATS.get(name.name) else checked_format(name, origin_of(name.reader))
    if name is not None:
        wanted = named_format(name)
        if not source.is_folder and source.around:
            _sniffed(source, [wanted])
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
    exact, loose = ([form for form in forms if form.loose == is_loose] for is_loose in (False, True))
    return (
        next((form for form in exact if form.sniff(source)), None)
        or next((form for _, form, _ in PLUGINS.usable() if form.sniff(source)), None)
        or _sniffed_inside(source, exact)
        or _sniffed(source, loose)
    )


def _sniffed(source: Source, forms: Sequence[Format]) -> Format | None:
    """Which of these formats the content has, or else a part of a wrapper, which the source then becomes."""
    return next((form for form in forms if form.sniff(source)), None) or _sniffed_inside(source, forms)


def _sniffed_inside(source: Source, forms: Sequence[Format]) -> Format | None:
    """Which of these formats a part of a wrapper has; the source becomes that part. None: no part has any of them."""
    fixed = [form for form in forms if not form.free_keys]
    parts = [(part, form) for part in source.parts() if (form := _sniffed(part, fixed)) is not None]
    if len(parts) > 1:
        keys = ", ".join(part.inside[-1] for part, _ in parts)
        raise source.error(f"data of format {parts[0][1]} under several keys: {keys}", "write each to its own file")
    for part, form in parts:
        source.become(part)
        return form
    return None


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
        yield from data_files(source, lambda file: wanted if _sniffed(file, [wanted]) else None, split)


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


def _unknown(source: Source) -> tuple[str, str]:
    """What is wrong with a file of no known format, and what to do."""
    if source.kind == "json" and isinstance(source.json, dict) and source.json.keys() >= {"class_types", "slots"}:
        what = "TripPy's configuration, not its predictions"
        return what, "score pred_res.*.json; this file is what --label-map takes"
    hint = "`dstbench ls formats` shows each with an example; --from FORMAT says which it is"
    if (line := records.line_that_works(source)) is not None:
        hint = f"{line} may be what it needs; {hint}"
    elif source.kind in ("json", "jsonl"):
        hint += "; if its objects are turns, --keys id=KEY,turn=KEY,gold=KEY,pred=KEY says which key holds what"
    return f"no known format: {_describe(source)}", hint


def _describe(source: Source) -> str:
    """What a file looks like, in a few words."""
    binary = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PA": "Parquet"}
    if form := binary.get(source.raw[:2]):
        return f"it looks like {form}, where UTF-8 text is expected"
    if source.kind not in ("json", "jsonl"):
        return f"it starts with {source.raw.lstrip()[:40].decode(errors='replace')!r}"
    what, document = "JSON Lines whose objects have", next(source.whole_lines())[1]
    if source.kind == "json":
        what = "a JSON list of objects with" if isinstance(document, list) else "a JSON object with"
        if isinstance(document, list):
            document = document[0] if document else []
        elif isinstance(inner := next(iter(document.values()), None), dict) and inner:
            what, document = "a JSON object of objects with", inner
    if not document:
        return f"an empty JSON {'object' if document == {} else 'list'}"
    if not isinstance(document, dict):
        return f"a JSON list that begins with {in_words(document)}"
    return f"{what} the keys {', '.join([*document][:6])}"


# --- reading ----------------------------------------------------------------------------------------------------------


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
    source.keys, source.unreadable = keys or source.keys, unreadable
    parts = []
    for file, form in find_files(source, format, split):
        states = form.read(file)
        file.forget()
        if states.splits is None and file.split is not None:
            states = in_split(states, file.split)
        parts.append(states)
    whole = merge_states(parts, source.name)
    return noting_doubts(whole if split is None else only_split(whole, split))
