"""A command in a process of its own, to report what ends a process before Python can report it."""

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
    """Continue in a child process; the parent waits for it, and exits with its code.

    If Polars asks for more memory than there is, its process is aborted, or killed by the system. Then the parent says
    so. Without ``fork``, or if Polars is loaded, whose threads a fork would lose, nothing is done.

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
    except BlockingIOError:  # there are none yet, and a process that the child started still has the pipe open
        message = ""
    if code < 0:
        is_memory = code == -signal.SIGKILL or "memory allocation" in message
        what = "needs more memory than there is" if is_memory else f"was ended by {signal.Signals(-code).name}"
        raise DstbenchError(f"the command {what}", hint="does each join in the query have a condition?")
    sys.stderr.write(message)
    sys.stderr.flush()
    os._exit(code)  # without the usual clean-up, which the child has done


def _end_with_parent(closed_at_end: int) -> None:
    """End this process when the other end of a pipe is closed, as it is when the waiting parent is killed."""
    os.read(closed_at_end, 1)
    os._exit(1)


def _keep_native_messages(file: int) -> None:
    """Redirect what native code writes to standard error to a file; Python's own messages go where they went."""
    stream = sys.stderr.fileno()
    usual = os.dup(stream)
    os.dup2(file, stream)
    sys.stderr = reopened(sys.stderr, Unfailing(usual, "w"))


def _wait(child: int) -> int:
    """Wait for a child, passing on signals that would end this process; the child's exit status."""

    def pass_on(number: int, _: object) -> None:
        time.sleep(0.5)  # a terminal signals both; the child then ends by itself
        os.kill(child, number)

    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    return os.waitpid(child, 0)[1]
