"""How a command becomes options and is run: its arguments, its notes and errors, its result."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from filecmp import cmp
from inspect import Parameter, Signature
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from dstbench.cli.declared import Declared, Detail, Option, load, option, parameters
from dstbench.cli.options import (
    CHOSEN,
    Drawing,
    Engine,
    Group,
    Table,
    TableOutput,
    convention_options,
    detail_of,
    listed_names,
)
from dstbench.cli.output import Notes, as_path, emit, progress, reporting, say

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention

# The options that name a file, and a folder, to write; every other path is read.
_OUTPUTS: Final = ("out", "output", "log", "review", "manifest")
_FOLDERS: Final = ("charts", "figures")
# Options whose texts NAME=FILE name a file to read.
_NAMED_FILES: Final = ("tables", "versions", "other_golds", "along")
_RUNS: Final = Detail(
    metavar="RUN...", help="Prediction files, packed or not, folders of them, or long tables (.parquet)."
)
# Every command has them: any may have notes, or meet a name that is not built in.
_PLUGINS: Final = (
    "Python module with your own metrics, formats or profiles, or TOML file of formats as rows. Repeatable."
)
_VERBOSE: Final = "Show every note, not one line for each kind."
_COMMON: Final = {
    name: option(Declared(name, kind, default, words, False), detail_of(name, {}))
    for name, kind, default, words in (
        ("plugins", "list[str]", None, _PLUGINS),
        ("verbose", "bool", False, _VERBOSE),
    )
}


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


@dataclass(frozen=True)
class Call:
    """A command that is being run.

    Attributes:
        command: The command.
        arguments: The arguments of its function `Command.of`.
        reading: How runs are read, as keyword arguments of functions.
        table: How its table is shown.
        drawing: Where its charts are written.
        convention: The convention that its options describe.
    """

    command: Command
    arguments: dict[str, Any]
    reading: Mapping[str, Any]
    table: Table
    drawing: Drawing
    convention: Callable[[], Convention]

    def compute(self) -> Any:
        """What the function `Command.of` returns."""
        return load(self.command.of)(**self.arguments)

    def shown(self, result: Any, *drawn: Any, **shown: Any) -> Result:
        """A result as text and charts; both may depend on further options."""
        text = load(self.command.show)(result, self.table.form, **shown)
        return Result(text, self.drawn(result, *drawn))

    def drawn(self, *results: Any) -> list[Path]:
        """Write the charts of a result, if the command has any; their files."""
        return self.drawing.write(self.command.charts, *results) if self.command.charts else []


def usual(call: Call) -> Result:
    """A command that shows what its function returns."""
    return call.shown(call.compute())


@dataclass(frozen=True)
class Command:
    """A command: the function of which it shows the result, and how.

    The options are the keyword arguments of `of` (``profile`` and ``**reading`` stand for many) and those of `run`;
    their help is what the docstrings say. `details` has what a signature cannot say.

    Attributes:
        name: Its name; those of the group ``audit`` begin with it.
        help: What it does.
        example: The example in its help, without ``dstbench``.
        doing: What the spinner says while the command computes, such as "scoring".
        of: The function that computes, as ``module:name``.
        show: The function that makes a text of the result and the format.
        charts: The function that makes charts of the result; empty: it has none.
        run: The function that runs the command, and whose keyword arguments are options, too.
        choices: The choices of a convention that it has options for; the others would change nothing.
        profile: The default profile.
        reads: Whether `run` reads runs itself.
        table: The options of its table; None: it shows no table.
        details: Details of its options that differ from those of other commands.
        hidden: Parameters of `of` without an option.
    """

    name: str
    help: str
    example: str
    doing: str
    of: str = ""
    show: str = "rendering.tables:render"
    charts: str = ""
    run: str = "cli.command:usual"
    choices: Sequence[str] = tuple(CHOSEN)
    profile: str = "verbatim"
    reads: bool = False
    table: type[Table] | None = TableOutput
    details: Mapping[str, Detail] = field(default_factory=dict)
    hidden: Sequence[str] = ()

    def add(self, app: typer.Typer) -> None:
        """Add it to an application."""
        *_, name = self.name.split()
        options = _Options(self) if _may_run(name) else None

        def run(**given: Any) -> None:
            if options:
                _run(self, options, given)

        keyword = Parameter.KEYWORD_ONLY
        shown = options.all if options else {}
        run.__signature__ = Signature(  # type: ignore[attr-defined] # Typer makes options of it
            [Parameter(key, keyword, default=one.default, annotation=one.annotation) for key, one in shown.items()]
        )
        run.__annotations__ = {}
        run.__doc__ = self.help
        sentence = re.split(r"(?<=\.)\s", self.help, maxsplit=1)[0]  # which Typer would cut
        app.command(name, short_help=sentence, epilog=f"Example: dstbench {self.example}")(run)


def _may_run(name: str) -> bool:
    """Whether this process may run a command. Making the options of all of them is a sixth of what ``--help`` takes.

    A process that was started as ``dstbench`` runs a command only if its name is among the words of the command line;
    one that completes words, or that imports dstbench, may need any.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    is_command = Path(sys.argv[0]).stem == "dstbench" or (main is not None and main.name == "dstbench.__main__")
    named = name in sys.argv or (name == "score" and any(map(is_path, sys.argv[1:2])))
    return not is_command or named or "_DSTBENCH_COMPLETE" in os.environ


