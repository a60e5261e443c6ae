"""The same predictions scored under every profile."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias, Unpack

import polars as pl

from dstbench.conventions.convention import DEFAULTS, Convention
from dstbench.conventions.files import Table
from dstbench.conventions.profiles import PROFILES, profile, suits
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.metrics import Metric, parse_all, stats_of
from dstbench.runs.align import named_under
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.analysis import SWEEP, SWEEP_TARGETS
from dstbench.scoring.score import further_settings, refuse_without_states
from dstbench.scoring.sums import scores, sum_up
from dstbench.scoring.validation import check_gold_scope, gold_counts, open_under, warn_of_unscored
from dstbench.signature import sign

_LOG: Final = logging.getLogger(__name__)
# Settings in a signature that are not choices of the convention, but follow from it.
_FOLLOWING: Final = frozenset({"profile", "gold"})


def sweep(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] = "jga",
    profiles: str | Sequence[str] | None = None,
    labels: str | Table | None = None,
    typos: str | Table | None = None,
    target: str | float | None = None,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """Score runs under every profile that suits their slots.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation; the rows are ordered by the first one.
        profiles: The profiles, comma-separated; None: all that suit. In Python, also a list. A profile that does
            not suit a run is left out, with a warning.
        labels: Label map for the profile trippy. In Python, also a `Table`.
        typos: Typo table for the profiles that correct typos. Their normalisers have the step ``typos``.
        target: Published scores, 24.0 or jga=24.0,sa=91.2: say which profiles agree with all of them. They have all
            digits that are printed; a single number is that of the first metric. A number with a percent sign is in
            percent; without one, it is a fraction if it has decimals and is at most 1 (``"0.395"``), else in
            percent.
        **reading: `gold`, `format`, `names`, `missing` (default: "error"; the same for all profiles), `split`: see
            `dstbench.open_runs`.

    Returns:
        (run, profile, metric, unit, value, turns, dialogues, changed: the choices that differ from the profile above,
        signature), per run from the highest value of the first metric to the lowest; undefined values last
        (`schema.analysis.SWEEP`). With `target` also (target, off, agrees, agrees_with_all, by_chance):
        `schema.analysis.SWEEP_TARGETS`.

    Raises:
        DstbenchError: Data cannot be used; a metric or profile is unknown; or no profile suits the runs.

    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "centre"}, "pred": {"hotel-area": "Centre "}}]
    >>> sweep(states, profiles=["verbatim", "star"]).select("profile", "value", "changed").rows()
    [('star', 1.0, ''), ('verbatim', 0.0, 'slots multiwoz-30 → -, gold-steps -case ...')]
    """
    chosen, targets = parse_targets(None if target is None else str(target), parse_all(metrics))
    names = [name.strip() for name in profiles.split(",")] if isinstance(profiles, str) else profiles
    conventions = {name: with_tables(name, labels, typos) for name in names or PROFILES}
    rows = list[tuple[Any, ...]]()
    for run in open_under(profile("verbatim"), data, **reading):
        scored = _of_run(run, chosen, conventions)
        for (_, above, _), (name, settings, of_each) in zip(scored[:1] + scored, scored, strict=False):
            changed = _changes(above, settings)
            for metric, *score in of_each:
                signature = sign(metric.settings(), settings)
                rows.append((run.name, name, str(metric), metric.unit, *score, changed, signature))
    if not rows:
        raise UsageError("no profile suits the runs", hint="`dstbench ls profiles` lists them")
    table = SWEEP.of(rows)
    return _compared(table, targets) if targets else table


# A run under a profile: its name, the settings of signatures, and each metric, its value, and the turns and dialogues.
_Scored: TypeAlias = tuple[str, dict[str, str], list[tuple[Metric, float | None, int, int]]]


def _of_run(run: Run, metrics: Sequence[Metric], conventions: Mapping[str, Convention]) -> list[_Scored]:
    """The run under each profile that suits it, from the highest first metric down; warns of the others."""
    known, scored, left_out = dict[Convention, tuple[Any, ...]](), list[_Scored](), dict[str, list[str]]()
    slots = frozenset(gold_counts(run, profile("verbatim"))["slot"])
    for one in {c.scope_name: c for c in conventions.values() if not suits(c, slots)}.values():
        check_gold_scope(run, one)
    for number, (name, convention) in enumerate(conventions.items()):
        _LOG.info("%s under %s", run.name, name, extra={"done": number, "of": len(conventions)})
        try:
            reason = suits(convention, slots)
            named = run if reason else named_under(convention, run)
        except DstbenchError as error:  # it spells a slot in two ways
            reason = error.what
        if reason:
            left_out.setdefault(reason, []).append(name)
            continue
        choices = what_counts(convention, metrics)
        if choices not in known:
            if run.meta.get("only"):
                refuse_without_states(run, metrics, (), convention)
            sums = sum_up(named, metrics, (), convention)
            values, sizes = scores(sums.metrics, sums.table).row(0), sums.table[["turns", "dialogues"]].row(0)
            of_each = [(metric, value, *sizes) for metric, value in zip(sums.metrics, values, strict=True)]
            known[choices] = further_settings(run, (), convention, sums), of_each
            warn_of_unscored(named, convention)
        further, of_each = known[choices]
        scored.append((name, convention.settings() | further, of_each))
    if left_out:
        reasons = (f"{', '.join(names)} ({reason})" for reason, names in left_out.items())
        warn(f"not tried: {'; '.join(reasons)}", run=run.name)
    firsts = {name: of_each[0][1] for name, _, of_each in scored}
    return sorted(scored, key=lambda one: (firsts[one[0]] is None, -(firsts[one[0]] or 0)))


class Target(NamedTuple):
    """A published score of a metric: as printed, its value, and by how much rounding may have changed it."""

    metric: str
    target: str
    published: float
    rounding: float


def parse_targets(text: str | None, metrics: list[Metric]) -> tuple[list[Metric], list[Target]]:
    """The metrics, with those of a target that are not among them at the end, and the published scores."""
    if text is None:
        return metrics, []
    metrics, targets = list(metrics), list[Target]()
    for part in re.split(r",(?=\s*[^\W\d])", text):  # a comma before a digit is a decimal comma
        notation, _, score = part.rpartition("=")
        (metric,) = parse_all(notation) if notation.strip() else metrics[:1]
        targets.append(_parse_score(metric, score.strip()))
        if len({target.metric for target in targets}) < len(targets):
            what = f"target {text!r} has several scores of {metric}"
            raise UsageError(what, hint="one of each metric: jga=24.0,sa=91.2")
        metrics += [metric] if metric not in metrics else []
    return metrics, targets


def _parse_score(metric: Metric, text: str) -> Target:
    """A score is in percent if it has a percent sign; without one, if it is above 1 or has no decimals."""
    number = re.fullmatch(r"(\d{0,12})(?:[.,](\d{1,12}))?(\s*%)?", text)
    if number is None or not (number[1] or number[2]):
        hint = "as it is printed: 92.15, or of each metric: jga=24.0,sa=91.2"
        raise UsageError(f"target {text!r} is not a score", hint=hint)
    decimals, value = len(number[2] or ""), float(f"{number[1] or 0}.{number[2] or 0}")
    is_fraction = not number[3] and (metric.is_count or (decimals > 0 and value <= 1))
    scale = 1 if is_fraction else 100
    if (metric.is_count and (decimals or number[3])) or (not metric.is_count and value > scale):
        what = "a whole number" if metric.is_count else "in percent, 39.5 or 39.5%, or as a fraction, 0.395"
        raise UsageError(f"target {text!r} is not a score of {metric}", hint=what)
    return Target(str(metric), text, value / scale, 0.5 * 10.0**-decimals / scale)


def _compared(rows: pl.DataFrame, targets: Sequence[Target]) -> pl.DataFrame:
    """The rows with the columns that `SWEEP_TARGETS` has in addition."""
    published = pl.DataFrame(targets, schema=Target._fields, orient="row")
    joined = rows.join(published, "metric", "left", maintain_order="left")
    value, rounding, off = pl.col("value"), pl.col("rounding"), pl.col("value") - pl.col("published")
    one_turn = pl.when(unit="share").then(1 / pl.col("turns").min().clip(1)).otherwise(1)
    # What a published score is rounded to, as a part of all scores from the lowest to the highest profile.
    unit = pl.max_horizontal(2 * rounding, one_turn)
    by_chance = (value.count() * unit / (value.max() - value.min() + unit)).over("run", "metric")
    agrees = off.abs() <= rounding + 1e-9  # of binary fractions
    agrees_with_all = (agrees | pl.col("target").is_null()).fill_null(value=False).all().over("run", "profile")
    compared = joined.with_columns(off=off, agrees=agrees, agrees_with_all=agrees_with_all, by_chance=by_chance)
    return SWEEP_TARGETS.conform(compared.with_columns(pl.col("by_chance").min().over("run")))


def with_tables(name: str, labels: str | Table | None, typos: str | Table | None) -> Convention:
    """A profile, with the user's tables if it is made for them; they would change the scores of other profiles."""
    convention = profile(name)
    takes_typos = "typos" in (*convention.gold_steps, *convention.pred_steps)
    return profile(name, labels=labels if name.startswith("trippy") else None, typos=typos if takes_typos else None)


