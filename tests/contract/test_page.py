"""The report's page: its tables, sentences and dialogues are those of the commands that show the same.

`test_charts.py` has its charts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import pytest

import dstbench
from tests.contract import corpora, page, recorded, shown, small_corpus
from tests.contract.commands import compute_once, run
from tests.contract.page import Page

pytestmark = pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")


class Asked(NamedTuple):
    """A report: its runs, the best first, but given in another order; metrics; words for commands that score."""

    runs: tuple[str, ...]
    given: tuple[str, ...]
    metrics: str
    words: tuple[str, ...] = ()
    compare: tuple[str, ...] = ()
    most: int = 1000


SMALL: Final = ("steady.jsonl", "hasty.jsonl", "keen.jsonl")
BARE: Final = tuple(f"bare{name}" for name in SMALL)  # one word, which no page shortens
#: Several runs; one; runs without gold or some turns, of models.
ASKED: Final = {
    "three": Asked(
        SMALL, ("keen.jsonl", "steady.jsonl", "hasty.jsonl"), "jga,fga,gca,wrong",
        compare=("--level", "0.9", "--seed", "7"),
        most=9,
    ),
    "one": Asked(("keen.jsonl",), ("keen.jsonl",), "jga,gca,over"),
    "bare": Asked(
        BARE, (BARE[1], BARE[2], BARE[0]), "jga,missed", ("--gold", "gold.jsonl", "--missing", "wrong"),
        ("--model", f"m={BARE[2][:-6]},{BARE[1][:-6]}", "--model", f"n={BARE[0][:-6]}", "--level", "0.9", "--seed", "7",
         "--adjust", "bh"),
    ),
}  # fmt: skip


NAMED: Final = ["three", *(pytest.param(name, marks=pytest.mark.looks) for name in ("one", "bare"))]


class Made(NamedTuple):
    """A report's page, JSON and Markdown, and the JSON of the commands."""

    page: Page
    report: dict[str, Any]
    parts: dict[str, dict[str, list[dict[str, Any]]]]
    markdown: str
    html: str


def said(*words: str) -> Any:
    code, out, err = run(*words)
    assert code == 0, err
    return out


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Made]]:
    """Each report, and what commands say of the same runs, made once."""
    folders = {"small": tmp_path_factory.mktemp("small"), "bare": tmp_path_factory.mktemp("bare")}
    small_corpus.write(folders["small"])
    corpora.write(folders["bare"])
    for name in SMALL:
        (folders["bare"] / f"bare_{name}").rename(folders["bare"] / f"bare{name}")
    with pytest.MonkeyPatch.context() as patch:
        compute_once(patch.setattr)

        def of(name: str) -> Made:
            patch.chdir(folders.get(name, folders["small"]))
            return made(name)

        @cache
        def made(name: str) -> Made:
            runs, given, metrics, words, compare, most = ASKED[name]
            own = ("--title", "Own title", "--note", "A note of mine.")
            whole = [*given, "-m", metrics, "--most", str(most), *words, *compare, *own, "-o"]
            for form in ("html", "json", "md", "tex"):
                said("report", *whole, f"report.{form}")
            shares = ",".join(metric for metric in metrics.split(",") if metric not in page.COUNTS)
            others = ",".join(metric for metric in metrics.split(",") if metric not in ("fga", "gca"))
            costly = ("--level", "0.9", "--seed", "7") if compare else ()
            asked = {
                "compare": ("compare", *(runs if len(runs) > 1 else (*runs, "hasty.jsonl")), "-m", metrics, *compare),
                "by_domain": ("score", *runs, "-m", metrics, "--by", "domain"),
                "by_slot": ("score", *runs, "--by", "slot"),
                "by_turn": ("score", *runs, "-m", "jga", "--by", "turn"),
                "diagnose": ("diagnose", *runs),
                "traits": ("traits", *runs, "-m", f"fga,gca,{others}"),
                "correlate": ("correlate", *runs, "-m", ",".join(dict.fromkeys([*metrics.split(","), "fga", "gca"])),
                              "--per", "turn"),
                "check": ("check", *runs),
                "sweep": ("sweep", *runs, "-m", "jga"),
            }  # fmt: skip
            parts = {key: json.loads(said(*of, *words, "--format", "json")) for key, of in asked.items()}
            file = "gold.jsonl" if words else runs[0]
            costs = "sensitivity", file, "--gold-only", "-m", shares, "--sample", "3", *costly
            parts["sensitivity"] = json.loads(said(*costs, "--format", "json"))
            if len(runs) == 1:  # nothing to compare it with, but its intervals are the same beside another run
                scores = [row for row in parts["compare"]["scores"] if row["run"] == "keen"]
                parts["compare"] |= {"scores": scores, "differences": []}
            return Made(
                Page(Path("report.html").read_text("utf-8")),
                json.loads(Path("report.json").read_text()),
                parts,
                Path("report.md").read_text("utf-8"),
                Path("report.html").read_text("utf-8"),
            )

        yield of


