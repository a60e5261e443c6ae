"""The same predictions scored under every profile."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Self, Unpack

import polars as pl

from dstbench.conventions.convention import DEFAULTS, Convention
from dstbench.conventions.files import Table
from dstbench.conventions.profiles import PROFILES, profile, suits
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.metrics import Metric, parse_all, stats_of
from dstbench.runs.open import Data, Reading
from dstbench.scoring.scope import check_scope, gold_counts, named_under, open_under
from dstbench.scoring.score import Whole, score_whole
from dstbench.signature import sign

_LOG: Final = logging.getLogger(__name__)
# Settings in a signature that are not choices of the convention, but follow from it.
_FOLLOWING: Final = frozenset({"profile", "gold"})
_SCHEMA: Final = {
    **dict.fromkeys(("run", "profile", "metric", "unit"), pl.String),
    "value": pl.Float64,
    **dict.fromkeys(("turns", "dialogues"), pl.UInt32),
    **dict.fromkeys(("changed", "signature"), pl.String),
}


def sweep(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] = "jga",
    profiles: Sequence[str] | None = None,
    labels: str | Table | None = None,
    typos: str | Table | None = None,
    target: str | float | None = None,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """Score runs under every profile that suits their slots.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation; the rows are ordered by the first one.
        profiles: The profiles; None: all. A profile that does not suit a run is left out, with a warning.
        labels: A label map, or its file, for ``trippy``.
        typos: A typo table, or its file, for profiles whose normaliser has the step ``typos``.
        target: A published score, with all digits that are printed: in percent (``"92.15"``), as a fraction
            (``"0.9215"``), or a count; the result says which profiles give it.
        **reading: `gold`, `format`, `names`, `missing` (default: "error"; the same for all profiles), `split`: see
            `dstbench.open_runs`.

    Returns:
        (run, profile, metric, unit, value, turns, dialogues, changed: the choices that differ from the profile above,
        signature), per run from the highest value of the first metric to the lowest; undefined values last. With
        `target` also (target: as it is given; off: value - target; gives_target: whether the value, rounded, is it).

    Raises:
        DstbenchError: Data cannot be used; a metric or profile is unknown; or no profile suits the runs.

    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "centre"}, "pred": {"hotel-area": "Centre "}}]
    >>> sweep(states, profiles=["verbatim", "star"]).select("profile", "value", "changed").rows()
    [('star', 1.0, ''), ('verbatim', 0.0, 'slots multiwoz-30 → -, gold-steps -case ...')]
    """
    chosen = parse_all(metrics)
    if not chosen:
        raise UsageError("no metric to compute", hint="name at least one: jga")
    wanted = None if target is None else _Target.parse(str(target))
    conventions = {name: _convention(name, labels, typos) for name in profiles or PROFILES}
    choices_of = {name: _what_counts(convention, chosen) for name, convention in conventions.items()}
    scored: list[_Scored] = []
    for number_of_run, run in enumerate(open_under(profile("verbatim"), data, **reading)):
        scores: dict[Convention, Whole] = {}
        left_out: dict[str, list[str]] = {}
        slots = frozenset(gold_counts(run, profile("verbatim"))["slot"])
        for one in {c.scope_name: c for c in conventions.values() if not suits(c, slots)}.values():
            check_scope(run, one)
        for number, (name, convention) in enumerate(conventions.items()):
            _LOG.info("%s under %s", run.name, name, extra={"done": number, "of": len(conventions)})
            scored_choices = choices_of[name]
            try:
                reason = suits(convention, slots)
                named = run if reason else named_under(convention, run)
            except DstbenchError as error:  # it spells a slot in two ways
                reason = error.what
            if reason:
                left_out.setdefault(reason, []).append(name)
                continue
            if scored_choices not in scores:
                scores[scored_choices] = score_whole(named, chosen, convention)
            settings = convention.settings() | scores[scored_choices].settings
            scored.append(_Scored(number_of_run, run.name, name, settings, scores[scored_choices]))
        if left_out:
            reasons = (f"{', '.join(names)} ({reason})" for reason, names in left_out.items())
            warn(f"left out {'; '.join(reasons)}", run=run.name)
    if not scored:
        raise UsageError("no profile suits the runs", hint="`dstbench ls profiles` lists them")
    rows = pl.DataFrame([row for one in _ordered(scored) for row in one.rows()], schema=_SCHEMA, orient="row")
    return rows if wanted is None else wanted.compared(rows)


class _Scored(NamedTuple):
    """A run under a profile."""

    number: int  # of the run
    run: str
    profile: str
    settings: dict[str, str]  # those of its signatures
    scores: Whole
    changed: str = ""

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row per metric, with the columns `_SCHEMA`."""
        for metric, value in zip(self.scores.metrics, self.scores.values, strict=True):
            score = str(metric), metric.unit, value, self.scores.turns, self.scores.dialogues
            yield self.run, self.profile, *score, self.changed, sign(metric.settings(), self.settings)


