"""The bundled sample: the papers' worked dialogues, and an invented corpus with three invented trackers.

The corpus is drawn in whole columns, so that a million dialogues take seconds. A random seed gives the same tables on
every machine.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dstbench.arrays import Flags, Integers
from dstbench.conventions.slots import DATASET_SLOTS, domain_of
from dstbench.errors import DstbenchWarning, UsageError
from dstbench.io.atomic import make_folder, write_whole
from dstbench.runs.open import open_runs, write_long
from dstbench.schema.core import LONG
from dstbench.scoring.score import score

# --- worked dialogues --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Worked:
    """A dialogue that a paper works through, and what the paper prints for it."""

    name: str
    source: str
    profile: str
    states: list[dict[str, Any]]
    printed: Mapping[str, float | list[float]]  # of each metric a fraction, or the scores of the first turns


def _dialogue(name: str, golds: list[dict[str, str]], preds: list[dict[str, str]]) -> list[dict[str, Any]]:
    turns = enumerate(zip(golds, preds, strict=True))
    return [{"dialogue_id": name, "turn": turn, "gold": gold, "pred": pred} for turn, (gold, pred) in turns]


def worked() -> list[Worked]:
    """Those of the papers' worked dialogues that can be rebuilt from what the papers print."""
    food = {"restaurant-area": "centre", "restaurant-food": "indian"}
    gold = food | {"restaurant-book people": "2"}
    wrong = {"restaurant-area": "centre", "restaurant-food": "chinese", "attraction-area": "centre"}
    more = wrong | {"restaurant-name": "nusha", "attraction-pricerange": "cheap"}

    nusha, confused = {"attraction-name": "nusha"}, {"restaurant-name": "nusha"}
    dear = food | {"restaurant-pricerange": "expensive"}
    named = dear | {"restaurant-name": "saffron brasserie"}
    a6_gold = [{}, {}, nusha, nusha, nusha | food, nusha | dear, *[nusha | named] * 4]
    a6_pred = [*[confused] * 4, food, dear, *[named] * 4]
    a6_rsa = [0.0, 0.0, 0.0, 0.0, 0.6667, 0.75, 0.8, 0.8, 0.8, 0.8]

    # Gold has 1, then 2, then all of seven slots. P¹ is wrong in the first two slots only; P² is right in the first
    # slot and wrong in all others.
    slots = [f"train-{s}" for s in ("departure", "destination", "day", "leaveat", "arriveby", "book people")]
    slots.append("hotel-area")
    golds = [dict.fromkeys(slots[:n], "right") for n in (1, 2, 7)]
    p1, p2 = (
        [{slot: "wrong" if slot in wrong_slots else "right" for slot in state} for state in golds]
        for wrong_slots in (slots[:2], slots[1:])
    )
    p1_scores = {"jga": 0, "aga": 0.2381, "fga": 0.1312, "sa:T=30": 0.9444, "gca": 0.7333}
    p2_scores = {"jga": 0.3333, "aga": 0.5476, "fga": 0.3333, "sa:T=30": 0.9222, "gca": 0.1549}
    kim, aksu = ("Kim et al. 2022", "kim2022"), ("Aksu & Chen 2024", "gca2024")
    a6_scores = {"sa:T=30": [0.9667, 0.9667, 0.9333, 0.9333, 0.9667], "rsa": a6_rsa}
    return [
        Worked("Table 3, A", *kim, _dialogue("A", [gold], [wrong]), {"jga": 0, "aga": 0.3333, "rsa": 0.25}),
        Worked("Table 3, B", *kim, _dialogue("B", [gold], [more]), {"jga": 0, "aga": 0.3333, "rsa": 0.1667}),
        Worked("Table A6", *kim, _dialogue("PMUL4648", a6_gold, a6_pred), a6_scores),
        Worked("Table 1, P¹", *aksu, _dialogue("P1", golds, p1), p1_scores),
        Worked("Table 1, P²", *aksu, _dialogue("P2", golds, p2), p2_scores),
    ]


# --- an invented corpus ------------------------------------------------------------------------------------------

