"""Options that several commands share, in groups, and what signatures do not say of single ones."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from dstbench.cli.declared import Declared, Detail, Option, load, meanings_in, option
from dstbench.cli.output import write_files
from dstbench.conventions.choices import CHOICES, description, file_type
from dstbench.errors import UsageError, warn
from dstbench.typing import EngineName, FigureFormat, TableFormat

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from dstbench.rendering.terminal import Screen


def _completed(registry: str, built_in: str, *more: str) -> Callable[[str], list[str]]:
    """Completion for a shell: the names that begin with the word, or with its part after the last comma."""

    def complete(incomplete: str) -> list[str]:
        done, comma, last = incomplete.rpartition(",")
        names = [*load(f"{registry}:{built_in}"), *load(f"{registry}:PLUGINS").names(), *more]
        return [f"{done}{comma}{name}" for name in names if name.startswith(last)]

    return complete


def _keys(given: list[str] | None) -> Any:
    return load("readers.options:parse_keys")(given) if given else None


def _step(given: int | None) -> int | None:
    if given is not None and given < 1:
        raise UsageError(f"--turn-step {given} is not 1 or more", hint="--turn-step 2 for 0, 2, 4")
    return given


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


_MODEL: Final = ("model and its runs", "t5=t5_seed1,t5_seed2")
#: What is not in the signatures: parameter to the details of its option, in all commands.
DETAILS: Final[dict[str, Detail]] = {
    # how runs are read
    "gold": Detail(type=Path, help="File or folder with the gold states, if RUN does not hold them."),
    "format": Detail(
        "--from", metavar="FORMAT", help="Format of the files; default: found by content.",
        autocompletion=_completed("readers.registry", "FORMATS"),
    ),
    "names": Detail("--name", type=list[str], help="Names of the runs, in their order: a,b, or one option for each."),
    "missing": Detail(help=description(CHOICES["missing"])),
    "split": Detail(help="train, dev or test, if gold has several splits; default: the one with predictions."),
    "keys": Detail(
        type=list[str], parse=_keys, metavar="FIELD=KEY",
        help="Keys of turn records with other names: id=flag,gold=truth,pred=output.",
    ),
    "slot_map": Detail(
        type=Path, metavar="FILE", help="Your slots and their other names: two columns (CSV, TSV), or JSON."
    ),
    "id_map": Detail(type=Path, metavar="FILE", help="Your ids of dialogues and gold's: two columns, or JSON."),
    "turns_from": Detail(metavar="N", help="Number of your first turn, where gold's is 0; see `help formats`."),
    "turn_step": Detail(parse=_step, metavar="N", help="Step of your turn numbers: 2 if they are 0, 2, 4; default: 1."),
    "unreadable": Detail(
        help="Predicted states that are none, such as JSON that is cut off: an error (the default), empty, or wrong."
    ),
    # what is computed
    "metrics": Detail(
        "-m", "--metrics", type=list[str], help="Metrics, such as jga,fga:lam=0.25, or all; see `ls metrics`.",
        autocompletion=_completed("metrics.registry", "REGISTRY", "all"),
    ),
    "models": Detail(
        "--model", of=_MODEL, metavar="NAME=RUNS",
        help="Runs of one model (its seeds), by name or pattern: t5=t5_*. Repeatable.",
    ),
    "baseline": Detail(metavar="RUN"),
    "resamples": Detail(min=1),
    "seed": Detail(min=0),
    "few": Detail(min=0),
    "most": Detail(min=1),
    "top": Detail(min=1),
    "least": Detail(min=1),
    "support": Detail(min=1),
    "sample": Detail(min=1),
    "at_least": Detail(min=0, max=1),
    "bins": Detail(min=1, max=100),
    "dialogues": Detail(min=1),
    "kinds": Detail(type=list[str]),
    "test": Detail(metavar="NAME"),
    "target": Detail(metavar="SCORES"),
    "disagree": Detail(type=tuple[str, str], metavar="A B"),
    "differences": Detail(
        "--versus", type=list[str], metavar="A,B,C[,D]",
        help="Compare r(A, B) with r(A, C), or r(A, B) with r(C, D); repeatable.",
    ),
    # files
    "labels": Detail("--label-map", type=Path),
    **dict.fromkeys(("typos", "ontology", "database", "donors", "rules", "train"), Detail(type=Path)),
    "context": Detail(type=Path),
    "ratings": Detail(type=Path, metavar="FILE"),
    "out": Detail("-o", "--output", type=Path, help="The dataset to write, in the same format."),
    "output": Detail("-o", "--output"),
    # of commands
    "everything": Detail("--all"),
    "chosen": Detail("--format"),
    **dict.fromkeys(("charts", "figures"), Detail(metavar="DIR")),
    "width": Detail(min=100, metavar="POINTS"),
    "address": Detail(metavar="HOST:PORT"),
    "plugins": Detail("--plugins", "--rows", metavar="MODULE"),
}  # fmt: skip


def detail_of(name: str, own: Mapping[str, Detail]) -> Detail:
    """The details of a parameter: a command's own, or those that it has in all commands."""
    return own.get(name) or DETAILS.get(name) or Detail()


