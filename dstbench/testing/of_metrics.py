"""The laws of metrics: each takes a metric, a corpus and random numbers, and raises how the scores break it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from dstbench.conventions.slots import slot_total
from dstbench.metrics import REGISTRY, Metric, counts_and_stats
from dstbench.metrics.base import check_own, from_parts, in_parts
from dstbench.metrics.registry import checked_metric, with_parameters
from dstbench.scoring.score import score, turns
from dstbench.scoring.sums import scores
from dstbench.signature import parse, sign
from dstbench.testing.laws import BrokenLawError, check_laws, fault_in, require

#: Turns, as `dstbench.score` takes them: dialogue_id, turn, gold, pred.
States: TypeAlias = list[dict[str, Any]]
#: Slots of random corpora.
SLOTS: Final = ("hotel-area", "hotel-name", "hotel-book day", "train-day", "train-leaveat")
#: Values of random corpora; "none" and "" mean absent under the default convention, but a listed one is a value to GCA.
VALUES: Final = ("north", "south", "centre", "none", "", "dontcare")


def check_metric(metric: Metric | type[Metric], *, corpora: int = 30, seed: int = 0) -> None:
    """Try all laws on a metric.

    Args:
        metric: The metric, or its class, if its parameters have defaults.
        corpora: Number of random corpora for each law.
        seed: Random seed.

    Raises:
        AssertionError: The metric breaks a law; the message says how, and shows a small corpus that breaks it.
    """
    what = f"metric {getattr(metric, 'name', metric)!r}"
    usable = partial(checked_metric, metric) if isinstance(metric, type) else partial(check_own, metric, REGISTRY)
    check_laws(what, {"it has a name, and statistics that can be summed": usable})
    made = metric() if isinstance(metric, type) else metric
    # The small corpora first.
    drawn = [_random_states(np.random.default_rng([seed, at]), 1 + at // 6) for at in range(corpora)]

    def check(law: Callable[[Metric, States, np.random.Generator], None]) -> None:
        """Try a law on corpora; the first that breaks it is shown."""
        for number, states in enumerate(drawn):
            if fault := fault_in(law, made, states, np.random.default_rng([seed, number])):
                turn = "\n    {dialogue_id}, turn {turn}: gold {gold}, pred {pred}"
                raise BrokenLawError(fault + "".join(turn.format(**state) for state in states))

    check_laws(what, {
        "its notation and its signature can be read back": lambda: _is_read_back(made),
        "the order of dialogues, turns and slots changes nothing": lambda: check(_order_changes_nothing),
        "the sums of parts add up to the whole, on any number of threads": lambda: check(_parts_add_up),
        "undefined is null, never NaN or infinite": lambda: check(_none_is_odd),
        "a share is from 0 to 1": lambda: check(_all_are_shares),
        "every dialogue twice: a share stays, a count doubles": lambda: check(_twice_is_the_same),
    })  # fmt: skip


def _random_states(rng: np.random.Generator, most: int) -> States:
    """Up to so many dialogues, of up to so many turns, whose states change at random; some are empty."""

    def state() -> dict[str, str]:
        slots = rng.permutation(len(SLOTS))[: rng.integers(len(SLOTS))]
        return {SLOTS[slot]: VALUES[rng.integers(len(VALUES))] for slot in slots}

    states: States = []
    for dialogue in range(rng.integers(1, most, endpoint=True)):
        gold, pred = dict[str, str](), dict[str, str]()
        for turn in range(rng.integers(1, most, endpoint=True)):
            gold = gold if rng.random() < 0.5 else state()
            pred = (gold, pred, state())[rng.integers(3)]
            states.append({"dialogue_id": f"MUL{dialogue}", "turn": turn, "gold": dict(gold), "pred": dict(pred)})
    return states


def _value(metric: Metric, states: States) -> float | None:
    return score(states, metrics=[metric]).value(str(metric))


def _are_same(metric: Metric, where: str, one: float | None, other: float | None) -> None:
    require(repr(one) == repr(other), f"{metric} {where} is {one} and {other}")  # NaN, too, is the same


def _is_read_back(metric: Metric) -> None:
    again = with_parameters(type(metric), str(metric).split(":")[1:], str(metric))
    require(again == metric, f"{metric!r} is written {metric}, which is read as {again!r}")
    signed = parse(sign(metric.settings(), {"d": "1"})).metric
    is_one = signed == metric.settings() and "+" not in signed
    require(is_one, f"{signed}: a plus joins the signatures of several metrics")


def _order_changes_nothing(metric: Metric, states: States, rng: np.random.Generator) -> None:
    def shuffled(items: Any) -> list[Any]:
        return [list(items)[at] for at in rng.permutation(len(items))]

    mixed = [{**state, **{side: dict(shuffled(state[side].items())) for side in ("gold", "pred")}} for state in states]
    _are_same(metric, "in this order and in another", _value(metric, states), _value(metric, shuffled(mixed)))


def _parts_add_up(metric: Metric, states: States, rng: np.random.Generator) -> None:
    summed = metric.resolve(slot_total((), is_multiwoz=True))
    counts, stats = counts_and_stats([summed])
    parts: dict[int, States] = {}
    part_of = {state["dialogue_id"]: int(rng.integers(3)) for state in states}
    for state in states:
        parts.setdefault(part_of[state["dialogue_id"]], []).append(state)
    columns = [in_parts(stat).sum().alias(f"stat:{name}") for name, stat in stats.items()]
    sums = pl.concat([turns(one, counts=counts).select(columns) for one in parts.values()]).sum()
    value = scores([summed], sums.select(from_parts(pl.all()))).item()
    _are_same(summed, "of the whole, and of the sums of its parts,", _value(summed, states), value)


def _no_value_is(is_odd: pl.Expr, but: str, metric: Metric, states: States, rng: np.random.Generator) -> None:
    """No value of the whole, or of groups of some kind, is odd."""
    for by in ("run", str(rng.choice(["dialogue", "turn", "domain", "slot"]))):
        for group, value, se in score(states, metrics=[metric], by=by).filter(is_odd).select(by, "value", "se").rows():
            raise BrokenLawError(f"{metric} is {value} for {by} {group}; {but} (its standard error is {se})")


_is_finite: Final = pl.col("value").is_finite()
_is_beyond: Final = _is_finite & (pl.col("unit") == "share") & ~pl.col("value").is_between(0, 1)
_none_is_odd: Final = partial(_no_value_is, ~(_is_finite & pl.col("se").is_finite()), "not null")
_all_are_shares: Final = partial(_no_value_is, _is_beyond, "if it is no share, say is_count = True")


def _twice_is_the_same(metric: Metric, states: States, _: np.random.Generator) -> None:
    """Standard errors rest on it."""
    again = [{**state, "dialogue_id": f"MUL9{state['dialogue_id'][3:]}"} for state in states]
    once = _value(metric, states)
    wanted = once * 2 if metric.is_count and once is not None else once
    _are_same(metric, "of the dialogues, and of all of them twice,", wanted, _value(metric, [*states, *again]))
