"""An agent that takes events, and a system that sends them over HTTP."""

from __future__ import annotations

from typing import Any

import httpx

from baton.domain.tenants.identity import Permission, Scope, resolve_thread_ref
from baton.domain.threads.message import StoredMessage
from baton.memory.prompt.history_reading import read_messages_between
from tests.harness.due import run_queue
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.served import Served

SHIPPED = "order.shipped"
INSTRUCTIONS = "Tell the user which carrier has the parcel."
TAKES = {"events": [{"type": SHIPPED, "instructions": INSTRUCTIONS}]}
TAKING = ASSISTANT.model_validate({**ASSISTANT.model_dump(exclude_unset=True), **TAKES})


class EventSender:
    """The user's shop, which sends events about ada's orders."""

    def __init__(self, harness: Harness | None = None) -> None:
        self.harness = harness or Harness(assistant=TAKING)
        self.served = Served(self.harness)

    async def send(
        self, event_id: str = "e1", *, user: str = "shop", thread_id: str | None = None, **fields: Any
    ) -> httpx.Response:
        """Send an event, by default into ada's conversation."""
        body = {"eventId": event_id, "type": SHIPPED, "data": {"carrier": "DHL"}, "userId": "ada"} | fields
        path = f"/threads/{thread_id or self.harness.thread_id}/events"
        return await self.served.post(path, body, Permission.EVENT_SEND, user=user)

    async def run_queue(self) -> int:
        """Run what the queue holds; return the number of records."""
        return await run_queue(self.harness)

    async def messages(self, thread_id: str | None = None, *, owner: Scope | None = None) -> list[StoredMessage]:
        """Return the messages of ada's conversation, or of another conversation."""
        owner = owner or self.harness.ada
        canonical = resolve_thread_ref(owner, thread_id or self.harness.thread_id).id
        thread = await self.harness.store.get_thread(owner, canonical)
        return await read_messages_between(self.harness.store, owner, thread, 0, thread.next_ordinal)

    def list_audits(self, action: str) -> list[tuple[str, str, dict[str, Any]]]:
        """Return the user, outcome and detail of each audit record of the action."""
        records = [record for record in self.harness.audit.records if record.action == action]
        return [(record.scope.user_id, record.outcome, dict(record.detail)) for record in records]
