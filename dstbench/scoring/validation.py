"""What is checked and said of runs under a convention: which slots it leaves out, and what spelling alone costs.

A slot is wrong *by spelling* if gold and prediction are equal, or both mean "not in the state", once both are brought
to one spelling (`normalise.LOOSE`). A turn is wrong by spelling alone if all of its wrong slots are wrong by spelling.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, Unpack

import polars as pl

from dstbench.conventions.convention import SLOT_KINDS, Convention, absent_literals
from dstbench.conventions.profiles import OF_FORMATS, PROFILES, suits
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, is_or_are, number_of, warn
from dstbench.metrics import parse, parse_all, stats_of
from dstbench.metrics.built_in import SA
from dstbench.runs.align import named_under
from dstbench.runs.gold import gold_slots
from dstbench.runs.open import Data, Reading, open_runs
from dstbench.runs.run import Run
from dstbench.scoring.partitions import Part, count_rows, over_parts
from dstbench.scoring.rows import SPELLED
from dstbench.scoring.sums import Sums, sum_up
from dstbench.scoring.turns import TURN, view_of
from dstbench.scoring.values import C

_EXAMPLES: Final = 3  # slots that a warning names


def open_under(convention: Convention, data: Data, needs: str = "", **reading: Unpack[Reading]) -> list[Run]:
    """Open runs with a convention's default for missing turns; `needs` (in the plural): what only states can give."""
    if convention.metrics is not None:
        check_metrics(convention)  # before files are read, so that a typo costs no time
    with warnings.catch_warnings():
        if reading.get("missing") is None:  # else the user has set it, and should know that it changes nothing
            warnings.filterwarnings("ignore", ".*changes nothing; it is a long table", DstbenchWarning)
            reading["missing"] = convention.missing
        runs = open_runs(data, **reading)
    if convention.booking != "mapped":
        runs = [named_under(convention, run) for run in runs]
    for run in runs if leaving_out(convention) else ():
        if not run.meta.get("only"):  # without states there are no slots, and scoring refuses a scope
            check_gold_scope(run, convention)
            warn_of_unscored(run, convention)
    for run in runs if needs else ():
        run.need_states(needs)
    return runs


def check_metrics(convention: Convention) -> None:
    """Raise a `UsageError` if the convention's own metrics, as a user's file names them, cannot be computed."""
    try:
        if convention.metrics is not None:
            parse_all(convention.metrics)
    except UsageError as error:
        what = f"metrics of the profile {convention.name}: {error.what}"
        raise UsageError(what, hint=error.hint) from None


def check_gold_scope(run: Run, convention: Convention) -> None:
    """Warn of gold's slots that the convention does not score, and refuse the run if it scores none of them."""
    if _scores_every_slot(run, convention):  # read much faster than `gold_counts`
        return
    counts = gold_counts(run, convention)
    outside = counts.filter(~C("slot").is_in(convention.scope or ()))
    if outside.is_empty():
        return
    # With SGD's evaluation of one kind of slots, frames without such a slot count too.
    counts_frames = convention.slots in SLOT_KINDS and convention.domain_turns == "frames"
    if outside.height == counts.height and not counts_frames:
        raise DstbenchError(
            f"none of gold's {counts.height:,} slots, such as {counts['slot'][0]}, is in {convention.scope_name}, "
            f"the slots that {convention.name} scores",
            file=run.name,
            hint="--schema takes the schema.json of the scored split"
            if convention.slot_set is None
            else "--profile verbatim scores all slots; `dstbench ls profiles` says which slots others score",
        )
    if convention.outside == "scored":
        outcome = "they are scored too, so that no turn is right by leaving them out (--outside dropped drops them)"
    else:
        drops = ", and turns whose gold has no other values are not scored" if convention.drops_turns else ""
        outcome = f"they are left out{drops}"
    warn(
        f"{outside.height:,} of gold's {counts.height:,} slots, and {outside['n'].sum():,} of its "
        f"{counts['n'].sum():,} values, are not in {convention.scope_name}: {_first(outside, ' values')}; {outcome}",
        run=run.name,
        kind=f"slots of gold that are not in {convention.scope_name}; {outcome}",
        count=outside.height,
        when="before",
    )


