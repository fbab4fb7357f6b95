"""Ask for a structured answer in the form that a model takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from baton.adapters.models.profiles.profile import AnswerForm, ModelProfile
from baton.ports.agents.chat_model import ModelSettings

ASKED_FOR = (
    "Your last answer, the one after which you call no more tools, is a JSON object and nothing else: no code block, "
    "no words before or after it. It is valid against this JSON Schema: {schema}"
)
STRICT_NAME = "answer"
_REFUSED_BY_STRICT_MODES = """
allOf contains dependentRequired dependentSchemas else if not oneOf patternProperties propertyNames then
unevaluatedItems unevaluatedProperties uniqueItems
"""
_NEVER_STRICT = frozenset(_REFUSED_BY_STRICT_MODES.split())
"""Keywords of JSON Schema that strict modes refuse."""


def schema_note(schema: Mapping[str, Any] | None, profile: ModelProfile) -> str | None:
    """Return the system prompt's text on the answer's form; None where the API itself enforces the schema."""
    if schema is None or profile.answer_form is AnswerForm.SCHEMA:
        return None
    return ASKED_FOR.format(schema=json.dumps(schema, ensure_ascii=False, sort_keys=True))


def output_limit(settings: ModelSettings, profile: ModelProfile) -> int | None:
    """Return the most tokens of an answer, with room for thinking that counts against it; None for no limit."""
    if settings.max_output_tokens is None:
        return profile.default_max_output
    thinks = settings.reasoning_effort != "none"
    return settings.max_output_tokens + (profile.thinking_tokens if thinks else 0)


def is_strict(schema: Any) -> bool:
    """Return whether a schema fits strict modes: every object requires all its properties and allows no others.

    A schema with keywords that strict modes refuse does not fit.
    """
    if isinstance(schema, list | tuple):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if not _NEVER_STRICT.isdisjoint(schema):
        return False
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        required = schema.get("required")
        if schema.get("additionalProperties") is not False or set(properties) != set(required or ()):
            return False
        return all(map(is_strict, properties.values())) and all(
            is_strict(value) for key, value in schema.items() if key not in ("properties", "enum", "const", "default")
        )
    if schema.get("type") == "object":
        return False
    return all(is_strict(value) for key, value in schema.items() if key not in ("enum", "const", "default"))
