"""Every number of every table is that of the JSON: the right row's, the right column's, and rightly rounded."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final

import pytest
from rich.cells import cell_len

from tests import formats
from tests.contract import corpora, recorded, shown, small_corpus
from tests.contract.commands import compute_once, run

RUNS: Final = ("keen.jsonl", "steady.jsonl", "hasty.jsonl")
_REPLACE: Final = ("audit", "replace", "all/later.jsonl", "--train", "all/train.jsonl", "--donors", "all/donors.json",
                   "-o", "replaced.jsonl")  # fmt: skip
#: Commands to their words; the first word or two name the views.
ASKED: Final[dict[str, tuple[str, ...]]] = {
    "score": ("score", *RUNS, "-m", "jga,sa,wrong,gca,fga:lam=0.25,error-turns"),
    "score of one": ("score", "hasty.jsonl", "-m", "jga,gca,over"),
    **{f"score by {by}": ("score", *RUNS, "--by", by, "-m", "jga,rsa,missed") for by in
       ("domain", "slot", "turn", "length", "n_gold", "dialogue", "run,domain")},
    "score, fuzzy": ("score", *RUNS, "-m", "jga,wrong", "--profile", "qian2021"),
    "compare": ("compare", *RUNS, "-m", "jga,gca,wrong", "--resamples", "60"),
    "compare to a baseline": ("compare", *RUNS, "--baseline", "hasty", "-m", "jga,missed", "--resamples", "60"),
    "compare models": ("compare", *RUNS, "--model", "m=keen,hasty", "--model", "n=steady", "--resamples", "60"),
    "check": ("check", *RUNS),
    "sweep": ("sweep", *RUNS, "-m", "jga,f1"),
    "sweep of one": ("sweep", "keen.jsonl", "-m", "jga,wrong"),
    "pairs": ("pairs", *RUNS, "--profile", "qian2021"),
    "diagnose": ("diagnose", *RUNS),
    "traits": ("traits", "keen.jsonl", "hasty.jsonl"),
    "correlate": ("correlate", "hasty.jsonl", "-m", "jga,sa,gca"),
    "correlate ratings": ("correlate", "keen.jsonl", "-m", "jga,gca", "--ratings", "ratings.csv"),
    "compare-metrics": ("compare-metrics", *RUNS, "-m", "jga,sa,gca", "--resamples", "40",
                        "--along", "size=sizes.csv"),
    "sensitivity": ("sensitivity", "keen.jsonl", "-m", "jga,fga,gca"),
    "audit diff": ("audit", "diff", "keen.jsonl", "later.jsonl"),
    "query": ("query", "SELECT run, metric, value, se, turns FROM scores", *RUNS, "-m", "jga,f1"),
    "sweep to a target": ("sweep", *RUNS[:2], "-m", "jga", "--target", "40"),
    "reconcile": ("reconcile", "40", "keen.jsonl", "--most", "2"),
    "diff": ("diff", *RUNS[:2], "--resamples", "60"),
    "correlate turns": ("correlate", "hasty.jsonl", "-m", "jga,sa,gca", "--per", "turn"),
    "correlate by tests": ("correlate", "hasty.jsonl", "-m", "jga,sa,gca", "--versus", "jga,sa,gca", "--test", "all"),
    "correlate runs": ("correlate", *RUNS[:2], "-m", "jga,sa", "--between-runs"),
    "show": ("show", "keen.jsonl", "-m", "sa,jga", "--most", "5"),
    "show two": ("show", "keen.jsonl", "--against", "hasty.jsonl", "-m", "sa,wrong", "--most", "5"),
    "show one": ("show", "keen.jsonl", "D05", "-m", "jga,sa"),
    "show one of two": ("show", "keen.jsonl", "D05", "--against", "hasty.jsonl", "-m", "jga,sa"),
    "audit bias": ("audit", "bias", "all/train.jsonl", "all/gold.jsonl"),
    "audit scores": ("audit", "scores", *RUNS[:2], "--version", "a=steady.jsonl", "--version", "b=later.jsonl",
                     "-m", "jga,sa", "--profile", "verbatim"),
    "audit inconsistency": ("audit", "inconsistency", "all/gold.jsonl", "--support", "2", "--pairs", "0"),
    "audit review": ("audit", "review", "sheet.csv"),
    "audit memorisation": ("audit", "memorisation", "all/keen.jsonl", "all/hasty.jsonl", "--context", "all/gold.jsonl",
                           "--train", "all/train.jsonl"),
    "audit contradictions": ("audit", "contradictions", "all/gold.jsonl", "--database", "all/db"),
    "audit replace": _REPLACE,
    "audit replace, keeping": (*_REPLACE, "--keep"),
}  # fmt: skip
FORMATS: Final = {"text": shown.of_text, "md": shown.of_markdown, "latex": shown.of_latex}
#: What text and Markdown lay out in other ways.
APART: Final = ("check", "sweep", "sweep to a target")


#: Commands of which only what they say is recorded, as others are laid out alike: each reaches a sentence of its own.
SAID: Final[dict[str, tuple[str, ...]]] = {
    "audit inconsistency, pairs": ("audit", "inconsistency", "all/gold.jsonl", "--support", "2", "--pairs", "3"),
    "audit scores, dialogues": (*ASKED["audit scores"][:3], "--version", "a=keen.jsonl", "--version", "b=less.jsonl"),
    "audit scores, turns": (*ASKED["audit scores"][:3], "--version", "a=keen.jsonl", "--version", "b=fewer.jsonl"),
    "audit scores, fuzzy": (*ASKED["audit scores"][:-2], "--signature"),
    "check of single turns": ("check", "single.jsonl", "keen.jsonl"),
    "compare of counts": ("compare", *RUNS, "-m", "missed", "--resamples", "60"),
    "compare, few resamples": ("compare", *RUNS, "-m", "jga", "--resamples", "5"),
    "compare-metrics of a table": ("compare-metrics", "--table", "all/published.csv", "-m", "jga,gca"),
    "compare-metrics of marks": ("compare-metrics", "marks.json", "--from", "fga-trippy", "--resamples", "40"),
    "compare-metrics of one": ("compare-metrics", RUNS[0], "-m", "jga,sa", "--resamples", "40"),
    "compare-metrics of other orders": ("compare-metrics", *RUNS, "-m", "jga,wrong", "--resamples", "40"),
    "compare-metrics of two": ("compare-metrics", *RUNS[:2], "-m", "jga,sa", "--resamples", "40"),
    "compare-metrics, few resamples": ("compare-metrics", *RUNS, "-m", "jga", "--resamples", "5"),
    "correlate columns of turns": ("correlate", "keen.jsonl", "-m", "jga,turn,n_pred,error_age", "--per", "turn"),
    "correlate all columns": ("correlate", "keen.jsonl", "-m", ",".join(
        ("jga,turns,wrong_turns,ends_wrong,wrong_slots_last,first_wrong,first_failure,first_failure_bin,recovered",
         "n_gold_max,mistakes,to_mean,to_sum,to_released,nu_paper,nu_released"))),
    "correlate marks": ("correlate", "marks.json", "--from", "fga-trippy"),
    "correlate turns of runs": ("correlate", *RUNS, "-m", "jga,rsa", "--versus", "jga,rsa,sa", "--per", "turn"),
    "diagnose, turns missing": ("diagnose", "all/bare_keen.jsonl", "--gold", "all/gold.jsonl", "--missing", "wrong"),
    "diff, read": ("diff", *RUNS[:2], "--read", "--most", "2", "--resamples", "60", "--slots", "multiwoz-hotel"),
    "audit scores, by default": ("audit", "scores", RUNS[0], "--version", "a=steady.jsonl"),
    "score along": ("score", *RUNS, "-m", "jga,gca,wrong", "--along", "seed=all/seeds.csv"),
    "score by slot and turn": ("score", "keen.jsonl", "--by", "slot,turn", "-m", "jga,f1,precision:wrong=missed"),
    "score in groups": ("score", *RUNS, "-m", "jga,wrong", "--group", "first=keen,hasty", "--signature"),
    "score of counts": ("score", *RUNS, "-m", "missed"),
    "score of marks": ("score", "marks.json", "--from", "fga-trippy"),
    **{f"sensitivity of {kind} values": ("sensitivity", "keen.jsonl", "--gold-only", "-m", metrics, "--kinds", kind)
       for kind, metrics in (("late", "jga,sa,fga,tla"), ("missed", "fga"), ("wrong", "jga,sa,rsa"))},
    "sensitivity in one bin": ("sensitivity", "keen.jsonl", "--gold-only", "-m", "jga,sa", "--bins", "1"),
    "show by a count": ("show", "keen.jsonl", "-m", "missed", "--most", "3"),
    "show, turns missing": ("show", "all/bare_keen.jsonl", "MUL1207", "--gold", "all/gold.jsonl", "--missing", "wrong"),
    "sweep of counts": ("sweep", *RUNS, "-m", "missed", "--profiles", "verbatim,star"),
    **{f"sweep to {target}": ("sweep", "keen.jsonl", "-m", "jga", "--profiles", "verbatim,star", "--target", target)
       for target in ("28.70", "jga=28.7,f1=99", "missed=63")},
    "traits, released": ("traits", *RUNS, "--disagree", "fga", "gca", "--to", "released", "--nu", "released"),
}  # fmt: skip

#: What is laid out as another above: the second layer's.
LATER: Final = (
    "score by turn", "score by length", "score by n_gold", "score by run,domain", "compare to a baseline",
    "correlate turns", "audit replace, keeping", "show two",
)  # fmt: skip
NAMED: Final = [pytest.param(name, marks=pytest.mark.looks) if name in LATER else name for name in ASKED]


@pytest.fixture(scope="module", autouse=True)
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("corpus")
    small_corpus.write(folder)
    corpora.write(folder / "all")
    turns = [json.loads(line) for line in (folder / "keen.jsonl").read_text("utf-8").splitlines()]
    (folder / "marks.json").write_text(formats.fga_trippy(turns), "utf-8")
    new = [{**turn, "pred": {slot: v for slot, v in turn["gold"].items() if v != before["gold"].get(slot)}}
           for before, turn in pairwise([{"gold": {}}, *turns])]  # fmt: skip
    for name, own in (("fewer", [*turns[:3], *turns[4:]]), ("less", turns[8:]), ("single", new)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, own)), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        compute_once(patch.setattr)
        run("audit", "inconsistency", "all/gold.jsonl", "--support", "2", "--sample", "8", "--review", "sheet.csv")
        rows = list(csv.DictReader(io.StringIO(Path("sheet.csv").read_text("utf-8-sig"))))
        answered = [{**row, "right": "yes" if n % 3 else "no", "missed": n % 2} for n, row in enumerate(rows)]
        with Path("sheet.csv").open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(answered)
        yield folder


def view_of(name: str) -> str:
    words = ASKED[name]
    return " ".join(words[:2]) if words[0] == "audit" else words[0]


@cache
def said(name: str, *more: str, columns: int | None = None) -> str:
    Path("replaced.jsonl").unlink(missing_ok=True)
    code, out, err = run(*(ASKED | SAID)[name], "--all", *more, columns=columns)
    assert code == 0, err
    return out


def rows_of(name: str) -> dict[str, list[dict[str, Any]]]:
    parsed: dict[str, list[dict[str, Any]]] = json.loads(said(name, "--format", "json"))
    return parsed


@pytest.mark.parametrize("name", NAMED)
def test_every_cell_is_that_of_its_row_and_column(name: str) -> None:
    result, command = rows_of(name), view_of(name)
    for form, parse in FORMATS.items():
        if form == "latex" and command not in shown.PAPER:
            continue
        tables = parse(said(name, "--format", form))
        assert tables
        for cell in shown.read(command, tables, result, shown.PAPER if form == "latex" else shown.VIEWS):
            assert shown.is_shown(*cell), (form, cell)
            if command == "compare" and form == "latex" and cell.row.get("beats"):
                assert f"{cell.row['title']} ^" in tables[0].columns


@pytest.mark.parametrize("name", [*NAMED, *SAID])
def test_what_is_said_is_what_was_recorded(name: str) -> None:
    words = (ASKED | SAID)[name]
    recorded.check("numbers", name, "\n".join(recorded.columns(rows_of(name))))
    Path("replaced.jsonl").unlink(missing_ok=True)
    said = run(*words, columns=80)
    recorded.check("screens", name, f"$ dstbench {' '.join(words)}\n{said.out}{said.err}")
    if words[0] in shown.PAPER:
        recorded.check("papers", name, run(*words, "--format", "latex").out)


@pytest.mark.parametrize("name", NAMED)
def test_formats_have_the_same_tables(name: str) -> None:
    text, page, paper = (parse(said(name, "--format", form)) for form, parse in FORMATS.items())
    if name not in APART:
        assert [(table.columns, table.rows) for table in text] == [(table.columns, table.rows) for table in page]
    if view_of(name) not in shown.PAPER:
        assert paper
        rest = iter([(table.columns, shown.unquoted(table.rows)) for table in page])
        for table in map(shown.unmarked, paper):
            assert (table.columns, table.rows) in rest


@pytest.mark.parametrize("name", NAMED)
def test_csv_and_files_are_the_same(name: str, tmp_path: Path) -> None:
    result = rows_of(name)
    lines = list(csv.DictReader(io.StringIO(said(name, "--format", "csv"))))
    flat = [(part, row) for part, rows in result.items() for row in rows]
    assert len(lines) == len(flat)
    for line, (part, row) in zip(lines, flat, strict=True):
        assert line.get("table", part) == part
        for key, value in row.items():
            cell = line[key]
            if isinstance(value, (int, float)) and re.match(r"-?\d", cell):  # a flag's column may have counts, too
                assert float(cell) == value, (part, key)
            else:
                plain = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
                assert cell == plain, (part, key)
    for ending, form in (("json", "json"), ("csv", "csv"), ("md", "md"), ("tex", "latex")):
        if name not in ("score", "audit diff", "pairs"):
            break  # all commands write their tables in the same way
        path = tmp_path / f"table.{ending}"
        said(name, "-o", str(path))
        assert path.read_text(encoding="utf-8").strip() == said(name, "--format", form).strip()


#: Long names of runs and slots, as people have them.
LONG: Final = "t5-base_multiwoz-2.4_seed-17_learning-rate-0.0005_checkpoint-of-epoch-12"
SLOT: Final = "train-departure station or the place that the traveller sets out from"


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpora, with long names of runs and of a slot."""
    folder = tmp_path_factory.mktemp("long")
    shutil.copytree(Path.cwd(), folder, dirs_exist_ok=True)
    for path in (*folder.glob("*.*"), *folder.glob("all/*.jsonl")):
        text = path.read_text("utf-8-sig").replace("train-departure", SLOT)
        name = re.sub("^(keen|steady|hasty)[.]", rf"{LONG}-\1.", path.name)
        path.with_name(name).write_text(re.sub("^(keen|steady|hasty),", rf"{LONG}-\1,", text, flags=re.M), "utf-8-sig")
    return folder


