"""What is not built in: of packages that pip installed, and of modules that are named; what wins, and what fails."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dstbench
from dstbench.conventions.profiles import PROFILES
from dstbench.metrics import REGISTRY
from dstbench.metrics.registry import parse
from dstbench.readers import FORMATS
from tests.commands import forgetting_modules, ok, run, run_apart
from tests.corpora import EXAMPLE
from tests.packages import FILES, PACKAGES, install, wheel, write_sources
from tests.paths import ROOT

BARRED = (
    "MUL1|0|hotel-area=north;|hotel-area=north;hotel-stars=4;\n"
    "MUL1|1|hotel-area=north;hotel-stars=4;|hotel-area=north;hotel-stars=4;\n"
)
#: JGA is 1/2 of these, and no-extra 1/2.
LOG = "predictions.log"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the topic's packages, installed by pip."""
    folder = tmp_path_factory.mktemp("packages")
    write_sources(folder)
    install([wheel(folder / name, folder) for name in PACKAGES], folder / "site")
    return folder / "site"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What a test imports from its folder is forgotten."""
    before = set(sys.modules)
    parse.cache_clear()
    with forgetting_modules():
        yield
    parse.cache_clear()
    for name in set(sys.modules) - before:
        if "pytest-of" in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


@pytest.fixture
def installed(site: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a file of the format, where the packages are installed."""
    monkeypatch.syspath_prepend(site)
    Path(LOG).write_text(BARRED)
    return here


def declare(folder: Path, group: str, entries: dict[str, str], *, package: str = "dst-other") -> None:
    """A package with entry points, as if installed."""
    info = folder / f"{package.replace('-', '_')}-2.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.0\n")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


# --- packages ---------------------------------------------------------------------------------------------------------


def test_each_package_of_the_topic_has_fewer_than_30_lines() -> None:
    assert len(PACKAGES) == 3
    for package in PACKAGES:
        texts = [text for name, text in FILES.items() if name.startswith(f"{package}/")]
        assert len(texts) == 2
        assert sum(len(text.splitlines()) for text in texts) < 30


@pytest.mark.again
def test_what_is_installed_is_used_by_its_name_and_signed_with_its_package(installed: Path) -> None:
    lines = ok("score", LOG, "-m", "no-extra,jga", "--profile", "mylab", "--signature").splitlines()
    assert lines[2].split() == ["predictions", "50.00", "50.00"]
    signature = lines[-1].removeprefix("signature: ")
    assert signature.startswith("no-extra@dst-no-extra-1.0+jga|profile:mylab.1@dst-mylab-1.0|none:drop-pred|")
    assert "|dontcare:drop|" in signature
    assert "|format:barred@dst-barred-1.0|" in signature
    assert "note" not in ok("signature", signature)
    assert ok("score", LOG, "--from", "barred", "-m", "jga").splitlines()[2].split() == ["predictions", "50.00"]
    assert "profile:mylab.1@dst-mylab-1.0+|" in ok("score", LOG, "--profile", "mylab", "--dontcare", "keep")


