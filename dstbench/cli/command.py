"""How a command becomes options and is run: its arguments, its notes and errors, its result."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from filecmp import cmp
from functools import cached_property
from inspect import Parameter, Signature, getdoc, signature
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

import typer

from dstbench.cli.options import CHOSEN, Detail, Option, convention_options, listed_names, load, option, options_of
from dstbench.cli.output import Notes, as_path, emit, progress, reporting, write_files
from dstbench.errors import UsageError, visible, warn
from dstbench.typing import EngineName, FigureFormat, TableFormat

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention

# The options that name a file, and a folder, to write; every other path is read.
_OUTPUTS: Final = ("out", "output", "log", "review", "manifest")
_FOLDERS: Final = ("charts", "figures")
# Options whose texts NAME=FILE name a file to read, and those whose texts may be files.
_NAMED_FILES: Final = ("tables", "versions", "other_golds", "along")
_FILES: Final = ("profile", "profiles", "plugins")


class Result(NamedTuple):
    """The result of a command: a text for the terminal or a file, files to name, a line for stderr, the exit code."""

    text: str | None = None
    written: Sequence[Path] = ()
    summary: str | None = None
    output: Path | None = None
    code: int = 0


@dataclass(frozen=True, kw_only=True)
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
        plugins: Python module with your own metrics, formats or profiles, or TOML file of formats as rows.
        verbose: Show every note, not one line for each kind.
    """

    charts: Path | None = None
    figures: Path | None = None
    figure_format: FigureFormat = "svg"
    width: float | None = None
    engine: EngineName | None = "local"
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
        of_name: TableFormat | None = promised(output, TableFormat)
        if of_name and self.chosen and of_name != self.chosen:
            warn(f"{output} holds {self.chosen}; --format {of_name} writes {of_name}")
        return self.chosen or of_name or "text"


def promised(output: Path | None, formats: Any) -> Any:
    """The format that a file's name ends in; None if it ends in none of `formats` (a ``Literal``)."""
    ending = output.suffix.lower() if output else ""
    form = {".tex": "latex"}.get(ending, ending[1:])
    return form if form in get_args(formats) else None


@dataclass(frozen=True)
class Command:
    """A command: the function of which it shows the result, and how.

    The options are the keyword arguments of `of` (``profile`` and ``**reading`` stand for many), and those of `run` or
    of the layout; their help is what the docstrings say. `details` has what a signature cannot say.
    """

    example: str  # without ``dstbench``; it begins with the name of the command
    help: str
    of: str = ""  # the function that computes, as ``module:name``
    run: Callable[..., Result] | None = None  # does what the command does; None: it shows what `of` returns
    charts: str = ""  # makes charts of the result, if there are any
    choices: Sequence[str] = tuple(CHOSEN)  # the choices of a convention that are options; others would change nothing
    profile: str = "verbatim"  # the default one
    reads: bool = False  # whether `run` reads runs itself
    table: Literal["file", "shown", ""] = "file"  # a table that -o can write to a file, or that is only shown; or none
    details: Mapping[str, Detail] = field(default_factory=dict)  # of options, where they differ from other commands'

    @property
    def name(self) -> str:
        """Its name; those of the group ``audit`` begin with it."""
        words = self.example.split()
        return " ".join(words[: 2 if words[0] == "audit" else 1])

    def options(self) -> list[Option]:
        """Its options, in the order of its help."""
        of = load(self.of) if self.of else None
        names = signature(of).parameters if of else {}
        has_runs, reads = {"data", "reading"} <= names.keys(), "reading" in names or self.reads
        shown_only = {"chosen": {"flags": ["--format"], "help": "Output format of the table; default: text."}}
        details = {**(shown_only if self.table == "shown" else {}), **self.details}

        def shared(*names: str) -> list[Option]:
            return options_of(Shared, "shared", details, names)

        hidden = ["profile", *(["data"] if has_runs else [])]
        options = options_of(of, "function", details, without=hidden) if of else []
        if self.run:
            options += options_of(self.run, "own", details, without=["call"])
        elif layout := load("rendering.tables:layout_function")(str(signature(of).return_annotation)):  # type: ignore[arg-type]
            options += [one for one in options_of(layout, "shown", details) if one.default is not Parameter.empty]
        options += shared("charts", "figures", "figure_format", "width") if self.charts else []
        if has_runs:
            default = names["data"].default
            options.append(option("runs", "runs", "list[Path]", default, details, is_positional=True))
        if reads:
            read = options_of(load("runs.open:open_runs"), "reading", details, without=["data"])
            read = [one._replace(default=None) for one in read if has_runs or one.name != "names"]
            options += sorted(read, key=lambda one: one.name == "names")
        options += shared("engine", "address") if has_runs else []
        options += shared("chosen", "everything", "signature") if self.table else []
        options += shared("output", "label") if self.table == "file" else []
        if "profile" in names or (self.reads and self.table):
            options += convention_options(self.profile, self.choices)
        return options + shared("plugins", "verbose")

    def add(self, app: typer.Typer) -> None:
        """Add it to an application."""
        *_, name = self.name.split()
        options = self.options() if _may_run(name) else []

        def run(**given: Any) -> None:
            _run(self, options, {name: None if value == [] else value for name, value in given.items()})

        run.__signature__ = Signature(  # type: ignore[attr-defined] # Typer makes options of it
            [Parameter(o.name, Parameter.KEYWORD_ONLY, default=o.default, annotation=o.annotation) for o in options]
        )
        run.__annotations__ = {}
        run.__doc__ = self.help
        sentence = re.split(r"(?<=\.)\s", self.help, maxsplit=1)[0]  # which Typer would cut
        app.command(name, short_help=sentence, epilog=f"Example: dstbench {self.example}")(run)


