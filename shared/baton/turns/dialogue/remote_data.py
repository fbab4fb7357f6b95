"""Structured data between a user and a remote agent: forms put into words, and answers that are JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from baton.domain.json_values import count_values, refuse_constant

MAX_FIELDS = 50
"""The largest number of fields, and of choices in a field, that a text lists."""
MAX_WORDS = 300
"""Characters of a field's title or description."""
MAX_ANSWER_VALUES = 1_000
"""The largest number of values in a filled-in form."""
SPOKEN = frozenset({frozenset({"interrupts"}), frozenset({"code", "retryable"})})
"""Keys of data that repeats its text for programs: the question to a person, or the reason for a failure."""


def to_words(value: Any) -> str:
    """Return data as text for a user: a question, the fields of a form (a JSON schema), or the JSON itself."""
    if isinstance(value, Mapping):
        messages = [item.get("message") for item in _list_items(value.get("interrupts")) if isinstance(item, Mapping)]
        questions = [message[:MAX_WORDS] for message in messages if isinstance(message, str)]
        if questions:
            return "\n".join(questions)
        schema = next((value[key] for key in ("schema", "responseSchema", "form") if key in value), value)
        if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping):
            title = _to_line(schema.get("title")) or _to_line(value.get("message"))
            return "\n".join([*([title] if title else []), *_list_fields(schema)])
    return f"```json\n{json.dumps(value, ensure_ascii=False, indent=1)}\n```"


def parse_data(text: str) -> dict[str, Any] | None:
    """Return a user's text as data if it is a JSON object, as applications send filled-in forms; otherwise None."""
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")) or count_values(text) > MAX_ANSWER_VALUES:
        return None
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list_fields(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each property of a JSON schema, at most ``MAX_FIELDS``, and a line that counts the rest."""
    required_names = [item for item in _list_items(schema.get("required")) if isinstance(item, str)]
    properties = list(schema["properties"].items())
    for name, field in properties[:MAX_FIELDS]:
        field_schema = field if isinstance(field, Mapping) else {}
        choices = [str(item)[:MAX_WORDS] for item in _list_items(field_schema.get("enum"))[:MAX_FIELDS]]
        kind = " | ".join(choices) or _to_line(field_schema.get("type"))
        notes = ", ".join(words for words in (kind, "required" if name in required_names else "") if words)
        description = _to_line(field_schema.get("description"))
        line = f"- {_to_line(field_schema.get('title')) or name[:MAX_WORDS]}"
        yield line + (f" ({notes})" if notes else "") + (f": {description}" if description else "")
    if len(properties) > MAX_FIELDS:
        yield f"- and {len(properties) - MAX_FIELDS} more"


def _list_items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _to_line(value: Any) -> str:
    return " ".join(value[:MAX_WORDS].split()) if isinstance(value, str) else ""
