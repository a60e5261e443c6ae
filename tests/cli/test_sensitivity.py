"""What one error costs, on the command line: its text, the other formats, the figure, and what users get wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dstbench
from dstbench.cli.commands import topics
from dstbench.demo import synthetic, write_sample
from dstbench.metrics.registry import REGISTRY
from tests.commands import ok


@pytest.fixture
def gold(here: Path) -> Path:
    runs = synthetic(30)
    dstbench.write_long(dstbench.open_runs({"gold": runs["careful"]})[0], "gold.parquet")
    return here


# --- the topic --------------------------------------------------------------------------------------------------------

TOPIC = topics()["metrics"]
#: A claim's figures: metric, kind, and the losses at both ends of a dialogue.
FIGURES = re.compile(r"`([\w-]+)`,\s`(\w+)`:\s([\d.]+\d),\s([\d.]+\d)")


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[tuple[str, str], tuple[str, str]]]:
    """What the topic's command prints of the bundled sample, and each (metric, kind) to its first and last loss."""
    folder = tmp_path_factory.mktemp("sample")
    write_sample(synthetic(), folder)
    sample = str(folder / "careful.parquet")
    metrics = ",".join(dict.fromkeys(metric for metric, *_ in FIGURES.findall(TOPIC)))
    out = ok("sensitivity", sample, "--gold-only", "-m", metrics, "--all")
    rows, kind = {}, ""
    for line in out.splitlines():
        kind = line.partition(":")[0] if ":" in line else kind
        words = line.split()
        if line.startswith(" ") and len(words) > 6 and words[0] != "metric":
            rows[words[0], kind] = words[1], words[5]
    return ok("sensitivity", sample, "--gold-only", "--kinds", "missed", "--all"), rows


@pytest.mark.again
def test_a_wrong_value_that_is_similar_costs_less_with_partial_credit(losses: Any, tmp_path: Path) -> None:
    """What the topic says of `--match levenshtein`."""
    write_sample(synthetic(), tmp_path)
    words = ("-m", "soft-rsa", "--kinds", "wrong", "--match", "levenshtein", "--all")
    out = ok("sensitivity", str(tmp_path / "careful.parquet"), "--gold-only", *words)
    _, rows = losses
    line, _ = (line for line in out.splitlines() if line.startswith(" soft-rsa"))  # the other is of blind spots
    assert float(line.split()[1]) < float(rows["rsa", "wrong"][0])


@pytest.mark.again
def test_every_figure_of_the_topic_is_what_the_command_prints(losses: Any) -> None:
    printed, rows = losses
    quoted = FIGURES.findall(TOPIC)
    for metric, kind, first, last in quoted:
        assert (first, last) == rows[metric, kind], (metric, kind)
    (block,) = re.findall(
        r"```text\n\$ dstbench sensitivity careful.parquet --gold-only --kinds missed --all\n(.*?)```", TOPIC, re.DOTALL
    )
    assert printed.startswith(block)
    of_states = {name for name, metric in REGISTRY.items() if not metric.is_count} - {"intent", "requested-f1"}
    assert {metric for metric, *_ in quoted} == of_states
    bare = TOPIC.replace(block, "")
    assert len(re.findall(r"\d+\.\d\d\b", bare)) == 2 * len(quoted)  # no figure is quoted in another way


@pytest.mark.again
def test_what_the_topic_says_of_them_is_so(losses: Any) -> None:
    _, rows = losses
    loss = {pair: tuple(map(float, ends)) for pair, ends in rows.items()}
    assert loss["jga", "wrong"] == loss["jga", "missed"]
    assert loss["sa", "swap"][0] == pytest.approx(2 * loss["sa", "missed"][0], abs=0.02)
    assert loss["f1", "wrong"] > loss["f1", "missed"]
    assert loss["fga", "missed"] < loss["jga", "missed"]
    assert loss["fga", "late"] == loss["jga", "late"] == loss["tla", "missed"]
    assert loss["gca", "wrong"] > loss["gca", "missed"]
    for name in ("jga", "aga", "rsa", "gca"):
        assert loss[f"soft-{name}", "missed"] == loss[name, "missed"]
