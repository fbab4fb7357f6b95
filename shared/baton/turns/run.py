"""One attempt at a run under a lease: from the stored question to the commit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from ag_ui.core import BaseEvent, EventType

from baton.agents.attempt_context import EmitEvent, RemoteTasks, Writes
from baton.concurrency.tasks import gather_all, stop_all
from baton.domain.errors import LeaseLost, StoreUnavailable
from baton.domain.metrics import Metric, count
from baton.domain.threads.events import RunStamp
from baton.domain.threads.message import OutcomeType, Role, StoredMessage, text_asked, text_said
from baton.domain.threads.thread import Run
from baton.domain.times import Today
from baton.domain.tracing import Attribute, Span, exchange, inside
from baton.memory.inspection.inspection import Inspection
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import TurnRecord
from baton.ports.tracing import TracedRun
from baton.threads.outbox.delivery import Delivery
from baton.threads.outbox.event_log import EventLog, jump_from
from baton.threads.outbox.outbox import Outbox
from baton.threads.requests.turn_requests import AnswerRequest
from baton.turns.admission import AdmittedRun
from baton.turns.committing import RunCommit, RunOutcome
from baton.turns.dialogue.dialogue import Dialogue
from baton.turns.dialogue.dialogue_result import DialogueResult
from baton.turns.lease_keeper import LeaseHolder, LeaseKeeper
from baton.turns.opening import (
    opening_message,
    read_earlier_calls,
    read_earlier_remote_tasks,
    read_earlier_steps,
    with_client_results,
)
from baton.turns.repeats import find_finished
from baton.turns.run_question import (
    attach_caller,
    find_earlier_attempt,
    may_answer_early,
    read_unfinished,
    store_question,
    turn_record,
)
from baton.turns.run_state import RunState, RunTimeZone
from baton.turns.thread_snapshot import ThreadSnapshot, read_thread
from baton.turns.turn_services import TurnServices

MAX_ATTEMPTS = 3
"""The number of the attempt that ends the run unanswered: a run that killed two workers would kill a third."""


class RunExecution:
    """The execution of the run that a lease was taken for."""

    def __init__(self, services: TurnServices, admitted: AdmittedRun) -> None:
        lease, request, branch = admitted.lease, admitted.call.request, admitted.branch
        times = services.lease_times
        self._call = admitted.call
        self._branch = branch
        self._holder = LeaseHolder(services.store, lease, services.agents.clock, self._call.record, times)
        run = _leased_run(lease)
        stamp = RunStamp(lease.thread_id, run.run_id, run.attempt)
        delivery = Delivery(
            lease.scope,
            lease.thread_id,
            live=services.live,
            connections=services.connections,
            clock=services.agents.clock,
            lease_until=lambda: self._holder.until,
            times=times,
        )
        self._outbox = Outbox(EventLog(services.log, stamp, first_seq=lease.first_seq), delivery, self._call.emit)
        self._zone = RunTimeZone(services.time_zones, lease.scope, lease.thread, request.time_zone)
        answered = lease.thread.pending if isinstance(request, AnswerRequest) else None
        question = opening_message(request, lease.thread, run, services, answered, time_zone=self._zone.name)
        self._state = RunState(
            services=services,
            scope=admitted.scope,
            thread=lease.thread,
            run=run,
            agents=admitted.agents,
            agent=admitted.agents.answering(lease.thread),
            request=request,
            question=question if branch is None else replace(question, branch=branch.start),
            answered=answered,
            client=request.client,
        )
        self._writes = Writes()
        self._passed_on = asyncio.Event()
        self._inspection = Inspection()
        self._first_token_ms: int | None = None

    async def execute(self) -> RunOutcome:
        """Open, answer, commit and deliver the run, unless it is already finished.

        Raises ``LeaseLost`` and ``StoreUnavailable``: then another worker takes the run over.
        """
        begun: list[asyncio.Future[Any]] = []
        with inside(self._begin_span()) as span:
            try:
                known, left, self._state = await find_earlier_attempt(self._state, self._holder.lease)
                if known is not None and (left is not None or known.digest != self._state.request.digest):
                    return await self._finish_earlier(known, left)
                begun.append(watchers := asyncio.ensure_future(self._find_watchers()))
                begun.append(locating := asyncio.ensure_future(self._locate()))
                # Begin the reads first: the model waits for them, but not for the writes.
                begun.append(reading := asyncio.ensure_future(self._read(locating)))
                begun.append(writing := asyncio.ensure_future(self._write(known, watchers, locating)))
                snapshot = await reading
                is_early = not self._call.gives_up and may_answer_early(self._state, snapshot.history)
                result = await self._answer(snapshot, writing) if is_early else None
                known = await writing
                if known is not None:
                    earlier = await self._earlier_outcome(known)
                    if earlier is not None:
                        return earlier
                    lease = self._holder.lease
                    await self._state.services.store.reopen_turn(lease, turn_record(self._state, lease))
                if result is None:
                    result = await self._answer(snapshot)
                assert result is not None  # noqa: S101 - without a question to wait for, it always begins
                span.set({Attribute.OUTCOME: result.outcome.value})
                if result.error is not None:
                    span.fail(result.error.code)
                finished = await self._committing().commit(result)
                if span.shows_content:
                    span.set(exchange(text_asked(finished.messages), text_said(finished.messages)))
                return RunOutcome(finished, was_sent=True)
            finally:
                self._outbox.stop()
                await gather_all(self._writes.stop(), stop_all(*begun))

    def _begin_span(self) -> Span:
        """Begin the span of this attempt at the run."""
        run, thread = self._state.run, self._state.thread
        scope = self._state.scope
        return self._state.services.tracer.begin(
            TracedRun(scope.tenant_id, thread.id, thread.agent_id, run.run_id, run.attempt)
        )

    async def _finish_earlier(self, known: TurnRecord, left: tuple[StoredMessage, ...] | None) -> RunOutcome:
        """Return the run that an earlier attempt finished, or commit the answer that it left.

        Raises ``MessageIdConflict`` if the message id was used for other content.
        """
        earlier = await self._earlier_outcome(known)
        if earlier is not None:
            return earlier
        # The model is not called again, and clients that have seen the answer keep it.
        assert left is not None  # noqa: S101 - other content was refused
        self._outbox.open()
        return RunOutcome(await self._committing().adopt(known, left), was_sent=False)

    async def _earlier_outcome(self, known: TurnRecord) -> RunOutcome | None:
        """Return the run that an earlier attempt has committed and release the lease; None if there is none."""
        store = self._state.services.store
        finished = await find_finished(store, self._call, known, self._state.thread)
        if finished is None:
            return None
        await store.release(self._holder.lease)
        return RunOutcome(finished, was_sent=False)

    async def _find_watchers(self) -> None:
        """Read the connections that watch the thread and the requests to cancel its runs."""
        # A new thread has neither connections nor cancellation requests yet.
        if self._holder.lease.fence == 1:
            return
        # A worker that died may not have counted that it attached its caller.
        known = self._state.thread.known_watchers if self._state.run.attempt == 1 else None
        if known is not None:
            self._outbox.delivery.begin(known)
            return
        await self._outbox.delivery.refresh(self._outbox.log.logged_seq)
        self._outbox.log.is_read = self._outbox.delivery.is_log_read

    async def _locate(self) -> None:
        """Find the user's time zone. The question gets it here if the request and the session have none."""
        await self._zone.find()
        question = self._state.question
        if self._zone.must_be_found and question.role is Role.USER:
            self._state = replace(self._state, question=replace(question, time_zone=self._zone.name))

    async def _write(
        self, known: TurnRecord | None, watchers: asyncio.Future[None], locating: asyncio.Future[None]
    ) -> TurnRecord | None:
        """Store the question with the user's time zone; return the record of an earlier attempt, or None."""
        if self._zone.must_be_found:
            await asyncio.shield(locating)
        attaching = attach_caller(self._outbox.delivery, self._call.subscriber, watchers)
        return await store_question(self._state, self._holder.lease, known, attaching)

    async def _read(self, locating: asyncio.Future[None]) -> ThreadSnapshot:
        """Read the thread, and keep the results of earlier attempts and of the interrupted run in the state."""
        snapshot: ThreadSnapshot
        lease = self._holder.lease
        state, services = await read_unfinished(self._state, lease), self._state.services
        snapshot, _, journal, remote_tasks, steps = await gather_all(
            read_thread(
                services,
                state.scope,
                state.thread,
                state.agent,
                state.question,
                state.unfinished,
                recalls=not self._is_given_up,
                early=self._call.early,
                left=self._branch.point.left if self._branch is not None else None,
            ),
            asyncio.shield(locating),
            read_earlier_calls(services.agents.records, lease, state.run),
            read_earlier_remote_tasks(services.agents.records, lease, state.run),
            read_earlier_steps(
                services.agents.records,
                lease,
                state.run,
                state.agents,
                state.began_with.id,
                state.first_of_exchange,
            ),
        )
        # The question has its time zone by now.
        question = self._state.question
        self._state = replace(
            state, question=question, journal=journal, steps=steps, remote_tasks=RemoteTasks(remote_tasks)
        )
        return snapshot

    # Answer

    async def _answer(
        self, snapshot: ThreadSnapshot, writing: asyncio.Future[TurnRecord | None] | None = None
    ) -> DialogueResult | None:
        """Publish the dialogue's events and return its result.

        Returns None if ``writing`` finds the record of an earlier attempt.
        """
        stop, opened = asyncio.Event(), asyncio.Event()
        self._writes, self._inspection, self._first_token_ms = Writes(), Inspection(), None
        self._writes.add(self._zone.keep())
        events: asyncio.Queue[BaseEvent | None] = asyncio.Queue()
        dialogue = self._dialogue(snapshot, stop, opened, events.put_nowait)
        keeper = LeaseKeeper(
            self._holder,
            self._outbox.log,
            self._outbox.delivery,
            run_id=self._state.run.run_id,
            stop=stop,
            passed_on=self._passed_on,
            emit_heartbeat=self._outbox.send_heartbeat,
            times=self._state.services.lease_times,
        )
        beginning = asyncio.ensure_future(self._begin(writing, stop, opened))
        try:
            async with keeper:
                answering = asyncio.ensure_future(dialogue.run())
                answering.add_done_callback(lambda _: events.put_nowait(None))
                try:
                    await self._send(events)
                    await answering
                except (LeaseLost, StoreUnavailable):
                    self._passed_on.set()
                    raise
                except Exception as error:  # noqa: BLE001 - sending has failed: the run ends with it
                    dialogue.fail(error)
                finally:
                    await stop_all(answering)  # closes the model's stream
                was_begun = await beginning
        finally:
            await stop_all(beginning)
        if not was_begun:
            count(Metric.ANSWERS_DISCARDED)
            self._outbox.discard_waiting()
            await self._writes.stop()
            return None
        return dialogue.finish()

    async def _begin(
        self, writing: asyncio.Future[TurnRecord | None] | None, stop: asyncio.Event, opened: asyncio.Event
    ) -> bool:
        """Release the waiting events and writes once the question is stored; otherwise stop the dialogue.

        Returns whether the run has begun. ``writing`` is None if the question is stored already.
        """
        is_new = False
        try:
            is_new = writing is None or await asyncio.shield(writing) is None
            if is_new and writing is not None and self._ends_at_once_as is OutcomeType.CANCELLED:
                stop.set()  # the request to cancel was read while the model was asked already
            if is_new:
                self._writes.begin()
                self._outbox.open()
        finally:
            if not is_new:
                stop.set()
            opened.set()
        return is_new

    async def _send(self, events: asyncio.Queue[BaseEvent | None]) -> None:
        """Send the events up to None. Raises ``LeaseLost`` and ``StoreUnavailable``."""
        while (event := await events.get()) is not None:
            await self._ensure_lease()
            self._outbox.send(event)
            if self._first_token_ms is None and event.type is EventType.TEXT_MESSAGE_CONTENT:
                self._first_token_ms = self._state.milliseconds_since_question()

    async def _ensure_lease(self) -> None:
        """Renew the lease if another worker may have it. Raises ``LeaseLost``: then nothing may be sent."""
        await self._holder.ensure(self._outbox.log.last_seq)

    def _dialogue(
        self, snapshot: ThreadSnapshot, stop: asyncio.Event, opened: asyncio.Event, emit: EmitEvent
    ) -> Dialogue:
        state = self._state
        now = state.services.agents.clock.now()
        return Dialogue(
            state.dialogue_input(
                snapshot,
                lease=lambda: self._holder.lease,
                ensure_lease=self._ensure_lease,
                deadline=self._call.deadline,
                stop=stop,
                opened=opened,
                emit=emit,
                writes=self._writes,
                inspection=self._inspection,
                passed_on=self._passed_on,
                today=Today.at(state.question.timestamp, self._zone.name),
                client_results=with_client_results(state.request, state.thread.pending, state.agent, now),
                previous_seq=jump_from(self._holder.lease),
                ends_at_once_as=self._ends_at_once_as,
            )
        )

    @property
    def _ends_at_once_as(self) -> OutcomeType | None:
        """ERROR for a run that is given up, CANCELLED for one cancelled while it waited; None for others."""
        if self._is_given_up:
            return OutcomeType.ERROR
        is_cancelled = self._state.run.run_id in self._outbox.delivery.cancelled_runs
        return OutcomeType.CANCELLED if is_cancelled else None

    @property
    def _is_given_up(self) -> bool:
        return self._call.gives_up or self._state.run.attempt >= MAX_ATTEMPTS

    # Commit and deliver

    def _committing(self) -> RunCommit:
        return RunCommit(
            state=self._state,
            holder=self._holder,
            outbox=self._outbox,
            writes=self._writes,
            inspection=self._inspection,
            first_token_ms=self._first_token_ms,
            time_zone=self._zone.name,
        )


def _leased_run(lease: Lease) -> Run:
    if lease.thread.run is None:
        raise LeaseLost  # this lease was taken for a run, so a lease without one belongs to another worker
    return lease.thread.run
