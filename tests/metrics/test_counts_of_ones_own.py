"""Metrics with counts of their own, of judged rows."""

from dataclasses import dataclass

import polars as pl
import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.metrics.base import before
from dstbench.testing import check_metric

WRONG = pl.col("n_union") & ~pl.col("n_correct")


@dataclass(frozen=True)
class PutRight(dstbench.Metric):
    name = "put-right"
    title = source = "ours"
    is_count = True

    def counts(self) -> dict[str, pl.Expr]:
        return {"n": before(WRONG) & ~WRONG}

    def stats(self) -> dict[str, pl.Expr]:
        return {"sum": pl.col("n")}

    def score(self, sums):  # type: ignore[no-untyped-def]
        return sums["sum"]


@dataclass(frozen=True)
class Credit(PutRight):
    """A count that is a ratio."""

    name = "credit"
    is_count = False

    def counts(self) -> dict[str, pl.Expr]:
        return {"credits": pl.col("credit")}

    def stats(self) -> dict[str, pl.Expr]:
        union = pl.col("n_union")
        return {"sum": pl.when(union > 0).then(pl.col("credits") / union), "turns": union > 0}

    def score(self, sums):  # type: ignore[no-untyped-def]
        return pl.when(sums["turns"] > 0).then(sums["sum"] / sums["turns"])


@pytest.mark.again
@pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
@pytest.mark.parametrize("metric", [PutRight(), Credit()], ids=str)
def test_such_a_metric_keeps_the_laws(metric: dstbench.Metric) -> None:
    check_metric(metric, corpora=2)


@pytest.mark.again
@pytest.mark.parametrize("by", ["run", "dialogue", "domain", "slot", "turn"])
def test_its_counts_add_up_in_every_group(by: str) -> None:
    run = dstbench.open_runs({"forgetful": synthetic(12)["forgetful"]})
    rows = dstbench.rows(run).with_columns(n=(before(WRONG) & ~WRONG).fill_null(False)).collect()
    for _ in range(2):  # so that a turn table is kept, which lacks the counts
        dstbench.score(run, metrics="jga")
    scores = dstbench.score(run, metrics=[Credit(), PutRight(), "jga"], by=by).filter(metric="put-right")
    expected = rows.group_by(by).agg(pl.col("n").sum().cast(pl.Float64)).drop_nulls(by)
    wanted = dict(expected.with_columns(pl.col(by).cast(pl.String)).iter_rows())
    found = dict(scores.select(pl.col(by).cast(pl.String), "value").iter_rows())
    if by == "domain":  # in which only turns with a gold slot of the domain count
        turns = dstbench.turns(run, view="domain", counts=PutRight().counts()).filter(pl.col("n_gold") > 0)
        wanted = dict(turns.group_by(pl.col("domain").cast(pl.String)).agg(pl.col("n").sum().cast(float)).iter_rows())
    assert found == wanted
    assert sum(found.values()) > 0
    alone = dstbench.score(run, metrics=[PutRight()], by=by)
    assert alone["value"].equals(scores["value"])


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (pl.col("ok").sum(), "aggregates"),
        (pl.col("ok").shift(1), "aggregates, looks at other dialogues"),
        (pl.lit(1), "is a literal"),
        (pl.col("g"), "not a number"),
        (pl.col("number"), "cannot be computed"),
    ],
)
def test_counts_that_cannot_be_summed_are_refused(count: pl.Expr, message: str) -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    with pytest.raises(dstbench.UsageError, match=message):
        dstbench.turns(states, counts={"mine": count})
    bad = type("Bad", (PutRight,), {"counts": lambda _: {"n": count}, "__module__": "mine"})
    with pytest.raises(dstbench.UsageError, match=message):
        dstbench.score(states, metrics=[bad()])
    with pytest.raises(dstbench.UsageError, match="name of a column"):
        dstbench.turns(states, counts={"ok": WRONG})


def test_different_counts_of_one_name_are_refused() -> None:
    other = type("Other", (PutRight,), {"name": "other", "counts": lambda _: {"n": WRONG}, "__module__": "mine"})
    same = type("Same", (PutRight,), {"name": "same", "__module__": "mine"})
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    with pytest.raises(dstbench.UsageError, match="another count 'n'"):
        dstbench.score(states, metrics=[PutRight(), other()])
    assert dstbench.score(states, metrics=[PutRight(), same()]).height == 2
