"""Options from functions: a keyword argument becomes an option, and the docstring's first sentence on it its help.

What signatures do not say of an option is declared once for all commands that have it, in `DETAILS`.
"""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from inspect import Parameter, getdoc, signature
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_origin

import typer

import dstbench.typing
from dstbench.conventions.choices import CHOICES, description, file_type
from dstbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

#: What signature and docstring do not say of an option: `flags`, its `type`, what NAME=VALUE `names` with an example,
#: whether each name may be given only `once`, how to `parse` what is given, and further keywords of Typer.
Detail: TypeAlias = "Mapping[str, Any]"
#: What an option is for: an argument of the command's function, of its `run`, of its layout, and so on.
Role: TypeAlias = Literal["function", "own", "shown", "runs", "reading", "shared", "convention"]

_TYPES: Final[dict[str, Any]] = {
    **vars(dstbench.typing),
    **{kind.__name__: kind for kind in (bool, int, float, str, Path)},
    "list[Path]": list[Path],
    "list[str]": list[str],
}
# Words in the annotations of parameters that are paths on the command line.
_PATHS: Final = re.compile("Data|PathLike|Table|NameMap|Donors")


# Parameters that are no option: those of `Reading`, which have a role of their own, and frames.
_NO_OPTION: Final = re.compile(r"^\*\*|: 'pl.DataFrame \| None'")


class Option(NamedTuple):
    """An option: its role, its type annotated for Typer, its default, and how an argument is made of what is given."""

    name: str
    role: Role
    annotation: Any
    default: Any
    parse: Callable[[Any], Any]


def load(path: str) -> Any:
    """What is at ``module:name``, in this package."""
    module, _, name = path.partition(":")
    return attrgetter(name)(import_module(f"dstbench.{module}"))


def options_of(
    function: Callable[..., Any], role: Role, details: Mapping[str, Detail], names: Collection[str] = (),
    without: Collection[str] = (),
) -> list[Option]:  # fmt: skip
    """The options of the parameters of a function, or of the fields of a dataclass."""
    meanings = meanings_in(getdoc(function) or "")
    return [
        option(name, role, str(one.annotation).removesuffix(" | None"), one.default, details,
               meaning=meanings.get(name, ""), is_positional=one.kind is Parameter.POSITIONAL_OR_KEYWORD)
        for name, one in signature(function).parameters.items()
        if not _NO_OPTION.search(str(one)) and name not in without and (not names or name in names)
    ]  # fmt: skip


def meanings_in(docstring: str) -> dict[str, str]:
    r"""What a docstring says of each argument or attribute, in one sentence, as help has it.

    >>> meanings_in("Args:\n    few: Number of\n        slots; None: all. More.\n\nReturns:\n    It.\n")
    {'few': 'Number of slots; default: all.'}
    """
    block = re.search(r"^(?:Args|Attributes):\n((?:    .*\n)+)", f"{docstring}\n", re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*\n(?:     +.*\n)*)", block[1] if block else "", re.MULTILINE)
    joined = {name: " ".join(text.split()).replace("``", "") for name, text in entries}
    return {name: re.split(r"(?<=\.)\s", text)[0].replace("; None:", "; default:") for name, text in joined.items()}


def option(
    name: str, role: Role, annotation: str, default: Any, details: Mapping[str, Detail], *,
    meaning: str = "", is_positional: bool = False,
) -> Option:  # fmt: skip
    """The option of a parameter; `details` are a command's own."""
    words = {"help": meaning, **DETAILS.get(name, {}), **details.get(name, {})}
    named, once, parse = words.pop("names", None), words.pop("once", False), words.pop("parse", lambda given: given)
    by_name = list[str] if annotation.startswith("Mapping") else Path if _PATHS.search(annotation) else str
    kind = words.pop("type", _TYPES.get(annotation, by_name))
    is_list = get_origin(kind) is list  # such an option may be repeated, and is called by the singular
    word = name.replace("_", "-").removesuffix("s") if is_list else name.replace("_", "-")
    flags = words.pop("flags", [] if is_positional and not named else [f"--{word}"])
    if flags:
        info: Any = typer.Option(*flags, **{**words, "help": words["help"] + " Repeatable." * is_list})
    else:
        shown = f"{word.upper()}..." if is_list else word.upper()
        info = typer.Argument(**{"metavar": shown if default is Parameter.empty else f"[{shown}]", **words})
    info.readable = False  # a file that may not be read gives our error, like one that does not exist
    if named:
        parse = partial(named_values, flags[-1], of=named, once=once)
    if default == () or (is_list and default is not Parameter.empty):
        default = None  # the function's own default is used
    return Option(name, role, Annotated[kind | None if default is None else kind, info], default, parse)


