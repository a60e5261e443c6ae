"""Whatever ends a writer: there is the old file or the new one, whole, and the next run leaves nothing but its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults import COMMANDS, disturbed, moments, there, undisturbed, write_inputs

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals here")


def is_whole(found: dict[str, bytes], before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Every file that is not hidden is as it was before, or as it is in the end."""
    for name in {*found, *before}:
        if not any(part.startswith(".") for part in Path(name).parts) and not name.endswith("/"):
            assert found.get(name) in (before.get(name), after.get(name)), name


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_any_moment(command: str, here: Path) -> None:
    write_inputs()
    words, outputs = COMMANDS[command]
    inputs = there()
    usual = undisturbed(words)
    after = there()
    assert {*after} - {*inputs} == {*outputs}
    for moment in moments(command, usual):
        for name in outputs:
            Path(name).write_text("what was there before")
        before = there()
        code, _ = disturbed(words, signal.SIGKILL, moment)
        assert code in (-signal.SIGKILL, 0)
        is_whole(there(), before, after)
        undisturbed(words)  # not in this process: figures that are drawn in one have numbers that go on
        assert there() == after, moment


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_interrupted_at_any_moment(command: str, number: signal.Signals, here: Path) -> None:
    write_inputs()
    words, outputs = COMMANDS[command]
    usual = undisturbed(words)
    after = there()
    for moment in moments(f"{command} {number}", usual):
        for name in outputs:
            Path(name).write_text("what was there before")
        before = there()
        code, err = disturbed(words, number, moment)
        found = there()
        assert "Traceback" not in err, moment
        assert "ignored" not in err, moment
        assert code in (128 + number, -number, 0), (moment, err)  # Python, at its end, no more handles signals
        is_whole(found, before, after)
        kept = {name for name in found if name.startswith(".out.parquet.parts/") and name.endswith(".parquet")}
        assert {*found} - kept == {*before}, moment
        for name in kept:
            Path(name).unlink()
            Path(name).parent.rmdir() if not any(Path(name).parent.iterdir()) else None
