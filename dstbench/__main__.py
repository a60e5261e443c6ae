"""``python -m dstbench``, and the command ``dstbench``."""

import signal


def main() -> None:
    """Entry point: until the command line is loaded, an interrupt ends the process without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dstbench import cli

    signal.signal(signal.SIGINT, handler)
    cli.main()


if __name__ == "__main__":
    main()