def warn_of_unscored(run: Run, convention: Convention) -> None:
    """Warn of predicted values that are in no score."""
    counts = unscored(run, convention)
    if not counts["unscored"].sum():
        return
    slots = counts.filter(C("unscored") > 0).select("slot", "unscored")
    choices = ", ".join(f"{key} {text}" for key, text in leaving_out(convention).items())
    what, number = f"not scored under {convention.name} ({choices})", int(slots["unscored"].sum())
    warn(
        f"{number:,} of {counts['predicted'].sum():,} predicted values {is_or_are(number)} {what}: "
        f"{_first(slots, more='more slots')}",
        run=run.name,
        kind=f"predicted values are {what}",
        count=number,
        when="before",
    )


def _first(counts: pl.DataFrame, noun: str = "", more: str = "more") -> str:
    """The first slots of a table (slot, count) with their counts, and how many more there are."""
    examples = ", ".join(f"{slot} ({count:,}{noun})" for slot, count in counts.head(_EXAMPLES).iter_rows())
    return examples + (f" and {counts.height - _EXAMPLES} {more}" if counts.height > _EXAMPLES else "")


def unscored(run: Run, convention: Convention) -> pl.DataFrame:
    """(slot, predicted, unscored): in how many turns a slot is predicted, and how many of these are in no score."""
    may = leaving_out(convention).keys()
    if may <= {"slots", "outside", "schema"} and _scores_every_slot(run, convention):
        return pl.DataFrame(schema={"slot": pl.String, "predicted": pl.UInt32, "unscored": pl.UInt32})
    view, frames = view_of((), convention)
    frames = frames and "frames" in run.meta

    def rows_of(part: Part) -> pl.LazyFrame:
        counted = part.turns(convention, view, frames=frames).counted
        keys = [*TURN, *([view] if view else [])]
        counts = counted.select(*keys, counts=pl.lit(value=True))
        return part.rows().with_counts(convention).drop_nulls("slot").join(counts, on=keys, how="left")

    predicted = (C("n_pred") | C("n_ignored")).sum()
    scored = (C("n_pred") & C("counts").fill_null(value=False)).sum()
    counts = count_rows(run, rows_of, ["slot"], predicted=predicted, unscored=predicted - scored)
    return counts.sort("unscored", "slot", descending=[True, False])


def _scores_every_slot(run: Run, convention: Convention) -> bool:
    """Whether the convention scores all slots of a run's long table."""
    if convention.scope is None:
        return True
    slots = run.read(run.table.select(C("slot").drop_nulls().unique().cast(pl.String)))["slot"]
    return convention.scope.issuperset(slots)


@lru_cache
def leaving_out(convention: Convention) -> Mapping[str, str]:
    """The choices by which predicted values may be in no score, as `Convention.settings` has them."""
    may = {
        **dict.fromkeys(("slots", "outside", "schema"), convention.scope is not None),
        "dontcare": convention.dontcare == "skip",
        "over": convention.over != "count",
        "turns": convention.turns in ("gold", "last"),
        "unit": convention.unit == "frame",
    }
    return {key: text for key, text in convention.settings().items() if may.get(key)}


def gold_counts(run: Run, convention: Convention) -> pl.DataFrame:
    """(slot, n): in how many turns gold has a value of the slot, as the file has it; the most frequent first."""
    pairs = count_rows(run, lambda part: part.table.lazy().drop_nulls(["slot", "gold"]), ["slot", "gold"], n=pl.len())
    values = pairs.filter(~C("gold").is_in(absent_literals(convention, "gold")))
    return values.group_by("slot").agg(C("n").sum()).sort("n", "slot", descending=[True, False])


# A note is given if another option gains more than this in JGA.
_WORTH: Final = 0.01
# The profile that brings both sides to one spelling, and the same for all slots.
_CANONICAL: Final = PROFILES["star"]
_CANONICAL_OF_ALL: Final = replace(_CANONICAL, slots=None)
_WRONG: Final = C("n_union").cast(pl.Int64) - C("n_correct")
#: Statistics for `warn_of_scores`: the right turns, and those that are wrong by spelling alone.
SPELLING: Final = {
    **stats_of(parse("jga")),
    "spelled": ((_WRONG > 0) & (C("n_spelling") == _WRONG)).cast(pl.Int64),
}
# Runs of more turns are not scored again under the profile of their format.
_MOST_TURNS: Final = 200_000


