"""The main findings of a report, in sentences: which run is best and under which conventions, and where runs fail.

Conventions: values that are equal in percent with one decimal count as equal where an order is named. Runs are named
from the highest value to the lowest, those with the same value in the order of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from dstbench.analysis.check import COVERAGE
from dstbench.analysis.compare import Leaderboard
from dstbench.analysis.diagnose import Diagnosis
from dstbench.analysis.sentences import Finding, listed, percent, ranked
from dstbench.analysis.standing_findings import best_run, order_of_runs, spread_of_run
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of
from dstbench.signature import parse

_FEW: Final = 3  # slots with a number each, or runs with a clause each
_F1: Final = "f1:avg=micro"
_KINDS: Final = {"missed": "missed slots", "wrong": "wrong values", "over": "over-predicted slots"}
_MISSING_TURNS: Final = {"wrong": "count as wrong", "empty": "count as empty states", "intersect": "are not scored"}


def findings(
    leaderboard: Leaderboard, by_slot: pl.DataFrame, swept: pl.DataFrame, diagnosis: Diagnosis, checks: pl.DataFrame
) -> list[Finding]:
    """The findings on runs over one gold, in order of interest; none where there is nothing to say.

    Args:
        leaderboard: The runs' scores and differences (`compare`). The first metric that is a share ranks the runs.
        by_slot: Their scores by slot, by the default metrics.
        swept: Their scores by that metric under other conventions (`sweep`).
        diagnosis: Where they fail.
        checks: What is doubtful about them (`check`).
    """
    board = ranked(leaderboard.scores)
    runs = board["run"].to_list() or diagnosis.runs["run"].to_list()
    slots = _counts_by_slot(by_slot, runs)
    if len(runs) == 1:
        first = [_score(board, diagnosis), spread_of_run(board, swept)]
    else:
        first = [best_run(leaderboard), order_of_runs(board, swept, checks)]
    rest = [_never(slots, runs), _doubts(checks, diagnosis, runs), _worst(slots, runs), _errors(diagnosis, runs)]
    return [finding for finding in [*first, *rest] if finding is not None]


def badges(checks: pl.DataFrame) -> dict[str, list[tuple[str, str, str]]]:
    """For each run its failures and then its warnings, from `check`: the status, about five words, and the whole text.

    >>> from dstbench import check
    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    >>> badges(check({"a": states}))["a"][0][:2]
    ('warn', 'JGA, SA not above empty prediction')
    """
    doubts = checks.drop_nulls("short").sort(pl.col("status") != "fail", maintain_order=True)
    texts: dict[str, list[tuple[str, str, str]]] = {run: [] for run in checks["run"]}
    for run, status, short, whole in doubts.select("run", "status", "short", "found").iter_rows():
        texts[run].append((status, short, whole))
    return texts


def _score(board: pl.DataFrame, diagnosis: Diagnosis) -> Finding | None:
    """The score of a single run, and how many of its dialogues fail, and when."""
    (run, of, failing), *_ = diagnosis.runs.select("run", "dialogues", "failing").iter_rows()
    clauses = []
    for metric, shown in board.select("metric", "shown").iter_rows():
        clauses.append(
            f"{name_of(metric)} is undefined for {run}"
            if shown is None
            else f"{run} has {name_of(metric)} {percent(shown)}"
        )
    if of:
        early = diagnosis.first_failures.filter(pl.col("high") <= 0.5)["dialogues"].sum()
        when = f", {early:,} of which have their first in the first half" if failing else ""
        clauses.append(f"{failing:,} of {number_of(of, 'dialogue')} end in a wrong turn{when}")
    return Finding("best", f"{'; '.join(clauses)}.", "scores", (run,)) if clauses else None


def _counts_by_slot(by_slot: pl.DataFrame, runs: Sequence[str]) -> pl.DataFrame:
    """(run, slot, gold and pred: turns with a value, correct: turns, value: F1) of gold's slots, runs in this order."""
    order = pl.DataFrame({"run": runs}, schema={"run": pl.String})
    of = {name: pl.col("value").filter(metric=name).sum() for name in ("correct", "wrong", "missed", "over")}
    counts = by_slot.group_by("run", pl.col("slot").cast(pl.String), maintain_order=True).agg(
        correct=of["correct"],
        gold=of["correct"] + of["wrong"] + of["missed"],
        pred=of["correct"] + of["wrong"] + of["over"],
        value=pl.col("value").filter(metric=_F1).first(),
    )
    return order.join(counts.filter(pl.col("gold") > 0), "run", maintain_order="left")


