"""Scores of runs on several versions of a dataset (Qian et al. 2021, Tables 4 and 5; Figs 3b, 7, 8b).

The predictions of a run are scored against the gold of every version; or, if they were made on the utterances of one
version, against this version's gold only. All scores are over the dialogues that every run has on every version,
because only scores over the same dialogues can be compared. Runs of one model (seeds) become their mean and standard
deviation. (The function is `scores`.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import polars as pl

from dstbench.analysis.compare import runs_called, seeds_of
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, check_known, warn
from dstbench.metrics import Metric, parse, parse_all
from dstbench.runs.open import Data, named_parts
from dstbench.runs.run import Run, in_memory
from dstbench.schema.audit import VERSION_MODELS, VERSION_SLOTS
from dstbench.schema.record import Record
from dstbench.scoring.score import score_run
from dstbench.scoring.validation import gold_counts, open_under, warn_of_alternatives
from dstbench.typing import Missing

#: The default metric.
DEFAULT: Final = "jga"
# The column of scores with exact matching; there is none if the convention matches exactly anyway.
_EXACT: Final = pl.DataFrame(schema={"exact": pl.Float64})


@dataclass(frozen=True)
class VersionScores(Record):
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

    Dialogues that a version, or a run on it, lacks are omitted everywhere; a warning says how many.

    Args:
        data: Prediction files, or long tables. In Python, also a frame, states, or a mapping from run name to data.
        versions: A version of the dataset: its name and its gold. In Python, a mapping, in the order of the tables.
        metrics: Metrics in dstbench's notation; None: JGA.
        models: Runs of one model (its seeds), by name or pattern: t5=t5_*. In Python, a mapping from models to lists of
            such names, or a text of them with commas. A run of no model is a model of its own.
        only: Runs, by name or pattern, that were made on this version only. In Python, a mapping from versions to them.
        profile: The convention, or its name. If it matches fuzzily, scores with exact matching are given as well.
        format: Format of the files; None: found by content.
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
    chosen_metrics = parse_all(DEFAULT if metrics is None else metrics)
    parts = dict(named_parts(data))
    names = list(parts)
    model_of = {names[run]: model for model, seeds in seeds_of(models or {}, names).items() for run in seeds}
    opened: list[tuple[str, Run]] = []
    for version, chosen_runs in _runs_of_versions(only or {}, list(versions), names).items():
        with _naming_version(version):
            chosen = {name: parts[name] for name in chosen_runs}
            runs = open_under(convention, chosen, gold=versions[version], format=format, missing=missing, split=split)
        opened += [(version, run) for run in runs]
    score_rows, run_turns, error_turns = list[pl.DataFrame](), list[pl.DataFrame](), list[pl.DataFrame]()
    for version, run in _over_common_dialogues(opened):
        labelled = pl.lit(version).alias("version"), pl.lit(model_of[run.name]).alias("model"), pl.all()
        rows, notes = score_run(run, chosen_metrics, [], convention)
        warn_of_alternatives(run, notes, convention)
        score_rows.append(rows.select(labelled))
        if not run.meta.get("only"):  # otherwise a run may have no states, only marks of what is right
            errors, _ = score_run(run, [parse("error-turns")], ["slot"], convention)
            if convention.scope is not None:  # other slots than it scores are right by definition
                more = gold_counts(run, convention)["slot"] if convention.outside == "scored" else ()
                errors = errors.filter(pl.col("slot").is_in([*convention.scope, *more]))
            error_turns.append(errors.select(labelled))
            run_turns.append(score_rows[-1].head(1).select("version", "model", "run", pl.col("turns").cast(pl.Float64)))
    scored = pl.concat(score_rows)
    means = *_over_seeds("value", "sd"), *_over_seeds("exact", "exact_sd")
    groups = pl.concat([scored, _EXACT], how="diagonal").group_by(
        "version", "model", "metric", "unit", maintain_order=True
    )
    by_model = groups.agg(pl.col("run").n_unique().alias("runs"), *means, pl.col("dialogues").first())
    return VersionScores(scored, VERSION_MODELS.conform(by_model), _slots(run_turns, error_turns))


def _runs_of_versions(
    only: Mapping[str, str | Sequence[str]], versions: list[str], names: list[str]
) -> dict[str, list[str]]:
    """The runs to score on each version."""
    check_known(only, versions, "no version is called {!r}", f"there are {', '.join(versions)}")
    versions_of: dict[str, set[str]] = {}
    for version, chosen_runs in only.items():
        for run in runs_called(chosen_runs, names, f"version {version!r}"):
            versions_of.setdefault(names[run], set()).add(version)
    runs_of = {version: [name for name in names if version in versions_of.get(name, versions)] for version in versions}
    if empty := [version for version, runs in runs_of.items() if not runs]:
        raise UsageError(f"no run is to be scored on version {empty[0]!r}", hint="omit the version")
    return runs_of


@contextmanager
def _naming_version(version: str) -> Iterator[None]:
    """Put the version in front of warnings; drop the one that a run's own gold is not used, which is expected."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DstbenchWarning)
        warnings.filterwarnings("ignore", ".*own gold is not used", DstbenchWarning)
        yield
    for warning in caught:
        if not isinstance(warning.message, DstbenchWarning):
            warnings.warn(warning.message, stacklevel=4)
            continue
        about = vars(warning.message)
        place = "file" if about["file"] else "run"
        name = f"{version}: {about[place]}" if about[place] else version
        warn(DstbenchWarning(**{**about, place: name}))


