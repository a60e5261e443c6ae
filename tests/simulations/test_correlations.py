"""How often intervals of correlations hold the truth, and verdicts on differences reject a true null.

On real runs, dialogues are drawn from a run's (or from all runs'), so that the run's own value is the truth. A null is
true where the two scores that are compared, as standard scores, or the two runs are swapped at random in each dialogue.
The same draws show what Fisher's and Zou's intervals do, which take rows as independent and normal.

    python -m pytest tests/simulations/test_correlations.py -m simulation -n0 -s
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

import dstbench
from dstbench.arrays import Floats, Integers
from dstbench.errors import UsageError
from dstbench.stats import compare_nonoverlapping, compare_overlapping, interval, jackknifed_correlation, pearson
from dstbench.typing import Missing

pytestmark = pytest.mark.simulation

SIZES = (300, 900)
DRAWS = 400
Contrast = tuple[str, str, str, str]
#: What verdicts are about: the traits of Aksu & Chen 2024, and the claim of Kim et al. 2022.
CONTRASTS: tuple[Contrast, ...] = (
    ("to_mean", "fga", "to_mean", "gca"),
    ("nu_paper", "fga", "nu_paper", "gca"),
    ("jga", "rsa", "jga", "sa"),
    ("jga", "fga", "jga", "gca"),
)
PAIRS = (("jga", "sa"), ("jga", "rsa"), ("rsa", "sa"), ("fga", "gca"), ("to_mean", "fga"), ("nu_paper", "gca"))


class Tally:
    """How often intervals do not hold the truth, over dialogues and by the classical way: for each case, and in all.

    Args:
        what: What is simulated.
        draws: Number of draws of each case.
    """

    def __init__(self, what: str, draws: int) -> None:
        self.what, self.draws = what, draws
        self.cases: defaultdict[tuple[str, str], list[Floats]] = defaultdict(list)

    def add(self, of: str, case: str, missed: Sequence[tuple[bool, bool]]) -> None:
        """Add the draws of a case in one run; `of` names the runs and the number of dialogues."""
        self.cases[of, case].append(np.mean(missed, axis=0))

    def lines(self) -> Iterator[str]:
        """Rows of a Markdown table, in percent: each case, and all cases together, with the lowest and the highest."""
        for (of, case), shares in self.cases.items():
            yield f"| {self.what}, {of}: {case} | {self._in_words(shares)} |"
        for of in dict.fromkeys(of for of, _ in self.cases):
            cases = [shares for (each, _), shares in self.cases.items() if each == of]
            means = np.mean(cases, axis=1)
            ranges = [
                f"{100 * low:.1f} to {100 * high:.1f}" for low, high in zip(means.min(0), means.max(0), strict=True)
            ]
            one, other = self._in_words([share for shares in cases for share in shares]).split(" | ")
            yield f"| **{self.what}, {of}** | {one} | {ranges[0]} | {other} | {ranges[1]} |"

    def _in_words(self, shares: Sequence[Floats]) -> str:
        mean = np.mean(shares, axis=0)
        errors = np.sqrt(mean * (1 - mean) / self.draws / len(shares))
        return " | ".join(f"{100 * share:.1f} ± {100 * error:.1f}" for share, error in zip(mean, errors, strict=True))

    def check(self, tolerance: float) -> None:
        """Print the table, and refuse a share that is farther from 5 % than this."""
        sys.stdout.write("\n".join(["", *self.lines(), ""]))
        wrong = [(*what, float(np.mean(shares, axis=0)[0])) for what, shares in self.cases.items()]
        assert [each for each in wrong if abs(each[-1] - 0.05) > tolerance] == []


def of_pair(x: Floats, y: Floats, dialogues: Integers, truth: float) -> tuple[bool, bool]:
    """Whether the interval over dialogues, and Fisher's, do not hold the truth."""
    limits = jackknifed_correlation(x, y, dialogues).limits(fisher=True)
    return outside(limits, truth), outside(interval(*pearson(x, y)), truth)


