"""Partitions on a Ray cluster: its workers read and count rows, and send back sums only.

Workers read a long table on disk themselves, from storage that all machines share; the rows of any other run are sent
to them. A task is a partition on one CPU; if its worker or machine is lost, another worker repeats it. Results are
exact and in the partitions' order, so they have the same bits as those of one process. Ray is imported only when a
cluster is needed.
"""

from __future__ import annotations

import os
import pickle
import platform
import socket
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from itertools import pairwise
from logging import CRITICAL, getLogger
from threading import Lock
from typing import Any, Final, TypeVar

import polars as pl

from dstbench._version import __version__
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.io.parquet import stamp_of
from dstbench.runs.run import Run

T = TypeVar("T")

_LOG: Final = getLogger(__name__)
# Packages of which driver and workers need the same version, because functions and expressions are sent between them.
_VERSIONS: Final = {"dstbench": __version__, "polars": pl.__version__}
# Tasks submitted for each CPU: one runs while the next one waits, and the rows of few tasks are in transit.
_SUBMITTED_PER_CPU: Final = 2
# How many times a task is repeated if its worker is lost.
_RETRIES: Final = 5
_SECONDS: Final = 5.0  # to wait for a cluster to answer, and for a task before the cluster is checked again
#: An environment variable and its value, which Ray reads when it is imported. Without it, Ray under `uv run` sends the
#: current folder to the workers, and they install whatever its project requires.
BY_ITSELF: Final = ("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")


class Cluster:
    """A Ray cluster as an engine (see `partitions.engine`), which is joined or started when it is first needed."""

    def __init__(self, address: str | None = None) -> None:
        if find_spec("ray") is None:
            raise DstbenchError("Ray is not installed", hint="pip install 'dstbench[ray]'")
        self.address = address
        self._ray: Any = None
        self._is_ours = False
        self._lock = Lock()
        self._sent: set[str] = set()

    def __call__(self, run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]:
        """Apply a function to every partition of a run (`partitions.Engine`), and raise what the function raises."""
        with self._lock:
            self._join()
        ray, is_sent, places = self._ray, run.path is None, [(start, end - start) for start, end in pairwise(run.cuts)]
        if is_sent and run.name not in self._sent:
            self._sent.add(run.name)
            warn(
                "its rows are sent to the workers; a long table (dstbench convert) on storage that all machines share "
                "would be read by the workers themselves",
                run=run.name,
            )
        run.check()
        mark = None if run.path is None else _mark(run.path)
        without_rows = replace(run, table=pl.LazyFrame() if is_sent else run.table, meta={}, derive=None)
        work = ray.put(ray.cloudpickle.dumps((without_rows, mark, function)))
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_worker())
        results: dict[int, Any] = {}
        waiting: dict[Any, int] = {}
        try:
            while len(results) < len(places):
                if self.address is not None:
                    _reach(self.address)  # Ray itself would wait for a lost head for a minute, and then end the process
                cpus = int(ray.cluster_resources().get("CPU", 0))  # each time, as machines come and go
                most = min(len(places), len(results) + max(_SUBMITTED_PER_CPU * cpus, 1))
                for number in range(len(results) + len(waiting), most):
                    place = pickle.dumps(run.part(*places[number])) if is_sent else places[number]
                    waiting[task.remote(_VERSIONS, work, place)] = number
                progress = {"done": len(results), "of": len(places)}
                _LOG.info("%s: %d of %d tasks done, on %d CPUs", run.name, *progress.values(), cpus, extra=progress)
                # After an error, running tasks are not cancelled: Ray 2.60 crashed when one was that had just ended.
                for done in ray.wait(list(waiting), timeout=_SECONDS)[0]:
                    result, fault, (machine, installed) = ray.get(done)
                    if fault is not None:
                        raise fault
                    if differ := [
                        f"{name} is {installed[name]}, and {own} here"
                        for name, own in _VERSIONS.items()
                        if installed[name] != own
                    ]:
                        what = f"on worker {machine}, {'; '.join(differ)}"
                        raise DstbenchError(what, hint="install the same version everywhere")
                    results[waiting.pop(done)] = result
        except ray.exceptions.RayTaskError as error:  # any but a DstbenchError: raised as it would be without Ray
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise DstbenchError(
                f"{run.name}: the cluster has lost a task for good: {_first_line(error)}",
                hint="`ray status` shows which machines there are",
            ) from None
        return [results[number] for number in range(len(places))]

    def close(self) -> None:
        """Leave the cluster if this engine joined it, and stop it if this engine started it."""
        with self._lock:
            if self._is_ours:
                self._ray.shutdown()
                self._ray._private.worker._worker_logs_enabled = True
            self._ray, self._is_ours = None, False

    def _join(self) -> None:
        """Join the cluster, or start Ray on this machine, if that has not been done."""
        if self._ray is not None:
            return
        os.environ.setdefault(*BY_ITSELF)
        import ray

        if ray.is_initialized():
            if self.address is not None:
                raise UsageError("this process is in a Ray cluster already", hint="omit the address to use it")
            self._ray = ray
            return
        # Ray prints news of machines and tasks on stdout, where only data belongs, and has no option against it.
        ray._private.worker._worker_logs_enabled = False
        options: dict[str, Any] = {
            "address": self.address or "local",
            "log_to_driver": False,
            "logging_level": CRITICAL,
        }
        if self.address is None:
            _LOG.info("starting Ray on this machine")
            failure, hint = "Ray cannot be started on this machine", "is there memory and disk space for it?"
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            options["include_dashboard"] = False
        else:
            _LOG.info("joining the Ray cluster at %s", self.address)
            failure = f"the Ray cluster at {self.address} cannot be joined"
            hint = (
                "does `ray status` find it from here? if it asks for a token, set RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH"
            )
            _reach(self.address)
            os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")  # one attempt of up to 40 s, instead of 20
        try:
            ray.init(**options)
        except Exception as error:  # some of Ray's errors have no class of their own
            raise DstbenchError(f"{failure}: {_first_line(error)}", hint=hint) from None
        self._ray, self._is_ours = ray, True


