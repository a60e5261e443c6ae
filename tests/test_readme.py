"""The README's promises: its two commands, its examples, its map. (Its Python runs as doctests.)"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from dstbench.metrics import REGISTRY
from dstbench.profiles import PROFILES
from dstbench.readers import FORMATS
from tests import formats
from tests.test_architecture import STEPS
from tests.test_cli import run

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_two_commands_stand_alone_and_ci_runs_the_second() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    assert blocks[:2] == ["pip install uv && uv run dstbench demo\n", "uv run pytest\n"]
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_examples_of_scoring_run(here: Path) -> None:
    dialogues = json.loads(formats.gtpr())
    several = {**dialogues, **{f"{name}9": turns for name, turns in dialogues.items()}}  # `compare` needs two
    for name in ("predictions.json", "model_a.json", "model_b.json"):
        Path(name).write_text(json.dumps(several))
    Path("bare.json").write_text(formats.mwzeval())
    Path("test.tsv").write_text(formats.star_tsv())
    Path("data.json").write_text(formats.multiwoz())
    commands = re.findall(r"^dstbench (\w+) (.*)$", README, re.MULTILINE)
    commands += re.findall(r"`dstbench (convert|check|contexts) (.*?)`", README)
    assert {command for command, _ in commands} == {
        "score",
        "compare",
        "sweep",
        "pairs",
        "convert",
        "check",
        "contexts",
        "diagnose",
        "traits",
        "correlate",
        "report",
        "show",
        "query",
    }
    for command, words in commands:
        code, _, err = run(command, *shlex.split(words))
        assert code == 0, err


def test_it_names_every_format_metric_and_profile() -> None:
    for name in (*FORMATS, *REGISTRY, *(profile.partition("@")[0] for profile in PROFILES)):
        assert f"`{name}`" in README or name == "simpletod-v1", name


def test_the_map_has_every_step_in_order() -> None:
    mapped = re.findall(r"\| `dstbench/(\w+)(?:\.py|/)`", README)
    assert mapped == [step for step in STEPS if step in mapped]
    assert set(STEPS) - set(mapped) == {"errors", "options", "files", "listing", "__main__"}
