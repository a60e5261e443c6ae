"""Partitions on a Ray cluster: its workers read and count rows, and only sums come back.

Conventions: workers read a run that is a long table on disk themselves, from storage that all machines share; the rows
of any other run are sent. A task is a few partitions on one CPU; if its worker or machine is lost, it is done again
elsewhere. Results are exact and put in the partitions' order, so that the bits are those of one process. Ray itself is
imported when a cluster is needed, and not before.
"""

from __future__ import annotations

import os
import pickle
import platform
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from logging import CRITICAL, getLogger
from threading import Lock
from typing import Any, Final, NamedTuple, TypeVar

import polars as pl

from dstbench._version import __version__
from dstbench.errors import DstbenchError, UsageError, warn
from dstbench.runs.run import Run, stamp_of
from dstbench.scoring.partitions import partitions

T = TypeVar("T")

_LOG: Final = getLogger(__name__)
# Versions that the driver and the workers must have in common, as functions and expressions travel between them.
_VERSIONS: Final = {"dstbench": __version__, "polars": pl.__version__}
# Partitions of a task, at most: some tenths of a second, beside which the milliseconds that a task costs are little.
_MOST: Final = 8
# Tasks for each CPU, at least, where there are as many partitions: none is idle for long while the last is done.
_TASKS: Final = 4
# Tasks under way for each CPU: the next is there when one is done, and rows of few tasks are on their way.
_AHEAD: Final = 2
# How often a task is done again whose worker was lost.
_RETRIES: Final = 5
_SECONDS: Final = 5.0  # to reach a cluster, and between two looks at it
#: Ray reads this when it is imported. Under `uv run`, it would else send the current folder to the workers, and have
#: them install all that its project asks for.
BY_ITSELF: Final = ("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")


class _Work(NamedTuple):
    """What the tasks of a run have in common."""

    run: Run  # its table is not read yet; it is empty where rows are sent
    mark: str | None  # identifies the run's file on every machine; None: rows are sent
    function: Callable[[pl.DataFrame], Any]  # is applied to each partition


