"""Objects of a JSON list one by one are what the decoder of whole files gives, wherever the file is cut into pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.readers import Source, json_stream

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


@pytest.fixture(params=[1, 7, 1 << 22])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", request.param)


@pytest.mark.usefixtures("chunk")
def test_items_are_those_of_the_whole_list() -> None:
    @given(document=_lists, indent=st.sampled_from([None, 2]), ascii_only=st.booleans())
    def check(document: list[dict[str, Any]], indent: int | None, ascii_only: bool) -> None:
        content = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()
        found = list(_source(content).items("a_"))
        kept = [{key: value for key, value in item.items() if key.startswith("a_")} for item in document]
        assert found == [(f"item {number}: ", item) for number, item in enumerate(kept)]

    check()


@pytest.mark.usefixtures("chunk")
def test_every_cut_is_noticed() -> None:
    @given(document=_lists, indent=st.sampled_from([None, 2]), data=st.data())
    def check(document: list[dict[str, Any]], indent: int | None, data: st.DataObject) -> None:
        content = json.dumps(document, indent=indent).encode()
        cut = content[: data.draw(st.integers(1, len(content) - 1))]
        with pytest.raises(dstbench.DstbenchError, match=f"the JSON ends too early|invalid .* .byte {len(cut)}"):
            list(_source(cut).items("a_"))

    check()


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"a_": 1}', "not a JSON list"),
        (b"[1]", "item 0: expected an object"),
        (b'[{"a_": 1}, "x"]', "item 1: expected an object"),
        (b'[{"a_": 1} {"a_": 1}]', "item 0: broken JSON: expected ',' or '\\]'"),
        (b'[{"a_": 1},]', "item 0: broken JSON: trailing comma"),
        (b"[{}] and more", "broken JSON: trailing characters"),
        (b'[{}, {"a_": 1, "b" 2}]', r"item 1: broken JSON: expected ':' \(byte 1[89]\)"),
        (b'[{"a_": 1, "b": 2, "a_": 3}]', "the key 'a_' twice"),
        (b'[{"a_": "\xff"}]', "item 0: not UTF-8"),
        (b'[{"a_": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]", "nested too deeply"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(dstbench.DstbenchError, match=said):
        list(_source(content).items("a_"))


def test_a_file_is_not_held_in_memory(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", 1 << 12)
    path = tmp_path / "p.json"
    path.write_text(json.dumps([{"a_": n, "b": [0] * 1000} for n in range(100)]))
    source = Source(path)
    assert [item["a_"] for _, item in source.items("a_")] == list(range(100))
    assert not source.__dict__.keys() & {"raw", "json", "text"}
