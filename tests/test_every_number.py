"""No number that is wrong in silence: laws over every format, profile and metric there is.

A profile or metric that is added to its registry is in these laws without a line here; a format, once
`tests.formats` writes the example in it. Whatever a law does not hold of is listed by name, with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.analysis.show import walk_through
from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import is_dontcare
from dstbench.conventions.profiles import PROFILES
from dstbench.demo import synthetic
from dstbench.metrics import REGISTRY
from dstbench.runs.open import open_runs
from tests.corpora import OF_FRAMES, States, dialogues, has_other_slots, is_refused

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")

#: All metrics but those that only files with frames have (`tests.metrics.test_sgd`).
METRICS: Final = [name for name in REGISTRY if name not in OF_FRAMES]
SHARES: Final = [name for name in METRICS if not REGISTRY[name].is_count]
ALL: Final = ",".join([*METRICS, "gca:counting=paper", "f1:avg=micro", "precision:avg=micro", "recall:avg=micro"])

# --- corpora of many kinds -------------------------------------------------------------------------------------------

#: MultiWOZ's slots; one of them beside an unknown one; a dataset of its own; another language; SGD's services.
KINDS: Final[dict[str, tuple[str, ...]]] = {
    "MultiWOZ": ("hotel-area", "hotel-name", "restaurant-book day", "train-leaveat", "taxi-departure"),
    "one known slot": ("hotel-area", "spa-pool", "spa-name"),
    "unknown slots": ("spa-pool", "spa-name", "gym-opening hours"),
    "another language": ("酒店-区域", "餐馆-名称", "Bahn-Abfahrt"),
    "SGD": ("Hotels_1-city", "Hotels_1-stars", "Buses_3-from-city"),
}
VALUES: Final = (
    *("north", "Guest House", "17:15", "4", "北", "a-b c"),
    *("dontcare", "none", "", "center", "cheap|moderate"),
)
#: Equal to no value above, nor near to one, in any convention.
NOWHERE: Final = "zzqq xxkk"


#: What the state of a turn may be, of a kind.
_TURNS: Final = {
    kind: st.dictionaries(st.sampled_from(slots), st.sampled_from(VALUES), max_size=3) for kind, slots in KINDS.items()
}


@st.composite
def corpora(draw: st.DrawFn, kind: str | None = None) -> States:
    """Dialogues of one of the kinds, whose states come and go; ids are MultiWOZ's where its slots are.

    Or a few dialogues of each kind, as what is wrong with one of them shows in the whole, too.
    """
    kind = kind or draw(st.sampled_from([*KINDS, *["all"] * len(KINDS)]))
    if kind != "all":
        prefix = "MUL" if kind == "MultiWOZ" else "1_"
        return dialogues(draw, _TURNS[kind], prefix=prefix, most=6, most_turns=4)
    parts = (dialogues(draw, turns, prefix=f"{n}_", most=3, most_turns=3) for n, turns in enumerate(_TURNS.values()))
    return [state for part in parts for state in part]


def values(states: Any, profile: Convention, metrics: str = ALL) -> dict[str, float | None]:
    rows = dstbench.score(states, metrics=metrics, profile=profile)
    return dict(zip(rows["metric"], rows["value"], strict=True))


def predicting(states: States, side: str | None) -> States:
    """The same gold, with gold's states predicted, or empty ones."""
    return [{**state, "pred": state[side] if side else {}} for state in states]


profiles = st.sampled_from(list(PROFILES.values()))
EVERY = settings()


# --- the ends of the scale -------------------------------------------------------------------------------------------