class Cluster:
    """A Ray cluster as an engine (see `engines.engine`); it is joined, or started, when it is first needed."""

    def __init__(self, address: str | None = None) -> None:
        if find_spec("ray") is None:
            raise DstbenchError("Ray is not installed", hint="pip install 'dstbench[ray]'")
        self.address = address
        self._ray: Any = None
        self._task: Any = None
        self._is_ours = False
        self._lock = Lock()
        self._sent: set[str] = set()

    def __call__(self, run: Run, function: Callable[[pl.DataFrame], T]) -> list[T]:
        """Apply a function to every partition of a run (see `partitions.Engine`); raise what the function raises."""
        self._join()
        ray, is_sent = self._ray, run.path is None
        if is_sent and run.name not in self._sent:
            self._sent.add(run.name)
            warn(
                f"{run.name}: its rows are sent to the workers; from a long table on storage that all machines share "
                "(dstbench convert) they would read them themselves"
            )
        run.check()
        mark = None if run.path is None else _mark(run.path)
        table = pl.LazyFrame() if is_sent else run.table
        work = ray.put(ray.cloudpickle.dumps(_Work(replace(run, table=table, meta={}, derive=None), mark, function)))

        def start(parts: Sequence[tuple[int, int]]) -> Any:
            rows = [pickle.dumps(run.part(*part)) for part in parts] if is_sent else None
            return self._task.remote(_VERSIONS, work, rows or parts)

        try:
            return self._gather(run.name, partitions(run), start)
        except ray.exceptions.RayTaskError as error:  # not foreseen: it is raised as it would be without Ray
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise DstbenchError(
                f"{run.name}: the cluster has lost a task for good: {_first_line(error)}",
                hint="`ray status` shows which machines there are",
            ) from None

    def close(self) -> None:
        """Leave the cluster if it was joined here, and stop it if it was started here."""
        with self._lock:
            if self._is_ours:
                self._ray.shutdown()
                self._ray._private.worker._worker_logs_enabled = True
            self._ray, self._is_ours = None, False

    def _join(self) -> None:
        with self._lock:
            if self._ray is not None:
                return
            os.environ.setdefault(*BY_ITSELF)
            import ray

            if not ray.is_initialized():
                _connect(ray, self.address)
                self._is_ours = True
            elif self.address is not None:
                raise UsageError("this process is in a Ray cluster already", hint="omit the address to use it")
            self._ray = ray
            self._task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_worker())

    def _gather(self, name: str, parts: Sequence[tuple[int, int]], start: Callable[..., Any]) -> list[Any]:
        """The results of the partitions, in order.

        After an error or an interrupt, the tasks under way are not cancelled: they are few and short, and end at the
        latest when the cluster is left. (Cancelling one that is just done has crashed Ray 2.60.)
        """
        size = min(max(len(parts) // (_TASKS * max(self._cpus(), 1)), 1), _MOST)
        tasks = [parts[at : at + size] for at in range(0, len(parts), size)]
        results: dict[int, list[Any]] = {}
        waiting: dict[Any, int] = {}
        while len(results) < len(tasks):
            if self.address is not None:
                _reach(self.address)  # when the head is lost, Ray waits for a minute, and then ends the process
            cpus = self._cpus()  # counted anew each time, as machines come and go
            begun = len(results) + len(waiting)
            for number in range(begun, min(len(tasks), len(results) + max(_AHEAD * cpus, 1))):
                waiting[start(tasks[number])] = number
            _LOG.info("%s: %d of %d tasks done, on %d CPUs", name, len(results), len(tasks), cpus)
            done, _ = self._ray.wait(list(waiting), timeout=_SECONDS)
            for task in done:
                results[waiting.pop(task)] = _outcome(self._ray.get(task))
        return [result for number in range(len(tasks)) for result in results[number]]

    def _cpus(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))


def _connect(ray: Any, address: str | None) -> None:
    """Start Ray on this machine, or join a cluster."""
    # Ray prints what happens to machines and tasks on stdout, where only data belongs, and has no option for it.
    ray._private.worker._worker_logs_enabled = False
    options: dict[str, Any] = {"address": address or "local", "log_to_driver": False, "logging_level": CRITICAL}
    if address is None:
        _LOG.info("starting Ray on this machine")
        failure, hint = "Ray cannot be started on this machine", "is there memory and disk space for it?"
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options["include_dashboard"] = False
    else:
        _LOG.info("joining the Ray cluster at %s", address)
        failure = f"the Ray cluster at {address} cannot be joined"
        hint = "does `ray status` find it from here? one that has a token wants RAY_AUTH_MODE=token, and the token"
        _reach(address)
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")  # one attempt, of up to 40 s; not 20 of them
    try:
        ray.init(**options)
    except Exception as error:  # some of them are of no other class
        raise DstbenchError(f"{failure}: {_first_line(error)}", hint=hint) from None


def _reach(address: str) -> None:
    """Refuse a malformed address, or one at which nobody answers: Ray would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise UsageError(f"{address!r} is no address of a Ray cluster", hint="host:port, such as head:6379, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise DstbenchError(
            f"no Ray cluster answers at {address}: {error}", hint="`ray status` on one of its machines says where it is"
        ) from None


def _worker() -> Callable[..., Any]:
    """The function that workers run.

    It is made here, within a function, so that it is sent as code: a worker without dstbench, or with another version
    of it, can still say so.
    """

    def work(versions: dict[str, str], packed: bytes, parts: list[Any]) -> Any:
        import importlib
        import os
        import platform

        os.environ["POLARS_MAX_THREADS"] = "1"  # before Polars is imported: the task has one CPU
        installed = {}
        for name in versions:
            try:
                installed[name] = getattr(importlib.import_module(name), "__version__", "?")
            except ImportError:
                installed[name] = "not there"
        if installed != versions:
            return platform.node(), installed
        from dstbench.scoring.ray import work_off

        return work_off(packed, parts)

    return work


def work_off(packed: bytes, parts: Sequence[tuple[int, int] | bytes]) -> list[Any] | DstbenchError:
    """The results of a task; or its error, returned and not raised, as another attempt would meet it again.

    `packed` is the `_Work`, pickled; `parts` are where the partitions are in the file, or their rows, pickled.
    """
    try:
        work = _unpacked(packed)
        tables = (work.run.part(*part) if isinstance(part, tuple) else pickle.loads(part) for part in parts)  # noqa: S301 (of our own driver)
        return [work.function(table) for table in tables]
    except DstbenchError as error:
        return error


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> _Work:
    """The work, once its file is known to be the same; once per run, as Polars keeps the footer with the table."""
    work: _Work = pickle.loads(packed)  # noqa: S301 (of our own driver)
    path = work.run.path
    if path is None:
        return work
    if _mark(path) != work.mark:
        raise _unshared(path, f"another file on {platform.node()} than where the command runs")
    return work._replace(run=replace(work.run, stamp=stamp_of(path)))  # a file's stamp is another on each machine


def _outcome(result: Any) -> list[Any]:
    """The results that a worker sent, if it sent some."""
    if isinstance(result, DstbenchError):
        raise result
    if isinstance(result, tuple):
        machine, installed = result
        wrong = [name for name in installed if installed[name] != _VERSIONS[name]]
        differ = [f"{name} is {installed[name]}, and {_VERSIONS[name]} here" for name in wrong]
        raise DstbenchError(f"on worker {machine}, {'; '.join(differ)}", hint="install the same version everywhere")
    results: list[Any] = result
    return results


def _mark(path: str) -> str:
    """What identifies a Parquet file: its size and its footer, which has the places and extremes of all columns."""
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
