"""Input that means harm: refused in one message that says what and where, in bounded memory, with nothing written."""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import stat
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dstbench
from dstbench.conventions.convention import Convention
from dstbench.conventions.slots import split_pair
from dstbench.io import archives as packed
from dstbench.io import limits
from dstbench.runs.open import open_runs
from dstbench.scoring import compare_values as comparison
from tests import formats
from tests.commands import run
from tests.interface import LEAVES
from tests.interface import line as line_of
from tests.io.test_archives import pack_zip

pytestmark = [pytest.mark.fuzz, pytest.mark.filterwarnings("ignore::dstbench.DstbenchWarning")]

MB = 1_000_000
#: Address space of a command: what is read here fits many times over, what would be made of it does not.
ROOM = 3_000 * MB


def line(dialogue: str = "D", turn: Any = 0, gold: Any = None, pred: Any = None) -> dict[str, Any]:
    return {"dialogue_id": dialogue, "turn": turn, "gold": gold or {}, "pred": pred or {}}


def write(path: str, lines: list[dict[str, Any]]) -> str:
    Path(path).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def bounded(*words: str) -> tuple[int, str]:
    """A command in little memory: its exit code and what it says."""
    done = subprocess.run(  # noqa: S603 (our own command)
        [sys.executable, "-m", "dstbench", *words],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        env={**os.environ, "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)),
    )
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    return done.returncode, done.stderr


# --- JSON ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [900, 1_100, 1_000_000])
@pytest.mark.parametrize("begin", ["[", '{"a":', '[{"dialogue_id":"D","turn":0,"z":[', '{"D":{"0":{"gold":['])
def test_nested_json_is_refused(begin: str, depth: int, here: Path) -> None:
    Path("deep.json").write_text(begin * depth)
    with pytest.raises(dstbench.DstbenchError, match=r"^deep\.json: (?:the JSON|item 0: the JSON|no known|broken)"):
        dstbench.score("deep.json")
    Path("deep.json").write_text(json.dumps(line())[:-1] + ', "z": ' + "[" * depth + "]" * depth + "}\n")
    try:
        assert dstbench.score("deep.json", metrics="jga")["turns"].item() == 1
    except dstbench.DstbenchError as error:
        assert "nested too deeply" in str(error)  # noqa: PT017 (what is not deep may be read)


@pytest.mark.parametrize("place", ["dialogue_id", "slot", "value", "user"])
@pytest.mark.parametrize("half", [r"\ud800", r"\udc00", r"a\udbff\ud800", r"\ud800\u0041"])
def test_half_characters_are_refused(half: str, place: str, here: Path) -> None:
    text = json.dumps({**line("dialogue_id", 0, {"slot": "value"}), "user": "user"})
    Path("s.jsonl").write_text(text.replace(f'"{place}"', f'"{half}"', 1 + (place == "dialogue_id")) + "\n")
    with pytest.raises(dstbench.DstbenchError, match=r"^s\.jsonl: broken JSON: .*surrogate"):
        dstbench.score("s.jsonl")


@pytest.mark.parametrize("number", ["9" * 100_000, "1e400", "-1", "65536", "NaN", "Infinity", "1.5", "true"])
def test_numbers_that_are_no_turns_are_refused(number: str, here: Path) -> None:
    Path("n.jsonl").write_text(json.dumps(line()).replace('"turn": 0', f'"turn": {number}') + "\n")
    with pytest.raises(dstbench.DstbenchError, match=r"^n\.jsonl: ") as caught:
        dstbench.score("n.jsonl")
    assert len(str(caught.value)) < 1_000


STRANGE = ["\0", "\x1b[2J", "\u202eabc", "\u2066", "\r", "\t", "\n", "\x9b", "é\u0301", "\U0001f600", " ", "=1+1", "-"]


@pytest.mark.parametrize("text", STRANGE)
def test_any_character_is_kept_from_file_to_table_and_back(text: str, here: Path) -> None:
    states = [line(f"D{text}", turn, {f"hotel-{text}": text, text: "x"}, {f"hotel-{text}": text}) for turn in (0, 1)]
    write("model.jsonl", states)
    straight = dstbench.scan("model.jsonl").drop("run").collect()
    dstbench.write_long(open_runs("model.jsonl")[0], "model.parquet")
    assert dstbench.scan("model.parquet").drop("run").collect().equals(straight)
    assert set(straight["dialogue"]) == {f"D{text}"}
    assert {f"hotel-{text}", text} == set(straight["slot"].cast(pl.String))
    assert dstbench.score("model.parquet")["value"].equals(dstbench.score("model.jsonl")["value"])


# --- size ----------------------------------------------------------------------------------------------------------


def test_messages_stay_short(here: Path) -> None:
    long = "x" * 100_000
    cases = [
        {long: {"0": 1}},
        {"D": {long: 1}},
        [{long: 1}],
        [line(turn=long)],
        [line(long, -1)],
        [line(gold={long: {"x": {"y": 5}}})],
        [line(gold={"a-b": [[long]]})],
        [line(gold="{" + long)],
        [line(gold=[long])],
        [{**line(), "pred": {}, f"pred_{long}": {"hotel-area": {}}, "predicted": {}}],
        [{"dialogue_id": "D", "turn": 0, long: {}}],
        [{long: "D", "turn": 0, "gold": {}}],
    ]
    for document in cases:
        Path("p.json").write_text(json.dumps(document))
        with pytest.raises(dstbench.DstbenchError) as caught:
            dstbench.score("p.json")
        assert len(str(caught.value)) < 3_000
    write("p.json", [line(long, 0, {long: long, "hotel-area": "north"}, {"hotel-area": long})])
    code, _, err = run("score", "p.json")
    assert code == 0
    assert err.startswith("note: ")
    assert len(err) < 5_000


def test_values_of_ten_megabytes_are_scored_and_shown(here: Path) -> None:
    long = "x" * 10 * MB
    write("p.jsonl", [line("D", 0, {"hotel-area": long}, {"hotel-area": long + "y"}), line("D", 1, {}, {long: "a"})])
    code, out, _ = run("show", "p.jsonl", "D")
    assert code == 0
    assert "characters)" in out
    assert len(out) < 50_000
    code, out, _ = run("score", "p.jsonl", "--by", "slot", "-m", "correct")
    assert code == 0
    assert len(out) < 50_000


@pytest.mark.parametrize("hyphens", [100_000, 1_000_000])
def test_a_pair_of_hyphens_only_is_split_at_once(hyphens: int) -> None:
    assert split_pair("-" * hyphens) == ("-", "-" * (hyphens - 2))
    assert split_pair("hotel-name-" + "a-" * hyphens) == ("hotel-name", "a-" * hyphens)


def test_gaps_between_turns_are_limited(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("gaps.jsonl", [line(f"D{n}", turn, {"hotel-area": "east"}) for n in range(2_000) for turn in (0, 65_535)])
    code, err = bounded("convert", "gaps.jsonl", "-o", "gaps.parquet")
    assert code == 1
    assert "error: gaps.parquet: 131,072,000 turn numbers" in err
    assert not Path("gaps.parquet").exists()
    with monkeypatch.context() as setting:
        setting.setenv("DSTBENCH_MAX_NUMBERS", "many")  # wrong usage, and no file's fault
        for words in (("convert", "gaps.jsonl", "-o", "gaps.parquet"), ("score", "gaps.jsonl")):
            code, _, err = run(*words)
            assert (code, err.split("\n")[-3]) == (
                2,
                "error: DSTBENCH_MAX_NUMBERS='many' is not a whole number above 0",
            )
    code, err = bounded("score", "gaps.jsonl", "-m", "jga,fga")
    assert code == 1
    assert "error: gaps: 131,072,000 turn numbers" in err
    assert "set DSTBENCH_MAX_NUMBERS to more than 50" in err
    write("few.jsonl", [line("D", turn, {"hotel-area": "east"}) for turn in (0, 65_535)])
    assert dstbench.score("few.jsonl", metrics="jga")["value"].item() == 0
    monkeypatch.setattr("dstbench.runs.layout.FREE", 0)
    with pytest.raises(dstbench.DstbenchError, match=r"65,536 turn numbers .* limit of 50 each"):
        dstbench.score("few.jsonl")
    monkeypatch.setenv("DSTBENCH_MAX_NUMBERS", "40000")
    assert dstbench.score("few.jsonl", metrics="jga")["value"].item() == 0


def test_rows_made_of_a_few_slots_are_limited(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slots = {f"hotel-{number}": "x" for number in range(5_000)}
    write("wide.jsonl", [line(gold=slots), *(line(turn=turn) for turn in range(1, 60_000))])
    code, err = bounded("convert", "wide.jsonl", "-o", "wide.parquet")
    assert code == 1
    assert "error: wide.jsonl: 300,000,000 rows for 60,000 turns that list 5,000 slots" in err
    assert "set DSTBENCH_MAX_SPREAD to more than 50" in err
    assert not Path("wide.parquet").exists()
    write("few.jsonl", [line(gold={"hotel-area": "east"}), *(line(turn=turn) for turn in range(1, 4))])
    monkeypatch.setattr("dstbench.runs.spread.FREE", 0)
    assert dstbench.scan("few.jsonl").collect().height == 4
    monkeypatch.setenv("DSTBENCH_MAX_SPREAD", "0")
    with pytest.raises(dstbench.UsageError, match="DSTBENCH_MAX_SPREAD='0' is not a whole number above 0"):
        dstbench.scan("few.jsonl")


def test_many_slots_with_many_values_need_no_table_of_all(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = [line(f"D{n}", 0, {f"a-{n}": f"v{n}"}, {f"a-{n}": f"{'V' if n % 2 else 'w'}{n}"}) for n in range(40_000)]
    write("many.jsonl", states)
    code, err = bounded("check", "many.jsonl")
    assert code in (0, 1)
    assert "memory" not in err
    few = Convention(gold_steps=("case",), pred_steps=("case",), dontcare="drop")
    wanted = dstbench.score("many.jsonl", metrics="jga,f1", profile=few)["value"]
    assert wanted[0] == 0.5
    assert dstbench.score(states[:400], metrics="jga,f1", profile=few)["value"].equals(wanted)  # as many are right
    comparison.comparison.cache_clear()
    monkeypatch.setattr(comparison, "_RANKED_IN_ARRAY", 1)
    assert dstbench.score(states[:400], metrics="jga,f1", profile=few)["value"].equals(wanted)
    comparison.comparison.cache_clear()


def test_want_of_memory_is_told(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import typer

    from dstbench.cli.output import reporting

    with pytest.raises(typer.Exit), reporting():
        raise MemoryError
    assert capsys.readouterr().err.startswith("error: there is not enough memory")


# --- archives ------------------------------------------------------------------------------------------------------


def test_bombs_are_refused_in_bounded_memory(here: Path) -> None:
    blank = io.BytesIO()
    with gzip.GzipFile(fileobj=blank, mode="wb", compresslevel=9) as file:
        for _ in range(200):
            file.write(b" " * MB)
    Path("bomb.json.gz").write_bytes(blank.getvalue())
    code, err = bounded("score", "bomb.json.gz")
    assert code == 1
    assert "error: bomb.json.gz: more than 200 times its packed size when unpacked" in err
    assert "set DSTBENCH_MAX_RATIO to more than 200" in err


def test_many_small_members_are_a_bomb_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = pack_zip({f"{number}.json": b"[" + b" " * MB + b"]" for number in range(8)})
    Path("many.zip").write_bytes(content)
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "5")
    with pytest.raises(dstbench.DstbenchError, match=r"many\.zip/\d\.json: more than 5 MB when unpacked"):
        dstbench.score("many.zip")
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "9")
    with pytest.raises(dstbench.DstbenchError, match="without a file of a known format"):
        dstbench.score("many.zip")  # each is counted once, however often it is looked at
    monkeypatch.setattr(packed, "_FREE", 5 * MB)
    with pytest.raises(dstbench.DstbenchError, match="more than 200 times its packed size"):
        dstbench.score("many.zip")


def _zipped(content: bytes) -> bytes:
    return pack_zip({"x.json": content})


@pytest.mark.parametrize(
    ("inner", "outer"), [(gzip.compress, gzip.compress), (_zipped, gzip.compress), (_zipped, _zipped)]
)
def test_what_is_packed_twice_is_refused(
    inner: Callable[[bytes], bytes], outer: Callable[[bytes], bytes], here: Path
) -> None:
    Path("p").write_bytes(outer(inner(formats.gtpr().encode())))
    with pytest.raises(dstbench.DstbenchError, match=r"^p: packed \((gzip|zip)\)\nhint: unpack it first"):
        dstbench.score("p")


def test_a_bomb_in_a_zip_is_measured_by_what_the_zip_holds(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("p.zip").write_bytes(_zipped(gzip.compress(formats.gtpr().encode())))  # as some datasets come
    assert dstbench.score("p.zip", metrics="jga")["value"].item() == 0.5
    monkeypatch.setattr(packed, "_FREE", MB)
    Path("p.zip").write_bytes(_zipped(gzip.compress(b" " * 5 * MB)))
    with pytest.raises(dstbench.DstbenchError, match=r"more than 200 times its packed size"):
        dstbench.score("p.zip")


def test_links_in_a_zip_lead_nowhere(here: Path) -> None:
    secret = here.parent / "secret.json"
    secret.write_text(formats.gtpr())
    with zipfile.ZipFile("p.zip", "w") as archive:
        link = zipfile.ZipInfo("p.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, str(secret))
    with pytest.raises(dstbench.DstbenchError, match=r"^p\.zip: no known format"):
        dstbench.score("p.zip")


def test_pipes_in_a_folder_are_passed_over(here: Path) -> None:
    Path("data").mkdir()
    os.mkfifo("data/a.json")
    Path("data/b.json").write_text(formats.gtpr())
    assert dstbench.score("data", metrics="jga")["value"].item() == 0.5
    Path("data/c.json").symlink_to("nowhere.json")
    with pytest.raises(dstbench.DstbenchError, match=r"c\.json: no such file"):
        dstbench.score("data")


@pytest.mark.parametrize("threads", ["100000", "0", "-1", "four", "", "9" * 5000])
def test_absurd_numbers_of_threads(threads: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any is started, by every command."""
    monkeypatch.setenv("POLARS_MAX_THREADS", threads)
    for name in LEAVES:
        code, out, err = run(*line_of(name))
        assert (code, out) == (2, ""), name
        assert err.startswith("error: POLARS_MAX_THREADS='"), name
        assert len(err) < 2000


def test_every_limit_is_documented() -> None:
    told = (Path(dstbench.__file__).parent / "cli/topics/files-from-strangers.md").read_text(encoding="utf-8")
    for limit in limits.LIMITS:
        assert f"`{limit.variable}`" in told
        assert str(limit.default) in told


LISTS = ["|".join(f"{side} {number}" for number in range(1000)) for side in ("north", "south")]
TEXTS = ["xy " * 1700, "yx " * 1600]


@pytest.mark.parametrize(
    ("profile", "refused"),
    [  # `sgd-mwz` compares one prediction exactly, and the first profiles compare only one gold value or prediction
        ("mwzeval", [TEXTS]), ("sgd", [TEXTS]), ("qian2021", [LISTS, TEXTS]), ("qian2021-code", [LISTS, TEXTS]),
        ("convlab3-unified", [LISTS]), ("sgd-mwz", []),
    ],
)  # fmt: skip
def test_values_that_take_too_long_to_compare_are_refused(profile: str, refused: list[list[str]]) -> None:
    """A thousand alternatives on both sides, or thousands of characters: they took seconds to minutes."""
    for gold, pred in (LISTS, TEXTS):
        states = [{"dialogue_id": "MUL1", "turn": 0, "gold": {"hotel-name": gold}, "pred": {"hotel-name": pred}}]
        too_long = pytest.raises(dstbench.DstbenchError, match=r"of [\d,]+ and [\d,]+ \w+, are too long to be comp")
        begun = time.process_time()
        with too_long if [gold, pred] in refused else nullcontext() as raised:
            dstbench.score(states, profile=profile, metrics="jga,soft-jga")
        assert time.process_time() - begun < 10
        if raised is not None:
            assert (raised.value.file, raised.value.slot) == ("states", "hotel-name")
            assert "DSTBENCH_MAX_COMPARED to more than 250000" in str(raised.value.hint)


def test_a_pair_up_to_the_limit_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTBENCH_MAX_COMPARED", "12")
    for gold, is_refused in (("abcd", False), ("abcde", True)):
        states = [{"dialogue_id": "MUL1", "turn": 0, "gold": {"hotel-name": gold}, "pred": {"hotel-name": "abc"}}]
        with pytest.raises(dstbench.DstbenchError, match="of 5 and 3 characters") if is_refused else nullcontext():
            dstbench.score(states, profile="mwzeval", metrics="jga")


@pytest.mark.parametrize("name", ["/dev/zero", "pipe"])
def test_pipes_and_devices_are_read_up_to_the_limit(name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "3")
    os.mkfifo("pipe")
    writer = None
    if name == "pipe":
        writer = threading.Thread(target=_fill, args=(name,))
        writer.start()
    code, out, err = run("score", name)
    if writer is not None:
        writer.join()
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        f"error: {name}: more than 3 MB from a pipe or device",
        "hint: if that is right, set DSTBENCH_MAX_UNPACKED to more MB",
    ]


def _fill(name: str) -> None:
    with suppress(BrokenPipeError), open(name, "wb") as pipe:
        for _ in range(100):
            pipe.write(b" " * 1_000_000)
