"""The arguments of the call that completes a workflow, taken from the collected data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from baton.domain.handoffs.completion import Completion
from baton.domain.handoffs.workflow_definition import Data, WorkflowDefinition, WorkflowState

_INTEGER_AS_NUMBER = ["integer", "number"]
"""The only pair of different types in which every value of the first fits the second."""


class _Origin(NamedTuple):
    """The state that collects a value, and the value's field; None for all of the state's data."""

    state: WorkflowState
    field: str | None

    def __str__(self) -> str:
        return self.state.name if self.field is None else f"{self.state.name}.{self.field}"


def make_completion_arguments(
    definition: WorkflowDefinition, completion: Completion, data: Data, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments for a tool with these ``parameters``. Data that was not collected is left out."""
    values: dict[str, Any] = {}
    for name in (*parameters.get("properties", ()), *completion.arguments):
        for state, field in _find_origins(definition, completion.arguments.get(name, name)):
            collected = data.get(state.name)
            declared = {key: collected[key] for key in _read_fields(state) if key in collected} if collected else {}
            if field is None and collected is not None:
                values[name] = declared
            elif field in declared:
                values[name] = declared[field]
    return values


def find_completion_problems(
    definition: WorkflowDefinition, completion: Completion, parameters: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """Yield the reasons why the workflow's tool cannot complete it.

    ``parameters`` is the JSON Schema of the tool's arguments; None if it is not known.
    """
    back_to = definition.find_state(completion.back_to) if completion.back_to is not None else None
    if completion.back_to is not None and (back_to is None or back_to.final):
        yield (
            f"back_to is {completion.back_to}, which is not a state, or is a final one: name a state that is not final"
        )
    for name, source in completion.arguments.items():
        if not _find_origins(definition, source):
            yield (
                f"the argument {name!r} is {source}, which no state collects: name a field as state.field, or a state"
            )
        elif parameters is not None and name not in parameters.get("properties", {}):
            yield f"{completion.tool} has no argument {name!r}: remove it from arguments"
    if parameters is not None:
        required = parameters.get("required", ())
        for name, schema in parameters.get("properties", {}).items():
            yield from _find_argument_problems(definition, completion, name, schema, is_required=name in required)


def _find_argument_problems(
    definition: WorkflowDefinition, completion: Completion, name: str, schema: Any, *, is_required: bool
) -> Iterator[str]:
    """Yield the reasons why the argument ``name`` may get no value, several, or one that does not fit ``schema``."""
    source = completion.arguments.get(name, name)
    origins = _find_origins(definition, source)
    if len(origins) > 1:
        states = " and ".join(state.name for state, _ in origins)
        yield f"{states} collect {source!r}: name in arguments, as state.field, which of them {completion.tool} gets"
    elif not origins:
        if is_required and name == source:
            yield f"{completion.tool} needs the argument {name!r}, which no state collects"
    else:
        [origin] = origins
        collects = origin.state.collects or {}
        may_lack = origin.field is not None and origin.field not in collects.get("required", ())
        if is_required and (may_lack or definition.may_skip(origin.state.name)):
            yield f"{completion.tool} needs the argument {name!r}, but the workflow can end without {origin}"
        collected = collects if origin.field is None else _read_fields(origin.state)[origin.field]
        types = [kind.get("type") if isinstance(kind, Mapping) else None for kind in (collected, schema)]
        if all(isinstance(kind, str) for kind in types) and types[0] != types[1] and types != _INTEGER_AS_NUMBER:
            yield f"{completion.tool} takes {types[1]} as the argument {name!r}, but {origin} is {types[0]}"


def _read_fields(state: WorkflowState) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = (state.collects or {}).get("properties", {})
    return fields


def _find_origins(definition: WorkflowDefinition, source: str) -> list[_Origin]:
    """Return the origins of ``source``: the field of a ``state.field``, all fields of a name, or else a state."""
    state_name, _, field = source.rpartition(".")
    origins = [
        _Origin(state, field)
        for state in definition.states
        if field in _read_fields(state) and state_name.upper() in ("", state.name)
    ]
    whole = definition.find_state(source)
    return origins or ([_Origin(whole, None)] if whole is not None and whole.collects is not None else [])
