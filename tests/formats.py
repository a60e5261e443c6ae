"""The example dialogue, or any other turns, in every native format: what each repository's own code would write.

It takes nothing of dstbench: what a reader makes of these files is compared with the turns themselves.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from csv import DictWriter
from typing import Any, Final, TypeAlias

Turns: TypeAlias = list[dict[str, Any]]
BOTH: Final = ("gold", "pred")

#: The invented dialogue that fixtures of every format tell: right in turn 0, one slot wrong in turn 1.
GOLD_0 = {"hotel-pricerange": "cheap", "hotel-area": "west", "hotel-parking": "no", "hotel-stars": "dontcare"}
GOLD_1 = {
    **GOLD_0,
    "hotel-name": "the copper kettle",
    "hotel-book people": "5",
    "hotel-book day": "monday",
    "train-destination": "ely",
    "train-leaveat": "10:30",
}
PRED_1 = {**GOLD_1, "train-leaveat": "11:30"}
ID = "MUL7001"
EXAMPLE: Turns = [
    {"dialogue_id": ID, "turn": 0, "gold": GOLD_0, "pred": GOLD_0},
    {"dialogue_id": ID, "turn": 1, "gold": GOLD_1, "pred": PRED_1},
]
#: What every reader must make of it: JGA 1/2; SA(30) 59/60; F1 (1 + 8/9)/2; AGA (1 + 8/9)/2.
EXAMPLE_SCORES = {"jga": 0.5, "sa": 59 / 60, "f1": 17 / 18, "aga": 17 / 18}
#: What is said in the two turns, and by the system between them.
USER = ["A cheap hotel in the west , please .", 'The "copper kettle", and a train to ely']
SYSTEM = "What about The Copper Kettle ?"
SAID = [{"user": USER[0], "system": ""}, {"user": USER[1], "system": SYSTEM}]
TOLD: Turns = [{**t, **said} for t, said in zip(EXAMPLE, SAID, strict=True)]

#: The slots that trackers of MultiWOZ know, and those of the bus and the hospital, which SUMBT's files have as well.
_TRACKED: Final = {
    "attraction": ("area", "name", "type"),
    "hotel": ("area", "book day", "book people", "book stay", "internet", "name", "parking", "pricerange", "stars",
              "type"),
    "restaurant": ("area", "book day", "book people", "book time", "food", "name", "pricerange"),
    "taxi": ("arriveby", "departure", "destination", "leaveat"),
    "train": ("arriveby", "book people", "day", "departure", "destination", "leaveat"),
}  # fmt: skip
_UNTRACKED: Final = {"bus": ("day", "departure", "destination", "leaveat"), "hospital": ("department",)}
STAR_SLOTS = [f"{domain}-{slot}" for domain, slots in _TRACKED.items() for slot in slots]
SUMBT_SLOTS = sorted(f"{domain}-{slot}" for domain, slots in (_TRACKED | _UNTRACKED).items() for slot in slots)
# SUMBT spells some slots in two words, and has those of bus and hospital.
SUMBT_SPELLING = {"pricerange": "price range", "arriveby": "arrive by", "leaveat": "leave at"}


def _by_dialogue(turns: Turns) -> dict[str, Turns]:
    found: dict[str, Turns] = {}
    for t in turns:
        found.setdefault(t["dialogue_id"], []).append(t)
    return found


def _lower(turns: Turns) -> Turns:
    return [{**t, "dialogue_id": t["dialogue_id"].lower()} for t in turns]


def _dialogues(turns: Turns, write: Callable[[Turns], Any], name: str = "{}.json") -> dict[str, Any]:
    return {name.format(dialogue): write(of) for dialogue, of in _by_dialogue(turns).items()}


def _numbered(turns: Turns, write: Callable[[dict[str, Any]], Any], name: str = "{}.json") -> dict[str, Any]:
    return _dialogues(turns, lambda of: {str(t["turn"]): write(t) for t in of}, name)


def _slots(turns: Turns) -> list[str]:
    """The slots that a file with a place for every slot has."""
    return sorted({*STAR_SLOTS, *(slot for t in turns for side in BOTH for slot in t[side])})


def _answer(turns: Turns, t: dict[str, Any]) -> str:
    """What the system says after a turn."""
    return next((str(o["system"]) for o in turns if (o["dialogue_id"], o["turn"]) == (t["dialogue_id"], t["turn"] + 1)),
                SYSTEM)  # fmt: skip


def _said(t: dict[str, Any]) -> dict[str, str]:
    return {"user": t["user"], "system": t["system"]}


def _bare(t: dict[str, Any]) -> dict[str, Any]:
    return {key: t[key] for key in ("dialogue_id", "turn", "gold", "pred")}


def _nested(state: dict[str, str]) -> dict[str, dict[str, str]]:
    nested: dict[str, dict[str, str]] = {}
    for name, value in state.items():
        domain, _, slot = name.partition("-")
        nested.setdefault(domain, {})[slot] = value
    return nested


def _pairs(state: dict[str, str]) -> list[str]:
    return [f"{slot}-{value}" for slot, value in state.items()]


def gtpr(turns: Turns = TOLD) -> str:
    return json.dumps(_numbered(turns, lambda t: {"gt": _nested(t["gold"]), "pr": _nested(t["pred"])}))


def trade(turns: Turns = TOLD) -> str:
    def turn(t: dict[str, Any]) -> dict[str, Any]:
        return {"turn_belief": _pairs(t["gold"]), "pred_bs_ptr": _pairs(t["pred"])}

    return json.dumps(_numbered(turns[::-1], turn), indent=4)


def fga_trippy(turns: Turns = TOLD) -> str:
    """Marks of all slots: in the example of 30, of which the train's time is wrong in turn 1."""
    slots = _slots(turns)
    return json.dumps(_numbered(turns, lambda t: [int(t["gold"].get(s) == t["pred"].get(s)) for s in slots]))


