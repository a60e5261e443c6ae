"""Sanity checks of a run: the questions that a careful reviewer would ask before believing its scores.

Some checks score other predictions for the same turns: gold itself, empty states, and gold's state of the turn before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Unpack, get_args

import polars as pl

from dstbench.conventions.convention import Convention
from dstbench.conventions.normalise import is_dontcare
from dstbench.conventions.profiles import as_convention
from dstbench.conventions.slots import KNOWN_SLOTS
from dstbench.errors import DstbenchError, number_of
from dstbench.metrics import parse_all
from dstbench.readers.ontology import read_ontology
from dstbench.runs.gold_sets import recognise
from dstbench.runs.open import Data, Reading
from dstbench.runs.run import Run
from dstbench.schema.core import BETWEEN
from dstbench.scoring.partitions import count_rows, over_parts
from dstbench.scoring.score import values_of
from dstbench.scoring.validation import open_under, spelled_pairs, spelling_remedy, unscored
from dstbench.typing import Dontcare

_METRICS: Final = "jga,sa,f1,fga,tla,aga,gca:counting=paper"
# States count as turn-level if at least this share of predicted slots whose gold value stays is gone in the next turn;
# in cumulative states it is a few per cent.
_FORGETS: Final = 0.5
#: The check that compares the turns of gold and predictions.
COVERAGE: Final = "coverage"
#: The check that accepts values in other spellings.
SPELLED: Final = "wrong by spelling only"
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
    for run in open_under(wrong, data, "checks", **reading):
        rows += [(run.name, *finding) for finding in _checks(run, convention, allowed)]
    texts = dict.fromkeys(("run", "check", "status", "found", "short"), pl.String)
    checked = pl.DataFrame(rows, schema=texts | {"n": pl.UInt32, "jga": pl.Float64}, orient="row")
    return checked.with_columns(pl.when(pl.col("status").is_in(["warn", "fail"])).then("short").alias("short"))


def badges(checks: pl.DataFrame) -> dict[str, list[tuple[str, str, str]]]:
    """For each run its failures, then its warnings, from `check`: the status, about five words, and the whole text."""
    doubts = checks.drop_nulls("short").sort(pl.col("status") != "fail", maintain_order=True)
    texts: dict[str, list[tuple[str, str, str]]] = {run: [] for run in checks["run"]}
    for run, status, short, whole in doubts.select("run", "status", "short", "found").iter_rows():
        texts[run].append((status, short, whole))
    return texts


def _checks(run: Run, convention: Convention, ontology: Mapping[str, frozenset[str]] | None) -> Iterator[_Check]:
    """All checks of a run, in the order in which they are shown."""
    pairs = ["slot", "gold", "pred"]  # the number of turns with each pair of values, as strings; null is absent
    counts = count_rows(run, lambda part: part.table.lazy().drop_nulls("slot"), pairs, turns=pl.len()).sort(pairs)
    own = _scores(run, ",".join(_OF_FLOORS), convention)
    yield from _gold(run, convention, counts)
    yield from _floors(run, convention, own)
    yield _coverage(run)
    yield from _slots(counts)
    outside = unscored(run, convention).filter(pl.col("unscored") > 0).select("slot", "unscored")
    n = int(outside["unscored"].sum())
    found = _listing("predictions that are not scored", outside.rows(), "fail", f"{n:,} predictions not scored", n)
    yield found._replace(found=f"{number_of(n, 'value')}: {found.found}") if n else found
    yield _cumulative(run)
    yield _values(counts, ontology)
    yield _spelling(run, own["jga"], convention)
    named = [(f"{slot} = {gold!r}", turns) for slot, gold, turns in _frequent(counts, "gold") if BETWEEN in gold]
    yield _listing("gold with alternatives", named, "note")
    in_gold, in_pred = (
        sum(turns for value, turns in counts.select(side, "turns").drop_nulls().iter_rows() if is_dontcare(value))
        for side in ("gold", "pred")
    )
    rules = {rule: _scores(run, "jga", replace(convention, dontcare=rule))["jga"] for rule in get_args(Dontcare)}
    of_rules = ", ".join(f"{rule} {_percent(jga)}" for rule, jga in rules.items())
    yield _Check("dontcare", "note", f"{in_gold:,} slots in gold, {in_pred:,} predicted; jga by rule: {of_rules}")


def _scores(run: Run, metrics: str, convention: Convention, pred: pl.Expr | None = None) -> dict[str, float | None]:
    """Scores of a run, or of other predictions for its turns; `pred` computes them from the long table's columns."""
    if pred is not None:
        run = replace(run, derive=lambda table: table.with_columns(pred.alias("pred")))
    return values_of(run, parse_all(metrics), convention)


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.2f}"


