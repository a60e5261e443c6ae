"""What the script of the report's page shows of dialogues: that of the files, and of the commands' scores of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.contract import page
from tests.contract.browser import browser, choose, control, found, listed, lists, opened, shows, until
from tests.contract.page import NAMES
from tests.contract.test_page import ASKED, Made, lines, make, said

__all__ = ["browser", "make"]  # fixtures

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

#: Columns of the list after the metrics, and the traits that they have.
TRAITS: Final = {
    "Turns": "turns", "Wrong turns": "wrong_turns", "Wrong slots at the end": "wrong_slots_last",
    "First failure": "first_failure", "Gold slots": "n_gold_max", "Mistakes": "mistakes",
    "Tail orientation": "to_mean", "Non-uniformity": "nu_paper",
}  # fmt: skip
NOTHING: Final = "\N{EN DASH}"
SIGNS: Final = {"correct": "✓", "missed": "○", "wrong": "✗", "over": "+", "no-prediction": "?"}
WITH: Final = {"missed": "missed", "wrong": "wrong", "over": "over-predicted"}


class Truth(NamedTuple):
    """The page's address; by run and dialogue: states by turn, rows of traits; scores; gold's turns as in the file."""

    address: str
    runs: list[str]
    metrics: list[str]
    states: dict[str, dict[str, dict[int, page.Shown]]]
    rows: dict[tuple[str, str], dict[str, Any]]
    scores: dict[tuple[str, str, int, str], float | None]
    dialogues: list[str]


@pytest.fixture(params=["three", "bare"])
def truth(request: pytest.FixtureRequest, make: Callable[[str], Made]) -> Truth:
    made, asked = make(request.param), ASKED[request.param]
    names, metrics = made.page.data["runs"], asked.metrics.split(",")
    gold = lines("gold.jsonl") if asked.words else None
    states = {
        name: page.true_states(gold or lines(path), lines(path) if gold else None)
        for name, path in zip(names, asked.runs, strict=True)
    }
    rows = {(row["run"], row["dialogue"]): row for row in made.parts["traits"]["dialogues"]}
    words = ("-m", asked.metrics, "--by", "dialogue,turn", *asked.words, "--format", "json")
    by_turn = json.loads(said("score", *asked.runs, *words))["scores"]
    scores = {(row["run"], row["dialogue"], row["turn"], row["metric"]): row["value"] for row in by_turn}
    shown = page.telling([*rows.values()], asked.most)
    return Truth(Path("report.html").absolute().as_uri(), names, metrics, states, rows, scores, shown)


def worth_seeing(truth: Truth) -> list[str]:
    """The dialogues in which the runs disagree most in JGA first; then those in which a run is nearest to right."""

    def by(dialogue: str) -> tuple[float, float, str]:
        rows = [truth.rows[name, dialogue] for name in truth.runs]
        wrong = [row["wrong_slots_last"] for row in rows if row["wrong_slots_last"]]
        return (
            -round(max(row["jga"] for row in rows) - min(row["jga"] for row in rows), 4),
            min(wrong, default=99),
            dialogue,
        )

    return sorted(truth.dialogues, key=by)


def is_number(text: str, value: float | None, *, share: bool) -> bool:
    """Whether a cell shows the value: a share in percent with two decimals, others with three at most."""
    if value is None:
        return text == NOTHING
    factor, half = (100, 0.00501) if share else (1, 0.000501)
    return abs(float(text) - factor * value) <= half and (not share or text[-3] == ".")


def table(browser: Any, selector: str) -> list[list[str]]:
    script = """return [...document.querySelectorAll(arguments[0])].map(
      row => [...row.querySelectorAll("th, td")].map(e => e.textContent.trim()))"""
    rows: list[list[str]] = until(browser, lambda: browser.execute_script(script, selector))
    return rows


def is_shown(heads: list[str], line: list[str], truth: Truth, row: dict[str, Any]) -> bool:
    """Whether a line of the list, or of a whole dialogue, shows a run's scores and traits."""
    wanted = {NAMES[metric]: (row[metric], metric not in page.COUNTS) for metric in truth.metrics}
    wanted |= {title: (row[key], False) for title, key in TRAITS.items()}
    cells = dict(zip(heads, line, strict=True))
    return all(is_number(cells[key], value, share=share) for key, (value, share) in wanted.items())


