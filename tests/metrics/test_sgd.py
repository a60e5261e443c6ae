"""The official evaluation of SGD (Rastogi et al. 2020) as plain loops, and what dstbench makes of the same files."""

from __future__ import annotations

import copy
import json
import shutil
from collections import Counter, defaultdict
from math import prod
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.utils import default_process

import dstbench
from dstbench.conventions.profiles import PROFILES, profile
from dstbench.metrics import REGISTRY
from dstbench.runs.open import open_runs
from dstbench.scoring.validation import open_under
from tests.corpora import OF_FRAMES

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(is MultiWOZ's|several values|own gold is not used|alternatives|kept as written|categorical slots|"
    "are not in (non-)?categorical|not scored under|gold never has|more than the T|by slot, a mean|"
    "fail on spelling):dstbench.DstbenchWarning"
)
Document = list[dict[str, Any]]
Scores = dict[tuple[str, str], float | None]


# --- the official evaluation, from its description ---------------------------------------------------------------


def near(gold: str, pred: str) -> float:
    return 1.0 if gold == pred else round(token_sort_ratio(gold, pred, processor=default_process)) / 100


def slot_score(slot: dict[str, Any], gold: dict[str, list[str]], pred: dict[str, list[str]]) -> float:
    name = slot["name"]
    if name not in gold or name not in pred:
        return 1.0 if name not in gold and name not in pred else 0.0
    if slot["is_categorical"]:
        return 1.0 if gold[name][0] == pred[name][0] else 0.0
    return max(near(alternative, pred[name][0]) for alternative in gold[name])


def list_f1(gold: list[str], pred: list[str]) -> float:
    both = sum((Counter(gold) & Counter(pred)).values())
    precision = both / len(pred) if pred else 1.0
    recall = both / len(gold) if gold else 1.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def frame_scores(gold: dict[str, Any], pred: dict[str, Any], slots: list[dict[str, Any]]) -> dict[str, float]:
    """Of one frame; what it has no score in is left out."""
    found = {
        "intent": float(gold["active_intent"] == pred["active_intent"]),
        "requested-f1": list_f1(gold["requested_slots"], pred["requested_slots"]),
    }
    kinds = {"": slots, "categorical ": [s for s in slots if s["is_categorical"]]}
    kinds["non-categorical "] = [s for s in slots if not s["is_categorical"]]
    for kind, chosen in kinds.items():
        scores = [slot_score(slot, gold["slot_values"], pred["slot_values"]) for slot in chosen]
        active = [s for s, slot in zip(scores, chosen, strict=True) if slot["name"] in gold["slot_values"]]
        if scores:
            found[f"{kind}soft-jga"] = prod(scores)
        if active:
            found[f"{kind}soft-aga"] = sum(active) / len(active)
    return found


def official(gold: Document, pred: Document, schema: Document, seen: Document) -> Scores:
    """Means over frames, by (group, metric): the whole run ("all"), seen and unseen services, each service."""
    slots = {service["service_name"]: service["slots"] for service in schema}
    known = {service["service_name"] for service in seen}
    predicted = {dialogue["dialogue_id"]: dialogue for dialogue in pred}
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for dialogue in gold:
        if dialogue["dialogue_id"] not in predicted:
            continue
        for turn, other in zip(dialogue["turns"], predicted[dialogue["dialogue_id"]]["turns"], strict=True):
            if turn["speaker"] != "USER":
                continue
            frames = {frame["service"]: frame["state"] for frame in other["frames"]}
            for frame in turn["frames"]:
                service = frame["service"]
                scores = frame_scores(frame["state"], frames[service], slots[service])
                for group in ("all", "seen" if service in known else "unseen", service):
                    for metric, value in scores.items():
                        values[group, metric].append(value)
    return {key: sum(found) / len(found) for key, found in values.items()}


# --- dstbench ----------------------------------------------------------------------------------------------------

FRAMES = "soft-jga,soft-aga,intent,requested-f1"


