"""The question of a run: storing it under the lease, and finding what an earlier attempt left of its answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from baton.concurrency import gather_all
from baton.domain.identity import Scope
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import StoredMessage
from baton.domain.thread import Run
from baton.memory.prompt.history_reading import ReadHistory
from baton.outbox.delivery import Delivery
from baton.ports.messages import TurnRecord
from baton.requests.turn_requests import MessageRequest
from baton.turns.lease_keeper import LeaseHolder
from baton.turns.opening import dated_as_before
from baton.turns.recovery import adoptable
from baton.turns.turn_call import TurnCall
from baton.turns.turn_services import TurnServices


@dataclass(slots=True)
class RunQuestion:
    """Stores the question of a run under its lease."""

    services: TurnServices
    holder: LeaseHolder
    run: Run
    call: TurnCall
    scope: Scope
    """The user's, with the permissions that the message came with."""
    delivery: Delivery
    answered: PendingInterrupts | None
    """The interrupts that the run answers, if it continues an interrupted one."""
    message: StoredMessage
    """The question, or what the user answers to an interrupt."""

    async def find_earlier_attempt(self) -> tuple[TurnRecord | None, tuple[StoredMessage, ...] | None]:
        """Return the record of an earlier attempt, and its complete answer if only its commit is missing.

        This comes first, because an earlier attempt's question may be stored at the ordinal of this one, and another
        text must not replace it. ``message`` then has the date of that question.
        """
        store, lease = self.services.store, self.holder.lease
        known = await store.open_turn(lease, self.turn)
        if known is None or known.digest != self.call.request.digest:
            return known, None
        left = await adoptable(store, lease, known)
        if left is None:
            self.message = await dated_as_before(store, lease, known, self.message)
        return known, left

    def may_answer_early(self, history: ReadHistory) -> bool:
        """Return whether to call the model before the question is stored, so that the user waits for the reads alone.

        No event is sent and no tool is called before the question is stored. A message that has probably been answered
        already is excluded, because a model call costs money. So is one that begins a branch: the history before it
        does not tell whether it has been answered.
        """
        is_first = self.run.attempt == 1 and isinstance(self.call.request, MessageRequest) and not self.call.gives_up
        begins_branch = self.message.branch is not None
        return (
            is_first
            and not begins_branch
            and all(message.id != self.call.request.message_id for message in history.messages)
        )

    async def write(self, known: TurnRecord | None, watchers: asyncio.Future[None]) -> TurnRecord | None:
        """Store the question and attach the caller; return the record of an earlier attempt, or None.

        If the run does not begin, the stored question stays beyond the thread's pointer. It is never read there, and
        the next turn overwrites it.
        """
        store, lease = self.services.store, self.holder.lease
        opened, _, _, _ = await gather_all(
            _nothing() if self.run.attempt > 1 else store.open_turn(lease, self.turn),
            store.put_message(lease, self.message),
            self._attach_caller(watchers),
            self._tell_task() if lease.thread.notifies else _nothing(),
        )
        found: TurnRecord | None = known or opened
        return found

    @property
    def turn(self) -> TurnRecord:
        """Return the record of the question, by which a repetition of its message is found."""
        return TurnRecord(
            message_id=self.call.request.message_id,
            run_id=self.run.run_id,
            digest=self.call.request.digest,
            first_ordinal=self.message.ordinal,
            fence=self.holder.lease.fence,
            permissions=tuple(sorted(self.scope.permissions)),
            client=self.call.request.client,
        )

    async def _attach_caller(self, watchers: asyncio.Future[None]) -> None:
        """Attach the connection that the message came by, unless it is among the ``watchers``."""
        await asyncio.shield(watchers)
        subscriber = self.call.subscriber
        if subscriber is not None:
            await self.delivery.join(subscriber.connection_id, subscriber.token_expires_at)

    async def _tell_task(self) -> None:
        """Queue for clients that want to be notified that the run has begun, if it is of an A2A task."""
        if self.message.a2a_task is not None or self.answered is not None:
            news, root = self.services.task_news, self.message.a2a_task
            await news.run_began(self.holder.lease, self.run.run_id, root)


async def _nothing() -> None:
    """Do nothing, in place of a step that is not needed."""
