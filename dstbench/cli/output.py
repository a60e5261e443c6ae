"""Notes, progress and results: stderr and stdout, files, exit codes."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Final

import typer

from dstbench.errors import DstbenchError, DstbenchWarning, UsageError, When, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Seconds before progress is drawn. Most commands are done by then, and need not import Rich, a sixth of their time.
_DELAY: Final = 0.4
# A line of notes of one kind has the counts of at most this many files.
_MOST_NAMED: Final = 3


class Notes:
    """The warnings of a command, printed as notes on stderr: at once, above its result or below it."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._kept: list[DstbenchWarning] = []
        self._on_screen = ""  # in one line
        #: Gives runs their names as the command shows them.
        self.rename: Callable[[str], str] = str

    def shown(self, text: str) -> None:
        """Remember what the user has on the screen: a note that stands there is not printed once more."""
        self._on_screen = " ".join(text.split())

    def add(self, warning: DstbenchWarning) -> None:
        """Keep a warning until it is due, or print it if that is now."""
        self._kept.append(warning)
        self.tell("now")

    def tell(self, when: When | None = None) -> None:
        """Print the notes that are due at this time (None: all that are left, those for above the result first)."""
        for time in ("before", "after") if when is None else (when,):
            due = [warning for warning in self._kept if warning.when == time]
            self._kept = [warning for warning in self._kept if warning.when != time]
            lines = dict.fromkeys(str(warning.args[0]) for warning in due) if self._verbose else folded(due)
            for line in map(self.rename, lines):
                if " ".join(line.split()) not in self._on_screen:
                    _tell("note", line)


def folded(warnings: Iterable[DstbenchWarning]) -> list[str]:
    """A line for each kind of warning, in the order in which the kinds first occur; a single one is not changed.

    >>> from dstbench.errors import DstbenchWarning
    >>> extra = [(2, "one/a.json"), (5, "one/b.json")]
    >>> folded(DstbenchWarning(f"{n} extra turns", file=file, kind="extra turns", count=n) for n, file in extra)
    ['2 files: extra turns: 5 in b.json, 2 in a.json (--verbose lists them)']
    """
    kinds: dict[str, dict[str, DstbenchWarning]] = {}
    for warning in warnings:
        kinds.setdefault(warning.kind, {}).setdefault(warning.args[0], warning)
    return [_line(list(of_kind.values())) for of_kind in kinds.values()]


def _line(warnings: list[DstbenchWarning]) -> str:
    first, *others = warnings
    if not others:
        return str(first.args[0])
    counts: Counter[str] = Counter()
    for warning in warnings:
        counts[warning.file or warning.run or ""] += warning.count or 1
    place = f"{len(counts):,} {'files' if first.file else 'runs'}" if len(counts) > 1 else next(iter(counts))
    if all(warning.text == first.text for warning in others) and len({*counts.values()}) == 1:
        what = first.text if (first.count or 1) == 1 else f"{first.count:,} {first.kind}"
    elif first.count is None:
        what = f"{first.kind}, {len(warnings):,} times"
    elif len(counts) == 1:
        what = f"{counts.total():,} {first.kind}"
    else:  # the largest counts with their files, by their whole paths if several have one name; the sum of the others
        is_clear = len({path.rpartition("/")[2] for path in counts}) == len(counts)
        shown = [f"{count:,} in {path.rpartition('/')[2] if is_clear else path}"
                 for path, count in counts.most_common(_MOST_NAMED)]  # fmt: skip
        rest = [count for _, count in counts.most_common()[_MOST_NAMED:]]
        what = f"{first.kind}: {', '.join([*shown, *([f'{sum(rest):,} in {len(rest):,} more'] if rest else [])])}"
    return f"{place}: {what} (--verbose lists them)".removeprefix(": ")


def _tell(kind: str, message: object) -> None:
    from dstbench.rendering.terminal import screen_of, wrapped

    width = screen_of(sys.stderr).width
    # An error's own line breaks are kept; it has escaped all others.
    lines = f"{kind}: {message.args[0]}".split("\n") if isinstance(message, DstbenchError) else [f"{kind}: {message}"]
    text = "\n".join(wrapped(visible(shortened(line, 4000)), width, " " * (len(kind) + 2)) for line in lines)
    if Progress.current is not None:
        Progress.current.print(f"{text}\n")
    else:
        typer.echo(text, err=True)


