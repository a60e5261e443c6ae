"""Records inside the files of batch requests and of lm-eval, where the state is a language model's answer.

Conventions: a line of a batch (OpenAI's, or Anthropic's message batches) is the record ``{"custom_id": …, "output": its
text}``; a failed request gives no record, so its turn has no prediction. A line of lm-eval's ``samples_*.jsonl`` is the
record of its ``doc``, with ``target`` and, as ``output``, its filtered answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# The keys that lead to the text, and the deepest nesting of such keys and lists.
_AROUND: Final = ("body", "choices", "message", "output", "content", "text")
_DEPTH: Final = 8
#: What stands for the record of a request that failed.
FAILED: Final = object()


def opened(item: Any) -> Any:
    """The record in an item of a file, with the answer as `output`; `FAILED`: no answer. Other items are unchanged.

    >>> opened({"custom_id": "SNG1-0", "response": {"body": {"choices": [{"message": {"content": "{}"}}]}}})
    {'custom_id': 'SNG1-0', 'output': '{}'}
    >>> opened({"doc": {"id": "SNG1-0"}, "target": "{}", "filtered_resps": ["{}"], "jga": 1.0})
    {'id': 'SNG1-0', 'target': '{}', 'output': '{}'}
    """
    if not isinstance(item, Mapping):
        return item
    if "custom_id" in item and ("response" in item or "result" in item):
        text = _text(item.get("response") or item.get("result"))
        return FAILED if text is None else {"custom_id": item["custom_id"], "output": text}
    if isinstance(doc := item.get("doc"), Mapping) and "filtered_resps" in item:
        return {**doc, "target": item.get("target"), "output": _text(item["filtered_resps"])}
    return item


def _text(answer: Any, depth: int = 0) -> str | None:
    """The text inside an answer's nested objects and lists; None: there is none."""
    if isinstance(answer, str) or depth > _DEPTH:
        return answer if isinstance(answer, str) else None
    parts = answer if isinstance(answer, list) else []
    if isinstance(answer, Mapping):
        parts = [answer[key] for key in _AROUND if key in answer]
    return next((text for part in parts if (text := _text(part, depth + 1)) is not None), None)
