"""From a published score to the one that dstbench gives: which choices of convention make the difference."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial, reduce
from itertools import combinations, islice, product
from operator import or_
from typing import Any, Final, Literal, NamedTuple, TypeAlias, Unpack, get_args, get_origin

import polars as pl

from dstbench.analysis.sweep import Target, parse_targets, sweep, what_counts, with_tables
from dstbench.conventions.choices import CHOICES
from dstbench.conventions.convention import Convention, from_text, to_text
from dstbench.conventions.files import Table
from dstbench.conventions.normalise import STEPS
from dstbench.conventions.profiles import PROFILES, as_convention, suits
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError
from dstbench.metrics import Metric, parse_all
from dstbench.runs.align import named_under
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run, in_memory
from dstbench.schema import analysis as schema
from dstbench.schema.record import Record
from dstbench.scoring.score import values_of
from dstbench.scoring.validation import gold_counts, open_under
from dstbench.typing import Missing

_LOG: Final = logging.getLogger(__name__)
#: The most choices of a set.
MOST_CHOICES: Final = 4
# How many pairs, threes and fours are tried, first those of the choices that move the scores most.
_TRIED: Final = {2: 260, 3: 140, 4: 100}
# The fields of a convention that are tried with every value that a published profile has, or that they can have.
_FIELDS: Final = (
    "slots", "booking", "absent", "none", "dontcare", "multi", "match", "fuzzy", "over", "wrong_costs", "turns", "unit",
)  # fmt: skip
# Two choices that give the same of these and of the metrics that are asked for are taken to do the same.
_TELL_APART: Final = ("jga", "sa", "f1")
# Steps that published scripts take on gold's side only.
_GOLD_ONLY: Final = ("dontcare", "typos", "labels")
_HAS_GOLD: Final = pl.col("gold").is_not_null()
# What scripts leave out, besides what a convention says; each keeps some rows of a long table.
_ROWS: Final[Mapping[str, tuple[str, pl.Expr]]] = {
    "without first turns": ("turns are counted from 1 and the first is lost", pl.col("turn") > 0),
    "without last turns": (
        "the last turn of each dialogue is lost", pl.col("turn") < pl.col("turn").max().over("dialogue"),
    ),
    "without empty dialogues": (
        "dialogues in which gold never has a slot are left out", _HAS_GOLD.any().over("dialogue"),
    ),
    "without police and hospital": (
        "dialogues in which gold has a slot of the police or a hospital are left out",
        (_HAS_GOLD & pl.col("slot").cast(pl.String).str.contains("^(police|hospital)-")).any().over("dialogue").not_(),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Reconciliation(Record):
    """How a run's scores come to published ones, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        steps: From the scores under the convention to the published ones, a choice at a time: by the first of `sets`.
        sets: All sets of the smallest number of choices that reaches the published scores; if none does, the choices of
            published conventions that do; if there are none either, the nearest set of each number, the nearest first.
        tried: How many sets of each number of choices were tried, and how many reached the published scores.
        choices: What each single choice changes, the largest change first.
        profiles: The scores under published conventions (`dstbench.sweep` with the published scores).
    """

    steps: pl.DataFrame
    sets: pl.DataFrame
    tried: pl.DataFrame
    choices: pl.DataFrame
    profiles: pl.DataFrame


class Choice(NamedTuple):
    """One difference from the convention, or from how the run is read."""

    about: str  # of two choices about the same, only one is in a set
    name: str
    meaning: str
    apply: Callable[[Convention], Convention] = lambda convention: convention
    reading: bool = False  # whether its name is that of rows that are left out (`_ROWS`), or of another way to open


_Set: TypeAlias = tuple[Choice, ...]


def reconcile(
    target: str | float,
    data: Data,
    *,
    metrics: str | Sequence[str | Metric] = "jga",
    profile: str | Convention = "verbatim",
    other_golds: Mapping[str, Data] | None = None,
    labels: str | Table | None = None,
    most: int = MOST_CHOICES,
    **reading: Unpack[Reading],
) -> Reconciliation:
    """Find out why a published score is not the one that dstbench gives.

    Single choices in which published conventions and scripts differ are tried one by one, then in pairs, threes and
    fours, until a set of them reaches all published scores. Of these, at most 260, 140 and 100 are tried, of the
    choices that move the scores most, and those that published conventions need. Several sets may reach a score, so
    that one does need not be what was done.

    Args:
        target: The published scores as printed: 55.3, or jga=55.3,sa=97.3. See `dstbench.sweep`.
        data: One run: a path, a frame, states, or a mapping from its name to any of these.
        metrics: The metric of a score that names none.
        profile: The convention from which choices differ, or its name.
        other_golds: Another gold that may have been used, by name, such as another version of the dataset.
        labels: A label map, or its file, that may have been used.
        most: The largest number of choices that are combined, 1 to 4.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used, there are several runs, or the target is no score.
    """
    if not 1 <= most <= MOST_CHOICES:
        raise UsageError(f"most={most} choices", hint=f"1 to {MOST_CHOICES}")
    _, targets = parse_targets(str(target), parse_all(metrics))
    convention = as_convention(profile)
    runs = open_under(convention, data, **reading)
    if len(runs) > 1:
        raise UsageError(f"{len(runs)} runs, and a published score is of one", hint="name one of them")
    others = {f"gold {name}": Reading(gold=gold) for name, gold in (other_golds or {}).items()}
    if runs[0].meta["coverage"].get("missing_turns"):
        ways = [how for how in get_args(Missing) if how != runs[0].meta["missing"]]
        others |= {f"missing {how}": Reading(missing=how) for how in ways}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DstbenchWarning)  # what a set leaves out is what is asked
        scored = _Scored(runs[0], data, reading, targets, convention, others)
        before = scored.of(())
        if before is None:
            raise UsageError("its score is undefined, or it cannot be scored", hint="`dstbench score` says why")
        choices = _choices(convention, labels, frozenset(gold_counts(runs[0], convention)["slot"]), others)
        changes = {
            choice: max(abs(a - b) for a, b in zip(values, before, strict=True))
            for choice in choices
            if (values := scored.of((choice,))) is not None
        }
        by_change = sorted(changes, key=lambda choice: -changes[choice])
        profiles = sweep(runs, metrics=[one.metric for one in targets], labels=labels, target=str(target))
        agreeing = profiles.filter("agrees_with_all")["profile"].unique(maintain_order=True)
        published = {_of_profile(with_tables(name, labels, None), by_change, scored): None for name in agreeing}
        sets, tried = _search([one for one in by_change if changes[one]], published, scored, most)
    value, steps = pl.col("value"), [sets[0][:size] for size in range(len(sets[0]) + 1)]
    alone = scored.table([(), *((choice,) for choice in by_change)])
    return Reconciliation(
        schema.RECONCILED_STEPS.conform(scored.table(steps).with_columns(change=value.diff().over("metric"))),
        schema.RECONCILED_SETS.conform(scored.table(sets)),
        tried,
        schema.RECONCILED_CHOICES.conform(
            alone.with_columns(change=value - value.first().over("metric")).filter(pl.col("step") > 0)
        ),
        profiles,
    )


def _choices(
    convention: Convention, labels: str | Table | None, slots: frozenset[str], others: Collection[str]
) -> Iterator[Choice]:
    """The single choices that differ from a convention and suit gold's slots."""
    suitable = [one for one in PROFILES.values() if not suits(one, slots)]
    for name in _FIELDS:
        field = CHOICES[name]
        values = get_args(field.type) if get_origin(field.type) is Literal else ()
        for value in dict.fromkeys([*values, *(getattr(one, name) for one in suitable)]):
            if value != getattr(convention, name):
                text = f"{name.replace('_', '-')} {'all' if value is None else to_text(value)}"
                yield Choice(name, text, field.metadata["meaning"], partial(replace, **{name: value}))
                if name == "slots" and value and convention.outside == "scored":
                    leaving_out = partial(replace, slots=value, outside="dropped")
                    yield Choice(name, f"{text} only", "gold's other slots are left out", leaving_out)
    for step, (meaning, _) in STEPS.items():
        has = step in convention.gold_steps or step in convention.pred_steps
        yield Choice(f"step {step}", f"no {step}" if has else step, meaning, partial(_toggled, step))
        if step in _GOLD_ONLY and not has:
            of_gold = partial(_toggled, step, sides=("gold_steps",))
            yield Choice(f"step {step}", f"{step} of gold", meaning, of_gold)
    steps = {(one.gold_steps, one.pred_steps): name for name, one in reversed(PROFILES.items())}
    for (gold, pred), name in steps.items():
        if len({*gold, *pred}) > 1 and (gold, pred) != (convention.gold_steps, convention.pred_steps):
            meaning = f"gold's {', '.join(gold) or 'none'}; predictions' {', '.join(pred) or 'none'}"
            yield Choice("steps", f"steps of {name}", meaning, partial(replace, gold_steps=gold, pred_steps=pred))
    if labels is not None and convention.labels is None:
        accepting = partial(replace, labels=from_text("labels", labels))
        yield Choice("labels", "label-map", "variants are accepted", accepting)
    for name, (meaning, _) in _ROWS.items():
        yield Choice("rows", name, meaning, reading=True)
    for name in others:
        about = name.partition(" ")[0]
        meaning = "scored against another gold" if about == "gold" else "how turns without a prediction are treated"
        yield Choice(about, name, meaning, reading=True)


