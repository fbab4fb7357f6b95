"""Turns that waited in the queue: run, or given up for good."""

from __future__ import annotations

from contextlib import nullcontext

from aws_lambda_powertools import Logger

from baton.conversation.delivery import send_to
from baton.conversation.listener import Listener
from baton.conversation.requests import from_queue
from baton.conversation.turns import Turns
from baton.domain.errors import BatonError, LeaseLost, StoreUnavailable, ThreadBusy
from baton.domain.events import run_error, unsequenced
from baton.domain.queued import QueuedMessage
from baton.domain.times import from_millis
from baton.ports.clock import Clock
from baton.ports.connections import Connections
from baton.ports.queue_records import QueueRecords

logger = Logger(child=True)

_TRY_AGAIN = (LeaseLost, StoreUnavailable, ThreadBusy)
"""Failures that a later delivery may not meet; everything else is an outcome and is told to the client."""
PATIENCE_SECONDS = 20.0
"""How long a worker waits for a thread that an HTTP caller is writing to, before the record goes back to the queue."""


class QueuedTurns:
    """Runs the turns of queue records."""

    def __init__(self, turns: Turns, connections: Connections, records: QueueRecords | None, clock: Clock) -> None:
        self._turns = turns
        self._connections = connections
        self._records = records
        self._clock = clock

    async def run(self, body: str, receipt_handle: str, *, seconds: float) -> None:
        """Run one record's turn within ``seconds``. Raises when the record has to come again."""
        message = QueuedMessage.model_validate_json(body)
        logger.append_keys(tenant=message.tenant_id, thread_id=message.thread_id, message_id=message.message_id)
        async with self._records.hidden(receipt_handle) if self._records else nullcontext():
            try:
                await self._turns.run(
                    message.scope,
                    from_queue(message),
                    lambda event: None,
                    seconds=seconds,
                    patience=PATIENCE_SECONDS,
                    listener=self._listener(message),
                )
            except _TRY_AGAIN:
                raise
            except BatonError as error:
                await self._refuse(message, error)

    async def give_up(self, body: str) -> None:
        """End a turn that was tried too often, so that its thread goes on: its run ends as ``interrupted``."""
        message = QueuedMessage.model_validate_json(body)
        try:
            await self._turns.give_up(message.scope, from_queue(message), listener=self._listener(message))
        except _TRY_AGAIN:
            raise
        except BatonError as error:
            await self._refuse(message, error)

    async def _refuse(self, message: QueuedMessage, error: BatonError) -> None:
        refusal = unsequenced(
            run_error(error, requestId=message.request_id),
            action="message",
            messageId=message.message_id,
            threadId=message.thread_id,
        )
        if self._clock.now() < from_millis(message.connection_expires_at * 1000):
            await send_to(self._connections, message.connection_id, [refusal])

    @staticmethod
    def _listener(message: QueuedMessage) -> Listener:
        return Listener(message.connection_id, from_millis(message.connection_expires_at * 1000))
