"""What rows cannot say of their formats: functions that recognise, refuse, note and complete, in the rows' order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import msgspec

from dstbench.conventions.slots import canonical_slot
from dstbench.io import archives
from dstbench.readers.document import DocumentTurn
from dstbench.readers.folder import SPLITS
from dstbench.readers.format import Said, Source, States, StatesBuilder
from dstbench.readers.key_names import name_record, name_sides
from dstbench.readers.notations import Entry
from dstbench.readers.row_document import RowDocument
from dstbench.readers.states import with_note
from dstbench.readers.walk import Turn

ABSENT_IN_MULTIWOZ: Final = ("", "not mentioned", "未提及", "未提到", "没有提到")
RESTAURANT: Final = "restaurant"
ANY_CASE: Final = "[speaker:USER/User/user|SYSTEM/System/system]"

# --- SOM-DST ----------------------------------------------------------------------------------------------------------

_TOO_GOOD: Final = 0.99  # share of right turns from which a run is suspected
_ENOUGH: Final = 100  # turns; in a file with fewer, no share is suspicious


def is_som(turn: Turn) -> bool:
    """Whether a turn is a pair of lists of strings."""
    sides = turn.content if isinstance(turn.content, list) and len(turn.content) == 2 else [None]
    # The turn is 0, as SGD's dialogue 1_00000 may have a list of two states, too.
    return turn.number == "0" and all(
        isinstance(side, list) and all(isinstance(pair, str) for pair in side) for side in sides
    )


def note_leaked_gold(_: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Note that nearly every turn is right, as in the file that ``--eval_all`` leaves: that run was given gold."""
    wrong = sum(set(pred) != set(gold) for pred, gold in (turn.content for turn in turns))
    if len(turns) >= _ENOUGH and wrong <= len(turns) - math.ceil(_TOO_GOOD * len(turns)):
        states.note(
            f"{len(turns) - wrong:,} of {len(turns):,} turns are right: was this run given the gold states? "
            "(the file that --eval_all leaves on disk was)"
        )


# --- STAR -------------------------------------------------------------------------------------------------------------


def is_star(turn: Turn) -> bool:
    """Whether a slot of a turn has its two values and nothing else."""
    state = turn.content if isinstance(turn.content, dict) else {}
    cells = (cell for slot, cell in state.items() if not slot.isdecimal())  # numbers are turns
    return any(isinstance(c, dict) and c.keys() == {"pred", "gt"} and isinstance(c["gt"], str) for c in cells)


