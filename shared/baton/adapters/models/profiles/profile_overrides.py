"""Facts about models that an operator declares, checked before they replace those that Baton knows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from baton.adapters.models.profiles.profile import ModelProfile

SETTING = "modelProfiles"
UNDECLARED = frozenset({"refused_values", "thinks_first"})
"""Facts that only answers and refusals show, so that nobody declares them."""
_EXPRESSIONS = frozenset({"call_ids", "tool_names"})
"""Facts that are regular expressions."""


def profile_overrides(written: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the facts by pattern and field, as ``ModelProfile`` has them.

    ``written`` is the setting's JSON: patterns of models to facts, by names in camel case or as in ``ModelProfile``.
    Raises ``ValueError`` that names the setting and the place of an unknown fact or a wrong value.
    """
    types = get_type_hints(ModelProfile)
    names = {field.name: field.name for field in fields(ModelProfile) if field.name not in UNDECLARED}
    names |= {to_camel(name): name for name in names}
    return {pattern: _facts(pattern, facts, names, types) for pattern, facts in written.items()}


def _facts(pattern: str, written: Any, names: Mapping[str, str], types: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(written, Mapping):
        raise ValueError(f"{SETTING}: {pattern}: must be an object with facts about these models")
    facts: dict[str, Any] = {}
    for name, value in written.items():
        setting = f"{SETTING}: {pattern}.{name}"
        field = names.get(name)
        if field is None:
            there_are = ", ".join(sorted({to_camel(field_name) for field_name in names.values()}))
            raise ValueError(f"{setting}: there is no such fact; there are {there_are}")
        if field in facts:
            raise ValueError(f"{setting}: is given twice")
        try:
            facts[field] = _check(field, value, types[field])
        except ValueError as error:
            raise ValueError(f"{setting}: {error}") from None
    return facts


def _check(field: str, value: Any, kind: Any) -> Any:
    try:
        checked = TypeAdapter(kind).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from None
    if isinstance(checked, int) and not isinstance(checked, bool) and checked < 1:
        raise ValueError("must be 1 or more")
    if field in _EXPRESSIONS and checked is not None:
        try:
            re.compile(checked)
        except re.error as error:
            raise ValueError(f"is no regular expression: {error}") from None
    return checked
