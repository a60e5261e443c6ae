"""``python -m dstbench``, and the command ``dstbench``."""

import gc
import os
import signal

# Objects made between two looks for garbage. What is loaded stays until the end, and to look through it every 700
# objects, as Python does, took a tenth to a fifth of a small command's time.
_COLLECTED_AFTER = 200_000


def main() -> None:
    """Entry point: until the command line is loaded, an interrupt ends the process without a traceback."""
    gc.set_threshold(_COLLECTED_AFTER)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy and SciPy start, and keep spinning, one per core each
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dstbench import cli

    signal.signal(signal.SIGINT, handler)
    cli.main()


if __name__ == "__main__":
    main()