def som(turns: Turns = TOLD) -> str:
    return json.dumps({f"{t['dialogue_id']}.json_{t['turn']}": [_pairs(t[s]) for s in ("pred", "gold")] for t in turns})


def t5dst(turns: Turns = TOLD) -> str:
    def turn(t: dict[str, Any]) -> dict[str, Any]:
        return {"turn_belief": _pairs(t["gold"]), "pred_belief": _pairs(t["pred"])}

    return json.dumps({name: {"domain": "hotel", "turns": of} for name, of in _numbered(turns, turn).items()})


def mwzeval(turns: Turns = TOLD) -> str:
    short = {"book people": "people", "book day": "day", "leaveat": "leave"}

    def turn(t: dict[str, Any]) -> dict[str, Any]:
        state = {d: {short.get(s, s): v for s, v in slots.items()} for d, slots in _nested(t["pred"]).items()}
        return {"response": "…", "state": state, "active_domains": []}

    return json.dumps(_dialogues(_lower(turns), lambda of: [*map(turn, of)], "{}"))


def jsonl(turns: Turns = TOLD) -> str:
    return "".join(json.dumps({**_bare(t), **_said(t)}, ensure_ascii=False) + "\n" for t in turns)


def json_list(turns: Turns = TOLD) -> str:
    return json.dumps([_bare(t) for t in turns])


def records(turns: Turns = TOLD) -> str:
    """As a rule-based tracker writes them."""
    return json.dumps([
        {"dial_id": f"{t['dialogue_id']}.json", "turn_id": t["turn"], "predicted": t["pred"], "ground_truth": t["gold"],
         **_said(t)}
        for t in turns
    ], indent=1)  # fmt: skip


def records_with_flags(turns: Turns = TOLD) -> str:
    """Dialogue and turn in one key, nested states as text, and labels of single turns, in lines."""

    def line(t: dict[str, Any]) -> dict[str, Any]:
        sides = {"labels": t["gold"], "output_state": t["pred"]}
        return {"flag": f"{t['dialogue_id'].lower()}-{t['turn']}", "predict_turn_label": {}} | {
            key: json.dumps(_nested(state)) for key, state in sides.items()
        }

    return "".join(json.dumps(line(t)) + "\n" for t in turns)


