"""Results in sentences: every sentence that sums a result up, for commands, notebooks and the report.

Conventions: where an order is named, values that are equal in percent with one decimal count as equal. Runs are named
from the highest value to the lowest, those with the same value in the order of the data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import polars as pl

from dstbench.analysis.check import COVERAGE
from dstbench.errors import all_of, is_or_are, number_of, percent
from dstbench.metrics.registry import name_of, parse, sign_of
from dstbench.signature import parse as parse_signature

if TYPE_CHECKING:
    from dstbench.analysis.changes import Changes
    from dstbench.analysis.compare import Leaderboard
    from dstbench.analysis.compare_metrics import MetricComparison
    from dstbench.analysis.correlate import Correlations
    from dstbench.analysis.diagnose import Diagnosis
    from dstbench.analysis.reconcile import Reconciliation
    from dstbench.analysis.sensitivity import Sensitivity

_MOST: Final = 5  # names in a list
_FEW: Final = 3  # slots, runs, pairs or metrics with a number each
_ROUNDING: Final = 1e-12  # what p may be above the level by rounding
_IS_SIGNIFICANT: Final = pl.col("p_adjusted") <= 1 - pl.col("level") + _ROUNDING
#: A share in percent, rounded as sentences print it: values that print alike are equal where a sentence orders them.
SHOWN: Final = (100 * pl.col("value")).round(1).alias("shown")


@dataclass(frozen=True)
class Finding:
    """One thing that a reader of a report should know first."""

    kind: Literal["best", "order", "never", "check", "slots", "errors"]
    text: str  # one sentence, or a few
    chapter: Literal["scores", "conventions", "slots", "errors", "notes"]  # where its evidence is
    runs: tuple[str, ...]  # that it is about


def findings(
    leaderboard: Leaderboard, swept: pl.DataFrame, diagnosis: Diagnosis, checks: pl.DataFrame
) -> list[Finding]:
    """The findings on runs over one gold, in order of interest; none where there is nothing to say."""
    board = ranked(leaderboard.scores)
    runs = board["run"].to_list() or diagnosis.runs["run"].to_list()
    slots = _slot_counts(diagnosis, runs)
    found = [
        best_run(leaderboard) if len(runs) > 1 else _score_of_one(board, diagnosis),
        _order(swept, runs), _never(slots, runs), _doubts(checks, diagnosis, runs), _worst(slots, runs),
        _errors(diagnosis, runs),
    ]  # fmt: skip
    return [finding for finding in found if finding is not None]


# --- words ------------------------------------------------------------------------------------------------------------

_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def listed(names: Sequence[str], most: int = _MOST, word: str = "and") -> str:
    """Names as in a sentence: the first ones, and the number of the rest if there are more than `most`."""
    shown = list(names) if len(names) <= most else [*names[:most], f"{len(names) - most:,} more"]
    return f" {word} ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _do(names: Sequence[str], one: str, several: str) -> str:
    """Names and a verb."""
    return f"{listed(names)} {several if names[1:] else one}"


def _by_verdict(rows: pl.DataFrame, names: str, verdicts: Mapping[str, pl.Expr], most: int = _MOST) -> list[str]:
    """A clause per verdict that holds in some rows: its words, with the names of these rows in place of {}."""
    found = {words: rows.filter(holds)[names].to_list() for words, holds in verdicts.items()}
    return [words.format(listed(those, most)) for words, those in found.items() if those]


def place(above: int, of: int) -> str:
    """The place of a run that has `above` of `of` runs above it, in words: ``first``, ``third``, ``last``."""
    if above == of - 1:
        return "last"
    return _ORDINALS[above] if above < len(_ORDINALS) else f"number {above + 1}"


def _shown(share: float) -> str:
    """A value of `SHOWN`."""
    return f"{share + 0:.1f} %"  # + 0, as -0.0 is 0.0


def _whole(share: float) -> str:
    """A share in whole percents."""
    return "less than 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _number(value: float, unit: str, of_shares: str = "") -> str:
    """A score, or the distance of two."""
    return f"{value:,.0f}" if unit == "count" else f"{100 * value:.2f}{of_shares}"


def _equals(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


# --- scores and comparisons of runs -----------------------------------------------------------------------------------


def ranked(scores: pl.DataFrame) -> pl.DataFrame:
    """The scores of the first metric that is a share, from the highest to the lowest; undefined ones last."""
    shares = scores.filter(unit="share").with_columns(SHOWN)
    of_first = shares.filter(pl.col("metric") == pl.col("metric").first())
    return of_first.sort("value", descending=True, nulls_last=True, maintain_order=True)


def _teams(board: pl.DataFrame) -> list[tuple[float, list[str], float]]:
    """Each value, the runs that have it, and the value as shown, from the highest value down."""
    return board.drop_nulls("value").group_by("value", maintain_order=True).agg("run", pl.col("shown").first()).rows()


def highest(scores: pl.DataFrame) -> list[str]:
    """The run with the highest score of the first metric that is a share, and the next; empty for a single run."""
    board = ranked(scores)
    teams = _teams(board)
    if len(teams) < 2:
        return []
    (first, best, _), (second, following, _), *_ = teams
    behind = f"{_do(following, 'follows', 'follow')} with {100 * second:.2f}"
    return [f"{_do(best, 'has', 'have')} the highest {name_of(board['metric'][0])}, {100 * first:.2f}; {behind}"]


def _score_of_one(board: pl.DataFrame, diagnosis: Diagnosis) -> Finding | None:
    """The score of a single run, and how many of its dialogues fail, and when."""
    run, of, failing = diagnosis.runs.select("run", "dialogues", "failing").row(0)
    clauses = [
        f"{name_of(metric)} is undefined for {run}" if shown is None else f"{run} has {name_of(metric)} {_shown(shown)}"
        for metric, shown in board.select("metric", "shown").iter_rows()
    ]
    if of:
        early = diagnosis.first_failures.filter(pl.col("high") <= 0.5)["dialogues"].sum()
        when = f", and in {early:,} of these the first wrong turn is in the first half" if failing else ""
        clauses.append(f"{failing:,} of {number_of(of, 'dialogue')} end in a wrong turn{when}")
    return Finding("best", f"{'; '.join(clauses)}.", "scores", (run,)) if clauses else None


def best_run(leaderboard: Leaderboard) -> Finding | None:
    """Which run, or model if models are compared, has the highest value, by how much, and whether it may be chance."""
    compared = leaderboard.models.rename({"model": "run"}) if leaderboard.models.height else leaderboard.scores
    board, runs = ranked(compared), set(leaderboard.scores["run"])
    if board.is_empty():
        return None
    metric, teams = board["metric"][0], _teams(board)
    undefined = board.filter(pl.col("value").is_null())["run"].to_list()
    about = tuple(name for name in board["run"] if name in runs)  # not models
    if not teams:
        return Finding("best", f"{name_of(metric)} is undefined for {listed(undefined)}.", "scores", about)
    (value, best, shown), *rest = teams
    have = _do(best, "has the highest", "have the same highest" if rest else "have the same")
    clauses = [f"{have} {name_of(metric)}, {_shown(shown)}"]
    if rest:
        points = f"{100 * (value - rest[0][0]):.1f}"
        ahead = "less than 0.1 points" if points == "0.0" else f"{points} points"
        clauses[0] += f": {ahead} above {listed(rest[0][1])}"
        clauses += _lead_of(leaderboard, metric, best, [run for _, runs_of, _ in rest for run in runs_of])
    clauses += [f"it is undefined for {listed(undefined)}"] if undefined else []
    elsewhere = _first_by_others(leaderboard, compared.filter(pl.col("metric") != metric, unit="share"), best)
    others = f" By other metrics, others are first: {listed(elsewhere, _FEW)}." if elsewhere else ""
    return Finding("best", f"{'; '.join(clauses)}.{others}", "scores", about)


def _first_by_others(leaderboard: Leaderboard, scores: pl.DataFrame, best: Sequence[str]) -> list[str]:
    """The runs that are first by other metrics, where each is significantly better than each of the best."""
    top = scores.with_columns(SHOWN).drop_nulls("shown").filter(pl.col("shown") == pl.col("shown").max().over("metric"))
    led = top.filter(~pl.col("run").is_in(best).any().over("metric")).group_by("metric", maintain_order=True)
    both, texts = pl.concat_list("run", "other"), []
    for metric, runs, shown in led.agg("run", pl.col("shown").first()).iter_rows():
        across = (both.list.set_intersection(team).list.len() == 1 for team in (runs, list(best)))
        pairs = leaderboard.differences.filter(*across, metric=metric)
        if pairs.height == len(runs) * len(best) and pairs["significant"].fill_null(value=False).all():
            texts.append(f"{listed(runs)} by {name_of(metric)} ({_shown(shown)})")
    return texts


def _lead_of(leaderboard: Leaderboard, metric: str, best: Sequence[str], rest: Sequence[str]) -> list[str]:
    """Which of the rest all of the best are significantly better than and which not, and which cannot be tested."""
    from dstbench.analysis.compare import FEWEST_SEEDS  # not before: it needs the modules of statistics

    is_best = pl.col("run").is_in(best)
    across = leaderboard.differences.filter(pl.col("metric") == metric, is_best != pl.col("other").is_in(best))
    few = pl.col("run", "other").is_in(leaderboard.models.filter(pl.col("runs") < FEWEST_SEEDS)["model"].implode())
    reasons = {
        f"models of fewer than {FEWEST_SEEDS} runs are not tested": pl.any_horizontal(few).any(),
        "all runs of each model score the same": pl.col("p").is_null().any(),
        "too few dialogues differ for a test": pl.col("resamples_needed").is_null().any(),
        f"{leaderboard.design['resamples'][0]:,} resamples are too few for a test": pl.lit(value=True),
    }
    per_other = across.group_by(name=pl.when(is_best).then("other").otherwise("run")).agg(
        pl.col("adjustment", "m").first(), pl.col("may_flip").any(),
        better=pl.col("significant").all(ignore_nulls=False),
        highest=pl.col("p_adjusted").max(), lowest=pl.col("p_adjusted").min(),
        why=pl.coalesce(pl.when(holds).then(pl.lit(reason)) for reason, holds in reasons.items()),
    )  # fmt: skip
    tested = per_other.join(pl.DataFrame({"name": rest}), "name", maintain_order="right")
    than, clauses = "better than" if sign_of(metric) else "above", []  # of a user's metric, lower scores may be better
    for (better, why), rows in tested.sort("better", descending=True, nulls_last=True, maintain_order=True).group_by(
        "better", pl.when(pl.col("better").is_null()).then("why"), maintain_order=True
    ):
        names = "all others" if len(rest) == rows.height > 1 else listed(rows["name"].to_list())
        if better is None:
            clauses.append(f"whether {'they are' if best[1:] else 'it is'} {than} {names} is open, as {why}")
            continue
        p, pick = ("highest", max) if better else ("lowest", min)
        adjusted = "" if rows["m"][0] == 1 or rows["adjustment"][0] == "none" else "adjusted "
        close = "; another seed may give the other verdict" if rows["may_flip"].any() else ""
        which = f"{p} {adjusted}" if rows.height > 1 else adjusted
        clauses.append(
            f"{'' if better else 'not '}significantly {than} {names} ({which}p {_equals(pick(rows[p]))}{close})"
        )
    return clauses


def in_order(leaderboard: Leaderboard) -> dict[str, pl.DataFrame]:
    """Metric to its differences: the higher run first, and from the highest run down; to a baseline, by difference."""
    standings = leaderboard.models.rename({"model": "run"}) if leaderboard.models.height else leaderboard.scores
    standings = standings.sort("value", descending=True, nulls_last=True, maintain_order=True)
    by_metric = {}
    for (metric,), rows in leaderboard.differences.group_by("metric", maintain_order=True):
        names = standings.filter(metric=metric)["run"].to_list()
        run, other = (
            pl.col(side).replace_strict(names, range(len(names)), return_dtype=pl.Int64) for side in ("run", "other")
        )
        if leaderboard.design["baseline"].item() is None:
            ordered = turned(rows, run > other).sort(run, other)
        else:
            ordered = rows.sort("difference", descending=True, nulls_last=True, maintain_order=True)
        by_metric[str(metric)] = ordered
    return by_metric


def turned(differences: pl.DataFrame, where: pl.Expr) -> pl.DataFrame:
    """Differences of runs, or of metrics, that are the other way round where a condition holds."""
    key = "run" if "wins" in differences.columns else "metric"
    swapped = {key: "other", "other": key, "wins": "losses", "losses": "wins"}
    negated = {"difference": "difference", "low": "high", "high": "low", "zou_low": "zou_high", "zou_high": "zou_low"}
    values = {name: pl.col(of) for name, of in swapped.items()} | {name: -pl.col(of) for name, of in negated.items()}
    return differences.with_columns(
        pl.when(where).then(value).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
        if name in differences.columns
    )


def verdicts(leaderboard: Leaderboard) -> list[str]:
    """For each metric whose differences were tested: the significant ones, or the others, whichever are fewer."""
    from dstbench.analysis.compare import pairs_text  # not before, as above

    at, lines = f"at {percent(1 - leaderboard.design['level'][0])}", []
    for metric, rows in in_order(leaderboard).items():
        tested = rows.drop_nulls("significant")
        significant, others = tested.filter("significant"), tested.filter(~pl.col("significant"))
        that = "" if tested.height == rows.height else " that can be tested"
        if tested.is_empty():
            verdict = f"no difference {f'can be tested {at}' if rows['difference'].count() else 'is defined'}"
        elif significant.is_empty() or others.is_empty():
            verdict = f"{'every' if significant.height else 'no'} difference{that} is significant {at}"
            verdict += f": {pairs_text(significant)}" if that and significant.height else ""
        else:
            few = significant.height <= others.height
            which = pairs_text(significant) if few else f"all but {pairs_text(others)}"
            verdict = f"{significant.height} of {tested.height} differences{that} are significant {at}: {which}"
        lines.append(f"{metric}: {verdict}")
    return lines


# --- where runs fail --------------------------------------------------------------------------------------------------

_KINDS: Final = {"missed": "missed slots", "wrong": "wrong values", "over": "over-predicted slots"}


def conclusion(diagnosis: Diagnosis) -> list[str]:
    """What share of dialogues fails and how early, the kinds of errors, and the worst slots."""
    runs = diagnosis.runs["run"].to_list()
    slots = _slot_counts(diagnosis, runs)
    found = [_errors(diagnosis, runs), _never(slots, runs), _worst(slots, runs)]
    others = [finding.text.removesuffix(".") for finding in found if finding]
    if not diagnosis.runs["failing"].sum():
        return ["no dialogue fails", *others]
    share = 100 * (pl.col("failing") / pl.col("dialogues"))
    shares = diagnosis.runs.filter(pl.col("dialogues") > 0).select("run", share=share)
    (least, low), (most, high) = shares.sort("share", maintain_order=True).gather([0, -1]).iter_rows()
    of_runs = f"{_shown(low)} ({least}) to {_shown(high)} ({most})" if shares.height > 1 else _shown(low)
    bins = diagnosis.first_failures.group_by("high").agg(pl.col("dialogues").sum()).sort("high")
    half = bins.filter(2 * pl.col("dialogues").cum_sum() >= pl.col("dialogues").sum())["high"].item(0)
    early = f"half of these within the first {100 * half:.0f} % of their turns"
    when = early if half < 1 else "more than half of these first in their last tenth"
    return [f"{of_runs} of dialogues fail, {when}", *others]


def _slot_counts(diagnosis: Diagnosis, runs: Sequence[str]) -> pl.DataFrame:
    """(run, slot, gold and predicted: turns with a value, correct: turns, value: F1) of gold's slots, in this order."""
    n = pl.col("n").filter(kind="correct").sum()
    by_slot = diagnosis.errors_by_slot.drop_nulls("slot").group_by("run", "slot", maintain_order=True)
    counts = by_slot.agg(pl.col("gold", "predicted").first(), correct=n).filter(pl.col("gold") > 0)
    order = pl.DataFrame({"run": runs}, schema={"run": pl.String})
    f1 = 2 * pl.col("correct") / (pl.col("gold") + pl.col("predicted"))
    return order.join(counts.with_columns(value=f1), "run", maintain_order="left")


