"""The choice of the engine that works on the partitions of runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import get_args

from dstbench.errors import UsageError, did_you_mean
from dstbench.scoring.partitions import worked_on_by
from dstbench.typing import EngineName


@contextmanager
def engine(name: EngineName = "local", *, address: str | None = None) -> Iterator[None]:
    """Choose what works on runs in this block: on all that scores, compares or diagnoses them, in this thread.

    The results are the same, bit for bit.

    Args:
        name: ``local``, the threads of this process; or ``ray``, a Ray cluster (``pip install 'dstbench[ray]'``).
            Workers read long tables themselves, from storage that all machines share; rows of other runs are sent to
            them.
        address: ``host:port`` of the cluster, or ``auto``: the one that runs on this machine, or that RAY_ADDRESS
            names. None: the one that this process is in already, else one that is started on this machine, with all
            its CPUs, and stopped at the end.

    Raises:
        UsageError: There is no such engine, or it has no address.
        DstbenchError: Ray is not installed. A cluster that cannot be joined is an error when it is first needed.

    >>> import dstbench
    >>> states = [{"dialogue_id": "D", "turn": 0, "gold": {"hotel-area": "north"}, "pred": {"hotel-area": "north"}}]
    >>> with engine("local"):
    ...     dstbench.score(states, metrics="jga")["value"].item()
    1.0
    """
    if name not in (names := get_args(EngineName)):
        raise UsageError(f"there is no engine {name!r}", hint=did_you_mean(name, names) or "local or ray")
    if name == "local":
        if address is not None:
            raise UsageError("the local engine has no address", hint="--engine ray")
        with worked_on_by(None):
            yield
        return
    from dstbench.scoring.ray import Cluster

    with closing(Cluster(address)) as cluster, worked_on_by(cluster):
        yield
