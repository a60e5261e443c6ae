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
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from dstbench.errors import DstbenchError, UsageError, warn

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

Kind: TypeAlias = Literal["metric", "format", "profile"]
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


class Plugins(Generic[T]):
    """The metrics, formats or profiles that are not built in.

    `is_one` says whether an object is of the kind, `name_of` gives its name (or what stands in its place). `checked`
    makes what `find` returns of an object and its origin, or raises a `UsageError`.
    """

    def __init__(
        self,
        kind: Kind,
        built_in: Collection[str],
        *,
        is_one: Callable[[Any], bool],
        name_of: Callable[[Any], object],
        checked: Callable[[Any, str], T],
    ) -> None:
        self._kind, self._built_in = kind, built_in
        self._is_one, self._name_of, self._checked = is_one, name_of, checked
        self._loaded: dict[tuple[str, str], T] = {}

    def find(self, name: str) -> T | None:
        """The plugin called `name`; None: there is none. An error: it cannot be used, or several packages have it."""
        for declared in (self._of_modules(), self._of_packages()):
            if named := [one for one in declared if one.name == name]:
                if len(named) > 1:
                    places = " and ".join(one.place for one in named)
                    raise DstbenchError(f"several {self._kind}s are called {name!r}: {places}", hint="keep one of them")
                return self._get(named[0])
        return None

    def names(self) -> list[str]:
        """The names, those of modules first; nothing is imported to know them."""
        return list(dict.fromkeys(one.name for one in self._declared() if one.name not in self._built_in))

    def usable(self) -> Iterator[tuple[str, T, str]]:
        """Name, plugin and origin of each plugin that can be used; warns of the others."""
        for name in self.names():
            try:
                if (plugin := self.find(name)) is not None:
                    yield name, plugin, next(one.origin for one in self._declared() if one.name == name)
            except DstbenchError as error:
                warn("; ".join(filter(None, [error.what, error.hint])))

    def of_modules(self) -> list[tuple[str, Any]]:
        """The names of what named modules have, and the objects, which may not be usable."""
        return [(one.name, one.load()) for one in self._of_modules()]

    def shadowed(self) -> list[str]:
        """The places and names of plugins with a built-in name, which are never used, as texts ``place: name``."""
        return [f"{one.place}: {one.name}" for one in self._declared() if one.name in self._built_in]

    def _declared(self) -> list[_Declared]:
        return [*self._of_modules(), *self._of_packages()]

    def _of_modules(self) -> list[_Declared]:
        found: dict[tuple[str, int], _Declared] = {}  # one thing may have several names
        for module in _MODULES.values():
            for attribute, thing in vars(module).items():
                home = thing.__module__ if isinstance(thing, type) else module.__name__
                is_its_own = f"{home}.".startswith(f"{module.__name__}.")
                if not attribute.startswith("_") and is_its_own and self._is_one(thing):
                    name = self._name_of(thing)
                    name = name if isinstance(name, str) else attribute
                    place = f"module {module.__name__}, {attribute}"
                    found[name, id(thing)] = _Declared(name, place, _of_source(module), lambda thing=thing: thing)  # type: ignore[misc]
        return [*found.values()]

    def _of_packages(self) -> list[_Declared]:
        declared = []
        for entry, package in _entry_points(self._kind, tuple(sys.path)):
            place = f"package {package.name} {package.version}, entry point {entry.name} = {entry.value}"
            declared.append(_Declared(entry.name, place, _of_package(package), entry.load))
        return declared

    def _get(self, declared: _Declared) -> T:
        key = (declared.place, declared.origin)
        if key in self._loaded:
            return self._loaded[key]
        try:
            plugin = declared.load()
        except (Exception, SystemExit) as error:  # whatever its module does
            raise DstbenchError(f"{declared.place}: cannot be imported: {fault_of(error)}") from error
        try:
            if not self._is_one(plugin):
                what = f"{plugin!r} is not a {self._kind}"
                raise UsageError(what, hint="`dstbench help plugins` shows one of each kind")
            name = self._name_of(plugin)
            if isinstance(name, str) and name != declared.name:
                raise UsageError(f"the {self._kind} calls itself {name!r}", hint="give both the same name")
            self._loaded[key] = self._checked(plugin, declared.origin)
        except DstbenchError as error:
            raise DstbenchError(f"{declared.place}: {error.what}", hint=error.hint) from error
        return self._loaded[key]


def use(modules: str | Iterable[str]) -> list[ModuleType]:
    """Make the metrics, formats and profiles that modules define usable by name, in this process.

    Args:
        modules: Names of modules, in the working directory or importable, or paths of Python files, or of TOML files
            whose tables ``[[format]]`` declare formats; several in a list, or in one text, separated by commas.

    Returns:
        The modules.

    Raises:
        UsageError: A module cannot be found or imported.
    """
    parts = [modules] if isinstance(modules, str) else modules
    names = [name.strip() for part in parts for name in part.split(",")]
    for name in names:
        _MODULES[name] = _declared_in(name) if name.endswith(".toml") else _imported(name)
        _of_source(_MODULES[name])
    return [_MODULES[name] for name in names]


def _declared_in(name: str) -> ModuleType:
    """A module of the tables ``[[format]]`` in a TOML file."""
    import tomllib

    path = Path(name)
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{name}: not TOML: {error}") from None
    tables = document.get("format")
    if document.keys() != {"format"} or not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise UsageError(f"{name}: tables [[format]] declare formats, and nothing else", hint="see `help plugins`")
    module = ModuleType(path.stem)
    module.__file__ = str(path.absolute())
    vars(module).update({f"[[format]] {number}": Table(table) for number, table in enumerate(tables, 1)})
    return module