def _never(slots: pl.DataFrame, runs: Sequence[str]) -> Finding | None:
    """The slots that runs never predict though gold has them."""
    verbs = "never predicts", "never predict", "predicts"
    text, about = _shared(slots.filter(pl.col("predicted") == 0), runs, verbs)
    return Finding("never", f"{text}.", "slots", about) if text else None


def _worst(slots: pl.DataFrame, runs: Sequence[str]) -> Finding | None:
    """The slots on which runs are never right though they predict them, then those with the lowest F1 over runs."""
    verbs = "is never right on", "are never right on", "is ever right on"
    never_right = slots.filter(pl.col("predicted") > 0, pl.col("correct") == 0)
    text, about = _shared(never_right, runs, verbs)
    shown = (100 * pl.col("value")).round(1)
    f1 = slots.group_by("slot").agg(median=pl.col("value").median(), low=shown.min(), high=shown.max())
    worst = f1.filter(pl.col("median") > 0, pl.col("low") < 100).sort("median", "slot").head(_FEW)
    lowest = [
        f"{slot} ({_shown(low) if low == high else f'{low + 0:.1f} to {_shown(high)}'})"
        for slot, low, high in worst.select("slot", "low", "high").iter_rows()
    ]
    if not text and not lowest:
        return None
    others = "other " if text and set(worst["slot"]).isdisjoint(never_right["slot"]) else ""
    texts = [text, lowest and f"The {others}slots with the lowest F1: {listed(lowest)}"]
    return Finding("slots", " ".join(f"{each}." for each in texts if each), "slots", tuple(runs) if lowest else about)


