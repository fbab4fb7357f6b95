"""The actions that clients send over the WebSocket. Each is answered or queued without a wait for a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from baton.agents.approvals import Approvals
from baton.concurrency.tasks import work_for
from baton.domain.errors import (
    BatonError,
    InvalidRequest,
    MalformedJson,
    MessageTooLarge,
    TenantRemoved,
    TokenExpired,
    UnknownAction,
)
from baton.domain.json_values import MAX_MEMBERS, MemberCount, refuse_constant
from baton.domain.metrics import Metric, count
from baton.domain.runs.interrupt import to_client_interrupts
from baton.domain.tenants.activity import CounterKind
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import (
    MAX_FRAME_BYTES,
    Event,
    make_custom,
    make_run_error,
    make_state_snapshot,
    make_unsequenced,
)
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread_state import describe_thread_state
from baton.domain.threads.turn_requests import ActionRequest
from baton.entry.controls import Controls
from baton.failures.reports import report_failure
from baton.ports.clock import Clock, read_machine_time
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.connections import Connections, LiveRegistry
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import TurnQueue
from baton.tenants.privacy.readers import Readers, sees_all
from baton.tenants.rates import PlaceLimits
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.tenants.removed_tenants import RemovedTenants
from baton.threads.outbox.connection_sender import send_to
from baton.threads.outbox.reader_events import ReaderEvents, find_beginning
from baton.threads.outbox.replay import MAX_SEQ, Replays
from baton.threads.requests.parsing import (
    parse_client_offer,
    parse_integer,
    parse_interrupt_decision,
    parse_locale,
    parse_message_request,
    parse_run_id,
    parse_thread_id,
)
from baton.threads.requests.queue_mapping import make_queued_action, make_queued_decision, make_queued_message
from baton.threads.requests.thread_access import read_and_audit_thread
from baton.threads.requests.waiting_messages import WaitingMessages

CONNECTION_LIFE = timedelta(hours=2)
"""API Gateway ends every WebSocket after two hours."""
MAX_SUBJECT = 256
"""Characters of an id in a refused frame that the refusal repeats. Longer ids are left out."""
RECONNECT_BEFORE = timedelta(minutes=10)
"""The time before the end of a connection from which the client is advised to reconnect."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The connection of a frame, and its user."""

    scope: Scope
    connection_id: str
    request_id: str
    token_expires_at: datetime
    connected_at: datetime

    @property
    def subscriber(self) -> Subscriber:
        """The connection as a subscriber, for the turn of a message."""
        return Subscriber(self.connection_id, self.token_expires_at)


