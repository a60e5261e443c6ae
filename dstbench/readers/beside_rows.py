"""What rows cannot say of their formats: functions that recognise, refuse, note and complete, in the rows' order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

from dstbench.conventions.slots import canonical_slot
from dstbench.io import archives
from dstbench.readers.document import Document
from dstbench.readers.folder import SPLITS
from dstbench.readers.format import Source, States, StatesBuilder
from dstbench.readers.key_names import name_record, name_sides
from dstbench.readers.states import with_note
from dstbench.readers.walk import Turn

# Share of right turns from which a run is suspected, and the number of turns below which none is.
_TOO_GOOD, _ENOUGH = 0.99, 100


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
    return bool(keys & {"gt", "pr"}) and not name_record(keys - {"gt", "pr"})


def note_oracle(source: Source, states: StatesBuilder, _: Sequence[Turn]) -> None:
    """Note that the model was given gold states, if the file's name says so."""
    if "oracleBelief" in source.path.name:
        states.note("its name says oracleBelief: the model was given the gold states")


def is_world_log(source: Source) -> bool:
    """Whether the first line has a list ``dialog``."""
    return isinstance((source.first_line("dialog") or {}).get("dialog"), list)


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
            f"{unreached:,} turns have no generated state and no bspn_dict_gen, and are scored as empty: "
            "has the run finished?"
        )


def is_icdst(turn: Turn) -> bool:
    """Whether a turn has no other prediction; turns whose states are lists or texts are `records`."""
    is_alone = "pred" in turn.content or not name_sides(turn.content, "pred")
    return is_alone and not any(isinstance(turn.content.get(key), (list, str)) for key in ("slot_values", "pred"))


def doubt_gold(states: States) -> States:
    """Note that gold may be altered."""
    if states.pred is None:
        return states
    return with_note(
        states,
        "its gold may have been altered in favour of the predictions where it had alternatives (a|b); "
        "--gold FILE replaces it, and shows which turns an interrupted run has not reached",
    )


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


def is_dstc10(turn: Turn) -> bool:
    """Whether a domain of the state has its slots under ``semi`` and ``book``."""
    return any(part and part.keys() <= {"semi", "book"} for part in turn.content.values() if isinstance(part, dict))


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
        states.note(f"{bare:,} system turns without metadata: the state is read as empty")
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