def _shared(rows: pl.DataFrame, runs: Sequence[str], verbs: tuple[str, str, str]) -> tuple[str, tuple[str, ...]]:
    """A sentence on slots of gold, with a clause for the slots that the same runs share; and the runs that it names."""
    by_slot = rows.group_by("slot", maintain_order=True).agg("run", pl.col("gold").first())
    by_runs = by_slot.sort("gold", "slot", descending=[True, False]).group_by("run", maintain_order=True)
    shared = by_runs.agg("slot", pl.col("gold").sum())
    shared = shared.sort(pl.col("gold") * pl.col("run").list.len(), descending=True, maintain_order=True)
    one, several, none = verbs
    clauses: list[str] = []
    for names, slots, _ in shared.head(_FEW).iter_rows():
        all_of = len(names) == len(runs) > 1
        who = f"{'no' if clauses else 'No'} run {none}" if all_of else _do(names, one, several)
        clauses.append(f"{who} {number_of(len(slots), 'slot')} of gold: {listed(slots)}")
    named = tuple(dict.fromkeys(shared.head(_FEW)["run"].explode()))
    others = [run for run in runs if run in set(shared["run"].explode()) - set(named)]
    return "; ".join([*clauses, *([f"other slots: {listed(others)}"] if others else [])]), (*named, *others)


def _errors(diagnosis: Diagnosis, runs: Sequence[str]) -> Finding | None:
    """The most frequent kind of error, the share of old errors, and the run whose share of that kind differs most."""
    errors, n = diagnosis.errors.filter(pl.col("kind").is_in([*_KINDS])), pl.col("n")
    counts = {kind: int(errors.filter(kind=kind)["n"].sum()) for kind in _KINDS}
    if not (total := sum(counts.values())):
        return None
    (first, most), *others = sorted(counts.items(), key=lambda item: -item[1])
    verb = "are as frequent as any other error" if most == others[0][1] else "are the most frequent errors"
    rest = " and ".join(f"{_KINDS[kind]} {_shown(100 * number / total)}" for kind, number in others)
    share, stale = 100 * most / total, int(errors.filter(pl.col("class").str.ends_with("-stale"))["n"].sum())
    text = (
        f"{_KINDS[first].capitalize()} {verb}: {_shown(share)}, {rest}; at least {_shown(100 * stale / total)} of "
        "errors are carried over from the turn before (stale)."
    )
    by_run = errors.group_by("run", maintain_order=True).agg(n.sum(), first=n.filter(kind=first).sum()).filter(n > 0)
    gaps = by_run.select("run", share=100 * pl.col("first") / n).with_columns(gap=(pl.col("share") - share).abs())
    run, of_run, gap = gaps.sort("gap", descending=True, maintain_order=True).row(0)
    if round(gap, 1):
        text += f" {run} differs most: {_shown(of_run)} {_KINDS[first]}."
    return Finding("errors", text, "errors", tuple(runs))


# --- checks -----------------------------------------------------------------------------------------------------------

_MISSING_TURNS: Final = {"wrong": "count as wrong", "empty": "count as empty states", "intersect": "are not scored"}


