"""``python -m dstbench``, and the command ``dstbench``."""

import atexit
import gc
import os
import signal

# How many new objects start a garbage collection. With Python's default, 700, collecting takes a tenth to a fifth of
# the time of a small command, for nothing, as imported modules stay in memory.
_COLLECTED_AFTER = 200_000


def main() -> None:
    """Entry point: until the command line is loaded, an interrupt ends the process without a traceback."""
    gc.set_threshold(_COLLECTED_AFTER)
    atexit.register(gc.freeze)  # else Python looks for garbage as it exits, a third of the time of a small command
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else NumPy and SciPy each start a busy thread per core
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dstbench.cli import main as run

    signal.signal(signal.SIGINT, handler)
    run()


if __name__ == "__main__":
    main()
