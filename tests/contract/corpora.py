"""The corpora of the contract: files made of plain Python data, the same each time. All of it is invented.

`write` makes all of them in a folder. The main corpus, `GOLD`, has every slot of MultiWOZ, and predictions of three
trackers: `steady` is better than `hasty`, and `hasty` than `keen`; files are given in another order, which is not that
of their names either. Each tracker misses, gets wrong and invents another number of values.
"""

from __future__ import annotations

import csv
import io
import json
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

State: TypeAlias = dict[str, str]
Turn: TypeAlias = dict[str, Any]

AREAS: Final = ("north", "south", "east", "west", "centre")
PRICES: Final = ("cheap", "moderate", "expensive")
DAYS: Final = ("monday", "tuesday", "wednesday", "friday")
TIMES: Final = ("09:15", "10:30", "12:45", "17:00")
COUNTS: Final = ("1", "2", "3", "5")
TOWNS: Final = ("wexmoor", "harrow-on-sea", "tilby", "new ashdene")
HOTELS: Final = ("the drowsy otter", "pemberly guesthouse", "sea-view lodge", "quill and candle")
FOODS: Final = ("sardinian", "kashmiri", "north-frisian", "vegan")
TABLES: Final = ("copper kettle", "the seventh spoon", "basil-and-rye", "moon harbour")
SIGHTS: Final = ("clockwork museum", "the tidal gardens", "amber hall", "st. orla's tower")

#: The 30 slots of MultiWOZ, and their values here.
VALUES: Final[dict[str, tuple[str, ...]]] = {
    "attraction-area": AREAS, "attraction-name": SIGHTS, "attraction-type": ("museum", "park", "theatre"),
    "hotel-area": AREAS, "hotel-book day": DAYS, "hotel-book people": COUNTS, "hotel-book stay": COUNTS,
    "hotel-internet": ("yes", "no"), "hotel-name": HOTELS, "hotel-parking": ("yes", "no"), "hotel-pricerange": PRICES,
    "hotel-stars": ("2", "3", "4"), "hotel-type": ("hotel", "guest house"),
    "restaurant-area": AREAS, "restaurant-book day": DAYS, "restaurant-book people": COUNTS,
    "restaurant-book time": TIMES, "restaurant-food": FOODS, "restaurant-name": TABLES, "restaurant-pricerange": PRICES,
    "taxi-arriveby": TIMES, "taxi-departure": TOWNS, "taxi-destination": TOWNS, "taxi-leaveat": TIMES,
    "train-arriveby": TIMES, "train-book people": COUNTS, "train-day": DAYS, "train-departure": TOWNS,
    "train-destination": TOWNS, "train-leaveat": TIMES,
}  # fmt: skip
DOMAINS: Final = ("hotel", "restaurant", "train", "attraction", "taxi")

#: Of 100 values that gold has, how many a tracker misses and gets wrong; of 100 turns, in how many it invents one; and
#: how many of its values it writes in other letters.
TRACKERS: Final = {"keen": (19, 11, 25, 7), "steady": (2, 4, 4, 4), "hasty": (8, 6, 13, 5)}
#: Values in another spelling, which some profiles take for the same.
RESPELLED: Final = {
    "the drowsy otter": "drowsy otter", "pemberly guesthouse": "pemberly guest house", "centre": "center",
    "09:15": "9:15 am", "12:45": "1245", "theatre": "theater", "dontcare": "do not care", "yes": "free",
    "clockwork museum": "clockwork  museums", "none": "not", "kashmiri": "Kashmiri",
    "copper kettle": "the copper kettle",
}  # fmt: skip


