"""Definitions of a tenant's own agents before they are stored: reading, checks, size and differences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import Problem, check_agent, model_problems, tenant_problems
from baton.domain.agents.model_providers import OfferedModels
from baton.domain.errors import FieldProblem, InvalidAgent

MAX_DEFINITION = 64 * 1024
"""Characters of one definition as JSON."""


@dataclass(frozen=True, slots=True)
class AgentDraft:
    """A definition that is about to be stored."""

    definition: AgentDefinition
    values: Mapping[str, Any]
    size: int
    """Characters of ``values`` as JSON."""

    @classmethod
    def of(cls, definition: AgentDefinition) -> AgentDraft:
        """Return the definition as it will be read again. Raises ``ValueError`` for values that JSON cannot hold."""
        values = definition.model_dump(mode="json", exclude_unset=True)
        if values.get("workflow", ...) is None:  # as it is served; in a file it is a mistake
            del values["workflow"]
        return cls(AgentDefinition.model_validate(values), values, len(json.dumps(values, ensure_ascii=False)))


def make_draft(
    agent_id: str, values: Mapping[str, Any], *, as_served: bool, models: Callable[[], OfferedModels]
) -> AgentDraft:
    """Return the definition as it would be stored. Raises ``InvalidAgent`` with all its problems.

    ``as_served``: fields may have the names that the API serves. ``models`` returns the models that it may name.
    """
    try:
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)
        text.encode()
        if len(text) > MAX_DEFINITION:
            raise invalid([Problem((), f"it is longer than {MAX_DEFINITION // 1024} KB")])
        definition, problems = check_agent({"id": agent_id, **values}, as_served=as_served)
        draft = AgentDraft.of(definition) if definition is not None else None
    except RecursionError:
        raise invalid([Problem((), "it is nested too deeply")]) from None
    except ValueError:  # infinities, and halves of surrogate pairs
        raise invalid([Problem((), "it holds a number or a text that JSON does not know")]) from None
    if definition is not None:
        if definition.id != agent_id:
            problems.append(Problem(("id",), f"must be {agent_id!r}, as in the address"))
        problems += tenant_problems(definition)
        problems += model_problems(definition, models())
    if draft is None or problems:
        raise invalid(problems)
    return draft


def invalid(problems: Sequence[Problem]) -> InvalidAgent:
    """Return the error with all problems, each with its field."""
    return InvalidAgent(
        [FieldProblem(field_name(problem.place), problem.what, place=problem.place) for problem in problems]
    )


def field_name(path: Sequence[str | int]) -> str:
    """Return a field's name, as in ``handoffs.0.agent``."""
    return ".".join(str(part) for part in path if part != "[key]")


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
