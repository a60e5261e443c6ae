"""Runs on disk and in memory."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.profiles import PROFILES
from dstbench.conventions.slots import SLOT_SETS
from dstbench.demo import synthetic
from dstbench.runs.open import open_runs
from dstbench.schema.core import LONG, SCHEMA_VERSION
from dstbench.typing import Missing
from tests import formats
from tests.corpora import EXAMPLE, FEW, LARGE, States, corpora


@FEW
@given(states=corpora(max_dialogues=LARGE))
def test_what_is_written_is_read_back(states: States, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.parquet"
    run = open_runs(states)[0]
    dstbench.write_long(run, path)
    (back,) = open_runs(path)
    assert back.table.collect().equals(run.table.collect())
    assert back.table.collect_schema() == LONG.schema
    assert back.meta == run.meta
    assert dstbench.score(path).drop("run").equals(dstbench.score(states).drop("run"))


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
@FEW
@given(states=corpora(max_dialogues=LARGE), data=st.data())
def test_a_file_scores_as_the_rows_that_it_was_written_from(
    states: States, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of the file, gold's fingerprint is known."""
    step = data.draw(st.sampled_from([1, 3]))
    numbered = [{**state, "turn": state["turn"] * step} for state in states]
    gold = [{key: state[key] for key in ("dialogue_id", "turn", "gold")} for state in numbered]
    pred = [{key: state[key] for key in ("dialogue_id", "turn", "pred")} for state in numbered]
    there = [state for state in pred if state["turn"] == 0 or data.draw(st.booleans())]
    (run,) = open_runs(there, gold=gold, missing="wrong")
    path = tmp_path_factory.mktemp("runs") / "run.parquet"
    dstbench.write_long(run, path)
    (back,) = open_runs({run.name: path})
    choices = [
        {}, {"over": "free"}, {"over": "gold-domains"}, {"dontcare": "skip"}, {"dontcare": "drop-gold"},
        {"none": "keep"}, {"none": "drop-pred"}, {"multi": "any"}, {"slots": "multiwoz-30"}, {"turns": "gold"},
        {"pred_steps": "case"}, {"gold_steps": "case"}, {"match": "partial"}, {"wrong_costs": "hyphen"},
    ]  # fmt: skip
    named = data.draw(st.just("verbatim") | st.sampled_from(list(PROFILES)))
    profile = dstbench.profile(named, **data.draw(st.sampled_from(choices)))
    by = data.draw(st.sampled_from(["run", "turn", "length", "dialogue", "n_gold", "domain", "slot"]))
    metrics = data.draw(st.sampled_from(["jga", "jga,rsa", "jga,sa:T=30", "rsa", "jga,fga", "f1"]))
    assume(profile.slots is None or any(SLOT_SETS[profile.slots] & state["gold"].keys() for state in states))
    assert back.fingerprint is not None
    assert dstbench.score([back], metrics=metrics, by=by, profile=profile).equals(
        dstbench.score([run], metrics=metrics, by=by, profile=profile)
    )


def test_scanning_many_runs_puts_a_run_column_in_front(here: Path) -> None:
    for name in ("x", "y"):
        dstbench.write_long(open_runs(EXAMPLE)[0], f"{name}.parquet")
    table = dstbench.scan(["x.parquet", "y.parquet"])
    assert table.collect_schema().names() == ["run", *LONG.columns]
    assert table.select(pl.col("run").unique(maintain_order=True)).collect()["run"].to_list() == ["x", "y"]
    assert dstbench.score(table, metrics="jga").select("run", "value").rows() == [("x", 0.5), ("y", 0.5)]


def test_runs_are_named_by_stem_and_by_folder_where_stems_collide(here: Path) -> None:
    for folder in ("one/deep", "two/deep"):
        (here / folder).mkdir(parents=True)
        (here / folder / "preds.json").write_text(formats.gtpr())
    names = [run.name for run in open_runs(["one/deep/preds.json", "two/deep/preds.json"])]
    assert names == ["one/deep/preds", "two/deep/preds"]
    assert [run.name for run in open_runs(["one/deep/preds.json"])] == ["preds"]
    assert [run.name for run in open_runs("one/deep/preds.json", names=["mine"])] == ["mine"]
    with pytest.raises(dstbench.UsageError, match="1 name for 2 runs"):
        open_runs(["one/deep/preds.json", "two/deep/preds.json"], names=["mine"])
    with pytest.raises(dstbench.UsageError, match="two runs are called 'preds'"):
        open_runs(["one/deep/preds.json", "one/deep/preds.json"], names=["preds", "preds"])


@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.lazy(), lambda t: t.to_arrow(), lambda t: t.to_arrow().to_reader()]
)
def test_anything_that_speaks_arrow_is_a_run(make: object) -> None:
    table = dstbench.scan(EXAMPLE).drop("run").collect()
    assert callable(make)
    assert dstbench.score(make(table), metrics="jga")["value"].item() == 0.5


TABLE = dstbench.scan(EXAMPLE).drop("run").collect()
_GAP = (pl.col("slot") == "hotel-area") & (pl.col("turn") == 1)


def _rows(*rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=LONG.schema, orient="row")


