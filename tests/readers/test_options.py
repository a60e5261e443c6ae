"""The keys that a user gives for records of turns."""

from pathlib import Path

import pytest

import dstbench
from dstbench.readers.options import Keys, parse_keys


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"perd": "predict"}, "no field 'perd'"),
        ({"pred": ""}, "no key for pred"),
        ({"id": "flag", "dialogue": "flag2"}, "two keys for 'dialogue'"),
        ({"gold": "state", "pred": "state"}, "two fields the key 'state'"),
    ],
)
def test_keys_that_cannot_be_used_are_refused(keys: dict[str, str], message: str) -> None:
    with pytest.raises(dstbench.UsageError, match=message):
        Keys.of(keys)


@pytest.mark.parametrize("text", ["id", "id=a,id=b", "", "id=a,,"])
def test_a_text_that_gives_no_keys_is_refused(text: str) -> None:
    with pytest.raises(dstbench.UsageError):
        parse_keys([text])


def test_a_format_with_fixed_keys_refuses_keys(tmp_path: Path) -> None:
    path = tmp_path / "preds.json"
    path.write_text('{"MUL1.json": {"0": {"turn_belief": [], "pred_bs_ptr": []}}}')
    with pytest.raises(dstbench.DstbenchError, match="fixed names"):
        dstbench.open_runs(path, keys={"pred": "predict"})
