"""A message on its way from a WebSocket to a worker."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from baton.domain.identity import Scope


class QueuedMessage(BaseModel):
    """The body of a record in the turns queue. It was validated by ``sockets``; a worker trusts only the queue."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    tenant_id: str
    user_id: str
    permissions: tuple[str, ...]
    connection_id: str
    connection_expires_at: int
    """Epoch seconds at which the connection's token expires; nothing is posted to it afterwards."""
    request_id: str
    thread_id: str
    may_create: bool
    message_id: str
    content: str | list[dict[str, Any]]
    agent_id: str | None = None

    @property
    def scope(self) -> Scope:
        return Scope(self.tenant_id, self.user_id, frozenset(self.permissions))