def ours(data: Any, gold: Any, schema: Path, seen: Path) -> Scores:
    found: Scores = {}
    runs = open_under(profile("sgd"), data, gold=gold)
    for kind in (None, "categorical", "non-categorical"):
        convention = profile("sgd", schema=str(schema), seen=str(seen), slots=kind)
        metrics = "soft-jga,soft-aga" if kind else FRAMES
        for by in ("run", "seen", "domain"):
            rows = dstbench.score(runs, metrics=metrics, by=by, profile=convention)
            for row in rows.iter_rows(named=True):
                group = "all" if by == "run" else row[by]
                if row["value"] is not None:
                    found[group, f"{kind} {row['metric']}" if kind else row["metric"]] = row["value"]
    return found


def expect(found: Scores, wanted: Scores) -> None:
    assert found.keys() == wanted.keys()
    for key, value in wanted.items():
        assert found[key] == pytest.approx(value, rel=1e-12, abs=1e-14), key


def write(folder: Path, document: Document, schema: Document | None = None) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "dialogues_001.json").write_text(json.dumps(document))
    if schema is not None:
        (folder / "schema.json").write_text(json.dumps(schema))
    return folder


# --- corpora -----------------------------------------------------------------------------------------------------

SCHEMA: Document = [
    {"service_name": "Hotels_1", "slots": [
        {"name": "city", "is_categorical": False}, {"name": "stars", "is_categorical": True},
    ]},
    {"service_name": "Hotels_2", "slots": [{"name": "city", "is_categorical": False}]},
    {"service_name": "Alarm_1", "slots": [{"name": "kind", "is_categorical": True}]},
]  # fmt: skip
TRAINING = SCHEMA[:1]
VALUES = ("San Jose", "San José, CA", "jose san", "3", "three", "dontcare", "none", "")
lists = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True)


