"""Transitions of guided workflows, as pure functions. A refused move changes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from baton.domain.errors import WorkflowUnavailable
from baton.domain.handoffs.workflow import UNFINISHED, Workflow, WorkflowStatus, fill_title
from baton.domain.handoffs.workflow_definition import Data, WorkflowDefinition, WorkflowState
from baton.domain.schemas.json_schema import Problem, find_problems, make_partial

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
    """The former state if it still exists and the data still fit, otherwise the first state. No data are lost."""
    reason: str | None = None
    """The reason why it cannot continue in its former state."""


@dataclass(frozen=True, slots=True)
class ResumedWorkflow:
    """A resumed workflow, and the change of its definition since its last move; None if it has not changed."""

    workflow: Workflow
    changed: DefinitionChanged | None = None


def begin(definition: WorkflowDefinition, *, id: str, agent_id: str, thread_id: str, now: datetime) -> Workflow:  # noqa: A002
    """Return a new workflow, in the first state."""
    return Workflow(
        id=id,
        agent_id=agent_id,
        name=_choose_name(definition, {}),
        state=definition.first.name,
        data={definition.first.name: {}},
        thread_id=thread_id,
        version=definition.version,
        updated_at=now,
        expires_at=_compute_expiry(definition, now),
    )


def advance(
    definition: WorkflowDefinition, workflow: Workflow, state: str, data: Mapping[str, Any], now: datetime
) -> Workflow:
    """Return the workflow moved to ``state``, with ``data`` added to the data of its current state.

    If ``state`` is the current state, the data is stored and the workflow stays. Moving forward requires all data of
    the current state. Moving back does not, but the data of later states then no longer counts and must be given
    again. New values replace earlier ones. Reaching a final state completes the workflow.

    Raises ``IllegalTransition``.
    """
    current = _find_advanceable_state(definition, expire(workflow, now))
    collected = _add_data(definition, workflow, current, data)
    target = definition.find_state(state)
    if target is None:
        legal = _list_open_targets(definition, workflow, collected)
        raise IllegalTransition(f"There is no state {state[:80]!r}.", legal=legal)
    if target.name != current.name:
        _check_transition(definition, workflow, current, target, collected)
    moved = _enter(definition, replace(workflow, data=collected), target)
    return replace(
        moved,
        name=_choose_name(definition, moved.data),
        status=WorkflowStatus.COMPLETED if target.final else WorkflowStatus.ACTIVE,
        updated_at=now,
        expires_at=_compute_expiry(definition, now),
    )


def go_back(definition: WorkflowDefinition, workflow: Workflow, state: str | None, now: datetime) -> Workflow:
    """Return the workflow in an earlier state; unchanged if that is None, unknown or final."""
    target = definition.find_state(state) if state is not None else None
    if target is None or target.final:
        return workflow
    return replace(_enter(definition, workflow, target), updated_at=now)


def _enter(definition: WorkflowDefinition, workflow: Workflow, target: WorkflowState) -> Workflow:
    """Return the workflow in ``target``. The data of later states no longer counts: it becomes proposals.

    Going back keeps the data of ``target`` itself, so that it can be changed. A state that is entered forwards begins
    without data, because an earlier consent in it was given for other data. A completed workflow has no
    proposals.
    """
    current = definition.find_state(workflow.state)
    is_forward = current is not None and definition.find_index(target.name) > definition.find_index(current.name)
    first_later = definition.find_index(target.name) + (0 if is_forward else 1)
    later = {state.name for state in definition.states[first_later:]}
    proposals = {**workflow.proposals, **{name: data for name, data in workflow.data.items() if name in later and data}}
    if is_forward and current is not None:
        proposals.pop(current.name, None)
    remaining = {name: data for name, data in workflow.data.items() if name not in later}
    return replace(
        workflow,
        state=target.name,
        data={**remaining, target.name: remaining.get(target.name, {})},
        proposals={} if target.final else proposals,
    )


def save(definition: WorkflowDefinition, workflow: Workflow, now: datetime) -> Workflow:
    """Return an active workflow as saved, or as abandoned if its definition says so; others unchanged."""
    if workflow.status is not WorkflowStatus.ACTIVE:
        return workflow
    if definition.on_exit == "discard":
        return abandon(workflow, now)
    return replace(workflow, status=WorkflowStatus.SAVED, updated_at=now, expires_at=_compute_expiry(definition, now))


def abandon(workflow: Workflow, now: datetime) -> Workflow:
    """Return the workflow as abandoned. A finished workflow is returned unchanged."""
    if workflow.status not in UNFINISHED:
        return workflow
    return replace(workflow, status=WorkflowStatus.ABANDONED, updated_at=now)


def expire(workflow: Workflow, now: datetime) -> Workflow:
    """Return the workflow, marked as expired if it is unfinished and its time is over at ``now``."""
    if workflow.status in UNFINISHED and now >= workflow.expires_at:
        return replace(workflow, status=WorkflowStatus.EXPIRED)
    return workflow


def resume(definition: WorkflowDefinition, workflow: Workflow, *, thread_id: str, now: datetime) -> ResumedWorkflow:
    """Return the workflow as active in ``thread_id``, even if it is active already or its definition has changed.

    Raises ``WorkflowUnavailable`` if it is finished or expired.
    """
    if not workflow.is_unfinished(now):
        raise WorkflowUnavailable
    resumed = replace(
        workflow,
        status=WorkflowStatus.ACTIVE,
        thread_id=thread_id,
        version=definition.version,
        updated_at=now,
        expires_at=_compute_expiry(definition, now),
    )
    if workflow.version == definition.version:
        return ResumedWorkflow(resumed)
    reason = _find_obstacle(definition, workflow)
    if reason is not None:
        resumed = _enter(definition, resumed, definition.first)
    resumed = replace(resumed, name=_choose_name(definition, resumed.data))
    return ResumedWorkflow(resumed, DefinitionChanged(resumed.state, reason))


def find_missing(definition: WorkflowDefinition, workflow: Workflow) -> tuple[str, ...]:
    """Return the fields that are required before the workflow can move forward."""
    state = definition.find_state(workflow.state)
    if state is None:
        return ()
    return _find_missing(state, workflow.data.get(state.name, {}))


def list_open_targets(definition: WorkflowDefinition, workflow: Workflow) -> tuple[str, ...]:
    """Return the states that the workflow may move to with its collected data."""
    return _list_open_targets(definition, workflow, workflow.data)


def list_later_targets(definition: WorkflowDefinition, workflow: Workflow) -> tuple[str, ...]:
    """Return the states that the workflow may move to once more data is collected, perhaps by the move itself."""
    open_targets = list_open_targets(definition, workflow)
    state = definition.find_state(workflow.state)
    names = [transition.to for transition in definition.list_transitions(state.name)] if state is not None else []
    return tuple(name for name in dict.fromkeys(names) if name not in open_targets)


def _find_advanceable_state(definition: WorkflowDefinition, workflow: Workflow) -> WorkflowState:
    """Return the workflow's state. Raises ``IllegalTransition`` if it cannot be advanced at all."""
    if workflow.status is not WorkflowStatus.ACTIVE:
        raise IllegalTransition(f"The workflow is {workflow.status.value}; it cannot be advanced.")
    state = definition.find_state(workflow.state)
    if state is None or workflow.version != definition.version:
        raise IllegalTransition("The workflow's definition has changed; it must be resumed first.")
    return state


