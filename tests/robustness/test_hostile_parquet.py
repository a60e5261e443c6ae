"""Long tables that are not what their footers claim, are damaged, or have columns that no long table has."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.runs.open import open_runs
from dstbench.scoring import partitions as partition

pytestmark = [pytest.mark.fuzz, pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")]


@pytest.fixture
def long(here: Path) -> pa.Table:
    dstbench.write_long(open_runs(synthetic(40, trackers=["eager"]))[0], "true.parquet")
    return pq.read_table("true.parquet")


def claim(table: pa.Table, cuts: Any = None, **meta: Any) -> str:
    """A file whose footer claims to be ours."""
    keys = {key.decode(): text for key, text in pq.read_metadata("true.parquet").metadata.items()}
    said = {**json.loads(keys["dstbench"]), **meta}
    cuts = [0, table.num_rows] if cuts is None else cuts
    text = cuts if isinstance(cuts, str) else json.dumps(cuts)
    pq.write_table(table.replace_schema_metadata({"dstbench": json.dumps(said), "dstbench.cuts": text}), "x.parquet")
    return "x.parquet"


def scores(path: str) -> list[float]:
    return dstbench.score(path, metrics="jga,fga,f1,gca", profile="kim2022")["value"].to_list()


N: Any = "rows"
CUTS = [[N], [1, N], [0, 7, N], [0, -5, N], [N, 0, N], [0, 10**6, N], [0.0, N], ["0", N], [None, N], [[0], N],
        [0, N, N], [True, N], [10**30, N], [], {}, 5, "x", "[" * 10_000]  # fmt: skip


@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_cuts_that_do_not_fit_the_rows_are_not_believed(cuts: Any, long: pa.Table) -> None:
    there = [long.num_rows if cut == N else cut for cut in cuts] if isinstance(cuts, list) else cuts
    assert scores(claim(long, there)) == scores("true.parquet")
    assert dstbench.score("x.parquet", by="dialogue", metrics="jga").height == 40


def test_a_cut_within_a_dialogue_is_found(long: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    dialogues = pl.DataFrame(long)["dialogue"]
    monkeypatch.setattr(partition.partitions, "__defaults__", (1,))
    ends = dialogues.ne_missing(dialogues.shift(1)).arg_true().to_list()
    assert scores(claim(long, [0, ends[1], ends[2], long.num_rows])) == scores("true.parquet")
    within = next(at for at in range(ends[3], long.num_rows) if at not in ends)
    claim(long, [0, within, long.num_rows])
    for engine in (None, lambda run, function: [function(run.part(*part)) for part in partition.partitions(run)]):
        with (
            partition.worked_on_by(engine),
            pytest.raises(dstbench.DstbenchError, match=r"^x: the long table is not sorted"),
        ):
            scores("x.parquet")


META = [
    *[("missing", value) for value in (5, None, ["wrong"], "\x1b[2J", "a|b")],
    *[("coverage", value) for value in (5, None, {}, {"turns": "x", "dialogues": 1}, {"turns": -1, "dialogues": 1})],
    *[("only", value) for value in (5, [5], "jga", {"jga": 1})],
]


@pytest.mark.parametrize(("key", "value"), META)
def test_a_footer_that_says_what_none_says_is_not_believed(key: str, value: Any, long: pa.Table) -> None:
    assert scores(claim(long, **{key: value})) == scores("true.parquet")
    assert dstbench.check("x.parquet").height > 5


@pytest.mark.parametrize(
    "sums", [5, [], [[4, 0]] * 2, [[10**15, 0]], [[-1, 0]], [["9", 0]], [[9]], {"9": 0}, "x"], ids=str
)
def test_checksums_that_do_not_fit_the_file_are_not_believed(sums: Any, long: pa.Table) -> None:
    """Nor is so much read as they name."""
    keys = {key.decode(): text for key, text in pq.read_metadata("true.parquet").metadata.items()}
    said = {key: keys[key] for key in ("dstbench", "dstbench.cuts")} | {"dstbench.crc32": json.dumps(sums)}
    pq.write_table(long.replace_schema_metadata(said), "x.parquet")
    assert scores("x.parquet") == scores("true.parquet")


@pytest.mark.parametrize("gold", [5, [], "x", "0" * 15, "0" * 17, "-000000000000001", {"gold": 1}, "0" * 16], ids=str)
def test_a_fingerprint_without_checksums_is_not_believed(gold: Any, long: pa.Table) -> None:
    keys = {key.decode(): text for key, text in pq.read_metadata("true.parquet").metadata.items()}
    said = {key: keys[key] for key in ("dstbench", "dstbench.cuts")} | {"dstbench.gold": json.dumps(gold)}
    pq.write_table(long.replace_schema_metadata(said), "x.parquet")
    assert dstbench.score("x.parquet")["signature"].equals(dstbench.score("true.parquet")["signature"])


def test_a_file_whose_checksums_are_of_other_bytes_is_damaged(long: pa.Table) -> None:
    keys = {key.decode(): text for key, text in pq.read_metadata("true.parquet").metadata.items()}
    said = {key: keys[key] for key in ("dstbench", "dstbench.cuts")} | {"dstbench.crc32": "[[9, 0]]"}
    pq.write_table(long.replace_schema_metadata(said), "x.parquet")
    with pytest.raises(dstbench.DstbenchError, match=r"^x: a damaged Parquet file: its bytes are not those"):
        scores("x.parquet")


ROWS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "reversed": lambda rows: rows.reverse(),
    "shuffled": lambda rows: rows.sample(fraction=1, shuffle=True, seed=1),
    "by turn": lambda rows: rows.sort("dialogue", "turn", "slot"),
    "a dialogue in two places": lambda rows: pl.concat([rows[100:], rows[:100]]),
    "a row twice": lambda rows: pl.concat([rows[:-1], rows[-2:-1]]),
    "no dialogue": lambda rows: rows.with_columns(dialogue=pl.when(pl.int_range(pl.len()) != 3).then("dialogue")),
    "no turn": lambda rows: rows.with_columns(turn=pl.when(pl.int_range(pl.len()) != 3).then("turn")),
    "gold without slot": lambda rows: rows.with_columns(slot=pl.when(pl.int_range(pl.len()) != 3).then("slot")),
    "one turn": lambda rows: rows.with_columns(turn=pl.lit(0, pl.UInt16)),
    "none": lambda rows: rows.clear(),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("by", [(), "slot"])
def test_rows_that_claim_to_be_a_long_table_and_are_none(name: str, by: Any, long: pa.Table) -> None:
    path = claim(ROWS[name](pl.DataFrame(long)).to_arrow())
    with pytest.raises(dstbench.DstbenchError, match=r"^x.*: (?:the long table is not sorted|no dialogue)"):
        dstbench.score(path, metrics="jga", by=by)


def test_a_damaged_page_gives_no_other_number(long: pa.Table) -> None:
    content, wanted = Path("true.parquet").read_bytes(), scores("true.parquet")
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for at in range(4, footer, footer // 60):
        Path("x.parquet").write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        try:
            assert scores("x.parquet") == wanted  # what a page's header tells of its values is not asked for
        except dstbench.DstbenchError as error:
            assert re.match(r"x(\.parquet)?: a damaged Parquet file", str(error))  # noqa: PT017 (found on opening, or later)
    for at in range(footer, len(content), 7):  # what says where the pages are
        Path("x.parquet").write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
        try:
            assert scores("x.parquet") == wanted
        except dstbench.DstbenchError as error:
            assert str(error).startswith("x")  # noqa: PT017 (some bytes do not matter)


TYPES: dict[str, pa.Array] = {
    "list": pa.array([["a"], ["b"]]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "float": pa.array([0.5, 1.0]),
    "bytes": pa.array([b"\xff", b"\0"]),
    "bool": pa.array([True, False]),
    "duration": pa.array([1, 2], pa.duration("us")),
    "decimal": pa.array([1, 2], pa.int64()).cast(pa.decimal128(38, 2)),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "large": pa.array([-1, 2**62]),
}


@pytest.mark.parametrize("column", ["dialogue", "turn", "slot", "gold", "pred"])
@pytest.mark.parametrize("kind", TYPES)
def test_columns_of_absurd_types_are_refused(column: str, kind: str, here: Path) -> None:
    table = {"dialogue": ["D", "D"], "turn": [0, 1], "slot": ["a-b"] * 2, "gold": ["x"] * 2, "pred": ["y"] * 2}
    pq.write_table(pa.table({**table, column: TYPES[kind]}), "t.parquet")
    with pytest.raises(dstbench.DstbenchError, match=r"^t\.parquet: not a long table: "):
        dstbench.score("t.parquet")


def test_a_panic_of_polars_is_a_damaged_file(long: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: Any, **__: Any) -> Any:
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    with pytest.raises(dstbench.DstbenchError, match=r"a damaged Parquet file: called"):
        dstbench.score("true.parquet")
