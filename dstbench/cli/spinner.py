"""What a terminal shows while a command computes: what is being done, for how long, and how much of it is done."""

from __future__ import annotations

import logging
import sys
import time
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.progress import Progress

# Seconds before the line is drawn. Most commands are done by then, and need not import Rich, a sixth of their time.
_DELAY: Final = 0.4


class Spinner(logging.Handler):
    """A line on stderr that is redrawn while the block runs, once it has run for some tenths of a second.

    It says what is being `doing`, then what messages of the logger ``dstbench`` say. If a message has the attributes
    `done` and `of`, a bar shows how much is done, and the line estimates the time that is left.
    """

    def __init__(self, doing: str) -> None:
        super().__init__()
        self._said: dict[str, Any] = {"description": doing, "completed": 0, "total": None}
        self._drawing = Lock()
        self._progress: Progress | None = None
        self._began = time.monotonic()
        self._is_over = False
        self._timer = Timer(_DELAY, self._show)
        self._timer.daemon = True  # the process may end meanwhile
        self._log = logging.getLogger("dstbench")
        self._level_before = self._log.level

    def __enter__(self) -> Spinner:
        self._log.addHandler(self)
        self._log.setLevel(logging.INFO)
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._log.removeHandler(self)
        self._log.setLevel(self._level_before)
        self._timer.cancel()
        with self._drawing:
            self._is_over = True
            if self._progress:
                self._progress.stop()

    def print(self, text: str) -> None:
        """Write a text to stderr: above the line, if that is drawn."""
        with self._drawing:
            if self._progress:
                self._progress.console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)
            else:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message."""
        with self._drawing:
            total, done = getattr(record, "of", self._said["total"]), getattr(record, "done", self._said["completed"])
            is_other = total != self._said["total"] or done < self._said["completed"]  # other work, at its own pace
            self._said = {"description": record.getMessage(), "completed": done, "total": total}
            if self._progress:
                if is_other:
                    self._progress.reset(self._progress.task_ids[0], total=total)
                self._draw(self._progress)

    def _show(self) -> None:
        """Begin to draw."""
        from rich.console import Console
        from rich.progress import Progress

        with self._drawing:
            if self._is_over:
                return
            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._progress.add_task("", total=None)
            self._progress.tasks[0].start_time = self._began
            self._draw(self._progress)
            self._progress.start()

    def _draw(self, progress: Progress) -> None:
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        is_partly_done = self._said["completed"] < (self._said["total"] or 0)
        bar = (BarColumn(20), TimeElapsedColumn(), TimeRemainingColumn()) if is_partly_done else (TimeElapsedColumn(),)
        progress.columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), *bar)
        said, room = self._said["description"], max(10, progress.console.width - 42)  # beside the bar and the times
        said = said if len(said) <= room else f"…{said[1 - room :]}"
        progress.update(progress.task_ids[0], **{**self._said, "description": said})
