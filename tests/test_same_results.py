"""One result of all commands, that is, all public functions of runs, in any order and in any process."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench import audit
from dstbench.conventions.convention import Convention
from dstbench.conventions.profiles import PROFILES
from dstbench.demo import synthetic
from dstbench.metrics import REGISTRY
from dstbench.runs.open import open_runs, write_long
from tests.corpora import OF_FRAMES, States, corpora, is_refused
from tests.paths import ROOT

Runs = list[dstbench.Run]

#: All metrics of states.
NAMES: Final = ",".join(name for name in REGISTRY if name not in OF_FRAMES)

#: What functions are given beside all runs, or in their place.
WITH: Final[Mapping[str, Callable[[Runs], dict[str, Any]]]] = {
    **dict.fromkeys(("bias", "sensitivity"), lambda runs: {"data": runs[:1]}),  # of gold alone
    "fuzzy_pairs": lambda _: {"profile": "qian2021"},
    "query": lambda _: {"sql": "SELECT * FROM classes JOIN turns USING (run, dialogue, turn) ORDER BY ALL"},
    "memorisation": lambda runs: {"context": said(runs)},
    "scores": lambda runs: {"versions": {"gold": runs[0].read().select(pl.exclude("pred"), pred="gold")}},
    "report": lambda _: {"metrics": "jga,fga", "most": 3},
    "sweep": lambda _: {"metrics": "jga,sa", "profiles": ["verbatim", "star", "trade"]},
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
            if "data" in taken and {"profile", "profiles"} & taken.keys():
                yield name, function


def digests(runs: Runs, *, backwards: bool = False, but: str = "") -> dict[str, str]:
    """A digest of each function's result; `but`: of all but this function's."""
    results = {}
    for name, function in reversed([*functions()]) if backwards else functions():
        if name == but:
            continue
        taken = inspect.signature(function).parameters
        options = {"data": runs, **({"resamples": 40} if "resamples" in taken else {})}
        if name in WITH:
            options |= WITH[name](runs)
        results[name] = hashlib.sha256(content(function(**options))).hexdigest()
    for by in ("run", "domain", "turn"):
        results[by] = hashlib.sha256(content(dstbench.score(runs, metrics=NAMES, by=by))).hexdigest()
    return results


def content(result: Any) -> bytes:
    """All frames of a result, to the bit."""
    if isinstance(result, pl.DataFrame):
        return (repr(result.schema) + result.write_json()).encode()
    if is_dataclass(result):
        return b"".join(content(getattr(result, field.name)) for field in fields(result))
    if isinstance(result, list | tuple):
        return b"".join(map(content, result))
    return repr(result).encode()


def in_parquet(folder: Path) -> Runs:
    """Runs over one gold, each in a file of its own."""
    paths = [folder / f"{name}.parquet" for name in ("careful", "eager")]
    if not paths[0].exists():
        for run, path in zip(open_runs(synthetic(6, trackers=["careful", "eager"])), paths, strict=True):
            write_long(run, path)
    return open_runs(paths)


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_every_command_gives_the_same_frames_in_another_process_and_order(tmp_path: Path) -> None:
    """Here, one after the other over the same runs; there, in reverse order and by one thread."""
    first = digests(in_parquet(tmp_path))
    script = (
        "import json, sys, warnings; from pathlib import Path; from tests import test_same_results as tests\n"
        "warnings.simplefilter('ignore')\n"
        "print(json.dumps(tests.digests(tests.in_parquet(Path(sys.argv[1])), backwards=True)))"
    )
    done = subprocess.run(  # noqa: S603 (our own code)
        [sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, capture_output=True, check=False, text=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == first


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


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
def test_what_is_equal_is_always_in_the_same_order() -> None:
    first, again = (digests(open_runs(of_ties()), but="report") for _ in range(2))
    assert again == first


requests = st.tuples(st.sampled_from(list(PROFILES.values())), st.sampled_from(["run", "domain"]))


@pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpora(max_dialogues=12), st.lists(requests, min_size=4, max_size=8))
def test_no_request_changes_what_the_next_one_gets(states: States, asked: list[tuple[Convention, str]]) -> None:
    """Conventions that drop, normalise and match fuzzily, and views, in any order, over the same run."""
    (kept,) = open_runs(states)
    for convention, by in asked:
        if not is_refused(states, convention):
            options: dict[str, Any] = {"metrics": NAMES, "by": by, "profile": convention}
            again, fresh = (dstbench.score([run], **options) for run in (kept, replace(kept)))
            assert again.equals(fresh, null_equal=True)
