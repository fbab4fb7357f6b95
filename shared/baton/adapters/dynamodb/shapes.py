"""Bodies of items: values of the domain, whose own declarations say how they are stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from baton.adapters.dynamodb.bodies import DAMAGED, pack, unpack
from baton.domain.desks.desk_session import Person
from baton.domain.documents.document import Document
from baton.domain.documents.source import Source, SourcePage
from baton.domain.errors import StoreUnavailable
from baton.domain.handoffs.handoff import HandoffRequest
from baton.domain.handoffs.workflow import Workflow
from baton.domain.memory.capture import Capture
from baton.domain.memory.episode import Fact
from baton.domain.memory.procedure import Procedure
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask, Task, TaskMessage
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.schedules.background_task import BackgroundTask
from baton.domain.schedules.schedule import Schedule
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import ConversationState
from baton.domain.threads.turn_requests import ClientOffer

T = TypeVar("T")

_CONFIG = ConfigDict(val_temporal_unit="milliseconds", hide_input_in_errors=True, defer_build=True)
"""Times are milliseconds, as in ``bodies``. Errors are logged, so they must not quote what users wrote."""


class Shape(Generic[T]):
    """The packed form of a dataclass's values.

    Every field is packed under its own name, except those of ``elsewhere``: the item has them in its key or attributes,
    and ``unpack`` takes them as arguments. Fields at their defaults are left out. Unknown fields, which a newer version
    has added, are ignored.
    """

    def __init__(self, kind: type[T], *elsewhere: str) -> None:
        # In a tuple, because only a type that is not a dataclass itself can be given a configuration.
        self._adapter: TypeAdapter[tuple[T]] = TypeAdapter(tuple[kind], config=_CONFIG)  # type: ignore[valid-type]
        self._excluded = {0: set(elsewhere)}

    def load(self) -> None:
        """Build the adapter now instead of with the first value."""
        self._adapter.rebuild(raise_errors=True)

    def as_json(self, value: T) -> dict[str, Any]:
        """Return the value's fields in the form that ``bodies.pack`` takes."""
        dumped = self._adapter.dump_python((value,), exclude=self._excluded, exclude_defaults=True)
        body: dict[str, Any] = dumped[0]
        return body

    def pack(self, value: T) -> bytes:
        """Return the value's fields, packed."""
        return pack(self.as_json(value))

    def unpack(self, packed: bytes, **elsewhere: Any) -> T:
        """Return the value, with the fields of ``elsewhere``.

        Raises ``StoreUnavailable`` if the body is damaged, and ``ValueError`` if another version of Baton packed it.
        """
        return self.of_json(unpack(packed), **elsewhere)

    def of_json(self, body: object, **elsewhere: Any) -> T:
        """Return the value from a result of ``as_json``, or from an item's attributes. Raises ``StoreUnavailable``."""
        if not isinstance(body, dict):
            raise StoreUnavailable(DAMAGED)
        try:
            return self._adapter.validate_python(({**body, **elsewhere},))[0]
        except ValidationError as error:
            raise StoreUnavailable(DAMAGED) from error


MESSAGE = Shape(StoredMessage, "id", "ordinal", "run_id", "tokens", "fence", "summaries")
PENDING = Shape(PendingInterrupts)
HANDOFF = Shape(HandoffRequest, "thread_id", "tenant_id", "ordinal", "number", "started_at")
WORKFLOW = Shape(Workflow, "id", "thread_id")
PROCEDURE = Shape(
    Procedure, "tenant_id", "version", "status", "decided_by", "decided_at", "reason", "used", "went_well"
)
TOOL_CALL = Shape(ToolCallRecord, "id", "run_id", "called_at")
CAPTURE = Shape(Capture)
TASK = Shape(Task, "id", "run_id", "started_at", "messages")
TASK_MESSAGE = Shape(TaskMessage)
REMOTE_TASK = Shape(RemoteTask, "id")
RUN_STEP = Shape(RunStep, "id", "message_id", "run_id")
FACT = Shape(Fact)
PERSON = Shape(Person)
DOCUMENT = Shape(Document, "id", "agent_id", "revision")
SOURCE = Shape(Source, "id", "agent_id", "revision")
SOURCE_PAGE = Shape(SourcePage, "document_id")
CONVERSATION = Shape(ConversationState, "agent_id")
CLIENT_OFFER = Shape(ClientOffer)
SCHEDULE = Shape(Schedule, "id", "revision")
BACKGROUND_TASK = Shape(BackgroundTask, "id", "revision")


def load() -> None:
    """Load the shapes that a turn reads before its first word. The others load within a millisecond at first use."""
    for shape in (MESSAGE, CONVERSATION, WORKFLOW, PROCEDURE):
        shape.load()


def pack_conversation(conversation: ConversationState) -> bytes | None:
    """Pack the conversation state, without its active agent, into one attribute; None if there is nothing to keep."""
    body = CONVERSATION.as_json(conversation)
    return pack(body) if body else None


def unpack_conversation(agent_id: str, packed: bytes | None) -> ConversationState:
    """Return the state that ``pack_conversation`` packed, with ``agent_id`` as the active agent."""
    return CONVERSATION.unpack(packed, agent_id=agent_id) if packed is not None else ConversationState(agent_id)


def pack_call(call: ToolCallRecord) -> bytes:
    """Pack a call. Arguments that contain NaN or an infinity, which JSON does not have, are packed as text."""
    try:
        json.dumps(call.input, allow_nan=False, default=dict)
    except ValueError:
        call = replace(call, input=json.dumps(call.input, ensure_ascii=False, default=dict))
    return TOOL_CALL.pack(call)


def pack_task_messages(messages: Sequence[TaskMessage]) -> bytes:
    """Pack the messages of a sub-task. ``TASK.unpack`` takes them as ``messages``."""
    return pack([TASK_MESSAGE.as_json(message) for message in messages])