def of_difference(columns: Sequence[Floats], dialogues: Integers, truth: float) -> tuple[bool, bool]:
    """Whether the interval of a difference over dialogues, and Zou's, do not hold the truth."""
    j, k, h, m = columns
    difference = jackknifed_correlation(j, k, dialogues) - jackknifed_correlation(h, m, dialogues)
    r, n = (pearson(j, k)[0], pearson(h, m)[0]), len(j)
    try:
        if j is h:
            classical = compare_overlapping(*r, pearson(k, m)[0], n)
        else:
            r_jh, r_jm, r_kh, r_km = (pearson(a, b)[0] for a in (j, k) for b in (h, m))
            classical = compare_nonoverlapping(*r, r_jh, r_jm, r_kh, r_km, n)
    except UsageError:
        return outside(difference.limits(), truth), False
    return outside(difference.limits(), truth), outside(classical.zou, truth)


def outside(limits: tuple[float, float] | None, truth: float) -> bool:
    return limits is not None and not limits[0] <= truth <= limits[1]


def r_of(columns: Sequence[Floats]) -> float:
    """The correlation of two columns, or the difference of two pairs."""
    r = [pearson(a, b)[0] for a, b in zip(columns[::2], columns[1::2], strict=True)]
    return r[0] - sum(r[1:])


def standard(column: Floats) -> Floats:
    scores: Floats = (column - column.mean()) / column.std()
    return scores


class Corpus(NamedTuple):
    """Scores of dialogues in several runs: by name, a row per run, a column per dialogue that all runs have."""

    name: str
    scores: dict[str, Floats]

    @property
    def shape(self) -> tuple[int, int]:
        runs, dialogues = self.scores["jga"].shape
        return runs, dialogues


@pytest.fixture(scope="module")
def corpora(data: Path) -> list[Corpus]:
    """Eight runs of T5 by share of training data, and seven end-to-end systems."""
    predictions = data / "predictions"
    return [
        _corpus("T5", sorted((predictions / "gca_t5_train").glob("ratio_*.json"))),
        _corpus("end-to-end", sorted((predictions / "mwzeval").glob("*.json")), data / "multiwoz21" / "test.tsv"),
    ]


def _corpus(name: str, runs: list[Path], gold: Path | None = None) -> Corpus:
    missing: Missing = "error" if gold is None else "intersect"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dstbench.DstbenchWarning)  # of turns that some systems lack
        found = dstbench.traits(runs, metrics="jga,sa:T=30,rsa,fga,gca", gold=gold, missing=missing).dialogues
    found = found.rename({column: "sa" for column in found.columns if column.startswith("sa")})
    names = list(dict.fromkeys(name for pair in (*CONTRASTS, *PAIRS) for name in pair))
    complete = found.select("run", "dialogue", *names).drop_nulls()
    in_all = complete.filter(pl.len().over("dialogue") == len(runs)).sort("run", "dialogue")
    return Corpus(name, {each: in_all[each].to_numpy().reshape(len(runs), -1).round(12) for each in names})


def title(contrast: Sequence[str]) -> str:
    return " - ".join(f"r({a}, {b})" for a, b in zip(contrast[::2], contrast[1::2], strict=True))


@pytest.mark.parametrize("size", SIZES)
def test_a_true_null_in_one_run(corpora: list[Corpus], size: int) -> None:
    """Two scores, as standard scores, are swapped at random in each dialogue: both correlate alike with the third."""
    rng, tally, alone = np.random.default_rng(size), Tally("null in one run", DRAWS), np.arange(size)
    for corpus in corpora:
        runs, dialogues = corpus.shape
        for contrast in CONTRASTS:
            for run in range(runs):
                j, k, _, m = (corpus.scores[name][run] for name in contrast)
                k, m = standard(k), standard(m)
                missed = []
                for _ in range(DRAWS):
                    at, is_swapped = rng.integers(dialogues, size=size), rng.random(size) < 0.5
                    x, one, other = j[at], np.where(is_swapped, m[at], k[at]), np.where(is_swapped, k[at], m[at])
                    missed.append(of_difference((x, one, x, other), alone, 0))
                tally.add(f"{corpus.name}, {size}", title(contrast), missed)
    tally.check(0.02)


