"""What waits in the queue for its turn: messages, closings and takeovers, in order within a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from baton.domain.identity import Scope
from baton.domain.interrupt import AnswerStatus
from baton.domain.thread import LeaseMark


@dataclass(frozen=True, slots=True)
class RecordDelivery:
    """One delivery of one record of the queue. It comes again when whoever had it did not finish it."""

    record_id: str
    receives: int
    """How often the record has been delivered, this time included."""


class _Queued(BaseModel):
    """The body of a record in the turns queue. It was validated before; a worker trusts only the queue."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    tenant_id: str
    user_id: str
    permissions: tuple[str, ...]
    connection_id: str | None
    """The WebSocket it came by; None: it came over HTTP."""
    connection_expires_at: int
    """Epoch seconds at which the connection's token expires; nothing is posted to it afterwards."""
    request_id: str
    thread_id: str

    @property
    def scope(self) -> Scope:
        return Scope(self.tenant_id, self.user_id, frozenset(self.permissions))


class QueuedMessage(_Queued):
    """A user's message."""

    action: Literal["message"] = "message"
    may_create: bool
    message_id: str
    content: str | list[dict[str, Any]]
    agent_id: str | None = None


class QueuedClose(_Queued):
    """A wish to close the thread after everything that was queued before."""

    action: Literal["close"] = "close"
    episode: int
    """The session that is to end, by its number; a later one is left alone."""


class QueuedAnswer(_Queued):
    """A person's answer to what a run waits for; ``user_id`` is the thread's user, whoever answers."""

    action: Literal["answer"] = "answer"
    interrupt_id: str
    status: AnswerStatus
    payload: Any = None
    answered_by: str


class QueuedAction(_Queued):
    """A user's wish to leave the specialist, or to continue a workflow."""

    action: Literal["exit", "continue"]
    may_create: bool = False
    message_id: str
    workflow_id: str | None = None


class QueuedTakeover(_Queued):
    """A wish to have the thread's run finished whose worker has died."""

    action: Literal["takeover"] = "takeover"
    lease: LeaseMark | None = None
    """The lease of the worker, which was found to have run out or was asked about in vain."""


Queued = QueuedMessage | QueuedAnswer | QueuedAction | QueuedClose | QueuedTakeover

_QUEUED: TypeAdapter[Queued] = TypeAdapter(Annotated[Queued, Field(discriminator="action")])


def parse_queued(body: str) -> Queued:
    """Read the body of a record. Raises pydantic's ``ValidationError``."""
    return _QUEUED.validate_json(body)
