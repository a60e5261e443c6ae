"""The published schemas: equal to the code, and true of what the code gives and takes."""

from __future__ import annotations

import json

import jsonschema

import dstbench
from data_schemas.write import TABLES, schemas, text
from dstbench.schema.core import TURNS
from tests import formats
from tests.corpora import EXAMPLE
from tests.schemas import FOLDER, schema


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


def test_lines_of_the_own_format_are_valid() -> None:
    for document in formats.jsonl().splitlines():
        jsonschema.validate(json.loads(document), schema("format_jsonl"))


def test_examples_in_the_schemas_are_valid() -> None:
    content = schema("format_jsonl")
    jsonschema.validate(json.loads(content["examples"][0]), content)
