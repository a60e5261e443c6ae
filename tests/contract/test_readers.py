"""Readers: one invented corpus, written in every format, is read back value for value, and so is what is said in it.

`TABLE` is what every file holds and what must come back, written out by hand; `tests/formats.py` writes the files. A
format that cannot hold something has a line in `SPELLED_AS_ABSENT` or `WITHOUT`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl
import pytest

import dstbench
from tests import formats
from tests.contract import recorded
from tests.contract.commands import run
from tests.formats import Turns

Row: TypeAlias = tuple[str, int, str | None, str | None, str | None]

#: Dialogue, turn, slot, gold, prediction; `.` is a slot that is not in the state, or a state without slots.
TABLE: Final = """
MUL0012  ; 0 ; hotel-area            ; north             ; north
MUL0012  ; 0 ; hotel-pricerange      ; Cheap             ; cheap
MUL0012  ; 0 ; hotel-type            ; guest house       ; hotel
MUL0012  ; 0 ; hotel-internet        ; yes               ; .
MUL0012  ; 1 ; hotel-area            ; north|east        ; east
MUL0012  ; 1 ; hotel-pricerange      ; Cheap             ; Cheap
MUL0012  ; 1 ; hotel-type            ; guest house       ; .
MUL0012  ; 1 ; hotel-internet        ; yes               ; no
MUL0012  ; 1 ; hotel-parking         ; dontcare          ; do not care
MUL0012  ; 1 ; hotel-stars           ; 4                 ; 4
MUL0012  ; 1 ; hotel-name            ; Alpha-Milton Inn  ; alpha milton inn
MUL0012  ; 2 ; hotel-area            ; dont care         ; dontcare
MUL0012  ; 2 ; hotel-parking         ; do not care       ; don't care
MUL0012  ; 2 ; hotel-stars           ; .                 ; 3
MUL0012  ; 2 ; hotel-name            ; Alpha-Milton Inn  ; Alpha-Milton Inn|the alpha
MUL0012  ; 2 ; hotel-book day        ; tuesday           ; thursday
MUL0012  ; 2 ; hotel-book people     ; 2                 ; 3
MUL0012  ; 2 ; hotel-book stay       ; 5                 ; 2
MUL0012  ; 2 ; train-book ticket     ; 1                 ; .
PMUL0203 ; 0 ; restaurant-area       ; centre            ; .
PMUL0203 ; 0 ; restaurant-food       ; none              ; british
PMUL0203 ; 0 ; restaurant-pricerange ; moderate          ; none
PMUL0203 ; 1 ; restaurant-area       ; centre            ; centre
PMUL0203 ; 1 ; restaurant-food       ; modern european   ; not mentioned
PMUL0203 ; 1 ; restaurant-name       ; saint john's cafe ; café jello
PMUL0203 ; 1 ; restaurant-book day   ; friday            ; .
PMUL0203 ; 1 ; restaurant-book people ; 7                ; 6
PMUL0203 ; 1 ; restaurant-book time  ; 18:45             ; 18:15
PMUL0203 ; 2 ; restaurant-book time  ; 19:45             ; .
PMUL0203 ; 2 ; taxi-leaveat          ; 21:30             ; .
PMUL0203 ; 3 ; taxi-leaveat          ; 21:30             ; 21:45
PMUL0203 ; 3 ; taxi-arriveby         ; .                 ; 22:00
PMUL0203 ; 3 ; taxi-departure        ; The Ugly Duckling ; the ugly duckling
PMUL0203 ; 3 ; taxi-destination      ; wagamama          ; finches b and b
PMUL0203 ; 3 ; attraction-area       ; west              ; west
PMUL0203 ; 3 ; attraction-name       ; nusha             ; .
PMUL0203 ; 3 ; attraction-type       ; .                 ; museum
SNG0451  ; 0 ; .                     ; .                 ; .
SNG0451  ; 1 ; train-day             ; monday            ; sunday
SNG0451  ; 1 ; train-departure       ; ely               ; cambridge
SNG0451  ; 1 ; train-destination     ; cambridge         ; ely
SNG0451  ; 1 ; train-arriveby        ; 09:15             ; .
SNG0451  ; 1 ; train-leaveat         ; .                 ; 9:15
SNG0451  ; 1 ; train-book people     ; 8                 ; 8
SNG0451  ; 1 ; bus-day               ; wednesday         ; wednesday
SNG0451  ; 1 ; bus-departure         ; bishops stortford ; .
SNG0451  ; 1 ; bus-destination       ; .                 ; norwich
SNG0451  ; 1 ; bus-leaveat           ; 05:45             ; 05:35
SNG0451  ; 1 ; bus-arriveby          ; 06:15             ; .
SNG0451  ; 1 ; bus-book people       ; 4                 ; 1
SNG0451  ; 1 ; hospital-department   ; Children's Surgery ; surgery
SNG0451  ; 1 ; police-name           ; parkside station  ; parkside
SNG0451  ; 2 ; .                     ; .                 ; .
"""
#: What is said: dialogue, turn, the system before, the user.
UTTERANCES: Final = """
MUL0012  ; 0 ; .                           ; A place in the North , please .
MUL0012  ; 1 ; Any "stars" ?               ; Four ! And <no> parking ...
MUL0012  ; 2 ; Alpha-Milton is free        ; book it
PMUL0203 ; 0 ; .                           ; I'm hungry
PMUL0203 ; 1 ; What food ?                 ; modern European , at 18:45
PMUL0203 ; 2 ; That is full .              ; an hour later
PMUL0203 ; 3 ; Booked . Reference is 0X7Q  ; and a taxi - to wagamama
SNG0451  ; 0 ; .                           ; Hello
SNG0451  ; 1 ; Héllo                       ; a train or bus to Ely
SNG0451  ; 2 ; A bus it is                 ; Never mind !
"""
#: The turn that has no prediction; files in which a turn is its position have an empty state there.
MISSING: Final = ("PMUL0203", 2)
BY_POSITION: Final = (
    "simpletod", "fnctod", "records (wrapped)", "mwzeval", "state-lists", "dstc10", "sgd",
)  # fmt: skip
#: Values that say in files of a format that the slot is not in the state.
SPELLED_AS_ABSENT: Final = {
    "none": ("kage", "savn", "star", "star-tsv", "sumbt-tsv", "trippy"),
    "not mentioned": (
        "checkdst", "fnctod", "ldst", "multiwoz", "parlai", "pptod", "simpletod", "simpletod-gold",
    ),
}  # fmt: skip
#: Slots that files of a format cannot hold: what MultiWOZ does not have, where no hyphen ends the domain; and what is
#: no slot in the code of the format's authors, where slots are words.
WITHOUT: Final = {
    "police-name": ("checkdst", "kage", "parlai", "simpletod"), "train-book ticket": ("pptod", "fnctod"),
}  # fmt: skip
#: Files that name no dialogues: they need gold, in their order or in SGD's layout.
NEED_GOLD: Final = {"dstc10": "jsonl", "ldst": "sgd (gold)"}
#: Files that are no JSON.
NO_JSON: Final = ("csv", "csv (slots)", "star-tsv", "sumbt-tsv")
#: Files that hold what is said, by their names in `tests/formats.py`.
SPEAKING: Final = (
    "jsonl", "parlai", "convlab", "icdst", "records", "csv", "star-tsv", "sumbt-tsv", "trade-gold", "t5dst-gold",
    "icdst (gold)", "simpletod-gold", "multiwoz", "sgd", "sgd (gold)", "convlab-gold", "crosswoz", "risawoz",
)  # fmt: skip
#: Files that say nothing, of formats that can.
SILENT: Final = ("jsonl (list)", "records (flags)", "records (wrapped)", "csv (slots)")
#: A corpus of the restaurant datasets, whose files have no domains: they are gold, and `dstc2` the predictions.
RESTAURANTS: Final = """
31  ; 0 ; restaurant-food       ; Thai      ; .
31  ; 0 ; restaurant-area       ; .         ; south
31  ; 1 ; restaurant-food       ; Thai      ; thai
31  ; 1 ; restaurant-area       ; dontcare  ; north
31  ; 1 ; restaurant-pricerange ; .         ; cheap
407 ; 0 ; .                     ; .         ; .
407 ; 1 ; restaurant-pricerange ; moderate  ; expensive
407 ; 2 ; restaurant-pricerange ; moderate  ; moderate
407 ; 2 ; restaurant-food       ; gastropub ; gastropub
"""
RESTAURANTS_SAID: Final = """
31  ; 0 ; .               ; Thai food please
31  ; 1 ; Any area ?      ; I don't mind
407 ; 0 ; .               ; Good evening
407 ; 1 ; What price ?    ; Moderate
407 ; 2 ; It is "Backs"   ; a gastropub
"""
#: SGD: dialogue, turn, service, side, intent, requested slots, state; alternatives stand between bars.
FRAMES: Final = """
1_00000  ; 0 ; Hotels_2 ; gold ; SearchHouse ; .            ; where_to=SF|San Francisco
1_00000  ; 0 ; Hotels_2 ; pred ; SearchHouse ; .            ; where_to=San Francisco
1_00000  ; 1 ; Hotels_2 ; gold ; BookHouse   ; phone_number ; where_to=SF|San Francisco,rating=4.5
1_00000  ; 1 ; Hotels_2 ; pred ; SearchHouse ; rating       ; where_to=SF,rating=4.6
1_00000  ; 1 ; Trains_1 ; gold ; FindTrains  ; price|class  ; .
1_00000  ; 1 ; Trains_1 ; pred ; FindTrains  ; class|price  ; to=Reno
10_00003 ; 0 ; Hotels_2 ; gold ; NONE        ; .            ; check_in=March 1st|1st of March
10_00003 ; 0 ; Hotels_2 ; pred ; NONE        ; .            ; check_in=1st of March
10_00003 ; 1 ; Trains_1 ; gold ; FindTrains  ; .            ; from=LA,to=Reno
10_00003 ; 1 ; Trains_1 ; pred ; NONE        ; .            ; from=Reno
"""


def _cells(table: str) -> Iterator[list[str | None]]:
    for line in table.strip().splitlines():
        yield [None if cell.strip() == "." else cell.strip() for cell in line.split(" ; ")]


ROWS: Final[list[Row]] = [(str(d), int(t or 0), slot, gold, pred) for d, t, slot, gold, pred in _cells(TABLE)]
SPOKEN: Final = [(str(d), int(t or 0), system, str(user)) for d, t, system, user in _cells(UTTERANCES)]


def _state(dialogue: str, turn: int, side: int, name: str) -> dict[str, str]:
    rows = [row for row in ROWS if row[:2] == (dialogue, turn)]
    return {row[2]: str(row[side]) for row in rows if row[2] and row[side] and name not in WITHOUT.get(row[2], ())}


def turns_for(name: str) -> Turns:
    """The corpus as a writer of a format takes it."""
    return [
        {"dialogue_id": d, "turn": t, "gold": _state(d, t, 3, name), "pred": _state(d, t, 4, name), "user": user,
         "system": system or ""}
        for d, t, system, user in SPOKEN
    ]  # fmt: skip


def rows_of(gold_format: str, pred_format: str, *, gap: bool = False) -> list[Row]:
    """The rows of the table, as they come back from files of these formats.

    Args:
        gold_format: Where gold is from.
        pred_format: Where predictions are from.
        gap: Whether the turn without a prediction is not there at all.
    """

    def read(value: str | None, slot: str | None, name: str) -> str | None:
        if value is None or name in (*SPELLED_AS_ABSENT.get(value, ()), *WITHOUT.get(slot or "", ())):
            return None
        return value.partition("|")[0] if name == "sgd" else value  # of several predicted values, the first

    rows = [
        (d, t, slot, read(gold, slot, gold_format), read(pred, slot, pred_format)) for d, t, slot, gold, pred in ROWS
    ]
    return _tidy([row for row in rows if not gap or row[:2] != MISSING])


def _tidy(rows: list[Row]) -> list[Row]:
    """Rows with a value, and one of each turn that has none: tables also have rows of slots that left the state."""
    kept = [row for row in rows if row[3:] != (None, None)]
    turns = {row[:2] for row in kept}
    return sorted([*kept, *{(*row[:2], None, None, None) for row in rows if row[:2] not in turns}], key=str)


def _rows(table: pl.DataFrame) -> list[Row]:
    rows = table.select("dialogue", "turn", "slot", "gold", "pred").cast({"slot": pl.String}).rows()
    return _tidy([row for row in rows if not (row[2] or "").endswith("-#frame")])


def read_back(*words: str) -> list[Row]:
    """The rows that `dstbench convert WORDS` writes."""
    code, _, err = run("convert", *words, "-o", "long.parquet")
    assert code == 0, err
    return _rows(pl.read_parquet("long.parquet"))


def _without_missing(turns: Turns) -> Turns:
    return [turn for turn in turns if (turn["dialogue_id"], turn["turn"]) != MISSING]


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("read"))
        yield


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():  # notes are tested elsewhere
        warnings.simplefilter("ignore", dstbench.DstbenchWarning)
        yield


def test_the_table_has_every_slot_of_multiwoz_unlike_in_gold_and_predictions() -> None:
    slots = {row[2] for row in ROWS}
    assert slots > {*formats.SUMBT_SLOTS}
    for slot in slots - {None, "attraction-area", "bus-day", "train-book people"}:  # which are right, as some must be
        assert any(gold != pred for _, _, name, gold, pred in ROWS if name == slot), slot


def test_every_format_is_written_here() -> None:
    listed = {row["name"] for row in json.loads(run("ls", "formats", "--format", "json").out)["formats"]}
    written = formats.WITH_BOTH | formats.ONLY_GOLD | formats.ONLY_PRED | formats.MARKS
    assert listed == {name.partition(" ")[0] for name in [*written, *formats.RESTAURANT]}


@pytest.mark.parametrize("name", formats.WITH_BOTH)
def test_gold_and_predictions_in_one_file(name: str) -> None:
    """Its format is found by the content: the file's name tells nothing, here and below."""
    turns, gap = turns_for(name), name not in BY_POSITION
    Path("run").write_text(formats.WITH_BOTH[name](_without_missing(turns) if gap else turns), encoding="utf-8")
    wanted = rows_of(name, name, gap=gap)
    if name == "csv (slots)":  # a turn without slots has no line
        wanted = [row for row in wanted if row[2]]
    assert read_back("run") == wanted
    assert dstbench.read("run").format == name.partition(" ")[0]


