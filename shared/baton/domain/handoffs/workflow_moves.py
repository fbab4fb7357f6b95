"""Transitions of guided workflows, as pure functions. A refused move changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from baton.domain.errors import WorkflowUnavailable
from baton.domain.handoffs.workflow import UNFINISHED, Workflow, WorkflowStatus, title
from baton.domain.handoffs.workflow_definition import Data, WorkflowDefinition, WorkflowState
from baton.domain.schemas.json_schema import Problem, partial, problems

MAX_DATA = 64 * 1024
"""Bytes of collected data, as JSON."""


class IllegalTransition(Exception):
    """A move that is not allowed. Nothing has changed. The text is for the model."""

    def __init__(self, reason: str, *, legal: tuple[str, ...] = (), missing: tuple[str, ...] = ()) -> None:
        self.reason = reason
        self.legal = legal
        """The states that the workflow may move to now."""
        self.missing = missing
        """Fields to collect first."""
        sentences = [reason]
        if missing:
            sentences.append(f"Still missing: {', '.join(missing)}.")
        if legal:
            sentences.append(f"Possible now: {', '.join(legal)}.")
        super().__init__(" ".join(sentences))


@dataclass(frozen=True, slots=True)
class DefinitionChanged:
    """The definition has changed since the workflow's last move."""

    goes_on_in: str
    """The state before the change if it still exists and the data still fit, otherwise the first. No data are lost."""
    reason: str | None = None
    """The reason for which it cannot continue in its former state."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A continued workflow."""

    workflow: Workflow
    changed: DefinitionChanged | None = None


def begin(definition: WorkflowDefinition, *, id: str, agent_id: str, thread_id: str, now: datetime) -> Workflow:  # noqa: A002
    """Return a new workflow, in the first state."""
    return Workflow(
        id=id,
        agent_id=agent_id,
        name=_name(definition, {}),
        state=definition.first.name,
        data={definition.first.name: {}},
        thread_id=thread_id,
        version=definition.version,
        updated_at=now,
        expires_at=_expiry(definition, now),
    )


def advance(
    definition: WorkflowDefinition, workflow: Workflow, state: str, data: Mapping[str, Any], now: datetime
) -> Workflow:
    """Move the workflow to ``state``, after adding ``data`` to the data of its current state.

    Naming the current state stores the data and stays. Moving forward requires all data of the state; moving back does
    not. New values replace earlier ones. Reaching a final state completes the workflow.

    Raises ``IllegalTransition``.
    """
    here = _standing(definition, expire(workflow, now))
    collected = _add(definition, workflow, here, data)
    target = definition.state(state)
    if target is None:
        raise IllegalTransition(f"There is no state {state[:80]!r}.", legal=_open(definition, workflow, collected))
    if target.name != here.name:
        _check_way(definition, workflow, here, target, collected)
        collected = {**collected, target.name: collected.get(target.name, {})}
    return replace(
        workflow,
        state=target.name,
        data=collected,
        name=_name(definition, collected),
        status=WorkflowStatus.COMPLETED if target.final else WorkflowStatus.ACTIVE,
        updated_at=now,
        expires_at=_expiry(definition, now),
    )


def go_back(definition: WorkflowDefinition, workflow: Workflow, state: str | None, now: datetime) -> Workflow:
    """Return the workflow in an earlier state, with all data. It stays where it is if there is no such state."""
    target = definition.state(state) if state is not None else None
    if target is None or target.final:
        return workflow
    data = {**workflow.data, target.name: workflow.data.get(target.name, {})}
    return replace(workflow, state=target.name, data=data, updated_at=now)


def save(definition: WorkflowDefinition, workflow: Workflow, now: datetime) -> Workflow:
    """Save an active workflow, or discard it if its definition says so. Return others unchanged."""
    if workflow.status is not WorkflowStatus.ACTIVE:
        return workflow
    if definition.on_exit == "discard":
        return abandon(workflow, now)
    return replace(workflow, status=WorkflowStatus.SAVED, updated_at=now, expires_at=_expiry(definition, now))


def abandon(workflow: Workflow, now: datetime) -> Workflow:
    """Discard the workflow. A finished one is returned unchanged."""
    if workflow.status not in UNFINISHED:
        return workflow
    return replace(workflow, status=WorkflowStatus.ABANDONED, updated_at=now)


def expire(workflow: Workflow, now: datetime) -> Workflow:
    """Return the workflow, marked as expired if it was unfinished for too long at ``now``."""
    if workflow.status in UNFINISHED and now >= workflow.expires_at:
        return replace(workflow, status=WorkflowStatus.EXPIRED)
    return workflow


def resume(definition: WorkflowDefinition, workflow: Workflow, *, thread_id: str, now: datetime) -> Resumed:
    """Continue the workflow in ``thread_id``, even if it is active there and its definition has changed.

    Raises ``WorkflowUnavailable`` for one that is finished or expired.
    """
    if not workflow.is_unfinished(now):
        raise WorkflowUnavailable
    goes_on = replace(
        workflow,
        status=WorkflowStatus.ACTIVE,
        thread_id=thread_id,
        version=definition.version,
        updated_at=now,
        expires_at=_expiry(definition, now),
    )
    if workflow.version == definition.version:
        return Resumed(goes_on)
    reason = _obstacle(definition, workflow)
    state = workflow.state if reason is None else definition.first.name
    data = {**workflow.data, state: workflow.data.get(state, {})}
    goes_on = replace(goes_on, state=state, data=data, name=_name(definition, data))
    return Resumed(goes_on, DefinitionChanged(state, reason))


