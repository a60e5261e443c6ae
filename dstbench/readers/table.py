"""The table of formats: a row each (see `rows`); `beside_rows` has what a row cannot say.

Conventions of all: states are cumulative, user turns are numbered from 0, values are kept as written. What differs is
said at the row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Final

from dstbench.conventions.slots import canonical_slot
from dstbench.errors import number_of
from dstbench.io import archives
from dstbench.readers.folder import SPLITS
from dstbench.readers.format import Source, StatesBuilder
from dstbench.readers.key_names import DIALOGUE, PREDICTIONS, TURN, named
from dstbench.readers.rows import Document, Row
from dstbench.readers.states import in_order, noting_gaps
from dstbench.readers.walk import Turn

# Share of right turns from which a run is suspected, and the number of turns below which none is.
_TOO_GOOD, _ENOUGH = 0.99, 100
# Names of a dialogue, a turn or predictions, by which an object is a record by itself.
_OF_RECORDS: Final = DIALOGUE + TURN + PREDICTIONS


def are_marks(turn: Turn) -> bool:
    """Whether a turn is a list of marks."""
    marks = turn.content if isinstance(turn.content, list) and str(turn.number).isdecimal() else []
    return bool(marks) and {*map(repr, marks)} <= {"0", "1"}


def after_marks(source: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Refuse turns with other numbers of marks; the metrics that can be computed."""
    width = len(turns[0].content) if turns else 0
    for turn in turns:
        if len(turn.content) != width or not {*turn.content} <= {0, 1}:
            what = f"not {width} marks of 0 and 1, as in the first turn"
            raise source.misshapen(what, dialogue=turn.dialogue, turn=turn.number)
    states.only = ("jga", f"sa:T={width}", "fga")
    states.note(
        f"it says which of {width} slots are right, but has no values: only jga, sa:T={width} and fga can be computed"
    )


def is_som(turn: Turn) -> bool:
    """Whether a turn is a pair of lists of strings."""
    # The turn is 0, as SGD's dialogue 1_00000 may have a list of two states, too.
    if turn.number != "0" or not isinstance(turn.content, list) or len(turn.content) != 2:
        return False
    return all(isinstance(side, list) and all(isinstance(pair, str) for pair in side) for side in turn.content)


