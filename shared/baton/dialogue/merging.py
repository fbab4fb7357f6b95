"""Merging a fork's answer into its parent, as one message."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
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


async def merged(
    events: AsyncGenerator[BaseEvent, None], agent: AgentDefinition, into: Transcript, stop: asyncio.Event
) -> AsyncGenerator[BaseEvent, None]:
    """Yield the answer of ``agent`` in its fork as one message of the parent. Its tool calls stay in the fork.

    ``stop`` is set if the user has stopped the answer.
    """
    message_id, text, is_open, is_whole, is_cut = into.new_id(), "", False, False, False
    sources: list[dict[str, Any]] = []
    failure: BatonError | None = None
    try:
        async with contextlib.aclosing(events):
            async for event in events:
                if isinstance(event, TextMessageStartEvent):
                    if not is_open:
                        is_open = True
                        yield text_start(message_id, agent)
                    elif text:
                        text += _APART
                        yield text_content(message_id, _APART)
                elif isinstance(event, TextMessageContentEvent):
                    text += event.delta
                    yield text_content(message_id, event.delta)
                elif isinstance(event, TextMessageEndEvent):
                    sources += (event.metadata or {}).get("sources", [])
                    is_cut |= (event.metadata or {}).get("finishReason") == LENGTH
                elif isinstance(event, _SHOWN):
                    yield event
        is_whole = not stop.is_set()
    except BatonError as error:
        failure = error
    finally:
        if is_open:
            into.add_answer(
                message_id, agent, text, is_whole=is_whole, is_cut=is_cut, sources=sources, source=SPECIALIST
            )
    if is_open:
        yield text_end(message_id, sources, is_cut=is_cut)
    if failure is not None:
        raise failure
