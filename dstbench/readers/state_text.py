"""States that are written as text in a cell: as JSON, as Python prints them, or written out (`state_phrases`)."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from dstbench.readers.json_stream import may_repeat_keys
from dstbench.readers.shapes import clipped
from dstbench.readers.state_phrases import written_out

# The strings of a Python literal without backslashes, and its words that JSON spells differently.
_STRING: Final = re.compile(r"""('[^']*'|"[^"]*")""")
_WORD: Final = re.compile(r"\b(?:None|True|False|nan|NaN)\b")
_WORDS: Final = {"None": "null", "True": "true", "False": "false", "nan": "null", "NaN": "null"}
_QUOTE, _ESCAPED = '"', '\\"'
# Texts that mean no state, in lower case.
_NOTHING: Final = frozenset({"", "null", "none", "nan"})
_FENCE: Final = re.compile(r"```\w*\n(.*?)\s*```", re.DOTALL)
# A lone surrogate is a ValueError, and so is msgspec's error from its version 0.20.
_NOT_JSON: Final = (ValueError, msgspec.DecodeError, RecursionError)
# Names that are no Python literals, but that JSON has, or Python prints for NaN.
_NAMES: Final = {"null": None, "nan": None, "NaN": None, "true": True, "false": False}


class Misfit(Exception):  # noqa: N818 (readers turn it into an error that says where)
    """A cell that is no state, or a value that is none.

    Args:
        what: What is wrong.
        slot: The slot at which it is wrong.
    """

    def __init__(self, what: str, slot: str | None = None) -> None:
        super().__init__(what)
        self.what, self.slot = what, slot


class Repeated(list[tuple[str, Any]]):
    """The keys and values of an object that has a key twice."""


def parsed(text: str) -> Any:
    """What a text says as JSON, as Python prints it, or as it is written out.

    Raises:
        Misfit: It is none of these.
    """
    stripped = unfenced(text)
    if says_nothing(stripped):
        return None
    if not isinstance(entries := written_out(stripped), str):
        return entries
    try:
        value = _from_json(stripped)
    except _NOT_JSON:
        value = _from_python(stripped)
    return parsed(value) if isinstance(value, str) and value != text else value


def found_in(text: str) -> Any:
    """The one state in the prose of a language model; None: there is none.

    It is an object, as JSON or as Python prints it, or written out below a line that ends with a colon.

    What a model thinks before it answers is no answer.

    >>> found_in('<think>{"a": 1}?</think> Here it is: {"hotel-area": "north"}. Is there more?')
    {'hotel-area': 'north'}
    >>> found_in('{"hotel-area": "north"} or {"hotel-area": "south"}'), found_in('<think>Is it {"a": "b"}')
    (None, None)
    """
    answer = text.rpartition("</think>")[2]
    first, _, rest = answer.strip().partition("\n")
    if first.endswith(":") and isinstance(written_out(first), str) and not isinstance(pairs := written_out(rest), str):
        return pairs
    begin, end = answer.find("{"), answer.rfind("}") + 1
    if not 0 <= begin < end or "<think>" in answer:
        return None
    with suppress(Misfit):
        value = parsed(answer[begin:end])
        return value if isinstance(value, (dict, Repeated)) else None
    return None


def says_nothing(text: str) -> bool:
    """Whether a text is empty, or a word for null."""
    return text.strip().casefold() in _NOTHING


def unfenced(text: str) -> str:
    """A text without the space around it, or the Markdown fence in which language models put JSON."""
    stripped = text.strip()
    fence = _FENCE.fullmatch(stripped) if stripped.startswith("```") else None
    return fence[1] if fence else stripped


def _from_json(text: str) -> Any:
    data = text.encode()
    value = msgspec.json.decode(data)
    return json.loads(text, object_pairs_hook=_object) if may_repeat_keys(data, value) else value


def _from_python(text: str) -> Any:
    with suppress(*_NOT_JSON):  # ten times as fast as Python's own parser
        return _from_json(_as_json(text))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes before other letters
            tree = ast.parse(text, mode="eval")
        return _value_of(tree.body)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        part = written_out(text)
        shown, wrong = clipped(text), clipped(str(part))
        also = (
            ""
            if wrong == shown or text.lstrip()[:1] in "{["
            else f", and {wrong!r} in it is not of the form slot = value"
        )
        raise Misfit(f"the text {shown!r} is neither JSON nor a Python literal{also}") from None


def _as_json(text: str) -> str:
    """A Python literal as JSON; the result is not valid JSON if the literal has something that JSON cannot say."""
    if "\\" in text:
        raise ValueError("JSON has other escapes")
    parts = _STRING.split(text)  # alternately: text outside of strings, and a string
    parts[::2] = [_WORD.sub(lambda word: _WORDS[word[0]], part) if len(part) > 2 else part for part in parts[::2]]
    parts[1::2] = [f'"{part[1:-1].replace(_QUOTE, _ESCAPED)}"' if part[0] == "'" else part for part in parts[1::2]]
    return "".join(parts)


def _value_of(node: ast.expr) -> Any:
    """The value of a Python literal, in which repeated keys are not lost."""
    if isinstance(node, ast.Dict):
        keys = [ast.literal_eval(key) for key in node.keys if key is not None]  # None: another object is unpacked
        return _object(zip(keys, map(_value_of, node.values), strict=True))
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value_of(element) for element in node.elts]
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    return ast.literal_eval(node)


def _object(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any] | Repeated:
    pairs = list(pairs)
    content = dict(pairs)
    return content if len(content) == len(pairs) else Repeated(pairs)


def named(value: Any) -> str:
    """A value of the wrong type, in a few words.

    >>> named(None), named(True), named([]), named("x" * 70)[-5:]
    ('null', 'true', 'a list', 'xx...')
    """
    if isinstance(value, (Mapping, Repeated)):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    shown = repr(value) if isinstance(value, (str, int, float)) else type(value).__name__
    return clipped(shown)
