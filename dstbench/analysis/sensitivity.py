"""What one error costs under each metric, by kind of error and by when it happens (see `dstbench help metrics`).

The *loss* of an error is the dialogue's score less that of a copy that has the error (`error_injection`); of one that
is mended, what the copy gains. The position of a change in turn t of n (from 0) is t/(n - 1), so dialogues of a single
turn have none. A metric's *position bias* is the slope of the loss on the position within dialogues: how much more an
error costs in the last turn than in the first. (A slope over all errors would not be 0 even if it costs the same at any
time, because late and early changes are in different dialogues.) Dialogues are the clusters of means and slopes.

A sample draws k of the N errors of a kind that a dialogue can have: each counts N/k times in means, and a dialogue's
sums of squares and products in slopes, of k - 1 degrees of freedom, (N - 1)/(k - 1) times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Final

import polars as pl

from dstbench.analysis.error_injection import KINDS, inject
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, UsageError, check_known, is_or_are, warn
from dstbench.metrics import Metric, parse_all
from dstbench.metrics.registry import says_all
from dstbench.readers.states import States
from dstbench.runs.open import Data, gold_run, load, named_parts, parts_to_open
from dstbench.runs.run import Run
from dstbench.schema import analysis as schema
from dstbench.schema.record import Record
from dstbench.scoring.score import choose_metrics, score_run
from dstbench.scoring.validation import check_gold_scope, open_under
from dstbench.stats.differences import TIE
from dstbench.stats.influence import ClusterRatio, mean_over_clusters, slope_within_clusters
from dstbench.stats.normal import check_level
from dstbench.typing import Missing

#: How errors change a run's own predictions, put in and mended.
WAYS: Final = ("put in", "mended")
# Bins are called by whole percents.
_MOST_BINS: Final = 100
# Why no change of gold has an error of a kind.
_NEVER: Final = {
    "missed": "gold sets no slot",
    "wrong": "gold has no other value of the slot",
    "late": "the value of the turn before matches",
    "dropped": "gold keeps no value for two turns",
    "over": "the domain has no slot that the dialogue lacks",
    "swap": "the domain has no slot that the dialogue lacks and that can have the value",
}


@dataclass(frozen=True)
class Sensitivity(Record):
    """What errors cost, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        own_costs: A row per way (put in, mended), kind of error, metric and bin, in the run's own predictions; empty if
            there are none, or gold alone was asked for.
        own_bias: Likewise, a row per way, kind and metric.
        own_errors: Likewise, a row per way and kind.
        costs: A row per kind of error, metric and bin of positions.
        bias: A row per kind of error and metric: the mean loss, and the position bias.
        errors: A row per kind: for how many changes of gold there is such an error.
        signatures: (run, metric, unit, signature) of the scores.
    """

    own_costs: pl.DataFrame
    own_bias: pl.DataFrame
    own_errors: pl.DataFrame
    costs: pl.DataFrame
    bias: pl.DataFrame
    errors: pl.DataFrame
    signatures: pl.DataFrame

    @property
    def is_sample(self) -> bool:
        """Whether some errors were not drawn, so that all figures are estimates."""
        return any((errors["errors"] < errors["possible"]).any() for errors in (self.errors, self.own_errors))


def sensitivity(
    data: Data,
    *,
    gold: Data | None = None,
    gold_only: bool = False,
    metrics: str | Iterable[str | Metric] | None = None,
    kinds: str | Sequence[str] | None = None,
    bins: int = 5,
    sample: int | None = None,
    seed: int = 0,
    level: float = 0.95,
    profile: str | Convention = "verbatim",
    split: str | None = None,
    missing: Missing | None = None,
) -> Sensitivity:
    """What one error costs under each metric, by kind of error and by when it happens.

    For every change of gold and each kind of error, a copy of the dialogue is scored whose prediction is gold but for
    this error; and where there are predictions, copies of these, with the error put in or one mended.
    `dstbench.analysis.error_injection` says what each kind is, and how its values and slots are chosen.

    Args:
        data: A prediction file or long table (.parquet), or gold alone. In Python, also a frame, or states.
        gold: File or folder with the gold states, if the run does not hold them. See `dstbench.open_runs`.
        gold_only: Ignore predictions: errors are put into gold.
        metrics: Metrics in dstbench's notation; None: those of the profile.
        kinds: Kinds of errors: missed, wrong, late, dropped, over, swap; None: all.
        bins: Number of equal parts of a dialogue. Mean losses are given in each; at most 100.
        sample: Number of errors of each kind to draw in each dialogue; None: all.
        seed: Random seed of the draws.
        level: Confidence level of the intervals.
        profile: The convention, or its name.
        split: The split to take, if gold has several; None: all.
        missing: How gold turns without a prediction are treated; None: as the convention does.

    Raises:
        DstbenchError: Data cannot be used; gold has no change in a dialogue of several turns, or none that can have an
            error of these kinds; or a metric, kind or profile is unknown.

    >>> north, stars = {"hotel-area": "north"}, {"hotel-stars": "4"}
    >>> states = [north, north, north, north | stars]
    >>> gold = [{"dialogue_id": name, "turn": n, "gold": state} for name in "AB" for n, state in enumerate(states)]
    >>> sensitivity(gold, metrics="jga,tla", kinds="missed").bias.select("kind", "metric", "loss", "bias").rows()
    [('missed', 'jga', 0.625, -0.75), ('missed', 'tla', 0.25, 0.0)]
    """
    texts = KINDS if kinds is None else [kinds] if isinstance(kinds, str) else kinds
    named_kinds = [name.strip() for part in texts for name in part.split(",")]
    if not named_kinds:
        raise UsageError("no kind of error is asked for", hint=f"some of {', '.join(KINDS)}; None: all")
    check_known(named_kinds, KINDS, "there is no kind of error {!r}")
    chosen_kinds = [kind for kind in KINDS if kind in named_kinds]
    if not 1 <= bins <= _MOST_BINS:
        raise UsageError(f"bins={bins} is not a number from 1 to {_MOST_BINS}")
    if sample is not None and sample < 1:
        raise UsageError(f"sample={sample} is not at least 1")
    check_level(level)
    convention = as_convention(profile)
    requested = None if metrics is None else parse_all(metrics)
    if gold is not None and not gold_only:
        parts_to_open(data, missing=missing)
    run = gold_run(data if gold is None else gold, split)
    run.need_states("errors")
    # How a run's missing turns were treated when it was read does not concern gold, and must not be in signatures.
    predicts_gold = partial(pl.DataFrame.with_columns, pred=pl.col("gold"))
    run = replace(run, derive=predicts_gold, meta={**run.meta, "missing": "error"})
    check_gold_scope(run, convention)
    chosen = [metric for metric in choose_metrics(requested, [run], convention) if not metric.is_count]
    if requested is not None and len(chosen) < len(requested) and not says_all(metrics):
        counts = ", ".join(str(metric) for metric in requested if metric.is_count)
        raise UsageError(f"{counts}: a count of errors, which has no loss", hint="metrics that are scores: -m jga,fga")
    rows, sums = score_run(run, chosen, (), convention)
    chosen = [*sums.metrics]

    def figures(predicted: Run, *, mended: bool = False) -> tuple[pl.DataFrame, ...]:
        made, changes, single = inject(
            predicted, chosen, chosen_kinds, convention, mended=mended, sample=sample, seed=seed
        )
        of_dialogues = made.group_by("kind", "number").agg(pl.col("of", "drawn").first())
        sums = of_dialogues.group_by("kind").agg(possible=pl.col("of").sum(), errors=pl.col("drawn").sum())
        counts = pl.DataFrame({"kind": chosen_kinds}).join(sums, on="kind", how="left", maintain_order="left")
        about = {"changes": changes, "single": single, "sample": sample, "seed": sample and seed}
        counts = counts.with_columns(
            pl.col("possible", "errors").fill_null(0), **{k: pl.lit(v) for k, v in about.items()}
        )
        return *_costs(made, chosen_kinds, list(map(str, chosen)), bins, level), counts

    costs, bias, errors = figures(run)
    _check(run.name, errors, bias)
    predicted = None if gold_only else _predicted(data, gold, split, missing, convention)
    of_ways = [] if predicted is None else [(way, figures(predicted, mended=way == "mended")) for way in WAYS]
    own_costs, own_bias, own_errors = (
        pl.concat([table.empty(), *(table.conform(of[at].with_columns(way=pl.lit(way))) for way, of in of_ways)])
        for at, table in enumerate((schema.OWN_ERROR_COSTS, schema.OWN_POSITION_BIAS, schema.OWN_ERROR_KINDS))
    )
    by_dialogue = pl.col("signature").str.replace("|by:run|", "|by:dialogue|", literal=True)
    return Sensitivity(
        own_costs,
        own_bias,
        own_errors,
        schema.ERROR_COSTS.conform(costs),
        schema.POSITION_BIAS.conform(bias),
        schema.ERROR_KINDS.conform(errors),
        rows.select("run", "metric", "unit", by_dialogue),
    )


def _predicted(
    data: Data, gold: Data | None, split: str | None, missing: Missing | None, convention: Convention
) -> Run | None:
    """The run with its own predictions; None: the data hold none."""
    ((name, item),) = named_parts(data)
    loaded = item if gold is not None else load(name, item, split=split)
    lacks = isinstance(loaded, States) and (None in (loaded.gold, loaded.pred) or loaded.either or loaded.only)
    if gold is None and lacks:
        return None
    (run,) = open_under(convention, {name: loaded}, gold=gold, split=split, missing=missing)
    return None if run.meta.get("only") else run


def _costs(
    errors: pl.DataFrame, kinds: Sequence[str], metrics: Sequence[str], bins: int, level: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The columns of `ERROR_COSTS`; those of `POSITION_BIAS`, with `slopes`, the number of dialogues that have one."""
    place, last, of, drawn = pl.col("place"), pl.col("turns") - 1, pl.col("of"), pl.col("drawn")
    errors = errors.with_columns(
        position=place / last,
        bin=((place * bins - 1) // last).clip(0),
        weight=of / drawn,
        weight_of_slope=(of - 1) / (drawn - 1).clip(1),
    )

    def over(ratio: Callable[..., ClusterRatio], errors: pl.DataFrame, *columns: str) -> ClusterRatio:
        return ratio(*(errors[name].to_numpy() for name in ("number", *columns)), level)

    costs, bias = list[dict[str, Any]](), list[dict[str, Any]]()
    for kind, metric in product(kinds, metrics):
        of_kind = errors.filter(kind=kind).with_columns(loss=metric)
        defined = of_kind.drop_nulls("loss").with_columns(is_blind=(pl.col("loss").abs() < TIE).cast(pl.Float64))
        about = {"kind": kind, "metric": metric, "level": level}
        for at in range(bins):
            in_bin = defined.filter(bin=at)
            mean = over(mean_over_clusters, in_bin, "loss", "weight")
            ends = {"bin": at, "start": at / bins, "end": (at + 1) / bins, "low": mean.low, "high": mean.high}
            costs.append(about | ends | {"loss": mean.value, "errors": in_bin.height, "dialogues": mean.clusters})
        mean, blind = (over(mean_over_clusters, defined, y, "weight") for y in ("loss", "is_blind"))
        slope = over(slope_within_clusters, defined, "position", "loss", "weight_of_slope")
        about |= {"errors": defined.height, "dialogues": mean.clusters, "undefined": of_kind.height - defined.height}
        about |= {"loss": mean.value, "blind": blind.value, "slopes": slope.clusters}
        bias.append(about | {"bias": slope.value, "low": slope.low, "high": slope.high})
    relative = pl.when(pl.col("loss") != 0).then(pl.col("bias") / pl.col("loss"))
    return pl.DataFrame(costs).fill_nan(None), pl.DataFrame(bias).fill_nan(None).with_columns(relative=relative)


def _check(name: str, errors: pl.DataFrame, bias: pl.DataFrame) -> None:
    """Refuse gold in which no error can be made, and warn of what is left out."""
    changes, single = errors.select("changes", "single").row(0)
    if not changes:
        raise DstbenchError("gold sets no slot that the convention scores, so there is no error to make", file=name)
    if changes == single:
        what = "each dialogue has one turn, so no error is earlier or later than another"
        raise DstbenchError(what, file=name, hint="gold needs dialogues of several turns")
    never = [f"{kind} ({_NEVER[kind]})" for kind in errors.filter(errors=0)["kind"]]
    none_of = f"no change of gold can have the error {', '.join(never)}"
    if len(never) == errors.height:
        raise DstbenchError(none_of, file=name, hint="other kinds of errors")
    if single:
        share = f"{single:,} of {changes:,} changes of gold"
        warn(f"{share} {is_or_are(single)} in dialogues of one turn, which have no position, and left out", run=name)
    if never:
        warn(none_of, run=name)
    for metric, undefined in bias.group_by("metric", maintain_order=True).agg(pl.col("undefined").sum()).iter_rows():
        if undefined:
            of = f"{undefined:,} of {errors['errors'].sum():,} errors"
            warn(f"{metric} is undefined with {of}, which its means leave out", run=name)
    if (bias["slopes"] < 2).all():
        drawn = "errors" if (errors["errors"] == errors["possible"]).all() else "drawn errors"
        warn(f"fewer than two dialogues have {drawn} in two turns, so position bias has no interval", run=name)