def records_wrapped(turns: Turns = TOLD) -> str:
    """Dialogues of turns under another key, with values that are no strings."""

    def state(flat: dict[str, str]) -> dict[str, Any]:
        return {"taxi-leaveat": None, "hotel-type": []} | {
            slot: int(value) if value.isdecimal() else [value] for slot, value in flat.items()
        }

    dialogues = _dialogues(
        turns, lambda of: [{"gt": state(t["gold"]), "prediction": state(t["pred"])} for t in of], "{}"
    )
    details = [{"dialogue_idx": name, "turn_details": of} for name, of in dialogues.items()]
    return json.dumps({"summary": {"jga": 0.5}, "details": details})


def state_lists(turns: Turns = TOLD, side: str = "pred") -> str:
    return json.dumps(_dialogues(_lower(turns), lambda of: [_nested(t[side]) for t in of], "{}"))


def state_lists_gold(turns: Turns = TOLD) -> str:
    return json.dumps(_numbered(_lower(turns)[::-1], lambda t: t["gold"], "{}"))


def csv(turns: Turns = TOLD) -> str:
    return _csv([
        {"id": f"{t['dialogue_id'].lower()}.json-{t['turn']}", "gold": _nested(t["gold"]), "pred": repr(t["pred"]),
         **_said(t)}
        for t in turns
    ])  # fmt: skip


def csv_long(turns: Turns = TOLD) -> str:
    """A line per slot, with semicolons, as spreadsheets write them in half of Europe."""
    return _csv([
        {"dialogue": t["dialogue_id"], "turn": t["turn"], "slot": slot, **{side: t[side].get(slot) for side in BOTH}}
        for t in turns for slot in sorted(t["gold"] | t["pred"])
    ], delimiter=";")  # fmt: skip


def _csv(rows: list[dict[str, Any]], **how: Any) -> str:
    text = io.StringIO()
    writer = DictWriter(text, rows[0], lineterminator="\n", **how)
    writer.writeheader()
    for row in rows:
        writer.writerow({key: json.dumps(cell) if isinstance(cell, dict) else cell for key, cell in row.items()})
    return text.getvalue()


def _triples(state: dict[str, str]) -> list[str]:
    return [f"{slot.replace('-', ' ', 1)} {value}" for slot, value in state.items()]


def simpletod(turns: Turns = TOLD) -> str:
    def dialogue(of: Turns) -> dict[str, Any]:
        gold, pred = ([_triples(t[side]) for t in of] for side in BOTH)
        pred[0] = ["hotel name not mentioned", " ", *pred[0]]
        return {"target_turn_belief": gold, "generated_turn_belief": pred, "target_response": [""] * len(of)}

    return json.dumps(_dialogues(turns, dialogue))


def parlai(turns: Turns = TOLD) -> str:
    def line(t: dict[str, Any]) -> dict[str, Any]:
        gold, pred = (", ".join(_triples(t[side])) + "," for side in BOTH)
        before = [o for o in turns if o["dialogue_id"] == t["dialogue_id"] and o["turn"] <= t["turn"]]
        said = [f"<system> {o['system']} <user> {o['user']}" if o["system"] else f"<user> {o['user']}" for o in before]
        teacher = {"dial_id": f"{t['dialogue_id'].lower()}.json", "turn_num": t["turn"], "eval_labels": [gold],
                   "text": " ".join(said)}  # fmt: skip
        return {"dialog": [[teacher, {"id": "Bart", "text": f"<bs> {pred} </bs>"}]], "context": []}

    return "".join(json.dumps(line(t)) + "\n" for t in turns)


