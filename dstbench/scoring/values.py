"""What values mean under a convention: each row's gold and predicted value, and whether they match.

`Judge` says so of one row, in plain Python: the answer depends on the row's slot, gold and prediction only, so it is
asked once per distinct combination of these, and remembers the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

import polars as pl

from dstbench.conventions.convention import Convention, absent_literals
from dstbench.conventions.files import Table
from dstbench.conventions.normalise import alternatives, is_dontcare, normaliser
from dstbench.scoring.rows import CELL, C, Rows, answers_of, with_answers


class Judgement(NamedTuple):
    """A row under a convention."""

    g: str | None  # gold's value; None: the slot is not in the state
    p: str | None  # the predicted value, likewise
    ok: bool  # whether both are in the state and match
    credit: float | None  # the similarity of p to g, from 0 to 1; None: not both are in the state
    g_listed: bool  # whether gold lists a scored slot at all, even with a value that means "not in the state"
    p_listed: bool
    dropped: bool  # whether a gold value is left out because its slot is not scored
    ignored: bool  # whether a predicted value is not scored: of its slot or domain, or by gold's dontcare


# The most rows, and values, whose answers are remembered, at less than 1 kB each.
_MOST_REMEMBERED: Final = 2**18
_TYPES: Final[Mapping[str, pl.DataType]] = {
    "g": pl.Categorical(),
    "p": pl.Categorical(),
    "ok": pl.Boolean(),
    "credit": pl.Float64(),
    **dict.fromkeys(("g_listed", "p_listed", "dropped", "ignored"), pl.Boolean()),
}


class Judge:
    """Applies a convention to one row at a time, and remembers; several threads may share it."""

    def __init__(self, convention: Convention) -> None:
        c = self.convention = convention
        self._scope = c.scope
        drops = [c.dontcare in ("drop", f"drop-{side}") for side in ("gold", "pred")]
        self._gold = _becomes(c.gold_steps, c.typos, absent_literals(c, "gold"), drops=drops[0])
        self._pred = _becomes(c.pred_steps, c.typos, absent_literals(c, "pred"), drops=drops[1])
        self._but_dontcare = _becomes(c.gold_steps, c.typos, frozenset(), drops=True)
        self.match = lru_cache(_MOST_REMEMBERED)(c.matcher.compare)
        self.judge = lru_cache(_MOST_REMEMBERED)(self._judge)

    def _judge(self, slot: str | None, gold: str | None, pred: str | None) -> Judgement:
        """A row of a long table."""
        if slot is None:  # it marks a turn without a prediction, which is wrong under any convention
            return Judgement(None, pred, False, None, False, pred is not None, False, False)
        c = self.convention
        g = None if gold is None else self._gold(slot, gold)
        p = None if pred is None else self._pred(slot, pred)
        is_predicted = p is not None
        is_inside = self._scope is None or slot in self._scope or (c.outside == "scored" and g is not None)
        dropped = g is not None and not is_inside
        if not is_inside or (c.dontcare == "skip" and gold is not None and self._but_dontcare(slot, gold) is None):
            g = p = None
        if c.over == "free" and g is None:
            p = None
        ok, credit = False, None
        if g is not None and p is not None:
            ok, credit = self.match(slot, g, p)
        ignored = is_predicted and p is None
        return Judgement(
            g, p, ok, credit, is_inside and gold is not None, is_inside and pred is not None, dropped, ignored
        )


@lru_cache(maxsize=64)
def judge(convention: Convention) -> Judge:
    """The judge under a convention, shared by all callers so that it remembers."""
    return Judge(convention)


@lru_cache(maxsize=64)  # conventions that clean values alike share what they remember
def _becomes(
    steps: Sequence[str], typos: Table | None, absent: frozenset[str], *, drops: bool
) -> Callable[[str, str], str | None]:
    """What becomes of a slot's value as written; None: it is not in the state. `drops`: whether dontcare is dropped."""
    normalise = normaliser(steps, typos) if steps else None

    @lru_cache(_MOST_REMEMBERED)
    def become(slot: str, value: str) -> str | None:
        if normalise is not None:
            value = normalise(slot, value)
        is_dropped = value in absent or (drops and any(map(is_dontcare, alternatives(value))))
        return None if is_dropped else value

    return become


def with_judgements(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows (slot, gold, pred, …) with a column per field of `Judgement`, whatever the rows before and after them."""
    return with_answers(rows, judge(convention).judge, CELL, _TYPES)


def _of_values(convention: Convention) -> Convention:
    """The convention without its choices that have no part in a `Judgement`; those that are then equal share them."""
    return replace(
        convention, name="", title="", metrics=None, missing="error", turns="all", unit="turn", domain_turns="gold",
        wrong_costs="once", seen=None, over="free" if convention.over == "free" else "count",
    )  # fmt: skip


def of_cells(rows: Rows, convention: Convention) -> pl.DataFrame:
    """The `Judgement` of each of the rows' cells under a convention; computed once for these rows."""
    convention = _of_values(convention)
    if convention not in rows.of_cells:
        rows.of_cells[convention] = answers_of(rows.cells.select(CELL), judge(convention).judge, _TYPES)
    return rows.of_cells[convention]


def judged(rows: Rows, convention: Convention) -> pl.LazyFrame:
    """Rows with a column per field of `Judgement`: what their values mean under a convention; and `alike`.

    `alike` says whether gold and prediction are equal, or both not in the state, once both are brought to one spelling.
    """

    def are_alike(cells: pl.Series) -> pl.Series:
        loosely = of_cells(rows, convention.loosened())
        return loosely.select(C("ok") | (C("g").is_null() & C("p").is_null())).to_series().gather(cells)

    table = rows.table.lazy().with_columns(
        *(pl.lit(column).gather(C("cell")) for column in of_cells(rows, convention)),
        alike=C("cell").map_batches(are_alike, return_dtype=pl.Boolean, is_elementwise=True),
    )
    if "domain" not in rows.table.columns:
        table = table.with_columns(domain=pl.lit(rows.cells["domain"]).gather(C("cell")))
    if convention.over != "gold-domains":
        return table
    # By this rule alone, a row depends on other rows of its turn.
    is_scored = C("g").is_not_null().any().over("key", "domain") | C("slot").is_null()
    return (
        table.with_columns(is_scored=is_scored)
        .with_columns(
            *(pl.when("is_scored").then(name).alias(name) for name in ("p", "credit")),
            *(C(name) & C("is_scored") for name in ("ok", "p_listed")),
            ignored=C("ignored") | (C("p").is_not_null() & ~C("is_scored")),
        )
        .drop("is_scored")
    )


def with_matches(rows: pl.LazyFrame, convention: Convention, gold: str, pred: str, name: str) -> pl.LazyFrame:
    """Rows with a column `name`: whether two columns of values under the convention match; False where one is null."""
    match = judge(convention).match

    def both_match(slot: str | None, g: str | None, p: str | None) -> tuple[bool]:
        return (slot is not None and g is not None and p is not None and match(slot, g, p)[0],)

    return with_answers(rows, both_match, ("slot", gold, pred), {name: pl.Boolean()})


#: Whether judged rows are wrong, but would be right if gold and prediction were spelled alike.
SPELLED: Final = (C("g").is_not_null() | C("p").is_not_null()) & ~C("ok") & C("slot").is_not_null() & C("alike")
