"""How a command becomes options and is run: its arguments, its notes and errors, its result."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from filecmp import cmp
from functools import cached_property
from inspect import Parameter, Signature, getdoc
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import typer

from dstbench.cli.options import (
    CHOSEN,
    DETAILS,
    Declared,
    Detail,
    Option,
    convention_options,
    listed_names,
    load,
    meanings_in,
    option,
    parameters,
)
from dstbench.cli.output import Notes, as_path, emit, progress, reporting, say, write_files
from dstbench.errors import UsageError, warn
from dstbench.typing import EngineName, FigureFormat, TableFormat

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention

# The options that name a file, and a folder, to write; every other path is read.
_OUTPUTS: Final = ("out", "output", "log", "review", "manifest")
_FOLDERS: Final = ("charts", "figures")
# Options whose texts NAME=FILE name a file to read.
_NAMED_FILES: Final = ("tables", "versions", "other_golds", "along")
# The options of `Shared`, by the part of a command that they are for.
_SHARED: Final = ("drawing", "engine", "table", "file", "common")
# The options of a command, by what they are for.
_Options: TypeAlias = Mapping[str, Mapping[str, Option]]


class Result(NamedTuple):
    """The result of a command: a text for the terminal or a file, files to name, a line for stderr, the exit code."""

    text: str | None = None
    written: Sequence[Path] = ()
    summary: str | None = None
    output: Path | None = None
    code: int = 0


@dataclass(frozen=True)
class Shared:
    """The options that several commands share; a command has those of its charts, engine, table and file.

    Attributes:
        charts: Also write the charts to this folder, as Vega-Lite.
        figures: Also draw the charts as figures and write them to this folder.
        figure_format: File type of the figures.
        width: Width of the figures; default: ACL's column (219), or page (455) if wide.
        engine: Compute in this process, or on a Ray cluster.
        address: The Ray cluster to join, or auto; default: this machine only.
        chosen: Output format of the table; default: by the name of -o (x.json), else text.
        everything: Show all tables, rows and columns in text too, and how the numbers were computed.
        signature: Show the whole signature in text too.
        output: Write to this file instead of the terminal.
        label: LaTeX's label of the table; default: by the command, such as tab:score.
        plugins: Python module with your own metrics, formats or profiles, or TOML file of formats as rows. Repeatable.
        verbose: Show every note, not one line for each kind.
    """

    charts: Path | None = None
    figures: Path | None = None
    figure_format: FigureFormat = "svg"
    width: float | None = None
    engine: EngineName = "local"
    address: str | None = None
    chosen: TableFormat | None = None
    everything: bool = False
    signature: bool = False
    output: Path | None = None
    label: str | None = None
    plugins: list[str] | None = None
    verbose: bool = False

    @cached_property
    def form(self) -> TableFormat:
        """The format of the table; cached, as a note is given once."""
        return self.form_of(self.output)

    def form_of(self, output: Path | None) -> TableFormat:
        """The format of a table that goes to this file; warns if the file's name ends in another format."""
        of_name = promised(output, TableFormat)
        if of_name and self.chosen and of_name != self.chosen:
            warn(f"{output} holds {self.chosen}; --format {of_name} writes {of_name}")
        return self.chosen or of_name or "text"

    def enter(self, stack: ExitStack, names: Iterable[str]) -> None:
        """Use the engine, and lay tables out for where they go, if there are such options, until `stack` is closed."""
        if "engine" in names:
            stack.enter_context(load("scoring.partitions:engine")(self.engine, address=self.address))
        if "chosen" in names:
            if self.label is not None:
                if self.form != "latex":
                    raise UsageError("--label is for LaTeX only", hint="--format latex")
                if not re.fullmatch(r"[A-Za-z0-9:._/-]+", self.label):
                    raise UsageError(f"--label {self.label!r} cannot be a label", hint="letters, digits, and : . _ / -")
            from dstbench.rendering.terminal import Screen, laid_out_for, screen_of

            screen = screen_of(sys.stdout) if str(self.output or "-") == "-" else Screen()
            stack.enter_context(laid_out_for(screen._replace(everything=self.everything, signature=self.signature)))

    def write(self, charts_of: str, *args: Any) -> list[Path]:
        """Write the charts that ``module:name`` makes of the arguments to the folders that are given; their paths."""
        if self.charts is None and self.figures is None:
            return []
        from dstbench.rendering.charts.draw import draw_figure, specification
        from dstbench.rendering.tables import render_object

        charts, written = load(charts_of)(*args), []
        if self.charts is not None:
            texts = {f"{name}.vl.json": render_object(specification(chart)).encode() for name, chart in charts.items()}
            written += write_files(texts, self.charts)
        if self.figures is not None:
            form = self.figure_format
            drawn = {f"{name}.{form}": draw_figure(chart, form, self.width) for name, chart in charts.items()}
            written += write_files(drawn, self.figures)
        return written


