"""Objects of a JSON list one by one are what the decoder of whole files gives, and broken lists are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.readers import Source

_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=6) | st.sampled_from(["}", '"', "{", "\\", "a_", "],"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab}"), inner, max_size=3),
    max_leaves=8,
)
_lists = st.lists(st.dictionaries(st.sampled_from(["a_", "a_1", "a_}", "b", "{"]), _values, max_size=4), max_size=4)


def _source(content: bytes) -> Source:
    source = Source("any")
    source.__dict__["raw"] = content
    return source


@given(document=_lists, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
def test_items_are_those_of_the_whole_list(
    document: list[dict[str, Any]], indent: int | None, ascii_only: bool
) -> None:
    content = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()
    kept = [{key: value for key, value in item.items() if key.startswith("a_")} for item in document]
    assert [*_source(content).items("a_")] == [(f"item {number}: ", item) for number, item in enumerate(kept)]


@given(document=_lists, indent=st.sampled_from([None, 2]), data=st.data())
def test_every_cut_is_noticed(document: list[dict[str, Any]], indent: int | None, data: st.DataObject) -> None:
    content = json.dumps(document, indent=indent).encode()
    cut = content[: data.draw(st.integers(1, len(content) - 1))]
    with pytest.raises(dstbench.DstbenchError, match=f"the JSON ends too early|invalid .* .byte {len(cut)}"):
        list(_source(cut).items("a_"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a_": 1}', "not a JSON list"),
        (b'[{"a_": 1}, "x"]', "item 1: expected an object"),
        (b'[{"a_": 1} {"a_": 1}]', "item 0: broken JSON: expected ',' or '\\]'"),
        (b'[{"a_": 1},]', "item 1: broken JSON"),
        (b"[{}] and more", "broken JSON: trailing characters"),
        (b'[{}, {"a_": 1, "b" 2}]', r"item 1: broken JSON: expected ':' \(byte 1[89]\)"),
        (b'[{"a_": 1, "b": 2, "a_": 3}]', "the key 'a_' twice"),
        (b'[{"a_": "\xff"}]', "not UTF-8: byte 0xff in line 1"),
        (b'[{"a_": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]", "nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(dstbench.DstbenchError, match=said):
        list(_source(content).items("a_"))