def _toggled(step: str, convention: Convention, sides: Sequence[str] = ("gold_steps", "pred_steps")) -> Convention:
    """The convention with a step more at the end of the steps of some sides, or without it."""
    steps = {side: tuple(own for own in getattr(convention, side) if own != step) for side in sides}
    more = {side: (*left, step) for side, left in steps.items() if left == getattr(convention, side)}
    return replace(convention, **steps | more)  # type: ignore[arg-type]


def _of_profile(to: Convention, by_change: Sequence[Choice], scored: _Scored) -> _Set:
    """The choices of a published convention that it needs to reach the published scores; none if they do not."""
    chosen: dict[str, Choice] = {}
    for choice in by_change:
        changed = choice.apply(scored.convention)
        new = [one.name for one in fields(to) if getattr(changed, one.name) != getattr(scored.convention, one.name)]
        if new and all(getattr(changed, name) == getattr(to, name) for name in new):
            chosen.setdefault(new[0], choice)
    needed = tuple(chosen.values())
    for choice in reversed(needed):
        others = tuple(one for one in needed if one is not choice)
        needed = others if scored.off(others) <= 1 else needed
    return tuple(sorted(needed, key=by_change.index)) if scored.off(needed) <= 1 else ()


@dataclass(frozen=True)
class _Scored:
    """The scores of a run under sets of choices, each computed once."""

    run: Run
    data: Data
    reading: Reading
    targets: Sequence[Target]
    convention: Convention
    others: Mapping[str, Reading]  # other ways to open the run, by the names of choices
    _runs: dict[tuple[frozenset[str], str], Run] = field(default_factory=dict)
    _values: dict[tuple[Any, ...], tuple[float | None, ...]] = field(default_factory=dict)

    def of(self, choices: _Set, also: Sequence[str] = ()) -> tuple[float, ...] | None:
        """The scores of the targets' metrics and others; None: one is undefined, or the choices do not suit the run."""
        metrics = parse_all([*dict.fromkeys([*(one.metric for one in self.targets), *also])])
        ordered = sorted(choices, key=lambda choice: choice.about != "steps")  # single steps are added to these
        try:
            convention = reduce(lambda before, choice: choice.apply(before), ordered, self.convention)
            rows = frozenset(choice.name for choice in choices if choice.reading)
            key = rows, what_counts(convention, metrics), *metrics
            if key not in self._values:
                self._values[key] = tuple(values_of(self._read(rows, convention), metrics, convention).values())
        except DstbenchError as error:
            _LOG.info("not tried: %s (%s)", [choice.name for choice in choices], error)
            return None
        values = self._values[key]
        return None if None in values else values  # type: ignore[return-value]

    def off(self, choices: _Set) -> float:
        """The largest distance from a published score, in units of what rounding may have changed; up to 1: none."""
        values = self.of(choices)
        if values is None:
            return float("inf")
        return max(
            abs(value - one.published) / (one.rounding + 1e-9)  # of binary fractions
            for value, one in zip(values, self.targets, strict=True)
        )

    def _read(self, rows: frozenset[str], convention: Convention) -> Run:
        """The run under a naming of booking slots, perhaps with other gold, and without some of its rows."""
        key = rows, convention.booking
        if key not in self._runs:
            ways = [self.others[name] for name in rows if name in self.others]
            (run,) = open_under(self.convention, self.data, **reduce(or_, ways, self.reading)) if ways else [self.run]
            if kept := [_ROWS[name][1] for name in sorted(rows) if name in _ROWS]:
                run = in_memory(run.name, run.read().filter(*kept), run.meta)
            self._runs[key] = named_under(convention, run)
        return self._runs[key]

    def table(self, sets: Sequence[_Set]) -> pl.DataFrame:
        """A row per set and metric: the set, the last of its choices, and how far it is from the published score."""
        rows = list[dict[str, Any]]()
        for step, choices in enumerate(sets):
            names, reaches = " + ".join(choice.name for choice in choices), self.off(choices) <= 1
            about = {"step": step, "choices": names, "size": len(choices), "reaches": reaches}
            _, choice, meaning, *_ = choices[-1] if choices else Choice("", "", "")
            about |= {"choice": choice, "meaning": meaning}
            for one, value in zip(self.targets, self.of(choices) or [None] * len(self.targets), strict=True):
                off = None if value is None else value - one.published
                rows.append({**about, "metric": one.metric, "target": one.target, "value": value, "off": off})
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("value", "off"), pl.Float64))


