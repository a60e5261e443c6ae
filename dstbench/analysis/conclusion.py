"""The conclusion of a diagnosis, in at most three lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.sentences import listed, percent
from dstbench.errors import number_of

if TYPE_CHECKING:
    from dstbench.analysis.diagnose import Diagnosis

_KINDS: Final = {"missed": "missed", "wrong": "wrong values", "over": "over-predicted"}


def conclusion(diagnosis: Diagnosis) -> list[str]:
    """What share of dialogues fails and how early, which errors are most frequent, and which slots are worst."""
    return [line for line in (_failing(diagnosis), _errors(diagnosis.errors), _slots(diagnosis)) if line]


def _failing(diagnosis: Diagnosis) -> str:
    """The share of dialogues that fail, and the part of a dialogue in which half of them have failed first."""
    runs = diagnosis.runs.filter(pl.col("dialogues") > 0)
    if not runs["failing"].sum():
        return "no dialogue fails"
    shares = runs.select("run", share=pl.col("failing") / pl.col("dialogues")).sort("share", maintain_order=True)
    (least, low), (most, high) = shares.row(0), shares.row(-1)
    of_runs = (
        f"{percent(100 * low)} ({least}) to {percent(100 * high)} ({most})" if shares.height > 1 else percent(100 * low)
    )
    bins = diagnosis.first_failures.group_by("high").agg(pl.col("dialogues").sum()).sort("high")
    half = bins.filter(2 * pl.col("dialogues").cum_sum() >= pl.col("dialogues").sum())["high"].item(0)
    by = (
        f"half of these within the first {100 * half:.0f} % of their turns"
        if half < 1
        else "more than half of these first in their last tenth"
    )
    return f"{of_runs} of dialogues fail, {by}"


def _errors(errors: pl.DataFrame) -> str | None:
    """The share of each kind among the slots that are not right, the most frequent class, and turns not predicted."""
    turns = errors.filter(kind="no-prediction").select(pl.col("n").sum()).item()
    without = f"{number_of(turns, 'turn')} without a prediction" if turns else None
    classes = errors.filter(pl.col("kind").is_in(list(_KINDS)))
    sums = classes.group_by("class", "kind", maintain_order=True).agg(pl.col("n").sum())
    total = sums["n"].sum()
    if not total:
        return without
    kinds = sums.group_by("kind", maintain_order=True).agg(pl.col("n").sum()).sort("n", descending=True)
    shares = ", ".join(f"{percent(100 * n / total)} {_KINDS[kind]}" for kind, n in kinds.iter_rows() if n)
    most = sums.filter(pl.col("n") == sums["n"].max())
    line = f"errors: {shares}; most frequent: {' and '.join(most['class'])} ({percent(100 * most['n'][0] / total)})"
    return f"{line}; {without}" if without else line


def _slots(diagnosis: Diagnosis) -> str | None:
    """The slot that is right least often where gold has it, and the slots of gold that runs never predict."""
    slots = diagnosis.errors_by_slot.drop_nulls("slot").group_by("run", "slot", maintain_order=True)
    counts = slots.agg(
        pl.col("gold", "predicted").first(), right=pl.col("n").filter(pl.col("kind") == "correct").sum()
    ).filter(pl.col("gold") > 0)
    if counts.is_empty():
        return None
    predicted = counts.filter(pl.col("predicted") > 0).group_by("slot").agg(pl.col("right", "gold").sum())
    rates = predicted.with_columns(rate=pl.col("right") / pl.col("gold")).sort("rate", "slot")
    lines = []
    if rates.height and rates["rate"][0] < 1:
        slot, *_, rate = rates.row(0)
        lines.append(f"worst slot: {slot} (right in {percent(100 * rate)})")
    never = counts.filter(pl.col("predicted") == 0).group_by("run", maintain_order=True).agg("slot")
    never = never.sort(pl.col("slot").list.len(), descending=True, maintain_order=True)
    if never.height:
        run, names = never.row(0)
        more = f", and slots of {number_of(never.height - 1, 'more run')}" if never.height > 1 else ""
        lines.append(f"never predicted: {listed(names, 1)} ({run}){more}")
    return "; ".join(lines) or "every slot that gold has is right"
