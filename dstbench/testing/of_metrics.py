"""The laws of metrics: each takes metrics, a corpus and random numbers, and asserts something about the scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.conventions.slots import slot_total
from dstbench.errors import DstbenchWarning
from dstbench.metrics import REGISTRY, Metric, counts_and_stats
from dstbench.metrics.base import check_own
from dstbench.metrics.exact_sums import from_parts, in_parts
from dstbench.metrics.registry import checked_metric, with_parameters
from dstbench.scoring.score import score, turns
from dstbench.scoring.standard_errors import scores
from dstbench.signature import parse, sign
from dstbench.testing.laws import (
    BrokenLawError,
    Outcome,
    States,
    as_lines,
    fault_in,
    raise_if_broken,
    random_states,
    smallest,
    tried,
)


@dataclass(frozen=True)
class Scored:
    """Metrics and a corpus on which they are tried; each group's scores are computed once, for all laws."""

    metrics: Sequence[Metric]
    states: States
    _rows: dict[str, pl.DataFrame] = field(default_factory=dict)

    def rows(self, by: str = "run") -> pl.DataFrame:
        """The scores, sorted by group and metric."""
        if by not in self._rows:
            self._rows[by] = _rows(self.metrics, self.states, by)
        return self._rows[by]


Law: TypeAlias = Callable[[Scored, np.random.Generator], None]

#: What scores are grouped by where a law is about any group.
_GROUPS: Final = ("dialogue", "turn", "domain", "slot")


def check_metric(metric: Metric | type[Metric], *, corpora: int = 30, seed: int = 0) -> None:
    """Try all laws on a metric.

    Args:
        metric: The metric, or its class, if its parameters have defaults.
        corpora: Number of random corpora for each law.
        seed: Random seed.

    Raises:
        AssertionError: The metric breaks a law; the message says how, and shows a small corpus that breaks it.
    """
    outcomes = try_metric(metric, corpora=corpora, seed=seed)
    raise_if_broken(f"metric {getattr(metric, 'name', metric)!r}", outcomes)