_SLOTS: Final = tuple(sorted(DATASET_SLOTS["multiwoz-30"]))
_DOMAINS: Final = tuple(sorted({domain_of(slot) for slot in _SLOTS}))
_OF_DOMAIN: Final = np.array([_DOMAINS.index(domain_of(slot)) for slot in _SLOTS])
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_TIMES: Final = tuple(f"{hour:02d}:{minute:02d}" for hour in range(5, 24) for minute in (0, 15, 30, 45))
_PLACES: Final = tuple(
    f"{first} {second}"
    for first in ("amber", "birch", "copper", "dover", "elm", "fern", "grove", "harbour")
    for second in ("court", "gate", "house", "lodge", "mill", "park", "square", "yard")
)
_VALUES: Final = {
    **dict.fromkeys(("book day", "day"), _DAYS),
    **dict.fromkeys(("arriveby", "book time", "leaveat"), _TIMES),
    **dict.fromkeys(("departure", "destination", "name"), _PLACES),
    **dict.fromkeys(("internet", "parking"), ("yes", "no")),
    "area": ("north", "south", "east", "west", "centre"),
    "book people": tuple("12345678"),
    "book stay": tuple("12345"),
    "food": ("british", "chinese", "french", "indian", "italian", "korean", "thai", "turkish"),
    "pricerange": ("cheap", "moderate", "expensive"),
    "stars": tuple("012345"),
    "type": ("museum", "college", "park", "hotel", "guest house", "theatre"),
}
_VOCABULARY: Final = tuple(dict.fromkeys(value for values in _VALUES.values() for value in (*values, "dontcare")))
_NEVER: Final = 10_000  # a turn that no dialogue reaches

#: The invented trackers, each with the probability of its mistakes, per slot and dialogue (stale: a change is missed).
#: One makes few mistakes, one forgets what was said, one predicts too much.
TRACKERS: Final = {
    "careful": {"misses": 0.03, "late": 0.03, "confuses": 0.03, "stale": 0.10, "forgets": 0.0, "invents": 0.002},
    "forgetful": {"misses": 0.04, "late": 0.10, "confuses": 0.02, "stale": 0.70, "forgets": 0.06, "invents": 0.001},
    "eager": {"misses": 0.01, "late": 0.0, "confuses": 0.07, "stale": 0.10, "forgets": 0.0, "invents": 0.020},
}


class _Course(NamedTuple):
    """What happens to each slot of each dialogue: arrays with an entry per (dialogue, slot)."""

    start: Integers
    first: Integers
    change: Integers
    second: Integers
    end: Integers

    def at(self, cell: Integers, turn: Integers) -> Integers:
        """The values of entries, given by index, in given turns; −1: the slot is not in the state."""
        value = np.where(turn >= self.change[cell], self.second[cell], self.first[cell])
        return np.where((turn >= self.start[cell]) & (turn < self.end[cell]), value, -1)


def synthetic(
    dialogues: int = 200, *, seed: int = 1, trackers: Iterable[str] = tuple(TRACKERS)
) -> dict[str, pl.DataFrame]:
    """An invented corpus: the long table of each of the invented trackers, all with the same gold."""
    if dialogues < 1:
        raise UsageError(f"a corpus of {dialogues} dialogues", hint="ask for at least one")
    rng = np.random.default_rng([seed, dialogues])
    lengths = rng.integers(4, 11, dialogues)
    gold = _gold(rng, lengths)
    tables = {}
    for name in trackers:
        own = np.random.default_rng([seed, dialogues, 1 + list(TRACKERS).index(name)])
        tables[name] = _table(lengths, gold, _tracked(own, lengths, gold, TRACKERS[name]))
    return tables


def _values(rng: np.random.Generator, dialogues: int) -> Integers:
    """A random value for every (dialogue, slot), from its slot's list; 3 % are dontcare."""
    codes = np.empty((dialogues, len(_SLOTS)), dtype=np.int64)
    for column, slot in enumerate(_SLOTS):
        choices = np.array([_VOCABULARY.index(value) for value in (*_VALUES[slot.partition("-")[2]], "dontcare")])
        weights = np.full(len(choices), 0.97 / (len(choices) - 1))
        weights[-1] = 0.03
        codes[:, column] = rng.choice(choices, dialogues, p=weights)
    return codes.ravel()


def _gold(rng: np.random.Generator, lengths: Integers) -> _Course:
    """The gold of dialogues with these lengths: domains come up one after the other, each with most of its slots."""
    n = len(lengths)
    rank = rng.random((n, len(_DOMAINS))).argsort(axis=1).argsort(axis=1)  # order in which domains come up
    domains = rng.integers(1, 4, n)
    span = lengths / domains
    order = rank[:, _OF_DOMAIN]
    active = (order < domains[:, None]) & (rng.random(order.shape) < 0.8)
    start = np.floor(order * span[:, None] + rng.random(order.shape) * span[:, None]).astype(np.int64)
    start = np.where(active, start, _NEVER).ravel()
    later = start + 1 + rng.integers(0, 4, start.shape)
    change = np.where(rng.random(start.shape) < 0.08, later, _NEVER)
    end = np.where(rng.random(start.shape) < 0.015, later, _NEVER)
    return _Course(start, _values(rng, n), change, _values(rng, n), end)