def _imported(name: str) -> ModuleType:
    """The module of this name, or in the file of this path."""
    folder, parts = Path(), name.split(".")
    if name.endswith(".py"):
        folder, parts = Path(name).parent, [Path(name).stem]
        if not Path(name).is_file():
            near = [path.name for path in sorted(folder.glob("*.py"))][:5]
            hint = f"in that folder: {', '.join(near)}" if near else "name the file, or an importable module: mylab"
            raise UsageError(f"module {name}: no such file", hint=hint)
    if not all(part.isidentifier() for part in parts):
        raise UsageError(f"{name!r} is not the name of a module", hint="mylab, or mylab.py")
    place = str(folder.absolute())
    sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(".".join(parts))
    except (Exception, SystemExit) as error:  # whatever the module does
        if isinstance(error, ModuleNotFoundError) and error.name == parts[0]:
            hint = f"it is looked for in {place}, and among what is installed"
            raise UsageError(f"module {name}: there is no such module", hint=hint) from None
        raise UsageError(f"module {name}: cannot be imported: {fault_of(error)}") from error
    finally:
        sys.path.remove(place)
        if place not in sys.path:  # last, so that files there hide nothing that is imported later
            sys.path.append(place)
    wanted = [folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py")]
    file = getattr(module, "__file__", None) or "a part of Python"
    if any(path.is_file() for path in wanted) and Path(file).resolve() not in [path.resolve() for path in wanted]:
        raise UsageError(f"module {name}: another module has its name: {file}", hint="rename the file")
    return module


def origin_of(thing: Any) -> str:
    """The origin of a class or function that is not built in, as signatures have it.

    It is the package with its version, ``mylab-1.0``; for a module that is in no package, or that `use` was given, the
    module with a hash of its source, ``mylab#1a2b3c4d``; for something typed at a prompt, the module alone.
    """
    name = getattr(thing, "__module__", None) or type(thing).__module__
    module = next((one for one in _MODULES.values() if f"{name}.".startswith(f"{one.__name__}.")), None)
    if module is None and (package := _package_of(name, tuple(sys.path))) is not None:
        return _of_package(package)
    module = module or sys.modules.get(name)
    if module is not None and name != "__main__" and getattr(module, "__file__", None):
        return _of_source(module)
    try:
        source = inspect.getsource(thing)
    except (OSError, TypeError):  # typed at a prompt: there is no source file
        return name
    return f"{name}#{_digest(source.encode('utf-8', 'surrogatepass'))}"


def is_here(origin: str) -> bool:
    """Whether this process has an origin (`origin_of`): the package in this version, or the module with this source."""
    name, mark, _ = origin.partition("#")
    if mark:
        modules = sys.modules | {module.__name__: module for module in _MODULES.values()}
        return name in modules and _of_source(modules[name]) == origin
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return _of_package(distribution(origin.rpartition("-")[0])) == origin
    except (PackageNotFoundError, ValueError):
        return False


def _of_package(package: Distribution) -> str:
    return f"{package.name}-{package.version}".replace("+", ".")  # a plus joins the signatures of several metrics


@lru_cache(maxsize=256)  # an imported module stays as it is, whatever becomes of its file
def _of_source(module: ModuleType) -> str:
    """A module's name with a hash of its source: of its file, or of all Python files of a package."""
    folders, file = getattr(module, "__path__", None), getattr(module, "__file__", None)
    files = [Path(file)] if file else []
    if folders is not None:
        files = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    try:
        content = b"".join(path.read_bytes() for path in files)
    except OSError:
        return module.__name__
    return f"{module.__name__}#{_digest(content)}" if files else module.__name__


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:8]


@lru_cache(maxsize=32)
def _entry_points(kind: str, path: tuple[str, ...]) -> list[tuple[EntryPoint, Distribution]]:
    """The entry points of a kind, each with its package; `path` is where packages are looked for."""
    from importlib.metadata import entry_points  # a fifth of what --help takes

    del path  # the key of the cache
    pairs = [(entry, entry.dist) for entry in entry_points(group=f"dstbench.{kind}s") if entry.dist is not None]
    return sorted(pairs, key=lambda pair: (pair[0].name, pair[1].name))


@lru_cache(maxsize=256)
def _package_of(module: str, path: tuple[str, ...]) -> Distribution | None:
    """The package that has a module; None: none has."""
    from importlib.metadata import distribution, packages_distributions

    for kind in get_args(Kind):
        for entry, package in _entry_points(kind, path):
            if entry.module == module:
                return package
    return next((distribution(name) for name in packages_distributions().get(module.partition(".")[0], [])), None)


def fault_of(error: BaseException) -> str:
    """An exception from code of others, in a line: its type and message, and the last line of their code before it."""
    ours = (str(Path(__file__).parent), "<frozen")
    libraries = (f"{os.sep}importlib{os.sep}", f"{os.sep}polars{os.sep}")
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(ours) and not any(library in frame.filename for library in libraries)
    ]
    text = ": ".join(filter(None, [type(error).__name__, " ".join(str(error).split())]))
    if not frames or isinstance(error, SyntaxError):  # which says itself where
        return text
    last = next(frame for frame in reversed(frames) if frame.filename == frames[0].filename)
    return f"{text} ({Path(last.filename).name}, line {last.lineno})"
