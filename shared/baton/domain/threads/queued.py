"""The records of the turn queue: messages, decisions, actions, closings, takeovers and other work on threads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    model_serializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.desks.desk_session import Person
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.schedules.background_task import BackgroundKind
from baton.domain.tenants.identity import Scope, ThreadRef, derive_run_id
from baton.domain.threads.history_window import SummaryDue
from baton.domain.threads.thread import LeaseMark
from baton.domain.threads.turn_requests import ActionRequest, ConversationAction, DecisionRequest, MessageRequest
from baton.domain.times import from_millis


@dataclass(frozen=True, slots=True)
class RecordDelivery:
    """One delivery of a queue record. The queue delivers a record again if its worker does not finish it."""

    record_id: str
    receives: int
    """The number of deliveries of the record, including this one."""


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A WebSocket connection that gets the events of the thread to which it sent a message."""

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
    """The user's encrypted token (``Scope.subject_token``)."""
    user_name: str | None = None
    """The user's name for people (``Scope.name``); None in older records."""
    user_locale: str | None = None
    """The user's language (``Scope.locale``); None in older records."""
    traceparent: str | None = None
    """The trace context of the work; None if its sender does not trace, and in older records."""

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
        """The scope of the work: the record's tenant, user and permissions."""
        return Scope(
            self.tenant_id,
            self.user_id,
            frozenset(self.permissions),
            self.subject_token,
            name=self.user_name,
            locale=self.user_locale,
        )


class QueuedMessage(_Queued):
    """A user's message. The body has the fields of the request beside those of every record."""

    action: Literal["message"] = "message"
    request: MessageRequest
    busy: WhileBusy | None = None
    """The treatment of a message that was sent during a run and is a waiting message; None for others."""
    put_off: int = 0
    """The number of times that it was put off, because its run could not begin."""
    due_at: datetime | None = None
    """The time at which a run that begins by itself was due. None for other messages, and if the run was due when it
    was sent and has not been put off."""

    @model_validator(mode="before")
    @classmethod
    def _gather_request(cls, body: Any) -> Any:
        if not isinstance(body, dict) or "messageId" not in body:
            return body
        thread = ThreadRef(body["threadId"], body["mayCreate"])
        run_id = derive_run_id(thread.id, body["messageId"])
        return {**body, "request": {**body, "thread": thread, "runId": run_id}}

    @model_serializer(mode="wrap")
    def _spread_request(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        body = serialize(self)
        request = body.pop("request")
        names = ("thread", "runId", "originalDigest")  # the reader of a body derives these
        fields = {name: value for name, value in request.items() if name not in names}
        return {**body, **fields, "mayCreate": self.request.thread.may_create}


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A message that was sent while a run was in progress. It has neither entered the run nor begun its own."""

    message_id: str
    mode: WhileBusy
    run_id: str
    """The run in progress when it was sent, the only one that it may enter."""
    digest: str
    sent_at: datetime
    queued: QueuedMessage | None = None
    """The message with its sender; None if it is too long to be stored here."""
    until: datetime | None = None
    """The time at which a sender who waits gives up; None if the message is in the queue."""

    def is_waited_for(self, now: datetime) -> bool:
        """Return whether the queue has the message, or its sender waits."""
        return self.until is None or now < self.until


class QueuedClose(_Queued):
    """A request to close the thread after the records queued before it."""

    action: Literal["close"] = "close"
    episode: int
    """The number of the session to end. A later session is not ended."""
    closed_by: Person | None = None
    """The person of a desk who closes it; None for the user, and in older records."""


class QueuedDecision(_Queued):
    """A person's decision on an interrupt. ``user_id`` is the thread's user, even if another person decides."""

    action: Literal["answer"] = "answer"
    interrupt_id: str
    status: DecisionStatus
    payload: Any = None
    answered_by: str

    @property
    def request(self) -> DecisionRequest:
        """The request for the run that continues."""
        decision = InterruptDecision(self.interrupt_id, self.status, self.payload, self.answered_by)
        return DecisionRequest.of(self.thread_id, (decision,))


class QueuedAction(_Queued):
    """A request to end a handoff, to continue a workflow, to ask for a desk, or to return from one."""

    action: Literal["exit", "continue", "desk.ask", "desk.return"]
    may_create: bool = False
    message_id: str
    about: str | None = Field(default=None, alias="workflowId")
    """The id of the workflow to continue, or ``ActionRequest.about`` of another action."""

    @property
    def request(self) -> ActionRequest:
        """The request for the run of the action."""
        thread, run_id = ThreadRef(self.thread_id, self.may_create), derive_run_id(self.thread_id, self.message_id)
        return ActionRequest(thread, self.message_id, run_id, ConversationAction(self.action), self.about)


class QueuedTakeover(_Queued):
    """A request to finish the thread's run, whose worker has died."""

    action: Literal["takeover"] = "takeover"
    lease: LeaseMark | None = None
    """The lease of the dead worker: it has expired, or its holder gave no sign of life."""


class ForgottenTask(BaseModel):
    """The fields of a task that are needed to stop it after its conversation was forgotten. They have no content."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    kind: BackgroundKind
    name: str
    agent_id: str
    location: str


class QueuedTaskCheck(_Queued):
    """A request to read the state of a task at the address that its tool has given."""

    action: Literal["background.check"] = "background.check"
    task_id: str
    forgotten: ForgottenTask | None = None
    """The task to stop because its conversation was forgotten; None for a check."""

    @property
    def group(self) -> str:
        return f"{self.thread_id}#{self.task_id}"


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


Queued = (
    QueuedMessage
    | QueuedDecision
    | QueuedAction
    | QueuedClose
    | QueuedTakeover
    | QueuedTaskCheck
    | QueuedSummary
    | QueuedTitle
)

_QUEUED: TypeAdapter[Queued] = TypeAdapter(Annotated[Queued, Field(discriminator="action")])


def parse_queued(body: str) -> Queued:
    """Read the body of a record. Raises pydantic's ``ValidationError``."""
    return _QUEUED.validate_json(body)