@dataclass(frozen=True, slots=True)
class Actions:
    """The handler of frames. Answers and refusals are sent to the frame's connection.

    A refusal ends no run. It closes the connection only if the token has expired or the tenant was removed.
    """

    store: ThreadStore
    queue: TurnQueue
    live: LiveRegistry
    connections: Connections
    controls: Controls
    approvals: Approvals
    replays: Replays
    agents: AgentRegistry
    audit: AuditLog
    readers: Readers
    clock: Clock
    places: PlaceLimits
    waiting: WaitingMessages
    removed_tenants: RemovedTenants

    async def handle(self, caller: Caller, frame: str) -> None:
        """Handle a frame. Errors of Baton are sent to the client and not raised."""
        fields: dict[str, Any] = {}
        work_for(caller.scope.tenant_id)
        try:
            if read_machine_time(self.clock) >= caller.token_expires_at:
                raise TokenExpired
            await self.removed_tenants.check(caller.scope)
            fields = parse_frame(frame)
            await self._act(caller, fields)
            await self._advise_reconnection(caller)
        except BatonError as error:
            if error.status >= 500:
                count(Metric.REQUESTS_FAILED)
                report_failure(error, "request failed", action=fields.get("action"))
            await self._reply(caller, make_refusal(error, caller, fields))
            if isinstance(error, TokenExpired | TenantRemoved):
                await self.connections.close(caller.connection_id)

    async def admit_connection(self, scope: Scope, connection_id: str) -> None:
        """Count a new connection in the limits of its tenant and user, for ``CONNECTION_LIFE`` at most.

        Raises ``TenantRemoved``, ``StoreUnavailable``, and ``RateLimited`` if the tenant or the user has too many.
        """
        await self.removed_tenants.check(scope)
        seconds = CONNECTION_LIFE.total_seconds()
        await self.places.take(scope, CounterKind.CONNECTIONS, connection_id, seconds=seconds)

    async def forget_connection(self, connection_id: str, scope: Scope | None = None) -> None:
        """Forget a connection that has ended. ``scope`` is the scope of its user; None if it is unknown."""
        await self.live.disconnect(connection_id)
        if scope is not None:
            await self.places.give_back(scope, CounterKind.CONNECTIONS, connection_id)

    async def _act(self, caller: Caller, fields: dict[str, Any]) -> None:
        action = fields.get("action")
        if not isinstance(action, str):
            raise InvalidRequest("action must be a string.")
        act = _ACTS.get(action)
        if act is None:
            raise UnknownAction(f"There is no action {action[:40]!r}. Known actions: {', '.join(ACTIONS)}.")
        await act(self, caller, fields)

    async def _advise_reconnection(self, caller: Caller) -> None:
        """Advise the client to open a new connection if this connection ends soon. Both may be open for a while."""
        remaining = caller.connected_at + CONNECTION_LIFE - read_machine_time(self.clock)
        if remaining < RECONNECT_BEFORE:
            advice = make_custom("reconnect", {"secondsLeft": max(0, int(remaining.total_seconds()))})
            await self._reply(caller, make_unsequenced(advice))

    async def _queue_message(self, caller: Caller, fields: dict[str, Any]) -> None:
        scope = caller.scope.in_language(parse_locale(fields.get("locale")))
        request = parse_message_request(
            scope,
            thread_id=fields.get("threadId"),
            message_id=fields.get("messageId"),
            content=fields.get("content"),
            agent_id=fields.get("agentId"),
            branch=fields.get("branch"),
            client=parse_client_offer(fields.get("tools"), fields.get("context")),
            time_zone=fields.get("timeZone"),
            while_busy=fields.get("whileBusy"),
            over_spending=fields.get("overSpending"),
        )
        queued = make_queued_message(scope, request, request_id=caller.request_id, subscriber=caller.subscriber)
        mode = await self.waiting.send(self.queue, scope, queued)
        busy = mode.as_accepted if mode is not None else None
        value = {"messageId": request.message_id, "threadId": request.thread.id, "busy": busy}
        await self._reply(caller, make_unsequenced(make_custom("message_accepted", value), threadId=request.thread.id))

    async def _resume(self, caller: Caller, fields: dict[str, Any]) -> None:
        scope = caller.scope
        thread_id = parse_thread_id(scope, fields.get("threadId")).id
        after = parse_integer(fields.get("after"), "after", low=0, high=MAX_SEQ)
        thread = await read_and_audit_thread(self.store, self.audit, scope, thread_id, "thread.resume")
        sees_everything = sees_all(scope, thread.user_id)
        replay = await self.replays.replay_after(
            scope, thread, after if sees_everything else find_beginning(thread, after)
        )
        run_id = thread.run.run_id if thread.run else None
        resume: dict[str, Any] = {"after": after, "lastSeq": replay.last_seq, "runId": run_id}
        if thread.pending is not None:
            # The log may no longer have the events of the interrupted run.
            resume["interrupts"] = to_client_interrupts(thread.open_interrupts)
        agents = await self.agents.in_session(scope, thread)
        state = describe_thread_state(agents.describe, thread).wire()
        events = [make_unsequenced(make_state_snapshot(state), threadId=thread_id, runId=run_id, resume=resume)]
        if replay.snapshot is not None:
            events.append(replay.snapshot)
        if not sees_everything:
            # Attached connections get live events unredacted, so a reader gets only the events so far.
            reader = ReaderEvents(self.readers, after)
            await send_to(self.connections, caller.connection_id, await reader.take([*events, *replay.events]))
            return
        if not await send_to(self.connections, caller.connection_id, [*events, *replay.events]):
            return  # a connection without the earlier events must not get the live events
        # Attach after the snapshot, so that no live event is sent before it. Then send the events logged meanwhile.
        await self.live.attach(scope, thread_id, caller.connection_id, caller.token_expires_at)
        thread = await self.store.get_thread(scope, thread_id)
        if thread.run is not None or thread.last_seq > replay.last_seq:
            await self.controls.revive(scope, thread, request_id=caller.request_id)
            since = await self.replays.replay_after(scope, thread, replay.last_seq)
            snapshot = [] if since.snapshot is None else [since.snapshot]
            await send_to(self.connections, caller.connection_id, [*snapshot, *since.events])

    async def _cancel(self, caller: Caller, fields: dict[str, Any]) -> None:
        thread_id = parse_thread_id(caller.scope, fields.get("threadId")).id
        await self.controls.cancel(caller.scope, thread_id, parse_run_id(fields.get("runId")))

    async def _queue_exit(self, caller: Caller, fields: dict[str, Any]) -> None:
        thread_id = parse_thread_id(caller.scope, fields.get("threadId")).id
        request = await self.controls.request_exit(caller.scope, thread_id, request_id=caller.request_id)
        await self._queue_action(caller, request)

    async def _queue_continuation(self, caller: Caller, fields: dict[str, Any]) -> None:
        thread = parse_thread_id(caller.scope, fields.get("threadId"))
        request = await self.controls.request_continue(caller.scope, thread, fields.get("workflowId"))
        await self._queue_action(caller, request)

    async def _queue_desk_request(self, caller: Caller, fields: dict[str, Any]) -> None:
        thread = parse_thread_id(caller.scope, fields.get("threadId"))
        request = await self.controls.request_desk(caller.scope, thread, fields.get("deskId"))
        await self._queue_action(caller, request)

    async def _queue_action(self, caller: Caller, request: ActionRequest) -> None:
        waiting = make_queued_action(caller.scope, request, request_id=caller.request_id, subscriber=caller.subscriber)
        await self.queue.send(caller.scope, waiting)

    async def _queue_closing(self, caller: Caller, fields: dict[str, Any]) -> None:
        await self.controls.close(
            caller.scope,
            parse_thread_id(caller.scope, fields.get("threadId")).id,
            request_id=caller.request_id,
            subscriber=caller.subscriber,
        )

    async def _queue_answer(self, caller: Caller, fields: dict[str, Any]) -> None:
        thread_id = parse_thread_id(caller.scope, fields.get("threadId")).id
        decision = parse_interrupt_decision(
            fields.get("interruptId"), fields.get("status"), fields.get("payload"), caller.scope.user_id
        )
        owner = await self.approvals.find_owner(caller.scope, thread_id, [decision])
        is_own = owner.user_id == caller.scope.user_id
        waiting = make_queued_decision(
            owner,
            thread_id,
            decision,
            request_id=caller.request_id,
            # A permission to approve another user's calls is no permission to follow the conversation.
            subscriber=caller.subscriber if is_own else None,
        )
        await self.queue.send(owner, waiting)

    async def _note_typing(self, caller: Caller, fields: dict[str, Any]) -> None:
        thread_id = parse_thread_id(caller.scope, fields.get("threadId")).id
        await self.controls.note_typing(caller.scope, thread_id)

    async def _answer_ping(self, caller: Caller, fields: dict[str, Any]) -> None:
        quiet = fields.get("quiet", False)
        if not isinstance(quiet, bool):
            raise InvalidRequest("quiet must be true or false.")
        if not quiet:  # a quiet ping only keeps the connection open
            await self._reply(caller, Event({"type": "PONG"}))

    async def _reply(self, caller: Caller, event: Event) -> None:
        await send_to(self.connections, caller.connection_id, [event])


