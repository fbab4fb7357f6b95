"""Observe a conversation by the events that clients get, and by the records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from baton.domain.errors import MessageWithdrawn, ThreadUnavailable
from baton.domain.handoffs.handoff import HandoffOutcome, HandoffRequest
from baton.domain.runs.task import Task
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.schedules.run_source import CauseKind
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton_client.interrupt_texts import write_text
from baton_testing.conversation_ports import ConversationPorts
from baton_testing.models.own_time import OwnTime
from baton_testing.observation import Called, Observation, Said

MANY = 10_000
"""A limit above the number of calls, sub-tasks and handoffs of any test, so that each list is read whole."""


class Watch:
    """An observer of what each step adds to a user's conversations."""

    def __init__(self, ports: ConversationPorts, scope: Scope, own_time: OwnTime) -> None:
        self._ports = ports
        self._scope = scope
        self._calls: set[str] = set()
        self._tasks: set[str] = set()
        self._handoffs: dict[str, HandoffOutcome | None] = {}
        self._closed: Counter[str] = Counter()
        """The number of closings seen so far, by conversation."""
        self._tokens = 0
        self._states = 0
        self._problems: list[str] = []
        self._own_time = own_time

    def add_problem(self, reason: str) -> None:
        """Add a reason why the step cannot be done."""
        self._problems.append(reason)

    def begin(self) -> None:
        """Begin a step, from which Baton's own time counts."""
        self._own_time.restart()

    async def end(self, title: str, thread_id: str, events: Sequence[Event], error: str | None) -> Observation:
        """Return the observation of a conversation since the last step. ``error`` is the code of a refused request."""
        milliseconds = self._own_time.milliseconds
        calls = [call for call in await self._read_calls(thread_id) if call.id not in self._calls]
        self._calls.update(call.id for call in calls)
        tasks = [task for task in await self._read_tasks(thread_id) if task.id not in self._tasks]
        self._tasks.update(task.id for task in tasks)
        targets, returned = self._find_new_handoffs(await self._read_handoffs(thread_id))
        tokens, self._tokens = self._ports.model.tokens - self._tokens, self._ports.model.tokens
        states, self._states = self._ports.workflows.states[self._states :], len(self._ports.workflows.states)
        problems, self._problems = self._problems, []
        interrupts = _list_interrupts(events)
        return Observation(
            title=title,
            said=_list_said(events),
            calls=tuple(
                Called(call.agent_id, call.tool_name, call.input, call.output, call.succeeded, call.error_message)
                for call in calls
            ),
            consulted=tuple(task.agent_id for task in tasks),
            handoffs=tuple(targets),
            returns=returned,
            workflow_states=tuple(dict.fromkeys(states)),
            workflow=next(iter(self._ports.workflows.states[-1:]), None),
            approvals=tuple(str((interrupt.get("metadata") or {}).get("toolName")) for interrupt in interrupts),
            questions=tuple(write_text(interrupt) for interrupt in interrupts),
            closings=self._list_new_closings(thread_id),
            desk=await self._read_desk_status(thread_id),
            delivered=any(outcome.get("type") == "delivered" for outcome in _list_outcomes(events)),
            people=_list_people(events),
            begun_by=_list_causes(events),
            steered=_list_steered(events),
            interrupted=any(outcome.get("type") == "cancelled" for outcome in _list_outcomes(events)),
            withdrawn=sum(_is_withdrawal(event) for event in events),
            result=_find_result(events),
            error=error or _find_error(events),
            problems=tuple(problems),
            tokens=tokens,
            milliseconds=milliseconds,
            sources=_list_sources(events),
            runs=tuple(str(event.body.get("runId")) for event in events if event.type == "RUN_FINISHED"),
        )

    def _find_new_handoffs(self, requests: Sequence[HandoffRequest]) -> tuple[list[str], int]:
        """Return the targets of new handoffs, and the number of handoffs that have ended since the last step."""
        targets, returned = [], 0
        for request in reversed(requests):
            if request.outcome is HandoffOutcome.REFUSED:
                continue
            if request.id not in self._handoffs:
                targets.append(request.target_agent_id)
            if request.outcome is not None and self._handoffs.get(request.id) is None:
                returned += 1
            self._handoffs[request.id] = request.outcome
        return targets, returned

    async def _read_desk_status(self, thread_id: str) -> str | None:
        try:
            thread = await self._ports.store.get_thread(self._scope, thread_id)
        except ThreadUnavailable:
            return None
        session = thread.conversation.desk
        return session.status.value if session is not None else None

    def _list_new_closings(self, thread_id: str) -> tuple[str, ...]:
        """Return the reasons of the closings since the last step."""
        episode_refs = [ref for ref in self._ports.closings.started.values() if ref.thread_id == thread_id]
        new, self._closed[thread_id] = episode_refs[self._closed[thread_id] :], len(episode_refs)
        return tuple(ref.reason.value for ref in new)

    async def _read_calls(self, thread_id: str) -> Sequence[ToolCallRecord]:
        calls, _ = await self._ports.records.list_calls(self._scope, thread_id, limit=MANY, cursor=None)
        return sorted(calls, key=self._ports.records.make_sort_key)

    async def _read_tasks(self, thread_id: str) -> Sequence[Task]:
        tasks, _ = await self._ports.records.list_tasks(self._scope, thread_id, limit=MANY, cursor=None)
        return sorted(tasks, key=lambda task: self._ports.records.places[task.id])

    async def _read_handoffs(self, thread_id: str) -> Sequence[HandoffRequest]:
        requests, _ = await self._ports.handoffs.of_thread(self._scope, thread_id, limit=MANY, cursor=None)
        return requests