def _doubts(checks: pl.DataFrame, diagnosis: Diagnosis, runs: Sequence[str]) -> Finding | None:
    """The runs that lack turns, those that fail a check, and those with warnings."""
    checks = pl.DataFrame({"run": runs}, schema={"run": pl.String}).join(checks, "run", maintain_order="left_right")
    lack = checks.filter(pl.col("n") > 0, check=COVERAGE).group_by("n", maintain_order=True).agg("run")
    lack = lack.sort("n", descending=True, maintain_order=True)
    lacking = lack["run"].explode().to_list()
    signatures = diagnosis.runs.filter(pl.col("run").is_in(lacking))["signature"]
    ways = {parse_signature(signature).complete()["missing"] for signature in signatures}
    clauses = [
        f"{_do(names, 'lacks', 'lack')} {number_of(turns, 'turn')}" for turns, names in lack.head(_FEW).iter_rows()
    ]
    if len(ways) == 1:
        clauses[0] += f", which {_MISSING_TURNS[ways.pop()]}"
    clauses += ["others lack fewer"] if lack.height > _FEW else []
    doubts, other = list[str](), checks.drop_nulls("short").filter(pl.col("check") != COVERAGE)
    for status, verb in (("fail", "fail for"), ("warn", "give warnings for")):
        shorts = other.filter(status=status).group_by("run", maintain_order=True).agg(pl.col("short").str.join(", "))
        names = [f"{run} ({short})" if shorts.height <= _FEW else run for run, short in shorts.iter_rows()]
        whose = f"all {len(runs)} runs" if _FEW < len(names) == len(runs) else names and listed(names)
        doubts += [f"{verb} {whose}"] if names else []
    texts = ["; ".join(clauses), doubts and f"Checks {' and '.join(doubts)}"]
    about = tuple(dict.fromkeys([*lacking, *other["run"]]))
    return Finding("check", " ".join(f"{text}." for text in texts if text), "notes", about) if any(texts) else None


def failed(checks: pl.DataFrame) -> str | None:
    """Which checks fail, in a line, with the runs if there are several; None: none does."""
    failures = checks.filter(status="fail").group_by("check", maintain_order=True).agg("run")
    if failures.is_empty():
        return None
    several = checks["run"].n_unique() > 1
    named = [f"{check} ({listed(runs)})" if several else check for check, runs in failures.iter_rows()]
    return f"{len(named)} check{'s fail' if len(named) > 1 else ' fails'}: {', '.join(named)}"


def checks_in_short(checks: pl.DataFrame) -> tuple[list[str], pl.DataFrame]:
    """How many checks fail, warn and pass; and (check, status, runs, found) of the doubtful ones."""
    grave = pl.col("status").replace_strict({"fail": 2, "warn": 1}, default=0, return_dtype=pl.Int64)
    worst = checks.with_columns(grave=grave).filter(pl.col("grave") == pl.col("grave").max().over("check"))
    number = pl.col("short").str.replace_all(",", "").str.extract(r"([\d.]+)").cast(pl.Float64)
    most = pl.col("run", "found").sort_by(number, descending=True, nulls_last=True, maintain_order=True)
    by_check = worst.with_columns(
        found=pl.coalesce("short", "found"), alike=pl.col("short").n_unique().over("check") < 2
    )
    outcomes = by_check.group_by("check", maintain_order=True).agg(
        pl.col("status", "grave", "alike").first(), most.first().name.prefix("most_"), runs="run"
    )
    counts = {status: outcomes.filter(status=status).height for status in ("fail", "warn")}
    passed, of = outcomes.height - sum(counts.values()), checks["run"].n_unique()
    clauses = [f"{number_of(n, 'check')} {status}{'s' * (n == 1)}" for status, n in counts.items() if n]
    clauses.append(f"{number_of(passed, 'check')} {is_or_are(passed)} passed by {all_of(of, 'run')}")
    doubtful = outcomes.filter(pl.col("grave") > 0).sort("grave", descending=True, maintain_order=True)
    runs = ["all" if len(names) == of else listed(names, 2) for names in doubtful["runs"]]
    whose = pl.when("alike").then("most_found").otherwise(pl.format("{} ({})", "most_found", "most_run"))
    shown = doubtful.select("check", "status", runs=pl.Series(runs, dtype=pl.String), found=whose)
    return [", ".join(clauses)], shown


# --- conventions ------------------------------------------------------------------------------------------------------

_ALMOST_NONE: Final = 0.05  # fewer than these are expected by chance: almost none


def _order(swept: pl.DataFrame, runs: Sequence[str]) -> Finding | None:
    """What conventions alone change; of several runs, under the conventions that suit all of them."""
    scores = swept.filter(pl.col("metric") == pl.col("metric").first()).drop_nulls("value")
    scores = scores.filter(pl.len().over("profile") == scores["run"].n_unique())
    if scores["profile"].n_unique() < 2:
        return None
    scores = scores.sort(pl.col("run").cast(pl.Enum(runs)), maintain_order=True)
    sentences = (spread_over_profiles if len(runs) == 1 else order_over_profiles)(scores)
    text = " ".join(f"{re.sub('^(by|who|the) ', lambda word: word[0].capitalize(), line)}." for line in sentences)
    return Finding("order", text, "conventions", tuple(runs))


def spread_over_profiles(rows: pl.DataFrame) -> list[str]:
    """A line per run: the lowest and the highest score of the first metric, with their profiles."""
    lines = []
    for (run,), of_run in rows.filter(metric=rows["metric"][0]).group_by("run", maintain_order=True):
        metric, is_count = name_of(of_run["metric"][0]), of_run["unit"][0] == "count"
        shown = pl.col("value") if is_count else (100 * pl.col("value")).round(1)
        ends = of_run.drop_nulls("value").group_by(shown=shown).agg("profile").sort("shown")
        number = of_run["profile"].n_unique()
        written = [f"{value:,.0f}" if is_count else _shown(value) for value in ends["shown"]]
        if len(written) < 2:
            under = f"under {all_of(number, 'convention')} that suit{'s' * (number == 1)} {run}"
            lines.append(f"{metric} is {written[0] if written else 'undefined'} {under}")
            continue
        low, high = (f"{written[at]} ({listed(ends['profile'][at].to_list(), 1)})" for at in (0, -1))
        lines.append(
            f"{metric} depends on the convention: from {low} to {high} under the {number} conventions that suit {run}"
        )
    return lines