def frame(service: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from([slot["name"] for slot in service["slots"]])
    state = st.fixed_dictionaries({
        "active_intent": st.sampled_from(["NONE", "Find", "Book"]),
        "requested_slots": st.lists(st.sampled_from(["city", "price"]), max_size=2, unique=True),
        "slot_values": st.dictionaries(names, lists, max_size=2),
    })  # fmt: skip
    return st.fixed_dictionaries({"service": st.just(service["service_name"]), "state": state})


@st.composite
def predicted(draw: st.DrawFn) -> tuple[Document, Document]:
    """Gold and predictions with the same frames."""
    gold: Document = []
    for number in range(draw(st.integers(1, 5))):
        turns = []
        for _ in range(draw(st.integers(1, 4))):
            there = [service for service in SCHEMA if draw(st.booleans())]
            frames = [draw(frame(service)) for service in there]
            turns += [{"speaker": "USER", "utterance": "", "frames": frames}, {"speaker": "SYSTEM", "frames": []}]
        gold.append({"dialogue_id": f"1_0000{number}", "services": [], "turns": turns})
    if not any(turn["frames"] for dialogue in gold for turn in dialogue["turns"]):
        gold[0]["turns"][0]["frames"].append(draw(frame(SCHEMA[0])))
    pred = copy.deepcopy(gold)
    by_name = {service["service_name"]: service for service in SCHEMA}
    for dialogue in pred:
        for turn in dialogue["turns"]:
            turn["frames"] = [f if draw(st.booleans()) else draw(frame(by_name[f["service"]])) for f in turn["frames"]]
    return gold, pred


def have_common_slots(table: pl.DataFrame) -> bool:
    """Whether gold has one of the predicted slots, or one side has none: else a table without frames is refused."""
    gold, pred = (set(table.drop_nulls(["slot", side])["slot"]) for side in ("gold", "pred"))
    return bool(gold & pred) or not (gold and pred)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sgd")


# Each is scored many times over, whose time is that of calls, however many turns there are.
FEW = settings(max_examples=max(1, settings().max_examples // 6))


@pytest.mark.again
@FEW
@given(predicted())
def test_the_profile_gives_the_official_numbers_wherever_a_run_comes_from(
    folder: Path, both: tuple[Document, Document]
) -> None:
    gold, pred = (write(folder / name, side, SCHEMA) for name, side in zip(("gold", "pred"), both, strict=True))
    (folder / "train.json").write_text(json.dumps(TRAINING))
    schemas = folder / "gold/schema.json", folder / "train.json"
    wanted = official(*both, SCHEMA, TRAINING)
    table, parts = folder / "run.parquet", folder / "parts.parquet"
    (run,) = open_runs(pred, gold=gold)
    dstbench.write_long(run, table)
    for at, dialogue in enumerate(both[1]):
        (folder / f"pred/dialogues_00{at + 1}.json").write_text(json.dumps([dialogue]))
    dstbench.write_long(open_runs(pred, gold=gold)[0], parts)
    assert open_runs(parts)[0].read().equals(run.read())
    scanned = dstbench.scan(table).drop("run").collect()
    for data, states in ((pred, gold), (table, None), (parts, None)):
        expect(ours(data, states, *schemas), wanted)
    for other, own in ((scanned, None), (pred, table), (table, gold)):
        (again,) = open_runs(other, gold=own)
        alike = again.path is None and again.derive is None and again.cuts == run.cuts
        alike = alike and again.meta.get("frames") == run.meta["frames"]
        if not alike or not again.read().equals(run.read()):  # else nothing that is computed of it can differ
            expect(ours(other, own, *schemas), wanted)


@FEW
@given(
    predicted(),
    st.sampled_from(sorted(name for name, convention in PROFILES.items() if convention.slots is None)),
    st.sampled_from(["run", "domain", "slot", "turn"]),
)
def test_other_profiles_see_no_frames(folder: Path, both: tuple[Document, Document], name: str, by: str) -> None:
    """A table with rows of frames scores as the same without them, whatever is scored."""
    gold, pred = (write(folder / side, states) for side, states in zip(("gold", "pred"), both, strict=True))
    (run,) = open_runs(pred, gold=gold)
    table = run.read()
    bare = table.filter(~dstbench.readers.frames.IS_FRAME)
    assume(have_common_slots(bare))
    metrics = [metric for metric in REGISTRY if metric not in OF_FRAMES]
    convention = PROFILES[name] if name != "sgd" else profile("sgd", domain_turns="gold")
    scores = [dstbench.score({"run": t}, metrics=metrics, by=by, profile=convention) for t in (table, bare)]
    assert scores[0].equals(scores[1])
    assert dstbench.to_turns(table).equals(dstbench.to_turns(bare))


# --- what is missing is said -------------------------------------------------------------------------------------


def small(**state: Any) -> Document:
    given = {"active_intent": "Find", "requested_slots": [], "slot_values": {}} | state
    kept = {key: value for key, value in given.items() if value is not None}
    frames = [{"service": "Hotels_1", "state": kept}]
    return [{"dialogue_id": "1_00000", "services": [], "turns": [{"speaker": "USER", "frames": frames}]}]


def test_a_metric_of_frames_is_refused_where_a_side_does_not_say_it(here: Path) -> None:
    gold, pred = write(here / "gold", small()), write(here / "pred", small(active_intent=None))
    assert dstbench.score(pred, gold=gold, metrics="requested-f1", profile="sgd")["value"].item() == 1
    with pytest.raises(
        dstbench.DstbenchError, match="pred: the predictions lack active intents\nhint: omit that metric"
    ):
        dstbench.score(pred, gold=gold, metrics="intent", profile="sgd")
    gold, pred = write(here / "gold", small(requested_slots=None)), write(here / "pred", small())
    assert dstbench.score(pred, gold=gold, metrics="intent", profile="sgd")["value"].item() == 1
    with pytest.raises(dstbench.DstbenchError, match="gold does not say the requested slots of every frame"):
        dstbench.score(pred, gold=gold, metrics="requested-f1", profile="sgd")
    states = [{"dialogue_id": "1_00000", "turn": 0, "pred": {"Hotels_1-city": "Ely"}}]
    with pytest.raises(dstbench.DstbenchError, match="the predictions lack active intents"):
        dstbench.score(states, gold=gold, metrics="intent", profile="sgd")
    states = [states[0] | {"gold": {}}]
    with (
        pytest.warns(dstbench.DstbenchWarning, match="states: gold does not say which frames there are; those that"),
        pytest.raises(dstbench.DstbenchError, match="gold does not say the active intents"),
    ):
        dstbench.score(states, metrics="intent", profile="sgd")
    with pytest.raises(dstbench.UsageError, match="active intents are scored over all frames of gold"):
        dstbench.score(pred, gold=gold, metrics="intent")
