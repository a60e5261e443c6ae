"""Files that are no data: each is named, wherever it is given, and passed over in a folder of data only."""

from __future__ import annotations

import gzip
import io
import pickle
import sqlite3
import tarfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import closing
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


def _tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("p.json"))
    return buffer.getvalue()


def _arrays(*, several: bool) -> bytes:
    buffer = io.BytesIO()
    if several:
        np.savez(buffer, a=np.zeros(2), b=np.zeros(2))
    else:
        np.save(buffer, np.zeros(2))
    return buffer.getvalue()


def _feather() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_ipc(buffer)
    return buffer.getvalue()


def _database() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE a (b)")
        return connection.serialize()


_PREDICTIONS = {"MUL1.json": {"0": {"hotel-area": "north"}}}
_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
#: Content to what the message calls it.
FOREIGN: Mapping[str, tuple[bytes, str]] = {
    **{f"pickle {n}": (pickle.dumps(_PREDICTIONS, protocol=n), "a pickle") for n in range(6) if n != 1},
    "pickled list": (pickle.dumps([_PREDICTIONS], protocol=0), "a pickle"),
    "pickled object": (pickle.dumps(OrderedDict(_PREDICTIONS), protocol=0), "a pickle"),
    "torch": (pack_zip({"m/data.pkl": b"\x80\x02.", "m/version": b"3", "m/data/0": b"x"}), "weights (PyTorch)"),
    "old torch": (pickle.dumps(119547037146038801333356, protocol=2) + b"...", "weights (PyTorch)"),
    "safetensors": (b"\x40" + b"\0" * 7 + b'{"w":{"dtype":"F32","shape":[1]}}', "weights (safetensors)"),
    "numpy": (_arrays(several=False), "an array of NumPy"),
    "npz": (_arrays(several=True), "arrays of NumPy"),
    "feather": (_feather(), "an Arrow (Feather) file"),
    "sqlite": (_database(), "an SQLite database"),
    "xlsx": (pack_zip({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "an Excel file"),
    "ods": (pack_zip({"mimetype": b"x", "content.xml": b"<x/>"}), "an OpenDocument file"),
    "pdf": (b"%PDF-1.7\n", "a PDF"),
    "page": (b"\n\n\n<!DOCTYPE html>\n<html lang='en'>", "a web page"),
    "bare page": (b"<html><head>", "a web page"),
    "not found": (b"404: Not Found", "no such file"),
    "xml": (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "XML"),
    "lfs": (_POINTER.encode(), "a Git LFS pointer"),
    "annex": (b"/annex/objects/MD5E-s12--ab.json\n", "a git-annex pointer"),
    "tar": (_tar(), "packed (tar)"),
    "lz4": (bytes(pa.Codec("lz4").compress(b"{}", asbytes=True)), "packed (lz4)"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\4", "packed (7-Zip)"),
    "packed page": (gzip.compress(b"<html>"), "a web page"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_data_is_named_wherever_it_is_given(name: str, here: Path) -> None:
    content, what = FOREIGN[name]
    Path("x.json").write_bytes(content)
    Path("p.json").write_text(formats.gtpr())
    commands = {
        "run": ("score", "x.json"),
        "run of a named format": ("score", "x.json", "--from", "gtpr"),
        "gold": ("score", "p.json", "--gold", "x.json"),
        "utterances": ("contexts", "x.json", "-o", "said.parquet"),
        "dataset": ("audit", "bias", "x.json"),
        "label map": ("score", "p.json", "--profile", "trippy", "--label-map", "x.json"),
        "ontology": ("check", "p.json", "--ontology", "x.json"),
        "ratings": ("correlate", "p.json", "--ratings", "x.json"),
        "scores": ("compare-metrics", "--table", "x.json"),
        "sheet": ("audit", "review", "x.json"),
    }
    for place, words in commands.items():
        code, out, err = run(*words)
        assert (code, out) == (1, ""), place
        assert "error: x.json: " in err, place
        assert what in " ".join(err.split()), place
        assert "hint: " in err, place


@pytest.mark.parametrize("name", FOREIGN)
def test_it_is_passed_over_in_a_folder_unless_its_name_promises_data(name: str, here: Path) -> None:
    """A shard that has not been downloaded would be missing in silence."""
    content, what = FOREIGN[name]
    Path("data").mkdir()
    Path("data/x.bin").write_bytes(content)
    with pytest.raises(
        dstbench.DstbenchError, match=r"a folder without a file of a known format \(1 files; "
    ) as caught:
        dstbench.score("data")
    assert what in str(caught.value)
    Path("data/p.json").write_text(formats.gtpr())
    assert dstbench.score("data", metrics="jga")["value"].item() == 0.5
    Path("data/x.bin").rename("data/x.json")
    with pytest.raises(dstbench.DstbenchError, match=r"^data/x\.json: ") as caught:
        dstbench.score("data")
    assert what in str(caught.value)


def test_no_data_are_taken_for_something_else() -> None:
    every = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT
    assert {name: by_content(text().encode()) for name, text in every.items()} == dict.fromkeys(every)
    for table in ("dialogue,rating\nD1,3\n", "category\nlp\n", "model,metric,value\n", "lp0,d\n"):
        assert by_content(table.encode()) is None


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("https://example.org/a/p.json", "curl -LO https://example.org/a/p.json"),
        ("s3://bucket/p.json", "curl -LO s3://bucket/p.json"),
        ("file:///home/me/p.json", "name the file: /home/me/p.json"),
    ],
)
def test_an_address_is_said_to_be_one(address: str, hint: str, here: Path) -> None:
    Path("p.json").write_text(formats.gtpr())
    for words in (
        ("score", address),
        ("score", "p.json", "--gold", address),
        ("check", "p.json", "--ontology", address),
    ):
        code, _, err = run(*words)
        assert code == 1
        assert "a URL, which is not read" in err
        assert hint in " ".join(err.split())
