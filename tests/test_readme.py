"""What README, the topics of `dstbench help` and .github say: their commands, examples and links.

Their Python runs as doctests.
"""

from __future__ import annotations

import csv
import json
import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.cli.app import app
from dstbench.cli.commands import topics
from dstbench.conventions.profiles import PROFILES
from dstbench.metrics import REGISTRY
from dstbench.readers import FORMATS
from tests import formats
from tests.commands import run
from tests.corpora import EXAMPLE
from tests.packages import FILES
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOPICS = topics()
CONTRIBUTING, CHANGELOG = (
    (ROOT / ".github" / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "CHANGELOG.md")
)
ALL = "\n".join([README, *TOPICS.values(), CONTRIBUTING])


def test_the_two_commands_stand_alone_and_ci_runs_the_second() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert blocks[:2] == ["pip install uv && uv run dstbench demo\n", "uv run --group test pytest\n"]
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"- run: (\S+)", workflow)) == {".ci/run", ".ci/versions", ".ci/install"}


#: Words with which a command begins.
STARTS = ("dstbench", "uv", "pip", "ray", "ssh", "python", ".ci/run", ".ci/versions", ".ci/install")

#: Commands of the README that no test runs as they stand, and why.
NOT_RUN = {
    "pip install uv && uv run dstbench demo": "installs; .ci/versions and tests/contract/test_options.py run the demo",
    "uv run --group test pytest": "is what runs this",
    "python -m benchmarks.missing_annotations": "needs real data; tests/audit/test_places.py compares with its bars",
    "uv run --group test pytest -n0 -s -m simulation tests/simulations": "takes minutes, and is for people to read",
    "uv run --group test pytest --cov --all": "the same, slower",
    "dstbench audit inconsistency train.tsv dev.tsv test.tsv --database db --figures figures": (
        "here they would have the same dialogues; tests/audit/test_missing_tables.py searches several datasets"
    ),
    "uv run --with mutmut mutmut run": "takes hours",
    "pip install .": "installs; .ci/install does",
    "pip install '.[ray]'": "installs; .ci/run does",
    "pip install dstbench": "works once dstbench is on the index",
    "pip install 'dstbench[ray]'": "the same",
    "ray start --head": "tests/scoring/test_ray.py starts a cluster of its own",
    "ray start --address=first:6379": "the same",
    "ssh first dstbench score /shared/model.parquet --engine ray --address auto": "the same, and scores on it",
    "dstbench --install-completion": "writes into a shell's files; it is Typer's",
    "uv run python -m benchmarks.papers --all": "needs other people's files; tests/test_published.py does it",
    ".ci/run": "runs the tests",
    "python data_schemas/write.py": "tests/schema/test_schemas.py sees that it would change nothing",
    "python -m dstbench.testing mylab": "tests/testing/test_of_formats.py runs it on a module of its own",
    "python -m tests.test_public": "tests/test_public.py, likewise",
    ".ci/versions lowest-direct": "installs, and runs tests",
    ".ci/versions highest 3.13": "the same",
    ".ci/install": "installs",
    "uv build": ".ci/install does",
    "uv run python -m benchmarks.NAME": "all of them say what they do in a test of its own, below",
}

#: What follows `dstbench`, `uv` or nothing where a command is only named.
NAMES = {
    *("", "run", "help"),
    *(command.name or command.callback.__name__ for command in app.registered_commands if command.callback),
}

#: What stands for something of the reader's.
STANDS_FOR = {
    "COMMAND": "score",
    "S": "jga|profile:verbatim.1|d:5",
    "S1": "jga|profile:verbatim.1|d:5",
    "S2": "jga|profile:trade@fixed.1|d:5",
}


def commands() -> list[str]:
    """The README's commands, in order: lines of its shell blocks, and what its text has between backticks."""
    found = []
    for block, span in re.findall(r"```(?:sh\n(.*?)|.*?)```|`([^`]+)`", ALL, re.DOTALL):
        lines = block.splitlines() if block else [" ".join(span.split())]
        found += [line.partition("  #")[0].strip() for line in lines]
    begun = [line for line in dict.fromkeys(found) if line.split(" ")[0] in STARTS]
    return [line for line in begun if line.startswith(".ci/") or line.partition(" ")[2] not in NAMES]


