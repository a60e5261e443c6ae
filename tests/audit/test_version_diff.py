"""Two versions of a dataset: against plain loops, laws, and the real MultiWOZ 2.0 and 2.1."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.rendering.of_audits import split_rows
from dstbench.schema.audit import KINDS
from tests.corpora import FEW, LARGE, States, corpora
from tests.readers.test_datasets import multiwoz_with_splits

Version = dict[str, dict[int, dict[str, str]]]
Cell = tuple[str, int, str, str | None, str | None, str]


def version(states: States, side: str) -> Version:
    """Dialogue to turn to state, without what means absent; `NORTH` is another spelling of a value."""
    found: Version = defaultdict(dict)
    for state in states:
        kept = {slot: "NORTH" if value == "centre" else value for slot, value in state[side].items()}
        found[state["dialogue_id"]][state["turn"]] = {s: v for s, v in kept.items() if v not in ("none", "")}
    return found


def as_gold(found: Version) -> States:
    return [{"dialogue_id": d, "turn": t, "gold": s} for d, turns in found.items() for t, s in turns.items()]


def next_other(turns: dict[int, dict[str, str]], common: list[int], at: int, slot: str) -> str | None:
    """The next value of a slot, in a later turn, that is not the one it has."""
    now = turns[at].get(slot)
    for turn in common:
        if turn > at and turns[turn].get(slot) != now:
            return turns[turn].get(slot)
    return None


def compare(before: Version, after: Version) -> list[Cell]:
    """Every cell that differs, with its kind, by loops."""
    cells: list[Cell] = []
    for dialogue in before.keys() & after.keys():
        old, new = before[dialogue], after[dialogue]
        common = sorted(old.keys() & new.keys())
        for turn in common:
            for slot in old[turn].keys() | new[turn].keys():
                b, a = old[turn].get(slot), new[turn].get(slot)
                if a == b:
                    continue
                if a and b and a.lower() == b.lower():
                    kind = "respelled"
                elif a and next_other(old, common, turn, slot) == a:
                    kind = "moved_earlier"
                elif b and next_other(new, common, turn, slot) == b:
                    kind = "moved_later"
                else:
                    kind = "changed" if a and b else "added" if a else "removed"
                cells.append((dialogue, turn, slot, b, a, kind))
    return sorted(cells)


def domain(slot: str) -> str:
    return slot.partition("-")[0]


def sizes(before: Version, after: Version, cells: list[Cell], name: str | None) -> tuple[int, ...]:
    """Dialogues and turns that have a domain (None: all), and those that differ in it."""
    turns = {
        (d, t)
        for d in before.keys() & after.keys()
        for t in before[d].keys() & after[d].keys()
        if name is None or any(domain(slot) == name for slot in before[d][t].keys() | after[d][t].keys())
    }
    differ = {(d, t) for d, t, slot, *_ in cells if name is None or domain(slot) == name}
    return len({d for d, _ in turns}), len({d for d, _ in differ}), len(turns), len(differ)


COMPARED = ("dialogues", "changed_dialogues", "turns", "changed_turns")


def check(found: audit.Differences, before: Version, after: Version) -> list[Cell]:
    """Every number of a comparison is what loops give; returns the cells that differ."""
    cells = compare(before, after)
    assert found.cells.with_columns(pl.col("slot", "before", "after").cast(pl.String)).rows() == cells
    (whole,) = found.versions.iter_rows(named=True)
    assert tuple(whole[name] for name in COMPARED) == sizes(before, after, cells, None)
    kinds = Counter(cell[-1] for cell in cells)
    assert {kind: whole[kind] for kind in KINDS} == {kind: kinds[kind] for kind in KINDS}
    turns = {name: {(d, t) for d in v for t in v[d]} for name, v in (("before", before), ("after", after))}
    assert whole["dialogues_before"] == len(before.keys() - after.keys())
    assert whole["dialogues_after"] == len(after.keys() - before.keys())
    assert whole["turns_before"] == len(turns["before"] - turns["after"])
    assert whole["turns_after"] == len(turns["after"] - turns["before"])
    held = {s for d, t in turns["before"] & turns["after"] for v in (before, after) for s in v[d][t]}
    assert found.slots["slot"].to_list() == sorted(held)
    assert found.domains["domain"].to_list() == sorted({domain(slot) for slot in held})
    for row in found.domains.iter_rows(named=True):
        assert tuple(row[name] for name in COMPARED) == sizes(before, after, cells, row["domain"])
        kinds = Counter(cell[-1] for cell in cells if domain(cell[2]) == row["domain"])
        assert {kind: row[kind] for kind in KINDS} == {kind: kinds[kind] for kind in KINDS}
        assert row["share_dialogues"] == row["changed_dialogues"] / row["dialogues"]
        assert row["share_turns"] == row["changed_turns"] / row["turns"]
    for row in found.slots.iter_rows(named=True):
        own = [cell for cell in cells if cell[2] == row["slot"]]
        of_domain = sizes(before, after, cells, domain(row["slot"]))
        wanted = (of_domain[0], len({cell[0] for cell in own}), of_domain[2], len(own))
        assert tuple(row[name] for name in COMPARED) == wanted
    changes = Counter(cell[2:] for cell in cells)
    for *change, n, dialogues in found.changes.iter_rows():
        assert changes.pop(tuple(change)) == n
        assert dialogues == len({cell[0] for cell in cells if cell[2:] == tuple(change)})
    assert not changes
    assert found.changes["turns"].is_sorted(descending=True)
    return cells


@FEW
@given(states=corpora(LARGE), data=st.data())
def test_it_is_what_loops_give(states: States, data: st.DataObject) -> None:
    before, after = version(states, "gold"), version(states, "pred")
    for side in (before, after):  # some turns are in one version only
        for dialogue in [d for d in side if data.draw(st.integers(0, 5)) == 0]:
            side[dialogue].pop(data.draw(st.sampled_from(sorted(side[dialogue]))))
            if not side[dialogue]:
                del side[dialogue]
    assume(any(before[d].keys() & after[d].keys() for d in before.keys() & after.keys()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dstbench.DstbenchWarning)
        found = audit.diff(as_gold(before), as_gold(after))
    check(found, before, after)


@FEW
@given(states=corpora(LARGE))
def test_the_other_way_round_is_the_mirror(states: States) -> None:
    before, after = as_gold(version(states, "gold")), as_gold(version(states, "pred"))
    one, other = audit.diff(before, after).versions, audit.diff(after, before).versions
    same = ["dialogues", "turns", "changed_dialogues", "changed_turns", "changed", "respelled"]
    assert one.select(same).equals(other.select(same))
    assert one.select("added", "removed").row(0) == other.select("removed", "added").row(0)
    moved = pl.col("moved_earlier") + pl.col("moved_later")
    assert one.select(moved).item() == other.select(moved).item()
    nothing = audit.diff(before, before)
    assert nothing.cells.is_empty()
    assert nothing.changes.is_empty()
    assert nothing.versions.select("changed_turns", "share_turns").row(0) == (0, 0.0)


def turns(*states: dict[str, str]) -> States:
    return [{"dialogue_id": "D", "turn": n, "gold": state} for n, state in enumerate(states)]


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (["", "n", "n"], ["n", "n", "n"], ["moved_earlier"]),
        (["n", "n"], ["", "n"], ["moved_later"]),
        (["n", "s", "s"], ["s", "s", "s"], ["moved_earlier"]),
        (["n", "n", "s"], ["n", "s", "e"], ["moved_earlier", "changed"]),
        (["n", "n"], ["n", ""], ["removed"]),
        (["", "n"], ["s", "s"], ["added", "changed"]),
        (["n", "N"], ["N", "N"], ["respelled"]),
        (["n", "s"], ["s", "n"], ["moved_earlier", "changed"]),
    ],
)
def test_kinds(before: list[str], after: list[str], kinds: list[str]) -> None:
    one, other = (turns(*({"hotel-area": value} if value else {} for value in side)) for side in (before, after))
    assert audit.diff(one, other).cells["kind"].to_list() == kinds


def test_a_convention_says_what_differs() -> None:
    old = turns({"hotel-area": "Centre ", "hotel-stars": "do not care", "hotel-name": "acorn house"})
    new = turns({"hotel-area": "center", "hotel-stars": "dontcare", "hotel-name": "the acorn house"})
    assert audit.diff(old, new).cells.select("slot", "kind").rows() == [
        ("hotel-area", "respelled"), ("hotel-name", "changed"), ("hotel-stars", "respelled"),
    ]  # fmt: skip
    assert audit.diff(old, new, profile="star").cells["slot"].to_list() == ["hotel-name"]
    fuzzy = dstbench.profile("star", match="token-sort:least=0.8")
    assert audit.diff(old, new, profile=fuzzy).cells.is_empty()
    dropped = dstbench.profile("verbatim", dontcare="drop")
    found = audit.diff(turns({"hotel-stars": "dontcare"}), turns({"hotel-stars": "4"}), profile=dropped).cells
    assert found.select("before", "after", "kind").row(0) == ("dontcare", "4", "added")  # verbatim, though it is none


def test_splits_are_compared_beside_the_whole(here: Path) -> None:
    """Each as if it had been compared alone; nothing of splits where there is one only."""
    for version, area in (("old", "north"), ("new", "south")):
        Path(version).mkdir()
        for name, content in multiwoz_with_splits().items():
            changed = content.replace(b'"area": "north"', f'"area": "{area}"'.encode())
            Path(name.replace("MULTIWOZ", version, 1)).write_bytes(changed)
    found = audit.diff("old", "new")
    assert found.splits["split"].unique(maintain_order=True).to_list() == ["train", "dev", "test"]
    assert found.cells.height > 0
    for split in ("train", "dev", "test"):
        alone, rows = audit.diff("old", "new", split=split), found.splits.filter(split=split)
        assert alone.splits.is_empty()
        assert rows.filter(pl.col("domain").is_null()).select(COMPARED).equals(alone.versions.select(COMPARED))
        of_domains = rows.filter(pl.col("slot").is_null() & pl.col("domain").is_not_null())
        assert of_domains.select(alone.domains.columns).equals(alone.domains)
        assert rows.filter(pl.col("slot").is_not_null()).select(alone.slots.columns).equals(alone.slots)
    assert split_rows(found).filter(split="all").height == 1 + found.domains.height + found.slots.height


def test_dialogues_of_other_lengths_are_told() -> None:
    old, new = turns({"hotel-area": "north"}, {"hotel-area": "north"}), turns({"hotel-area": "north"})
    with pytest.warns(
        dstbench.DstbenchWarning, match=r"1 dialogue with more turns .* \(first: D, 2 in old, 1 in new\)"
    ):
        found = audit.diff(old, new, names=("old", "new"))
    assert found.versions.select("before", "after", "turns", "turns_before").row(0) == ("old", "new", 1, 1)
