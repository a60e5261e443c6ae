"""Options that several commands share, single and in groups, and the options of a convention."""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import typer

from dstbench.cli.output import as_path, as_text, write_files
from dstbench.conventions.choices import CHOICES, description, file_type
from dstbench.errors import UsageError
from dstbench.typing import Adjustment, EngineName, FigureFormat, Missing, TableFormat

if TYPE_CHECKING:
    from dstbench.conventions.convention import Convention
    from dstbench.rendering.charts.forms import Chart
    from dstbench.runs.open import Reading


def _completed(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completion for a shell: the names that begin with the word, or with its part after the last comma."""

    def complete(incomplete: str) -> list[str]:
        done, comma, last = incomplete.rpartition(",")
        return [f"{done}{comma}{name}" for name in names() if name.startswith(last)]

    return complete


def _metrics() -> Iterable[str]:
    from dstbench.metrics.registry import ALL, PLUGINS, REGISTRY

    return [*REGISTRY, *PLUGINS.names(), ALL]


def _formats() -> Iterable[str]:
    from dstbench.readers.registry import FORMATS, PLUGINS

    return [*FORMATS, *PLUGINS.names()]


def _profiles() -> Iterable[str]:
    from dstbench.conventions.profiles import PLUGINS, PROFILES

    return [*PROFILES, *PLUGINS.names()]


Gold = Annotated[Path | None, typer.Option(help="File or folder with the gold states, if RUN does not hold them.")]
_FORMAT_HELP = "Format of the files; default: found by content."
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FORMAT", help=_FORMAT_HELP, autocompletion=_completed(_formats)),
]
MissingOption = Annotated[Missing | None, typer.Option(help=description(CHOICES["missing"]))]
_METRICS_HELP = "Metrics, such as jga,fga:lam=0.25, or all; see `ls metrics`."
Metrics = Annotated[
    list[str] | None,
    typer.Option("-m", "--metrics", help=_METRICS_HELP, autocompletion=_completed(_metrics)),
]
Split = Annotated[
    str | None,
    typer.Option(help="train, dev or test, if gold has several splits; default: the one with predictions."),
]
KeysOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keys", metavar="FIELD=KEY", help="Keys of turn records with other names: id=flag,gold=truth,pred=output."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=RUNS", help="Runs of one model (its seeds), by name or pattern: t5=t5_*. Repeatable."),
]
Baseline = Annotated[
    str | None, typer.Option(metavar="RUN", help="Compare every other run (or model) to this one only.")
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed of the intervals and tests.")]
Resamples = Annotated[int, typer.Option(min=1, help="Number of bootstrap and randomisation resamples.")]
Level = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
TestLevel = Annotated[float, typer.Option(help="Confidence level of the intervals; tests use 1 - level.")]
Adjust = Annotated[
    Adjustment, typer.Option(help="How p-values are adjusted for the number of differences of a metric.")
]


class OptionGroup:
    """Options that belong together: a command declares one parameter of this type and gets all of them as one object.

    `dstbench.cli.command` adds what `options` returns to the command, and makes the object from the values that are
    given.
    """

    @classmethod
    def options(cls) -> Mapping[str, tuple[Any, Any]]:
        """Each option's name to its type, annotated for Typer, and its default (`inspect.Parameter.empty`: none)."""
        raise NotImplementedError

    def active(self) -> AbstractContextManager[object]:
        """A context in which the command computes; entering it raises the errors that can be known before."""
        return nullcontext()


class _Fields(OptionGroup):
    """A group whose options are the fields of a dataclass."""

    @classmethod
    @functools.cache
    def options(cls) -> Mapping[str, tuple[Any, Any]]:
        hints = get_type_hints(cls, include_extras=True)
        required = inspect.Parameter.empty
        return {f.name: (hints[f.name], required if f.default is MISSING else f.default) for f in fields(cls)}  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class HowToRead(_Fields):
    """How prediction files are read, and what they are compared to."""

    gold: Gold = None
    from_format: From = None
    missing: MissingOption = None
    split: Split = None
    keys: KeysOption = None
    slot_map: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your slots and their other names: two columns (CSV, TSV), or JSON."),
    ] = None
    id_map: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your ids of dialogues and gold's: two columns, or JSON.")
    ] = None
    turns_from: Annotated[
        int | None, typer.Option(metavar="N", help="Number of your first turn, where gold's is 0; see `help formats`.")
    ] = None
    turn_step: Annotated[
        int | None, typer.Option(metavar="N", help="Step of your turn numbers: 2 if they are 0, 2, 4; default: 1.")
    ] = None

    @property
    def reading(self) -> "Reading":
        """How the runs are read, as keyword arguments of functions."""
        from dstbench.readers.options import parse_keys

        if self.turn_step is not None and self.turn_step < 1:
            raise UsageError(f"--turn-step {self.turn_step} is not 1 or more", hint="--turn-step 2 for 0, 2, 4")
        return {
            "gold": as_text(self.gold),
            "format": self.from_format,
            "missing": self.missing,
            "split": self.split,
            "keys": parse_keys(self.keys) if self.keys else None,
            "slot_map": as_text(self.slot_map),
            "id_map": as_text(self.id_map),
            "turns_from": self.turns_from,
            "turn_step": self.turn_step,
        }


