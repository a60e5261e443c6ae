"""Missing annotations of places: by the place under discussion, checked against a database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from benchmarks.missing_annotations import BARS, SHARE_CHANGED, TABLE_1, changed_dialogues, compare
from dstbench import audit
from dstbench.audit.discussion import SUPPORT
from dstbench.audit.rules import read_rules
from dstbench.errors import DstbenchError

HOTELS = [
    {"name": "acorn guest house", "area": "north", "stars": "4", "type": "guesthouse", "parking": "yes"},
    {"name": "lensfield hotel", "area": "south", "stars": "3", "type": "hotel", "parking": "no"},
    {"name": "autumn house", "area": "east", "stars": "2", "type": "guesthouse", "parking": "yes"},
]
RESTAURANTS = [{"name": "curry garden", "area": "centre", "food": "indian"}]

#: A turn: what the system says, what the user replies, and gold's state.
Turn = tuple[str | None, str, dict[str, str]]

_BEGIN: Turn = (None, "a place to stay please , for two people", {"hotel-book people": "2"})
_ALL = {"hotel-name": "acorn guest house", "hotel-area": "north", "hotel-stars": "4", "hotel-parking": "yes"}
_ACORN = "the acorn guest house is a 4 star place in the north with parking ."
_WISHED = {"hotel-type": "hotel", "hotel-area": "south", "hotel-parking": "yes"}
_LENSFIELD = {"hotel-name": "lensfield hotel", "hotel-parking": "no"}
_FOOD = {"restaurant-food": "indian"}
_CURRY = {**_FOOD, "restaurant-name": "curry garden", "restaurant-area": "centre"}
#: Dialogues in which gold annotates what the rules are about; of each, there are enough to be evidence.
ANNOTATED: list[list[Turn]] = [
    [_BEGIN, (_ACORN, "great", {**_BEGIN[2], **_ALL})],
    [(None, "i want to stay at the autumn house", {"hotel-name": "autumn house"})],
    [(None, "a hotel in the south with parking", _WISHED)],
    [_BEGIN, ("lensfield hotel has no parking .", "fine", {**_BEGIN[2], **_LENSFIELD})],
    [(None, "indian food", _FOOD), ("curry garden is in the centre .", "ok", _CURRY)],
]


def corpus(*dialogues: list[Turn]) -> tuple[list[dict[str, Any]], pl.DataFrame]:
    """States and utterances: the annotated dialogues, more often than evidence takes, and these, called D0, D1, …"""
    several = {f"A{n}x{copy}": dialogue for n, dialogue in enumerate(ANNOTATED) for copy in range(SUPPORT + 1)}
    named = {**several, **{f"D{n}": dialogue for n, dialogue in enumerate(dialogues)}}
    turns = [(name, turn, *said) for name, dialogue in named.items() for turn, said in enumerate(dialogue)]
    states = [{"dialogue_id": name, "turn": turn, "gold": dict(gold)} for name, turn, _, _, gold in turns]
    schema = {"dialogue": pl.String, "turn": pl.UInt16, "system": pl.String, "user": pl.String}
    return states, pl.DataFrame([row[:4] for row in turns], schema=schema, orient="row")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("db")
    (folder / "hotel_db.json").write_text(json.dumps(HOTELS), encoding="utf-8")
    (folder / "restaurant_db.json").write_text(json.dumps(RESTAURANTS), encoding="utf-8")
    return str(folder)


Added = set[tuple[int, str, str]]  # turn, slot, value


def added(database: str | None, *dialogues: Sequence[Turn], rules: Path | None = None) -> list[Added]:
    """What each dialogue lacks: of all in one audit, whose time is that of one."""
    states, said = corpus(*map(list, dialogues))
    proposals = audit.inconsistency(states, database=database, said=said, rules=rules).proposals
    names = [f"D{number}" for number in range(len(dialogues))]
    assert {*proposals["dialogue"]} <= {*names}, "the others lack nothing"
    return [{*proposals.filter(dialogue=name).select("turn", "slot", "value").rows()} for name in names]


def after(system: str, user: str, **gold: str) -> tuple[Turn, Turn]:
    """A dialogue about a hotel that goes on with this exchange; gold may have more of hotels from its beginning on."""
    state = {**_BEGIN[2], **{f"hotel-{slot}": value for slot, value in gold.items()}}
    return (_BEGIN[0], _BEGIN[1], state), (system, user, state)


BOTH = "there are the acorn guest house and the autumn house ."
IT = {"hotel-name": "acorn guest house"}
_NICE = "lensfield hotel is nice ."
TAKEN = {"hotel-name": "lensfield hotel"}
SIGNS = "the acorn guest house is nice , and in the north !!! - what do you think ?"
OF_SIGNS = {"hotel-name": "acorn guest house", "hotel-area": "north"}
EARLY: list[Turn] = [
    (None, "i want to stay at the autumn house", {}),
    ("ok", "hm", {}),
    (None, "indian food", {"restaurant-food": "indian"}),
    ("ok", "a hotel please", IT),
]
#: Dialogues, and what they lack, if gold does not have the slot.
SAID: list[tuple[Sequence[Turn], dict[str, str]]] = [
    (after(_ACORN, "great , book it"), _ALL),
    (after("what about the acorn ?", "fine"), IT),  # a short form
    (after(_ACORN, "i want something else instead"), {}),  # refused
    (after(_ACORN, "fine . can you find another train instead ?"), _ALL),  # a refusal of something else
    (after(BOTH, "hm"), {}),  # several, and none is chosen
    (after(BOTH, "autumn house"), {"hotel-name": "autumn house"}),
    (after("the acorn guest house has 3 stars .", "ok"), IT),  # its row says 4
    (after("the acorn guest house has no parking .", "ok"), IT),  # its row: it has
    (after("lensfield hotel has no parking .", "ok"), {"hotel-name": "lensfield hotel", "hotel-parking": "no"}),
    (after("the acorn guest house . do you need parking ?", "ok"), IT),  # asks
    (after("all of them have parking .", "ok"), {"hotel-parking": "yes"}),
    (after("it is in the north .", "ok", name="acorn guest house"), {"hotel-area": "north"}),  # gold's name
    (after("it is in the south .", "ok", name="acorn guest house"), {}),
    (after("it is in the north .", "ok", name="acorn guest house", area="dontcare"), {}),
    (after("curry garden is in the centre .", "ok", name="acorn guest house"), {}),  # of a place elsewhere
    (after("ok .", "i need parking"), {"hotel-parking": "yes"}),
    (after("ok .", "does it have parking ?"), {}),
    (after("ok .", "i do not need parking"), {}),
    (after("ok .", "in the south please"), {"hotel-area": "south"}),
    (after("ok .", "not in the south please"), {}),
    (after("ok .", "find me a cheap hotel"), {"hotel-type": "hotel"}),
    (after("ok .", "a taxi to a hotel"), {}),
    (after("ok .", "can you book a hotel ?", name="autumn house"), {}),  # which is a guesthouse
    (after(_NICE, "great"), TAKEN),
    (after(_NICE, "i need 4 stars"), {}),  # refused, as its row says 3
    (after(_NICE, "i would like something in the north"), {"hotel-area": "north"}),  # refused, as its row says south
    (after(_NICE, "is it in the north ?"), TAKEN),  # who asks has not refused
    (after(SIGNS, "great !!!"), OF_SIGNS),
    (EARLY, {}),  # before gold begins the domain
    (after("how about the acorn guest house ?", "are there any hotels ?"), {"hotel-type": "hotel"}),
    (after("the acorn guest house is at 4 north road .", "great"), IT),  # an address
    (after("the acorn guest house is on south street , north .", "ok"), {**IT, "hotel-area": "north"}),
    (after("how about the acorn guest house ?", "do you have any in the south ?"), {"hotel-area": "south"}),
    (after("it is in the northern part .", "ok", name="acorn guest house"), {"hotel-area": "north"}),
    (after("ok .", "does it have parking ?", name="acorn guest house"), {"hotel-parking": "yes"}),  # as its row says
    (after("ok .", "does it have parking ?", name="lensfield hotel"), {}),
    (after("ok .", "i want the hotel to have parking"), {"hotel-parking": "yes"}),  # asks for no kind
    (after("acorn guest house is in the north , autumn house in the east .", "the acorn please"), OF_SIGNS),
    (after("all of them are in the north .", "ok"), {"hotel-area": "north"}),
    (after("ok .", "a hotel , not a guest house"), {"hotel-type": "hotel"}),
    (after(_ACORN, "is there anything else ?"), {}),
    (after(_NICE, "great", name="dontcare"), {"hotel-name": "lensfield hotel"}),  # the user gets one of any
    (after("ok .", "does it have parking or not ?", name="acorn guest house"), {"hotel-parking": "yes"}),
    (after("all of them have parking , the acorn guest house , too .", "i would prefer a hotel . is acorn one ?"),
     {**IT, "hotel-parking": "yes"}),  # who names the place does not ask for another
    (after("ok .", "something more south please"), {"hotel-area": "south"}),
    (after("ok .", "something less south please"), {}),
    (after("the acorn guest house is full . may i look for another hotel ?", "yes"), {}),  # the system asks to refuse
    (after("ok .", "at the same price as the acorn guest house"), {}),  # to compare with
]  # fmt: skip


def test_what_is_said_of_the_place_under_discussion(database: str) -> None:
    assert added(database, *(dialogue for dialogue, _ in SAID)) == [
        {(1, slot, value) for slot, value in wanted.items() if dialogue[1][2].get(slot) != value}
        for dialogue, wanted in SAID
    ]


@pytest.mark.again
@settings(max_examples=2)
@given(gone=st.sets(st.tuples(st.integers(0, 59), st.sampled_from(sorted(_ALL))), min_size=1))
def test_what_was_taken_out_is_found_and_nothing_else_and_twice_is_once(
    gone: set[tuple[int, str]], database: str
) -> None:
    whole = ANNOTATED[0]
    dialogues = [
        [whole[0], (whole[1][0], whole[1][1], {slot: v for slot, v in whole[1][2].items() if (n, slot) not in gone})]
        for n in range(60)
    ]
    states, said = corpus(*dialogues)
    found = audit.inconsistency(states, database=database, said=said)
    rows = found.proposals.select("dialogue", "turn", "slot", "value").rows()
    assert set(rows) == {(f"D{n}", 1, slot, _ALL[slot]) for n, slot in gone}
    turns = pl.DataFrame({"dialogue": said["dialogue"], "turn": said["turn"]})
    for dialogue, turn, slot, value in audit.additions(found.proposals, turns).iter_rows():
        next(s for s in states if (s["dialogue_id"], s["turn"]) == (dialogue, turn))["gold"][slot] = value
    assert audit.inconsistency(states, database=database, said=said).proposals.is_empty()


def test_each_addition_says_why(database: str) -> None:
    states, said = corpus(list(after(_ACORN, "great")))
    proposals = audit.inconsistency(states, database=database, said=said).proposals
    why = {slot: row for slot, *row in proposals.select("slot", "rule", "entity", "fact").iter_rows()}
    assert why["hotel-area"] == ["fact", "acorn guest house", "north"]
    assert why["hotel-name"] == ["name", "acorn guest house", None]
    assert (proposals["annotated"] >= SUPPORT).all()


def test_the_log_names_the_conditions_that_failed(database: str) -> None:
    failed = [
        (after(_ACORN, "i want something else instead"), "hotel-name", "name: an offer that stands"),
        (after("the acorn guest house has 3 stars .", "ok"), "hotel-stars", "fact: confirmed"),
        (after("ok .", "not in the south please"), "hotel-area", "wish: not denied"),
        (after("ok .", "does it have parking ?"), "hotel-parking", "feature: not asked"),
    ]
    states, said = corpus(*(list(dialogue) for dialogue, _, _ in failed))
    log = audit.inconsistency(states, database=database, said=said).candidates
    for number, (_, slot, why) in enumerate(failed):
        row = log.filter(pl.col("slot") == slot, dialogue=f"D{number}", turn=1)
        assert row.select("decision", "failed").rows() == [("no rule", why)]


def test_rules_are_data(database: str, tmp_path: Path) -> None:
    rules = json.loads(Path(audit.__file__).with_name("rules.json").read_text(encoding="utf-8"))
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({**rules, "refusal": "nothing is refused"}), encoding="utf-8")
    dialogue = after(_ACORN, "i want something else instead")
    assert added(database, dialogue, rules=path) == [{(1, slot, value) for slot, value in _ALL.items()}]
    for change, message in (
        ({"refusal": "("}, "`refusal` is not a valid regular expression: \\("),
        ({"cues": {"taxi-departure": "a["}}, "`cues` is not a valid regular expression: a\\["),
        ({"travel": ["bus"]}, "`domains` does not say what is said of `bus`"),
        ({"domains": {"hotel": "inn"}}, "`domains` does not say what is said of `train`"),
        ({"said_as": {"hotel-parking": {"yes": ["parking", "!"]}}}, "`said_as` of hotel-parking has '!', not a word"),
        ({"refusal": 1}, "Expected `str`, got `int` - at `\\$.refusal`"),
        ({"refusals": "x"}, "unknown field `refusals`"),
        (
            {"rules": {"name": [["a name", "by him"]]}},
            "Invalid enum value 'by him' - at `\\$.rules\\[...\\]\\[0\\]\\[1\\]`",
        ),
        ({"rules": {"names": []}}, "Invalid enum value 'names'"),
    ):
        path.write_text(json.dumps({**rules, **change}), encoding="utf-8")
        with pytest.raises(DstbenchError, match=message):
            read_rules(path)


def test_as_good_as_the_bars_on_multiwoz(data: Path) -> None:
    figures = compare(data)
    for name, bar in BARS.items():
        assert figures[name] >= bar, (name, figures)


def test_as_many_dialogues_as_the_paper_changes(data: Path) -> None:
    """Each slot within 15 % of Table 1, or one dialogue (taxis, and departures of trains, are in one to five)."""
    counts, share = changed_dialogues(data)
    far = {name for name, theirs in TABLE_1.items() if abs(counts[name] - theirs) > max(0.15 * theirs, 1)}
    assert not far
    assert abs(share - SHARE_CHANGED) < 0.03


def test_additions_that_were_read(data: Path) -> None:
    """A hundred additions to the training set, drawn once and read one by one: 92 right, 8 arguable.

    ("A hotel" counts as right where nothing in the dialogue says that a guest house will do. Half of the arguable ones
    are of users who ask whether a place has something, and it has.)
    """
    read = pl.read_csv(Path(__file__).parent.parent / "golden" / "additions_read.tsv", separator="\t")
    train = data / "multiwoz21" / "train.tsv.gz"
    found = audit.inconsistency(train, database=data / "multiwoz_db").proposals
    added = audit.additions(found, dstbench.contexts(train).select("dialogue", "turn"))  # from this turn on, or before
    still = read.join(added.cast({"turn": pl.Int64}), on=["dialogue", "turn", "slot", "value"], how="semi")
    counts = dict(still["verdict"].value_counts().iter_rows())
    assert counts["right"] == read.filter(verdict="right").height
    assert counts["right"] >= 0.9 * read.height
    assert counts.get("wrong", 0) <= 2


def test_a_slip_of_an_annotator_does_not_make_a_name_a_common_word(database: str) -> None:
    """Gold has a hotel's name once as an area: it stays a name, and is no area."""
    slip = after("ok .", "fine", area="acorn guest house")
    assert added(database, slip, after("the acorn guest house is nice .", "great"))[1] == {(1, *IT.copy().popitem())}


