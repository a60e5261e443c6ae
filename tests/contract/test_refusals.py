"""What a user gets wrong: each mistake has its exit code, and a message with the place and what to do about it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.contract import recorded, small_corpus
from tests.contract.commands import run


class Mistake(NamedTuple):
    """A command; its exit code; words of the place in the message; words of the remedy."""

    words: str
    code: int
    place: str
    remedy: str = ""


#: Words of `place` and `remedy` are separated by ` & `; all must be there.
MISTAKES: Final = (
    # Files
    Mistake("score none.jsonl", 1, "none.jsonl & no such", "keen.jsonl"),
    Mistake("check keen.jsonl none.jsonl", 1, "none.jsonl & no such", "in that folder"),
    Mistake("score keen.jsonl --gold none.jsonl", 1, "none.jsonl & no such"),
    Mistake("score keen.jsonl --gold cut.json", 1, "cut.json & the JSON ends too early"),
    Mistake("score keen.jsonl --gold bare.json", 1, "bare.json: no gold inside"),
    Mistake("convert cut.json -o long.parquet", 1, "cut.json & the JSON ends too early"),
    Mistake("report none.jsonl -o r.html", 1, "none.jsonl & no such"),
    Mistake("report keen.jsonl -o r.html --context none.json", 1, "none.json & no such"),
    Mistake("audit bias none.jsonl", 1, "none.jsonl & no such"),
    Mistake("audit scores keen.jsonl --version a=none.jsonl", 1, "none.jsonl & no such"),
    Mistake("audit bias keen.jsonl --split test", 1, "does not say which dialogue is of which split"),
    Mistake("audit diff keen.jsonl none.jsonl", 1, "none.jsonl & no such"),
    Mistake("score empty.jsonl", 1, "empty.jsonl & empty", "did the run"),
    Mistake("score folder", 1, "folder & empty", "ls formats"),
    Mistake("score text.txt", 1, "text.txt & hello there", "--from"),
    Mistake("score cut.json", 1, "cut.json & item 0 & the JSON ends too early", "write it again"),
    Mistake("score bare.json", 1, "bare.json: no gold inside (mwzeval)", "name the file that has it: --gold FILE"),
    Mistake("score nogold.jsonl", 1, "nogold.jsonl & gold", "--gold"),
    Mistake("score twice.jsonl", 1, "twice.jsonl & twice & D01 & turn 1", "one state per"),
    Mistake("score letter.jsonl", 1, "letter.jsonl & line 2 & D00 & turn x", "--keys"),
    Mistake("score state.jsonl", 1, "state.jsonl & line 1 & D00 & turn 0", "a state is"),
    Mistake("score part.jsonl --gold keen.jsonl", 1, "part.jsonl & 5 gold turns & D00, turn 0",
            "--missing wrong & --missing empty & --missing intersect"),
    Mistake("convert part.jsonl --gold keen.jsonl -o long.parquet", 1, "part.jsonl & 5 gold turns & D00, turn 0",
            "--missing wrong & --missing empty & --missing intersect"),
    # Files beside them
    Mistake("score keen.jsonl --profile none.toml", 1, "none.toml & no such"),
    Mistake("score keen.jsonl --profile bad.toml", 1, "bad.toml & base", "ls profiles"),
    Mistake("score keen.jsonl --typos bad.toml", 1, "bad.toml & JSON & line 1", "python -m json.tool bad.toml"),
    Mistake("score keen.jsonl --label-map none.json", 1, "none.json & no such"),
    Mistake("score keen.jsonl --schema cut.json", 1, "cut.json & JSON", "mend it there, or copy it again"),
    Mistake("score keen.jsonl --slot-map none.csv", 1, "none.csv & no such"),
    Mistake("score keen.jsonl --plugins nothere.py", 2, "nothere.py"),
    Mistake("correlate keen.jsonl --ratings words.csv", 1, "words.csv & line 2 & good & D00", "leave the cell empty"),
    Mistake("correlate keen.jsonl --ratings other.csv", 1, "other.csv & rating & run, dialogue, score", "columns"),
    Mistake("correlate keen.jsonl --ratings none.csv", 1, "none.csv & no such"),
    Mistake("audit review words.csv", 1, "words.csv & right & missed", "audit inconsistency"),
    Mistake("audit memorisation keen.jsonl --context keen.jsonl", 1, "keen.jsonl & utterances"),
    # Names and values of options
    Mistake("score keen.jsonl -m jgaa", 2, "metric & jgaa", "jga"),
    Mistake("score keen.jsonl -m fga:lam=x", 2, "fga & lam & 'x'", "number"),
    Mistake("score keen.jsonl -m fga:lamb=1", 2, "fga & lamb", "lam="),
    Mistake("score keen.jsonl -m sa:T=x", 2, "sa & T & 'x'", "sa:T=30"),
    Mistake("score keen.jsonl -m sa:T=0", 2, "sa & T & 0", "from 1"),
    Mistake("score keen.jsonl --profile starr", 2, "profile & starr", "star?"),
    Mistake("score keen.jsonl --by slots", 2, "slots", "slot?"),
    Mistake("score keen.jsonl --from treade", 2, "format & treade", "trade"),
    Mistake("score keen.jsonl --match levenstein", 2, "matcher & levenstein", "levenshtein"),
    Mistake("score keen.jsonl --gold-steps cases", 2, "step & cases", "case?"),
    Mistake("score keen.jsonl --keys pred=", 2, "no key for pred"),
    Mistake("score keen.jsonl --keys id=a,dialogue=b", 2, "two keys for 'dialogue'"),
    Mistake("score bare.json --gold keen.jsonl --keys pred=x", 1, "bare.json & fixed names"),
    Mistake("score keen.jsonl --keys id", 2, "--keys & 'id'", "--keys id=flag"),
    Mistake("score keen.jsonl --turn-step 0", 2, "--turn-step & 0", "--turn-step 2"),
    Mistake("score keen.jsonl --group A=nobody", 2, "--group & nobody", "keen"),
    Mistake("score keen.jsonl --group A=ke* --group B=keen", 2, "run 'keen' is in two groups: 'A' and 'B'"),
    Mistake("score keen.jsonl --group A", 2, "names no group and its runs"),
    Mistake("score keen.jsonl --group A=ke* --by domain", 2, "takes scores by run"),
    Mistake("score keen.jsonl --label x", 2, "--label is for LaTeX only"),
    Mistake("score keen.jsonl --format latex --label a}b", 2, "cannot be a label"),
    Mistake("score keen.jsonl --address head:6379", 2, "the local engine has no address", "hint: --engine ray"),
    Mistake("score keen.jsonl hasty.jsonl --name a", 2, "1 name for 2 runs"),
    Mistake("score keen.jsonl keen.jsonl --name a,a", 2, "'a'", "name of its own"),
    Mistake("score keen.jsonl --missing zero", 2, "--missing & zero", "intersect"),
    Mistake("score keen.jsonl --format xml", 2, "--format & xml", "latex"),
    Mistake("score keen.jsonl --width 10", 2, "--width & 10", "100"),
    Mistake("score keen.jsonl --colour", 2, "--colour", "-h"),
    Mistake("score", 2, "RUN", "-h"),
    Mistake("frobnicate", 2, "frobnicate", "-h"),
    Mistake("ls models", 2, "models", "-h"),
    Mistake("demo --dialogues 0", 2, "--dialogues & 0", "-h"),
    Mistake("convert keen.jsonl", 2, "-o", "-h"),
    Mistake("convert keen.jsonl -o out.json", 2, "out.json", "hint: -o out.parquet"),
    Mistake("contexts keen.jsonl -o out.csv", 2, "out.csv & Parquet", "hint: -o out.parquet"),
    Mistake("compare keen.jsonl", 2, "two runs", "dstbench score"),
    Mistake("compare keen.jsonl keen.jsonl", 2, "keen.jsonl is given twice"),
    Mistake("compare keen.jsonl hasty.jsonl --baseline hsaty", 2, "hsaty", "did you mean hasty"),
    Mistake("compare keen.jsonl hasty.jsonl --model keen", 2, "names no model and its runs"),
    Mistake("diagnose keen.jsonl --few -1", 2, "few"),
    Mistake("traits keen.jsonl --to middle", 2, "middle"),
    Mistake("traits keen.jsonl --disagree fga gac", 2, "gac", "did you mean"),
    Mistake("traits keen.jsonl --disagree fga fga", 2, "between two metrics"),
    Mistake("sensitivity keen.jsonl --kinds mised", 2, "there is no kind of error 'mised'"),
    Mistake("sensitivity keen.jsonl --gold-only -m missed", 2, "a count of errors"),
    Mistake("report keen.jsonl", 2, "-o"),
    Mistake("report keen.jsonl -o r.txt", 2, "r.txt", "hint: -o r.html"),
    Mistake("report keen.jsonl -o r.html --format md", 2, "r.html", "hint: -o r.md"),
    Mistake("report keen.jsonl -o r.html -m jgaa", 2, "jgaa", "did you mean jga"),
    Mistake("report keen.jsonl -m jga --paper -o paper.tex", 2, "--paper writes several files", "-o paper, a folder"),
    Mistake("report keen.jsonl -m jga --paper -o paper --format md", 2, "--paper writes several files"),
    Mistake("report keen.jsonl -m jga --paper -o -", 2, "--paper writes several files"),
    Mistake(
        "compare keen.jsonl gold.jsonl", 1, "gold: & keen & '9' & '4' & 23 & D00, turn 0, slot hotel-stars", "--gold"
    ),
    Mistake("compare keen.jsonl unset.jsonl", 1, "unset & no value instead of & hotel-stars", "--gold"),
    Mistake("diff keen.jsonl gold.jsonl", 1, "after: & before & D00, turn 0, slot hotel-stars", "--gold"),
    Mistake("reconcile 50 keen.jsonl hasty.jsonl", 2, "2 runs"),
    Mistake("reconcile 50 keen.jsonl --most 5", 2, "--most & 5"),
    Mistake("reconcile a keen.jsonl", 2, "'a' & not a score"),
    Mistake("compare keen.jsonl hasty.jsonl --baseline nobody", 2, "nobody", "keen, hasty"),
    Mistake("compare keen.jsonl hasty.jsonl --model m=nobody", 2, "'m' & nobody", "keen, hasty"),
    Mistake("compare keen.jsonl hasty.jsonl --level 2", 2, "level & 2", "0.95"),
    Mistake("compare keen.jsonl hasty.jsonl --resamples 0", 2, "--resamples & 0", "1"),
    Mistake("compare keen.jsonl hasty.jsonl --seed -1", 2, "--seed & -1", "0"),
    Mistake("compare keen.jsonl hasty.jsonl --adjust holmm", 2, "--adjust & holmm", "holm"),
    Mistake("sweep keen.jsonl --target high", 2, "target & high", "92.15"),
    Mistake("sweep keen.jsonl --target nope=3", 2, "metric & nope", "jga"),
    Mistake("correlate keen.jsonl --per word", 2, "--per & word", "turn"),
    Mistake("correlate keen.jsonl -m jga", 2, "a correlation is between two metrics"),
    Mistake("correlate keen.jsonl -m jga,to_men", 2, "to_men", "did you mean to_mean"),
    Mistake("correlate keen.jsonl -m jga,turn", 2, "no column of dialogues 'turn'"),
    Mistake("correlate keen.jsonl -m jga,turns --per turn", 2, "no column of turns 'turns'"),
    Mistake("correlate keen.jsonl --between-runs", 2, "only one run is given"),
    Mistake("correlate keen.jsonl --between-runs --per turn", 2, "turns of one dialogue are not independent"),
    Mistake("correlate keen.jsonl hasty.jsonl --name pooled,b", 2, "a run is called 'pooled'"),
    Mistake("correlate marks.json -m jga,turns", 2, "turns cannot be computed, as the run holds no states"),
    Mistake("compare-metrics", 2, "over runs or over a table"),
    Mistake("compare-metrics keen.jsonl --table scores.csv", 2, "over runs or over a table"),
    Mistake("compare-metrics --table scores.csv -m sa", 2, "the table has no metric 'sa'"),
    Mistake("compare-metrics --table scores.csv --gold keen.jsonl --missing wrong", 2,
            "a table of scores does not change with how runs are read", "omit gold, missing,"),
    Mistake("compare-metrics --table scores.csv --profile star", 2, "a table of scores", "omit the convention,"),
    Mistake("show keen.jsonl D99", 1, "keen & D99", "D09"),
    Mistake("query 'frob 1' keen.jsonl", 2, "frob & Column: 1", "long: run, dialogue"),
    Mistake("query 'select nothing from long' keen.jsonl", 2, "nothing", "long: run, dialogue"),
    Mistake("pairs keen.jsonl", 2, "verbatim", "--match"),
    Mistake("sensitivity keen.jsonl --sample 0", 2, "--sample & 0", "1"),
    Mistake("audit scores keen.jsonl --version a", 2, "--version & 'a'", "--version 2.1="),
    Mistake("audit scores keen.jsonl --version keen.jsonl", 2, "names no version and its gold"),
    Mistake("audit scores keen.jsonl", 2, "--version"),
    Mistake("audit scores keen.jsonl --version a=keen.jsonl --version a=gold.jsonl", 2, "'a' is given twice"),
    Mistake("audit scores keen.jsonl --version a=keen.jsonl --only b=keen", 2, "no version is called 'b'"),
    Mistake("audit scores keen.jsonl --version a=keen.jsonl --model m", 2, "names no model and its runs"),
    Mistake("audit bias keen.jsonl --slot hotel-are", 2, "hotel-are", "did you mean hotel-area"),
    Mistake("audit bias keen.jsonl --counting finl", 2, "finl", "did you mean final"),
    Mistake("audit bias keen.jsonl --counting ,", 2, "there is no counting ''"),
    Mistake("audit bias keen.jsonl --train test", 2, "no split is called 'test'"),
    Mistake("audit bias keen.jsonl --over free", 2, "No such option"),
    Mistake("audit diff keen.jsonl", 2, "AFTER"),
    Mistake("audit diff keen.jsonl gold.jsonl --name old", 2, "names=old", "one for each version"),
    Mistake("audit diff keen.jsonl gold.jsonl --match levenstein", 2, "levenstein", "levenshtein"),
    Mistake("signature nonsense", 2, "nonsense", "quotes"),
    Mistake("help nothing", 2, "nothing", "conventions"),
    # Outputs
    Mistake("score keen.jsonl -o keen.jsonl", 2, "keen.jsonl & overwritten", "somewhere else"),
    Mistake("compare keen.jsonl hasty.jsonl -o hasty.jsonl", 2, "hasty.jsonl & overwritten"),
    Mistake("diagnose keen.jsonl -o keen.jsonl", 2, "keen.jsonl & overwritten"),
    Mistake("report keen.jsonl -o keen.jsonl", 2, "keen.jsonl & overwritten"),
    Mistake("convert keen.jsonl -o ./keen.jsonl", 2, "keen.jsonl & overwritten"),
    Mistake("score part.jsonl --gold keen.jsonl -o keen.jsonl", 2, "keen.jsonl & is read and would be overwritten"),
    Mistake("audit bias keen.jsonl -o keen.jsonl", 2, "keen.jsonl & overwritten"),
    Mistake("audit diff keen.jsonl gold.jsonl -o gold.jsonl", 2, "gold.jsonl & overwritten"),
    Mistake("audit scores keen.jsonl --version a=hasty.jsonl -o hasty.jsonl", 2, "hasty.jsonl & overwritten"),
    Mistake("report keen.jsonl -o no/folder/r.html -m jga", 1, "no/folder/r.html", "is the folder there"),
    Mistake("audit replace keen.jsonl -o keen.jsonl --train hasty.jsonl", 2, "keen.jsonl & overwritten", "somewhere"),
    Mistake("score keen.jsonl -o missing/table.csv", 1, "missing/table.csv", "folder"),
    Mistake("score keen.jsonl -m jgaa -o table.csv", 2, "jgaa", "jga"),
    Mistake("compare keen.jsonl gold.jsonl -o table.csv", 1, "gold", "--gold"),
)  # fmt: skip


#: Beginnings of messages by Typer, Polars and Python, which other versions of these may word in other ways.
OF_OTHERS: Final = ("Usage: ", "the query fails", "broken JSON")


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The corpus, and files with mistakes."""
    home = tmp_path_factory.mktemp("mistakes")
    small_corpus.write(home)
    keen = (home / "keen.jsonl").read_text("utf-8")
    lines = keen.split("\n")
    part = [
        json.dumps({key: row[key] for key in ("dialogue_id", "turn", "pred")}) for row in map(json.loads, lines[5:])
    ]
    files = {
        "empty.jsonl": "",
        "text.txt": "hello there\n",
        "cut.json": '[{"dialogue_id": "a", ',
        "nogold.jsonl": keen.replace('"gold"', '"other"'),
        "twice.jsonl": "\n".join([*lines, lines[4]]),
        "letter.jsonl": keen.replace('"turn": 1,', '"turn": "x",', 1),
        "state.jsonl": keen.replace('{"hotel-stars": "4"}', "[1]", 1),
        "gold.jsonl": keen.replace('"4"', '"9"'),
        "unset.jsonl": keen.replace('{"hotel-stars": "4"}', "{}", 1),
        "part.jsonl": "\n".join(part),
        "bare.json": '{"mul0001": [{"state": {"hotel": {"area": "north"}}, "response": ""}]}',
        "bad.toml": "base = 1",
        "words.csv": "run,dialogue,rating\nkeen,D00,good\n",
        "other.csv": "run,dialogue,score\nkeen,D00,1\n",
        "scores.csv": "model,metric,value\na,jga,0.5\n",
        "marks.json": '{"MUL1": {"0": [1, 1], "1": [1, 0]}, "MUL2": {"0": [1, 0]}}',
    }
    for name, text in files.items():
        (home / name).write_text(text, encoding="utf-8")
    (home / "folder").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        yield home


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.words)
def test_a_mistake_is_refused_with_its_place_and_remedy(mistake: Mistake, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, out, err = run(*shlex.split(mistake.words))
    assert code == mistake.code
    assert not out
    assert "Traceback" not in err
    errors = [line for line in err.splitlines() if line.lower().startswith("error: ")]
    assert len(errors) == 1
    message = "\n".join(line for line in err.splitlines() if not line.startswith("note: "))
    for word in mistake.place.split(" & "):
        assert word in errors[0], err
    for word in filter(None, mistake.remedy.split(" & ")):
        assert word in message, err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    if not any(text in err for text in OF_OTHERS):
        recorded.check("refusals", f"dstbench {mistake.words}", err)
