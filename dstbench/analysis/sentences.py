"""Findings as sentences: what a finding is, and how names and numbers are written in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from dstbench.metrics.registry import name_of

#: A share in percent, rounded as sentences print it: values that print alike are equal where a sentence orders them.
SHOWN: Final = (100 * pl.col("value")).round(1).alias("shown")
_MOST: Final = 5  # names in a list
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


@dataclass(frozen=True)
class Finding:
    """One thing that a reader of results should know first.

    Attributes:
        kind: What it is about: best, order, never, check, slots or errors.
        text: One sentence, or two.
        chapter: Where its evidence is: scores, conventions, slots, errors or notes.
        runs: The runs that it is about.
    """

    kind: Literal["best", "order", "never", "check", "slots", "errors"]
    text: str
    chapter: Literal["scores", "conventions", "slots", "errors", "notes"]
    runs: tuple[str, ...]


def listed(names: Sequence[str], most: int = _MOST) -> str:
    """Names as in a sentence; the first of them and the number of the rest if there are more than `most`.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 1)
    ('a, b and c', 'a and 2 more')
    """
    shown = list(names) if len(names) <= most else [*names[:most], f"{len(names) - most:,} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def percent(shown: float) -> str:
    """A value of `SHOWN` as text."""
    return f"{shown + 0:.1f} %"  # + 0, as -0.0 is 0.0


def place(above: int, of: int) -> str:
    """The place of a run that has `above` of `of` runs above it, in words: ``first``, ``third``, ``last``."""
    if above == of - 1:
        return "last"
    return _ORDINALS[above] if above < len(_ORDINALS) else f"number {above + 1}"


def ranked(scores: pl.DataFrame) -> pl.DataFrame:
    """The scores of the first metric that is a share, from the highest to the lowest; undefined ones last."""
    shares = scores.filter(unit="share").with_columns(SHOWN)
    of_first = shares.filter(pl.col("metric") == pl.col("metric").first())
    return of_first.sort("value", descending=True, nulls_last=True, maintain_order=True)


def highest(scores: pl.DataFrame) -> list[str]:
    """The run with the highest score of the first metric that is a share, and the next; empty for a single run.

    >>> rows = [("a", "jga", "share", 0.5), ("b", "jga", "share", 0.25)]
    >>> highest(pl.DataFrame(rows, schema=["run", "metric", "unit", "value"], orient="row"))
    ['a has the highest JGA, 50.00; b follows with 25.00']
    """
    board = ranked(scores).drop_nulls("value")
    if board["value"].n_unique() < 2:
        return []
    name, (first, second) = name_of(board["metric"][0]), board["value"].unique().sort(descending=True)[:2]
    (best, next_ones) = (listed(board.filter(value=value)["run"].to_list()) for value in (first, second))
    has, follows = ("have" if " and " in best else "has"), ("follow" if " and " in next_ones else "follows")
    return [f"{best} {has} the highest {name}, {100 * first:.2f}; {next_ones} {follows} with {100 * second:.2f}"]


def led_by_others(values: pl.DataFrame, by: str, best: Sequence[str]) -> pl.DataFrame:
    """The groups in which none of the best runs has the highest value."""
    top = values.drop_nulls("shown").filter(pl.col("shown") == pl.col("shown").max().over(by))
    led = top.with_columns(ours=pl.col("run").is_in(best).any().over(by)).filter(~pl.col("ours"))
    return led.group_by(by, maintain_order=True).agg("run", pl.col("shown").first())