def _list_said(events: Sequence[Event]) -> tuple[Said, ...]:
    speakers: dict[str, tuple[str, str]] = {}
    people: set[str] = set()
    texts: dict[str, list[str]] = {}
    for event in events:
        message_id = str(event.body.get("messageId"))
        if event.type == "TEXT_MESSAGE_START":
            metadata = event.body.get("metadata") or {}
            speakers[message_id] = str(metadata.get("agentId")), str(event.body.get("name"))
            if metadata.get("author"):
                people.add(message_id)
            texts[message_id] = []
        elif event.type == "TEXT_MESSAGE_CONTENT":
            texts[message_id].append(str(event.body["delta"]))
    return tuple(
        Said(*speakers[message_id], "".join(pieces), is_person=message_id in people)
        for message_id, pieces in texts.items()
        if pieces
    )


def _list_sources(events: Sequence[Event]) -> tuple[Mapping[str, Any], ...]:
    ends = [event.body.get("metadata") or {} for event in events if event.type == "TEXT_MESSAGE_END"]
    return tuple(source for end in ends for source in end.get("sources") or ())


def _list_outcomes(events: Sequence[Event]) -> list[Mapping[str, Any]]:
    return [event.body.get("outcome") or {} for event in events if event.type == "RUN_FINISHED"]


def _list_people(events: Sequence[Event]) -> tuple[str, ...]:
    starts = [event.body.get("metadata") or {} for event in events if event.type == "TEXT_MESSAGE_START"]
    return tuple(str(start["author"]["name"]) for start in starts if start.get("author"))


def _list_causes(events: Sequence[Event]) -> tuple[str, ...]:
    starts = [event.body.get("metadata") or {} for event in events if event.type == "RUN_STARTED"]
    return tuple(start["openedBy"] for start in starts if start.get("openedBy") in tuple(CauseKind))


def _list_steered(events: Sequence[Event]) -> tuple[str, ...]:
    entries = [event.body["value"] for event in events if event.body.get("name") == "message_steered"]
    return tuple(str(entry["message"]["content"]) for entry in entries)


def _is_withdrawal(event: Event) -> bool:
    return event.type == "RUN_ERROR" and event.body.get("code") == MessageWithdrawn.code


def _list_interrupts(events: Sequence[Event]) -> list[Mapping[str, Any]]:
    return [interrupt for outcome in _list_outcomes(events) for interrupt in outcome.get("interrupts") or ()]


def _find_result(events: Sequence[Event]) -> Any:
    results = [event.body.get("result") for event in events if event.type == "RUN_FINISHED"]
    return next((result for result in reversed(results) if result is not None), None)


def _find_error(events: Sequence[Event]) -> str | None:
    failures = [event for event in events if event.type == "RUN_ERROR" and not _is_withdrawal(event)]
    return next((str(event.body["code"]) for event in failures), None)
