"""Packages with metrics, formats and profiles: those of the topic on plugins, and any others, installed by pip."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from dstbench.cli.commands import topics

#: Name of each file in the topic to its text: those of three packages, each in a folder.
FILES: dict[str, str] = dict(
    re.findall(r"`([\w-]+/[\w.]+)`:\n\n```\w+\n(.*?)```", topics()["plugins"], re.DOTALL),
)
PACKAGES = tuple(dict.fromkeys(name.partition("/")[0] for name in FILES))


def write_sources(folder: Path) -> None:
    """Write the packages of the topic, each to a folder of its own."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def wheel(source: Path, folder: Path) -> Path:
    """A wheel of the package in `source`, as a build backend makes one of its pyproject.toml and modules."""
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    info = f"{name}-{version}.dist-info"
    groups = project.get("entry-points", {})
    files = {
        **{path.name: path.read_text(encoding="utf-8") for path in source.glob("*.py")},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(
            line for group, entries in groups.items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
        ),
    }  # fmt: skip
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with ZipFile(path, "w") as file:
        for member, text in files.items():
            file.writestr(member, text)
        file.writestr(f"{info}/RECORD", "".join(f"{member},,\n" for member in (*files, f"{info}/RECORD")))
    return path


def python_with(*modules: str) -> str:
    """A Python that has these modules: this one, or the one that it was made from."""
    for python in dict.fromkeys((sys.executable, getattr(sys, "_base_executable", sys.executable))):
        code = "; ".join(f"import {module}" for module in modules)
        if not subprocess.run([python, "-c", code], capture_output=True, check=False).returncode:  # noqa: S603
            return python
    pytest.skip(f"no Python here has {' and '.join(modules)}")


def install(packages: list[Path], folder: Path) -> None:
    """Install packages (folders or wheels) into a folder with pip."""
    from_source = [path for path in packages if path.is_dir()]
    python = python_with("pip", *(("setuptools", "wheel") if from_source else ()))
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(folder)]
    command = [python, "-m", "pip", "--disable-pip-version-check", "install", *options, *map(str, packages)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (pip)
    assert done.returncode == 0, done.stderr