def test_a_word_that_only_one_name_has_stands_for_it_where_gold_mostly_means_it(database: str) -> None:
    state = {"restaurant-food": "indian", "restaurant-name": "curry garden"}
    meant: list[Turn] = [(None, "indian food", _FOOD), ("the garden is nice .", "great", state)]
    lacking = [meant[0], (*meant[1][:2], _FOOD)]
    assert added(database, *[meant] * SUPPORT, lacking)[-1] == {(1, "restaurant-name", "curry garden")}
    assert added(database, lacking) == [set()], "gold never means it"


def test_of_two_domains_in_a_turn_the_one_named_last_is_the_topic(database: str) -> None:
    state = {"hotel-type": "guesthouse", **_FOOD}
    both = ("a guest house and indian food", "indian food and a guest house")
    dialogues = [[(None, wish, state), ("ok .", "in the south please", state)] for wish in both]
    assert added(database, *dialogues) == [set(), {(1, "hotel-area", "south")}]


def test_the_papers_taxi_is_called_a_taxi() -> None:
    ride: list[Turn] = [(None, "a taxi to the acorn guest house", {"taxi-destination": "acorn guest house"})]
    late: list[Turn] = [("ok .", "thanks", {}), ("ok .", "autumn house", {"taxi-destination": "autumn house"})]
    wishes = ("a taxi to the acorn guest house", "what is the address to the acorn guest house")
    states, said = corpus(*[ride] * 5, *([(None, wish, {}), *late] for wish in wishes))
    proposals = audit.inconsistency(states, said=said, rules="qian2021").proposals
    assert proposals.filter(slot="taxi-destination")["dialogue"].to_list() == ["D5"]


