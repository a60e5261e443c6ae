"""Every native format, found by content and read to the same states; and what is said of files that are broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import dstbench
from dstbench.readers import Source, read
from tests import formats
from tests.corpora import EXAMPLE

ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT | formats.MARKS


def test_values_are_kept_verbatim(here: Path) -> None:
    values = ["none", "", "  spaced ", "Ünïcode", "a-b-c", '"quoted"', "a|b", "tab\tinside"]
    states = [{"dialogue_id": "D", "turn": t, "gold": {"hotel-name": v}, "pred": {}} for t, v in enumerate(values)]
    assert dstbench.scan(states).collect()["gold"].to_list() == values
    Path("som.json").write_text(json.dumps({f"D_{t}": [[], [f"hotel-name-{v}"]] for t, v in enumerate(values)}))
    assert dstbench.scan("som.json").collect()["gold"].to_list() == values


@pytest.mark.parametrize("word", ["", "not mentioned", "未提及", "未提到", "没有提到"])
@pytest.mark.parametrize("is_list", [False, True])
def test_raw_multiwoz_leaves_a_slot_out_in_english_and_chinese(word: str, is_list: bool, here: Path) -> None:
    """Every slot stands in every turn; a perfect prediction is perfect however those that are absent are spelled."""
    document = json.loads(formats.multiwoz())
    absent = [word] if is_list else word
    for turn in next(iter(document.values()))["log"][1::2]:
        for parts in turn["metadata"].values():
            for part in (parts["semi"], parts["book"]):
                part |= {slot: absent for slot, value in part.items() if value in ("", "not mentioned")}
    Path("data.json").write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    run = [{"dialogue_id": t["dialogue_id"], "turn": t["turn"], "pred": t["gold"]} for t in EXAMPLE]
    rows = dstbench.score(run, gold="data.json", metrics="jga,aga,f1:avg=micro")
    assert rows["value"].to_list() == [1.0, 1.0, 1.0]
    held = dstbench.scan(run, gold="data.json").collect()
    assert held.filter(held["gold"] != held["pred"]).is_empty()


@pytest.mark.parametrize("form", [formats.star_tsv, formats.sumbt_tsv])
def test_a_tsv_may_end_in_a_turn_without_its_last_slots(form: Callable[[], str], here: Path) -> None:
    """Its columns are read one after the other, so that the last value is not of the last turn."""
    head, first, *_ = form().splitlines()
    names, fields = head.split("\t"), first.split("\t")
    slots = [number for number, name in enumerate(names) if "-" in name]
    lines = [head]
    for turn in range(40):
        listed = slots if turn < 39 else slots[:1]
        texts = [
            "north" if number in listed else "none" if number in slots else fields[number]
            for number in range(len(fields))
        ]
        lines.append("\t".join([fields[0], str(turn), *texts[2:]]))
    Path("gold.tsv").write_text("\n".join([*lines, ""]))
    gold = read(Source("gold.tsv")).gold
    assert gold is not None
    assert gold.turns.height == 40
    assert gold.cells.height == 39 * len(slots) + 1


def test_a_slot_that_is_not_present_is_no_value_of_fnctods(here: Path) -> None:
    for name, values in (("fnctod", ["yes"]), ("pptod", ["not present", "yes"])):
        text = json.dumps({"bspn": "", "bspn_gen": "[hotel] name not present parking yes stars not mentioned"})
        Path("p.json").write_text('{"mul1": ' + (f"[{text}]" if name == "fnctod" else f'{{"0": {text}}}') + "}")
        states = read("p.json")
        assert states.format == name
        assert states.pred is not None
        assert states.pred.cells["value"].cast(str).to_list() == values


def test_a_byte_order_mark_is_no_content(here: Path) -> None:
    Path("p.json").write_bytes(b"\xef\xbb\xbf" + formats.gtpr().encode())
    assert dstbench.score("p.json", metrics="jga")["value"].item() == 0.5


def test_only_empty_lines_and_comments_of_a_tsv_are_passed_over(here: Path) -> None:
    for name in ("woz-tsv", "star-tsv"):
        Path("gold.tsv").write_text(ALL[name]() + "# a comment\n\r\n\n")
        found = read("gold.tsv").gold
        assert found is not None
        assert found.turns.height == 2
        Path("gold.tsv").write_text(ALL[name]() + "\t" * 6 + "\n")
        with pytest.raises(dstbench.DstbenchError, match=r"gold\.tsv"):
            read("gold.tsv")


def test_several_files_are_one_run(here: Path) -> None:
    first, second = EXAMPLE
    Path("a.jsonl").write_text(json.dumps(first))
    Path("b.jsonl").write_text(json.dumps(second))
    (run,) = dstbench.open_runs({"both": [Path("a.jsonl"), Path("b.jsonl")]})
    assert run.meta["files"] == ["a.jsonl", "b.jsonl"]
    assert run.table.collect().equals(dstbench.scan(EXAMPLE).drop("run").collect())
    with pytest.raises(dstbench.DstbenchError, match="the same turn in two files"):
        dstbench.open_runs({"twice": [Path("a.jsonl"), Path("a.jsonl")]})


def test_escapes_are_no_repeated_keys(here: Path) -> None:
    """The quick check for lost keys may suspect a file that only spells things otherwise; it must not be refused."""
    Path("p.json").write_text('{"MUL1.json": {"0": {"gt": {"hotel": {"name": "caf\\u00e9"}}, "pr": {}, "x": 1.0}}}')
    assert dstbench.score("p.json", metrics="jga")["value"].item() == 0


def test_a_name_that_no_file_can_have(here: Path) -> None:
    with pytest.raises(dstbench.DstbenchError, match="x: cannot be read: File name too long"):
        dstbench.score("x" * 300)


@pytest.mark.filterwarnings("ignore:.*is MultiWOZ's:dstbench.errors.DstbenchWarning")
def test_marks_of_right_slots_give_what_can_be_had(here: Path) -> None:
    Path("trippy_result.json").write_text(formats.fga_trippy())
    with pytest.warns(dstbench.DstbenchWarning, match=r"only jga, sa:T=30 and fga can be computed"):
        rows = dstbench.score("trippy_result.json")
    assert dict(zip(rows["metric"], rows["value"], strict=True)) == {"jga": 0.5, "sa:T=30": 59 / 60, "fga": 0.5}
    for metric in ("aga", "sa", "gca"):
        with (
            pytest.warns(dstbench.DstbenchWarning),
            pytest.raises(dstbench.UsageError, match=rf"{metric} cannot be computed from it\nhint: -m jga,sa:T=30,fga"),
        ):
            dstbench.score("trippy_result.json", metrics=f"jga,{metric}")
    with pytest.warns(dstbench.DstbenchWarning):
        dstbench.write_long(dstbench.open_runs("trippy_result.json")[0], "run.parquet")
    assert dstbench.score("run.parquet")["value"].to_list() == [0.5, 59 / 60, 0.5]  # the table knows it, too
    Path("trippy_result.json").write_text('{"D": {"0": [1, 1], "1": [1]}}')
    with pytest.raises(dstbench.DstbenchError, match="not 2 marks of 0 and 1"):
        dstbench.score("trippy_result.json")
