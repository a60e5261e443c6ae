"""Conventions and signatures."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions import PROFILES, profile, signature
from dstbench.demo import synthetic
from dstbench.metrics import REGISTRY
from tests.corpora import EXAMPLE

OTHER: dict[str, Any] = {"name": "other.1", "absent": ("none",), "domain_turns": "either"}


def signed(states: Any = EXAMPLE, metrics: str = "jga", **options: Any) -> str:
    found = dstbench.score(states, metrics=metrics, **options)["signature"]
    assert len(found) == 1
    text: str = found.item()
    return text


def test_every_choice_of_a_convention_is_in_the_signature() -> None:
    assert OTHER.keys() == {f.name for f in fields(dstbench.Convention)}  # a new field needs its line above
    base = dstbench.Convention()
    found = {signed(profile=base)} | {signed(profile=replace(base, **{name: v})) for name, v in OTHER.items()}
    assert len(found) == 1 + len(OTHER)


def test_every_parameter_of_every_metric_is_in_the_signature() -> None:
    other = {"T": 5, "lam": 0.25, "alpha": 0.5, "avg": "micro", "counting": "paper"}
    for name, metric in REGISTRY.items():
        notations = [name, *(f"{name}:{f.name}={other[f.name]}" for f in fields(metric))]
        assert len({signed(metrics=notation) for notation in notations}) == len(notations)


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_how_missing_turns_were_treated_is_in_the_signature() -> None:
    gold, pred = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in EXAMPLE], [dict(EXAMPLE[0])]
    found = {signed(pred, gold=gold, missing=missing) for missing in ("wrong", "empty", "intersect")}
    assert len(found) == 3


def test_size_and_version_are_in_the_signature() -> None:
    assert signed().endswith(f"|d:1|t:2|v:{dstbench.__version__}")
    assert signed(EXAMPLE[:1]) != signed()


def test_gold_and_grouping_are_in_the_signature() -> None:
    other = [{**state, "gold": {**state["gold"], "hotel-area": "east"}} for state in EXAMPLE]
    assert signed(other) != signed()
    silent = [{**state, "pred": {}} for state in EXAMPLE]
    assert signed(silent) == signed()  # another tracker on the same gold is comparable
    by_domain = dstbench.score(EXAMPLE, metrics="jga", by="domain")["signature"].unique()
    assert by_domain.item() == signed().replace("by:run", "by:domain")


def test_the_hash_of_gold_is_the_same_for_every_tracker_however_large_the_corpus() -> None:
    rows = dstbench.score(synthetic(4000), metrics="jga")
    assert rows["value"].n_unique() == 3
    assert rows["signature"].n_unique() == 1


def test_the_gold_of_a_turn_is_hashed_also_where_it_is_empty() -> None:
    empty = {"dialogue_id": "X", "turn": 0, "gold": {}, "pred": {}}
    hashes = {re.findall(r"gold:(\w{8})", signed(states))[0] for states in (EXAMPLE, [*EXAMPLE, empty])}
    assert len(hashes) == 2


def test_one_signature_holds_for_all_runs_and_groups_of_the_same_size() -> None:
    rows = dstbench.score({"a": EXAMPLE, "b": EXAMPLE}, metrics="jga", by="domain")
    assert rows["signature"].n_unique() == 1


_PARTS = st.text(alphabet="a|:\\,'", max_size=3)


@given(st.lists(_PARTS, min_size=2, max_size=2), st.lists(_PARTS, min_size=2, max_size=2))
def test_no_two_settings_print_alike(one: list[str], other: list[str]) -> None:
    def text(values: list[str]) -> str:
        return signature("jga", dict(zip("xy", values, strict=True)))

    assert (text(one) == text(other)) == (one == other)


@given(st.lists(_PARTS, max_size=3), st.lists(_PARTS, max_size=3))
def test_no_two_lists_of_absent_literals_print_alike(one: list[str], other: list[str]) -> None:
    texts = [dstbench.Convention(absent=tuple(values)).settings()["absent"] for values in (one, other)]
    assert (texts[0] == texts[1]) == (one == other)


def test_what_is_absent_is_a_choice() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "none"}, "pred": {}}]
    assert dstbench.score(states, metrics="jga")["value"].item() == 1
    kept = dstbench.Convention(name="kept.1", absent=())
    assert dstbench.score(states, metrics="jga", profile=kept)["value"].item() == 0


def test_profiles_have_a_version_and_are_found_by_name() -> None:
    for name, convention in PROFILES.items():
        assert re.fullmatch(rf"{name}\.[0-9]+", convention.name)
        assert profile(name) is convention
    with pytest.raises(dstbench.UsageError, match="there is no profile 'verbatm'\nhint: did you mean verbatim"):
        profile("verbatm")
    with pytest.raises(dstbench.UsageError, match="absent='none' is not a tuple of strings"):
        dstbench.Convention(absent="none")  # type: ignore[arg-type] # the mistake
    with pytest.raises(dstbench.UsageError, match="domain_turns='all' is none of gold, either"):
        dstbench.Convention(domain_turns="all")  # type: ignore[arg-type] # the mistake