@contextmanager
def reporting(notes: Notes | None = None) -> Iterator[None]:
    """Keep warnings as notes (None: print them at the end), and turn an error into one message and an exit code."""
    kept = notes or Notes()

    def note(message: Warning | str, *_: object, **__: object) -> None:
        kept.add(message if isinstance(message, DstbenchWarning) else DstbenchWarning(str(message), when="now"))

    with warnings.catch_warnings():
        warnings.simplefilter("always", DstbenchWarning)
        warnings.showwarning = note
        try:
            yield
        except (DstbenchError, MemoryError) as error:
            if isinstance(error, MemoryError):
                hint = "convert the files to a long table, one by one"
                error = DstbenchError("there is not enough memory for this", hint=hint)
            kept.tell()
            _tell("error", error)
            raise typer.Exit(2 if isinstance(error, UsageError) else 1) from None
        except BaseException:  # interrupted
            kept.tell()
            raise
    if notes is None:
        kept.tell()


class Progress(logging.Handler):
    """A line on stderr that says what a command is doing, as the logger ``dstbench`` does, once it takes a while."""

    #: The one that is drawn: messages are printed through it, or they would end up on its line.
    current: Progress | None = None

    def __init__(self, doing: str) -> None:
        super().__init__()
        self._doing, self._is_due = doing, False
        self._timer, self._log = Timer(_DELAY, self._begin), logging.getLogger("dstbench")
        self._timer.daemon = True  # the process may end meanwhile

    def __enter__(self) -> None:
        Progress.current = self
        self._log.addHandler(self)
        self._log.setLevel(logging.INFO)
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        Progress.current = None
        self._log.removeHandler(self)
        self._timer.cancel()
        self._doing = ""
        self.print("")

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message."""
        done, of = getattr(record, "done", None), getattr(record, "of", None)
        self._doing = f"{record.getMessage()}{'' if done is None or of is None else f' ({done:,} of {of:,})'}"
        self.print("")

    def _begin(self) -> None:
        if self._doing:  # it may be done meanwhile
            self._is_due = True
            self.print("")

    def print(self, text: str) -> None:
        """Write a text to stderr, above the line if that is drawn."""
        from dstbench.rendering.terminal import screen_of

        with self.lock:  # type: ignore[union-attr]
            line = visible(f"{self._doing} …")[: (screen_of(sys.stderr).width or 80) - 1] if self._doing else ""
            shown = f"\r\x1b[2K{text}{line}" if self._is_due else text
            sys.stderr.write(shown)
            sys.stderr.flush()


def progress(doing: str) -> AbstractContextManager[None]:
    """Show on stderr, if it is a terminal, what is being done."""
    shows = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Progress(doing) if shows else nullcontext()


def as_path(path: Path) -> str:
    """The path as a string; ``-`` becomes the path of standard input."""
    return "/dev/stdin" if str(path) == "-" else str(path)


def require_parquet(output: Path, what: str) -> None:
    """Refuse a file name that does not end in ``.parquet``."""
    if output.suffix != ".parquet":
        raise UsageError(f"{output}: {what} is written as Parquet", hint=f"-o {output.stem}.parquet")


def write_files(contents: dict[str, bytes], folder: Path) -> list[Path]:
    """Write files (name to content) to a folder, which is made if there is none, and return their paths."""
    from dstbench.io.atomic import make_folder, write_whole

    make_folder(folder)
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def emit(text: str, output: Path | None) -> None:
    """Print a text or write it to a file; a closed pipe (``| head``) is no error."""
    with reporting():
        if output is not None and str(output) != "-":
            from dstbench.io.atomic import write_whole

            write_whole(output, text.encode())
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            discard_output()
            raise DstbenchError(f"cannot print: {error.strerror}") from None


def discard_output() -> None:
    """Redirect stdout to the null device: its buffer holds what could not be written, and would fail again at exit."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


class Unfailing(io.FileIO):
    """A file that drops what cannot be written: for standard error, as there is no place left to report it."""

    def write(self, data: Any) -> int:
        """Write what there is room for."""
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def open_streams() -> None:
    """Open the standard streams again, with a buffer, so that an incomplete write to standard output is an error."""
    kinds: dict[str, type[io.FileIO] | None] = {"stdin": None, "stdout": io.FileIO, "stderr": Unfailing}
    for name, kind in kinds.items():
        stream = getattr(sys, name)
        if stream is None:  # closed: the next file that is opened would take its number
            setattr(sys, name, open(os.devnull, "w" if kind else "r", encoding="utf-8"))  # noqa: SIM115
        elif kind and isinstance(stream, io.TextIOWrapper):
            buffer = io.BufferedWriter(kind(stream.fileno(), "w", closefd=False))
            lines = stream.line_buffering  # letters that the terminal cannot show are printed as escapes
            again = io.TextIOWrapper(buffer, stream.encoding, "backslashreplace", line_buffering=lines)
            setattr(sys, name, again)