def promised(output: Path | None, formats: Any) -> Any:
    """The format that a file's name ends in; None if it ends in none of `formats` (a ``Literal``)."""
    ending = output.suffix.lower() if output else ""
    form = {".tex": "latex"}.get(ending, ending[1:])
    return form if form in get_args(formats) else None


@dataclass(frozen=True)
class Call:
    """A command that is being run, with the arguments of its function, how runs are read, and its shared options."""

    command: Command
    arguments: dict[str, Any]
    reading: Mapping[str, Any]
    shared: Shared
    convention: Callable[[], Convention]

    @property
    def form(self) -> TableFormat:
        """The format of its table."""
        return self.shared.form

    def compute(self) -> Any:
        """What the function `Command.of` returns."""
        return load(self.command.of)(**self.arguments)

    def shown(self, result: Any, *drawn: Any, **shown: Any) -> Result:
        """A result as text and charts; both may depend on further options."""
        text = load(self.command.show)(result, self.form, **shown)
        return Result(text, self.drawn(result, *drawn))

    def drawn(self, *results: Any) -> list[Path]:
        """Write the charts of a result, if the command has any; their files."""
        return self.shared.write(self.command.charts, *results) if self.command.charts else []


def usual(call: Call, **shown: Any) -> Result:
    """A command that shows what its function returns."""
    return call.shown(call.compute(), **shown)


