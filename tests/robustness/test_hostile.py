"""Input that means harm: refused in one message that says what and where, in bounded memory, with nothing written."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

import dstbench
from tests.commands import run
from tests.interface import LEAVES
from tests.interface import line as line_of

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


# --- archives ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["100000", "0", "-1", "four", "", "9" * 5000])
def test_absurd_numbers_of_threads(threads: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any is started, by every command."""
    monkeypatch.setenv("POLARS_MAX_THREADS", threads)
    for name in LEAVES:
        code, out, err = run(*line_of(name))
        assert (code, out) == (2, ""), name
        assert err.startswith("error: POLARS_MAX_THREADS='"), name
        assert len(err) < 2000


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
        "hint: such a file may be made to exhaust memory or time; "
        "if it is not, set DSTBENCH_MAX_UNPACKED to more than 3",
    ]


def _fill(name: str) -> None:
    with suppress(BrokenPipeError), open(name, "wb") as pipe:
        for _ in range(100):
            pipe.write(b" " * 1_000_000)
