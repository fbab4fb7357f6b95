"""Messages of a thread."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import ag_ui.core as ag_ui
from pydantic import Field

from baton.domain.desks.desk_session import Person
from baton.domain.documents.numbered_passages import name_cited, strip_citations
from baton.domain.errors import ContentFiltered
from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.tool_call import CallEnd, ToolCall, is_shown
from baton.domain.schedules.run_source import RunSource
from baton.domain.threads.branches import BranchStart
from baton.domain.threads.content import Content, part_as_json, text_of
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.times import to_iso
from baton.domain.wire_model import RUN_ID, TIMESTAMP, Timestamp, WireModel

LENGTH = "length"
"""The ``finishReason`` of a cut answer, as in OpenAI's Chat Completions."""

EVENT = "event"
"""The activity type, and the role in lists of messages, of a cause that began a run without a user's message."""
MAX_LABEL = 200
"""Characters of such an event's text that front ends show."""
IMPORTED = "import"
"""The ``source`` of a message that came from another system."""
DESK = "desk"
"""The ``source`` of a sentence about a desk, which no model has said."""


class Role(StrEnum):
    """The role of a message. System and context messages are rebuilt in every turn and never stored."""

    SYSTEM = "system"
    """Instructions of the deployment: those of its agents' authors and of Baton, and approved procedures."""
    CONTEXT = "context"
    """Further text that an agent is given, by others: documents, memories, pages, reports, summaries."""
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageStatus(StrEnum):
    """The state of a message: complete, or stopped while it was streamed."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"


class MessageAuthor(WireModel):
    """The person who wrote a message in an agent's place."""

    kind: Literal["person"] = "person"
    id: str = Field(examples=["anna"])
    name: str = Field(examples=["Anna"])
    avatar_url: str | None = Field(
        default=None,
        exclude_if=lambda avatar_url: avatar_url is None,
        description="The address of their picture; left out without one.",
        examples=["https://example.com/anna.png"],
    )


class MessageSource(WireModel):
    """The cause of a run that no message of the user has begun."""

    kind: Literal["schedule", "event", "task"]
    id: str = Field(description="The id of the schedule, the event or the task.", examples=["water-the-plants"])
    type: str | None = Field(
        default=None,
        exclude_if=lambda type_: type_ is None,
        description="The type of an event.",
        examples=["order.shipped"],
    )
    late: int | None = Field(
        default=None,
        exclude_if=lambda late: late is None,
        description="Seconds by which the run began late; left out if it was on time.",
        examples=[3600],
    )