@pytest.mark.parametrize("name", sorted({*formats.ONLY_GOLD, *formats.WITH_BOTH} - {"csv (slots)"}))
def test_gold_from_a_file_of_its_own(name: str) -> None:
    writer = (formats.ONLY_GOLD | formats.WITH_BOTH)[name]
    Path("gold").write_text(writer(turns_for(name)), encoding="utf-8")
    assert dstbench.read("gold").format == name.partition(" ")[0]
    bare = [{**t, "gold": {}} for t in turns_for("jsonl")]
    predicted = [{key: t[key] for key in ("dialogue_id", "turn", "pred")} for t in _without_missing(bare)]
    assert _rows(dstbench.scan(predicted, gold="gold", missing="empty").collect()) == rows_of(name, "jsonl")


@pytest.mark.parametrize("name", formats.ONLY_PRED)
def test_predictions_whose_gold_is_another_file(name: str) -> None:
    gold = NEED_GOLD.get(name, "jsonl")
    Path("dialogues_001.json").write_text((formats.WITH_BOTH | formats.ONLY_GOLD)[gold](turns_for(name)), "utf-8")
    turns = turns_for(name) if name in BY_POSITION else _without_missing(turns_for(name))
    Path("predicted").write_text(formats.ONLY_PRED[name](turns), encoding="utf-8")
    assert dstbench.read("predicted").format == name
    missing = () if name in BY_POSITION else ("--missing", "empty")  # an empty state is not a missing one
    found = read_back("predicted", "--gold", "dialogues_001.json", *missing)
    assert found == rows_of("jsonl", name)
    code, out, err = run("score", "predicted")
    assert (code, out) == (1, "")
    assert "error: predicted: " in err
    assert "--gold" in err.partition("\nhint: ")[2]


