"""Ways to recompute values that are printed elsewhere (see `benchmarks/papers.py`).

Each is a function from the data's folder to `Value`s, or returns such a function. No value that dstbench gives is
written here.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl

import dstbench
from dstbench import demo
from dstbench.errors import DstbenchWarning
from dstbench.stats.differences import linearised_se

ROOT: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Value:
    """One printed value.

    Attributes:
        name: What the value is of; metrics in dstbench's notation.
        printed: The value as printed; its digits say how exact it is.
        measured: What dstbench gives, in the same unit; None: undefined.
        why: Why the two differ; empty: they do not.
        under: The options of `dstbench score` that give it; empty: none.
    """

    name: str
    printed: str
    measured: float | None
    why: str = ""
    under: str = ""

    def shown(self, more: int = 0) -> str:
        """What dstbench gives, to the digits printed and some more."""
        digits = len(self.printed.partition(".")[2]) + more
        return "undefined" if self.measured is None else f"{self.measured:.{digits}f}"

    @property
    def equal(self) -> bool:
        """Whether both are the same to the digits printed."""
        return self.shown() == self.printed


Measure = Callable[[Path], Iterable[Value]]


@dataclass(frozen=True)
class Line:
    """Values of one source.

    Attributes:
        source: Paper and table, or whose code.
        what: What is measured, of which data.
        values: The function from the folder of data to the values.
        remark: A note for the reader.
        needs_data: Whether the folder of data is needed.
    """

    source: str
    what: str
    values: Measure
    remark: str = ""
    needs_data: bool = True


def find_data(given: str | None = None) -> Path:
    """The folder with real predictions and gold: the given one, that of DSTBENCH_DATA, or the one beside the checkout.

    Raises:
        FileNotFoundError: It has no predictions.
    """
    folder = Path(given or os.environ.get("DSTBENCH_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "predictions").is_dir():
        raise FileNotFoundError(f"no real predictions at {folder}; set DSTBENCH_DATA to a folder that has them")
    return folder.resolve()


@cache
def measure(line: Line, data: Path) -> tuple[Value, ...]:
    """A line's values, computed once per process."""
    with warnings.catch_warnings():  # a paper's example may use a slot that MultiWOZ does not have
        warnings.simplefilter("ignore", DstbenchWarning)
        return tuple(line.values(data))


# --- any run -----------------------------------------------------------------------------------------------------


def together(*parts: Measure) -> Measure:
    """The values of several, one after the other."""
    return lambda data: (value for part in parts for value in part(data))


def scored(
    path: str,
    printed: Mapping[str, str],
    profile: str = "verbatim",
    why: Mapping[str, str] | None = None,
    **choices: Any,
) -> Measure:
    """Scores of one run in percent, under a profile with choices of its own.

    Args:
        path: The run, from the folder of data.
        printed: Metric to printed value.
        profile: The profile.
        why: Metric to why it differs.
        choices: Of the convention.
    """
    given = ({"profile": profile} if profile != "verbatim" else {}) | choices
    under = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())

    def values(data: Path) -> Iterable[Value]:
        convention = dstbench.profile(profile, **choices)
        values = dstbench.score(data / path, metrics=list(printed), profile=convention)["value"]
        for (metric, text), value in zip(printed.items(), values, strict=True):
            reason = (why or {}).get(metric, "")
            yield Value(f"`{metric}`", text, None if value is None else 100 * value, reason, under)

    return values


def silent(gold: Path) -> list[dict[str, object]]:
    """An empty prediction for every turn of gold."""
    held = dstbench.read(dstbench.readers.Source(gold)).gold
    assert held is not None
    return [{"dialogue_id": dialogue, "turn": turn, "pred": {}} for dialogue, turn in held.turns.iter_rows()]


# --- Kim et al. 2022 ---------------------------------------------------------------------------------------------


def worked(source: str, table: str) -> Measure:
    """A table's dialogues that `dstbench demo` shows; `dstbench.demo` has the values printed for them."""

    def values(_: Path) -> Iterable[Value]:
        for example in demo.worked():
            if example.source != source or not example.name.startswith(table):
                continue
            for metric, printed in example.printed.items():
                by_turn = isinstance(printed, list)
                texts = [f"{value:.4f}" for value in (printed if isinstance(printed, list) else [printed])]
                values = dstbench.score(
                    example.states, metrics=metric, by="turn" if by_turn else "run", profile=example.profile
                )["value"]
                for turn, (text, value) in enumerate(zip(texts, values, strict=False)):  # not all turns are printed
                    place = f"turn {turn}" if by_turn else example.name.removeprefix(f"{table}, ")
                    yield Value(f"`{metric}` {place}", text, value, under=f"--profile {example.profile}")

    return values


