"""What becomes of invented, foreign and missing slots: every faithful profile against its original's rule, as loops.

Values are plain words that no normaliser changes and no matcher takes for another, so that only slots decide.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import dstbench
from dstbench.conventions.profiles import PROFILES, profile, suits
from dstbench.conventions.slots import SLOT_SETS
from tests import oracle
from tests.corpora import FEW, States, dialogues, has_other_slots, is_refused

OF_MULTIWOZ = ("hotel-name", "hotel-area", "restaurant-food", "train-destination", "taxi-departure")
FOREIGN = ("bus-departure", "hospital-department", "Hotels_1-city", "spa-pool")
INVENTED = ("hotel-wifi", "train-seat")
VALUES = ("alpha", "brown", "cedar")
GOLD = st.dictionaries(st.sampled_from((*OF_MULTIWOZ, *FOREIGN)), st.sampled_from(VALUES), max_size=4)
#: What a prediction has in place of, or besides, gold's values; None: the slot is missing.
CHANGES = st.dictionaries(
    st.sampled_from((*OF_MULTIWOZ, *FOREIGN, *INVENTED)), st.none() | st.sampled_from(VALUES), max_size=3
)

# --- the originals' rules ---------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    jga: float | None
    sa: float | None = None
    unscored: int = 0


Rule = Callable[[States], Outcome]


def whole_states(states: States) -> Outcome:
    """Two sets of domain-slot-value are compared; 30 slots, less one for each that is missed, wrong or invented."""
    right, accuracy = [], []
    for state in states:
        gold, pred = set(state["gold"].items()), set(state["pred"].items())
        missed = [slot for slot, _ in gold - pred]
        extra = [slot for slot, _ in pred - gold if slot not in missed]
        right.append(gold == pred)
        accuracy.append((30 - len(missed) - len(extra)) / 30)
    return Outcome(fmean(right), fmean(accuracy))


def both_differences(states: States) -> Outcome:
    """As `whole_states`, but slot accuracy charges what either set lacks, and so a wrong value twice."""
    accuracy = []
    for state in states:
        gold, pred = set(state["gold"].items()), set(state["pred"].items())
        accuracy.append((30 - len(pred - gold) - len(gold - pred)) / 30)
    return Outcome(whole_states(states).jga, fmean(accuracy))


def listed(name: str) -> Rule:
    """The program goes through its list of slots, of which each has a class, and reads no other prediction.

    It is given gold of these slots only. Here gold's other values count like them, lest a turn be right without them.
    """

    def rule(states: States) -> Outcome:
        right, errors, unscored = [], [], 0
        for state in states:
            slots = SLOT_SETS[name] | state["gold"].keys()
            wrong = [slot for slot in slots if state["gold"].get(slot) != state["pred"].get(slot)]
            right.append(not wrong)
            errors.append(len(wrong))
            unscored += len([slot for slot in state["pred"] if slot not in slots])
        total = len(SLOT_SETS[name].union(*(state["gold"] for state in states)))
        return Outcome(fmean(right), 1 - fmean(errors) / total, unscored)

    return rule


def frames(over_turns: bool) -> Rule:
    """SGD's program goes through gold's frames, and in each through the slots of the service in the schema."""

    def rule(states: States) -> Outcome:
        scores, unscored = [], 0
        for state in states:
            right, scored = [], 0
            for service in {slot.partition("-")[0] for slot in state["gold"]}:
                slots = [slot for slot in (*OF_MULTIWOZ, *FOREIGN) if slot.startswith(f"{service}-")]
                right.append(all(state["gold"].get(slot) == state["pred"].get(slot) for slot in slots))
                scored += len([slot for slot in slots if slot in state["pred"]])
            unscored += len(state["pred"]) - scored
            scores += [all(right)] if over_turns else right
        return Outcome(fmean(scores) if scores else None, unscored=unscored)

    return rule


def gold_domains(states: States) -> Outcome:
    """ConvLab-3 reads the predictions of slots that gold lists: in its data, all of the domains that gold has."""
    right, unscored = [], 0
    for state in states:
        domains = {slot.partition("-")[0] for slot in state["gold"]}
        pred = {slot: value for slot, value in state["pred"].items() if slot.partition("-")[0] in domains}
        right.append(state["gold"] == pred)
        unscored += len(state["pred"]) - len(pred)
    return Outcome(fmean(right), unscored=unscored)


ORIGINALS: dict[str, Rule] = {
    **dict.fromkeys(
        ("kim2022", "fga2022@faithful", "gca2024@faithful", "trade@faithful", "som-dst@faithful", "simpletod-v0",
         "simpletod-v1", "t5dst@faithful", "mwzeval@faithful", "mwzeval@mapped", "qian2021", "icdst@faithful"),
        whole_states,
    ),
    "qian2021-code": both_differences,
    **dict.fromkeys(("star", "trippy"), listed("multiwoz-30")),
    "dstc10": listed("dstc10-19"),
    "sgd": frames(over_turns=False),
    "sgd-mwz": frames(over_turns=True),
    "convlab3-unified": gold_domains,
}  # fmt: skip


def test_every_profile_called_faithful_has_its_original_here() -> None:
    assert {name for name in PROFILES if not name.endswith("@fixed")} == {"verbatim", *ORIGINALS}


@st.composite
def corpora(draw: st.DrawFn) -> States:
    """Gold, and what a tracker makes of it."""
    states = dialogues(draw, GOLD, prefix="MUL", most=3, most_turns=4)
    changes: dict[str, str | None] = {}
    for state in states:
        changes = draw(CHANGES) if draw(st.booleans()) else changes
        pred = state["gold"] | changes
        state["pred"] = {slot: value for slot, value in pred.items() if value is not None}
    return states


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The schema of SGD's evaluation: all slots but the invented ones."""
    services: dict[str, list[dict[str, object]]] = {}
    for slot in (*OF_MULTIWOZ, *FOREIGN):
        service, _, name = slot.partition("-")
        services.setdefault(service, []).append({"name": name, "is_categorical": False, "possible_values": []})
    path = tmp_path_factory.mktemp("schema") / "schema.json"
    path.write_text(json.dumps([{"service_name": name, "slots": slots} for name, slots in services.items()]))
    return path


