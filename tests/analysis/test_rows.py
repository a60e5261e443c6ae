"""Judged rows: the questions of the topic against plain loops, and runs of every kind."""

import ast
import doctest
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench.cli.commands import topics
from dstbench.demo import synthetic
from dstbench.schema.core import ROWS

Cell = tuple[str | None, str | None]


def most(counts: Counter[Any], number: int = 2) -> list[Any]:
    """The most frequent keys with their counts, ties in alphabetical order."""
    return sorted(((*key, n) for key, n in counts.items()), key=lambda row: (-row[-1], row[-2], row[:-1]))[:number]


def answers(runs: dict[str, pl.DataFrame]) -> list[Any]:
    """The answers to the ten questions, in order."""
    counters: list[Counter[Any]] = [Counter() for _ in range(11)]
    names, corrected, first, over, copied, new, lacks, right, gold, lost, changes = counters

    known: dict[Any, list[bool]] = defaultdict(list)
    for run, table in runs.items():
        states: dict[str, dict[int, dict[str, Cell]]] = defaultdict(lambda: defaultdict(dict))
        for dialogue, turn, slot, g, p in table.iter_rows():
            state = states[dialogue][turn]
            if slot is not None:
                state[slot] = (None if g == "none" else g, None if p == "none" else p)
        for turns in states.values():
            failed: set[str] = set()
            for turn in sorted(turns):
                now, old = turns[turn], turns.get(turn - 1, {})
                busy = {slot.split("-")[0] for slot, (g, _) in now.items() if g and g != old.get(slot, (None,))[0]}
                for slot, (g, p) in now.items():
                    og, op = old.get(slot, (None, None))
                    domain = slot.split("-")[0]
                    if g != p:
                        if slot not in failed:
                            first[turn] += 1
                        failed.add(slot)
                        names[len(turns)] += slot.endswith("-name") and turn == max(turns)
                        if p and p != op:
                            for other, (value, _) in now.items():
                                copied[other, slot] += value == p
                            over[(slot,)] += 0 if g else len(busy - {domain})
                    corrected[run, slot] += og != op and g == p
                    lost[run] += bool(og and og == op and g == og and not p)
                    changes[run] += slot in old and p != op and g == og
                    if g:
                        new[run] += g != og
                        lacks[run] += g != og and not p
                        gold[run, domain] += 1
                        right[run, domain] += g == p
                        known[slot, g].append(g == p)
    never = Counter({pair: len(ok) for pair, ok in known.items() if not any(ok)})
    shares = sorted((round(right[key] / n, 3), key) for key, n in gold.items())
    return [
        sorted((length, n) for length, n in names.items() if n),
        most(corrected),
        sorted(first.items())[:3],
        most(over),
        sorted(most(copied)),
        sorted((run, round(lacks[run] / n, 3)) for run, n in new.items()),
        [(*key, share) for share, key in shares[:2]],
        sorted(lost.items()),
        sorted((run, n) for run, n in changes.items() if n),
        most(never),
    ]


def test_the_topics_answers_are_those_of_plain_loops() -> None:
    text = topics()["questions"].partition("on judged rows")[2].partition("## In Python")[0]
    shown = [ast.literal_eval(one.want) for one in doctest.DocTestParser().get_examples(text) if one.want]
    assert shown == answers(synthetic(200))


@pytest.mark.again
def test_rows_are_the_same_of_files_frames_and_states_and_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = synthetic(20)["eager"]
    whole = dstbench.rows({"eager": table}, profile="trade").collect()
    assert whole.schema == ROWS.schema
    monkeypatch.setattr("dstbench.runs.run._ROW_GROUP", 1)
    dstbench.write_long(dstbench.open_runs({"eager": table})[0], tmp_path / "eager.parquet")
    states: dict[Any, Any] = {}
    for dialogue, turn, slot, gold, pred in table.iter_rows():
        state = states.setdefault((dialogue, turn), {"dialogue_id": dialogue, "turn": turn, "gold": {}, "pred": {}})
        for side, value in (("gold", gold), ("pred", pred)):
            if value is not None:
                state[side][slot] = value
    for data in (tmp_path / "eager.parquet", {"eager": table}, {"eager": list(states.values())}):
        assert len(dstbench.open_runs(data)[0].cuts) > 11
        lazy = dstbench.rows(data, profile="trade")
        assert lazy.collect().equals(whole)
        right = whole.filter("ok", ~pl.col("first")).select("slot", "turn")
        assert lazy.filter("ok", ~pl.col("first")).select("slot", "turn").collect().equals(right)
        assert lazy.slice(3, 70).collect().equals(whole.slice(3, 70))


def test_turns_without_slots_have_a_row_and_turns_say_whether_they_are_scored() -> None:
    gold = [{}, {"hotel-area": "north"}]
    states = [{"dialogue_id": "D", "turn": turn, "gold": state, "pred": {}} for turn, state in enumerate(gold)]
    rows = dstbench.rows(states, profile=dstbench.profile("verbatim", turns="gold")).collect()
    assert rows.select("slot", "g", "ok", "is_scored").rows() == [
        (None, None, False, False),
        ("hotel-area", "north", False, True),
    ]
