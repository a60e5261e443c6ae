"""Every number of every table is that of the JSON: the right row's, the right column's, and rightly rounded."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.contract import shown, small_corpus
from tests.contract.commands import run

RUNS: Final = ("keen.jsonl", "steady.jsonl", "hasty.jsonl")
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
    "diagnose": ("diagnose", *RUNS, "--all"),
    "traits": ("traits", "keen.jsonl", "hasty.jsonl"),
    "correlate": ("correlate", "hasty.jsonl", "-m", "jga,sa,gca"),
    "correlate ratings": ("correlate", "keen.jsonl", "-m", "jga,gca", "--ratings", "ratings.csv"),
    "compare-metrics": ("compare-metrics", *RUNS, "-m", "jga,sa,gca", "--resamples", "40"),
    "sensitivity": ("sensitivity", "keen.jsonl", "-m", "jga,fga,gca"),
    "audit diff": ("audit", "diff", "keen.jsonl", "later.jsonl"),
}  # fmt: skip
FORMATS: Final = {"text": shown.of_text, "md": shown.of_markdown}


@pytest.fixture(scope="module", autouse=True)
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("corpus")
    small_corpus.write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


def view_of(name: str) -> str:
    words = ASKED[name]
    return " ".join(words[:2]) if words[0] == "audit" else words[0]


def said(name: str, *more: str, columns: int | None = None) -> str:
    code, out, err = run(*ASKED[name], *more, columns=columns)
    assert code == 0, err
    return out


def rows_of(name: str) -> dict[str, list[dict[str, Any]]]:
    parsed: dict[str, list[dict[str, Any]]] = json.loads(said(name, "--format", "json"))
    return parsed


@pytest.mark.parametrize("name", ASKED)
def test_every_cell_is_that_of_its_row_and_column(name: str) -> None:
    result = rows_of(name)
    for form, parse in FORMATS.items():
        if name == "sweep" and form == "md":
            continue  # a table per run, whose name is in the line below: of one run, it is read
        tables = parse(said(name, "--format", form, *(["--all"] if name == "check" and form == "text" else [])))
        assert tables
        for cell in shown.read(view_of(name), tables, result):
            assert shown.is_shown(*cell), (form, cell)


@pytest.mark.parametrize("name", [name for name in ASKED if name not in ("check", "sweep")])
def test_text_and_markdown_have_the_same_tables(name: str) -> None:
    text, page = (parse(said(name, "--format", form)) for form, parse in FORMATS.items())
    assert [(table.columns, table.rows) for table in text] == [(table.columns, table.rows) for table in page]


@pytest.mark.parametrize("name", ASKED)
def test_csv_and_files_are_the_same(name: str, tmp_path: Path) -> None:
    result = rows_of(name)
    lines = list(csv.DictReader(io.StringIO(said(name, "--format", "csv"))))
    flat = [(part, row) for part, rows in result.items() for row in rows]
    assert len(lines) == len(flat)
    for line, (part, row) in zip(lines, flat, strict=True):
        assert line.get("table", part) == part
        for key, value in row.items():
            cell = line[key]
            if isinstance(value, float):
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


@pytest.mark.parametrize("name", ["score", "compare"])
def test_in_latex_the_best_are_bold_and_numbers_are_those_of_the_text(name: str) -> None:
    rows, latex = rows_of(name)["scores"], said(name, "--format", "latex")
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    bold = []
    for name in ("keen", "steady", "hasty"):
        line = next(line for line in latex.splitlines() if re.search(rf"(^|& ){name} &", line))
        bold += [(name, float(number)) for number in re.findall(r"\\best (\d+(?:\.\d+)?)", line)]
        numbers = [
            float(number) for number in re.findall(r"(?<![\d.\[])\d+(?:\.\d+)?", re.sub(r"±|\\textpm\{\}", "", line))
        ]
        for row in (row for row in rows if row["run"] == name):
            assert round(row["value"] * (100 if row["unit"] == "share" else 1), 2) in numbers
    for metric in metrics:
        best = (min if metric in ("wrong", "error-turns") else max)(
            (row for row in rows if row["metric"] == metric), key=lambda row: row["value"]
        )
        assert (best["run"], round(best["value"] * (100 if best["unit"] == "share" else 1), 2)) in bold
    assert len(bold) == len(metrics)


def test_the_better_run_is_first() -> None:
    for form, parse in FORMATS.items():
        assert [row[0] for row in parse(said("score", "--format", form))[0].rows[::2]] == ["steady", "hasty", "keen"]
        differences = [table for table in parse(said("compare", "--format", form)) if "wins" in table.columns]
        assert len(differences) == 3
        for table in differences:
            assert all(float(row[2]) >= 0 for row in table.rows)


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
