"""Runs on a Ray cluster of two machines, both this one: the same bits, whatever becomes of a machine; and errors."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.demo import synthetic
from dstbench.scoring import ray as engine_ray
from tests import formats
from tests.commands import run, run_apart
from tests.paths import ROOT

pytestmark = [  # Ray is not imported to find out, as that takes a second
    pytest.mark.ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'dstbench[ray]'"),
]

os.environ.setdefault(*engine_ray.BY_ITSELF)
if sys.platform != "linux":
    pytest.skip("raylets are found by /proc, and have addresses 127.0.0.N", allow_module_level=True)

_HEAD = "127.0.0.2"  # not .1, for which Ray takes the machine's own
_PATIENCE = 240.0  # seconds until something hangs; a busy machine takes long


def wait_for(what: str, condition: Callable[[], object], log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}:\n{log.read_text()}"
        time.sleep(0.05)


def told(driver: subprocess.Popen[bytes]) -> Any:
    """What a script prints, JSON; it has nothing else to say."""
    out, err = driver.communicate(timeout=_PATIENCE)
    assert (driver.returncode, err.decode()) == (0, "")
    return json.loads(out)


def processes_of(parent: int) -> dict[int, str]:
    """Process ids of all that a process has started, and what they started, with their names."""
    parents: dict[int, tuple[int, str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, _, rest = path.read_text().partition(" (")
        except OSError:  # gone by now
            continue
        name, _, fields = rest.rpartition(") ")
        parents[int(number)] = (int(fields.split()[1]), name)
    found, new = dict[int, str](), {parent}
    while new:
        below = {child: name for child, (above, name) in parents.items() if above in new}
        found |= below
        new = set(below)
    return found


class Machines:
    """A Ray cluster; its machines are raylets on this one, a CPU each, that only who has the token can join."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind((_HEAD, 0))
            self.address = f"{_HEAD}:{free.getsockname()[1]}"
        token = folder / "token"
        token.write_text(secrets.token_hex(16))
        env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self.env = {
            **env, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0",
            "COLUMNS": "100",
            # Machines are asked five times a second whether they live; a dead one is noticed in 1 s, instead of 15.
            "RAY_health_check_period_ms": "200", "RAY_health_check_initial_delay_ms": "0",
        }  # fmt: skip
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *hosts: str) -> list[int]:
        """Start machines at once, the very first one as the head; the process ids of their raylets."""
        begun = [self._begin(host) for host in hosts]
        return [self._raylet(host, process) for host, process in zip(hosts, begun, strict=True)]

    def _begin(self, host: str) -> subprocess.Popen[bytes]:
        head = ["--head", "--include-dashboard=false", "--no-monitor", f"--temp-dir={self.folder}"]
        port = self.address.rpartition(":")[2]
        if self.started:
            wait_for("the head", self._answers, self.folder / f"{_HEAD}.log")
        where = [f"--address={self.address}"] if self.started else [*head, f"--port={port}"]
        command = [
            sys.executable,
            "-m",
            "ray.scripts.scripts",
            "start",
            "--block",
            "--include-log-monitor=false",
            *where,
        ]
        options = [f"--node-ip-address={host}", "--num-cpus=1", "--object-store-memory=100000000"]
        with (self.folder / f"{host}.log").open("wb") as file:
            begun = subprocess.Popen(  # noqa: S603 (our own cluster)
                [*command, *options], env=self.env, stdout=file, stderr=file, cwd=self.folder
            )
        self.started.append(begun)
        return begun

    def _answers(self) -> bool:
        host, _, port = self.address.rpartition(":")
        with socket.socket() as asked:
            return asked.connect_ex((host, int(port))) == 0

    def _raylet(self, host: str, process: subprocess.Popen[bytes]) -> int:
        """The process id of a machine's raylet, when the machine is ready."""
        log = self.folder / f"{host}.log"
        wait_for(f"a machine at {host}", lambda: "will now block" in log.read_text(), log)
        return next(number for number, name in processes_of(process.pid).items() if name == "raylet")

    def stop(self) -> None:
        below = [number for begun in self.started for number in processes_of(begun.pid)]
        for begun in self.started:
            begun.kill()
            begun.wait()
        for number in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def drive(self, script: str, *words: object) -> Any:
        """What a script prints as JSON; its words are the cluster's address and those given."""
        with self.begin(script, *words) as driver:
            return told(driver)

    @contextlib.contextmanager
    def begin(self, script: str, *words: object) -> Iterator[subprocess.Popen[bytes]]:
        """A script that runs, at most until the block ends: one that is left behind fails other tests."""
        command = [sys.executable, "-c", script, self.address, *map(str, words)]
        with subprocess.Popen(  # noqa: S603 (our own code)
            command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        ) as driver:
            try:
                yield driver
            finally:
                driver.kill()


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    folder = Path(tempfile.mkdtemp(prefix="ray"))  # short: paths of sockets have little room
    cluster = Machines(folder)
    try:
        cluster.start(_HEAD, "127.0.0.3")
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on disk that may be cut into many parts."""
    path = tmp_path_factory.mktemp("runs") / "run.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dstbench.runs.run._ROW_GROUP", 500)
        dstbench.write_long(dstbench.open_runs({"run": synthetic(300)["eager"]})[0], path)
    return path


# What every script begins with: parts are small, so that there are many, and results are printed as a digest.
_BEGIN = """
import contextlib, dataclasses, hashlib, json, os, sys, time, warnings
import polars as pl
import dstbench
from dstbench.scoring import ray as engine_ray
from dstbench.runs import run as runs
from dstbench.scoring import partitions as partition
from dstbench.demo import synthetic
address, path, *rest = sys.argv[1:]
runs._ROW_GROUP = 500

