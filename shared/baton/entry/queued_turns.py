"""The worker of the turns' queue: it runs turns and other work of threads, and ends turns that failed too often."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeGuard

from aws_lambda_powertools import Logger

from baton.concurrency.tasks import work_for
from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.errors import (
    BatonError,
    CountsBusy,
    LeaseLost,
    StoreUnavailable,
    TenantRemoved,
    ThreadBusy,
    ThreadUnavailable,
)
from baton.domain.memory.forgetting import LATE_RECORD
from baton.domain.metrics import Metric, count
from baton.domain.threads.a2a_task import MarkStatus, TaskMark
from baton.domain.threads.events import make_run_error, make_unsequenced
from baton.domain.threads.queued import (
    ForgottenTask,
    Queued,
    QueuedAction,
    QueuedClose,
    QueuedDecision,
    QueuedMessage,
    QueuedSummary,
    QueuedTakeover,
    QueuedTaskCheck,
    QueuedTitle,
    RecordDelivery,
    parse_queued,
)
from baton.domain.threads.thread import EndReason
from baton.domain.tracing import inside, joining
from baton.failures.reports import report_failure
from baton.memory.prompt.history_summary import HistorySummaries
from baton.ports.agents.a2a import A2ATasks
from baton.ports.clock import Clock, read_machine_time
from baton.ports.tenants.privacy import ForgetRequests
from baton.ports.threads.connections import Connections, LiveRegistry
from baton.ports.threads.turn_queue import HeldRecord, QueueRecords
from baton.ports.tracing import NO_TRACER, TracedRun, Tracer
from baton.tenants.removed_tenants import RemovedTenants
from baton.threads.background.background_work import BackgroundWork
from baton.threads.outbox.change_notifications import ChangeNotifications
from baton.threads.outbox.connection_sender import WORKER_SECONDS, send_to
from baton.threads.outbox.outbox import discard
from baton.threads.requests.waiting_messages import WaitingMessages
from baton.threads.schedules.due_starts import DueStarts
from baton.threads.sessions.titles import MadeTitles
from baton.turns.closing import Closer
from baton.turns.turns import Turns

logger = Logger(child=True)

_TRY_AGAIN = (CountsBusy, LeaseLost, StoreUnavailable, ThreadBusy)
"""Errors that may not occur again in a later delivery. Most others are reported to the client."""
_MESSAGES = QueuedMessage | QueuedDecision | QueuedAction
"""Records for whose answers users wait."""
PATIENCE_SECONDS = 20.0
"""Seconds for which a worker waits for a busy thread before the record returns to the queue."""


@dataclass(frozen=True, slots=True)
class QueuedTurns:
    """The handler of records in the queue of turns."""

    turns: Turns
    closer: Closer
    summaries: HistorySummaries
    made_titles: MadeTitles
    connections: Connections
    records: QueueRecords | None
    clock: Clock
    forgotten: ForgetRequests
    a2a_tasks: A2ATasks
    change_notifications: ChangeNotifications
    waiting: WaitingMessages
    live: LiveRegistry
    due_starts: DueStarts
    background: BackgroundWork
    removed_tenants: RemovedTenants
    tracer: Tracer = NO_TRACER

    async def run(
        self,
        body: str,
        receipt_handle: str,
        delivery: RecordDelivery,
        *,
        seconds: float,
        sent_at: datetime | None = None,
    ) -> None:
        """Carry out one record within ``seconds``. Raises an error if the queue must deliver the record again.

        ``sent_at`` is the time at which the record was sent, None if unknown. The record is refused if its user or
        thread has been forgotten since then.
        """
        queued = _parse(body)
        work_for(queued.tenant_id)
        if sent_at is not None and delivery.receives == 1 and isinstance(queued, _MESSAGES):
            count(Metric.TIME_IN_QUEUE, max(0, round((self.clock.now() - sent_at).total_seconds() * 1000)))
        # An earlier worker may have listed the message and then died, or found the thread busy for too long.
        may_be_listed = _is_listed(queued) or delivery.receives > 1
        async with self.records.hide(receipt_handle, delivery) if self.records else nullcontext() as record:
            try:
                await self._check_not_forgotten(queued, sent_at)
                if await self._is_cancelled(queued):
                    pass
                elif not isinstance(queued, _MESSAGES):
                    await self._carry_out(queued, seconds, record)
                elif await self._needs_turn(queued, seconds, record):
                    with joining(queued.traceparent):
                        await self._run_turn(queued, seconds, record)
            except _TRY_AGAIN:
                raise
            except TenantRemoved:
                logger.info("queued work of a removed tenant dropped", action=queued.action)
                return
            except BatonError as error:
                if error.status >= 500:
                    count(Metric.REQUESTS_FAILED)
                await self._refuse(queued, error)
                may_be_listed = True
            if may_be_listed:
                await self._stop_waiting(queued)

    async def _carry_out(self, queued: Queued, seconds: float, record: HeldRecord | None) -> None:
        """Carry out a record that begins no turn. ``record`` hides it from other workers."""
        scope, thread_id = queued.scope, queued.thread_id
        match queued:
            case QueuedClose():
                await self.closer.close(
                    scope,
                    thread_id,
                    EndReason.USER_CLOSED if queued.closed_by is None else EndReason.PERSON_CLOSED,
                    patience=min(seconds, PATIENCE_SECONDS),
                    episode=queued.episode,
                    closed_by=queued.closed_by,
                    subscriber=queued.subscriber,
                    record=record,
                )
            case QueuedTakeover():
                await self.turns.finish_interrupted(scope, thread_id, presumed_dead=queued.lease, record=record)
            case QueuedTaskCheck(forgotten=ForgottenTask() as forgotten):
                await self.background.stop_forgotten(scope, thread_id, queued.task_id, forgotten)
            case QueuedTaskCheck():
                await self.background.read(scope, thread_id, queued.task_id)
            case QueuedSummary():
                with self._trace(queued):
                    await self.summaries.write(scope, queued.due)
            case QueuedTitle():
                with self._trace(queued):
                    await self.made_titles.make(scope, thread_id)

    def _run_turn(
        self, queued: QueuedMessage | QueuedDecision | QueuedAction, seconds: float, record: HeldRecord | None
    ) -> Coroutine[Any, Any, object]:
        return self.turns.run(
            queued.scope,
            queued.request,
            discard,
            seconds=seconds,
            patience=PATIENCE_SECONDS,
            subscriber=queued.subscriber,
            record=record,
            is_queued=True,
            is_listed=_is_listed(queued),
        )

    async def _needs_turn(
        self, queued: QueuedMessage | QueuedDecision | QueuedAction, seconds: float, record: HeldRecord | None
    ) -> bool:
        """Return whether a message needs a turn. A message that has entered a run needs none.

        Before the turn of a message that waited, a waiting message with the mode "interrupt" is answered.
        """
        if not _is_listed(queued):
            return True
        if await self.turns.has_entered(queued.scope, queued.request):
            return False
        await self._answer_urgent(queued, seconds, record)
        return True

    async def _answer_urgent(self, queued: QueuedMessage, seconds: float, record: HeldRecord | None) -> None:
        """Answer the waiting message that has interrupted a run, if there is one, before ``queued``."""
        waiting = await self.waiting.list_waiting(queued.scope, queued.thread_id)
        urgent = next((message.queued for message in waiting if message.mode is WhileBusy.INTERRUPT), None)
        if urgent is None or urgent.request.message_id == queued.request.message_id:
            return
        try:
            with joining(urgent.traceparent):
                await self._run_turn(urgent, seconds, record)
        except _TRY_AGAIN:
            raise
        except BatonError as error:  # the sender gets the refusal when the message's own record is carried out
            report_failure(error, "queued work refused", action=urgent.action)

    async def _stop_waiting(self, queued: Queued) -> None:
        """Remove a message that has a run, or was refused, from the list of waiting messages."""
        if isinstance(queued, QueuedMessage) and queued.request.begun_by is None:
            await self.live.remove_waiting(queued.scope, queued.thread_id, queued.request.message_id)

    @contextmanager
    def _trace(self, queued: QueuedSummary | QueuedTitle) -> Iterator[None]:
        """Trace the block as a part of the run that has queued the work."""
        work = TracedRun(queued.tenant_id, queued.thread_id, queued.action)
        with joining(queued.traceparent), inside(self.tracer.begin(work)):
            yield

    async def give_up(self, body: str, *, sent_at: datetime | None = None) -> None:
        """End the work of a record that failed too often, so that the thread can continue.

        The run of a turn ends as ``interrupted``, and a closing is refused to its client. Other work is dropped. Raises
        an error if the record must be delivered again.
        """
        queued = _parse(body)
        logger.warning("queued work given up", action=queued.action)
        try:
            await self._check_not_forgotten(queued, sent_at)
            if await self._is_cancelled(queued):
                return
            if isinstance(queued, _MESSAGES):
                await self.turns.give_up(queued.scope, queued.request, subscriber=queued.subscriber)
            elif isinstance(queued, QueuedClose):
                await self._refuse(queued, StoreUnavailable())
        except _TRY_AGAIN:
            raise
        except TenantRemoved:
            return
        except BatonError as error:
            await self._refuse(queued, error)
        await self._stop_waiting(queued)

    async def _check_not_forgotten(self, queued: Queued, sent_at: datetime | None) -> None:
        """Raise ``ThreadUnavailable`` for a record that was sent before its user or thread was forgotten.

        Raises ``TenantRemoved`` for a record of a removed tenant. Until a thread's tombstone is removed, it refuses
        records without a further read, so the cut-off is read only for older records.
        """
        await self.removed_tenants.check(queued.scope)
        if sent_at is None or self.clock.now() - sent_at < LATE_RECORD:
            return
        cutoff = await self.forgotten.find_cutoff(queued.scope, queued.thread_id)
        if cutoff is not None and sent_at <= cutoff:
            raise ThreadUnavailable

    async def _is_cancelled(self, queued: Queued) -> bool:
        """Return whether the message belongs to an A2A task that has been cancelled."""
        if not isinstance(queued, QueuedMessage) or queued.request.a2a_task is None:
            return False
        mark = await self.a2a_tasks.get(queued.scope, queued.thread_id, queued.request.a2a_task)
        return mark is not None and mark.status is MarkStatus.CANCELED

    async def _refuse(self, queued: Queued, error: BatonError) -> None:
        """Log a refusal, and report it to the A2A task and the client. A message that no user sent may be put off."""
        request = queued.request if isinstance(queued, QueuedMessage) else None
        if (
            isinstance(queued, QueuedMessage)
            and queued.request.begun_by is not None
            and await self.due_starts.put_off_refused(queued, error)
        ):
            return
        report_failure(error, "queued work refused", action=queued.action)
        if request is not None and request.a2a_task is not None:
            mark = TaskMark(
                root=request.a2a_task,
                user_id=queued.user_id,
                status=MarkStatus.REFUSED,
                at=self.clock.now(),
                message_id=request.message_id,
                reason=error.detail,
            )
            task_mark = await self.a2a_tasks.mark(queued.scope, queued.thread_id, mark)
            if task_mark == mark:
                await self.change_notifications.note_mark(
                    queued.scope, queued.thread_id, request.a2a_task, f"{mark.status.value}.{request.message_id}"
                )
        subscriber = queued.subscriber
        if subscriber is None or read_machine_time(self.clock) >= subscriber.token_expires_at:
            return
        about = {"action": queued.action, "threadId": queued.thread_id}
        if request is not None:
            about["messageId"] = request.message_id
        refusal = make_unsequenced(make_run_error(error, requestId=queued.request_id), **about)
        await send_to(self.connections, subscriber.connection_id, [refusal], patience=WORKER_SECONDS)


def _is_listed(queued: Queued) -> TypeGuard[QueuedMessage]:
    """Return whether the work is a message that was added to the list of waiting messages when it was sent."""
    return isinstance(queued, QueuedMessage) and queued.busy is not None


def _parse(body: str) -> Queued:
    """Return the work in a record's body, and add its ids to all lines of the log."""
    queued = parse_queued(body)
    logger.append_keys(tenant=queued.tenant_id, thread_id=queued.thread_id, request_id=queued.request_id)
    return queued
