"""Writes the schemas in this folder from the code: ``python data_schemas/write.py``.

A test compares them with the code. After a change to the code, run this; name new tables in `TABLES`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from dstbench.readers import FORMATS
from dstbench.schema import analysis, audit, core

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
    "known_order": analysis.KNOWN_ORDER,
    "metric_validity": analysis.VALIDITY,
    "metric_reliability": analysis.RELIABILITY,
    "sample_sizes": analysis.SAMPLE_SIZES,
    "metric_contests": analysis.CONTESTS,
    "metric_spread": analysis.SPREAD,
    "metric_power": analysis.POWER,
    "rank_agreement": analysis.RANK_AGREEMENT,
    "reversals": analysis.REVERSALS,
    "trait_dependence": analysis.DEPENDENCE,
    "error_costs": analysis.ERROR_COSTS,
    "position_bias": analysis.POSITION_BIAS,
    "own_error_costs": analysis.OWN_ERROR_COSTS,
    "own_position_bias": analysis.OWN_POSITION_BIAS,
    "own_error_kinds": analysis.OWN_ERROR_KINDS,
    "error_kinds": analysis.ERROR_KINDS,
    "sweep": analysis.SWEEP,
    "sweep_targets": analysis.SWEEP_TARGETS,
    "reconciled_steps": analysis.RECONCILED_STEPS,
    "reconciled_sets": analysis.RECONCILED_SETS,
    "reconciled_tried": analysis.RECONCILED_TRIED,
    "reconciled_choices": analysis.RECONCILED_CHOICES,
    "changed_totals": analysis.CHANGED_TOTALS,
    "changed_groups": analysis.CHANGED_GROUPS,
    "changed_dialogues": analysis.CHANGED_DIALOGUES,
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
    "audit_proposals": audit.PROPOSALS,
    "audit_candidates": audit.CANDIDATES,
    "audit_inconsistency_modified": audit.MODIFIED,
    "audit_inconsistency_rates": audit.RATES,
    "audit_inconsistency_shares": audit.SHARES,
    "audit_inconsistency_pairs": audit.PAIRS,
    "audit_inconsistency": audit.SUMMARY,
    "audit_review_sheet": audit.SHEET,
    "audit_review": audit.REVIEW,
    "audit_reviewed_additions": audit.REVIEWED_ADDITIONS,
    "audit_reviewed_dialogues": audit.REVIEWED_DIALOGUES,
    "audit_readers": audit.READER,
    "audit_agreement": audit.AGREEMENT,
    "audit_replaced": audit.REPLACED,
    "audit_refused": audit.REFUSED,
    "audit_memorisation_runs": audit.MEMORISED_RUNS,
    "audit_memorisation": audit.MEMORISED,
    "audit_ungrounded": audit.UNGROUNDED,
    "audit_doubtful_slots": audit.DOUBTFUL_SLOTS,
    "audit_doubtful": audit.DOUBTFUL,
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


class Turn(msgspec.Struct):
    """One turn."""

    dialogue_id: str
    turn: int
    gold: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    pred: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    system: str | msgspec.UnsetType = msgspec.UNSET
    user: str | msgspec.UnsetType = msgspec.UNSET


def schemas() -> dict[str, dict[str, Any]]:
    """File name to JSON Schema: the tables, then a line of dstbench's own format."""
    found = {f"{name}.schema.json": of_table(table) for name, table in TABLES.items()}
    own = FORMATS["jsonl"]
    head = {"$schema": DRAFT, "title": own.title, "examples": [own.example]}
    return found | {"format_jsonl.schema.json": {**head, **msgspec.json.schema(Turn)}}


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


def text(schema: dict[str, Any]) -> str:
    """The content of a schema's file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, schema in schemas().items():
        (HERE / name).write_text(text(schema), encoding="utf-8")
