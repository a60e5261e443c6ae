"""Results in sentences: which run is best and under which conventions, and where runs fail.

Conventions: values that are equal in percent with one decimal count as equal where an order is named. Runs are named
from the highest value to the lowest, those with the same value in the order of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import polars as pl

from dstbench.analysis.check import COVERAGE, SPELLED
from dstbench.errors import number_of
from dstbench.metrics.registry import name_of, sign_of
from dstbench.signature import parse

if TYPE_CHECKING:
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.diagnose import Diagnosis

_FEW: Final = 3  # slots, runs or metrics with a number each
_F1: Final = "f1:avg=micro"
_KINDS: Final = {"missed": "missed slots", "wrong": "wrong values", "over": "over-predicted slots"}
_MISSING_TURNS: Final = {"wrong": "count as wrong", "empty": "count as empty states", "intersect": "are not scored"}
_FEW_DIALOGUES: Final = "too few dialogues differ for a test"


def findings(
    leaderboard: Leaderboard, by_slot: pl.DataFrame, swept: pl.DataFrame, diagnosis: Diagnosis, checks: pl.DataFrame
) -> list[Finding]:
    """The findings on runs over one gold, in order of interest; none where there is nothing to say."""
    board = ranked(leaderboard.scores)
    runs = board["run"].to_list() or diagnosis.runs["run"].to_list()
    slots = _counts_by_slot(by_slot, runs)
    if len(runs) == 1:
        first = [_score(board, diagnosis), spread_of_run(board, swept)]
    else:
        first = [best_run(leaderboard), order_of_runs(board, swept, checks)]
    rest = [_never(slots, runs), _doubts(checks, diagnosis, runs), _worst(slots, runs), _errors(diagnosis, runs)]
    return [finding for finding in [*first, *rest] if finding is not None]


def _score(board: pl.DataFrame, diagnosis: Diagnosis) -> Finding | None:
    """The score of a single run, and how many of its dialogues fail, and when."""
    (run, of, failing), *_ = diagnosis.runs.select("run", "dialogues", "failing").iter_rows()
    scores = [(name_of(metric), shown) for metric, shown in board.select("metric", "shown").iter_rows()]
    clauses = [
        f"{name} is undefined for {run}" if shown is None else f"{run} has {name} {percent(shown)}"
        for name, shown in scores
    ]
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
    sentences = [f"{text}."] if text else []
    if lowest:
        sentences.append(f"{'The other slots' if are_others else 'The slots'} with the lowest F1: {listed(lowest)}.")
    return Finding("slots", " ".join(sentences), "slots", tuple(runs) if lowest else named_runs)


def _shared(rows: pl.DataFrame, runs: Sequence[str], verbs: tuple[str, str, str]) -> tuple[str, tuple[str, ...]]:
    """A sentence on slots of gold, with a clause for the slots that the same runs share; and the runs that it names."""
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
        who = f"{listed(names)} {several if names[1:] else one}"
        if len(names) == len(runs) > 1:
            who = f"{'no' if clauses else 'No'} run {none}"
        clauses.append(f"{who} {number_of(len(slots), 'slot')} of gold: {listed(slots)}")
    named_runs = tuple(dict.fromkeys(shared.head(_FEW)["run"].explode()))
    others = [run for run in runs if run in set(shared["run"].explode()) - set(named_runs)]
    return "; ".join([*clauses, *([f"other slots: {listed(others)}"] if others else [])]), (*named_runs, *others)


def _by_kind(errors: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, float]]:
    """The classes of errors in slots, and the share of each kind in percent, the most frequent first (none: {})."""
    errors = errors.filter(pl.col("kind").is_in(list(_KINDS)))
    counts = {kind: int(errors.filter(kind=kind)["n"].sum()) for kind in _KINDS}
    by_frequency, n = sorted(_KINDS, key=lambda kind: -counts[kind]), sum(counts.values())
    return errors, {kind: 100 * counts[kind] / n for kind in by_frequency} if n else {}


def _errors(diagnosis: Diagnosis, runs: Sequence[str]) -> Finding | None:
    """The most frequent kind of error, the share of old errors, and the run whose share of that kind differs most."""
    errors, shares = _by_kind(diagnosis.errors)
    if not shares:
        return None
    (first, share), *others = shares.items()
    verb = "are as frequent as any other error" if share == others[0][1] else "are the most frequent errors"
    rest = " and ".join(f"{_KINDS[kind]} {percent(of_kind)}" for kind, of_kind in others)
    stale = errors.select(100 * pl.col("n").filter(pl.col("class").str.ends_with("-stale")).sum() / pl.col("n").sum())
    text = (
        f"{_KINDS[first].capitalize()} {verb}: {percent(share)}, {rest}; at least "
        f"{percent(stale.item())} of errors are carried over from the turn before (stale)."
    )
    n = pl.col("n")
    by_run = errors.group_by("run", maintain_order=True).agg(n.sum(), first=n.filter(kind=first).sum()).filter(n > 0)
    gaps = by_run.select("run", share=100 * pl.col("first") / n).with_columns(gap=(pl.col("share") - share).abs())
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
        shorts = other.filter(status=status).group_by("run", maintain_order=True).agg(pl.col("short").str.join(", "))
        names = [f"{run} ({short})" if shorts.height <= _FEW else run for run, short in shorts.iter_rows()]
        if names:
            doubts.append(f"{verb} {f'all {len(runs)} runs' if _FEW < len(names) == len(runs) else listed(names)}")
    if doubts:
        sentences.append(f"Checks {' and '.join(doubts)}.")
    named_runs = tuple(dict.fromkeys([*lacking, *other["run"]]))
    return Finding("check", " ".join(sentences), "notes", named_runs) if sentences else None


# --- the order of runs ---


def best_run(leaderboard: Leaderboard) -> Finding | None:
    """Which run, or model if models are compared, has the highest value, by how much, and whether it may be chance."""
    models = leaderboard.models.rename({"model": "run"})
    compared = models if models.height else leaderboard.scores
    board = ranked(compared)
    if board.is_empty():
        return None
    metric, defined = board["metric"][0], board.drop_nulls("value")
    undefined = board.filter(pl.col("value").is_null())["run"].to_list()
    runs = set(leaderboard.scores["run"])
    named_runs = tuple(name for name in board["run"] if name in runs)  # not models
    if defined.is_empty():
        return Finding("best", f"{name_of(metric)} is undefined for {listed(undefined)}.", "scores", named_runs)
    best = defined.filter(value=defined["value"][0])["run"].to_list()
    rest = defined[len(best) :]
    verb = "has the highest" if len(best) == 1 else "have the same highest" if rest.height else "have the same"
    clauses = [f"{listed(best)} {verb} {name_of(metric)}, {percent(defined['shown'][0])}"]
    if rest.height:
        second = rest.filter(value=rest["value"][0])["run"].to_list()
        points = f"{100 * (defined['value'][0] - rest['value'][0]):.1f}"
        ahead = "less than 0.1 points" if points == "0.0" else f"{points} points"
        clauses[0] += f": {ahead} above {listed(second)}"
        clauses += _verdicts(leaderboard, metric, best, rest["run"].to_list())
    if undefined:
        clauses.append(f"it is undefined for {listed(undefined)}")
    others = compared.filter(pl.col("metric") != metric, unit="share").with_columns(SHOWN)
    led = [of for of in led_by_others(others, "metric", best).rows(named=True) if _beats(leaderboard, of, best)]
    texts = [f"{listed(of['run'])} by {name_of(of['metric'])} ({percent(of['shown'])})" for of in led]
    elsewhere = f" By other metrics, others are first: {listed(texts, _FEW)}." if texts else ""
    return Finding("best", f"{'; '.join(clauses)}.{elsewhere}", "scores", named_runs)


def _beats(leaderboard: Leaderboard, of: Mapping[str, Any], best: Sequence[str]) -> bool:
    """Whether each of the runs that lead by another metric (`led_by_others`) is significantly better than `best`."""
    both, teams = pl.concat_list("run", "other"), (of["run"], list(best))
    across = (both.list.set_intersection(team).list.len() == 1 for team in teams)
    pairs = leaderboard.differences.filter(*across, metric=of["metric"])
    return pairs.height == len(of["run"]) * len(best) and bool(pairs["significant"].fill_null(value=False).all())


def _verdicts(leaderboard: Leaderboard, metric: str, best: Sequence[str], rest: Sequence[str]) -> list[str]:
    """Which of the rest the best runs are significantly better than and which not, and which cannot be tested."""
    from dstbench.analysis.significance import FEWEST_SEEDS  # not before: it needs the modules of statistics

    is_best = pl.col("run").is_in(best)
    across = leaderboard.differences.filter(pl.col("metric") == metric, is_best != pl.col("other").is_in(best))
    pairs = across.with_columns(name=pl.when(is_best).then("other").otherwise("run"))
    # Every best run is compared to each of the rest; the verdict must hold for all of the best.
    few_seeds = f"models of fewer than {FEWEST_SEEDS} runs are not tested"
    few_resamples = f"{leaderboard.design['resamples'][0]:,} resamples are too few for a test"
    per_other = pairs.group_by("name").agg(
        pl.col("adjustment", "m").first(),
        highest=pl.col("p_adjusted").max(),
        lowest=pl.col("p_adjusted").min(),
        better=pl.col("significant").all(ignore_nulls=False),
        may_flip=pl.col("may_flip").any(),
        why=pl.when(pl.col("p").is_null().any())
        .then(pl.lit(few_seeds))
        .when(pl.col("resamples_needed").is_null().any())
        .then(pl.lit(_FEW_DIALOGUES))
        .otherwise(pl.lit(few_resamples)),
    )
    tested = per_other.join(pl.DataFrame({"name": rest}), "name", maintain_order="right")

    def names_of(rows: pl.DataFrame) -> str:
        return "all others" if len(rest) == rows.height > 1 else listed(rows["name"].to_list())

    clauses = []
    than = "better than" if sign_of(metric) else "above"  # lower scores of the user's own metric may be the better ones
    verdicts = ((True, f"significantly {than}", "highest"), (False, f"not significantly {than}", "lowest"))
    for better, words, p in verdicts:
        rows = tested.filter(better=better)
        if rows.height:
            adjusted = "" if rows["m"][0] == 1 or rows["adjustment"][0] == "none" else "adjusted "
            size = (max if better else min)(rows[p])
            text = "< 0.001" if size < 0.001 else f"= {size:.3f}"
            close = "; another seed may give the other verdict" if rows["may_flip"].any() else ""
            clauses.append(f"{words} {names_of(rows)} ({f'{p} ' if rows.height > 1 else ''}{adjusted}p {text}{close})")
    for why in (few_resamples, _FEW_DIALOGUES, few_seeds):
        rows = tested.filter(pl.col("better").is_null(), why=why)
        if rows.height:
            clauses.append(f"whether it is {than} {names_of(rows)} is open, as {why}")
    return clauses


def order_of_runs(board: pl.DataFrame, swept: pl.DataFrame, checks: pl.DataFrame) -> Finding | None:
    """Whether the order of the runs holds under other conventions; if not, the run whose place changes most."""
    here, under, conventions = _under_conventions(board, swept)
    if here.height < 2 or conventions < 2:
        return None
    runs = here["run"].to_list()
    moved = _overtaken(under)
    if moved.is_empty():
        text = f"The order of the runs is the same under all {conventions} conventions that suit them."
        return Finding("order", text, "conventions", tuple(runs))
    # The run that changes places with most others; of several, the one whose value changes most.
    change = (pl.col("shown") - pl.col("here")).abs()
    most = moved.sort(pl.col("others").list.len(), change, descending=True, maintain_order=True).row(0, named=True)
    place_here = place(here.filter(pl.col("here") > most["here"]).height, here.height)
    there = under.filter(profile=most["profile"])
    place_there = place(there.filter(pl.col("shown") > most["shown"]).height, here.height)
    why = ", because its values are spelled differently" if _is_by_spelling(most, board, checks) else ""
    first = here.filter(pl.col("here") == pl.col("here").max())["run"].to_list()
    led = led_by_others(under, "profile", first)
    leaders, where = first, f"all {conventions} conventions"
    if led.height:
        leaders, where = led["run"][0].to_list(), listed(led["profile"].to_list(), 1)
    text = (
        f"The order depends on the convention: {most['run']} is {place_here} here ({percent(most['here'])}) and "
        f"{place_there} under {most['profile']} ({percent(most['shown'])}){why}. "
        f"{listed(leaders)} {'is' if len(leaders) == 1 else 'are'} first under {where}."
    )
    return Finding("order", text, "conventions", tuple(dict.fromkeys([most["run"], *leaders])))


def spread_of_run(board: pl.DataFrame, swept: pl.DataFrame) -> Finding | None:
    """The lowest and the highest score of a single run under other conventions."""
    here, under, conventions = _under_conventions(board, swept)
    if conventions < 2:
        return None
    metric, run = name_of(here["metric"][0]), here["run"][0]
    by_value = under.group_by("shown").agg("profile").sort("shown")
    low, high = (f"{percent(shown)} ({listed(names, 1)})" for shown, names in (by_value.row(0), by_value.row(-1)))
    text = f"{metric} depends on the convention: from {low} to {high} under the"
    if by_value.height == 1:
        text = f"{metric} is {percent(by_value['shown'][0])} under all"
    return Finding("order", f"{text} {conventions} conventions that suit {run}.", "conventions", (run,))


def _under_conventions(board: pl.DataFrame, swept: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The scored runs, their scores under each convention that suits all of them, and how many of these there are."""
    here = board.drop_nulls("value").select("run", "metric", "value", here="shown")
    scores = swept.with_columns(SHOWN).drop_nulls("shown").drop("value")
    under = here.join(scores, ["run", "metric"], maintain_order="left_right")
    under = under.filter(pl.len().over("profile") == here.height).select("profile", "run", "here", "shown")
    return here, under, under["profile"].n_unique()


