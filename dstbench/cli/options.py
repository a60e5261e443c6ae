"""Options from functions: a keyword argument becomes an option, and its line in the docstring the option's help.

What signatures do not say of an option is declared once for all commands that have it, in `DETAILS`.
"""

from __future__ import annotations

import ast
import re
from functools import cache, partial
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, get_origin

import typer

import dstbench.typing
from dstbench.conventions.choices import CHOICES, description, file_type
from dstbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_PACKAGE: Final = Path(__file__).parents[1]
_TYPES: Final[dict[str, Any]] = {
    **vars(dstbench.typing),
    **{kind.__name__: kind for kind in (bool, int, float, str, Path)},
    "list[Path]": list[Path],
    "list[str]": list[str],
    "tuple[str, str]": tuple[str, str],
}


class Declared(NamedTuple):
    """A parameter: its name, its annotation as written, its default, what the docstring says, if it needs no name."""

    name: str
    type: str
    default: Any
    meaning: str
    is_positional: bool = False


class Detail:
    """What a function's signature and docstring do not say about an option.

    Args:
        flags: Its flags; none: the parameter's name.
        type: Its type; None: by the annotation.
        of: What ``NAME=VALUE`` names, and an example of it, for messages.
        once: Whether each such name may be given only once.
        parse: Makes the argument of what is given (None: nothing is).
        words: Keyword arguments of Typer, such as `help`, `metavar`, `min`.
    """

    def __init__(
        self,
        *flags: str,
        type: Any = None,  # noqa: A002
        of: tuple[str, str] | None = None,
        once: bool = False,
        parse: Callable[[Any], Any] | None = None,
        **words: Any,
    ) -> None:
        self.flags, self.type, self.of, self.once, self.parse, self.words = flags, type, of, once, parse, words


class Option(NamedTuple):
    """An option: its type, annotated for Typer, its default, and how the argument is made of what is given."""

    annotation: Any
    default: Any
    parse: Callable[[Any], Any]


def load(path: str) -> Any:
    """What is at ``module:name``, in this package."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"dstbench.{module}"), name)


@cache
def parameters(path: str) -> list[Declared]:
    """The parameters of the function at ``module:name``, read without importing the module: that may take long."""
    module, _, name = path.partition(":")
    source = _PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    head = re.search(rf'^def {name}\(.*?\n    """.*?"""\n', source, re.MULTILINE | re.DOTALL)
    function = ast.parse(head[0]).body[0] if head else None
    if not isinstance(function, ast.FunctionDef):
        raise LookupError(path)
    meanings, given = meanings_in(ast.get_docstring(function) or ""), function.args
    defaults: list[ast.expr | None] = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults]
    found = [
        Declared(
            argument.arg,
            ast.unparse(argument.annotation).removesuffix(" | None") if argument.annotation else "",
            Parameter.empty if default is None else _value(default, source),
            meanings.get(argument.arg, ""),
            argument in given.args,
        )
        for argument, default in zip([*given.args, *given.kwonlyargs], [*defaults, *given.kw_defaults], strict=True)
    ]
    return found + ([Declared(f"**{given.kwarg.arg}", "", None, "")] if given.kwarg else [])


def _value(default: ast.expr, source: str) -> Any:
    """The value of a default: a literal, or a constant of the same module."""
    if isinstance(default, ast.Name):
        constant = re.search(rf"^{default.id}\b.* = (.+)$", source, re.MULTILINE)
        return ast.literal_eval(constant[1]) if constant else None
    return ast.literal_eval(default)


def meanings_in(docstring: str) -> dict[str, str]:
    r"""What a docstring says of each argument or attribute, in one sentence, as help has it.

    >>> meanings_in("Args:\n    few: Number of\n        slots; None: all. More.\n\nReturns:\n    It.\n")
    {'few': 'Number of slots; default: all.'}
    """
    block = re.search(r"^(?:Args|Attributes):\n((?:    .*\n)+)", f"{docstring}\n", re.MULTILINE)
    entries = re.findall(r"^    (\w+): (.*\n(?:     +.*\n)*)", block[1] if block else "", re.MULTILINE)
    joined = {name: " ".join(text.split()).replace("``", "") for name, text in entries}
    sentences = {name: re.split(r"(?<=\.)\s(?!Repeatable)", text)[0] for name, text in joined.items()}
    return {name: sentence.replace("; None:", "; default:") for name, sentence in sentences.items()}


def option(declared: Declared, own: Detail) -> Option:
    """The option of a parameter."""
    is_named = declared.type.startswith("Mapping") and own.type is None
    kind: Any = list[str] if is_named else own.type or _TYPES.get(declared.type, str)
    flags = own.flags or (f"--{declared.name.replace('_', '-')}",)
    words = {"help": declared.meaning, **own.words}
    is_argument = declared.is_positional and not own.flags
    info: Any = typer.Argument(**words) if is_argument else typer.Option(*flags, **words)
    info.readable = False  # a file that may not be read gives our error, like one that does not exist
    default = declared.default
    if default == () or (get_origin(kind) is list and default is not Parameter.empty):
        default = None  # the function's own default is used
    parse = own.parse or (lambda given: given)
    if is_named and own.of:
        parse = partial(named_values, flags[-1], of=own.of, once=own.once)
    return Option(Annotated[kind if is_named or default is not None else kind | None, info], default, parse)


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
    "runs": Detail(
        metavar="RUN...", help="Prediction files, packed or not, folders of them, or long tables (.parquet)."
    ),
}  # fmt: skip


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
    options = {"profile": option(Declared("profile", "str", default, words), Detail(autocompletion=completion))}
    for name, choice in CHOSEN.items():
        if name in offered:
            kind: Any = Path if file_type(choice) else choice.type if get_origin(choice.type) is Literal else str
            flag = f"--{choice.metadata['option'] or name.replace('_', '-')}"
            options[name] = option(Declared(name, "", None, description(choice)), Detail(flag, type=kind))
    return options
