"""A table of dialogues: when each first fails, how many gold slots it has, where its mistakes are, and its scores.

Conventions: a dialogue's turns are those that the convention scores, numbered from 0 in their order, without gaps. A
turn's mistakes are its wrong, missed and over-predicted changes of state as GCA's authors count them (``gca_wrong +
gca_missed + gca_over``). Everything is computed from sums of integers over the dialogue.

With n turns of m_t mistakes each, M = Σ m_t, S = Σ t·m_t, m̄ = M/n:

- tail orientation ``mean`` = S / (M·(n − 1)); ``sum`` = Σ m_t·(t − (n − 1)/2) / n; ``released`` =
  (S/M − n/2) / (n + 1). For a single turn, the first two are 0 and the third -0.25. Without mistakes, the first two are
  undefined, and the third is 0.
- non-uniformity ``paper`` = Σ (m_t − m̄)²; ``released`` = Σ |m_t − m̄| / m̄, 0 without mistakes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.metrics import Metric
from dstbench.runs.run import Run
from dstbench.schema.analysis import DIALOGUES
from dstbench.scoring.partitions import Part, over_parts
from dstbench.scoring.score import score_run
from dstbench.scoring.validation import warn_of_alternatives

#: Number of equal parts of a dialogue in which first failures are counted.
FAILURE_BINS: Final = 10


def per_dialogue(run: Run, metrics: Sequence[Metric], convention: Convention) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Traits and scores of the dialogues with a scored turn (`DIALOGUES`, a column per metric), and signatures."""
    table = pl.concat(over_parts(run, lambda part: _of_part(part, convention)))
    table = table.select(pl.lit(run.name).alias("run"), pl.all())
    return with_scores(table, ["dialogue"], run, metrics, convention)


def with_scores(
    table: pl.DataFrame, keys: list[str], run: Run, metrics: Sequence[Metric], convention: Convention
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A table with one more column per metric, its score for each row's `keys`; and the signature of each metric."""
    if not metrics:
        return table, pl.DataFrame(schema=dict.fromkeys(("run", "metric", "unit", "signature"), pl.String))
    rows, sums = score_run(run, metrics, keys, convention)
    warn_of_alternatives(run, sums, convention)
    scores = rows.pivot(on="metric", on_columns=[str(metric) for metric in metrics], index=keys, values="value")
    signatures = rows.select("run", "metric", "unit", "signature").unique(maintain_order=True)
    return table.join(scores, on=keys, how="left", maintain_order="left"), signatures


def cut_to(run: Run, dialogues: Iterable[str]) -> Run:
    """The run with these dialogues only, in memory."""
    table = run.read(run.table.filter(pl.col("dialogue").cast(pl.String).is_in([*dialogues])))
    table = table if run.derive is None else run.derive(table)
    return replace(run, table=table.lazy(), cuts=(0, table.height), derive=None)


def _of_part(part: Part, convention: Convention) -> pl.DataFrame:
    turns = part.turns(convention).scored.with_columns(
        t=pl.int_range(pl.len()).over("number"),
        m=pl.sum_horizontal("gca_wrong", "gca_missed", "gca_over").cast(pl.Int64),
        wrong=pl.col("n_union").cast(pl.Int64) - pl.col("n_correct"),
    )
    t, m, wrong, n = pl.col("t"), pl.col("m"), pl.col("wrong"), pl.len().cast(pl.Int64)
    fails, first, wrong_turns = wrong.last() > 0, t.filter(wrong > 0).first(), (wrong > 0).sum()
    errs, m_sum, s_sum = m.sum() > 0, m.sum(), (t * m).sum()
    released = (2 * s_sum - n * m_sum) / (2 * m_sum * (n + 1))
    table = turns.group_by("number", maintain_order=True).agg(
        pl.col("dialogue").first(),
        turns=n,
        wrong_turns=wrong_turns,
        ends_wrong=fails,
        wrong_slots_last=wrong.last(),
        first_wrong=first,
        first_failure=pl.when(fails).then(first / n),
        first_failure_bin=pl.when(fails).then(FAILURE_BINS * first // n),
        recovered=pl.when(fails).then(n - first > wrong_turns),  # not all turns from the first on are wrong
        n_gold_max=pl.col("n_gold").max(),
        mistakes=m_sum,
        to_mean=pl.when(errs).then(pl.when(n > 1).then(s_sum / (m_sum * (n - 1))).otherwise(0.0)),
        to_sum=pl.when(errs).then((2 * s_sum - m_sum * (n - 1)) / (2 * n)),
        to_released=pl.when(errs).then(released).otherwise(0.0),
        nu_paper=(n * (m * m).sum() - m_sum * m_sum) / n,
        nu_released=pl.when(errs).then((n * m - m_sum).abs().sum() / m_sum).otherwise(0.0),
    )
    columns = [pl.col(name).cast(column.dtype) for name, column in DIALOGUES.columns.items() if name != "run"]
    return table.select(columns).collect()
