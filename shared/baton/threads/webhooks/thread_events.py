"""The events that a change of a thread means for webhooks, read from the thread."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from baton.domain.desks.desk_session import DeskStatus, ReturnReason
from baton.domain.handoffs.handoff import HandoffOutcome
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.tenants.webhook import WebhookEvent
from baton.domain.threads.message import MessageAuthor, Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import ConversationState, Thread
from baton.domain.threads.thread_change import ChangeKind, ChangeRecord, DeskChange
from baton.domain.threads.turn_requests import ActionRequest, ConversationAction, TurnRequest
from baton.domain.times import to_millis
from baton.ports.memory.episodes import Episodes
from baton.ports.threads.threads import ThreadStore

MAX_TEXT = 100_000
"""Characters of a message's text in an event. ``isCut`` says that there are more, which the API has."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ThreadEvent:
    """An event of a thread. A change always has the same events, however often they are computed."""

    type: WebhookEvent
    id: str
    at: datetime
    data: Json


def find_desk_change(state: ConversationState, request: TurnRequest, end: RunEnd) -> DeskChange | None:
    """Return what a run of ``request`` that began in ``state`` changes at a desk; None if it changes nothing."""
    if end.change is None:
        return None
    agent_id, before, after = end.change.conversation.agent_id, state.desk, end.change.conversation.desk
    if after is None:
        return _find_return(state, request, end)
    if before is None or (state.agent_id, before.arrived_at) != (agent_id, after.arrived_at):
        return DeskChange(WebhookEvent.DESK_WAITING, agent_id)
    is_taken = after.status is DeskStatus.ACTIVE and (before.status, before.since) != (after.status, after.since)
    return DeskChange(WebhookEvent.DESK_TAKEN, agent_id) if is_taken else None


def find_desk_close(thread: Thread) -> DeskChange | None:
    """Return what the end of the thread's session changes at its desk; None if the thread is at no desk."""
    if thread.conversation.desk is None:
        return None
    return DeskChange(WebhookEvent.DESK_RETURNED, thread.active_agent_id, ReturnReason.CLOSED)


def _find_return(state: ConversationState, request: TurnRequest, end: RunEnd) -> DeskChange | None:
    """Return the return from the desk of ``state``, with its reason; None if the run did not begin at a desk."""
    if state.desk is None:
        return None
    if isinstance(request, ActionRequest) and request.action is ConversationAction.DESK_RETURN:
        reason = request.return_reason
    elif end.change is not None and any(handoff.outcome is HandoffOutcome.EXITED for handoff in end.change.handoffs):
        reason = ReturnReason.USER
    else:
        reason = ReturnReason.UNAVAILABLE
    return DeskChange(WebhookEvent.DESK_RETURNED, state.agent_id, reason)


def list_possible_events(end: RunEnd, *, ends_session: bool, desk: WebhookEvent | None) -> Iterator[WebhookEvent]:
    """Yield the types of events that a run with this end may have, in the order of its events."""
    yield WebhookEvent.MESSAGE_CREATED
    if desk is not None:
        yield desk
    if any(workflow.status is WorkflowStatus.COMPLETED for workflow in _list_workflows(end)):
        yield WebhookEvent.WORKFLOW_COMPLETED
    if any(not interrupt.is_client_call for interrupt in end.interrupts):
        yield WebhookEvent.APPROVAL_REQUESTED
    if end.outcome is OutcomeType.ERROR:
        yield WebhookEvent.RUN_FAILED
    if ends_session:
        yield WebhookEvent.THREAD_CLOSED


@dataclass(frozen=True, slots=True)
class ThreadEvents:
    """A reader of the events of changes."""

    store: ThreadStore
    episodes: Episodes

    async def of(self, change: ChangeRecord, thread: Thread) -> Sequence[ThreadEvent]:
        """Return the change's events in order. Raises ``StoreUnavailable``.

        ``thread`` is the thread as it is now. A change that was never committed has no events.
        """
        events: list[ThreadEvent] = []
        if change.kind is ChangeKind.ENDED and change.ordinal is not None:
            messages = await self.store.run_messages(
                change.scope, thread.id, first_ordinal=change.ordinal, below=thread.next_ordinal
            )
            run_messages = [message for message in messages if message.run_id == change.run_id]
            if not run_messages or run_messages[0].ordinal != change.ordinal:
                return ()  # the attempt that was committed later has queued a separate change
            events += _list_run_events(run_messages, thread, change)
            if change.first_ordinal is not None:
                events += await self._read_session_events(change, thread, end_ordinal=run_messages[-1].ordinal + 1)
        if change.kind is ChangeKind.CLOSED:
            events += await self._read_session_events(change, thread, end_ordinal=change.ordinal)
        return events

    async def _read_session_events(
        self, change: ChangeRecord, thread: Thread, *, end_ordinal: int | None
    ) -> Sequence[ThreadEvent]:
        """Return the events of a session that ended before ``end_ordinal``; None for changes of earlier releases."""
        # A session is recorded before its end is committed, and counted by the commit.
        if change.episode is None or thread.episode <= change.episode:
            return ()
        ref = await self.episodes.get_ref(change.scope, thread.id, change.episode)
        if ref is None or end_ordinal not in (None, ref.end_ordinal):
            return ()  # the worker that ended the session later has queued a separate change
        session: Json = {"episodeId": ref.id, "reason": ref.reason.value}
        person: Json = {"person": MessageAuthor.of(ref.closed_by).wire()} if ref.closed_by is not None else {}
        closed_event = _make_event(thread, WebhookEvent.THREAD_CLOSED, ref.id, ref.ended_at, session | person)
        # The session's record counts, not the change: an earlier worker may have died that closed it at a desk.
        if ref.desk_id is None or change.kind is not ChangeKind.CLOSED:
            return [closed_event]
        desk: Json = {"deskId": ref.desk_id, "reason": ReturnReason.CLOSED.value} | person
        return [_make_event(thread, WebhookEvent.DESK_RETURNED, ref.id, ref.ended_at, desk), closed_event]


