"""From a published score to ours: planted choices are found, and nothing is said to be what it only may be."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.analysis.findings import way_to_published
from dstbench.analysis.reconcile import reconcile

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")


def state(dialogue: str, turn: int, gold: dict[str, str], pred: dict[str, str]) -> dict[str, Any]:
    return {"dialogue_id": dialogue, "turn": turn, "gold": gold, "pred": pred}


@pytest.fixture(scope="module")
def states() -> list[dict[str, Any]]:
    """Ten turns: one wrong by case, two by dontcare, one by a predicted slot of another domain, one by its value."""
    north, any_stars = {"hotel-area": "north"}, {"hotel-area": "north", "hotel-stars": "dontcare"}
    return [
        *(state(f"MUL{number}", 0, north, north) for number in range(4)),
        state("MUL4", 0, north, {"hotel-area": "North"}),
        state("MUL5", 0, any_stars, north),
        state("MUL5", 1, any_stars, north),
        state("MUL6", 0, north, {**north, "taxi-departure": "ely"}),
        state("MUL7", 0, north, {"hotel-area": "south"}),
        state("MUL8", 0, {}, {}),
    ]


@pytest.mark.parametrize(
    ("target", "profile", "planted"),
    [
        ("50", "verbatim", []),
        pytest.param("60", "verbatim", ["case"], marks=pytest.mark.again),
        pytest.param("70", "verbatim", ["dontcare drop"], marks=pytest.mark.again),
        pytest.param("80", "verbatim", ["dontcare drop", "case"], marks=pytest.mark.again),
        pytest.param("90", "verbatim", ["dontcare drop", "case", "over gold-domains"], marks=pytest.mark.again),
        ("44.4", "verbatim", ["turns gold"]),
        pytest.param("60", "star", [], marks=pytest.mark.again),
        ("50", "star", ["no case"]),
        ("jga=80,f1=86.67", "verbatim", ["dontcare drop", "case"]),
    ],
)
def test_the_choices_that_make_a_number(
    states: list[dict[str, Any]], target: str, profile: str, planted: list[str]
) -> None:
    result = reconcile(target, states, profile=profile)
    reached = result.sets.filter("reaches")
    assert set(map(frozenset, (choices.split(" + ") for choices in reached["choices"]))) >= {frozenset(planted or [""])}
    assert {*reached["size"]} == {len(planted)}
    assert result.tried["size"].to_list() == [*range(len(planted) + 1)]
    assert result.tried["reached"][-1] == reached["choices"].n_unique()
    last = result.steps.filter(step=len(planted))
    assert all(abs(off) < 0.005 for off in last["off"])


def test_where_nothing_reaches_the_number_the_nearest_of_each_size_is_named(states: list[dict[str, Any]]) -> None:
    result = reconcile("12.34", states, most=2)
    assert not result.sets["reaches"].any()
    assert sorted(result.sets["size"]) == [0, 1, 2]
    assert result.sets["off"].abs().is_sorted()
    assert result.tried["reached"].sum() == 0


@pytest.mark.again
def test_a_choice_has_the_score_of_its_option(states: list[dict[str, Any]]) -> None:
    """Every single choice of a convention gives what `score` gives with it."""
    choices = reconcile("1", states, most=1).choices
    for name, value in choices.filter(metric="jga").select("choice", "value").iter_rows():
        about, _, setting = name.rpartition(" ")
        if about.replace("-", "_") in ("dontcare", "none", "multi", "match", "over", "turns", "unit", "booking"):
            convention = dstbench.profile("verbatim", **{about.replace("-", "_"): setting})
            assert dstbench.score(states, metrics="jga", profile=convention).value("jga") == value, name


def test_a_change_is_of_its_own_metric(states: list[dict[str, Any]]) -> None:
    result = reconcile("jga=1,sa=2", states, most=1)
    before = dict(result.steps.filter(step=0).select("metric", "value").iter_rows())
    assert before["jga"] != before["sa"]
    for metric, value, change in result.choices.select("metric", "value", "change").iter_rows():
        assert change == pytest.approx(value - before[metric])


@pytest.mark.again
def test_another_gold_and_turns_without_a_prediction_together(states: list[dict[str, Any]]) -> None:
    """Both are opened at once: the pair has the score of both options."""
    gold = [{key: one[key] for key in ("dialogue_id", "turn", "gold")} for one in states]
    theirs = [*({**one, "gold": {"hotel-area": "south"}} for one in gold[:2]), *gold[2:]]
    predicted = [{key: one[key] for key in ("dialogue_id", "turn", "pred")} for one in states[:8]]
    score = dstbench.score(predicted, gold=theirs, missing="intersect", metrics="jga,rsa").to_dict()
    target = ",".join(f"{name}={100 * (value or 0):.2f}" for name, value in score.items())
    result = reconcile(target, predicted, gold=gold, missing="wrong", other_golds={"theirs": theirs})
    reached = {frozenset(choices.split(" + ")) for choices in result.sets.filter("reaches")["choices"]}
    assert {"gold theirs", "missing intersect"} in reached


def test_where_no_choice_changes_anything() -> None:
    result = reconcile("50", [state("A", 0, {}, {})])
    assert result.sets.select("choices", "value", "reaches").rows() == [("", 1.0, False)]
    assert result.tried["sets"].to_list() == [1, 0, 0, 0, 0]


# --- real predictions: five published numbers, and five of two choices that seeds chose -------------------------------

T5, ZERO_SHOT = "gca_t5_train/ratio_1.0_seed_557_prediction.json", "gca_t5_train/zeroshot_restaurant.json"
TRIPPY, AUGPT, UBAR = "trippy/trippy_result.json", "mwzeval/augpt.json", "mwzeval/ubar.json"


def of_run(data: Path, run: str) -> tuple[Path, dict[str, Any]]:
    gold = {"gold": data / "multiwoz21" / "test.tsv"} if run.startswith("mwzeval") else {}
    return data / "predictions" / run, gold


def found(target: str, data: Path, run: str, **more: Any) -> tuple[set[frozenset[str]], str]:
    """The sets of choices that reach a number, in little time, and what is said of them."""
    path, gold = of_run(data, run)
    began = time.process_time()
    result = reconcile(target, path, **gold, **more)
    assert time.process_time() - began < 30  # on an idle machine ten
    sets = {frozenset(choices.split(" + ")) for choices in result.sets.filter("reaches")["choices"]}
    words = way_to_published(result)[0]
    assert (" alone of the " in words) == (len(sets) == 1 and all(len(one) <= 4 for one in sets))  # nothing else fits
    assert (" does not tell " in words) == (len(sets) > 1)
    return sets, words


@pytest.mark.parametrize(
    ("target", "run", "choices"),
    [
        ("jga=37.57,sa=95.73", TRIPPY, {"steps of trippy", "label-map"}),
        (
            "38.71",  # MultiWOZ_Evaluation's own, on gold of MultiWOZ 2.1
            AUGPT,
            {"booking as-written", "steps of mwzeval@faithful", "dontcare drop-gold", "multi first",
             "match partial-best:above=0.95"},
        ),
        ("jga=24.89,sa=91.84", ZERO_SHOT, {"slots dstc10-19"}),
        ("32.00", ZERO_SHOT, {"dontcare skip", "over free"}),
        ("77.37", T5, {"none drop-pred"}),  # TRADE's counting
    ],
)  # fmt: skip
def test_the_choices_that_make_a_published_number(
    data: Path, here: Path, target: str, run: str, choices: set[str]
) -> None:
    labels = here / "labels.json"
    labels.write_text('{"centre": ["center"]}', encoding="utf-8")  # of TripPy's map
    sets, _ = found(target, data, run, **({"labels": labels} if run == TRIPPY else {}))
    assert frozenset(choices) in sets


CHOSEN = {
    "dontcare": ["drop", "drop-gold", "skip"], "over": ["free", "gold-domains"], "turns": ["gold", "last"],
    "unit": ["frame"], "none": ["keep", "drop-gold"], "match": ["levenshtein:above=0.9", "partial:above=0.95"],
    "multi": ["any", "first"], "steps": ["case", "space", "times", "typos", "booleans", "tokens"],
}  # fmt: skip


@pytest.mark.parametrize(("seed", "run"), [*enumerate((TRIPPY, AUGPT, ZERO_SHOT, T5, UBAR))])
def test_two_choices_that_a_seed_chose(data: Path, seed: int, run: str) -> None:
    draw = random.Random(seed)  # noqa: S311
    path, gold = of_run(data, run)

    def score(choices: list[tuple[str, str]]) -> float | None:
        fields = dict(choices)
        steps = {} if "steps" not in fields else dict.fromkeys(("gold_steps", "pred_steps"), (fields.pop("steps"),))
        convention = dstbench.profile("verbatim", **fields, **steps)
        return dstbench.score(path, metrics="jga", profile=convention, **gold).value("jga")

    values: list[float | None] = []
    while len({*values}) < 4:  # until each of two choices changes the score
        planted = [(name, draw.choice(CHOSEN[name])) for name in draw.sample(sorted(CHOSEN), 2)]
        values = [score(choices) for choices in ([], planted[:1], planted[1:], planted)]
    sets, _ = found(f"{100 * (values[-1] or 0):.2f}", data, run)
    assert frozenset(value if name == "steps" else f"{name} {value}" for name, value in planted) in sets
