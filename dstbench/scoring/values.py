"""What values mean under a convention: each row's gold and predicted value, and whether they match.

`Judge` says so of one row, in plain Python: the answer depends on the row's slot, gold and prediction only. `judged`
asks it once per distinct combination of these and joins the answers to the rows (`with_answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import polars as pl

from dstbench.conventions.convention import Convention, absent_literals
from dstbench.conventions.normalise import alternatives, is_dontcare, normaliser
from dstbench.conventions.slots import domain_of

C: Final = pl.col
CELL: Final = ("slot", "gold", "pred")
# The most combinations whose answers are remembered, at some 300 bytes each.
_MOST_REMEMBERED: Final = 2**20


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


_TYPES: Final[Mapping[str, pl.DataType]] = {
    "g": pl.Categorical(),
    "p": pl.Categorical(),
    "ok": pl.Boolean(),
    "credit": pl.Float64(),
    **dict.fromkeys(("g_listed", "p_listed", "dropped", "ignored"), pl.Boolean()),
}


class Judge:
    """Applies a convention to one row at a time, and remembers its answers; several threads may share it."""

    def __init__(self, convention: Convention) -> None:
        c = self.convention = convention
        self._scope, self._matcher = c.scope, c.matcher
        self._compares_strings = c.is_fuzzy or c.multi != "literal"
        self._gold = _becomes(c, c.gold_steps, absent_literals(c, "gold"), drops=c.dontcare in ("drop", "drop-gold"))
        self._pred = _becomes(c, c.pred_steps, absent_literals(c, "pred"), drops=c.dontcare in ("drop", "drop-pred"))
        self._but_dontcare = _becomes(c, c.gold_steps, frozenset(), drops=True)
        self.judge = lru_cache(_MOST_REMEMBERED)(self._judge)
        self.match = lru_cache(_MOST_REMEMBERED)(self._match)

    def _judge(self, slot: str | None, gold: str | None, pred: str | None) -> Judgement:
        """A row of a long table."""
        if slot is None:  # it marks a turn without a prediction, which is wrong under any convention
            return Judgement(None, pred, False, None, False, pred is not None, False, False)  # noqa: FBT003
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
            ok, credit = self.match(slot, g, p), self._matcher.similarity(slot, g, p)
        ignored = is_predicted and p is None
        return Judgement(
            g, p, ok, credit, is_inside and gold is not None, is_inside and pred is not None, dropped, ignored
        )

    def _match(self, slot: str, g: str, p: str) -> bool:
        """Whether a value under the convention, of the prediction, matches one of gold."""
        return g == p or (self._compares_strings and self._matcher.accepts(slot, g, p))


@lru_cache(maxsize=64)
def judge(convention: Convention) -> Judge:
    """The judge under a convention, shared by all callers so that it remembers."""
    return Judge(convention)


def _becomes(
    convention: Convention, steps: Sequence[str], absent: frozenset[str], *, drops: bool
) -> Callable[[str, str], str | None]:
    """What becomes of a slot's value as written; None: it is not in the state. `drops`: whether dontcare is dropped."""
    normalise = normaliser(steps, convention.typos) if steps else None

    @lru_cache(_MOST_REMEMBERED)
    def become(slot: str, value: str) -> str | None:
        if normalise is not None:
            value = normalise(slot, value)
        is_dropped = value in absent or (drops and any(map(is_dontcare, alternatives(value))))
        return None if is_dropped else value

    return become


def judged(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Rows with what their values mean under a convention.

    Args:
        rows: Rows of a long table with their `domain`, sorted by (dialogue, slot, turn), of whole dialogues.
        convention: The convention.

    Returns:
        The rows, with a column per field of `Judgement`.

    Raises:
        DstbenchError: Two values are too long to be compared.
    """
    rows = with_answers(rows, judge(convention).judge, CELL, _TYPES)
    if convention.over != "gold-domains":
        return rows
    # By this rule alone, a row depends on other rows of its turn.
    is_scored = C("g").is_not_null().any().over("dialogue", "turn", "domain") | C("slot").is_null()
    rows = rows.with_columns(is_scored=is_scored)
    return rows.with_columns(
        *(pl.when("is_scored").then(name).alias(name) for name in ("p", "credit")),
        *(C(name) & C("is_scored") for name in ("ok", "p_listed")),
        ignored=C("ignored") | (C("p").is_not_null() & ~C("is_scored")),
    ).drop("is_scored")


def with_matches(rows: pl.LazyFrame, convention: Convention, gold: str, pred: str, name: str) -> pl.LazyFrame:
    """Rows with a column `name`: whether two columns of values under the convention match; False where one is null."""
    match = judge(convention).match

    def both_match(slot: str | None, g: str | None, p: str | None) -> tuple[bool]:
        return (slot is not None and g is not None and p is not None and match(slot, g, p),)

    return with_answers(rows, both_match, ("slot", gold, pred), {name: pl.Boolean()})


def with_spelling(rows: pl.LazyFrame, convention: Convention) -> pl.LazyFrame:
    """Judged rows with a column `spelling`: whether they are wrong, but would be right if both sides spelled alike."""
    loosely = judge(convention.loosened()).judge

    def are_alike(slot: str | None, gold: str | None, pred: str | None, wrong: bool) -> tuple[bool]:  # noqa: FBT001
        if not wrong or slot is None:
            return (False,)
        g, p, ok, *_ = loosely(slot, gold, pred)
        return (ok or (g is None and p is None),)

    wrong = (C("g").is_not_null() | C("p").is_not_null()) & ~C("ok")
    rows = with_answers(rows.with_columns(wrong=wrong), are_alike, (*CELL, "wrong"), {"spelling": pl.Boolean()})
    return rows.drop("wrong")


def with_domains(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with the domain of their slot, as a dictionary column; null where there is no slot."""
    return with_answers(
        rows, lambda slot: (None if slot is None else domain_of(slot),), ("slot",), {"domain": pl.Categorical()}
    )


def with_answers(
    rows: pl.LazyFrame, function: Callable[..., Any], arguments: Sequence[str], answers: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """Rows with what a function of strings says of them; it is called once per distinct combination of arguments.

    Args:
        rows: The rows.
        function: From the values of these columns (strings, flags, or None for null) to a tuple of answers.
        arguments: The columns.
        answers: The names and types of the new columns.
    """
    table = rows.collect()
    # Most rows repeat the row before them, so only the first of equal neighbours is looked up.
    differs = table.select(pl.any_horizontal(C(arguments).ne_missing(C(arguments).shift(1)))).to_series()
    if len(differs):
        differs[0] = True
    first = table.lazy().select(arguments).filter(differs).collect()
    distinct = first.unique()
    asked = distinct.with_columns(pl.col(pl.Categorical).cast(pl.String)).iter_rows()
    of_distinct = pl.DataFrame([function(*row) for row in asked], schema=dict(answers), orient="row")
    answered = first.join(
        distinct.hstack(of_distinct), on=list(arguments), how="left", nulls_equal=True, maintain_order="left"
    )
    return table.with_columns(answered.select(C(list(answers)).gather(differs.cum_sum() - 1))).lazy()
