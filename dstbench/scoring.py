"""Tables and metrics to scores: the one place that sums, scores and signs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench import __version__
from dstbench.conventions import Convention, profile, signature
from dstbench.errors import DstbenchWarning, UsageError, did_you_mean
from dstbench.longtable import Data, Run, open_runs
from dstbench.metrics import DEFAULT, DEFAULT_PER_SLOT, Metric, parse_all
from dstbench.partition import over_partitions
from dstbench.schema import SCORES, TURNS
from dstbench.slots import domain_of
from dstbench.turntable import over_distinct, to_turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dstbench.options import Missing, View

_LOG: Final = logging.getLogger(__name__)
_LENGTH: Final = "length"
_NAMES: Final = ("slot", "domain")
#: What scores can be grouped by: a view, the dialogue's length in turns, or any column of the turn table.
GROUPS: Final = (
    "run",
    "domain",
    "slot",
    "dialogue",
    "turn",
    _LENGTH,
    *(c for c in TURNS.columns if c[:2] == "n_"),
)


def turns(
    data: Data,
    *,
    view: View | None = None,
    profile: str | Convention = "verbatim",
    gold: Data | None = None,
    format: str | None = None,  # noqa: A002 (the field's word)
    names: Sequence[str] | None = None,
    missing: Missing = "error",
    split: str | None = None,
) -> pl.DataFrame:
    """The turn table of one or many runs.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        view: Restrict states to each ``domain`` or each ``slot``.
        profile: The convention, or its name.
        gold: Gold states, where they are not inside the data.
        format: Native format of the files; None: find out.
        names: Names of the runs.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, where gold has several; None: the one in which there are predictions.

    Returns:
        (run: String, then the columns of `schema.TURNS`); one row per turn (and domain or slot).

    >>> states = [{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    >>> turns(states).select("run", "turn", "n_gold", "n_pred", "n_correct").row(0)
    ('states', 0, 1, 0, 0)
    """
    convention = _convention(profile)
    runs = open_runs(data, gold=gold, format=format, names=names, missing=missing, split=split)
    return pl.concat(
        [
            to_turns(run.table.collect(), convention, view=view).select(pl.lit(run.name).alias("run"), pl.all())
            for run in runs
        ]
    )


def score(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    by: str | Sequence[str] = "run",
    profile: str | Convention = "verbatim",
    gold: Data | None = None,
    format: str | None = None,  # noqa: A002
    names: Sequence[str] | None = None,
    missing: Missing = "error",
    split: str | None = None,
) -> pl.DataFrame:
    """Score one or many runs.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation, comma-separated or in a list; None: the default ones.
        by: What to group by beside the run: ``domain``, ``slot``, ``dialogue``, ``turn``, ``length`` (turns of the
            dialogue), or a count of the turn table (``n_gold``, …). With ``domain``, states are restricted to the
            domain and the turns whose gold state has a slot of it count; with ``slot``, all turns count, and a slot
            that is absent on both sides is right.
        profile: The convention, or its name.
        gold: Gold states, where they are not inside the data.
        format: Native format of the files; None: find out.
        names: Names of the runs.
        missing: What to do with gold turns that have no prediction.
        split: The split to score, where gold has several; None: the one in which there are predictions.

    Returns:
        One row per (run, group, metric): `run`, a column per `by`, `metric`, `value` (a fraction; a count for count
        metrics; null: undefined), `turns`, `dialogues`, `signature`.

    Raises:
        DstbenchError: Data cannot be used, or a metric, group or profile is unknown.

    >>> states = [{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}},
    ...           {"dialogue_id": "D1", "turn": 1, "gold": {"hotel-area": "north"}, "pred": {}}]
    >>> score(states, metrics="jga,sa").select("metric", "value").rows()
    [('jga', 0.5), ('sa', 0.9833333333333333)]
    """
    groups = _groups(by)
    convention = _convention(profile)
    chosen = parse_all(metrics if metrics is not None else DEFAULT_PER_SLOT if "slot" in groups else DEFAULT)
    if not chosen:
        raise UsageError("no metric to compute", hint="leave metrics away for the default ones")
    runs = open_runs(data, gold=gold, format=format, names=names, missing=missing, split=split)
    rows = pl.concat([score_run(run, chosen, groups, convention) for run in runs])
    _warn_of_mixed_slot_counts(rows)
    return rows


def score_run(run: Run, metrics: Sequence[Metric], by: Sequence[str], convention: Convention) -> pl.DataFrame:
    """Score rows of one run (see `score`)."""
    _LOG.info("scoring %s (%s rows)", run.name, f"{run.cuts[-1]:,}")
    stats = {name: stat for metric in metrics for name, stat in metric.stats().items()}
    sums, slots = _total(run, stats, by, convention)
    metrics = [metric.resolve(slots) for metric in metrics]
    settings = {
        **convention.settings(),
        "missing": run.meta["missing"],
        "by": ",".join(by) or "run",
        "gold": run.meta["gold_hash"],
        "d": str(run.meta["coverage"]["dialogues"]),
        "t": str(run.meta["coverage"]["turns"]),
        "v": __version__,
    }
    columns = {name: pl.col(f"stat:{name}") for name in stats}
    sums = (sums.sort(by) if by else sums).with_row_index("group")
    rows = [
        sums.select(
            "group",
            pl.lit(number).alias("order"),
            pl.lit(run.name).alias("run"),
            *by,
            pl.lit(str(metric)).alias("metric"),
            metric.score(columns).alias("value"),
            pl.col("turns", "dialogues").cast(pl.UInt32),
            pl.lit(signature(metric.settings(), settings)).alias("signature"),
        )
        for number, metric in enumerate(metrics)
    ]
    names = list(SCORES.columns)
    return pl.concat(rows).sort("group", "order").select(names[0], *by, *names[1:])


def _total(
    run: Run, stats: Mapping[str, pl.Expr], by: Sequence[str], convention: Convention
) -> tuple[pl.DataFrame, frozenset[str]]:
    """Summed stats per group of `by` (a column ``stat:<name>`` each, `turns`, `dialogues`), and the run's slots."""
    clash = [name for name in by if name.startswith("n_")]
    if "slot" in by and clash:
        raise UsageError(f"scores by slot cannot be grouped by {clash[0]} as well")
    outer = [name for name in by if name not in _NAMES]

    def part(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.Series]:
        found = _sums(table, stats, by, convention)
        everywhere = _sums(table, {}, outer, convention) if "slot" in by else found
        return found, everywhere, table["slot"].unique().drop_nulls().cast(pl.String)

    found, everywhere, slots = zip(*over_partitions(run, part), strict=True)
    sums = _add_up(found, by)
    if "slot" in by:
        sums = _pad(sums, _add_up(everywhere, outer), stats, by)
    return sums, frozenset(slot for part in slots for slot in part)


def _sums(table: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str], convention: Convention) -> pl.DataFrame:
    """The sums over one partition, of the turns in which a group has rows."""
    needed = {"n_gold", "n_pred", "number", "turn", "slot", *by}
    needed |= {"dialogue"} if _LENGTH in by else set()
    needed |= {name for stat in stats.values() for name in stat.meta.root_names()}
    view: View | None = "slot" if "slot" in by else "domain" if "domain" in by else None
    counted = to_turns(table, convention, view=view, columns=needed)
    if view == "slot" and "domain" in by:
        counted = counted.with_columns(over_distinct(counted["slot"], domain_of).alias("domain"))
    if view == "domain":
        in_gold, in_pred = pl.col("n_gold") > 0, pl.col("n_pred") > 0
        counted = counted.filter(in_gold if convention.domain_turns == "gold" else in_gold | in_pred)
    if _LENGTH in by:
        lengths = to_turns(table, convention, columns=["dialogue"]).group_by("dialogue").len(_LENGTH)
        counted = counted.join(lengths, on="dialogue", how="left", maintain_order="left")
    totals = [
        *(stat.sum().alias(f"stat:{name}") for name, stat in stats.items()),
        pl.len().cast(pl.Int64).alias("turns"),
        pl.col("number").n_unique().cast(pl.Int64).alias("dialogues"),
    ]
    grouped = counted.group_by(by).agg(totals) if by else counted.select(totals)
    return grouped.with_columns(pl.col(name).cast(pl.String) for name in by if name in _NAMES)


