"""The records of the turn queue: messages, answers, actions, closings and takeovers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from baton.domain.tenants.identity import Scope
from baton.domain.threads.branches import BranchRequest
from baton.domain.threads.client_offer import ClientOffer
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.interrupt import AnswerStatus
from baton.domain.threads.message import Content
from baton.domain.threads.thread import LeaseMark
from baton.domain.times import from_millis


@dataclass(frozen=True, slots=True)
class RecordDelivery:
    """One delivery of a queue record. The queue delivers a record again if its worker does not finish it."""

    record_id: str
    receives: int
    """Deliveries of the record, this one included."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A WebSocket connection that gets the events of the thread that it sent a message to."""

    connection_id: str
    token_expires_at: datetime


class _Queued(BaseModel):
    """The body of a record. The sender has validated it, and workers trust the queue."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    tenant_id: str
    user_id: str
    permissions: tuple[str, ...]
    connection_id: str | None
    """The sender's WebSocket connection; None over HTTP."""
    connection_expires_at: int
    """Epoch seconds at which the connection's token expires. Nothing is posted to it afterwards."""
    request_id: str
    thread_id: str
    subject_token: str | None = Field(default=None, repr=False)
    """The user's token, sealed (``Scope.subject_token``)."""
    traceparent: str | None = None
    """The trace that the work belongs to; None if its sender traces nothing, and in older records."""

    @property
    def group(self) -> str:
        """Its group in the queue, in which it waits for earlier records of its thread."""
        return self.thread_id

    @property
    def subscriber(self) -> Subscriber | None:
        """The sender's connection; None over HTTP."""
        if self.connection_id is None:
            return None
        return Subscriber(self.connection_id, from_millis(self.connection_expires_at * 1000))

    @property
    def scope(self) -> Scope:
        return Scope(self.tenant_id, self.user_id, frozenset(self.permissions), self.subject_token)


class QueuedMessage(_Queued):
    """A user's message."""

    action: Literal["message"] = "message"
    may_create: bool
    message_id: str
    content: Content
    agent_id: str | None = None
    a2a_task: str | None = None
    """The A2A task it was sent to, by the id of the message that began the task."""
    branch: BranchRequest | None = None
    notifies: bool = False
    """Whether its client wants to be notified of that task."""
    client: ClientOffer | None = None
    time_zone: str | None = None


class QueuedClose(_Queued):
    """A request to close the thread after the records queued before it."""

    action: Literal["close"] = "close"
    episode: int
    """The number of the session to end. A later session is not ended."""


class QueuedAnswer(_Queued):
    """A person's answer to an interrupt; ``user_id`` is the thread's user, even if another person answers."""

    action: Literal["answer"] = "answer"
    interrupt_id: str
    status: AnswerStatus
    payload: Any = None
    answered_by: str


class QueuedAction(_Queued):
    """A request to end a handoff or to continue a workflow."""

    action: Literal["exit", "continue"]
    may_create: bool = False
    message_id: str
    about: str | None = Field(default=None, alias="workflowId")
    """The id of the workflow to continue."""


class QueuedTakeover(_Queued):
    """A request to finish the thread's run, whose worker has died."""

    action: Literal["takeover"] = "takeover"
    lease: LeaseMark | None = None
    """The worker's lease, which has expired or whose holder gave no sign of life."""


class QueuedSummary(_Queued):
    """A request to summarise messages that have left an agent's history, or will soon."""

    action: Literal["summarise"] = "summarise"
    due: SummaryDue

    @property
    def group(self) -> str:
        return f"{self.thread_id}#summary"


class QueuedTitle(_Queued):
    """A request to give the thread a title, if it has none."""

    action: Literal["title"] = "title"

    @property
    def group(self) -> str:
        return f"{self.thread_id}#title"


Queued = QueuedMessage | QueuedAnswer | QueuedAction | QueuedClose | QueuedTakeover | QueuedSummary | QueuedTitle

_QUEUED: TypeAdapter[Queued] = TypeAdapter(Annotated[Queued, Field(discriminator="action")])


def parse_queued(body: str) -> Queued:
    """Read the body of a record. Raises pydantic's ``ValidationError``."""
    return _QUEUED.validate_json(body)
