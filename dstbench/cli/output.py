"""Notes, progress and results: stderr and stdout, files, exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

# The console of each spinner that is shown; notes go through it, or they would stand on the spinner's line.
_spinners: list[Console] = []


@contextmanager
def reporting() -> Iterator[None]:
    """Print warnings to stderr as notes, and turn an error into one message and an exit code."""
    from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, shortened

    def tell(kind: str, message: object) -> None:
        from dstbench.io.escape import visible  # so that no text of a file controls the terminal

        text = "\n".join(visible(shortened(line, 4000)) for line in f"{kind}: {message}".split("\n"))
        if _spinners:  # it draws itself again below the text
            _spinners[-1].print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)
        else:
            typer.echo(text, err=True)

    def note(message: Warning | str, *_: object, **__: object) -> None:
        tell("note", message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", DstbenchWarning)
        warnings.showwarning = note
        try:
            yield
        except DstbenchError as error:
            tell("error", error)
            raise typer.Exit(2 if isinstance(error, UsageError) else 1) from None
        except MemoryError:
            tell("error", "there is not enough memory for this\nhint: convert the files to a long table, one by one")
            raise typer.Exit(1) from None


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Show a spinner, with what is being done and for how long, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    import logging

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        _spinners.append(console)
        task = progress.add_task(doing)

        class Show(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                progress.update(task, description=record.getMessage())

        log, shown = logging.getLogger("dstbench"), Show()
        before = log.level
        log.addHandler(shown)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            _spinners.remove(console)
            log.removeHandler(shown)
            log.setLevel(before)


def as_path(path: Path) -> str:
    """The path as a string; ``-`` becomes the path of standard input."""
    return "/dev/stdin" if str(path) == "-" else str(path)


def as_text(path: Path | None) -> str | None:
    """The path of an option as a string; None if the option is not given."""
    return None if path is None else as_path(path)


def require_parquet(output: Path, what: str) -> None:
    """Refuse a file name that does not end in ``.parquet``."""
    from dstbench.errors import UsageError

    if output.suffix != ".parquet":
        raise UsageError(f"{output}: {what} is written as Parquet", hint=f"-o {output.stem}.parquet")


def check_outputs(inputs: Iterable[Path], outputs: Sequence[Path]) -> None:
    """Refuse to write over a file that is read, or to write two results to one file."""
    from dstbench.errors import UsageError

    for output in outputs:
        if os.path.exists(output) and any(_is_same(output, path) for path in inputs):
            raise UsageError(f"{output} is read and would be written over", hint="name another file")
    if len({output.absolute() for output in outputs}) < len(outputs):
        raise UsageError("two files to write have one name", hint="give each a name of its own")


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
    from dstbench.io.escape import visible

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
    """Redirect stdout to nowhere: its buffer holds what could not be written, and would fail again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths are of one file; False if one cannot be looked at."""
    try:
        return one.samefile(other)
    except OSError:
        return False