def order_over_profiles(rows: pl.DataFrame) -> list[str]:
    """How far conventions alone move the first metric, who is first under them, and which run moves most."""
    metric, unit = rows.select("metric", "unit").row(0)
    rows = rows.filter(metric=metric).drop_nulls("value")
    if rows.is_empty():
        return [f"{name_of(metric)} is undefined under every profile"]
    ranges = rows.group_by("run", maintain_order=True).agg(apart=pl.col("value").max() - pl.col("value").min())
    (least, low), (most, high) = ranges.sort("apart", maintain_order=True).gather([0, -1]).iter_rows()
    above = pl.col("value").rank("min", descending=True).over("profile").cast(pl.Int64) - 1
    places = rows.filter(pl.len().over("profile") == ranges.height).with_columns(above=above)
    number = places["profile"].n_unique()
    under = f"under {all_of(number, 'convention')}"
    changes = f"changes by {_number(low, unit)} ({least}) to {_number(high, unit, ' points')} ({most})"
    lines = [f"by convention alone, {name_of(metric)} {changes if high else 'does not change'}"]
    if not number:
        return lines
    firsts = places.filter(above=0).group_by("run", maintain_order=True).agg(pl.len())
    firsts = firsts.sort("len", descending=True, maintain_order=True)
    if (firsts["len"] == number).all():
        lines.append(f"{_do(firsts['run'].to_list(), 'is', 'are')} first {under}")
    else:
        each = [f"{run} under {times}" for run, times in firsts.iter_rows()]
        lines.append(f"who is first depends on the convention: {listed(each)} of {number} conventions")
    ends = pl.col("above", "profile")
    by_run = places.sort("above", "profile", maintain_order=True).group_by("run", maintain_order=True)
    moved = by_run.agg(ends.first().name.prefix("best_"), ends.last().name.prefix("worst_"))
    by = pl.col("worst_above") - pl.col("best_above")
    run, best, under_best, worst, under_worst = moved.sort(by, descending=True, maintain_order=True).row(0)
    if worst > best:
        best, worst = place(best, ranges.height), place(worst, ranges.height)
        lines.append(f"{run} moves most: {worst} under {under_worst}, {best} under {under_best}")
    else:
        lines.append(f"the order of the runs is the same {under}")
    return lines


def profiles_that_agree(rows: pl.DataFrame) -> list[str]:
    """If there are published scores, a line per run: the profiles that agree with them, or come nearest."""
    if "target" not in rows.columns:
        return []
    lines = []
    for (run,), of_run in rows.group_by("run", maintain_order=True):
        of_targets = of_run.drop_nulls("target")
        targets = of_targets.select("metric", "target").unique(maintain_order=True)
        wanted = " and ".join(f"{metric} {target}" for metric, target in targets.iter_rows())
        profiles = ", ".join(of_targets.filter("agrees_with_all")["profile"].unique(maintain_order=True))
        if not profiles:
            each = (f"; {_nearest(of_metric)}" for _, of_metric in of_targets.group_by("metric", maintain_order=True))
            lines.append(f"{run}: no profile agrees with {wanted}{''.join(each)}")
            continue
        expected = of_run["by_chance"][0]
        bound = "at most " if targets.height > 1 and expected >= _ALMOST_NONE else ""
        chance = f"{bound}{_expected(expected)} of {of_run['profile'].n_unique()} profiles"
        lines.append(f"{run}: agrees with {wanted} under {profiles}; by chance, {chance} would agree")
    return lines


def _expected(expected: float) -> str:
    return f"{expected:.1f}" if expected >= _ALMOST_NONE else "fewer than 0.1"


def _nearest(rows: pl.DataFrame) -> str:
    """For one metric: the profiles that agree with its published score, or else those that are nearest to it."""
    metric, target = rows["metric"][0], rows["target"][0]
    defined = rows.drop_nulls("off").sort(pl.col("off").abs(), maintain_order=True)
    if defined.is_empty():
        return f"{metric} is undefined under every profile"
    nearest = defined.filter(pl.col("off").abs() == pl.col("off").first().abs())
    agreeing, alike = (", ".join(of["profile"].unique(maintain_order=True)) for of in (rows.filter("agrees"), nearest))
    if agreeing:
        return f"{metric} {target} alone: {agreeing}"
    value, off, unit = nearest.select("value", "off", "unit").row(0)
    off_by = f"{_number(abs(off), unit, ' points')} {'higher' if off > 0 else 'lower'}"
    return f"the nearest is {metric} {_number(value, unit)} under {alike}, {off_by}"


# --- changes, and published scores ------------------------------------------------------------------------------------


def what_changed(changes: Changes) -> list[str]:
    """What was fixed and broken, and whether it may be chance."""
    totals = {row["of"]: row for row in changes.totals.iter_rows(named=True)}
    if not totals["values"]["fixed"] + totals["values"]["broken"]:
        return ["nothing changed: every value is as right or wrong as before"]
    counted = []
    for of, row in totals.items():
        chance = "more than chance" if row["significant"] else "which may be chance"
        more = f"{abs(row['net']):,} {'more' if row['net'] > 0 else 'fewer'} right, {chance}"
        fixed = f"{number_of(row['fixed'], of[:-1])} fixed, {row['broken']:,} broken"
        counted.append(f"{fixed}: {more if row['net'] else 'as many right as before'}")
    lines = ["; ".join(counted)]
    net = pl.col("net")
    sign = pl.when(net > 0).then(pl.lit("+")).otherwise(pl.lit(""))
    sure = changes.groups.filter("significant").with_columns(named=pl.format("{} ({}{})", "group", sign, "net"))
    for by in ("slot", "domain"):
        sides = {f"{words} by {by}, beyond chance: {{}}": of for words, of in (("better", net > 0), ("worse", net < 0))}
        lines += _by_verdict(sure.filter(by=by), "named", sides, _FEW)
    return lines


def way_to_published(result: Reconciliation) -> list[str]:
    """What makes the number, as far as it can be told, in two sentences."""
    start, best = result.steps.filter(step=0), result.sets.filter(choices=result.sets["choices"][0])
    wanted = " and ".join(f"{metric} {target}" for metric, target in start.select("metric", "target").iter_rows())
    ours, tried, size = _scores(start, "value"), result.tried.row(-1, named=True), best["size"][0]
    chance = f"by chance, {_expected(tried['by_chance'] or 0)} of these would reach it"
    reached = f"{wanted} is reached from {ours} by"
    of = f"of the {sets_of(size, tried['sets'])} tried"
    if not best["reaches"][0]:
        nearest = f"the nearest, {_scores(best, 'value')}, needs {best['choices'][0]}" if size else "none is nearer"
        lines = [
            f"{wanted} is not reached from {ours} by any set of choices that was tried; {nearest}",
            f"what is left over: {_scores(best, 'off')}; check first in the code that gave {wanted}: "
            f"{'; '.join(_suspects(result))}",
        ]
    elif not size:
        lines = [f"{wanted} needs no other choice: here it is {ours}"]
    elif tried["by_chance"] is None:
        needs = f"{size} choices of a published convention, {best['choices'][0]}"
        lines = [f"{reached} {needs}; of all sets of fewer choices that were tried, none reaches it"]
    elif tried["reached"] == 1:
        lines = [f"{reached} {best['choices'][0]} alone {of}; {chance}"]
    else:
        such = f"such as {best['choices'][0]}, so it does not tell which was used"
        lines = [f"{reached} {tried['reached']:,} {of}, {such}; {chance}"]
    return [*lines, *(line.partition(": ")[2] for line in profiles_that_agree(result.profiles))]


