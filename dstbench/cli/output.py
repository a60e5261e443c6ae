"""Notes, progress and results: stderr and stdout, files, exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dstbench.cli.spinner import Spinner
    from dstbench.errors import DstbenchWarning

# The spinner, while it is drawn: messages are printed through it, or they would end up on its line.
_spinners: list[Spinner] = []


class Notes:
    """The warnings of a command, printed as notes on stderr: at once, above its result or below it.

    Args:
        verbose: Whether to print each of them; otherwise those of a kind share a line.
    """

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._kept: list[DstbenchWarning] = []
        self._on_screen = ""  # in one line

    def shown(self, text: str) -> None:
        """Remember what the user has on the screen: a note that stands there is not printed once more."""
        self._on_screen = " ".join(text.split())

    def add(self, warning: DstbenchWarning) -> None:
        """Keep a warning until it is due, or print it if that is now."""
        if warning.when == "now":
            _tell("note", warning)
        else:
            self._kept.append(warning)

    def tell(self, when: Literal["before", "after"] | None = None) -> None:
        """Print the notes that are due at this time (None: all that are left, those for above the result first)."""
        from dstbench.cli.notes import folded

        for time in ("before", "after") if when is None else (when,):
            due = [warning for warning in self._kept if warning.when == time]
            self._kept = [warning for warning in self._kept if warning.when != time]
            for line in dict.fromkeys(warning.args[0] for warning in due) if self._verbose else folded(due):
                if " ".join(line.split()) not in self._on_screen:
                    _tell("note", line)


def _tell(kind: str, message: object) -> None:
    from dstbench.errors import DstbenchError, shortened, visible  # so that no text of a file controls the terminal
    from dstbench.rendering.terminal import screen_of, wrapped

    width = screen_of(sys.stderr).width
    # An error's own line breaks are kept; it has escaped all others.
    lines = f"{kind}: {message.args[0]}".split("\n") if isinstance(message, DstbenchError) else [f"{kind}: {message}"]
    shown = (visible(shortened(line, 4000)) for line in lines)
    text = "\n".join(wrapped(line, width, " " * (len(kind) + 2)) for line in shown)
    if _spinners:
        _spinners[-1].print(text)
    else:
        typer.echo(text, err=True)


@contextmanager
def reporting(notes: Notes | None = None) -> Iterator[None]:
    """Keep warnings as notes (None: print them at the end), and turn an error into one message and an exit code."""
    from dstbench.errors import DstbenchError, DstbenchWarning, UsageError

    kept = notes or Notes()

    def note(message: Warning | str, *_: object, **__: object) -> None:
        kept.add(message if isinstance(message, DstbenchWarning) else DstbenchWarning(str(message), when="now"))

    with warnings.catch_warnings():
        warnings.simplefilter("always", DstbenchWarning)
        warnings.showwarning = note
        try:
            yield
        except DstbenchError as error:
            kept.tell()
            _tell("error", error)
            raise typer.Exit(2 if isinstance(error, UsageError) else 1) from None
        except MemoryError:
            kept.tell()
            hint = "convert the files to a long table, one by one"
            _tell("error", DstbenchError("there is not enough memory for this", hint=hint))
            raise typer.Exit(1) from None
        except BaseException:  # interrupted
            kept.tell()
            raise
    if notes is None:
        kept.tell()


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show on stderr, if it is a terminal, what is being done and for how long (see `spinner.Spinner`)."""
    if not sys.stderr.isatty():
        yield
        return
    from dstbench.cli.spinner import Spinner

    with Spinner(doing) as spinner:
        _spinners.append(spinner)
        try:
            yield
        finally:
            _spinners.remove(spinner)


def as_path(path: Path) -> str:
    """The path as a string; ``-`` becomes the path of standard input."""
    return "/dev/stdin" if str(path) == "-" else str(path)


def require_parquet(output: Path, what: str) -> None:
    """Refuse a file name that does not end in ``.parquet``."""
    from dstbench.errors import UsageError

    if output.suffix != ".parquet":
        raise UsageError(f"{output}: {what} is written as Parquet", hint=f"-o {output.stem}.parquet")


def write_files(contents: dict[str, bytes], folder: Path) -> list[Path]:
    """Write files (name to content) to a folder, which is made if there is none, and return their paths."""
    from dstbench.errors import DstbenchError
    from dstbench.io.atomic import replacing

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DstbenchError(f"cannot be made: {error.strerror}", file=str(folder), hint="name a folder") from None
    paths = []
    for name, content in contents.items():
        paths.append(folder / name)
        with replacing(paths[-1]) as part:
            part.write_bytes(content)
    return paths


def say(text: str) -> None:
    """Write a line to stderr, escaped so that no file's name controls the terminal."""
    from dstbench.errors import visible

    typer.echo(visible(text), err=True)


def emit(text: str, output: Path | None) -> None:
    """Print a text or write it to a file; a closed pipe (``| head``) is no error."""
    with reporting():
        from dstbench.errors import DstbenchError
        from dstbench.io.atomic import replacing

        if output is None or str(output) == "-":
            try:
                sys.stdout.write(text)
                sys.stdout.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                discard_output()
                raise DstbenchError(f"cannot print: {error.strerror}") from None
            return
        with replacing(output) as part:
            part.write_text(text, encoding="utf-8")


def discard_output() -> None:
    """Redirect stdout to the null device: its buffer holds what could not be written, and would fail again at exit."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
