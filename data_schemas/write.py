"""Writes the schemas in this folder from the code: ``python data_schemas/write.py``.

A test compares them with the code. After a change to the code, run this; name new tables in `TABLES`.
"""

from __future__ import annotations

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from dstbench.readers import FORMATS
from dstbench.schema import analysis, audit, audit_words, changes, core, judging, metrics, missing

HERE = Path(__file__).resolve().parent
DRAFT = "https://json-schema.org/draft/2020-12/schema"

#: The tables, by the name of their schema's file.
TABLES = {
    "long_table": core.LONG,
    "judged_rows": core.ROWS,
    "turn_table": core.TURNS,
    "score_rows": core.SCORES,
    "contexts": core.CONTEXTS,
    "dialogues": analysis.DIALOGUES,
    "runs": analysis.FAILURES,
    "first_failures": analysis.FIRST_FAILURES,
    "gold_slots": analysis.GOLD_SLOTS,
    "errors": analysis.ERRORS,
    "timing": analysis.TIMING,
    "trait_bins": analysis.TRAIT_BINS,
    "disagreements": analysis.DISAGREEMENTS,
    "correlations": analysis.CORRELATIONS,
    "differences": analysis.CORRELATION_DIFFERENCES,
    "correlation_tests": analysis.CORRELATION_TESTS,
    "rated": analysis.RATED,
    "rated_differences": analysis.RATED_DIFFERENCES,
    "standings": analysis.STANDINGS,
    "models": analysis.MODELS,
    "run_differences": analysis.RUN_DIFFERENCES,
    "design": analysis.DESIGN,
    "known_order": metrics.KNOWN_ORDER,
    "metric_validity": metrics.VALIDITY,
    "metric_reliability": metrics.RELIABILITY,
    "sample_sizes": metrics.SAMPLE_SIZES,
    "metric_contests": metrics.CONTESTS,
    "metric_spread": judging.SPREAD,
    "metric_power": judging.POWER,
    "rank_agreement": judging.RANK_AGREEMENT,
    "reversals": judging.REVERSALS,
    "trait_dependence": judging.DEPENDENCE,
    "error_costs": judging.ERROR_COSTS,
    "position_bias": judging.POSITION_BIAS,
    "own_error_costs": metrics.OWN_ERROR_COSTS,
    "own_position_bias": metrics.OWN_POSITION_BIAS,
    "own_error_kinds": metrics.OWN_ERROR_KINDS,
    "error_kinds": judging.ERROR_KINDS,
    "sweep": analysis.SWEEP,
    "sweep_targets": analysis.SWEEP_TARGETS,
    "reconciled_steps": changes.RECONCILED_STEPS,
    "reconciled_sets": changes.RECONCILED_SETS,
    "reconciled_tried": changes.RECONCILED_TRIED,
    "reconciled_choices": changes.RECONCILED_CHOICES,
    "changed_totals": changes.CHANGED_TOTALS,
    "changed_groups": changes.CHANGED_GROUPS,
    "changed_dialogues": changes.CHANGED_DIALOGUES,
    "slot_classes": analysis.SLOT_CLASSES,
    "changes": analysis.CHANGES,
    "turn_scores": analysis.TURN_SCORES,
    "audit_bias": audit.BIAS,
    "audit_values": audit.VALUES,
    "audit_overlap": audit.OVERLAP,
    "audit_versions": audit.DIFFERENT,
    "audit_domains": audit.DIFFERENT_DOMAINS,
    "audit_slots": audit.DIFFERENT_SLOTS,
    "audit_splits": audit.DIFFERENT_SPLITS,
    "audit_changes": audit.CHANGES,
    "audit_cells": audit.CELLS,
    "audit_scored_runs": audit.VERSION_RUNS,
    "audit_scored_models": audit.VERSION_MODELS,
    "audit_error_turns": audit.VERSION_SLOTS,
    "audit_proposals": missing.PROPOSALS,
    "audit_candidates": missing.CANDIDATES,
    "audit_inconsistency_modified": missing.MODIFIED,
    "audit_inconsistency_rates": missing.RATES,
    "audit_inconsistency_shares": missing.SHARES,
    "audit_inconsistency_pairs": missing.PAIRS,
    "audit_inconsistency": missing.SUMMARY,
    "audit_review_sheet": audit_words.SHEET,
    "audit_review": audit_words.REVIEW,
    "audit_reviewed_additions": audit_words.REVIEWED_ADDITIONS,
    "audit_reviewed_dialogues": audit_words.REVIEWED_DIALOGUES,
    "audit_readers": audit_words.READER,
    "audit_agreement": audit_words.AGREEMENT,
    "audit_replaced": audit_words.REPLACED,
    "audit_refused": audit_words.REFUSED,
    "audit_memorisation_runs": audit_words.MEMORISED_RUNS,
    "audit_memorisation": audit_words.MEMORISED,
    "audit_ungrounded": audit_words.UNGROUNDED,
    "audit_doubtful_slots": audit_words.DOUBTFUL_SLOTS,
    "audit_doubtful": audit_words.DOUBTFUL,
}

#: The JSON Schema of a value, by the Polars type of its column.
TYPES: dict[str, dict[str, Any]] = {
    "String": {"type": "string"},
    "Categorical": {"type": "string"},
    "Boolean": {"type": "boolean"},
    "Float64": {"type": "number"},
    "UInt16": {"type": "integer", "minimum": 0, "maximum": core.MAX_TURN},
    "UInt32": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    "UInt64": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1},
    "Int64": {"type": "integer"},
}


def schemas() -> dict[str, dict[str, Any]]:
    """File name to JSON Schema: the tables, then the native formats (of a line, for JSON Lines and TSV)."""
    found = {f"{name}.schema.json": of_table(table) for name, table in TABLES.items()}
    for form in FORMATS.values():
        schema = msgspec.json.schema(form.shape)
        head = {"$schema": DRAFT, "title": form.title}
        found[f"format_{form.name}.schema.json"] = {**head, "examples": [form.example], **_without_indents(schema)}
    return found


def of_table(table: core.Table) -> dict[str, Any]:
    """JSON Schema (2020-12) of one row, each column with its Polars type as ``x-polars``."""
    properties = {}
    for name, column in table.columns.items():
        value = TYPES[str(column.dtype)]
        if column.nullable:
            value = {**value, "type": [value["type"], "null"]}
        properties[name] = {"description": column.meaning, **value, "x-polars": str(column.dtype)}
    return {
        "$schema": DRAFT,
        "title": table.title,
        "description": table.meaning,
        "type": "object",
        "properties": properties,
        "required": list(table.columns),
        "additionalProperties": table.is_open,
    }


def _without_indents(schema: Any) -> Any:
    """A schema whose texts are dedented: some are docstrings, which Python dedents itself from 3.13 on."""
    if isinstance(schema, dict):
        return {key: _without_indents(at) for key, at in schema.items()}
    if isinstance(schema, list):
        return [_without_indents(at) for at in schema]
    return cleandoc(schema) if isinstance(schema, str) else schema


def text(schema: dict[str, Any]) -> str:
    """The content of a schema's file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, schema in schemas().items():
        (HERE / name).write_text(text(schema), encoding="utf-8")