#: Profiles that treat the two sides differently, so that gold itself is not a perfect prediction of all of gold.
TWO_SIDED: Final = {
    "trade@faithful": "gold's `none` is kept, and only a prediction's dropped; its labels are fixed in gold only",
    "trade@fixed": "labels are fixed in gold only",
    "som-dst@faithful": "labels are fixed in gold only",
    "som-dst@fixed": "labels are fixed in gold only",
    "t5dst@faithful": "gold's `none` is kept, and only a prediction's dropped",
    "mwzeval@faithful": "dontcare is dropped in gold only, and of gold the first alternative taken",
    "mwzeval@mapped": "likewise, and booking times are normalised in predictions only",
    "mwzeval@fixed": "of gold the first alternative is taken",
}
#: Metrics that a perfect prediction need not have at 1.
BELOW_ONE: Final = {
    **dict.fromkeys(("rsa", "soft-rsa"), "a turn in which both states are empty has 0"),
    **dict.fromkeys(
        ("gca", "soft-gca", "gca-vr", "gca-lr"),
        "a slot that both sides drop in one turn counts as correct and as missed, as released",
    ),
}
#: Metrics that ask whether the right slots change, whatever their values.
OF_LABELS: Final = ("gca-lp", "gca-lr")


def cares(value: str) -> bool:
    """Whether a value is one under every profile."""
    return value not in ("none", "") and not is_dontcare(value)


def is_plain(states: States) -> bool:
    """Whether no value means absent, dontcare or several, so that all profiles agree on what gold is."""
    return not any(
        value == "center" or "|" in value or not cares(value) for state in states for value in state["gold"].values()
    )


@EVERY
@given(corpora(), profiles)
def test_gold_against_itself_is_perfect(states: States, profile: Convention) -> None:
    assume(not is_refused(states, profile) and not has_other_slots(states))
    name = profile.name.rpartition(".")[0]
    if name in TWO_SIDED:
        assume(is_plain(states))
    found = values(predicting(states, "gold"), profile)
    for metric, value in found.items():
        head = metric.partition(":")[0]
        if head in SHARES and metric not in BELOW_ONE:
            assert value is None or value == pytest.approx(1, abs=1e-12), (name, metric)
        if head in ("wrong", "missed", "over", "error-turns"):
            assert value == 0
    # JGA is undefined only where nothing is scored: frames, of which there may be none.
    assert found["jga"] == (None if profile.unit == "frame" and found["correct"] == 0 else 1)


@EVERY
@example(
    [{"dialogue_id": "1_0", "turn": 0, "gold": {"spa-pool": "4"}, "pred": {}}], PROFILES["trippy"]
)  # was 100 in silence
@example(
    [{"dialogue_id": "1_0", "turn": 0, "gold": {"hotel-area": "north", "spa-pool": "4"}, "pred": {}}], PROFILES["star"]
)
@given(corpora(), profiles)
def test_what_is_wrong_everywhere_scores_0_and_never_1(states: States, profile: Convention) -> None:
    states = [state for state in states if any(cares(value) for value in state["gold"].values())]
    assume(states)
    wrong = [{**s, "pred": dict.fromkeys(s["gold"], NOWHERE)} for s in states]
    if is_refused(states, profile):
        with pytest.raises(dstbench.DstbenchError, match="none of gold's"):
            values(wrong, profile)
        return
    for metric, value in values(wrong, profile).items():
        if (head := metric.partition(":")[0]) in SHARES and head not in OF_LABELS:
            assert value is None or value < 1, metric
        if metric in ("jga", "aga", "iaga", "correct", "f1:avg=micro"):
            assert value in (0, None), metric
        assert metric != "jga" or value == 0


@EVERY
@given(corpora(), profiles)
def test_one_right_slot_does_not_hide_one_that_is_always_wrong(states: States, profile: Convention) -> None:
    """However the other is called: what a slot set leaves out of gold never looks like success."""
    gold = {"hotel-area": "north", "spa-pool": "4"}
    states = [{**state, "gold": gold, "pred": {**gold, "spa-pool": NOWHERE}} for state in states]
    found = values(states, profile)
    for metric in SHARES:
        if metric not in OF_LABELS:
            assert found[metric] is None or found[metric] != 1 or profile.unit == "frame", metric
    assert found["jga"] == (0.5 if profile.unit == "frame" else 0)


