"""SOM-DST's and Transformer-DST's ``preds_<epoch>.json`` (Kim et al. 2020; Zeng & Nie 2021).

Conventions: one key ``<dialogue>_<turn>`` per turn, whose two lists are the predicted and the gold state, in this
order, as ``domain-slot-value``, cumulative. Turns are user turns, numbered from 0; there may be gaps, as the authors
skip turns outside five domains.

With ``--eval_all`` SOM-DST writes the same file eight times, and the last run, which remains, was given the gold
states. Therefore a note reports a file in which nearly every turn is right; no tracker comes near that on any version
of MultiWOZ.
"""

import math
from itertools import islice
from typing import Any, Final

import msgspec

from dstbench.readers.format import Format, PairsState, SideBuilder, Source, StatesBuilder
from dstbench.readers.shapes import text_of

_SHAPE: Final = dict[str, tuple[PairsState, PairsState]]
_TOO_GOOD: Final = 0.99  # share of right turns from which a run is suspected
_ENOUGH: Final = 100  # turns; in a file with fewer, no share is suspicious


def _sniff(source: Source) -> bool:
    if source.kind != "json" or not isinstance(source.sample, dict):
        return False
    first, pair = next(iter(source.sample.items()), ("", []))
    is_turn = isinstance(pair, list) and len(pair) == 2 and all(isinstance(side, list) for side in pair)
    # The turn is 0, as SGD's dialogue 1_00000 may have a list of two states, too.
    return first.endswith("_0") and is_turn and all(isinstance(text, str) for side in pair for text in side)


def _pairs(state: Any) -> set[str]:
    return {*msgspec.json.decode(text_of(state))}


def _read(source: Source, states: StatesBuilder) -> None:
    turns = source.whole(_SHAPE, "dialogue")
    wrong = (1 for pred, gold in turns.values() if pred != gold and _pairs(pred) != _pairs(gold))
    most = len(turns) - math.ceil(_TOO_GOOD * len(turns))
    if len(turns) >= _ENOUGH and (wrong_turns := sum(islice(wrong, most + 1))) <= most:
        states.note(
            f"{len(turns) - wrong_turns:,} of {len(turns):,} turns are right: was this run given the gold states? "
            "(the file that --eval_all leaves on disk was)"
        )
    states.add(((*source.split_key(key, "_"), gold, pred) for key, (pred, gold) in turns.items()), SideBuilder.pairs)


FORMAT: Final = Format(
    name="som",
    title="SOM-DST, Transformer-DST (preds_<epoch>.json)",
    example='{"MUL9901.json_0": [["hotel-area-north"], ["hotel-area-north"]]}',
    shape=_SHAPE,
    sniff=_sniff,
    reader=_read,
)