#: All commands, in the order in which ``--help`` lists them.
COMMANDS: Final = list[Command]()


def shows(example: str, help: str, **more: Any) -> None:  # noqa: A002 (Typer's word)
    """Make a command that shows what a function (`Command.of`) returns."""
    COMMANDS.append(Command(example, help, **more))


def command(example: str, **more: Any) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Make a command of a function; its help is the docstring's, before ``Args``."""

    def add(run: Callable[..., Result]) -> Callable[..., Result]:
        COMMANDS.append(Command(example, (getdoc(run) or "").partition("\n\nArgs:")[0], run=run, **more))
        return run

    return add


def _may_run(name: str) -> bool:
    """Whether this process may run a command, or complete its words; one not started as ``dstbench`` may run any."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    is_command = Path(sys.argv[0]).stem == "dstbench" or (main is not None and main.name == "dstbench.__main__")
    words = [*sys.argv, *os.environ.get("COMP_WORDS", "").split()]
    return not is_command or name in words or (name == "score" and any(map(is_path, sys.argv[1:2])))


def is_path(word: str) -> bool:
    """Whether a word in place of a command is a file's."""
    return "." in word or os.sep in word or os.path.exists(word)


class Call:
    """A command that is being run: its function's arguments, its own, how runs are read, and the shared options."""

    def __init__(self, command: Command, options: Iterable[Option], given: Mapping[str, Any], shared: Shared) -> None:
        of_role: dict[str, dict[str, Any]] = {}
        for one in options:
            value = one.parse(given[one.name])
            is_output = one.role == "own" and one.name in _OUTPUTS
            of_role.setdefault(one.role, {})[one.name] = value if is_output else _text(value)
        self.command, self.shared = command, shared
        self.own, self._of_layout = of_role.get("own", {}), of_role.get("shown", {})
        self._convention = of_role.get("convention", {})
        self.reading = of_role.get("reading", {})
        self.arguments = {name: value for name, value in of_role.get("function", {}).items() if value is not None}
        if "runs" in of_role:
            runs = given["runs"] or ()
            for one, other in combinations([path for path in runs if path.is_file()], 2):
                is_copy = one.stat().st_size == other.stat().st_size and not one.samefile(other)
                if is_copy and cmp(one, other, shallow=False):
                    warn(f"{other} has the same content as {one}", kind="copies of files", when="before")
            self.reading["names"] = listed_names(self.reading["names"], len(runs))
            self.arguments["data"] = of_role["runs"]["runs"]
        if command.of:
            self.arguments |= self.reading
            if self._convention:
                self.arguments["profile"] = self.convention()

    def convention(self) -> Convention:
        """The convention that is asked for."""
        chosen = dict(self._convention)
        convention: Convention = load("conventions.profiles:profile")(chosen.pop("profile"), **chosen)
        return convention

    @cached_property
    def _short_names(self) -> Mapping[str, str]:
        data = self.arguments.get("data")
        if self.reading.get("names") or not isinstance(data, list) or len(data) < 2:
            return {}
        parts = load("runs.open:parts_to_open")(data, **self.reading)
        names: Mapping[str, str] = load("runs.open:short_names")([name for name, _ in parts])
        return names

    def named(self, result: Any, form: str | None = None) -> Any:
        """A result for a format: where people read it, files' runs have names without what all have in common."""
        is_read = (form or self.shared.form) not in ("json", "csv")
        return load("rendering.tables:renamed")(result, self._short_names) if is_read else result

    def compute(self) -> Any:
        """What the function `Command.of` returns."""
        return load(self.command.of)(**self.arguments)

    def shown(self, result: Any, **options: Any) -> Result:
        """A result as text and charts; both may depend on options, the text more."""
        result = self.named({self.command.name: result} if hasattr(result, "columns") else result)
        options |= self._of_layout
        text: str = load("rendering.tables:render")(result, self.shared.form, **options)
        return Result(text, self.drawn(result, **options))

    def drawn(self, result: Any, charts: str = "", **options: Any) -> list[Path]:
        """Write the charts of a result (by another function than the command's, if `charts` names it); their files."""
        shared, charts = self.shared, charts or self.command.charts
        if not charts or (shared.charts is None and shared.figures is None):
            return []
        from dstbench.io.escape import json_text
        from dstbench.rendering.charts.draw import draw_figure, specification

        make, written, form = load(charts), list[Path](), shared.figure_format
        (result,) = result.values() if isinstance(result, dict) else [result]
        made = make(result, **{name: options[name] for name in signature(make).parameters if name in options})
        if shared.charts is not None:
            specs = {name: json_text(specification(chart), allow_nan=False) for name, chart in made.items()}
            written += write_files({f"{name}.vl.json": spec.encode() for name, spec in specs.items()}, shared.charts)
        if shared.figures is not None:
            drawn = {f"{name}.{form}": draw_figure(chart, form, shared.width) for name, chart in made.items()}
            written += write_files(drawn, shared.figures)
        return written


