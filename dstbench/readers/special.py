"""Formats that a row alone cannot say: TSV, LDST's lines, dstbench's own JSON Lines, and TripPy's.

Conventions: STAR (Ye et al. 2021) and SUMBT (Lee et al. 2019) have gold as TSV: one line per turn, cumulative, one
column per tracked slot after the text columns. As every slot has a column, ``none`` says that a slot is not in the
state; ``do not care`` is kept as written. No quoting. Lines that start with ``#`` are comments. SUMBT's copy of WOZ 2.0
(Wen et al. 2017) has no header line, and its slots have no domain.

LDST (Feng et al. 2023) has a line per turn and slot, which names a dialogue by its id, or by its file and its place in
it; then gold must be the dataset that has this file. States are cumulative. ``NONE``, ``not mentioned`` and an empty
list say that a slot is not in the state. Several values are joined by ``|``.

dstbench's own lines have ``dialogue_id``, ``turn`` (user turns from 0), and cumulative states ``gold`` and ``pred``,
``{"hotel-area": "north"}``; slots that are not in the state are left out. A line may lack ``gold`` (then ``--gold``
gives it) or ``pred`` (then the turn has no prediction). ``system`` is what was said before the user's turn, ``user``
what the user says. A JSON list of such objects is read, too; files with other keys or values are read as `records`.

TripPy's ``pred_res.<split>.<step>.json`` and its forks' (Heck et al. 2020) are one JSON list of turns in order, with
the running prediction and the cumulative gold of every slot, and nine further keys that are not decoded, so that large
files need little memory. ``none`` says that a slot is not in the state; ``dontcare``, ``true`` and ``false`` are kept.
A slot without a domain gets the domain of its dataset: ``restaurant`` in WOZ 2.0 and sim-R, ``movie`` in sim-M.

Predicted values are turned from tokens into text: ``§§``, which marks a value that the system informed, is removed;
``09 : 45`` becomes ``09:45``; pieces with ``Ġ`` are joined there. Nothing else is undone (``rosa ' s`` stays). A slot
predicted as ``§§none`` keeps its value of the turn before, as in the authors' scoring. The authors also match values in
a way that depends on gold, which gives higher numbers; this is not imitated.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final

import polars as pl

from dstbench.conventions.slots import domain_of
from dstbench.errors import number_of
from dstbench.readers import records
from dstbench.readers.format import Format, Pairs, Source, States, StatesBuilder
from dstbench.readers.records import CUT_OFF
from dstbench.readers.rows import Document, LinesDocument, Row
from dstbench.readers.states import error_in
from dstbench.schema.core import BETWEEN

OMITTED: Final = "none"
DIALOGUE, TURN, SYSTEM, USER = "# Dialogue ID", "Turn Index", "System Response", "User Utterance"
# Keys of the columns that are no slots, in lines as objects.
_KEYS: Final = {DIALOGUE: "dialogue", TURN: "turn", SYSTEM: "system", USER: "user", "Last Turn": "last"}


@dataclass(frozen=True)
class _Table:
    """The columns of a format."""

    texts: tuple[str, ...]  # the first ones, before those of slots
    slots: tuple[str, ...] = ()  # if files have no header that names them: of one domain, which files do not name

    def sniff(self, source: Source) -> bool:
        first = source.raw.lstrip().partition(b"\n")[0].decode(errors="replace").rstrip("\r")
        if not self.slots:
            return source.kind == "tsv" and first.startswith("\t".join(self.texts))
        fields = first.removesuffix("\t").split("\t")
        return source.kind == "text" and len(fields) == len(self.texts + self.slots) and fields[1].isdecimal()

    def read_table(self, source: Source) -> tuple[pl.DataFrame, list[str]]:
        """The lines, as a column of strings per column, and the names of those that are slots."""
        columns, body = [*self.texts, *self.slots, ""], source.text
        if not self.slots:
            header, _, body = body.lstrip().partition("\n")
            columns = header.rstrip("\r").split("\t")
        slots = [name for name in columns if "-" in name]
        if not self.slots:
            self._check_header(source, columns, slots)
        width, line, fields = columns.index(slots[-1]) + 1, pl.col("line"), pl.col("line").str.split("\t")
        lines = pl.DataFrame({"line": body.split("\n")}).with_columns(line.str.strip_chars_end("\r"))
        lines = lines.with_row_index("number", offset=1 + (not self.slots))
        lines = lines.filter(line != "", ~line.str.starts_with("#"))
        if lines.is_empty():
            raise source.error("no dialogue in the file")
        are_whole = fields.list.len().is_between(width, len(columns)) & (fields.list.slice(width).list.join("") == "")
        if (broken := lines.filter(~are_whole).head(1)).height:
            number, size = broken.select("number", fields.list.len()).row(0)
            raise source.error(f"line {number} has {size} fields, where {width} have a name", CUT_OFF)
        cells = line.str.split_exact("\t", width - 1).struct.rename_fields(columns[:width])
        return lines.select(cells).unnest("line"), slots

    def _check_header(self, source: Source, columns: list[str], slots: list[str]) -> None:
        names = [*filter(None, columns)]
        if source.kind != "tsv":
            raise source.misshapen(f"no header line that starts with `{DIALOGUE}`")
        if not slots or not {*self.texts} <= {*names} or len({*names}) < len(names):
            raise source.misshapen(f"the header lacks slots or one of {', '.join(self.texts)}, or names a column twice")
        every = dict.fromkeys(columns[: columns.index(slots[-1])] + names)
        if others := [name or "one without a name" for name in every if name not in (*slots, *self.texts)]:
            raise source.misshapen(f"the header has columns that are not slots: {', '.join(others)}")

    def read(self, source: Source, states: StatesBuilder) -> None:
        lines, slots = self.read_table(source)
        if self.slots:
            states.domains = dict.fromkeys(lines[DIALOGUE], domain_of(slots[0]))
        cells = lines.with_row_index("at").unpivot(slots, index="at", variable_name="slot")
        states.lines(lines[DIALOGUE], lines[TURN], cells.filter(pl.col("value") != OMITTED))

    def decode(self, source: Source) -> list[dict[str, str]]:
        """The lines as objects."""
        lines, _ = self.read_table(source)
        return lines.rename(_KEYS, strict=False).to_dicts()

    def format(self, name: str, title: str, example: str) -> Format:
        row = Row(
            name=name, title=title, example=example, path="[dialogue=dialogue,turn=turn:any]", gold=":columns",
            absent=OMITTED, said=("system", "user"), decode=self.decode, document=TsvDocument,
        )  # fmt: skip
        return replace(row.format(), sniff=self.sniff, reader=self.read)


class TsvDocument(LinesDocument):
    """Lines of fields, which may be below a header; a new slot is a new column, behind the others."""

    def __init__(self, source: Source, row: Row) -> None:
        super().__init__(source, row)
        self._columns = [*self.items[0]]
        self._new: list[str] = []

    def is_item(self, line: bytes) -> bool:
        return bool(line.strip()) and not line.startswith(b"#")

    def written(self, line: bytes, item: Any) -> bytes:
        width, fields = len(self._columns), [item.get(name, OMITTED) for name in (*self._columns, *self._new)]
        for text in fields:
            if re.search(r"[\t\r\n]", text):
                raise self.source.error(f"{text!r} has a tab or a line break, which these files cannot hold")
        return b"\t".join([*map(str.encode, fields), *line.split(b"\t")[width:]])

    def dump(self) -> bytes:
        self._new = [*dict.fromkeys(name for item in self.items for name in item if name not in self._columns)]
        lines = super().dump()
        if not self._new:
            return lines
        if not lines.lstrip().startswith(b"#"):
            raise self.source.error("no column for this slot, and no header to add one to", slot=self._new[0])
        head, end, body = lines.partition(b"\n")
        text = head.rstrip(b"\r")
        names = dict(zip(self._columns, text.decode().split("\t"), strict=False)) | {name: name for name in self._new}
        return self.written(text, names) + head[len(text) :] + end + body


_STAR: Final = (DIALOGUE, TURN, "Last Turn", SYSTEM, USER)
_SUMBT: Final = (DIALOGUE, TURN, USER, SYSTEM)
FORMATS: Final = (
    _Table(_STAR).format(
        "star-tsv",
        "STAR's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥Last Turn⇥System Response⇥User Utterance⇥attraction-area⇥…",
    ),
    _Table(_SUMBT).format(
        "sumbt-tsv",
        "SUMBT's preprocessed MultiWOZ, gold",
        "# Dialogue ID⇥Turn Index⇥User Utterance⇥System Response⇥attraction-area⇥…",
    ),
    _Table(_SUMBT, ("restaurant-area", "restaurant-food", "restaurant-pricerange")).format(
        "woz-tsv", "SUMBT's copy of WOZ 2.0, gold", "9901⇥0⇥cheap food⇥⇥none⇥none⇥cheap"
    ),
)


# --- LDST -------------------------------------------------------------------------------------------------------------

#: The separator of a line's parts, and their number.
_BAR, _PARTS = "|||", 7


@lru_cache(maxsize=65_536)
def literal(text: str) -> tuple[str, ...] | None:
    """The strings of a list that Python printed; None: the text is not such a list. Nothing is ever evaluated."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return tuple(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