def _never(slots: pl.DataFrame, runs: Sequence[str]) -> Finding | None:
    """The slots that runs never predict though gold has them."""
    verbs = "never predicts", "never predict", "predicts"
    text, named_runs = _shared(slots.filter(pl.col("pred") == 0), runs, verbs)
    return Finding("never", f"{text}.", "slots", named_runs) if text else None


def _worst(slots: pl.DataFrame, runs: Sequence[str]) -> Finding | None:
    """The slots on which runs are never right though they predict them, then those with the lowest F1 over runs."""
    verbs = "is never right on", "are never right on", "is ever right on"
    never_right = slots.filter(pl.col("pred") > 0, pl.col("correct") == 0)
    text, named_runs = _shared(never_right, runs, verbs)
    shown = (100 * pl.col("value")).round(1)
    f1 = slots.group_by("slot").agg(median=pl.col("value").median(), low=shown.min(), high=shown.max())
    worst = f1.filter(pl.col("median") > 0, pl.col("low") < 100).sort("median", "slot").head(_FEW)
    lowest = [
        f"{slot} ({percent(low) if low == high else f'{low + 0:.1f} to {percent(high)}'})"
        for slot, low, high in worst.select("slot", "low", "high").iter_rows()
    ]
    if not text and not lowest:
        return None
    are_others = bool(text) and set(worst["slot"]).isdisjoint(never_right["slot"])
    low_f1 = (
        f"{'The other slots' if are_others else 'The slots'} with the lowest F1: {listed(lowest)}" if lowest else ""
    )
    sentences = [f"{sentence}." for sentence in (text, low_f1) if sentence]
    return Finding("slots", " ".join(sentences), "slots", tuple(runs) if lowest else named_runs)


def _shared(rows: pl.DataFrame, runs: Sequence[str], verbs: tuple[str, str, str]) -> tuple[str, tuple[str, ...]]:
    """A sentence on slots of gold, with a clause for the slots that the same runs share; and the runs that it names.

    Args:
        rows: (run, slot, gold: turns).
        runs: All runs.
        verbs: What one run does, what several do, and what no run does if all do it.
    """
    by_slot = rows.group_by("slot", maintain_order=True).agg("run", pl.col("gold").first())
    shared = (
        by_slot.sort("gold", "slot", descending=[True, False])
        .group_by("run", maintain_order=True)
        .agg("slot", pl.col("gold").sum())
        .sort(pl.col("gold") * pl.col("run").list.len(), descending=True, maintain_order=True)
    )
    one, several, none = verbs
    clauses: list[str] = []
    for names, slots, _ in shared.head(_FEW).iter_rows():
        everyone = len(names) == len(runs) > 1
        who = (
            f"{'no' if clauses else 'No'} run {none}"
            if everyone
            else f"{listed(names)} {several if names[1:] else one}"
        )
        clauses.append(f"{who} {number_of(len(slots), 'slot')} of gold: {listed(slots)}")
    named_runs = tuple(dict.fromkeys(shared.head(_FEW)["run"].explode()))
    others = [run for run in runs if run in set(shared["run"].explode()) - set(named_runs)]
    return "; ".join([*clauses, *([f"other slots: {listed(others)}"] if others else [])]), (*named_runs, *others)


