"""Metrics as formulas: their expressions, written as people write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

if TYPE_CHECKING:
    from dstbench.metrics.base import Metric

# Operators: what they are written as, and how strongly they bind.
_SIGNS: Final = {
    "Or": ("or", 1), "And": ("and", 2), "Eq": ("==", 4), "NotEq": ("!=", 4), "Lt": ("<", 4), "LtEq": ("<=", 4),
    "Gt": (">", 4), "GtEq": (">=", 4), "Plus": ("+", 5), "Minus": ("-", 5), "Multiply": ("*", 6),
    "TrueDivide": ("/", 6),
}  # fmt: skip
_TERNARY: Final = 0
_NOT: Final = 3
_COMPARED: Final = 4
_ATOM: Final = 9


class _UnwrittenError(Exception):
    """An expression of a kind that formulas do not have."""


def formula(expression: pl.Expr) -> str:
    """An expression as a formula, without its casts; Polars' own text if it is of a kind that formulas do not have.

    >>> formula(pl.col("n_correct").cast(pl.Int64) / (pl.col("n_gold") + pl.col("n_pred")))
    'n_correct / (n_gold + n_pred)'
    >>> formula(pl.when(pl.col("n_gold") > 0).then((-0.5 * pl.col("n_pred")).exp()))
    'exp(-0.5 * n_pred) if n_gold > 0 else null'
    """
    try:
        return _written(json.loads(expression.meta.serialize(format="json")))[0]
    except _UnwrittenError:
        return str(expression)


def formulas(metric: Metric) -> dict[str, str]:
    """A metric as the query that it is."""
    stats = metric.stats()
    return {
        "counts": _listed(metric.counts()),
        "per_turn": _listed(stats),
        "value": formula(metric.score({name: pl.col(name) for name in stats})),
    }


def _listed(expressions: Mapping[str, pl.Expr]) -> str:
    written = {name: formula(one) for name, one in expressions.items()}
    return "; ".join(text if text == name else f"{name} = {text}" for name, text in written.items())


def _written(node: Mapping[str, Any]) -> tuple[str, int]:
    """A node of an expression, as Polars serialises it, as text; and how strongly its outermost operator binds."""
    match node:
        case {"Column": str(name)}:
            return name, _ATOM
        case {"Literal": {"Dyn": {"Int": number}}}:
            return str(number), _ATOM
        case {"Literal": {"Dyn": {"Float": number}}}:
            return f"{number:.15g}", _ATOM
        case {"Literal": {"Scalar": {"Null": _}}}:
            return "null", _ATOM
        case {"Cast": {"expr": inner}} | {"Function": {"input": [inner], "function": {"SumHorizontal": _}}}:
            return _written(inner)
        case {"BinaryExpr": {"left": left, "op": op, "right": right}} if op in _SIGNS:
            sign, binds = _SIGNS[op]
            # Of operators that bind alike, the left one comes first; sums and products need no order.
            after = binds if op in ("Plus", "Multiply", "And", "Or") else binds + 1
            return f"{_within(left, binds + (binds == _COMPARED))} {sign} {_within(right, after)}", binds
        case {"Ternary": {"predicate": predicate, "truthy": truthy, "falsy": falsy}}:
            asked, yes, no = _within(predicate, 1), _within(truthy, 1), _within(falsy, _TERNARY)
            return f"{yes} if {asked} else {no}", _TERNARY
        case {"Function": {"input": [inner], "function": {"Boolean": "Not"}}}:
            return f"not {_within(inner, _NOT)}", _NOT
        case {"Function": {"input": [inner], "function": {"Boolean": "IsNotNull"}}}:
            return f"{_within(inner, _COMPARED + 1)} is not null", _COMPARED
        case {"Function": {"input": inputs, "function": {"SumHorizontal": _}}}:
            return " + ".join(_within(one, _SIGNS["Plus"][1]) for one in inputs), _SIGNS["Plus"][1]
        case {"Function": {"input": inputs, "function": {"Clip": {"has_min": False}}}}:
            return f"min({', '.join(_written(one)[0] for one in inputs)})", _ATOM
        case {"Function": {"input": inputs, "function": str(name)}}:
            return f"{name.lower()}({', '.join(_written(one)[0] for one in inputs)})", _ATOM
    raise _UnwrittenError


def _within(node: Mapping[str, Any], binds: int) -> str:
    """A node's text, in brackets if it binds less strongly."""
    text, own = _written(node)
    return text if own >= binds else f"({text})"