def warn_of_scores(scored: Sequence[tuple[Run, Sums]], convention: Convention) -> None:
    """Warn if alternatives or spelling (`SPELLING`) lower scores, or if a turn has more errors than T slots."""
    for run, sums in scored:
        warn_of_alternatives(run, sums, convention)
        for metric in sums.metrics:
            if isinstance(metric, SA) and 0 < (metric.T or 0) < sums.most_errors:
                warn(
                    f"a turn has {sums.most_errors} wrong slots, more than the T = {metric.T} of {metric}; "
                    "such turns score below 0",
                    run=run.name,
                )
        spelled, jga = sums.total("spelled") or 0, (sums.total("right") or 0) / max(sums.turns, 1)
        if spelled > _WORTH * sums.turns and (remedy := spelling_remedy(run, convention, jga)) is not None:
            option, better = remedy
            what, pairs = "turns fail on spelling only", spelled_pairs(run, convention).head(2)
            examples = ", ".join(f"{slot} {gold!r} / {pred!r}" for slot, gold, pred, _ in pairs.iter_rows())
            warn(
                f"{what}, such as {examples}; with {option}, JGA is {100 * better:.2f} instead of {100 * jga:.2f} "
                f"({number_of(spelled, 'turn')})",
                run=run.name,
                kind=f"{what}; {option} raises JGA",
                count=spelled,
            )
    if len(scored) > 1:
        _warn_of_order(scored, convention)


def warn_of_alternatives(run: Run, sums: Sums, convention: Convention) -> None:
    """Warn if gold lists alternatives and the convention compares them as one string, and say what that costs."""
    if sums.alternatives is None:
        return
    is_known = sums.total("spelled") is not None and sums.turns
    now = (sums.total("right") or 0) / sums.turns if is_known else _jga(run, convention)
    then = _jga(run, replace(convention, multi="any"))
    gain = ""
    if now is not None and then is not None:
        before, after = f"{100 * now:.2f}", f"{100 * then:.2f}"
        gain = f", which takes jga from {before} to {after}" if before != after else f", which leaves jga at {before}"
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
    if name is None or others or convention != PROFILES["verbatim"]:
        return
    own = PROFILES[name]
    slots = (over_parts(run, lambda part: gold_slots(part.rows().cells)) for run, _ in scored)
    if sum(sums.turns for _, sums in scored) > _MOST_TURNS or any(suits(own, frozenset().union(*of)) for of in slots):
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


def spelling_remedy(run: Run, convention: Convention, jga: float) -> tuple[str, float] | None:
    """The option that makes values equal which differ by spelling only, and its JGA, if that is a point above `jga`."""
    loose = convention.loosened()
    options = {f"--gold-steps {','.join(loose.gold_steps)} --pred-steps {','.join(loose.pred_steps)}": loose}
    may = convention == PROFILES["verbatim"]
    if may:
        slots = frozenset[str]().union(*over_parts(run, lambda part: gold_slots(part.rows().cells)))
        may = not suits(_CANONICAL, slots)
    # What the profile gains must be by spelling, not by slots that it does not score.
    if may and _jga(run, _CANONICAL) == _jga(run, _CANONICAL_OF_ALL):
        options = {"--profile star": _CANONICAL, **options}
    for option, other in options.items():
        remedied = _jga(run, other)
        if remedied is not None and remedied - jga > _WORTH:
            return option, remedied
    return None


def spelled_pairs(run: Run, convention: Convention) -> pl.DataFrame:
    """(slot, gold, pred, turns): values that are wrong by spelling only, the most frequent first."""
    cell = ("slot", "gold", "pred")
    pairs = count_rows(run, lambda part: part.rows().judged(convention).filter(SPELLED), cell, turns=pl.len())
    return pairs.sort("turns", *cell, descending=[True, False, False, False], nulls_last=True)


def _jga(run: Run, convention: Convention) -> float | None:
    """A run's joint goal accuracy; None where undefined."""
    sums = sum_up(run, [parse("jga")], [], convention, signed=False).table
    right, turns = sums.select("stat:right", "stat:turns").row(0)
    return right / turns if turns else None
