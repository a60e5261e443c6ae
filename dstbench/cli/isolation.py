"""A command in a process of its own, for what ends a process before Python can say a word."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from dstbench.cli.streams import Unfailing, reopened
from dstbench.errors import DstbenchError

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MOST = 65_536  # bytes that are kept of what native code says


def run_in_child() -> None:
    """Go on in a child process, for which this one waits, and ends as it does.

    Where Polars asks for more memory than there is, its process is aborted, or killed by the system. Then this one says
    so. Without ``fork``, or where Polars is loaded, whose threads a fork would lose, nothing is done.

    Raises:
        DstbenchError: A signal ended the child.
    """
    if "polars" in sys.modules or not hasattr(os, "fork"):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    messages, to_messages = os.pipe()
    closed_at_end, held = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # until each process is ready for them
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.close(held)
        threading.Thread(target=_end_with_parent, args=(closed_at_end,), daemon=True).start()
        os.set_blocking(to_messages, False)  # nobody reads them before the end
        _keep_native_messages(to_messages)
        return
    code = os.waitstatus_to_exitcode(_wait(child))
    os.set_blocking(messages, False)
    os.close(to_messages)
    try:
        message = os.read(messages, _MOST).decode(errors="replace")
    except BlockingIOError:  # there are none, and a process that the child started could still write some
        message = ""
    if code < 0:
        is_memory = code == -signal.SIGKILL or "memory allocation" in message
        why = "more memory than there is" if is_memory else f"what ends the process ({signal.Signals(-code).name})"
        raise DstbenchError(f"the command needs {why}", hint="has the query a condition for each join?")
    sys.stderr.write(message)
    sys.stderr.flush()
    os._exit(code)  # what is to be done at the end, the child has done


def _end_with_parent(closed_at_end: int) -> None:
    """Wait for the other end of a pipe to be closed, as it is when the waiting process is killed, and end this one."""
    os.read(closed_at_end, 1)
    os._exit(1)


def _keep_native_messages(file: int) -> None:
    """Have what native code writes to standard error in a file; Python's own messages go where they went."""
    stream = sys.stderr.fileno()
    usual = os.dup(stream)
    os.dup2(file, stream)
    sys.stderr = reopened(sys.stderr, Unfailing(usual, "w"))


def _wait(child: int) -> int:
    """The status with which a child ends; it is told of signals that would end this process."""

    def pass_on(number: int, _: object) -> None:
        time.sleep(0.5)  # a terminal signals both; the child then ends by itself
        os.kill(child, number)

    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    return os.waitpid(child, 0)[1]
