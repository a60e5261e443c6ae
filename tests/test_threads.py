"""The same bits on any number of threads: of Polars, and of the libraries below NumPy and SciPy."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dstbench.metrics import REGISTRY
from tests.corpora import OF_FRAMES
from tests.paths import ROOT

#: What is worked out, as an expression: frames, arrays, or dataclasses of frames.
WORK = {
    "scores": "[score(LARGE, metrics=METRICS, by=by).drop('signature') for by in ('run', 'domain', 'turn')]",
    "compare": (
        "[compare(runs, metrics='jga,rsa,fga,gca', models=models, resamples=300, adjust=adjust)"
        " for runs, models, adjust in ((SMALL, None, 'max-t'), (SEEDS, {'a': 'a*', 'b': 'b*'}, 'holm'))]"
    ),
    "traits": "traits(RUNS, disagree=['fga', 'gca'], to='released', nu='released')",
    "diagnose": "diagnose(RUNS)",
    "correlate": "correlate(RUNS, differences=['jga,fga,gca'], between_runs=True, test='all')",
    "compare_metrics": "compare_metrics(SMALL, resamples=300)",
    "correlate, turns": "correlate(RUNS, per='turn', differences=['jga,rsa,sa'])",
    "sensitivity": "sensitivity(synthetic(200, trackers=['careful']), sample=5)",
    "inconsistency": "find(take_out(consistent(150, 1), 0.2, 1)[0])",
    "inconsistency, lists": "find(take_out(consistent(150, 1), 0.4, 1)[0], rules='qian2021')",
    "resampling": "[Bootstrap.draw(SUMS, 500).resampled, Randomisation.draw(SUMS, 500).swapped]",
}
THREADS = ("1", "7")
METRICS = [name for name in REGISTRY if name not in OF_FRAMES]

_SCRIPT = """
import hashlib, json, sys
import numpy as np, polars
from dstbench import compare, compare_metrics, correlate, diagnose, open_runs, score, sensitivity, traits
from dstbench.demo import synthetic
from dstbench.stats import Bootstrap, Randomisation, as_exact_floats
from tests.planted import consistent, find, take_out

METRICS, WORK = json.loads(sys.argv[1])
LARGE = open_runs(synthetic(1500, trackers=["eager"]))
RUNS, SMALL = open_runs(synthetic(300)), open_runs(synthetic(60))
ONE, OTHER, THIRD = synthetic(60).values()
SEEDS = {"a0": ONE, "a1": OTHER, "a2": THIRD, "b0": OTHER, "b1": THIRD, "b2": THIRD}
SUMS = as_exact_floats(np.random.default_rng(5).random((5, 999, 3)) * 2.0**62)

def content(result):
    if isinstance(result, list):
        return b"".join(map(content, result))
    if isinstance(result, np.ndarray):
        return result.tobytes()
    if isinstance(result, polars.DataFrame):
        assert result.height
        return result.write_json().encode()
    return content([frame for frame in vars(result).values() if frame.height])

digests = {name: hashlib.sha256(content(eval(work))).hexdigest() for name, work in WORK.items()}
print(json.dumps([polars.thread_pool_size(), digests]))
"""


@pytest.fixture(scope="module")
def digests() -> dict[str, dict[str, str]]:
    """Number of threads to a digest of each result, from a process each."""
    found = {}
    for threads in THREADS:
        names = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        done = subprocess.run(  # noqa: S603 (our own code)
            [sys.executable, "-c", _SCRIPT, json.dumps([METRICS, WORK])],
            env={**os.environ, **dict.fromkeys(names, threads)},
            cwd=ROOT,
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        size, found[threads] = json.loads(done.stdout)
        assert str(size) == threads
    return found


@pytest.mark.parametrize("name", WORK)
def test_any_number_of_threads_gives_the_same_bits(name: str, digests: dict[str, dict[str, str]]) -> None:
    assert len({digests[threads][name] for threads in THREADS}) == 1
