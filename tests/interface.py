"""What the command line consists of, as Typer knows it: tests that go through it meet every new command and option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer.main

import dstbench.cli  # noqa: F401 (adds its commands)
from dstbench.cli.app import app
from dstbench.cli.command import _FOLDERS, _OUTPUTS


def _leaves(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    for sub, below in getattr(command, "commands", {}).items():
        yield from _leaves(below, f"{name} {sub}".strip())
    if not hasattr(command, "commands"):
        yield name, command


#: The name of each command (``audit bias``) to what Typer has made of it.
LEAVES: dict[str, Any] = dict(_leaves(typer.main.get_command(app)))


class PathOption(NamedTuple):
    """An option or an argument whose value is a path, or has one in it."""

    name: str
    flag: str | None  # None: an argument
    is_output: bool
    is_folder: bool
    form: str  # of the value, ``{}`` for the path

    def words(self, path: str) -> list[str]:
        """The words of a command line that give this path."""
        return [*([self.flag] if self.flag else []), self.form.format(path)]


def is_path(option: Any) -> bool:
    """Whether the value of an option or an argument is a path, or several."""
    if hasattr(option, "type"):  # Typer before 0.29
        return "Path" in type(option.type).__name__
    return option.type_descriptor.annotation in (Path, list[Path])


def is_text(option: Any) -> bool:
    """Whether the value of an option or an argument is a text of any kind, or several."""
    if hasattr(option, "type"):
        return str(option.type) == "STRING" or "Tuple" in str(option.type)
    return option.type_descriptor.annotation in (str, list[str]) or option.type_descriptor.is_tuple


def flag_of(option: Any) -> str | None:
    """The long name of an option; None: it is an argument."""
    return max(option.opts, key=len) if option.opts[0].startswith("-") else None


def path_options(command: str) -> list[PathOption]:
    """The options and arguments of a command that have a path."""
    options = []
    for option in LEAVES[command].params:
        of_text = re.fullmatch(r"\w+=(?:FILE|GOLD)", option.metavar or "")
        if is_path(option) or of_text or option.name in ("profile", "profiles", "plugins"):
            form = "name={}" if of_text else "{}"
            is_folder = option.name in _FOLDERS
            is_output = is_folder or option.name in _OUTPUTS
            options.append(PathOption(option.name, flag_of(option), is_output, is_folder, form))
    return options


def line(command: str, **values: str) -> list[str]:
    """A command line that gives these options their paths or texts, and whatever else is required some text."""
    options = {option.name: option for option in path_options(command)}
    words = command.split()
    for option in LEAVES[command].params:
        if option.name in values or option.required:
            needed = {"target": "50"}.get(option.name, option.name)
            text, flag = values.get(option.name, needed), flag_of(option)
            own = [*([flag] if flag else []), *[text] * max(option.nargs, 1)]
            words += options[option.name].words(text) if option.name in options else own
    return words
