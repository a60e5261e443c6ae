"""Metrics, formats and profiles that are not built in: those of installed packages, and of modules that a user names.

A package declares them as entry points of the groups ``dstbench.metrics``, ``dstbench.formats`` and
``dstbench.profiles``; the name of an entry point is the name of what it leads to. A module is named in Python by `use`,
on the command line by ``--plugins``; all that it defines can be used.

Conventions: for a name, what is built in comes first, then what a named module has, then packages, of which only the
one that has the name is imported. A package that cannot be used is an error that names it; others stay usable.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import tomllib
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

from dstbench.errors import DstbenchError, UsageError, warn

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

T = TypeVar("T")

#: The modules that users have named, by their names.
_MODULES: Final[dict[str, ModuleType]] = {}


class _Declared(NamedTuple):
    """What a package or a module declares: its name, its place in words, origin (`origin_of`), and how to get it."""

    name: str
    place: str
    origin: str
    load: Callable[[], Any]


class Table(dict[str, Any]):
    """A table of a TOML file, which declares what would be an object in a module."""


@dataclass
class Plugins(Generic[T]):
    """The metrics, formats or profiles that are not built in."""

    kind: Literal["metric", "format", "profile"]
    built_in: Collection[str]
    is_one: Callable[[Any], bool]  # whether an object is of the kind
    name_of: Callable[[Any], object]  # its name, or what stands in its place
    checked: Callable[[Any, str], T]  # what `find` returns of an object and its origin; or raises a `UsageError`
    _loaded: dict[tuple[str, str], T] = field(default_factory=dict)

    def find(self, name: str) -> T | None:
        """The plugin called `name`; None: there is none. An error: it cannot be used, or several packages have it."""
        named = [one for one in self._declared() if one.name == name]
        named = [one for one in named if one.place.startswith("module ")] or named
        if len(named) > 1:
            places = " and ".join(one.place for one in named)
            raise DstbenchError(f"several {self.kind}s are called {name!r}: {places}", hint="keep one of them")
        if not named:
            return None
        one = named[0]
        if (key := (one.place, one.origin)) not in self._loaded:
            try:
                plugin = one.load()
            except (Exception, SystemExit) as error:  # whatever its module does
                raise DstbenchError(f"{one.place}: cannot be imported: {fault_of(error)}") from error
            try:
                if not self.is_one(plugin):
                    hint = "`dstbench help plugins` shows one of each kind"
                    raise UsageError(f"{plugin!r} is not a {self.kind}", hint=hint)
                own_name = self.name_of(plugin)
                if isinstance(own_name, str) and own_name != name:
                    raise UsageError(f"the {self.kind} calls itself {own_name!r}", hint="give both the same name")
                self._loaded[key] = self.checked(plugin, one.origin)
            except DstbenchError as error:
                raise DstbenchError(f"{one.place}: {error.what}", hint=error.hint) from error
        return self._loaded[key]

    def names(self) -> list[str]:
        """The names, those of modules first; nothing is imported to know them."""
        return list(dict.fromkeys(one.name for one in self._declared() if one.name not in self.built_in))

    def usable(self) -> Iterator[tuple[str, T, str]]:
        """Name, plugin and origin of each plugin that can be used; warns of the others."""
        origins = {one.name: one.origin for one in reversed(self._declared())}
        for name in self.names():
            try:
                if (plugin := self.find(name)) is not None:
                    yield name, plugin, origins[name]
            except DstbenchError as error:
                warn("; ".join(filter(None, [error.what, error.hint])))

    def of_modules(self) -> list[tuple[str, Any]]:
        """The names of what named modules have, and the objects, which may not be usable."""
        return [(one.name, one.load()) for one in self._declared() if one.place.startswith("module ")]

    def shadowed(self) -> list[str]:
        """The places and names of plugins with a built-in name, which are never used, as texts ``place: name``."""
        return [f"{one.place}: {one.name}" for one in self._declared() if one.name in self.built_in]

    def _declared(self) -> list[_Declared]:
        """What named modules have, then what packages declare."""
        declared: dict[object, _Declared] = {}  # one object may have several names
        for module in _MODULES.values():
            for attribute, item in vars(module).items():
                home = item.__module__ if isinstance(item, type) else module.__name__
                is_own = f"{home}.".startswith(f"{module.__name__}.") and not attribute.startswith("_")
                if is_own and self.is_one(item):
                    name = self.name_of(item)
                    name, place = name if isinstance(name, str) else attribute, f"module {module.__name__}, {attribute}"
                    declared[name, id(item)] = _Declared(name, place, _of_source(module), partial(lambda it: it, item))
        for entry, package in _entry_points(self.kind, tuple(sys.path)):
            place = f"package {package.name} {package.version}, entry point {entry.name} = {entry.value}"
            declared[place] = _Declared(entry.name, place, _of_package(package), entry.load)
        return [*declared.values()]


def use(modules: str | Iterable[str]) -> list[ModuleType]:
    """Make what modules define usable by name, in this process.

    They are names of modules, in the working directory or importable, or paths of Python files, or of TOML files whose
    tables ``[[format]]`` declare formats; several in a list, or in one text, separated by commas.
    """
    parts = [modules] if isinstance(modules, str) else modules
    names = [name.strip() for part in parts for name in part.split(",")]
    for name in names:
        _MODULES[name] = _module_of_toml(Path(name)) if name.endswith(".toml") else _imported(name)
        _of_source(_MODULES[name])  # of the source as it is now
    return [_MODULES[name] for name in names]


def _module_of_toml(path: Path) -> ModuleType:
    """A module of the tables ``[[format]]`` in a TOML file."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    tables = document.get("format")
    if document.keys() != {"format"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise UsageError(f"{path}: tables [[format]] declare formats, and nothing else", hint="see `help plugins`")
    module = ModuleType(path.stem)
    module.__file__ = str(path.absolute())
    vars(module).update({f"[[format]] {number}": Table(table) for number, table in enumerate(tables, 1)})
    return module


def _imported(name: str) -> ModuleType:
    """The module of this name, or in the file of this path."""
    path = Path(name if name.endswith(".py") else f"{name.replace('.', '/')}.py")
    module_name, folder = (path.stem, path.parent.absolute()) if name.endswith(".py") else (name, Path().absolute())
    if name.endswith(".py") and not path.is_file():
        raise UsageError(f"module {name}: no such file", hint="name the file, or an importable module: mylab")
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(f"{name!r} is not the name of a module", hint="mylab, or mylab.py")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever the module does
        if isinstance(error, ModuleNotFoundError) and error.name == module_name.partition(".")[0]:
            hint = f"it is looked for in {folder}, and among what is installed"
            raise UsageError(f"module {name}: there is no such module", hint=hint) from None
        raise UsageError(f"module {name}: cannot be imported: {fault_of(error)}") from error
    finally:
        sys.path.remove(str(folder))
        sys.path.append(str(folder))  # last, so that files there hide nothing that is imported later
    file = getattr(module, "__file__", None)
    if path.is_file() and (file is None or not path.samefile(file)):
        raise UsageError(f"module {name}: another module has its name: {file}", hint="rename the file")
    return module


def origin_of(thing: Any) -> str:
    """The origin of a class or function that is not built in, as signatures have it.

    It is the package with its version, ``mylab-1.0``; for a module that is in no package, or that `use` was given, the
    module with a hash of its source, ``mylab#1a2b3c4d``; for something typed at a prompt, with a hash of its own.
    """
    name = getattr(thing, "__module__", None) or type(thing).__module__
    for module in _MODULES.values():
        if f"{name}.".startswith(f"{module.__name__}."):
            return _of_source(module)
    if package := _package_of(name, tuple(sys.path)):
        return _of_package(package)
    if name in sys.modules and "#" in (origin := _of_source(sys.modules[name])):
        return origin
    try:
        return f"{name}#{sha256(inspect.getsource(thing).encode()).hexdigest()[:8]}"
    except (OSError, TypeError):  # there is no source
        return name


def is_here(origin: str) -> bool:
    """Whether this process has an origin (`origin_of`): the package in this version, or the module with this source."""
    from importlib.metadata import PackageNotFoundError, distribution

    name, is_source, _ = origin.partition("#")
    if is_source:
        modules = [*_MODULES.values(), *filter(None, [sys.modules.get(name)])]
        return origin in map(_of_source, modules)
    try:
        return _of_package(distribution(origin.rpartition("-")[0])) == origin
    except (PackageNotFoundError, ValueError):
        return False


def _of_package(package: Distribution) -> str:
    return f"{package.name}-{package.version}".replace("+", ".")  # a plus joins the signatures of several metrics


@lru_cache(maxsize=256)  # an imported module stays as it is, whatever becomes of its file
def _of_source(module: ModuleType) -> str:
    """A module's name with a hash of its file, or of all Python files of a package; the name alone if it has none."""
    folders, file = getattr(module, "__path__", ()), getattr(module, "__file__", None)
    files = sorted(path for folder in folders for path in Path(folder).rglob("*.py")) or ([Path(file)] if file else [])
    try:
        content = b"".join(path.read_bytes() for path in files)
    except OSError:
        return module.__name__
    return f"{module.__name__}#{sha256(content).hexdigest()[:8]}" if files else module.__name__


@lru_cache(maxsize=32)
def _entry_points(kind: str, path: tuple[str, ...]) -> list[tuple[EntryPoint, Distribution]]:
    """The entry points of a kind, each with its package; `path`, where packages are looked for, is the cache's key."""
    from importlib.metadata import entry_points  # a fifth of what --help takes

    pairs = [(entry, entry.dist) for entry in entry_points(group=f"dstbench.{kind}s") if entry.dist is not None]
    return sorted(pairs, key=lambda pair: (pair[0].name, pair[1].name))


@lru_cache(maxsize=256)
def _package_of(module: str, path: tuple[str, ...]) -> Distribution | None:
    """The package that has a module, as `path` is; None: none has."""
    from importlib.metadata import distribution, packages_distributions

    return next((distribution(name) for name in packages_distributions().get(module.partition(".")[0], [])), None)


def fault_of(error: BaseException) -> str:
    """An exception from code of others, in a line: its type and message, and the last line of their file before it."""
    text = ": ".join(filter(None, [type(error).__name__, " ".join(str(error).split())]))
    ours = (str(Path(__file__).parent), str(Path(importlib.__file__).parent), "<frozen")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(ours)]
    theirs = [(Path(frame.filename), frame.lineno) for frame in frames if "polars" not in Path(frame.filename).parts]
    if not theirs or isinstance(error, SyntaxError):  # which says itself where
        return text
    return f"{text} ({theirs[0][0].name}, line {dict(theirs)[theirs[0][0]]})"
