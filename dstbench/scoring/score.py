"""Score runs: from runs and metrics to scores with their signatures."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Unpack

import polars as pl

from dstbench._version import __version__
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import UsageError, check_known, first_repeated, warn
from dstbench.metrics import DEFAULT, DEFAULT_PER_SLOT, Metric, parse, parse_all
from dstbench.metrics.base import check_counts
from dstbench.metrics.built_in import PairMetric
from dstbench.readers.options import SIGNED
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.core import GROUPS, LENGTH
from dstbench.scoring.sums import Sums, scores, scores_and_errors, sum_up
from dstbench.scoring.turns import to_turns, view_of
from dstbench.scoring.validation import SPELLING, open_under, warn_of_scores
from dstbench.signature import meaning_of, sign
from dstbench.signature import parse as parse_signature
from dstbench.typing import View


class Scores(pl.DataFrame):
    """Score rows: a Polars frame that also gives one value (`value`), or all of them by name (`to_dict`).

    Args:
        data: The rows, with the columns that `dstbench.score` describes.

    >>> from dstbench import score
    >>> north = {"hotel-area": "north"}
    >>> scores = score([{"dialogue_id": "MUL1", "turn": 0, "gold": north, "pred": north}], metrics="jga,f1")
    >>> scores.value("jga"), scores.to_dict()
    (1.0, {'jga': 1.0, 'f1': 1.0})
    """

    def __init__(self, data: pl.DataFrame) -> None:
        super().__init__(data)

    def value(self, metric: str, **group: Any) -> float | None:
        """One value: a fraction, or a count for count metrics; None if it is undefined.

        Args:
            metric: The metric, as the column `metric` has it.
            **group: Which row to take, if there are several: ``run="star"``, ``domain="hotel"``.

        Raises:
            UsageError: There is no such row, or there are several.
        """
        check_known(group, self._keys, "scores have no column {!r} to choose by")
        rows: pl.DataFrame = self
        for key, wanted in {"metric": metric, **group}.items():
            of = "" if key == "metric" else f"{metric} with the {key} "
            names = rows[key].unique(maintain_order=True).cast(pl.String)
            check_known([str(wanted)], names, f"there is no score of {of}{{!r}}")
            rows = rows.filter(pl.col(key).cast(pl.String) == str(wanted))
        if rows.height > 1:
            apart = [key for key in self._keys if rows[key].n_unique() > 1]
            example = ", ".join(f"{key}={rows[key][0]!r}" for key in apart)
            raise UsageError(f"there are {rows.height:,} scores of {metric}", hint=f"value({metric!r}, {example})")
        value: float | None = rows["value"].item()
        return value

    def to_dict(self, *, as_series: bool | None = None) -> dict[str, Any]:
        """The values by name, for loggers and JSON.

        Args:
            as_series: If given, the columns are returned, as `polars.DataFrame.to_dict` returns them.

        Returns:
            For each row: its metric (``jga``) to its value (None: undefined). If there are several runs or groups,
            their names come first: ``star/jga``, ``star/hotel/jga``.

        Raises:
            UsageError: Two rows would have the same name.
        """
        if as_series is not None:
            return dict(super().to_dict(as_series=as_series))
        keys = [key for key in self._keys if key != "run" or self["run"].n_unique() > 1]
        names = self.select(pl.concat_str(pl.col(*keys, "metric").cast(pl.String), separator="/")).to_series()
        if repeated := first_repeated(names):
            raise UsageError(
                f"two scores would be called {repeated!r}", hint="a slash is in the name of a run or group"
            )
        return dict(zip(names, self["value"], strict=True))

    @property
    def _keys(self) -> list[str]:
        """The columns that tell rows of one metric apart: the run, and what scores are grouped by."""
        return self.columns[: self.columns.index("metric")]


_LOG: Final = logging.getLogger(__name__)
# The key of a format that is not built in, in signatures: it says how a file was read, so runs that differ in it can be
# compared.
_FORMAT: Final = "format"
# Groups for a run that has no states, only marks that say which slots are right.
_WITHOUT_STATES: Final = ("run", "dialogue", "turn", LENGTH)


def turns(
    data: Data,
    *,
    view: View | None = None,
    profile: str | Convention = "verbatim",
    counts: Mapping[str, pl.Expr] | None = None,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """The turn table of one or many runs.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        view: Restrict states to each ``domain`` or each ``slot``; None: whole states.
        profile: The convention, or its name.
        counts: Further columns: expressions over the rows that `dstbench.rows` shows (all but `run` and `is_scored`),
            which are summed per turn, as those of a metric of your own are (`Metric.counts`).
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Returns:
        (run: String, then the columns of `schema.TURNS`, then `counts`); one row per turn (and domain or slot).

    Raises:
        DstbenchError: Data cannot be used, a view or profile is unknown, or a count cannot be summed.

    >>> states = [{"dialogue_id": "D1", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    >>> turns(states).select("run", "turn", "n_gold", "n_pred", "n_correct").row(0)
    ('states', 0, 1, 0, 0)
    """
    convention = as_convention(profile)
    check_counts(counts or {})
    tables = []
    for run in open_under(convention, data, "counts of slots", **reading):
        table = to_turns(run.read(), convention, view=view, counts=counts)
        tables.append(table.select(pl.lit(run.name).alias("run"), pl.all()))
    return pl.concat(tables)


def score(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    by: str | Sequence[str] = "run",
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Scores:
    """Score one or many runs.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        metrics: Metrics in dstbench's notation, comma-separated or in a list. None: those of the profile; by slot,
            accuracy (JGA of one slot), precision, recall and F1 from summed counts, and counts of errors.
        by: Group by run, domain, slot, dialogue, turn, length, n_gold, seen; comma-separated. `length` is the
            number of turns of the dialogue, and any count of the turn table may take the place of ``n_gold``. With
            ``domain``, states are restricted to the domain, and only turns count whose gold state has a slot of it.
            With ``slot``, all turns count, and a slot that is absent on both sides is right.
        profile: The convention, or its name (see `dstbench.profile` for one with other choices).
        **reading: `gold`, `format`, `names`, `missing` (default: the convention's), `split`: see `dstbench.open_runs`.

    Returns:
        A frame with one row per (run, group, metric): `run`; a column per `by`; `metric`; `unit` (``share``,
        ``count``); `value` (a fraction, or a count for count metrics; null: undefined); `se` (linearised standard error
        of the value over dialogues; null for counts, by slot and by dialogue); `exact` (the value with exact matching;
        only if the convention matches fuzzily); `turns` (or frames, if the convention scores frames); `dialogues`;
        `signature`. Its `value("jga")` is one value, and its `to_dict()` all of them by name.

    Raises:
        DstbenchError: Data cannot be used, or a metric, group or profile is unknown.

    >>> north = {"hotel-area": "north"}
    >>> states = [{"dialogue_id": "MUL1", "turn": 0, "gold": north, "pred": north},
    ...           {"dialogue_id": "MUL1", "turn": 1, "gold": north, "pred": {}}]
    >>> score(states, metrics="jga,sa").to_dict()
    {'jga': 0.5, 'sa': 0.9833333333333333}
    """
    return open_and_score(data, metrics=metrics, by=by, profile=profile, **reading)[1]


def open_and_score(
    data: Data,
    *,
    metrics: str | Iterable[str | Metric] | None,
    by: str | Sequence[str],
    profile: str | Convention,
    **reading: Unpack[Reading],
) -> tuple[list[Run], Scores]:
    """The runs, opened, and what `score` returns of them; the parameters are the same."""
    names = [name.strip() for name in by.split(",")] if isinstance(by, str) else list(by)
    groups = [name for name in dict.fromkeys(names) if name != "run"]  # scores are always by run
    if groups:
        check_known(groups, GROUPS, "scores cannot be grouped by {!r}")
    convention = as_convention(profile)
    requested = None if metrics is None else parse_all(metrics)  # before files are read, so that a typo costs no time
    runs = open_under(convention, data, **reading)
    chosen = choose_metrics(requested, runs, convention, groups)
    if convention.match.startswith("token-sort") and convention.unit == "frame" and convention.schema is None:
        warn("categorical slots are matched by similarity too; --schema schema.json says which they are")
    # By slot, each side has at most one pair in a turn.
    pairs = [metric for metric in chosen if isinstance(metric, PairMetric)]
    accuracies = [metric for metric in pairs if (metric.avg, metric.empty) == ("macro", "1")]
    if "slot" in groups and accuracies:
        micro = ",".join(str(replace(metric, avg="micro")) for metric in accuracies)
        warn(
            f"by slot, a mean over turns of {' or '.join(map(str, accuracies))} is the slot's accuracy, as jga is; "
            f"-m {micro} is from summed counts"
        )
    if convention.domain_turns == "frames":
        warn_of_frames(runs, convention)
    results = [score_run(run, chosen, groups, convention, spelling=True) for run in runs]
    warn_of_scores([(run, sums) for run, (_, sums) in zip(runs, results, strict=True)], convention)
    rows = pl.concat([table for table, _ in results])
    if len(runs) > 1:
        warn_of_differences(rows)
    return runs, Scores(rows)


def choose_metrics(
    requested: Sequence[Metric] | None, runs: Sequence[Run], convention: Convention, by: Sequence[str] = ()
) -> Sequence[Metric]:
    """The requested metrics; if there are none, those that a run without states allows, or else the default ones."""
    if requested is not None:
        return requested
    without_states = next((run.meta["only"] for run in runs if run.meta.get("only")), None)
    return parse_all(without_states or (DEFAULT_PER_SLOT if "slot" in by else convention.metrics or DEFAULT))


def score_run(
    run: Run, metrics: Sequence[Metric], by: Sequence[str], convention: Convention, *, spelling: bool = False
) -> tuple[pl.DataFrame, Sums]:
    """The score rows of one run (see `score`), and its sums; `spelling`: also those of `SPELLING`, of whole states."""
    _LOG.info("scoring %s (%s rows)", run.name, f"{run.cuts[-1]:,}")
    if run.meta.get("only"):
        refuse_without_states(run, metrics, by, convention)
        spelling = False
    spelling = spelling and view_of(by, convention)[0] is None
    sums = sum_up(run, metrics, by, convention, more=SPELLING if spelling else None, errors=True)
    names, metrics = list(map(str, metrics)), sums.metrics
    settings = convention.settings() | further_settings(run, by, convention, sums)
    table = sums.table.sort(by) if by else sums.table
    values, errors = scores_and_errors(metrics, table)
    columns = {"value": values, "se": pl.DataFrame(errors).fill_nan(None)}
    if convention.is_fuzzy:
        exact = sum_up(run, metrics, by, convention.exact(), signed=False).table
        columns["exact"] = scores(
            metrics, table.select(by).join(exact, on=by, how="left", maintain_order="left") if by else exact
        )
    of_metrics = pl.DataFrame(
        {
            "metric": names,
            "unit": [metric.unit for metric in metrics],
            "signature": [sign(metric.settings(), settings) for metric in metrics],
        }
    )
    groups = table.select(pl.lit(run.name).alias("run"), *by, pl.col("turns", "dialogues").cast(pl.UInt32))
    rows = groups.join(of_metrics, how="cross", maintain_order="left_right").hstack(
        [
            of_groups.select(pl.concat_list(pl.all()).explode()).to_series().alias(name)
            for name, of_groups in columns.items()
        ]
    )
    return rows[["run", *by, "metric", "unit", *columns, "turns", "dialogues", "signature"]], sums


def values_of(run: Run, metrics: Sequence[Metric], convention: Convention) -> dict[str, float | None]:
    """The values of a whole run by metric, as `score_run` gives them, in less time."""
    if run.meta.get("only"):
        refuse_without_states(run, metrics, (), convention)
    sums = sum_up(run, metrics, (), convention, signed=False)
    return dict(zip(map(str, sums.metrics), scores(sums.metrics, sums.table).row(0), strict=True))


def further_settings(run: Run, by: Sequence[str], convention: Convention, sums: Sums) -> dict[str, str]:
    """The settings of a signature, in its order, that follow the choices of the convention."""
    name, frames = str(run.meta.get("format")), run.meta.get("frames")
    counted = {"frames": "unknown" if frames is None else str(frames["gold"])}
    return {
        "missing": run.meta["missing"],
        **{name.replace("_", "-"): run.meta[name] for name in SIGNED if name in run.meta},
        "by": ",".join(by) or "run",
        **(counted if view_of((), convention)[1] else {}),
        **({_FORMAT: name} if "@" in name else {}),  # with its package, if it is not built in
        "gold": f"{sums.fingerprint % 2**32:08x}",
        "d": str(sums.dialogues),
        "t": str(sums.turns),
        "v": __version__,
    }


def refuse_without_states(run: Run, metrics: Sequence[Metric], by: Sequence[str], convention: Convention) -> None:
    """Refuse whatever depends on slots and values, as the run has no states, only marks of right slots."""
    only = run.meta["only"]
    lacks = f"{run.name}: it holds no states, and "
    marked = [(type(metric), getattr(metric, "T", 0)) for metric in map(parse, only)]
    if others := [str(metric) for metric in metrics if (type(metric), getattr(metric, "T", 0)) not in marked]:
        raise UsageError(f"{lacks}{', '.join(others)} cannot be computed from it", hint=f"-m {','.join(only)}")
    if others := [name for name in by if name not in _WITHOUT_STATES]:
        raise UsageError(
            f"{lacks}scores by {', '.join(others)} cannot be computed", hint=f"by {', '.join(_WITHOUT_STATES)}"
        )
    if choices := [key for key in convention.settings() if key != "profile"]:
        raise UsageError(
            f"{lacks}no convention changes what is right: {convention.name} has {', '.join(choices)}",
            hint="--profile verbatim, without other choices",
        )


def warn_of_frames(runs: Sequence[Run], convention: Convention) -> None:
    """Warn of runs that do not know which frames gold has, if the convention counts gold's frames."""
    without = [run.name for run in runs if "frames" not in run.meta]
    if without and view_of((), convention)[1]:
        warn(
            f"{', '.join(without)}: gold does not say which frames there are; those that are empty on both sides, "
            "which the official evaluation counts, are not counted (a --gold in SGD's layout says which there are)",
            when="before",
        )


def warn_of_differences(rows: pl.DataFrame) -> None:
    """Warn of metrics whose signatures differ between runs, so that scores are not comparable; name the settings."""
    clauses: dict[str, list[str]] = {}
    signatures = rows.select("metric", "run", "signature").unique(maintain_order=True)
    differ = signatures.filter(pl.col("signature").n_unique().over("metric") > 1)
    for (metric,), signed in differ.group_by("metric", maintain_order=True):
        settings = {run: parse_signature(text).complete() for _, run, text in signed.iter_rows()}
        for key in dict.fromkeys(key for of_run in settings.values() for key in of_run if key != _FORMAT):
            runs_with: dict[str, list[str]] = {}
            for run, of_run in settings.items():
                runs_with.setdefault(of_run.get(key, "-"), []).append(run)
            if len(runs_with) > 1:
                values = ", ".join(f"{value} ({', '.join(names)})" for value, names in runs_with.items())
                clauses.setdefault(f"{meaning_of(key)} is {values}", []).append(str(metric))
    for clause, metrics in clauses.items():
        hint = "; name the number of slots: -m sa:T=30" if clause.startswith("the metric is sa(") else ""
        warn(f"{', '.join(metrics)}: not comparable between all runs: {clause}{hint}", when="before")
