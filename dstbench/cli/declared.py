"""Options from functions: a keyword argument becomes an option, and its line in the docstring the option's help."""

import ast
import re
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, get_origin

import typer

import dstbench.typing

_PACKAGE: Final = Path(__file__).parents[1]
_TYPES: Final[dict[str, Any]] = {
    **vars(dstbench.typing),
    **{kind.__name__: kind for kind in (bool, int, float, str, Path)},
    "list[Path]": list[Path],
    "list[str]": list[str],
    "tuple[str, str]": tuple[str, str],
}


class Declared(NamedTuple):
    """A parameter of a function.

    Attributes:
        name: Its name.
        type: Its annotation, as written, without ``| None``.
        default: Its default; `Parameter.empty`: it is required.
        meaning: What the docstring says of it.
        is_positional: Whether it can be given without its name.
    """

    name: str
    type: str
    default: Any
    meaning: str
    is_positional: bool


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
    more = [Declared(f"**{given.kwarg.arg}", "", None, "", False)] if given.kwarg else []
    return found + more


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
    if declared.is_positional and not own.flags:
        info: Any = typer.Argument(**words)
    else:
        info = typer.Option(*flags, **words)
    info.readable = False  # a file that may not be read gives our error, like one that does not exist
    default = declared.default
    if default == () or (get_origin(kind) is list and default is not Parameter.empty):
        default = None  # the function's own default is used
    if is_named and own.of:
        return Option(Annotated[kind, info], default, partial(named_values, flags[-1], of=own.of, once=own.once))
    return Option(Annotated[kind | None if default is None else kind, info], default, own.parse or _as_given)


def _as_given(given: Any) -> Any:
    return given


def named_values(
    flag: str, given: list[str] | None, *, of: tuple[str, str], once: bool = False
) -> dict[str, str] | None:
    """The values of a repeatable option NAME=VALUE, by name; None if the option is not given.

    Args:
        flag: The option, for messages.
        given: The texts NAME=VALUE.
        of: What such a text names, and an example of it, for messages.
        once: Whether a name may be given only once; otherwise its values are joined by commas.

    Raises:
        UsageError: A text has no name or no value, or a name is given twice though it must not be.
    """
    from dstbench.errors import UsageError

    values: dict[str, str] = {}
    for item in given or ():
        name, _, value = item.partition("=")
        if not name or not value:
            raise UsageError(f"{flag} {item!r} names no {of[0]}", hint=f"{flag} {of[1]}")
        if once and name in values:
            raise UsageError(f"{flag} {name!r} is given twice", hint="give each a name of its own")
        values[name] = f"{values[name]},{value}" if name in values else value
    return values or None
