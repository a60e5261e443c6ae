"""Dialogues turn by turn: one with its utterances, slots and scores, the first to look at, and those of a report.

Conventions: scores are those of `dstbench.score` by turn, over this dialogue alone. Changes of state are counted as by
GCA's authors. Turns that the convention does not score have no scores and no classes.

In a report, values are as written; their classes (`error_classes.CLASSES`) depend on the convention. A belief state is
stored as its changes from turn to turn. Gold, which all runs share, is stored once, in the first run's spelling. Turns
are numbered from 0 in the order in which a dialogue has them; the list `turns` has their original numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Unpack

import polars as pl
from polars import selectors as cs

from dstbench.analysis.dialogue_traits import cut_to, per_dialogue
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import canonical_dialogue, hint_at_dialogue
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.metrics import Metric, parse_all
from dstbench.metrics.registry import name_of, sign_of
from dstbench.readers.contexts import contexts
from dstbench.readers.registry import has_utterances
from dstbench.runs.open import Data, Reading, parts_to_open
from dstbench.runs.run import Run
from dstbench.schema.analysis import CHANGES, SLOT_CLASSES, TURN_SCORES
from dstbench.schema.core import CONTEXTS
from dstbench.scoring.error_classes import CLASSES, classify, list_classes
from dstbench.scoring.rows import lay_out
from dstbench.scoring.score import score_run
from dstbench.scoring.sums import sum_up
from dstbench.scoring.turns import to_turns
from dstbench.scoring.validation import open_under

#: The default metrics of a turn.
SHOWN: Final = "jga,rsa,fga,gca"


@dataclass(frozen=True)
class Walkthrough:
    """A dialogue, as frames (schemas in `dstbench.schema.analysis`; `schema.CONTEXTS`)."""

    said: pl.DataFrame  # no row for turns whose utterances are not known
    slots: pl.DataFrame  # every slot of every turn that gold or a run has, with its class
    changes: pl.DataFrame  # the numbers of correct, wrong, missed and over-predicted changes of state
    scores: pl.DataFrame  # of each turn, and of the dialogue (turn: null)
    signatures: pl.DataFrame  # (run, metric, unit, signature) of the dialogue's scores


def walk_through(
    data: Data,
    dialogue: str | Sequence[str],
    *,
    context: str | None = None,
    metrics: str | Iterable[str | Metric] | None = None,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Walkthrough:
    """Dialogues of runs turn by turn; utterances are those of `context`, or of the files of runs or gold."""
    convention = as_convention(profile)
    chosen = parse_all(metrics or SHOWN)
    parts_to_open(data, **reading)
    said = None if context is None else contexts(context)  # first, so that its errors come before runs are read
    runs = open_under(convention, data, "classes of errors", **reading)
    given = pl.Series([dialogue] if isinstance(dialogue, str) else [*dialogue], dtype=pl.String)
    names = pl.select(canonical_dialogue(pl.lit(given))).to_series().to_list()
    cut = [(cut_to(run, [name]), run, name) for name in names for run in runs]
    for part, run, name in cut:
        if not part.cuts[-1]:
            every = run.read(run.table.select(pl.col("dialogue").unique(maintain_order=True)))["dialogue"]
            raise DstbenchError("no such dialogue", file=run.name, dialogue=name, hint=hint_at_dialogue(name, every))
    resolved = {run.name: sum_up(run, chosen, [], convention).metrics for run in runs}
    if said is None:
        said = said_in(runs)
    elif missing := [name for name in names if name not in said["dialogue"]]:
        warn(f"{context} has no utterances of {', '.join(missing)}")
    frames = [_of_run(part, resolved[run.name], convention) for part, run, _ in cut]
    slots, changes, scores, signatures = (pl.concat(tables) for tables in zip(*frames, strict=True))
    return Walkthrough(said.filter(pl.col("dialogue").is_in(names)), slots, changes, scores, signatures)


@dataclass(frozen=True)
class Worst:
    """The traits and scores of the dialogues to look at first (`DIALOGUES`), in order, and the signatures of scores."""

    dialogues: pl.DataFrame
    signatures: pl.DataFrame


def worst_dialogues(
    data: Data,
    *,
    most: int = 10,
    metrics: str | Iterable[str | Metric] | None = None,
    profile: str | Convention = "verbatim",
    **reading: Unpack[Reading],
) -> Worst:
    """The dialogues with the lowest scores by the first metric, or of several runs, the most different ones."""
    if most < 1:
        raise UsageError(f"most={most} is not a number of dialogues", hint="10")
    convention, chosen = as_convention(profile), parse_all(metrics or SHOWN)
    runs = open_under(convention, data, "classes of errors", **reading)
    tables, signatures = zip(*(per_dialogue(run, chosen, convention) for run in runs), strict=True)
    frame, first = pl.concat(tables), str(chosen[0])
    badness = -(sign_of(first) or 1) * pl.col(first)
    if len(runs) > 1:
        # Rounded, as 1 - 2/3 and 1/3 are the same difference.
        badness = (pl.col(first).max() - pl.col(first).min()).over("dialogue").round(12)
    wrong_turns = pl.col("wrong_turns").cast(pl.Int64).sum().over("dialogue")
    ordered = frame.sort(
        badness.fill_nan(None), wrong_turns, "dialogue", descending=[True, True, False], nulls_last=True,
        maintain_order=True,
    )  # fmt: skip
    worst = ordered["dialogue"].unique(maintain_order=True).head(most)
    return Worst(ordered.filter(pl.col("dialogue").is_in(worst.implode())), pl.concat(signatures))


def said_in(runs: Sequence[Run]) -> pl.DataFrame:
    """The utterances in the first file of the runs or of gold that has any; no row if none has."""
    files = [(run.meta["files"], run.meta["format"]) for run in runs if has_utterances(str(run.meta.get("format")))]
    gold = runs[0].meta.get("gold")
    for path, form in [*files, *([(gold, None)] if isinstance(gold, str) else [])]:
        with suppress(DstbenchError):  # utterances are optional here: the user has not asked for them
            return contexts(path, format=form)
    return CONTEXTS.empty()


def _of_run(run: Run, metrics: Sequence[Metric], convention: Convention) -> tuple[pl.DataFrame, ...]:
    """The frames of one run, in the order of `Walkthrough` after `said`."""
    table, named = run.read(), pl.lit(run.name).alias("run")
    whole = score_run(run, metrics, [], convention)[0]
    of_turns = score_run(run, metrics, ["turn"], convention)[0]
    scores = pl.concat([of_turns, whole.with_columns(turn=pl.lit(None, pl.UInt16))], how="diagonal")
    counted = {name: pl.col(f"gca_{name}") for name in ("correct", "wrong", "missed", "over")}
    return (
        SLOT_CLASSES.conform(list_classes(table, convention).sort("turn", "slot").with_columns(named)),
        CHANGES.conform(to_turns(table, convention).with_columns(named, **counted)),
        TURN_SCORES.conform(scores.with_columns(named, dialogue=pl.lit(table["dialogue"][0]))),
        whole.select("run", "metric", "unit", "signature"),
    )


# --- dialogues of a report --------------------------------------------------------------------------------------------

#: Columns of the table of dialogues that a page shows in addition to the metrics.
TRAITS: Final = (
    "turns", "wrong_turns", "wrong_slots_last", "first_failure", "n_gold_max", "mistakes", "to_mean", "nu_paper",
)  # fmt: skip
_EVENTS: Final = ("gca_correct", "gca_wrong", "gca_missed", "gca_over")
# Of scores and traits; enough for a difference of two to be right in the decimals that a page shows.
_DECIMALS: Final = 6
_KEY: Final = ("dialogue", "turn")
_CHANGING: Final = ("gold", "pred", "class")


@dataclass(frozen=True)
class Explorer:
    """Dialogues to look at.

    Attributes:
        title: Which dialogues these are, in words.
        content: The dialogues as a JSON object, whose lists have an entry per dialogue, except for the first eight.
            ``runs``, ``metrics``, ``counts`` (the metrics that are counts), ``traits``, ``slots``, ``values``,
            ``classes`` (name, kind): lists of names, whose indices are used below (−1: none); ``score_values``.
            ``dialogues``: their ids; ``turns``: the numbers of their turns; ``said``: the utterances of system and
            user in each turn, or null if none is known.
            ``gold``: the changes of gold, as ``turn``, ``slot``, ``value``.
            ``of_runs``, by run: ``scores`` and ``numbers`` (traits), each by name; ``pred``: like ``gold``, with
            ``class``, and with a change wherever gold, the prediction or the class changes; ``turn_scores``, by
            metric, as indices of ``score_values`` (null: undefined); ``events``: the numbers of changes of state in
            each turn that are correct, wrong, missed or over (as GCA's authors count them).
    """

    title: str
    content: dict[str, Any]


def explore(
    runs: Sequence[Run],
    dialogues: pl.DataFrame,
    metrics: Sequence[Metric],
    convention: Convention,
    *,
    said: pl.DataFrame | None = None,
    contrasted: tuple[str, str] | None = None,
    most: int,
) -> Explorer:
    """Take the most telling dialogues of runs over one gold."""
    names = [str(metric) for metric in metrics]
    chosen, title = choose(dialogues, names[0], most, contrasted)
    kept = [cut_to(run, chosen["dialogue"]) for run in runs]
    turns = kept[0].read().select(_KEY).unique().sort(_KEY).with_columns(place=pl.int_range(pl.len()).over("dialogue"))
    changes = [_changes(run.read(), convention) for run in kept]
    gold = changes[0].filter("gold_changes").select(*_KEY, "slot", value="gold")
    preds = [table.filter("changes").select(*_KEY, "slot", "class", value="pred") for table in changes]
    words = {name: _vocabulary([table[name] for table in (gold, *preds)]) for name in ("slot", "value")}

    def of_turns(table: pl.DataFrame) -> pl.DataFrame:
        return turns.join(table, on=_KEY, how="left", maintain_order="left").drop("turn", "place")

    def coded(table: pl.DataFrame) -> dict[str, list[list[int]]]:
        """Changes as numbers, a list per column and dialogue, in the order of turns and slots."""
        placed = table.join(turns, on=_KEY, maintain_order="left").sort("dialogue", "place", "slot", nulls_last=True)
        codes = (
            pl.col(name).cast(pl.Enum(texts)).to_physical().cast(pl.Int64).fill_null(-1)
            for name, texts in words.items()
        )
        kinds = cs.by_name("class", require_all=False)  # gold has none
        return _lists(placed.select("dialogue", pl.col("place").alias("turn"), *codes, kinds), chosen)

    scores = []
    for run in kept:
        rows, _ = score_run(run, metrics, list(_KEY), convention)
        wide = rows.pivot(on="metric", on_columns=names, index=_KEY, values="value")
        scores.append(of_turns(wide).with_columns(pl.col(names).round(_DECIMALS)))
    score_values = _vocabulary([column for table in scores for column in table.select(names)])
    code = pl.col(names).replace_strict(score_values, range(len(score_values)), return_dtype=pl.Int64)
    of_runs = []
    for run, pred, scored in zip(kept, preds, scores, strict=True):
        numbers = chosen.join(dialogues.filter(run=run.name), on="dialogue", how="left", maintain_order="left")
        numbers = numbers.with_columns(pl.col(pl.Float64).round(_DECIMALS))
        events = to_turns(run.read(), convention, columns=(*_KEY, *_EVENTS))
        events = of_turns(events.rename({name: name.removeprefix("gca_") for name in _EVENTS}))
        of_runs.append(
            {
                "scores": numbers.select(names).to_dict(as_series=False),
                "numbers": numbers.select(TRAITS).to_dict(as_series=False),
                "pred": coded(pred),
                "turn_scores": _lists(scored.with_columns(code), chosen),
                "events": _lists(events, chosen),
            }
        )
    utterances = of_turns((CONTEXTS.empty() if said is None else said).select(*_KEY, "system", "user"))
    is_said = any(utterances.select(pl.col("system", "user").count()).row(0))
    content = {
        "runs": [run.name for run in runs],
        "metrics": names,
        "counts": [str(metric) for metric in metrics if metric.is_count],
        "traits": list(TRAITS),
        "slots": words["slot"],
        "values": words["value"],
        "score_values": score_values,
        "classes": [[name, kind] for name, (kind, _) in CLASSES.items()],
        "dialogues": chosen["dialogue"].to_list(),
        "turns": _lists(turns.select("dialogue", "turn"), chosen)["turn"],
        "said": _lists(utterances, chosen) if is_said else None,
        "gold": coded(gold),
        "of_runs": of_runs,
    }
    return Explorer(title, content)


def choose(
    dialogues: pl.DataFrame, metric: str, most: int, contrasted: tuple[str, str] | None = None
) -> tuple[pl.DataFrame, str]:
    """The dialogues that come first by one of a few measures (number, dialogue), and what they are in words."""
    measures = {"that fail first": -pl.col("first_failure").min().fill_null(1),
                "that have most mistakes": pl.col("mistakes").max()}  # fmt: skip
    if contrasted is not None:
        contrast = (pl.col(contrasted[0]) - pl.col(contrasted[1])).abs().max()
        measures = {f"on which {' and '.join(map(name_of, contrasted))} differ most": contrast, **measures}
    if dialogues["run"].n_unique() > 1:
        spread = pl.col(metric).max() - pl.col(metric).min()
        measures = {f"on which runs differ most in {name_of(metric)}": spread, **measures}
    measured = dialogues.group_by("dialogue").agg(of.fill_null(0).alias(name) for name, of in measures.items())
    rank = pl.min_horizontal(pl.col(name).rank("min", descending=True) for name in measures)
    order = measured.sort(rank, "dialogue")
    chosen = order.head(most).select("dialogue").sort("dialogue").with_row_index("number")
    if chosen.height == order.height:
        return chosen, f"all {order.height:,} dialogues"
    return chosen, f"{chosen.height:,} of {order.height:,} dialogues: those {', '.join(measures)}"


def _changes(table: pl.DataFrame, convention: Convention) -> pl.DataFrame:
    """The rows in which gold, the prediction or the class of a slot changes."""
    rows = classify(lay_out(table).with_counts(convention), convention)
    first, changes_in = pl.col("first"), {name: pl.col(name).ne_missing(pl.col(name).shift(1)) for name in _CHANGING}
    still_absent = first & pl.col("class").is_null()  # a slot whose first value means that it is absent
    changing = rows.with_columns(
        changes=(first | pl.any_horizontal(changes_in.values())) & ~still_absent,
        gold_changes=pl.when(first).then(pl.col("gold").is_not_null()).otherwise(changes_in["gold"]),
    ).filter(pl.col("changes") | pl.col("gold_changes"))
    code = pl.col("class").to_physical().cast(pl.Int64).fill_null(-1)
    return changing.select(
        *_KEY, pl.col("slot", "gold", "pred").cast(pl.String), code, "changes", "gold_changes"
    ).collect()


def _vocabulary(columns: Sequence[pl.Series]) -> list[Any]:
    """The distinct values, the most frequent first, so that their indices have the fewest digits."""
    counts = pl.concat([column.rename("value") for column in columns]).drop_nulls().value_counts()
    values: list[Any] = counts.sort("count", "value", descending=[True, False])["value"].to_list()
    return values


def _lists(table: pl.DataFrame, chosen: pl.DataFrame) -> dict[str, list[Any]]:
    """The columns of a table, each as a list per chosen dialogue, which is empty if the table has no row of it."""
    grouped = table.group_by("dialogue", maintain_order=True).agg(pl.all())
    lists = chosen.join(grouped, on="dialogue", how="left", maintain_order="left")
    columns = [name for name in table.columns if name != "dialogue"]
    return lists.select(pl.col(name).fill_null([]) for name in columns).to_dict(as_series=False)
