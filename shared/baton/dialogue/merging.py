"""Merging a fork's answer into its parent, as one message."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    BaseEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    StateDeltaEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from baton.agents.transcript import Transcript
from baton.domain.agent import AgentDefinition
from baton.domain.errors import BatonError
from baton.domain.events import text_content, text_end, text_start
from baton.domain.message import LENGTH
from baton.handoffs.forks import SPECIALIST

_THINKING = (
    ReasoningStartEvent,
    ReasoningMessageStartEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningEndEvent,
)
_SHOWN = (StateDeltaEvent, StepStartedEvent, StepFinishedEvent, *_THINKING)
_APART = "\n\n"


@dataclass(slots=True)
class _Message:
    """A message of the parent that grows by what is said in the fork."""

    id: str
    is_structured: bool
    text: str = ""
    is_cut: bool = False
    sources: list[dict[str, Any]] = field(default_factory=list)

    def add_to(self, into: Transcript, agent: AgentDefinition, *, is_whole: bool) -> None:
        into.add_answer(
            self.id,
            agent,
            self.text,
            is_whole=is_whole,
            is_cut=self.is_cut,
            is_structured=self.is_structured,
            sources=self.sources,
            source=SPECIALIST,
        )

    @property
    def end(self) -> BaseEvent:
        return text_end(self.id, self.sources, is_cut=self.is_cut)


async def merged(
    events: AsyncGenerator[BaseEvent, None], agent: AgentDefinition, into: Transcript, stop: asyncio.Event
) -> AsyncGenerator[BaseEvent, None]:
    """Yield the answer of ``agent`` in its fork as one message of the parent. Its tool calls stay in the fork.

    A structured answer is a message of its own, so that its text is nothing but JSON. ``stop`` is set if the user has
    stopped the answer.
    """
    message: _Message | None = None
    is_whole, failure = False, None
    try:
        async with contextlib.aclosing(events):
            async for event in events:
                metadata = event.metadata or {}
                if isinstance(event, TextMessageStartEvent):
                    is_structured = bool(metadata.get("isStructured"))
                    if message is not None and is_structured:
                        message.add_to(into, agent, is_whole=True)
                        yield message.end
                        message = None
                    if message is None:
                        message = _Message(into.new_id(), is_structured)
                        yield text_start(message.id, agent, is_structured=is_structured)
                    elif message.text:
                        message.text += _APART
                        yield text_content(message.id, _APART)
                elif isinstance(event, TextMessageContentEvent) and message is not None:
                    message.text += event.delta
                    yield text_content(message.id, event.delta)
                elif isinstance(event, TextMessageEndEvent) and message is not None:
                    message.sources += metadata.get("sources", [])
                    message.is_cut |= metadata.get("finishReason") == LENGTH
                elif isinstance(event, _SHOWN):
                    yield event
        is_whole = not stop.is_set()
    except BatonError as error:
        failure = error
    finally:
        if message is not None:
            message.add_to(into, agent, is_whole=is_whole)
    if message is not None:
        yield message.end
    if failure is not None:
        raise failure