def is_path(word: str) -> bool:
    """Whether a word in place of a command is a file's."""
    return "." in word or os.sep in word or os.path.exists(word)


class _Options:
    """The options of a command, by whom they are for."""

    def __init__(self, command: Command) -> None:
        declared = {one.name: one for one in (parameters(command.of) if command.of else ())}
        has_runs, self.reads = {"data", "**reading"} <= declared.keys(), "**reading" in declared
        hidden = {"profile", "**reading", *command.hidden, *(["data"] if has_runs else [])}

        def options(of: list[Declared]) -> dict[str, Option]:
            return {one.name: option(one, detail_of(one.name, command.details)) for one in of}

        self.function = options([one for one in declared.values() if one.name not in hidden])
        own = [one for one in parameters(command.run) if one.name != "call"]
        self.own = options(own)
        self.runs: dict[str, Option] = {}
        if has_runs:
            runs = Declared("runs", "list[Path]", declared["data"].default, "", True)
            self.runs["runs"] = option(runs, command.details.get("runs", _RUNS))
        self.reading: dict[str, Option] = {}
        if self.reads or command.reads:
            of_runs = [one for one in parameters("runs.open:open_runs") if one.name != "data"]
            of_runs.sort(key=lambda one: one.name == "names")
            self.reading = options([one._replace(default=None) for one in of_runs if has_runs or one.name != "names"])
        groups: list[tuple[str, type[Group] | None]] = [
            ("drawing", Drawing if command.charts else None),
            ("engine", Engine if has_runs else None),
            ("table", command.table),
        ]
        self.groups = {name: (kind, kind.options()) for name, kind in groups if kind}
        has_profile = "profile" in declared or (command.reads and command.table is not None)
        self.convention = convention_options(command.profile, command.choices) if has_profile else {}
        of_group = {name: group for name, (_, group) in self.groups.items()}
        self.all: dict[str, Option] = {
            **self.function,
            **self.own,
            **of_group.get("drawing", {}),
            **self.runs,
            **self.reading,
            **of_group.get("engine", {}),
            **of_group.get("table", {}),
            **self.convention,
            **_COMMON,
        }

    def call(self, command: Command, given: Mapping[str, Any], stack: ExitStack) -> tuple[Call, dict[str, Any]]:
        """What is given as arguments; the contexts of groups are entered."""
        groups = {}
        for name, (kind, options) in self.groups.items():
            groups[name] = kind(**{one: given[one] for one in options})
            stack.enter_context(groups[name].active())

        def values(options: Mapping[str, Option]) -> dict[str, Any]:
            return {name: one.parse(given[name]) for name, one in options.items()}

        def convention() -> Convention:
            chosen = {name: _text(given[name]) for name in self.convention if name != "profile"}
            return load("conventions.profiles:profile")(given["profile"], **chosen)  # type: ignore[no-any-return]

        reading = {name: _text(value) for name, value in values(self.reading).items()}
        if self.runs:
            _warn_of_copies(given["runs"] or ())
            reading["names"] = listed_names(reading["names"], len(given["runs"] or ()))
        arguments = {name: _text(value) for name, value in values(self.function).items() if value is not None}
        if self.runs:
            arguments["data"] = _text(given["runs"] or None)
        if self.reads:
            arguments |= reading
        if self.convention and command.of:
            arguments["profile"] = convention()
        table, drawing = groups.get("table"), groups.get("drawing")
        call = Call(
            command,
            arguments,
            reading,
            table if isinstance(table, Table) else Table(),
            drawing if isinstance(drawing, Drawing) else Drawing(),
            convention,
        )
        return call, values(self.own)


