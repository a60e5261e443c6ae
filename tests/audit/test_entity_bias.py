"""Entity bias: against plain loops, laws, what Qian et al. 2021 print, and the real training set."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

import dstbench
from dstbench import audit
from dstbench.rendering.of_audits import frequent_values
from tests.corpora import States, corpora

Counts = dict[str, dict[str, Counter[str]]]


def count(states: States) -> Counts:
    """Counting to slot to value to how often, by a loop over turns."""
    found: Counts = {name: defaultdict(Counter) for name in ("cumulative", "update", "final")}
    dialogues = defaultdict(list)
    for state in states:
        kept = {slot: value for slot, value in state["gold"].items() if value not in ("none", "")}
        dialogues[state["dialogue_id"]].append((state["turn"], kept))
    for turns in dialogues.values():
        turns.sort(key=lambda turn: turn[0])
        before: dict[str, str] = {}
        for _, state in turns:
            for slot, value in state.items():
                found["cumulative"][slot][value] += 1
                if before.get(slot) != value:
                    found["update"][slot][value] += 1
            before = state
        for slot, value in before.items():
            found["final"][slot][value] += 1
    return found


def evenness(counts: Counter[str]) -> tuple[float | None, float | None]:
    """H1/H0 and H∞/H0, as the paper has them."""
    n, distinct = sum(counts.values()), len(counts)
    if distinct == 1:
        return None, None
    surprise = [math.log(n / times, distinct) for times in counts.values()]
    return sum(times / n * s for times, s in zip(counts.values(), surprise, strict=True)), min(surprise)


def distribution(counts: dict[str, int]) -> States:
    """A dialogue of one turn for each time that a value is there."""
    values = [value for value, n in counts.items() for _ in range(n)]
    return [{"dialogue_id": f"D{i}", "turn": 0, "gold": {"train-destination": v}} for i, v in enumerate(values)]


@given(states=corpora())
def test_it_is_what_loops_give(states: States) -> None:
    found, wanted = audit.bias(states), count(states)
    values: Counts = {name: defaultdict(Counter) for name in wanted}
    for row in found.values.iter_rows(named=True):
        values[row["counting"]][row["slot"]][row["value"]] = row["n"]
        assert row["share"] == row["n"] / sum(wanted[row["counting"]][row["slot"]].values())
    assert values == wanted
    assert found.slots.height == sum(map(len, wanted.values()))
    for row in found.slots.iter_rows(named=True):
        counts = wanted[row["counting"]][row["slot"]]
        assert (row["n"], row["values"]) == (sum(counts.values()), len(counts))
        first = min(counts, key=lambda value: (-counts[value], value))
        assert (row["most_frequent"], row["share"]) == (first, counts[first] / row["n"])
        assert [row["h1_h0"], row["hinf_h0"]] == pytest.approx(evenness(counts), abs=1e-12)
        if row["values"] > 1:
            assert 0 <= row["hinf_h0"] <= row["h1_h0"] + 1e-12 <= 1 + 1e-12
            assert row["h1_h0"] <= 1
    assert found.overlap.is_empty()
    assert found.values["in_train"].null_count() == found.values.height


@given(train=corpora(), test=corpora())
def test_the_overlap_is_what_loops_give(train: States, test: States) -> None:
    found = audit.bias({"train": train, "test": test}).overlap
    seen, here = count(train), count(test)
    assert found.height == sum(map(len, here.values()))
    for row in found.iter_rows(named=True):
        there, counts = seen["cumulative"][row["slot"]], here[row["counting"]][row["slot"]]
        known = [value for value in counts if value in there]
        assert (row["split"], row["train"], row["values"], row["values_seen"]) == (
            "test",
            "train",
            len(counts),
            len(known),
        )
        assert (row["n"], row["n_seen"]) == (sum(counts.values()), sum(counts[value] for value in known))
        assert row["share_values_seen"] == len(known) / len(counts)
        assert row["share_n_seen"] == row["n_seen"] / row["n"]
        trained = seen[row["counting"]][row["slot"]]
        if not trained:
            assert [row[name] for name in ("train_most_frequent", "train_share", "share")] == [None] * 3
            continue
        first = min(trained, key=lambda value: (-trained[value], value))
        assert row["train_most_frequent"] == first
        assert row["train_share"] == trained[first] / sum(trained.values())
        assert row["share"] == pytest.approx(counts[first] / row["n"])


def test_the_printed_min_entropy() -> None:
    """Qian et al. 2021, Fig 2 and Table 2: cambridge is 8,086 of 16,138 train destinations, of 13; H∞/H0 is 0.269."""
    counts = {"cambridge": 8086, **{f"town {i}": (16138 - 8086) // 12 for i in range(12)}}
    row = audit.bias(distribution(counts), counting="cumulative").slots.row(0, named=True)
    assert (row["n"], row["values"], round(row["hinf_h0"], 3)) == (16138, 13, 0.269)


def test_dontcare_is_a_value_unless_the_convention_drops_it() -> None:
    states = distribution({"do not care": 2, "Ely": 1, "ely": 1})
    assert audit.bias(states, counting="final").slots["values"].item() == 3
    told = dstbench.profile("verbatim", dontcare="drop", gold_steps="case")
    assert audit.bias(states, counting="final", profile=told).values["value"].to_list() == ["ely"]
    skipped = dstbench.profile("verbatim", dontcare="skip")
    assert audit.bias(states, counting="final", profile=skipped).slots["n"].item() == 2


def test_slots_in_any_spelling_and_splits_by_name() -> None:
    states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-name": "a", "hotel-book day": "b", "x-y": "c"}}]
    found = audit.bias(
        {"old": states, "new": states}, slots=["hotel-bookday", "x-y"], counting="final,update", train="old"
    )
    assert found.slots["slot"].unique().sort().to_list() == ["hotel-book day", "x-y"]
    assert found.slots["counting"].unique(maintain_order=True).to_list() == ["final", "update"]
    assert found.overlap["split"].unique().to_list() == ["new"]


def test_the_real_training_set(data: Path) -> None:
    """The paper's counts are of another preparation of the same set: cambridge 8,086 of 16,138, H1/H0 0.753."""
    train = data / "multiwoz21" / "train.tsv.gz"
    everything = audit.bias(train, slots="train-destination", counting="cumulative")
    assert everything.values.select("value", "n").row(0) == ("cambridge", 8006)
    assert everything.slots["n"].item() == 16021
    towns = audit.bias(train, slots="train-destination", counting="cumulative", least=5)
    row = towns.slots.row(0, named=True)
    assert row["values"] == 13
    assert (row["h1_h0"], row["hinf_h0"]) == (pytest.approx(0.753, abs=0.002), pytest.approx(0.269, abs=0.002))
    assert towns.values["n"].is_sorted(descending=True)


