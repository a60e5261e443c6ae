"""The table of formats: a row each (see `rows`), with what a row cannot say in functions beside it.

Conventions of all: states are cumulative, user turns are numbered from 0, values are kept as written. What differs is
said at the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.io import archives
from dstbench.readers.document import DocumentTurn
from dstbench.readers.folder import SPLITS
from dstbench.readers.format import Format, Said, Source, States, StatesBuilder
from dstbench.readers.key_names import name_record, name_sides
from dstbench.readers.notations import Entry
from dstbench.readers.rows import Row, RowDocument
from dstbench.readers.states import in_order, noting_gaps, with_note
from dstbench.readers.walk import Turn

_ABSENT_IN_MULTIWOZ: Final = ("", "not mentioned", "未提及", "未提到", "没有提到")
_RESTAURANT: Final = "restaurant"
_ANY_CASE: Final = "[speaker:USER/User/user|SYSTEM/System/system]"

# --- SOM-DST ----------------------------------------------------------------------------------------------------------

_TOO_GOOD: Final = 0.99  # share of right turns from which a run is suspected
_ENOUGH: Final = 100  # turns; in a file with fewer, no share is suspicious


def _is_som(turn: Turn) -> bool:
    sides = turn.content if isinstance(turn.content, list) and len(turn.content) == 2 else [None]
    # The turn is 0, as SGD's dialogue 1_00000 may have a list of two states, too.
    return turn.number == "0" and all(
        isinstance(side, list) and all(isinstance(pair, str) for pair in side) for side in sides
    )


def _note_leaked_gold(_: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Note that nearly every turn is right, as in the file that ``--eval_all`` leaves: that run was given gold."""
    wrong = sum(set(pred) != set(gold) for pred, gold in (turn.content for turn in turns))
    if len(turns) >= _ENOUGH and wrong <= len(turns) - math.ceil(_TOO_GOOD * len(turns)):
        states.note(
            f"{len(turns) - wrong:,} of {len(turns):,} turns are right: was this run given the gold states? "
            "(the file that --eval_all leaves on disk was)"
        )


# --- STAR -------------------------------------------------------------------------------------------------------------


def _is_star(turn: Turn) -> bool:
    state = turn.content if isinstance(turn.content, dict) else {}
    cells = (cell for slot, cell in state.items() if not slot.isdecimal())  # numbers are turns
    return any(isinstance(c, dict) and c.keys() == {"pred", "gt"} and isinstance(c["gt"], str) for c in cells)


def _refuse_wrong_slots_only(source: Source, _: StatesBuilder, turns: Sequence[Turn]) -> None:
    states = [{slot: values for slot, values in turn.content.items() if isinstance(values, dict)} for turn in turns]
    are_wrong = all(values["pred"] != values["gt"] for state in states for values in state.values())
    for turn, state in zip(turns, states, strict=True):
        if not state or state.keys() != states[0].keys() or are_wrong:
            what = "not every slot is in every turn: these are wrong slots only, written during training"
            hint = "give the file that the evaluation writes (pred-evaluation/preds_full_N.json)"
            raise source.error(what, hint, dialogue=turn.dialogue, turn=turn.number)


# --- TRADE and WOZ 2.0 ------------------------------------------------------------------------------------------------


class _ActsDocument(RowDocument):
    """A ``turn_label``, which repeats changes of state, follows them."""

    def edit(self, turn: DocumentTurn, changes: Mapping[str, str | None]) -> None:
        content, domain = turn.state.content, self.domains.get(turn.dialogue, "")
        had = {name for name, _, _ in self.cells(turn.state)}
        super().edit(turn, changes)
        for entry in content["belief_state"]:
            entry["slots"] = [pair for pair in entry["slots"] if pair[1] is not None]
        content["belief_state"] = [entry for entry in content["belief_state"] if entry["slots"]]
        label = content.get("turn_label")
        if isinstance(label, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in label):
            turns = turn.state.around["dialogue"]
            before = next((one for one, other in pairwise(turns) if other is content), None)
            old: dict[str, Any] = {}
            if before is not None:
                old = {name: place[0][1] for name, place, _ in self.cells(replace(turn.state, content=before))}
            added = [place[0] for name, place, _ in self.cells(turn.state) if name in changes.keys() - had]

            def slot(pair: Any) -> str:
                return canonical_slot(f"{domain}{pair[0]}")

            label = [[pair[0], changes.get(slot(pair), pair[1])] for pair in label]
            label += [[*pair] for pair in added if old.get(slot(pair)) != pair[1]]
            content["turn_label"] = [pair for pair in label if pair[1] is not None]


