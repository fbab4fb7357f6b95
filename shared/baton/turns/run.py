"""One attempt at a run under a lease: from the stored question to the commit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import BaseEvent, EventType

from baton.agents.run_context import MAX_RESERVE_SECONDS, RESERVED_SHARE, EmitEvent, RemoteTasks, RunContext, Writes
from baton.agents.transcript import Transcript
from baton.catalog.agent_directory import AgentDirectory
from baton.concurrency import gather_all, stop_all
from baton.dialogue.dialogue import Dialogue
from baton.dialogue.dialogue_input import DialogueInput
from baton.dialogue.dialogue_result import DialogueResult
from baton.domain.errors import LeaseLost, StoreUnavailable
from baton.domain.events import RunStamp
from baton.domain.identity import Scope
from baton.domain.message import OutcomeType, Role, StoredMessage
from baton.domain.metrics import Metric, count
from baton.domain.thread import Run
from baton.domain.times import Today, to_millis
from baton.domain.tool_call import ToolCallRecord
from baton.handoffs.conversation_tracker import ConversationTracker
from baton.memory.inspection.inspection import Inspection
from baton.memory.prompt.history_reading import messages_between
from baton.outbox.delivery import Delivery
from baton.outbox.event_log import EventLog, jump_from
from baton.outbox.outbox import Outbox
from baton.ports.leases import Lease
from baton.ports.messages import TurnRecord
from baton.requests.turn_requests import AnswerRequest
from baton.turns.branch_points import BranchOpening
from baton.turns.committing import FinishedRun, RunCommit
from baton.turns.lease_keeper import LeaseHolder, LeaseKeeper
from baton.turns.opening import brought_results, calls_before, opening_message, remote_tasks_before
from baton.turns.reading import ThreadSnapshot, read_thread
from baton.turns.repeats import find_finished
from baton.turns.run_question import RunQuestion
from baton.turns.run_time_zone import RunTimeZone
from baton.turns.turn_call import TurnCall
from baton.turns.turn_services import TurnServices

MAX_ATTEMPTS = 3
"""The number of the attempt that ends the run unanswered, because what killed two workers would kill a third."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A committed run, and whether the caller has received its events."""

    finished: FinishedRun
    was_told: bool