# --- without a database, and another domain ---------------------------------------------------------------------------


def test_without_a_database_the_name_stands_in_the_same_sentence() -> None:
    cases: list[tuple[tuple[Turn, Turn], dict[str, str]]] = [
        (after(_ACORN, "great"), _ALL),
        (after("acorn guest house . it is in the north .", "ok"), IT),  # another sentence
        (after("it is in the north .", "ok", name="acorn guest house"), {}),
        (after("the acorn guest house is in the south .", "ok"), {**IT, "hotel-area": "south"}),  # no row differs
        (after(BOTH, "hm"), {}),
        (after("the acorn guest house is in the north .", "in the south please"), {"hotel-area": "south"}),  # refused
    ]
    assert added(None, *(dialogue for dialogue, _ in cases)) == [
        {(1, slot, value) for slot, value in wanted.items()} for _, wanted in cases
    ]


CLINICS = [{"name": "oak clinic", "district": "harbour"}, {"name": "elm clinic", "district": "old town"}]
_OAK = {"clinic-name": "oak clinic", "clinic-district": "harbour", "clinic-date": "monday"}


@pytest.mark.again
@pytest.mark.parametrize("with_database", [True, False])
def test_another_domain_by_the_same_rules(with_database: bool, tmp_path: Path) -> None:
    (tmp_path / "clinic_db.json").write_text(json.dumps(CLINICS), encoding="utf-8")
    begin: Turn = (None, "i need a doctor on monday", {"clinic-date": "monday"})
    whole: list[Turn] = [begin, ("oak clinic is in harbour .", "good", _OAK)]
    lacking: list[Turn] = [begin, (whole[1][0], whole[1][1], begin[2])]
    other: list[Turn] = [begin, ("elm clinic is in harbour .", "fine", begin[2])]
    named = {**{f"A{n}": whole for n in range(SUPPORT + 1)}, "D0": lacking, "D1": other}
    states = [
        {"dialogue_id": name, "turn": turn, "gold": gold}
        for name, turns in named.items()
        for turn, (_, _, gold) in enumerate(turns)
    ]
    said = pl.DataFrame(
        [(name, turn, *texts[:2]) for name, turns in named.items() for turn, texts in enumerate(turns)],
        schema={"dialogue": pl.String, "turn": pl.UInt16, "system": pl.String, "user": pl.String},
        orient="row",
    )
    proposals = audit.inconsistency(states, said=said, database=tmp_path if with_database else None).proposals
    added = set(proposals.select("dialogue", "slot", "value").rows())
    assert added >= {("D0", "clinic-name", "oak clinic"), ("D0", "clinic-district", "harbour")}
    assert ("D1", "clinic-district", "harbour") not in added  # its row: in the old town; without one, no place


