"""How a command is added and run: its groups of options, its notes and errors, its result.

Modules of commands do not import `annotations` from ``__future__``: Typer reads the annotations of all commands at
every start, and would have to compile them from strings.
"""

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from dstbench.cli.options import OptionGroup, TableOutput
from dstbench.cli.output import Notes, as_path, emit, progress, reporting, say

# The options that name a file, and a folder, to write; every other path is read.
_OUTPUTS: Final = ("output", "log", "review", "manifest")
_FOLDERS: Final = ("charts", "figures")
# Options whose texts NAME=FILE name a file to read.
_NAMED_FILES: Final = ("tables", "version", "other_gold")
# Every command has them: any may have notes, or meet a name that is not built in.
_VERBOSE: Final = inspect.Parameter(
    "verbose",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--verbose", help="Show every note, not one line for each kind.")],
)
_PLUGINS: Final = inspect.Parameter(
    "plugins",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        list[str] | None,
        typer.Option(
            "--plugins", metavar="MODULE", help="Python module with your own metrics, formats or profiles. Repeatable."
        ),
    ],
)


class Result(NamedTuple):
    """The result of a command.

    Attributes:
        text: The text to print, or to write to `output`; None: nothing.
        written: Other files that the command has written, to be named on stderr.
        summary: A line for stderr.
        output: The file for `text`, in place of the one of `TableOutput`.
        code: The exit code.
    """

    text: str | None = None
    written: Sequence[Path] = ()
    summary: str | None = None
    output: Path | None = None
    code: int = 0


def _may_run(name: str) -> bool:
    """Whether this process may run a command. Making the options of all of them is a sixth of what ``--help`` takes.

    A process that was started as ``dstbench`` runs a command only if its name is among the words of the command line;
    one that completes words, or that imports dstbench, may need any.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    is_command = Path(sys.argv[0]).stem == "dstbench" or (main is not None and main.name == "dstbench.__main__")
    return not is_command or name in sys.argv or "_DSTBENCH_COMPLETE" in os.environ


def command(
    app: typer.Typer, name: str | None = None, *, doing: str, example: str
) -> Callable[[Callable[..., str | Result]], Callable[..., None]]:
    """Add a command to an application.

    The command is a function that returns the text to print, or a `Result`. A parameter whose type is an `OptionGroup`
    stands for all options of the group:

        @command(app, doing="scoring", example="score predictions.json")
        def score(*, by: ByOption = "run", runs: Runs, table: TableOutput) -> str:

    has the options --by, those of `Runs` (RUN..., --gold, --from, …) and those of `TableOutput` (--format, -o), and is
    called as ``score(by="run", runs=Runs(…), table=TableOutput(…))``.

    Args:
        app: The application.
        name: Name of the command, if it is not the function's.
        doing: What the spinner says while the command computes, such as "scoring".
        example: The example in its help, without ``dstbench``.
    """

    def add(function: Callable[..., str | Result]) -> Callable[..., None]:
        may_run = _may_run(name or function.__name__)
        parameters = inspect.signature(function).parameters if may_run else {}
        groups = {
            parameter: declared.annotation.options()
            for parameter, declared in parameters.items()
            if isinstance(declared.annotation, type) and issubclass(declared.annotation, OptionGroup)
        }

        @functools.wraps(function)
        def run(**options: Any) -> None:
            options = {option: None if value == [] else value for option, value in options.items()}
            notes, plugins = Notes(verbose=options.pop(_VERBOSE.name)), options.pop(_PLUGINS.name)
            with ExitStack() as stack:
                stack.callback(notes.tell)
                with reporting(notes), progress(doing):
                    from dstbench.io.limits import check_threads
                    from dstbench.io.overwriting import guarding_inputs, refuse_overwriting

                    check_threads()
                    # Except in options that name files, as paths may be anything.
                    texts = [value for option, value in options.items() if option not in _NAMED_FILES]
                    _refuse_other_encodings([*texts, plugins])
                    refuse_overwriting(*_paths(options, plugins))
                    stack.enter_context(guarding_inputs())
                    if plugins:
                        from dstbench.plugins import use

                        use(plugins)
                    for parameter, group_options in groups.items():
                        values = {option: options.pop(option) for option in group_options}
                        options[parameter] = group = parameters[parameter].annotation(**values)
                        stack.enter_context(group.active())
                    result = function(**options)
                notes.tell("before")
                if isinstance(result, str):
                    result = Result(result)
                if result.text is not None:
                    table = options.get("table")
                    text = table.labelled(result.text) if isinstance(table, TableOutput) else result.text
                    emit(text, result.output or getattr(table, "output", None))
                notes.tell()
                for line in [*(f"wrote {path}" for path in result.written), *filter(None, [result.summary])]:
                    say(line)
                if result.code:
                    raise typer.Exit(result.code)

        keyword = inspect.Parameter.KEYWORD_ONLY
        expanded: list[inspect.Parameter] = []
        for parameter, declared in parameters.items():
            expanded += [
                inspect.Parameter(option, keyword, default=default, annotation=annotation)
                for option, (annotation, default) in groups.get(
                    parameter, {parameter: (declared.annotation, declared.default)}
                ).items()
            ]
        for option in expanded:  # a file that may not be read gives our error, like one that does not exist
            for info in getattr(option.annotation, "__metadata__", ()):
                info.readable = False
        expanded += [_PLUGINS, _VERBOSE] if expanded else []
        run.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined] # Typer makes options of it
        run.__annotations__ = {}  # otherwise Typer evaluates the function's own annotations several times
        sentence = re.split(r"(?<=\.)\s", function.__doc__ or "", maxsplit=1)[0]  # which Typer would cut
        app.command(name, short_help=sentence, epilog=f"Example: dstbench {example}")(run)
        return run

    return add


def _refuse_other_encodings(values: list[Any]) -> None:
    """Refuse texts that are not UTF-8, which no table could hold; paths may be anything."""
    from dstbench.errors import UsageError

    texts = (text for value in values for text in (value if isinstance(value, (list, tuple)) else [value]))
    for text in texts:
        if isinstance(text, str) and text.encode("utf-8", "ignore").decode() != text:
            raise UsageError(f"{text!r} is not UTF-8", hint="set the terminal, or the script, to UTF-8")


def _paths(options: dict[str, Any], plugins: list[str] | None) -> tuple[list[Path], list[Path]]:
    """The paths that a command line names: to be read, and files to be written.

    Standard output is among them, as it may be a file, too.
    """
    inputs, files = [], [Path("/dev/stdout")]
    for option, value in options.items():
        values = [item for item in (value if isinstance(value, list) else [value]) if item is not None]
        paths = [item for item in values if isinstance(item, Path)]
        if option in _OUTPUTS:
            files += [path for path in paths if str(path) != "-"]
        elif option not in _FOLDERS:
            inputs += [Path(as_path(path)) for path in paths]
        if option in _NAMED_FILES:
            inputs += [Path(item.partition("=")[2]) for item in values]
        if option.startswith("profile"):
            inputs += [Path(name) for item in values for name in item.split(",") if name.endswith(".toml")]
    for name in ",".join(plugins or ()).split(","):
        module = Path(name.strip().removesuffix(".py") if name.endswith(".py") else name.strip().replace(".", "/"))
        inputs += [module, Path(f"{module}.py")] if name else []
    return inputs, files