#: How JSON may be spelled without saying anything else.
SPELLINGS: Final[tuple[dict[str, Any], ...]] = (
    {"indent": 1}, {"ensure_ascii": False}, {"separators": (" , ", " : "), "ensure_ascii": False, "indent": "\t"},
)  # fmt: skip


@pytest.mark.again
@pytest.mark.parametrize("name", sorted((formats.WITH_BOTH | formats.ONLY_GOLD).keys() - {*NO_JSON}))
def test_the_spelling_of_json_changes_nothing(name: str) -> None:
    """Nor does it matter whether the file is read here, or was read already; or that an object is around it."""
    text = (formats.WITH_BOTH | formats.ONLY_GOLD)[name](turns_for(name))
    are_lines = "\n{" in text  # an object is a line
    document = [json.loads(line) for line in text.splitlines()] if are_lines else json.loads(text)
    Path("run").write_text(text, encoding="utf-8")
    only_gold = name in formats.ONLY_GOLD
    bare = [{key: t[key] for key in ("dialogue_id", "turn", "pred")} for t in turns_for("jsonl")]

    def table(data: Any) -> list[Row]:
        return _rows(dstbench.scan(bare, gold=data).collect() if only_gold else dstbench.scan(data).collect())

    wanted = table("run")
    for how in SPELLINGS:
        if are_lines:
            respelled = "\r\n".join(json.dumps(line, **{**how, "indent": None}) for line in document)
        else:
            respelled = json.dumps(document, **how)
        Path("run").write_bytes(respelled.encode().replace(b"Alpha", b"\\u0041l\\u0070ha"))
        assert table("run") == wanted
    assert table(document) == wanted
    if not are_lines and name != "records (wrapped)":  # which has one already
        Path("run").write_text(json.dumps({"model": {"name": "x"}, "results": document}), encoding="utf-8")
        assert table("run") == wanted


