"""The heart of a turn: the active agent answers one message, as a stream of AG-UI events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from ag_ui.core import BaseEvent

from baton.conversation.text_batches import batched
from baton.domain.agent import AgentDefinition
from baton.domain.errors import BatonError
from baton.domain.events import run_started, state_snapshot, text_content, text_end, text_start
from baton.domain.identity import derived_message_id
from baton.domain.message import OutcomeType, StoredMessage
from baton.domain.thread import Run, Thread, thread_state
from baton.domain.usage import Usage
from baton.memory.context import AssembledContext
from baton.ports.chat_model import ChatModel, Finished, ModelSettings, TextDelta
from baton.ports.files import ThreadFiles


@dataclass(slots=True)
class Answer:
    """What an agent has said so far in this run."""

    message_id: str
    text: str = ""
    is_open: bool = False
    """Whether TEXT_MESSAGE_START was given out and TEXT_MESSAGE_END was not."""
    prompt_tokens: int = 0
    usage: Usage | None = None
    model: str | None = None
    error: BatonError | None = None
    cancelled: bool = False
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by whoever wants the answer to end where it is."""

    @property
    def outcome(self) -> OutcomeType:
        """How the run ends, as far as it is known."""
        if self.error is not None:
            return OutcomeType.ERROR
        return OutcomeType.CANCELLED if self.cancelled else OutcomeType.SUCCESS

    @classmethod
    def begin(cls, run: Run) -> Answer:
        """An answer with nothing said yet; each attempt at the run has message ids of its own."""
        return cls(derived_message_id(run.run_id, run.attempt, 1))

    def closing(self) -> BaseEvent:
        """The event that closes the open message."""
        self.is_open = False
        return text_end(self.message_id)


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """Everything needed to answer one message."""

    thread: Thread
    run: Run
    question: StoredMessage
    agent: AgentDefinition
    context: AssembledContext
    settings: ModelSettings
    files: ThreadFiles
    deadline: float
    """Event loop time at which the turn must have ended."""
    previous_seq: int | None
    """Where the jump in the sequence begins that a worker's death has left; None: there is none."""


async def answer_events(step: AnswerStep, answer: Answer, model: ChatModel) -> AsyncGenerator[BaseEvent, None]:
    """Stream the agent's answer into ``answer`` and yield its events, from RUN_STARTED to the end of its text.

    A ``BatonError`` on the way becomes ``answer.error``; whatever was opened is closed all the same. How the run ends
    (RUN_FINISHED, RUN_ERROR) is for the caller to say, who also commits it.
    """
    answer.prompt_tokens = step.context.tokens
    answer.model = step.settings.model
    yield run_started(step.thread.id, step.run.run_id, step.question, previous_seq=step.previous_seq)
    yield state_snapshot(thread_state(step.agent, step.thread))
    stream = model.stream(step.settings, step.context.prompts, thread_files=step.files)
    chunks = batched(stream, deadline=step.deadline, stop=answer.stop)
    async with contextlib.aclosing(chunks):
        try:
            async for chunk in chunks:
                if isinstance(chunk, TextDelta):
                    if not answer.is_open:
                        answer.is_open = True
                        yield text_start(answer.message_id, step.agent)
                    answer.text += chunk.text
                    yield text_content(answer.message_id, chunk.text)
                elif isinstance(chunk, Finished):
                    answer.model = chunk.model
                    answer.usage = chunk.usage
            answer.cancelled = answer.stop.is_set()
        except BatonError as error:
            answer.error = error
    if answer.is_open:
        yield answer.closing()
