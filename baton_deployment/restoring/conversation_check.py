"""The check of live conversations: whether they have all messages, and all files to which their items refer."""

from __future__ import annotations

from dataclasses import dataclass

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.erased_items import TOMBSTONE
from baton.domain.tenants.identity import Scope
from baton_deployment.restoring.forgotten import ANYBODY
from baton_deployment.restoring.object_versions import ObjectVersions

DIGEST = "_sha256"
"""The end of the names of attributes that refer to a body in the bucket."""


@dataclass(frozen=True, slots=True)
class ConversationState:
    """The result of the check of a conversation."""

    is_there: bool = False
    """Whether the conversation exists."""
    messages: int = 0
    lost_messages: int = 0
    lost_bodies: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether nothing is missing."""
        return not (self.lost_messages or self.lost_bodies)


@dataclass(frozen=True, slots=True)
class ConversationCheck:
    """A comparison of a conversation's number of messages with its messages, and of its items with its files."""

    live: Table
    objects: ObjectVersions | None

    async def check(self, tenant_id: str, thread_id: str) -> ConversationState:
        """Check a conversation, which has nothing to check if it does not exist. Raises ``StoreUnavailable``."""
        scope = Scope(tenant_id, ANYBODY)
        thread = await self.live.get(keys.thread(scope, thread_id))
        if thread is None or thread.get("thread_status") == TOMBSTONE:
            return ConversationState()
        messages, digests = 0, set[str]()
        async for page in self.live.query(thread["PK"]):
            for item in page:
                is_message = item["SK"].startswith(keys.message.prefix)
                messages += is_message and keys.message.read_number(item) < thread["next_ordinal"]
                digests |= {str(value) for name, value in item.items() if name.endswith(DIGEST)}
        lost_bodies = 0
        if self.objects is not None and digests:
            prefix = f"{tenant_id}/{thread_id}/bodies/"
            present = {key.removeprefix(prefix) async for key in self.objects.list_present(prefix)}
            lost_bodies = len(digests - present)
        lost_messages = thread["next_ordinal"] - messages
        return ConversationState(is_there=True, messages=messages, lost_messages=lost_messages, lost_bodies=lost_bodies)
