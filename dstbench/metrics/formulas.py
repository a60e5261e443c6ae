"""Metrics as formulas: their expressions, written as people write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from dstbench.metrics.base import Metric

_SIGNS: Final = {
    "Or": "or", "And": "and", "Eq": "==", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">=",
    "Plus": "+", "Minus": "-", "Multiply": "*", "TrueDivide": "/",
}  # fmt: skip


def formula(expression: pl.Expr) -> str:
    """An expression as a formula, without its casts; Polars' own text if it is of a kind that formulas do not have.

    >>> formula(pl.col("n_correct").cast(pl.Int64) / (pl.col("n_gold") + pl.col("n_pred")))
    'n_correct / (n_gold + n_pred)'
    """
    try:
        return _bare(json.loads(expression.meta.serialize(format="json")))
    except NotImplementedError:
        return str(expression)


def formulas(metric: Metric) -> dict[str, str]:
    """A metric as the query that it is."""
    stats, texts = metric.stats(), []
    for expressions in (metric.counts(), stats):
        written = {name: formula(one) for name, one in expressions.items()}
        texts.append("; ".join(text if text == name else f"{name} = {text}" for name, text in written.items()))
    value = formula(metric.score({name: pl.col(name) for name in stats}))
    return {"counts": texts[0], "per_turn": texts[1], "value": value}


def _written(node: Mapping[str, Any]) -> str:
    """A node of an expression, as Polars serialises it, as text; in brackets if it has an operator."""
    match node:
        case {"Column": str(name)}:
            return name
        case {"Literal": {"Dyn": {"Int": number} | {"Float": number}}}:
            return f"{number:.15g}"
        case {"Literal": {"Scalar": {"Null": _}}}:
            return "null"
        case {"Cast": {"expr": inner}} | {"Function": {"input": [inner], "function": {"SumHorizontal": _}}}:
            return _written(inner)
        case {"BinaryExpr": {"left": left, "op": op, "right": right}} if op in _SIGNS:
            return f"({_written(left)} {_SIGNS[op]} {_written(right)})"
        case {"Ternary": {"predicate": predicate, "truthy": truthy, "falsy": falsy}}:
            return f"({_written(truthy)} if {_written(predicate)} else {_written(falsy)})"
        case {"Function": {"input": [inner], "function": {"Boolean": "Not"}}}:
            return f"(not {_written(inner)})"
        case {"Function": {"input": [inner], "function": {"Boolean": "IsNotNull"}}}:
            return f"({_written(inner)} is not null)"
        case {"Function": {"input": inputs, "function": {"SumHorizontal": _}}}:
            return f"({' + '.join(map(_written, inputs))})"
        case {"Function": {"input": inputs, "function": {"Clip": {"has_min": False}}}}:
            return f"min({', '.join(map(_bare, inputs))})"
        case {"Function": {"input": inputs, "function": str(name)}}:
            return f"{name.lower()}({', '.join(map(_bare, inputs))})"
    raise NotImplementedError


def _bare(node: Mapping[str, Any]) -> str:
    """A node's text without brackets around it."""
    text = _written(node)
    return text[1:-1] if text.startswith("(") else text