# --- what the paper adds ----------------------------------------------------------------------------------------------


@pytest.mark.again
@pytest.mark.parametrize(
    ("switch", "dialogue", "wanted"),
    [
        ({"lists": "-name$"}, after(BOTH, "hm"), {"hotel-name": "acorn guest house|autumn house"}),
        ({"refused": True}, after("how about the acorn guest house ?", "i want something else instead"), IT),
        ({"unconfirmed": "-stars$"}, after("the acorn guest house has 3 stars .", "ok"), {**IT, "hotel-stars": "3"}),
        (
            {"over_dontcare": "-area$"},
            after("it is in the north .", "ok", name="acorn guest house", area="dontcare"),
            {"hotel-area": "north"},
        ),
        ({"slots": "-area$"}, after(_ACORN, "great"), {"hotel-area": "north"}),
        ({"of_user": "-name$"}, after("ok .", "in the south please"), {}),
    ],
)
def test_switches(
    switch: dict[str, Any], dialogue: tuple[Turn, Turn], wanted: dict[str, str], database: str, tmp_path: Path
) -> None:
    (tmp_path / "rules.json").write_text(json.dumps(switch), encoding="utf-8")
    # Similar dialogues annotate stars, names and areas, so that there is evidence for each.
    assert added(database, dialogue, rules=tmp_path / "rules.json") == [{(1, s, v) for s, v in wanted.items()}]


