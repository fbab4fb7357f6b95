"""The differences between two definitions of an agent, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from baton.domain.agent import AgentDefinition


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs. Values are as the API serves them."""

    field: str
    """The path of names: ``memory.retrievedTokens``. Lists differ as a whole."""
    before: Any
    """None: there was no such agent, or the field was empty."""
    after: Any


def changes_between(before: AgentDefinition | None, after: AgentDefinition) -> tuple[FieldChange, ...]:
    """Return the fields that differ, by name. Of a new agent, those that are not at their defaults."""
    if before is None:
        served = wire(after, exclude_defaults=True)
        return tuple(FieldChange(field, None, value) for field, value in sorted(served.items()))
    return tuple(_differences(wire(before), wire(after), ""))


def wire(agent: AgentDefinition, *, exclude_defaults: bool = False) -> dict[str, Any]:
    """Return the definition as the API serves it."""
    return agent.model_dump(by_alias=True, mode="json", exclude_defaults=exclude_defaults)


def _differences(before: Any, after: Any, field: str) -> Iterator[FieldChange]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            yield from _differences(before.get(name), after.get(name), f"{field}.{name}" if field else name)
    elif before != after or type(before) is not type(after):
        yield FieldChange(field, before, after)