@pytest.mark.again
@pytest.mark.parametrize(("what", "name", "package"), [
    ("metrics", "no-extra", "dst-no-extra"), ("formats", "barred", "dst-barred"), ("profiles", "mylab", "dst-mylab"),
])  # fmt: skip
def test_ls_says_where_each_is_from_if_one_is_not_built_in(
    what: str, name: str, package: str, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = json.loads(ok("ls", what, "--format", "json"))[what]
    assert {row["from"] for row in rows if row["name"] != name} == {"dstbench"}
    assert [row["from"] for row in rows if row["name"] == name] == [f"{package}-1.0"]
    assert [row["name"] for row in json.loads(ok("ls", what, name, "--format", "json"))[what]] == [name]
    monkeypatch.setattr(sys, "path", sys.path[1:])
    assert all("from" not in row for row in json.loads(ok("ls", what, "--format", "json"))[what])
    assert run("ls", what, name)[0] == 2


# --- what is built in wins --------------------------------------------------------------------------------------------


def test_a_built_in_wins_over_a_package_and_ls_says_so_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(here, "dstbench.metrics", {"jga": "nowhere:JGA"})
    declare(here, "dstbench.profiles", {"trade@faithful": "nowhere:TRADE"}, package="dst-trade")
    declare(here, "dstbench.formats", {"gtpr": "nowhere:GTPR"}, package="dst-gtpr")
    monkeypatch.syspath_prepend(here)
    assert dstbench.score(EXAMPLE, metrics="jga", profile="trade")["signature"].item().startswith("jga|profile:trade@")
    for what, names, name in (
        ("metrics", REGISTRY, "jga"), ("profiles", PROFILES, "trade@faithful"), ("formats", FORMATS, "gtpr"),
    ):  # fmt: skip
        code, out, err = run("ls", what, "--format", "json")
        assert code == 0
        assert [row["name"] for row in json.loads(out)[what]] == list(names)
        assert err.count(f": {name} is a built-in name, and the built-in one is used") == 1


# --- what cannot be used ----------------------------------------------------------------------------------------------

METRIC_HEAD = "from dataclasses import dataclass\nfrom dstbench import Metric\n"
#: A module, what of it the entry point `odd` of a group names, and what is said.
UNUSABLE = {
    "it is not there": ("metric", None, "other:X", "ModuleNotFoundError: No module named 'other'"),
    "it fails": ("metric", "import json\n1 / 0\n", "other:X", "ZeroDivisionError: division by zero (other.py, line 2)"),
    "no metric": ("metric", "X = 3\n", "other:X", "3 is not a metric"),
    "no dataclass": (
        "metric", f"{METRIC_HEAD}class X(Metric):\n    name = 'odd'\n", "other:X", "X is not a dataclass",
    ),
    "another name": (
        "metric", f"{METRIC_HEAD}@dataclass(frozen=True)\nclass X(Metric):\n    name = 'even'\n", "other:X",
        "the metric calls itself 'even'",
    ),
    "a parameter without default": (
        "metric", f"{METRIC_HEAD}@dataclass(frozen=True)\nclass X(Metric):\n    k: int\n    name = 'odd'\n", "other:X",
        "parameter 'k' has no default",
    ),
    "no statistics": (
        "metric", f"{METRIC_HEAD}def of(x): return x.b\n@dataclass(frozen=True)\nclass X(Metric):\n    name = 'odd'\n"
        "    def stats(self): return {'a': of(self)}\n", "other:X",
        "stats() fails: AttributeError: 'X' object has no attribute 'b' (other.py, line 3)",
    ),
    "a format without functions": (
        "format", "from dstbench.readers import Format\n"
        "X = Format(name='odd', title='x', example='x', sniff=None, reader=None)\n", "other:X",
        "the format's sniff is None, not a function",
    ),
    "a convention that is built in": (
        "profile", "from dstbench import profile\nX = profile('trade')\n", "other:X", "is not a profile",
    ),
}  # fmt: skip


@pytest.mark.again
@pytest.mark.parametrize("case", UNUSABLE)
def test_what_cannot_be_used_is_one_error_that_names_the_package(
    case: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, module, value, said = UNUSABLE[case]
    sys.modules.pop("other", None)
    if module is not None:
        Path("other.py").write_text(module)
    write_sources(here)
    declare(here, f"dstbench.{kind}s", {"odd": value})
    declare(here, "dstbench.metrics", {"no-extra": "no_extra:NoExtra"}, package="dst-no-extra")
    monkeypatch.syspath_prepend(here)
    monkeypatch.syspath_prepend(here / "dst-no-extra")
    Path("p.jsonl").write_text(json.dumps(EXAMPLE[0]) + "\n")
    option = {"metric": "-m", "format": "--from", "profile": "--profile"}[kind]
    code, out, err = run("score", "p.jsonl", option, "odd")
    text = " ".join(err.split())
    assert (code, out) == (1, "")
    assert text.startswith("error: ")
    assert f"package dst-other 2.0, entry point odd = {value}: " in text
    assert said in text
    assert ok("score", "p.jsonl", "-m", "no-extra")  # others stay usable
    code, out, err = run("ls", f"{kind}s", "--format", "json")
    assert code == 0
    assert "odd" not in {row["name"] for row in json.loads(out)[f"{kind}s"]}
    assert said in " ".join(err.split())


def test_two_packages_with_one_name_are_an_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("dst-one", "dst-two"):
        declare(here, "dstbench.metrics", {"odd": "other:X"}, package=package)
    monkeypatch.syspath_prepend(here)
    said = r"several metrics are called 'odd': package dst-one 2\.0.* and package dst-two"
    with pytest.raises(dstbench.DstbenchError, match=said):
        dstbench.score(EXAMPLE, metrics="odd")


def test_a_failing_reader_is_one_error_with_its_place(here: Path) -> None:
    Path("other.py").write_text(
        "from dstbench.readers import Format\n"
        "def turns_of(document):\n    return document['turns']\n"
        "def read(source, states):\n    turns_of({})\n"
        "FORMAT = Format(name='odd', title='x', example='odd', sniff=lambda s: s.text == 'odd', reader=read)\n"
    )
    Path("p.txt").write_text("odd")
    code, out, err = run("score", "p.txt", "--plugins", "other")
    assert (code, out) == (1, "")
    assert "p.txt: the reader of format odd@other#" in err
    assert "KeyError: 'turns' (other.py, line 3)" in " ".join(err.split())
    assert "hint: is the file damaged? a odd file looks like odd" in " ".join(err.split())


# --- modules ----------------------------------------------------------------------------------------------------------

#: A module with a metric, a format and a convention.
MODULE = "\n".join(text for name, text in FILES.items() if name.endswith(".py")).replace(
    "from dstbench.readers import Format", "from dstbench.readers import Format\n_HIDDEN = Format"
)


@pytest.mark.parametrize("named", ["mylab", "mylab.py", "./mylab.py"])
def test_a_module_in_the_working_directory(named: str, here: Path) -> None:
    Path("mylab.py").write_text(MODULE)
    Path(LOG).write_text(BARRED)
    out = ok("score", LOG, "--plugins", named, "-m", "no-extra,jga", "--profile", "mylab", "--signature")
    assert out.splitlines()[2].split() == ["predictions", "50.00", "50.00"]
    signature = out.splitlines()[-1].removeprefix("signature: ")
    (digest,) = {part.partition("#")[2][:8] for part in signature.split("mylab") if part.startswith("#")}
    assert signature.startswith(f"no-extra@mylab#{digest}+jga|profile:mylab.1@mylab#{digest}|")
    assert f"|format:barred@mylab#{digest}|" in signature
    assert "note" not in ok("signature", signature, "--plugins", named)
    for what, name in (("metrics", "no-extra"), ("formats", "barred"), ("profiles", "mylab")):
        rows = json.loads(ok("ls", what, "--plugins", named, "--format", "json"))[what]
        assert [row["name"] for row in rows if row["from"] == f"mylab#{digest}"] == [name]


@pytest.mark.parametrize(
    ("content", "named", "said"),
    [
        (None, "other", "module other: there is no such module\nhint: it is looked for in "),
        (None, "other.py", "module other.py: no such file"),
        ("", "a b", "'a b' is not the name of a module"),
        (
            "import nowhere\n",
            "other",
            "module other: cannot be imported: ModuleNotFoundError: No module named 'nowhere'",
        ),
        (
            "1 / 0\n",
            "other",
            "module other: cannot be imported: ZeroDivisionError: division by zero (other.py, line 1)",
        ),
    ],
)
def test_a_module_that_cannot_be_used_is_one_error(content: str | None, named: str, said: str, here: Path) -> None:
    sys.modules.pop("other", None)
    if content is not None:
        Path("other.py").write_text(content)
    code, out, err = run("score", "p.json", "--plugins", named)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split()).replace(" hint:", "\nhint:")


@pytest.mark.parametrize("named", ["json", "json.py"])
def test_a_file_with_the_name_of_another_module_is_refused(named: str, here: Path) -> None:
    Path("json.py").write_text("")
    code, _, err = run("ls", "metrics", "--plugins", named)
    assert (code, f"module {named}: another module has its name" in err) == (2, True)


@pytest.mark.again
def test_another_source_is_another_signature(here: Path) -> None:
    Path(LOG).write_text(BARRED)
    found = set()
    for threshold in (1, 2):  # a constant of the module that the class only uses
        Path("mylab.py").write_text(f"LIMIT = {threshold}\n{MODULE}")
        env = {"PYTHONPATH": str(ROOT)}
        _, out, _ = run_apart("score", LOG, "--plugins", "mylab", "-m", "no-extra", env=env)
        found.add(out.splitlines()[-1].partition("|")[0])
    assert len(found) == 2