def named_values(
    flag: str, given: list[str] | None, *, of: tuple[str, str], once: bool = False
) -> dict[str, str] | None:
    """The values of a repeatable option NAME=VALUE by name, joined by commas unless it may be given only `once`."""
    values: dict[str, str] = {}
    for item in given or ():
        name, _, value = item.partition("=")
        if not name or not value:
            raise UsageError(f"{flag} {item!r} names no {of[0]}", hint=f"{flag} {of[1]}")
        if once and name in values:
            raise UsageError(f"{flag} {name!r} is given twice", hint="give each a name of its own")
        values[name] = f"{values[name]},{value}" if name in values else value
    return values or None


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


#: What is not in the signatures: parameter to the details of its option, in all commands.
DETAILS: Final[dict[str, Detail]] = {
    # how runs are read
    "runs": {"help": "Prediction files, packed or not, folders of them, or long tables (.parquet)."},
    "format": {"flags": ["--from"], "metavar": "FORMAT"},
    "names": {"type": list[str], "help": "Names of the runs, in their order: a,b."},
    "split": {"metavar": "train|dev|test"},
    "missing": {"help": description(CHOICES["missing"])},
    "keys": {
        "flags": ["--keys"], "metavar": "FIELD=KEY",
        "parse": lambda given: load("readers.options:parse_keys")(given) if given else None,
    },
    **{name: {"metavar": "N"} for name in ("turns_from", "turn_step")},
    # what is computed
    "metrics": {
        "flags": ["-m", "--metrics"], "type": list[str],
        "help": "Metrics, such as jga,fga:lam=0.25, or all; see `ls metrics`.",
    },
    "models": {"metavar": "NAME=RUNS", "names": ("model and its runs", "t5=t5_seed1,t5_seed2")},
    "baseline": {"metavar": "RUN"},
    **{name: {"min": 1} for name in ("resamples", "most", "top", "least", "support", "sample", "dialogues")},
    **{name: {"min": 0} for name in ("seed", "few")},
    "at_least": {"min": 0, "max": 1},
    "bins": {"min": 1, "max": 100},
    "kinds": {"flags": ["--kinds"], "type": list[str]},
    "test": {"metavar": "NAME"},
    "target": {"metavar": "SCORES"},
    "disagree": {"type": tuple[str, str], "metavar": "A B"},
    "differences": {"flags": ["--versus"], "type": list[str], "metavar": "A,B,C[,D]"},
    # files
    "labels": {"flags": ["--label-map"]},
    **{name: {"type": Path, "metavar": "FILE"} for name in ("ontology", "ratings", "context", "slot_map", "id_map")},
    **{name: {"flags": ["-o", "--output"]} for name in ("out", "output")},
    # of commands
    "everything": {"flags": ["--all"]},
    "chosen": {"flags": ["--format"]},
    **{name: {"metavar": "DIR"} for name in ("charts", "figures")},
    "width": {"min": 100, "metavar": "POINTS"},
    "address": {"metavar": "HOST:PORT"},
    "plugins": {"flags": ["--plugins", "--rows"], "metavar": "MODULE"},
}  # fmt: skip

#: The choices of a convention that have an option.
CHOSEN: Final = {name: choice for name, choice in CHOICES.items() if choice.metadata["option"] is not None}
#: Those that concern gold values alone; that also concern when two of them match; that concern predicted ones, too.
GOLD: Final = ("dontcare", "none", "typos", "gold_steps")
MATCH: Final = (*GOLD, "multi", "match", "fuzzy", "labels", "schema")
VALUES: Final = (*MATCH, "pred_steps")
#: Those that concern which values and turns are right.
TURNS_AND_VALUES: Final = tuple(name for name in CHOSEN if name not in ("wrong_costs", "unit", "domain_turns", "seen"))


def convention_options(default: str, offered: Collection[str]) -> list[Option]:
    """``--profile``, and an option for each of the choices `offered` that can replace the profile's."""
    words = "Convention by which values are compared and counted: one of `ls profiles`, or a file (.toml)."
    options = [option("profile", "convention", "str", default, {}, meaning=words)]
    for name, choice in CHOSEN.items():
        if name in offered:
            kind: Any = Path if file_type(choice) else choice.type if get_origin(choice.type) is Literal else str
            detail = {"flags": [f"--{choice.metadata['option'] or name.replace('_', '-')}"], "type": kind}
            options.append(option(name, "convention", "", None, {name: {"help": description(choice), **detail}}))
    return options
