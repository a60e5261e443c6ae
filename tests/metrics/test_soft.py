"""Partial credit, and the four parts of GCA: against plain loops, and laws that tie them to RSA and GCA."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.matching import Matcher, ValueMatcher
from tests import oracle
from tests.corpora import FEW, LARGE, SLOTS, States, corpora, dialogues

SOFT = {"soft-rsa": "rsa", "soft-rsa:empty=skip": "rsa:empty=skip", "soft-jga": "jga", "soft-aga": "aga"}
SOFT |= {f"soft-gca{options}": f"gca{options}" for options in ("", ":counting=paper", ":alpha=0.3")}
PARTS = ("gca-vp", "gca-vr", "gca-lp", "gca-lr")
NEAR = ("guest house", "guest houses", "the guest house", "autumn house", "none", "")


@st.composite
def near_corpora(draw: st.DrawFn) -> States:
    """Dialogues whose values are similar to each other."""
    state = st.dictionaries(st.sampled_from(SLOTS[:3]), st.sampled_from(NEAR), max_size=3)
    return dialogues(draw, state, prefix="MUL", most=8, most_turns=5)


def values(states: Any, metrics: Any, **choices: Any) -> dict[str, float | None]:
    rows = dstbench.score(states, metrics=metrics, profile=dstbench.profile("verbatim", **choices))
    return dict(zip(rows["metric"], rows["value"], strict=True))


@cache
def similarity(one: str, other: str) -> float:
    """1 - edit distance / length of the longer string, by its definition."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        swap = distance(i - 1, j - 1) + (one[i - 1] != other[j - 1])
        return min(swap, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return 1 - distance(len(one), len(other)) / max(len(one), len(other))


@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
@FEW
@given(near_corpora(), st.sampled_from(["least=0.9", "least=0.5", "above=0.99"]))
def test_partial_credit_by_plain_loops(states: States, threshold: str) -> None:
    ts = oracle.turns(states)
    found = values(states, "soft-rsa,soft-gca,soft-gca:counting=paper", match=f"levenshtein:{threshold}")
    wanted = {
        "soft-rsa": oracle.soft_rsa(ts, similarity),
        "soft-gca": oracle.soft_gca(ts, oracle.released, similarity),
        "soft-gca:counting=paper": oracle.soft_gca(ts, oracle.paper, similarity),
    }
    assert found == {
        name: value if value is None else pytest.approx(value, rel=1e-12) for name, value in wanted.items()
    }


CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "none": st.sampled_from(["drop", "drop-gold", "drop-pred", "keep"]),
        "dontcare": st.sampled_from(["keep", "drop", "drop-gold", "drop-pred", "skip"]),
        "over": st.sampled_from(["count", "free", "gold-domains"]),
        "multi": st.sampled_from(["literal", "any", "all", "overlap", "first"]),
        "match": st.sampled_from(["exact", "contain"]),
        "wrong_costs": st.sampled_from(["once", "twice"]),
        "turns": st.sampled_from(["all", "gold", "pred", "last"]),
    },
)


@given(corpora(LARGE), CHOICES, st.sampled_from(["run", "domain", "slot", "dialogue", "turn"]), st.booleans())
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_where_similarities_are_0_or_1_scores_are_the_hard_ones(
    states: States, choices: dict[str, Any], by: str, lists: bool
) -> None:
    if lists:  # some gold values have alternatives, of which a tracker predicts one, or two
        words = {"north": "north|centre", "south": "south|north"}
        states = [{**s, "gold": {slot: words.get(v, v) for slot, v in s["gold"].items()}} for s in states]
    rows = dstbench.score(states, metrics=[*SOFT, *SOFT.values()], by=by, profile=dstbench.Convention(**choices))
    keys = [by] if by != "run" else []
    hard = rows.filter(pl.col("metric").is_in(list(SOFT.values())))
    soft = rows.filter(pl.col("metric").is_in(list(SOFT))).with_columns(pl.col("metric").replace_strict(SOFT))
    both = soft.join(hard, on=["run", "metric", *keys], suffix="_hard", nulls_equal=True)
    assert both.height == soft.height == hard.height
    assert both["value"].equals(both["value_hard"], check_names=False, null_equal=True)


@given(
    st.lists(st.sampled_from(["a", "b", "a b", "c d", "3"]), min_size=1, max_size=3),
    st.lists(st.sampled_from(["a", "b", "a b", "c d", "3"]), min_size=1, max_size=3),
    st.sampled_from(["literal", "first", "any", "overlap", "all"]),
    st.sampled_from(["exact", "contain", "levenshtein:least=0.5", "token-sort"]),
)
def test_a_value_is_right_if_it_is_similar_enough(gold: list[str], pred: list[str], multi: Any, match: str) -> None:
    matcher = Matcher.parse(match)
    rule = ValueMatcher(matcher, multi)
    accepted, found = rule.compare("hotel-name", "|".join(gold), "|".join(pred))
    assert accepted == (found >= matcher.threshold)


def test_partial_credit_by_hand() -> None:
    """One change of four letters, one of them wrong; one right; one of gold only: C = 1.75, W = 0.25, M = 1."""
    gold = {"hotel-name": "abcd", "hotel-area": "north", "hotel-type": "x"}
    states = [{"dialogue_id": "D", "turn": 0, "gold": gold, "pred": {"hotel-name": "abcx", "hotel-area": "north"}}]
    found = values(states, "soft-rsa,soft-gca:alpha=1", match="levenshtein")
    assert found["soft-rsa"] == pytest.approx(1.75 / 3)
    assert found["soft-gca:alpha=1.0"] == pytest.approx(5 / (2 / (1.75 / 2) + 3 / (1.75 / 3)))


@FEW
@given(corpora(LARGE), st.sampled_from(["released", "paper"]), st.floats(0, 1))
def test_gca_is_made_of_its_four_parts(states: States, counting: str, alpha: float) -> None:
    names = [f"{part}:counting={counting}" if counting == "paper" else part for part in PARTS]
    notation = f"gca:alpha={alpha!r}:counting={counting}"
    found = values(states, [*names, notation])
    gca = next(value for name, value in found.items() if name.partition(":")[0] == "gca")
    vp, vr, lp, lr = (found[name] for name in names)
    if vp is None and vr is None:
        assert gca is None
    elif not vp or not vr:
        assert gca == 0
    else:
        assert lp is not None
        assert lr is not None
        assert vp <= lp
        assert vr <= lr
        p, g = vr, vp  # P : G = VR : VP, for C = VP · P = VR · G
        cost = p * alpha / vp + g * alpha / vr + p * (1 - alpha) / lp + g * (1 - alpha) / lr
        assert gca == pytest.approx((p + g) / cost, rel=1e-12)