# --- MultiWOZ ---------------------------------------------------------------------------------------------------------


def _after_multiwoz(source: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Note turns without metadata; the split of every dialogue, if both lists are beside the file, else none."""
    if bare := sum(not turn.content["metadata"] for turn in turns):
        states.note(f"{bare:,} system turns without metadata: the state is read as empty")
    split_by_name: dict[str, str] = {}
    for split, name in (("dev", "val"), ("test", "test")):
        file = source.sibling(f"{name}ListFile.json", f"{name}ListFile.txt")
        if file is None:
            return
        lines = file.read().decode(errors="replace").splitlines()
        split_by_name |= {line.strip().removesuffix(".json"): split for line in lines}
    states.splits = {name: split_by_name.get(name.removesuffix(".json"), "train") for name in source.json}


class _SizedLog(msgspec.Struct):
    log: list[msgspec.Raw]


def _outline_of_multiwoz(source: Source) -> Iterator[tuple[str, int]]:
    for name, dialogue in msgspec.json.decode(source.raw, type=dict[str, _SizedLog]).items():
        yield name, len(dialogue.log) // 2


# --- SGD --------------------------------------------------------------------------------------------------------------


def _after_sgd(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    states.either = states.has_frames = True
    file = archives.unpacked_name(source.path.name)
    dialogues = source.json.values() if isinstance(source.json, dict) else source.json
    states.places = [(dialogue["dialogue_id"], file, at) for at, dialogue in enumerate(dialogues)]


class _SizedTurn(msgspec.Struct):
    speaker: str


class _SizedDialogue(msgspec.Struct):
    dialogue_id: str
    turns: list[_SizedTurn]


def _outline_of_sgd(source: Source) -> Iterator[tuple[str, int]]:
    content: Any = msgspec.json.decode(source.raw, type=list[_SizedDialogue] | dict[str, _SizedDialogue])
    for dialogue in content.values() if isinstance(content, dict) else content:
        yield dialogue.dialogue_id, sum(turn.speaker.upper() == "USER" for turn in dialogue.turns)


# --- ConvLab-3 --------------------------------------------------------------------------------------------------------


def _named_in_convlab(document: Any) -> Callable[[Any], str]:
    """By the original ids, if all dialogues have one and no two the same; predictions may use either id."""
    originals = [dialogue.get("original_id") for dialogue in document]
    by_original = None not in originals and len(set(map(str, originals))) == len(originals)
    return lambda dialogue: str(dialogue["original_id" if by_original else "dialogue_id"])


def _after_convlab(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """Other names of dialogues, and their splits."""
    name_of = _named_in_convlab(source.json)
    for dialogue in source.json:
        name, names = name_of(dialogue), (dialogue["dialogue_id"], dialogue.get("original_id"))
        if names[1] is not None:
            states.aliases.append((name, str(names[0] if name == str(names[1]) else names[1])))
        if "data_split" in dialogue:
            states.splits[name] = SPLITS.get(dialogue["data_split"], dialogue["data_split"])


_BESIDE_IN_CONVLAB: Final = {
    "original_id": str | int | msgspec.UnsetType | None,
    "data_split": str | msgspec.UnsetType,
}


class _Spoken(msgspec.Struct):
    speaker: str
    utterance: str = ""


class _SpokenInConvlab(msgspec.Struct):
    """A user turn of the predictions, and what was said before."""

    dialogue_id: str | int
    utt_idx: int
    utterance: str = ""
    context: list[_Spoken] = []


def _said_in_convlab(source: Source) -> Iterator[Said]:
    for turn in source.objects(_SpokenInConvlab, "dialogue_id"):
        before = turn.context[-1] if turn.context else None
        system = before.utterance if before is not None and before.speaker == "system" else None
        yield str(turn.dialogue_id), turn.utt_idx // 2, system, turn.utterance


# --- IC-DST -----------------------------------------------------------------------------------------------------------


def _is_icdst(turn: Turn) -> bool:
    """Whether a turn has no other prediction; turns whose states are lists or texts are `records`."""
    is_alone = "pred" in turn.content or not name_sides(turn.content, "pred")
    return is_alone and not any(isinstance(turn.content.get(key), (list, str)) for key in ("slot_values", "pred"))


def _doubt_gold(states: States) -> States:
    if states.pred is None:
        return states
    return with_note(
        states,
        "its gold may have been altered in favour of the predictions where it had alternatives (a|b); "
        "--gold FILE replaces it, and shows which turns an interrupted run has not reached",
    )


class _SpokenTexts(msgspec.Struct):
    """All that was said up to a turn."""

    sys: list[str] = []
    usr: list[str] = []


class _SpokenInIcdst(msgspec.Struct):
    ID: str
    turn_id: int
    dialog: _SpokenTexts = msgspec.field(default_factory=_SpokenTexts)


def _said_in_icdst(source: Source) -> Iterator[Said]:
    for turn in source.objects(_SpokenInIcdst, "ID"):
        system, user = ((texts[-1] if texts else None) for texts in (turn.dialog.sys, turn.dialog.usr))
        yield turn.ID, turn.turn_id, system, user


# --- others -----------------------------------------------------------------------------------------------------------


def _is_gtpr(turn: Turn) -> bool:
    """Whether a turn holds ``gt`` or ``pr``, and no other name of a prediction, as slots of STAR's files do."""
    keys = set(turn.content) if isinstance(turn.content, dict) else set()
    return bool(keys & {"gt", "pr"}) and not name_record(keys - {"gt", "pr"})


def _is_mwzeval(turn: Turn) -> bool:
    """Whether a turn has ``response`` or ``state``, and no other keys of gold or predictions, nor a flat state."""
    keys, state = turn.content.keys(), turn.content.get("state")
    is_flat = isinstance(state, dict) and any(isinstance(value, str) for value in state.values())
    is_record = "bspn_gen" in keys or name_record(keys - {"response"})
    return bool(keys & {"response", "state"}) and not is_record and not is_flat


def _refuse_responses(source: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    for turn in turns:
        if not turn.content.keys() & {"state", "response"}:
            what = "a turn with neither `state` nor `response`"
            raise source.misshapen(what, dialogue=turn.dialogue, turn=turn.number)
    if not states.pred.present and turns:
        hint = "systems without a state tracker cannot be scored"
        raise source.error("no turn has a state: the file holds responses only", hint)


def _note_oracle(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    if "oracleBelief" in source.path.name:
        states.note("its name says oracleBelief: the model was given the gold states")


def _note_unreached(_: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    if unreached := sum(not turn.content["bspn_gen"] and "bspn_dict_gen" not in turn.content for turn in turns):
        states.note(
            f"{unreached:,} turns have no generated state and no bspn_dict_gen, and are scored as empty: "
            "has the run finished?"
        )


#: Slots and intents that only one of the simulated datasets has, and its domain.
_SIMULATED: Final = {
    name: domain
    for domain, names in {
        "movie": ("movie", "theatre_name", "num_tickets", "BUY_MOVIE_TICKETS"),
        "restaurant": (
            "restaurant_name", "category", "location", "meal", "num_people", "price_range", "rating",
            "FIND_RESTAURANT", "RESERVE_RESTAURANT",
        ),
    }.items()
    for name in names
}  # fmt: skip


def _simulated_domain(dialogue: Any) -> str:
    """The domain of a dialogue, by its slots that only one dataset has, or else by what the user intends."""
    slots = [entry["slot"] for turn in dialogue["turns"] for entry in turn["dialogue_state"]]
    intents = [intent for turn in dialogue["turns"] for intent in turn.get("user_intents") or ()]
    return next((_SIMULATED[name] for name in slots + intents if name in _SIMULATED), "")


#: GLAD's keys, and those of the published file.
_PUBLISHED: Final = {"dialogue_id": "dialogue_idx", "turns": "dialogue", "turn_id": "turn_idx"}


class _GladTurn(msgspec.Struct):
    turn_id: int
    belief_state: list[Entry]
    transcript: list[str] = []
    system_transcript: str = ""


class _GladDialogue(msgspec.Struct):
    dialogue_id: int
    turns: list[_GladTurn]


class _GladFile(msgspec.Struct):
    dialogues: list[_GladDialogue]


def _as_published(document: Any) -> Any:
    """GLAD's file with the keys and texts that dialogues and turns have in the published file of WOZ 2.0."""
    if not isinstance(document, dict) or not isinstance(document.get("dialogues"), list):
        return document

    def renamed(item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        item = {_PUBLISHED.get(key, key): value for key, value in item.items()}
        if isinstance(turns := item.get("dialogue"), list):
            item["dialogue"] = [renamed(turn) for turn in turns]
        if isinstance(words := item.get("transcript"), list):
            item["transcript"] = " ".join(map(str, words))
        return item

    return {"dialogues": [renamed(dialogue) for dialogue in document["dialogues"]]}


# --- the table --------------------------------------------------------------------------------------------------------

ROWS: Final[dict[str, Format]] = {
    row.name: row.format()
    for row in (
        # every slot is always there; turns are skipped, and the others numbered consecutively
        Row(
            name="star",
            title="STAR, ASSIST (preds_full_<n>.json)",
            example=(
                '{"MUL9901.json_0": {"hotel-area": {"pred": "north", "gt": "north"}, '
                '"hotel-name": {"pred": "none", "gt": "none"}}}'
            ),
            path="{dialogue_turn}", gold=":gt", pred=":pred", marks=(), matches=_is_star, omits=("none",),
            after=_refuse_wrong_slots_only,
        ),
        Row(
            name="gtpr",
            title="FGA and GCA result files",
            example='{"MUL9901.json": {"0": {"gt": {"hotel": {"area": "north"}}, "pr": {"hotel": {"area": "north"}}}}}',
            path="{dialogue} {turn}", gold="gt:nested", pred="pr:nested", marks=(), matches=_is_gtpr,
        ),
        Row(
            name="trade",
            title="TRADE (all_prediction_TRADE.json) and descendants",
            example=(
                '{"MUL9901.json": {"0": {"turn_belief": ["hotel-area-north"], "pred_bs_ptr": ["hotel-area-north"]}}}'
            ),
            path="{dialogue} {turn}", gold="turn_belief:pairs", pred="pred_bs_*:pairs",
        ),
        Row(
            name="t5dst",
            title="T5DST, TransferQA (<prefix>_prediction.json)",
            example=(
                '{"MUL9901.json": {"domain": "hotel", "turns": '
                '{"0": {"turn_belief": ["hotel-area-north"], "pred_belief": ["hotel-area-north"]}}}}'
            ),
            path="{dialogue} turns {turn}", gold="turn_belief:pairs", pred="pred_belief:pairs",
        ),
        # turns outside five domains are skipped
        Row(
            name="som",
            title="SOM-DST, Transformer-DST (preds_<epoch>.json)",
            example='{"MUL9901.json_0": [["hotel-area-north"], ["hotel-area-north"]]}',
            path="{dialogue_turn}", gold="1:pairs", pred="0:pairs", marks=(), matches=_is_som, after=_note_leaked_gold,
        ),
        Row(
            name="simpletod",
            title="SimpleTOD (<exp>_test_context[history=full_history]_nocarry.json)",
            example=(
                '{"MUL9901.json": {"target_turn_belief": [["hotel area north"]], '
                '"generated_turn_belief": [["hotel area north", "hotel name not mentioned"]]}}'
            ),
            path="{dialogue} (target_turn_belief,generated_turn_belief)[turn]",
            gold="target_turn_belief:triples", pred="generated_turn_belief:triples", marks=(),
            omits=("not mentioned",),
            after=_note_oracle,
        ),
        # a value that contains a comma is split there, as in the authors' code
        Row(
            name="checkdst",
            title="CheckDST predictions",
            example='{"dial_id": "mul9901-0", "gold": "hotel area north,", "pred": "hotel area north,"}',
            path="<dialogue-turn=dial_id>", lines=True, gold="gold:commas", pred="pred:commas",
            marks=("dial_id", "gold", "pred"),
            matches=lambda turn: all(str(turn.content[side])[:1] not in "[{" for side in ("gold", "pred")),
            omits=("not mentioned",),
        ),
        # a value with the name of a slot is split there, as in the authors' code, which also loses the last turn
        Row(
            name="pptod",
            title="PPTOD (test_joint_accuracy_<x>.json)",
            example='{"mul9901": {"0": {"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}}}',
            path="{dialogue} {turn}", gold="bspn:span", pred="bspn_gen:span", omits=("not mentioned",),
        ),
        Row(
            name="fnctod",
            title="FnCTOD (test…-<model>.json)",
            example='{"mul9901": [{"bspn": "[hotel] area north", "bspn_gen": "[hotel] area north"}]}',
            path="{dialogue} [turn]", gold="bspn:span", pred="bspn_gen:span", omits=("not mentioned", "not present"),
            after=_note_unreached,
        ),
        # every slot is always there
        Row(
            name="kage",
            title="KAGE-GPT2 (test_results.json)",
            example=(
                '[{"example_id": "MUL9901-0", "bs_pred_dict": {"hotel area": "north"}, '
                '"bs_ref_dict": {"hotel area": "north"}}]'
            ),
            path="[dialogue-turn=example_id]", gold="bs_ref_dict:flat", pred="bs_pred_dict:flat", omits=("none",),
            options={"finish": noting_gaps(
                "; KAGE leaves out those that it cannot parse and counts them as wrong, "
                "as --gold FILE --missing wrong does"
            )},
        ),
        Row(
            name="convlab",
            title="ConvLab-3 (predictions.json)",
            example=(
                '[{"dialogue_id": "MUL9901.json", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}, '
                '"predictions": {"state": {"hotel": {"area": "north"}}}}]'
            ),
            path="[dialogue=dialogue_id:any,turn=utt_idx/2]", gold="state:nested", pred="predictions.state:nested",
            marks=("predictions", "state", "utt_idx"), omits=("",), options={"said": _said_in_convlab},
        ),
        # models write the values, so they are read loosely; gold files have no `pred`
        Row(
            name="icdst",
            title="IC-DST, RefPyDST (running_log.json; gold mw2x_100p_test.json)",
            example='[{"ID": "MUL9901.json", "turn_id": 0, "slot_values": {"hotel-area": "north"}, "pred": {}}]',
            path="[dialogue=ID,turn=turn_id]", gold="slot_values:written", pred="pred?:written or null",
            marks=("ID", "turn_id", "slot_values"), matches=_is_icdst,
            options={"finish": _doubt_gold, "said": _said_in_icdst},
        ),
        # a turn without `state` has no prediction, which is not the same as an empty state
        Row(
            name="mwzeval",
            title="MultiWOZ_Evaluation (mwzeval) predictions; need --gold",
            example='{"mul9901": [{"response": "…", "state": {"hotel": {"area": "north"}}}]}',
            path="{dialogue} [turn]", pred="state?:written nested or null", marks=(), matches=_is_mwzeval,
            after=_refuse_responses,
        ),
        # items do not name turns; they are matched with gold's turns in order
        Row(
            name="dstc10",
            title="DSTC10 track 2, predictions and labels.json; need --gold, in its order",
            example='[{"hotel": {"semi": {"area": ["north"]}, "book": {"people": ["3"]}}}]',
            path="[dialogue]", pred=":semi/book lists", marks=(),
            matches=lambda t: any(
                part and part.keys() <= {"semi", "book"} for part in t.content.values() if isinstance(part, dict)
            ),
            options={"finish": lambda states: replace(
                states, gold=states.pred, pred=None, complete=partial(in_order, states)
            )},
        ),
        Row(
            name="trade-gold",
            title="TRADE's preprocessed MultiWOZ (<split>_dials.json), gold",
            example=(
                '[{"dialogue_idx": "MUL9901.json", "dialogue": [{"turn_idx": 0, '
                '"belief_state": [{"slots": [["hotel-area", "north"]], "act": "inform"}]}]}]'
            ),
            path="[dialogue=dialogue_idx] dialogue [turn=turn_idx]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), document=_ActsDocument,
        ),
        Row(
            name="t5dst-gold",
            title="T5DST's preprocessed MultiWOZ (<split>_dials.json), gold",
            example='[{"dial_id": "MUL9901.json", "turns": [{"state": {"slot_values": {"hotel-area": "north"}}}]}]',
            path="[dialogue=dial_id] turns [turn]", gold="state.slot_values:flat",
            marks=(), said=("system", "user"), is_silent_first=True,
        ),
        Row(
            name="simpletod-gold",
            title="SimpleTOD's preprocessed MultiWOZ (<split>_dials_lexicalized.json), gold",
            example='{"MUL9901.json": {"usr": ["…"], "sys": ["…"], "bstate": [[["hotel", "area", "north"]]]}}',
            path="{dialogue} (bstate)[turn]", gold="bstate:lists", omits=("not mentioned",), absent="not mentioned",
            said=("sys", "usr"),
        ),
        # the state after user turn t is the metadata of the system turn that follows it; every slot is always there
        Row(
            name="multiwoz",
            title="MultiWOZ 2.0, 2.1, 2.3, 2.4 (data.json, or <split>_dials.json of raw dialogues), gold",
            example=(
                '{"MUL9901.json": {"log": [{"metadata": {}}, {"metadata": {"hotel": {"semi": {"area": "north", '
                '"name": "not mentioned"}, "book": {"booked": [], "day": "friday"}}}}]}}'
            ),
            path="{dialogue} log [>]", gold="metadata:semi/book", omits=_ABSENT_IN_MULTIWOZ, absent="not mentioned",
            said=("text",), after=_after_multiwoz, options={"outline": _outline_of_multiwoz},
            unanswered="{:,} dialogues end with a user turn, which has no state; it is left out",
        ),
        # alternatives of gold are joined; of a prediction's, only the first is read, as in the official evaluation
        Row(
            name="sgd",
            title="SGD, MultiWOZ 2.2: the dataset, or predictions in its layout (as --gold: gold)",
            example=(
                '[{"dialogue_id": "1_00000", "turns": [{"speaker": "USER", "frames": [{"service": "Hotels_1", "state": '
                '{"slot_values": {"destination": ["Palo Alto"]}}}]}]}]'
            ),
            path=f"[{{dialogue=dialogue_id}}] turns {_ANY_CASE}", gold="frames:frames", pred="frames:first of frames",
            marks=("frames",), also={"frames": Any}, said=("utterance",), after=_after_sgd,
            options={"sharded": True, "outline": _outline_of_sgd},
        ),
        Row(
            name="convlab-gold",
            title="ConvLab-3's unified datasets (data.json, dialogues.json), gold",
            example=(
                '[{"dialogue_id": "multiwoz21-test-0", "original_id": "MUL9901.json", "data_split": "test", "turns": '
                '[{"speaker": "user", "utt_idx": 0, "state": {"hotel": {"area": "north", "name": ""}}}]}]'
            ),
            path="[dialogue=dialogue_id] turns [speaker:user|system]", gold="state:nested", marks=("utt_idx",),
            omits=("",), absent="", said=("utterance",), naming=_named_in_convlab,
            beside=_BESIDE_IN_CONVLAB, after=_after_convlab,
        ),
        Row(
            name="woz",
            title="WOZ 2.0 (woz_<split>_en.json), gold",
            example=(
                '[{"dialogue_idx": 9901, "dialogue": [{"turn_idx": 0, "belief_state": '
                '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]'
            ),
            path="[dialogue=dialogue_idx:int] dialogue [turn=turn_idx]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), domain=_RESTAURANT, document=_ActsDocument,
        ),
        Row(
            name="glad",
            title='GLAD\'s copy of WOZ 2.0 ({"dialogues": …}), gold',
            example=(
                '{"dialogues": [{"dialogue_id": 9901, "turns": [{"turn_id": 0, "transcript": [], "belief_state": '
                '[{"slots": [["price range", "cheap"]], "act": "inform"}]}]}]}'
            ),
            path="dialogues [dialogue=dialogue_idx:int] dialogue [turn=turn_idx]", gold="belief_state:acts",
            said=("system_transcript", "transcript"), domain=_RESTAURANT, prepare=_as_published,
            options={"document": None, "shape": _GladFile},
        ),
        Row(
            name="simulated",
            title="sim-M and sim-R (train.json, dev.json, test.json), gold",
            example=(
                '[{"dialogue_id": "movies_00009901", "turns": [{"user_utterance": {"text": ""}, "dialogue_state": '
                '[{"slot": "movie", "value": "the pine cone"}]}]}]'
            ),
            path="[dialogue=dialogue_id] turns [turn]", gold="dialogue_state:objects",
            said=("system_utterance.text", "user_utterance.text"), domain=_simulated_domain,
        ),
        # the constraints as the user gave them; `sys_state`, beside them, is what the system then searched for
        Row(
            name="crosswoz",
            title="CrossWOZ (train.json, val.json, test.json), gold",
            example=(
                '{"9901": {"messages": [{"role": "usr", "content": ""}, {"role": "sys", "content": "", '
                '"sys_state_init": {"酒店": {"名称": "", "评分": "4.5分以上", "selectedResults": []}}}]}}'
            ),
            path="{dialogue} messages [role:usr|sys>]", gold="sys_state_init:nested lists", omits=("",), absent="",
            said=("content",),
            unanswered="{:,} user messages without an answer of the system, which has the state; left out",
        ),
        Row(
            name="risawoz",
            title="RiSAWOZ, gold",
            example=(
                '[{"dialogue_id": "hotel_goal_9901", "dialogue": [{"turn_id": 0, "user_utterance": "", '
                '"system_utterance": "", "belief_state": {"inform slot-values": {"酒店-星级": "4"}}}]}]'
            ),
            path="[dialogue=dialogue_id] dialogue [turn=turn_id]", gold="belief_state.inform slot-values:flat",
            marks=("belief_state",), matches=lambda turn: "inform slot-values" in turn.content["belief_state"],
            said=("<system_utterance", "user_utterance"),
        ),
        Row(
            name="dstc2-gold",
            title="DSTC2 (label.json of each call), gold",
            example='{"session-id": "voip-1", "turns": [{"turn-index": 0, "goal-labels": {"pricerange": "cheap"}}]}',
            path="<dialogue=session-id> turns [turn=turn-index]", gold="goal-labels:flat", domain=_RESTAURANT,
            said=("", "transcription"), options={"sharded": True, "document": None},
        ),
    )
}  # fmt: skip