def test_the_list_shows_and_sorts_the_scores_and_traits_of_the_chosen_run(browser: Any, truth: Truth) -> None:
    opened(browser, truth.address)
    for name in truth.runs:
        choose(browser, "Run", name)
        shows(browser, "#explorer caption", f"Dialogues: scores of {name}")
        (heads,), body = table(browser, "#explorer thead tr"), table(browser, "#explorer tbody tr")
        assert [line[0] for line in body] == worth_seeing(truth)
        for line in body:
            assert is_shown(heads, line, truth, truth.rows[name, line[0]]), (name, line)
    keys = {**{NAMES[metric]: metric for metric in truth.metrics}, **TRAITS}
    for title, key in keys.items():
        for order in ("descending", "ascending"):
            (head,) = (b for b in found(browser, "#explorer thead button") if b.text.strip() == title)
            head.click()
            of = {dialogue: truth.rows[truth.runs[-1], dialogue][key] for dialogue in truth.dialogues}
            sign = -1 if order == "descending" else 1
            none_last = sorted(of, key=lambda d: (of[d] is None, sign * round(of[d] or 0, 6), d))
            assert listed(browser) == none_last, (title, order)


def test_a_column_compares_two_runs(browser: Any, truth: Truth) -> None:
    opened(browser, truth.address)
    one, *others = truth.runs
    for other in others:
        choose(browser, "beside", other)
        (heads,) = table(browser, "#explorer thead tr")
        assert heads[1] == f"JGA: {one} less {other}"
        for line in table(browser, "#explorer tbody tr"):
            of = [truth.rows[name, line[0]]["jga"] for name in (one, other)]
            assert is_number(line[1], of[0] - of[1], share=True), line


def test_filters_count_the_dialogues(browser: Any, truth: Truth) -> None:
    opened(browser, truth.address)
    every = len(truth.dialogues)
    of_first = truth.states[truth.runs[0]]
    slots = sorted({slot for d in truth.dialogues for cells in of_first[d].values() for slot in cells if slot})
    for name in truth.runs:
        choose(browser, "Run", name)
        for kind, words in WITH.items():
            for slot in ("any slot", *slots[::4]):
                choose(browser, "with", words)
                choose(browser, "in", slot)
                n = sum(
                    any(of == kind and slot in (at, "any slot") for cells in truth.states[name][d].values()
                        for at, (_, _, of) in cells.items())
                    for d in truth.dialogues
                )  # fmt: skip
                lists(browser, f"{n} of {every}")
        choose(browser, "with", "any or no error")
        choose(browser, "in", slots[-1])  # then with any error
        of = truth.states[name]
        wrong = [d for d in worth_seeing(truth) if any(cells.get(slots[-1], ("", "", "correct"))[2] not in
                                                       ("correct", "") for cells in of[d].values())]  # fmt: skip
        lists(browser, f"{len(wrong)} of {every}")
        assert listed(browser) == wrong
        choose(browser, "with", "any or no error")
        lists(browser, f"{every} of {every}")
    control(browser, "search").send_keys(truth.dialogues[2].lower())
    lists(browser, f"1 of {every}")


def test_buttons_choose_dialogues_of_interest(browser: Any, truth: Truth) -> None:
    opened(browser, truth.address)
    first, rows = truth.runs[0], truth.rows
    of = {d: [rows[name, d] for name in truth.runs] for d in truth.dialogues}
    spread = {d: max(r["jga"] for r in mine) - min(r["jga"] for r in mine) for d, mine in of.items()}
    near = [d for d, mine in of.items() if min(row["wrong_slots_last"] for row in mine) == 1]
    fails = {d: rows[first, d]["first_failure"] for d in truth.dialogues if rows[first, d]["first_failure"] is not None}
    wanted = {
        "Runs disagree most": sorted(spread, key=lambda d: (-round(spread[d], 4), d)),
        "One slot away from right": sorted(near, key=lambda d: (-rows[first, d]["jga"], d)),
        "First failure early": sorted(fails, key=lambda d: (round(fails[d], 6), d)),
        "All dialogues": worth_seeing(truth),
    }
    control(browser, "search").send_keys("1")  # a button sets all of them
    for title, dialogues in wanted.items():
        (button,) = (b for b in found(browser, "#explorer button") if b.text == title)
        button.click()
        lists(browser, f"{len(dialogues)} of {len(truth.dialogues)}")
        assert listed(browser) == dialogues, title
        assert button.get_attribute("aria-pressed") == "true"


