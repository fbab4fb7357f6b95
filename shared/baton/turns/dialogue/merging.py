"""Merging a fork's answer into its parent, as one message."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ag_ui import core

from baton.agents.attempt_context import EmitEvent
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.numbered_passages import Source, join_consulted, shift_places
from baton.domain.text import split_slices
from baton.domain.threads.events import (
    MAX_DELTA_CHARS,
    make_message_steered,
    make_text_content,
    make_text_end,
    make_text_start,
)
from baton.domain.threads.message import LENGTH, StoredMessage
from baton.threads.handoffs.forks import SPECIALIST

_THINKING = (
    core.ReasoningStartEvent,
    core.ReasoningMessageStartEvent,
    core.ReasoningMessageContentEvent,
    core.ReasoningMessageEndEvent,
    core.ReasoningEndEvent,
)
_SHOWN = (core.StateDeltaEvent, core.StepStartedEvent, core.StepFinishedEvent, *_THINKING)
_SEPARATOR = "\n\n"


@dataclass(slots=True)
class _Message:
    """A message of the parent that grows by the texts of the fork."""

    id: str
    is_structured: bool
    refused_by: str | None = None
    text: str = ""
    fixed: int = 0
    """The length in characters of the texts before the one that is being written."""
    is_cut: bool = False
    sources: list[Source] = field(default_factory=list)

    def add_to(self, transcript: Transcript, agent: AgentDefinition, *, is_whole: bool) -> None:
        transcript.add_answer(
            self.id,
            agent,
            self.text,
            is_whole=is_whole,
            is_cut=self.is_cut,
            is_structured=self.is_structured,
            refused_by=self.refused_by,
            sources=self.sources,
            source=SPECIALIST,
        )

    @property
    def end(self) -> core.BaseEvent:
        """The event that ends the message."""
        return make_text_end(self.id, self.sources, is_cut=self.is_cut)


class MergedAnswer:
    """The answer of an agent in its fork, as one message of the parent. Its tool calls stay in the fork.

    A structured answer is a separate message, so that its text is nothing but JSON; so is a guardrail's sentence.
    """

    def __init__(self, agent: AgentDefinition, into: Transcript, emit: EmitEvent) -> None:
        """``into`` is the transcript of the parent; ``emit`` takes the parent's events."""
        self._agent = agent
        self._into = into
        self._emit = emit
        self._message: _Message | None = None

    def take(self, event: core.BaseEvent) -> None:
        """Take an event of the fork, and emit what the parent shows of it."""
        message, metadata = self._message, event.metadata or {}
        if isinstance(event, core.TextMessageStartEvent):
            self._start(is_structured=bool(metadata.get("isStructured")), refused_by=metadata.get("refusedBy"))
        elif isinstance(event, core.TextMessageContentEvent) and message is not None:
            message.text += event.delta
            self._emit(make_text_content(message.id, event.delta))
        elif isinstance(event, core.TextMessageEndEvent) and message is not None and metadata.get("takenBack"):
            self._take_back(message)
        elif isinstance(event, core.TextMessageEndEvent) and message is not None:
            all_sources = join_consulted(metadata.get("sources", ()), metadata.get("consulted", ()))
            offset = message.fixed + len(_SEPARATOR) if message.fixed else 0
            message.sources += [shift_places(source, offset) for source in all_sources]
            message.is_cut |= metadata.get("finishReason") == LENGTH
        elif isinstance(event, _SHOWN):
            self._emit(event)

    def enter(self, message: StoredMessage) -> None:
        """Add a message of the user that has entered the run, after the agent's text so far."""
        self.end(is_whole=True)
        self._emit(make_message_steered(self._into.add_steered(message)))

    def end(self, *, is_whole: bool) -> None:
        """End the message and add it to the parent, if the agent has said anything."""
        message, self._message = self._message, None
        if message is not None:
            message.add_to(self._into, self._agent, is_whole=is_whole)
            self._emit(message.end)

    def _take_back(self, message: _Message) -> None:
        """Take the agent's last text back. Clients get the texts before it as another message."""
        self._emit(make_text_end(message.id, is_taken_back=True))
        earlier_text, self._message = message.text[: message.fixed], None
        if earlier_text:
            self._message = replace(message, id=self._into.new_id(), text=earlier_text, fixed=len(earlier_text))
            self._emit(make_text_start(self._message.id, self._agent))
            for start, end in split_slices(earlier_text, MAX_DELTA_CHARS):
                self._emit(make_text_content(self._message.id, earlier_text[start:end]))

    def _start(self, *, is_structured: bool, refused_by: str | None) -> None:
        """Begin a message of the parent, or continue the current one with a separator."""
        if is_structured or refused_by is not None:
            self.end(is_whole=True)
        if self._message is None:
            self._message = _Message(self._into.new_id(), is_structured, refused_by)
            self._emit(
                make_text_start(self._message.id, self._agent, is_structured=is_structured, refused_by=refused_by)
            )
        elif self._message.text:
            self._message.fixed = len(self._message.text)
            self._message.text += _SEPARATOR
            self._emit(make_text_content(self._message.id, _SEPARATOR))