def _overtaken(under: pl.DataFrame) -> pl.DataFrame:
    """Which runs change places under a profile, as (profile, run, here, shown, others: the runs that it passes)."""
    pairs = under.join(under, "profile", suffix="_other", maintain_order="left_right")
    before, after = (pl.col(side) - pl.col(f"{side}_other") for side in ("here", "shown"))
    reversed_pairs = pairs.filter(before * after < 0)
    return reversed_pairs.group_by("profile", "run", "here", "shown", maintain_order=True).agg(others="run_other")


def _is_by_spelling(most: Mapping[str, Any], board: pl.DataFrame, checks: pl.DataFrame) -> bool:
    """Whether a run rises above the same others once values in other spellings are accepted, as `check` scored them."""
    if board["metric"][0] != "jga" or most["shown"] <= most["here"]:
        return False
    remedied = board.drop_nulls("value").select("run", "value", here="shown")
    remedied = remedied.join(checks.filter(check=SPELLED).select("run", "jga"), "run", maintain_order="left")
    respelled = remedied.select("run", "here", pl.lit("").alias("profile"), value=pl.coalesce("jga", "value"))
    risen = _overtaken(respelled.with_columns(SHOWN)).filter(pl.col("shown") > pl.col("here"), run=most["run"])
    return set(most["others"]) <= set(risen["others"].explode())


