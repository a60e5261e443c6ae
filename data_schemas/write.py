"""Writes the schemas in this folder from the code: ``python data_schemas/write.py``.

A test compares them with the code. After a change to the code, run this; name new tables in `TABLES`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from dstbench.readers import FORMATS
from dstbench.readers.rows import Row, Side
from dstbench.readers.table import ROWS
from dstbench.readers.walk import Step
from dstbench.schema import analysis, audit, core

Schema: TypeAlias = dict[str, Any]

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
TYPES: dict[str, Schema] = {
    "String": {"type": "string"},
    "Categorical": {"type": "string"},
    "Boolean": {"type": "boolean"},
    "Float64": {"type": "number"},
    "UInt16": {"type": "integer", "minimum": 0, "maximum": core.MAX_TURN},
    "UInt32": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    "UInt64": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1},
    "Int64": {"type": "integer"},
}


def schemas() -> dict[str, Schema]:
    """File name to JSON Schema: the tables, then the native formats (of a line, for JSON Lines and text tables)."""
    found = {f"{name}.schema.json": of_table(table) for name, table in TABLES.items()}
    for form in FORMATS.values():
        head = {"$schema": DRAFT, "title": form.title, "examples": [form.example]}
        content = OTHERS.get(form.name) or of_row(ROWS[form.name])
        found[f"format_{form.name}.schema.json"] = head | content
    return found


def of_table(table: core.Table) -> Schema:
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


def text(schema: Schema) -> str:
    """The content of a schema's file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


# --- native formats ---------------------------------------------------------------------------------------------------


def keyed(item: Schema, **more: Any) -> Schema:
    """An object with any keys."""
    return {"type": "object", **more, "additionalProperties": item}


def fixed(properties: dict[str, Schema], *optional: str) -> Schema:
    """An object with these keys, of which it may lack some; others are ignored."""
    return {"type": "object", "properties": properties, "required": [key for key in properties if key not in optional]}