def what_counts(convention: Convention, metrics: Sequence[Metric]) -> Convention:
    """The convention without choices that cannot change these metrics; two that are then equal are scored once."""
    counts = {name for metric in metrics for stat in stats_of(metric).values() for name in stat.meta.root_names()}
    return replace(
        convention, name="", title="", metrics=None, missing="error",
        wrong_costs=convention.wrong_costs if "n_charged_again" in counts else "once",
        domain_turns=convention.domain_turns if convention.unit == "frame" else "gold",
    )  # fmt: skip


def _changes(above: Mapping[str, str], this: Mapping[str, str]) -> str:
    """The choices that differ from those above; of steps, only those that were added (+) and removed (-)."""
    old, new, changes = {**DEFAULTS, **above}, {**DEFAULTS, **this}, list[str]()
    for key, value in new.items():
        before = old.get(key, "-")
        if key in _FOLLOWING or value == before:
            continue
        if key.endswith("-steps"):
            gone, added = ([] if steps == "-" else steps.split(",") for steps in (before, value))
            moved = [f"-{step}" for step in gone if step not in added]
            moved += [f"+{step}" for step in added if step not in gone]
            changes.append(f"{key} {' '.join(moved) or 'in another order'}")
        else:
            changes.append(f"{key} {before} → {value}")
    return ", ".join(changes)