def checkdst(turns: Turns = TOLD) -> str:
    lines = [
        {"dial_id": f"{t['dialogue_id'].lower()}-{t['turn']}", "aug_type": "orig"}
        | {side: ", ".join(_triples(t[side])).replace("book ", "") for side in BOTH}
        for t in turns
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def _span_turn(t: dict[str, Any]) -> dict[str, str]:
    def span(state: dict[str, str]) -> str:
        words = []
        for domain, slots in _nested(state).items():
            short = {"leaveat": "leave", "arriveby": "arrive"}
            pairs = (f"{short.get(slot, slot.removeprefix('book '))} {value}" for slot, value in slots.items())
            words += [f"[{domain}]", *pairs]
        return " ".join(words)

    return {"bspn": span(t["gold"]), "bspn_gen": span(t["pred"])}


def pptod(turns: Turns = TOLD) -> str:
    return json.dumps(_numbered(_lower(turns), _span_turn, "{}"))


def fnctod(turns: Turns = TOLD) -> str:
    return json.dumps(_dialogues(
        _lower(turns), lambda of: [{"turn_num": t["turn"], **_span_turn(t)} for t in of], "{}"
    ))  # fmt: skip


def star(turns: Turns = TOLD) -> str:
    slots = _slots(turns)

    def cells(t: dict[str, Any]) -> dict[str, Any]:
        none = dict.fromkeys(slots, "none")
        gold, pred = none | t["gold"], none | t["pred"]
        return {"utter": "…", **{slot: {"pred": pred[slot], "gt": gold[slot]} for slot in slots}}

    return json.dumps({f"{t['dialogue_id']}.json_{t['turn']}": cells(t) for t in turns})


def kage(turns: Turns = TOLD) -> str:
    slots = _slots(turns)

    def flat(state: dict[str, str]) -> dict[str, str]:
        whole = dict.fromkeys(slots, "none") | state
        return {slot.replace("-", " ").replace("book ", ""): value for slot, value in whole.items()}

    return json.dumps([
        {"example_id": f"{t['dialogue_id']}-{t['turn']}", "bs_pred_dict": flat(t["pred"]),
         "bs_ref_dict": flat(t["gold"])}
        for t in reversed(turns)
    ])  # fmt: skip


def _convlab_state(flat: dict[str, str], whole: list[str]) -> dict[str, dict[str, str]]:
    spelled = {"pricerange": "price range", "leaveat": "leave at", "arriveby": "arrive by"}
    nested = _nested(dict.fromkeys(whole, "") | flat)
    return {d: {spelled.get(s, s): v for s, v in slots.items()} for d, slots in nested.items()}


def convlab(turns: Turns = TOLD) -> str:
    def before(t: dict[str, Any]) -> list[dict[str, str]]:
        said = []
        for o in turns:
            if o["dialogue_id"] == t["dialogue_id"] and o["turn"] < t["turn"]:
                said.append({"speaker": "user", "utterance": o["user"]})
                said.append({"speaker": "system", "utterance": _answer(turns, o)})
        return said

    return json.dumps([
        {"speaker": "user", "utterance": t["user"], "context": before(t), "dialogue_id": f"{t['dialogue_id']}.json",
         "utt_idx": 2 * t["turn"], "state": _convlab_state(t["gold"], _slots(turns)),
         "predictions": {"state": _convlab_state(t["pred"], [])}}
        for t in turns
    ])  # fmt: skip


def icdst_gold(turns: Turns = TOLD, *sides: str) -> str:
    def item(t: dict[str, Any]) -> dict[str, Any]:
        said = [o for o in turns if o["dialogue_id"] == t["dialogue_id"] and o["turn"] <= t["turn"]]
        return {
            "ID": f"{t['dialogue_id']}.json", "turn_id": t["turn"], "slot_values": t["gold"],
            "dialog": {"sys": [o["system"] for o in said], "usr": [o["user"] for o in said]},
            **{side: t[side] for side in sides},
        }  # fmt: skip

    return json.dumps([item(t) for t in turns])


def icdst(turns: Turns = TOLD) -> str:
    return icdst_gold(turns, "pred")


def trippy(turns: Turns = TOLD) -> str:
    """With the system's words marked and WordPiece's spaces, as its authors' code leaves them in predictions."""
    spelled = {"leaveat": "leaveAt", "arriveby": "arriveBy"}
    meant = {"the copper kettle": "§§the copper kettle", "11:30": "11 : 30"}

    def turn(t: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"guid": ["test", f"{t['dialogue_id']}.json", str(t["turn"])]}
        for name in _slots(turns):
            domain, _, slot = name.partition("-")
            key = f"{domain}-{spelled.get(slot, slot).replace('book ', 'book_')}"
            found |= {f"class_prediction_{key}": 0, f"input_ids_{key}": [101, 102, 0]}
            pred, gold = (t[side].get(name, "none") for side in ("pred", "gold"))
            found |= {f"slot_prediction_{key}": meant.get(pred, pred), f"slot_groundtruth_{key}": gold}
        return found

    return json.dumps([turn(t) for t in turns], indent=2)


def savn(turns: Turns = TOLD) -> str:
    slots = _slots(turns)
    predictions = _numbered(turns, lambda t: [t["pred"].get(slot, "none") for slot in slots])
    return json.dumps({"slots": slots, "predictions": predictions})


def dstc10(turns: Turns = TOLD, side: str = "pred") -> str:
    """Items that stand for a turn each; the labels are of the same form."""

    def item(state: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for domain, slots in _nested(state).items():
            for slot, value in slots.items():
                part = "book" if slot.startswith("book ") else "semi"
                found.setdefault(domain, {}).setdefault(part, {})[slot.removeprefix("book ")] = [value]
        return found

    return json.dumps([item(t[side]) for t in turns])


def _lines(turns: Turns) -> list[tuple[str, str]]:
    """A line for each turn and slot, which names the dialogue by its place in a file, and the predicted value."""
    places = {name: place for place, name in enumerate(_by_dialogue(turns))}
    return [
        (f"dialogues_001.json|||{places[t['dialogue_id']]}|||{2 * t['turn']}|||4|||{domain}|||{slot.replace(' ', '')}",
         t["pred"].get(name, "NONE"))
        for t in turns for name in _slots(turns) for domain, _, slot in (name.partition("-"),)
    ]  # fmt: skip


def ldst(turns: Turns = TOLD) -> str:
    return "".join(f"{where}|||{[value]}\n" for where, value in _lines(turns))


def trade_gold(turns: Turns = TOLD) -> str:
    return json.dumps([
        {"dialogue_idx": name, "domains": ["hotel"], "dialogue": of}
        for name, of in _dialogues(turns, lambda of: _woz_turns(of, {})).items()
    ])  # fmt: skip


def t5dst_gold(turns: Turns = TOLD) -> str:
    def turn(t: dict[str, Any]) -> dict[str, Any]:
        return {"system": t["system"] or "none", "user": t["user"], "state": {"slot_values": t["gold"]}}

    return json.dumps([
        {"dial_id": name, "domains": ["hotel"], "turns": of}
        for name, of in _dialogues(turns, lambda of: [*map(turn, of)]).items()
    ])  # fmt: skip


def star_tsv(turns: Turns = TOLD) -> str:
    slots = _slots(turns)
    lines = [["# Dialogue ID", "Turn Index", "Last Turn", "System Response", "User Utterance", *slots, ""]]
    for t in turns:
        last = str(t is _by_dialogue(turns)[t["dialogue_id"]][-1])
        texts = [f"{t['dialogue_id']}.json", str(t["turn"]), last, t["system"], t["user"]]
        lines.append([*texts, *(t["gold"].get(slot, "none") for slot in slots)])
    return "".join("\t".join(line) + "\n" for line in lines)


def sumbt_tsv(turns: Turns = TOLD) -> str:
    slots = sorted({*SUMBT_SLOTS, *_slots(turns)})
    spelled = []
    for name in slots:
        domain, _, slot = name.partition("-")
        spelled.append("bus-leaveAt" if name == "bus-leaveat" else f"{domain}-{SUMBT_SPELLING.get(slot, slot)}")
    lines = [["# Dialogue ID", "Turn Index", "User Utterance", "System Response", *spelled, ""]]
    for t in turns:
        texts = [f"{t['dialogue_id']}.json", str(t["turn"]), t["user"], t["system"]]
        lines.append([*texts, *(t["gold"].get(slot, "none") for slot in slots)])
    return "".join("\t".join(line) + "\n" for line in lines)


def simpletod_gold(turns: Turns = TOLD) -> str:
    def dialogue(of: Turns) -> dict[str, Any]:
        states = [[[*slot.split("-", 1), value] for slot, value in t["gold"].items()] for t in of]
        states[0].append(["hotel", "name", "not mentioned"])
        answers = [*(t["system"] for t in of[1:]), "…"]
        return {"usr": [t["user"] for t in of], "sys": answers, "bstate": states, "bs": [], "db": []}

    return json.dumps(_dialogues(turns, dialogue))


def _metadata(state: dict[str, str], slots: list[str]) -> dict[str, Any]:
    spelled = {"leaveat": "leaveAt", "arriveby": "arriveBy"}
    metadata: dict[str, Any] = {"police": {"semi": {}, "book": {"booked": []}}}
    for name in slots:
        domain, _, slot = name.partition("-")
        part = metadata.setdefault(domain, {"semi": {}, "book": {"booked": [{"name": "…", "reference": "X1"}]}})
        absent = "" if domain == "taxi" else "not mentioned"
        kind = "book" if slot.startswith("book ") else "semi"
        part[kind][spelled.get(slot, slot.removeprefix("book "))] = state.get(name, absent)
    return metadata


def multiwoz(turns: Turns = TOLD) -> str:
    dialogues: dict[str, Any] = {}
    for t in turns:
        log = dialogues.setdefault(f"{t['dialogue_id']}.json", {"goal": {"hotel": {}}, "log": []})["log"]
        log.append({"text": t["user"], "metadata": {}, "dialog_act": {}})
        log.append({
            "text": _answer(turns, t), "metadata": _metadata(t["gold"], _slots(turns)), "dialog_act": {},
        })  # fmt: skip
    return json.dumps(dialogues, indent=1)


def _sgd(turns: Turns, side: str, *extra: str) -> str:
    services = sorted({slot.partition("-")[0] for t in turns for s in BOTH for slot in t[s]})

    def frames(state: dict[str, str]) -> list[dict[str, Any]]:
        slots = {d: {f"{d}-{s.replace(' ', '')}": v for s, v in f.items()} for d, f in _nested(state).items()}
        return [
            {"service": service, "slots": [], "state": {"active_intent": "find", "requested_slots": [], "slot_values": {
                name: [*value.split("|"), *extra] for name, value in slots.get(service, {}).items()
            }}}
            for service in services
        ]  # fmt: skip

    dialogues = []
    for name, of in _by_dialogue(turns).items():
        said: list[dict[str, Any]] = []
        for t in of:
            said.append({"speaker": "USER", "utterance": t["user"], "frames": frames(t[side])})
            answer = [{"service": "hotel", "actions": []}]
            said.append({"speaker": "SYSTEM", "utterance": _answer(turns, t), "frames": answer})
        dialogues.append({"dialogue_id": f"{name}.json", "services": services, "turns": said})
    return json.dumps(dialogues)


def sgd_gold(turns: Turns = TOLD) -> str:
    return _sgd(turns, "gold")


def sgd_pred(turns: Turns = TOLD) -> str:
    return _sgd(turns, "pred", "…")


def convlab_gold(turns: Turns = TOLD) -> str:
    dialogues = []
    for number, (name, of) in enumerate(_by_dialogue(turns).items()):
        said: list[dict[str, Any]] = []
        for t in of:
            at, state = 2 * t["turn"], _convlab_state(t["gold"], _slots(turns))
            said.append({"speaker": "user", "utterance": t["user"], "utt_idx": at, "state": state})
            said.append({"speaker": "system", "utterance": _answer(turns, t), "utt_idx": at + 1, "db_results": {}})
        head = {"dataset": "multiwoz21", "data_split": "test", "dialogue_id": f"multiwoz21-test-{number}"}
        dialogues.append({**head, "original_id": f"{name}.json", "turns": said})
    return json.dumps(dialogues)


def crosswoz(turns: Turns = TOLD) -> str:
    spelled = {"leaveat": "leaveAt"}
    dialogues: dict[str, Any] = {}
    for t in turns:
        dialogue = {"sys-usr": [1, 2], "goal": [], "messages": [], "type": "S"}
        messages: Any = dialogues.setdefault(f"{t['dialogue_id']}.json", dialogue)["messages"]
        nested = _nested(dict.fromkeys(_slots(turns), "") | t["gold"])
        state = {d: {spelled.get(s, s): v for s, v in slots.items()} for d, slots in nested.items()}
        searched: dict[str, Any] = {d: {**slots, "selectedResults": ["…"]} for d, slots in state.items()}
        messages.append({"content": t["user"], "role": "usr", "dialog_act": [], "user_state": []})
        messages.append({"content": _answer(turns, t), "role": "sys", "dialog_act": [], "sys_state_init": searched,
                         "sys_state": {"hotel": {"area": "elsewhere", "selectedResults": []}}})  # fmt: skip
    return json.dumps(dialogues)


def risawoz(turns: Turns = TOLD) -> str:
    def turn(t: dict[str, Any]) -> dict[str, Any]:
        state = {"inform slot-values": t["gold"], "turn_inform": {}, "turn request": ["phone"]}
        return {"turn_id": t["turn"], "turn_domain": ["hotel"], "user_utterance": t["user"],
                "system_utterance": _answer(turns, t), "belief_state": state}  # fmt: skip

    return json.dumps([
        {"dialogue_id": name, "goal": "", "domains": ["hotel"], "dialogue": of}
        for name, of in _dialogues(turns, lambda of: [*map(turn, of)]).items()
    ])  # fmt: skip


#: A dialogue of the restaurant datasets: right in turn 0, the area wrong in turn 1.
RESTAURANT_GOLD: list[dict[str, str]] = [{"pricerange": "cheap"}, {"pricerange": "cheap", "area": "west"}]
RESTAURANT_TOLD: Turns = [
    {"dialogue_id": "7001", "turn": number, "gold": state, "pred": {**state, **({"area": "east"} if number else {})},
     "user": USER[number], "system": SYSTEM * number}
    for number, state in enumerate(RESTAURANT_GOLD)
]  # fmt: skip


def _woz_turns(turns: Turns, spelled: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"turn_idx": t["turn"], "transcript": t["user"], "system_transcript": t["system"], "belief_state": [
            *({"slots": [[spelled.get(slot, slot), value]], "act": "inform"} for slot, value in t["gold"].items()),
            {"slots": [["slot", "phone"]], "act": "request"},
        ]}
        for t in turns
    ]  # fmt: skip


_SPACED: Final = {"pricerange": "price range"}


def woz(turns: Turns = RESTAURANT_TOLD) -> str:
    dialogues = _dialogues(turns, lambda of: _woz_turns(of, _SPACED), "{}")
    return json.dumps([{"dialogue_idx": int(name), "dialogue": of} for name, of in dialogues.items()])


def glad(turns: Turns = RESTAURANT_TOLD, *, as_published: bool = False) -> str:
    if as_published:
        return json.dumps({"dialogues": json.loads(woz(turns))})

    def turn(t: dict[str, Any]) -> dict[str, Any]:
        return {"turn_id": t["turn_idx"], "transcript": t["transcript"].split(), "num": {}, "turn_label": [],
                "belief_state": t["belief_state"], "system_acts": [], "system_transcript": t["system_transcript"]}  # fmt: skip  # noqa: E501

    dialogues = _dialogues(turns, lambda of: [*map(turn, _woz_turns(of, _SPACED))], "{}")
    return json.dumps({"dialogues": [{"dialogue_id": int(name), "turns": of} for name, of in dialogues.items()]})


def simulated(turns: Turns = RESTAURANT_TOLD) -> str:
    spelled = {"pricerange": "price_range"}

    def words(text: str) -> dict[str, Any]:
        return {"slots": [], "text": text, "tokens": text.split()}

    def turn(t: dict[str, Any]) -> dict[str, Any]:
        state = [{"slot": spelled.get(slot, slot), "value": value} for slot, value in t["gold"].items()]
        found = {"dialogue_state": state, "user_acts": [], "user_utterance": words(t["user"])}
        if t["turn"] == 0:
            return {**found, "user_intents": ["FIND_RESTAURANT"]}
        return {**found, "system_acts": [], "system_utterance": words(t["system"])}

    return json.dumps([
        {"dialogue_id": name, "turns": [turn(t) for t in of]} for name, of in _by_dialogue(turns).items()
    ], indent=2)  # fmt: skip


def woz_tsv(turns: Turns = RESTAURANT_TOLD) -> str:
    columns = ("area", "food", "pricerange")
    lines = [
        [t["dialogue_id"], str(t["turn"]), t["user"], t["system"], *(t["gold"].get(slot, "none") for slot in columns)]
        for t in turns
    ]
    return "".join("\t".join(line) + "\n" for line in lines)


def dstc2_gold(turns: Turns = RESTAURANT_TOLD, call: str = "7001") -> str:
    """The labels of one call."""
    labels = [
        {"turn-index": t["turn"], "transcription": t["user"], "goal-labels": t["gold"], "requested-slots": ["phone"]}
        for t in turns
    ]
    return json.dumps({"session-id": call, "caller-id": "c", "turns": labels}, indent=2)


def dstc2(turns: Turns = RESTAURANT_TOLD) -> str:
    """Goals of single slots where a turn has one, and joint goals where it has several."""

    def turn(state: dict[str, str]) -> dict[str, Any]:
        if len(state) < 2:
            sure: dict[str, Any] = {slot: {value: 0.9, "dear": 0.1} for slot, value in state.items()}
            unsure: dict[str, Any] = {"food": {"thai": 0.4}, "name": {}}
            return {"goal-labels": sure | unsure, "method-label": {}, "requested-slots": {"phone": 0.9}}
        worse = {"score": 0.2, "slots": {**state, "area": "west"}}
        return {"goal-labels": {}, "goal-labels-joint": [worse, {"score": 0.6, "slots": state}]}

    sessions = [
        {"session-id": name, "turns": [turn(t["pred"]) for t in of]} for name, of in _by_dialogue(turns).items()
    ]
    return json.dumps({"dataset": "dstc2_test", "wall-time": 0.1, "sessions": sessions})


#: Format name to a file's text; formats that hold only one side are scored against, or with, another's.
WITH_BOTH: dict[str, Callable[..., str]] = {
    "gtpr": gtpr, "trade": trade, "som": som, "t5dst": t5dst, "jsonl": jsonl, "jsonl (list)": json_list,
    "simpletod": simpletod, "parlai": parlai, "checkdst": checkdst, "pptod": pptod, "fnctod": fnctod,
    "star": star, "kage": kage, "convlab": convlab, "icdst": icdst, "trippy": trippy,
    "records": records, "records (flags)": records_with_flags, "records (wrapped)": records_wrapped, "csv": csv,
    "csv (slots)": csv_long,
}  # fmt: skip
ONLY_PRED: dict[str, Callable[..., str]] = {
    "mwzeval": mwzeval, "savn": savn, "dstc10": dstc10,
    "ldst": ldst, "sgd": sgd_pred, "state-lists": state_lists,
}  # fmt: skip
ONLY_GOLD: dict[str, Callable[..., str]] = {
    "star-tsv": star_tsv, "sumbt-tsv": sumbt_tsv, "trade-gold": trade_gold, "t5dst-gold": t5dst_gold,
    "icdst (gold)": icdst_gold, "simpletod-gold": simpletod_gold, "multiwoz": multiwoz, "sgd (gold)": sgd_gold,
    "convlab-gold": convlab_gold, "crosswoz": crosswoz, "risawoz": risawoz, "state-lists (gold)": state_lists_gold,
}  # fmt: skip
#: Without states: which slots are right.
MARKS: dict[str, Callable[..., str]] = {"fga-trippy": fga_trippy}
#: Of the restaurant datasets, which have a dialogue of their own.
RESTAURANT: dict[str, Callable[..., str]] = {
    "woz": woz, "woz-tsv": woz_tsv, "glad": glad, "simulated": simulated, "dstc2-gold": dstc2_gold, "dstc2": dstc2,
}  # fmt: skip
