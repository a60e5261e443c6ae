"""Dumps of models that predict a value per slot and turn but write no file, such as SAVN (Wang et al. 2020).

Conventions: as for the dump in `dstbench help own-data`: the slots once, and per dialogue and turn a value for each
slot, in the same order, cumulative. Every slot is always there, so ``none`` says that one is not in the state;
``dontcare`` is kept as written. No gold inside.
"""

from typing import Any, Final

from dstbench.readers.format import Format, Source
from dstbench.readers.notations import typed
from dstbench.readers.rows import Row
from dstbench.readers.state_text import Misfit


def _sniff(source: Source) -> bool:
    document = source.sample if source.kind == "json" else None
    return isinstance(document, dict) and document.keys() >= {"slots", "predictions"}


def _decoded(source: Source) -> dict[str, dict[str, dict[str, Any]]]:
    """The states by dialogue and turn."""
    where: dict[str, str] = {}
    try:
        document, states = typed(source.json, dict), dict[str, dict[str, Any]]()
        slots = [typed(slot, str) for slot in typed(document["slots"], list)]
        if len(set(slots)) < len(slots):
            raise source.misshapen("a slot is listed twice in slots")
        for dialogue, turns in typed(document["predictions"], dict).items():
            where = {"dialogue": dialogue}
            for turn, values in typed(turns, dict).items():
                where = {"dialogue": dialogue, "turn": turn}
                if len(typed(values, list)) != len(slots):
                    raise source.misshapen(f"{len(values)} values for {len(slots)} slots", **where)
                states.setdefault(dialogue, {})[turn] = dict(zip(slots, values, strict=True))
    except KeyError as error:
        raise source.misshapen(f"no {error.args[0]} here") from None
    except Misfit as error:
        raise source.misshapen(error.what, **where) from None
    return states


FORMAT: Final[Format] = Row(
    name="savn",
    title="dump of SAVN (see `dstbench help own-data`); needs --gold",
    example='{"slots": ["hotel-area", "hotel-name"], "predictions": {"MUL9901.json": {"0": ["north", "none"]}}}',
    path="{dialogue} {turn}", pred=":flat", omits=("none",), decode=_decoded, options={"sniff": _sniff},
).format()  # fmt: skip