@dataclass(frozen=True)
class Command:
    """A command: the function of which it shows the result, and how.

    The options are the keyword arguments of `of` (``profile`` and ``**reading`` stand for many) and those of `run`;
    their help is what the docstrings say. `details` has what a signature cannot say.
    """

    name: str  # those of the group ``audit`` begin with it
    help: str
    example: str  # without ``dstbench``
    doing: str  # what the spinner says while the command computes, such as "scoring"
    of: str = ""  # the function that computes, as ``module:name``
    show: str = "rendering.tables:render"  # makes a text of the result and the format
    charts: str = ""  # makes charts of the result, if there are any
    run: str = "cli.command:usual"  # runs the command, and its keyword arguments are options, too
    shown: Sequence[Declared] = ()  # further options, which are arguments of `show`
    choices: Sequence[str] = tuple(CHOSEN)  # the choices of a convention that are options; others would change nothing
    profile: str = "verbatim"  # the default one
    reads: bool = False  # whether `run` reads runs itself
    table: Literal["file", "shown", ""] = "file"  # a table that -o can write to a file, or that is only shown; or none
    details: Mapping[str, Detail] = field(default_factory=dict)  # of options, where they differ from other commands'
    hidden: Sequence[str] = ()  # parameters of `of` without an option

    def add(self, app: typer.Typer) -> None:
        """Add it to an application."""
        *_, name = self.name.split()
        options = _options_of(self) if _may_run(name) else {}

        def run(**given: Any) -> None:
            _run(self, options, given)

        run.__signature__ = Signature(  # type: ignore[attr-defined] # Typer makes options of it
            [
                Parameter(key, Parameter.KEYWORD_ONLY, default=one.default, annotation=one.annotation)
                for of_role in options.values()
                for key, one in of_role.items()
            ]
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


def _options_of(command: Command) -> _Options:
    """The options of a command, by whom they are for, in the order of its help."""
    declared = {one.name: one for one in (parameters(command.of) if command.of else ())}
    has_runs, reads = {"data", "**reading"} <= declared.keys(), "**reading" in declared
    hidden = {"profile", "**reading", *command.hidden, *(["data"] if has_runs else [])}
    meanings = meanings_in(getdoc(Shared) or "")

    def options(of: Iterable[Declared]) -> dict[str, Option]:
        return {one.name: option(one, command.details.get(one.name) or DETAILS.get(one.name) or Detail()) for one in of}

    def shared(*names: str) -> dict[str, Option]:
        kinds = {one.name: (str(one.type).removesuffix(" | None"), one.default) for one in fields(Shared)}
        return options(Declared(name, *kinds[name], meanings[name]) for name in names)

    runs: list[Declared] = []
    reading: list[Declared] = []
    if has_runs:
        runs = [Declared("runs", "list[Path]", declared["data"].default, "", is_positional=True)]
    if reads or command.reads:
        reading = [one._replace(default=None) for one in parameters("runs.open:open_runs") if one.name != "data"]
        reading = sorted(
            (one for one in reading if has_runs or one.name != "names"), key=lambda one: one.name == "names"
        )
    if command.table == "shown":
        meanings["chosen"] = "Output format of the table; default: text."
    has_profile = "profile" in declared or (command.reads and command.table)
    return {
        "function": options(one for one in declared.values() if one.name not in hidden),
        "own": options([one for one in parameters(command.run) if one.type and one.name != "call"] + [*command.shown]),
        "drawing": shared("charts", "figures", "figure_format", "width") if command.charts else {},
        "runs": options(runs),
        "reading": options(reading),
        "engine": shared("engine", "address") if has_runs else {},
        "table": shared("chosen", "everything", "signature") if command.table else {},
        "file": shared("output", "label") if command.table == "file" else {},
        "convention": convention_options(command.profile, command.choices) if has_profile else {},
        "common": shared("plugins", "verbose"),
    }


def _call(
    command: Command, options: Mapping[str, Mapping[str, Option]], given: Mapping[str, Any], shared: Shared
) -> Call:
    """What is given as arguments."""

    def values(role: str) -> dict[str, Any]:
        return {name: _text(one.parse(given[name])) for name, one in options[role].items()}

    def convention() -> Convention:
        chosen = {name: _text(given[name]) for name in options["convention"] if name != "profile"}
        return load("conventions.profiles:profile")(given["profile"], **chosen)  # type: ignore[no-any-return]

    reading = values("reading")
    if options["runs"]:
        _warn_of_copies(given["runs"] or ())
        reading["names"] = listed_names(reading["names"], len(given["runs"] or ()))
    arguments = {name: value for name, value in values("function").items() if value is not None}
    if options["runs"]:
        arguments["data"] = _text(given["runs"] or None)
    if command.of:
        arguments |= reading
    if options["convention"] and command.of:
        arguments["profile"] = convention()
    return Call(command, arguments, reading, shared, convention)


def _warn_of_copies(runs: Iterable[Path]) -> None:
    """Warn of a run's file that is a copy of another's."""
    for one, other in combinations([path for path in runs if path.is_file()], 2):
        is_copy = one.stat().st_size == other.stat().st_size and not one.samefile(other)
        if is_copy and cmp(one, other, shallow=False):
            warn(f"{other} has the same content as {one}", kind="copies of files", when="before")


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
            from dstbench.io.atomic import guarding_inputs, refuse_overwriting
            from dstbench.io.limits import check_threads

            check_threads()
            _refuse_other_encodings(given)
            refuse_overwriting(*_paths(given))
            stack.enter_context(guarding_inputs())
            if given["plugins"]:
                load("plugins:use")(given["plugins"])
                if ".toml" in ",".join(given["plugins"]):
                    load("readers.registry:check_declared")()
            names = [name for role in _SHARED for name in options[role]]
            shared = Shared(**{name: given[name] for name in names})
            shared.enter(stack, names)
            call = _call(command, options, given, shared)
            own = {name: one.parse(given[name]) for name, one in options["own"].items()}
            result: Result = load(command.run)(call, **own)
        notes.tell("before")
        if result.text is not None:
            label = shared.label
            text = result.text if label is None else load("rendering.latex:relabelled")(result.text, label)
            output = result.output or shared.output
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