def _frequent(counts: pl.DataFrame, side: str) -> list[tuple[str, str, int]]:
    """Slots and their values, the most frequent first."""
    turns = counts.drop_nulls(side).group_by("slot", side).agg(pl.col("turns").sum())
    return turns.sort("turns", "slot", side, descending=[True, False, False]).rows()


def _listing(name: str, found: Sequence[tuple[str, int]], status: str, short: str = "", n: int | None = None) -> _Check:
    """A check that lists what it found with numbers of turns; it is passed if it found nothing."""
    names = ", ".join(f"{one} ({number_of(count, 'turn')})" for one, count in found[:_MOST_NAMED])
    more = f"{len(found):,}, the most frequent: " if len(found) > _MOST_NAMED else ""
    return _Check(name, status if found else "ok", f"{more}{names}" or "none", short, n)


def _gold(run: Run, convention: Convention, counts: pl.DataFrame) -> Iterator[_Check]:
    """Which public gold it is, and whether a perfect prediction has 100."""
    recognised = recognise(run)
    if recognised is not None:
        yield _Check(GOLD, "note" if recognised.size else "ok", recognised.name + recognised.size, None)
    elif (meant := recognise(run, "pred")) is not None:
        yield _Check(GOLD, "warn", f"predictions are the gold of {meant.name}: are the two swapped?", None)
    of_gold = _scores(run, _METRICS, convention, pl.col("gold"))
    below = [f"{name} {_percent(value)}" for name, value in of_gold.items() if value is not None and value < 1 - 1e-12]
    text = f"gives 100 on {', '.join(of_gold)} (it would not on rsa, where empty turns score 0, and gca as released)"
    if below:
        text = f"does not give 100: {', '.join(below)}; {convention.name} treats the two sides differently"
    yield _Check("gold against gold", "fail" if below else "ok", text, "gold against gold below 100")
    if counts["gold"].str.contains(BETWEEN, literal=True).any() and convention.multi != "all":
        first = pl.col("gold").cast(pl.String).str.split(BETWEEN).list.first().cast(pl.Categorical)
        of_first = _scores(run, _METRICS, convention, first)
        lower = ", ".join(f"{name} {_percent(of_first[name])}" for name in of_gold if of_first[name] != of_gold[name])
        if lower:
            accepted = _percent(_scores(run, "jga", replace(convention, multi="any"), first)["jga"])
            text = f"gives {lower}: a tracker that predicts one of gold's alternatives is wrong; --multi any gives jga"
            yield _Check("gold's first alternative", "fail", f"{text} {accepted}", "one alternative counts as wrong")


def _floors(run: Run, convention: Convention, own: Mapping[str, float | None]) -> Iterator[_Check]:
    """Whether the run is above an empty prediction, and above gold of the turn before, which few are."""
    before = (pl.col("dialogue") == pl.col("dialogue").shift(1)) & pl.col("slot").eq_missing(pl.col("slot").shift(1))
    old = pl.when(before & pl.col("slot").is_not_null()).then(pl.col("gold").shift(1))
    for name, words, status, pred in (
        ("an empty prediction", "empty prediction", "warn", pl.lit(None, pl.Categorical)),
        ("gold of the turn before", "previous gold", "note", old),
    ):
        floor = _scores(run, ",".join(_OF_FLOORS), convention, pred)
        reached = [name_of for m, name_of in _OF_FLOORS.items() if (own[m] or 0) <= (floor[m] or 0)]
        text = ", ".join(f"{m} {_percent(floor[m])} (this run {_percent(own[m])})" for m in _OF_FLOORS)
        short = f"{', '.join(reached)} not above {words}"
        yield _Check(f"floor: {name}", status if reached else "ok", text, short, jga=floor["jga"])


def _coverage(run: Run) -> _Check:
    coverage = run.meta["coverage"]
    scored = f"{number_of(coverage['turns'], 'turn')} of {number_of(coverage['dialogues'], 'dialogue')} are scored"
    turns = pl.col("turn").n_unique().alias("there"), pl.col("turn").max().cast(pl.Int64).alias("last")
    lacking = pl.col("there") <= pl.col("last")  # a turn before the last one
    with_gaps = sum(over_parts(run, lambda part: part.table.group_by("dialogue").agg(turns).filter(lacking).height))
    gaps = f"; turn numbers have gaps in {number_of(with_gaps, 'dialogue')}" if with_gaps else ""
    lacks = {k: coverage.get(k, 0) for k in ("missing_turns", "missing_dialogues", "extra_turns", "extra_dialogues")}
    names = [number_of(count, name.replace("_", " ").removesuffix("s")) for name, count in lacks.items() if count]
    if not names:
        return _Check(COVERAGE, "note" if gaps else "ok", f"{scored}, all of them predicted{gaps}", n=0)
    text = f"{scored}; {', '.join(names)} (--missing {run.meta['missing']}){gaps}"
    missing = lacks["missing_turns"]
    short = f"{number_of(missing, 'turn')} missing"
    return _Check(COVERAGE, "warn" if missing else "note", text, short, missing)  # scores leave out what gold lacks