def _warn_of_copies(runs: Iterable[Path]) -> None:
    """Warn of a run's file that is a copy of another's."""
    for one, other in combinations([path for path in runs if path.is_file()], 2):
        is_copy = one.stat().st_size == other.stat().st_size and not one.samefile(other)
        if is_copy and cmp(one, other, shallow=False):
            load("errors:warn")(f"{other} has the same content as {one}", kind="copies of files", when="before")


def _text(value: Any) -> Any:
    """Paths as texts, as functions take them."""
    if isinstance(value, list):
        return [_text(item) for item in value]
    return as_path(value) if isinstance(value, Path) else value


def _run(command: Command, options: _Options, given: dict[str, Any]) -> None:
    given = {name: None if value == [] else value for name, value in given.items()}
    notes = Notes(verbose=given["verbose"])
    with ExitStack() as stack:
        stack.callback(notes.tell)
        with reporting(notes), progress(command.doing):
            from dstbench.io.limits import check_threads
            from dstbench.io.overwriting import guarding_inputs, refuse_overwriting

            check_threads()
            _refuse_other_encodings(given)
            refuse_overwriting(*_paths(given))
            stack.enter_context(guarding_inputs())
            if given["plugins"]:
                load("plugins:use")(given["plugins"])
                if ".toml" in ",".join(given["plugins"]):
                    load("readers.registry:check_declared")()
            call, own = options.call(command, given, stack)
            result: Result = load(command.run)(call, **own)
        notes.tell("before")
        if result.text is not None:
            label = getattr(call.table, "label", None)
            text = result.text if label is None else load("rendering.latex:relabelled")(result.text, label)
            output = result.output or getattr(call.table, "output", None)
            emit(text, output)
            if output is None and sys.stdout.isatty():
                notes.shown(text)
        notes.tell()
        for line in [*(f"wrote {path}" for path in result.written), *filter(None, [result.summary])]:
            say(line)
        if result.code:
            raise typer.Exit(result.code)


def _refuse_other_encodings(given: Mapping[str, Any]) -> None:
    """Refuse texts that are not UTF-8, which no table could hold; paths may be anything."""
    from dstbench.errors import UsageError

    for name, value in given.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            text = item.partition("=")[0] if name in _NAMED_FILES and isinstance(item, str) else item
            if isinstance(text, str) and text.encode("utf-8", "ignore").decode() != text:
                raise UsageError(f"{text!r} is not UTF-8", hint="set the terminal, or the script, to UTF-8")


def _paths(given: Mapping[str, Any]) -> tuple[list[Path], list[Path]]:
    """The paths that a command line names: to be read, and files to be written.

    Standard output is among them, as it may be a file, too.
    """
    inputs, files = [], [Path("/dev/stdout")]
    for name, value in given.items():
        values = [item for item in (value if isinstance(value, list) else [value]) if item is not None]
        paths = [item for item in values if isinstance(item, Path)]
        if name in _OUTPUTS:
            files += [path for path in paths if str(path) != "-"]
        elif name not in _FOLDERS:
            inputs += [Path(as_path(path)) for path in paths]
        if name in _NAMED_FILES:
            inputs += [Path(file) for item in values if (file := item.partition("=")[2])]
        if name.startswith("profile"):
            inputs += [Path(part) for item in values for part in item.split(",") if part.endswith(".toml")]
    for name in ",".join(given["plugins"] or ()).split(","):
        if name.endswith(".toml"):
            inputs.append(Path(name.strip()))
            continue
        module = Path(name.strip().removesuffix(".py") if name.endswith(".py") else name.strip().replace(".", "/"))
        inputs += [module, Path(f"{module}.py")] if name else []
    return inputs, files