@pytest.mark.parametrize("before", ['"x": 1e9', '"x": -1.5E-7', '"x": 12345678901234567890', '"x": "\\u003a"',
                                    '"x": ":"', '"x": "\\":"', '"x": "\\\\", "y": ":"', '"x\\u003a": {}'])  # fmt: skip
@pytest.mark.parametrize("pair", [('"hotel"', '"hotel"'), ('"hotel"', '"\\u0068otel"')])
def test_a_key_that_is_there_twice_is_refused_whatever_is_beside_it(before: str, pair: tuple[str, str]) -> None:
    slots = ", ".join(f'{key}: {{"area": "north"}}' for key in pair)
    Path("twice").write_text(f'{{"A": {{"0": {{{before}, "gt": {{{slots}}}, "pr": {{}}}}}}}}', encoding="utf-8")
    code, _, err = run("score", "twice", "--from", "gtpr")
    assert (code, "error: twice: " in err, "the key 'hotel' twice" in err) == (1, True, True), err
    Path("once").write_text(f'{{"A": {{"0": {{{before}, "gt": {{"hotel": {{}}}}, "pr": {{}}}}}}}}', encoding="utf-8")
    assert run("score", "once", "--from", "gtpr", "-m", "jga").code == 0


@pytest.mark.parametrize(("name", "end"), [("jsonl", ""), ("gtpr", ".json"), ("convlab", ".json"), ("kage", "")])
def test_ids_that_are_not_multiwozs_are_kept(name: str, end: str) -> None:
    own = [{**t, "dialogue_id": f"Own {t['dialogue_id'].lower()}"} for t in turns_for(name)]
    Path("own").write_text(formats.WITH_BOTH[name](own), encoding="utf-8")
    found = dstbench.scan("own").collect()["dialogue"].unique().sort().to_list()
    assert found == [f"Own {dialogue}{end}" for dialogue in ("mul0012", "pmul0203", "sng0451")]


