"""Findings in sentences: the right ones on planted runs, the same ones under other names and in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.analysis.compare import Design, Leaderboard, resample
from dstbench.analysis.diagnose import Diagnosis
from dstbench.analysis.dialogue_sums import pair_up
from dstbench.analysis.findings import Finding, conclusion, findings, listed, place
from dstbench.conventions.profiles import as_convention
from dstbench.demo import synthetic
from dstbench.metrics import parse_all
from dstbench.runs.open import open_runs
from dstbench.scoring.validation import open_under
from tests.corpora import States, corpora

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")

Inputs = tuple[Leaderboard, pl.DataFrame, Diagnosis, pl.DataFrame]
State = dict[str, str]
#: The conventions of most tests; more of them take long.
PROFILES: Final = ("verbatim", "star", "simpletod-v0")
#: The columns of checks.
CHECKED: Final = dict.fromkeys(("run", "check", "status", "found", "short"), pl.String) | {
    "n": pl.UInt32,
    "jga": pl.Float64,
}
GOLD: Final[list[State]] = [
    {"hotel-area": "north", "hotel-stars": "dontcare"},
    {"hotel-area": "north", "hotel-stars": "dontcare", "train-day": "monday", "hotel-book day": "tuesday"},
]


def computed(
    data: Any,
    metrics: str = "jga",
    profiles: tuple[str, ...] | None = PROFILES,
    resamples: int = 200,
    *,
    checked: bool = True,
    **reading: Any,
) -> Inputs:
    """What `findings` takes, as a report computes it; or without checks."""
    convention = as_convention("verbatim")
    runs = open_under(convention, data, **reading)
    return (
        resample(pair_up(runs, parse_all(metrics), convention), Design(resamples)),
        dstbench.sweep(runs, metrics=str(parse_all(metrics)[0]), profiles=profiles),
        dstbench.diagnose(runs),
        dstbench.check(runs) if checked else pl.DataFrame(schema=CHECKED),
    )


def predicted(pred: Callable[[int, State], State], dialogues: int = 20) -> States:
    """A run over dialogues of two turns; `pred` gets the dialogue's number and gold's state."""
    return [
        {"dialogue_id": f"D{d:02}", "turn": t, "gold": gold, "pred": pred(d, dict(gold))}
        for d in range(dialogues)
        for t, gold in enumerate(GOLD)
    ]


def without(*slots: str) -> States:
    return predicted(lambda d, gold: {slot: value for slot, value in gold.items() if slot not in slots})


def wrong_in(share: int, slot: str = "hotel-area") -> States:
    """Another value of a slot in the first dialogues, in both turns."""
    return predicted(lambda d, gold: gold | ({slot: "elsewhere"} if d < share and slot in gold else {}))


PERFECT: Final = predicted(lambda d, gold: gold)
EMPTY: Final = [{"dialogue_id": f"D{d}", "turn": 0, "gold": {}, "pred": {}} for d in range(4)]
ODD: Final = predicted(lambda d, gold: gold | ({"hotel-area": "x"} if d % 2 else {}))
EVEN: Final = predicted(lambda d, gold: gold | ({} if d % 2 and d > 1 else {"hotel-area": "x"}))
EARLY: Final = predicted(lambda d, gold: {} if d < 4 else gold)


def said(data: Any, **options: Any) -> dict[str, str]:
    return {finding.kind: finding.text for finding in findings(*computed(data, **options))}


def best(data: Any, **options: Any) -> str:
    """The first sentence, of the best run, to which checks and other profiles than the first do not matter."""
    return findings(*computed(data, profiles=PROFILES[:1], checked=False, **options))[0].text


#: Runs, each with the findings of a kind that are made of them.
PLANTED: Final[list[tuple[dict[str, States], dict[str, str]]]] = [
    ({"whole": PERFECT, "gap": without("hotel-stars")}, {
        "never": "gap never predicts 1 slot of gold: hotel-stars.",
        "errors": "Missed slots are the most frequent errors: 100.0 %, wrong values 0.0 % and over-predicted slots "
        "0.0 %; at least 50.0 % of errors are carried over from the turn before (stale).",
    }),
    ({"a": without("hotel-stars"), "b": without("hotel-stars", "train-day")}, {
        "never": "No run predicts 1 slot of gold: hotel-stars; b never predicts 1 slot of gold: train-day.",
    }),
    ({"a": wrong_in(20), "b": wrong_in(5, "train-day")}, {
        "slots": "a is never right on 1 slot of gold: hotel-area. The slots with the lowest F1: hotel-area (0.0 to "
        "100.0 %) and train-day (75.0 to 100.0 %).",
    }),
    ({"drops": without("hotel-stars"), "errs": wrong_in(10), "worse": wrong_in(12)}, {
        "order": "By convention alone, JGA changes by 0.00 (errs) to 100.00 points (drops). Who is first depends on "
        "the convention: errs under 2 and drops under 1 of 3 conventions. drops moves most: last under verbatim, "
        "first under simpletod-v0.",
    }),
    ({"a": wrong_in(5), "b": wrong_in(5), "c": wrong_in(15)}, {
        "best": "a and b have the same highest JGA, 75.0 %: 50.0 points above c; significantly better than c "
        "(adjusted p = 0.006).",
        "order": "By convention alone, JGA does not change. a and b are first under all 3 conventions. The order of "
        "the runs is the same under all 3 conventions.",
    }),
    ({"alone": wrong_in(5)}, {
        "best": "alone has JGA 75.0 %; 5 of 20 dialogues end in a wrong turn, and in 5 of these the first wrong turn "
        "is in the first half.",
        "order": "JGA is 75.0 % under all 3 conventions that suit alone.",
        "slots": "The slots with the lowest F1: hotel-area (75.0 %).",
    }),
    ({"drops": without("hotel-stars")}, {
        "order": "JGA depends on the convention: from 0.0 % (verbatim and 1 more) to 100.0 % (simpletod-v0) under the "
        "3 conventions that suit drops.",
    }),
]  # fmt: skip


@pytest.mark.again
@pytest.mark.parametrize(("runs", "wanted"), PLANTED)
def test_planted_runs(runs: dict[str, States], wanted: dict[str, str]) -> None:
    texts = said(runs)
    assert {kind: texts[kind] for kind in wanted} == wanted


#: Runs, options, and the first sentence on them.
FIRST: Final[list[tuple[dict[str, States], dict[str, Any], str]]] = [
    ({"a": wrong_in(5), "b": wrong_in(5)}, {}, "a and b have the same JGA, 75.0 %."),
    ({"a": wrong_in(8), "b": wrong_in(14, "hotel-stars"), "c": wrong_in(8, "x")}, {},
     "c has the highest JGA, 100.0 %: 40.0 points above a; significantly better than all others (highest adjusted p "
     "= 0.018)."),
    ({"a": ODD, "b": EVEN}, {},
     "a has the highest JGA, 50.0 %: 5.0 points above b; not significantly better than b (p = 1.000)."),
    ({"a": PERFECT, "b": wrong_in(1)}, {},
     "a has the highest JGA, 100.0 %: 5.0 points above b; whether it is better than b is open, as too few dialogues "
     "differ for a test."),
    ({"a": PERFECT, "b": wrong_in(20)}, {"resamples": 10},
     "a has the highest JGA, 100.0 %: 100.0 points above b; whether it is better than b is open, as 10 resamples are "
     "too few for a test."),
    ({"a": EMPTY, "b": EMPTY}, {"metrics": "aga,jga"}, "AGA is undefined for a and b."),
    ({"a": EMPTY}, {"metrics": "aga"}, "AGA is undefined for a; 0 of 4 dialogues end in a wrong turn."),
]  # fmt: skip


@pytest.mark.parametrize(("runs", "options", "wanted"), FIRST)
def test_the_best_run(runs: dict[str, States], options: dict[str, Any], wanted: str) -> None:
    assert best(runs, **options) == wanted


@pytest.mark.again
def test_a_run_that_lacks_turns(here: Path) -> None:
    gold, whole = (
        [{key: s[key] for key in ("dialogue_id", "turn", side)} for s in PERFECT] for side in ("gold", "pred")
    )
    for missing, words in (("wrong", "count as wrong"), ("empty", "count as empty states")):
        inputs = computed({"whole": whole, "short": whole[7:], "less": whole[1:]}, gold=gold, missing=missing)
        (found,) = (finding for finding in findings(*inputs) if finding.kind == "check")
        assert found.text.startswith(f"short lacks 7 turns, which {words}; less lacks 1 turn.")
        assert found.runs == ("short", "less")


def test_a_perfect_run_has_neither_errors_nor_bad_slots() -> None:
    assert said({"perfect": PERFECT}).keys() == {"best", "order"}


def test_a_run_without_a_value_is_named_last() -> None:
    inputs = computed({"a": wrong_in(5), "b": PERFECT, "c": wrong_in(9)})
    # A value that is undefined for one run only, as that of a user's metric may be.
    scores = inputs[0].scores.with_columns(pl.when(pl.col("run") != "b").then("value").alias("value"))
    differences = inputs[0].differences.with_columns(
        pl.when(pl.all_horizontal(pl.col("run", "other") != "b")).then(name).alias(name)
        for name in ("difference", "p", "p_adjusted", "significant")
    )
    first, *_ = findings(replace(inputs[0], scores=scores, differences=differences), *inputs[1:])
    assert first.text.startswith("a has the highest JGA, 75.0 %: 20.0 points above c; ")
    assert first.text.endswith("; it is undefined for b.")


def test_a_metric_with_another_winner_is_named_if_it_is_no_chance() -> None:
    text = best({"a": wrong_in(5), "b": EARLY}, metrics="recall:avg=micro,jga")
    assert text.startswith("a has the highest Recall (avg = micro), 91.7 %")
    assert "By other metrics" not in text, "b is not significantly better by JGA"
    text = best({"a": wrong_in(20, "train-day"), "b": EARLY}, metrics="recall:avg=micro,jga")
    assert text.endswith(" By other metrics, others are first: b by JGA (80.0 %).")


@pytest.mark.again
def test_models_are_compared_where_they_are_named() -> None:
    data = {f"{model}{seed}": wrong_in(3 + seed + more) for model, more in (("x", 0), ("y", 9)) for seed in (0, 1, 2)}
    rest = computed(data, checked=False)[1:]
    first = findings(dstbench.compare(data, models={"X": "x*", "Y": "y*"}), *rest)[0]
    assert first.text.startswith("X has the highest JGA, 80.0 %: 45.0 points above Y; significantly better than Y (p ")
    assert first.runs == ()
    board = dstbench.compare(data, models={"X": "x0,x1", "Y": "y*"}, baseline="Y")
    text = findings(board, *rest)[0].text
    assert "whether it is better than Y is open, as models of fewer than 3 runs are not tested" in text


def test_no_claim_is_made_on_runs_that_were_not_compared() -> None:
    data = {"a": PERFECT, "b": wrong_in(9), "c": wrong_in(15)}
    board = dstbench.compare(data, baseline="b", resamples=200)
    text = findings(board, *computed(data, checked=False)[1:])[0].text
    assert "significantly better than b (adjusted p" in text
    assert " c " not in text


#: Runs, and the sentences on their diagnosis.
DIAGNOSED: Final[list[tuple[dict[str, States], list[str]]]] = [
    ({"states": PERFECT}, ["no dialogue fails"]),
    ({"states": without("train-day", "hotel-book day")}, [
        "100.0 % of dialogues fail, half of these within the first 60 % of their turns",
        "Missed slots are the most frequent errors: 100.0 %, wrong values 0.0 % and over-predicted slots 0.0 %; at "
        "least 0.0 % of errors are carried over from the turn before (stale)",
        "states never predicts 2 slots of gold: hotel-book day and train-day",
    ]),
    ({"good": wrong_in(5), "bad": wrong_in(15)}, [
        "25.0 % (good) to 75.0 % (bad) of dialogues fail, half of these within the first 10 % of their turns",
        "Wrong values are the most frequent errors: 100.0 %, missed slots 0.0 % and over-predicted slots 0.0 %; at "
        "least 50.0 % of errors are carried over from the turn before (stale)",
        "The slots with the lowest F1: hotel-area (25.0 to 75.0 %)",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("runs", "wanted"), DIAGNOSED)
def test_a_diagnosis(runs: dict[str, States], wanted: list[str]) -> None:
    assert conclusion(dstbench.diagnose(runs)) == wanted


def renamed(inputs: Inputs, names: Mapping[str, str]) -> Inputs:
    """The same results of runs with other names."""

    def rename(frame: pl.DataFrame) -> pl.DataFrame:
        columns = [name for name in ("run", "other") if name in frame.columns]
        return frame.with_columns(pl.col(columns).replace(names)) if columns else frame

    board, swept, diagnosis, checks = inputs
    return (
        Leaderboard(**{name: rename(frame) for name, frame in vars(board).items()}),
        rename(swept),
        Diagnosis(**{name: rename(frame) for name, frame in vars(diagnosis).items()}),
        rename(checks),
    )


@pytest.mark.again
@given(corpora(max_dialogues=12), st.randoms(use_true_random=False))
@settings(max_examples=4)
def test_names_are_only_names(states: States, random: Any) -> None:
    states = [*states, {**states[0], "dialogue_id": "MUL99", "turn": 0}]
    shuffled = random.sample([state["pred"] for state in states], len(states))
    data = {
        "§0§": states,
        "§1§": [{**state, "pred": pred} for state, pred in zip(states, shuffled, strict=True)],
        "§2§": [{**state, "pred": {**state["gold"], **state["pred"]}} for state in states],
    }
    inputs = computed(open_runs(data), metrics="jga,f1,recall:avg=micro", resamples=50)
    found = findings(*inputs)
    hostile = {"§0§": "{}; <b>", "§1§": "%s|\\", "§2§": "a and b, $x"}

    def rename(text: str) -> str:
        for old, new in hostile.items():
            text = text.replace(old, new)
        return text

    again = [Finding(f.kind, rename(f.text), f.chapter, tuple(map(rename, f.runs))) for f in found]
    assert findings(*renamed(inputs, hostile)) == again
    for finding in found:
        assert len(set(finding.runs)) == len(finding.runs) > 0
        assert {name for name in data if name in finding.text} <= set(finding.runs) <= data.keys()


@pytest.mark.again
def test_the_order_of_the_data_does_not_matter_where_nothing_is_equal() -> None:
    one, two, three = open_runs(synthetic(25))
    orders = (one, two, three), (two, three, one), (three, one, two)  # each run at each place
    first, *others = (findings(*computed(order)) for order in orders)
    assert all(other == first for other in others)


def test_names_and_places_in_sentences() -> None:
    assert [listed(list("abcdefg")[:n], 5) for n in (1, 2, 5, 7)] == [
        "a", "a and b", "a, b, c, d and e", "a, b, c, d, e and 2 more"]  # fmt: skip
    assert [place(above, 30) for above in (0, 9, 10, 29)] == ["first", "tenth", "number 11", "last"]
