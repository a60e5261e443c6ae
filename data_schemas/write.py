"""Writes the schemas in this folder from the code: ``python data_schemas/write.py``.

A test compares them; change the code, then run this.
"""

from __future__ import annotations

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from dstbench.readers import FORMATS
from dstbench.schema.analysis import TABLES as ANALYSES
from dstbench.schema.audit import TABLES as AUDITS
from dstbench.schema.core import TABLES

HERE = Path(__file__).resolve().parent


def schemas() -> dict[str, dict[str, Any]]:
    """File name to JSON Schema: the tables, then the native formats (of a line, for JSON Lines and TSV)."""
    tables = {**TABLES, **ANALYSES, **AUDITS}
    found = {f"{name}.schema.json": table.json_schema() for name, table in tables.items()}
    for form in FORMATS.values():
        schema = msgspec.json.schema(form.shape)
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": form.title}
        found[f"format_{form.name}.schema.json"] = {**head, "examples": [form.example], **_without_indents(schema)}
    return found


def _without_indents(schema: Any) -> Any:
    """A schema whose texts, some of them docstrings, stand as Python 3.13 and later have them."""
    if isinstance(schema, dict):
        return {key: _without_indents(at) for key, at in schema.items()}
    if isinstance(schema, list):
        return [_without_indents(at) for at in schema]
    return cleandoc(schema) if isinstance(schema, str) else schema


def text(schema: dict[str, Any]) -> str:
    """A schema as it stands in its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, schema in schemas().items():
        (HERE / name).write_text(text(schema), encoding="utf-8")