@pytest.mark.again
@pytest.mark.parametrize(
    ("name", "copies"),
    [("jsonl", 2400), ("trippy", 60), *(pytest.param(name, 2400, marks=pytest.mark.again) for name in ("gtpr", "som"))],
)
def test_large_files_are_read_as_small_ones_are(name: str, copies: int) -> None:
    """Files of some megabytes, which are read in other ways: the corpus many times, under other ids."""
    turns = turns_for(name)
    many = [{**t, "dialogue_id": f"{t['dialogue_id']}{copy:05}"} for copy in range(copies) for t in turns]
    tables = {}
    for file, content in (("small", turns), ("large", many)):
        Path(file).write_text(formats.WITH_BOTH[name](content), encoding="utf-8")
        table = dstbench.scan(file).select("dialogue", "turn", "slot", "gold", "pred").collect()
        tables[file] = table.cast({"slot": pl.String, "gold": pl.String, "pred": pl.String})
    assert Path("large").stat().st_size > 1 << 22
    copied = tables["large"].with_columns(pl.col("dialogue").str.head(-5), copy=pl.col("dialogue").str.tail(5))
    parts = copied.partition_by("copy", include_key=False)
    assert len(parts) == copies
    assert all(part.equals(tables["small"]) for part in parts)


def test_marks_of_which_slots_are_right() -> None:
    turns = turns_for("fga-trippy")
    Path("marks").write_text(formats.fga_trippy(turns), encoding="utf-8")
    right = sum(turn["gold"] == turn["pred"] for turn in turns)
    assert right == 2
    row = dstbench.score("marks", metrics="jga").row(0, named=True)
    assert (row["value"], row["turns"], row["dialogues"]) == (right / len(turns), len(turns), 3)


