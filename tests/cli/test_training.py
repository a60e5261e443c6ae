"""The recipes of `dstbench help training`: each runs, against stand-ins of the packages that it calls."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dstbench
from dstbench.cli.commands import topics
from tests.corpora import EXAMPLE

TEXT = topics()["training"]
BLOCKS = [block for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if ">>>" not in block]
YAML = "".join(re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL))
#: What a model generates for the turns of the example: right in turn 0, one slot wrong in turn 1.
GENERATED = ["; ".join(f"{slot} = {value}" for slot, value in state["pred"].items()) for state in EXAMPLE]
NAMES, TURNS = ["MUL7001", "mul7001.json"], [0, 1]

# --- stand-ins of packages --------------------------------------------------------------------------------------------


class Distributed(ModuleType):
    """`torch.distributed` of two processes, of which the other one has turn 0 as well."""

    world: Sequence[Any] = ()

    def get_world_size(self, group: Any = None) -> int:
        return len(self.world)

    def all_gather_object(self, object_list: list[Any], obj: Any, group: Any = None) -> None:
        assert len(object_list) == len(self.world)
        object_list[:] = [obj if part is None else part for part in self.world]


class Run:
    """`wandb.Run`."""

    def __init__(self) -> None:
        self.logged: dict[int | None, dict[str, Any]] = {}
        self.summary: dict[str, Any] = {}

    def log(self, data: dict[str, Any], step: int | None = None) -> None:
        self.logged[step] = data

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Wandb(ModuleType):
    def init(self, *, project: str | None = None) -> Run:
        return Run()


class MLflow(ModuleType):
    metrics: dict[str, float]
    tags: dict[str, str]

    @contextmanager
    def start_run(self) -> Iterator[None]:
        self.metrics, self.tags = {}, {}
        yield

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        for name, value in metrics.items():
            assert re.fullmatch(r"[/\w.\- :]+", name), f"MLflow refuses the name {name}"
            assert isinstance(value, float), f"MLflow refuses the value {value}"
        self.metrics |= metrics

    def set_tag(self, key: str, value: Any) -> None:
        self.tags[key] = value


class Tokenizer:
    """`transformers.PreTrainedTokenizerBase`: here a token is the number of a text, from 1; 0 is padding."""

    pad_token_id = 0

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False) -> list[str]:
        assert skip_special_tokens
        assert isinstance(sequences, list), "it takes a datasets.Column for one sequence"
        return ["; ".join(GENERATED[token - 1] for token in row if token) for row in sequences]


class EvalPrediction:
    """`transformers.EvalPrediction`."""

    def __init__(self, predictions: Any, label_ids: Any) -> None:
        self.predictions, self.label_ids = predictions, label_ids


# --- the recipes -----------------------------------------------------------------------------------------------------


def recipe(word: str, /, **names: Any) -> dict[str, Any]:
    """Run the block that has a word, after the one that defines `to_state`; returns all names."""
    (block,) = (block for block in BLOCKS if word in block)
    (to_state,) = (block for block in BLOCKS if "def to_state" in block)
    exec(to_state + block, names)  # noqa: S102 (our own topic)
    return names


@pytest.fixture
def gold(here: Path) -> Path:
    """Gold under every name that the topic gives it."""
    for name in ("dev.tsv", "test.tsv"):
        lines = [json.dumps({key: state[key] for key in ("dialogue_id", "turn", "gold")}) for state in EXAMPLE]
        Path(name).write_text("\n".join(lines), encoding="utf-8")
    return here


def wanted(metrics: str) -> dict[str, float | None]:
    return dstbench.score(EXAMPLE, metrics=metrics).to_dict()


def test_every_recipe_is_run_here() -> None:
    words = ("train_one_epoch", "all_gather_object", "compute_metrics", "wandb", "mlflow", "process_results", "diff()")
    named = [word for block in BLOCKS for word in words if word in block]
    assert sorted(named) == sorted(words)
    assert len(BLOCKS) == len(words) + 1  # and `to_state`


@pytest.mark.parametrize("turns", [TURNS, np.array(TURNS)])
def test_a_loop_of_ones_own(gold: Path, turns: Any) -> None:
    batch = {"dialogue_id": NAMES, "turn": turns}
    saved: list[Any] = []
    names = recipe(
        "train_one_epoch",
        epochs=2,
        model="the model",
        train_one_epoch=lambda model: None,
        loader=[batch],
        generate=lambda model, batch: GENERATED,
        save=lambda *what: saved.append(what),
    )
    assert names["scores"] == wanted("jga,f1,fga,gca")
    ((model, scores, signature),) = saved  # the second epoch is not better
    assert (model, scores) == ("the model", names["scores"])
    assert signature == dstbench.score(EXAMPLE, metrics="jga")["signature"].item()


def test_several_processes(gold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [dstbench.Evaluator("dev.tsv", metrics="jga,f1") for _ in range(2)]
    for part, turns in zip(parts, ([0], [0, 1]), strict=True):
        part.add_batch(["MUL7001"] * len(turns), turns, [EXAMPLE[turn]["pred"] for turn in turns])
    torch, distributed = ModuleType("torch"), Distributed("torch.distributed")
    distributed.world = [None, parts[1]]
    torch.distributed = distributed  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
    assert recipe("all_gather_object", evaluator=parts[0])["scores"] == wanted("jga,f1")


def test_hugging_face(gold: Path) -> None:
    dev = {"dialogue_id": NAMES, "turn": TURNS, "labels": [[1], [2]]}
    names = recipe("compute_metrics", dev=dev, tokenizer=Tokenizer())
    generated, labels = np.array([[1, 0], [2, -100]]), np.array([[1, -100], [2, -100]])
    for _ in range(2):
        assert names["compute_metrics"](EvalPrediction(generated, labels)) == wanted("jga,f1")
    with pytest.raises(ValueError, match="order of rows"):
        names["compute_metrics"](EvalPrediction(generated[::-1], labels[::-1]))


def test_loggers(gold: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = dstbench.Evaluator("dev.tsv", metrics="jga,fga:lam=0.25,correct")
    evaluator.add_batch(NAMES, TURNS, [state["pred"] for state in EXAMPLE])
    scores = {**evaluator.compute(), "undefined": None}
    mlflow = MLflow("mlflow")
    monkeypatch.setitem(sys.modules, "wandb", Wandb("wandb"))
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    run = recipe("wandb", evaluator=evaluator, scores=scores, epoch=3)["run"]
    assert run.logged == {3: {f"dev/{name}": value for name, value in scores.items()}}
    recipe("mlflow", evaluator=evaluator, scores=scores, epoch=3)
    assert mlflow.metrics == {"jga": 0.5, "fga:lam-0.25": scores["fga:lam=0.25"], "correct": scores["correct"]}
    both = [{**state, "dialogue_id": name} for name in ("A", "B") for state in EXAMPLE]
    evaluator = dstbench.Evaluator(both)
    for side in ("pred", "gold"):  # the second epoch mends the wrong turns
        evaluator.reset()
        evaluator.add_batch(*([state[key] for state in both] for key in ("dialogue_id", "turn", side)))
    recipe("diff()", evaluator=evaluator, run=run, epoch=4)
    mended = {"turns_fixed": 2.0, "turns_broken": 0.0, "values_fixed": 2.0, "values_broken": 0.0}
    assert run.logged[4] == mended
    mlflow.log_metrics(run.logged[4], step=4)  # it takes the same
    assert run.summary == mlflow.tags == {"signature": dstbench.score(EXAMPLE, metrics="jga")["signature"].item()}


@pytest.mark.filterwarnings("ignore:.*turn without a prediction.*left out:dstbench.errors.DstbenchWarning")
def test_a_task_of_lm_eval(gold: Path) -> None:
    """lm-eval gives each document and the texts that were generated for it to `process_results`, and the list of what
    that returns for a metric to the metric's aggregation."""
    names = recipe("process_results")
    functions = dict(re.findall(r"metric: (\w+), aggregation: !function dst_task\.(\w+),", YAML))
    assert set(re.findall(r"!function dst_task\.(\w+)", YAML)) == {"process_results", *functions.values()}
    fields = set(re.findall(r"{{(\w+)}}", YAML)) | {"dialogue_id", "turn"}
    docs = [dict.fromkeys(fields, "") | {"dialogue_id": d, "turn": t} for d, t in zip(NAMES, TURNS, strict=True)]
    for taken, missing in ((2, "error"), (1, "intersect")):  # --limit 1
        results = [names["process_results"](doc, [text]) for doc, text in zip(docs, GENERATED, strict=True)][:taken]
        assert {metric for result in results for metric in result} == functions.keys()
        found = {metric: names[of]([result[metric] for result in results]) for metric, of in functions.items()}
        states = [{key: state[key] for key in ("dialogue_id", "turn", "pred")} for state in EXAMPLE[:taken]]
        scores = dstbench.score(states, gold=EXAMPLE, metrics=",".join(functions), missing=missing)  # type: ignore[arg-type]
        assert found == scores.to_dict()
