"""States that stay texts until all are split: the same as from a file that is decoded as a whole, or none."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dstbench
from dstbench.readers import Source, read, state_texts, words
from dstbench.readers.json_stream import may_repeat_keys
from dstbench.readers.shapes import Unusual, decode_whole
from dstbench.readers.state_texts import split_flat, split_nested, split_pairs
from dstbench.readers.states import States
from dstbench.readers.words import Words
from tests import formats
from tests.corpora import FEW, LARGE, corpora
from tests.corpora import States as Turns
from tests.robustness.test_fuzz import ALL, SEEDS, damages

#: The formats whose states, or parts of them, stay texts, and that `_written` writes.
SHORT = ("jsonl", "jsonl (list)", "gtpr", "trade", "t5dst", "kage", "convlab", "icdst", "som", "mwzeval")
#: All formats whose states, or parts of them, stay texts.
ALL_SHORT = (*SHORT, "multiwoz", "sgd", "convlab-gold", "t5dst-gold")

texts = st.text(max_size=4) | st.sampled_from(['"', "\\", '\\"', '": ', ", ", "{", "}]", "é", "\t", "none", "a: b"])


def _read(content: bytes, *, short: bool) -> States | str:
    """The states, or what was said instead."""
    source = Source("any")
    source.takes_texts = short
    source.__dict__["raw"] = content or b" "
    try:
        return read(source)
    except dstbench.DstbenchError as error:
        return str(error)


def _assert_same(content: bytes) -> None:
    one, other = (_read(content, short=short) for short in (True, False))
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    assert one.format == other.format
    assert one.notes == other.notes
    assert (one.places is None) == (other.places is None)
    for side, wanted in ((one.gold, other.gold), (one.pred, other.pred)):
        assert (side is None) == (wanted is None)
        if side is not None and wanted is not None:
            assert side.turns.equals(wanted.turns)
            assert side.cells.schema == wanted.cells.schema
            assert side.cells.equals(wanted.cells)
            assert (side.frames is None) == (wanted.frames is None)
            assert side.frames is None or wanted.frames is None or side.frames.equals(wanted.frames)


def _written(name: str, states: Turns, **how: Any) -> str:
    if name == "jsonl":
        return "".join(json.dumps(state) + "\n" for state in states)
    if name == "jsonl (list)":
        return json.dumps(states, **how)
    if name == "som":
        turns = {
            f"{s['dialogue_id']}_{s['turn']}": [formats._pairs(s[side]) for side in ("pred", "gold")] for s in states
        }
        return json.dumps(turns, **how)
    if name == "mwzeval":
        return json.dumps(
            {s["dialogue_id"]: [{"response": "…", "state": formats._nested(s["pred"])}] for s in states}, **how
        )
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
@FEW
@given(states=corpora(LARGE), indent=st.sampled_from([None, 1, 4]), ascii_only=st.booleans(), value=texts)
def test_any_corpus_is_read_alike(name: str, states: Turns, indent: int | None, ascii_only: bool, value: str) -> None:
    for side in ("gold", "pred"):
        states[0][side] = {**states[0][side], "hotel-name": value}
    _assert_same(_written(name, states, indent=indent, ensure_ascii=ascii_only).encode())


@pytest.mark.parametrize("name", ALL_SHORT)
@settings(max_examples=30)
@given(seed=SEEDS)
def test_a_damaged_file_is_read_alike(name: str, seed: int) -> None:
    for content in damages(name, seed):
        _assert_same(content)


@pytest.mark.parametrize("short", [True, False])
def test_of_slots_that_are_listed_twice_the_first_is_named(short: bool) -> None:
    pairs = [f"hotel-{slot}-{value}" for slot in ("stars", "area", "name", "type", "parking") for value in "ab"]
    turn = {"turn_belief": pairs, "pred_bs_ptr": []}
    for _ in range(3):
        states = _read(json.dumps({"A.json": {"0": turn}}).encode(), short=short)
        assert isinstance(states, States)
        assert states.notes[0].endswith("(first: dialogue A.json, turn 0, slot hotel-stars)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"dialogue_id":', b'"dialogue_id"\n:'),
        (b"}\n{", b"} {"),
        (b"}\n{", b"}{"),
        (b"}\n", b"}\n\r\n"),
        (b"}\n", b"}\r"),
    ],
)
def test_a_line_is_one_value_and_a_value_one_line(old: bytes, new: bytes) -> None:
    lines = ALL["jsonl"]().encode()
    last = lines.splitlines(keepends=True)[-1].replace(b'"turn": 1', b'"turn": 2')
    before, found, after = (lines + last).rpartition(old)
    assert found
    _assert_same(before + new + after)


@pytest.mark.parametrize("name", ALL_SHORT)
def test_the_example_takes_the_short_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "json", property(lambda _: pytest.fail("the file is decoded")))
    assert isinstance(_read(ALL[name]().encode(), short=True), States)


@pytest.mark.parametrize("odd", ['{"a": "b", "a": "c"}', "1", '{"a": 1}', '{"semi": {"a": 1}}', '"\\u00e9"', "null"])
@pytest.mark.parametrize(
    "content",
    [
        '{"A.json": {"0": {"turn_belief": ["hotel-area-x"], "pred_bs_ptr": [], "other": %s}}}',
        '{"A.json": {"log": [{"metadata": {"hotel": %s}}, {"metadata": {}}]}}',
        '[{"dialogue_id": "A", "turns": [{"speaker": "USER", "frames": []}, '
        '{"speaker": "SYSTEM", "frames": [{"service": "s", "state": %s}]}]}]',
        '[{"dialogue_id": "A", "turns": [{"speaker": "user", "utt_idx": 0, "state": {}}, '
        '{"speaker": "system", "state": {"hotel": %s}}]}]',
    ],
)
def test_what_is_not_read_is_checked_alike(content: str, odd: str) -> None:
    _assert_same((content % odd).encode())
    assert isinstance(_read((content % '{"a": "b", "a": "c"}').encode(), short=True), str)


def _raw(state: Any, *, ascii_only: bool = True) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(state, ensure_ascii=ascii_only, separators=(",", ":")).encode())


_flat = st.dictionaries(texts, texts, max_size=3)
_nested = st.dictionaries(texts, _flat, max_size=3)
_pairs = st.lists(texts, max_size=3)
_others = (
    _flat | _pairs | st.integers() | texts | st.none() | st.dictionaries(texts, _flat | _pairs | st.none(), max_size=2)
)


@pytest.mark.parametrize("pays", [0, 1 << 20])
@given(states=st.lists(_flat, min_size=1), ascii_only=st.booleans())
def test_flat_states_are_split(pays: int, states: list[dict[str, str]], ascii_only: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_texts, "_PYARROW_PAYS", pays)
        row, slot, value = split_flat([_raw(state, ascii_only=ascii_only) for state in states])
    cells = [(at, *cell) for at, state in enumerate(states) for cell in state.items()]
    assert list(zip(row, slot.strings(), value.strings(), strict=True)) == cells


@pytest.mark.parametrize("pays", [0, 1 << 20])
@given(states=st.lists(_nested, min_size=1), ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_nested_states_are_split(
    pays: int, states: list[dict[str, dict[str, str]]], ascii_only: bool, indent: int | None
) -> None:
    written = [msgspec.Raw(json.dumps(state, ensure_ascii=ascii_only, indent=indent).encode()) for state in states]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_texts, "_PYARROW_PAYS", pays)
        row, domain, slot, value = split_nested(written)
    cells = [(at, name, *cell) for at, s in enumerate(states) for name, slots in s.items() for cell in slots.items()]
    assert list(zip(row, domain.strings(), slot.strings(), value.strings(), strict=True)) == cells


@pytest.mark.parametrize("pays", [0, 1 << 20])
@given(states=st.lists(_pairs, min_size=1), ascii_only=st.booleans())
def test_pairs_are_split(pays: int, states: list[list[str]], ascii_only: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_texts, "_PYARROW_PAYS", pays)
        row, pair = split_pairs([_raw(state, ascii_only=ascii_only) for state in states])
    assert list(zip(row, pair.strings(), strict=True)) == [(at, pair) for at, s in enumerate(states) for pair in s]


@given(before=st.lists(_flat, max_size=2), odd=_others, after=st.lists(_flat, max_size=2))
def test_what_is_no_flat_state_is_unusual(before: Any, odd: Any, after: Any) -> None:
    assume(not isinstance(odd, dict) or not all(isinstance(value, str) for value in odd.values()))
    with pytest.raises(Unusual):
        split_flat([_raw(state) for state in (*before, odd, *after)])


_inner = _flat | _pairs | texts | st.none() | st.integers() | _nested


@given(before=st.lists(_nested, max_size=2), odd=_others | _nested | st.dictionaries(texts, _inner, max_size=3))
def test_what_is_no_nested_state_is_unusual(before: Any, odd: Any) -> None:
    is_nested = isinstance(odd, dict) and all(
        isinstance(slots, dict) and all(isinstance(value, str) for value in slots.values()) for slots in odd.values()
    )
    assume(not is_nested)
    with pytest.raises(Unusual):
        split_nested([_raw(state) for state in (*before, odd, *before)])


@pytest.mark.parametrize("state", [b'{"a":{"b":"c"},"a":{}}', b'{"a":{"b":"c","b":"d"}}', b'{"a":{},"\\u0061":{}}'])
def test_a_domain_or_its_slot_twice_is_unusual(state: bytes) -> None:
    with pytest.raises(Unusual):
        split_nested([msgspec.Raw(b"{}"), msgspec.Raw(state)])


@given(before=st.lists(_pairs, max_size=2), odd=_others, after=st.lists(_pairs, max_size=2))
def test_what_is_no_list_of_pairs_is_unusual(before: Any, odd: Any, after: Any) -> None:
    assume(not isinstance(odd, list))
    with pytest.raises(Unusual):
        split_pairs([_raw(state) for state in (*before, odd, *after)])


@pytest.mark.parametrize("state", [b'{"a":"b","a":"c"}', b'{"a":"b","\\u0061":"c"}', b'{"a":"\xff"}'])
@pytest.mark.parametrize("pays", [0, 1 << 20])
def test_a_slot_twice_and_what_is_no_text_are_unusual(state: bytes, pays: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_texts, "_PYARROW_PAYS", pays)
    with pytest.raises(Unusual):
        split_flat([msgspec.Raw(b"{}"), msgspec.Raw(state)])


_names = st.sampled_from(["a", "b", 'c"', "\\", ":", '":', "é", ""])
_documents = st.recursive(
    texts | _names | st.integers(-3, 3) | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(_names, inner), max_size=3).map(tuple),
    max_leaves=12,
)


def _text(document: Any, *, ascii_only: bool) -> str:
    """JSON of lists, and of tuples of (key, value) as objects, which may have a key twice."""
    if isinstance(document, list):
        return "[" + ",".join(_text(item, ascii_only=ascii_only) for item in document) + "]"
    if isinstance(document, tuple):
        items = (
            (json.dumps(key, ensure_ascii=ascii_only), _text(item, ascii_only=ascii_only)) for key, item in document
        )
        return "{" + ",".join(f"{key}:{item}" for key, item in items) + "}"
    return json.dumps(document, ensure_ascii=ascii_only)


def _has_key_twice(document: Any) -> bool:
    if isinstance(document, tuple):
        return len({key for key, _ in document}) < len(document) or any(_has_key_twice(item) for _, item in document)
    return isinstance(document, list) and any(map(_has_key_twice, document))


@given(document=_documents, ascii_only=st.booleans())
def test_a_lost_key_is_noticed(document: Any, ascii_only: bool) -> None:
    data = _text(document, ascii_only=ascii_only).encode()
    if _has_key_twice(document):
        assert may_repeat_keys(data, msgspec.json.decode(data))
        with pytest.raises(Unusual):
            decode_whole(data, Any)
    elif b"\\u00" not in data:
        assert not may_repeat_keys(data, msgspec.json.decode(data))
        decode_whole(data, Any)


@pytest.mark.parametrize("number", ["1e9", "1E+15", "-1e-7", "12345678901234567890", "1.50"])
def test_no_number_makes_up_for_a_lost_key(number: str) -> None:
    for spare in range(40):
        with pytest.raises(Unusual):
            decode_whole(f'{{"a":{number},"{"b" * spare}":1,"{"b" * spare}":2}}'.encode(), Any)


@pytest.mark.parametrize("colon", [":", "\\u003a", "\\u003A"])
@pytest.mark.parametrize("mark", ['\\"', "\\u0022"])
def test_escaped_colons_hide_no_lost_key(colon: str, mark: str) -> None:
    for text in (f'"{colon}"', f'"{mark}{colon}"', f'"\\\\{mark}{colon}"'):
        data = f'{{"a":{text},"b":1,"b":{text}}}'.encode()
        assert may_repeat_keys(data, msgspec.json.decode(data))
        with pytest.raises(Unusual):
            decode_whole(data, Any)


@pytest.mark.parametrize("few", [0, 1 << 20])
@given(pairs=st.lists(st.tuples(texts, texts)))
def test_names_of_slots_in_domains(few: int, pairs: list[tuple[str, str]]) -> None:
    """As `under` gives them, and as `Words.of` gives strings: in the order in which they first come."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "_FEW_NAMES", few)
        patch.setattr(words, "_FEW_STRINGS", few)
        domains, slots = (Words.of(pl.Series([pair[side] for pair in pairs], dtype=pl.String)) for side in (0, 1))
        names = slots.under(domains, "{}-{}".format)
    for side, of_side in ((0, domains), (1, slots)):
        assert of_side.strings().to_list() == [pair[side] for pair in pairs]
        assert of_side.words.to_list() == [*dict.fromkeys(pair[side] for pair in pairs)]
        assert of_side.code.dtype == np.uint32
    assert names.strings().to_list() == ["-".join(pair) for pair in pairs]
    assert names.words.n_unique() == len(names.words)
