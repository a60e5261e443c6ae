"""Tail orientation and non-uniformity of mistakes (Aksu & Chen 2024, section 6), and the scores of dialogues.

If the scores of a metric depend on where in a dialogue mistakes are, or on how they are spread, the metric rewards
something that does not make a tracker better. These tables show whether they do: per dialogue, in bins, as
correlations, and by the dialogues on which two metrics disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Unpack, get_args

import numpy as np
import polars as pl

from dstbench.analysis.correlate import (
    CONTROLS,
    GIVEN,
    POOLED,
    Compared,
    Rows,
    compare_correlations,
    correlations,
    difference_rows,
    given,
    with_pooled,
)
from dstbench.analysis.dialogue_traits import per_dialogue
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError
from dstbench.metrics import Metric, parse_all
from dstbench.metrics.base import divide, exact_sum
from dstbench.runs.open import Data, Reading
from dstbench.schema.analysis import CORRELATIONS, DISAGREEMENTS, TRAIT_BINS
from dstbench.schema.record import Record
from dstbench.scoring.validation import open_under
from dstbench.stats.normal import check_level
from dstbench.typing import NonUniformity, Protocol, TailOrientation

_BINS: Final = 10
# Traits whose bins span these bounds; the bins of others span the values that occur.
_BOUNDS: Final = {"to_mean": (0.0, 1.0)}
# Traits whose bins are equally wide in the square root: few dialogues have large values, but some have very large ones.
ROOT: Final = ("nu_paper", "nu_released")
#: The default metrics, tail orientation and non-uniformity of each protocol.
PROTOCOLS: Final[Mapping[Protocol, tuple[str, TailOrientation, NonUniformity]]] = {
    "plain": ("fga,gca", "mean", "paper"),
    "released": ("fga:lam=0.75,gca", "released", "released"),
}
# The released protocol leaves out dialogues on which two metrics' standard scores differ by less.
_LEAST_APART: Final = 0.1


@dataclass(frozen=True)
class Traits(Record):
    """Traits of dialogues, as frames (schemas in `dstbench.schema.analysis`).

    Attributes:
        dialogues: A row per dialogue, with all traits and the metrics.
        bins: Mean scores by bins of the chosen tail orientation and non-uniformity; the bins are the same for all
            runs.
        correlations: The correlations of these two traits and the metrics with each other, in each run and in all runs
            pooled, over the dialogues in which all of them are defined.
        differences: For each trait, the difference between its correlations with the first two metrics, with its
            interval and p over dialogues, and Zou's interval.
        given: The correlations of the traits with the metrics, given each dialogue's numbers of mistakes and turns, on
            which traits depend (partial correlations); empty with ``released``.
        given_differences: The differences likewise.
        disagreements: In each run, the dialogues on which two metrics differ most, in each direction; empty if none
            were named.
        pooled_disagreements: The same over the dialogues of all runs, each with its run (Aksu & Chen 2024, §6.2).
        signatures: (run, metric, unit, signature) of the scores.
    """

    dialogues: pl.DataFrame
    bins: pl.DataFrame
    correlations: pl.DataFrame
    differences: pl.DataFrame
    given: pl.DataFrame
    given_differences: pl.DataFrame
    disagreements: pl.DataFrame
    pooled_disagreements: pl.DataFrame
    signatures: pl.DataFrame


def traits(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    to: TailOrientation | None = None,
    nu: NonUniformity | None = None,
    protocol: Protocol = "plain",
    level: float = 0.95,
    disagree: Sequence[str | Metric] | None = None,
    most: int = 20,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Traits:
    """Tail orientation, non-uniformity and scores of each dialogue.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation; None: FGA and GCA (`PROTOCOLS`).
        to: Tail orientation to bin and correlate; None: mean. With ``released``, that of the protocol
            (`PROTOCOLS`).
        nu: Non-uniformity to bin and correlate; None: paper. With ``released``, that of the protocol (`PROTOCOLS`).
        protocol: Correlate over all dialogues, or as the authors of GCA did (FGA at 0.75, pooled). With ``plain``,
            all in which traits and scores are defined; with ``released``, as in Aksu & Chen 2024, those of all runs
            pooled that are not perfect under both metrics and whose two standard scores are 0.1 or more apart.
        level: Confidence level of the intervals.
        disagree: List the dialogues on which these metrics differ most. None: no list.
        most: Number of dialogues to list in each direction.
        profile: The convention, or its name.
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Raises:
        DstbenchError: Data cannot be used, or a metric, variant or profile is unknown.

    >>> area = {"hotel-area": "north"}
    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": area, "pred": area},
    ...           {"dialogue_id": "D", "turn": 1, "gold": {**area, "hotel-stars": "4"}, "pred": area}]
    >>> traits(states).dialogues.select("mistakes", "to_mean", "nu_paper", "fga", "gca").row(0)
    (1, 1.0, 0.5, 0.5, 0.6)
    """
    if protocol not in PROTOCOLS:
        raise UsageError(f"protocol={protocol!r} is none of {', '.join(PROTOCOLS)}")
    check_level(level)
    default, default_to, default_nu = PROTOCOLS[protocol]
    to, nu, metrics = to or default_to, nu or default_nu, default if metrics is None else metrics
    for name, value, choices in (("to", to, TailOrientation), ("nu", nu, NonUniformity)):
        if value not in get_args(choices):
            raise UsageError(f"{name}={value!r} is none of {', '.join(get_args(choices))}")
    pair = parse_all(disagree) if disagree else []
    if disagree is not None and len(pair) != 2:
        raise UsageError("a disagreement is between two metrics", hint="--disagree fga gca")
    chosen = parse_all([*([metrics] if isinstance(metrics, str) else metrics), *pair])
    if protocol == "released" and len(chosen) < 2:
        raise UsageError("the released protocol needs two metrics", hint=f"-m {default}")
    convention = as_convention(profile)
    runs = open_under(convention, data, **reading)
    tables, signatures = zip(*(per_dialogue(run, chosen, convention) for run in runs), strict=True)
    dialogues = pl.concat(tables)
    scores, both = [str(metric) for metric in chosen], [f"to_{to}", f"nu_{nu}"]
    rows_taken, partial = "released" if protocol == "released" else "complete", list[Rows]()
    if protocol == "released":
        correlated = [_as_released(runs[0].name if len(runs) == 1 else POOLED, dialogues, both, scores[:2])]
    else:
        whole = [(run.name, table.drop_nulls([*both, *scores])) for run, table in zip(runs, tables, strict=True)]
        controlled = with_pooled(whole, [*both, *scores, *CONTROLS], taken=rows_taken)
        correlated = [rows._replace(columns={v: rows.columns[v] for v in (*both, *scores)}) for rows in controlled]
        partial = [given(rows, [*both, *scores], CONTROLS)._replace(taken=GIVEN) for rows in controlled]

    def compare(columns: Sequence[Rows]) -> list[Compared]:
        pairs = [((t, a), (t, b)) for t in both for a, b in pairwise(scores[:2])]
        return [compare_correlations(rows, rows, pair, level) for pair in pairs for rows in columns]

    pairs_given = pl.concat([CORRELATIONS.empty(),
                             *(correlations(rows, level) for rows in partial)])  # fmt: skip
    return Traits(
        dialogues,
        pl.concat([_binned(dialogues, trait, scores) for trait in both]),
        pl.concat([correlations(rows, level) for rows in correlated]),
        difference_rows(compare(correlated), rows_taken),
        pairs_given.filter(pl.col("first").is_in(both), pl.col("second").is_in(scores)),
        difference_rows(compare(partial), GIVEN),
        pl.concat([_disagreements(table, [str(metric) for metric in pair], most) for table in tables]),
        _disagreements(dialogues, [str(metric) for metric in pair], most),
        pl.concat(signatures),
    )


def _as_released(run: str, dialogues: pl.DataFrame, traits: Sequence[str], metrics: Sequence[str]) -> Rows:
    """The dialogues of all runs as Aksu & Chen 2024 correlate them (their notebook, `CorrelationAnalysis`)."""
    names, (first, second) = [*traits, *metrics], (pl.col(name) for name in metrics)
    columns = dialogues.select("dialogue", pl.col(names).cast(pl.Float64).fill_null(0))
    percents = columns.with_columns((pl.col(metrics) * 100).round(2)).filter((first < 100) | (second < 100))
    score = pl.col(names)
    standard = pl.when(score.min() < score.max()).then((score - score.mean()) / score.std())
    apart = percents.with_columns(standard.round(2)).filter((first - second).abs() >= _LEAST_APART)
    return Rows.of(run, apart, names, taken="released")


def _binned(dialogues: pl.DataFrame, trait: str, scores: Sequence[str]) -> pl.DataFrame:
    """Mean scores by bins of a trait, with empty bins."""
    low, high = _BOUNDS.get(trait) or dialogues.select(pl.col(trait).min(), pl.col(trait).max().alias("high")).row(0)
    if low is None:  # nowhere defined
        return TRAIT_BINS.empty()
    count = _BINS if high > low else 1
    edges = low + (np.arange(count + 1) / count) ** (2 if trait in ROOT else 1) * (high - low)
    bins = pl.DataFrame({"low": edges[:-1], "high": edges[1:]}).with_row_index("bin")
    grid = dialogues.select(pl.col("run").unique(maintain_order=True)).join(bins, how="cross", maintain_order="left")
    defined = dialogues.drop_nulls(trait)
    number = np.searchsorted(edges[:-1], defined[trait].to_numpy(), side="right") - 1
    listed = defined.select("run", pl.Series("bin", number, pl.UInt32), *scores)
    long = listed.unpivot(on=scores, index=["run", "bin"], variable_name="metric").drop_nulls("value")
    mean = divide(exact_sum(pl.col("value")), pl.len())
    means = long.group_by("run", "bin", "metric").agg(value=mean, dialogues=pl.len())
    metrics = pl.DataFrame({"metric": scores}, schema={"metric": pl.String})
    every = grid.join(metrics, how="cross", maintain_order="left")
    binned = every.join(means, on=["run", "bin", "metric"], how="left", maintain_order="left")
    return TRAIT_BINS.conform(binned.with_columns(pl.col("dialogues").fill_null(0), trait=pl.lit(trait)))


def _disagreements(dialogues: pl.DataFrame, pair: Sequence[str], most: int) -> pl.DataFrame:
    """The dialogues on which two metrics differ most, in each direction; ties are ordered by dialogue, then run."""
    lists = [DISAGREEMENTS.empty()]
    for higher, lower in [pair, pair[::-1]] if pair else []:
        difference = pl.col(higher) - pl.col(lower)
        gaps = dialogues.select("run", "dialogue", "turns", "mistakes", high=higher, low=lower, difference=difference)
        ordered = gaps.filter(pl.col("difference") > 0).sort(
            "difference", "dialogue", descending=[True, False], maintain_order=True
        )
        first = ordered.head(most).with_row_index("place", offset=1)
        lists.append(DISAGREEMENTS.conform(first.with_columns(higher=pl.lit(higher), lower=pl.lit(lower))))
    return pl.concat(lists)