def fill(sheet: Path) -> None:
    """A review of which nothing is wrong."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row.update(right="1" if row["row"] == "addition" else "", missed="0" if row["row"] == "dialogue" else "")
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.looks
@pytest.mark.usefixtures("undrawn")
def test_every_command_runs_or_has_a_reason_not_to(here: Path) -> None:
    dialogues = json.loads(formats.gtpr())
    several = {**dialogues, **{f"{name}9": turns for name, turns in dialogues.items()}}  # `compare` needs two
    for name in ("predictions.json", "model_a.json", "model_b.json", "t5_0.1.json", "t5_0.5.json", "t5_1.0.json"):
        Path(name).write_text(json.dumps(several))
    Path("table.csv").write_text("model,metric,value\na,JGA,.5\nb,JGA,.6\na,GCA,.7\nb,GCA,.6\n")
    Path("bare.json").write_text(formats.mwzeval())
    for name in ("test.tsv", "train.tsv"):
        Path(name).write_text(formats.star_tsv())
    more = formats.star_tsv().partition("\n")[2].replace(formats.ID, "SNG9999")  # names whose words make new ones
    more = more.replace("\tthe copper kettle\t", "\tblue boar|red lion\t").replace("\tely\t", "\tkings lynn|new moor\t")
    Path("train.tsv").write_text(formats.star_tsv() + more)
    Path("data.json").write_text(formats.multiwoz())
    Path("test20.tsv").write_text(formats.sumbt_tsv())
    for folder, text in (("predictions", formats.sgd_pred()), ("sgd/test", formats.sgd_gold())):
        Path(folder).mkdir(parents=True)
        Path(folder, "dialogues_001.json").write_text(text)
    Path("ratings.csv").write_text("".join(["dialogue,rating\n", *(f"{name},{len(name)}\n" for name in several)]))
    Path("mylab.py").write_text(FILES["dst-no-extra/no_extra.py"])
    Path("mylab.toml").write_text(re.findall(r"```toml\n(base.*?)```", TOPICS["plugins"], re.DOTALL)[0])
    names = {"dial_id": "flag", "ground_truth": "ground_truth_m24", "predicted": "predict_history"}
    records = [
        {names.get(key, key): value for key, value in record.items()} for record in json.loads(formats.records())
    ]
    Path("llm.json").write_text(json.dumps(records))
    Path("db").mkdir()
    Path("db/hotel_db.json").write_text('[{"name": "the copper kettle", "area": "centre"}]')
    ran = set()
    for line in commands():
        if line in NOT_RUN:
            continue
        first, *words = shlex.split(line)
        assert first == "dstbench", f"{line}: run it here, or say in NOT_RUN why not"
        if words[:2] == ["audit", "review"]:
            fill(Path(words[2]))
        code, _, err = run(*(STANDS_FOR.get(word, word) for word in words))
        assert code == 0, f"{line}: {err}"
        ran.add(words[0])
    assert ran >= (NAMES | {"audit"}) - {"", "run", "demo"}
    assert set(NOT_RUN) <= set(commands())


def test_the_benchmarks_are_those_of_the_table_and_say_what_they_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = re.findall(r"^\| `(\w+)\.py` \|", CONTRIBUTING, re.MULTILINE)
    scripts = [path.stem for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text("utf-8")]
    assert sorted(named) == sorted(scripts)
    for name in named:
        monkeypatch.setattr(sys, "argv", [name, "--help"])
        monkeypatch.delitem(sys.modules, f"benchmarks.{name}", raising=False)  # if other tests have imported it
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(f"benchmarks.{name}", run_name="__main__")
        assert ended.value.code in (0, None)
        assert "usage" in capsys.readouterr().out.lower()


def test_the_code_for_models_that_write_nothing_writes_what_is_scored(here: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", TOPICS["own-data"], re.DOTALL)
    (code,) = (block for block in blocks if ">>>" not in block)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 (our own README)
    names["dump"](EXAMPLE, "dumped.jsonl")
    (line,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    Path("shown.jsonl").write_text(line, encoding="utf-8")
    for file, jga in (("dumped.jsonl", 0.5), ("shown.jsonl", 1.0)):
        assert dstbench.score(file, metrics="jga")["value"].item() == jga


def test_its_links_lead_to_chapters_and_it_is_of_this_version() -> None:
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", README)) <= anchors
    for link in re.findall(r"\]\(([^#)]+)\)", README):
        assert (ROOT / link).is_file(), link
    assert f"version = {{{dstbench.__version__}}}" in README
    assert f"**{dstbench.__version__}**" in CHANGELOG
    citation = (ROOT / ".github" / "CITATION.cff").read_text(encoding="utf-8")
    (title,) = re.findall(r"^  title   = \{(.*)\},$", README, re.MULTILINE)
    (authors,) = re.findall(r"^  author  = \{\{(.*)\}\},$", README, re.MULTILINE)
    for line in (f'title: "{title}"', f"  - name: {authors}", f"version: {dstbench.__version__}"):
        assert f"\n{line}\n" in citation


def test_every_topic_is_listed_shown_and_linked() -> None:
    code, listed, _ = run("help")
    assert code == 0
    for name, text in TOPICS.items():
        assert f"  {name} " in listed
        assert run("help", name) == (0, text, "")
        assert f"/{name}.md)" in README, f"README has no link to {name}"
    code, _, err = run("help", "convention")
    assert (code, "did you mean conventions" in err) == (2, True)


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 300


def test_it_names_every_format_metric_and_profile() -> None:
    for name in (*FORMATS, *REGISTRY, *(profile.partition("@")[0] for profile in PROFILES)):
        assert f"`{name}`" in ALL, name