def _list_run_events(messages: Sequence[StoredMessage], thread: Thread, change: ChangeRecord) -> Iterator[ThreadEvent]:
    """Yield the events of a committed run. Its last message has its end."""
    end = messages[-1].end if messages else None
    if end is None:
        return
    last = messages[-1]
    run: Json = {"runId": last.run_id}
    for message in messages:
        if _is_new(message):
            created = run | _make_message_data(message)
            yield _make_event(thread, WebhookEvent.MESSAGE_CREATED, f"{message.ordinal}", message.timestamp, created)
    if end.change is not None:
        desk_event = _make_desk_event(thread, change, end.change.conversation, last)
        if desk_event is not None:
            yield desk_event
    for workflow in _list_workflows(end):
        if workflow.status is WorkflowStatus.COMPLETED:
            collected = {
                "id": workflow.id,
                "agentId": workflow.agent_id,
                "name": workflow.name,
                "state": workflow.state,
                "data": {state: dict(fields) for state, fields in workflow.data.items() if fields},
                "result": workflow.result,
            }
            completed = run | {"workflow": collected}
            yield _make_event(thread, WebhookEvent.WORKFLOW_COMPLETED, workflow.id, workflow.updated_at, completed)
    approvals = [interrupt for interrupt in end.interrupts if not interrupt.is_client_call]
    if approvals:
        interrupts = [interrupt.as_ag_ui().model_dump(by_alias=True, mode="json") for interrupt in approvals]
        requested = run | {"agentId": last.agent_id, "interrupts": interrupts}
        yield _make_event(thread, WebhookEvent.APPROVAL_REQUESTED, last.run_id, last.timestamp, requested)
    if end.outcome is OutcomeType.ERROR:
        failed = run | {"messageId": messages[0].shown_id, "code": end.error_code, "message": end.error_detail}
        yield _make_event(thread, WebhookEvent.RUN_FAILED, last.run_id, last.timestamp, failed)


def _make_desk_event(
    thread: Thread, change: ChangeRecord, state: ConversationState, last: StoredMessage
) -> ThreadEvent | None:
    """Return the desk event of a run after which the conversation is in ``state``; None if it has none."""
    event, session = change.desk, state.desk
    if event is None or (event is WebhookEvent.DESK_RETURNED) != (session is None):
        return None  # another worker has committed the run, with another end
    data: Json = {"runId": last.run_id, "deskId": change.desk_id if session is None else state.agent_id}
    if session is None:
        data["reason"] = change.return_reason
    elif event is WebhookEvent.DESK_TAKEN and session.person is not None:
        data["person"] = MessageAuthor.of(session.person).wire()
    return _make_event(thread, event, last.run_id, session.since if session is not None else last.timestamp, data)


def _list_workflows(end: RunEnd) -> Sequence[Workflow]:
    """Return the workflows that the run has changed."""
    return end.change.workflows if end.change is not None else ()


def _is_new(message: StoredMessage) -> bool:
    """Return whether somebody said the message in this run. A regenerated answer repeats the user's question."""
    is_repeated = message.role is Role.USER and message.branch is not None and message.branch.is_regenerate
    return message.is_said and not is_repeated and not message.is_handoff_summary


def _make_message_data(message: StoredMessage) -> Json:
    """Return a message as the API shows it, without calls of tools, and with the beginning of a very long text."""
    api_message = message.as_ag_ui().model_dump(by_alias=True, mode="json", exclude_none=True)
    api_message.pop("toolCalls", None)
    is_cut = message.begun_by is None and len(message.text) > MAX_TEXT  # a message with a cause has only a label here
    if is_cut:
        api_message["content"] = message.text[:MAX_TEXT]
    return {"message": api_message, "isCut": is_cut}


def _make_event(thread: Thread, event: WebhookEvent, key: str, at: datetime, data: Json) -> ThreadEvent:
    of_thread = {"threadId": thread.id, "userId": thread.user_id}
    created_at = to_millis(thread.created_at)  # the id of a forgotten conversation may be used again
    event_id = uuid.uuid5(uuid.UUID(thread.id), f"webhook\0{created_at}\0{event.value}\0{key}")
    return ThreadEvent(event, f"evt_{event_id.hex}", at, of_thread | data)
