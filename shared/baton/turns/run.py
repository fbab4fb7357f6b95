"""One attempt at a run under a lease: from the stored question to the commit."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from ag_ui.core import BaseEvent, EventType

from baton.agents.attempt_context import Attempt
from baton.agents.run_facts import RunFacts, TurnCall
from baton.concurrency.deferred_tasks import DeferredTasks
from baton.concurrency.tasks import gather_all, stop_all
from baton.domain.errors import LeaseLost
from baton.domain.metrics import Metric, count
from baton.domain.threads.events import RunStamp
from baton.domain.threads.message import Role, StoredMessage, find_question_text, join_answer_texts
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.turn_requests import DecisionRequest
from baton.domain.times import Today, to_millis
from baton.domain.tracing import Attribute, describe_exchange, inside
from baton.ports.threads.leases import FENCE_STEP, Lease
from baton.ports.threads.messages import TurnRecord
from baton.ports.tracing import TracedRun
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.outbox.delivery import Delivery
from baton.threads.outbox.event_log import EventLog
from baton.threads.outbox.outbox import Outbox
from baton.turns import run_question
from baton.turns.attempts import ThreadSnapshot, begin_attempt, read_thread
from baton.turns.branch_points import BranchOpening
from baton.turns.commit.run_commit import RunCommit
from baton.turns.dialogue.dialogue import Dialogue
from baton.turns.dialogue.dialogue_result import DialogueResult
from baton.turns.finished_runs import RunOutcome
from baton.turns.lease_keeper import LeaseHolder, LeaseKeeper
from baton.turns.repeats import find_finished
from baton.turns.run_messages import RunMessages
from baton.turns.run_time_zone import RunTimeZone
from baton.turns.turn_services import TurnServices

MAX_ATTEMPTS = 3
"""The attempt with this number ends the run without an answer: a run that killed two workers would kill a third."""


class RunExecution:
    """The execution of the run that a lease was taken for."""

    def __init__(
        self,
        services: TurnServices,
        call: TurnCall,
        lease: Lease,
        agents: RegisteredAgents,
        branch: BranchOpening | None = None,
    ) -> None:
        """Prepare the run of ``call``. If it begins a branch, ``lease`` has the thread at the point of ``branch``.

        Raises ``LeaseLost`` if ``lease`` was not taken for a run.
        """
        request, times, agent = call.request, services.lease_times, agents.get_answering(lease.thread)
        self._services = services
        self._branch = branch
        self._holder = LeaseHolder(services.store, lease, services.agents.clock, call.record, times)
        run = lease.thread.run
        if run is None:
            raise LeaseLost  # this lease was taken for a run, so a lease without one belongs to another worker
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
        self._zone = RunTimeZone(services.time_zones, lease.scope, lease.thread, request.time_zone)
        answered_interrupts = lease.thread.pending if isinstance(request, DecisionRequest) else None
        question = run_question.make_opening_message(
            request, lease.thread, run, services, answered_interrupts, time_zone=self._zone.name
        )
        self._facts = RunFacts(
            call=call,
            thread=lease.thread,
            run=run,
            agents=agents,
            agent=agent,
            question=question if branch is None else replace(question, branch=branch.start),
            answered=answered_interrupts,
            client=request.client,
            client_results=run_question.fill_in_client_results(
                request, lease.thread.pending, agent, services.agents.clock.now()
            ),
        )
        self._writes = DeferredTasks()
        self._first_token_ms: int | None = None

    @property
    def message_id(self) -> str:
        """The id of the message that the run answers. It is not the call's if the run is orphaned."""
        return self._facts.request.message_id

    async def execute(self) -> RunOutcome:
        """Open, answer, commit and deliver the run, unless it is already finished.

        Raises ``LeaseLost`` and ``StoreUnavailable``: then another worker takes the run over. Raises
        ``MessageIdConflict`` and ``MessageWithdrawn`` if an earlier use of the message's id forbids the run.
        """
        tasks: list[asyncio.Future[Any]] = []
        lease, store = self._holder.lease, self._services.store
        thread, run = self._facts.thread, self._facts.run
        traced_run = TracedRun(self._facts.scope.tenant_id, thread.id, thread.agent_id, run.run_id, run.attempt)
        with inside(self._services.tracer.begin(traced_run)) as span:
            try:
                record, messages, facts = await run_question.find_earlier_attempt(store, self._facts, lease)
                if record is not None and (messages is not None or record.digest != facts.request.digest):
                    return await self._finish_earlier(facts, record, messages)
                tasks.append(watchers := asyncio.ensure_future(self._find_watchers()))
                tasks.append(locating := asyncio.ensure_future(self._find_zone(facts)))
                # Begin the reads first: the model waits for them, but not for the writes.
                tasks.append(reading := asyncio.ensure_future(self._read(facts, locating)))
                tasks.append(writing := asyncio.ensure_future(self._write(facts, record, watchers, locating)))
                facts, snapshot = await reading
                if self._holder.lease.is_optimistic and not snapshot.conversation.is_delivered(facts.question.text):
                    raise LeaseLost
                result = None
                if not self._facts.call.gives_up and run_question.may_answer_early(facts, snapshot.history):
                    attempt = self._begin_attempt(facts, snapshot)
                    result = await self._answer(attempt, writing)
                record = await writing
                if record is not None:
                    earlier_outcome = await self._find_earlier_outcome(record)
                    if earlier_outcome is not None:
                        return earlier_outcome
                    lease = self._holder.lease
                    await store.reopen_turn(lease, run_question.make_turn_record(facts, lease))
                if result is None:
                    attempt = self._begin_attempt(facts, snapshot)
                    await self._incoming.load()
                    result = await self._answer(attempt)
                assert result is not None  # noqa: S101 - the question is stored, so the answer begins
                span.set({Attribute.OUTCOME: result.outcome.value})
                if result.error is not None:
                    span.fail(result.error.code)
                finished_run = await self._make_commit(facts).commit(attempt, result)
                if span.shows_content:
                    span.set(
                        describe_exchange(
                            find_question_text(finished_run.messages), join_answer_texts(finished_run.messages)
                        )
                    )
                return RunOutcome(finished_run, was_sent=True)
            finally:
                self._outbox.delivery.stop()
                await gather_all(self._writes.stop(), stop_all(*tasks))

    async def _finish_earlier(
        self, facts: RunFacts, record: TurnRecord, messages: tuple[StoredMessage, ...] | None
    ) -> RunOutcome:
        """Return the run that an earlier attempt finished, or commit the answer that it left.

        Raises ``MessageIdConflict`` if the message id was used for other content, and ``MessageWithdrawn``.
        """
        earlier_outcome = await self._find_earlier_outcome(record)
        if earlier_outcome is not None:
            return earlier_outcome
        # The model is not called again, and clients that have seen the answer keep it.
        assert messages is not None  # noqa: S101 - other content was refused
        self._outbox.open()
        return RunOutcome(await self._make_commit(facts).adopt(record, messages), was_sent=False)

    async def _find_earlier_outcome(self, record: TurnRecord) -> RunOutcome | None:
        """Return the run that an earlier attempt has committed and release the lease; None if there is none."""
        store = self._services.store
        finished_run = await find_finished(store, self._facts.call, record, self._facts.thread)
        if finished_run is None:
            return None
        await store.release(self._holder.lease)
        return RunOutcome(finished_run, was_sent=False)

    async def _find_watchers(self) -> None:
        """Read the connections that watch the thread and the requests to cancel its runs."""
        # A new thread has neither connections nor cancellation requests yet.
        if self._holder.lease.fence == FENCE_STEP:
            return
        # A worker that died may not have counted that it attached its caller.
        watchers = self._facts.thread.known_watchers if self._facts.run.attempt == 1 else None
        if watchers is not None:
            self._outbox.delivery.begin(watchers)
            return
        await self._outbox.delivery.refresh(self._outbox.log.logged_seq)
        self._outbox.log.is_read = self._outbox.delivery.is_log_read

    async def _find_zone(self, facts: RunFacts) -> RunFacts:
        """Find the user's time zone, and return the facts.

        Their question gets the zone if a session begins and the request has no zone.
        """
        await self._zone.find()
        if self._zone.must_be_found and facts.question.role is Role.USER:
            return replace(facts, question=replace(facts.question, time_zone=self._zone.name))
        return facts

    async def _write(
        self,
        facts: RunFacts,
        record: TurnRecord | None,
        watchers: asyncio.Future[None],
        locating: asyncio.Future[RunFacts],
    ) -> TurnRecord | None:
        """Store the question with the user's time zone; return the record of an earlier attempt, or None."""
        if self._zone.must_be_found:
            facts = await asyncio.shield(locating)
        attaching = run_question.attach_caller(self._outbox.delivery, self._facts.call.subscriber, watchers)
        if self._holder.lease.is_optimistic:
            await attaching
            return None  # the commit stores the question
        return await run_question.store_question(self._services, facts, self._holder.lease, record, attaching)

    async def _read(self, facts: RunFacts, locating: asyncio.Future[RunFacts]) -> tuple[RunFacts, ThreadSnapshot]:
        """Read the thread. Return the facts with time zone and interrupted run, and the state that was read."""
        snapshot: ThreadSnapshot
        located: RunFacts
        lease, records, run = self._holder.lease, self._services.agents.records, facts.run
        facts = await run_question.read_unfinished(self._services.store, facts, lease)
        snapshot, located, journal, remote_tasks, steps = await gather_all(
            read_thread(
                self._services,
                facts,
                recalls=not self._is_given_up,
                early=self._facts.call.early,
                departed=self._branch.point.departed if self._branch is not None else None,
            ),
            asyncio.shield(locating),
            run_question.read_earlier_calls(records, lease, run),
            run_question.read_earlier_remote_tasks(records, lease, run),
            run_question.read_earlier_steps(
                records, lease, run, facts.agents, facts.began_with.id, facts.first_of_exchange
            ),
        )
        snapshot = replace(snapshot, journal=journal, remote_tasks=remote_tasks, steps=steps)
        return replace(facts, question=located.question), snapshot

    # Answer

    async def _answer(
        self, attempt: Attempt, writing: asyncio.Future[TurnRecord | None] | None = None
    ) -> DialogueResult | None:
        """Publish the dialogue's events and return its result.

        Return None if ``writing`` finds the record of an earlier attempt.
        """
        self._writes, self._first_token_ms = attempt.writes, None
        self._writes.add(self._zone.keep())
        self._keeper = keeper = LeaseKeeper(self._holder, self._outbox, attempt, self._services.lease_times)
        dialogue = Dialogue(attempt, self._services.dialogue)
        beginning = asyncio.ensure_future(self._begin(attempt, writing))
        try:
            async with keeper:
                await dialogue.run()
                has_begun = await beginning
                if has_begun:
                    await keeper.flush()
        finally:
            await stop_all(beginning)
        if not has_begun:
            count(Metric.ANSWERS_DISCARDED)
            self._outbox.discard_waiting()
            await self._writes.stop()
            return None
        return dialogue.finish()

    async def _begin(self, attempt: Attempt, writing: asyncio.Future[TurnRecord | None] | None) -> bool:
        """Release the waiting events and writes once the question is stored; otherwise stop the dialogue.

        Return whether the run has begun. ``writing`` is None if the question is stored already.
        """
        is_new = False
        try:
            is_new = writing is None or await asyncio.shield(writing) is None
            if is_new and writing is not None and self._ends_at_once_as is OutcomeType.CANCELLED:
                attempt.stop.set()  # the request to cancel was read while the model was asked already
            if is_new and not self._holder.lease.is_optimistic:  # otherwise the commit begins the writes
                self._writes.begin()
                self._keeper.open()
        finally:
            if not is_new:
                attempt.stop.set()
            attempt.opened.set()
        return is_new

    def _measure_milliseconds_since(self, question: StoredMessage) -> int:
        return max(0, to_millis(self._services.agents.clock.now()) - to_millis(question.timestamp))

    def _begin_attempt(self, facts: RunFacts, snapshot: ThreadSnapshot) -> Attempt:
        """Return a new attempt, whose events go to the lease keeper."""

        def emit(event: BaseEvent) -> None:
            self._keeper.send(event)
            if self._first_token_ms is None and event.type is EventType.TEXT_MESSAGE_CONTENT:
                self._first_token_ms = self._measure_milliseconds_since(facts.question)

        self._incoming = RunMessages(
            self._services,
            facts,
            lease=lambda: self._holder.lease,
            waiting=lambda: self._outbox.delivery.waiting,
            look=lambda: self._keeper.look(),
        )
        return begin_attempt(
            facts,
            self._services.agents,
            snapshot,
            lease=lambda: self._holder.lease,
            ensure_lease=lambda: self._holder.ensure_held(self._outbox.log.last_seq),
            emit=emit,
            today=Today.at(facts.question.timestamp, self._zone.name),
            incoming=self._incoming,
            ends_at_once_as=self._ends_at_once_as,
        )

    @property
    def _ends_at_once_as(self) -> OutcomeType | None:
        """ERROR for a run that is given up, CANCELLED for one cancelled while it waited; None for others."""
        if self._is_given_up:
            return OutcomeType.ERROR
        is_cancelled = self._facts.run.run_id in self._outbox.delivery.cancelled_runs
        return OutcomeType.CANCELLED if is_cancelled else None

    @property
    def _is_given_up(self) -> bool:
        return self._facts.call.gives_up or self._facts.run.attempt >= MAX_ATTEMPTS

    # Commit and deliver

    def _make_commit(self, facts: RunFacts) -> RunCommit:
        return RunCommit(
            services=self._services,
            facts=facts,
            holder=self._holder,
            outbox=self._outbox,
            first_token_ms=self._first_token_ms,
            time_zone=self._zone.name,
            turn=run_question.make_turn_record(facts, self._holder.lease) if self._holder.lease.is_optimistic else None,
        )
