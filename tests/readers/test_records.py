"""Records of turns: the same states under any keys, in any layout, in any spelling, and what is said of the others."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from tests import formats
from tests.corpora import EXAMPLE, States, corpora
from tests.formats import _nested as nested
from tests.formats import _pairs as pairs
from tests.records import notes_of, quiet, table_of

IDS = ("dialogue_id", "dial_id", "dialogue_idx", "idx", "ID", "dialogueId", "Dialogue ID", "id")
TURNS = ("turn", "turn_id", "turn_idx", "turn_num", "turnIndex", "Turn")
SIDES = (
    ("gold", "pred"), ("gold_belief", "pred_belief"), ("ground_truth", "predicted"), ("gt", "prediction"),
    ("label", "predict"), ("labels", "pred_state"), ("slot_values", "pred"), ("state", "total_state"),
    ("belief_state", "output"), ("true_belief_state", "predicted_belief_state"), ("goldState", "predState"),
    ("target", "generated_state"), ("turn_belief", "pred_bs"),
)  # fmt: skip
#: Further keys, none of which is taken.
NOISE: dict[str, Any] = {
    "predict_turn_label": {"hotel-area": "east"}, "previous_belief_state": {"hotel-area": "east"}, "history": ["a"],
    "domains": ["hotel"], "jga": 0.5, "prompt": "What is the state?", "utterance": "hello", "correct": True,
}  # fmt: skip

#: How states are written; `test_state_cells` has further ways, and values that are no texts.
WRITTEN: dict[str, Callable[[dict[str, str]], Any]] = {
    "flat": dict,
    "nested": nested,
    "pairs": lambda state: [list(item) for item in state.items()],
    "objects": lambda state: [{"slot": slot, "value": value} for slot, value in state.items()],
    "domain-slot-value": pairs,
    "JSON": lambda state: json.dumps(nested(state)),
    "Python": repr,
}


def _by_dialogue(rows: list[dict[str, Any]], name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[name], []).append({key: value for key, value in row.items() if key != name})
    return found


def _without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in names} for row in rows]


def layouts(rows: list[dict[str, Any]], d: str, t: str) -> dict[str, Any]:
    """The same records in every layout; `d` and `t` are the keys of dialogue and turn."""
    by_dialogue = _by_dialogue(rows, d)
    flags = [{"flag": f"{row[d]}.json-{row[t]}", **row} for row in rows]
    turns = {name: _without(several, t) for name, several in by_dialogue.items()}
    return {
        "list": rows,
        "wrapped": {"summary": {"turns": len(rows)}, "details": rows},
        "wrapped twice": {"config": {"model": "x"}, "results": {"records": rows, "jga": 0.5}},
        "numbers as text": [{**row, t: str(row[t])} for row in rows],
        "flags": _without(flags, d, t),
        "flags with underscores": _without([{**row, "id": f"{row[d]}_{row[t]}"} for row in rows], *{d, t} - {"id"}),
        "dialogues": [{d: name, "turn_details": several} for name, several in by_dialogue.items()],
        "dialogues of counted turns": [{d: name, "turns": several} for name, several in turns.items()],
        "by dialogue": by_dialogue,
        "by dialogue, counted": turns,
        "by dialogue and turn": {
            name: {str(number): row for number, row in enumerate(several)} for name, several in turns.items()
        },
        "by flag": {f"{row[d]}-{row[t]}": record for row, record in zip(rows, _without(rows, d, t), strict=True)},
        "in order": _without(rows, t),
    }  # fmt: skip


def _csv(rows: list[dict[str, Any]], separator: str) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)), delimiter=separator)
    writer.writeheader()
    for row in rows:
        writer.writerow({k: json.dumps(v) if isinstance(v, (dict, list)) else v for k, v in row.items()})
    return text.getvalue()


@pytest.mark.again
@quiet
@given(data=st.data(), states=corpora(), write=st.sampled_from([*WRITTEN.values()]), names=st.sampled_from(SIDES))
def test_any_way_to_write_records_gives_the_same_table_of(
    data: st.DataObject, states: States, write: Callable[[dict[str, str]], Any], names: tuple[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    d, t = data.draw(st.sampled_from(IDS)), data.draw(st.sampled_from(TURNS))
    noise = data.draw(st.lists(st.sampled_from(list(NOISE)), unique=True))
    sides = dict(zip(("gold", "pred"), names, strict=True))
    assume(
        not {"state", "slot_values", "belief_state", "turn_belief"} & {*names} or "previous_belief_state" not in noise
    )
    rows = [
        {d: s["dialogue_id"], t: s["turn"]}
        | {key: write(s[side]) for side, key in sides.items()}
        | {key: NOISE[key] for key in noise}
        for s in states
    ]
    wanted = table_of(states)
    layout = data.draw(st.sampled_from([*layouts(rows, d, t)]))
    document = layouts(rows, d, t)[layout]
    path = tmp_path_factory.mktemp("records") / "any.json"
    path.write_text(json.dumps(document, indent=data.draw(st.sampled_from([None, 1]))), encoding="utf-8")
    assert table_of(path).equals(wanted)
    if isinstance(document, list):
        path.write_text("".join(json.dumps(row) + "\n" for row in document), encoding="utf-8")
        assert table_of(path).equals(wanted)
        assert table_of(iter(document)).equals(wanted)
        path.write_text(_csv(rows, data.draw(st.sampled_from(",;\t"))), encoding="utf-8-sig")
        assert table_of(path).equals(wanted)


@quiet
def test_frames_of_records_are_read_as_lists(here: Path) -> None:
    rows = [
        {"dial_id": s["dialogue_id"], "turn_id": s["turn"], "gt": s["gold"], "predicted": json.dumps(s["pred"])}
        for s in EXAMPLE
    ]
    frame, wanted = pl.DataFrame(rows, infer_schema_length=None), table_of(EXAMPLE)
    frame.write_parquet("any")
    for data in (frame, frame.lazy(), frame.to_arrow(), "any"):
        assert table_of(data).equals(wanted)
    both = pl.concat([frame.with_columns(run=pl.lit(name)) for name in ("a", "b")])
    assert dstbench.scan(both).collect()["run"].unique(maintain_order=True).to_list() == ["a", "b"]
    frame.rename(dict(zip(frame.columns, "ABCD", strict=True))).write_parquet("any")
    assert table_of("any", keys={"id": "A", "turn": "B", "gold": "C", "pred": "D"}).equals(wanted)


def test_a_frame_of_slots_under_other_names() -> None:
    """Whoever gives keys means records, not a long table."""
    frame = pl.DataFrame({"d": ["MUL1"], "t": [0], "slot": ["hotel-area"], "g": ["north"], "p": ["south"]})
    keys = {"id": "d", "turn": "t", "gold": "g", "pred": "p"}
    assert table_of(frame, keys=keys).rows() == [("MUL1", 0, "hotel-area", "north", "south")]
    with pytest.raises(dstbench.DstbenchError, match="no record has the key 'q'"):
        table_of(dstbench.scan(EXAMPLE).drop("run"), keys={"pred": "q"})


def test_a_frame_of_pandas_may_hold_anything() -> None:
    """pandas itself is not needed for it: only that a class of this module gives records."""

    class DataFrame:
        __module__ = "pandas"

        def __init__(self, rows: list[dict[str, Any]]) -> None:
            self.rows, self.columns = rows, list(rows[0])

        def to_dict(self, orient: str) -> list[dict[str, Any]]:
            assert orient == "records"
            return [dict(row) for row in self.rows]

    rows = [
        {"dialogue_id": "MUL1", "turn": float(t["turn"]), "gold": t["gold"], "pred": str(t["pred"])} for t in EXAMPLE
    ]
    assert dstbench.score(DataFrame(rows), metrics="jga").select("run", "value").rows() == [("table", 0.5)]
    runs = dstbench.score(DataFrame([{**row, "run": name} for name in "ab" for row in rows]), metrics="jga")
    assert runs.select("run", "value").rows() == [("a", 0.5), ("b", 0.5)]


def test_a_loose_format_yields_to_another_in_a_folder(here: Path) -> None:
    Path("out").mkdir()
    Path("out/a_details.csv").write_text(formats.csv())
    Path("out/model.json").write_text(formats.gtpr())
    Path("out/states.json").write_text(formats.state_lists())
    assert dstbench.read("out").format == "gtpr"
    Path("out/model.json").unlink()
    with pytest.raises(dstbench.DstbenchError, match=r"2 data files .*a_details\.csv \(csv\), .*\(state-lists\)"):
        dstbench.read("out")
    Path("out/states.json").unlink()
    assert dstbench.read("out").format == "csv"


N, NESTED = {"hotel-area": "north"}, {"hotel": {"area": "north"}}
#: What repositories write, or might, that looks like another format at a glance.
LAYOUTS: dict[str, Any] = {
    "not FGA's, and not STAR's": {"MUL1": {"0": {"gt": N, "pred": N}, "1": {"gt": N, "pred": N}}},
    "not IC-DST's": [{"ID": "MUL1.json", "turn_id": turn, "slot_values": N, "prediction": N} for turn in (0, 1)],
    "turns in a dialogue": {"MUL1.json": {"domains": ["hotel"], "turns": [
        {"user": "hello", "gold_state": NESTED, "pred_state": NESTED} for _ in range(2)
    ]}},
    "not SGD's": [{"dialogue_id": "MUL1.json", "services": ["hotel"], "turns": [
        {"turn_id": turn, "speaker": "USER", "gold": N, "pred": N} for turn in (0, 1)
    ]}],
    "both sides in an object": [
        {"dialogue_id": "MUL1", "turn_id": turn, "belief_state": {"gold": NESTED, "prediction": NESTED}}
        for turn in (0, 1)
    ],
    "in words": [
        {"Dialogue ID": "MUL1", "Turn ID": str(turn), "Gold State": json.dumps(N), "Predicted State": str(N)}
        for turn in (0, 1)
    ],
    "TRADE's data, and predictions": [{"dialogue_idx": "MUL1.json", "domains": ["hotel"], "dialogue": [
        {"turn_idx": turn, "belief_state": [{"slots": [["hotel-area", "north"]], "act": "inform"}], "turn_label": [],
         "transcript": "hello", "pred_belief": N} for turn in (0, 1)
    ]}],
    "the dialogue in the turn's id": [{"turn_id": f"MUL1.json-{turn}", "gold": N, "pred": N} for turn in (0, 1)],
    "turns in words": {"MUL1": {f"turn_{turn}": {"gold": N, "pred": N} for turn in (0, 1)}},
    "deltas and states before": [
        {"dialogue_id": "MUL1", "turn_id": turn, "true_belief_state": N, "predicted_belief_state": N,
         "true_belief_state_delta": {"hotel-area": "x"}, "previous_belief_state": {"hotel-stars": "4"}}
        for turn in (0, 1)
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
@quiet
def test_layouts_of_others_are_found_by_their_content(name: str, here: Path) -> None:
    Path("p.json").write_text(json.dumps(LAYOUTS[name]))
    assert dstbench.read("p.json").format == "records"
    assert table_of("p.json").rows() == [("MUL1", turn, "hotel-area", "north", "north") for turn in (0, 1)]


NO_RECORDS: list[Any] = [
    {"hotel-area": ["north", "south"], "hotel-name": ["a-b lodge"]},
    {"MUL1": {"1": {"Hotel-Inform": [["area", "north"]]}, "2": "No Annotation"}},
    {"MUL1.json": {"hotel": {"info": {"area": "north"}}}},
    [{"name": "a lodge", "area": "north", "type": "hotel"}],
    [{"service_name": "Hotels_2", "slots": [], "intents": []}],
    {"jga": 0.5, "total": {"jga": 0.5}, "history": [{"val-loss": 0.3}]},
    {"class": [{"precision": 0.5}], "true": 3},
    [{"id": 1, "label": 1, "prediction": 0.7}],
    [{"id": 1, "prompt": "x", "output": "the state is unclear"}],
]


@pytest.mark.parametrize("document", NO_RECORDS)
def test_other_files_are_not_taken_for_records(document: Any, here: Path) -> None:
    Path("p.json").write_text(json.dumps(document))
    with pytest.raises(dstbench.DstbenchError, match="no known format"):
        dstbench.read("p.json")


# --- layouts in the habits of public repositories -------------------------------------------------------------------

TOLD: list[tuple[str, int, dict[str, str], dict[str, str]]] = [
    ("MUL0012", 0, {"hotel-area": "north"}, {"hotel-area": "north"}),
    ("MUL0012", 1, {"hotel-area": "north", "hotel-stars": "4"}, {"hotel-area": "north", "hotel-stars": "3"}),
    ("PMUL4415", 0, {"train-day": "friday"}, {}),
    ("PMUL4415", 1, {"train-day": "friday", "train-leaveat": "09:15"}, {"train-day": "friday"}),
]


def _lines(items: list[Any]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def by_name(write: Callable[[int, dict[str, str], dict[str, str]], Any]) -> dict[str, list[Any]]:
    lists: dict[str, list[Any]] = {}
    for name, turn, gold, pred in TOLD:
        lists.setdefault(name, []).append(write(turn, gold, pred))
    return lists


#: Text or document of each.
HABITS: dict[str, Any] = {
    "a chat model's answers as JSON Lines": _lines([
        {"sample_id": f"{name}.json-{turn}", "messages": [{"role": "user", "content": "hi"}], "gold_state": gold,
         "response": f"Here is the state.\n```json\n{json.dumps(nested(pred))}\n```"}
        for name, turn, gold, pred in TOLD
    ]),
    "a frame that pandas wrote as JSON": {
        column: {str(number): row[at] for number, row in enumerate(TOLD)}
        for at, column in enumerate(("dialogue_id", "turn_id", "gold", "pred"))
    },
    "columns": {
        "ids": [f"{name}-{turn}" for name, turn, *_ in TOLD], "golds": [gold for *_, gold, _ in TOLD],
        "preds": [pred for *_, pred in TOLD],
    },
    "words of their own": [
        {"conv": name, "step": turn, "oracle": gold, "tracker_out": pred} for name, turn, gold, pred in TOLD
    ],
    "words of their own, in dialogues": {"run": "x", "items": [
        {"conv": name, "exchanges": exchanges}
        for name, exchanges in by_name(lambda turn, gold, pred: {"n": turn, "oracle": gold, "ours": pred}).items()
    ]},
    "words of their own in CSV": "conv\tn\tannotation\tours\n" + "".join(
        f"{name}\t{turn}\t{gold}\t{pred}\n" for name, turn, gold, pred in TOLD
    ),
    "an id of another name that ends in the turn": [
        {"frame": f"{name}-{turn}", "gold": gold, "pred": pred} for name, turn, gold, pred in TOLD
    ],
    "gold of another name": [
        {"id": name, "turn": turn, "oracle": gold, "hyp": pred} for name, turn, gold, pred in TOLD
    ],
    "ids in an object of their own": [
        {"meta": {"dialogue": name, "turn": turn}, "data": {"truth_slots": gold, "ours": pred}}
        for name, turn, gold, pred in TOLD
    ],
    "what is known apart from what is predicted": [
        {"metadata": {"dialogue_id": name, "turn": turn, "gold": gold}, "prediction": pred}
        for name, turn, gold, pred in TOLD
    ],
}  # fmt: skip
WANTED = [{"dialogue_id": name, "turn": turn, "gold": gold, "pred": pred} for name, turn, gold, pred in TOLD]
LINE = re.compile(r"--keys ([^ ;]+) (?:may be what it needs|takes that)")


@quiet
@pytest.mark.parametrize("name", HABITS)
def test_a_layout_is_read_as_it_is_or_by_the_line_that_the_error_prints(name: str, here: Path) -> None:
    layout = HABITS[name]
    Path("run").write_text(layout if isinstance(layout, str) else json.dumps(layout))
    said = ""
    try:
        table = table_of("run")
    except dstbench.DstbenchError as error:
        said = error.args[0]
    if said:
        line = LINE.search(said)
        assert line is not None, said
        table = table_of("run", keys=dict(pair.split("=") for pair in line[1].split(",")))
    assert table.equals(table_of(WANTED))


@quiet
def test_keys_say_where_turns_are(here: Path) -> None:
    dialogues = [
        {"conv": name, "turn_details": turns}
        for name, turns in by_name(lambda _, gold, pred: {"truth_st": gold, "ours": pred}).items()
    ]
    Path("run").write_text(json.dumps({"runs": {"first": dialogues}}))
    keys = {"id": "conv", "turns": "turn_details", "gold": "truth_st", "pred": "ours"}
    assert table_of("run", keys=keys).equals(table_of(WANTED))
    with pytest.raises(dstbench.DstbenchError, match="no object has the key 'turn_detail'"):
        table_of("run", keys={**keys, "turns": "turn_detail"})


# --- folders --------------------------------------------------------------------------------------------------------

#: A file of one dialogue in a folder: its name, from its number and its dialogue; and its content.
FOLDERS: dict[str, tuple[str, Callable[[list[dict[str, Any]]], str | pl.DataFrame]]] = {
    "lines": ("part-{0:03}.jsonl", lambda rows: "".join(json.dumps(row) + "\n" for row in rows)),
    "lists": ("{0}.json", json.dumps),
    "CSV": ("{0}.csv", lambda rows: _csv(rows, ",")),
    "Parquet": ("shard_{0}.parquet", pl.DataFrame),
    "state lists": ("out{0}.json", lambda rows: json.dumps({
        side: {rows[0]["id"]: [row[side] for row in rows]} for side in ("gold", "pred")
    })),
    "by dialogue": ("{1}.json", lambda rows: json.dumps({"turns": rows})),
    "by dialogue, which only the name says": ("{1}.json", lambda rows: json.dumps(_without(rows, "id"))),
    "CSV by dialogue": ("{1}.csv", lambda rows: _csv(_without(rows, "id"), ",")),
}  # fmt: skip
DIALOGUES = {
    name: [{"id": name, "turn": turn, "gold": N, "pred": {**N, "hotel-name": str(turn)}} for turn in (0, 1)]
    for name in ("MUL1", "SNG22", "PMUL3")
}


@pytest.mark.again
@pytest.mark.parametrize("kind", FOLDERS)
@quiet
def test_several_files_of_records_in_a_folder_are_one_run(kind: str, here: Path) -> None:
    name, write = FOLDERS[kind]
    for number, (dialogue, rows) in enumerate(DIALOGUES.items()):
        path, content = Path("run", name.format(number, dialogue)), write(rows)
        path.parent.mkdir(exist_ok=True)
        content.write_parquet(path) if isinstance(content, pl.DataFrame) else path.write_text(content)
    Path("run/log.json").write_text('{"jga": 0.5}')
    notes = notes_of("run")
    assert [note.partition(":")[0] for note in notes if "one run" in note] == ["3 files are read as one run"]
    assert len({*notes}) == len(notes) <= 3
    wanted = table_of([row for rows in DIALOGUES.values() for row in rows])
    assert table_of("run").equals(wanted)
    dstbench.write_long(dstbench.open_runs("run")[0], "run.parquet")
    assert table_of("run.parquet").equals(wanted)


@pytest.mark.parametrize("damaged", ["nothing but words", "", "[]"])
@pytest.mark.parametrize("names", [("part-1.json", "part-2.json", "part-3.json"), ("my_test.json", "my_dev.json")])
@quiet
def test_a_part_of_no_known_format_is_an_error_if_there_is_something_in_it(
    names: tuple[str, ...], damaged: str, here: Path
) -> None:
    Path("run").mkdir()
    *parts, last = names
    for name, rows in zip(parts, DIALOGUES.values(), strict=False):
        Path("run", name).write_text(json.dumps(rows))
    whole = table_of("run")
    Path("run", last).write_text(damaged)
    Path("run/notes.json").write_text("nothing but words")  # not named like a part
    if damaged.strip("[]"):
        with pytest.raises(dstbench.DstbenchError, match=f"{re.escape(last)}: no known format, although data files"):
            dstbench.read("run")
    else:
        assert table_of("run").equals(whole)


def test_files_of_other_names_or_of_the_same_turns_are_several_runs(here: Path) -> None:
    Path("run").mkdir()
    for names, said in (
        (("ours.jsonl", "theirs.jsonl"), "2 data files that are not parts of one run"),
        (("multiwoz.csv.jsonl", "MUL1.jsonl"), "2 data files that are not parts of one run"),
        (("train.jsonl", "test.jsonl"), "2 data files that are not parts of one run"),
        (("a/part-0.jsonl", "b/part-1.jsonl"), "2 data files that are not parts of one run"),
    ):
        for name, rows in zip(names, DIALOGUES.values(), strict=False):
            Path("run", name).parent.mkdir(exist_ok=True)
            Path("run", name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(dstbench.DstbenchError, match=said):
            dstbench.read("run")
        for name in names:
            Path("run", name).unlink()
    for seed in (1, 2):
        Path(f"run/seed{seed}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DIALOGUES["MUL1"]))
    with (
        pytest.raises(dstbench.DstbenchError, match=r"the same turn in two files .*\nhint: .*name each"),
        pytest.warns(dstbench.DstbenchWarning, match="one run"),
    ):
        dstbench.read("run")