def refuse_wrong_slots_only(source: Source, _: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Refuse the file that is written during training, which has wrong slots only."""
    sides = (values for turn in turns for values in turn.content.values() if isinstance(values, dict))
    are_wrong = all(values["pred"] != values["gt"] for values in sides)
    first = None
    for turn in turns:
        slots = {slot for slot, values in turn.content.items() if isinstance(values, dict)}
        first = slots if first is None else first
        if not slots or slots != first or are_wrong:
            what = "not every slot is in every turn: these are wrong slots only, written during training"
            hint = "give the file that the evaluation writes (pred-evaluation/preds_full_N.json)"
            raise source.error(what, hint, dialogue=turn.dialogue, turn=turn.number)


# --- TRADE and WOZ 2.0 ------------------------------------------------------------------------------------------------


class ActsDocument(RowDocument):
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


def after_multiwoz(source: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
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


def outline_of_multiwoz(source: Source) -> Iterator[tuple[str, int]]:
    """Each dialogue, and the number of its turns."""
    for name, dialogue in msgspec.json.decode(source.raw, type=dict[str, _SizedLog]).items():
        yield name, len(dialogue.log) // 2


# --- SGD --------------------------------------------------------------------------------------------------------------


def after_sgd(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """The places of dialogues; and that states may be gold or predictions."""
    states.either = states.has_frames = True
    file = archives.unpacked_name(source.path.name)
    dialogues = source.json.values() if isinstance(source.json, dict) else source.json
    states.places = [(dialogue["dialogue_id"], file, at) for at, dialogue in enumerate(dialogues)]


class _SizedTurn(msgspec.Struct):
    speaker: str


class _SizedDialogue(msgspec.Struct):
    dialogue_id: str
    turns: list[_SizedTurn]


def outline_of_sgd(source: Source) -> Iterator[tuple[str, int]]:
    """Each dialogue, and the number of its turns."""
    content: Any = msgspec.json.decode(source.raw, type=list[_SizedDialogue] | dict[str, _SizedDialogue])
    for dialogue in content.values() if isinstance(content, dict) else content:
        yield dialogue.dialogue_id, sum(turn.speaker.upper() == "USER" for turn in dialogue.turns)


# --- ConvLab-3 --------------------------------------------------------------------------------------------------------


def named_in_convlab(document: Any) -> Callable[[Any], str]:
    """By the original ids, if all dialogues have one and no two the same; predictions may use either id."""
    originals = [dialogue.get("original_id") for dialogue in document]
    by_original = None not in originals and len(set(map(str, originals))) == len(originals)
    return lambda dialogue: str(dialogue["original_id" if by_original else "dialogue_id"])


def after_convlab(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """Other names of dialogues, and their splits."""
    name_of = named_in_convlab(source.json)
    for dialogue in source.json:
        name, names = name_of(dialogue), (dialogue["dialogue_id"], dialogue.get("original_id"))
        if names[1] is not None:
            states.aliases.append((name, str(names[0] if name == str(names[1]) else names[1])))
        if "data_split" in dialogue:
            states.splits[name] = SPLITS.get(dialogue["data_split"], dialogue["data_split"])


BESIDE_IN_CONVLAB: Final = {
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


def said_in_convlab(source: Source) -> Iterator[Said]:
    """What was said, which ConvLab-3's predictions have as a context."""
    for turn in source.objects(_SpokenInConvlab, "dialogue_id"):
        before = turn.context[-1] if turn.context else None
        system = before.utterance if before is not None and before.speaker == "system" else None
        yield str(turn.dialogue_id), turn.utt_idx // 2, system, turn.utterance


# --- IC-DST -----------------------------------------------------------------------------------------------------------


def is_icdst(turn: Turn) -> bool:
    """Whether a turn has no other prediction; turns whose states are lists or texts are `records`."""
    is_alone = "pred" in turn.content or not name_sides(turn.content, "pred")
    return is_alone and not any(isinstance(turn.content.get(key), (list, str)) for key in ("slot_values", "pred"))


def doubt_gold(states: States) -> States:
    """A note that gold may be altered."""
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


def said_in_icdst(source: Source) -> Iterator[Said]:
    """What was said; each turn of IC-DST's has all that was said before."""
    for turn in source.objects(_SpokenInIcdst, "ID"):
        system, user = ((texts[-1] if texts else None) for texts in (turn.dialog.sys, turn.dialog.usr))
        yield turn.ID, turn.turn_id, system, user


# --- others -----------------------------------------------------------------------------------------------------------


def is_gtpr(turn: Turn) -> bool:
    """Whether a turn holds ``gt`` or ``pr``, and no other name of a prediction, as slots of STAR's files do."""
    keys = set(turn.content) if isinstance(turn.content, dict) else set()
    return bool(keys & {"gt", "pr"}) and not name_record(keys - {"gt", "pr"})


def is_mwzeval(turn: Turn) -> bool:
    """Whether a turn has ``response`` or ``state``, and no other keys of gold or predictions, nor a flat state."""
    keys, state = turn.content.keys(), turn.content.get("state")
    is_flat = isinstance(state, dict) and any(isinstance(value, str) for value in state.values())
    is_record = "bspn_gen" in keys or name_record(keys - {"response"})
    return bool(keys & {"response", "state"}) and not is_record and not is_flat


def refuse_responses(source: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """Refuse predictions of a system without a state tracker."""
    for turn in turns:
        if not turn.content.keys() & {"state", "response"}:
            what = "a turn with neither `state` nor `response`"
            raise source.misshapen(what, dialogue=turn.dialogue, turn=turn.number)
    if not states.pred.present and turns:
        hint = "systems without a state tracker cannot be scored"
        raise source.error("no turn has a state: the file holds responses only", hint)


def note_oracle(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """A note that the model was given gold states, if the file's name says so."""
    if "oracleBelief" in source.path.name:
        states.note("its name says oracleBelief: the model was given the gold states")


def note_unreached(_: Source, states: StatesBuilder, turns: Sequence[Turn]) -> None:
    """A note on turns that the run has not reached."""
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


def simulated_domain(dialogue: Any) -> str:
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


class GladFile(msgspec.Struct):
    """GLAD's file."""

    dialogues: list[_GladDialogue]


def as_published(document: Any) -> Any:
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
