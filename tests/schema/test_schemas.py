"""The published schemas: equal to the code, and true of what the code gives and takes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import dstbench
from data_schemas.write import OTHERS, TABLES, schemas, text
from dstbench.readers import FORMATS, Source
from dstbench.schema.core import TURNS
from tests import formats
from tests.corpora import EXAMPLE
from tests.schemas import FOLDER, schema

#: A file of every format; of jsonl, the schema describes a line, not a list.
FILES = formats.WITH_BOTH | formats.ONLY_PRED | formats.ONLY_GOLD | formats.MARKS | formats.RESTAURANT
del FILES["jsonl (list)"]


def test_the_files_are_what_the_code_says() -> None:
    wanted = schemas()
    files = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert files == {name: text(content) for name, content in wanted.items()}
    for content in wanted.values():
        jsonschema.Draft202012Validator.check_schema(content)


def test_tables_have_the_types_and_rows_that_the_schemas_say() -> None:
    long = dstbench.scan(EXAMPLE).drop("run").collect()
    turns = dstbench.turns(EXAMPLE).drop("run")
    scores = dstbench.score(EXAMPLE, by="domain")
    for name, frame in (("long_table", long), ("turn_table", turns), ("score_rows", scores)):
        for column, dtype in TABLES[name].schema.items():
            assert frame.schema[column] == dtype
        for row in frame.iter_rows(named=True):
            jsonschema.validate(row, schema(name))
    assert turns.columns == list(TURNS.columns)


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_that_are_read_are_valid(name: str, here: Path) -> None:
    text = FILES[name]()
    Path("p").write_text(text)
    kind = Source("p").kind
    if kind not in ("json", "jsonl"):
        pytest.skip("the format is not JSON, and so has no JSON Schema")
    for document in text.splitlines() if kind == "jsonl" else [text]:  # of JSON Lines, the schema describes a line
        jsonschema.validate(json.loads(document), schema(f"format_{name.partition(' ')[0]}"))


def test_examples_in_the_schemas_are_valid() -> None:
    for name in FORMATS:
        content = schema(f"format_{name}")
        if not any(word in name for word in ("tsv", "csv", "ldst")):  # text with separators
            jsonschema.validate(json.loads(content["examples"][0]), content)


def test_examples_of_other_formats_are_not_valid() -> None:
    for name in FORMATS.keys() - OTHERS.keys():
        document = json.loads(FORMATS[name].example)
        others = FORMATS.keys() - OTHERS.keys() - {name, "mwzeval"}  # its turns need no key
        assert not [
            other for other in others if jsonschema.Draft202012Validator(schema(f"format_{other}")).is_valid(document)
        ]
