"""One model's runs on several versions of a dataset (Qian et al. 2021, Tables 4 and 5; Figs 3b, 7, 8b).

A run is scored against the gold of every version, as the same predictions; a run that was made on one version only, as
its utterances are others, is scored against that one. Scores are over the dialogues that every run has on every
version, as a difference means nothing between other dialogues. Runs of one model (seeds) become their mean and
standard deviation. (The function is called `scores`.)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from dstbench.analysis.compare import runs_called, seeds_of
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, did_you_mean
from dstbench.metrics import parse, parse_all
from dstbench.runs.open import Data, named_parts, only_dialogues
from dstbench.schema.audit import VERSION_MODELS, VERSION_SLOTS
from dstbench.scoring.notes import warn_of_alternatives
from dstbench.scoring.scope import gold_counts, open_under
from dstbench.scoring.score import score_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dstbench.conventions.convention import Convention
    from dstbench.metrics import Metric
    from dstbench.runs.run import Run
    from dstbench.typing import Missing

#: What is scored when nothing is asked for.
DEFAULT: Final = "jga"
_ERROR_TURNS: Final = "error-turns"


@dataclass(frozen=True)
class VersionScores:
    """Scores over versions of a dataset, as frames (schemas in `dstbench.schema.audit`).

    Attributes:
        runs: The score rows of every run on every version.
        models: Their means and standard deviations over a model's runs.
        slots: Per slot: in how many turns it is wrong, likewise.
    """

    runs: pl.DataFrame
    models: pl.DataFrame
    slots: pl.DataFrame


def scores(
    data: Data,
    versions: Mapping[str, Data],
    *,
    metrics: str | Iterable[str | Metric] | None = None,
    models: Mapping[str, str | Sequence[str]] | None = None,
    only: Mapping[str, str | Sequence[str]] | None = None,
    profile: str | Convention = "qian2021",
    format: str | None = None,  # noqa: A002 (the field's word)
    missing: Missing | None = None,
    split: str | None = None,
) -> VersionScores:
    """Score runs against several versions of their dataset, over the dialogues that all versions have.

    Dialogues that a version, or a run on it, does not have are left out everywhere, and a warning says how many.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        versions: Name of a version to its gold states, in the order of the tables.
        metrics: Metrics in dstbench's notation; None: JGA.
        models: Model name to its runs (seeds), as names or patterns (``t5_*``), in a list or comma-separated. A run
            that no model names is a model of its own.
        only: Name of a version to the runs, likewise, that were made on it and are scored against no other.
        profile: The convention, or its name. Where it matches fuzzily, exact scores stand beside.
        format: Native format of the runs; None: find out.
        missing: What to do with gold turns that have no prediction; None: what the convention does.
        split: The split to score, where gold has several; None: the one in which there are predictions.

    Raises:
        DstbenchError: Data cannot be used; there is no version; a metric, run, version or profile is unknown; or a
            version has no dialogue in common with the others.

    >>> run = [{"dialogue_id": "D", "turn": 0, "pred": {"hotel-area": "north"}}]
    >>> golds = {area: [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": area}}] for area in ("north", "south")}
    >>> scores({"run": run}, golds).models.select("version", "model", "value", "sd").rows()
    [('north', 'run', 1.0, None), ('south', 'run', 0.0, None)]
    """
    if not versions:
        raise UsageError("no version to score on", hint="--version 2.1=gold.json, once for each")
    convention = as_convention(profile)
    asked = parse_all(DEFAULT if metrics is None else metrics)
    if not asked:
        raise UsageError("no metric to compute", hint=f"omit -m to compute {DEFAULT}")
    parts = dict(named_parts(data))
    names = list(parts)
    seeds = seeds_of(models or {}, names)
    model_of = {names[run]: model for model, runs in seeds.items() for run in runs}
    chosen = _chosen(only or {}, list(versions), names)
    opened: list[tuple[str, Run]] = []
    for version, gold in versions.items():
        with _saying(version):
            runs = open_under(
                convention,
                {name: parts[name] for name in chosen[version]},
                gold=gold,
                format=format,
                missing=missing,
                split=split,
            )
        opened += [(version, run) for run in runs]
    totals: list[pl.DataFrame] = []
    counted: list[pl.DataFrame] = []
    errors: list[pl.DataFrame] = []
    for version, run in _over_common_dialogues(opened):
        of_run = pl.lit(version).alias("version"), pl.lit(model_of[run.name]).alias("model"), pl.all()
        rows, found = score_run(run, asked, [], convention)
        warn_of_alternatives(run, found, convention)
        totals.append(rows.select(of_run))
        if not run.meta.get("only"):  # states are known, not only what is right in them
            counted.append(rows.head(1).select(*of_run[:2], "run", "turns"))
            wrong, _ = score_run(run, [parse(_ERROR_TURNS)], ["slot"], convention)
            errors.append(_in_scope(wrong, run, convention).select(of_run))
    scored = pl.concat(totals)
    return VersionScores(scored, _models(scored), _slots(counted, errors))


def _over_common_dialogues(opened: Sequence[tuple[str, Run]]) -> list[tuple[str, Run]]:
    """The runs on their versions, each cut down to the dialogues that all of them have."""
    held = pl.concat(
        run.read(run.table.select(pl.col("dialogue").unique())).select(pl.lit(at, pl.UInt32).alias("at"), "dialogue")
        for at, (_, run) in enumerate(opened)
    )
    common = held.group_by("dialogue").len().filter(pl.col("len") == len(opened))["dialogue"]
    whole = held.group_by("at").len().sort("at")["len"].to_list()
    if common.is_empty():
        raise _nothing_in_common(opened, held)
    if all(n == len(common) for n in whole):
        return list(opened)
    left_out = held.filter(~pl.col("dialogue").is_in(common.implode()))
    for version in dict.fromkeys(version for version, _ in opened):
        own = [at for at, (name, _) in enumerate(opened) if name == version]
        lost = left_out.filter(pl.col("at").is_in(own))["dialogue"].unique()
        if lost.is_empty():
            continue
        has = dict(left_out.filter(pl.col("dialogue").is_in(lost.implode())).group_by("at").len().iter_rows())
        lacking = dict.fromkeys(
            run.name if at in own else name for at, (name, run) in enumerate(opened) if has.get(at, 0) < len(lost)
        )
        total = held.filter(pl.col("at").is_in(own))["dialogue"].n_unique()
        warnings.warn(
            f"{version}: {len(lost):,} of its {total:,} dialogues not scored, as not in {', '.join(lacking)}; "
            f"versions are compared over the {len(common):,} that all have",
            DstbenchWarning,
            stacklevel=3,
        )
    return [(version, only_dialogues(run, common)) for version, run in opened]


def _nothing_in_common(opened: Sequence[tuple[str, Run]], held: pl.DataFrame) -> DstbenchError:
    """The error that names the first run whose dialogues are none of those that all before it have."""
    common, before = held.filter(at=0)["dialogue"], []
    for at, (version, run) in enumerate(opened):  # noqa: B007 (the error names the one that ended it)
        common = common.filter(common.is_in(held.filter(at=at)["dialogue"].implode()))
        if common.is_empty():
            break
        before.append(version)
    return DstbenchError(
        f"{version}: {run.name} has no dialogue there that is also in {', '.join(dict.fromkeys(before))}",
        hint="versions are compared over the dialogues that all have: is it the same split, with the same ids?",
    )


@contextmanager
def _saying(version: str) -> Iterator[None]:
    """Notes say of which version they are; that a run's own gold is not used is what was asked for."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        warnings.filterwarnings("ignore", ".*its own gold is not used", DstbenchWarning)
        yield
    for note in caught:
        warnings.warn(f"{version}: {note.message}", note.category, stacklevel=4)


def _chosen(only: Mapping[str, str | Sequence[str]], versions: list[str], names: list[str]) -> dict[str, list[str]]:
    """The runs that are scored on each version."""
    bound: dict[str, set[str]] = {}
    for version, given in only.items():
        if version not in versions:
            hint = did_you_mean(version, versions) or f"there are {', '.join(versions)}"
            raise UsageError(f"no version is called {version!r}", hint=hint)
        for run in runs_called(given, names, f"version {version!r}"):
            bound.setdefault(names[run], set()).add(version)
    found = {version: [name for name in names if version in bound.get(name, versions)] for version in versions}
    if without := [version for version, runs in found.items() if not runs]:
        raise UsageError(f"no run is to be scored on version {without[0]!r}", hint="omit the version")
    return found


def _in_scope(rows: pl.DataFrame, run: Run, convention: Convention) -> pl.DataFrame:
    """The rows of slots that the convention scores; others are right by definition."""
    if convention.scope is None:
        return rows
    further = gold_counts(run)["slot"] if convention.outside == "scored" else ()
    return rows.filter(pl.col("slot").is_in([*convention.scope, *further]))


def _over_seeds(name: str, sd: str) -> list[pl.Expr]:
    """Mean and standard deviation over a group's rows, in their order; null where one of them is."""
    value = pl.col(name)
    return [
        pl.when(value.null_count() == 0).then(value.implode().list.mean()).alias(name),
        pl.when(value.null_count() == 0).then(value.implode().list.std(ddof=1)).alias(sd),
    ]


def _beside_exact(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with a column `exact`; null where the convention matches exactly anyway."""
    return rows if "exact" in rows.columns else rows.with_columns(exact=pl.lit(None, pl.Float64))


def _models(rows: pl.DataFrame) -> pl.DataFrame:
    """`VERSION_MODELS` of score rows."""
    grouped = (
        _beside_exact(rows)
        .group_by("version", "model", "metric", "unit", maintain_order=True)
        .agg(
            pl.col("run").n_unique().alias("runs"),
            *_over_seeds("value", "sd"),
            *_over_seeds("exact", "exact_sd"),
            pl.col("dialogues").first(),
        )
    )
    return VERSION_MODELS.conform(grouped)


def _slots(counted: Sequence[pl.DataFrame], errors: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """`VERSION_SLOTS` of turns per run, and error turns per run and slot.

    A slot that neither gold nor a run has, but another run of the model, is right in that run.
    """
    if not counted:
        return VERSION_SLOTS.schema.to_frame()
    runs, given = pl.concat(counted), _beside_exact(pl.concat(errors))
    fuzzily = given["exact"].is_not_null().any()
    slots = given.select("version", "model", "slot").unique(maintain_order=True)
    whole = runs.join(slots, on=["version", "model"], maintain_order="left").join(
        given.select("version", "model", "run", "slot", "value", "exact"),
        on=["version", "model", "run", "slot"],
        how="left",
        maintain_order="left",
    )
    wrong = whole.with_columns(
        error_turns=pl.col("value").fill_null(0.0),
        exact=pl.col("exact").fill_null(0.0) if fuzzily else pl.col("exact"),
        turns=pl.col("turns").cast(pl.Float64),
    )
    found = (
        wrong.with_columns(share=pl.col("error_turns") / pl.col("turns"))
        .group_by("version", "model", "slot", maintain_order=True)
        .agg(
            pl.col("run").n_unique().alias("runs"),
            *_over_seeds("error_turns", "sd"),
            *(_over_seeds(name, "sd")[0] for name in ("share", "exact", "turns")),
        )
    )
    return VERSION_SLOTS.conform(found)
