"""Agents that run elsewhere, spoken to over A2A."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from baton.domain.agent import AgentDefinition
from baton.domain.handoff import HandoffRequest
from baton.domain.identity import Scope
from baton.domain.usage import Usage
from baton.ports.chat_model import TextDelta


class AgentFailed(Exception):
    """A remote agent did not answer; ``reason`` is for records and for the asking model, without secrets."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class TaskLost(AgentFailed):
    """The remote agent no longer knows the task that a message goes on with, or has ended it: nothing was sent."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A conversation that another agent is given, with its first message."""

    request: HandoffRequest
    recent_messages: tuple[tuple[str, str], ...] = ()
    """Role and text of what its context mode grants, the oldest first."""


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What another agent reports as it hands the conversation back."""

    summary: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a document that goes with a message: its bytes, or where they are."""

    name: str | None
    media_type: str | None
    data: bytes | None = None
    url: str | None = None
    """Whoever has it can read the file; that of an upload is good for some minutes."""


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What another agent is asked to do."""

    scope: Scope
    thread_id: str
    task_id: str
    """Ours: the id of the message that is sent, so that a repeated one is recognised."""
    parent_task_id: str
    """The run it is done for."""
    message: str
    """Empty only where there are attachments."""
    remote_task_id: str | None = None
    """The remote agent's own task that this message goes on with, if it had asked for more."""
    handoff: HandedOver | None = None
    """The handoff that this message begins; None: it is a consultation, or a later message."""
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentProgress:
    """The remote agent is still at work; ``label`` is what it says about it, or empty."""

    label: str = ""


@dataclass(frozen=True, slots=True)
class AgentDone:
    """The end of a remote agent's answer."""

    remote_task_id: str | None = None
    """Its task, if it waits for more input; None: it is done."""
    usage: Usage | None = None
    report: AgentReport | None = None
    """Set if it hands the conversation back to whoever handed it over."""


AgentChunk = TextDelta | AgentProgress | AgentDone


class AgentClient(Protocol):
    """Speaks to the remote agents that ``AgentDefinition.remote`` describes."""

    def stream(self, agent: AgentDefinition, task: AgentTask) -> AsyncGenerator[AgentChunk, None]:
        """Yield the answer's text as it comes, then one ``AgentDone``.

        Closing the generator asks the remote agent to stop. Raises ``TaskLost`` before anything was sent if
        ``remote_task_id`` takes no more messages, and ``AgentFailed`` for everything else that can go wrong:
        unreachable, refused, not A2A, too large, an address that must not be called. How long the whole may take is
        the caller's to limit.
        """
        ...