_ALL: Final = formats.WITH_BOTH | formats.ONLY_GOLD | formats.ONLY_PRED


@pytest.mark.parametrize("name", SPEAKING)
def test_what_is_said(name: str) -> None:
    Path("data").write_text(_ALL[name](turns_for(name)), encoding="utf-8")
    code, _, err = run("contexts", "data", "-o", "said.parquet")
    assert code == 0, err
    assert _said("said.parquet") == SPOKEN


def _said(file: str) -> list[tuple[Any, ...]]:
    return sorted(pl.read_parquet(file).select("dialogue", "turn", "system", "user").rows())


@pytest.mark.parametrize("name", sorted(_ALL.keys() - {*SPEAKING}))
def test_what_is_not_said(name: str) -> None:
    Path("data").write_text(_ALL[name](turns_for(name)), encoding="utf-8")
    code, _, err = run("contexts", "data", "-o", "said.parquet")
    assert code == 1
    assert "error: data: " in err
    assert "utterances" in err
    assert ("\nhint: " in err) == (name not in SILENT)


def _restaurants() -> Turns:
    rows = [*_cells(RESTAURANTS)]
    turns = []
    for d, t, system, user in _cells(RESTAURANTS_SAID):
        of_turn = [row[2:] for row in rows if row[:2] == [d, t] and row[2]]
        gold, pred = (
            {str(row[0]).removeprefix("restaurant-"): row[side] for row in of_turn if row[side]} for side in (1, 2)
        )
        turns.append({"dialogue_id": d, "turn": int(t or 0), "gold": gold, "pred": pred, "user": user,
                      "system": system or ""})  # fmt: skip
    return turns


@pytest.mark.parametrize("name", sorted(formats.RESTAURANT.keys() - {"dstc2"}))
def test_restaurants(name: str) -> None:
    turns = _restaurants()
    gold = "gold"
    if name == "dstc2-gold":  # a folder per call
        for call in ("31", "407"):
            Path("calls", call).mkdir(parents=True)
            text = formats.dstc2_gold([t for t in turns if t["dialogue_id"] == call], call)
            Path("calls", call, "label.json").write_text(text, encoding="utf-8")
        gold = "calls"
    else:
        Path("gold").write_text(formats.RESTAURANT[name](turns), encoding="utf-8")
    Path("run").write_text(formats.dstc2(turns), encoding="utf-8")
    rows = [(str(d), int(t or 0), slot, gold, pred) for d, t, slot, gold, pred in _cells(RESTAURANTS)]
    assert read_back("run", "--gold", gold) == _tidy(rows)
    assert run("contexts", gold, "-o", "said.parquet").code == 0
    said = [(str(d), int(t or 0), system, user) for d, t, system, user in _cells(RESTAURANTS_SAID)]
    if name == "dstc2-gold":  # which has only the user's words
        said = [(d, t, None, user) for d, t, _, user in said]
    assert _said("said.parquet") == said