#: Tables of each kind, of which the first layer asks whether they fit; the second asks of all.
FIT: Final = (
    "score by slot", "compare", "check", "sweep to a target", "diagnose", "correlate by tests", "show one of two",
    "audit diff", "audit inconsistency", "pairs",
)  # fmt: skip


@pytest.mark.looks
@pytest.mark.parametrize("name", [n if n in FIT else pytest.param(n, marks=pytest.mark.looks) for n in ASKED])
def test_nothing_is_wider_than_the_terminal(name: str, long_names: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(long_names)
    words = [re.sub(r"\b(keen|steady|hasty)\b", rf"{LONG}-\1", word) for word in ASKED[name]]
    for more, width in product(([], ["--all"]), (80, 100, 160)):
        found = run(*words, *more, columns=width)
        assert found.code == 0, found.err
        assert all(cell_len(line) <= width for line in found.out.split("\n")), max(found.out.split("\n"), key=len)


def test_the_better_run_is_first() -> None:
    for form, parse in [*FORMATS.items()][:2]:
        assert [row[0] for row in parse(said("score", "--format", form))[0].rows] == ["steady", "hasty", "keen"]
        differences = [table for table in parse(said("compare", "--format", form)) if "wins" in table.columns]
        assert len(differences) == 3
        for table in differences:
            assert all(float(row[2]) >= 0 for row in table.rows)


def _unsaid(result: dict[str, list[dict[str, Any]]]) -> list[int]:
    """How many dialogues have a value that nobody says."""
    return [len({row["dialogue"] for row in result["refused"] if row["reason"] == "not said"})]


def _value(row: dict[str, Any]) -> float:
    return float(row["value"])


#: Sentences above and below tables: patterns whose groups are numbers of the JSON.
SENTENCES: Final[dict[str, tuple[str, Callable[[Any], list[Any]]]]] = {
    "audit inconsistency": (
        r"Annotations are missing in (\d+) of (\d+) dialogues \((.+) %\) and (\d+) of (\d+) turns \((.+) %\)(?s:.*)"
        r"Annotations missing: (\d+); said by the user (\d+), by the system only (\d+); (\d+) come late",
        lambda result: [
            (whole := result["summary"][0])["dialogues_changed"], whole["dialogues"],
            f"{100 * whole['dialogues_changed'] / whole['dialogues']:.1f}", whole["turns_changed"], whole["turns"],
            f"{100 * whole['turns_changed'] / whole['turns']:.1f}",
            *(whole[key] for key in ("missing", "user", "system", "late")),
        ],
    ),
    "audit bias": (
        r"gold: train has (\d+) of (\d+) values of slots \((.+) %\); these are (.+) % of n,",
        lambda result: [
            (of := _seen(result))["values_seen"], of["values"], f"{100 * of['values_seen'] / of['values']:.2f}",
            f"{100 * of['n_seen'] / of['n']:.2f}",
        ],
    ),
    "audit replace": (r"Left out: (\d+) dialogues with a value that nobody says", _unsaid),
    "audit replace, keeping": (r"Kept as they were: (\d+) dialogues with a value", _unsaid),
    "audit review": (
        r"\((\d+) changed and (\d+) unchanged dialogues\)",
        lambda result: [row["of"] for row in result["dialogues"]],
    ),
    "score": (
        r"(\w+) has the highest JGA, (\S+); (\w+) follows with (\S+)\n",
        lambda result: [
            text
            for row in sorted((row for row in result["scores"] if row["metric"] == "jga"), key=_value)[:-3:-1]
            for text in (row["run"], f"{100 * row['value']:.2f}")
        ],
    ),
    "sweep to a target": (
        r"keen: no profile agrees with jga 40; the nearest is jga (\S+) under .*, (\S+) points lower\n",
        lambda result: [
            f"{100 * (best := max(row['value'] for row in result['sweep'] if row['run'] == 'keen')):.2f}",
            f"{40 - 100 * best:.2f}",
        ],
    ),
    "compare-metrics": (  # the larger, the worse
        r"no metric rises with size: the nearest is (\w+), tau (-\d\S+) ",
        lambda result: [
            best := max((row for row in result["validity"] if row["measure"] == "soft_accuracy"), key=_value)["metric"],
            *(f"{row['value']:.2f}" for row in result["validity"] if (row["metric"], row["measure"]) == (best, "tau")),
        ],
    ),
    "show one of two": (
        r"turn 2\n  A: jga (\S+), sa (\S+); changes: (.*)\n  B: jga (\S+), sa (\S+); changes: (.*)\n",
        lambda result: [
            text
            for run in ("keen", "hasty")
            for text in (
                *(f"{100 * row['value']:.2f}" for row in result["scores"] if (row["run"], row["turn"]) == (run, 2)),
                *(", ".join(f"{row[kind]} {kind}" for kind in ("correct", "wrong", "missed", "over") if row[kind])
                  for row in result["changes"] if (row["run"], row["turn"]) == (run, 2)),
            )
        ],
    ),
}  # fmt: skip


def _seen(result: dict[str, list[dict[str, Any]]]) -> dict[str, int]:
    """The values of all slots that training has too."""
    rows = [row for row in result["overlap"] if row["counting"] == "cumulative"]
    return {key: sum(row[key] for row in rows) for key in ("values", "values_seen", "n", "n_seen")}


@pytest.mark.parametrize("name", SENTENCES)
def test_a_sentence_says_the_numbers_of_the_json(name: str) -> None:
    pattern, numbers = SENTENCES[name]
    (found,) = re.findall(pattern, said(name))
    assert ([found] if isinstance(found, str) else list(found)) == [str(number) for number in numbers(rows_of(name))]


def test_sentences_say_the_numbers_of_the_json() -> None:
    rows = rows_of("compare")["differences"]
    for metric in ("jga", "gca", "wrong"):
        of = [row for row in rows if row["metric"] == metric]
        n = sum(bool(row["significant"]) for row in of)
        (line,) = re.findall(rf"^{metric}: (.*) significant at 5 %", said("compare"), re.MULTILINE)
        assert line == ("every difference is" if n == len(of) else f"{n} of {len(of)} differences are")
    failing = {row["run"]: 100 * row["failing"] / row["dialogues"] for row in rows_of("diagnose")["runs"]}
    lowest, highest = (pick(failing, key=lambda run: failing[run]) for pick in (min, max))
    said_first = said("diagnose").split("\n")[0]
    assert said_first.startswith(
        f"{failing[lowest]:.1f} % ({lowest}) to {failing[highest]:.1f} % ({highest}) of dialogues"
    )
    for row in rows_of("sweep of one")["sweep"]:
        if row["profile"] == "verbatim" and row["metric"] == "jga":
            assert f"{100 * row['value']:.2f}" in said("sweep of one")
