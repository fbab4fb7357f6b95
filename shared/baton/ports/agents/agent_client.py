"""The port to remote agents, reached over A2A."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.handoff import HandoffRequest
from baton.domain.runs.task import RemoteTask
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.ports.agents.chat_model import TextDelta, TextTakenBack
from baton.ports.agents.tools import TaskCallback


class AgentFailed(Exception):
    """A remote agent did not answer. Records and the asking model get ``reason``, which contains no secrets.

    ``is_final``: the agent has refused or failed, and another attempt would probably end in the same way.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        self.reason = reason
        self.is_final = is_final
        super().__init__(reason)


class TaskLost(AgentFailed):
    """The remote agent does not know the task ``remote_task_id``, or has ended it. The message was not sent."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A handoff to a remote agent, sent with its first message."""

    request: HandoffRequest
    recent_messages: tuple[tuple[str, str], ...] = ()
    """Roles and texts of the messages that the context mode grants, oldest first."""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """The report of a specialist that ends its handoff."""

    summary: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or document of a message: its bytes or its address."""

    name: str | None
    media_type: str | None
    data: bytes | None = None
    url: str | None = None
    """The address, with which anybody can read the file. The address of an upload expires within minutes."""


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A request to a remote agent."""

    scope: Scope
    thread_id: str
    task_id: str
    """The id of the sent message, by which the remote agent can recognise a repetition."""
    parent_task_id: str
    """The run that needs the answer."""
    message: str
    """The text; empty only if there are attachments or data."""
    remote_task_id: str | None = None
    """The remote agent's own id of the task that this message continues; None for a new task."""
    handoff: HandedOver | None = None
    """The handoff that this message begins; None for a consultation or a later message."""
    attachments: tuple[Attachment, ...] = ()
    data: Mapping[str, Any] | None = None
    """A structured answer to the agent's question."""
    follows: RemoteTask | None = None
    """The task to which an earlier attempt sent the message. If the task has the message, it is only followed."""
    time_zone: str | None = None
    """The user's time zone; None if it is not known."""
    is_background: bool = False
    """True if nobody waits. The answer then ends once the agent has the message, or the state of its task is read."""
    callback: TaskCallback | None = None
    """The address to which the agent may report changes of its task; None if the task must be polled."""


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """The remote agent's task for the message. It is yielded as soon as it is known, at most once."""

    remote_task_id: str
    known: Mapping[str, int] = field(default_factory=dict)
    """The contents of the task before the message: see ``RemoteTask.known``."""


@dataclass(frozen=True, slots=True)
class NotSent:
    """An attachment that is not sent, because the agent does not accept its type."""

    attachment: Attachment


@dataclass(frozen=True, slots=True)
class AgentData:
    """Structured data of the answer, such as a form to be filled in: any JSON value."""

    value: Any


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A file of the answer."""

    attachment: Attachment


@dataclass(frozen=True, slots=True)
class AgentProgress:
    """The notice that the remote agent is still working. ``label`` is its status text, which may be empty."""

    label: str = ""


@dataclass(frozen=True, slots=True)
class AgentDone:
    """The end of a remote agent's answer."""

    remote_task_id: str | None = None
    """The agent's own id of its task, if the task waits for further input; None if it is done."""
    usage: Usage | None = None
    report: AgentReport | None = None
    """Set if the agent ends its handoff."""
    documents: tuple[Mapping[str, Any], ...] = ()
    """The documents that the agent names as sources of its answer, with the numbers by which the answer cites them."""
    needs_sign_in: bool = False
    """True if the agent waits for the user to sign in or to grant it access (A2A: ``auth-required``)."""


AgentChunk = TextDelta | TextTakenBack | AgentStarted | NotSent | AgentData | AgentFile | AgentProgress | AgentDone


class AgentClient(Protocol):
    """Client of the remote agents that ``AgentDefinition.remote`` describes."""

    def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        """Yield the parts of the answer as they arrive, its text without thinking, then one ``AgentDone``.

        ``TextTakenBack`` revokes all earlier text.

        Closing the generator asks the remote agent to stop, unless ``is_passed_on()`` is then true, because another
        worker follows its task. A task in the background ends without ``AgentDone`` while the agent works, and is
        stopped by ``cancel`` only. The caller limits the time.

        Raises ``TaskLost`` if ``remote_task_id`` accepts no more messages, or the task in ``follows`` no longer exists
        or was cancelled. Raises ``Unauthorized`` if the agent acts for the user and the request has no token of the
        user. In both cases the agent has not received the message. Raises ``AgentFailed`` for every other failure:
        unreachable, refused, not A2A, too large, a forbidden address.
        """

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """Ask the agent to stop a task that is no longer followed. A failure is only logged."""