def sets_of(size: int, number: int) -> str:
    """So many sets of so many choices, in words."""
    nouns = {1: "single choice", 2: "pair", 3: "three", 4: "four"}
    return number_of(number, nouns[size]) if size in nouns else f"{number_of(number, 'set')} of {size}"


def _scores(rows: pl.DataFrame, column: str) -> str:
    """The metrics of some rows, each with its score."""
    return " and ".join(
        f"{metric} {_of_metric(metric, value)}" for metric, value in rows.select("metric", column).rows()
    )


def _of_metric(metric: str, value: float | None) -> str:
    return "-" if value is None else _number(value, "count" if parse(metric).is_count else "share")


def _suspects(result: Reconciliation) -> list[str]:
    """What to check first: the choices that bring the first metric nearest to its score, then what was not given."""
    metric, ours, off = result.steps.filter(step=0).select("metric", "value", "off").row(0)
    nearer = result.choices.filter(metric=metric).with_columns(off=(pl.col("value") - (ours - off)).abs())
    nearer = nearer.filter(pl.col("off") < abs(off)).sort("off", maintain_order=True)
    first = nearer.unique("value", keep="first", maintain_order=True).select("choice", "value").head(_FEW)
    given = result.choices["choice"]
    further = [
        *(["which version of gold it had (--other-gold)"] if not given.str.starts_with("gold ").any() else []),
        *(["whether it accepted variants of values (--label-map)"] if "label-map" not in given else []),
        "which checkpoint and split it was",
    ]
    named = [f"{choice} ({metric} {_of_metric(metric, value)})" for choice, value in first.iter_rows()]
    return [*named, *further][:_FEW]


# --- metrics ----------------------------------------------------------------------------------------------------------

# Traits of mistakes, and measures of metrics, in words.
_SWAYED: Final = {"turns": "by length", "to_mean": "by when mistakes happen", "nu_paper": "by their spread"}
_IN: Final = {"soft_accuracy": "the order along {along}", "swap_rate": "swap rate", "power": "pairs told apart"}
# What a metric does not see, by definition.
_UNSEEN: Final = {
    **dict.fromkeys(("jga", "fga", "tla"), "more errors in a wrong turn"),
    "sa": "which slots are absent: they count as right",
    "aga": "slots predicted beyond gold",
}


def which_metric(compared: MetricComparison) -> list[str]:
    """Which metric to report, what others are better for, and what cannot be told; empty without tests of metrics."""
    tests = compared.contests.drop_nulls("p")
    judged = tests.filter(pl.col("measure") != "power")
    if judged.is_empty() or not compared.power["power"].count():
        return []
    loses = pl.when((pl.col("difference") > 0) == (pl.col("measure") == "swap_rate")).then("first").otherwise("second")
    beaten = judged.filter(_IS_SIGNIFICANT).select(loses).to_series().to_list()
    values = compared.reliability.select("metric", value=-pl.col("swap_rate"))
    if compared.validity.height:
        values = compared.validity.filter(measure="soft_accuracy").select("metric", "value")
    metrics = values.drop_nulls().sort("value", descending=True, maintain_order=True)["metric"].to_list()
    unbeaten = [metric for metric in metrics if metric not in beaten]
    if not unbeaten:
        return []
    best, *others = unbeaten
    worse = [metric for metric in metrics if metric in beaten]
    swap_rate = compared.reliability.filter(metric=best)["swap_rate"][0]
    along, condition, is_reported = "", "no order being known, ", True
    lines = [f"{best} orders random halves of the dialogues most alike: {_shown(100 * swap_rate)} of pairs differ"]
    if compared.validity.height:
        tau = compared.validity.filter(metric=best, measure="tau").row(0, named=True)
        along, condition, text = tau["along"], "", f"tau {tau['value']:.2f}"
        if tau["low"] is not None:
            text += f" ({percent(tau['level'])} interval {tau['low']:.2f} to {tau['high']:.2f})"
        lines = [f"{best} orders the runs along {along} best: {text}"]
        if tau["value"] <= 0:  # to come nearest to that order is no merit then
            is_reported = False
            lines = [f"no metric rises with {along}: the nearest is {best}, {text}; should scores rise with it?"]
    which = "no other is" if not worse else f"only {listed(worse, len(worse))} {is_or_are(len(worse))}"
    if len(worse) > len(others):
        which = f"only {listed(others, len(others))} {is_or_are(len(others))} not" if others else "all others are"
    if is_reported:
        lines.append(f"{condition}report {best}; {which} significantly worse at this")
        unseen = _UNSEEN.get(best.partition(":")[0])
        lines += [f"{best} does not see {unseen} (`dstbench sensitivity`)"] if unseen else []
    # The metric whose scores depend least on a trait, given the numbers of mistakes and turns.
    swayed = compared.dependence.drop_nulls("partial").filter(pl.len().over("trait") > 1)
    least = swayed.sort(pl.col("partial").abs(), maintain_order=True).unique("trait", keep="first")
    rows = least.select("trait", "metric", "partial").rows()
    by_trait = {trait: f"{metric} (r {round(r, 2) + 0:.2f})" for trait, metric, r in rows}
    parts = [f"{words}: {by_trait[trait]}" for trait, words in _SWAYED.items() if trait in by_trait]
    lines.append(f"least swayed {'; '.join(parts)}" if parts else "")
    counted = tests.group_by("measure", maintain_order=True).agg(sure=_IS_SIGNIFICANT.sum())
    told = "" if worse or not is_reported else "soft_accuracy" if along else "swap_rate"
    alike = [_IN[name].format(along=along) for name, sure in counted.iter_rows() if not sure and name != told]
    if alike:
        lines.append(f"no two metrics differ significantly in {listed(alike, word='or')}")
    return [line for line in lines if line]


def metrics_apart(compared: MetricComparison) -> list[str]:
    """Whether some metric surely tells more pairs of runs apart than another, and which pairs two surely reverse."""
    return _power(compared) + _orders(compared)


def _power(compared: MetricComparison) -> list[str]:
    power, contests = compared.power, compared.contests.filter(measure="power").drop_nulls("p")
    if power["power"].count() == 0:
        untold = "no pair of runs can be told apart: too few resamples, or too few dialogues differ"
        return [untold] if power["pairs"].sum() else []
    sure = contests.filter(_IS_SIGNIFICANT).sort(pl.col("difference").abs(), descending=True, maintain_order=True)
    if sure.is_empty():
        return []
    widest = sure.row(0, named=True)
    more, less = (widest[side] for side in (("first", "second") if widest["difference"] > 0 else ("second", "first")))
    (apart, pairs), (of_less, _) = (power.filter(metric=name).select("apart", "pairs").row(0) for name in (more, less))
    counts = f"{apart} and {of_less} of {pairs} (adjusted p {_equals(widest['p_adjusted'])})"
    return [f"{more} tells more pairs of runs apart than {less}: {counts}"]


