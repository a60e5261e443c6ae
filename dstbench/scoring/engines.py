"""The choice of the engine that computes over the partitions of runs: threads of this process, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import get_args

from dstbench.errors import UsageError, check_known
from dstbench.scoring.partitions import worked_on_by
from dstbench.typing import EngineName


@contextmanager
def engine(name: EngineName = "local", *, address: str | None = None) -> Iterator[None]:
    """Choose the engine for every function that scores, compares or diagnoses runs within this block and this thread.

    Both engines give the same results, bit for bit.

    Args:
        name: ``local``, the threads of this process; or ``ray``, a Ray cluster (``pip install 'dstbench[ray]'``).
            Ray's workers read long tables themselves, from storage that all machines share; the rows of other runs are
            sent to them.
        address: ``host:port`` of the cluster; or ``auto``, the cluster that runs on this machine or that RAY_ADDRESS
            names. None: the cluster that this process has joined already; if there is none, a cluster is started on
            this machine, with all its CPUs, and stopped at the end of the block.

    Raises:
        UsageError: There is no such engine, or an address is given for ``local``.
        DstbenchError: Ray is not installed. (A cluster that cannot be joined is an error when it is first needed.)

    >>> import dstbench
    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}]
    >>> with engine("local"):
    ...     dstbench.score(states, metrics="jga")["value"].item()
    1.0
    """
    check_known([name], get_args(EngineName), "there is no engine {!r}")
    if name == "local":
        if address is not None:
            raise UsageError("the local engine has no address", hint="--engine ray")
        with worked_on_by(None):
            yield
        return
    from dstbench.scoring.ray import Cluster

    with closing(Cluster(address)) as cluster, worked_on_by(cluster):
        yield