@pytest.mark.parametrize("name", NAMED)
def test_every_cell_is_that_of_its_row_and_column_and_rows_are_in_order(make: Callable[..., Made], name: str) -> None:
    made = make(name)
    tables = made.page.tables()
    for cell in shown.read_views("report", page.VIEWS, tables, page.prepared(made.parts), ordered=True):
        assert shown.is_shown(*cell), cell


def test_what_is_said_is_what_was_recorded(make: Callable[..., Made]) -> None:
    recorded.check("page", "report", recorded.text_of(make("three").html))


def test_an_interval_that_is_drawn_in_a_cell_has_its_score_where_it_is(make: Callable[..., Made]) -> None:
    cell = (  # value, low, a dash, high
        r"<td>([\d.]+)<small> ([\d.]+)\D([\d.]+)</small><svg class=\"interval\"[^>]*>\s*"
        r"<line x1=\"([\d.]+)\" x2=\"([\d.]+)\"[^>]*/><circle cx=\"([\d.]+)\""
    )
    cells = [[float(text) for text in found] for found in re.findall(cell, make("three").html)]
    assert len(cells) >= 6
    for value, low, high, left, right, at in cells:
        assert at == pytest.approx(left + (value - low) / (high - low) * (right - left), abs=0.5)
    assert any(abs(2 * at - left - right) > 1 for *_, left, right, at in cells)  # not all in the middle


@pytest.mark.parametrize("name", NAMED)
def test_the_page_has_all_tables_of_its_chapters(make: Callable[..., Made], name: str) -> None:
    lacking = {
        "three": ("Scores of", "Models", "Given"),
        "bare": ("Scores of", "Given"),
        "one": ("Scores", "Models", "Diff", "Spread"),
    }
    made = make(name).page
    titles = [table.title for table in made.tables()]
    for view in page.VIEWS:
        has = any(re.fullmatch(view.title, title) for title in titles)
        assert has or view.title.startswith(lacking[name]), view.title
    for chapter, beginnings in page.CHAPTERS.items():
        of = [table.title for table in made.tables(chapter)]
        assert all(any(re.match(word, title) for word in beginnings) for title in of), (chapter, of)


def test_markdown_has_the_tables_and_the_lines_of_the_page(make: Callable[..., Made]) -> None:
    made = make("three")
    assert Path("report.tex").read_text("utf-8").startswith("% \\usepackage")  # by its ending, as the others
    assert sorted(table[1:] for table in shown.of_markdown(made.markdown)) == sorted(
        table[1:] for table in made.page.tables()
    )
    lines = {shown.bare(line) for line in made.markdown.split("\n")}
    for chapter in made.page.chapters.values():
        assert {line.text() for kind in ("below", "signature") for line in chapter.all("p", kind)} <= lines
    assert made.report["findings"]
    assert all(finding["text"] in made.markdown.replace("\\", "") for finding in made.report["findings"])


@pytest.mark.parametrize("name", NAMED)
def test_the_record_is_that_of_the_commands(make: Callable[..., Made], name: str) -> None:
    made = make(name)
    parts = {key: dict(frames) for key, frames in made.parts.items()}
    for key, of in (("by_domain", "by_domain"), ("by_slot", "by_slot"), ("by_turn", "by_turn"), ("sweep", "sweep"),
                    ("checks", "check")):  # fmt: skip
        ((_, rows),) = parts[of].items()
        assert [{name: row[name] for name in rows[0]} for row in made.report[key]] == rows, key
    for key, of in (("diagnosis", "diagnose"), ("traits", "traits"), ("costs", "sensitivity")):
        assert {**made.report[key], "signatures": 0} == {**parts[of], "signatures": 0}, key
    assert made.report["correlations"]["matrix"] == parts["correlate"]["matrix"]
    for key in ("scores", "models", "differences") if name != "one" else ("differences",):
        assert made.report["leaderboard"][key] == parts["compare"][key], key


