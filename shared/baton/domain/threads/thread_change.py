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
"""Deliveries of a record, after which it becomes a dead letter. The queue's redrive policy says the same."""
MAX_PAUSE_SECONDS = 900


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
    """The meaning of a change for a desk."""

    event: WebhookEvent
    desk_id: str
    reason: ReturnReason | None = None
    """The reason of ``DESK_RETURNED``."""


class ChangeRecord(BaseModel):
    """The change that a record of the queue comes from. None has content of a conversation."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    tenant_id: str
    user_id: str
    """The thread's user."""
    thread_id: str
    kind: ChangeKind
    run_id: str | None = None
    """The run of ``BEGAN`` and ``ENDED``."""
    ordinal: int | None = None
    """The first message of that run; of ``CLOSED``, the ordinal after the last message of the session."""
    first_ordinal: int | None = None
    """The beginning of the session that ends; also of a run that ends the conversation."""
    episode: int | None = None
    """The number of the session in which it happens."""
    root: str | None = None
    """The task of ``MARKED``; of a run that ends no session, its task, if that is known."""
    fence: int = 0
    """The fence of the lease under which it happens."""
    is_unseen: bool = False
    """Whether the thread does not show the run of ``ENDED``, so that it may yet be committed, or never."""
    mark: str | None = None
    """The event of the task of ``MARKED``, so that two marks within minutes are two changes."""
    desk: WebhookEvent | None = None
    """The event of a desk that the change means; None without one."""
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
        """Its name in its group: repeated within minutes, it is dropped. A notification's token is named by it too."""
        return f"{self.kind.value}.{self.run_id or self.root or 'session'}.{self.mark or self.fence}"


class ThreadChange(ChangeRecord):
    """A change of a thread, of which clients of its A2A tasks and receivers of webhooks are notified."""

    record: Literal["change"] = "change"

    @property
    def group(self) -> str:
        """Its group in the queue, in which it waits for earlier changes of the thread."""
        return f"{self.tenant_id}#{self.thread_id}"


def pause_after(receives: int) -> int:
    """Return the seconds until a record that failed is delivered again: twice as many each time."""
    return min(1 << min(receives, 16), MAX_PAUSE_SECONDS)
