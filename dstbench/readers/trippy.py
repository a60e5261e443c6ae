"""TripPy's ``pred_res.<split>.<step>.json`` and its forks' (Heck et al. 2020).

Conventions: one JSON list of turns in order; per slot the running prediction and the cumulative gold, and nine further
keys that are not decoded, so that large files need little memory. As every slot is always there, ``none`` says
that one is not in the state; ``dontcare``, ``true`` and ``false`` are kept as written. A slot without a domain gets
the domain of its dataset: ``restaurant`` in WOZ 2.0 and sim-R, ``movie`` in sim-M.

Predicted values are turned from tokens into text: ``§§``, which marks a value that the system informed, is removed;
``09 : 45`` becomes ``09:45``; pieces with ``Ġ`` are joined there. Nothing else is undone (``rosa ' s`` stays). A slot
predicted as ``§§none`` keeps its value of the turn before, as in the authors' scoring. The authors also match values in
a way that depends on gold, which gives higher numbers; this is not imitated.
"""

import re
from functools import lru_cache
from typing import Final

from dstbench.readers.format import Format, Source, StatesBuilder

_PRED, _GOLD = "slot_prediction_", "slot_groundtruth_"
_OMITTED: Final = "none"
_INFORMED: Final = "§§"
_KEPT: Final = f"{_INFORMED}none"
_LIST: Final = re.compile(rb"\s*\[\s*\{")
#: Slots without a domain that show the dataset, and the domain of that dataset.
_TELLING: Final = {"food": "restaurant-", "restaurant_name": "restaurant-", "movie": "movie-"}


@lru_cache(maxsize=65_536)
def detokenised(value: str) -> str:
    """A predicted value as text.

    >>> [detokenised(v) for v in ("09 : 45", "§§rosa ' s", "Ġpine Ġco ne", "true")]
    ['09:45', "rosa ' s", 'pine cone', 'true']
    """
    value = value.removeprefix(_INFORMED)
    if "Ġ" in value:
        value = value.replace(" ", "").replace("Ġ", " ").strip(" ")
    return re.sub(r"(?<=[0-9]) : (?=[0-9])", ":", value)


def _sniff(source: Source) -> bool:
    """Whether the first turn has a list as ``guid``, and predicted slots; the rest of the file is not decoded."""
    if not _LIST.match(source.beginning(1024)):
        return False
    _, turn = next(source.items("guid", _PRED))
    return isinstance(turn.pop("guid", None), list) and len(turn) > 0


def _read(source: Source, states: StatesBuilder) -> None:
    last, before = "", dict[str, str]()
    tokens = kept = 0
    for place, item in source.items("guid", _PRED, _GOLD):
        if "guid" not in item:
            raise source.misshapen(f"{place}no guid here")
        guid = source.convert(item.pop("guid"), list[str], place=place)
        if len(guid) < 3 or not guid[-1].isdecimal():
            raise source.misshapen(f"{place}the guid {guid} is not of the form [split, dialogue, turn]")
        dialogue, turn = "-".join(guid[1:-1]), guid[-1]
        cells = source.convert(item, dict[str, str], "slot", place=place, dialogue=dialogue, turn=turn)
        pred, gold = (
            {key.removeprefix(start): value for key, value in cells.items() if key.startswith(start)}
            for start in (_PRED, _GOLD)
        )
        if not pred or pred.keys() != gold.keys():
            odd = min(pred.keys() ^ gold.keys(), default="any slot")
            raise source.misshapen(f"{place}not both {_PRED}… and {_GOLD}… of {odd}", dialogue=dialogue, turn=turn)
        if dialogue != last:
            last, before = dialogue, {}
        state = {slot: detokenised(value) for slot, value in pred.items() if value != _KEPT}
        kept += len(pred) - len(state)
        tokens += sum(value != pred[slot] for slot, value in state.items())
        before = {slot: state.get(slot, before.get(slot, _OMITTED)) for slot in pred}
        domain = next((_TELLING[slot] for slot in pred if slot in _TELLING), "")
        at = states.turn(dialogue, turn)
        for side, of_side in ((states.pred, before), (states.gold, gold)):
            side.flat(at, {domain + slot: value for slot, value in of_side.items() if value != _OMITTED})
    if tokens:
        states.note(f"{tokens:,} predicted values had marks of tokens ({_INFORMED}, Ġ, spaces around :), now removed")
    if kept:
        states.note(f"{kept:,} predicted values are {_KEPT}: the value of the turn before is kept instead")


FORMAT: Final = Format(
    name="trippy",
    title="TripPy and forks (pred_res.<split>.<step>.json)",
    example=(
        '[{"guid": ["test", "MUL9901.json", "0"], "slot_prediction_hotel-area": "north", '
        '"slot_groundtruth_hotel-area": "north"}]'
    ),
    sniff=_sniff,
    reader=_read,
)
