"""The heart of a turn: the active agent answers one message, as a stream of AG-UI events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from ag_ui.core import BaseEvent

from baton.conversation.own_tools import carry_out, offered_tools
from baton.conversation.text_batches import batched
from baton.domain.agent import AgentDefinition
from baton.domain.errors import BatonError
from baton.domain.events import run_started, state_snapshot, text_content, text_end, text_start
from baton.domain.identity import derived_message_id
from baton.domain.message import OutcomeType, Role, StoredMessage
from baton.domain.thread import Run, Thread, thread_state
from baton.domain.usage import Usage
from baton.memory.context import AssembledContext
from baton.ports.chat_model import ChatModel, ModelSettings, Prompt, TextDelta, ToolCall
from baton.ports.files import ThreadFiles

MAX_MODEL_CALLS = 3
"""How often a model is asked in one turn: it may be told the outcome of its calls and go on."""


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
    ends_conversation: bool = False
    """Whether the agent has decided that the conversation is over."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by whoever wants the answer to end where it is."""

    @property
    def outcome(self) -> OutcomeType:
        """How the run ends, as far as it is known."""
        if self.error is not None:
            return OutcomeType.ERROR
        return OutcomeType.CANCELLED if self.cancelled else OutcomeType.SUCCESS

    @classmethod
    def begin(cls, thread_id: str, run: Run) -> Answer:
        """An answer with nothing said yet; each attempt at the run has message ids of its own."""
        return cls(derived_message_id(thread_id, run.message_id, run.attempt, 1))

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
    prompts = list(step.context.prompts)
    try:
        for _ in range(MAX_MODEL_CALLS):
            calls: list[ToolCall] = []
            said = len(answer.text)
            async for event in _one_call(step, answer, model, prompts, calls):
                yield event
            if not calls or answer.stop.is_set():
                break
            outcomes = [carry_out(step.agent, call) for call in calls]
            answer.ends_conversation |= any(outcome.ends_conversation for outcome in outcomes)
            if answer.ends_conversation and answer.text:
                break  # it has said goodbye
            prompts.append(Prompt(Role.ASSISTANT, answer.text[said:], tool_calls=tuple(calls)))
            prompts += [
                Prompt(Role.TOOL, outcome.content, tool_call_id=call.id)
                for call, outcome in zip(calls, outcomes, strict=True)
            ]
        answer.cancelled = answer.stop.is_set()
    except BatonError as error:
        answer.error = error
    if answer.is_open:
        yield answer.closing()


async def _one_call(
    step: AnswerStep, answer: Answer, model: ChatModel, prompts: Sequence[Prompt], calls: list[ToolCall]
) -> AsyncGenerator[BaseEvent, None]:
    """Ask the model once: its text goes into ``answer``, its tool calls into ``calls``."""
    tools = offered_tools(step.agent)
    stream = model.stream(step.settings, prompts, thread_files=step.files, tools=tools)
    chunks = batched(stream, deadline=step.deadline, stop=answer.stop)
    async with contextlib.aclosing(chunks):
        async for chunk in chunks:
            if isinstance(chunk, TextDelta):
                if not answer.is_open:
                    answer.is_open = True
                    yield text_start(answer.message_id, step.agent)
                answer.text += chunk.text
                yield text_content(answer.message_id, chunk.text)
            elif isinstance(chunk, ToolCall):
                calls.append(chunk)
            else:
                answer.model = chunk.model
                if chunk.usage is not None:
                    answer.usage = (answer.usage or Usage()) + chunk.usage