# --- a diagnosis ---


def conclusion(diagnosis: Diagnosis) -> list[str]:
    """What share of dialogues fails and how early, which errors are most frequent, and which slots are worst."""
    return [line for line in (_failing(diagnosis), _errors_in_short(diagnosis.errors), _slots(diagnosis)) if line]


def _failing(diagnosis: Diagnosis) -> str:
    """The share of dialogues that fail, and the part of a dialogue in which half of them have failed first."""
    runs = diagnosis.runs.filter(pl.col("dialogues") > 0)
    if not runs["failing"].sum():
        return "no dialogue fails"
    share = 100 * (pl.col("failing") / pl.col("dialogues"))
    shares = runs.select("run", share=share).sort("share", maintain_order=True)
    (least, low), (most, high) = shares.row(0), shares.row(-1)
    of_runs = f"{percent(low)} ({least}) to {percent(high)} ({most})" if shares.height > 1 else percent(low)
    bins = diagnosis.first_failures.group_by("high").agg(pl.col("dialogues").sum()).sort("high")
    half = bins.filter(2 * pl.col("dialogues").cum_sum() >= pl.col("dialogues").sum())["high"].item(0)
    early = f"half of these within the first {100 * half:.0f} % of their turns"
    return f"{of_runs} of dialogues fail, {early if half < 1 else 'more than half of these first in their last tenth'}"


def _errors_in_short(errors: pl.DataFrame) -> str | None:
    """The share of each kind among the slots that are not right, the most frequent class, and turns not predicted."""
    turns = errors.filter(kind="no-prediction").select(pl.col("n").sum()).item()
    without = f"{number_of(turns, 'turn')} without a prediction" if turns else None
    classes, of_kinds = _by_kind(errors)
    if not of_kinds:
        return without
    sums = classes.group_by("class", maintain_order=True).agg(pl.col("n").sum())
    shares = ", ".join(
        f"{percent(share)} {_KINDS[kind].removesuffix(' slots')}" for kind, share in of_kinds.items() if share
    )
    most = sums.filter(pl.col("n") == pl.col("n").max())
    share = percent(100 * most["n"][0] / sums["n"].sum())
    line = f"errors: {shares}; most frequent: {' and '.join(most['class'])} ({share})"
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
