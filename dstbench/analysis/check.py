"""Sanity checks of a run: the questions that a careful reviewer would ask before believing its scores.

Some checks score other predictions for the same turns: gold itself, empty states, and gold's state of the turn before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, Unpack, get_args

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import LOOSE, is_dontcare, normaliser
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import KNOWN_SLOTS
from dstbench.errors import DstbenchError, number_of
from dstbench.metrics import parse
from dstbench.readers.ontology import read_ontology
from dstbench.runs.gold_sets import predicted_set, recognise
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.core import BETWEEN
from dstbench.scoring.partitions import over_partitions
from dstbench.scoring.scope import open_under, spelling_remedy, unscored
from dstbench.scoring.score import values_of
from dstbench.typing import Dontcare

_METRICS: Final = "jga,sa,f1,fga,tla,aga,gca:counting=paper"
# States count as turn-level if at least this share of predicted slots whose gold value stays is gone in the next turn;
# in cumulative states it is a few per cent.
_FORGETS: Final = 0.5
_SPELLING: Final = lru_cache(2**16)(normaliser(LOOSE))  # runs over one gold share most of their values
#: The check that compares the turns of gold and predictions.
COVERAGE: Final = "coverage"
#: The check that accepts values in other spellings.
SPELLED: Final = "wrong by spelling only"
_FLOORS: Final = {"an empty prediction": "empty prediction", "gold of the turn before": "previous gold"}
_OF_FLOORS: Final = {"jga": "JGA", "sa": "SA"}
#: The check that names gold. Gold that is not like any registered set has no such check.
GOLD: Final = "gold"
_MOST_NAMED: Final = 5  # examples that a check names


class _Check(NamedTuple):
    name: str
    status: str
    found: str
    short: str | None = ""
    n: int | None = None
    jga: float | None = None


def check(
    data: Data,
    *,
    profile: str | Convention = "verbatim",
    ontology: str | Mapping[str, Iterable[str]] | None = None,
    **reading: Unpack[Reading],
) -> pl.DataFrame:
    """Check runs before you believe their scores.

    Args:
        data: A path, several, a frame, states, or a mapping from run name to any of these.
        profile: The convention under which runs are scored, or its name.
        ontology: JSON {slot: [values]}; None: gold's values. In Python, also a mapping.
        **reading: `gold`, `format`, `names`, `missing` (default: "wrong"), `split`: see `dstbench.open_runs`.

    Returns:
        (run, check, status: ``ok``, ``note`` (known and perhaps fine), ``warn`` (look at it), ``fail`` (the
        scores are misleading); found: the outcome in words; short: the same in about five words, null for ``ok`` and
        ``note``, and for the check of gold, which all runs share; n: missing turns, or slots, if the check counts
        these; jga: that of a floor, or that with values in other spellings accepted; null if JGA does not rise).

    Raises:
        DstbenchError: Data or the ontology cannot be used, or the profile is unknown.

    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}]
    >>> check(states).select("check", "status").row(0)
    ('gold against gold', 'ok')
    """
    convention = as_convention(profile)
    allowed = None if ontology is None else read_ontology(ontology)
    rows = []
    wrong = replace(convention, missing="wrong")
    for run in open_under(wrong, data, **reading):
        run.need_states("checks")
        rows += [(run.name, *finding) for finding in _checks(run, convention, allowed)]
    schema = dict.fromkeys(("run", "check", "status", "found", "short"), pl.String) | {
        "n": pl.UInt32,
        "jga": pl.Float64,
    }
    checked = pl.DataFrame(rows, schema=schema, orient="row")
    return checked.with_columns(pl.when(pl.col("status").is_in(["warn", "fail"])).then("short").alias("short"))


def badges(checks: pl.DataFrame) -> dict[str, list[tuple[str, str, str]]]:
    """For each run its failures and then its warnings, from `check`: the status, about five words, and the whole text.

    >>> from dstbench import check
    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {}}]
    >>> badges(check({"a": states}))["a"][0][:2]
    ('warn', 'JGA, SA not above empty prediction')
    """
    doubts = checks.drop_nulls("short").sort(pl.col("status") != "fail", maintain_order=True)
    texts: dict[str, list[tuple[str, str, str]]] = {run: [] for run in checks["run"]}
    for run, status, short, whole in doubts.select("run", "status", "short", "found").iter_rows():
        texts[run].append((status, short, whole))
    return texts


def _checks(run: Run, convention: Convention, ontology: Mapping[str, frozenset[str]] | None) -> Iterator[_Check]:
    yield from _gold(run)
    counts = _value_counts(run)
    scores_of_gold = _scores(_derived(run, pl.col("gold")), _METRICS, convention)
    yield _gold_against_gold(scores_of_gold, convention)
    if counts["gold"].str.contains(BETWEEN, literal=True).any():
        yield from _first_alternative(run, scores_of_gold, convention)
    own = _scores(run, ",".join(_OF_FLOORS), convention)
    yield from _floors(run, own, convention)
    yield _coverage(run)
    yield from _slots(counts)
    yield _unscored(run, convention)
    yield _cumulative(run)
    yield from _values(counts, ontology, _remedied(run, own["jga"], convention))
    yield _dontcare(run, counts, own["jga"], convention)


def _scores(run: Run, metrics: str, convention: Convention) -> dict[str, float | None]:
    return values_of(run, [parse(name) for name in metrics.split(",")], convention)


def _derived(run: Run, pred: pl.Expr) -> Run:
    """A run with other predictions for the same turns; `pred` computes them from the columns of the long table."""

    def derive(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(pred.alias("pred"))

    return replace(run, derive=derive)


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.2f}"


def _gold(run: Run) -> Iterator[_Check]:
    """Which registered set gold is, and whether it is the whole set."""
    recognised = recognise(run)
    if recognised is not None:
        lacks = "note" if recognised.gold_set.size else "ok"
        yield _Check(GOLD, "warn" if recognised.difference else lacks, recognised.text, None)
    elif (meant := predicted_set(run)) is not None:
        yield _Check(GOLD, "warn", f"predictions are the gold of {meant.name}: are the two swapped?", None)


def _gold_against_gold(scores: Mapping[str, float | None], convention: Convention) -> _Check:
    below = [f"{name} {_percent(value)}" for name, value in scores.items() if value is not None and value < 1 - 1e-12]
    if below:
        text = f"does not give 100: {', '.join(below)}; {convention.name} treats the two sides differently"
        return _Check("gold against gold", "fail", text, "gold against gold below 100")
    text = f"gives 100 on {', '.join(scores)} (it would not on rsa, where empty turns score 0, and gca as released)"
    return _Check("gold against gold", "ok", text)


def _first_alternative(
    run: Run, scores_of_gold: Mapping[str, float | None], convention: Convention
) -> Iterator[_Check]:
    """Whether a perfect tracker scores lower if it predicts only the first of gold's alternatives.

    There is no check if it scores the same, or if the convention requires all alternatives.
    """
    if convention.multi == "all":
        return
    first = pl.col("gold").cast(pl.String).str.split(BETWEEN).list.first().cast(pl.Categorical)
    scores = _scores(_derived(run, first), _METRICS, convention)
    if scores == scores_of_gold:
        return
    lower = ", ".join(f"{name} {_percent(scores[name])}" for name in scores if scores[name] != scores_of_gold[name])
    accepted = _percent(_scores(_derived(run, first), "jga", replace(convention, multi="any"))["jga"])
    yield _Check(
        "gold's first alternative",
        "fail",
        f"gives {lower}: a tracker that predicts one of gold's alternatives is wrong; --multi any gives jga {accepted}",
        "one alternative counts as wrong",
    )


def _remedied(run: Run, jga: float | None, convention: Convention) -> _Check:
    """The option that accepts values in other spellings, and the JGA that it gives; ``ok`` if JGA does not rise."""
    remedy = None if jga is None or convention.unit == "frame" else spelling_remedy(run, convention, jga)
    if jga is None or remedy is None:
        return _Check(SPELLED, "ok", "", "some values spelled differently")
    text = f"; {remedy.option} takes jga from {_percent(jga)} to {_percent(remedy.jga)}"
    lost = f"{100 * (remedy.jga - jga):.1f}"
    return _Check(SPELLED, "warn", text, f"loses {lost} points by spelling", jga=remedy.jga)


def _floors(run: Run, own: Mapping[str, float | None], convention: Convention) -> Iterator[_Check]:
    before = (pl.col("dialogue") == pl.col("dialogue").shift(1)) & pl.col("slot").eq_missing(pl.col("slot").shift(1))
    nothing = pl.lit(None, pl.Categorical)
    old = pl.when(before & pl.col("slot").is_not_null()).then(pl.col("gold").shift(1))
    for name, pred in zip(_FLOORS, (nothing, old), strict=True):
        floor = _scores(_derived(run, pred), ",".join(_OF_FLOORS), convention)
        reached = [words for m, words in _OF_FLOORS.items() if (own[m] or 0) <= (floor[m] or 0)]
        text = ", ".join(f"{m} {_percent(floor[m])} (this run {_percent(own[m])})" for m in _OF_FLOORS)
        short = f"{', '.join(reached)} not above {_FLOORS[name]}"
        # The gold of the turn before is an oracle that few trackers reach in all metrics: information, not a warning.
        status = "ok" if not reached else "warn" if name == "an empty prediction" else "note"
        yield _Check(f"floor: {name}", status, text, short, jga=floor["jga"])


def _coverage(run: Run) -> _Check:
    coverage = run.meta["coverage"]
    scored = f"{number_of(coverage['turns'], 'turn')} of {number_of(coverage['dialogues'], 'dialogue')} are scored"
    with_gaps = sum(over_partitions(run, _with_gaps))
    gaps = f"; turn numbers have gaps in {number_of(with_gaps, 'dialogue')}" if with_gaps else ""
    lacks = {k: coverage.get(k, 0) for k in ("missing_turns", "missing_dialogues", "extra_turns", "extra_dialogues")}
    if not any(lacks.values()):
        return _Check(COVERAGE, "note" if gaps else "ok", f"{scored}, all of them predicted{gaps}", n=0)
    names = (number_of(count, name.replace("_", " ").removesuffix("s")) for name, count in lacks.items() if count)
    text = f"{scored}; {', '.join(names)} (--missing {run.meta['missing']}){gaps}"
    missing = lacks["missing_turns"]
    short = f"{number_of(missing, 'turn')} missing"
    return _Check(COVERAGE, "warn" if missing else "note", text, short, missing)  # scores leave out what gold lacks


def _with_gaps(table: pl.DataFrame) -> int:
    """Number of dialogues that lack a turn before their last one."""
    turns = table.group_by("dialogue").agg(there=pl.col("turn").n_unique(), last=pl.col("turn").max().cast(pl.Int64))
    return turns.filter(pl.col("there") <= pl.col("last")).height


def _value_counts(run: Run) -> pl.DataFrame:
    """(slot, gold, pred, turns): the number of turns with each pair of values, as strings; null is absent."""
    pairs = ["slot", "gold", "pred"]

    def part(table: pl.DataFrame) -> pl.DataFrame:
        return table.filter(pl.col("slot").is_not_null()).group_by(pairs).agg(turns=pl.len())

    counts = pl.concat(over_partitions(run, part)).group_by(pairs).agg(pl.col("turns").sum())
    return counts.with_columns(pl.col(pairs).cast(pl.String)).sort(pairs)


def _slots(counts: pl.DataFrame) -> Iterator[_Check]:
    per_slot = counts.group_by("slot").agg(
        gold=pl.col("turns").filter(pl.col("gold").is_not_null()).sum(),
        pred=pl.col("turns").filter(pl.col("pred").is_not_null()).sum(),
    )
    only_pred, only_gold = (
        per_slot.filter((pl.col(other) == 0) & (pl.col(side) > 0)).sort(side, "slot", descending=[True, False])
        for side, other in (("pred", "gold"), ("gold", "pred"))
    )
    never = _listed(only_pred.select("slot", "pred").rows())
    foreign = not set(only_pred["slot"]) <= KNOWN_SLOTS and set(only_gold["slot"]) - set(only_pred["slot"])
    status = "ok" if only_pred.is_empty() else "fail" if foreign else "warn"
    short = f"{number_of(only_pred.height, 'slot')} unknown to gold"
    yield _Check("slots predicted that gold never has", status, never or "none", short, only_pred.height)
    unseen = _listed(only_gold.select("slot", "gold").rows())
    status, short = "warn" if unseen else "ok", f"{number_of(only_gold.height, 'slot')} never predicted"
    yield _Check("slots of gold that are never predicted", status, unseen or "none", short, only_gold.height)


def _unscored(run: Run, convention: Convention) -> _Check:
    """Whether predicted values are in no score."""
    slots = unscored(run, convention).filter(pl.col("unscored") > 0).select("slot", "unscored")
    n = int(slots["unscored"].sum())
    found = f"{number_of(n, 'value')}: {_listed(slots.rows())}" if n else "none"
    return _Check("predictions that are not scored", "fail" if n else "ok", found, f"{n:,} predictions not scored", n)


def _cumulative(run: Run) -> _Check:
    """Whether a slot stays predicted in the next turn if gold keeps its value."""
    same = (pl.col("dialogue") == pl.col("dialogue").shift(1)) & (pl.col("slot") == pl.col("slot").shift(1))
    holds = same & pl.col("pred").shift(1).is_not_null() & (pl.col("gold") == pl.col("gold").shift(1))

    def part(table: pl.DataFrame) -> pl.DataFrame:
        holding = table.filter(holds.fill_null(False))
        return holding.select(holding=pl.len(), forgotten=pl.col("pred").is_null().sum())

    holding, forgotten = pl.concat(over_partitions(run, part)).sum().row(0)
    if not holding:
        return _Check("cumulative states", "note", "no predicted slot has a turn after it")
    share = forgotten / holding
    text = f"{_percent(share)} % of predicted slots that still hold are gone in the next turn"
    if share < _FORGETS:
        return _Check("cumulative states", "ok", text)
    text = f"{text}: these look like turn-level states; accumulate them first"
    return _Check("cumulative states", "fail", text, "looks like turn-level states")


def _values(counts: pl.DataFrame, ontology: Mapping[str, frozenset[str]] | None, remedied: _Check) -> Iterator[_Check]:
    of_gold = counts.drop_nulls("gold").group_by("slot").agg(pl.col("gold").unique())
    allowed = {slot: frozenset(values) for slot, values in of_gold.iter_rows()} if ontology is None else ontology
    where = "gold's values" if ontology is None else "the ontology"
    without_values = sorted(set(counts["slot"]) - allowed.keys()) if ontology is not None else []
    if ontology is not None and not allowed.keys() & set(counts["slot"]):
        raise DstbenchError("the ontology has none of the run's slots", hint='it is {"hotel-area": ["north", …], …}')
    predicted = counts.drop_nulls("pred").group_by("slot", "pred").agg(pl.col("turns").sum())
    off = [
        (f"{slot} = {value!r}", turns)
        for slot, value, turns in predicted.sort("turns", "slot", "pred", descending=[True, False, False]).iter_rows()
        if slot in allowed and value not in allowed[slot] and not is_dontcare(value)
    ]
    lacking = f"; it has no values of {', '.join(without_values)}" if without_values else ""
    yield _Check(
        f"values outside {where}", "note" if off or without_values else "ok", f"{_listed(off) or 'none'}{lacking}"
    )
    wrong = counts.filter(pl.col("gold") != pl.col("pred")).sort("turns", descending=True, maintain_order=True)
    spelled = [
        (f"{slot}: {gold!r} / {pred!r}", turns)
        for slot, gold, pred, turns in wrong.iter_rows()
        if _SPELLING(slot, gold) == _SPELLING(slot, pred)
    ]
    text = f"{_listed(spelled) or 'none'}{remedied.found}"
    yield remedied._replace(status="warn" if spelled else remedied.status, found=text)
    several = counts.filter(pl.col("gold").str.contains(BETWEEN, literal=True)).group_by("slot", "gold")
    listed = several.agg(pl.col("turns").sum()).sort("turns", "slot", "gold", descending=[True, False, False])
    named = [(f"{slot} = {gold!r}", turns) for slot, gold, turns in listed.iter_rows()]
    yield _Check("gold with alternatives", "note" if named else "ok", _listed(named) or "none")


def _dontcare(run: Run, counts: pl.DataFrame, jga: float | None, convention: Convention) -> _Check:
    in_gold, in_pred = (
        sum(turns for value, turns in counts.select(side, "turns").drop_nulls().iter_rows() if is_dontcare(value))
        for side in ("gold", "pred")
    )
    others = {rule: replace(convention, dontcare=rule) for rule in get_args(Dontcare) if rule != convention.dontcare}
    of_rules = {convention.dontcare: jga} | {rule: _scores(run, "jga", c)["jga"] for rule, c in others.items()}
    scores = ", ".join(f"{rule} {_percent(of_rules[rule])}" for rule in get_args(Dontcare))
    return _Check("dontcare", "note", f"{in_gold:,} slots in gold, {in_pred:,} predicted; jga by rule: {scores}")


def _listed(turns: Sequence[tuple[str, int]]) -> str:
    """The first few names with their numbers of turns, after the number of names if there are more; empty if none."""
    named = ", ".join(f"{name} ({number_of(count, 'turn')})" for name, count in turns[:_MOST_NAMED])
    return named if len(turns) <= _MOST_NAMED else f"{len(turns):,}, the most frequent: {named}"
