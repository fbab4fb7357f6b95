"""Write what was learned of a model as an operator declares it in ``BATON_MODEL_PROFILES``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from baton.adapters.models.profile import ModelProfile
from baton.adapters.models.profile_overrides import UNDECLARED
from baton.adapters.models.profiles import ADDED


def learned_facts(declared: ModelProfile, known: ModelProfile) -> dict[str, JsonValue]:
    """Return the facts in which a model's profile differs from what is declared, by their names in the setting.

    Declaring them gives the model the profile ``known``, except for facts that cannot be declared, which are left out.
    """
    facts: dict[str, JsonValue] = {}
    for field in fields(ModelProfile):
        before, now = getattr(declared, field.name), getattr(known, field.name)
        if before != now and field.name not in UNDECLARED:
            facts[to_camel(field.name)] = _json(now - before if field.name in ADDED else now)
    return facts


def _json(value: Any) -> JsonValue:
    if isinstance(value, frozenset | tuple):
        return [str(each) for each in (sorted(value) if isinstance(value, frozenset) else value)]
    if isinstance(value, Mapping):
        return {str(name): str(each) for name, each in value.items()}
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)  # the words of enumerations are text