@dataclass(frozen=True, kw_only=True)
class Runs(HowToRead):
    """The runs that a command works on, how they are read, and the engine that computes."""

    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Prediction files, packed or not, folders of them, or long tables (.parquet)."
        ),
    ]
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Names of the runs, in their order: a,b, or one option for each.")
    ] = None
    engine: Annotated[EngineName, typer.Option(help="Compute in this process, or on a Ray cluster.")] = "local"
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="The Ray cluster to join, or auto; default: this machine only."),
    ] = None

    def active(self) -> AbstractContextManager[object]:
        """The engine is in use while the command computes."""
        from dstbench.scoring.engines import engine

        return engine(self.engine, address=self.address)

    @property
    def paths(self) -> list[str]:
        """The runs, as the argument `data` of functions."""
        return [as_path(run) for run in self.runs]

    @property
    def reading(self) -> "Reading":
        """How the runs are read, and what they are called."""
        return {**super().reading, "names": listed_names(self.name, len(self.runs or ()))}


def listed_names(given: list[str] | None, number: int) -> list[str] | None:
    """The names in the texts of an option.

    With one text for each of the `number` things to name, each text is a name, commas and all; otherwise, the texts are
    split at commas.

    >>> listed_names(["a,b"], 2), listed_names(["a,b", "c"], 2), listed_names(["a,b", "c"], 3)
    (['a', 'b'], ['a,b', 'c'], ['a', 'b', 'c'])
    """
    if given is None or len(given) == number:
        return given
    return [name.strip() for text in given for name in text.split(",")]


def promised(output: Path | None, formats: Any) -> Any:
    """The format that a file's name ends in; None if it ends in none of `formats` (a ``Literal``)."""
    ending = output.suffix.lower() if output else ""
    form = {".tex": "latex"}.get(ending, ending[1:])
    return form if form in get_args(formats) else None


@dataclass(frozen=True)
class Table(_Fields):
    """The format of a command's table, and whether a terminal shows all of its columns."""

    chosen: Annotated[
        TableFormat | None, typer.Option("--format", help="Output format of the table; default: text.")
    ] = None
    wide: Annotated[
        bool, typer.Option("--wide", help="Show all columns: in several parts if the terminal is too narrow.")
    ] = False

    @property
    def form(self) -> TableFormat:
        """The format, of a table that goes to no file."""
        return self.chosen or "text"

    def form_of(self, output: Path | None) -> TableFormat:
        """The format of a table that goes to this file; warns if the file's name ends in another format."""
        of_name = promised(output, TableFormat)
        if of_name and self.chosen and of_name != self.chosen:
            from dstbench.errors import warn

            warn(f"{output} holds {self.chosen}; --format {of_name} writes {of_name}")
        return self.chosen or of_name or "text"

    def active(self) -> AbstractContextManager[object]:
        """The table is laid out for the terminal, if it goes to one."""
        from dstbench.rendering.terminal import laid_out_for, screen_of

        return laid_out_for(screen_of(sys.stdout)._replace(all_columns=self.wide))


