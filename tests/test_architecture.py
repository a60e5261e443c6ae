"""The shape of the code: a package imports only from packages before it, and only the command line prints."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dstbench

ROOT = Path(dstbench.__file__).parent
MAP = (ROOT.parent / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")

#: The data's way, as the map in CONTRIBUTING.md has it: a package (or a module beside them) imports from those before.
STEPS = (
    "_version", "errors", "typing", "arrays", "tables", "plugins", "schema", "io", "stats", "conventions", "metrics",
    "signature", "readers", "runs", "writers", "scoring", "analysis", "audit", "demo", "rendering", "cli",
    "testing", "__main__",
)  # fmt: skip


def module_name(path: Path) -> str:
    """What Python calls a module of dstbench, without the package's own name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


#: Module to its code; `dstbench` itself (the empty name) only names what others offer.
MODULES = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))}
MODULES.pop("")


def called(node: ast.AST) -> str | None:
    """The module of dstbench that a call imports by a text that begins with its name; of one computed, its package."""
    if not isinstance(node, ast.Call) or not node.args or not ast.unparse(node.func).endswith("import_module"):
        return None
    text = ast.unparse(node.args[0])
    module = re.match(r"""f?['"]dstbench\.([\w.]*)""", text)
    return module[1].removesuffix(".") if module else None


def imported(tree: ast.AST) -> set[str]:
    """The modules of dstbench that a module imports, however it says so: anywhere in it, by name, from a package."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            paths = (alias.name.partition(".") for alias in node.names)
            found |= {module for package, _, module in paths if package == "dstbench"}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "dstbench" or (node.module or "")[:9] == "dstbench.":
                package = (node.module or "").removeprefix("dstbench").removeprefix(".")
                names = (f"{package}.{alias.name}".strip(".") for alias in node.names if package)
                found |= {name if name in MODULES else package for name in names} or {""}
        elif module := called(node):
            found.add(module)
    return found


def at_load(tree: ast.Module) -> set[str]:
    """Those that it imports when it is loaded itself: not in a function, nor for types alone."""
    kept = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.If))]
    return imported(ast.Module(kept, []))


def step(module: str) -> str:
    return module.partition(".")[0]


def test_every_module_has_its_place() -> None:
    assert {step(module) for module in MODULES} == set(STEPS)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_steps_before_it(module: str) -> None:
    for name in imported(MODULES[module]):
        # To import from dstbench itself, which names all modules, would tie every module to every other.
        assert name in MODULES, f"{module} takes a name from dstbench itself, which is for users: {name or 'dstbench'}"
        assert STEPS.index(step(name)) <= STEPS.index(step(module)), f"{module} imports {name}, of a later step"


@pytest.mark.parametrize("package", [name for name in STEPS if (ROOT / name).is_dir()])
def test_no_package_imports_in_a_circle(package: str) -> None:
    inside = {
        module: {name for name in at_load(tree) if step(name) == package and name not in (package, module)}
        for module, tree in MODULES.items()
        if step(module) == package and module != package
    }
    try:
        list(TopologicalSorter(inside).static_order())
    except CycleError as error:
        pytest.fail(f"a circle: {' -> '.join(error.args[1])}")


def test_only_the_command_line_prints_or_exits() -> None:
    for module, tree in MODULES.items():
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        if step(module) != "cli":
            assert not names & {"print", "exit", "input", "quit"}, module


def test_the_map_is_in_this_order() -> None:
    mapped = re.findall(r"^\| `dstbench/(\w+)(?:\.py|/)`", MAP, re.MULTILINE)
    assert mapped == [name for name in STEPS if name not in ("_version", "__main__")]


def test_no_package_hides_a_function() -> None:
    """To import a package of a function's name would bind it to `dstbench` in the function's place."""
    assert not {step(module) for module in MODULES} & (set(dstbench.__all__) - {"audit", "signature", "stats"})
