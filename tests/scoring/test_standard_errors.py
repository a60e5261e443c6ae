"""Standard errors of scores: against the linearised ratio, the jackknife, and loops; the same in any cut of a run."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

import dstbench
import dstbench.runs.run as runs
from dstbench.demo import synthetic
from dstbench.rendering.tables import render
from dstbench.stats import jackknife_se
from tests.corpora import FEW, LARGE, States, corpora

SHARES = "jga,sa:T=30,rsa,aga,f1,f1:avg=micro,fga,gca,tla,precision,recall,soft-jga,soft-rsa,soft-gca,gca-vp,gca-lr"


@pytest.mark.again
def test_any_share_has_about_the_standard_error_of_the_jackknife() -> None:
    table = synthetic(25, trackers=["careful"])["careful"]
    rows = dstbench.score({"all": table}, metrics=SHARES)
    names = table["dialogue"].cast(pl.String)
    without = []
    for name in names.unique(maintain_order=True):
        found = dstbench.score({"rest": table.filter(names != name)}, metrics=SHARES)
        without.append(found["value"].to_numpy())
    for number, (metric, se) in enumerate(rows.select("metric", "se").iter_rows()):
        assert se == pytest.approx(jackknife_se([values[number] for values in without]), rel=0.05), metric


@FEW
@given(corpora(LARGE))
def test_jga_and_tla_by_plain_loops(states: States) -> None:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for state in states:
        gold, pred = ({k: v for k, v in state[side].items() if v not in ("none", "")} for side in ("gold", "pred"))
        sums[state["dialogue_id"]][0] += gold == pred
        sums[state["dialogue_id"]][1] += 1
    found = dstbench.score(states, metrics="jga")["se"].item()
    if len(sums) == 1:
        assert found is None
        return
    turns = sum(n for _, n in sums.values())
    p = sum(s for s, _ in sums.values()) / turns
    spread = sum((s - p * n) ** 2 for s, n in sums.values())
    expected = math.sqrt(len(sums) / (len(sums) - 1) * spread) / turns
    # Where all dialogues are alike, nothing is known of the error.
    assert found == (pytest.approx(expected, rel=1e-6) if expected > 1e-9 else None)


def test_the_standard_error_of_a_perfect_run_is_unknown() -> None:
    table = synthetic(50, trackers=["careful"])["careful"]
    perfect = table.with_columns(pred="gold")
    scored = dstbench.score(perfect, metrics=f"{SHARES},soft-gca")
    rows = scored.filter(pl.col("value") == 1)  # all but those in which an empty state scores 0
    assert rows.height == 11
    assert rows["se"].is_null().all()
    text = render({"scores": rows}, "text")
    assert "0.00" not in text.replace("100.00", "")
    assert "± one standard error over dialogues (without: unknown, as all dialogues are alike)" in text


@pytest.mark.again
def test_the_same_bits_however_a_run_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    table = synthetic(60, trackers=["forgetful"])["forgetful"]
    whole = dstbench.score(table, metrics=SHARES, by="length")
    monkeypatch.setattr(runs, "_ROW_GROUP", 100)
    assert len(dstbench.open_runs(table)[0].cuts) > 11
    assert dstbench.score(table, metrics=SHARES, by="length").equals(whole, null_equal=True)


def test_t5_on_restaurants_as_measured_by_others(data: Path) -> None:
    """CONVENTIONS D.: by bootstrap, 3.07 times the variance that independent turns would have."""
    path = data / "predictions/gca_t5_train/zeroshot_restaurant.json"
    value, se, turns = dstbench.score(path, metrics="jga").select("value", "se", "turns").row(0)
    assert se**2 / (value * (1 - value) / turns) == pytest.approx(3.07, rel=0.05)