def test_where_gold_annotates_a_few_of_a_slot_the_rule_in_any_slot_is_evidence(database: str) -> None:
    meant: list[Turn] = [(None, "indian food", {}), ("curry garden serves indian food .", "ok", _CURRY)]
    asked = {"restaurant-area": "centre"}
    lacking: list[Turn] = [(None, "in the centre", asked), ("curry garden serves indian food .", "ok", asked)]
    named = {"restaurant-name": "curry garden", "restaurant-food": "indian"}
    states, said = corpus(meant, lacking)
    found = audit.inconsistency(states, database=database, said=said).proposals.filter(dialogue="D1")
    assert dict(found.select("slot", "value").rows()) == named
    assert found.filter(slot="restaurant-food")["place"].item() == "rule=fact slot=any"
    states, said = corpus(lacking)
    found = audit.inconsistency(states, database=database, said=said).proposals
    assert "restaurant-food" not in found["slot"], "gold annotates no such fact"


def test_rules_can_be_taken_out_and_put_in(database: str, tmp_path: Path) -> None:
    ways = read_rules().rules
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": {"name": ways["name"], "wish": [["a value", "by the user"]]}}))
    dialogues = (after(_ACORN, "great"), after("ok .", "not in the south please"))
    assert added(database, *dialogues, rules=path) == [{(1, *IT.copy().popitem())}, {(1, "hotel-area", "south")}]


