"""The options that several commands share, and those of a convention.

Typer looks at the annotations of every command at every start, whichever is asked for: in the modules of commands they
are no strings (``from __future__ import annotations``), which would be compiled each time.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_origin, get_type_hints

import typer

from dstbench.cli.output import as_path, reporting, spare_inputs, write_files
from dstbench.conventions.choices import CHOICES, description, file_type
from dstbench.typing import EngineName, FigureFormat, Missing, TableFormat

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention


def _completed(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What a shell offers for a word: the names that it may become; of several with commas, the last."""

    def complete(incomplete: str) -> list[str]:
        done, comma, last = incomplete.rpartition(",")
        return [f"{done}{comma}{name}" for name in names() if name.startswith(last)]

    return complete


def _metrics() -> Iterable[str]:
    from dstbench.metrics import REGISTRY

    return REGISTRY


def _formats() -> Iterable[str]:
    from dstbench.readers import FORMATS

    return FORMATS


def _profiles() -> Iterable[str]:
    from dstbench.conventions.profiles import PROFILES

    return PROFILES


Gold = Annotated[Path | None, typer.Option(help="File or folder with the gold states, where they are not inside.")]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="FORMAT",
        help="Native format; default: found by content.",
        autocompletion=_completed(_formats),
    ),
]
MissingOption = Annotated[
    Missing | None,
    typer.Option(help=description(CHOICES["missing"])),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--metrics",
        help="Such as jga,fga:lam=0.25; see `ls metrics`.",
        autocompletion=_completed(_metrics),
    ),
]
Split = Annotated[
    str | None,
    typer.Option(help="train, dev or test, where gold has several; default: the one with predictions."),
]
FormatOption = Annotated[TableFormat, typer.Option("--format", help="Output format of the table.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file instead of the terminal.")]


@dataclass(frozen=True)
class Asked:
    """The runs that a command is asked for, and how they are to be read; its fields are the options."""

    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Prediction files, packed or not, folders of them, or long tables (.parquet)."
        ),
    ]
    gold: Gold = None
    from_format: From = None
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Name of a run, in the order of the runs; repeat for several.")
    ] = None
    missing: MissingOption = None
    split: Split = None
    engine: Annotated[EngineName, typer.Option(help="Compute in this process, or on a Ray cluster.")] = "local"
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="The Ray cluster to join, or auto; this machine if not given."),
    ] = None

    @property
    def paths(self) -> list[str]:
        """The runs, as functions take them."""
        return [as_path(run) for run in self.runs]

    @property
    def how(self) -> dict[str, Any]:
        """How they are to be read, as functions take it."""
        return {
            "gold": self.gold and as_path(self.gold),
            "format": self.from_format,
            "names": self.name or None,
            "missing": self.missing,
            "split": self.split,
        }

    def spare(self, output: Path | None) -> None:
        """Refuse to write over what is read."""
        spare_inputs(output, [*self.runs, *([self.gold] if self.gold else [])])


@dataclass(frozen=True)
class Drawing:
    """The folders that charts go to, as specifications and drawn; its fields are the options."""

    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write the charts to this folder, as Vega-Lite.")
    ] = None
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the charts as figures and write them to this folder.")
    ] = None
    figure_format: Annotated[FigureFormat, typer.Option(help="File type of the figures.")] = "svg"

    def check(self) -> None:
        """Say it before the work is done if figures cannot be drawn."""
        if self.figures is not None:
            from dstbench.rendering.figures import check_drawing

            check_drawing()

    def write(self, charts: dict[str, dict[str, Any]]) -> list[Path]:
        """Write charts as it was asked for; the paths of the files."""
        from dstbench.rendering.tables import render_object

        written = []
        if self.charts is not None:
            texts = {f"{name}.vl.json": render_object(chart).encode() for name, chart in charts.items()}
            written += write_files(texts, self.charts)
        if self.figures is not None:
            from dstbench.rendering.figures import draw_figure

            drawn = {f"{name}.{self.figure_format}": draw_figure(c, self.figure_format) for name, c in charts.items()}
            written += write_files(drawn, self.figures)
        return written


#: The convention that the options ask for, to be made where errors are reported.
Choices: TypeAlias = Callable[[], "Convention"]
_CONVENTION = "Convention"  # the panel of these options in --help
#: The choices that can be made beside ``--profile``, by the convention's field.
_CHOICES = {name: choice for name, choice in CHOICES.items() if choice.metadata["option"] is not None}