def _text(value: Any) -> Any:
    """Paths as texts, as functions take them."""
    if isinstance(value, list):
        return [_text(item) for item in value]
    return as_path(value) if isinstance(value, Path) else value


def _run(command: Command, options: Sequence[Option], given: Mapping[str, Any]) -> None:
    shared = Shared(**{one.name: given[one.name] for one in options if one.role == "shared"})
    notes, label = Notes(verbose=shared.verbose), shared.label
    with ExitStack() as stack:
        stack.callback(notes.tell)
        with reporting(notes), progress(command.name):
            from dstbench.io.atomic import guarding_inputs, refuse_overwriting, refuse_without_folder
            from dstbench.io.limits import THREADS
            from dstbench.rendering.terminal import Screen, laid_out_for, screen_of

            _ = THREADS.value  # refused, if it cannot be meant, before Polars reads it
            outputs = [path for name in _OUTPUTS if (path := given.get(name)) and isinstance(path, Path)]
            files = [path for path in outputs if str(path) != "-"]
            refuse_overwriting([*_files_read(given)], [Path("/dev/stdout"), *files])  # it may be a file, too
            refuse_without_folder(files, [given.get(name) for name in _FOLDERS])
            stack.enter_context(guarding_inputs())
            if shared.plugins:
                load("plugins:use")(shared.plugins)
                load("readers.registry:check_declared")()
            if "engine" in given:
                stack.enter_context(load("scoring.partitions:engine")(shared.engine, address=shared.address))
            if label is not None and shared.form != "latex":
                raise UsageError("--label is for LaTeX only", hint="--format latex")
            if label is not None and not re.fullmatch(r"[A-Za-z0-9:._/-]+", label):
                raise UsageError(f"--label {label!r} cannot be a label", hint="letters, digits, and : . _ / -")
            if "chosen" in given:
                screen = screen_of(sys.stdout) if str(shared.output or "-") == "-" else Screen()
                screen = screen._replace(everything=shared.everything, signature=shared.signature, label=label)
                stack.enter_context(laid_out_for(screen))
            call = Call(command, options, given, shared)
            result = command.run(call, **call.own) if command.run else call.shown(call.compute())
            notes.rename = call.named
        notes.tell("before")
        if result.text is not None:
            output = result.output or shared.output
            emit(result.text, output)
            if output is None and sys.stdout.isatty():
                notes.shown(result.text)
        notes.tell()
        for line in [*(f"wrote {path}" for path in result.written), *filter(None, [result.summary])]:
            typer.echo(visible(line), err=True)  # so that no file's name controls the terminal
        if result.code:
            raise typer.Exit(result.code)


def _files_read(given: Mapping[str, Any]) -> Iterator[Path]:
    """The files that a command line names to be read; refuses texts that are not UTF-8, which no table could hold."""
    for name, value in given.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(item, Path) and name not in (*_OUTPUTS, *_FOLDERS):
                yield Path(as_path(item))
            elif isinstance(item, str):
                text, _, file = item.partition("=") if name in _NAMED_FILES else (item, "", "")
                if text.encode("utf-8", "ignore").decode() != text:
                    raise UsageError(f"{text!r} is not UTF-8", hint="set the terminal, or the script, to UTF-8")
                parts = [file] if name in _NAMED_FILES else item.split(",") if name in _FILES else []
                yield from (Path(part.strip()) for part in parts if file or part.endswith((".py", ".toml")))