def _orders(compared: MetricComparison) -> list[str]:
    """The pairs of runs that two metrics reverse, both significantly; without tests, of the least alike orders."""
    orders = compared.agreement.drop_nulls("tau").sort("tau", maintain_order=True)
    if orders.is_empty():
        return []
    first, second, tau, n, surely = orders.select("first", "second", "tau", "reversed", "reversed_surely").row(0)
    if tau == 1:
        which = "all metrics" if compared.agreement["tau"].null_count() == 0 else "all metrics that have one"
        return [f"the orders of {which} agree: tau 1.00"]
    if surely is None:
        least = " agree least" if orders.height > 1 else ""
        reverse = [_opposite(compared, first, second)] if n else []
        return [f"the orders of {first} and {second}{least}: tau {tau:.2f}", *reverse]
    turns, sure = orders["reversed"].sum(), orders["reversed_surely"].sum()
    if not sure:
        times = number_of(orders.select(pl.col("runs") * (pl.col("runs") - 1) // 2).sum().item(), "time")
        return [f"two metrics disagree on a pair of runs {turns} of {times}, never both significantly"]
    most = orders.sort("reversed_surely", descending=True, maintain_order=True)
    disagree = _opposite(compared, *most.select("first", "second").row(0))
    return [f"{disagree}, significantly in both: {sure} of {turns} disagreements are"]


def _opposite(compared: MetricComparison, first: str, second: str) -> str:
    pairs = reversed_pairs(compared, first, second)
    return f"{first} and {second} disagree on {pairs} (better by {first}/by {second})"


def reversed_pairs(compared: MetricComparison, first: str, second: str) -> str:
    """The names of the pairs of runs that two metrics reverse, those with the largest differences first."""
    rows = compared.reversals.filter(first=first, second=second)
    rows = rows.filter("significant") if rows["significant"].any() else rows
    size = pl.min_horizontal(pl.col("difference_first").abs(), pl.col("difference_second").abs())
    named = rows.sort(size, descending=True, maintain_order=True)
    return listed(named.select(pl.format("{}/{}", "run", "other")).to_series().to_list(), _FEW)


# --- costs of errors --------------------------------------------------------------------------------------------------

#: What an error of each kind is, in a table and in a sentence.
ERRORS: Final = {
    "missed": ("the slot is absent as long as gold keeps the value", "one missed value"),
    "wrong": ("the slot has another value as long as gold keeps this one", "one wrong value"),
    "late": ("the value comes one turn later", "one late value"),
    "dropped": ("the value is right at first, then absent as long as gold keeps it", "one dropped value"),
    "over": ("a slot that gold lacks is predicted to the end", "one slot too many"),
    "swap": ("the value stands in another slot of the domain", "one swapped slot"),
}
_BLIND: Final = 0.05  # errors that change nothing are named if they are at least this share
_DECIMALS: Final = 9  # biases relative to the mean loss are equal, but for rounding, if these decimals are
BIN: Final = pl.format(
    "{}-{} %", (100 * pl.col("start")).round().cast(pl.Int64), (100 * pl.col("end")).round().cast(pl.Int64)
)


def costs(sensitivity: Sensitivity) -> list[str]:
    """For the first kind of error: to which metrics its position matters most and least, relative to the mean loss."""
    own = (sensitivity.own_bias, sensitivity.own_costs, sensitivity.own_errors)
    bias, losses, errors = (frame.filter(way="put in") for frame in own)
    if of_gold := errors.filter(pl.col("errors") > 0).is_empty():
        bias, losses, errors = sensitivity.bias, sensitivity.costs, sensitivity.errors
    kind = errors.filter(pl.col("errors") > 0)["kind"].item(0)
    one, sampled = ERRORS[kind][1], ", estimated from a sample" * sensitivity.is_sample
    size = pl.col("relative").abs().round(_DECIMALS)
    rows = bias.filter(kind=kind).drop_nulls("relative").with_columns(size=size)
    if rows.is_empty():
        return [f"whether {one} costs more early or late in a dialogue cannot be said"]
    sizes, lines = rows["size"].unique().sort(descending=True), list[str]()
    for extreme, rank in {sizes[0]: " most", sizes[-1]: " least" if len(sizes) > 1 else ""}.items():
        row, *alike = rows.filter(size=extreme).iter_rows(named=True)
        others = [other["metric"] for other in alike]
        does = f"do{'' if others[1:] else 'es'} {listed(others, len(others))}" if others else ""
        link = f", {'as' if extreme else 'nor'} {does}" if does else ""
        depends = f"depends{rank} on" if extreme else "does not depend on"
        position_bias = f"{100 * row['bias']:+.2f}" if row["size"] else "0"  # below, the text says what a bias is
        cost = f"{100 * row['loss']:.2f} points on average (bias {position_bias})"
        if extreme >= 1:  # a larger bias, of a loss that falls to almost nothing, says less than the losses
            ends = losses.filter(kind=kind, metric=row["metric"]).drop_nulls("loss").select("loss", BIN)
            (first, start), (last, end) = ends.gather([0, -1]).iter_rows()
            cost = f"{100 * first:.2f} points at {start}" + (f", {100 * last:.2f} at {end}" if end != start else "")
        lines.append(f"{row['metric']} {depends} the position{link}: {one} costs {cost}{sampled}")
    if of_gold:
        return lines
    blind = bias.filter(pl.col("blind") >= _BLIND, kind=kind).sort("blind", descending=True, maintain_order=True)
    unseen = [f"{metric} {_whole(share)}" for metric, share in blind.select("metric", "blind").iter_rows()]
    lines += [f"{one} put into the run changes nothing in {listed(unseen)} of cases"] if unseen else []
    for of, metrics in bias.filter(blind=1).group_by("kind", maintain_order=True).agg("metric").iter_rows():
        lines.append(f"{_do(metrics, 'never sees', 'never see')} {ERRORS[of][1]}")
    return lines


# --- correlations -----------------------------------------------------------------------------------------------------

# Which dialogues correlations are over, by the value of the column `rows`.
_DIALOGUES_TAKEN: Final = {
    "pairwise": "",
    "complete": " over dialogues in which all are defined",
    "released": " over dialogues as the authors of GCA took them",
    "given": " given the dialogues' mistakes and turns",
}
_EXCLUDES_0: Final = (pl.col("zou_low") > 0) | (pl.col("zou_high") < 0)
# Whether Zou's interval excludes 0 where p is above 1 - level, or holds it where p is not; false without it.
_DIFFERS: Final = ((pl.col("p") <= 1 - pl.col("level") + _ROUNDING) != _EXCLUDES_0).fill_null(value=False)
#: The same in words, for the end of a cell.
ZOU_DIFFERS: Final = pl.when(_DIFFERS).then(pl.lit(" (differs)")).otherwise(pl.lit(""))


def differences(rows: pl.DataFrame) -> list[str]:
    """For each two correlations: the runs in which the first is stronger, weaker, or perhaps neither."""
    tested, lines = rows.filter(pl.col("run") == pl.col("other_run"), pl.col("p").is_not_null()), []
    adjusted = "adjusted p" if tested["p_adjusted"].count() > 1 else "p"
    one_sign = pl.col("r_first") * pl.col("r_second") > 0
    weaker, lower = pl.col("r_first").abs() < pl.col("r_second").abs(), pl.col("difference") < 0
    verdicts = {
        "weaker than": one_sign & weaker, "stronger than": one_sign & ~weaker,
        "below": ~one_sign & lower, "above": ~one_sign & ~lower,
    }  # fmt: skip
    for compared, of_pair in tested.group_by("first", "second", maintain_order=True):
        first, second = (f"r({str(pair).replace(',', ', ')})" for pair in compared)
        sides, given = list[str](), ", given mistakes and turns" if of_pair["rows"][0] == "given" else ""
        for words, verdict in verdicts.items():
            if runs := _in_runs(of_pair.filter(_IS_SIGNIFICANT & verdict)):
                sides.append(f"{words} {'it' if sides else second}{runs}")
        if sides:
            lines.append(f"{first} is {', and '.join(sides)}{given} ({adjusted} ≤ {1 - of_pair['level'][0]:.2g})")
        if chance := _in_runs(of_pair.filter(~_IS_SIGNIFICANT)):
            what = "the difference" if sides else f"the difference of {first} and {second}{given}"
            lines.append(f"{what} could be chance{chance}")
        if differs := _in_runs(of_pair.filter(_DIFFERS)):
            lines.append(f"by Zou's interval, which assumes normal data, it is otherwise{differs}")
    return lines


def _in_runs(rows: pl.DataFrame) -> str:
    """The runs, in words; empty if there is none."""
    return f" in {listed(rows['run'].to_list())}" if rows.height else ""


def most_alike(pairs: pl.DataFrame) -> list[str]:
    """The two columns of a matrix that agree most, and those that agree least."""
    ordered = pairs.drop_nulls("r").sort("r", descending=True, maintain_order=True)
    if ordered.height < 2:
        return []
    (one, other, high), (first, second, low) = ordered.select("first", "second", "r").gather([0, -1]).iter_rows()
    return [f"{one} and {other} agree most (r {high:.2f}), {first} and {second} least ({low:.2f})"]


def rows_taken(rows: pl.DataFrame) -> str:
    """Which dialogues, or turns, correlations are over; empty: those in which both columns are defined."""
    return _DIALOGUES_TAKEN[rows["rows"][0]].replace("dialogues in", f"{rows['per'][0]}s in")


def over(n: int, dialogues: int, per: str) -> str:
    """What correlations are over, in words."""
    if n == dialogues:
        return number_of(n, per)
    if per == "turn":
        return f"{number_of(n, 'turn')} of {number_of(dialogues, 'dialogue')}"
    return f"{n:,} dialogues ({dialogues:,} different)"


# --- ratings ----------------------------------------------------------------------------------------------------------


class Ratings:
    """How metrics agree with people's ratings: of all runs together, if there are several."""

    def __init__(self, correlations: Correlations) -> None:
        from dstbench.analysis.correlate import POOLED  # not before: it needs the modules of statistics

        runs, metrics = correlations.rated["run"], correlations.signatures["metric"].unique(maintain_order=True)
        self.run: str = POOLED if POOLED in runs else runs[0]
        self.rising = [name for name in metrics if sign_of(name) != -1]
        # Pearson's correlations of the metrics whose higher scores are better, and differences with their first tests.
        rows = correlations.rated.filter(pl.col("metric").is_in(self.rising), run=self.run, coefficient="pearson")
        self.ranked = rows.drop_nulls("value").sort("value", descending=True, maintain_order=True)
        rows = correlations.rated_differences.filter(run=self.run)
        self.differences = rows.unique(["metric", "other", "coefficient"], keep="first", maintain_order=True)
        value, other = pl.col("value"), pl.col("other_value")
        loser = pl.when(value < other).then("metric").when(value > other).then("other")
        behind = self.differences.filter(coefficient="pearson").select(loser).to_series()
        # Behind no other where both are defined: ranks do not tell, each being over the rows of its own metric.
        self.best: str | None = next((name for name in self.ranked["metric"] if name not in behind), None)

    def leads(self) -> pl.DataFrame:
        """The differences of the best metric from each `other` one, in which a lead is positive."""
        is_other = pl.col("other") == self.best
        return turned(self.differences.filter(is_other | (pl.col("metric") == self.best)), is_other)


def best_by_ratings(correlations: Correlations) -> list[str]:
    """Which metric agrees best with the ratings, and whether it is better than the others by more than chance."""
    ratings = Ratings(correlations)
    best, ranked = ratings.best, ratings.ranked
    if ranked.is_empty():
        return ["no score has a correlation with the ratings"] if ratings.rising else []
    if best is None:
        names = ", ".join(ranked["metric"])
        return [f"no metric agrees best with the ratings: each of {names} is behind another where both are defined"]
    row = ranked.row(by_predicate=pl.col("metric") == best, named=True)
    r = f"r = {row['value']:.3f}" + ("" if row["low"] is None else f", {row['low']:.3f} to {row['high']:.3f}")
    r += f"; {over(row['n'], row['dialogues'], row['per'])}"
    if row["value"] <= 0:
        return [f"no metric rises with the ratings: the highest is {best} ({r}); is a high rating a good one?"]
    chance = ", which could be chance" if row["low"] is None or row["low"] <= 0 else ""
    lines = [f"{best} agrees best with the ratings ({r}){chance}"]
    if higher := ranked.filter(pl.col("value") > row["value"])["metric"].to_list():
        where = f"where both are defined, {best}'s is higher"
        lines.append(f"r of {', '.join(higher)} is higher, but over other {row['per']}s: {where}")
    others, is_better = ratings.leads().filter(coefficient="pearson"), _IS_SIGNIFICANT & (pl.col("difference") > 0)
    sides = {"better than {} by more than chance": is_better, "its lead on {} could be chance": ~is_better}
    clauses = _by_verdict(others, "other", sides, others.height)
    return [*lines, *(["; ".join(clauses)] if clauses else [])]


# --- audits -----------------------------------------------------------------------------------------------------------


def least_even(slots: pl.DataFrame) -> list[str]:
    """The slots whose most frequent value makes up most of their values."""
    over = slots.filter(pl.col("share") > 0.5)
    if over.is_empty():
        return ["no slot has a value that makes up more than half of its values"]
    slot, value, share = over.select("slot", "most_frequent", "share").row(0)
    one = f"in {number_of(over.height, 'slot')} of {slots.height}, one value {'each ' * (over.height > 1)}makes"
    return [f"{one} up more than half of all values; the least even is {slot}: {100 * share:.1f} % are {value!r}"]


def seen_in_training(overlap: pl.DataFrame) -> list[str]:
    """A line per split: how much of all its values, by the first way of counting, the training set has."""
    sums = overlap.filter(pl.col("counting") == pl.col("counting").first())
    sums = sums.group_by("split", "train", maintain_order=True).agg(
        pl.col("values_seen", "values", "n_seen", "n").sum()
    )
    return [
        f"{split}: {train} has {seen:,} of {values:,} values of slots ({100 * seen / values:.2f} %); these are "
        f"{100 * n_seen / n:.2f} % of n, the number of times that values are counted"
        for split, train, seen, values, n_seen, n in sums.iter_rows()
    ]