def _read_bars(source: Source, states: StatesBuilder) -> None:
    if source.kind != "text":
        raise source.misshapen(f"no lines with {_BAR}")
    turns: dict[tuple[str, str, int], Pairs] = {}
    for number, text in enumerate(source.text.split("\n"), start=1):
        parts = text.strip().split(_BAR, _PARTS - 1)
        if parts == [""]:
            continue
        if len(parts) != _PARTS:
            raise source.misshapen(f"line {number} has {len(parts)} parts between {_BAR}")
        file, dialogue, turn, _, domain, slot, value = parts
        where = {"dialogue": dialogue, "turn": turn[:20]}
        values = literal(value.strip())
        if values is None:
            raise source.misshapen(f"line {number}: the value {value[:40]!r} is not a list of strings", **where)
        if not (turn.isdecimal() and len(turn) < 10):
            raise source.misshapen(f"line {number}: the turn is not a number", **where)
        at = (file, dialogue, int(turn) // 2)  # both speakers' turns are counted
        turns.setdefault(at, []).append((f"{domain}-{slot}", BETWEEN.join(values)))
    are_places = all(dialogue.isdecimal() for _, dialogue, _ in turns)
    for (file, dialogue, turn_number), pairs in turns.items():
        name = f"{file}{_BAR}{dialogue}" if are_places else dialogue
        states.pred.cells(states.turn(name, turn_number), pairs)


def _by_place(lines: States, gold: States) -> States:
    """The states with the ids of the dialogues at the places in a dataset that the lines name."""
    if gold.places is None or lines.pred is None:
        what = f"it names dialogues by their place in a dataset's files, and {gold.source} is no such dataset"
        raise error_in(lines, what, "give the dataset itself as --gold: the folder with dialogues_001.json …")
    twice = gold.places.filter(pl.struct("file", "position").is_duplicated())
    if twice.height:
        what = f"it names dialogues by their place in a file, and {gold.source} has several files {twice['file'][0]}"
        raise error_in(lines, what, "choose the split: --split test, or the folder of that split as --gold")
    place = pl.col("dialogue").str.split_exact(_BAR, 1).struct
    file = place.field("field_0").str.split("/").list.last().alias("file")
    position = place.field("field_1").cast(pl.UInt32, strict=False).alias("position")
    turns = lines.pred.turns.select("turn", file, position)
    turns = turns.join(gold.places, on=["file", "position"], how="left", maintain_order="left")
    unknown = turns.filter(pl.col("dialogue").is_null())
    if unknown.height:
        name, at = unknown.select("file", "position").row(0)
        raise error_in(
            lines, f"{gold.source} has no dialogue at place {at} of {name}", "is it the same dataset and split?"
        )
    return replace(lines, pred=replace(lines.pred, turns=turns.select("dialogue", "turn")), complete=None)


LDST: Final = Format(
    name="ldst",
    title="LDST (test_LLM_result.txt); needs the dataset as --gold",
    holds=("pred",),
    example="dialogues_001.json|||0|||0|||4|||hotel|||area|||['north']",
    sniff=lambda source: (
        source.kind == "text" and source.raw.lstrip().partition(b"\n")[0].count(_BAR.encode()) >= _PARTS - 1
    ),
    reader=_read_bars,
    omits=("", "NONE", "not mentioned"),
    finish=lambda lines: (
        replace(lines, pred=None, complete=partial(_by_place, lines))
        if lines.pred is not None and lines.pred.turns["dialogue"].str.contains(_BAR, literal=True).all()
        else lines
    ),
)


# --- dstbench's own ---------------------------------------------------------------------------------------------------


def _sniff_own(source: Source) -> bool:
    if source.kind == "jsonl":
        return source.first_line("dialogue_id") is not None
    items = source.sample if source.kind == "json" and isinstance(source.sample, list) else []
    return any({"dialogue_id", "turn"} <= item.keys() for item in items if isinstance(item, dict))


def _read_own(source: Source, states: StatesBuilder) -> None:
    if source.kind not in ("json", "jsonl"):
        raise source.misshapen("not JSON Lines")
    records.FORMAT.reader(source, states)


_ROW: Final = Row(
    name="jsonl",
    title="dstbench's own: one JSON object per line and turn",
    example='{"dialogue_id": "MUL9901", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}',
    path="[dialogue=dialogue_id,turn=turn]", gold="gold?:flat", pred="pred?:flat", said=("system", "user"),
    decode=lambda source: source.json if source.kind == "json" else [item for _, item in source.json_lines()],
    document=lambda source, row: (Document if source.kind == "json" else LinesDocument)(source, row),
)  # fmt: skip
JSONL: Final[Format] = replace(
    _ROW.format(), sniff=_sniff_own, reader=_read_own, said=records.FORMAT.said,
    finish=records.FORMAT.finish, free_keys=True,
)  # fmt: skip


# --- TripPy -----------------------------------------------------------------------------------------------------------


_PRED, _GOLD = "slot_prediction_", "slot_groundtruth_"
_INFORMED: Final = "§§"
_KEPT: Final = f"{_INFORMED}none"
_LIST: Final = re.compile(rb"\s*\[\s*\{")
#: Slots without a domain that show the dataset, and the domain of that dataset.
_TELLING: Final = {"food": "restaurant-", "restaurant_name": "restaurant-", "movie": "movie-"}


@lru_cache(maxsize=65_536)
def detokenised(value: str) -> str:
    """A predicted value as text."""
    value = value.removeprefix(_INFORMED)
    if "Ġ" in value:
        value = value.replace(" ", "").replace("Ġ", " ").strip(" ")
    return re.sub(r"(?<=[0-9]) : (?=[0-9])", ":", value)


def _sniff_trippy(source: Source) -> bool:
    """Whether the first turn has a list as ``guid``, and predicted slots; the rest of the file is not decoded."""
    if not _LIST.match(source.raw[:1024]):
        return False
    _, turn = next(source.items("guid", _PRED))
    return isinstance(turn.pop("guid", None), list) and len(turn) > 0


def _read_trippy(source: Source, states: StatesBuilder) -> None:
    last, before = "", dict[str, str]()
    tokens = kept = 0
    for place, item in source.items("guid", _PRED, _GOLD):
        if "guid" not in item:
            raise source.misshapen(f"{place}no guid here")
        guid = source.convert(item.pop("guid"), list[str], place=place)
        if len(guid) < 3 or not guid[-1].isdecimal():
            raise source.misshapen(f"{place}the guid {guid} is not of the form [split, dialogue, turn]")
        dialogue, turn = "-".join(guid[1:-1]), guid[-1]
        cells = source.convert(item, dict[str, str], "slot", place=place, dialogue=dialogue, turn=turn)
        pred, gold = (
            {key.removeprefix(start): value for key, value in cells.items() if key.startswith(start)}
            for start in (_PRED, _GOLD)
        )
        if not pred or pred.keys() != gold.keys():
            odd = min(pred.keys() ^ gold.keys(), default="any slot")
            raise source.misshapen(f"{place}not both {_PRED}… and {_GOLD}… of {odd}", dialogue=dialogue, turn=turn)
        if dialogue != last:
            last, before = dialogue, {}
        state = {slot: detokenised(value) for slot, value in pred.items() if value != _KEPT}
        kept += len(pred) - len(state)
        tokens += sum(value != pred[slot] for slot, value in state.items())
        before = {slot: state.get(slot, before.get(slot, OMITTED)) for slot in pred}
        domain = next((_TELLING[slot] for slot in pred if slot in _TELLING), "")
        at = states.turn(dialogue, turn)
        for side, of_side in ((states.pred, before), (states.gold, gold)):
            side.flat(at, {domain + slot: value for slot, value in of_side.items() if value != OMITTED})
    if tokens:
        states.note(
            f"{number_of(tokens, 'predicted value')} had marks of tokens ({_INFORMED}, Ġ, spaces around :), now removed"
        )
    if kept:
        states.note(
            f"{number_of(kept, 'predicted value')} written {_KEPT}: the value of the turn before is kept instead"
        )


TRIPPY: Final = Format(
    name="trippy",
    title="TripPy and forks (pred_res.<split>.<step>.json)",
    example=(
        '[{"guid": ["test", "MUL9901.json", "0"], "slot_prediction_hotel-area": "north", '
        '"slot_groundtruth_hotel-area": "north"}]'
    ),
    sniff=_sniff_trippy,
    reader=_read_trippy,
)