def missing(definition: WorkflowDefinition, workflow: Workflow) -> tuple[str, ...]:
    """Return the fields that are required before the workflow can move forward."""
    state = definition.state(workflow.state)
    if state is None or state.collects is None:
        return ()
    return _missing(state, workflow.data.get(state.name, {}))


def open_ways(definition: WorkflowDefinition, workflow: Workflow) -> tuple[str, ...]:
    """Return the states that the workflow may move to with its collected data."""
    return _open(definition, workflow, workflow.data)


def later_ways(definition: WorkflowDefinition, workflow: Workflow) -> tuple[str, ...]:
    """Return the states that the workflow may move to once more data is collected, perhaps by the move itself."""
    now = open_ways(definition, workflow)
    state = definition.state(workflow.state)
    names = [way.to for way in definition.ways(state.name)] if state is not None else []
    return tuple(name for name in dict.fromkeys(names) if name not in now)


def _standing(definition: WorkflowDefinition, workflow: Workflow) -> WorkflowState:
    """Return the workflow's state. Raises ``IllegalTransition`` if it cannot be advanced at all."""
    if workflow.status is not WorkflowStatus.ACTIVE:
        raise IllegalTransition(f"The workflow is {workflow.status.value}; it cannot be advanced.")
    state = definition.state(workflow.state)
    if state is None or workflow.version != definition.version:
        raise IllegalTransition("The workflow's definition has changed; it must be resumed first.")
    return state


def _add(definition: WorkflowDefinition, workflow: Workflow, here: WorkflowState, data: Mapping[str, Any]) -> Data:
    """Return all data with ``data`` added to that of the state. Raises ``IllegalTransition`` if it does not fit."""
    legal = _open(definition, workflow, workflow.data)
    try:
        # A copy, so that the caller cannot change the frozen workflow's data.
        values = json.loads(json.dumps(dict(data), allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        raise IllegalTransition("data must be a JSON object.", legal=legal) from None
    if values and here.collects is None:
        raise IllegalTransition(f"{here.name} collects nothing: leave data empty.", legal=legal)
    faults = problems(partial(here.collects), values) if here.collects is not None else []
    if faults:
        raise IllegalTransition(f"data does not fit: {_messages(faults)}.", legal=legal)
    collected = {**workflow.data, here.name: {**workflow.data.get(here.name, {}), **values}}
    if len(json.dumps(collected, ensure_ascii=False).encode("utf-8", "replace")) > MAX_DATA:
        raise IllegalTransition(f"A workflow keeps at most {MAX_DATA // 1024} KB: say it shorter.", legal=legal)
    return collected


def _check_way(
    definition: WorkflowDefinition, workflow: Workflow, here: WorkflowState, target: WorkflowState, data: Data
) -> None:
    """Raise ``IllegalTransition`` unless the transition from ``here`` to ``target`` exists and is open."""
    legal = _open(definition, workflow, data)
    ways = [way for way in definition.ways(here.name) if way.to == target.name]
    if not ways:
        raise IllegalTransition(f"{target.name} cannot follow {here.name}.", legal=legal)
    if definition.place(target.name) > definition.place(here.name) and here.collects is not None:
        faults = problems(here.collects, _declared(here, data[here.name]))
        if faults:
            raise IllegalTransition(
                f"{here.name} is not complete: {_messages(faults)}.",
                legal=legal,
                missing=_missing(here, data[here.name]),
            )
    shut = [way.when for way in ways if way.when is not None and not way.when.holds(here.name, data)]
    if len(shut) == len(ways):
        raise IllegalTransition(f"{target.name} is not open yet: {' or '.join(map(str, shut))}.", legal=legal)


def _open(definition: WorkflowDefinition, workflow: Workflow, data: Data) -> tuple[str, ...]:
    """Return the states that the workflow may move to with this data, in the definition's order."""
    here = definition.state(workflow.state)
    if here is None:
        return ()
    complete = here.collects is None or not problems(here.collects, _declared(here, data.get(here.name, {})))
    targets = [
        way.to
        for way in definition.ways(here.name)
        if (way.when is None or way.when.holds(here.name, data))
        and (complete or definition.place(way.to) < definition.place(here.name))
    ]
    return tuple(dict.fromkeys(targets))


def _declared(state: WorkflowState, collected: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state's data without fields of an earlier definition, if the schema allows no others."""
    schema = state.collects or {}
    if schema.get("additionalProperties", True) is not False:
        return collected
    return {name: value for name, value in collected.items() if name in schema.get("properties", {})}


def _missing(state: WorkflowState, collected: Mapping[str, Any]) -> tuple[str, ...]:
    faults = problems(state.collects or {}, _declared(state, collected))
    return tuple(dict.fromkeys(name for problem in faults for name in problem.missing))


def _obstacle(definition: WorkflowDefinition, workflow: Workflow) -> str | None:
    """Return why a workflow cannot stay in its state under a changed definition; None if it can."""
    here = definition.state(workflow.state)
    if here is None or here.final:
        return f"there is no state {workflow.state} any more"
    for state in definition.states[: definition.place(here.name) + 1]:
        if state.name not in workflow.data or state.collects is None:
            continue
        schema = partial(state.collects) if state.name == here.name else state.collects
        faults = problems(schema, _declared(state, workflow.data[state.name]))
        if faults:
            return f"{state.name} asks for something else now: {_messages(faults)}"
    return None


def _messages(faults: Sequence[Problem]) -> str:
    return "; ".join(problem.message for problem in faults)


def _expiry(definition: WorkflowDefinition, now: datetime) -> datetime:
    return now + timedelta(days=definition.expiry_days)


def _name(definition: WorkflowDefinition, data: Data) -> str:
    return title(definition, data) or definition.untitled or definition.name
