"""The registry of formats: `find_format` recognises a file's format by its content, and `read` reads the file.

Decoded JSON in memory is read as the file that it is from would be, except lists of records, which
`records.from_memory` reads. A list may also be of the objects of JSON Lines. Lists of states, one list per dialogue,
are dialogues named by their place, ``0``, ``1``, …: gold and predictions are then two parallel lists.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Final

import msgspec

from dstbench.errors import DstbenchError, UsageError, did_you_mean, number_of
from dstbench.plugins import Plugins, Table, origin_of
from dstbench.readers import records, special
from dstbench.readers.folder import data_files
from dstbench.readers.format import Format, Source, States, checked_format
from dstbench.readers.key_names import DIALOGUE
from dstbench.readers.options import AS_USUAL, Keys, ReadOptions
from dstbench.readers.records import KeysError, flag_in, present
from dstbench.readers.rows import Row, row_of
from dstbench.readers.source import dialogue_in, in_words, is_multiwoz
from dstbench.readers.states import in_split, merge_states, noting_doubts, only_split
from dstbench.readers.table import ROWS
from dstbench.typing import Unreadable

#: The native formats, by the name that ``--from`` takes. Sniffing asks them in this order.
FORMATS: Final[dict[str, Format]] = {
    form.name: form
    for form in (
        special.TRIPPY,  # first, as it looks no further than the first turn
        special.JSONL,
        special.LDST,
        *special.FORMATS,
        *(row.format() for row in ROWS.values()),
        # last, as they take any keys
        records.CSV,
        records.FORMAT,
        records.STATE_LISTS,
    )
}
# Objects of a list in memory that are looked at.
_SAMPLE: Final = 200
_NOT_JSON: Final = (TypeError, UnicodeEncodeError, OverflowError, RecursionError)
# Texts that are paths, and not, for example, the name of a model.
_ENDINGS: Final = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".txt", ".gz", ".zip")


def _checked(item: Any, origin: str) -> Format:
    """The format that a module has, or that its row, or a table in a file, declares."""
    if isinstance(item, Table):
        item = row_of(item)
    return checked_format(item.format() if isinstance(item, Row) else item, origin)


#: The formats that are not built in. Sniffing asks them last.
PLUGINS: Final = Plugins(
    "format",
    FORMATS,
    is_one=lambda item: (
        isinstance(item, (Row, Table)) or (isinstance(item, Format) and item is not FORMATS.get(item.name))
    ),
    name_of=lambda item: item.get("name") if isinstance(item, Table) else item.name,
    checked=_checked,
)
#: Names of the formats that can be written again.
WRITABLE: Final = tuple(form.name for form in FORMATS.values() if form.document is not None)
#: Names of the formats that hold utterances.
WITH_UTTERANCES: Final = tuple(form.name for form in FORMATS.values() if form.said is not None)


def check_declared() -> None:
    """Raise a `UsageError` for a table of a file of the user's that declares no format."""
    for name, item in PLUGINS.of_modules():
        if isinstance(item, Table):
            try:
                PLUGINS.find(name)
            except DstbenchError as error:
                raise UsageError(error.what, hint=error.hint) from None


def named_format(name: str) -> Format:
    """The format of this name, as the user or a long table (NAME@ORIGIN) has it."""
    own = name.partition("@")[0]
    if (form := FORMATS.get(own) or PLUGINS.find(own)) is not None:
        return form
    names = [*FORMATS, *PLUGINS.names()]
    raise UsageError(f"there is no format {name!r}", hint=did_you_mean(name, names) or f"one of {', '.join(names)}")


def has_utterances(name: str) -> bool:
    """Whether the format of this name is one that holds utterances, and can be used here."""
    try:
        return named_format(name).said is not None
    except DstbenchError:
        return False


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
    raise _unknown(source)


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
        source.__dict__ = part.__dict__
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
    wanted = None if name is None else find_format(source, name)
    sniff_file = sniff if wanted is None else lambda file: wanted if _sniffed(file, [wanted]) else None
    yield from data_files(source, sniff_file, split)


def _unknown(source: Source) -> DstbenchError:
    """The error about a file of no known format: which keys it has, or lacks, and what to do."""
    names, keys = records.keys_in(source), source.keys
    if keys is not None and not keys.optional:
        if keys.turns is not None and keys.turns not in names:
            what = f"no object has the key {keys.turns!r} (keys: turns={keys.turns})"
            return source.error(what, did_you_mean(keys.turns, names))
        try:
            present(names, keys if names else Keys())
        except KeysError as error:
            return source.error(error.what, error.hint)
    if source.kind == "json" and isinstance(source.json, dict) and source.json.keys() >= {"class_types", "slots"}:
        what = "TripPy's configuration, not its predictions"
        return source.error(what, "score pred_res.*.json; this file is what --label-map takes")
    hint = "`dstbench ls formats` shows each with an example; --from FORMAT says which it is"
    if (line := records.line_that_works(source)) is not None:
        hint = f"{line}; {hint}"
    elif source.kind in ("json", "jsonl"):
        hint += "; if its objects are turns, --keys id=KEY,turn=KEY,gold=KEY,pred=KEY says which key holds what"
    return source.error(f"no known format: {_describe(source)}", hint)


