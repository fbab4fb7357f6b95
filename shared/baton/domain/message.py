"""Messages: what was said, by whom, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    DocumentPart,
    FunctionCall,
    ImagePart,
    Message,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ag_ui.core import ToolCall as ShownToolCall

from baton.domain.conversation_state import ConversationChange
from baton.domain.interrupt import Interrupt
from baton.domain.times import iso
from baton.domain.tool_call import CallEnd, ToolCall, is_shown
from baton.domain.usage import Usage

Part = TextPart | ImagePart | DocumentPart
Content = str | tuple[Part, ...]


LENGTH = "length"
"""The ``finishReason`` of an answer that was cut, in the words of OpenAI's Chat Completions."""


class Role(StrEnum):
    """Who speaks. System and context messages are rebuilt every turn and never stored."""

    SYSTEM = "system"
    CONTEXT = "context"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageStatus(StrEnum):
    """Whether the whole message was said, or only what had been streamed when it was stopped."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"


class OutcomeType(StrEnum):
    """How a run ended."""

    SUCCESS = "success"
    CANCELLED = "cancelled"
    ERROR = "error"
    INTERRUPT = "interrupt"
    """It waits for a person's answer; a run that has this one as its parent goes on."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended; kept on its last message, so that a repeated message gets the same answer."""

    outcome: OutcomeType
    usage: Usage
    model: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    tail: tuple[dict[str, Any], ...] = ()
    """The run's last events, those after the last piece of the stream log (``outbox.event_log``)."""
    tail_seq: int = 0
    """The sequence number of the first event of ``tail``."""
    first_seq: int = 0
    """The sequence number of the run's RUN_STARTED, that of its last attempt."""
    interrupts: tuple[Interrupt, ...] = ()
    """What the run waits for, if its outcome says so."""
    parent_run_id: str | None = None
    """The run whose interrupts this one answers."""
    change: ConversationChange | None = None
    """What the run does to which agent is active; None: nothing. Carried out by whoever commits the run."""

    @property
    def last_seq(self) -> int:
        """The sequence number of the run's last event."""
        return self.tail_seq + len(self.tail) - 1


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of a thread, as the store keeps it.

    Raises nothing; content was validated by ``domain.content`` when it came in.
    """

    id: str
    role: Role
    content: Content
    ordinal: int
    """Position in the thread, from 0, without gaps up to the thread's pointer."""
    run_id: str
    timestamp: datetime
    tokens: int
    """Tokens this message takes in a prompt, its framing included."""
    status: MessageStatus = MessageStatus.COMPLETE
    is_cut: bool = False
    """Whether an answer ends where there was no room for more of it, and not where its agent had finished."""
    agent_id: str | None = None
    agent_name: str | None = None
    is_handoff_summary: bool = False
    is_tool_result: bool = False
    tool_name: str | None = None
    source: str | None = None
    sources: tuple[dict[str, Any], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant message called."""
    tool_call_id: str | None = None
    """The call that a tool message answers."""
    call_end: CallEnd = CallEnd.SUCCEEDED
    """How that call ended."""
    attempt: int = 1
    fence: int = 0
    """Of the lease under which it was written, as the store has it; 0 where it was never read back."""
    end: RunEnd | None = field(default=None)
    """Set on the last message of a run."""

    @property
    def text(self) -> str:
        """The text of the message; parts that are not text are left out."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))

    def metadata(self) -> dict[str, Any]:
        """The wire metadata; absent values are null, but for ``outcome``, which only tools' messages have."""
        outcome = {"outcome": self.call_end.value} if self.role is Role.TOOL else {}
        return {
            "ordinal": self.ordinal,
            "runId": self.run_id,
            "status": self.status.value,
            "finishReason": LENGTH if self.is_cut else None,
            "agentId": self.agent_id,
            "agentName": self.agent_name,
            "isHandoffSummary": self.is_handoff_summary,
            "isToolResult": self.is_tool_result,
            "toolName": self.tool_name,
            "timestamp": iso(self.timestamp),
            "source": self.source,
            "tokens": self.tokens,
            "sources": list(self.sources),
            **outcome,
        }

    def as_ag_ui(self) -> Message:
        """The AG-UI message clients see."""
        if self.role is Role.USER:
            content = self.content if isinstance(self.content, str) else list(self.content)
            return UserMessage(id=self.id, content=content, metadata=self.metadata())
        if self.role is Role.TOOL:
            call_id = self.tool_call_id or self.id
            error = self.text.removeprefix("Error: ") if self.call_end is not CallEnd.SUCCEEDED else None
            return ToolMessage(
                id=self.id, content=self.text, tool_call_id=call_id, error=error, metadata=self.metadata()
            )
        calls = [
            ShownToolCall(id=call.id, function=FunctionCall(name=call.name, arguments=call.arguments))
            for call in self.tool_calls
            if is_shown(call.name)
        ]
        return AssistantMessage(
            id=self.id,
            content=self.text if self.text or not calls else None,
            name=self.agent_name,
            tool_calls=calls or None,
            metadata=self.metadata(),
        )

    @property
    def is_said(self) -> bool:
        """Whether it is part of what user and agents have said to each other: not a tool's result, not a mere call."""
        return self.role is Role.USER or (self.role is Role.ASSISTANT and bool(self.text))

    @property
    def is_shown(self) -> bool:
        """Whether clients see it at all: Baton's own tools show as events of their own, not as calls and results."""
        if self.role is Role.TOOL:
            return self.tool_name is None or is_shown(self.tool_name)
        return bool(self.text) or self.role is Role.USER or any(is_shown(call.name) for call in self.tool_calls)
