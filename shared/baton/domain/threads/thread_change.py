"""Changes of a thread that others are notified of, as records of one queue."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from baton.domain.desks.desk_session import ReturnReason
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.webhook import WebhookEvent

MAX_RECEIVES = 12
"""Deliveries of a record after which it becomes a dead letter. The queue's redrive policy has the same number."""
MAX_PAUSE_SECONDS = 900
"""The longest pause between two deliveries."""


class ChangeKind(StrEnum):
    """The kind of a change of a thread."""

    BEGAN = "began"
    """A run has begun."""
    ENDED = "ended"
    """A run ends: it has been committed, or will be in a moment."""
    CLOSED = "closed"
    """The session ends: its end has been committed, or will be in a moment."""
    MARKED = "marked"
    """An A2A task was cancelled, or its message refused."""


@dataclass(frozen=True, slots=True)
class DeskChange:
    """The event of a desk that a change causes."""

    event: WebhookEvent
    desk_id: str
    reason: ReturnReason | None = None
    """The reason of ``DESK_RETURNED``."""


class ChangeRecord(BaseModel):
    """The change that a record of the queue is about. It has no content of a conversation."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    tenant_id: str
    user_id: str
    """The thread's user."""
    thread_id: str
    kind: ChangeKind
    run_id: str | None = None
    """The run of ``BEGAN`` and ``ENDED``."""
    ordinal: int | None = None
    """The ordinal of that run's first message; of ``CLOSED``, the ordinal after the session's last message."""
    first_ordinal: int | None = None
    """The first ordinal of the session that ends, for ``CLOSED`` and for a run that ends the conversation."""
    episode: int | None = None
    """The number of the session in which the change happens."""
    root: str | None = None
    """The task of ``MARKED``; of a run that ends no session, its task, if that is known."""
    fence: int = 0
    """The fence of the lease under which the change happens."""
    is_unseen: bool = False
    """Whether the thread does not show the run of ``ENDED`` yet. Its commit may follow or fail."""
    mark: str | None = None
    """A name for the event of ``MARKED``, so that two marks within minutes are two changes."""
    desk: WebhookEvent | None = None
    """The event of a desk that the change causes; None if it causes none."""
    desk_id: str | None = None
    """The desk of this event."""
    return_reason: ReturnReason | None = None
    """The reason of ``DESK_RETURNED``."""

    @property
    def scope(self) -> Scope:
        """The scope of the thread's user, without permissions."""
        return Scope(self.tenant_id, self.user_id)

    @property
    def name(self) -> str:
        """The name in its group. The queue drops a repetition within minutes. It also names a notification's token."""
        return f"{self.kind.value}.{self.run_id or self.root or 'session'}.{self.mark or self.fence}"


class ThreadChange(ChangeRecord):
    """A change of a thread for which clients of A2A tasks and receivers of webhooks get notifications."""

    record: Literal["change"] = "change"

    @property
    def group(self) -> str:
        """Its group in the queue, in which it waits for earlier changes of the thread."""
        return f"{self.tenant_id}#{self.thread_id}"


def compute_redelivery_pause(receives: int) -> int:
    """Return the seconds until a failed record is delivered again: twice as many each time, up to the longest pause."""
    return min(1 << min(receives, 16), MAX_PAUSE_SECONDS)
