"""What values mean under a convention: each row's gold and predicted value, and whether they match.

`judge` says so of one row, in plain Python: the answer depends on the row's slot, gold and prediction only, so it is
asked once per distinct combination of these, and remembers the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import polars as pl

from dstbench.conventions.convention import Convention, absent_literals
from dstbench.conventions.files import Table
from dstbench.conventions.matching import ValueMatcher
from dstbench.conventions.normalise import alternatives, is_dontcare, normaliser
from dstbench.tables import collect

C: Final = pl.col
#: What a convention looks at in a row.
CELL: Final = ("slot", "gold", "pred")
# The most rows, and values, whose answers are remembered, at less than 1 kB each.
_MOST_REMEMBERED: Final = 2**18


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


#: The types of these fields as columns.
JUDGEMENT: Final[Mapping[str, pl.DataType]] = {
    "g": pl.Categorical(),
    "p": pl.Categorical(),
    "ok": pl.Boolean(),
    "credit": pl.Float64(),
    **dict.fromkeys(("g_listed", "p_listed", "dropped", "ignored"), pl.Boolean()),
}
#: What becomes of a slot's value as written; None: it is not in the state.
Become: TypeAlias = Callable[[str, str], str | None]


@lru_cache(maxsize=64)
def judge(c: Convention) -> Callable[[str | None, str | None, str | None], Judgement]:
    """The judge of rows (slot, gold, prediction) under a convention, which all callers share."""
    scope, match = c.scope, _match(c.matcher)
    become_gold = _become(c.gold_steps, c.typos, absent_literals(c, "gold"), c.dontcare in ("drop", "drop-gold"))
    become_pred = _become(c.pred_steps, c.typos, absent_literals(c, "pred"), c.dontcare in ("drop", "drop-pred"))
    but_dontcare = _become(c.gold_steps, c.typos, frozenset(), is_dontcare_dropped=True)

    @lru_cache(_MOST_REMEMBERED)
    def judgement(slot: str | None, gold: str | None, pred: str | None) -> Judgement:
        if slot is None:  # it marks a turn without a prediction, which is wrong under any convention
            return Judgement(None, pred, False, None, False, pred is not None, False, False)
        g = None if gold is None else become_gold(slot, gold)
        p = None if pred is None else become_pred(slot, pred)
        is_predicted = p is not None
        is_inside = scope is None or slot in scope or (c.outside == "scored" and g is not None)
        dropped = g is not None and not is_inside
        if not is_inside or (c.dontcare == "skip" and gold is not None and but_dontcare(slot, gold) is None):
            g = p = None
        if c.over == "free" and g is None:
            p = None
        ok, credit = (False, None) if g is None or p is None else match(slot, g, p)
        listed = is_inside and gold is not None, is_inside and pred is not None
        return Judgement(g, p, ok, credit, *listed, dropped, ignored=is_predicted and p is None)

    return judgement


@lru_cache(maxsize=64)
def _match(matcher: ValueMatcher) -> Callable[[str, str, str], tuple[bool, float]]:
    return lru_cache(_MOST_REMEMBERED)(matcher.compare)


@lru_cache(maxsize=64)  # conventions that clean values alike share what they remember
def _become(steps: Sequence[str], typos: Table | None, absent: frozenset[str], is_dontcare_dropped: bool) -> Become:
    """The function from a value as written to the value under a convention."""
    normalise = normaliser(steps, typos) if steps else None

    @lru_cache(_MOST_REMEMBERED)
    def become(slot: str, value: str) -> str | None:
        if normalise is not None:
            value = normalise(slot, value)
        is_dropped = value in absent or (is_dontcare_dropped and any(map(is_dontcare, alternatives(value))))
        return None if is_dropped else value

    return become


def answers_of(asked: pl.DataFrame, function: Callable[..., Any], types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """What a function of strings (None for null) says of each row: a column per answer, of which it gives a tuple."""
    answers = [*zip(*(function(*row) for row in asked.iter_rows()), strict=True)] or [()] * len(types)
    columns = zip(types.items(), answers, strict=True)
    return pl.DataFrame([pl.Series(name, of_column, dtype) for (name, dtype), of_column in columns])


def with_answers(
    rows: pl.LazyFrame, function: Callable[..., Any], arguments: Sequence[str], answers: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Rows with what a function of the strings in some columns (`arguments`) says of them; see `answers_of`."""
    table = collect(rows)
    distinct = table.select(arguments).unique()
    answered = distinct.hstack(answers_of(distinct, function, answers)).lazy()
    return table.lazy().join(answered, on=arguments, how="left", nulls_equal=True, maintain_order="left")


def with_judgements(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows (slot, gold, pred, …) with a column per field of `Judgement`, whatever the rows before and after them."""
    return with_answers(rows, judge(convention), CELL, JUDGEMENT)


def with_matches(rows: pl.LazyFrame, convention: Convention, gold: str, pred: str, name: str) -> pl.LazyFrame:
    """Rows with a column `name`: whether two columns of values under the convention match; False where one is null."""
    match = _match(convention.matcher)

    def both_match(slot: str | None, g: str | None, p: str | None) -> tuple[bool]:
        return (slot is not None and g is not None and p is not None and match(slot, g, p)[0],)

    return with_answers(rows, both_match, ("slot", gold, pred), {name: pl.Boolean()})