class MessageMetadata(WireModel):
    """Metadata of a message."""

    ordinal: int = Field(examples=[1])
    run_id: str = Field(examples=[RUN_ID])
    status: MessageStatus
    finish_reason: Literal["length"] | None = Field(
        description="`length` where an answer was cut because it was too long.", examples=[None]
    )
    refused_by: str | None = Field(
        default=None,
        exclude_if=lambda refused_by: refused_by is None,
        description="The hook or guardrail that has refused the answer, whose sentence stands in its place; left out "
        "otherwise.",
        examples=["no_prices"],
    )
    agent_id: str | None = Field(examples=["assistant"])
    agent_name: str | None = Field(examples=["Assistant"])
    is_handoff_summary: bool
    is_tool_result: bool
    tool_name: str | None = Field(examples=[None])
    timestamp: Timestamp = Field(examples=[TIMESTAMP])
    source: str | MessageSource | None = Field(
        validation_alias="shown_source",
        description="`import` for messages of another system, `desk` for Baton's sentences about a desk; an object for "
        "the cause of a run that no message of the user has begun.",
        examples=[None],
    )
    tokens: int = Field(examples=[23])
    sources: list[dict[str, Any]] = Field(examples=[[]])
    consulted: list[dict[str, Any]] = Field(
        default_factory=list,
        exclude_if=lambda consulted: not consulted,
        description="Documents that agents got for the answer but did not cite; absent if there are none.",
        examples=[[]],
    )
    result: Any = Field(
        default=None,
        exclude_if=lambda result: result is None,
        description="The value of a structured answer: an object that fits its agent's `answerSchema`. Only those have "
        "it.",
    )
    outcome: CallEnd | None = Field(
        default=None,
        exclude_if=lambda outcome: outcome is None,
        description="The outcome of the call that a tool's message answers. Absent for other messages.",
    )
    author: MessageAuthor | None = Field(
        default=None,
        exclude_if=lambda author: author is None,
        description="The person of a desk who wrote it; left out of what users and agents wrote.",
    )
    attachments: list[dict[str, Any]] = Field(
        default_factory=list,
        exclude_if=lambda attachments: not attachments,
        description="The images and files of a person's message; left out without any.",
        examples=[[{"type": "image", "source": {"type": "url", "value": "https://example.com/receipt.png"}}]],
    )
    is_steered: bool = Field(
        default=False,
        exclude_if=lambda is_steered: not is_steered,
        description="True for a user's message that has entered a run in progress; left out otherwise.",
    )
    time_zone: str | None = Field(
        default=None,
        exclude_if=lambda time_zone: time_zone is None,
        description="The user's time zone when the message was sent; absent if it is unknown, and for answers.",
        examples=["Europe/Vienna"],
    )


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of a thread, as the store keeps it. Its content was validated by ``domain.threads.content``."""

    id: str
    role: Role
    content: Content
    ordinal: int
    """Position in the thread, from 0, without gaps up to the thread's pointer."""
    run_id: str
    timestamp: datetime
    tokens: int
    """Tokens of this message in a prompt, including its role and separators."""
    status: MessageStatus = MessageStatus.COMPLETE
    is_cut: bool = False
    """Whether an answer was cut at the length limit."""
    is_structured: bool = False
    """True if the text is JSON that was valid against the answer schema of its agent."""
    refused_by: str | None = None
    """The hook or guardrail that has refused the answer. Its sentence is the text of the message."""
    agent_id: str | None = None
    agent_name: str | None = None
    is_handoff_summary: bool = False
    is_tool_result: bool = False
    tool_name: str | None = None
    source: str | None = None
    sources: tuple[dict[str, Any], ...] = ()
    """The sources of an answer; of a tool's result, the passages that it cites by number."""
    consulted: tuple[dict[str, Any], ...] = ()
    """Documents that agents were given for the answer but did not cite."""
    tool_calls: tuple[ToolCall, ...] = ()
    """The calls of an assistant message."""
    provider_parts: ProviderParts | None = None
    """Opaque parts for the model that wrote the answer. No client, export or other model gets them."""
    tool_call_id: str | None = None
    """The call that a tool message answers."""
    call_end: CallEnd = CallEnd.SUCCEEDED
    """The end of that call."""
    attempt: int = 1
    fence: int = 0
    """The fence of the lease under which it was written. It is set when the message is read; before, it is 0."""
    end: RunEnd | None = field(default=None)
    """Set on the last message of a run."""
    a2a_task: str | None = None
    """Set on a user's message that was sent to an A2A task: the id of the message that began the task."""
    branch: BranchStart | None = None
    """Set on a user's message that begins a branch."""
    time_zone: str | None = None
    """The user's time zone at the time of a user's or an imported message; None for others, and if it is not known."""
    author: Person | None = None
    """The person of a desk who wrote it; None for what users and agents wrote."""
    is_steered: bool = False
    """True for a user's message that has entered a run in progress, and is not the one that the run answers."""
    begun_by: RunSource | None = None
    """The cause of a run that began by itself, set on the run's first message, which has the role ``user``."""
    is_rewritten: bool = False
    """True for a user's message whose words a guardrail has replaced. A request with its content has another digest."""
    summaries: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Summaries of all messages before this one, by the agent's id. They are set when the message is read."""

    @property
    def shown_source(self) -> str | RunSource | None:
        """The source as clients see it: the cause of the run, or ``source``."""
        return self.begun_by or self.source

    @property
    def is_question(self) -> bool:
        """True if it is a user's message, or an event, with which a run or an imported exchange begins."""
        return self.role is Role.USER and not self.is_steered

    @property
    def is_unanswered(self) -> bool:
        """True if it is a user's message, and the last message of a run that failed."""
        return self.role is Role.USER and self.end is not None and self.end.outcome is OutcomeType.ERROR

    @property
    def is_imported(self) -> bool:
        """True if it came from another system, so that no agent or guardrail of this deployment has seen it."""
        return self.source == IMPORTED

    @property
    def ends_filtered(self) -> bool:
        """True if it is the last message of a run whose question a content filter or a guardrail has refused."""
        return self.end is not None and (self.end.error_code == ContentFiltered.code or self.end.is_question_refused)

    @property
    def text(self) -> str:
        """The text of the message, without parts of other kinds."""
        return text_of(self.content)

    @property
    def is_note(self) -> bool:
        """True for a note of a person of a desk. Users do not see it."""
        return self.author is not None and self.role is Role.TOOL

    @property
    def attachments(self) -> list[dict[str, Any]]:
        """The images and files of a person's message as AG-UI parts. AG-UI's assistant messages cannot have them."""
        if self.author is None or isinstance(self.content, str):
            return []
        return [part_as_json(part) for part in self.content if not isinstance(part, ag_ui.TextPart)]

    @property
    def text_elsewhere(self) -> str:
        """The text for use without its sources: passages are cited by their names in place of their numbers."""
        return name_cited(self.text, self.sources) if self.sources else self.text

    @property
    def plain_text(self) -> str:
        """The text without citations by number."""
        return strip_citations(self.text, self.sources) if self.sources else self.text

    @property
    def result(self) -> Any:
        """The value of a structured answer; None for other messages, and if its text is no longer JSON."""
        if not self.is_structured:
            return None
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @property
    def shown_id(self) -> str:
        """The id that clients see. A message that is answered again keeps the id of the original."""
        return self.branch.from_id if self.branch is not None and self.branch.is_regenerate else self.id

    @property
    def finish_reason(self) -> str | None:
        """The reason why an answer is incomplete; None if it is complete."""
        return LENGTH if self.is_cut else None

    @property
    def outcome(self) -> CallEnd | None:
        """The end of the call that a tool's message answers; None for other messages."""
        return self.call_end if self.role is Role.TOOL else None

    def make_metadata(self) -> dict[str, Any]:
        """Return the wire metadata."""
        return MessageMetadata.of(self).wire()

    def as_ag_ui(self, *, with_metadata: bool = True) -> ag_ui.Message:
        """Return the message as an AG-UI message for clients."""
        metadata = self.make_metadata() if with_metadata else None
        if self.begun_by is not None:
            label = self.begun_by.type or self.text[:MAX_LABEL]
            card = {"kind": self.begun_by.kind.value, "label": label, "at": to_iso(self.timestamp)}
            return ag_ui.ActivityMessage(id=self.id, activity_type=EVENT, content=card, metadata=metadata)
        if self.role is Role.USER:
            content = self.content if isinstance(self.content, str) else list(self.content)
            return ag_ui.UserMessage(id=self.shown_id, content=content, metadata=metadata)
        if self.role is Role.TOOL:
            call_id = self.tool_call_id or self.id
            error = self.text.removeprefix("Error: ") if self.call_end is not CallEnd.SUCCEEDED else None
            return ag_ui.ToolMessage(
                id=self.id, content=self.text, tool_call_id=call_id, error=error, metadata=metadata
            )
        calls = [
            ag_ui.ToolCall(
                id=call.id,
                function=ag_ui.FunctionCall(name=call.name, arguments=call.arguments),
                metadata=call.metadata,
            )
            for call in self.tool_calls
            if is_shown(call.name)
        ]
        return ag_ui.AssistantMessage(
            id=self.id,
            content=self.text if self.text or not calls else None,
            name=self.author.name if self.author is not None else self.agent_name,
            tool_calls=calls or None,
            metadata=metadata,
        )

    @property
    def is_said(self) -> bool:
        """Whether a user, an agent or a person said it. Tool results, and messages with calls only, were not said."""
        return self.role is Role.USER or (self.role is Role.ASSISTANT and bool(self.text or self.attachments))

    @property
    def shown_role(self) -> str:
        """The role for clients and records: ``event`` for the cause of a run that began by itself."""
        return EVENT if self.begun_by is not None else self.role.value

    @property
    def is_own(self) -> bool:
        """Whether the user wrote it, as a question or into a run in progress."""
        return self.role is Role.USER and self.begun_by is None

    @property
    def is_answer(self) -> bool:
        """Whether it is unread until the user sees it: it was said to the user, or its run waits for a decision."""
        waits = self.end is not None and bool(self.end.interrupts)
        return waits or (self.role is Role.ASSISTANT and self.is_said)

    @property
    def is_shown(self) -> bool:
        """Whether clients see it. Built-in tools appear as separate events, not as calls and results."""
        if self.role is Role.TOOL:
            return self.tool_name is None or is_shown(self.tool_name)
        return self.is_said or any(is_shown(call.name) for call in self.tool_calls)


def find_question_text(messages: Sequence[StoredMessage]) -> str | None:
    """Return the text of the user's question that a run answers; None if there is none or a guardrail refused it."""
    question = next((message for message in messages if message.is_question and message.is_own), None)
    is_refused = any(message.end is not None and message.end.is_question_refused for message in messages)
    return question.text if question is not None and not is_refused else None


def join_answer_texts(messages: Iterable[StoredMessage]) -> str:
    """Return the texts of agents in ``messages``, joined by empty lines, without texts of people."""
    texts = (message.text for message in messages if message.role is Role.ASSISTANT and message.author is None)
    return "\n\n".join(text for text in texts if text)


def find_result(messages: Sequence[StoredMessage]) -> Any:
    """Return the value of the last structured answer among the messages of a run; None if there is none."""
    return next((message.result for message in reversed(messages) if message.is_structured), None)


def list_filtered_runs(messages: Iterable[StoredMessage]) -> frozenset[str]:
    """Return the ids of the runs whose question a model's content filter or a guardrail has refused.

    Their messages would stop each prompt that contains them, so summaries and memories leave them out.
    """
    return frozenset(message.run_id for message in messages if message.ends_filtered)