class Group:
    """Options that belong together: the fields of a dataclass, whose docstring is their help.

    A command gets all of them as one object.
    """

    @classmethod
    @functools.cache
    def options(cls) -> Mapping[str, Option]:
        """The options, by the names of the fields."""
        meanings = meanings_in(inspect.getdoc(cls) or "")
        declared = [
            Declared(one.name, str(one.type).removesuffix(" | None"), one.default, meanings[one.name], False)
            for one in fields(cls)  # type: ignore[arg-type]
        ]
        return {one.name: option(one, detail_of(one.name, {})) for one in declared}

    def active(self) -> AbstractContextManager[object]:
        """A context in which the command computes; entering it raises the errors that can be known before."""
        return nullcontext()


@dataclass(frozen=True)
class Engine(Group):
    """The engine that computes.

    Attributes:
        engine: Compute in this process, or on a Ray cluster.
        address: The Ray cluster to join, or auto; default: this machine only.
    """

    engine: EngineName = "local"
    address: str | None = None

    def active(self) -> AbstractContextManager[object]:
        """The engine is in use while the command computes."""
        context: AbstractContextManager[object] = load("scoring.partitions:engine")(self.engine, address=self.address)
        return context


def promised(output: Path | None, formats: Any) -> Any:
    """The format that a file's name ends in; None if it ends in none of `formats` (a ``Literal``)."""
    ending = output.suffix.lower() if output else ""
    form = {".tex": "latex"}.get(ending, ending[1:])
    return form if form in get_args(formats) else None


@dataclass(frozen=True)
class Table(Group):
    """How a table is shown.

    Attributes:
        chosen: Output format of the table; default: text.
        everything: Show all tables, rows and columns in text too, and how the numbers were computed.
        signature: Show the whole signature in text too.
    """

    chosen: TableFormat | None = None
    everything: bool = False
    signature: bool = False

    @property
    def form(self) -> TableFormat:
        """The format, of a table that goes to no file."""
        return self.chosen or "text"

    def form_of(self, output: Path | None) -> TableFormat:
        """The format of a table that goes to this file; warns if the file's name ends in another format."""
        of_name = promised(output, TableFormat)
        if of_name and self.chosen and of_name != self.chosen:
            warn(f"{output} holds {self.chosen}; --format {of_name} writes {of_name}")
        return self.chosen or of_name or "text"

    def active(self) -> AbstractContextManager[object]:
        """The table is laid out for the terminal, if it goes to one."""
        from dstbench.rendering.terminal import laid_out_for, screen_of

        return laid_out_for(self._screen(screen_of(sys.stdout)))

    def _screen(self, terminal: Screen) -> Screen:
        return terminal._replace(everything=self.everything, signature=self.signature)


@dataclass(frozen=True)
class TableOutput(Table):
    """How a table is shown, and the file that it is written to.

    Attributes:
        chosen: Output format of the table; default: by the name of -o (x.json), else text.
        everything: Show all tables, rows and columns in text too, and how the numbers were computed.
        signature: Show the whole signature in text too.
        output: Write to this file instead of the terminal.
        label: LaTeX's label of the table; default: by the command, such as tab:score.
    """

    output: Path | None = None
    label: str | None = None

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
        from dstbench.rendering.terminal import Screen, laid_out_for

        return super().active() if str(self.output or "-") == "-" else laid_out_for(self._screen(Screen()))


@dataclass(frozen=True)
class Drawing(Group):
    """The folders for charts: one for their specifications, one for the drawn figures.

    Attributes:
        charts: Also write the charts to this folder, as Vega-Lite.
        figures: Also draw the charts as figures and write them to this folder.
        figure_format: File type of the figures.
        width: Width of the figures; default: ACL's column (219), or page (455) if wide.
    """

    charts: Path | None = None
    figures: Path | None = None
    figure_format: FigureFormat = "svg"
    width: float | None = None

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


#: The choices of a convention that have an option.
CHOSEN: Final = {name: choice for name, choice in CHOICES.items() if choice.metadata["option"] is not None}
#: Those that concern gold values alone; that also concern when two of them match; that concern predicted ones, too.
GOLD: Final = ("dontcare", "none", "typos", "gold_steps")
MATCH: Final = (*GOLD, "multi", "match", "fuzzy", "labels", "schema")
VALUES: Final = (*MATCH, "pred_steps")
#: Those that concern which values and turns are right.
TURNS_AND_VALUES: Final = tuple(name for name in CHOSEN if name not in ("wrong_costs", "unit", "domain_turns", "seen"))


def convention_options(default: str, offered: Collection[str]) -> dict[str, Option]:
    """``--profile``, and an option for each of the choices `offered` that can replace the profile's."""
    words = "Convention by which values are compared and counted: one of `ls profiles`, or a file (.toml)."
    completion = _completed("conventions.profiles", "PROFILES")
    options = {"profile": option(Declared("profile", "str", default, words, False), Detail(autocompletion=completion))}
    for name, choice in CHOSEN.items():
        if name in offered:
            kind: Any = Path if file_type(choice) else choice.type if get_origin(choice.type) is Literal else str
            flag = f"--{choice.metadata['option'] or name.replace('_', '-')}"
            options[name] = option(Declared(name, "", None, description(choice), False), Detail(flag, type=kind))
    return options