@pytest.mark.parametrize("by", ["run", "domain", "slot"])
def test_a_none_that_is_a_value_is_of_a_slot_that_is_scored(by: str) -> None:
    """Under a profile that keeps `none`, gold with it in a scored slot is not refused; was, as if it had none."""
    states = [{"dialogue_id": "1_0", "turn": 0, "gold": {"hotel-area": "none", "spa-pool": "4"}, "pred": {}}]
    for name in ("dstc10", "fga2022@fixed"):
        assert dstbench.score(states, metrics="jga", by=by, profile=name)["value"].to_list() in ([0], [0, 0])
    with pytest.raises(dstbench.DstbenchError, match="none of gold's 1 slots, such as spa-pool, is in multiwoz-30"):
        dstbench.score(states, metrics="jga", by=by, profile="star")


@EVERY
@given(corpora(), profiles)
def test_an_empty_prediction_has_the_share_of_empty_gold(states: States, profile: Convention) -> None:
    assume(not is_refused(states, profile) and not has_other_slots(states))
    run = open_runs(predicting(states, None))
    turns = dstbench.turns(run, profile=profile)
    found = values(run, profile)
    if profile.unit == "turn":
        assert found["jga"] == pytest.approx((turns["n_gold"] == 0).mean())
    assert found["correct"] == found["over"] == found["wrong"] == 0
    assert found["recall:avg=micro"] in (0, 1)
    for metric in ("aga", "iaga", "soft-aga"):
        assert found[metric] in (0, None)


# --- worse is never better -------------------------------------------------------------------------------------------

#: Metrics of which a prediction that is made worse may score higher, and why.
NOT_MONOTONE: Final = {
    "fga": "a turn that was right and now is wrong makes the next wrong turn one that only carries an old error",
    "tla": "as fga: the next wrong turn is no error of its own any more",
    "gca": "a value that is missed in one turn only is one change less on both sides",
    "gca:counting=paper": "likewise",
    **dict.fromkeys(("soft-gca", "gca-vp", "gca-vr", "gca-lp", "gca-lr"), "as gca"),
}
MONOTONE: Final = [
    metric for metric in ALL.split(",") if metric.partition(":")[0] in SHARES and metric not in NOT_MONOTONE
]


@EVERY
@given(corpora(), profiles, st.data())
def test_a_spoilt_prediction_never_scores_higher(states: States, profile: Convention, data: st.DataObject) -> None:
    """One pair that is right is lost or becomes wrong, or a slot is invented; read backwards: a mended one."""
    assume(not is_refused(states, profile) and not has_other_slots(states))
    at = data.draw(st.integers(0, len(states) - 1))
    gold, pred = states[at]["gold"], states[at]["pred"]
    right = [slot for slot, value in gold.items() if pred.get(slot) == value and is_plain([states[at]])]
    free = [slot for kind in KINDS.values() for slot in kind if slot not in gold and slot not in pred]
    how = data.draw(st.sampled_from(["lost", "wrong", "invented"] if right else ["invented"]))
    if how == "invented":
        spoilt = {**pred, data.draw(st.sampled_from(free)): NOWHERE}
    else:
        slot = data.draw(st.sampled_from(right))
        kept = {s: value for s, value in pred.items() if s != slot}
        spoilt = kept if how == "lost" else {**kept, slot: NOWHERE}
    worse = [{**state, "pred": spoilt} if number == at else state for number, state in enumerate(states)]
    assume(not is_refused(worse, profile) and not has_other_slots(worse))
    before, after = (values(one, profile, ",".join(MONOTONE)) for one in (states, worse))
    for metric in MONOTONE:
        high, low = before[metric], after[metric]
        assert high is None or low is None or low <= high + 1e-12, (profile.name, metric, how)


# --- one number, wherever it is asked for ----------------------------------------------------------------------------


@EVERY
@given(corpora(), profiles, st.permutations(ALL.split(",")), st.integers(1, 5))
def test_a_score_does_not_depend_on_what_else_is_asked_for(
    states: States, profile: Convention, order: list[str], count: int
) -> None:
    assume(not is_refused(states, profile) and not has_other_slots(states))
    whole = {row["metric"]: row for row in dstbench.score(states, metrics=ALL, profile=profile).to_dicts()}
    runs = {"other": predicting(states, "gold"), "states": states}
    rows = dstbench.score(runs, metrics=order[:count], profile=profile).filter(run="states")
    assert rows["metric"].to_list() == order[:count]
    for row in rows.to_dicts():
        assert row == whole[row["metric"]]