def _add_up(parts: Sequence[pl.DataFrame], by: Sequence[str]) -> pl.DataFrame:
    """Partitions' sums as the whole's: integers, so that their order does not matter."""
    whole = pl.concat(parts)
    return whole.group_by(by).agg(pl.all().sum()) if by else whole.sum()


def _pad(
    listed: pl.DataFrame, everywhere: pl.DataFrame, stats: Mapping[str, pl.Expr], by: Sequence[str]
) -> pl.DataFrame:
    """Sums per slot over *all* turns: one in which the slot has no row yet adds what an empty turn adds."""
    listed = listed.drop("dialogues").rename({"turns": "listed"})
    empty = pl.DataFrame({name: [0] for name in TURNS.columns}).with_columns(
        local_error=pl.lit(False), error_age=pl.lit(None, pl.UInt16)
    )
    silent = pl.col("turns") - pl.col("listed").fill_null(0)
    padded = [
        (pl.col(f"stat:{name}").fill_null(0) + silent * empty.select(stat.sum()).to_series()).alias(f"stat:{name}")
        for name, stat in stats.items()
    ]
    slots = listed.select(name for name in by if name in _NAMES).unique()
    return slots.join(everywhere, how="cross").join(listed, on=list(by), how="left").with_columns(padded)


def _warn_of_mixed_slot_counts(rows: pl.DataFrame) -> None:
    """Say it where the runs' slot accuracies are over different T, found from each run's own slots."""
    heads = rows.filter(pl.col("metric") == "sa")["signature"].str.extract(r"^sa\(T=(\d+)").unique().drop_nulls()
    if len(heads) > 1:
        counts = sorted(heads.cast(pl.Int64))
        warnings.warn(
            f"sa is over {', '.join(map(str, counts))} slots, each run's own, and cannot be compared; "
            f"name the number: -m sa:T={counts[0]}",
            DstbenchWarning,
            stacklevel=3,
        )


def _groups(by: str | Sequence[str]) -> list[str]:
    """The columns to group by, without the run, which always is one."""
    names = [name.strip() for name in by.split(",")] if isinstance(by, str) else list(by)
    for name in names:
        if name not in GROUPS:
            raise UsageError(
                f"scores cannot be grouped by {name!r}",
                hint=did_you_mean(name, GROUPS) or f"one of {', '.join(GROUPS)}",
            )
    return [name for name in dict.fromkeys(names) if name != "run"]


def _convention(choice: str | Convention) -> Convention:
    return profile(choice) if isinstance(choice, str) else choice