class _Target(NamedTuple):
    """A published score: as printed, as a share and as a count, and by how much rounding may have changed it."""

    text: str
    as_share: float
    as_count: float
    rounding: float

    @classmethod
    def parse(cls, text: str) -> Self:
        number = re.fullmatch(r"\s*(\d*[.,]?\d*)\s*%?\s*", text)
        try:
            value = float(number[1].replace(",", ".")) if number else math.nan
        except ValueError:
            value = math.nan
        if number is None or math.isnan(value):
            raise UsageError(f"--target {text!r} is not a score", hint="as it is printed: 92.15, or 0.9215")
        decimals = len(re.split("[.,]", number[1])[1]) if re.search("[.,]", number[1]) else 0
        is_fraction = decimals > 0 and value <= 1 and "%" not in text
        scale = 1 if is_fraction else 100
        return cls(text.strip(), value / scale, value, 0.5 * 10.0**-decimals / scale)

    def compared(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with the columns `target`, `off` and `gives_target`."""
        is_count, slack = pl.col("unit") == "count", 1e-9  # of binary fractions
        off = pl.col("value") - pl.when(is_count).then(self.as_count).otherwise(self.as_share)
        rounding = pl.when(is_count).then(0.5).otherwise(self.rounding)
        return rows.with_columns(target=pl.lit(self.text), off=off, gives_target=off.abs() <= rounding + slack)


def _convention(name: str, labels: str | Table | None, typos: str | Table | None) -> Convention:
    """A profile, with the user's tables if it is made for them; they would change the scores of other profiles."""
    convention = profile(name)
    takes_typos = "typos" in (*convention.gold_steps, *convention.pred_steps)
    return profile(name, labels=labels if name.startswith("trippy") else None, typos=typos if takes_typos else None)


def _what_counts(convention: Convention, metrics: Sequence[Metric]) -> Convention:
    """The convention without choices that cannot change these metrics; two that are then equal are scored once."""
    counts = {name for metric in metrics for stat in stats_of(metric).values() for name in stat.meta.root_names()}
    return replace(
        convention, name="", title="", metrics=None, missing="error",
        wrong_costs=convention.wrong_costs if "n_charged_again" in counts else "once",
        domain_turns=convention.domain_turns if convention.unit == "frame" else "gold",
    )  # fmt: skip


def _ordered(scored: Sequence[_Scored]) -> list[_Scored]:
    """Per run from the highest value of the first metric to the lowest, each with the changes from the one above."""
    values = pl.DataFrame({"run": [one.number for one in scored], "value": [one.scores.values[0] for one in scored]})
    places = values.cast({"value": pl.Float64}).with_row_index("place").sort(
        "run", "value", descending=[False, True], nulls_last=True, maintain_order=True
    )["place"]  # fmt: skip
    order = [scored[place] for place in places]
    return [
        this._replace(changed=_changes(above.settings, this.settings) if above.number == this.number else "")
        for above, this in zip(order[:1] + order, order, strict=False)
    ]


def _changes(above: Mapping[str, str], this: Mapping[str, str]) -> str:
    """The choices that differ from those above."""
    old, new = {**DEFAULTS, **above}, {**DEFAULTS, **this}
    return ", ".join(
        _change_text(key, old.get(key, "-"), new[key])
        for key in new
        if key not in _FOLLOWING and new[key] != old.get(key, "-")
    )


def _change_text(key: str, above: str, this: str) -> str:
    """How a choice differs from the one above; of steps, only those that were added (+) and removed (-)."""
    if not key.endswith("-steps"):
        return f"{key} {above} → {this}"
    old, new = ([] if steps == "-" else steps.split(",") for steps in (above, this))
    moved = [f"-{step}" for step in old if step not in new] + [f"+{step}" for step in new if step not in old]
    return f"{key} {' '.join(moved) or 'in another order'}"
