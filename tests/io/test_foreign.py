"""Files that are no data: each is named, wherever it is given, and passed over in a folder of data only."""

from __future__ import annotations

import gzip
import io
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dstbench
from dstbench.io.foreign import by_content
from tests import formats
from tests.commands import run
from tests.io.test_archives import pack_zip


def _written(write: Callable[[io.BytesIO], object]) -> bytes:
    write(buffer := io.BytesIO())
    return buffer.getvalue()


_PREDICTIONS = {"MUL1.json": {"0": {"hotel-area": "north"}}}
#: Content to what the message calls it.
FOREIGN: Mapping[str, tuple[bytes, str]] = {
    **{f"pickle {n}": (pickle.dumps(_PREDICTIONS, protocol=n), "a pickle") for n in (0, 2, 3, 4, 5)},
    "torch": (pack_zip({"m/data.pkl": b"\x80\x02.", "m/version": b"3", "m/data/0": b"x"}), "a model's weights"),
    "safetensors": (b"\x40" + b"\0" * 7 + b'{"w":{"dtype":"F32","shape":[1]}}', "a model's weights"),
    "npz": (_written(lambda file: np.savez(file, a=np.zeros(2))), "arrays"),
    "feather": (_written(pl.DataFrame({"a": [1]}).write_ipc), "arrays"),
    "xlsx": (
        pack_zip({"[Content_Types].xml": b"<x/>", "_rels/.rels": b"<x/>", "xl/_rels/workbook.xml.rels": b""}),
        "an office program",
    ),
    "page": (b"\n\n\n<!DOCTYPE html>\n<html lang='en'>", "a web page"),
    "not found": (b"404: Not Found", "a web page"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n", "a pointer of Git LFS"),
    "lz4": (bytes(pa.Codec("lz4").compress(b"{}", asbytes=True)), "packed"),
    "packed page": (gzip.compress(b"<html>"), "a web page"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_data_is_named_wherever_it_is_given(name: str, here: Path) -> None:
    """In a folder it is passed over, unless its name promises data: a part not downloaded must not be missing."""
    content, what = FOREIGN[name]
    Path("x.json").write_bytes(content)
    Path("p.json").write_text(formats.gtpr())
    for words in (
        "score x.json", "score x.json --from gtpr", "score p.json --gold x.json", "contexts x.json -o said.parquet",
        "score p.json --profile trippy --label-map x.json", "correlate p.json --ratings x.json",
    ):  # fmt: skip
        code, out, err = run(*words.split())
        assert (code, out) == (1, ""), words
        assert "error: x.json: " in err, words
        assert what in " ".join(err.split()), words
        assert "hint: " in err, words
    Path("data").mkdir()
    Path("x.json").rename("data/x.bin")
    with pytest.raises(dstbench.DstbenchError, match=r"a folder without a file of a known format .*" + what):
        dstbench.score("data")
    Path("p.json").rename("data/p.json")
    assert dstbench.score("data", metrics="jga")["value"].item() == 0.5
    Path("data/x.bin").rename("data/x.json")
    with pytest.raises(dstbench.DstbenchError, match=rf"^data/x\.json: .*{what}"):
        dstbench.score("data")


def test_no_data_are_taken_for_something_else() -> None:
    every = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT
    assert {name: by_content(text().encode()) for name, text in every.items()} == dict.fromkeys(every)
    for table in ("dialogue,rating\nD1,3\n", "category\nlp\n", "model,metric,value\n", "lp0,d\n"):
        assert by_content(table.encode()) is None


def test_an_address_is_said_to_be_one(here: Path) -> None:
    for address, hint in (
        ("https://example.org/a/p.json", "curl -LO https://example.org/a/p.json"),
        ("file:///home/me/p.json", "name the file: /home/me/p.json"),
    ):
        code, _, err = run("score", address)
        assert (code, "a URL, which is not read" in err, hint in " ".join(err.split())) == (1, True, True)
