"""Metrics, formats and profiles that are not built in: those of installed packages, and of modules that a user names.

A package declares them as entry points of the groups ``dstbench.metrics``, ``dstbench.formats`` and
``dstbench.profiles``; the name of an entry point is the name of what it leads to. A module is named in Python by `use`,
on the command line by ``--plugins``; all that it defines can be used.

Conventions: for a name, what is built in comes first, then what a named module has, then packages. Packages are
searched only for names that the first two do not have, and only the package that has the name is imported. A package
that cannot be used is an error that names it; others stay usable.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from dstbench.errors import DstbenchError, UsageError, warn

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

Kind: TypeAlias = Literal["metric", "format", "profile"]
T = TypeVar("T")

_PACKAGE: Final = __name__.partition(".")[0]
#: The modules that users have named, by their names.
_MODULES: Final[dict[str, ModuleType]] = {}


class _Declared(NamedTuple):
    """What a package or a module declares: its name, its place in words, origin (`origin_of`), and how to get it."""

    name: str
    place: str
    origin: str
    load: Callable[[], Any]


class Plugins(Generic[T]):
    """The metrics, formats or profiles that are not built in.

    Args:
        kind: The kind of object.
        built_in: The names of the built-in ones.
        is_one: Whether an object is of the kind.
        name_of: The name of an object of the kind, or whatever it has in place of a name.
        checked: From an object and its origin to what `find` returns; raises a `UsageError` if it cannot be used.
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
        """The plugin called `name`; None if there is none.

        Raises:
            DstbenchError: It cannot be used, or several packages have it; the message names them.
        """
        declared = self._declared(name)
        return None if declared is None else self._get(declared)

    def names(self) -> list[str]:
        """The names, those of modules first; nothing is imported to know them."""
        names = dict.fromkeys(one.name for one in (*self._of_modules(), *self._of_packages()))
        return [name for name in names if name not in self._built_in]

    def usable(self) -> Iterator[tuple[str, T, str]]:
        """Each plugin that can be used: its name, the plugin, and its origin (`origin_of`).

        Warns of those that cannot be used.
        """
        for name in self.names():
            try:
                if (declared := self._declared(name)) is not None:
                    yield name, self._get(declared), declared.origin
            except DstbenchError as error:
                warn("; ".join(filter(None, [error.what, error.hint])))

    def of_modules(self) -> list[tuple[str, Any]]:
        """The names of what named modules have, and the objects, which may not be usable."""
        return [(one.name, one.load()) for one in self._of_modules()]

    def shadowed(self) -> list[str]:
        """The places and names of plugins with a built-in name, which are never used, as texts ``place: name``."""
        declared = [*self._of_modules(), *self._of_packages()]
        return [f"{one.place}: {one.name}" for one in declared if one.name in self._built_in]

    def _declared(self, name: str) -> _Declared | None:
        for declared in (self._of_modules(), self._of_packages()):
            named = [one for one in declared if one.name == name]
            if len(named) > 1:
                places = " and ".join(one.place for one in named)
                raise DstbenchError(f"several {self._kind}s are called {name!r}: {places}", hint="keep one of them")
            if named:
                return named[0]
        return None

    def _of_modules(self) -> list[_Declared]:
        declared = []
        for module in _MODULES.values():
            for attribute, thing in vars(module).items():
                home = getattr(thing, "__module__", "") if isinstance(thing, type) else module.__name__
                is_its_own = f"{home}.".startswith(f"{module.__name__}.")
                if not attribute.startswith("_") and is_its_own and self._is_one(thing):
                    name = self._name_of(thing)
                    name = name if isinstance(name, str) else attribute
                    place = f"module {module.__name__}, {attribute}"
                    declared.append(_Declared(name, place, _of_source(module), lambda thing=thing: thing))  # type: ignore[misc]
        return list({(one.name, id(one.load())): one for one in declared}.values())  # one thing under several names

    def _of_packages(self) -> list[_Declared]:
        declared = []
        for entry, package in _entry_points(f"{_PACKAGE}.{self._kind}s", tuple(sys.path)):
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
                raise UsageError(
                    f"{plugin!r} is not a {self._kind}", hint="`dstbench help plugins` shows one of each kind"
                )
            name = self._name_of(plugin)
            if isinstance(name, str) and name != declared.name:
                raise UsageError(f"the {self._kind} calls itself {name!r}", hint="give both the same name")
            self._loaded[key] = self._checked(plugin, declared.origin)
        except DstbenchError as error:
            raise DstbenchError(f"{declared.place}: {error.what}", hint=error.hint) from error
        return self._loaded[key]


# --- modules ----------------------------------------------------------------------------------------------------------


def use(modules: str | Iterable[str]) -> list[ModuleType]:
    """Make the metrics, formats and profiles that modules define usable by name, in this process.

    Args:
        modules: Names of modules, in the working directory or importable, or paths of Python files; several in a list,
            or in one text, separated by commas.

    Returns:
        The modules.

    Raises:
        UsageError: A module cannot be found or imported.
    """
    parts = [modules] if isinstance(modules, str) else modules
    names = [name.strip() for part in parts for name in part.split(",")]
    for name in names:
        _MODULES[name] = _imported(name)
        _of_source(_MODULES[name])
    return [_MODULES[name] for name in names]


