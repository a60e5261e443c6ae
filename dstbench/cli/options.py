"""The options that several commands share, alone and in groups, and those of a convention."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import typer

from dstbench.cli.output import as_path, write_files
from dstbench.conventions.choices import CHOICES, description, file_type
from dstbench.typing import EngineName, FigureFormat, Missing, TableFormat

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention
    from dstbench.runs.open import Reading


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


class OptionGroup:
    """Options that belong together: a command declares one parameter of this type and gets all of them as one object.

    `dstbench.cli.command` makes the command's options of `options`, and the object of their values.
    """

    @classmethod
    def options(cls) -> Mapping[str, tuple[Any, Any]]:
        """Name of each option to its type, annotated for Typer, and its default (`inspect.Parameter.empty`: none)."""
        raise NotImplementedError

    def active(self) -> AbstractContextManager[object]:
        """What holds while the command computes; it is entered before, so that what cannot work is said first."""
        return nullcontext()


class _Fields(OptionGroup):
    """A group whose options are the fields of a dataclass."""

    @classmethod
    @functools.cache
    def options(cls) -> Mapping[str, tuple[Any, Any]]:
        hints = get_type_hints(cls, include_extras=True)
        none = inspect.Parameter.empty
        return {f.name: (hints[f.name], none if f.default is MISSING else f.default) for f in fields(cls)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Runs(_Fields):
    """The runs that a command works on, how they are read, and the engine that computes."""

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

    def active(self) -> AbstractContextManager[object]:
        """The engine that computes."""
        from dstbench.scoring.engines import engine

        return engine(self.engine, address=self.address)

    @property
    def paths(self) -> list[str]:
        """The runs, as functions take them."""
        return [as_path(run) for run in self.runs]

    @property
    def reading(self) -> "Reading":
        """How they are read, as functions take it."""
        return {
            "gold": self.gold and as_path(self.gold),
            "format": self.from_format,
            "names": self.name,
            "missing": self.missing,
            "split": self.split,
        }


@dataclass(frozen=True)
class TableOutput(_Fields):
    """The format of a command's table, and the file that it is written to."""

    form: FormatOption = "text"
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file instead of the terminal.")
    ] = None

    def active(self) -> AbstractContextManager[object]:
        """Warn of a file whose name promises another format."""
        suffix = self.output and self.output.suffix
        promised = {".tex": "latex"}.get(suffix, suffix[1:]) if suffix else self.form
        if promised != self.form and promised in get_args(TableFormat):
            from dstbench.errors import warn

            warn(f"{self.output} holds {self.form}; --format {promised} writes {promised}")
        return nullcontext()


@dataclass(frozen=True)
class Drawing(_Fields):
    """The folders that charts are written to, as specifications and drawn."""

    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write the charts to this folder, as Vega-Lite.")
    ] = None
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the charts as figures and write them to this folder.")
    ] = None
    figure_format: Annotated[FigureFormat, typer.Option(help="File type of the figures.")] = "svg"

    def active(self) -> AbstractContextManager[object]:
        """Refuse figures that cannot be drawn."""
        if self.figures is not None:
            from dstbench.rendering.figures import check_drawing

            check_drawing()
        return nullcontext()

    def write(self, charts: dict[str, dict[str, Any]]) -> list[Path]:
        """Write charts where the options say; the paths of the files."""
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

    values: dict[str, str] = {}
    for item in given or ():
        name, _, value = item.partition("=")
        if not name or not value:
            raise UsageError(f"{flag} {item!r} names no {what}", hint=f"{flag} {example}")
        if once and name in values:
            raise UsageError(f"{flag} {name!r} is given twice", hint="give each a name of its own")
        values[name] = f"{values[name]},{value}" if name in values else value
    return values or None


class ConventionChoices(OptionGroup):
    """``--profile``, and an option for each choice of a convention that can be made beside it."""

    default: ClassVar[str] = "verbatim"
    #: The choices that are offered, by the convention's fields: others would change nothing.
    offered: ClassVar[Collection[str]] = _CHOICES

    def __init__(self, *, profile: str, **choices: Any) -> None:
        self._profile = profile
        self._choices = {name: str(value) if isinstance(value, Path) else value for name, value in choices.items()}

    @classmethod
    def options(cls) -> Mapping[str, tuple[Any, Any]]:
        """The options, `default` being the profile where none is named."""
        profile, choices = _convention_options()
        return {"profile": (profile, cls.default)} | {name: choices[name] for name in choices if name in cls.offered}

    def convention(self) -> "Convention":
        """The convention that the options describe.

        Raises:
            UsageError: There is no such profile, or a choice is not possible.
        """
        from dstbench.conventions.profiles import profile

        return profile(self._profile, **self._choices)


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
