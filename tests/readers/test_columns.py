"""Large files are read as columns: to the same states as turn by turn, or not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.readers import FORMATS, Source, columns, read
from dstbench.readers.states import States
from dstbench.readers.tokens import Kind, Unusual, tokens
from tests import formats
from tests.corpora import States as Turns
from tests.corpora import corpora
from tests.robustness.test_fuzz import damages

#: The formats that have a short way.
SHORT = ("jsonl", "jsonl (list)", "gtpr", "trade", "t5dst", "kage", "convlab", "icdst")

texts = st.text(max_size=4) | st.sampled_from(['"', "\\", '\\"', '": ', ", ", "{", "}]", "é", "\t", "none", "a: b"])


def _read(content: bytes, monkeypatch: pytest.MonkeyPatch, *, short: bool) -> States | str:
    """The states, or what was said instead."""
    monkeypatch.setattr(columns, "LARGE", 0 if short else 1 << 60)
    monkeypatch.setattr("dstbench.readers.tokens._PYARROW_PAYS", len(content) % 2 << 60)  # with PyArrow, or without
    source = Source("any")
    source.__dict__["raw"] = content or b" "
    try:
        return read(source)
    except dstbench.DstbenchError as error:
        return str(error)


def _assert_same(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (_read(content, monkeypatch, short=short) for short in (True, False))
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert one.format == other.format
    assert one.notes == other.notes
    for side, wanted in ((one.gold, other.gold), (one.pred, other.pred)):
        assert (side is None) == (wanted is None)
        if side is not None and wanted is not None:
            assert side.turns.equals(wanted.turns)
            assert side.cells.schema == wanted.cells.schema
            assert side.cells.equals(wanted.cells)


def _written(name: str, states: Turns, **how: Any) -> str:
    if name == "jsonl":
        return "".join(json.dumps(state) + "\n" for state in states)
    if name == "jsonl (list)":
        return json.dumps(states, **how)
    if name in ("kage", "convlab", "icdst"):
        return json.dumps([_item(name, s) for s in states], **how)
    found: dict[str, Any] = {}
    for s in states:
        nested = {"gt": formats._nested(s["gold"]), "pr": formats._nested(s["pred"])}
        pairs = [formats._pairs(s[side]) for side in ("gold", "pred")]
        turn = {
            "gtpr": nested,
            "trade": dict(zip(("turn_belief", "pred_bs_ptr"), pairs, strict=True)),
            "t5dst": dict(zip(("turn_belief", "pred_belief"), pairs, strict=True)),
        }[name]
        dialogue = found.setdefault(s["dialogue_id"], {"domain": "hotel", "turns": {}} if name == "t5dst" else {})
        (dialogue["turns"] if name == "t5dst" else dialogue)[str(s["turn"])] = turn
    return json.dumps(found, **how)


def _item(name: str, s: dict[str, Any]) -> dict[str, Any]:
    turn, gold, pred = s["turn"], s["gold"], s["pred"]
    return {
        "kage": {"example_id": f"{s['dialogue_id']}-{turn}", "bs_pred_dict": pred, "bs_ref_dict": gold},
        "convlab": {
            "dialogue_id": s["dialogue_id"], "utt_idx": 2 * turn, "utterance": "…", "state": formats._nested(gold),
            "predictions": {"state": formats._nested(pred), "all": [{"state": {}}]},
        },
        "icdst": {"ID": s["dialogue_id"], "turn_id": turn, "slot_values": gold, "pred": pred, "dialog": {"sys": [""]}},
    }[name]  # fmt: skip


@pytest.mark.parametrize("name", SHORT)
def test_any_corpus_is_read_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @given(states=corpora(), indent=st.sampled_from([None, 1, 4]), ascii_only=st.booleans(), value=texts)
    def check(states: Turns, indent: int | None, ascii_only: bool, value: str) -> None:
        states[0]["gold"] = {**states[0]["gold"], "hotel-name": value}
        _assert_same(_written(name, states, indent=indent, ensure_ascii=ascii_only).encode(), monkeypatch)

    check()


@pytest.mark.parametrize("name", SHORT)
def test_a_damaged_file_is_read_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @settings(max_examples=150)
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        _assert_same(data.draw(damages(name)), monkeypatch)

    check()


@pytest.mark.parametrize("name", SHORT)
def test_the_example_takes_the_short_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = FORMATS[name.partition(" ")[0]]
    long_way = replace(form, reader=lambda *_: pytest.fail("the long way is taken"))
    monkeypatch.setitem(FORMATS, form.name, long_way)
    assert isinstance(_read(formats.WITH_BOTH[name]().encode(), monkeypatch, short=True), States)


_keys = st.sampled_from(["a", "b", 'c"', "\\", "{"])
_documents = st.recursive(
    texts | st.integers() | st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
    max_leaves=12,
)


def _strings(document: Any, depth: int = 0) -> list[tuple[str, int, str]]:
    """Every string with its depth and what it is, by walking over the document."""
    if isinstance(document, str):
        return [(document, depth, "value")]
    found: list[tuple[str, int, str]] = []
    if isinstance(document, dict):
        for key, inner in document.items():
            leads_to = [(str, "TO_STRING"), (dict, "TO_OBJECT"), (list, "TO_LIST"), (object, "TO_SCALAR")]
            kind = next(name for of, name in leads_to if isinstance(inner, of))
            found.append((key, depth + 1, kind.replace("TO_", "TO_EMPTY_") if inner in ({}, []) else kind))
            found += _strings(inner, depth + 1)
    if isinstance(document, list):
        for inner in document:
            found += _strings(inner, depth + 1)
    return found


@given(document=_documents, indent=st.sampled_from([None, 0, 3]), ascii_only=st.booleans())
def test_tokens_are_the_strings_of_the_document(document: Any, indent: int | None, ascii_only: bool) -> None:
    content = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()
    try:
        found = tokens(content)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dstbench.readers.tokens._PYARROW_PAYS", 0)
            by_pyarrow = tokens(content)
    except Unusual:
        return
    assert by_pyarrow.words.words.equals(found.words.words)
    assert (by_pyarrow.words.code == found.words.code).all()
    assert (by_pyarrow.gap == found.gap).all()
    kinds = ["value" if kind >= Kind.VALUE else Kind(kind).name for kind in found.kind]
    assert list(zip(found.words.strings(), found.depth, kinds, strict=True)) == _strings(document)


@given(document=st.dictionaries(_keys, st.dictionaries(_keys, texts | st.integers(), max_size=3), min_size=1))
def test_plain_documents_have_tokens(document: Any) -> None:
    assert len(tokens(json.dumps(document).encode()).words.words)


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[1, 2]",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": "x"}, "\\u0061": {}}',
        b'["a", {}]',
        b'{"a": "\xff"}',
        b'"a"',
    ],
)
def test_what_is_rare_has_no_tokens(content: bytes) -> None:
    with pytest.raises(Unusual):
        tokens(content)


def test_lines_are_objects_one_each() -> None:
    assert tokens(b'{"a": "b"}\n\n{"c": 1}\n', lines=True).lines
    for content in (
        b'{"a": "b"} {"c": 1}',
        b'{"a":\n"b"}',
        b'{"a": "b"}\n["c"]',
        b'["a"]\n',
        b'{"a": "b"}\n1\n{"c": 1}',
    ):
        with pytest.raises(Unusual):
            tokens(content, lines=True)