def _search(
    moving: Sequence[Choice], published: Collection[_Set], scored: _Scored, most: int
) -> tuple[list[_Set], pl.DataFrame]:
    """The smallest sets of choices that reach the published scores, or the nearest; `published` may be larger."""
    alike: dict[tuple[float, ...] | None, list[Choice]] = {}
    for choice in moving:
        alike.setdefault(scored.of((choice,), also=_TELL_APART), []).append(choice)
    groups = [*alike.values()]
    nearest, rows, reached = list[tuple[float, _Set]](), [], list[_Set]()
    for size in sorted({*range(most + 1), *map(len, published)}):
        off, tried = dict[_Set, float](), set[frozenset[Choice]]()
        combined = sorted(combinations(range(len(groups)), size), key=sum) if size <= most else []
        of_groups = (product(*(groups[place] for place in places)) for places in combined)
        for sets in [*([one] for one in published if len(one) == size), *islice(of_groups, _TRIED.get(size))]:
            for choices in sets:
                abouts = {choice.about for choice in choices}
                if len(abouts) < size or frozenset(choices) in tried or scored.of(choices) is None:
                    continue
                tried.add(frozenset(choices))
                off[choices] = scored.off(choices)
                if off[choices] > 1:  # those that are alike need not be tried
                    break
        _LOG.info("%d sets of %d choices", len(off), size, extra={"done": size, "of": most})
        # Of as few choices, single steps explain a score more simply than all steps of a profile.
        reached = sorted(
            (choices for choices in off if off[choices] <= 1),
            key=lambda choices: sum(choice.about == "steps" for choice in choices),
        )
        # How many would reach published scores that lay anywhere between their lowest and highest scores.
        expected = list[float]()
        for at, one in enumerate(scored.targets) if size <= most and off else ():
            values, unit = [(scored.of(choices) or ())[at] for choices in off], 2 * one.rounding
            expected.append(len(values) * unit / (max(values) - min(values) + unit))
        rows.append((size, len(off), len(reached), min(expected, default=None)))
        if off:
            best = min(off, key=lambda choices: off[choices])
            nearest.append((off[best], best))
        if reached:
            break
    ordered = reached or [choices for _, choices in sorted(nearest, key=lambda pair: pair[0])]
    return ordered, schema.RECONCILED_TRIED.of(rows)
