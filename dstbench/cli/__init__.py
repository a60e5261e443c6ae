"""The command line: the only package that prints or exits.

Results go to stdout, notes and progress to stderr. Exit codes: 0, done; 1, the data cannot be used; 2, wrong usage; 130
or 143 (128 plus the signal's number), interrupted or terminated.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

from dstbench.cli.app import app
from dstbench.cli.output import discard_output, open_streams


def main() -> None:
    """Entry point of the ``dstbench`` command."""
    open_streams()
    for name in ("SIGTERM", "SIGHUP"):  # they too raise an exception, as an interrupt does, so that files are tidied up
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        app()
    except KeyboardInterrupt:  # while Typer makes the commands, before it handles interrupts itself
        sys.exit(128 + signal.SIGINT)
    except OSError as error:  # one that has not become an error of dstbench's
        discard_output()
        about = f"{error.filename}: " if error.filename else ""
        with suppress(OSError):
            sys.stderr.write(f"error: {about}{error.strerror or error}\n")
            sys.stderr.flush()
        sys.exit(1)
