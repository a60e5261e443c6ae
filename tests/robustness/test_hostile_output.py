"""What users' files say is text in every output of every command: no terminal, page or spreadsheet obeys it."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.io.escape import csv_text, json_text, latex_text, markdown_text
from tests.audit.test_reviewing import lines
from tests.commands import run
from tests.once import compute_once
from tests.planted import consistent, take_out

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


@pytest.mark.parametrize("fault", [
    {"turn": EVIL}, {"gold": {"hotel-area": {"x": EVIL}}}, {EVIL: 1}, {"gold": {f"{EVIL}-x": [1, {}]}}, {"turn": 9},
    {"pred": None}, {"gold": EVIL}, {"pred": {EVIL: EVIL, f" {EVIL}": EVIL}},
], ids=lambda fault: next(iter(fault)))  # fmt: skip
def test_no_place_of_a_fault_is_obeyed(fault: dict[str, Any], here: Path) -> None:
    """Nor what a note says of it."""
    first, *others = states()
    lines = [json.dumps(state) for state in (first, {**others[0], **fault}, *others[1:])]
    Path(f"a{FORGED.replace('/', '_')}.jsonl").write_text("\n".join(lines))
    for words in (["score"], ["check"], ["diagnose", "--verbose"], ["convert", "-o", "x.parquet"]):
        code, out, err = run(words[0], f"a{FORGED.replace('/', '_')}.jsonl", *words[1:])
        assert code in (0, 1)
        assert not UNSEEN.search(out + err)
        assert not _FORGED_LINE.search(out + err)
        assert code == 0 or len(re.findall("^error: ", err, re.MULTILINE)) == 1


@given(texts=st.lists(st.text() | st.just(EVIL), min_size=6, max_size=6))
def test_a_message_has_only_its_own_lines(texts: list[str]) -> None:
    what, file, dialogue, turn, slot, hint = texts
    error = dstbench.DstbenchError(what, file=file, dialogue=dialogue, turn=turn, slot=slot, hint=hint)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own)
    assert (str(again), vars(again)) == (str(error), vars(error))
    for message in (str(error), str(error.in_file("other"))):
        assert len(message.split("\n")) == (2 if hint else 1)
        assert not UNSEEN.search(message)
    warning = str(dstbench.DstbenchWarning(what, file=file, kind=slot))
    assert not UNSEEN.search(warning)
    assert "\n" not in warning


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


@pytest.mark.parametrize("function", ["read_csv", "READ_PARQUET", "read_json", "scan_csv", '"read_csv"'])
@pytest.mark.parametrize("between", ["", " /**/", "--\n"])
def test_a_query_reads_no_file(function: str, between: str, here: Path) -> None:
    Path("t.csv").write_text("a\nsecret\n")
    for template in (
        "SELECT * FROM CALL('t.csv')",
        "WITH x AS (SELECT * FROM CALL('http://127.0.0.1:1/t.csv')) SELECT * FROM x",
        "SELECT slot FROM long WHERE slot IN (SELECT a FROM CALL('t.csv'))",
    ):
        sql = template.replace("CALL", function + between)
        with pytest.raises(dstbench.UsageError, match=r"reads files, and a query reads tables"):
            dstbench.query(sql, states())
    assert dstbench.query("SELECT slot FROM long WHERE pred = 'read_more' LIMIT 1", states()).is_empty()


def test_a_sheet_goes_to_a_reviewer_and_back(here: Path) -> None:
    """What could be a formula is none in the sheet, and the reviewer's answers are understood all the same."""
    planted = take_out(consistent(150, 8), 0.2, 8)[0]
    Path("data.jsonl").write_text(
        lines(
            [
                {**state, "dialogue_id": f"=1+{state['dialogue_id']}", "user": f"{state['user']}\x1b"}
                for state in planted
            ]
        )
    )
    code, _, err = run(
        "audit", "inconsistency", "data.jsonl", "--log", "log.csv", "--review", "sheet.csv", "--sample", "9"
    )
    assert code == 0, err
    with open("sheet.csv", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["dialogue"][:4] for row in rows} == {"'=1+"}
    for name in ("sheet.csv", "log.csv"):
        assert not UNSEEN.search(Path(name).read_text(encoding="utf-8-sig"))
    with open("filled.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, **({"right": "yes"} if row["row"] == "addition" else {"missed": "0"})})
    found = dict(dstbench.audit.review("filled.csv").measures.select("measure", "value").iter_rows())
    assert found == {"precision": 1.0, "recall": 1.0, "f1": 1.0}