@pytest.mark.parametrize("size", SIZES)
def test_a_true_null_between_runs(corpora: list[Corpus], size: int) -> None:
    """Two runs are swapped at random in each dialogue."""
    rng, tally, alone = np.random.default_rng(size), Tally("null between runs", DRAWS), np.arange(size)
    for corpus in corpora:
        runs, dialogues = corpus.shape
        for a, b in PAIRS:
            for run, other in pairwise(range(runs)):
                missed = []
                for _ in range(DRAWS):
                    at, is_swapped = rng.integers(dialogues, size=size), rng.random(size) < 0.5
                    columns = []
                    for one, two in ((run, other), (other, run)):
                        columns += [
                            np.where(is_swapped, corpus.scores[c][two][at], corpus.scores[c][one][at]) for c in (a, b)
                        ]
                    missed.append(of_difference(columns, alone, 0))
                tally.add(f"{corpus.name}, {size}", f"r({a}, {b})", missed)
    tally.check(0.02)


@pytest.mark.parametrize("pooled", [False, True], ids=["one run", "pooled"])
@pytest.mark.parametrize("size", SIZES)
def test_intervals_on_real_runs(corpora: list[Corpus], size: int, pooled: bool) -> None:
    """Of correlations and differences in each run, or in all runs pooled, each dialogue drawn with all of them."""
    draws = 3000 if pooled else 1000
    rng, tally = np.random.default_rng(size), Tally("intervals, pooled" if pooled else "intervals in one run", draws)
    for corpus in corpora:
        runs, dialogues = corpus.shape
        for names in (*PAIRS, *CONTRASTS):
            for taken in [slice(None)] if pooled else [slice(run, run + 1) for run in range(runs)]:
                columns = [corpus.scores[name][taken] for name in names]
                truth, missed = r_of([column.ravel() for column in columns]), []
                numbers = np.tile(np.arange(size), len(columns[0]))
                for _ in range(draws):
                    at = rng.integers(dialogues, size=size)
                    drawn = [column[:, at].ravel() for column in columns]
                    if len(names) == 2:
                        missed.append(of_pair(drawn[0], drawn[1], numbers, truth))
                    else:
                        drawn[2] = drawn[0]
                        missed.append(of_difference(drawn, numbers, truth))
                tally.add(f"{corpus.name}, {size}", title(names), missed)
    tally.check(0.025)


def invented(
    rng: np.random.Generator, size: int, rows: int, noise: tuple[float, float]
) -> tuple[list[Floats], Integers]:
    """Three scores of `rows` turns (or runs) of each dialogue, bounded and skewed; the rows of a dialogue are alike."""
    dialogues = np.repeat(np.arange(size), rows)
    own, shared = rng.standard_normal((4, size))[:, dialogues], rng.standard_normal((4, size * rows))
    base, x, y, z = own + 0.5 * shared
    columns = [x, *(base * 0.5 + x + s * e for s, e in zip(noise, (y, z), strict=True))]
    return [np.clip(np.round(column + 1, 1), -1, 2) ** 3 for column in columns], dialogues


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("size", [60, *SIZES])
def test_invented_dialogues(size: int, rows: int) -> None:
    """A true null, and coverage where one score is noisier; 400,000 dialogues give the truth."""
    rng, draws = np.random.default_rng(size), 2000
    of = f"{size} of {rows} row{'s' if rows > 1 else ''}"
    nulls, tally = Tally("invented, null", draws), Tally("invented, intervals", draws)
    missed = []
    for _ in range(draws):
        (x, y, z), dialogues = invented(rng, size, rows, (1, 1))
        missed.append(of_difference((x, y, x, z), dialogues, 0))
    nulls.add(of, "difference", missed)
    (x, y, z), _ = invented(rng, 400_000, rows, (0.5, 1.5))
    truth, truth_of_pair = r_of([x, y, x, z]), r_of([x, y])
    of_differences, of_pairs = [], []
    for _ in range(draws):
        (x, y, z), dialogues = invented(rng, size, rows, (0.5, 1.5))
        of_differences.append(of_difference((x, y, x, z), dialogues, truth))
        of_pairs.append(of_pair(x, y, dialogues, truth_of_pair))
    tally.add(of, "r", of_pairs)
    tally.add(of, "difference", of_differences)
    nulls.check(0.02)
    tally.check(0.025)
