"""TripPy's files: what tokens and marks become and names without domains."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.analysis.check import check
from dstbench.analysis.diagnose import diagnose
from dstbench.analysis.fuzzy_pairs import fuzzy_pairs
from dstbench.analysis.query import query
from dstbench.analysis.show import walk_through
from dstbench.analysis.sweep import sweep
from dstbench.analysis.traits import traits
from dstbench.audit import scores as audit_scores
from tests import formats
from tests.corpora import FEW

Marks = dict[str, dict[str, list[int]]]


def _turn(turn: int, dialogue: str = "MUL1", /, **slots: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"guid": ["test", *dialogue.split("-"), str(turn)]}
    for slot, (pred, gold) in slots.items():
        found |= {f"slot_prediction_{slot}": pred, f"slot_groundtruth_{slot}": gold}
    return found


def _pred(turns: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    Path("p.json").write_text(json.dumps(turns))
    table = dstbench.scan("p.json").filter(slot=dstbench.scan("p.json").collect()["slot"][0]).collect()
    return table.select("dialogue", "turn", "slot", "gold", "pred").rows()


@pytest.mark.filterwarnings("ignore:.*(MultiWOZ's|marks of tokens):dstbench.DstbenchWarning")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("09 : 45", "09:45"),
        ("after 09 : 45", "after 09:45"),
        ("rosa ' s", "rosa ' s"),
        ("a : b", "a : b"),
        ("§§pine cone", "pine cone"),
        ("Ġpine Ġco ne", "pine cone"),
        ("Ġ09 : 45", "09:45"),
        ("§§", ""),
    ],
)
def test_a_predicted_value_is_the_text_that_was_meant(written: str, meant: str, here: Path) -> None:
    assert _pred([_turn(0, x=(written, written))]) == [("MUL1", 0, "x", written, meant)]  # gold as it is


def test_an_informed_none_keeps_what_was_there(here: Path) -> None:
    slots = ["none", "§§none", "north", "§§none", "§§none", "none", "south"]
    turns = [_turn(n, **{"hotel-area": (value, "north")}) for n, value in enumerate(slots)]
    again = [_turn(n, "MUL2", **{"hotel-area": ("§§none", "north")}) for n in range(2)]
    with pytest.warns(dstbench.DstbenchWarning, match=r"p\.json: 5 predicted values written §§none"):
        found = _pred([*turns, *again])
    wanted = [None, None, "north", "north", "north", None, "south", None, None]
    assert [row[-1] for row in found] == wanted


@pytest.mark.filterwarnings("ignore:.*MultiWOZ's:dstbench.DstbenchWarning")
@pytest.mark.parametrize(
    ("slots", "first"),
    [
        (("area", "food", "price_range"), "restaurant-area"),
        (("date", "movie", "num_tickets"), "movie-date"),
        (("meal", "restaurant_name"), "restaurant-meal"),
        (("date", "theatre_name"), "date"),
    ],
)
def test_slots_without_a_domain_get_that_of_their_dataset(slots: tuple[str, ...], first: str, here: Path) -> None:
    assert _pred([_turn(0, **dict.fromkeys(slots, ("a", "a")))])[0][2] == first


# --- which slots are right, and no states ---------------------------------------------------------------------------

_SAID = pytest.mark.filterwarnings("ignore:.*(but has no values|MultiWOZ's|fail on spelling):dstbench.DstbenchWarning")
LAMBDAS = (0.25, 0.5, 0.75, 1.0)


def of_marks(marks: Marks) -> list[float]:
    """JGA, SA and FGA at four λ, as the authors' script for this file counts them: one turn after the other."""
    sums, turns = [0.0] * (2 + len(LAMBDAS)), 0
    for dialogue in marks.values():
        was_right, of_error, at = False, set[int](), 0
        for turn, row in dialogue.items():
            wrong = {number for number, mark in enumerate(row) if not mark}
            if not wrong:
                credit = [1.0] * len(LAMBDAS)
            elif turn == "0" or was_right or wrong != of_error:
                credit, of_error, at = [0.0] * len(LAMBDAS), wrong, int(turn)
            else:
                credit = [1 - exp(-lam * (int(turn) - at)) for lam in LAMBDAS]
            was_right = not wrong
            turns += 1
            sums = [a + b for a, b in zip(sums, [not wrong, sum(row) / len(row), *credit], strict=True)]
    return [value / turns for value in sums]


def of_file(marks: Marks, path: Path) -> list[float]:
    path.write_text(json.dumps(marks))
    width = len(next(row for turns in marks.values() for row in turns.values()))
    asked = ["jga", f"sa:T={width}", *(f"fga:lam={lam}" for lam in LAMBDAS)]
    dstbench.write_long(dstbench.open_runs(path)[0], path.with_suffix(".parquet"))
    found: list[float] = dstbench.score(path, metrics=asked)["value"].to_list()
    assert dstbench.score(path.with_suffix(".parquet"), metrics=asked)["value"].to_list() == found
    return found


@st.composite
def marked(draw: st.DrawFn) -> Marks:
    """Dialogues in which slots go wrong and are mended, or stay as they are; of 12, so that numbers have two digits."""
    found: Marks = {}
    for dialogue in range(draw(st.integers(1, 8))):
        row = [1] * 12
        rows = []
        for _ in range(draw(st.integers(1, 7))):
            turned = draw(st.sets(st.sampled_from([0, 1, 2, 10, 11]), max_size=2))
            row = [mark ^ (number in turned) for number, mark in enumerate(row)]
            rows.append(row)
        found[f"D{dialogue}"] = {str(turn): row for turn, row in enumerate(rows)}
    return found


@_SAID
@FEW
@given(marked())
def test_marks_score_as_their_authors_script_scores_them(
    tmp_path_factory: pytest.TempPathFactory, marks: Marks
) -> None:
    assert of_file(marks, tmp_path_factory.mktemp("marks") / "r.json") == pytest.approx(of_marks(marks), rel=1e-12)


@_SAID
def test_what_marks_cannot_tell_is_refused(here: Path) -> None:
    Path("r.json").write_text(formats.fga_trippy())
    assert dstbench.score("r.json", by=["turn"], metrics="jga")["value"].to_list() == [1, 0]
    assert dstbench.score("r.json", by="dialogue,length", metrics="fga")["value"].to_list() == [0.5]
    for by in ("slot", "domain", "n_gold"):
        with pytest.raises(
            dstbench.UsageError, match=f"no states, and scores by {by} cannot be computed\nhint: by run, "
        ):
            dstbench.score("r.json", metrics="jga", by=by)
    for name in ("fga2022", "star", "qian2021"):
        with pytest.raises(dstbench.UsageError, match=f"no convention changes what is right: {name}"):
            dstbench.score("r.json", profile=name, metrics="jga")
    with pytest.raises(dstbench.UsageError, match="tla cannot be computed from it"):
        dstbench.score("r.json", metrics="tla")
    for refused in (
        lambda: dstbench.turns("r.json"),
        lambda: diagnose("r.json"),
        lambda: walk_through("r.json", "MUL7001"),
        lambda: query("SELECT 1 AS one FROM long", "r.json"),
        lambda: fuzzy_pairs("r.json", profile="qian2021"),
        lambda: sweep("r.json"),
        lambda: check("r.json"),
        lambda: traits("r.json"),
        lambda: audit_scores("r.json", {"a": "r.json"}),
    ):
        with pytest.raises(dstbench.UsageError, match=r"r: it holds no states, and .*\nhint: "):
            refused()