def test_a_dialogue_shows_its_states_scores_and_kinds_of_errors(browser: Any, truth: Truth) -> None:
    colours: dict[str, set[str]] = {}
    for dialogue in truth.dialogues[1:4]:
        opened(browser, f"{truth.address}#dialogue={dialogue}&turn=all&carried=shown")
        shows(browser, "#dialogue h3", f"Dialogue {dialogue}")
        turns = [*truth.states[truth.runs[0]][dialogue]]
        for name, grid in zip(truth.runs, found(browser, "#dialogue [role=grid]", len(truth.runs)), strict=True):
            caption = grid.find_element("css selector", "caption").text
            assert caption.startswith(f"{name}: JGA ")
            assert is_number(caption.rpartition(" ")[2], truth.rows[name, dialogue]["jga"], share=True)
            script = """return [...arguments[0].rows].map(row => [...row.cells].map(e =>
              [e.textContent, e.className.replace(" now", "").trim(), getComputedStyle(e).backgroundColor, e.title]))"""
            (_, *heads), *body = browser.execute_script(script, grid)
            assert [head[0] for head in heads] == [str(turn) for turn in turns]
            seen = {}
            for (slot, *_), *line in body:
                for turn, (sign, kind, colour, title) in zip(turns, line, strict=True):
                    if sign:
                        key = slot.removeprefix("no prediction")
                        gold, pred, _ = truth.states[name][dialogue][turn][key]
                        assert sign == SIGNS[kind]
                        assert title.endswith(f"; gold {gold or NOTHING}, predicted {pred or NOTHING}"), title
                        seen[key, turn] = kind
                        colours.setdefault(kind, set()).add(colour)
            known = truth.states[name][dialogue]
            assert seen == {(s, t): kind for t, cells in known.items() for s, (_, _, kind) in cells.items() if kind}
        for turn, part in zip(turns, found(browser, "#dialogue .turn", len(turns)), strict=True):
            assert part.find_element("css selector", "h4").text == f"Turn {turn}"
            browser.execute_script("arguments[0].dataset.looked = 'now'", part)
            has_states = part.find_elements("css selector", ".states")
            states = table(browser, "[data-looked=now] .states tbody tr") if has_states else []
            for slot, gold, *preds in states:
                key = slot.removeprefix("no prediction")
                for name, pred in zip(truth.runs, preds, strict=True):
                    right, given, kind = truth.states[name][dialogue][turn].get(key, (None, None, ""))
                    assert gold.removesuffix(" new") == (right or NOTHING) or not kind, (slot, gold)
                    sign = f"{SIGNS[kind]} " if kind else ""
                    assert pred.startswith(f"{sign}{given or NOTHING}"), (slot, pred)
            slots = {slot for name in truth.runs for slot in truth.states[name][dialogue][turn]}
            assert {slot.removeprefix("no prediction") for slot, *_ in states} == slots
            numbers = table(browser, "[data-looked=now] div:last-child > table > tbody tr")
            assert [name for name, *_ in numbers] == truth.runs
            for name, *texts in numbers:
                for metric, text in zip(truth.metrics, texts, strict=False):
                    value = truth.scores[name, dialogue, turn, metric]
                    assert is_number(text, value, share=metric not in page.COUNTS), (turn, name, metric, text)
            browser.execute_script("delete arguments[0].dataset.looked", part)
        (heads,) = table(browser, "#dialogue > div:last-child > table > thead tr")
        whole = table(browser, "#dialogue > div:last-child > table > tbody tr")
        assert [name for name, *_ in whole] == truth.runs
        for line in whole:
            assert is_shown(heads, line, truth, truth.rows[line[0], dialogue]), line
    assert len(colours) >= 4
    assert len(set().union(*colours.values())) == len(colours) == sum(map(len, colours.values()))