_ACTS = {
    "message": Actions._queue_message,
    "resume": Actions._resume,
    "cancel": Actions._cancel,
    "exit": Actions._queue_exit,
    "continue": Actions._queue_continuation,
    "desk": Actions._queue_desk_request,
    "close": Actions._queue_closing,
    "answer": Actions._queue_answer,
    "typing": Actions._note_typing,
    "ping": Actions._answer_ping,
}
ACTIONS = tuple(_ACTS)


def parse_frame(frame: str) -> dict[str, Any]:
    """Return the frame's JSON object.

    Raises ``MalformedJson``, ``MessageTooLarge`` (over ``MAX_FRAME_BYTES``) and ``InvalidRequest`` (an object with too
    many members).
    """
    encoded = frame.encode(errors="surrogatepass")
    if len(encoded) > MAX_FRAME_BYTES:
        raise MessageTooLarge
    counter = MemberCount()
    counter.add(encoded)
    if counter.members > MAX_MEMBERS:
        raise InvalidRequest(f"An object in the frame has more than {MAX_MEMBERS:,} members, which no field takes.")
    try:
        fields = json.loads(frame, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise MalformedJson from None
    if not isinstance(fields, dict):
        raise MalformedJson
    return fields


def make_refusal(error: BatonError, caller: Caller, fields: dict[str, Any]) -> Event:
    """Return the event RUN_ERROR, which belongs to no run, for a refused frame.

    The event repeats the frame's action, message id and thread id, if they are short printable texts.
    """
    subject = {
        name: value
        for name in ("action", "messageId", "threadId")
        if isinstance(value := fields.get(name), str) and len(value) <= MAX_SUBJECT and value.isprintable()
    }
    return make_unsequenced(make_run_error(error, requestId=caller.request_id), **subject)
