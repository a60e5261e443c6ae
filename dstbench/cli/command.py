"""How a command is added and run: its groups of options, its notes and errors, its result.

Typer looks at the annotations of every command at every start, whichever is asked for: the modules of commands do not
import `annotations` from ``__future__``, which would make them strings to be compiled each time.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from dstbench.cli.options import OptionGroup
from dstbench.cli.output import check_outputs, emit, progress, reporting, say

# The options that name a file to write; every other path is read.
_OUTPUTS: Final = ("output", "log", "review", "manifest")
_FOLDERS: Final = ("charts", "figures")


@dataclass(frozen=True)
class Result:
    """What a command gives back.

    Attributes:
        text: What is printed, or written to `output`; None: nothing.
        written: The files that it has written besides, to be named on stderr.
        summary: A line for stderr.
        output: Where `text` goes, if not where `TableOutput` says.
    """

    text: str | None = None
    written: Sequence[Path] = ()
    summary: str | None = None
    output: Path | None = None


def command(
    app: typer.Typer, name: str | None = None, *, doing: str, example: str
) -> Callable[[Callable[..., str | Result]], Callable[..., None]]:
    """Add a command to an application.

    The command is a function that returns the text to print. A parameter of it whose type is an `OptionGroup` stands
    for all options of the group:

        @command(app, doing="scoring", example="score predictions.json")
        def score(*, by: ByOption = "run", runs: Runs, table: TableOutput) -> str:

    has the options --by, those of `Runs` (RUN..., --gold, --from, …) and those of `TableOutput` (--format, -o), and is
    called as ``score(by="run", runs=Runs(…), table=TableOutput(…))``.

    Args:
        app: The application.
        name: Name of the command, if it is not the function's.
        doing: What it does meanwhile, for the spinner.
        example: What stands after ``dstbench`` in the example of its help.
    """

    def add(function: Callable[..., str | Result]) -> Callable[..., None]:
        parameters = inspect.signature(function).parameters
        groups = {
            parameter: declared.annotation.options()
            for parameter, declared in parameters.items()
            if isinstance(declared.annotation, type) and issubclass(declared.annotation, OptionGroup)
        }

        @functools.wraps(function)
        def run(**options: Any) -> None:
            options = {option: None if value == [] else value for option, value in options.items()}
            with ExitStack() as stack:
                with reporting(), progress(doing):
                    check_outputs(*_paths(options))
                    for parameter, of_group in groups.items():
                        values = {option: options.pop(option) for option in of_group}
                        options[parameter] = group = parameters[parameter].annotation(**values)
                        stack.enter_context(group.active())
                    result = function(**options)
                if isinstance(result, str):
                    result = Result(result)
                if result.text is not None:
                    table = options.get("table")
                    emit(result.text, result.output or (table and table.output))
                for line in [*(f"wrote {path}" for path in result.written), *filter(None, [result.summary])]:
                    say(line)

        keyword = inspect.Parameter.KEYWORD_ONLY
        expanded: list[inspect.Parameter] = []
        for parameter, declared in parameters.items():
            expanded += [
                inspect.Parameter(option, keyword, default=default, annotation=annotation)
                for option, (annotation, default) in groups.get(
                    parameter, {parameter: (declared.annotation, declared.default)}
                ).items()
            ]
        run.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined] # Typer makes options of it
        run.__annotations__ = {}  # else Typer evaluates the function's own annotations several times
        app.command(name, epilog=f"Example: dstbench {example}")(run)
        return run

    return add


def _paths(options: dict[str, Any]) -> tuple[list[Path], list[Path]]:
    """The files that options name: those to read and those to write."""
    read: list[Path] = []
    for option, value in options.items():
        if option not in (*_OUTPUTS, *_FOLDERS):
            read += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Path)]
    return read, [options[option] for option in _OUTPUTS if isinstance(options.get(option), Path)]