def _dialogue(number: int, random: Random) -> list[Turn]:
    name, state, turns = f"MUL{1200 + 7 * number:04}", State(), []
    domains = [DOMAINS[number % 5], DOMAINS[(number + 1 + number // 5) % 5]]
    slots = [slot for slot in VALUES if slot.partition("-")[0] in domains]
    random.shuffle(slots)
    for turn in range(4 + number % 4):
        said = []
        for slot in slots[3 * turn : 3 * turn + 2 + (turn + number) % 2]:
            value = random.choice(VALUES[slot])
            said.append(f"the {slot.partition('-')[2]} of the {slot.partition('-')[0]} is {value}")
            if random.random() < 0.06:
                value = "dontcare"
            elif random.random() < 0.08:
                value = f"{value}|{random.choice(VALUES[slot])}x"
            elif random.random() < 0.02:
                value = "none"
            if random.random() < 0.93:  # what is said is not always annotated
                state[slot] = value
        if turn == 3 and number % 4 == 1 and state:  # a value that is taken back
            del state[next(iter(state))]
        system = f"anything else than {random.choice(SIGHTS)} ?" if turn else None
        user = f"please note : {' , and '.join(said)} ." if said else "no , thanks ."
        turns.append({"dialogue_id": name, "turn": turn, "gold": dict(state), "system": system, "user": user})
    return turns


def corpus(dialogues: int, seed: int) -> list[Turn]:
    """Turns with gold states and utterances."""
    random = Random(seed)  # noqa: S311 (no secrets)
    return [turn for number in range(dialogues) for turn in _dialogue(number, random)]


def predicted(turns: list[Turn], tracker: str) -> list[Turn]:
    """The turns, with a tracker's predictions; what it gets wrong it keeps for the rest of the dialogue, mostly."""
    random, rows = Random(tracker), []  # noqa: S311 (no secrets)
    missed, wrong, invented, respelled = TRACKERS[tracker]
    kept: dict[str, str | None] = {}
    extra: State = {}
    for turn in turns:
        if turn["turn"] == 0:
            kept, extra = {}, {}
        pred = {}
        for slot, gold in turn["gold"].items():
            if slot not in kept or random.random() < 0.05:
                value: str | None = gold.split("|")[0] if random.random() < 0.8 else gold
                chance = random.randrange(100)
                if chance < missed:
                    value = None
                elif chance < missed + wrong:
                    value = random.choice([*VALUES[slot], "dontcare", "none"])
                elif chance < missed + wrong + 4 * respelled:
                    value = RESPELLED.get(gold, gold)
                kept[slot] = value
            if (value := kept[slot]) is not None:
                pred[slot] = value
        if random.randrange(100) < invented:
            slot = random.choice([*VALUES])
            extra[slot] = random.choice([*VALUES[slot], "none", "dontcare"])
        rows.append({**turn, "pred": {**extra, **pred}})
    return rows


GOLD: Final = corpus(20, seed=3)
RUNS: Final = {name: predicted(GOLD, name) for name in TRACKERS}


def _lines(turns: list[Turn], *keys: str) -> str:
    return "".join(json.dumps({key: turn[key] for key in keys}) + "\n" for turn in turns)


def _table(rows: list[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


ALL: Final = ("dialogue_id", "turn", "gold", "pred")
BARE: Final = ("dialogue_id", "turn", "pred")
ONLY_GOLD: Final = ("dialogue_id", "turn", "gold")
SAID: Final = ("dialogue_id", "turn", "gold", "system", "user")


def _other_gold() -> list[Turn]:
    """Gold of a later version of the corpus: some values are added, others changed, respelled or removed."""
    turns, random = deepcopy(GOLD), Random("later")  # noqa: S311 (no secrets)
    for number, turn in enumerate(turns):
        gold = turn["gold"]
        if number % 9 == 2:
            gold["hotel-area"] = AREAS[number % 5]
        for slot in random.sample([*gold], min(2, len(gold))):
            value = gold[slot].split("|")[0]
            others = [v for v in VALUES[slot] if v != value]
            edits = [value.upper(), f"{value}|{others[0]}", others[0], RESPELLED.get(value, f"{value}s"), "none"]
            gold[slot] = random.choice([*edits, gold[slot], gold[slot]])
        if number % 11 == 4 and gold:
            del gold[next(iter(gold))]
    return turns


def _main(files: dict[str, str]) -> None:
    files["gold.jsonl"], files["later.jsonl"] = _lines(GOLD, *SAID), _lines(_other_gold(), *SAID)
    test, dev = GOLD, _other_gold()
    train = corpus(12, seed=8)
    donated = {slot: names[0] for slot, names in DONORS.items() if slot in VALUES}
    files["donated.jsonl"] = _lines([*train, {**train[0], "dialogue_id": "MUL9999", "gold": donated}], *SAID)
    files["mute.jsonl"] = _lines([{**turn, "user": "no , thanks .", "system": None} for turn in GOLD], *SAID)
    keys = {"dialogue_id": "dial_id", "turn": "turn_idx", "gold": "ground_truth", "system": "sys", "user": "usr"}
    annexed = [{**t, "gold": {s: f"{v} annex" for s, v in t["gold"].items()}} for t in train]
    for name, turns in (("first", GOLD), ("second", _other_gold()), ("annexed", annexed)):  # a note tells their keys
        files[f"{name}.json"] = json.dumps([{keys[key]: turn[key] for key in SAID} for turn in turns])
    files["train.jsonl"] = _lines(train, *SAID)
    for name, turns in RUNS.items():
        files[f"{name}.jsonl"] = _lines(turns, *ALL)
        # Without gold, without every ninth turn, and with dialogues that gold does not have.
        more = [{**turn, "dialogue_id": f"MUL9{turn['dialogue_id'][4:]}"} for turn in turns[:3]]
        files[f"bare_{name}.jsonl"] = _lines([t for n, t in enumerate(turns) if n % 9 != 4] + more, *BARE)
        keys = {"dialogue_id": "flag", "turn": "turn", "gold": "truth_a", "pred": "answer_b"}
        keyed = [{keys[key]: turn[key] for key in ALL} for turn in turns]
        files[f"keyed_{name}.json"] = json.dumps([{**turn, "answer_a": turn["truth_a"]} for turn in keyed])
        foreign = [
            {**t, "pred": {("hotel-title" if s == "hotel-name" else s): v for s, v in t["pred"].items()}} for t in turns
        ]
        files[f"renamed_{name}.jsonl"] = _lines(foreign, *BARE)
        for kind, shift, step in (("shifted", 1, 1), ("doubled", 0, 2)):  # turns under other numbers than gold's
            files[f"{kind}_{name}.jsonl"] = _lines([{**t, "turn": shift + step * t["turn"]} for t in turns], *BARE)
        booked = [{**t, "pred": {s.replace("book ", ""): v for s, v in t["pred"].items()}} for t in turns]
        files[f"booked_{name}.jsonl"] = _lines(booked, *ALL)
        own = [{**t, "dialogue_id": f"own {t['dialogue_id']}" if n % 4 == 0 else t["dialogue_id"]}
               for n, t in ((int(t["dialogue_id"][3:]), t) for t in turns)]  # fmt: skip
        files[f"own_{name}.jsonl"] = _lines(own, *BARE)
        files[f"late_{name}.jsonl"] = _lines([{**t, "turn": t["turn"] + 1} for t in turns], *BARE)
        files[f"double_{name}.jsonl"] = _lines([{**t, "turn": 2 * t["turn"]} for t in turns], *BARE)
        # One state is cut off, as the answer of a language model may be.
        cut = [{**t, "pred": '{"hotel-area": "no' if n == 4 else t["pred"]} for n, t in enumerate(turns)]
        files[f"cut_{name}.jsonl"] = _lines(cut, *ALL)
        unbooked = [{**t, "pred": {s.replace("book ", ""): v for s, v in t["pred"].items()}} for t in turns]
        files[f"unbooked_{name}.jsonl"] = _lines(unbooked, *ALL)
    files["slots.csv"] = "hotel-title,hotel-name\n"
    ids = {t["dialogue_id"] for t in GOLD if int(t["dialogue_id"][3:]) % 4 == 0}
    files["ids.csv"] = "".join(f"own {name},{name}\n" for name in sorted(ids))
    for split, turns in (("train", train), ("dev", dev), ("test", test)):
        files[f"splits/{split}.jsonl"] = _lines(turns, *SAID)


_PLACES: Final = ("dunmere", "orrick", "selby cross", "fenwick", "aldham")
DONORS: Final = {
    "hotel-name": ("gilded heron", "marsh end inn", "three lanterns", "the ferry house", "old wool barn"),
    "restaurant-name": ("plum and salt", "night pantry", "the blue ladle", "ember room", "fig court"),
    "attraction-name": ("kite hall", "the salt works", "echo park", "glass museum", "heron pier"),
    "other-name": ("lone donor a", "lone donor b", "lone donor c", "lone donor d", "lone donor e"),
    **{f"{domain}-{end}": _PLACES for domain in ("taxi", "train") for end in ("departure", "destination")},
}


def _beside(files: dict[str, str]) -> None:
    """Tables, maps and other files that options name."""
    files["typos.json"] = json.dumps({"north": ["south"], "cheap": "moderate", "2": ["3"]})
    files["labels.json"] = json.dumps({v: [*values] for values in VALUES.values() for v in values})
    rows = [{"dialogue": t["dialogue_id"], "run": name, "rating": 1 + (n * 7 + t["turn"] + len(name)) % 5}
            for name in RUNS for n, t in enumerate(GOLD) if t["turn"] == 0]  # fmt: skip
    files["ratings.csv"] = _table(rows)
    models = [{"model": f"m{n}", "metric": metric, "value": (20 + 3 * n + 7 * (n * k % 3)) / 100}
              for n in range(6) for k, metric in enumerate(("jga", "fga", "gca"))]  # fmt: skip
    files["published.csv"] = _table(models)
    files["orders.csv"] = "run,size\nkeen,1\nsteady,2\nhasty,3\n"
    files["sizes.csv"] = "run,size\nkeen,3\nsteady,1\nhasty,2\n"
    files["lengths.csv"] = _table([{"dialogue": f"MUL{1200 + 7 * n:04}", "weight": n % 3} for n in range(20)])
    ontology = {slot: [value for value in values if value != "wexmoor"] for slot, values in VALUES.items()}
    files["ontology.json"] = json.dumps(ontology)
    for domain, names in (("hotel", HOTELS), ("restaurant", TABLES), ("attraction", SIGHTS)):
        own = [slot for slot in VALUES if slot.startswith(f"{domain}-") and "book" not in slot and "name" not in slot]
        entities = [
            {"name": name, **{slot.partition("-")[2]: VALUES[slot][n % len(VALUES[slot])] for slot in own}}
            for n, name in enumerate(names)
        ]
        files[f"db/{domain}_db.json"] = json.dumps(entities)
    files["donors.json"] = json.dumps(DONORS)
    files["rivals.json"] = json.dumps({slot: [f"{name} annex" for name in names] for slot, names in DONORS.items()})
    files["rules.json"] = json.dumps({"slots": "hotel-.*", "of_user": "hotel-.*"})
    files["unnamed.json"] = json.dumps({"names": "no slot", "cues": {}})
    files["mine.toml"] = 'base = "verbatim"\ndontcare = "drop"\n'


#: Services of SGD with their slots, and the values of categorical ones.
SERVICES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "Hotels_1": {"city": (), "stars": ("2", "3", "4")},
    "Buses_3": {"to": (), "time": (), "extra": ("True", "False")},
    "Music_2": {"artist": ()},
}
SCHEMA: Final = [
    {
        "service_name": service,
        "slots": [{"name": s, "is_categorical": bool(values), "possible_values": values} for s, values in own.items()],
    }
    for service, own in SERVICES.items()
]


def _frames(tracker: str | None) -> list[dict[str, Any]]:
    """Dialogues in SGD's layout: of gold, or with a tracker's states."""
    random = Random(f"sgd {tracker}")  # noqa: S311 (no secrets)
    states_of: dict[str, dict[str, list[str]]]
    dialogues = []
    for number in range(12):
        own = Random(number)  # noqa: S311 (no secrets)
        services = [["Hotels_1", "Buses_3"], ["Buses_3"], ["Music_2", "Hotels_1"]][number % 3]
        turns: list[dict[str, Any]] = []
        states_of = {service: {} for service in services}
        for turn in range(3):
            for service in services:
                slot = [*SERVICES[service]][turn % len(SERVICES[service])]
                states_of[service][slot] = [own.choice(SERVICES[service][slot] or (*TOWNS, "wex moor"))]
            shown = deepcopy(states_of)
            for state in shown.values() if tracker else ():
                for slot in [*state]:
                    chance = random.randrange(100)
                    if chance < TRACKERS[tracker or ""][0]:
                        del state[slot]
                    elif chance < 50:
                        state[slot] = [f"{state[slot][0]} s"]
                if random.randrange(100) < TRACKERS[tracker or ""][2]:
                    state["time" if "to" in state else "city"] = ["soon"]
            frames = [{"service": service, "state": {"active_intent": "NONE", "requested_slots": [],
                       "slot_values": state}} for service, state in shown.items()]  # fmt: skip
            turns.append({"speaker": "USER", "utterance": f"{shown}" if not tracker else "", "frames": frames})
            turns.append({"speaker": "SYSTEM", "utterance": "fine", "frames": []})
        dialogues.append({"dialogue_id": f"{number % 2 + 1}_{number:05}", "services": services, "turns": turns})
    return dialogues


def write(folder: Path) -> None:
    """Write all corpora to a folder."""
    files: dict[str, str] = {}
    _main(files)
    _beside(files)
    files["sgd/schema.json"] = json.dumps(SCHEMA)
    files["sgd/dialogues_001.json"] = json.dumps(_frames(None))
    files["seen.json"] = json.dumps(SCHEMA[:1])
    files["seeds.csv"] = "run,seed\n" + "".join(f"{tracker},{n}\n" for n, tracker in enumerate(TRACKERS))
    for tracker in TRACKERS:
        files[f"sgd_{tracker}.json"] = json.dumps(_frames(tracker))
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
