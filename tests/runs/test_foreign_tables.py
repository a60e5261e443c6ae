"""Long tables that dstbench has not written: several runs in one, and names in any spelling."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from tests.commands import run
from tests.corpora import EXAMPLE, States, corpora

WRONG: States = [{**state, "pred": {"hotel-area": "nowhere"}} for state in EXAMPLE]
SPELLINGS = {
    "hotel-area": ["hotel-semi-area", "hotel_area", "Hotel-Area"],
    "hotel-name": ["hotel name", "hotel-semi-name"],
    "hotel-book day": ["hotel-day", "hotel-book-day", "hotel-bookday"],
    "train-day": ["train-semi-day", "TRAIN-DAY"],
    "train-leaveat": ["train-leaveAt", "train-leave at"],
}


def jga(data: Any, **reading: Any) -> dict[str, float]:
    rows = dstbench.score(data, metrics="jga", **reading)
    return dict(zip(rows["run"], rows["value"], strict=True))


@pytest.mark.again
@pytest.mark.filterwarnings("ignore:.*(own gold is not used|left out):dstbench.errors.DstbenchWarning")
def test_a_table_of_two_runs_is_two_runs_both_ways(here: Path) -> None:
    table = dstbench.scan({"good": EXAMPLE, "bad": WRONG}).collect()
    table.write_parquet("two.parquet")
    for data in (table, "two.parquet", ["two.parquet"], Path("two.parquet")):
        assert jga(data) == {"good": 0.5, "bad": 0}
    assert jga("two.parquet", names=["a", "b"]) == {"a": 0.5, "b": 0}
    assert jga("two.parquet", gold=EXAMPLE[:1], missing="intersect") == {"good": 1, "bad": 0}
    code, out, _ = run("score", "two.parquet", "-m", "jga", "--format", "csv")
    assert code == 0
    assert [line.partition(",")[0] for line in out.splitlines()[1:]] == ["good", "bad"]
    (other := Path("other")).mkdir()
    table.write_parquet(other / "two.parquet")
    assert [*jga(["two.parquet", other / "two.parquet"])][-2:] == ["other/two/good", "other/two/bad"]


def test_a_table_of_two_runs_is_never_merged(here: Path) -> None:
    dstbench.scan({"good": EXAMPLE, "bad": WRONG}).collect().write_parquet("two.parquet")
    with pytest.raises(dstbench.DstbenchError, match=r"two\.parquet: a table of several runs"):
        jga({"mine": "two.parquet"})
    with pytest.raises(dstbench.DstbenchError, match="gold comes from one place, not from 2"):
        jga(EXAMPLE, gold="two.parquet")
    code, _, err = run("convert", "two.parquet", "-o", "long.parquet")
    assert code == 1
    assert "two.parquet: a table of several runs, where there must be one" in err


@pytest.mark.filterwarnings("ignore:.*keys used:dstbench.errors.DstbenchWarning")
def test_records_of_two_runs_are_two_runs_both_ways(here: Path) -> None:
    names = {"good": EXAMPLE, "bad": WRONG}
    table = pl.DataFrame([{"run": name, **state} for name, states in names.items() for state in states])
    table.write_parquet("two.parquet")
    assert jga(table) == jga("two.parquet") == {"good": 0.5, "bad": 0}


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
@given(corpora(), st.data())
def test_names_are_canonical_like_those_of_any_file(
    tmp_path_factory: pytest.TempPathFactory, states: States, data: st.DataObject
) -> None:
    canonical = dstbench.scan(states).drop("run").collect()
    spell = {slot: data.draw(st.sampled_from([slot, *others])) for slot, others in SPELLINGS.items()}
    spellings: list[Callable[[str], str]] = [
        str.lower,
        lambda name: f"{name}.json",
        lambda name: f"{name.lower()}.json",
        str,
    ]
    ids = data.draw(st.sampled_from(spellings))
    foreign = canonical.with_columns(
        pl.col("dialogue").replace({name: ids(name) for name in canonical["dialogue"].unique()}),
        pl.col("slot").cast(pl.String).replace(spell),
    )
    path = tmp_path_factory.mktemp("foreign") / "foreign.parquet"
    foreign.write_parquet(path)
    for read in (foreign, path):
        assert dstbench.scan(read).drop("run").collect().equals(canonical)


def test_names_that_would_join_rows_are_refused(here: Path) -> None:
    table = dstbench.scan(EXAMPLE).drop("run").collect().with_columns(pl.col("slot").cast(pl.String))
    slots = pl.concat([table, table.filter(pl.col("slot") == "hotel-area").with_columns(slot=pl.lit("hotel_area"))])
    dialogues = pl.concat([table, table.with_columns(pl.col("dialogue").str.to_lowercase(), turn=pl.col("turn") + 2)])
    for name, joined, said in (
        ("slots", slots, "'hotel-area' and 'hotel_area' are the same slot"),
        ("dialogues", dialogues, "'MUL7001' and 'mul7001' are the same dialogue"),
    ):
        joined.write_parquet(f"{name}.parquet")
        for data in (joined, f"{name}.parquet"):
            with pytest.raises(dstbench.DstbenchError, match=said):
                jga(data)


@pytest.mark.filterwarnings("ignore:.*is MultiWOZ's:dstbench.errors.DstbenchWarning")
def test_a_foreign_table_takes_a_map_of_slots(here: Path) -> None:
    rows = [("1", 0, "movie-date", "friday", None), ("1", 0, "date", None, "friday")]
    pl.DataFrame(rows, schema=["dialogue", "turn", "slot", "gold", "pred"], orient="row").write_parquet("run.parquet")
    with pytest.raises(dstbench.DstbenchError, match="of 1 predicted slot, gold has none"):
        jga("run.parquet")
    assert jga("run.parquet", slot_map={"date": "movie-date"}) == {"run": 1}
