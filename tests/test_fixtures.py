"""Other people's formats as others wrote them down: one invented dialogue in each, found by content alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import dstbench

#: JGA 0.5, SA 59/60, F1 and AGA 17/18: one slot of nine is wrong in the second of two turns.
WANTED = {"jga": 0.5, "sa:T=30": 59 / 60, "f1": 17 / 18, "aga": 17 / 18}
INSIDE = (
    "checkdst", "convlab3/predictions.json", "fga", "fnctod", "icdst/running_log.json", "kage", "parlai", "pptod",
    "refpydst", "simpletod/gpt2_test_context[history=full_history]_nocarry.json", "som", "star/pred-evaluation",
    "t5dst/zeroshot_prediction.json", "trade/all_prediction_TRADE.json", "trippy/pred_res.test.final.json",
    "turn_lists/details.json", "turn_lists/flag.json", "turn_lists/ground_truth_predicted.json",
    "turn_lists/loose_values.jsonl", "turn_lists/nested.jsonl", "turn_lists/state_as_text.jsonl",
    "csv/long.csv", "csv/states.csv",
)  # fmt: skip
BESIDE = {
    "ldst": "mwz22/gold",
    "mwz22/pred": "mwz22/gold",
    "savn": "t5dst/test_dials.json",
    "state_lists/pred_states.json": "state_lists/gold_states.json",
    "state_lists/pred_flat.json": "state_lists/gold_states.json",
    "csv/total_state.csv": "state_lists/gold_states.json",
}
GOLD = (
    "convlab3/data.json", "icdst/mw24_100p_test.json", "mwz21", "mwz21/data.json", "mwz22/gold",
    "simpletod/test_dials_lexicalized.json", "t5dst/test_dials.json", "trade/test_dials.json",
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.errors.DstbenchWarning")


@pytest.fixture(scope="module")
def fixtures(data: Path) -> Path:
    folder = data.parent / "fixtures"
    if not folder.is_dir():
        pytest.skip(f"no fixtures of formats at {folder}")
    return folder


def scores(run: Path, gold: Path | None = None, **choices: object) -> dict[str, float]:
    rows = dstbench.score(run, gold=gold, metrics=list(WANTED), **choices)  # type: ignore[arg-type] # passed through
    return dict(zip(rows["metric"], rows["value"], strict=True))


@pytest.mark.parametrize("name", INSIDE)
def test_predictions_with_gold_inside(fixtures: Path, name: str) -> None:
    assert scores(fixtures / name) == pytest.approx(WANTED, rel=1e-12)


@pytest.mark.parametrize("name", BESIDE)
def test_predictions_beside_gold(fixtures: Path, name: str) -> None:
    assert scores(fixtures / name, fixtures / BESIDE[name]) == pytest.approx(WANTED, rel=1e-12)


@pytest.mark.parametrize("name", GOLD)
def test_gold_of_many_datasets(fixtures: Path, name: str) -> None:
    if not (fixtures / name).exists():
        pytest.skip(f"no fixture {name}")
    assert scores(fixtures / "mwz22/pred", fixtures / name) == pytest.approx(WANTED, rel=1e-12)


@pytest.mark.parametrize("name", ["star/test.tsv", "sumbt/test.tsv"])
def test_gold_in_other_spellings(fixtures: Path, name: str) -> None:
    """STAR and SUMBT write `do not care`, STAR `true` for yes: one spelling for both sides makes them equal."""
    steps = ("case", "space", "dontcare", "times", "booleans")
    chosen = dstbench.profile("verbatim", gold_steps=steps, pred_steps=steps)
    assert scores(fixtures / "mwz22/pred", fixtures / name, profile=chosen) == pytest.approx(WANTED, rel=1e-12)


def test_mwzeval_leaves_dontcare_out(fixtures: Path) -> None:
    """Its predictions have no dontcare, and its scorer drops gold's; so F1 and AGA are over one slot less."""
    chosen = dstbench.profile("verbatim", dontcare="drop-gold")
    found = scores(fixtures / "mwzeval", fixtures / "t5dst/test_dials.json", profile=chosen)
    assert found == pytest.approx({"jga": 0.5, "sa:T=30": 59 / 60, "f1": (1 + 7 / 8) / 2, "aga": (1 + 7 / 8) / 2})


def test_datasets_with_a_dialogue_of_their_own(fixtures: Path) -> None:
    # SGD: `this Sunday` for `Friday` or `this Friday` in the second of two turns, of which it is one slot of three.
    sgd = dstbench.score(fixtures / "sgd/pred", gold=fixtures / "sgd/gold", metrics="jga,aga", profile="sgd-mwz")
    assert sgd["value"].to_list() == pytest.approx([0.5, (1 + 2 / 3) / 2])
    dstc2 = dstbench.score(fixtures / "dstc2/baseline.json", gold=fixtures / "dstc2/label.json", metrics="jga")
    assert dstc2["value"].item() == 1
    woz = dstbench.read(fixtures / "woz2")
    assert woz.gold is not None
    assert set(woz.gold.cells["slot"].cast(str)) <= {"restaurant-food", "restaurant-area", "restaurant-pricerange"}