def digest(found):
    frames = [found] if isinstance(found, pl.DataFrame) else [getattr(found, f.name) for f in dataclasses.fields(found)]
    return hashlib.sha256("".join(frame.write_json() for frame in frames).encode()).hexdigest()
"""

_EVERYTHING = (
    _BEGIN
    + """
from dstbench.conventions.files import Table
labels = Table.of({"north": ["n", "north side"]})
everything = {
    "score": lambda data: dstbench.score(data),
    "by dialogue": lambda data: dstbench.score(data, by="dialogue,domain"),
    "by slot": lambda data: dstbench.score(data, by="slot,turn"),
    "fuzzy": lambda data: dstbench.score(data, profile="qian2021", by="domain"),
    "tables": lambda data: dstbench.score(data, profile=dstbench.profile("trippy", labels=labels)),
    "diagnose": lambda data: dstbench.diagnose(data),
    "traits": lambda data: dstbench.traits(data, disagree=["fga", "gca"]),
    "sweep": lambda data: dstbench.sweep(data, profiles=["star", "trade", "verbatim"]),
    "pairs": lambda data: dstbench.fuzzy_pairs(data, profile="qian2021"),
    "check": lambda data: dstbench.check(data),
}
sources = {"file": path, "memory": {"run": synthetic(40)["eager"]}}
(run,) = dstbench.open_runs(path)
assert len(run.cuts) > 11
warnings.simplefilter("ignore", dstbench.DstbenchWarning)

def results():
    return {f"{n}, {kind}": digest(make(data)) for n, make in everything.items() for kind, data in sources.items()}

def told(act):
    try:
        act()
    except Exception as error:
        return [type(error).__name__, str(error)]

def divide(table):
    return 1 / 0

def kill(table):
    os.kill(os.getpid(), 9)

damaged, other = rest
own = "/proc/self/cwd/"  # what is there, no other process sees
local = results()
errors = {}
engine_ray._RETRIES = 0
with dstbench.engine("ray", address=address):
    on_ray = results()
    errors["fault"] = told(lambda: partition.over_parts(run, divide))
    errors["damaged"] = told(lambda: dstbench.score(damaged))
    os.chdir(os.path.dirname(path))
    errors["unseen"] = told(lambda: dstbench.score(own + os.path.basename(path)))
    os.chdir(os.path.dirname(other))
    errors["other"] = told(lambda: dstbench.score(own + os.path.basename(other)))
    errors["after"] = dstbench.score(path, metrics="jga").height
    errors["lost"] = told(lambda: partition.over_parts(run, kill))
