"""KAGE-GPT2's ``test_results.json`` (Lin et al. 2021).

Conventions: one JSON list of turns with flat cumulative states; items may come in any order. As every slot is always
there, ``none`` is how these files leave one out, and such a value is no value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
import polars as pl

from dstbench.readers.builder import StatesBuilder, skipped
from dstbench.readers.columns import Columns, Objects, states_of
from dstbench.readers.source import Format, Source
from dstbench.readers.states import States, listed
from dstbench.readers.tokens import Tokens


class KageTurn(msgspec.Struct):
    """One turn of KAGE-GPT2 (Lin et al. 2021)."""

    example_id: str
    bs_pred_dict: dict[str, str]
    bs_ref_dict: dict[str, str]


def _columns(found: Tokens) -> Columns | None:
    turns = Objects.of(found)
    named = None if turns is None else turns.strings("example_id")
    if turns is None or named is None:
        return None
    parts = named.words.str.extract_groups("(?s)^(?<dialogue>.+)-(?<turn>[0-9]+)$").struct.unnest()
    gold, pred = turns.flat("bs_ref_dict"), turns.flat("bs_pred_dict")
    if gold is None or pred is None or parts["turn"].null_count():
        return None
    if len(gold.present) != turns.height or len(pred.present) != turns.height:
        return None
    number = parts["turn"].gather(pl.Series(named.code))
    return Columns(named.renamed(parts["dialogue"].to_list()), number, gold.without("none"), pred.without("none"))


def sniff(source: Source) -> bool:
    """Whether turns hold ``bs_pred_dict``."""
    return source.lists("bs_pred_dict")


def read(source: Source) -> States:
    """Read KAGE's ``test_results.json``; the turn stands after the last hyphen of ``example_id``."""
    if (quick := states_of(source, FORMAT.name, _columns)) is not None:
        lost = _unparsed(skipped(quick.gold.turns)) if quick.gold else []
        return replace(quick, notes=(*(f"{source.name}: {note}" for note in lost), *quick.notes))
    states = StatesBuilder(source.name, FORMAT.name)
    for turn in source.objects(KageTurn, "example_id", (None, "slot"), of="turns", hint=FORMAT.hint):
        at = states.turn(*source.dialogue_and_turn(turn.example_id, "-", "the example_id"))
        states.pred.flat(at, listed(turn.bs_pred_dict, ("none",)))
        states.gold.flat(at, listed(turn.bs_ref_dict, ("none",)))
    for note in _unparsed(states.skipped()):
        states.note(note)
    return states.build()


def _unparsed(turns: int) -> list[str]:
    """What is to be said of turns that are not there."""
    if not turns:
        return []
    return [
        f"{turns:,} turns between others are not in the file; KAGE leaves out those that it could not parse and "
        "counts them as wrong: --gold FILE --missing wrong does too"
    ]


FORMAT: Final = Format(
    name="kage",
    title="KAGE-GPT2 (test_results.json)",
    holds=("gold", "pred"),
    example=(
        '[{"example_id": "MUL9901-0", "bs_pred_dict": {"hotel area": "north"}, "bs_ref_dict": {"hotel area": "north"}}]'
    ),
    shape=list[KageTurn],
    sniff=sniff,
    read=read,
)