def _over_common_dialogues(opened: Sequence[tuple[str, Run]]) -> list[tuple[str, Run]]:
    """The runs on their versions, restricted to the dialogues that all of them have; a warning says which lack some."""
    dialogue = pl.col("dialogue").unique()
    held = [(version, run.name, {*run.read(run.table.select(dialogue)).to_series()}) for version, run in opened]
    common = held[0][2]
    for at, (version, name, own) in enumerate(held):
        common = common & own
        if not common:
            earlier = ", ".join(dict.fromkeys(version for version, *_ in held[:at]))
            raise DstbenchError(
                f"{version}: {name} has no dialogue there that is also in {earlier}",
                hint="versions are compared over the dialogues that all have: is it the same split, with the same ids?",
            )
    for version in dict.fromkeys(version for version, *_ in held):
        of_version = set[str]().union(*(own for other, _, own in held if other == version))
        if lost := of_version - common:
            lacking = dict.fromkeys(name if other == version else other for other, name, own in held if lost - own)
            warn(
                f"{version}: {len(lost):,} of its {len(of_version):,} dialogues not scored, as not in "
                f"{', '.join(lacking)}; versions are compared over the {len(common):,} that all have",
                when="before",
            )
    if all(own == common for *_, own in held):
        return list(opened)
    is_common = pl.col("dialogue").is_in(list(common))
    return [(version, in_memory(run.name, run.read(run.table.filter(is_common)), run.meta)) for version, run in opened]


def _over_seeds(name: str, sd: str) -> list[pl.Expr]:
    """Mean and standard deviation over a group's rows, summed in their order; null where one of them is null."""
    is_complete, values = pl.col(name).null_count() == 0, pl.col(name).implode().list
    return [pl.when(is_complete).then(values.mean()).alias(name), pl.when(is_complete).then(values.std()).alias(sd)]


def _slots(run_turns: Sequence[pl.DataFrame], error_turns: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """`VERSION_SLOTS`; a slot that neither gold nor a run has, but another run of the model, is right in that run."""
    if not error_turns:
        return VERSION_SLOTS.schema.to_frame()
    rows = pl.concat([*error_turns, _EXACT], how="diagonal")
    slots = rows.select("version", "model", "slot").unique(maintain_order=True)
    counts = rows.select("version", "model", "run", "slot", "exact", error_turns="value")
    every = pl.concat(run_turns).join(slots, on=["version", "model"], maintain_order="left")
    every = every.join(counts, on=["version", "model", "run", "slot"], how="left", maintain_order="left")
    filled = ["error_turns", *(["exact"] if rows["exact"].is_not_null().any() else [])]
    every = every.with_columns(pl.col(filled).fill_null(0.0))
    every = every.with_columns(share=pl.col("error_turns") / pl.col("turns"))
    groups = every.group_by("version", "model", "slot", maintain_order=True)
    means = *_over_seeds("error_turns", "sd"), *(_over_seeds(name, "")[0] for name in ("share", "exact", "turns"))
    return VERSION_SLOTS.conform(groups.agg(pl.col("run").n_unique().alias("runs"), *means))
