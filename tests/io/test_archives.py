"""Packed files and folders: scored as the plain file is; and archives that are damaged, false or ambiguous."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dstbench
from dstbench.io import limits
from dstbench.readers.states import States
from tests import formats
from tests.corpora import EXAMPLE, EXAMPLE_SCORES

ALL = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.RESTAURANT


def pack_zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


#: How a file is packed that is one stream, or several in a row.
STREAMS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "zstd": pack_zstd,
}


def pack_zip(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def same(left: States, right: States) -> bool:
    sides = [(getattr(left, name), getattr(right, name)) for name in ("gold", "pred")]
    return left.format == right.format and all(
        (a is None) == (b is None) and (a is None or (a.turns.equals(b.turns) and a.cells.equals(b.cells)))
        for a, b in sides
    )


@given(
    name=st.sampled_from(sorted(ALL)),
    bom=st.booleans(),
    packing=st.none() | st.sampled_from(sorted(STREAMS)),
    cut=st.integers(0, 100),
    method=st.sampled_from([None, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]),
)
def test_a_packed_file_is_read_as_the_plain_one(
    name: str, bom: bool, packing: str | None, cut: int, method: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("packed")
    plain = ALL[name]().encode()
    (folder / "plain").write_bytes(plain)
    content = b"\xef\xbb\xbf" * bom + plain
    if packing is not None:  # files that are put together are one file
        content = STREAMS[packing](content[:cut]) + STREAMS[packing](content[cut:])
    if method is not None:
        content = pack_zip({"a/": b"", "a/b.json": content, ".hidden": b"{}", "__MACOSX/x": b"{}"}, method)
    (folder / "packed").write_bytes(content)
    assert same(dstbench.read(folder / "packed"), dstbench.read(folder / "plain"))
    if method is not None:
        assert same(dstbench.read(folder / "packed" / "a" / "b.json"), dstbench.read(folder / "plain"))


def test_a_packed_file_names_its_run_without_its_endings(here: Path) -> None:
    plain = formats.WITH_BOTH["trade"]().encode()
    packings: dict[str, Callable[[bytes], bytes]] = {"": bytes, "zip": lambda content: pack_zip({"a.json": content})}
    packings |= {ending: STREAMS[packing] for ending, packing in (("gz", "gzip"), ("bz2", "bzip2"), ("zst", "zstd"))}
    for ending, pack in packings.items():
        file = Path(f"t5.seed-1.json.{ending}".removesuffix("."))
        file.write_bytes(pack(plain))
        assert dstbench.open_runs(file)[0].name == "t5.seed-1"


@pytest.mark.again
@pytest.mark.parametrize("value", [255])
def test_no_byte_of_a_zip_can_be_changed_into_a_traceback(value: int, here: Path) -> None:
    content = pack_zip({"file": formats.gtpr().encode()})
    Path("plain").write_text(formats.gtpr())
    wanted = dstbench.read("plain")
    for at in range(len(content)):
        Path("p").write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
        try:
            assert same(dstbench.read("p"), wanted)
        except dstbench.DstbenchError as error:
            assert str(error).startswith("p")  # noqa: PT017 (most changes are refused, some do not matter)


@pytest.mark.parametrize("packing", STREAMS)
@pytest.mark.parametrize("rest", [b"and more", b"\0\0\0\0"])
def test_what_follows_a_packed_file_is_not_passed_over(packing: str, rest: bytes, here: Path) -> None:
    """JSON Lines of which only the first half is unpacked would be scored as if they were all."""
    lines = "".join(json.dumps(turn) + "\n" for turn in EXAMPLE).encode()
    Path("p").write_bytes(STREAMS[packing](lines) + rest + STREAMS[packing](lines.replace(b"MUL", b"PMUL")))
    try:
        turns = dstbench.turns("p").height
    except dstbench.DstbenchError as error:
        assert "damaged" in str(error)  # noqa: PT017 (zeros between streams may be read)
    else:
        assert rest.strip(b"\0") == b""
        assert turns == 2 * len(EXAMPLE)


def test_a_zip_that_is_not_to_be_trusted_is_refused(here: Path) -> None:
    encrypted = bytearray(pack_zip({"p.json": formats.gtpr().encode()}))
    encrypted[6] |= 1  # the flag in the member's header, and in the table of contents
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    zips = {"an encrypted zip": bytes(encrypted)}
    for name in ("../p.json", "a/../../p.json", "/p.json", "C:\\p.json", "\\\\host\\p.json", "a\\..\\p.json"):
        zips[f"a zip whose member {name!r} would lie outside of it"] = pack_zip({name: formats.gtpr().encode()})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("p.json", formats.gtpr())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("p.json", formats.gtpr())
    zips["a zip with the member 'p.json' twice"] = buffer.getvalue()
    for said, content in zips.items():
        Path("p.zip").write_bytes(content)
        with pytest.raises(dstbench.DstbenchError, match=re.escape(f"p.zip: {said}")):
            dstbench.score("p.zip")


@pytest.mark.parametrize("packing", [*STREAMS, "zip"])
def test_what_is_unpacked_is_limited(packing: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b" " * 3_000_000 + formats.gtpr().encode()
    Path("p").write_bytes(pack_zip({"p.json": content}) if packing == "zip" else STREAMS[packing](content))
    assert dstbench.score("p", metrics="jga")["value"].item() == 0.5
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "2")
    with pytest.raises(dstbench.DstbenchError, match=r"p: more than 2 MB when unpacked\n.* DSTBENCH_MAX_UNPACKED"):
        dstbench.score("p")
    monkeypatch.delenv("DSTBENCH_MAX_UNPACKED")
    monkeypatch.setattr(limits, "FREE_BYTES", 1_000_000)
    with pytest.raises(
        dstbench.DstbenchError, match=r"p: more than 200 times its packed size .*\n.* DSTBENCH_MAX_RATIO"
    ):
        dstbench.score("p")
    monkeypatch.setenv("DSTBENCH_MAX_RATIO", "1000000")
    assert dstbench.score("p", metrics="jga")["value"].item() == 0.5
    monkeypatch.setenv("DSTBENCH_MAX_RATIO", "many")
    with pytest.raises(dstbench.UsageError, match="DSTBENCH_MAX_RATIO='many' is not a whole number"):
        dstbench.score("p")


def test_the_size_that_a_zip_states_is_not_believed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = pack_zip({"p.json": b" " * 3_000_000})
    true = (3_000_000).to_bytes(4, "little")
    assert content.count(true) == 2
    Path("p.zip").write_bytes(content.replace(true, (4_000_000_000).to_bytes(4, "little")))
    monkeypatch.setenv("DSTBENCH_MAX_UNPACKED", "2")
    with pytest.raises(dstbench.DstbenchError, match="more than 2 MB when unpacked"):
        dstbench.score("p.zip")


@pytest.mark.parametrize("where", ["folder", "zip"])
def test_a_folder_is_one_run_or_refused(where: str, here: Path) -> None:
    def lay(files: dict[str, str]) -> str:
        for name, text in files.items():
            path = Path("data", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if where == "folder":
            return "data"
        Path("data.zip").write_bytes(pack_zip({name: text.encode() for name, text in files.items()}))
        return "data.zip"

    others = {"ontology.json": json.dumps({"hotel-area": ["north"]}), "test.txt": "MUL1\n", "empty.txt": ""}
    rows = dstbench.score(lay({"a.json": formats.gtpr(), ".hidden.json": formats.gtpr(), **others}))
    values = dict(zip(rows["metric"], rows["value"], strict=True))
    assert {name: values[name] for name in EXAMPLE_SCORES if name in values} == pytest.approx(
        {name: value for name, value in EXAMPLE_SCORES.items() if name in values}, rel=1e-14
    )
    assert rows["run"].unique().item() == "data"
    several = lay({"a.json": formats.gtpr(), "b.json": formats.trade()})
    with pytest.raises(dstbench.DstbenchError, match=r"a\.json \(gtpr\), .*b\.json \(trade\)\nhint: name one of"):
        dstbench.score(several)
    assert dstbench.score(several, format="trade", metrics="jga")["value"].item() == 0.5