errors["damaged here"] = told(lambda: dstbench.score(damaged))
print(json.dumps({"local": local, "ray": on_ray, "errors": errors}))
"""
)


@pytest.fixture(scope="module")
def everything(machines: Machines, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Digests of results in one process and on the cluster, and errors: all of one process that joins it once."""
    folder = tmp_path_factory.mktemp("everything")
    damaged = folder / "damaged.parquet"
    content = bytearray(corpus.read_bytes())
    content[4:4000] = bytes(3996)
    damaged.write_bytes(content)
    other = folder / "token"  # workers have a file of that name in their folder
    dstbench.write_long(dstbench.open_runs({"run": synthetic(10)["eager"]})[0], other)
    return machines.drive(_EVERYTHING, corpus, damaged, other)


def test_everything_is_the_same_bits(everything: Any) -> None:
    assert len(everything["local"]) == 20
    assert everything["ray"] == everything["local"]


def test_errors_are_told_as_if_they_were_here(everything: Any, corpus: Path) -> None:
    found = everything["errors"]
    host = socket.gethostname()
    assert found["fault"] == ["ZeroDivisionError", "division by zero"]
    assert found["damaged"] == found["damaged here"]
    assert found["damaged"][0] == "DstbenchError"
    assert found["unseen"][1].startswith(f"/proc/self/cwd/{corpus.name}: cannot be read on {host}: No such file")
    assert "storage that all machines share" in found["unseen"][1]
    assert f"another file on {host}" in found["other"][1]
    assert found["lost"][0] == "DstbenchError"
    assert "the cluster has lost a task for good" in found["lost"][1]
    assert found["after"] == 1


_SLOW = (
    _BEGIN
    + """
from dstbench.scoring import sums
summed = sums._sum

def slow(*args, **how):
    with open(rest[0], "a") as log:
        log.write(f"{os.getppid()}\\n")  # who works is a child of its raylet
    time.sleep(0.2)
    return summed(*args, **how)

local = digest(dstbench.score(path, metrics="jga,gca,fga"))
sums._sum = slow
with dstbench.engine("ray", address=address):
    found = digest(dstbench.score(path, metrics="jga,gca,fga"))
print(json.dumps({"same": found == local, "parts": len(dstbench.open_runs(path)[0].cuts) - 1}))
"""
)


def test_a_machine_dies_and_nothing_is_missing(machines: Machines, corpus: Path, tmp_path: Path) -> None:
    (doomed,) = machines.start("127.0.0.4")
    log = tmp_path / "begun"
    log.touch()
    with machines.begin(_SLOW, corpus, log) as driver:
        wait_for("work on the machine that dies", lambda: log.read_text().split().count(str(doomed)) >= 2, log)
        os.kill(doomed, signal.SIGKILL)
        before = len(log.read_text().split())
        found = told(driver)
    assert found["same"]
    begun = log.read_text().split()
    assert before < found["parts"] < len(begun)  # it died in mid-run, and what it was at was done again
    assert len(set(begun)) == 3


def test_the_command_line_prints_the_same_and_says_which_runs_are_sent(
    machines: Machines, corpus: Path, here: Path
) -> None:
    """Those that are no long tables."""
    Path("p.json").write_text(formats.gtpr())
    words = ["score", str(corpus), "p.json", "--by", "domain", "--format", "json"]
    wanted = run(*words)
    code, out, err = run_apart(*words, "--engine", "ray", "--address", machines.address, env=machines.env)
    assert (code, out) == wanted[:2]
    (sent,) = (line for line in err.splitlines(keepends=True) if "sent to the workers" in line)
    assert sent.startswith("note: p: its rows are sent to the workers; ")
    assert (code, err.replace(sent, "")) == (0, wanted[2])