def _slots(counts: pl.DataFrame) -> Iterator[_Check]:
    """Slots that only one side ever has."""
    sides = {side: pl.col("turns").filter(pl.col(side).is_not_null()).sum() for side in ("pred", "gold")}
    per_slot = counts.group_by("slot").agg(**sides)
    per_slot = per_slot.sort(pl.sum_horizontal(*sides), "slot", descending=[True, False])
    ends = (per_slot.filter(pl.min_horizontal(*sides) == 0, pl.col(side) > 0).select("slot", side) for side in sides)
    only_pred, only_gold = (rows.rows() for rows in ends)
    predicted = {slot for slot, _ in only_pred}
    foreign = not predicted <= KNOWN_SLOTS and {slot for slot, _ in only_gold} - predicted
    status, short = "fail" if foreign else "warn", f"{number_of(len(only_pred), 'slot')} unknown to gold"
    yield _listing("slots predicted that gold never has", only_pred, status, short, len(only_pred))
    short = f"{number_of(len(only_gold), 'slot')} never predicted"
    yield _listing("slots of gold that are never predicted", only_gold, "warn", short, len(only_gold))


def _cumulative(run: Run) -> _Check:
    """Whether a slot stays predicted in the next turn if gold keeps its value."""
    before = {name: pl.col(name).shift(1) for name in ("dialogue", "slot", "gold", "pred")}
    same = [pl.col(name) == before[name] for name in ("dialogue", "slot", "gold")]
    holds = pl.all_horizontal(*same, before["pred"].is_not_null()).fill_null(False)
    forgets = pl.col("pred").is_null().filter(holds).sum()
    parts = over_parts(run, lambda part: part.table.select(holding=holds.sum(), forgotten=forgets))
    holding, forgotten = pl.concat(parts).sum().row(0)
    name, share = "cumulative states", forgotten / max(holding, 1)
    if not holding:
        return _Check(name, "note", "no predicted slot has a turn after it")
    text = f"{_percent(share)} % of predicted slots that still hold are gone in the next turn"
    if share < _FORGETS:
        return _Check(name, "ok", text)
    text = f"{text}: these look like turn-level states; accumulate them first"
    return _Check(name, "fail", text, "looks like turn-level states")


def _values(counts: pl.DataFrame, ontology: Mapping[str, frozenset[str]] | None) -> _Check:
    """Predicted values that the ontology has not, or gold."""
    of_gold = counts.drop_nulls("gold").group_by("slot").agg(pl.col("gold").unique())
    allowed = {slot: frozenset(values) for slot, values in of_gold.iter_rows()} if ontology is None else ontology
    slots = {*counts["slot"]}
    if ontology is not None and not allowed.keys() & slots:
        raise DstbenchError("the ontology has none of the run's slots", hint='it is {"hotel-area": ["north", …], …}')
    off = [
        (f"{slot} = {value!r}", turns)
        for slot, value, turns in _frequent(counts, "pred")
        if slot in allowed and value not in allowed[slot] and not is_dontcare(value)
    ]
    where = "gold's values" if ontology is None else "the ontology"
    found = _listing(f"values outside {where}", off, "note")
    if ontology is not None and (without := sorted(slots - allowed.keys())):
        return found._replace(status="note", found=f"{found.found}; it has no values of {', '.join(without)}")
    return found


def _spelling(run: Run, jga: float | None, convention: Convention) -> _Check:
    """Values that are wrong by spelling only, and the option that accepts them, if JGA rises by it."""
    pairs = spelled_pairs(run, Convention()).drop_nulls().iter_rows()  # as they are written
    spelled = [(f"{slot}: {gold!r} / {pred!r}", turns) for slot, gold, pred, turns in pairs]
    found = _listing(SPELLED, spelled, "warn", "some values spelled differently")
    remedy = None if jga is None or convention.unit == "frame" else spelling_remedy(run, convention, jga)
    if jga is None or remedy is None:
        return found
    option, better = remedy
    text = f"{found.found}; {option} takes jga from {_percent(jga)} to {_percent(better)}"
    return _Check(SPELLED, "warn", text, f"loses {100 * (better - jga):.1f} points by spelling", jga=better)
