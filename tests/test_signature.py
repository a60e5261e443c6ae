"""Conventions and signatures."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import cache
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.choices import CHOICES
from dstbench.conventions.convention import DEFAULTS
from dstbench.conventions.files import Schema, Table
from dstbench.conventions.profiles import PROFILES, profile
from dstbench.demo import synthetic
from dstbench.metrics import REGISTRY
from dstbench.rendering.tables import signature_lines
from dstbench.schema.core import GROUPS
from dstbench.signature import differences, doubts, explain, parse, sign
from dstbench.typing import Missing
from tests.corpora import EXAMPLE, FEW, LARGE, OF_FRAMES, States, corpora

# What moves no number by itself: the run's own treatment of missing turns and each metric's parameters are signed.
UNSIGNED = {"missing", "metrics", "title"}
# For each other choice a value that is not the default.
OTHER: dict[str, Any] = {
    name: next(value for value in get_args(choice.type) if value != choice.default)
    for name, choice in CHOICES.items()
    if get_origin(choice.type) is Literal and name not in UNSIGNED
} | {
    "name": "other.1", "slots": "multiwoz-31", "absent": ("none",),
    "gold_steps": ("case",), "pred_steps": ("case",), "typos": Table.of({"a": ["b"]}),
    "match": "levenshtein", "labels": Table.of({"a": ["b"]}),
    "schema": Schema.of({"hotel-area": True, "train-day": False}), "seen": Schema.of({"hotel-area": True}),
}  # fmt: skip


FRAME = {"Hotels_1-#frame": "Find|"}
FRAMES: States = [{"dialogue_id": "D", "turn": 0, "gold": FRAME, "pred": FRAME}]


def signed(data: Any = EXAMPLE, metrics: str = "jga", **options: Any) -> str:
    return _of_example() if data is EXAMPLE and metrics == "jga" and not options else _signed(data, metrics, **options)


@cache
def _of_example() -> str:
    return _signed(EXAMPLE, "jga")


def _signed(data: Any, metrics: str, **options: Any) -> str:
    found = dstbench.score(data, metrics=metrics, **options)["signature"]
    assert len(set(found)) == 1
    text: str = found[0]
    return text


@pytest.mark.filterwarnings("ignore:.*are not in schema:dstbench.errors.DstbenchWarning")
def test_every_choice_of_a_convention_is_in_the_signature() -> None:
    assert OTHER.keys() | UNSIGNED == {f.name for f in fields(dstbench.Convention)}
    base = dstbench.Convention()
    found = {signed(profile=base)} | {signed(profile=replace(base, **{name: v})) for name, v in OTHER.items()}
    assert len(found) == 1 + len(OTHER)


@pytest.mark.again
@pytest.mark.filterwarnings("ignore:.*categorical slots:dstbench.errors.DstbenchWarning")
def test_every_parameter_of_every_metric_is_in_the_signature() -> None:
    other = {"T": 5, "lam": 0.25, "alpha": 0.5, "avg": "micro", "counting": "paper", "wrong": "missed"}
    for name, metric in REGISTRY.items():
        others = other | {"empty": "0" if name in ("f1", "precision", "recall") else "1"}
        how = {"data": FRAMES, "profile": "sgd"} if name in OF_FRAMES else {}
        notations = [name, *(f"{name}:{f.name}={others[f.name]}" for f in fields(metric))]
        assert len({signed(metrics=notation, **how) for notation in notations}) == len(notations)


def test_gold_and_grouping_are_in_the_signature() -> None:
    other = [{**state, "gold": {**state["gold"], "hotel-area": "east"}} for state in EXAMPLE]
    assert signed(other) != signed()
    silent = [{**state, "pred": {}} for state in EXAMPLE]
    assert signed(silent) == signed()  # another tracker on the same gold is comparable
    by_domain = dstbench.score(EXAMPLE, metrics="jga", by="domain")["signature"].unique()
    assert by_domain.item() == signed().replace("by:run", "by:domain")
    stars: States = [{"dialogue_id": "MUL1", "turn": 0, "gold": {"hotel-stars": "42"}, "pred": {}}]
    assert parse(signed(stars)).settings["gold"] == "059f053b"  # a hash may begin with 0


@pytest.mark.filterwarnings("ignore:.*not scored under:dstbench.errors.DstbenchWarning")
@FEW
@given(corpora(LARGE), st.sampled_from(["all", "gold", "last"]))
def test_the_hash_of_gold_does_not_depend_on_the_grouping(states: States, turns: str) -> None:
    chosen = profile("verbatim", turns=turns)
    found = [
        dstbench.score(states, metrics="correct", by=by, profile=chosen) for by in ("run", "turn", "domain", "slot")
    ]
    found.append(dstbench.score(states, metrics="correct", profile=profile("verbatim", turns=turns, unit="frame")))
    hashes = {parse(signature).settings["gold"] for rows in found for signature in rows["signature"].unique()}
    assert len(hashes) == 1


_PARTS = st.text(alphabet="a|:\\,'", max_size=3)


@given(st.lists(_PARTS, min_size=2, max_size=2), st.lists(_PARTS, min_size=2, max_size=2))
def test_no_two_settings_print_alike(one: list[str], other: list[str]) -> None:
    def text(values: list[str]) -> str:
        return sign("jga", dict(zip("xy", values, strict=True)))

    assert (text(one) == text(other)) == (one == other)


@given(
    st.text(min_size=1, max_size=5).filter(str.strip),
    st.dictionaries(st.text(min_size=1, max_size=4), st.text(max_size=4), min_size=1),
)
def test_a_signature_can_be_read_back(metric: str, settings: dict[str, str]) -> None:
    text = sign(metric, settings)
    if text == text.strip():  # as it is printed and pasted
        found = parse(text)
        assert (found.metric, dict(found.settings), str(found)) == (metric, settings, text)


@pytest.mark.filterwarnings("ignore:.*are not in schema:dstbench.errors.DstbenchWarning")
def test_every_difference_is_told_in_words() -> None:
    base = dstbench.Convention()
    plain = signed(profile=base)
    assert differences(plain, plain) == []
    for name, value in OTHER.items():
        other = signed(profile=replace(base, **{name: value}))
        key = "profile" if name == "name" else name.replace("_", "-")
        told = differences(plain, other)
        assert any(f"({key})" in clause for clause in told), name
        assert not any(clause.startswith(key) for clause in told), f"no words for {key}"


# --- explained --------------------------------------------------------------------------------------------------------

ALL_METRICS = [
    *(name for name in REGISTRY if name not in OF_FRAMES),
    "sa:T=7",
    "fga:lam=1e+20",
    "gca:alpha=1/3:counting=paper",
    "f1:avg=micro:empty=0:wrong=missed",
]


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_what_is_printed_is_explained_without_a_doubt() -> None:
    """Of every metric under every profile, with every choice, by every group, one by one and joined as tables do."""
    of_runs = {key: text for key, text in parse(signed()).settings.items() if key not in DEFAULTS}
    for name in PROFILES:
        rows = dstbench.score(EXAMPLE, metrics=ALL_METRICS, profile=name)
        assert len(rows) == len(ALL_METRICS)
        for text in (*rows["signature"], *signature_lines(rows)):
            assert not any("note" in line for line in explain(text))  # which has all doubts
        assert doubts(text) == []
        for choice, value in OTHER.items():
            if choice != "name":
                changed = profile(name, **{choice: value})
                assert doubts(sign("jga", {**changed.settings(), **of_runs})) == [], (name, choice)
    seen = profile("sgd", seen=Schema.of({"hotel-area": True}))
    assert doubts(signed(profile=seen, by="seen")) == []
    for by in GROUPS:
        if by != "seen":  # above, as it takes the services that are
            assert doubts(dstbench.score(EXAMPLE, metrics="jga", by=[by, "turn"])["signature"][0]) == []
    for missing in get_args(Missing):
        assert doubts(signed().replace("missing:error", f"missing:empty+{missing}")) == []
    compared = dstbench.compare(synthetic(10), metrics="jga,sa", resamples=100).scores
    assert not any(doubts(text) for text in compared["signature"])


@pytest.mark.again
@pytest.mark.parametrize(
    "key",  # `absent` and `exact-slots` may be any words
    ["metric", *(key for key in DEFAULTS if key not in ("absent", "exact-slots")), "missing", "by", "gold", "d", "t"],
)
def test_what_this_version_does_not_know_is_said(key: str) -> None:
    """Whatever setting has a value that it cannot have."""
    value = parse(signed()).complete()[key]
    settings = dict(parse(signed(profile=profile("verbatim", fuzzy="all"))).settings)
    other = f"{value}x y"
    if key == "metric":
        assert doubts(sign(other, settings)) == [f"metric {other!r} is not built into this dstbench"]
    elif key == "profile":
        with pytest.raises(dstbench.UsageError, match=f"there is no profile {re.escape(repr(other))}"):
            doubts(sign("jga", {**settings, key: other}))
    else:
        text = sign("jga", {**settings, key: other})
        (doubt,) = doubts(text)
        assert repr(other) in doubt
        assert explain(text)[-1] == f"note: {doubt}"
    wrong_key = {**settings, f"{key}x": value}
    (doubt,) = doubts(sign("jga", wrong_key))
    assert doubt.startswith(f"this dstbench has no setting '{key}x'")


@given(st.sampled_from(list(PROFILES)), st.integers(50, 99), st.sampled_from(["", "+"]))
def test_another_version_of_a_profile_is_said(name: str, version: int, changed: str) -> None:
    here = PROFILES[name].name
    text = sign("jga", {"profile": f"{name}.{version}{changed}"})
    assert doubts(text) == [
        f"this dstbench has {here}, not {name}.{version}{changed}: the choices that are not listed may be others"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("jga|profile:trippyy.1", "there is no profile 'trippyy'\nhint: did you mean trippy?"),
        ("jga|profile:trade.1", "'trade'\nhint: did you mean trade@faithful or trade@fixed?"),
        ("jga|profile:trade@fixd.1", "hint: did you mean trade@fixed or"),
        ("jga|profile:.1", "hint: `dstbench ls profiles` lists them"),
    ],
)
def test_a_profile_that_does_not_exist_is_not_explained(text: str, told: str) -> None:
    for function in (doubts, explain):
        with pytest.raises(dstbench.UsageError) as caught:
            function(text)
        assert told in str(caught.value)


@given(st.lists(_PARTS, max_size=3), st.lists(_PARTS, max_size=3))
def test_no_two_lists_of_absent_literals_print_alike(one: list[str], other: list[str]) -> None:
    texts = [dstbench.Convention(absent=tuple(values)).settings()["absent"] for values in (one, other)]
    assert (texts[0] == texts[1]) == (one == other)