def right_turns(pattern: str, profile: str) -> Measure:
    """JGA by turn of a dialogue of our own whose turns are right (1) and wrong (0) as in a pattern."""

    def values(_: Path) -> Iterable[Value]:
        gold = {"hotel-area": "north"}
        states = [
            {"dialogue_id": "D", "turn": turn, "gold": gold, "pred": gold if right == "1" else {}}
            for turn, right in enumerate(pattern)
        ]
        values = dstbench.score(states, metrics="jga", by="turn", profile=profile)["value"]
        for turn, (text, value) in enumerate(zip(pattern, values, strict=True)):
            yield Value(f"`jga` turn {turn}", text, value, under=f"--profile {profile}")

    return values


def spread(
    columns: Sequence[str], scores: Mapping[str, Sequence[float]], printed: Mapping[str, Mapping[str, str]]
) -> Measure:
    """What `compare-metrics --table` says about a table of scores.

    Args:
        columns: The metrics of the table.
        scores: Model to its scores, one for each column.
        printed: Column of the result (``mean``, ``sd``, ``range``) to metric to printed value, in percent.
    """

    def values(_: Path) -> Iterable[Value]:
        rows = [(model, *cell) for model, cells in scores.items() for cell in zip(columns, cells, strict=True)]
        table = pl.DataFrame(rows, schema=["model", "metric", "value"], orient="row")
        found = {row["metric"]: row for row in dstbench.compare_metrics(table=table).spread.iter_rows(named=True)}
        for column, of_metrics in printed.items():
            for metric, text in of_metrics.items():
                yield Value(f"{column} of {metric}", text, 100 * found[metric][column])

    return values


def few_gold_slots(few: int, printed: str) -> Measure:
    """The percentage of MultiWOZ 2.1's test dialogues that have fewer than `few` gold slots in every turn."""

    def values(data: Path) -> Iterable[Value]:
        gold = data / "multiwoz21" / "test.tsv"
        rows_of_runs = dstbench.diagnose(silent(gold), gold=gold, few=few, profile="kim2022").runs
        yield Value("percent", printed, 100 * rows_of_runs["share_with_few_slots"].item())

    return values


# --- Aksu & Chen 2024 --------------------------------------------------------------------------------------------

_PROFILE: Final = "gca2024"
_PUBLISHED: Final = {
    "JGA": "jga",
    "SA": "sa:T=30",
    "AGA": "aga",
    "IAGA": "iaga",
    "RSA": "rsa",
    "FGA_0.25": "fga:lam=0.25",
    "FGA_0.5": "fga",
    "FGA_0.75": "fga:lam=0.75",
    "FGA_1.0": "fga:lam=1",
    "GCA": "gca",
}


def released(pattern: str) -> Measure:
    """All scores in the released score files of a pattern."""

    def values(data: Path) -> Iterable[Value]:
        for file in sorted((data / "published").glob(pattern)):
            kind, _, name = file.stem.partition("_")
            folder = "gca_samples"
            if kind != "sample":
                folder, ratio = "gca_t5_train", name.rpartition("_")[2]
                name = "zeroshot_restaurant" if ratio == "restaurant" else f"ratio_{ratio}_seed_557_prediction"
            printed = {_PUBLISHED[metric]: f"{value:.2f}" for metric, value in json.loads(file.read_text()).items()}
            for value in scored(f"predictions/{folder}/{name}.json", printed, _PROFILE)(data):
                yield replace(value, name=f"{value.name} {name}")

    return values


def gca_of(counts: Mapping[tuple[int, int, int, int], str]) -> Measure:
    """GCA of correct, wrong, missed and over-predicted changes: each in a slot of its own, in one turn."""

    def values(_: Path) -> Iterable[Value]:
        for numbers, printed in counts.items():
            kinds = [kind for kind, number in zip("cwmo", numbers, strict=True) for _ in range(number)]
            gold = {f"d-s{i}": "v" for i, kind in enumerate(kinds) if kind != "o"}
            pred = {f"d-s{i}": "w" if kind == "w" else "v" for i, kind in enumerate(kinds) if kind != "m"}
            states = [{"dialogue_id": "D", "turn": 0, "gold": gold, "pred": pred}]
            rows = dstbench.score(states, metrics="gca", profile=_PROFILE)
            yield Value("/".join(map(str, numbers)), printed, rows["value"].item(), under=f"--profile {_PROFILE}")

    return values


