"""KAGE-GPT2's ``test_results.json`` (Lin et al. 2021).

Conventions: one JSON list of turns with flat cumulative states; items may come in any order; the turn is what follows
the last hyphen of ``example_id``. As every slot is always there, ``none`` says that one is not in the state.
"""

from typing import Final

import msgspec

from dstbench.readers.format import FlatState, Format, SideBuilder, Source, StatesBuilder
from dstbench.readers.states import noting_gaps


class KageTurn(msgspec.Struct):
    """One turn of KAGE-GPT2 (Lin et al. 2021)."""

    example_id: str
    bs_pred_dict: FlatState
    bs_ref_dict: FlatState


def _read(source: Source, states: StatesBuilder) -> None:
    turns = (
        (*source.split_key(turn.example_id, "-", "the example_id"), turn.bs_ref_dict, turn.bs_pred_dict)
        for turn in source.objects(KageTurn, "example_id", None, "slot")
    )
    states.add(turns, SideBuilder.flat)


FORMAT: Final = Format(
    name="kage",
    title="KAGE-GPT2 (test_results.json)",
    example=(
        '[{"example_id": "MUL9901-0", "bs_pred_dict": {"hotel area": "north"}, "bs_ref_dict": {"hotel area": "north"}}]'
    ),
    shape=list[KageTurn],
    sniff=lambda source: any("bs_pred_dict" in turn for turn in source.objects_at(1, list)),
    reader=_read,
    omits=("none",),
    finish=noting_gaps(
        "; KAGE leaves out those that it cannot parse and counts them as wrong, as --gold FILE --missing wrong does"
    ),
)
