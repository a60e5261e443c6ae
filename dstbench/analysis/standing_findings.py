"""Findings on the order of runs: who is best, whether it may be chance, and whether other conventions agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from dstbench.analysis.check import SPELLED
from dstbench.analysis.compare import Leaderboard
from dstbench.analysis.sentences import SHOWN, Finding, led_by_others, listed, percent, place, ranked
from dstbench.analysis.verdicts import FEWEST_SEEDS
from dstbench.metrics.registry import name_of, sign_of

_FEW: Final = 3  # metrics with a number each
# Why a difference is not tested.
_FEW_DIALOGUES: Final = "too few dialogues differ for a test"
_FEW_SEEDS: Final = f"models of fewer than {FEWEST_SEEDS} runs are not tested"


def best_run(leaderboard: Leaderboard) -> Finding | None:
    """Which run, or model if models are compared, has the highest value, by how much, and whether it may be chance."""
    models = leaderboard.models.rename({"model": "run"})
    compared = models if models.height else leaderboard.scores
    board = ranked(compared)
    if board.is_empty():
        return None
    metric, defined = board["metric"][0], board.drop_nulls("value")
    undefined = board.filter(pl.col("value").is_null())["run"].to_list()
    if defined.is_empty():
        return _of_runs(f"{name_of(metric)} is undefined for {listed(undefined)}.", undefined, leaderboard)
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
    led = led_by_others(others, "metric", best)
    texts = [f"{listed(runs)} by {name_of(metric)} ({percent(shown)})" for metric, runs, shown in led.iter_rows()]
    elsewhere = f" By other metrics, others are first: {listed(texts, _FEW)}." if texts else ""
    return _of_runs(f"{'; '.join(clauses)}.{elsewhere}", board["run"], leaderboard)


def _of_runs(text: str, names: Iterable[str], leaderboard: Leaderboard) -> Finding:
    """A finding about those names that are names of runs, not of models."""
    runs = set(leaderboard.scores["run"])
    return Finding("best", text, "scores", tuple(name for name in names if name in runs))


def _verdicts(leaderboard: Leaderboard, metric: str, best: Sequence[str], rest: Sequence[str]) -> list[str]:
    """Which of the rest the best runs are significantly better than and which not, and which cannot be tested."""
    is_best = pl.col("run").is_in(best)
    across = leaderboard.differences.filter(pl.col("metric") == metric, is_best != pl.col("other").is_in(best))
    pairs = across.with_columns(name=pl.when(is_best).then("other").otherwise("run"))
    # Every best run is compared to each of the rest; the verdict must hold for all of the best.
    few_resamples = f"{leaderboard.design['resamples'][0]:,} resamples are too few for a test"
    per_other = pairs.group_by("name").agg(
        pl.col("adjustment", "m").first(),
        highest=pl.col("p_adjusted").max(),
        lowest=pl.col("p_adjusted").min(),
        better=pl.col("significant").all(ignore_nulls=False),
        may_flip=pl.col("may_flip").any(),
        why=pl.when(pl.col("p").is_null().any())
        .then(pl.lit(_FEW_SEEDS))
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
    for why in (few_resamples, _FEW_DIALOGUES, _FEW_SEEDS):
        rows = tested.filter(pl.col("better").is_null(), why=why)
        if rows.height:
            clauses.append(f"whether it is {than} {names_of(rows)} is open, as {why}")
    return clauses


def order_of_runs(board: pl.DataFrame, swept: pl.DataFrame, checks: pl.DataFrame) -> Finding | None:
    """Whether the order of the runs holds under other conventions; if not, the run whose place changes most.

    Args:
        board: The runs' scores (`ranked`).
        swept: Their scores under other conventions.
        checks: The result of `check`.
    """
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
    ends = [under.filter(pl.col("shown") == end) for end in (under["shown"].min(), under["shown"].max())]
    low, high = (f"{percent(end['shown'][0])} ({listed(end['profile'].to_list(), 1)})" for end in ends)
    text = (
        f"{metric} depends on the convention: from {low} to {high} under the {conventions} conventions that suit {run}."
    )
    if ends[0]["shown"][0] == ends[1]["shown"][0]:
        text = f"{metric} is {percent(ends[0]['shown'][0])} under all {conventions} conventions that suit {run}."
    return Finding("order", text, "conventions", (run,))


def _under_conventions(board: pl.DataFrame, swept: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The scored runs, their scores under each convention that suits all of them, and the number of such conventions.

    Returns:
        (run, metric, value, here: in percent), (profile, run, here, shown: in percent), number of conventions.
    """
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