@pytest.mark.parametrize("name", NAMED)
def test_sentences_say_the_numbers_of_the_commands(make: Callable[..., Made], name: str) -> None:
    made = make(name)
    found, parts = dict(made.page.findings()), made.parts
    assert [*found] == [finding["text"] for finding in made.report["findings"]]
    kinds = {finding["kind"]: finding["text"] for finding in made.report["findings"]}
    leads = {
        "best": "scores",
        "order": "conventions",
        "slots": "slots",
        "errors": "errors",
        "check": "notes",
        "never": "slots",
    }
    assert [*found.values()] == [leads[finding["kind"]] for finding in made.report["findings"]]

    def percent(share: float) -> str:
        return f"{100 * share:.1f} %"

    board = sorted(page.prepared(parts)["models" if name == "bare" else "standings"], key=lambda row: row["place"])
    first, *others = [(str(row.get("model", row.get("run"))), row["value"]) for row in board if row["metric"] == "jga"]
    if others:
        start = (
            f"{first[0]} has the highest JGA, {percent(first[1])}: {100 * (first[1] - others[0][1]):.1f} points above "
        )
        assert kinds["best"].startswith(start + others[0][0])
    else:
        (whole,) = parts["diagnose"]["runs"]
        early = sum(row["dialogues"] for row in parts["diagnose"]["first_failures"] if row["high"] <= 0.5)
        turns = f"{whole['failing']} of {whole['dialogues']} dialogues end in a wrong turn, {early} of which"
        assert kinds["best"] == f"keen has JGA {percent(first[1])}; {turns} have their first in the first half."
        swept = {row["profile"]: row["value"] for row in parts["sweep"]["sweep"]}
        assert f"from {percent(min(swept.values()))} (" in kinds["order"]
        assert f" to {percent(max(swept.values()))} (" in kinds["order"]
    assert f"{len({row['profile'] for row in parts['sweep']['sweep']})} conventions" in kinds["order"]
    if name == "three":
        tested = [row["p_adjusted"] for row in parts["compare"]["differences"]
                  if row["metric"] == "jga" and first[0] in (row["run"], row["other"])]  # fmt: skip
        assert f"significantly better than all others (highest adjusted p = {max(tested):.3f})" in kinds["best"]
    f1 = dict[str, list[float]]()
    for row in parts["by_slot"]["scores"]:
        if row["metric"] == "f1:avg=micro":
            f1.setdefault(row["slot"], []).append(row["value"])
    f1 = {slot: values for slot, values in f1.items() if None not in values and median(values) > 0}
    worst = sorted(f1, key=lambda slot: (median(f1[slot]), slot))[:3]
    ends = [f"{100 * min(f1[s]):.1f}" + (f" to {percent(max(f1[s]))}" if len(f1[s]) > 1 else " %") for s in worst]
    one, two, three = (f"{slot} ({end})" for slot, end in zip(worst, ends, strict=True))
    assert f"the lowest F1: {one}, {two} and {three}." in kinds["slots"]
    errors = [row for row in parts["diagnose"]["errors"] if row["kind"] in ("missed", "wrong", "over")]
    n, words = (
        sum(row["n"] for row in errors),
        {"missed": "issed slots", "wrong": "rong values", "over": "ver-predicted slots"},
    )
    for kind, word in words.items():
        share = percent(sum(row["n"] for row in errors if row["kind"] == kind) / n)
        assert re.search(rf"{word} (are [\w ]+: )?{share}", kinds["errors"]), share
    assert f"at least {percent(sum(r['n'] for r in errors if r['class'].endswith('-stale')) / n)} of" in kinds["errors"]
    bias = {row["metric"]: row for row in parts["sensitivity"]["bias"] if row["kind"] == "missed"}
    costs = r"(\w+) (?:depends|does not)[^.]*: one missed value costs ([\d.]+) points on average \(bias ([-\d.]+)\)"
    told = re.findall(costs, made.page.chapters["metrics"].text())
    assert told or name == "bare"
    for metric, loss, slope in told:
        assert (loss, slope) == (f"{100 * bias[metric]['loss']:.2f}", f"{100 * bias[metric]['bias']:.2f}")
    titles = [table.title for table in made.page.tables("metrics")]
    for row in parts["sensitivity"]["errors"]:
        ending = f"{row['errors']} drawn of {row['possible']} errors"
        assert any(title.startswith(f"{row['kind']}: ") and title.endswith(ending) for title in titles), row


