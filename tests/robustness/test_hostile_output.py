"""What users' files say is text in every output of every command: no terminal, page or spreadsheet obeys it."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstbench.io.escape import csv_text, json_text, latex_text, markdown_text
from tests.commands import run
from tests.once import compute_once

pytestmark = [pytest.mark.fuzz, pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")]

#: A title for the terminal, a link, a colour by a C1 control, letters that turn the direction of others.
TERMINAL = "\x1b]0;x\x07\x1b]8;;http://h\x07x\x1b[31m\x9b31m\r\x08\x7f\u202e\u2066\u200b"
MARKUP = "<script>x</script><img src=x>![i](http://h/i.png)`c`*b*\\write18{x}$x$|"
FORMULA = "=cmd|'/c x'!A0"
#: Lines that look like dstbench's own.
FORGED = "\nerror: forged\nhint: run `x`\r\nnote: forged\u2028error: forged"
EVIL = TERMINAL + MARKUP + FORGED
UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")

_FORGED_LINE = re.compile(r"^(error: forged|hint: run|note: forged)", re.MULTILINE)

FORMS = ("text", "json", "csv", "md", "latex")
TABLES = ("score", "score --by slot", "score --by dialogue", "compare", "compare-metrics --resamples 200", "diagnose",
          "traits", "correlate", "sweep", "check", "pairs --match levenshtein", "report", "query long", "query classes",
          "show",
          "sensitivity")  # fmt: skip


def states() -> list[dict[str, Any]]:
    found = []
    for dialogue in range(4):
        for turn in range(3):
            gold = {f"hotel-{EVIL}": EVIL, "hotel-area": FORMULA + EVIL, FORMULA: "@SUM(1)", "hotel-name": "-1+2"}
            pred = {**gold, "hotel-area": f"{turn}" if dialogue % 2 else FORMULA, "hotel-name": "-3.5"}
            found.append(
                {"dialogue_id": f"{FORMULA}{EVIL}{dialogue}", "turn": turn, "gold": gold, "pred": pred, "user": EVIL}
            )
    return found


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, of which one has a hostile name."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "plain.jsonl").write_text("".join(json.dumps(state) + "\n" for state in states()))
    shutil.copy(folder / "plain.jsonl", folder / (EVIL.replace("/", "_") + ".jsonl"))
    return folder


def command(table: str, files: list[str]) -> list[str]:
    name, _, rest = table.partition(" ")
    if name == "query":
        return ["query", f"SELECT * FROM {rest}", *files]  # noqa: S608 (it reads)
    if name == "show":
        return ["show", files[0], states()[0]["dialogue_id"], "--against", files[1]]
    if name == "sensitivity":
        return [name, files[1]]
    return [name, *files, *rest.split()]


@pytest.mark.parametrize("table", TABLES)
def test_no_output_is_obeyed(table: str, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compute_once(monkeypatch.setattr)
    monkeypatch.chdir(hostile)
    words = command(table, sorted(path.name for path in hostile.glob("*.jsonl")))
    if table == "report":
        for form in ("json", "md", "latex"):
            assert_inert(form, [*words, "-o", "-"])
    else:
        for form in FORMS:
            assert_inert(form, words)


def assert_inert(form: str, words: list[str]) -> None:
    """What a command prints in this format holds nothing that is obeyed."""
    code, out, err = run(*words, "--format", form)
    assert code == 0, err
    assert not UNSEEN.search(out)
    assert not UNSEEN.search(err)
    assert not _FORGED_LINE.search(err)
    assert form in ("csv", "json") or not _FORGED_LINE.search(out)
    if form == "md":
        bare = re.sub(r"\\.", "", out)
        assert "<script" not in bare
        assert "![" not in bare
        assert "`c`" not in bare
    elif form == "latex":
        assert "\\write18" not in out
    elif form == "csv":
        cells = [cell for row in csv.reader(io.StringIO(out)) for cell in row]
        assert not [cell for cell in cells if cell[:1] in tuple("=@+\t\r") or re.match(r"-[^0-9.]", cell)]
    elif form == "json":
        json.loads(out)


@pytest.mark.parametrize("words", [
    ["score", f"none{EVIL}"], ["score", "plain.jsonl", "-m", TERMINAL], ["score", "plain.jsonl", "--profile", EVIL],
    ["show", "plain.jsonl", EVIL], ["score", "plain.jsonl", "-o", f"none/{TERMINAL}"], ["signature", EVIL],
    ["query", f"SELECT {EVIL}", "plain.jsonl"],
    ["convert", "plain.jsonl", "-o", TERMINAL.replace("/", "") + ".parquet"],
], ids=lambda words: words[0])  # fmt: skip
def test_no_message_is_obeyed(words: list[str], hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile)
    _, out, err = run(*words)
    assert out + err
    assert not UNSEEN.search(out + err)
    assert not _FORGED_LINE.search(out + err)


def test_formulas_are_texts_and_numbers_stay_numbers() -> None:
    texts = ["=1", "+1", "+1+1", "-1", "-1.5e-3", "-1+2", "-", "@x", "\t=1", "\n=1", "\r=1", "a=1", "", None, "\uff1d1"]
    table = pl.DataFrame({"=x": texts, "n": [-float(number) for number in range(len(texts))]})
    rows = list(csv.reader(io.StringIO(csv_text(table), newline="")))
    assert rows[0] == ["'=x", "n"]
    assert [row[0] for row in rows[1:]] == [
        "'=1", "+1", "'+1+1", "-1", "-1.5e-3", "'-1+2", "-", "'@x", "'\t=1", "'\n=1", "\\r=1", "a=1", "", "",
        "'\uff1d1",
    ]  # fmt: skip
    assert [float(row[1]) for row in rows[1:]] == table["n"].to_list()


@given(text=st.text() | st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "Sm", "Po"])))
def test_any_text_is_inert(text: str) -> None:
    assert json.loads(json_text([text])) == [text]
    assert not UNSEEN.search(json_text([text]))
    table = pl.DataFrame({"t": [text]}) if not re.search("[\ud800-\udfff]", text) else pl.DataFrame({"t": [""]})
    (_, *rows) = list(csv.reader(io.StringIO(csv_text(table), newline="")))
    assert not UNSEEN.search(csv_text(table))
    assert not rows or not rows[0] or rows[0][0][:1] not in tuple("=@\t")
    for marked in (markdown_text(text), latex_text(text)):
        assert not UNSEEN.search(marked)
    assert "<" not in markdown_text(text)
