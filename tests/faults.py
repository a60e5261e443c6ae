"""Commands that write, and processes that meet with a fault while they do."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import dstbench.cli  # noqa: F401 (adds its commands)
from tests.planted import consistent

#: Moments of each kind that are tried for each command; by hand, many: 50 are 500 kills.
MOMENTS = int(os.environ.get("DSTBENCH_FAULTS", "1"))

#: Commands, and what they write.
COMMANDS = {
    "one file": ("convert one.jsonl -o out.parquet", ["out.parquet"]),
    "many files": ("convert one.jsonl two.jsonl -o out.parquet", ["out.parquet"]),
    "score": ("score one.jsonl -o out.json --format json", ["out.json"]),
    "apply": (
        "audit inconsistency gold.json --support 2 --apply -o out.json --log out.csv --review sheet.csv",
        ["out.json", "out.csv", "sheet.csv"],
    ),
}

# Runs a command, and does something at the n-th time that it opens, names, lists or removes a file of its folder.
_DRIVER = """
import os, signal, sys
at, deed, *words = sys.argv[1:]
folder, seen = os.getcwd(), 0

def watch(event, about):
    global seen
    if event.split(".")[0] in ("open", "os", "shutil", "fcntl") and about and isinstance(about[0], (str, os.PathLike)):
        if os.path.abspath(about[0]).startswith(folder):
            seen += 1
            if seen == int(at):
                exec(deed)

sys.argv = ["dstbench", *words]
from dstbench.cli import main
sys.addaudithook(watch)
print("ready", flush=True)
try:
    main()
finally:
    print(seen, file=sys.stderr)
"""


@dataclass(frozen=True)
class Undisturbed:
    """A command that nothing happened to.

    Attributes:
        files: What it wrote.
        events: How often it had to do with files.
        seconds: For how long it ran.
    """

    files: dict[str, bytes]
    events: int
    seconds: float


def write_inputs() -> None:
    """The files that the commands read."""
    corpus = consistent(40, seed=1)
    turns: dict[str, list[dict[str, object]]] = {}
    for number, state in enumerate(corpus):
        belief = [{"slots": [[slot, value]], "act": "inform"} for slot, value in state["gold"].items() if number % 7]
        turn = {"turn_idx": state["turn"], "transcript": state["user"], "system_transcript": state["system"] or ""}
        turns.setdefault(state["dialogue_id"], []).append({**turn, "belief_state": belief})
    dialogues = [{"dialogue_idx": name, "domains": ["hotel"], "dialogue": own} for name, own in turns.items()]
    Path("gold.json").write_text(json.dumps(dialogues))
    lines = [
        json.dumps(
            {**{key: state[key] for key in ("dialogue_id", "turn", "gold")}, "pred": dict(list(gold.items())[1:])}
        )
        for state in corpus
        if (gold := state["gold"]) is not None
    ]
    half = next(n for n, state in enumerate(corpus) if state["dialogue_id"] == "D20")
    for name, own in (("one", lines[:half]), ("two", lines[half:])):
        Path(f"{name}.jsonl").write_text("".join(f"{line}\n" for line in own))


def there() -> dict[str, bytes]:
    """All files in the folder, hidden ones too, and their content; folders without any are files named ``…/``."""
    found: dict[str, bytes] = {}
    for folder, folders, names in os.walk("."):
        place = Path(folder)
        found |= {str(place / name): (place / name).read_bytes() for name in names}
        if not (names or folders):
            found[f"{place}/"] = b""
    return found


def begin(words: str, at: int = 0, deed: str = "") -> subprocess.Popen[str]:
    """Start a command that does something at its n-th work on files."""
    command = [sys.executable, "-c", _DRIVER, str(at), deed, *words.split()]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603


def undisturbed(words: str) -> Undisturbed:
    """Run a command to its end."""
    before = there()
    with begin(words) as running:
        assert running.stdout is not None
        running.stdout.readline()
        began = time.monotonic()
        _, err = running.communicate()
    assert running.returncode == 0, err
    files = {name: content for name, content in there().items() if before.get(name) != content}
    return Undisturbed(files, int(err.split()[-1]), time.monotonic() - began)


def disturbed(words: str, number: signal.Signals, moment: int | float) -> tuple[int, str]:
    """Run a command that gets a signal: at its n-th work on files, or after so many seconds; exit code and stderr."""
    at = moment if isinstance(moment, int) else 0
    with begin(words, at, f"os.kill(os.getpid(), {int(number)})") as running:
        assert running.stdout is not None
        running.stdout.readline()
        if not at:
            time.sleep(moment)
            running.send_signal(number)
        _, err = running.communicate(timeout=120)
    return running.returncode, err


def moments(command: str, usual: Undisturbed) -> tuple[list[int], list[float]]:
    """Some works on files, and some times, chosen at random, but the same each time."""
    chosen = random.Random(command)  # noqa: S311 (no secrets)
    at = chosen.sample(range(1, usual.events + 1), min(MOMENTS, usual.events))
    return at, [chosen.uniform(0, usual.seconds) for _ in range(MOMENTS)]