def try_metric(metric: Metric | type[Metric], *, corpora: int = 30, seed: int = 0) -> list[Outcome]:
    """The outcome of each law for a metric.

    Args:
        metric: The metric, or its class, if its parameters have defaults.
        corpora: Number of random corpora for each law.
        seed: Random seed.
    """
    first = tried(
        "it has a name, and a score of sums of numbers that each turn has by itself",
        lambda: checked_metric(metric) if isinstance(metric, type) else check_own(metric, REGISTRY),
    )
    if first.fault:
        return [first]
    made = metric() if isinstance(metric, type) else metric
    written = tried("its notation and its signature can be read back", lambda: can_be_read_back(made))
    # The small corpora first.
    sizes = [1 + number // 6 for number in range(corpora)]
    corpora_drawn = [random_states(np.random.default_rng([seed, at]), most, most + 1) for at, most in enumerate(sizes)]
    scored = [Scored([made], states) for states in corpora_drawn]
    outcomes = [first, written, *(_tried(law, text, scored, seed) for text, law in LAWS.items())]
    return outcomes if any(outcome.fault for outcome in outcomes) else [*outcomes, _of_perfect(made, corpora, seed)]


def _tried(law: Law, text: str, corpora: Sequence[Scored], seed: int) -> Outcome:
    """The outcome of a law on corpora: of the first that breaks it, made small."""
    for number, scored in enumerate(corpora):
        if _fault(law, scored, [seed, number]):
            break
    else:
        return Outcome(text)

    def fault(states: States) -> str | None:
        return _fault(law, Scored(scored.metrics, states), [seed, number])

    states = smallest(scored.states, lambda fewer: fault(fewer) is not None)
    return Outcome(text, fault(states), tuple(as_lines(states)))


def _fault(law: Law, scored: Scored, seed: Sequence[int]) -> str | None:
    return fault_in(lambda: law(scored, np.random.default_rng(seed)))


def _of_perfect(metric: Metric, corpora: int, seed: int) -> Outcome:
    """A perfect prediction's score against others: a note, not a law, as a metric need not be about right slots."""
    better: set[bool] = set()
    for number in range(corpora):
        states = random_states(np.random.default_rng([seed, number]))
        perfect, other = (
            _rows([metric], [{**state, "pred": state[side]} for state in states])["value"].item()
            for side in ("gold", "pred")
        )
        if perfect is not None and other is not None and perfect != other:
            better.add(perfect > other)
    extreme = {(True,): "higher than", (False,): "lower than", (): "the same as"}
    text = extreme.get(tuple(better), "now higher, now lower than")
    return Outcome(f"of a perfect prediction it is {text} of others", is_note=True)


# --- laws -------------------------------------------------------------------------------------------------------------


def can_be_read_back(metric: Metric) -> None:
    """A metric's notation and signature identify it."""
    _, *parts = str(metric).split(":")
    again = with_parameters(type(metric), parts, str(metric))
    if again != metric:
        raise BrokenLawError(f"{metric!r} is written {metric}, which is read as {again!r}")
    read = parse(sign(metric.settings(), {"d": "1"})).metric
    if read != metric.settings() or "+" in read:
        raise BrokenLawError(f"{read}: a plus joins the signatures of several metrics")


def order_changes_nothing(scored: Scored, rng: np.random.Generator) -> None:
    """Dialogues, turns and slots may stand in any order."""

    def shuffled(state: dict[str, str]) -> dict[str, str]:
        slots = list(state)
        return {slots[at]: state[slots[at]] for at in rng.permutation(len(slots))}

    mixed = [{**state, "gold": shuffled(state["gold"]), "pred": shuffled(state["pred"])} for state in scored.states]
    mixed = [mixed[at] for at in rng.permutation(len(mixed))]
    _assert_same(scored.rows(), _rows(scored.metrics, mixed), "in this order and in another")


def parts_add_up(scored: Scored, rng: np.random.Generator) -> None:
    """The sums of parts of a corpus add up to those of the whole: so any number of threads gives the same score."""
    summed = [metric.resolve(slot_total((), is_multiwoz=True)) for metric in scored.metrics]
    counts, stats = counts_and_stats(summed)
    names = sorted({state["dialogue_id"] for state in scored.states})
    part = dict(zip(names, rng.integers(3, size=len(names)), strict=True))
    parts = [[state for state in scored.states if part[state["dialogue_id"]] == number] for number in range(3)]
    columns = [in_parts(stat).sum().alias(f"stat:{name}") for name, stat in stats.items()]
    sums = pl.concat([turns(one, counts=counts).select(columns) for one in parts if one]).sum()
    values = scores(summed, sums.select(from_parts(pl.all()))).row(0)
    for metric, value in zip(summed, values, strict=True):
        whole = scored.rows().filter(metric=str(metric))["value"].item()
        if repr(value) != repr(whole):  # NaN breaks another law
            raise BrokenLawError(f"{metric} is {whole} of the whole, and {value} of the sums of its parts")


def undefined_is_null(scored: Scored, rng: np.random.Generator) -> None:
    """A value that cannot be computed is null, in any group; a standard error, too."""
    for by in ("run", rng.choice(_GROUPS)):
        rows = scored.rows(by)
        for column in ("value", "se"):
            odd = rows.filter(~pl.col(column).is_finite())
            if odd.height:
                what = "is" if column == "value" else "has the standard error"
                raise BrokenLawError(f"{odd['metric'][0]} {what} {odd[column][0]}{_group(odd, by)}, not null")


def shares_are_in_range(scored: Scored, rng: np.random.Generator) -> None:
    """The value of a share is from 0 to 1 (tables show it in percent); a count has ``is_count = True``."""
    for by in ("run", rng.choice(_GROUPS)):
        rows = scored.rows(by).filter(pl.col("unit") == "share")
        odd = rows.filter(pl.col("value").is_finite() & ~pl.col("value").is_between(0, 1))
        if odd.height:
            hint = "if it is no share, say is_count = True"
            raise BrokenLawError(f"{odd['metric'][0]} is {odd['value'][0]}{_group(odd, by)}; {hint}")


def twice_is_the_same(scored: Scored, _: np.random.Generator) -> None:
    """If every dialogue is there twice, a share stays, and a count doubles: standard errors rest on it."""
    again = [{**state, "dialogue_id": f"MUL9{state['dialogue_id'][3:]}"} for state in scored.states]
    factor = pl.when(pl.col("unit") == "count").then(2.0).otherwise(1.0)
    once = scored.rows().with_columns(value=pl.col("value") * factor)
    _assert_same(once, _rows(scored.metrics, [*scored.states, *again]), "of the dialogues, and of all of them twice,")


#: What each law says, and the law.
LAWS: Final[Mapping[str, Law]] = {
    "the order of dialogues, turns and slots changes nothing": order_changes_nothing,
    "the sums of parts add up to the whole, on any number of threads": parts_add_up,
    "undefined is null, never NaN or infinite": undefined_is_null,
    "a share is from 0 to 1": shares_are_in_range,
    "every dialogue twice: a share stays, a count doubles": twice_is_the_same,
}


def _group(rows: pl.DataFrame, by: str) -> str:
    return "" if by == "run" else f" for {by} {rows[by][0]}"


def _rows(metrics: Sequence[Metric], states: States, by: str = "run") -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)  # of random predictions, much is doubtful
        return score(states, metrics=list(metrics), by=by).sort(by, "metric")


def _assert_same(one: pl.DataFrame, other: pl.DataFrame, where: str) -> None:
    different = one["value"].ne_missing(other["value"])
    if different.any():
        values = (f"{rows.filter(different)['value'][0]}" for rows in (one, other))
        raise BrokenLawError(f"{one.filter(different)['metric'][0]} {where} is {' and '.join(values)}")
