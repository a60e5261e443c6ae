"""The bundled sample."""

from __future__ import annotations

import polars as pl
import pytest

import dstbench
from dstbench.demo import TRACKERS, synthetic
from dstbench.runs.rules import check_long


def test_the_corpus_is_made_of_valid_long_tables_over_one_gold() -> None:
    corpus = synthetic(50)
    assert corpus.keys() == TRACKERS.keys()
    golds = []
    for table in corpus.values():
        assert table.equals(table.sort("dialogue", "slot", "turn"))
        assert check_long(table, source="")["dialogues"] == table["dialogue"].n_unique() == 50
        golds.append(table.filter(pl.col("gold").is_not_null()).drop("pred"))
        lengths = table.group_by("dialogue").agg(pl.col("turn").n_unique(), last=pl.col("turn").max() + 1)
        assert (lengths["turn"] == lengths["last"]).all()
        assert lengths["turn"].is_between(4, 10).all()
    assert all(gold.equals(golds[0]) for gold in golds)


def test_one_seed_gives_one_corpus_whichever_trackers_are_asked_for() -> None:
    assert synthetic(20)["eager"].equals(synthetic(20, trackers=["eager"])["eager"])
    assert not synthetic(20)["eager"].equals(synthetic(20, seed=2)["eager"])
    with pytest.raises(dstbench.UsageError, match="a corpus of 0 dialogues"):
        synthetic(0)