@pytest.mark.parametrize("name", NAMED)
def test_the_front_and_the_notes(make: Callable[..., Made], name: str) -> None:
    made = make(name)
    assert [title.text() for title in made.page.root.all("h1")] == ["Own title"]
    assert "A note of mine." in made.page.root.text()
    (facts,) = made.page.root.all("p", "facts")
    row = made.parts["by_slot"]["scores"][0]
    number = len(ASKED[name].runs)
    assert facts.text().startswith(
        f"{number} run{'s' if number > 1 else ''} · {row['turns']} turns, {row['dialogues']} dialogues · "
    )
    assert f"v:{facts.text().rpartition('dstbench ')[2]}" in row["signature"]
    assert [item.text() for item in made.page.chapters["notes"].all("li")] == made.report["notes"]
    doubts = dict[str, list[tuple[str, str]]]()
    for row in sorted((r for r in made.report["checks"] if r["short"]), key=lambda row: row["status"] != "fail"):
        doubts.setdefault(row["run"], []).append((row["short"], row["found"]))
    table = next(made.page.chapters["scores"].all("table"))
    assert {head.attributes["scope"] for head in next(table.all("thead")).all("th")} == {"col"}
    assert {head.attributes["scope"] for head in next(table.all("tbody")).all("th")} == {"row"}
    if number > 1:
        (jga,) = (head.attributes for head in table.all("th") if head.text() == "JGA")
        assert jga == {"scope": "col", "class": "n", "title": "joint goal accuracy (jga); Kim et al. 2022, eq. 1"}
        for line in next(table.all("tbody")).all("tr"):
            badges = [(badge.text(), badge.attributes["title"]) for badge in line.all("span", "badge")]
            of_run = doubts[next(line.all("th")).text("span").strip()]
            assert badges[:1] == of_run[:1]
            assert [text for text, _ in badges[1:]] == [f"+{len(of_run) - 1}"] * (len(of_run) > 1)
    dialogues = {row["dialogue"] for row in made.parts["traits"]["dialogues"]}
    lead = next(made.page.chapters["dialogues"].all("p", "lead")).text()
    most = ASKED[name].most
    assert lead.startswith(
        f"Here are {most} of {len(dialogues)} d" if most < len(dialogues) else f"Here are all {len(dialogues)}"
    )


# --- dialogues -------------------------------------------------------------------------------------------------------


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", NAMED)
def test_dialogues_are_those_of_the_files_and_their_scores_those_of_the_commands(
    make: Callable[..., Made], name: str
) -> None:
    made = make(name)
    data, asked = made.page.data, ASKED[name]
    assert data["runs"] == [run.partition(".")[0] for run in asked.runs]
    traits = {(row["run"], row["dialogue"]): row for row in made.parts["traits"]["dialogues"]}
    assert data["dialogues"] == page.telling([*traits.values()], asked.most)
    scores = dict[tuple[str, str, int | None, str], float]()
    for by in ("dialogue", "dialogue,turn"):
        rows = json.loads(said("score", *asked.runs, "-m", asked.metrics, "--by", by, *asked.words, "--format", "json"))
        scores |= {(r["run"], r["dialogue"], r.get("turn"), r["metric"]): r["value"] for r in rows["scores"]}
    gold = lines("gold.jsonl") if asked.words else None
    for at, (path, run_name, of_run) in enumerate(zip(asked.runs, data["runs"], data["of_runs"], strict=True)):
        true = page.true_states(gold or lines(path), lines(path) if gold else None)
        for place, dialogue in enumerate(data["dialogues"]):
            assert data["turns"][place] == [*true[dialogue]]
            assert page.states(data, at, place) == [*true[dialogue].values()], (run_name, dialogue)
            numbers = {key: values[place] for key, values in of_run["numbers"].items()}
            row = traits[run_name, dialogue]
            assert numbers == pytest.approx({key: row[key] for key in numbers}, abs=1e-6)
            for metric in data["metrics"]:
                assert of_run["scores"][metric][place] == pytest.approx(
                    scores[run_name, dialogue, None, metric], abs=1e-6
                )
                of_turns = [scores[run_name, dialogue, turn, metric] for turn in true[dialogue]]
                codes = of_run["turn_scores"][metric][place]
                assert [None if code is None else data["score_values"][code] for code in codes] == pytest.approx(
                    of_turns, abs=1e-6
                )
    reading: dict[str, Any] = {"gold": "gold.jsonl", "missing": "wrong"} if gold else {}
    for run_path, of_run in zip(asked.runs, data["of_runs"], strict=True):
        events = {(r["dialogue"], r["turn"]): r for r in dstbench.turns(run_path, **reading).to_dicts()}
        for kind, counts in of_run["events"].items():
            for place, dialogue in enumerate(data["dialogues"]):
                assert counts[place] == [events[dialogue, turn][f"gca_{kind}"] for turn in data["turns"][place]]
    if gold:
        said_in = {who: {(t["dialogue_id"], t["turn"]): t[who] for t in gold} for who in ("system", "user")}
        for who, texts in said_in.items():
            for place, dialogue in enumerate(data["dialogues"]):
                assert data["said"][who][place] == [texts[dialogue, turn] for turn in data["turns"][place]]