def _describe(source: Source) -> str:
    """What a file looks like, in a few words."""
    binary = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PA": "Parquet"}
    if form := binary.get(source.raw[:2]):
        return f"it looks like {form}, where UTF-8 text is expected"
    if source.kind not in ("json", "jsonl"):
        return f"it starts with {source.raw.lstrip()[:40].decode(errors='replace')!r}"
    what, document = "JSON Lines whose objects have", next(source.whole_lines())[1]
    if source.kind == "json" and isinstance(document, list):
        what, document = "a JSON list of objects with", document[0] if document else []
    elif source.kind == "json":
        inner = next(iter(document.values()), None)
        are_nested = isinstance(inner, dict) and inner
        what, document = ("a JSON object of objects with", inner) if are_nested else ("a JSON object with", document)
    if not document:
        return f"an empty JSON {'object' if document == {} else 'list'}"
    if not isinstance(document, dict):
        return f"a JSON list that begins with {in_words(document)}"
    return f"{what} the key{'s' * (len(document) > 1)} {', '.join([*document][:6])}"


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


# --- in memory --------------------------------------------------------------------------------------------------------


class _Decoded(Source):
    """Decoded JSON, or JSON Lines, under a name that is no path."""

    is_folder = False

    def __init__(
        self, name: str, data: Any = None, options: ReadOptions = AS_USUAL, between: bytes | None = None
    ) -> None:
        super().__init__(name)
        encode = msgspec.json.encode
        self.raw = encode(data) if between is None else between.join(map(encode, data))
        self.keys, self.unreadable = options.keys, options.unreadable

    def sibling(self, *names: str) -> None:
        return None

    def form(self, name: str | Format | None) -> Format | None:
        """Its format; None: it is of no known one, or not of the one that the user names."""
        form = sniff(self) if name is None else find_format(self, name)
        return form if name is None or (form is not None and form.sniff(self)) else None


def is_document(data: Mapping[Any, Any], options: ReadOptions) -> bool:
    """Whether a mapping is one document, rather than data by the name of their run."""
    if all(_is_run(str(name), item) for name, item in data.items()):
        return False
    try:
        return _Decoded("states", data, options).form(options.format) is not None
    except (*_NOT_JSON, DstbenchError):  # or several parts of it are data
        return False


def read_document(data: Any, name: str, options: ReadOptions) -> States | None:
    """The states of a document; None: it is a list of records, or of objects that JSON does not have."""
    try:
        if records.are_lists(data):
            data = {str(number): states for number, states in enumerate(data)}
            return records.STATE_LISTS.read(_Decoded(name, data, options))
        if isinstance(data, Mapping):
            source = _Decoded(name, data, options)
            return noting_doubts(find_format(source, options.format).read(source))
        for between in (None, b"\n"):
            form = _Decoded(name, data[:_SAMPLE], options, between).form(options.format)
            if form is not None and form not in (special.JSONL, records.CSV, records.FORMAT):
                return noting_doubts(form.read(_Decoded(name, data, options, between)))
    except _NOT_JSON:
        pass
    return None


def check_parallel(predicted: Any, gold: Any) -> None:
    """Raise a `UsageError` if there are more predictions than gold, or other dialogues, in two parallel lists."""
    if not (records.are_lists(predicted) and records.are_lists(gold)):
        return
    if len(predicted) != len(gold):
        what = f"predicted states of {number_of(len(predicted), 'dialogue')}, and gold states of {len(gold):,}"
        raise UsageError(what, hint="parallel lists have the same dialogues, in the same order")
    for number, (of_pred, of_gold) in enumerate(zip(predicted, gold, strict=True)):
        if len(of_pred) > len(of_gold):
            what = f"{number_of(len(of_pred), 'predicted state')}, and {len(of_gold):,} of gold"
            hint = "parallel lists have the same turns, in the same order"
            raise DstbenchError(what, dialogue=str(number), hint=hint)


def _is_run(name: str, item: Any) -> bool:
    """Whether an item of a mapping is a run: a path or a frame, or a list that names dialogues other than `name`."""
    if isinstance(item, str):
        return os.path.exists(item) or item.lower().endswith(_ENDINGS)
    if not isinstance(item, (list, tuple)):
        return not isinstance(item, (Mapping, int, float, type(None)))
    dialogue = dialogue_in([*item], DIALOGUE)
    return dialogue is not None and _bare(name) != _bare(dialogue)


def _bare(name: str) -> str:
    bare = flag[0] if (flag := flag_in(name)) else name
    return bare.upper().removesuffix(".JSON") if is_multiwoz(bare) else bare
