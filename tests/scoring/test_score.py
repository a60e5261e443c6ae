"""The engine against the oracle: same numbers for every metric, view and grouping."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import dstbench
from dstbench.runs.run import Run
from tests import oracle
from tests.corpora import FEW, LARGE, SLOTS, States, corpora

pytestmark = pytest.mark.filterwarnings("ignore:.*gold never has:dstbench.errors.DstbenchWarning")
T = 30


def engine(data: States | list[Run], metrics: list[str], by: str = "run") -> dict[tuple[object, ...], float | None]:
    rows = dstbench.score(data, metrics=metrics, by=by)
    keys = [name for name in rows.columns if name in ("domain", "slot", "dialogue", "turn", "length")]
    return {tuple(row[k] for k in (*keys, "metric")): row["value"] for row in rows.iter_rows(named=True)}


def expect(found: dict[tuple[object, ...], float | None], wanted: dict[tuple[object, ...], float | None]) -> None:
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        assert found[key] == (None if value is None else pytest.approx(value, rel=1e-12, abs=1e-15)), key


def grouped(groups: dict[tuple[object, ...], list[oracle.Turn]]) -> dict[tuple[object, ...], float | None]:
    return {(*key, m): v for key, ts in groups.items() for m, v in oracle.all_metrics(ts, T).items()}


METRICS = list(oracle.all_metrics([], T))


@FEW
@given(corpora(LARGE), st.sampled_from(["dialogue", "turn", "length"]))
def test_the_whole_corpus_every_turn_and_every_group(states: States, by: str) -> None:
    run, ts = dstbench.open_runs(states), oracle.turns(states)
    expect(engine(run, METRICS), grouped({(): ts}))
    expect(engine(run, METRICS, by="dialogue,turn"), grouped({(t.dialogue, t.turn): [t] for t in ts}))
    groups: dict[tuple[object, ...], list[oracle.Turn]] = {}
    length = {t.dialogue: sum(1 for u in ts if u.dialogue == t.dialogue) for t in ts}
    for t in ts:
        key = length[t.dialogue] if by == "length" else getattr(t, by)
        groups.setdefault((key,), []).append(t)
    expect(engine(run, METRICS, by=by), grouped(groups))


@FEW
@given(corpora(LARGE), st.sampled_from(["gold", "either"]))
def test_every_domain(states: States, which: str) -> None:
    convention = dstbench.Convention(domain_turns=which)  # type: ignore[arg-type] # drawn from the choices
    groups = {}
    for domain in ("hotel", "train"):
        kept = [t for t in oracle.turns(states, domain) if t.gold or (which == "either" and t.pred)]
        if kept:
            groups[domain,] = kept
    rows = dstbench.score(states, metrics=METRICS, by="domain", profile=convention)
    found = {(r["domain"], r["metric"]): r["value"] for r in rows.iter_rows(named=True)}
    expect(found, grouped(groups))  # type: ignore[arg-type] # keys are (domain,)


@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
@FEW
@given(corpora(LARGE), st.sampled_from(["all", "last", "gold"]))
@example(
    [  # gold has the domain before the last turn only
        {"dialogue_id": "MUL1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}},
        {"dialogue_id": "MUL1", "turn": 1, "gold": {}, "pred": {}},
    ],
    "last",
)
def test_every_domain_over_all_turns_of_dialogues_that_have_it(states: States, turns: str) -> None:
    chosen = dstbench.profile("verbatim", domain_turns="dialogue", turns=turns)
    whole = {(t.dialogue, t.turn): t for t in oracle.turns(states)}
    last = {t.dialogue: t.turn for t in whole.values()}
    scored = {
        key
        for key, t in whole.items()
        if turns == "all" or (turns == "last" and last[t.dialogue] == t.turn) or (turns == "gold" and t.gold)
    }
    groups = {}
    for domain in ("hotel", "train"):
        ts = oracle.turns(states, domain)
        having = {t.dialogue for t in ts if t.gold}
        kept = [t for t in ts if t.dialogue in having and (t.dialogue, t.turn) in scored]
        if kept:
            groups[domain,] = kept
    run = dstbench.open_runs(states)
    rows = dstbench.score(run, metrics=METRICS, by="domain", profile=chosen)
    found = {(r["domain"], r["metric"]): r["value"] for r in rows.iter_rows(named=True)}
    expect(found, grouped(groups))  # type: ignore[arg-type] # keys are (domain,)
    by_dialogue = dstbench.score(run, metrics="jga", by="domain,dialogue", profile=chosen)
    assert by_dialogue["turns"].sum() == sum(len(kept) for kept in groups.values())
    assert by_dialogue["dialogue"].null_count() == 0


@pytest.mark.filterwarnings("ignore:by slot, a mean:dstbench.errors.DstbenchWarning")
@FEW
@given(corpora(LARGE))
def test_every_slot_over_all_turns_and_by_turn_number(states: States) -> None:
    run = dstbench.open_runs(states)
    listed = {slot for state in states for side in ("gold", "pred") for slot in state[side]}
    of_slot = {slot: oracle.turns(states, slot) for slot in SLOTS if slot in listed}
    expect(engine(run, METRICS, by="slot"), grouped({(slot,): ts for slot, ts in of_slot.items()}))
    groups: dict[tuple[object, ...], list[oracle.Turn]] = {}
    for slot, ts in of_slot.items():
        for t in ts:
            groups.setdefault((slot, t.turn), []).append(t)
    expect(engine(run, METRICS, by="slot,turn"), grouped(groups))


@given(corpora())
def test_the_turn_table(states: States) -> None:
    table = dstbench.turns(states)
    wanted = [
        (
            *(t.dialogue, t.turn, len(t.gold), len(t.pred), oracle.n_correct(t), oracle.n_union(t)),
            *(oracle.local_error(t), oracle.error_age(t)),
            *oracle.total([t]).values(),
            *oracle.total([t], oracle.paper).values(),
        )
        for t in oracle.turns(states)
    ]
    shown = table.drop("run", "n_fresh_errors", "n_charged_again", "^soft_.*$")
    assert shown.rows() == wanted
    exact = table.select(
        (pl.col("soft_correct") == pl.col("n_correct")).all(),
        (pl.col("soft_joint") == (pl.col("n_correct") == pl.col("n_union"))).all(),
        (pl.col("soft_gca_correct") == pl.col("gca_correct")).all().alias("released"),
        (pl.col("soft_gca_paper_correct") == pl.col("gca_paper_correct")).all().alias("paper"),
        (pl.col("n_charged_again") == 0).all(),
    )
    assert exact.row(0) == (True,) * 5


@FEW
@given(corpora(LARGE), st.data())
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_missing_turns_count_as_wrong_wherever_they_are(states: States, data: st.DataObject) -> None:
    """A missing turn is one false pair of its own, which does not last: no other turn is the worse for it."""
    there = [data.draw(st.booleans()) for _ in states]
    assume(any(there))
    gold = [{k: s[k] for k in ("dialogue_id", "turn", "gold")} for s in states]
    pred = [{k: s[k] for k in ("dialogue_id", "turn", "pred")} for s, kept in zip(states, there, strict=True) if kept]
    marked = [
        s if kept else {**s, "pred": {f"?{n}": "?"}} for n, (s, kept) in enumerate(zip(states, there, strict=True))
    ]
    metrics = [
        m for m in METRICS if "gca" not in m or m.endswith("counting=paper")
    ]  # as released, taking "?" back is correct
    rows = dstbench.score(pred, gold=gold, missing="wrong", metrics=metrics, by="dialogue,turn")
    found = {(r["dialogue"], r["turn"], r["metric"]): r["value"] for r in rows.iter_rows(named=True)}
    groups: dict[tuple[object, ...], list[oracle.Turn]] = {(t.dialogue, t.turn): [t] for t in oracle.turns(marked)}
    expect(found, {key: value for key, value in grouped(groups).items() if key[-1] in metrics})  # type: ignore[arg-type]


@FEW
@given(corpora(LARGE), st.integers(1, 3), st.integers(0, 60_000))
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_turn_numbers_with_gaps_and_any_start(states: States, step: int, start: int) -> None:
    far = [{**s, "turn": start + step * s["turn"]} for s in states]
    run, ts = dstbench.open_runs(far), oracle.turns(far)
    expect(engine(run, METRICS), grouped({(): ts}))
    expect(engine(run, METRICS, by="dialogue,turn"), grouped({(t.dialogue, t.turn): [t] for t in ts}))


@FEW
@given(corpora(LARGE))
def test_a_metric_in_a_users_own_group_by(states: States) -> None:
    table = dstbench.turns(states).group_by("turn").agg(dstbench.parse(m).expr() for m in METRICS).sort("turn")
    groups: dict[tuple[object, ...], list[oracle.Turn]] = {}
    for t in oracle.turns(states):
        groups.setdefault((t.turn,), []).append(t)
    found = {(r["turn"], m): r[m] for r in table.iter_rows(named=True) for m in METRICS}
    expect(found, grouped(groups))  # type: ignore[arg-type] # keys are (turn,)


def test_a_dialogue_without_slots_does_not_shift_the_others() -> None:
    """By domain and slot it has no rows; lengths, and which turns are scored, are still found by dialogue."""
    area = {"hotel-area": "north"}
    states = [
        {"dialogue_id": "A", "turn": 0, "gold": {}, "pred": {}},
        {"dialogue_id": "B", "turn": 0, "gold": area, "pred": area},
        {"dialogue_id": "B", "turn": 1, "gold": area, "pred": {}},
    ]
    rows = dstbench.score(states, metrics="jga", by="domain,length")
    assert rows.select("domain", "length", "value").rows() == [("hotel", 2, 0.5)]
    for by in ("domain", "slot"):
        rows = dstbench.score(states, metrics="correct,missed", by=by, profile=dstbench.Convention(turns="gold"))
        assert rows["value"].to_list() == [1, 1]