def many(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


def listed(*items: Schema, **more: Any) -> Schema:
    """A list that begins with these items."""
    return {"type": "array", "minItems": len(items), "prefixItems": [*items], **more}


def parts(value: Schema) -> Schema:
    """A state whose domains have their slots in two parts."""
    slots = keyed(value, properties={"booked": ANY})
    return keyed({"type": "object", "properties": {"semi": slots, "book": slots}, "additionalProperties": False})


ANY: Schema = {}
STRING, NUMBER, INTEGER, OBJECT = ({"type": name} for name in ("string", "number", "integer", "object"))
STRING_OR_NULL, OBJECT_OR_NULL = {"type": ["string", "null"]}, {"type": ["object", "null"]}
FLAT, TEXTS, VALUES = keyed(STRING), many(STRING), many(STRING) | {"type": ["string", "array"]}
LABELS = [fixed({key: {**TEXTS, "minItems": 1, "maxItems": 1}}) for key in ("eval_labels", "labels")]
PAIR, TRIPLE = (listed(*[STRING] * number, items=False) for number in (2, 3))
JOINT = many(fixed({"score": NUMBER, "slots": FLAT}))
MARKS = many({"enum": [0, 1]})
WISHES = {"active_intent": STRING_OR_NULL, "requested_slots": TEXTS | {"type": ["array", "null"]}}
FRAMES = many(fixed({"service": STRING, "state": fixed({"slot_values": keyed(TEXTS), **WISHES}, *WISHES)}))
CELLS = {"^slot_(prediction|groundtruth)_": STRING}
OWN = {"gold": FLAT, "pred": FLAT, "system": STRING, "user": STRING}
SUMBT = dict.fromkeys(("# Dialogue ID", "Turn Index", "User Utterance", "System Response"), STRING)

#: The JSON Schema of a state, by its notation.
STATES: dict[str, Schema] = {
    "flat": FLAT,
    "nested": keyed(FLAT),
    "nested lists": keyed(keyed(VALUES, properties={"selectedResults": ANY})),
    "pairs": many({"type": "string", "pattern": "-.*-"}),
    "triples": TEXTS,
    "commas": STRING,
    "labels": listed({"anyOf": LABELS}, items=OBJECT),
    "span": STRING,
    "lists": many(TRIPLE),
    "acts": many(fixed({"slots": many(PAIR), "act": {"enum": ["inform", "request"]}})),
    "objects": many(fixed({"slot": STRING, "value": STRING})),
    "semi/book": parts(VALUES),
    "semi/book lists": parts(TEXTS),
    "best goals": fixed({"goal-labels": keyed(keyed(NUMBER)), "goal-labels-joint": JOINT}, "goal-labels-joint"),
    "marks": MARKS,
    "marks of wrong": MARKS,
    "gt": keyed(fixed({"gt": STRING}), properties={"utter": ANY}),
    "pred": keyed(fixed({"pred": STRING}), properties={"utter": ANY}),
    "written": OBJECT,
    "written or null": OBJECT_OR_NULL,
    "written nested or null": keyed(OBJECT) | OBJECT_OR_NULL,
    "frames": FRAMES,
    "first of frames": FRAMES,
}

#: The JSON Schema of a format that is no row, or whose row is not of the file itself; of text tables, of a line.
OTHERS: dict[str, Schema] = {
    "trippy": many({**fixed({"guid": {**TEXTS, "minItems": 3}}), "patternProperties": CELLS}),
    "jsonl": fixed({"dialogue_id": STRING, "turn": INTEGER, **OWN}, *OWN),
    "ldst": fixed(dict.fromkeys(("file", "dialogue", "turn", "frame", "domain", "slot", "value"), STRING)),
    "star-tsv": fixed({**SUMBT, "Last Turn": STRING}),
    "sumbt-tsv": fixed(SUMBT),
    "woz-tsv": fixed(SUMBT | dict.fromkeys(("restaurant-area", "restaurant-food", "restaurant-pricerange"), STRING)),
    "savn": fixed({"slots": TEXTS, "predictions": keyed(keyed(TEXTS))}),
    "csv": FLAT,
    "records": {"type": ["array", "object"], "items": {"type": ["array", "object"]}},
    "state-lists": keyed({"type": ["array", "object"]}, items={"type": "array"}) | {"type": ["array", "object"]},
}
#: What the keys of objects that a path passes look like.
KEYS = {"dialogue": ANY, "turn": {"pattern": "^[+]?[0-9]+$"}, "dialogue-turn": {"pattern": "._[0-9]+$"}}


def of_row(row: Row) -> Schema:
    """The schema of a file that a row describes: of a turn, and then of what is around it."""
    texts = {text: Side.of(text) for text in (row.gold, row.pred) if text is not None}
    states = [under(side.keys, STATES[text.rpartition(":")[2]], side.is_optional) for text, side in texts.items()]
    return reduce(around, reversed(row.steps), reduce(both, states))


def under(keys: Sequence[str], schema: Schema, is_optional: bool = False) -> Schema:
    """An object, or a list, with this under keys, or indices."""
    for key in reversed(keys):
        if key.isdecimal():
            schema = listed(*[ANY] * int(key), schema)
        elif key.endswith("*"):
            some = {"not": {"propertyNames": {"not": {"pattern": f"^{key[:-1]}"}}}}
            schema = {"type": "object", "patternProperties": {f"^{key[:-1]}": schema}, **some}
        else:
            schema = fixed({key: schema}, *[key] * is_optional)
    return schema


def both(one: Any, other: Any) -> Any:
    """What two schemas say of the same object or list."""
    if isinstance(one, dict):
        return one | {key: both(one[key], value) if key in one else value for key, value in other.items()}
    if isinstance(one, list) and one and isinstance(one[0], dict):
        return [both(first, second) for first, second in zip_longest(one, other, fillvalue=ANY)]
    return [*dict.fromkeys(one + other)] if isinstance(one, list) else max(one, other)


def around(inner: Schema, step: Step) -> Schema:
    """The schema of what a step leads from, to something of this schema."""
    if step.kind == "key":
        return fixed({step.key: inner})
    if step.kind == "object":
        return keyed(inner, propertyNames=KEYS[step.ids[0].of])
    if step.kind == "lists":
        return fixed({name: many(inner["properties"][name]) for name in step.names})
    if step.kind == "speakers":
        return many_of_both(inner, step)
    kinds: dict[Any, Schema] = {str: STRING, int: INTEGER, str | int: {"type": ["string", "integer"]}}
    ids = [under(id_.key.split("."), kinds[id_.kind]) for id_ in step.ids if id_.key]
    inner = reduce(both, [*ids, inner])
    if step.or_object:
        return {"type": ["array", "object"], "items": inner, "additionalProperties": inner}
    return inner if step.kind == "dialogue" else many(inner)


def many_of_both(turn: Schema, step: Step) -> Schema:
    """A list of both speakers' turns; only those of one have a state."""
    may_lack = {key: value for key, value in turn.items() if key != "required"}
    if not step.key:
        return {"type": "array", "prefixItems": [OBJECT, turn], "items": may_lack}
    names = [name for names in step.speakers for name in names]
    has_state = {"properties": {step.key: {"enum": [*step.speakers[step.is_answer]]}}}
    turns = {"if": has_state, "then": may_lack if step.is_answer else turn}  # an answer to nothing needs none
    return many(fixed({step.key: {"enum": names}}) | turns)


if __name__ == "__main__":
    for name, schema in schemas().items():
        (HERE / name).write_text(text(schema), encoding="utf-8")
