"""Definitions of guided workflows in agents' files: states, the data each collects, and transitions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    StringConstraints,
    field_validator,
    model_serializer,
    model_validator,
)

from baton.domain.definition import Definition, Text
from baton.domain.handoffs.completion import Completion
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.schemas.json_schema import ObjectSchema
from baton.domain.schemas.type_check import TypeCheck
from baton.domain.text import PLACEHOLDER

StateName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$"), AfterValidator(lambda name: name.upper())
]
"""The name of a state, in upper case whatever the file's case."""
Scalar = str | bool | int | float | None
Data = Mapping[str, Mapping[str, Any]]
"""Collected data by state, then by field."""


class Condition(Definition):
    """A condition on the collected data, with exactly one of ``equals``, ``present`` and ``in``."""

    field: str = Field(pattern=r"^([A-Za-z][A-Za-z0-9_]{0,63}\.)?[A-Za-z0-9_-]{1,64}$")
    """A field that the state itself collects, or ``state.field``."""
    equals: Scalar = None
    present: bool | None = None
    one_of: tuple[Scalar, ...] | None = Field(default=None, alias="in", min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _read_in(cls, value: Any) -> Any:
        # Files are read by the names of fields, and ``in`` is a keyword of Python.
        if isinstance(value, dict) and "in" in value:
            return {"one_of" if name == "in" else name: content for name, content in value.items()}
        return value

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Condition:
        if len(self.model_fields_set & {"equals", "present", "one_of"}) != 1:
            raise ValueError("a condition has exactly one of equals, present and in")
        if "equals" not in self.model_fields_set and self.present is None and self.one_of is None:
            raise ValueError("present is true or false, and in is a list; equals alone may be null")
        return self

    def resolve_field(self, state: str) -> tuple[str, str]:
        """Return the names of the state and the field of the condition, for a transition from ``state``."""
        where, dot, field = self.field.partition(".")
        return (where.upper(), field) if dot else (state, where)

    def holds(self, state: str, data: Data) -> bool:
        """Return whether the collected data meet the condition of a transition from ``state``.

        A field that is not collected meets ``present: false`` only. A collected null counts as not present.
        """
        where, field = self.resolve_field(state)
        collected = data.get(where, {})
        if self.present is not None:
            return (collected.get(field) is not None) is self.present
        if field not in collected:
            return False
        values = self.one_of if self.one_of is not None else (self.equals,)
        return any(_is_same(collected[field], value) for value in values)

    def __str__(self) -> str:
        if self.present is not None:
            return f"{self.field} must {'' if self.present else 'not '}be collected"
        if self.one_of is not None:
            return f"{self.field} must be one of {', '.join(map(json.dumps, self.one_of))}"
        return f"{self.field} must be {json.dumps(self.equals)}"


class Transition(Definition):
    """A transition from a state. The file may give its ``to`` only."""

    to: StateName
    when: Condition | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_short_form(cls, value: Any) -> Any:
        return {"to": value} if isinstance(value, str) else value


class WorkflowState(Definition):
    """One state of a workflow."""

    name: StateName
    label: Text
    """The name of the step for users ("Gathering Requirements")."""
    instructions: str = ""
    """Instructions for the model in this state."""
    collects: ObjectSchema | None = None
    """JSON Schema of the data that must be collected before the next states."""
    transitions: tuple[Transition, ...] | None = None
    """The transitions. Default: to the next state and back to every earlier one."""
    final: bool = False
    """Whether reaching it completes the workflow."""
    can_exit: bool = True
    """Whether clients offer the user to leave in this state."""
    _check: TypeCheck | None = PrivateAttr(default=None)

    @property
    def check(self) -> TypeCheck | None:
        """The check of the data by the Python type that ``collects`` was made of; None for a JSON Schema."""
        return self._check

    def of_type(self, check: TypeCheck | None) -> WorkflowState:
        """Note the check of the data by their Python type, and return the state."""
        self._check = check
        return self

    @model_validator(mode="after")
    def _nothing_follows_the_end(self) -> WorkflowState:
        if self.final and (self.collects is not None or self.transitions):
            raise ValueError(f"{self.name} is final: it is never left, so it has no transitions and collects nothing")
        return self


class WorkflowDefinition(Definition):
    """The guided workflow of an agent. The order of states is the order of steps; the first is the start."""

    name: Text
    """The workflow's name ("skill creation")."""
    title: Text | None = None
    """The name of one instance, with placeholders for collected data ("your {name} skill")."""
    untitled: Text | None = None
    """The name of an instance before that data is collected. Default: ``name``."""
    states: tuple[WorkflowState, ...] = Field(max_length=50)
    expiry_days: float = Field(default=30, gt=0, le=3650)
    """The time for which an unfinished workflow can be continued."""
    on_exit: Literal["save", "discard"] = "save"
    """The treatment of an unfinished workflow when the user leaves."""
    produces: Literal["skill"] | None = None
    """The result of a completed workflow: ``skill``, a private skill of the user for the main agent."""
    on_complete: Completion | None = None
    """The tool that Baton calls with the collected data when the workflow reaches its end."""

    @field_validator("states")
    @classmethod
    def _lead_to_an_end(cls, states: tuple[WorkflowState, ...]) -> tuple[WorkflowState, ...]:
        if len(states) < 2:
            raise ValueError("a workflow has at least two states")
        names = [state.name for state in states]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two states are named {name}")
        if not any(state.final for state in states):
            raise ValueError("no state is final")
        if states[0].final:
            raise ValueError(f"the first state, {names[0]}, is final")
        targets = {
            state.name: tuple(transition.to for transition in _list_transitions(states, index))
            for index, state in enumerate(states)
        }
        for name, own_targets in targets.items():
            for target in own_targets:
                if target not in names:
                    raise ValueError(f"{name} leads to {target}, which is no state")
                if target == name:
                    raise ValueError(f"{name} leads to itself; staying needs no transition")
        _check_reach(targets, [state.name for state in states if state.final])
        for state in states:
            _check_conditions(state, {other.name: other for other in states})
        return states

    @model_validator(mode="after")
    def _title_names_what_is_collected(self) -> WorkflowDefinition:
        for path in PLACEHOLDER.findall(self.title or ""):
            if problem := self.find_problem(path):
                raise ValueError(f"title has the placeholder {{{path}}}, {problem}")
        if PLACEHOLDER.search(self.untitled or ""):
            raise ValueError("untitled is used when nothing is collected: it has no placeholders")
        return self

    @model_validator(mode="after")
    def _has_one_result(self) -> WorkflowDefinition:
        if self.on_complete is not None and self.produces is not None:
            raise ValueError("Baton completes a workflow that produces a skill: leave on_complete out")
        return self

    @property
    def first(self) -> WorkflowState:
        """The start state."""
        return self.states[0]

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields that its states collect."""
        return frozenset(field for state in self.states for field in (state.collects or {}).get("properties", {}))

    def find_problem(self, path: str) -> str | None:
        """Return why a path names no collected value that a sentence can hold; None if it names one."""
        field = path.partition(".")[0]
        schemas = [state.collects for state in self.states if field in (state.collects or {}).get("properties", {})]
        problems = [ArgumentSchema(schema or {}).find_problem(path) for schema in schemas]
        return None if None in problems else next(iter(problems), "which no state collects")

    def find_state(self, name: str) -> WorkflowState | None:
        """Return the state called ``name``, in either case; None if there is none."""
        return next((state for state in self.states if state.name == name.upper()), None)

    def find_index(self, name: str) -> int:
        """Return the index of a state, from 0. Raises ``ValueError`` for a state that does not exist."""
        return [state.name for state in self.states].index(name)

    def list_transitions(self, name: str) -> tuple[Transition, ...]:
        """Return the transitions from a state, open or not: those that it declares, or else the default ones.

        Raises ``ValueError`` for a state that does not exist.
        """
        return tuple(_list_transitions(self.states, self.find_index(name)))

    def may_skip(self, name: str) -> bool:
        """Return whether the workflow can get from its first state to a final one without the state ``name``."""
        targets = {
            state.name: tuple(
                transition.to for transition in self.list_transitions(state.name) if transition.to != name
            )
            for state in self.states
        }
        reached = _find_reachable([self.first.name], targets) if self.first.name != name else set()
        return any(state.final and state.name in reached for state in self.states)

    @property
    def card_states(self) -> list[str]:
        """The states for ``workflow_states`` of an agent card."""
        return [state.name.lower() for state in self.states]

    @cached_property
    def version(self) -> str:
        """A digest of the states, transitions and schemas. Labels, titles and instructions are not part of it."""
        rules = [
            [
                state.name,
                state.collects,
                state.final,
                [transition.model_dump() for transition in self.list_transitions(state.name)],
            ]
            for state in self.states
        ]
        return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:16]

    @model_serializer(mode="wrap")
    def _serialise(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        """Return the fields. The wire form also has the default transitions of states, and the version."""
        fields: dict[str, Any] = handler(self)
        if not info.by_alias:
            return fields
        for state in fields["states"]:
            transitions = self.list_transitions(state["name"])
            state["transitions"] = [
                transition.model_dump(by_alias=True, exclude_unset=True) for transition in transitions
            ]
        return {**fields, "version": self.version}


def _list_transitions(states: tuple[WorkflowState, ...], index: int) -> Iterator[Transition]:
    state = states[index]
    if state.transitions is not None:
        yield from state.transitions
    elif not state.final:
        yield from (Transition(to=other.name) for other in states[index + 1 : index + 2])
        yield from (Transition(to=other.name) for other in states[:index])


def _check_reach(targets: Mapping[str, tuple[str, ...]], finals: list[str]) -> None:
    """Raise ``ValueError`` for a state that cannot be reached, or from which no final state can be reached.

    ``targets`` are the states that each state leads to; the first state comes first.
    """
    sources = {name: tuple(other for other, ends in targets.items() if name in ends) for name in targets}
    for name in targets:
        if name not in _find_reachable([next(iter(targets))], targets):
            raise ValueError(f"no way leads to {name}")
        if name not in _find_reachable(finals, sources):
            raise ValueError(f"no way leads from {name} to a final state")


def _find_reachable(begin: list[str], targets: Mapping[str, tuple[str, ...]]) -> set[str]:
    """Return the states ``begin``, and all states to which ``targets`` lead from them."""
    reached: set[str] = set()
    waiting = list(begin)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += targets[name]
    return reached


def _check_conditions(state: WorkflowState, states: Mapping[str, WorkflowState]) -> None:
    """Raise ``ValueError`` for a condition on a field that is not collected."""
    for condition in (transition.when for transition in state.transitions or ()):
        if condition is None:
            continue
        where, field = condition.resolve_field(state.name)
        if where not in states:
            raise ValueError(f"{state.name}: the condition on {condition.field} names no state")
        if field not in (states[where].collects or {}).get("properties", {}):
            raise ValueError(f"{state.name}: the condition looks at {condition.field}, which {where} does not collect")


def _is_same(value: Any, other: Scalar) -> bool:
    """Return whether two values are the same in JSON, where true is not 1."""
    return isinstance(value, bool) is isinstance(other, bool) and value == other
