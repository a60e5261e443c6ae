"""The example dialogue, written in every native format: what each repository's own code would write for it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from csv import DictWriter
from typing import Any

from dstbench.conventions.slots import DATASET_SLOTS
from tests.corpora import EXAMPLE

ID = "MUL7001"
STAR_SLOTS = sorted(DATASET_SLOTS["multiwoz-30"])
#: What is said in the two turns, and by the system between them.
USER = ["A cheap hotel in the west , please .", 'The "copper kettle", and a train to ely']
SYSTEM = "What about The Copper Kettle ?"
SAID = [{"user": USER[0], "system": ""}, {"user": USER[1], "system": SYSTEM}]
# SUMBT spells some slots in two words, and has those of bus and hospital.
SUMBT_SPELLING = {"pricerange": "price range", "arriveby": "arrive by", "leaveat": "leave at"}


def _nested(state: dict[str, str]) -> dict[str, dict[str, str]]:
    nested: dict[str, dict[str, str]] = {}
    for name, value in state.items():
        domain, _, slot = name.partition("-")
        nested.setdefault(domain, {})[slot] = value
    return nested


def _pairs(state: dict[str, str]) -> list[str]:
    return [f"{slot}-{value}" for slot, value in state.items()]


def gtpr() -> str:
    turns = {str(t["turn"]): {"gt": _nested(t["gold"]), "pr": _nested(t["pred"])} for t in EXAMPLE}
    return json.dumps({f"{ID}.json": turns})


def trade() -> str:
    turns = {
        str(t["turn"]): {"turn_belief": _pairs(t["gold"]), "pred_bs_ptr": _pairs(t["pred"])} for t in reversed(EXAMPLE)
    }
    return json.dumps({f"{ID}.json": turns}, indent=4)


def fga_trippy() -> str:
    """Marks of 30 slots; the train's time is wrong in turn 1."""
    turns = {str(t["turn"]): [int(t["gold"].get(s) == t["pred"].get(s)) for s in STAR_SLOTS] for t in EXAMPLE}
    return json.dumps({f"{ID}.json": turns})


def som() -> str:
    return json.dumps({f"{ID}.json_{t['turn']}": [_pairs(t["pred"]), _pairs(t["gold"])] for t in EXAMPLE})


def t5dst() -> str:
    turns = {str(t["turn"]): {"turn_belief": _pairs(t["gold"]), "pred_belief": _pairs(t["pred"])} for t in EXAMPLE}
    return json.dumps({f"{ID}.json": {"domain": "hotel", "turns": turns}})


def mwzeval() -> str:
    short = {"book people": "people", "book day": "day", "leaveat": "leave"}

    def state(t: dict[str, Any]) -> dict[str, dict[str, str]]:
        return {d: {short.get(s, s): v for s, v in slots.items()} for d, slots in _nested(t["pred"]).items()}

    return json.dumps({ID.lower(): [{"response": "…", "state": state(t), "active_domains": []} for t in EXAMPLE]})


def jsonl() -> str:
    return "".join(json.dumps({**t, **said}, ensure_ascii=False) + "\n" for t, said in zip(EXAMPLE, SAID, strict=True))


def json_list() -> str:
    return json.dumps(EXAMPLE)


def records() -> str:
    """As a rule-based tracker writes them."""
    names = {"turn_id": "turn", "predicted": "pred", "ground_truth": "gold"}
    turns = [{"dial_id": f"{ID}.json", **{key: t[name] for key, name in names.items()}} for t in EXAMPLE]
    return json.dumps([{**turn, **said} for turn, said in zip(turns, SAID, strict=True)], indent=1)


def records_with_flags() -> str:
    """Dialogue and turn in one key, nested states as text, and labels of single turns, in lines."""

    def line(t: dict[str, Any]) -> dict[str, Any]:
        sides = {"labels": t["gold"], "output_state": t["pred"]}
        return {"flag": f"{ID.lower()}-{t['turn']}", "predict_turn_label": {}} | {
            key: json.dumps(_nested(state)) for key, state in sides.items()
        }

    return "".join(json.dumps(line(t)) + "\n" for t in EXAMPLE)