def trait(path: str, name: str, printed: str, why: str = "") -> Measure:
    """A trait of the only dialogue of a run."""

    def values(data: Path) -> Iterable[Value]:
        measured = dstbench.traits(data / path, profile=_PROFILE).dialogues[name].item()
        yield Value(f"`{name}`", printed, measured, why, f"--profile {_PROFILE}")

    return values


# --- differences of correlations ---------------------------------------------------------------------------------


def overlapping(
    correlations: tuple[float, float, float], n: int, tests: Mapping[str, str], intervals: Mapping[str, str]
) -> Measure:
    """Tests of r_jk against r_jh, given r_kh last: test to its statistic, or to the two limits of its interval."""

    def values(_: Path) -> Iterable[Value]:
        compared = dstbench.stats.compare_overlapping(*correlations, n)
        for name, printed in tests.items():
            yield Value(name, printed, compared.tests[name].statistic)
        for name, printed in intervals.items():
            limits = compared.zou if name == "zou2007" else compared.tests[name].interval or ()
            for text, limit in zip(printed.split(), limits, strict=True):
                yield Value(f"{name}, interval", text, limit)

    return values


def nonoverlapping(
    correlations: tuple[float, float, float, float, float, float], n: int, tests: Mapping[str, str]
) -> Measure:
    """The same of r_jk against r_hm, which share no variable, given r_jh, r_jm, r_kh and r_km."""

    def values(_: Path) -> Iterable[Value]:
        compared = dstbench.stats.compare_nonoverlapping(*correlations, n)
        for name, printed in tests.items():
            yield Value(f"{name}, no variable shared", printed, compared.tests[name].statistic)

    return values


def independent(first: tuple[float, int], second: tuple[float, int], tests: Mapping[str, str]) -> Measure:
    """The same of two samples, each a correlation and its n."""

    def values(_: Path) -> Iterable[Value]:
        compared = dstbench.stats.compare_independent(*first, *second)
        for name, printed in tests.items():
            yield Value(f"{name}, independent", printed, compared.tests[name].statistic)

    return values


# --- gold, and uncertainty ---------------------------------------------------------------------------------------


def empty_scores(version: str, printed: Mapping[str, str]) -> Measure:
    """Scores in percent of an empty prediction on a test set."""

    def values(data: Path) -> Iterable[Value]:
        gold = data / version / "test.tsv"
        values = dstbench.score(silent(gold), gold=gold, metrics=list(printed))["value"]
        for (metric, text), value in zip(printed.items(), values, strict=True):
            yield Value(f"`{metric}` {version}", text, 100 * value)

    return values


def sizes(version: str, printed: Mapping[str, str]) -> Measure:
    """Dialogues and turns of a test set, and the turns whose gold state has a slot of a domain."""

    def values(data: Path) -> Iterable[Value]:
        gold = data / version / "test.tsv"
        rows = dstbench.score(silent(gold), gold=gold, metrics="jga")
        domains = dstbench.score(silent(gold), gold=gold, metrics="jga", by="domain").select("domain", "turns")
        facts = rows.select("dialogues", "turns").row(0, named=True) | dict(domains.iter_rows())
        return [Value(name, text, facts[name]) for name, text in printed.items()]

    return values


def design_effect(path: str, printed: str, why: str = "") -> Measure:
    """The variance of a run's JGA over dialogues, against that of as many independent turns."""

    def values(data: Path) -> Iterable[Value]:
        turns = dstbench.turns(data / path).with_columns(right=pl.col("n_correct") == pl.col("n_union"))
        sums = turns.group_by("dialogue", maintain_order=True).agg(pl.col("right").sum(), turns=pl.len())
        share = sums["right"].to_numpy().sum() / turns.height
        independent_variance = share * (1 - share) / turns.height
        ratio = linearised_se(sums["right"], sums["turns"]) ** 2 / independent_variance
        yield Value("ratio of variances", printed, float(ratio), why)

    return values