def note_leaked_gold(_: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Note that nearly every turn is right, as in the file that ``--eval_all`` leaves: that run was given gold."""
    wrong = sum({*turn.content[0]} != {*turn.content[1]} for turn in turns)
    if len(turns) >= _ENOUGH and wrong <= len(turns) - math.ceil(_TOO_GOOD * len(turns)):
        states.note(
            f"{len(turns) - wrong:,} of {len(turns):,} turns are right: was this run given the gold states? "
            "(the file that --eval_all leaves on disk was)"
        )


def is_star(turn: Turn) -> bool:
    """Whether a slot of a turn has its two values and nothing else."""
    state = turn.content if isinstance(turn.content, dict) else {}
    cells = (cell for slot, cell in state.items() if not slot.isdecimal())  # numbers are turns
    return any(isinstance(c, dict) and c.keys() == {"pred", "gt"} and isinstance(c["gt"], str) for c in cells)


def refuse_wrong_slots_only(source: Source, _: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Refuse the file that is written during training, which has wrong slots only."""
    states = [{slot: cell for slot, cell in turn.content.items() if isinstance(cell, dict)} for turn in turns]
    are_wrong = all(cell["pred"] != cell["gt"] for state in states for cell in state.values())
    for turn, state in zip(turns, states, strict=True):
        if not state or state.keys() != states[0].keys() or are_wrong:
            what = "not every slot is in every turn: these are wrong slots only, written during training"
            hint = "give the file that the evaluation writes (pred-evaluation/preds_full_N.json)"
            raise source.error(what, hint, dialogue=turn.dialogue, turn=turn.number)


def is_gtpr(turn: Turn) -> bool:
    """Whether a turn holds ``gt`` or ``pr``, and no other name of a prediction, as slots of STAR's files do."""
    keys = set(turn.content) if isinstance(turn.content, dict) else set()
    return bool(keys & {"gt", "pr"}) and not named(keys - {"gt", "pr"}, _OF_RECORDS)


def note_oracle(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """Note that the model was given gold states, if the file's name says so."""
    if "oracleBelief" in source.path.name:
        states.note("its name says oracleBelief: the model was given the gold states")


def last_in_world_log(text: str) -> tuple[str | None, str | None]:
    """What system and user said last in ``<user> a <system> b <user> c``; None: it does not say."""
    words = [word.strip() for word in re.split(r"<(user|system)>", text)[1:]]
    user = words[-1] if words[-2:-1] == ["user"] else None
    system = words[-3] if user is not None and words[-4:-3] == ["system"] else None
    return system, user


def note_unreached(_: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Note turns that the run has not reached."""
    if unreached := sum(not turn.content["bspn_gen"] and "bspn_dict_gen" not in turn.content for turn in turns):
        states.note(
            f"{number_of(unreached, 'turn')} without a generated state and bspn_dict_gen, scored as empty: "
            "has the run finished?"
        )


def is_icdst(turn: Turn) -> bool:
    """Whether a turn has no other prediction; turns whose states are lists or texts are `records`."""
    is_alone = "pred" in turn.content or not named(turn.content, PREDICTIONS)
    return is_alone and not any(isinstance(turn.content.get(key), (list, str)) for key in ("slot_values", "pred"))


def doubt_gold(_: Source, states: StatesBuilder, __: Sequence[Turn]) -> None:
    """Note that gold may be altered, in a file of predictions."""
    if states.pred.present:
        states.note(
            "its gold may have been altered in favour of the predictions where it had alternatives (a|b); "
            "--gold FILE replaces it, and shows which turns an interrupted run has not reached"
        )


def is_mwzeval(turn: Turn) -> bool:
    """Whether a turn has ``response`` or ``state``, and no other keys of gold or predictions, nor a flat state."""
    keys, state = turn.content.keys(), turn.content.get("state")
    is_flat = isinstance(state, dict) and any(isinstance(value, str) for value in state.values())
    return bool(keys & {"response", "state"}) and not named(keys - {"response"}, _OF_RECORDS) and not is_flat


def refuse_responses(source: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Refuse predictions of a system without a state tracker."""
    for turn in turns:
        if not turn.content.keys() & {"state", "response"}:
            what = "a turn with neither `state` nor `response`"
            raise source.misshapen(what, dialogue=turn.dialogue, turn=turn.number)
    if not states.pred.present and turns:
        hint = "systems without a state tracker cannot be scored"
        raise source.error("no turn has a state: the file holds responses only", hint)


class ActsDocument(Document):
    """TRADE's and WOZ 2.0's: a ``turn_label``, which repeats changes of the state, follows them."""

    def edit(self, turn: Turn, changes: Mapping[str, str | None]) -> None:
        had = {slot for slot, _, _ in self.cells(turn)}
        super().edit(turn, changes)
        label = turn.content.get("turn_label")
        if not isinstance(label, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in label):
            return
        turns = turn.around["dialogue"]
        before = next((turn._replace(content=one) for one, other in pairwise(turns) if other is turn.content), None)
        old = {slot: place[0][1] for slot, place, _ in self.cells(before)} if before is not None else {}
        domain = self.domains.get(turn.dialogue, "")
        label = [[name, changes.get(canonical_slot(f"{domain}{name}"), value)] for name, value in label]
        added = [(slot, place[0]) for slot, place, _ in self.cells(turn) if slot in changes.keys() - had]
        label += [[*pair] for slot, pair in added if old.get(slot) != pair[1]]
        turn.content["turn_label"] = [pair for pair in label if pair[1] is not None]


def after_multiwoz(source: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Note turns without metadata; the split of every dialogue, if both lists are beside the file, else none."""
    if bare := sum(not turn.content["metadata"] for turn in turns):
        states.note(f"{number_of(bare, 'system turn')} without metadata: the state is read as empty")
    split_by_name: dict[str, str] = {}
    for split, name in (("dev", "val"), ("test", "test")):
        file = source.sibling(f"{name}ListFile.json", f"{name}ListFile.txt")
        if file is None:
            return
        lines = file.read().decode(errors="replace").splitlines()
        split_by_name |= {line.strip().removesuffix(".json"): split for line in lines}
    states.splits = {name: split_by_name.get(name.removesuffix(".json"), "train") for name in source.json}


def after_sgd(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """The places of dialogues; and that states may be gold or predictions."""
    states.either = states.has_frames = True
    file = archives.unpacked_name(source.path.name)
    dialogues = source.json.values() if isinstance(source.json, dict) else source.json
    states.places = [(dialogue["dialogue_id"], file, at) for at, dialogue in enumerate(dialogues)]


def named_in_convlab(document: Any) -> Callable[[Any], str]:
    """By the original ids, if all dialogues have one and no two the same; predictions may use either id."""
    dialogues = [dialogue for dialogue in document if isinstance(dialogue, dict)] if isinstance(document, list) else []
    originals = [dialogue.get("original_id") for dialogue in dialogues]
    have_names = all(isinstance(name, (str, int)) for name in originals)
    by_original = have_names and len(set(map(str, originals))) == len(originals)
    return lambda dialogue: str(dialogue["original_id" if by_original else "dialogue_id"])


def after_convlab(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """Other names of dialogues, and their splits."""
    name_of = named_in_convlab(source.json)
    for dialogue in source.json:
        name, names = name_of(dialogue), (dialogue["dialogue_id"], dialogue.get("original_id"))
        if isinstance(names[1], (str, int)):
            states.aliases.append((name, str(names[0] if name == str(names[1]) else names[1])))
        if isinstance(split := dialogue.get("data_split"), str):
            states.splits[name] = SPLITS.get(split, split)


#: Slots and intents that only one of the simulated datasets has.
_ONLY_IN: Final = {
    "movie": {"movie", "theatre_name", "num_tickets", "BUY_MOVIE_TICKETS"},
    "restaurant": {
        "restaurant_name", "category", "location", "meal", "num_people", "price_range", "rating", "FIND_RESTAURANT",
        "RESERVE_RESTAURANT",
    },
}  # fmt: skip


def simulated_domain(dialogue: Any) -> str:
    """The domain of a dialogue, by its slots that only one dataset has, or else by what the user intends."""
    with suppress(KeyError, TypeError, AttributeError):  # reading says what is wrong
        slots = [entry["slot"] for turn in dialogue["turns"] for entry in turn["dialogue_state"]]
        intents = [intent for turn in dialogue["turns"] for intent in turn.get("user_intents") or ()]
        return next((domain for name in slots + intents for domain, names in _ONLY_IN.items() if name in names), "")
    return ""


def decoded_dump(source: Source) -> dict[str, dict[str, dict[str, Any]]]:
    """The states by dialogue and turn."""
    document = source.convert(source.json, dict[str, Any])
    if missing := [key for key in ("slots", "predictions") if key not in document]:
        raise source.misshapen(f"no {missing[0]} here")
    slots = source.convert(document["slots"], list[str])
    if len(set(slots)) < len(slots):
        raise source.misshapen("a slot is listed twice in slots")
    predictions = source.convert(document["predictions"], dict[str, dict[str, list[Any]]], "dialogue", "turn")
    states: dict[str, dict[str, dict[str, Any]]] = {dialogue: {} for dialogue in predictions}
    for dialogue, turns in predictions.items():
        for turn, values in turns.items():
            if len(values) != len(slots):
                what = f"{number_of(len(values), 'value')} for {number_of(len(slots), 'slot')}"
                raise source.misshapen(what, dialogue=dialogue, turn=turn)
            states[dialogue][turn] = dict(zip(slots, values, strict=True))
    return states


_ABSENT_IN_MULTIWOZ: Final = ("", "not mentioned", "未提及", "未提到", "没有提到")

ROWS: Final[dict[str, Row]] = {
    row.name: row
    for row in (
        # a value per slot and turn; every slot is always there
        Row(
            name="savn", title="dump of SAVN (see `dstbench help own-data`); needs --gold",
            example='{"slots": ["hotel-area", "hotel-name"], "predictions": {"MUL9901": {"0": ["north", "none"]}}}',
            path="{dialogue} {turn}", pred=":flat", omits=("none",), decode=decoded_dump,
            options={
                "sniff": lambda file: file.kind == "json" and file.first_line("slots", "predictions") is not None
            },
        ),
        # Its states are only the wrong slots, whose values change with every change of these, as the authors' script
        # counts each as a new error. This gives JGA, FGA and the slot accuracy over all slots of the file.
        Row(
            name="fga-trippy",
            title="FGA's result file of TripPy: which slots are right, no states; JGA, SA and FGA only",
            example='{"MUL9901.json": {"0": [1, 1, 1], "1": [1, 0, 1]}}',
            path="{dialogue} {turn}", gold=":marks", pred=":marks of wrong", marks=(), matches=are_marks,
            after=after_marks,
        ),
        # every slot is always there; turns are skipped, and the others numbered consecutively
        Row(
            name="star", title="STAR, ASSIST (preds_full_<n>.json)",
            example='{"MUL9901.json_0": {"hotel-area": {"pred": "north", "gt": "north"}, "hotel-name": {"pred": '
                    '"none", "gt": "none"}}}',
            path="{dialogue_turn}", gold=":gt", pred=":pred", marks=(), matches=is_star, omits=("none",),
            after=refuse_wrong_slots_only,
        ),
        Row(
            name="gtpr", title="FGA and GCA result files",
            example='{"MUL9901.json": {"0": {"gt": {"hotel": {"area": "north"}}, "pr": {"hotel": {"area": "north"}}}}}',
            path="{dialogue} {turn}", gold="gt:written", pred="pr:written", marks=(), matches=is_gtpr,
        ),
        Row(
            name="trade", title="TRADE (all_prediction_TRADE.json) and descendants",
            example='{"MUL9901.json": {"0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": '
                    '["hotel-area-north"]}}}',
            path="{dialogue} {turn}", gold="turn_belief:pairs", pred="pred_bs_*:pairs",
        ),
        Row(
            name="t5dst", title="T5DST, TransferQA (<prefix>_prediction.json)",
            example='{"MUL9901.json": {"domain": "hotel", "turns": {"0": {"turn_belief": ["hotel-area-north"], '
                    '"pred_belief": ["hotel-area-north"]}}}}',
            path="{dialogue} turns {turn}", gold="turn_belief:pairs", pred="pred_belief:pairs",
        ),
        # turns outside five domains are skipped
        Row(
            name="som", title="SOM-DST, Transformer-DST (preds_<epoch>.json)",
            example='{"MUL9901.json_0": [["hotel-area-north"], ["hotel-area-north"]]}',
            path="{dialogue_turn}", gold="1:pairs", pred="0:pairs", marks=(), matches=is_som,
            after=note_leaked_gold,
        ),
        Row(
            name="simpletod", title="SimpleTOD (<exp>_test_context[history=full_history]_nocarry.json)",
            example='{"MUL9901.json": {"target_turn_belief": [["hotel area north"]], "generated_turn_belief": '
                    '[["hotel area north", "hotel name not mentioned"]]}}',
            path="{dialogue} (target_turn_belief,generated_turn_belief)[turn]",
            gold="target_turn_belief:triples", pred="generated_turn_belief:triples", marks=(),
            omits=("not mentioned",),
            after=note_oracle,
        ),
        # likewise, a value that contains a comma is split there
        Row(
            name="parlai", title="ParlAI world logs of DST-BART (Qian et al. 2021)",
            example='{"dialog": [[{"dial_id": "mul9901.json", "turn_num": 0, "eval_labels": ["hotel area north,"]}, '
                    '{"text": "hotel area north,"}]]}',
            path="dialog [dialogue=0.dial_id,turn=0.turn_num]", lines=True, gold=":labels", pred="1.text:commas",
            omits=("not mentioned",), said=("", "0.text"), divide=last_in_world_log,
            options={
                "sniff": lambda source: isinstance((source.first_line("dialog") or {}).get("dialog"), list),
                "finish": noting_gaps(
                    ": is it the sample of 3,000 validation turns that ParlAI evaluates unless told otherwise?"
                ),
            },
        ),
        # a value that contains a comma is split there, as in the authors' code
        Row(
            name="checkdst", title="CheckDST predictions",
            example='{"dial_id": "mul9901-0", "gold": "hotel area north,", "pred": "hotel area north,"}',
            path="<dialogue-turn=dial_id>", lines=True, gold="gold:commas", pred="pred:commas",
            marks=("dial_id", "gold", "pred"),
            matches=lambda turn: all(str(turn.content[side])[:1] not in "[{" for side in ("gold", "pred")),
            omits=("not mentioned",),
        ),
        # a value with the name of a slot is split there, as in the authors' code, which also loses the last turn
        Row(
            name="pptod", title="PPTOD (test_joint_accuracy_<x>.json)",
            example='{"mul9901": {"0": {"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}}}',
            path="{dialogue} {turn}", gold="bspn:span", pred="bspn_gen:span", omits=("not mentioned",),
        ),
        Row(
            name="fnctod", title="FnCTOD (test…-<model>.json)",
            example='{"mul9901": [{"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}]}',
            path="{dialogue} [turn]", gold="bspn:span", pred="bspn_gen:span", omits=("not mentioned", "not present"),
            after=note_unreached,
        ),
        # every slot is always there
        Row(
            name="kage", title="KAGE-GPT2 (test_results.json)",
            example='[{"example_id": "MUL9901-0", "bs_pred_dict": {"hotel area": "north"}, "bs_ref_dict": {"hotel '
                    'area": "north"}}]',
            path="[dialogue-turn=example_id]", gold="bs_ref_dict:flat", pred="bs_pred_dict:flat", omits=("none",),
            options={"finish": noting_gaps(
                "; KAGE leaves out those that it cannot parse and counts them as wrong, "
                "as --gold FILE --missing wrong does"
            )},
        ),
        Row(
            name="convlab", title="ConvLab-3 (predictions.json)",
            example='[{"dialogue_id": "MUL9901.json", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": '
                    '""}}, "predictions": {"state": {"hotel": {"area": "north"}}}}]',
            path="[dialogue=dialogue_id:any,turn=utt_idx/2]", gold="state:nested", pred="predictions.state:nested",
            marks=("predictions", "state", "utt_idx"), omits=("",), said=("context.-1.utterance", "utterance"),
            document=None,
        ),
        # models write the values, so they are read loosely; gold files have no `pred`
        Row(
            name="icdst", title="IC-DST, RefPyDST (running_log.json; gold mw2x_100p_test.json)",
            example='[{"ID": "MUL9901.json", "turn_id": 0, "slot_values": {"hotel-area": "north"}, "pred": {}}]',
            path="[dialogue=ID,turn=turn_id]", gold="slot_values:written", pred="pred?:written or null",
            marks=("ID", "turn_id", "slot_values"), matches=is_icdst,
            said=("dialog.sys.-1", "dialog.usr.-1"), after=doubt_gold,
        ),
        # a turn without `state` has no prediction, which is not the same as an empty state
        Row(
            name="mwzeval", title="MultiWOZ_Evaluation (mwzeval) predictions; need --gold",
            example='{"mul9901": [{"response": "…", "state": {"hotel": {"area": "north"}}}]}',
            path="{dialogue} [turn]", pred="state?:written nested or null", marks=(), matches=is_mwzeval,
            after=refuse_responses,
        ),
        # items do not name turns; they are matched with gold's turns in order
        Row(
            name="dstc10", title="DSTC10 track 2, predictions and labels.json; need --gold, in its order",
            example='[{"hotel": {"semi": {"area": ["north"]}, "book": {"people": ["3"]}}}]',
            path="[dialogue]", pred=":semi/book lists", marks=(),
            matches=lambda turn: any(
                part and part.keys() <= {"semi", "book"} for part in turn.content.values() if isinstance(part, dict)
            ), omits=("",),
            options={"finish": lambda states: replace(
                states, gold=states.pred, pred=None, complete=partial(in_order, states)
            )},
        ),
        Row(
            name="trade-gold", title="TRADE's preprocessed MultiWOZ (<split>_dials.json), gold",
            example='[{"dialogue_idx": "MUL9901.json", "dialogue": [{"turn_idx": 0, "belief_state": [{"slots": '
                    '[["hotel-area", "north"]], "act": "inform"}]}]}]',
            path="[dialogue=dialogue_idx] dialogue [turn=turn_idx]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), document=ActsDocument,
        ),
        Row(
            name="t5dst-gold", title="T5DST's preprocessed MultiWOZ (<split>_dials.json), gold",
            example='[{"dial_id": "MUL9901.json", "turns": [{"state": {"slot_values": {"hotel-area": "north"}}}]}]',
            path="[dialogue=dial_id] turns [turn]", gold="state.slot_values:flat",
            marks=(), said=("system", "user"), is_silent_first=True,
        ),
        Row(
            name="simpletod-gold", title="SimpleTOD's preprocessed MultiWOZ (<split>_dials_lexicalized.json), gold",
            example='{"MUL9901.json": {"usr": ["…"], "sys": ["…"], "bstate": [[["hotel", "area", "north"]]]}}',
            path="{dialogue} (bstate)[turn]", gold="bstate:lists", omits=("not mentioned",), absent="not mentioned",
            said=("sys", "usr"),
        ),
        # the state after user turn t is the metadata of the system turn that follows it; every slot is always there
        Row(
            name="multiwoz",
            title="MultiWOZ 2.0, 2.1, 2.3, 2.4 (data.json, or <split>_dials.json of raw dialogues), gold",
            example='{"MUL9901.json": {"log": [{"metadata": {}}, {"metadata": {"hotel": {"semi": {"area": "north", '
                    '"name": "not mentioned"}, "book": {"booked": [], "day": "friday"}}}}]}}',
            path="{dialogue} log [>]", gold="metadata:semi/book", omits=_ABSENT_IN_MULTIWOZ, absent="not mentioned",
            said=("text",), after=after_multiwoz,
            unanswered="{:,} dialogue{s} ending with a user turn, which has no state; left out",
        ),
        # alternatives of gold are joined; of a prediction's, only the first is read, as in the official evaluation
        Row(
            name="sgd", title="SGD, MultiWOZ 2.2: the dataset, or predictions in its layout (as --gold: gold)",
            example='[{"dialogue_id": "1_00000", "turns": [{"speaker": "USER", "frames": [{"service": "Hotels_1", '
                    '"state": {"slot_values": {"destination": ["Palo Alto"]}}}]}]}]',
            path="[{dialogue=dialogue_id}] turns [speaker:USER/User/user|SYSTEM/System/system]",
            gold="frames:frames", pred="frames:first of frames",
            marks=("frames",), said=("utterance",), after=after_sgd,
            options={"sharded": True},
        ),
        Row(
            name="convlab-gold", title="ConvLab-3's unified datasets (data.json, dialogues.json), gold",
            example='[{"dialogue_id": "multiwoz21-test-0", "original_id": "MUL9901.json", "data_split": "test", '
                    '"turns": [{"speaker": "user", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}}]}]',
            path="[dialogue=dialogue_id] turns [speaker:user|system]", gold="state:nested", marks=("utt_idx",),
            omits=("",), absent="", said=("utterance",), naming=named_in_convlab,
            after=after_convlab,
        ),
        Row(
            name="woz", title="WOZ 2.0 (woz_<split>_en.json), gold",
            example='[{"dialogue_idx": 9901, "dialogue": [{"turn_idx": 0, "belief_state": [{"slots": [["price range", '
                    '"cheap"]], "act": "inform"}]}]}]',
            path="[dialogue=dialogue_idx:int] dialogue [turn=turn_idx]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), domain="restaurant", document=ActsDocument,
        ),
        Row(
            name="glad", title='GLAD\'s copy of WOZ 2.0 ({"dialogues": …}), gold',
            example='{"dialogues": [{"dialogue_id": 9901, "turns": [{"turn_id": 0, "transcript": [], "belief_state": '
                    '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]}',
            path="dialogues [dialogue=dialogue_id:int] turns [turn=turn_id]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), domain="restaurant", document=None,
        ),
        Row(
            name="simulated", title="sim-M and sim-R (train.json, dev.json, test.json), gold",
            example='[{"dialogue_id": "movies_00009901", "turns": [{"user_utterance": {"text": ""}, "dialogue_state": '
                    '[{"slot": "movie", "value": "the pine cone"}]}]}]',
            path="[dialogue=dialogue_id] turns [turn]", gold="dialogue_state:objects",
            said=("system_utterance.text", "user_utterance.text"), domain=simulated_domain,
        ),
        # the constraints as the user gave them; `sys_state`, beside them, is what the system then searched for
        Row(
            name="crosswoz", title="CrossWOZ (train.json, val.json, test.json), gold",
            example='{"9901": {"messages": [{"role": "usr", "content": ""}, {"role": "sys", "content": "", '
                    '"sys_state_init": {"酒店": {"名称": "", "评分": "4.5分以上", "selectedResults": []}}}]}}',
            path="{dialogue} messages [role:usr|sys>]", gold="sys_state_init:nested lists", omits=("",), absent="",
            said=("content",),
            unanswered="{:,} user message{s} without an answer of the system, which has the state; left out",
        ),
        Row(
            name="risawoz", title="RiSAWOZ, gold",
            example='[{"dialogue_id": "hotel_goal_9901", "dialogue": [{"turn_id": 0, "user_utterance": "", '
                    '"system_utterance": "", "belief_state": {"inform slot-values": {"酒店-星级": "4"}}}]}]',
            path="[dialogue=dialogue_id] dialogue [turn=turn_id]", gold="belief_state.inform slot-values:flat",
            marks=("belief_state",), matches=lambda turn: "inform slot-values" in turn.content["belief_state"],
            said=("<system_utterance", "user_utterance"),
        ),
        Row(
            name="dstc2-gold", title="DSTC2 (label.json of each call), gold",
            example='{"session-id": "voip-1", "turns": [{"turn-index": 0, "goal-labels": {"pricerange": "cheap"}}]}',
            path="<dialogue=session-id> turns [turn=turn-index]", gold="goal-labels:flat", domain="restaurant",
            said=("", "transcription"), document=None, options={"sharded": True},
        ),
        Row(
            name="dstc2", title="DSTC2 trackers; need --gold",
            example='{"sessions": [{"session-id": "voip-1", "turns": [{"goal-labels": {"pricerange": {"cheap": 0.9}}, '
                    '"goal-labels-joint": [{"score": 0.9, "slots": {"pricerange": "cheap"}}]}]}]}',
            path="sessions [dialogue=session-id] turns [turn]", pred=":best goals", marks=("goal-labels",),
            domain="restaurant",
        ),
    )
}  # fmt: skip
