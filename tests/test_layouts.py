"""A perfect tracker in any layout, with any spelling of ids and slots, is read as it is or refused, never otherwise."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.runs.open import Reading
from tests.records import notes_of, quiet, table_of

State = dict[str, str]
#: Turns, each with its dialogue, number and state.
Turns = list[tuple[str, int, State]]

#: How ids are spelled, given the number of the dialogue.
IDS: dict[str, Callable[[int], str]] = {
    "MultiWOZ's": "MUL{:04}".format,
    "MultiWOZ's files": "pmul{:04}.json".format,
    "SGD's": "1_{:05}".format,
    "of two services": lambda number: f"{1 + number % 2}_{number // 2:05}",
    "numbers": "{}".format,
    "numbered after a hyphen": "d-{}".format,
    "numbered from 17": lambda number: f"d_{number + 17}",
    "of a split": "test-{}".format,
    "ConvLab's": "multiwoz21-test-{}".format,
    "letters": lambda number: "abc"[number],
}
#: How slots are spelled.
SLOTS: dict[str, Callable[[str], str]] = {
    "as in long tables": str,
    "dots": lambda slot: slot.replace("-", "."),
    "spaces": lambda slot: slot.replace("-", " "),
    "underscores": lambda slot: slot.replace("-", "_").replace(" ", "_"),
    "capitals": str.title,
    "semi": lambda slot: slot if "book" in slot else slot.replace("-", "-semi-", 1),
    "without spaces": lambda slot: slot.replace(" ", ""),
}


def _nested(state: State) -> dict[str, dict[str, str]]:
    domains: dict[str, dict[str, str]] = {}
    for slot, value in state.items():
        domain, name = re.split(r"[-._ ]", slot, maxsplit=1)
        domains.setdefault(domain, {})[name] = value
    return domains


#: How states are written.
STATES: dict[str, Callable[[State], Any]] = {
    "flat": dict,
    "nested": _nested,
    "domain-slot-value": lambda state: [f"{slot}-{value}" for slot, value in state.items()],
    "slot = value": lambda state: [f"{slot} = {value}" for slot, value in state.items()],
    "pairs": lambda state: [list(item) for item in state.items()],
    "objects": lambda state: [{"slot": slot, "value": value} for slot, value in state.items()],
    "JSON": json.dumps,
    "text": lambda state: "; ".join(f"{slot} = {value}" for slot, value in state.items()),
}


def _by_dialogue(turns: Turns, write: Callable[[int, Any], Any]) -> dict[str, list[Any]]:
    lists: dict[str, list[Any]] = {}
    for name, turn, state in turns:
        lists.setdefault(name, []).append(write(turn, state))
    return lists


def _flags(turns: Turns, between: str, first: int = 0) -> dict[str, Any]:
    return {f"{name}{between}{turn + first}": state for name, turn, state in turns}


def _both(state: Any) -> dict[str, Any]:
    return {"gold": state, "pred": state}


def layouts(turns: Turns, betweens: tuple[str, ...] = ("-", "_", "-turn-")) -> Iterator[tuple[str, Any, bool]]:
    """Each layout of some turns, whose states are written already: its name, the document, whether it has no gold.

    Args:
        turns: The turns.
        betweens: What stands between the dialogue and the turn in ids that end in the turn.
    """
    states = _by_dialogue(turns, lambda _, state: state)
    numbered = {name: {str(at): state for at, state in enumerate(several)} for name, several in states.items()}
    yield "records", [{"dialogue_id": name, "turn": turn} | _both(state) for name, turn, state in turns], False
    yield "records in order", [{"dialogue_id": name} | _both(state) for name, _, state in turns], False
    for between in betweens:
        flags = _flags(turns, between)
        yield f"ids{between}turns", [{"id": flag} | _both(state) for flag, state in flags.items()], False
        yield f"records by id{between}turn", {flag: _both(state) for flag, state in flags.items()}, False
        yield f"states by id{between}turn", flags, True
        yield f"sides by id{between}turn", _both(flags), False
    numbered_records = [
        {"dialogue_id": name, "guid": f"test-{at}"} | _both(state) for at, (name, _, state) in enumerate(turns)
    ]
    yield "numbered records in order", numbered_records, False
    yield "lists by dialogue", states, True
    yield "turns by dialogue", numbered, True
    yield "sides of lists", _both(states), False
    yield "lists of records", {name: [_both(state) for state in several] for name, several in states.items()}, False
    yield "dialogues", [{"dialogue_id": name} | _both(several) for name, several in states.items()], False
    yield "wrapped", {"config": {"model": "x"}, "predictions": states}, True


def _corpus(data: st.DataObject) -> tuple[Turns, Turns]:
    """Turns as they must be read, and as they are written."""
    spell_id, spell_slot = data.draw(st.sampled_from([*IDS.values()])), data.draw(st.sampled_from([*SLOTS.values()]))
    slots = st.sampled_from(["hotel-area", "hotel-book day", "restaurant-food", "train-leaveat"])
    value = st.sampled_from(["north", "guest-house", "09:15", "a-b-c", "the nook"])
    turns: Turns = []
    for number in range(data.draw(st.integers(1, 3))):
        states = data.draw(st.lists(st.dictionaries(slots, value, max_size=3), min_size=1, max_size=4))
        turns += [(spell_id(number), turn, state) for turn, state in enumerate(states)]
    return turns, [(name, turn, {spell_slot(slot): v for slot, v in state.items()}) for name, turn, state in turns]


def _wanted(turns: Turns) -> pl.DataFrame:
    return table_of([{"dialogue_id": name, "turn": turn} | _both(state) for name, turn, state in turns])


@pytest.mark.again
@quiet
@settings(max_examples=20)
@given(data=st.data())
def test_a_perfect_tracker_is_read_as_it_is_or_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    turns, spelled = _corpus(data)
    write = data.draw(st.sampled_from([*STATES.values()]))
    written = [(name, turn, write(state)) for name, turn, state in spelled]
    every = [*layouts(written, ("-", "_", "-turn-", "-0", "_00"))]
    name, document, lacks_gold = every[data.draw(st.integers(0, len(every) - 1))]
    path = tmp_path_factory.mktemp("layouts") / "run"
    path.write_text(json.dumps(document), encoding="utf-8")
    for read in (path, document):
        try:
            table = table_of(read, gold=read if lacks_gold else None)
        except dstbench.DstbenchError:
            continue
        assert table.equals(_wanted(turns)), name


@pytest.mark.again
@pytest.mark.parametrize(
    ("ids", "states"),
    [
        ("MultiWOZ's", "flat"), pytest.param("MultiWOZ's files", "domain-slot-value", marks=pytest.mark.again),
        pytest.param("SGD's", "flat", marks=pytest.mark.again), ("of two services", "domain-slot-value"),
    ],
)  # fmt: skip
@quiet
def test_what_people_write_is_read(ids: str, states: str, here: Path) -> None:
    north = {"hotel-area": "north"}
    both = {**north, "hotel-stars": "4"}
    turns: Turns = [(IDS[ids](d), turn, state) for d in range(3) for turn, state in enumerate([{}, north, both])]
    for name, document, lacks_gold in layouts([(name, turn, STATES[states](state)) for name, turn, state in turns]):
        Path("run").write_text(json.dumps(document))
        for read in ("run", document):
            assert table_of(read, gold=read if lacks_gold else None).equals(_wanted(turns)), (name, read)


@quiet
def test_what_nothing_tells_apart_is_refused(here: Path) -> None:
    state = ["hotel-area-north", "hotel-stars-4"]
    for document, said in (
        ({"MUL0003": state}, "one state, where the states of a dialogue must be"),
        ({"MUL0003": [[], state], "MUL0004": state}, "a list of slots, which is one state"),
        ([{"id": f"d{n}", **_both(state)} for n in ("1-2", "2-0")], "ids such as 'd1-2' may end in the turn"),
        ([{"id": f"d-{n}", **_both(state)} for n in range(3)], "ids such as 'd-0' may end .* several dialogues' turns"),
        ([{"id": f"{n}-00", **_both(state)} for n in "xy"], "ids such as 'x-00' may end .*, as they are padded"),
        ({"x-00": state, "x-01": state}, "ids such as 'x-00' may end .*, as they are padded"),
        ([{"id": n, **_both(["hotel-area = a", "hotel-area = b"])} for n in "xy"], "one state or the states of sev"),
        (
            [{"id": "MUL1", "gold": [{}, state], "pred": [{}, {}]}, {"id": "MUL2", **_both(state)}],
            "list of slots|a slot",
        ),
        (
            [{"dialogue": "MUL1", "slot": "hotel-area", "gold": "a", "pred": "a"}],
            "no key says of which turn|no known format",
        ),
    ):
        Path("run").write_text(json.dumps(document))
        for read in ("run", document):
            with pytest.raises(dstbench.DstbenchError, match=said):
                table_of(read, gold=read if isinstance(document, dict) else None)


@quiet
def test_ids_that_the_user_names_stay_whole() -> None:
    records = [{"flag": f"MUL1-{turn}", **_both({})} for turn in (0, 1)]
    assert table_of(records)["dialogue"].to_list() == ["MUL1"] * 2
    assert table_of(records, keys={"id": "flag"})["dialogue"].to_list() == ["MUL1-0", "MUL1-1"]
    assert table_of(records, keys={"id": "flag", "turn": "flag"})["dialogue"].to_list() == ["MUL1"] * 2
    gaps = [{"id": f"MUL0003.json-{turn}", **_both({})} for turn in (3, 7)]  # a part of a run
    assert table_of(gaps).select("dialogue", "turn").rows() == [("MUL0003", 3), ("MUL0003", 7)]
    assert notes_of([{"dialogue_id": "1_00000", **_both({})}]) == [
        "no turn numbers: 1 record of 1 dialogue, counted in their order"
    ]


@quiet
def test_mappings_are_runs_if_their_keys_are_no_dialogues(here: Path) -> None:
    records = [{"dialogue_id": "MUL1", "turn": 0, **_both({"hotel-area": "north"})}]
    document = {"MUL1": records}
    Path("p.json").write_text(json.dumps(document))
    for data, names in (
        (document, ["states"]), ({"a": records, "b": records}, ["a", "b"]), ({"a": "p.json", "b": records}, ["a", "b"]),
        ({"config": {"model": "x"}, "details": records}, ["states"]),
        ({"mul1 seed 2": records, "MUL2": records}, ["mul1 seed 2", "MUL2"]),
    ):  # fmt: skip
        assert [run.name for run in dstbench.open_runs(data)] == names


@quiet
def test_parallel_lists_of_states() -> None:
    north = {"hotel-area": "north"}
    gold = [[north, north], [north]]
    assert dstbench.score([[north, {}], [north]], gold=gold, metrics="jga").value("jga") == 2 / 3
    for pred in ([[north, {}]], [[north, {}, {}], [north]], [[north], [north]], [north, north]):
        with pytest.raises(dstbench.DstbenchError):
            dstbench.score(pred, gold=gold)


def test_misspelt_keywords_are_refused() -> None:
    of_signatures = ["meaning_of", "sign", "parse", "differences", "explain", "doubts"]
    names_of = {
        dstbench: dstbench.__all__,
        dstbench.audit: dstbench.audit.__all__,
        dstbench.stats: dstbench.stats.__all__,
        dstbench.signature: of_signatures,
    }
    public: list[Any] = [getattr(module, name) for module, names in names_of.items() for name in names]
    seen = set()
    functions: list[Any] = [each for each in public if inspect.isfunction(each) or each is dstbench.Evaluator]
    for function in functions:
        parameters = [*inspect.signature(function).parameters.values()]
        names = {each.name for each in parameters if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)}
        passed_on = [str(each.annotation) for each in parameters if each.kind is each.VAR_KEYWORD]
        if passed_on == ["Unpack[Reading]"] and function in (dstbench.scan, dstbench.score, dstbench.turns):
            names |= {*Reading.__annotations__}
        needed: dict[str, Any] = {
            each.name: [] for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD
        }
        # Those that pass keywords on look at their data first.
        for name in names if not passed_on or function in (dstbench.scan, dstbench.score, dstbench.turns) else ():
            with pytest.raises(TypeError, match=rf"unexpected keyword argument '{name}{name[-1]}'"):
                function(**needed | {name + name[-1]: "x"})
            seen.add(f"{function.__name__} {name}")
    wanted = ("score metrics", "score gold", "scan missing", "read format", "Evaluator gold")
    assert {*wanted, "holm p", "sign metric"} <= seen
    with pytest.raises(dstbench.UsageError, match=r"^keys has no field 'idd'"):
        dstbench.score([], keys={"idd": "x"})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"profile": "star1"}, "did you mean star"),
        ({"profile": {"multi": "any"}}, "not a profile"),
        ({"metrics": "jgaa"}, "did you mean jga"),
        ({"by": "domains"}, "did you mean domain"),
        ({"missing": "right"}, "none of error, wrong, empty, intersect"),
        ({"format": "tripy"}, "did you mean trippy"),
        ({"turns_from": "one"}, "'one', not a whole number"),
        ({"turn_step": 0}, "0 is not 1 or more"),
        ({"slot_map": {"area": 1}}, "has 1, not a name"),
    ],
    ids=str,
)
def test_misspelt_choices_get_python_s_hint(wrong: dict[str, Any], said: str) -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    with pytest.raises(dstbench.UsageError) as refused:
        dstbench.score(states, **wrong)
    assert said in str(refused.value)
    assert " --" not in str(refused.value)