def _add_data(
    definition: WorkflowDefinition, workflow: Workflow, current: WorkflowState, data: Mapping[str, Any]
) -> Data:
    """Return all data with ``data`` added to that of the state. Raises ``IllegalTransition`` if it does not fit."""
    legal = _list_open_targets(definition, workflow, workflow.data)
    try:
        # A copy, so that the caller cannot change the frozen workflow's data.
        values = json.loads(json.dumps(dict(data), allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        raise IllegalTransition("data must be a JSON object.", legal=legal) from None
    if values and current.collects is None:
        raise IllegalTransition(f"{current.name} collects nothing: leave data empty.", legal=legal)
    collected = {**workflow.data, current.name: {**workflow.data.get(current.name, {}), **values}}
    if faults := _find_partial_faults(current, values, collected[current.name]):
        raise IllegalTransition(f"data does not fit: {_join_messages(faults)}.", legal=legal)
    if len(json.dumps([collected, workflow.proposals], ensure_ascii=False).encode("utf-8", "replace")) > MAX_DATA:
        raise IllegalTransition(f"A workflow keeps at most {MAX_DATA // 1024} KB: send less data.", legal=legal)
    return collected


def _check_transition(
    definition: WorkflowDefinition, workflow: Workflow, current: WorkflowState, target: WorkflowState, data: Data
) -> None:
    """Raise ``IllegalTransition`` unless the transition from ``current`` to ``target`` exists and is open."""
    legal = _list_open_targets(definition, workflow, data)
    conditions = [
        transition.when for transition in definition.list_transitions(current.name) if transition.to == target.name
    ]
    if not conditions:
        raise IllegalTransition(f"{target.name} cannot follow {current.name}.", legal=legal)
    if definition.find_index(target.name) > definition.find_index(current.name) and current.collects is not None:
        faults = _find_faults(current, data[current.name])
        if faults:
            raise IllegalTransition(
                f"{current.name} is not complete: {_join_messages(faults)}.",
                legal=legal,
                missing=_find_missing(current, data[current.name]),
            )
    unmet = [condition for condition in conditions if condition is not None and not condition.holds(current.name, data)]
    if len(unmet) == len(conditions):
        raise IllegalTransition(f"{target.name} is not open yet: {' or '.join(map(str, unmet))}.", legal=legal)


def _list_open_targets(definition: WorkflowDefinition, workflow: Workflow, data: Data) -> tuple[str, ...]:
    """Return the states that the workflow may move to with this data, in the definition's order."""
    current = definition.find_state(workflow.state)
    if current is None:
        return ()
    is_complete = not _find_faults(current, data.get(current.name, {}))
    targets = [
        transition.to
        for transition in definition.list_transitions(current.name)
        if (transition.when is None or transition.when.holds(current.name, data))
        and (is_complete or definition.find_index(transition.to) < definition.find_index(current.name))
    ]
    return tuple(dict.fromkeys(targets))


def _find_faults(state: WorkflowState, collected: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the problems of the data because of which the state cannot be left forwards."""
    if state.collects is None:
        return ()
    declared = _select_declared(state, collected)
    faults = find_problems(state.collects, declared)
    if faults or state.check is None:
        return faults
    return [Problem(str(problem)) for problem in state.check(declared)]


def _find_partial_faults(
    state: WorkflowState, values: Mapping[str, Any], collected: Mapping[str, Any]
) -> Sequence[Problem]:
    """Return the problems of new values. ``collected`` is the state's data with them, which may be incomplete."""
    if state.collects is None:
        return ()
    faults = find_problems(make_partial(state.collects), values)
    if faults or state.check is None:
        return faults
    unknown = [name for name in values if name not in _select_declared(state, values)]
    if unknown:
        return [Problem(f"{state.name} has no field {', '.join(map(repr, sorted(unknown)[:10]))}")]
    mismatches = state.check(_select_declared(state, collected))
    # Problems of several fields together, and missing fields, count when the state is left.
    return [
        Problem(str(problem))
        for problem in mismatches
        if problem.kind != "missing" and values.keys() & problem.path[:1]
    ]


def _select_declared(state: WorkflowState, collected: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state's data without fields of an earlier definition, if the schema or the type allows no others."""
    schema = state.collects or {}
    # Python types ignore other fields by default, and their schemas then lack ``additionalProperties``.
    if schema.get("additionalProperties", state.check is None) is not False:
        return collected
    return {name: value for name, value in collected.items() if name in schema.get("properties", {})}


def _find_missing(state: WorkflowState, collected: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for problem in _find_faults(state, collected) for name in problem.missing))


def _find_obstacle(definition: WorkflowDefinition, workflow: Workflow) -> str | None:
    """Return why a workflow cannot stay in its state under a changed definition; None if it can stay."""
    current = definition.find_state(workflow.state)
    if current is None:
        return f"there is no state {workflow.state} any more"
    if current.final:
        return f"{current.name} is the end now"
    for state in definition.states[: definition.find_index(current.name) + 1]:
        if state.name not in workflow.data or state.collects is None:
            continue
        data = workflow.data[state.name]
        is_current = state.name == current.name
        faults = (
            _find_partial_faults(state, _select_declared(state, data), data)
            if is_current
            else _find_faults(state, data)
        )
        if faults:
            return f"{state.name} asks for something else now: {_join_messages(faults)}"
    return None


def _join_messages(faults: Sequence[Problem]) -> str:
    return "; ".join(problem.message for problem in faults)


def _compute_expiry(definition: WorkflowDefinition, now: datetime) -> datetime:
    return now + timedelta(days=definition.expiry_days)


def _choose_name(definition: WorkflowDefinition, data: Data) -> str:
    return fill_title(definition, data) or definition.untitled or definition.name