def records_wrapped() -> str:
    """Dialogues of turns under another key, with values that are no strings."""

    def state(flat: dict[str, str]) -> dict[str, Any]:
        return {"taxi-leaveat": None, "hotel-type": []} | {
            slot: int(value) if value.isdecimal() else [value] for slot, value in flat.items()
        }

    turns = [{"gt": state(t["gold"]), "prediction": state(t["pred"])} for t in EXAMPLE]
    return json.dumps({"summary": {"jga": 0.5}, "details": [{"dialogue_idx": ID, "turn_details": turns}]})


def state_lists(side: str = "pred") -> str:
    return json.dumps({ID.lower(): [_nested(t[side]) for t in EXAMPLE]})


def state_lists_gold() -> str:
    return json.dumps({ID.lower(): {str(t["turn"]): t["gold"] for t in reversed(EXAMPLE)}})


def csv() -> str:
    return _csv([
        {"id": f"{ID.lower()}.json-{t['turn']}", "gold": _nested(t["gold"]), "pred": repr(t["pred"]), **said}
        for t, said in zip(EXAMPLE, SAID, strict=True)
    ])  # fmt: skip


def csv_long() -> str:
    """A line per slot, with semicolons, as spreadsheets write them in half of Europe."""
    return _csv([
        {"dialogue": ID, "turn": t["turn"], "slot": slot, "gold": t["gold"].get(slot), "pred": t["pred"].get(slot)}
        for t in EXAMPLE for slot in sorted(t["gold"] | t["pred"])
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


def simpletod() -> str:
    return json.dumps({f"{ID}.json": {
        "target_turn_belief": [_triples(t["gold"]) for t in EXAMPLE],
        "generated_turn_belief": [["hotel name not mentioned", " ", *_triples(t["pred"])] for t in EXAMPLE[:1]]
        + [_triples(t["pred"]) for t in EXAMPLE[1:]],
        "target_response": ["", ""],
    }})  # fmt: skip


def parlai() -> str:
    def line(t: dict[str, Any]) -> dict[str, Any]:
        gold, pred = (", ".join(_triples(t[side])) + "," for side in ("gold", "pred"))
        text = " ".join([f"<user> {USER[0]}", f"<system> {SYSTEM} <user> {USER[1]}"][: t["turn"] + 1])
        teacher = {"dial_id": f"{ID.lower()}.json", "turn_num": t["turn"], "eval_labels": [gold], "text": text}
        return {"dialog": [[teacher, {"id": "Bart", "text": f"<bs> {pred} </bs>"}]], "context": []}

    return "".join(json.dumps(line(t)) + "\n" for t in EXAMPLE)


def checkdst() -> str:
    lines = [
        {"dial_id": f"{ID.lower()}-{t['turn']}", "aug_type": "orig"}
        | {side: ", ".join(_triples(t[side])).replace("book ", "") for side in ("gold", "pred")}
        for t in EXAMPLE
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def _span_turn(t: dict[str, Any]) -> dict[str, str]:
    def span(state: dict[str, str]) -> str:
        words = []
        for domain, slots in _nested(state).items():
            short = {"leaveat": "leave"}
            pairs = (f"{short.get(slot, slot.removeprefix('book '))} {value}" for slot, value in slots.items())
            words += [f"[{domain}]", *pairs]
        return " ".join(words)

    return {"bspn": span(t["gold"]), "bspn_gen": span(t["pred"])}


def pptod() -> str:
    return json.dumps({ID.lower(): {str(t["turn"]): _span_turn(t) for t in EXAMPLE}})


def fnctod() -> str:
    return json.dumps({ID.lower(): [{"turn_num": t["turn"], **_span_turn(t)} for t in EXAMPLE]})


def star() -> str:
    def cells(t: dict[str, Any]) -> dict[str, Any]:
        none = dict.fromkeys(STAR_SLOTS, "none")
        gold, pred = none | t["gold"], none | t["pred"]
        return {"utter": "…", **{slot: {"pred": pred[slot], "gt": gold[slot]} for slot in STAR_SLOTS}}

    return json.dumps({f"{ID}.json_{t['turn']}": cells(t) for t in EXAMPLE})


def kage() -> str:
    def flat(state: dict[str, str]) -> dict[str, str]:
        whole = dict.fromkeys(STAR_SLOTS, "none") | state
        return {slot.replace("-", " ").replace("book ", ""): value for slot, value in whole.items()}

    return json.dumps(
        [
            {"example_id": f"{ID}-{t['turn']}", "bs_pred_dict": flat(t["pred"]), "bs_ref_dict": flat(t["gold"])}
            for t in reversed(EXAMPLE)
        ]
    )


def convlab() -> str:
    spelled = {"pricerange": "price range", "leaveat": "leave at"}

    def state(flat: dict[str, str], *, whole: bool) -> dict[str, dict[str, str]]:
        nested = _nested((dict.fromkeys(STAR_SLOTS, "") | flat) if whole else flat)
        return {d: {spelled.get(s, s): v for s, v in slots.items()} for d, slots in nested.items()}

    before = [{"speaker": "user", "utterance": USER[0]}, {"speaker": "system", "utterance": SYSTEM}]
    return json.dumps([
        {"speaker": "user", "utterance": USER[t["turn"]], "context": before[: 2 * t["turn"]],
         "dialogue_id": f"{ID}.json", "utt_idx": 2 * t["turn"],
         "state": state(t["gold"], whole=True), "predictions": {"state": state(t["pred"], whole=False)}}
        for t in EXAMPLE
    ])  # fmt: skip


def icdst_gold() -> str:
    return json.dumps([
        {"ID": f"{ID}.json", "turn_id": t["turn"], "slot_values": t["gold"],
         "dialog": {"sys": ["", SYSTEM][: t["turn"] + 1], "usr": USER[: t["turn"] + 1]}}
        for t in EXAMPLE
    ])  # fmt: skip


def icdst() -> str:
    log = [{**turn, "pred": t["pred"]} for turn, t in zip(json.loads(icdst_gold()), EXAMPLE, strict=True)]
    return json.dumps(log)


def trippy() -> str:
    """With the system's words marked and WordPiece's spaces, as its authors' code leaves them in predictions."""
    spelled = {"book people": "book_people", "book day": "book_day", "leaveat": "leaveAt"}
    meant = {"the copper kettle": "§§the copper kettle", "11:30": "11 : 30"}

    def turn(t: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"guid": ["test", f"{ID}.json", str(t["turn"])]}
        for name in STAR_SLOTS:
            domain, _, slot = name.partition("-")
            key = f"{domain}-{spelled.get(slot, slot)}"
            found |= {f"class_prediction_{key}": 0, f"input_ids_{key}": [101, 102, 0]}
            pred, gold = (t[side].get(name, "none") for side in ("pred", "gold"))
            found |= {f"slot_prediction_{key}": meant.get(pred, pred), f"slot_groundtruth_{key}": gold}
        return found

    return json.dumps([turn(t) for t in EXAMPLE], indent=2)


def star_partial() -> str:
    def wrong(t: dict[str, Any]) -> dict[str, Any]:
        pairs = ((slot, t["pred"].get(slot, "none"), t["gold"].get(slot, "none")) for slot in STAR_SLOTS)
        return {slot: {"pred": pred, "gt": gold} for slot, pred, gold in pairs if pred != gold}

    return json.dumps({f"{ID}.json_{t['turn']}": wrong(t) for t in EXAMPLE})


def savn() -> str:
    turns = {str(t["turn"]): [t["pred"].get(slot, "none") for slot in STAR_SLOTS] for t in EXAMPLE}
    return json.dumps({"slots": STAR_SLOTS, "predictions": {f"{ID}.json": turns}})


def convlab_raw() -> str:
    def text(state: dict[str, str]) -> str:
        domains = _nested(state).items()
        return ";".join(f"[{d}]({','.join(f'[{s}][{v}]' for s, v in slots.items())})" for d, slots in domains)

    lines = [{"context": "", "state_seq": text(t["gold"]), "predictions": text(t["pred"])} for t in EXAMPLE]
    return "".join(json.dumps(line) + "\n" for line in lines)


def dstc10(side: str = "pred") -> str:
    """Two items, which stand for a dialogue each; the labels are of the same form."""

    def item(state: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for domain, slots in _nested(state).items():
            for slot, value in slots.items():
                part = "book" if slot.startswith("book ") else "semi"
                found.setdefault(domain, {}).setdefault(part, {})[slot.removeprefix("book ")] = [value]
        return found

    return json.dumps([item(t[side]) for t in EXAMPLE])


def ldst() -> str:
    lines = []
    for t in EXAMPLE:
        for name in STAR_SLOTS:
            domain, _, slot = name.partition("-")
            where = f"dialogues_001.json|||0|||{2 * t['turn']}|||4|||{domain}|||{slot.replace(' ', '')}"
            lines.append(f"{where}|||{[t['pred'].get(name, 'NONE')]}\n")
    return "".join(lines)


def sdp_dst() -> tuple[str, str]:
    """The index, and the predicted values in its order."""
    index, values = [], []
    for t in EXAMPLE:
        for name in STAR_SLOTS:
            domain, _, slot = name.partition("-")
            index.append(f"dialogues_001.json|||0|||{2 * t['turn']}|||4|||{domain}|||{slot.replace(' ', '')}\n")
            values.append(t["pred"].get(name, "NONE"))
    return "".join(index), "\n".join(values)


def trade_gold() -> str:
    turns = [
        {"turn_idx": t["turn"], "transcript": said["user"], "system_transcript": said["system"], "belief_state": [
            *({"slots": [[slot, value]], "act": "inform"} for slot, value in t["gold"].items()),
            {"slots": [["slot", "phone"]], "act": "request"},
        ]}
        for t, said in zip(EXAMPLE, SAID, strict=True)
    ]  # fmt: skip
    return json.dumps([{"dialogue_idx": f"{ID}.json", "domains": ["hotel"], "dialogue": turns}])


def t5dst_gold() -> str:
    turns = [
        {"system": said["system"] or "none", "user": said["user"], "state": {"slot_values": t["gold"]}}
        for t, said in zip(EXAMPLE, SAID, strict=True)
    ]
    return json.dumps([{"dial_id": f"{ID}.json", "domains": ["hotel"], "turns": turns}])


def star_tsv() -> str:
    head = ["# Dialogue ID", "Turn Index", "Last Turn", "System Response", "User Utterance", *STAR_SLOTS, ""]
    lines = [head]
    for t in EXAMPLE:
        last = str(t["turn"] == 1)
        texts = [f"{ID}.json", str(t["turn"]), last, *reversed(SAID[t["turn"]].values())]
        lines.append([*texts, *(t["gold"].get(slot, "none") for slot in STAR_SLOTS)])
    return "".join("\t".join(line) + "\n" for line in lines)


def sumbt_tsv() -> str:
    slots = sorted(DATASET_SLOTS["multiwoz-35"])
    spelled = []
    for name in slots:
        domain, _, slot = name.partition("-")
        spelled.append("bus-leaveAt" if name == "bus-leaveat" else f"{domain}-{SUMBT_SPELLING.get(slot, slot)}")
    lines = [["# Dialogue ID", "Turn Index", "User Utterance", "System Response", *spelled, ""]]
    for t in EXAMPLE:
        texts = [f"{ID}.json", str(t["turn"]), *SAID[t["turn"]].values()]
        lines.append([*texts, *(t["gold"].get(slot, "none") for slot in slots)])
    return "".join("\t".join(line) + "\n" for line in lines)


def simpletod_gold() -> str:
    turns = [[[*slot.split("-", 1), value] for slot, value in t["gold"].items()] for t in EXAMPLE]
    turns[0].append(["hotel", "name", "not mentioned"])
    return json.dumps({f"{ID}.json": {"usr": USER, "sys": [SYSTEM, "…"], "bstate": turns, "bs": [], "db": []}})


def _metadata(state: dict[str, str]) -> dict[str, Any]:
    spelled = {"leaveat": "leaveAt", "arriveby": "arriveBy"}
    metadata: dict[str, Any] = {"police": {"semi": {}, "book": {"booked": []}}}
    for name in STAR_SLOTS:
        domain, _, slot = name.partition("-")
        part = metadata.setdefault(domain, {"semi": {}, "book": {"booked": [{"name": "…", "reference": "X1"}]}})
        absent = "" if domain == "taxi" else "not mentioned"
        kind = "book" if slot.startswith("book ") else "semi"
        part[kind][spelled.get(slot, slot.removeprefix("book "))] = state.get(name, absent)
    return metadata


def multiwoz() -> str:
    log: list[dict[str, Any]] = []
    for t, said in zip(EXAMPLE, USER, strict=True):
        log.append({"text": said, "metadata": {}, "dialog_act": {}})
        log.append({"text": SYSTEM, "metadata": _metadata(t["gold"]), "dialog_act": {}})
    return json.dumps({f"{ID}.json": {"goal": {"hotel": {}}, "log": log}}, indent=1)


def _sgd(side: str, pred: bool) -> str:
    def frames(state: dict[str, str]) -> list[dict[str, Any]]:
        slots = {d: {f"{d}-{s.replace(' ', '')}": v for s, v in f.items()} for d, f in _nested(state).items()}
        extra = ["…"] if pred else []
        return [
            {"service": service, "slots": [], "state": {"active_intent": "find", "requested_slots": [], "slot_values": {
                name: [value, *extra] for name, value in slots.get(service, {}).items()
            }}}
            for service in ("hotel", "train")
        ]  # fmt: skip

    turns: list[dict[str, Any]] = []
    for t, said in zip(EXAMPLE, USER, strict=True):
        turns.append({"speaker": "USER", "utterance": said, "frames": frames(t[side])})
        turns.append({"speaker": "SYSTEM", "utterance": SYSTEM, "frames": [{"service": "hotel", "actions": []}]})
    return json.dumps([{"dialogue_id": f"{ID}.json", "services": ["hotel", "train"], "turns": turns}])


def sgd_gold() -> str:
    return _sgd("gold", pred=False)


def sgd_pred() -> str:
    return _sgd("pred", pred=True)


def convlab_gold() -> str:
    turns: list[dict[str, Any]] = []
    for t, said, item in zip(EXAMPLE, USER, json.loads(convlab()), strict=True):
        turns.append({"speaker": "user", "utterance": said, "utt_idx": 2 * t["turn"], "state": item["state"]})
        turns.append({"speaker": "system", "utterance": SYSTEM, "utt_idx": 2 * t["turn"] + 1, "db_results": {}})
    head = {"dataset": "multiwoz21", "data_split": "test", "dialogue_id": "multiwoz21-test-0"}
    return json.dumps([{**head, "original_id": f"{ID}.json", "turns": turns}])


def crosswoz() -> str:
    spelled = {"leaveat": "leaveAt"}
    messages: list[dict[str, Any]] = []
    for t, said in zip(EXAMPLE, USER, strict=True):
        nested = _nested(dict.fromkeys(STAR_SLOTS, "") | t["gold"])
        state = {d: {spelled.get(s, s): v for s, v in slots.items()} for d, slots in nested.items()}
        searched: dict[str, Any] = {d: {**slots, "selectedResults": ["…"]} for d, slots in state.items()}
        messages.append({"content": said, "role": "usr", "dialog_act": [], "user_state": []})
        messages.append({"content": SYSTEM, "role": "sys", "dialog_act": [], "sys_state_init": searched,
                         "sys_state": {"hotel": {"area": "elsewhere", "selectedResults": []}}})  # fmt: skip
    return json.dumps({f"{ID}.json": {"sys-usr": [1, 2], "goal": [], "messages": messages, "type": "S"}})


def risawoz() -> str:
    turns = [
        {"turn_id": t["turn"], "turn_domain": ["hotel"], "user_utterance": said, "system_utterance": SYSTEM,
         "belief_state": {"inform slot-values": t["gold"], "turn_inform": {}, "turn request": ["phone"]}}
        for t, said in zip(EXAMPLE, USER, strict=True)
    ]  # fmt: skip
    return json.dumps([{"dialogue_id": f"{ID}.json", "goal": "", "domains": ["hotel"], "dialogue": turns}])


#: A dialogue of the restaurant datasets: right in turn 0, the area wrong in turn 1.
RESTAURANT_GOLD: list[dict[str, str]] = [{"pricerange": "cheap"}, {"pricerange": "cheap", "area": "west"}]


def woz() -> str:
    spelled = {"pricerange": "price range"}
    turns = [
        {"turn_idx": number, "transcript": said, "system_transcript": SYSTEM * bool(number), "belief_state": [
            *({"slots": [[spelled.get(slot, slot), value]], "act": "inform"} for slot, value in state.items()),
            {"slots": [["slot", "phone"]], "act": "request"},
        ]}
        for number, (state, said) in enumerate(zip(RESTAURANT_GOLD, USER, strict=True))
    ]  # fmt: skip
    return json.dumps([{"dialogue_idx": 7001, "dialogue": turns}])


def glad(*, as_published: bool = False) -> str:
    if as_published:
        return json.dumps({"dialogues": json.loads(woz())})
    turns = [
        {"turn_id": turn["turn_idx"], "transcript": turn["transcript"].split(), "num": {}, "turn_label": [],
         "belief_state": turn["belief_state"], "system_acts": [], "system_transcript": turn["system_transcript"]}
        for turn in json.loads(woz())[0]["dialogue"]
    ]  # fmt: skip
    return json.dumps({"dialogues": [{"dialogue_id": 7001, "turns": turns}]})


def simulated() -> str:
    spelled = {"pricerange": "price_range"}
    turns: list[dict[str, Any]] = [
        {"dialogue_state": [{"slot": spelled.get(slot, slot), "value": value} for slot, value in state.items()],
         "user_acts": [], "user_utterance": {"slots": [], "text": said, "tokens": said.split()}}
        for state, said in zip(RESTAURANT_GOLD, USER, strict=True)
    ]  # fmt: skip
    turns[0]["user_intents"] = ["FIND_RESTAURANT"]
    turns[1] |= {"system_acts": [], "system_utterance": {"slots": [], "text": SYSTEM, "tokens": SYSTEM.split()}}
    return json.dumps([{"dialogue_id": "7001", "turns": turns}], indent=2)


def woz_tsv() -> str:
    columns = ("area", "food", "pricerange")
    lines = [
        ["7001", str(number), said, SYSTEM * bool(number), *(state.get(slot, "none") for slot in columns)]
        for number, (state, said) in enumerate(zip(RESTAURANT_GOLD, USER, strict=True))
    ]
    return "".join("\t".join(line) + "\n" for line in lines)


def dstc2_gold(call: str = "7001") -> str:
    turns = [
        {"turn-index": number, "transcription": said, "goal-labels": state, "requested-slots": ["phone"]}
        for number, (state, said) in enumerate(zip(RESTAURANT_GOLD, USER, strict=True))
    ]
    return json.dumps({"session-id": call, "caller-id": "c", "turns": turns}, indent=2)


def dstc2() -> str:
    sure = {"pricerange": {"cheap": 0.9, "dear": 0.1}, "food": {"thai": 0.4}, "name": {}}
    turns = [
        {"goal-labels": sure, "method-label": {}, "requested-slots": {"phone": 0.9}},
        {"goal-labels": {}, "goal-labels-joint": [
            {"score": 0.2, "slots": {"pricerange": "cheap", "area": "west"}},
            {"score": 0.6, "slots": {"pricerange": "cheap", "area": "east"}},
        ]},
    ]  # fmt: skip
    return json.dumps({"dataset": "dstc2_test", "wall-time": 0.1, "sessions": [{"session-id": "7001", "turns": turns}]})


#: Format name to a file's text; formats that hold only one side are scored against, or with, another's.
WITH_BOTH: dict[str, Callable[[], str]] = {
    "gtpr": gtpr, "trade": trade, "som": som, "t5dst": t5dst, "jsonl": jsonl, "jsonl (list)": json_list,
    "simpletod": simpletod, "parlai": parlai, "checkdst": checkdst, "pptod": pptod, "fnctod": fnctod,
    "star": star, "kage": kage, "convlab": convlab, "icdst": icdst, "trippy": trippy,
    "records": records, "records (flags)": records_with_flags, "records (wrapped)": records_wrapped, "csv": csv,
    "csv (slots)": csv_long,
}  # fmt: skip
ONLY_PRED: dict[str, Callable[[], str]] = {
    "mwzeval": mwzeval, "savn": savn, "star-partial": star_partial, "convlab-raw": convlab_raw, "dstc10": dstc10,
    "ldst": ldst, "sgd": sgd_pred, "state-lists": state_lists,
}  # fmt: skip
ONLY_GOLD: dict[str, Callable[[], str]] = {
    "star-tsv": star_tsv, "sumbt-tsv": sumbt_tsv, "trade-gold": trade_gold, "t5dst-gold": t5dst_gold,
    "icdst (gold)": icdst_gold, "simpletod-gold": simpletod_gold, "multiwoz": multiwoz, "sgd (gold)": sgd_gold,
    "convlab-gold": convlab_gold, "crosswoz": crosswoz, "risawoz": risawoz, "state-lists (gold)": state_lists_gold,
}  # fmt: skip
#: In two files, of which the second is called `generated_predictions.txt`.
TWO_FILES: dict[str, Callable[[], tuple[str, str]]] = {"sdp-dst": sdp_dst}
#: Without states: which slots are right.
MARKS: dict[str, Callable[[], str]] = {"fga-trippy": fga_trippy}
#: Of the restaurant datasets, which have a dialogue of their own.
RESTAURANT: dict[str, Callable[[], str]] = {
    "woz": woz, "woz-tsv": woz_tsv, "glad": glad, "simulated": simulated, "dstc2-gold": dstc2_gold, "dstc2": dstc2,
}  # fmt: skip
