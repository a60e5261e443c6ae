"""One result of all commands, that is, all public functions of runs: in any order, and on any number of threads.

Threads of Polars, and of the libraries below NumPy and SciPy.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from typing import Any, Final

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import PROFILES
from dstbench.demo import synthetic
from dstbench.metrics import REGISTRY
from dstbench.runs.open import open_runs
from dstbench.stats import Bootstrap, Randomisation, as_exact_floats
from tests.corpora import OF_FRAMES, States, corpora, has_other_slots, is_refused
from tests.paths import ROOT
from tests.planted import consistent, find, take_out

Runs = list[dstbench.Run]

#: All metrics of states.
NAMES: Final = ",".join(name for name in REGISTRY if name not in OF_FRAMES)

#: What functions are given beside all runs, or in their place.
WITH: Final[Mapping[str, Callable[[Runs], dict[str, Any]]]] = {
    **dict.fromkeys(("bias", "sensitivity"), lambda runs: {"data": runs[:1]}),  # of gold alone
    "correlate": lambda _: {"between_runs": True, "test": "all"},
    "fuzzy_pairs": lambda _: {"profile": "qian2021"},
    "query": lambda _: {"sql": "SELECT * FROM classes JOIN turns USING (run, dialogue, turn) ORDER BY ALL"},
    "memorisation": lambda runs: {"context": said(runs)},
    "scores": lambda runs: {"versions": {"gold": runs[0].read().select(pl.exclude("pred"), pred="gold")}},
    "reconcile": lambda runs: {"data": runs[:1], "target": "99", "most": 2},
    "report": lambda _: {"metrics": "jga,fga", "most": 3},
    "sweep": lambda _: {"metrics": "jga,sa", "profiles": ["verbatim", "star", "trade"]},
    "traits": lambda _: {"disagree": ["fga", "gca"], "to": "released", "nu": "released"},
}


def said(runs: Runs) -> pl.DataFrame:
    """Utterances of all turns, which no value is in."""
    turns = runs[0].read().select("dialogue", "turn").unique(maintain_order=True)
    return turns.with_columns(system=pl.lit("Hello."), user=pl.lit("A room, please."))


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of runs, by name."""
    for module in (dstbench, audit):
        for name in module.__all__:
            function = getattr(module, name)
            taken = inspect.signature(function).parameters if inspect.isfunction(function) else {}
            is_of_runs = "data" in taken or function is dstbench.diff
            if is_of_runs and {"profile", "profiles"} & taken.keys():
                yield name, function


def of_ties() -> dict[str, States]:
    """Runs in which all values, slots and errors are as frequent as each other, some of them in other spellings."""
    slots = ["hotel-area", "hotel-name", "train-day", "taxi-departure"]
    gold = {
        (n, turn): {s: f"value {n}{turn}|Other-{s} {n}" for s in slots[n % 2 :: 2]} for n in range(8) for turn in (0, 1)
    }
    wrong: dict[str, Callable[[str], str]] = {
        "first": lambda value: value.split("|")[0],
        "spelled": lambda value: value.replace("-", " ").upper(),
        "other": lambda value: f"{value} x",
    }
    return {
        name: [
            {"dialogue_id": f"D{n}", "turn": turn, "gold": state, "pred": {s: change(v) for s, v in state.items()}}
            for (n, turn), state in gold.items()
        ]
        for name, change in wrong.items()
    }


def results(corpus: str, backwards: bool) -> Iterator[tuple[str, object]]:
    """What each function makes of the sample, or of runs full of ties; with these, what is added up in parts."""
    runs = open_runs(synthetic(60) if corpus == "sample" else of_ties())
    for name, function in reversed([*functions()]) if backwards else functions():
        if name == "report" and corpus == "ties":
            continue  # it is made of the others, and takes a third of the time
        taken = inspect.signature(function).parameters
        options = {
            **({"data": runs} if "data" in taken else {"before": runs[0], "after": runs[1]}),
            **({"resamples": 40} if "resamples" in taken else {}),
        }
        yield name, function(**options | (WITH[name](runs) if name in WITH else {}))
    if corpus == "sample":
        return
    large = open_runs(synthetic(700, trackers=["eager"]))
    for by in ("run", "domain", "turn"):
        yield f"by {by}", dstbench.score(large, metrics=NAMES, by=by)
    yield "inconsistency", find(take_out(consistent(60, 1), 0.2, 1)[0])
    yield "inconsistency, lists", find(take_out(consistent(40, 1), 0.4, 1)[0], rules="qian2021")
    sums = as_exact_floats(np.random.default_rng(5).random((5, 999, 3)) * 2.0**62)
    yield "resampling", [Bootstrap.draw(sums, 500).resampled.tobytes(), Randomisation.draw(sums, 500).swapped.tobytes()]


def content(result: Any) -> bytes:
    """All frames of a result, to the bit."""
    if isinstance(result, bytes):
        return result
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, pl.DataFrame):
        return (repr(result.schema) + result.write_json()).encode()
    if is_dataclass(result):
        return b"".join(content(getattr(result, field.name)) for field in fields(result))
    if isinstance(result, list | tuple):
        return b"".join(map(content, result))
    return repr(result).encode()


def digests(corpus: str, backwards: bool) -> dict[str, str]:
    """A digest of each result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: sha256(content(result)).hexdigest() for name, result in results(corpus, backwards)}


_SCRIPT = """
import json, polars, sys
from tests.test_same_results import digests
print(json.dumps([polars.thread_pool_size(), digests(sys.argv[1], backwards=True)]))
"""


@pytest.mark.again
@pytest.mark.parametrize("corpus", ["ties", "sample"])
def test_any_number_of_threads_and_any_order_give_the_same_bits(corpus: str) -> None:
    """In this process, which has one thread if nobody has chosen another number, and in one that has seven."""
    names = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(  # noqa: S603 (our own code)
        [sys.executable, "-c", _SCRIPT, corpus], cwd=ROOT, capture_output=True, check=False, text=True,
        env={**os.environ, **dict.fromkeys(names, "7")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    threads, seven = json.loads(done.stdout)
    assert threads == 7
    one = digests(corpus, backwards=False)
    assert len(one) > 18
    assert {name for name in one if one[name] != seven.get(name)} == set()


requests = st.tuples(st.sampled_from(list(PROFILES.values())), st.sampled_from(["run", "domain"]))


@pytest.mark.again
@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpora(max_dialogues=12), st.lists(requests, min_size=4, max_size=8))
def test_no_request_changes_what_the_next_one_gets(states: States, asked: list[tuple[Convention, str]]) -> None:
    """Conventions that drop, normalise and match fuzzily, and views, in any order, over the same run."""
    assume(not has_other_slots(states))
    (kept,) = open_runs(states)
    for convention, by in asked:
        if not is_refused(states, convention):
            options: dict[str, Any] = {"metrics": NAMES, "by": by, "profile": convention}
            again, fresh = (dstbench.score([run], **options) for run in (kept, replace(kept)))
            assert again.equals(fresh, null_equal=True)