def test_the_real_sets_overlap(data: Path) -> None:
    golds = {name: data / "multiwoz21" / f"{name}.tsv{'.gz' * (name == 'train')}" for name in ("train", "test")}
    found = audit.bias(golds, counting="cumulative")
    states = {name: dstbench.read(path).gold for name, path in golds.items()}
    pairs = {}
    for name, side in states.items():
        assert side is not None
        pairs[name] = Counter(side.cells.select(pl.col("slot", "value").cast(pl.String)).iter_rows())
    seen = sum(n for pair, n in pairs["test"].items() if pair in pairs["train"])
    assert found.overlap.select(pl.col("n", "n_seen").sum()).row(0) == (pairs["test"].total(), seen)
    assert found.overlap["values"].sum() == len(pairs["test"])


def test_the_values_shown_are_those_with_the_largest_share_of_any_split() -> None:
    """Not those with the largest sum of shares: `b` has .45 in each split, `a` .55 in one."""
    splits = {
        name: [
            {"dialogue_id": f"{name}{n}", "turn": 0, "gold": {"hotel-area": value}} for n, value in enumerate(values)
        ]
        for name, values in {"train": "a" * 11 + "b" * 9, "test": "b" * 9 + "cdefghijklm"}.items()
    }
    shown = frequent_values(audit.bias(splits), top=1)
    assert shown.select("value", "split", "n", "of").rows() == [("a", "train", 11, 20), ("a", "test", 0, 20)]