class RunExecution:
    """Carries out the run that a lease was taken for."""

    def __init__(
        self,
        services: TurnServices,
        lease: Lease,
        call: TurnCall,
        scope: Scope,
        agents: AgentDirectory,
        branch: BranchOpening | None = None,
    ) -> None:
        """``scope`` is the user's, with the permissions that the message came with; ``agents`` are the tenant's.

        ``branch`` is the branch that the run begins; the thread of ``lease`` is then that of its point.
        """
        self._services = services
        self._scope = scope
        self._call = call
        self._request = call.request
        times = services.lease_times
        self._holder = LeaseHolder(services.store, lease, services.agents.clock, call.record, times)
        self._thread = lease.thread
        self._run = run = _leased_run(lease)
        self._agents = agents
        self._agent = agents.answering(lease.thread)
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
        self._outbox = Outbox(EventLog(services.log, stamp, first_seq=lease.first_seq), delivery, call.emit)
        self._answered = lease.thread.pending if isinstance(self._request, AnswerRequest) else None
        self._left = branch.point.left if branch is not None else None
        self._zone = RunTimeZone(services.time_zones, lease.scope, lease.thread, self._request.time_zone)
        message = opening_message(self._request, lease.thread, run, services, self._answered, time_zone=self._zone.name)
        self._question = RunQuestion(
            services=services,
            holder=self._holder,
            run=run,
            call=call,
            scope=scope,
            delivery=delivery,
            answered=self._answered,
            message=message if branch is None else replace(message, branch=branch.start),
        )
        self._writes = Writes()
        self._journal: Mapping[str, ToolCallRecord] = {}
        self._remote_tasks = RemoteTasks({})
        self._passed_on = asyncio.Event()
        self._inspection = Inspection()
        self._client = self._request.client
        self._first_token_ms: int | None = None
        self._unfinished: Sequence[StoredMessage] = ()
        """The interrupted exchange that this run continues; empty if there is none."""

    async def execute(self) -> RunOutcome:
        """Open, answer, commit and deliver the run, unless it is already finished.

        Raises ``LeaseLost`` and ``StoreUnavailable``: then another worker takes the run over.
        """
        begun: list[asyncio.Future[Any]] = []
        try:
            known, left = await self._question.find_earlier_attempt() if self._run.attempt > 1 else (None, None)
            if known is not None and (left is not None or known.digest != self._request.digest):
                return await self._finish_earlier(known, left)
            begun.append(watchers := asyncio.ensure_future(self._find_watchers()))
            begun.append(locating := asyncio.ensure_future(self._locate()))
            # Begin the reads first: the model waits for them, but not for the writes.
            begun.append(reading := asyncio.ensure_future(self._read(watchers, locating)))
            begun.append(writing := asyncio.ensure_future(self._write(known, watchers, locating)))
            snapshot = await reading
            result = (
                await self._answer(snapshot, writing) if self._question.may_answer_early(snapshot.history) else None
            )
            known = await writing
            if known is not None:
                earlier = await self._earlier_outcome(known)
                if earlier is not None:
                    return earlier
                await self._services.store.reopen_turn(self._holder.lease, self._question.turn)
            if result is None:
                result = await self._answer(snapshot)
            assert result is not None  # noqa: S101 - without a question to wait for, it always begins
            finished = await self._committing().commit(result)
            return RunOutcome(finished, was_told=True)
        finally:
            self._outbox.stop()
            await gather_all(self._writes.stop(), stop_all(*begun))

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
        return RunOutcome(await self._committing().adopt(known, left), was_told=False)

    async def _earlier_outcome(self, known: TurnRecord) -> RunOutcome | None:
        """Return the run that an earlier attempt has committed and release the lease; None if there is none."""
        finished = await find_finished(self._services.store, self._call, known, self._thread)
        if finished is None:
            return None
        await self._services.store.release(self._holder.lease)
        return RunOutcome(finished, was_told=False)

    async def _find_watchers(self) -> None:
        """Read the connections that watch the thread and the requests to cancel its runs."""
        # A new thread has neither connections nor cancellation requests yet.
        if self._holder.lease.fence > 1:
            await self._outbox.delivery.refresh(self._outbox.log.logged_seq)

    async def _locate(self) -> None:
        """Find the user's time zone. The question gets it here if the request and the session have none."""
        await self._zone.find()
        message = self._question.message
        if self._zone.must_be_found and message.role is Role.USER:
            self._question.message = replace(message, time_zone=self._zone.name)

    async def _write(
        self, known: TurnRecord | None, watchers: asyncio.Future[None], locating: asyncio.Future[None]
    ) -> TurnRecord | None:
        """Store the question with the user's time zone; return the record of an earlier attempt, or None."""
        if self._zone.must_be_found:
            await asyncio.shield(locating)
        return await self._question.write(known, watchers)

    async def _read(self, watchers: asyncio.Future[None], locating: asyncio.Future[None]) -> ThreadSnapshot:
        snapshot: ThreadSnapshot
        services, lease = self._services, self._holder.lease
        if self._answered is not None:
            first, end = self._answered.first_ordinal, lease.thread.next_ordinal
            self._unfinished = await messages_between(services.store, lease.scope, lease.thread, first, end)
            if self._client is None and self._answered.offered_by is not None:
                offered = await services.store.get_turn(lease.scope, lease.thread_id, self._answered.offered_by)
                self._client = offered.client if offered is not None else None
        snapshot, _, _, self._journal, remote_tasks = await gather_all(
            read_thread(
                services,
                self._scope,
                self._thread,
                self._agent,
                self._question.message,
                self._unfinished,
                recalls=not self._is_given_up,
                left=self._left,
            ),
            asyncio.shield(watchers),
            asyncio.shield(locating),
            calls_before(services.agents.records, lease, self._run),
            remote_tasks_before(services.agents.records, lease, self._run),
        )
        self._remote_tasks = RemoteTasks(remote_tasks)
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
        dialogue = Dialogue(self._dialogue_input(snapshot, stop, opened, events.put_nowait))
        keeper = LeaseKeeper(
            self._holder,
            self._outbox.log,
            self._outbox.delivery,
            run_id=self._run.run_id,
            stop=stop,
            passed_on=self._passed_on,
            emit_heartbeat=self._outbox.send_heartbeat,
            times=self._services.lease_times,
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
                self._first_token_ms = self._milliseconds_since_question()

    async def _ensure_lease(self) -> None:
        """Renew the lease if another worker may have it. Raises ``LeaseLost``: nothing more may be sent then."""
        await self._holder.ensure(self._outbox.log.last_seq)

    def _dialogue_input(
        self, snapshot: ThreadSnapshot, stop: asyncio.Event, opened: asyncio.Event, emit: EmitEvent
    ) -> DialogueInput:
        agent, services, loop = self._agent, self._services, asyncio.get_running_loop()
        deadline = min(self._call.deadline, loop.time() + agent.timeouts.turn_seconds)
        is_from_user = self._question.message.role is Role.USER
        context = RunContext(
            services=services.agents,
            agents=self._agents,
            scope=self._scope,
            thread_id=self._thread.id,
            run=self._run,
            lease=lambda: self._holder.lease,
            files=services.agents.files.of_thread(self._holder.lease.scope, self._thread.id),
            deadline=deadline,
            reserve_seconds=min(MAX_RESERVE_SECONDS, RESERVED_SHARE * (deadline - loop.time())),
            ensure_lease=self._ensure_lease,
            stop=stop,
            opened=opened,
            emit=emit,
            writes=self._writes,
            journal=self._journal,
            remote_tasks=self._remote_tasks,
            passed_on=self._passed_on,
            inspection=self._inspection,
            today=Today.at(self._question.message.timestamp, self._zone.name),
        )
        return DialogueInput(
            context=context,
            services=services.dialogue,
            thread=self._thread,
            agent=agent,
            tracker=ConversationTracker(snapshot.conversation),
            request=self._request,
            search=snapshot.search,
            opening=self._question.message,
            history=snapshot.history,
            unfinished=self._unfinished,
            transcript=Transcript(
                self._thread.id,
                self._run,
                first_ordinal=self._question.message.ordinal + (1 if is_from_user else 0),
                clock=services.agents.clock,
                counter=services.agents.counter,
                first_id=None if is_from_user else self._request.message_id,
            ),
            answered=self._answered,
            client=self._client,
            brought=brought_results(self._request, self._thread.pending, self._agent, services.agents.clock.now()),
            previous_seq=jump_from(self._holder.lease),
            ends_at_once_as=self._ends_at_once_as,
        )

    @property
    def _ends_at_once_as(self) -> OutcomeType | None:
        """Return the outcome of a run that ends without an answer; None if it is answered.

        ERROR: the run is given up. CANCELLED: the user cancelled it while it waited.
        """
        if self._is_given_up:
            return OutcomeType.ERROR
        is_cancelled = self._run.run_id in self._outbox.delivery.cancelled_runs
        return OutcomeType.CANCELLED if is_cancelled else None

    @property
    def _is_given_up(self) -> bool:
        return self._call.gives_up or self._run.attempt >= MAX_ATTEMPTS

    # Commit and deliver

    def _committing(self) -> RunCommit:
        return RunCommit(
            services=self._services,
            scope=self._scope,
            holder=self._holder,
            outbox=self._outbox,
            writes=self._writes,
            question=self._question.message,
            answered=self._answered,
            agent=self._agent,
            journal=self._journal,
            agents=self._agents,
            remote_tasks=self._remote_tasks,
            inspection=self._inspection,
            unfinished=self._unfinished,
            offered_by=self._offered_by,
            first_token_ms=self._first_token_ms,
            time_zone=self._zone.name,
        )

    def _milliseconds_since_question(self) -> int:
        now = self._services.agents.clock.now()
        return max(0, to_millis(now) - to_millis(self._question.message.timestamp))

    @property
    def _offered_by(self) -> str | None:
        """Return the message id of the turn whose client offer counts for a run that continues this one."""
        if self._request.client is not None:
            return self._run.message_id
        return self._answered.offered_by if self._answered is not None else None


def _leased_run(lease: Lease) -> Run:
    if lease.thread.run is None:
        raise LeaseLost  # this lease was taken for a run, so a lease without one belongs to another worker
    return lease.thread.run