NO_TABLE: dict[str, pl.DataFrame] = {
    "not a long table: no column dialogue, turn, slot, gold, pred": pl.DataFrame({"a": [1]}),
    "no column gold": TABLE.drop("gold"),
    "column turn is String, not UInt16": TABLE.with_columns(turn=pl.lit("0")),
    "the same slot twice in one turn": pl.concat([TABLE] * 2),
    "a slot that ends before its dialogue does": TABLE.filter(~_GAP),
    "a slot without a row in a turn between others": (
        dstbench.scan([{**EXAMPLE[0], "turn": t} for t in range(3)]).drop("run").collect().filter(~_GAP)
    ),
    "a row without a slot in a turn that has slots": pl.concat([TABLE, _rows(("MUL7001", 1, None, None, None))]),
    "a gold value without a slot": _rows(("MUL7001", 0, None, "north", None)),
    "no dialogue in the table": TABLE.clear(),
    "a turn that is not a number from 0 to 65535": TABLE.with_columns(turn=pl.lit(-1)),
    "a dialogue without an id": TABLE.with_columns(dialogue=pl.lit(None, pl.String)),
}


@pytest.mark.parametrize("said", NO_TABLE)
def test_a_parquet_file_that_is_no_long_table_is_refused(said: str, here: Path) -> None:
    NO_TABLE[said].write_parquet("run.parquet")
    with pytest.raises(dstbench.DstbenchError) as caught:
        dstbench.score("run.parquet")
    assert str(caught.value).startswith("run.parquet: ")
    assert said in str(caught.value)


def test_a_damaged_parquet_file_is_refused(here: Path) -> None:
    dstbench.write_long(open_runs(EXAMPLE)[0], "run.parquet")
    content = Path("run.parquet").read_bytes()
    for damaged in (content[: len(content) // 2], content[:4], content[:-4] + b"....", b"PAR1" + b"\0" * 50 + b"PAR1"):
        Path("run.parquet").write_bytes(damaged)
        with pytest.raises(dstbench.DstbenchError, match=r"^run\.parquet: a damaged Parquet file"):
            dstbench.score("run.parquet")


def test_a_table_that_was_edited_is_checked_anew(here: Path) -> None:
    dstbench.write_long(open_runs(synthetic(30, trackers=["eager"]))[0], "run.parquet")
    arrow = pq.read_table("run.parquet")
    rows = arrow.num_rows
    first = pl.read_parquet("run.parquet")["dialogue"].eq("DEMO0000000").sum()
    pq.write_table(arrow.slice(first), "run.parquet")  # PyArrow keeps the metadata
    assert dstbench.score("run.parquet", metrics="jga")["dialogues"].item() == 29
    pq.write_table(arrow.take(list(reversed(range(rows)))), "run.parquet")
    with pytest.raises(dstbench.DstbenchError, match="not sorted"):
        dstbench.score("run.parquet")
    for broken in ({}, {"dstbench": "{"}, {"dstbench": "{}", "dstbench.cuts": "7"}):
        pq.write_table(arrow.replace_schema_metadata(broken), "run.parquet")
        assert dstbench.score("run.parquet", metrics="jga")["dialogues"].item() == 30


def test_a_table_of_another_schema_version_is_refused(here: Path) -> None:
    arrow = dstbench.scan(EXAMPLE).drop("run").collect().to_arrow()
    meta = json.dumps({"schema_version": SCHEMA_VERSION + 1})
    pq.write_table(arrow.replace_schema_metadata({"dstbench": meta, "dstbench.cuts": "[0]"}), "run.parquet")
    with pytest.raises(dstbench.DstbenchError, match="schema version 3; this dstbench reads up to 2"):
        dstbench.score("run.parquet")


def test_a_failed_write_leaves_the_old_file(here: Path) -> None:
    dstbench.write_long(open_runs(EXAMPLE)[0], "run.parquet")
    before = Path("run.parquet").read_bytes()
    broken = dstbench.Run("x", pl.LazyFrame({"dialogue": ["D"]}), {"a": object()}, (0, 1))
    with pytest.raises(TypeError):
        dstbench.write_long(broken, "run.parquet")
    assert Path("run.parquet").read_bytes() == before
    assert [p.name for p in here.iterdir()] == ["run.parquet"]
    with pytest.raises(dstbench.DstbenchError, match="cannot be written"):
        dstbench.write_long(open_runs(EXAMPLE)[0], "no such folder/run.parquet")


def test_a_path_is_never_a_pattern(here: Path) -> None:
    right = [{**state, "pred": state["gold"]} for state in EXAMPLE]
    for name, states in (("s1", right), ("s[1]", EXAMPLE)):
        dstbench.write_long(open_runs(states)[0], f"{name}.parquet")
    assert dstbench.score("s[1].parquet", metrics="jga")["value"].item() == 0.5


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_turns_without_a_prediction_stay_so_in_a_long_table(here: Path) -> None:
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in EXAMPLE]
    pred = [{"dialogue_id": "MUL7001", "turn": 0, "pred": EXAMPLE[0]["pred"]}]
    choices: tuple[Missing, ...] = ("wrong", "empty")
    signed = {}
    for missing in choices:
        (run,) = open_runs(pred, gold=gold, missing=missing)
        dstbench.write_long(run, f"{missing}.parquet")
        rows = dstbench.score(f"{missing}.parquet", gold=gold, missing="wrong", metrics="rsa,fga")
        signed[missing] = rows["signature"][0].partition("missing:")[2].partition("|")[0]
        alone = dstbench.score(f"{missing}.parquet", metrics="rsa,fga")
        assert rows["value"].to_list() == alone["value"].to_list()
        own = dstbench.score(pl.read_parquet(f"{missing}.parquet"), metrics="rsa,fga")  # it says nothing of its turns
        assert own["value"].to_list() == alone["value"].to_list()
        assert f"|missing:{'wrong' if missing == 'wrong' else 'error'}|" in own["signature"][0]
    assert signed == {"wrong": "wrong", "empty": "empty+wrong"}
