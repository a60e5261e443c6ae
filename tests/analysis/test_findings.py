"""Findings in sentences: the right ones on planted runs, the same ones under other names and in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.analysis.check import badges
from dstbench.analysis.compare import Design, Leaderboard, resample
from dstbench.analysis.diagnose import Diagnosis
from dstbench.analysis.dialogue_sums import pair_up
from dstbench.analysis.findings import Finding, findings, listed, place
from dstbench.conventions.profiles import as_convention
from dstbench.demo import synthetic
from dstbench.metrics import parse_all
from dstbench.runs.open import open_runs
from dstbench.scoring.scope import open_under
from tests.corpora import States, corpora

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")

Inputs = tuple[Leaderboard, pl.DataFrame, Diagnosis, pl.DataFrame]
#: The conventions of most tests; more of them take long.
PROFILES = ("verbatim", "star", "simpletod-v0")
#: The columns of checks.
CHECKED = dict.fromkeys(("run", "check", "status", "found", "short"), pl.String) | {"n": pl.UInt32, "jga": pl.Float64}
GOLD = [
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


def predicted(pred: Callable[[int, int, dict[str, str]], dict[str, str]], dialogues: int = 20) -> States:
    """A run over dialogues of two turns; `pred` gets the dialogue's number, the turn and gold's state."""
    return [
        {"dialogue_id": f"D{d:02}", "turn": t, "gold": gold, "pred": pred(d, t, dict(gold))}
        for d in range(dialogues)
        for t, gold in enumerate(GOLD)
    ]


def without(*slots: str) -> Callable[[int, int, dict[str, str]], dict[str, str]]:
    return lambda d, t, gold: {slot: value for slot, value in gold.items() if slot not in slots}


def perfect(d: int, t: int, gold: dict[str, str]) -> dict[str, str]:
    return gold


def wrong_in(share: int, slot: str = "hotel-area") -> Callable[[int, int, dict[str, str]], dict[str, str]]:
    """Another value of a slot in the first dialogues, in both turns."""
    return lambda d, t, gold: gold | ({slot: "elsewhere"} if d < share and slot in gold else {})


def said(data: Any, **options: Any) -> dict[str, str]:
    return {finding.kind: finding.text for finding in findings(*computed(data, **options))}


def best(data: Any, **options: Any) -> str:
    """The first sentence, of the best run, to which checks and other profiles than the first do not matter."""
    return findings(*computed(data, profiles=PROFILES[:1], checked=False, **options))[0].text


def test_a_run_without_a_slot() -> None:
    texts = said({"whole": predicted(perfect), "gap": predicted(without("hotel-stars"))})
    assert texts["never"] == "gap never predicts 1 slot of gold: hotel-stars."
    assert texts["best"].startswith("whole has the highest JGA, 100.0 %: 100.0 points above gap; significantly better")
    assert texts["errors"] == (
        "Missed slots are the most frequent errors: 100.0 %, wrong values 0.0 % and over-predicted slots 0.0 %; "
        "at least 50.0 % of errors are carried over from the turn before (stale)."
    )
    both = {"a": predicted(without("hotel-stars")), "b": predicted(without("hotel-stars", "train-day"))}
    assert said(both)["never"] == (
        "No run predicts 1 slot of gold: hotel-stars; b never predicts 1 slot of gold: train-day."
    )


def test_a_slot_that_is_never_right() -> None:
    texts = said({"a": predicted(wrong_in(20)), "b": predicted(wrong_in(5, "train-day"))})
    assert texts["slots"] == (
        "a is never right on 1 slot of gold: hotel-area. The slots with the lowest F1: "
        "hotel-area (0.0 to 100.0 %) and train-day (75.0 to 100.0 %)."
    )
    assert "never" not in texts


def test_a_run_that_is_worse_by_spelling_only() -> None:
    spelled = predicted(lambda d, t, gold: {slot: f"{value.capitalize()} " for slot, value in gold.items()})
    data = {"good": predicted(wrong_in(4)), "bad": spelled}
    texts = said(data, profiles=("verbatim", "star"))
    assert texts["order"] == (
        "By convention alone, JGA changes by 0.00 (good) to 100.00 points (bad). Who is first depends on the "
        "convention: good under 1 and bad under 1 of 2 conventions. bad moves most: last under verbatim, first under "
        "star."
    )
    assert ("warn", "loses 100.0 points by spelling") in {b[:2] for b in badges(dstbench.check(data))["bad"]}


def test_an_order_that_turns() -> None:
    data = {
        "drops": predicted(without("hotel-stars")),
        "errs": predicted(wrong_in(10)),
        "worse": predicted(wrong_in(12)),
    }
    assert said(data)["order"] == (
        "By convention alone, JGA changes by 0.00 (errs) to 100.00 points (drops). Who is first depends on the "
        "convention: errs under 2 and drops under 1 of 3 conventions. drops moves most: last under verbatim, first "
        "under simpletod-v0."
    )


def test_two_equal_runs() -> None:
    data = {"a": predicted(wrong_in(5)), "b": predicted(wrong_in(5)), "c": predicted(wrong_in(15))}
    texts = said(data)
    assert texts["best"] == (
        "a and b have the same highest JGA, 75.0 %: 50.0 points above c; "
        "significantly better than c (adjusted p = 0.006)."
    )
    assert texts["order"] == (
        "By convention alone, JGA does not change. a and b are first under all 3 conventions. The order of the runs is "
        "the same under all 3 conventions."
    )
    del data["c"]
    assert best(data) == "a and b have the same JGA, 75.0 %."


def test_a_run_that_is_not_significantly_better() -> None:
    text = best(
        {"a": predicted(wrong_in(8)), "b": predicted(wrong_in(14, "hotel-stars")), "c": predicted(wrong_in(8, "x"))}
    )
    assert text.startswith("c has the highest JGA, 100.0 %: 40.0 points above a; significantly better than all others")
    close = {"a": predicted(lambda d, t, gold: gold | ({"hotel-area": "x"} if d % 2 else {})),
             "b": predicted(lambda d, t, gold: gold | ({} if d % 2 and d > 1 else {"hotel-area": "x"}))}  # fmt: skip
    inputs = computed(close, checked=False)
    p = inputs[0].differences["p_adjusted"][0]
    assert findings(*inputs)[0].text == (
        f"a has the highest JGA, 50.0 %: 5.0 points above b; not significantly better than b (p = {p:.3f})."
    )


def test_what_cannot_be_tested_is_said() -> None:
    few = {"a": predicted(perfect), "b": predicted(wrong_in(1))}
    assert best(few) == (
        "a has the highest JGA, 100.0 %: 5.0 points above b; "
        "whether it is better than b is open, as too few dialogues differ for a test."
    )
    many = {"a": predicted(perfect), "b": predicted(wrong_in(20))}
    assert best(many, resamples=10).endswith(
        "; whether it is better than b is open, as 10 resamples are too few for a test."
    )


def test_a_run_that_lacks_turns(here: Path) -> None:
    gold = [{key: s[key] for key in ("dialogue_id", "turn", "gold")} for s in predicted(perfect)]
    whole = [{key: s[key] for key in ("dialogue_id", "turn", "pred")} for s in predicted(perfect)]
    texts = {}
    for missing in ("wrong", "empty"):
        inputs = computed({"whole": whole, "short": whole[7:], "less": whole[1:]}, gold=gold, missing=missing)
        texts[missing] = {finding.kind: finding for finding in findings(*inputs)}["check"]
        assert [b[:2] for b in badges(inputs[-1])["short"]][-1] == ("warn", "7 turns missing")
        assert badges(inputs[-1])["whole"] == []
    assert texts["wrong"].text.startswith("short lacks 7 turns, which count as wrong; less lacks 1 turn.")
    assert texts["empty"].text.startswith("short lacks 7 turns, which count as empty states; less lacks 1 turn.")
    assert texts["wrong"].runs == ("short", "less")


def test_one_run() -> None:
    texts = said({"alone": predicted(wrong_in(5))})
    assert texts["best"] == (
        "alone has JGA 75.0 %; 5 of 20 dialogues end in a wrong turn, 5 of which have their first in the first half."
    )
    assert texts["order"] == "JGA is 75.0 % under all 3 conventions that suit alone."
    assert texts["slots"] == "The slots with the lowest F1: hotel-area (75.0 %)."
    assert said({"drops": predicted(without("hotel-stars"))})["order"] == (
        "JGA depends on the convention: from 0.0 % (verbatim and 1 more) to 100.0 % (simpletod-v0) under the 3 "
        "conventions that suit drops."
    )


def test_a_perfect_run_has_neither_errors_nor_bad_slots() -> None:
    assert said({"perfect": predicted(perfect)}).keys() == {"best", "order"}


def test_undefined_values_are_said() -> None:
    inputs = computed({"a": predicted(wrong_in(5)), "b": predicted(perfect), "c": predicted(wrong_in(9))})
    # A value that is undefined for one run only, as that of a user's metric may be.
    scores = inputs[0].scores.with_columns(pl.when(pl.col("run") != "b").then("value").alias("value"))
    differences = inputs[0].differences.with_columns(
        pl.when(pl.all_horizontal(pl.col("run", "other") != "b")).then(name).alias(name)
        for name in ("difference", "p", "p_adjusted", "significant")
    )
    first, order, *_ = findings(replace(inputs[0], scores=scores, differences=differences), *inputs[1:])
    assert first.text.startswith("a has the highest JGA, 75.0 %: 20.0 points above c; ")
    assert first.text.endswith("; it is undefined for b.")
    assert order.text.endswith("The order of the runs is the same under all 3 conventions.")
    empty = [{"dialogue_id": f"D{d}", "turn": 0, "gold": {}, "pred": {}} for d in range(4)]
    texts = said({"a": empty, "b": empty}, metrics="aga,jga")
    assert texts["best"] == "AGA is undefined for a and b."
    assert texts.keys() == {"best", "check"}
    assert best({"a": empty}, metrics="aga") == "AGA is undefined for a; 0 of 4 dialogues end in a wrong turn."


def test_a_metric_with_another_winner_is_named() -> None:
    data = {"a": predicted(wrong_in(5)), "b": predicted(wrong_in(8, "train-day"))}
    inputs = computed(data, metrics="precision:avg=micro,jga,error-turns", checked=False)
    precision = dict(inputs[0].scores.filter(metric="precision:avg=micro").select("run", "value").iter_rows())
    text = findings(*inputs)[0].text
    assert precision["b"] > precision["a"]
    assert text.startswith(f"b has the highest Precision (avg = micro), {100 * precision['b']:.1f} %")
    assert "By other metrics, others are first" not in text
    late = {"a": predicted(wrong_in(5)), "b": predicted(lambda d, t, gold: {} if d < 4 else gold)}
    text = best(late, metrics="recall:avg=micro,jga")
    assert text.startswith("a has the highest Recall (avg = micro), 91.7 %")
    assert "By other metrics" not in text, "b is not significantly better by JGA"
    late["a"] = predicted(wrong_in(20, "train-day"))
    text = best(late, metrics="recall:avg=micro,jga")
    assert text.startswith("a has the highest Recall (avg = micro), ")
    assert text.endswith(" By other metrics, others are first: b by JGA (80.0 %).")


def test_models_are_compared_where_they_are_named() -> None:
    data = {
        f"{model}{seed}": predicted(wrong_in(3 + seed + more))
        for model, more in (("x", 0), ("y", 9))
        for seed in (0, 1, 2)
    }
    board = dstbench.compare(data, models={"X": "x*", "Y": "y*"})
    rest = computed(data, checked=False)[1:]
    first = findings(board, *rest)[0]
    assert first.text.startswith("X has the highest JGA, 80.0 %: 45.0 points above Y; significantly better than Y (p ")
    assert first.runs == ()
    with pytest.warns(dstbench.DstbenchWarning, match="not tested"):
        board = dstbench.compare(data, models={"X": "x0,x1", "Y": "y*"}, baseline="Y")
    text = findings(board, *rest)[0].text
    assert "whether it is better than Y is open, as models of fewer than 3 runs are not tested" in text


def test_no_claim_is_made_on_runs_that_were_not_compared() -> None:
    data = {"a": predicted(perfect), "b": predicted(wrong_in(9)), "c": predicted(wrong_in(15))}
    board = dstbench.compare(data, baseline="b", resamples=200)
    text = findings(board, *computed(data, checked=False)[1:])[0].text
    assert "significantly better than b (adjusted p" in text
    assert " c " not in text


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
    more = [{**states[0], "dialogue_id": "MUL99", "turn": 0}]
    states = [*states, *more]
    shuffled = random.sample([state["pred"] for state in states], len(states))
    data = {
        "§0§": states,
        "§1§": [{**state, "pred": pred} for state, pred in zip(states, shuffled, strict=True)],
        "§2§": [{**state, "pred": {**state["gold"], **state["pred"]}} for state in states],
    }
    runs = open_runs(data)
    inputs = computed(runs, metrics="jga,f1,recall:avg=micro", resamples=50)
    found = findings(*inputs)
    hostile = {"§0§": "{}; <b>", "§1§": "%s|\\", "§2§": "a and b, $x"}

    def rename(text: str) -> str:
        for old, new in hostile.items():
            text = text.replace(old, new)
        return text

    again = [Finding(f.kind, rename(f.text), f.chapter, tuple(map(rename, f.runs))) for f in found]
    assert findings(*renamed(inputs, hostile)) == again
    assert len({finding.kind for finding in found}) == len(found) <= 6
    for finding in found:
        assert set(finding.runs) <= data.keys()
        assert len(set(finding.runs)) == len(finding.runs) > 0
        assert {name for name in data if name in finding.text} <= set(finding.runs)
    turned = {f.kind: f for f in findings(*computed(runs[::-1], "jga,f1,recall:avg=micro", resamples=50))}
    assert list(turned) == [finding.kind for finding in found]
    for finding in found:
        if finding.kind != "order":  # of two runs that trade places either may be named
            assert set(turned[finding.kind].runs) == set(finding.runs)


@pytest.mark.again
def test_the_order_of_the_data_does_not_matter_where_nothing_is_equal() -> None:
    one, two, three = open_runs(synthetic(25))
    # Each run at each place.
    orders = (one, two, three), (two, three, one), (three, one, two)
    first, *others = (findings(*computed(order)) for order in orders)
    assert all(other == first for other in others)


def test_the_real_runs(data: Path) -> None:
    files = sorted((data / "predictions" / "mwzeval").glob("*.json"))
    inputs = computed(
        files, profiles=None, resamples=10_000, gold=str(data / "multiwoz21" / "test.tsv"), missing="wrong"
    )
    texts = {finding.kind: finding.text for finding in findings(*inputs)}
    assert list(texts) == ["best", "order", "never", "check", "slots", "errors"]
    assert "JGA changes by 5.36 (damd) to 27.02 points (mintl). augpt is first under all" in texts["order"]
    assert texts["never"].startswith("soloist never predicts 7 slots of gold: ")
    assert texts["never"].count("-book ") == 5
    assert "labes lacks 615 turns, which count as wrong" in texts["check"]
    assert "soloist (3 slots unknown to gold)" in texts["check"]
    assert texts["best"].startswith("augpt has the highest JGA, 41.8 %: 5.6 points above pptod; significantly better")


def test_names_and_places_in_sentences() -> None:
    assert [listed(list("abcdefg")[:n], 5) for n in (1, 2, 5, 7)] == [
        "a", "a and b", "a, b, c, d and e", "a, b, c, d, e and 2 more"]  # fmt: skip
    assert [place(above, 30) for above in (0, 9, 10, 29)] == ["first", "tenth", "number 11", "last"]
