"""What dstbench offers to Python: its names and their parameters, kept as a list, and what their docstrings say.

A public name is one of `dstbench.__all__`, of the three modules offered there, a class that one of these returns, or a
public method of any of these classes. `python -m tests.test_public` writes the list anew: a change of it is a change
that users see, and belongs into .github/CHANGELOG.md.
"""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import dstbench
from dstbench.runs.open import Reading
from tests.paths import ROOT

LIST = Path(__file__).parent / "golden" / "public_names.txt"


def classes() -> dict[str, str]:
    """Every class of dstbench to its module."""
    found = {}
    for path in sorted(Path(dstbench.__file__).parent.rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found[name] = module
    return found


def members(owner: str, thing: Any) -> Iterator[tuple[str, Any]]:
    yield owner, thing
    if inspect.isclass(thing):
        for name, kept in vars(thing).items():
            member = property(kept.func) if isinstance(kept, cached_property) else kept
            if not name.startswith("_") and (isinstance(member, (property, classmethod)) or inspect.isfunction(member)):
                yield f"{owner}.{name}", member


def offered() -> dict[str, Any]:
    """Public name to what it names."""
    found: dict[str, Any] = {}
    for name in dstbench.__all__:
        thing = getattr(dstbench, name)
        if isinstance(thing, ModuleType):
            names = getattr(thing, "__all__", None) or [
                key for key, value in vars(thing).items() if getattr(value, "__module__", "") == thing.__name__
            ]
            for inner in sorted(names):
                if not inner.startswith("_"):
                    found.update(members(f"{name}.{inner}", getattr(thing, inner)))
        elif callable(thing):
            found.update(members(name, thing))
    homes = classes()
    for function in [thing for thing in found.values() if inspect.isfunction(thing)]:
        for word in re.findall(r"\b[A-Z]\w+", str(inspect.signature(function).return_annotation)):
            if word in homes and word not in {name.rpartition(".")[2] for name in found}:
                found.update(members(word, getattr(import_module(homes[word]), word)))
    return found


PUBLIC = offered()


def unwrapped(thing: Any) -> Any:
    return thing.__func__ if isinstance(thing, classmethod) else thing


def parameters(thing: Any) -> list[inspect.Parameter]:
    """The parameters as a function or class declares them."""
    if inspect.isclass(thing) and issubclass(thing, Warning):  # what it takes is Python's own
        return []
    declared = inspect.signature(unwrapped(thing)).parameters.values()
    return [parameter for parameter in declared if parameter.name not in ("self", "cls")]


def keywords(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """The parameters that a caller gives: of ``**reading: Unpack[Reading]``, its keys."""
    if parameter.annotation != "Unpack[Reading]":
        return [parameter]
    return [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None) for key in Reading.__annotations__]


def line(name: str, thing: Any) -> str:
    """A name as the list has it: parameters and defaults, as types are for mypy to keep."""
    if isinstance(thing, property):
        return name
    given = [keyword for parameter in parameters(thing) for keyword in keywords(parameter)]
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in given]
    return f"{name}{inspect.Signature(bare)}"


def listed() -> str:
    return "".join(sorted(line(name, thing) + "\n" for name, thing in PUBLIC.items()))


def test_the_public_names_and_their_parameters_are_those_of_the_list() -> None:
    assert listed() == LIST.read_text(encoding="utf-8"), "if that is meant: python -m tests.test_public"


def test_the_public_names_exist_and_are_few() -> None:
    assert set(dir(dstbench)) == set(dstbench.__all__)
    # `diff` and `reconcile` answer questions of their own.
    # 36 since `Evaluator`: a training loop keeps gold from epoch to epoch, which no function can.
    assert len(dstbench.__all__) <= 39


def test_help_lists_the_functions_first_and_all_public_names_on_one_screen() -> None:
    shown = inspect.getdoc(dstbench) or ""
    assert shown.splitlines()[2].startswith("score ")
    assert len(shown.splitlines()) <= 40
    assert max(map(len, shown.splitlines())) <= 100
    begins = {line.partition(" ")[0] for line in shown.splitlines()}
    of_classes = {name for name in dstbench.__all__ if inspect.isclass(getattr(dstbench, name))}
    assert set(dstbench.__all__) - of_classes - {"__version__"} <= begins
    assert of_classes <= set(re.findall(r"\w+", shown))
    assert pydoc.plain(pydoc.render_doc(dstbench)).count("score            scores of runs") == 1


# --- docstrings --------------------------------------------------------------------------------------------------


def sections(thing: Any) -> dict[str, str]:
    """The sections of a docstring; what comes before them is its head."""
    parts = re.split(r"^(Args|Attributes|Returns|Yields|Raises):\n", inspect.getdoc(thing) or "", flags=re.MULTILINE)
    return {"head": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def entries(section: str) -> list[str]:
    """The names that a section explains."""
    return re.findall(r"^    \*{0,2}([\w.]+)(?: \(.*\))?: ", section, re.MULTILINE)


def raised(thing: Callable[..., object]) -> set[str]:
    """The names of what a function's own body raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(unwrapped(thing))))
    calls = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_it_is(name: str) -> None:
    head = sections(PUBLIC[name])["head"]
    assert re.match(r"[A-Z0-9`(].*\.", head), "its docstring begins with a sentence"
    assert not head.startswith(name.rpartition(".")[2] + "("), "a dataclass's own docstring is only its signature"


@pytest.mark.parametrize("name", [
    name for name, thing in PUBLIC.items()
    if not isinstance(thing, property) and thing is not dstbench.UsageError  # which is made like its parent
])  # fmt: skip
def test_its_docstring_explains_each_parameter_or_field(name: str) -> None:
    thing = PUBLIC[name]
    said = sections(thing)
    given = [parameter.name for parameter in parameters(thing)]
    explained = entries(said.get("Args", "")) or entries(said.get("Attributes", ""))
    assert [word for word in explained if word in given] == given
    assert inspect.isclass(thing) or explained == given


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isroutine(unwrapped(thing))])
def test_its_docstring_says_what_it_returns_and_raises(name: str) -> None:
    thing = PUBLIC[name]
    said = sections(thing)
    returned = str(inspect.signature(unwrapped(thing)).return_annotation)
    if re.search(r"Frame|Floats|list|dict|tuple|Iterator\[(?!None)", returned):
        assert "Returns" in said or "Yields" in said, "what has columns, rows or keys says which"
    errors = set(entries(said.get("Raises", "")))
    assert "DstbenchError" in errors or raised(thing) - {"NotImplementedError"} <= errors  # a UsageError is one
    if {"data", "path"} & {parameter.name for parameter in parameters(thing)}:
        assert "DstbenchError" in errors, "what reads or writes files fails"


if __name__ == "__main__":
    LIST.write_text(listed(), encoding="utf-8")