def named_values(
    flag: str, given: list[str] | None, what: str, example: str, *, once: bool = False
) -> dict[str, str] | None:
    """What a repeatable option NAME=VALUE is given: name to value; None if it is not given.

    Args:
        flag: The option, for messages.
        given: What stands after it, each time.
        what: What that is, in words.
        example: One.
        once: Whether a name may be given only once; else its values become one, with commas.
    """
    from dstbench.errors import UsageError

    found: dict[str, str] = {}
    for part in given or ():
        name, _, value = part.partition("=")
        if not name or not value:
            raise UsageError(f"{flag} {part!r} names no {what}", hint=f"{flag} {example}")
        if once and name in found:
            raise UsageError(f"{flag} {name!r} is given twice", hint="give each a name of its own")
        found[name] = f"{found[name]},{value}" if name in found else value
    return found or None


def takes_runs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the runs and the options of reading them; it gets them as `asked`, an `Asked`.

    What it computes is the work of the engine that is asked for.
    """

    @functools.wraps(command)
    def with_engine(*, asked: Asked, **values: Any) -> None:
        with ExitStack() as stack:
            with reporting():
                from dstbench.scoring.engines import engine

                stack.enter_context(engine(asked.engine, address=asked.address))
            command(asked=asked, **values)

    return _takes(with_engine, "asked", _options_of(Asked), Asked)


def takes_drawing(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its charts; it gets them as `drawing`, a `Drawing`."""
    return _takes(command, "drawing", _options_of(Drawing), Drawing)


def takes_convention(
    command: Callable[..., None], *, default: str = "verbatim", only: Collection[str] = _CHOICES
) -> Callable[..., None]:
    """Give a command ``--profile`` and an option per choice; it gets them as `convention`, a function to call.

    Args:
        command: The command.
        default: The profile where none is named.
        only: The choices that it offers, by the convention's fields, where others would change nothing.
    """

    def asked_for(*, profile: str, **choices: Any) -> Callable[[], "Convention"]:
        def convention() -> "Convention":
            from dstbench.conventions.profiles import profile as named

            return named(profile, **{k: str(v) if isinstance(v, Path) else v for k, v in choices.items()})

        return convention

    named, choices = _convention_options()
    options = {"profile": (named, default)} | {name: option for name, option in choices.items() if name in only}
    return _takes(command, "convention", options, asked_for)


@functools.cache  # to make them takes long, and all commands have the same
def _convention_options() -> tuple[Any, Mapping[str, tuple[Any, Any]]]:
    """The type of ``--profile``, and of each choice its type and default."""
    help_of_profile = "Convention of values; see `ls profiles`."
    complete = _completed(_profiles)
    named = Annotated[str, typer.Option(help=help_of_profile, rich_help_panel=_CONVENTION, autocompletion=complete)]
    options = {}
    for name, choice in _CHOICES.items():
        values: Any = Path if file_type(choice) else choice.type if get_origin(choice.type) is Literal else str
        flag = choice.metadata["option"] or name.replace("_", "-")
        option = typer.Option(f"--{flag}", help=description(choice), rich_help_panel=_CONVENTION)
        options[name] = (Annotated[values | None, option], None)
    return named, options


@functools.cache
def _options_of(record: type) -> Mapping[str, tuple[Any, Any]]:
    """The fields of a record as options: name to type and default."""
    hints = get_type_hints(record, include_extras=True)
    needed = inspect.Parameter.empty
    return {f.name: (hints[f.name], needed if f.default is MISSING else f.default) for f in fields(record)}


def _takes(
    command: Callable[..., None], given: str, options: Mapping[str, tuple[Any, Any]], make: Callable[..., Any]
) -> Callable[..., None]:
    """A command with options (name to type and default) in place of its parameter `given`, which is made of them."""

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        command(**{given: make(**{name: values.pop(name) for name in options})}, **values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.parameters.items():
        if name == given:
            parameters += [inspect.Parameter(o, keyword, default=d, annotation=a) for o, (a, d) in options.items()]
        else:
            parameters.append(parameter.replace(kind=keyword))
    with_options.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined] # Typer reads it
    with_options.__annotations__ = {}  # the signature has them; else Typer works them out anew, several times
    return with_options