def _in_frames(wanted: str) -> str:
    dialogues: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for d, t, service, side, intent, requested, state in _cells(FRAMES):
        values = dict(pair.split("=") for pair in (state or "").split(",") if pair)
        frame: dict[str, Any] = {"service": service, "slots": [], "actions": [], "state": {
            "active_intent": intent, "requested_slots": requested.split("|") if requested else [],
            "slot_values": {"pets": [], **{slot: value.split("|") for slot, value in values.items()}},  # no value of it
        }}  # fmt: skip
        if side == wanted:
            dialogues.setdefault(str(d), {}).setdefault(str(t), []).append(frame)
    system = {"speaker": "SYSTEM", "utterance": "…", "frames": [{"service": "Hotels_2", "actions": [], "slots": []}]}
    return json.dumps([
        {"dialogue_id": name, "services": ["Hotels_2", "Trains_1"], "turns": [
            turn for frames in turns.values()
            for turn in ({"speaker": "USER", "utterance": "…", "frames": frames}, system)
        ]}
        for name, turns in dialogues.items()
    ])  # fmt: skip


def test_frames_of_sgd() -> None:
    Path("gold.json").write_text(_in_frames("gold"), encoding="utf-8")
    Path("run.json").write_text(_in_frames("pred"), encoding="utf-8")
    wanted: dict[tuple[str, int, str], dict[str, str]] = {}
    for d, t, service, side, intent, requested, state in _cells(FRAMES):
        for pair in (f"#frame={intent}|{requested or ''}", *(state.split(",") if state else ())):
            slot, _, value = pair.partition("=")
            wanted.setdefault((str(d), int(t or 0), f"{service}-{slot}"), {})[str(side)] = value
    assert run("convert", "run.json", "--gold", "gold.json", "-o", "long.parquet").code == 0
    table = pl.read_parquet("long.parquet").select("dialogue", "turn", "slot", "gold", "pred")
    found = [row for row in table.cast({"slot": pl.String}).rows() if row[3:] != (None, None)]
    assert sorted(found, key=str) == sorted([(*k, v.get("gold"), v.get("pred")) for k, v in wanted.items()], key=str)
    scores = dstbench.score("run.json", gold="gold.json", metrics="intent,requested-f1", profile="sgd")
    assert scores["value"].to_list() == pytest.approx([3 / 5, 4 / 5])  # as two intents and one set of slots are wrong


def _parts(node: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """The places of all parts of a document."""
    yield path
    for key, below in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _parts(below, *path, key)


def _with(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A document with another part at a place; `...`: with none there."""
    if not path:
        return value
    items = [*(node.items() if isinstance(node, dict) else enumerate(node))]
    kept = [(key, _with(old, path[1:], value) if key == path[0] else old) for key, old in items]
    kept = [(key, new) for key, new in kept if new is not ...]
    return dict(kept) if isinstance(node, dict) else [new for _, new in kept]


def _read(document: Any, name: str) -> str:
    """What is read of a document, as a format, or why it is not."""
    Path("x.json").write_text(json.dumps(document), encoding="utf-8")
    try:
        states = dstbench.read("x.json", name)
    except dstbench.DstbenchError as error:
        return str(error).split("\n")[0]
    sides = {"gold": states.gold, "pred": states.pred}
    cells = [f"{name} {side.turns.rows()} {side.cells.rows()}" for name, side in sides.items() if side is not None]
    return " ".join([*cells, *map(str, states.notes)])


def test_any_part_of_a_file_may_be_something_else_or_not_there() -> None:
    read = 0
    for form in json.loads(run("ls", "formats", "--format", "json").out)["formats"]:
        try:
            document = json.loads(form["example"])
        except ValueError:
            recorded.check("parts", form["name"], form["example"])
            continue
        said: list[str] = []
        odd: cycle[Any] = cycle((3, None, "x", [], {}))
        for path in _parts(document):
            for value in (next(odd), ...)[: 1 + bool(path)]:
                what = "gone" if value is ... else json.dumps(value)
                said.append(f"{'.'.join(map(str, path))} {what}: {_read(_with(document, path, value), form['name'])}")
        recorded.check("parts", form["name"], "\n".join(said))
        read += 1
    assert read > 30