def _reach(address: str) -> None:
    """Refuse an address that is malformed or does not answer; Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise UsageError(
            f"{address!r} is not the address of a Ray cluster", hint="host:port, such as head:6379, or auto"
        )
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        hint = "`ray status` on one of its machines says where it is"
        raise DstbenchError(f"no Ray cluster answers at {address}: {error}", hint=hint) from None


def _worker() -> Callable[..., Any]:
    """The function that workers run: inside another one, so that it is sent as code, even to those without dstbench."""

    def work(versions: dict[str, str], packed: bytes, part: Any) -> Any:
        import importlib
        import os
        import platform

        os.environ["POLARS_MAX_THREADS"] = "1"  # before Polars is imported: the task has one CPU
        installed = {}
        for name in versions:
            try:
                installed[name] = getattr(importlib.import_module(name), "__version__", "?")
            except ImportError:
                installed[name] = "not installed"
        if installed != versions:
            return None, None, (platform.node(), installed)
        from dstbench.errors import DstbenchError
        from dstbench.scoring.ray import work_off

        try:
            return work_off(packed, part), None, (platform.node(), installed)
        except DstbenchError as error:  # returned, as Ray would repeat, in vain, a task that raises it
            return None, error, (platform.node(), installed)

    return work


def work_off(packed: bytes, part: tuple[int, int] | bytes) -> Any:
    """The result of a task: of a pickled run and function, and a partition's place in the file, or its pickled rows."""
    run, function = _unpacked(packed)
    return function(run.part(*part) if isinstance(part, tuple) else pickle.loads(part))  # noqa: S301 (of our own driver)


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> tuple[Run, Callable[[pl.DataFrame], Any]]:
    """The run and the function, after a check of the file; cached, as Polars keeps the footer in the table."""
    run, mark, function = pickle.loads(packed)  # noqa: S301 (of our own driver)
    if mark is None:
        return run, function
    if _mark(run.path) != mark:
        raise _unshared(run.path, f"another file on {platform.node()} than where the command runs")
    return replace(run, stamp=stamp_of(run.path)), function  # a file's stamp differs between machines


def _mark(path: str) -> str:
    """What identifies a Parquet file: its size, and a hash of its footer with the columns' offsets and extremes."""
    try:
        with open(path, "rb") as file:
            size = file.seek(-8, os.SEEK_END) + 8
            footer = int.from_bytes(file.read(4), "little") + 8
            file.seek(-min(footer, size), os.SEEK_END)
            return f"{size}:{blake2b(file.read()).hexdigest()}"
    except OSError as error:
        raise _unshared(path, f"cannot be read on {platform.node()}: {error.strerror}") from None


def _unshared(path: str, fault: str) -> DstbenchError:
    return DstbenchError(fault, file=path, hint="workers read it themselves, from storage that all machines share")


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