def _tracked(rng: np.random.Generator, lengths: Integers, gold: _Course, rates: Mapping[str, float]) -> _Course:
    """The predictions of a tracker that makes mistakes at these rates."""

    def happens(mistake: str) -> Flags:
        return rng.random(gold.start.shape) < rates[mistake]

    length = np.repeat(lengths, len(_SLOTS))
    start = gold.start + happens("late")
    start = np.where(happens("misses"), _NEVER, start)
    invented = (gold.start >= _NEVER) & happens("invents")
    start = np.where(invented, rng.integers(0, length), start)
    first = np.where(happens("confuses"), _values(rng, len(lengths)), gold.first)
    change = np.where(happens("stale"), _NEVER, gold.change)
    forgotten = np.where(happens("forgets"), start + rng.integers(1, 4, start.shape), _NEVER)
    return _Course(start, first, change, gold.second, np.minimum(gold.end, forgotten))


def _table(lengths: Integers, gold: _Course, pred: _Course) -> pl.DataFrame:
    """Two courses as a long table: a row per turn and slot that has begun, and one per turn before the first slot."""
    cells = pl.DataFrame({"start": np.minimum(gold.start, pred.start), "length": np.repeat(lengths, len(_SLOTS))})
    cells = cells.with_row_index("cell").with_columns(number=pl.col("cell") // len(_SLOTS))
    first = pl.min_horizontal(pl.col("start").min(), pl.col("length").first())
    bare = cells.group_by("number").agg(turn=pl.int_range(first)).explode("turn").drop_nulls()
    listed = cells.filter(pl.col("start") < pl.col("length"))
    listed = listed.select("number", "cell", turn=pl.int_ranges("start", "length")).explode("turn")
    rows = pl.concat([bare, listed], how="diagonal").sort("number", maintain_order=True)
    cell, turn = rows["cell"].fill_null(0).to_numpy().astype(np.int64), rows["turn"].to_numpy()
    ids = pl.select(pl.format("DEMO{}", pl.int_range(len(lengths)).cast(pl.String).str.zfill(7))).to_series()

    def named(names: tuple[str, ...], codes: Integers) -> pl.Series:
        """Codes as a dictionary column, null where there is no slot or no value (−1)."""
        codes = np.where(rows["cell"].is_null(), -1, codes)
        return pl.Series([None, *names], dtype=pl.Categorical).gather(codes + 1)

    columns = {
        "dialogue": ids.gather(rows["number"]),
        "turn": turn,
        "slot": named(_SLOTS, cell % len(_SLOTS)),
        "gold": named(_VOCABULARY, gold.at(cell, turn)),
        "pred": named(_VOCABULARY, pred.at(cell, turn)),
    }
    return pl.DataFrame(columns, schema_overrides=LONG.schema)


# --- what `dstbench demo` shows and writes -----------------------------------------------------------------------


def worked_scores() -> pl.DataFrame:
    """The worked dialogues under their papers' conventions: (source, table, metric, printed, measured)."""
    rows = []
    for example in worked():
        for metric, printed in example.printed.items():
            per_turn = isinstance(printed, list)
            with warnings.catch_warnings():  # a paper's example may use a slot that MultiWOZ does not have
                warnings.simplefilter("ignore", DstbenchWarning)
                by = "turn" if per_turn else "run"
                measured = score(example.states, metrics=metric, by=by, profile=example.profile)["value"]
            shown = printed if isinstance(printed, list) else [printed]
            texts = [" ".join(f"{value:.4f}" for value in values) for values in (shown, measured.head(len(shown)))]
            rows.append((example.source, example.name, metric, *texts))
    return pl.DataFrame(rows, schema=["source", "table", "metric", "printed", "measured"], orient="row")


def write_sample(corpus: Mapping[str, pl.DataFrame], folder: Path) -> list[Path]:
    """Write the sample to a folder: a long table per tracker, and the worked dialogues as JSON Lines."""
    make_folder(folder)
    written = []
    for run in open_runs(corpus):
        written.append(folder / f"{run.name}.parquet")
        write_long(run, written[-1])
    written.append(folder / "worked.jsonl")
    lines = (json.dumps(turn, ensure_ascii=False) for example in worked() for turn in example.states)
    write_whole(written[-1], "".join(f"{line}\n" for line in lines).encode())
    return written