def _imported(name: str) -> ModuleType:
    """The module of this name, or in the file of this path."""
    folder, module_name = Path(), name
    if name.endswith(".py"):
        folder, module_name = Path(name).parent, Path(name).stem
        if not Path(name).is_file():
            raise UsageError(f"module {name}: no such file")
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise UsageError(f"{name!r} is not the name of a module", hint="mylab, or mylab.py")
    place = str(folder.absolute())
    sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever the module does
        if isinstance(error, ModuleNotFoundError) and error.name == module_name.partition(".")[0]:
            hint = f"it is looked for in {place}, and among what is installed"
            raise UsageError(f"module {name}: there is no such module", hint=hint) from None
        raise UsageError(f"module {name}: cannot be imported: {fault_of(error)}") from error
    finally:
        sys.path.remove(place)
        if place not in sys.path:  # last, so that files there hide nothing that is imported later
            sys.path.append(place)
    parts = module_name.split(".")
    expected_files = (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py"))
    file = getattr(module, "__file__", None)
    if any(path.is_file() for path in expected_files) and not any(
        file and path.samefile(file) for path in expected_files if path.is_file()
    ):
        where = file or "a part of Python"
        raise UsageError(f"module {name}: another module has its name: {where}", hint="rename the file")
    return module


# --- where something is from ------------------------------------------------------------------------------------------


def origin_of(thing: Any) -> str:
    """The origin of a class or function that is not built in, as signatures have it.

    It is the package with its version, ``mylab-1.0``; for a module that is in no package, or that `use` was given, the
    module with a hash of its source, ``mylab#1a2b3c4d``; for something typed at a prompt, the module alone.
    """
    name = getattr(thing, "__module__", None) or type(thing).__module__
    module = sys.modules.get(name)
    named = next((one for one in _MODULES.values() if f"{name}.".startswith(f"{one.__name__}.")), None)
    if named is not None:
        return _of_source(named)
    for kind in ("metrics", "formats", "profiles"):
        for entry, package in _entry_points(f"{_PACKAGE}.{kind}", tuple(sys.path)):
            if entry.module == name:
                return _of_package(package)
    if installed := _package_of(name.partition(".")[0], tuple(sys.path)):
        return installed
    if module is not None and name != "__main__" and getattr(module, "__file__", None):
        return _of_source(module)
    import inspect

    try:
        source = inspect.getsource(thing)
    except (OSError, TypeError):  # typed at a prompt: there is no source file
        return name
    return f"{name}#{_digest(source.encode('utf-8', 'surrogatepass'))}"


def is_here(origin: str) -> bool:
    """Whether this process has an origin (`origin_of`): the package in this version, or the module with this source."""
    if "#" in origin:
        return any(_of_source(module) == origin for module in (*_MODULES.values(), *_by_name(origin)))
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return _of_package(distribution(origin.rpartition("-")[0])) == origin
    except (PackageNotFoundError, ValueError):
        return False


def _by_name(origin: str) -> list[ModuleType]:
    module = sys.modules.get(origin.partition("#")[0])
    return [] if module is None else [module]


def _of_package(package: Distribution) -> str:
    return f"{package.name}-{package.version}".replace("+", ".")  # a plus joins the signatures of several metrics


@lru_cache(maxsize=256)  # an imported module stays as it is, whatever becomes of its file
def _of_source(module: ModuleType) -> str:
    """A module's name with a hash of its source: of its file, or of all Python files of a package."""
    folders = getattr(module, "__path__", None)
    if folders is not None:
        files = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    else:
        files = [Path(file)] if (file := getattr(module, "__file__", None)) else []
    try:
        return (
            f"{module.__name__}#{_digest(b''.join(path.read_bytes() for path in files))}" if files else module.__name__
        )
    except OSError:
        return module.__name__


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:8]


@lru_cache(maxsize=32)
def _entry_points(group: str, path: tuple[str, ...]) -> list[tuple[EntryPoint, Distribution]]:
    """The entry points of a group, each with its package; `path` is where packages are looked for."""
    from importlib.metadata import entry_points  # a fifth of what --help takes

    del path  # the key of the cache
    pairs = [(entry, entry.dist) for entry in entry_points(group=group) if entry.dist is not None]
    return sorted(pairs, key=lambda pair: (pair[0].name, pair[1].name))


@lru_cache(maxsize=256)
def _package_of(top: str, path: tuple[str, ...]) -> str | None:
    """The package that holds a module at the top, with its version; None: no package does."""
    from importlib.metadata import distribution, packages_distributions

    del path
    return next((_of_package(distribution(name)) for name in packages_distributions().get(top, [])), None)


# --- faults -----------------------------------------------------------------------------------------------------------


def fault_of(error: BaseException) -> str:
    """An exception from code of others, in a line: its type and message, and the last line of their code before it."""
    ours = str(Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame.filename, ours)]
    message = re.sub(r"\s+", " ", str(error)).strip()
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if not frames or isinstance(error, SyntaxError):  # which says itself where
        return text
    last = next(frame for frame in reversed(frames) if frame.filename == frames[0].filename)
    return f"{text} ({Path(last.filename).name}, line {last.lineno})"


def _is_theirs(file: str, ours: str) -> bool:
    others = (f"{os.sep}importlib{os.sep}", f"{os.sep}polars{os.sep}")
    return not file.startswith((ours, "<frozen")) and not any(part in file for part in others)