def _errors(diagnosis: Diagnosis, runs: Sequence[str]) -> Finding | None:
    """The most frequent kind of error, the share of old errors, and the run whose share of that kind differs most."""
    kinds = list(_KINDS)
    errors = diagnosis.errors.filter(pl.col("kind").is_in(kinds))
    stale = pl.col("n").filter(pl.col("class").str.ends_with("-stale")).sum()
    counts = [pl.col("n").filter(kind=kind).sum().alias(kind) for kind in kinds]
    totals = errors.select(*counts, stale=stale, n=pl.col("n").sum()).row(0, named=True)
    if not totals["n"]:
        return None
    share = {kind: 100 * totals[kind] / totals["n"] for kind in kinds}
    first, *others = sorted(kinds, key=lambda kind: -totals[kind])
    tied = totals[first] == totals[others[0]]
    verb = "are as frequent as any other error" if tied else "are the most frequent errors"
    rest = " and ".join(f"{_KINDS[kind]} {percent(share[kind])}" for kind in others)
    old = percent(100 * totals["stale"] / totals["n"])
    text = (
        f"{_KINDS[first].capitalize()} {verb}: {percent(share[first])}, {rest}; at least {old} of errors are carried "
        "over from the turn before (stale)."
    )
    by_run = errors.group_by("run", maintain_order=True).agg(*counts, n=pl.col("n").sum()).filter(pl.col("n") > 0)
    shares = by_run.select("run", (100 * pl.col(first) / pl.col("n")).alias("share"))
    gaps = shares.with_columns(gap=(pl.col("share") - share[first]).abs())
    run, of_run, gap = gaps.sort("gap", descending=True, maintain_order=True).row(0)
    if round(gap, 1):
        text += f" {run} differs most: {percent(of_run)} {_KINDS[first]}."
    return Finding("errors", text, "errors", tuple(runs))


def _doubts(checks: pl.DataFrame, diagnosis: Diagnosis, runs: Sequence[str]) -> Finding | None:
    """The runs that lack turns, those that fail a check, and those with warnings."""
    order = pl.DataFrame({"run": runs}, schema={"run": pl.String})
    checks = order.join(checks, "run", maintain_order="left_right")
    lack = checks.filter(pl.col("n") > 0, check=COVERAGE).group_by("n", maintain_order=True).agg("run")
    lack = lack.sort("n", descending=True, maintain_order=True)
    lacking = lack["run"].explode().to_list()
    signatures = diagnosis.runs.filter(pl.col("run").is_in(lacking))["signature"]
    ways = {parse(signature).complete()["missing"] for signature in signatures}
    which = f", which {_MISSING_TURNS[ways.pop()]}" if len(ways) == 1 else ""
    clauses = [
        f"{listed(names)} {'lacks' if len(names) == 1 else 'lack'} {number_of(turns, 'turn')}{which if first else ''}"
        for first, (turns, names) in zip([True, False, False], lack.iter_rows(), strict=False)
    ]
    if lack.height > _FEW:
        clauses.append("others lack fewer")
    sentences = [f"{'; '.join(clauses)}."] if clauses else []
    doubts = []
    other = checks.drop_nulls("short").filter(pl.col("check") != COVERAGE)
    for status, verb in (("fail", "fail for"), ("warn", "give warnings for")):
        of_runs = other.filter(status=status).group_by("run", maintain_order=True).agg("short")
        texts = of_runs.select(pl.format("{} ({})", "run", pl.col("short").list.join(", "))).to_series().to_list()
        if len(texts) > _FEW:
            doubts.append(
                f"{verb} {f'all {len(runs)} runs' if len(texts) == len(runs) else listed(of_runs['run'].to_list())}"
            )
        elif texts:
            doubts.append(f"{verb} {listed(texts)}")
    if doubts:
        sentences.append(f"Checks {' and '.join(doubts)}.")
    named_runs = tuple(dict.fromkeys([*lacking, *other["run"]]))
    return Finding("check", " ".join(sentences), "notes", named_runs) if sentences else None
