"""Warnings about scores: how much of an error is due to spelling or alternatives alone, and which option accepts them.

A slot is wrong *by spelling* if gold and prediction are equal, or both mean "not in the state", once both are brought
to one spelling (`normalise.LOOSE`). A turn is wrong by spelling alone if all of its wrong slots are wrong by spelling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import OF_FORMATS, profile, suits
from dstbench.errors import number_of, warn
from dstbench.metrics import Metric, parse, stats_of
from dstbench.metrics.built_in import SA
from dstbench.runs.run import Run
from dstbench.scoring.partitions import count_rows, over_parts
from dstbench.scoring.sums import Sums, resolve, sum_up
from dstbench.scoring.values import SPELLED, judged

# A note is given if another option gains more than this in JGA.
_WORTH: Final = 0.01
# The profile that brings both sides to one spelling.
_CANONICAL: Final = "star"
_EXAMPLES: Final = 2  # in a note
_WRONG: Final = pl.col("n_union").cast(pl.Int64) - pl.col("n_correct")
#: Statistics for `warn_of_scores`: the right turns, and those that are wrong by spelling alone.
SPELLING: Final = {
    **stats_of(parse("jga")),
    "spelled": ((_WRONG > 0) & (pl.col("n_spelling") == _WRONG)).cast(pl.Int64),
}
# Runs of more turns are not scored again under the profile of their format.
_MOST_TURNS: Final = 200_000
_MOST: Final = 3  # runs in a note


class Remedy(NamedTuple):
    """An option that makes values equal which differ by spelling only, and the joint goal accuracy under it."""

    option: str
    jga: float


def warn_of_scores(scored: Sequence[tuple[Run, Sums]], metrics: Sequence[Metric], convention: Convention) -> None:
    """Warn if alternatives or spelling (`SPELLING`) lower scores, or if a turn has more errors than T slots."""
    for run, sums in scored:
        warn_of_alternatives(run, sums, convention)
        for metric in resolve(metrics, [sums], convention):
            if isinstance(metric, SA) and 0 < (metric.T or 0) < sums.most_errors:
                warn(
                    f"a turn has {sums.most_errors} wrong slots, more than the T = {metric.T} of {metric}; "
                    "such turns score below 0",
                    run=run.name,
                )
    _warn_of_order(scored, convention)
    _warn_of_spelling(scored, convention)


def warn_of_alternatives(run: Run, sums: Sums, convention: Convention) -> None:
    """Warn if gold lists alternatives and the convention compares them as one string, and say what that costs."""
    if sums.alternatives is None:
        return
    is_known = sums.total("spelled") is not None and sums.turns
    now = (sums.total("right") or 0) / sums.turns if is_known else _jga(run, convention)
    then = _jga(run, replace(convention, multi="any"))
    gain = "" if now is None or then is None else f", which takes jga from {100 * now:.2f} to {100 * then:.2f}"
    warn(
        f"gold lists alternatives, such as {sums.alternatives!r}, and they are compared as "
        f"written; --multi any accepts each of them{gain}",
        run=run.name,
        kind="gold lists alternatives, which are compared as written; --multi any accepts each of them",
        when="before" if now is not None and then is not None and then - now > _WORTH else "after",
    )


def _warn_of_order(scored: Sequence[tuple[Run, Sums]], convention: Convention) -> None:
    """Warn if the profile that is made for the runs' format orders them otherwise, and say who changes place most."""
    names = {OF_FORMATS.get(str(run.meta.get("format"))) for run, _ in scored}
    (name, *others) = names
    if name is None or others or len(scored) < 2 or convention != profile("verbatim"):
        return
    own = profile(name)
    if sum(sums.turns for _, sums in scored) > _MOST_TURNS or any(suits(own, _gold_slots(run)) for run, _ in scored):
        return
    jga = {run.name: (_jga(run, convention) or 0, _jga(run, own) or 0) for run, _ in scored}
    places = {run: [1 + sum(other[at] > of[at] for other in jga.values()) for at in (0, 1)] for run, of in jga.items()}
    moved = max(places, key=lambda run: abs(places[run][0] - places[run][1]))
    here, there = places[moved]
    if here != there:
        fmt = scored[0][0].meta["format"]
        warn(
            f"--profile {name} is made for this format ({fmt}), and orders the runs otherwise: by JGA, {moved} is "
            f"number {there} of {len(places)} under it, and number {here} here",
            when="before",
        )


def _warn_of_spelling(scored: Sequence[tuple[Run, Sums]], convention: Convention) -> None:
    """Warn of runs that lose more than a point of JGA by spelling alone, and say which option avoids it."""
    gains: dict[str, list[tuple[float, float, str, str]]] = {}
    examples: list[str] = []
    for run, sums in scored:
        spelled = sums.total("spelled")
        if spelled is None or spelled <= _WORTH * sums.turns:
            continue
        jga = (sums.total("right") or 0) / sums.turns
        remedy = spelling_remedy(run, convention, jga)
        if remedy is not None:
            gain = remedy.jga, jga, run.name, number_of(spelled, "turn")
            gains.setdefault(remedy.option, []).append(gain)
            examples = examples or _examples(run, convention)
    for option, of_runs in gains.items():
        most = sorted(of_runs, key=lambda gain: gain[1] - gain[0])
        each = [
            f"{100 * new:.2f} instead of {100 * old:.2f} in {run} ({turns})" for new, old, run, turns in most[:_MOST]
        ]
        more = f", and higher in {len(most) - _MOST} more runs" if len(most) > _MOST else ""
        warn(
            f"turns fail on spelling only, such as {', '.join(examples)}; with {option}, JGA is {', '.join(each)}{more}"
        )


def spelling_remedy(run: Run, convention: Convention, jga: float) -> Remedy | None:
    """The option that makes values equal which differ by spelling only, if JGA under it is over a point above `jga`."""
    loose = convention.loosened()
    options = {f"--gold-steps {','.join(loose.gold_steps)} --pred-steps {','.join(loose.pred_steps)}": loose}
    canonical = profile(_CANONICAL)
    may = convention == profile("verbatim") and not suits(canonical, _gold_slots(run))
    # What the profile gains must be by spelling, not by slots that it does not score.
    if may and _jga(run, canonical) == _jga(run, replace(canonical, slots=None)):
        options = {f"--profile {_CANONICAL}": canonical, **options}
    for option, other in options.items():
        remedied = _jga(run, other)
        if remedied is not None and remedied - jga > _WORTH:
            return Remedy(option, remedied)
    return None


def _gold_slots(run: Run) -> frozenset[str]:
    return frozenset().union(*over_parts(run, lambda part: part.gold_slots))


def _jga(run: Run, convention: Convention) -> float | None:
    """A run's joint goal accuracy; None where undefined."""
    sums = sum_up(run, stats_of(parse("jga")), [], convention, signed=False, with_slots=False).table
    right, turns = sums.select("stat:right", "stat:turns").row(0)
    return right / turns if turns else None


def _examples(run: Run, convention: Convention) -> list[str]:
    """The most frequent pairs of values that differ by spelling, as text."""
    cell = ("slot", "gold", "pred")
    pairs = count_rows(run, lambda part: judged(part.laid_out(), convention).filter(SPELLED), cell, turns=pl.len())
    ordered = pairs.sort("turns", *cell, descending=[True, False, False, False], nulls_last=True)
    return [f"{slot} {gold!r} / {pred!r}" for slot, gold, pred, _ in ordered.head(_EXAMPLES).iter_rows()]