def convention_of(name: str, schema: Path) -> dstbench.Convention:
    return profile(name, schema=schema) if name.startswith("sgd") else profile(name)


def scored(states: States, metrics: str, convention: dstbench.Convention) -> tuple[dict[str, float | None], int]:
    """The scores, and how many predicted values the note says are not scored."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = dstbench.score(states, metrics=metrics, profile=convention)["value"].to_list()
    notes = [
        re.search(r"([\d,]+) of [\d,]+ predicted values (?:is|are) not scored", str(each.message)) for each in caught
    ]
    numbers = [int(note[1].replace(",", "")) for note in notes if note]
    assert len(numbers) <= 1
    return dict(zip(metrics.split(","), values, strict=True)), sum(numbers)


@pytest.mark.again
@pytest.mark.parametrize("name", ORIGINALS)
@FEW
@given(states=corpora())
def test_slots_count_as_in_the_original(name: str, states: States, schema: Path) -> None:
    convention = convention_of(name, schema)
    if name == "convlab3-unified":  # which has no list of a domain's slots, so that invented ones are like any other
        states = [{**s, "pred": {k: v for k, v in s["pred"].items() if k not in INVENTED}} for s in states]
    assume(not is_refused(states, convention) and not has_other_slots(states))
    wanted = ORIGINALS[name](states)
    own_sa = next((m for m in (convention.metrics or "").split(",") if m.startswith("sa")), None)
    metrics = "jga" if wanted.sa is None or own_sa is None else f"jga,{'sa:T=30' if name.startswith('t5') else own_sa}"
    values, unscored = scored(states, metrics, convention)
    assert unscored == wanted.unscored
    assert (
        list(values.values())
        == [None if v is None else pytest.approx(v) for v in (wanted.jga, wanted.sa)][: len(values)]
    )


@pytest.mark.parametrize("name", ["kim2022", "fga2022@faithful", "gca2024@faithful"])
@FEW
@given(states=corpora())
def test_the_papers_own_metrics_charge_an_invented_slot(name: str, states: States) -> None:
    assume(not has_other_slots(states))
    ts = oracle.turns(states)
    wanted = {
        "aga": oracle.aga(ts), "rsa": oracle.rsa(ts), "sa:T=30": oracle.sa(ts, 30), "gca": oracle.gca(ts),
        **{f"fga:lam={lam}": oracle.fga(ts, lam) for lam in (0.25, 0.5, 0.75, 1)},
    }  # fmt: skip
    values, unscored = scored(states, ",".join(wanted), PROFILES[name])
    assert unscored == 0
    assert values == {name: None if value is None else pytest.approx(value) for name, value in wanted.items()}


NORTH = {"hotel-area": "north"}
#: An area that is right, and from turn 1 on a slot that no dataset has.
INVENTS: States = [
    {"dialogue_id": "MUL0001", "turn": turn, "gold": NORTH, "pred": NORTH | ({"hotel-wifi": "yes"} if turn else {})}
    for turn in range(3)
]


@pytest.mark.parametrize("name", ["kim2022", "fga2022", "fga2022@fixed", "gca2024", "gca2024@fixed", "verbatim"])
def test_an_invented_slot_is_an_error_of_the_papers_metrics(name: str) -> None:
    values, _ = scored(INVENTS, "jga,rsa,fga,gca,sa:T=30", profile(name))
    assert {metric: round(100 * (value or 0), 2) for metric, value in values.items()} == {
        "jga": 33.33, "rsa": 66.67, "fga": 46.45, "gca": 60.0, "sa:T=30": 97.78,
    }  # fmt: skip


@pytest.mark.again
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.again] if at % 3 else []) for at, name in enumerate(ORIGINALS)]
)
@pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")
def test_check_fails_where_predictions_are_not_scored(name: str, schema: Path) -> None:
    convention = convention_of(name, schema)
    for states in (INVENTS, [{**state, "pred": NORTH | {"spa-pool": "alpha"}} for state in INVENTS]):
        row = dstbench.check(states, profile=convention).filter(check="predictions that are not scored")
        n = ORIGINALS[name](states).unscored
        if name == "convlab3-unified" and states is INVENTS:
            n = 0
        assert row.select("status", "n").row(0) == ("fail" if n else "ok", n)


def test_gca_takes_sgd_on_which_its_authors_have_published() -> None:
    city = {"Hotels_1-city": "alpha"}
    states = [{"dialogue_id": "1_00000", "turn": turn, "gold": city, "pred": city} for turn in range(2)]
    states[1]["pred"] = {**city, "Hotels_1-spa": "alpha"}
    assert suits(PROFILES["gca2024@faithful"], frozenset(city)) is None
    assert scored(states, "jga,rsa", profile("gca2024")) == ({"jga": 0.5, "rsa": 0.75}, 0)
