"""Runs on several versions of a dataset: each score as `score` gives it, means over seeds, error turns by loops."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.demo import synthetic
from tests.corpora import FEW

Runs = dict[str, Any]


@pytest.fixture(scope="module")
def runs() -> Runs:
    """Three runs over the same 40 dialogues, as frames."""
    return {run: part for (run,), part in dstbench.scan(synthetic(40)).collect().group_by("run", maintain_order=True)}


@pytest.fixture(scope="module")
def versions(runs: Runs) -> Runs:
    """Their gold, and another in which every area is the centre."""
    long = next(iter(runs.values()))
    old: dict[tuple[str, int], dict[str, str]] = {}
    for dialogue, turn, slot, gold in long.select("dialogue", "turn", "slot", "gold").iter_rows():
        state = old.setdefault((dialogue, turn), {})
        if gold is not None:
            state[slot] = gold
    new = {key: {s: "centre" if s.endswith("-area") else v for s, v in state.items()} for key, state in old.items()}
    return {
        name: [{"dialogue_id": d, "turn": t, "gold": state} for (d, t), state in states.items()]
        for name, states in (("old", old), ("new", new))
    }


@pytest.mark.again
@pytest.mark.parametrize("profile", ["qian2021", "verbatim"])
def test_each_score_is_that_of_the_run_on_the_version(runs: Runs, versions: Runs, profile: str) -> None:
    found = audit.scores(runs, versions, metrics="jga,sa,aga", profile=profile)
    for version, gold in versions.items():
        with pytest.warns(dstbench.DstbenchWarning, match="own gold is not used"):
            wanted = dstbench.score(runs, gold=gold, metrics="jga,sa,aga", profile=profile)
        assert found.runs.filter(version=version).drop("version", "model").equals(wanted)
        rows = found.models.filter(version=version)
        assert rows["value"].to_list() == wanted["value"].to_list()
        assert rows["exact"].to_list() == (wanted["exact"].to_list() if profile == "qian2021" else [None] * rows.height)
        assert rows["model"].to_list() == wanted["run"].to_list()
        assert rows["sd"].null_count() == rows.height
    assert found.runs["version"].unique(maintain_order=True).to_list() == ["old", "new"]
    assert found.models.filter(model="careful", metric="jga")["value"].n_unique() == 2


@pytest.mark.again
def test_models_are_means_over_their_seeds(runs: Runs, versions: Runs) -> None:
    a, b, c = runs
    found = audit.scores(runs, versions, metrics="jga,error-turns", models={"pair": [a, b]})
    for row in found.models.iter_rows(named=True):
        of = found.runs.filter(version=row["version"], metric=row["metric"])
        values = [of.filter(run=run).row(0, named=True) for run in ((a, b) if row["model"] == "pair" else (c,))]
        assert row["runs"] == len(values)
        for name, sd in (("value", "sd"), ("exact", "exact_sd")):
            assert row[name] == pytest.approx(mean(one[name] for one in values))
            assert row[sd] == (pytest.approx(stdev(one[name] for one in values)) if len(values) > 1 else None)
    assert found.models["model"].unique(maintain_order=True).to_list() == ["pair", c]
    assert set(found.runs.filter(model="pair")["run"]) == {a, b}


def test_error_turns_are_what_loops_give(runs: Runs, versions: Runs) -> None:
    names = list(runs)
    found = audit.scores(runs, versions, models={"pair": names[:2]}, profile="verbatim").slots
    for version, gold in versions.items():
        states = {(turn["dialogue_id"], turn["turn"]): turn["gold"] for turn in gold}
        wrong: dict[tuple[str, str], int] = {}
        for run, long in runs.items():
            for dialogue, turn, slot, pred in long.select("dialogue", "turn", "slot", "pred").iter_rows():
                if slot is not None and states[dialogue, turn].get(slot) != pred:
                    wrong[run, slot] = wrong.get((run, slot), 0) + 1
        for model, members in (("pair", names[:2]), (names[2], names[2:])):
            for row in found.filter(version=version, model=model).iter_rows(named=True):
                counts = [wrong.get((run, row["slot"]), 0) for run in members]
                assert (row["runs"], row["turns"]) == (len(members), len(states))
                assert row["error_turns"] == mean(counts)
                assert row["sd"] == (pytest.approx(stdev(counts)) if len(counts) > 1 else None)
                assert row["share"] == pytest.approx(mean(counts) / len(states))
                assert row["exact"] is None
            missed = {slot for run, slot in wrong if run in members} - set(found.filter(model=model)["slot"])
            assert not missed


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_error_turns_have_the_slots_that_are_scored_beyond_the_profiles_set() -> None:
    gold = {"hotel-area": "north", "hospital-department": "icu"}
    run = [{"dialogue_id": "MUL1", "turn": 0, "pred": {"hotel-area": "north"}}]
    found = audit.scores({"run": run}, {"v": [{"dialogue_id": "MUL1", "turn": 0, "gold": gold}]}, profile="star")
    wrong = {slot for slot, turns in found.slots.select("slot", "error_turns").iter_rows() if turns}
    assert wrong == {"hospital-department"}
    assert found.runs["value"].to_list() == [0]


@pytest.mark.again
def test_a_run_of_one_version_is_scored_on_that_only(runs: Runs, versions: Runs) -> None:
    a, b, c = runs
    found = audit.scores(runs, versions, only={"new": f"{a},{b}"}, models={"m": [a, c]})
    assert found.runs.filter(metric="jga").select("version", "run").rows() == [
        ("old", c), ("new", a), ("new", b), ("new", c),
    ]  # fmt: skip
    assert found.models.select("version", "model", "runs").rows() == [
        ("old", "m", 1), ("new", "m", 2), ("new", b, 1),
    ]  # fmt: skip
    both = audit.scores(runs, versions, only={"old": [a], "new": [a]})
    assert both.runs.filter(run=a)["version"].to_list() == ["old", "new"]


_SOME = st.lists(st.sets(st.integers(0, 4), min_size=2), min_size=1, max_size=3)


@pytest.mark.filterwarnings("ignore:.*(not scored|without gold, left out|wrong):dstbench.DstbenchWarning")
@FEW
@given(_SOME, st.booleans())
def test_scores_are_over_the_dialogues_that_all_versions_have(held: list[set[int]], is_of_one_version: bool) -> None:
    """Of each version some dialogues; that of number n is wrong in version n, so that it matters which are scored."""

    def state(dialogue: int, right: bool) -> dict[str, Any]:
        return {"dialogue_id": f"D{dialogue}", "turn": 0, "gold": {"hotel-area": "north" if right else "south"}}

    golds = {f"v{at}": [state(number, number != at) for number in sorted(some)] for at, some in enumerate(held)}
    run = [{"dialogue_id": f"D{number}", "turn": 0, "pred": {"hotel-area": "north"}} for number in range(5)]
    how: dict[str, Any] = {"models": {"m": "r*"}}
    data: dict[str, Any] = {"r": run}
    if is_of_one_version:  # a run of each version, made on it only, as parts of one model
        data = {f"r{at}": run for at in range(len(held))}
        how["only"] = {f"v{at}": f"r{at}" for at in range(len(held))}
    common = set.intersection(*held)
    if not common:
        with pytest.raises(dstbench.DstbenchError, match="has no dialogue there that is also in v0"):
            audit.scores(data, golds, **how)
        return
    found = audit.scores(data, golds, metrics="jga", **how)
    assert found.models.select("version", "value", "dialogues").rows() == [
        (f"v{at}", pytest.approx(len(common - {at}) / len(common)), len(common)) for at in range(len(held))
    ]
    assert set(found.slots["turns"]) == {len(common)}
    assert set(found.runs["dialogues"]) == {len(common)}


def test_real_runs_on_real_versions(data: Path) -> None:
    golds = {name: data / f"multiwoz{name.replace('.', '')}" / "test.tsv" for name in ("2.0", "2.1")}
    run = data / "predictions" / "mwzeval" / "augpt.json"
    with pytest.warns(dstbench.DstbenchWarning) as caught:
        found = audit.scores(run, golds, metrics="jga,sa")
    told = [str(note.message) for note in caught]
    assert "2.1: " in told[0]
    assert "augpt.json: 4 predicted turns in 1 dialogue" in told[0]
    assert told[1:] == [
        "2.0: 1 of its 1,000 dialogues not scored, as not in 2.1; versions are compared over the 999 that all have"
    ]
    assert set(found.runs["dialogues"]) == {999}
    with pytest.warns(dstbench.DstbenchWarning):
        wanted = dstbench.score(run, gold=golds["2.1"], profile="qian2021", metrics="jga,sa")
    assert found.runs.filter(version="2.1").drop("version", "model").equals(wanted)
    with pytest.warns(dstbench.DstbenchWarning, match="PMUL1455"):
        within = dstbench.open_runs(run, gold=golds["2.1"])
    common = dstbench.scan(within).select("dialogue").unique().collect()
    states = dstbench.scan(run, gold=golds["2.0"]).collect().join(common, on="dialogue", how="semi")
    wanted = dstbench.score(states, profile="qian2021", metrics="jga,sa")
    assert found.runs.filter(version="2.0")["value"].to_list() == wanted["value"].to_list()
    assert (found.runs["value"] > found.runs["exact"]).all()