@dataclass(frozen=True)
class TableOutput(Table):
    """The format of a command's table, the file that it is written to, and its label in LaTeX."""

    chosen: Annotated[
        TableFormat | None,
        typer.Option("--format", help="Output format of the table; default: by the name of -o (x.json), else text."),
    ] = None
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file instead of the terminal.")
    ] = None
    label: Annotated[
        str | None, typer.Option(help="LaTeX's label of the table; default: by the command, such as tab:score.")
    ] = None

    @functools.cached_property
    def form(self) -> TableFormat:
        """The format of the table; `cached_property`, as a note is given once."""
        return self.form_of(self.output)

    def active(self) -> AbstractContextManager[object]:
        """Refuse a label that cannot be one."""
        if self.label is not None:
            if self.form != "latex":
                raise UsageError("--label is for LaTeX only", hint="--format latex")
            if not re.fullmatch(r"[A-Za-z0-9:._/-]+", self.label):
                raise UsageError(f"--label {self.label!r} cannot be a label", hint="letters, digits, and : . _ / -")
        return super().active() if str(self.output or "-") == "-" else nullcontext()

    def labelled(self, text: str) -> str:
        """The command's text with the label."""
        from dstbench.rendering.latex import relabelled

        return text if self.label is None else relabelled(text, self.label)


@dataclass(frozen=True)
class Drawing(_Fields):
    """The folders for charts: one for their specifications, one for the drawn figures."""

    charts: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write the charts to this folder, as Vega-Lite.")
    ] = None
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw the charts as figures and write them to this folder.")
    ] = None
    figure_format: Annotated[FigureFormat, typer.Option(help="File type of the figures.")] = "svg"
    width: Annotated[
        float | None,
        typer.Option(
            min=100, metavar="POINTS", help="Width of the figures; default: ACL's column (219), or page (455) if wide."
        ),
    ] = None

    def write(self, charts_of: Callable[..., dict[str, "Chart"]], *args: Any) -> list[Path]:
        """Write the charts that `charts_of` makes of the arguments to the folders that are given; the files' paths."""
        if self.charts is None and self.figures is None:
            return []
        from dstbench.rendering.charts.draw import draw_figure, specification
        from dstbench.rendering.tables import render_object

        charts, written = charts_of(*args), []
        if self.charts is not None:
            texts = {f"{name}.vl.json": render_object(specification(chart)).encode() for name, chart in charts.items()}
            written += write_files(texts, self.charts)
        if self.figures is not None:
            form = self.figure_format
            drawn = {f"{name}.{form}": draw_figure(chart, form, self.width) for name, chart in charts.items()}
            written += write_files(drawn, self.figures)
        return written


#: The choices that have an option, by the convention's field.
_CHOICES = {name: choice for name, choice in CHOICES.items() if choice.metadata["option"] is not None}


def named_values(
    flag: str, given: list[str] | None, what: str, example: str, *, once: bool = False
) -> dict[str, str] | None:
    """The values of a repeatable option NAME=VALUE, by name; None if the option is not given.

    Args:
        flag: The option, for messages.
        given: The texts NAME=VALUE.
        what: What such a text names, for messages.
        example: An example of such a text.
        once: Whether a name may be given only once; otherwise its values are joined by commas.

    Raises:
        UsageError: A text has no name or no value, or a name is given twice though it must not be.
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
    """``--profile``, and an option for each choice that can replace the profile's."""

    default: ClassVar[str] = "verbatim"
    #: The fields of a convention that the command has options for; the others would change nothing.
    offered: ClassVar[Collection[str]] = _CHOICES

    def __init__(self, *, profile: str, **choices: Any) -> None:
        self._profile = profile
        self._choices = {name: str(value) if isinstance(value, Path) else value for name, value in choices.items()}

    @classmethod
    def options(cls) -> Mapping[str, tuple[Any, Any]]:
        """The options; the default of ``--profile`` is `default`."""
        profile, choices = _convention_options()
        return {"profile": (profile, cls.default)} | {name: choices[name] for name in choices if name in cls.offered}

    def convention(self) -> "Convention":
        """The convention that the options describe.

        Raises:
            UsageError: There is no such profile, or a choice is not possible.
        """
        from dstbench.conventions.profiles import profile

        return profile(self._profile, **self._choices)


@functools.cache  # making them takes long, and they are the same for all commands
def _convention_options() -> tuple[Any, Mapping[str, tuple[Any, Any]]]:
    """The type of ``--profile``, and of each choice its type and default."""
    help_of_profile = "Convention by which values are compared and counted: one of `ls profiles`, or a file (.toml)."
    profile = Annotated[str, typer.Option(help=help_of_profile, autocompletion=_completed(_profiles))]
    options = {}
    for name, choice in _CHOICES.items():
        values: Any = Path if file_type(choice) else choice.type if get_origin(choice.type) is Literal else str
        flag = choice.metadata["option"] or name.replace("_", "-")
        option = typer.Option(f"--{flag}", help=description(choice))
        options[name] = (Annotated[values | None, option], None)
    return profile, options
