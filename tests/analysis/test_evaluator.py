"""The evaluator against `dstbench.score`: the same numbers and refusals, whatever the order, the batches and the
processes in which the states come.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench import DstbenchError, Evaluator, UsageError
from dstbench.typing import Missing
from tests import formats
from tests.corpora import EXAMPLE, FEW, LARGE, States, has_other_slots
from tests.corpora import corpora as large_corpora
from tests.test_every_number import ALL, corpora, profiles

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")


def only(states: States, side: str) -> States:
    return [{key: state[key] for key in ("dialogue_id", "turn", side)} for state in states]


def outcome(compute: Callable[[], Any]) -> Any:
    """What is computed, or the error."""
    try:
        return compute()
    except DstbenchError as error:
        return type(error), error.what


def columns(states: States) -> tuple[list[str], list[int], list[dict[str, str]]]:
    return [s["dialogue_id"] for s in states], [s["turn"] for s in states], [s["pred"] for s in states]


def in_batches(data: st.DataObject, evaluator: Evaluator, states: States) -> None:
    """Add the states in batches of any size, or one by one."""
    while states:
        size = data.draw(st.integers(1, len(states)))
        batch, states = states[:size], states[size:]
        if size == 1:
            evaluator.add(batch[0]["dialogue_id"], batch[0]["turn"], batch[0]["pred"])
        else:
            evaluator.add_batch(*columns(batch))


def sent(evaluator: Evaluator) -> Evaluator:
    """As another process gets it."""
    other: Evaluator = pickle.loads(pickle.dumps(evaluator))  # noqa: S301 (our own)
    return other


# --- the same numbers ------------------------------------------------------------------------------------------------


@FEW
@given(corpora(), profiles, st.sampled_from(get_args(Missing)), st.data())
def test_it_computes_what_score_does(states: States, profile: Any, missing: Missing, data: st.DataObject) -> None:
    """All metrics, all profiles, any missing turns; epoch after epoch, of which none leaves anything to the next."""
    gold = only(states, "gold")
    evaluator = outcome(lambda: Evaluator(gold, metrics=ALL, profile=profile, missing=missing))
    for _ in range(2):
        kept = data.draw(st.lists(st.sampled_from(only(states, "pred")), min_size=1, unique_by=id))
        # Of predictions that have no slot in common with gold, `score` refuses the file, and an evaluator only warns.
        assume(
            not has_other_slots(
                [*({**state, "pred": {}} for state in gold), *({**state, "gold": {}} for state in kept)]
            )
        )
        how: Any = {"gold": gold, "metrics": ALL, "profile": profile, "missing": missing}
        if not isinstance(evaluator, Evaluator):  # the convention scores none of gold's slots
            whole = outcome(lambda: dstbench.score(states, **{**how, "missing": "error"}))  # noqa: B023 (called at once)
            assert evaluator == whole
            continue
        evaluator.reset()
        in_batches(data, evaluator, kept)
        scores = outcome(lambda: dstbench.score(kept, **how))  # noqa: B023
        if isinstance(scores, tuple):
            assert outcome(evaluator.compute) == outcome(evaluator.scores) == scores
        else:
            assert evaluator.compute() == scores.to_dict()
            assert evaluator.scores().equals(scores)


@FEW
@given(large_corpora(LARGE), st.integers(1, 4), st.data())
def test_parts_of_several_processes_are_merged_into_the_whole(states: States, parts: int, data: st.DataObject) -> None:
    """Samplers pad: some turns are in several parts."""
    whole = Evaluator(only(states, "gold"), metrics=ALL)
    whole.add_batch(*columns(states))
    evaluators = [sent(Evaluator(only(states, "gold"), metrics=ALL)) for _ in range(parts)]
    for state in states:
        for part in data.draw(st.sets(st.integers(0, parts - 1), min_size=1)):
            evaluators[part].add(state["dialogue_id"], state["turn"], dict(reversed(state["pred"].items())))
    first, *others = map(sent, evaluators)
    for other in others:
        first.merge(other)
    assert first.compute() == whole.compute()
    first.merge(whole)
    assert first.compute() == whole.compute()


def test_gold_is_read_once(here: Path) -> None:
    Path("gold.tsv").write_text(formats.star_tsv())
    evaluator = Evaluator("gold.tsv", metrics="jga,sa")
    Path("gold.tsv").unlink()
    evaluator.add_batch(*columns(EXAMPLE))
    assert evaluator.compute() == {"jga": 0.5, "sa": 59 / 60}


def test_frames_of_gold_count_as_they_do_in_score(here: Path) -> None:
    Path("dialogues_001.json").write_text(formats.sgd_gold())
    read = dstbench.read("dialogues_001.json")
    assert read.gold is not None
    assert read.gold.frames is not None
    turns = read.gold.turns.rows()
    states = [{"dialogue_id": dialogue, "turn": turn, "pred": {}} for dialogue, turn in turns]
    for profile in ("sgd", "verbatim"):
        evaluator = Evaluator("dialogues_001.json", profile=profile)
        evaluator.add_batch(*columns(states))
        wanted = dstbench.score(states, gold="dialogues_001.json", profile=profile)
        assert evaluator.scores().equals(wanted)
        assert evaluator.compute() == wanted.to_dict()


# --- what a loop gives it ---------------------------------------------------------------------------------------------


@pytest.mark.again
@pytest.mark.parametrize(
    "form",
    [
        OrderedDict,
        MappingProxyType,
        lambda pred: {np.str_(slot): np.str_(value) for slot, value in pred.items()},
        lambda pred: {slot.replace("pricerange", "semi-priceRange"): value for slot, value in pred.items()},
        lambda pred: {**pred, "hotel-stars": 4},
        lambda pred: {**pred, "hotel-stars": None},
        lambda pred: {**pred, "hotel-price": "x"},  # the slot twice
        lambda pred: {**pred, 5: "x"},
        lambda pred: {"hotel": {"area": "west"}},
        lambda pred: {"hotel": {"area": ["west"]}},
        lambda pred: list(pred.items()),
        lambda pred: "hotel-area west",
        lambda pred: None,
    ],
)
def test_states_of_any_form_are_taken_or_refused_as_score_does(form: Callable[[dict[str, str]], Any]) -> None:
    """What is read from memory in another form one day is then read here, too."""
    states = [{**state, "pred": form(state["pred"])} for state in EXAMPLE]
    wanted = outcome(lambda: dstbench.score(only(states, "pred"), gold=EXAMPLE).to_dict())
    evaluator = Evaluator(EXAMPLE)

    def computed() -> Any:
        for _ in range(2):  # the second time, all of them are there already
            evaluator.add_batch(*columns(states))
        return evaluator.compute()

    assert outcome(computed) == wanted


# --- what it refuses, after which nothing has changed ----------------------------------------------------------------

WRONG: dict[str, tuple[list[Any], str]] = {
    "dialogue": ([("MUL7001", 0, {}), ("mul7O01", 1, {})], "no such dialogue.*did you mean MUL7001?"),
    "turn": ([("MUL7001", 0, {}), ("MUL7001", 2, {})], "no such turn.*MUL7001, turn 2.*its turns are 0 to 1"),
    "number": ([("MUL7001", 0, {}), ("MUL7001", "1", {})], "not an integer"),
    "id": ([("MUL7001", 0, {}), (7001, 1, {})], "7001 is not a string"),
    "list": ([("MUL7001", 0, {}), (["MUL7001"], 1, {})], "is not a string"),
    "state": ([("MUL7001", 0, {}), ("MUL7001", 1, {"hotel-area": 1.5j})], "MUL7001, turn 1"),
    "two states": (
        [("MUL7001", 0, {}), ("MUL7001", 0, {"hotel-area": "x"})],
        "two different.*hotel-area is None and 'x'",
    ),
    "second": ([("MUL7001", 0, {}), ("MUL7001", 1, {"hotel-area": "x"})], "two different.*turn 1.*reset"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_it_refuses_leaves_it_as_it_was(name: str) -> None:
    batch, message = WRONG[name]
    evaluator = Evaluator(EXAMPLE, missing="wrong")
    evaluator.add("MUL7001", 1, EXAMPLE[1]["pred"])
    before = evaluator.compute()
    with pytest.raises(DstbenchError, match=rf"(?s){message}"):
        evaluator.add_batch(*map(list, zip(*batch, strict=True)))
    assert evaluator.compute() == before


@pytest.mark.parametrize(
    ("what", "others"),
    [
        ("metrics", {"metrics": "jga"}),
        ("conventions", {"profile": "trade", "metrics": "jga,sa,rsa,aga,f1,fga,gca,tla"}),
        ("conventions", {"missing": "empty"}),
        ("gold", {"gold": [*EXAMPLE, {**EXAMPLE[0], "dialogue_id": "MUL7002"}]}),
        ("gold", {"gold": [{**state, "gold": {**state["gold"], "hotel-area": "east"}} for state in EXAMPLE]}),
    ],
)
def test_merging_refuses_evaluators_that_count_in_another_way(what: str, others: dict[str, Any]) -> None:
    one = Evaluator(EXAMPLE, missing="wrong")
    other = Evaluator(**{"gold": EXAMPLE, "missing": "wrong", **others})
    other.add("MUL7001", 0, {})
    with pytest.raises(UsageError, match=f"different {what}"):
        one.merge(other)


def test_dialogues_are_found_by_all_the_ids_that_gold_has_for_them(here: Path) -> None:
    Path("dialogues.json").write_text(formats.convlab_gold())
    for name in ("multiwoz21-test-0", "mul7001", "MUL7001.json"):
        states = [{**state, "dialogue_id": name} for state in only(EXAMPLE, "pred")]
        evaluator = Evaluator("dialogues.json", metrics="jga,gca")
        evaluator.add_batch(*columns(states))
        wanted = dstbench.score(states, gold="dialogues.json", metrics="jga,gca")
        assert evaluator.compute() == wanted.to_dict()
        assert evaluator.scores().equals(wanted)


def test_what_an_epoch_fixes_and_breaks() -> None:
    """`diff` compares with the epoch that the last `reset` of any states ended, as `dstbench.diff` does."""
    north, south = {"hotel-area": "north"}, {"hotel-area": "south"}
    names = [f"D{number}" for number in range(4)]
    gold = [{"dialogue_id": name, "turn": 0, "gold": north} for name in names]
    epochs = [[north, south, {}, north], [north, north, south, south]]
    evaluator = dstbench.Evaluator(gold)
    with pytest.raises(dstbench.UsageError, match="no epoch before"):
        evaluator.diff()
    for states in epochs:
        evaluator.reset()
        evaluator.add_batch(names, [0] * 4, states)
    changes = evaluator.diff()
    before, after = ([{**one, "pred": state} for one, state in zip(gold, states, strict=True)] for states in epochs)
    wanted = dstbench.diff(before, after)
    assert changes.dialogues.equals(wanted.dialogues)
    assert changes.groups.equals(wanted.groups)
    spelled = dstbench.Evaluator(gold, profile="star")
    for states in ([{"hotel-area": "North"}] * 4, epochs[1]):
        spelled.reset()
        spelled.add_batch(names, [0] * 4, states)
    assert spelled.diff().to_dict() == {**dict.fromkeys(changes.to_dict(), 0), "turns_broken": 2, "values_broken": 2}
    assert changes.to_dict() == {"turns_fixed": 1, "turns_broken": 1, "values_fixed": 1, "values_broken": 1}
    again = pickle.loads(pickle.dumps(evaluator))  # noqa: S301
    assert again.diff().totals.equals(changes.totals)
    evaluator.reset()
    with pytest.raises(dstbench.UsageError, match="no state was added"):
        evaluator.diff()