def test_rules_that_leave_out_every_slot_are_refused(database: str, tmp_path: Path) -> None:
    """Nothing would be missing, whatever the data."""
    states, said = corpus()
    (tmp_path / "rules.json").write_text('{"slots": "^flight-"}', encoding="utf-8")
    with pytest.raises(DstbenchError, match="the rules add nothing to any of the dataset's slots"):
        audit.inconsistency(states, said=said, database=database, rules=tmp_path / "rules.json")


def test_values_after_words_that_tell_their_slot() -> None:
    trains = [
        ("a train from ely to norwich", {"train-departure": "ely", "train-destination": "norwich"}),
        ("a train from norwich to ely", {"train-departure": "norwich", "train-destination": "ely"}),
    ] * (SUPPORT + 1)
    states: list[dict[str, Any]]
    states = [{"dialogue_id": f"T{n}", "turn": 0, "gold": dict(gold)} for n, (_, gold) in enumerate(trains)]
    del states[-1]["gold"]["train-departure"]
    del states[-2]["gold"]["train-destination"]
    schema = {"dialogue": pl.String, "turn": pl.UInt16, "system": pl.String, "user": pl.String}
    rows = [(f"T{n}", 0, None, user) for n, (user, _) in enumerate(trains)]
    proposals = audit.inconsistency(states, said=pl.DataFrame(rows, schema=schema, orient="row")).proposals
    assert proposals.select("dialogue", "slot", "value", "rule").rows() == [
        (f"T{len(trains) - 2}", "train-destination", "norwich", "cue"),
        (f"T{len(trains) - 1}", "train-departure", "norwich", "cue"),
    ]


def test_values_before_gold_begins_the_domain(database: str, tmp_path: Path) -> None:
    """Where the rules say so: see `SAID` for where they do not."""
    (tmp_path / "rules.json").write_text('{"early": "^hotel-name$"}', encoding="utf-8")
    assert (0, "hotel-name", "autumn house") in added(database, EARLY, rules=tmp_path / "rules.json")[0]
