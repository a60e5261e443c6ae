"""Records that programs put around the answer of a language model: batches of requests, and lm-eval's samples.

Conventions: a line of a batch (OpenAI's, or Anthropic's message batches) is the record ``{"custom_id": …, "output": its
text}``; a request that failed is none, so that its turn has no prediction. A line of lm-eval's ``samples_*.jsonl`` is
the record of its ``doc``, with ``target`` and, as ``output``, its filtered answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def opened(item: Any) -> Any:
    """The record in an item of a file, with the answer in it; None: its request failed. Other items are unchanged.

    >>> opened({"custom_id": "SNG1-0", "response": {"body": {"choices": [{"message": {"content": "{}"}}]}}})
    {'custom_id': 'SNG1-0', 'output': '{}'}
    >>> opened({"doc": {"id": "SNG1-0"}, "target": "{}", "filtered_resps": ["{}"], "jga": 1.0})
    {'id': 'SNG1-0', 'target': '{}', 'output': '{}'}
    """
    if not isinstance(item, Mapping):
        return item
    if "custom_id" in item and ("response" in item or "result" in item):
        text = _text(item.get("response") or item.get("result"))
        return None if text is None else {"custom_id": item["custom_id"], "output": text}
    if isinstance(doc := item.get("doc"), Mapping) and "filtered_resps" in item:
        return {**doc, "target": item.get("target"), "output": _text(item["filtered_resps"])}
    return item


def _text(answer: Any) -> str | None:
    """The text of an answer, in the objects and lists that are around it; None: it has none."""
    if isinstance(answer, list):
        return next((text for part in answer if (text := _text(part)) is not None), None)
    if isinstance(answer, Mapping):
        inner = (answer[key] for key in ("body", "choices", "message", "output", "content", "text") if key in answer)
        return next((text for part in inner if (text := _text(part)) is not None), None)
    return answer if isinstance(answer, str) else None