@pytest.mark.again
@pytest.mark.parametrize("profile", ["mwzeval", "sgd"])
def test_every_function_gives_one_signature_one_value(profile: str) -> None:
    opened = open_runs(synthetic(40, trackers=["careful", "eager"]))  # whose rows are laid out once for all functions
    runs = {run.name: run for run in opened}
    metrics = ",".join(METRICS)
    seen: dict[tuple[str, str], set[tuple[str, float | None]]] = {}

    def note(where: str, rows: pl.DataFrame) -> None:
        assert rows.height, where
        for run, signature, value in rows.select("run", "signature", "value").iter_rows():
            seen.setdefault((run, signature), set()).add((where, value))

    note("score", dstbench.score(runs, metrics=metrics, profile=profile))
    note("score, one run", dstbench.score({"eager": runs["eager"]}, metrics=metrics, profile=profile))
    note("compare", dstbench.compare(runs, metrics=metrics, profile=profile, resamples=20).scores)
    sql = "SELECT run, signature, value FROM scores"
    note("query", dstbench.query(sql, runs, metrics=metrics, profile=profile))
    if profile != "sgd":  # it does not suit MultiWOZ's slots
        name = profile if profile in PROFILES else f"{profile}@faithful"
        note("sweep", dstbench.sweep(runs, metrics=metrics, profiles=[name, "verbatim"]).filter(profile=name))
    report = dstbench.report(runs, metrics="jga,sa,rsa,fga,gca", profile=profile, most=3)
    note("report", report.leaderboard.scores)
    for by, rows in (("domain", report.by_domain), ("turn", report.by_turn)):
        asked = ",".join(rows["metric"].unique(maintain_order=True))
        keys = ["run", by, "metric", "signature"]
        again = dstbench.score(runs, metrics=asked, by=by, profile=profile)
        both = rows.join(again, on=keys, suffix="_again")
        assert both.height == rows.height == again.height
        assert both["value"].equals(both["value_again"], check_names=False, null_equal=True)
    dialogue = runs["eager"].read()["dialogue"][0]
    walk = walk_through({"eager": runs["eager"]}, dialogue, metrics=metrics, profile=profile)
    wanted = dstbench.score({"eager": runs["eager"]}, metrics=metrics, by="dialogue", profile=profile).filter(
        dialogue=dialogue
    )
    shown = walk.scores.filter(pl.col("turn").is_null())
    both = shown.join(wanted, on="metric", suffix="_wanted")
    assert both["value"].equals(both["value_wanted"], check_names=False, null_equal=True)
    diagnosed = dstbench.diagnose(runs, profile=profile).by_turn
    again = dstbench.score(runs, metrics="jga", by="turn", profile=profile)
    both = diagnosed.join(again, on=["run", "turn", "signature"], suffix="_again")
    assert both.height == diagnosed.height
    assert both["value"].equals(both["value_again"], check_names=False, null_equal=True)
    for key, found in seen.items():
        assert len({value for _, value in found}) == 1, (key, found)


def test_trippys_dialogues_score_as_the_authors_scripts_print_them(data: Path) -> None:
    """FGA at four λ and GCA of each of 1,000 dialogues, to the two decimals that are published."""
    published = json.loads((data / "published" / "trippy_per_dialogue.json").read_text())
    metrics = "fga:lam=0.25,fga:lam=0.5,fga:lam=0.75,fga:lam=1.0,gca"
    for profile in ("gca2024@faithful", "gca2024@fixed"):
        rows = dstbench.score(
            data / "predictions" / "trippy" / "trippy_result.json", metrics=metrics, by="dialogue", profile=profile
        )
        table = rows.pivot(on="metric", index="dialogue", values="value")
        found = {row[0]: [round(100 * value, 2) for value in row[1:]] for row in table.iter_rows()}
        assert found.keys() == published.keys()
        differ = {name for name in found if found[name] != pytest.approx(published[name], abs=1e-9)}
        assert not differ
