"""A turn's answer, whole: the active agent at work on what was asked, as a stream of AG-UI events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ag_ui.core import BaseEvent

from baton.conversation.agent_loop import AgentLoop
from baton.conversation.consult import Consultations
from baton.conversation.run_context import RunContext
from baton.conversation.tool_kit import ToolKit, tool_kit
from baton.conversation.transcript import Transcript
from baton.domain.agent import AgentDefinition
from baton.domain.errors import BatonError, InterruptUnavailable, LeaseLost, StoreUnavailable
from baton.domain.events import run_started, state_snapshot
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import OutcomeType, Role, StoredMessage
from baton.domain.thread import Thread, ThreadStatus, thread_state
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage
from baton.memory.context import assemble
from baton.ports.chat_model import Prompt

REFUSED = "The user refused this call. Do not try it again unless they ask for it."
EXPIRED = "Nobody approved this call in time. Ask again if it is still wanted."


@dataclass(slots=True)
class Answer:
    """What has come of a run so far."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by whoever wants the answer to end where it is."""
    error: BatonError | None = None
    is_cancelled: bool = False
    loop: AgentLoop | None = None
    consultations: Consultations | None = None

    @property
    def waiting(self) -> Sequence[ToolCall]:
        """Calls that a person has to agree to."""
        return self.loop.waiting if self.loop is not None else ()

    @property
    def outcome(self) -> OutcomeType:
        """How the run ends, as far as it is known."""
        if self.error is not None:
            return OutcomeType.ERROR
        if self.is_cancelled:
            return OutcomeType.CANCELLED
        return OutcomeType.INTERRUPT if self.waiting else OutcomeType.SUCCESS

    @property
    def ends_conversation(self) -> bool:
        """Whether the agent has decided that the conversation is over, and has said all it wanted to say."""
        return self.loop is not None and self.loop.ends_conversation and self.outcome is OutcomeType.SUCCESS

    @property
    def is_empty(self) -> bool:
        """Whether a run that ended well has nothing to show for it."""
        return self.outcome is OutcomeType.SUCCESS and (self.loop is None or not self.loop.has_answered)

    @property
    def usage(self) -> Usage:
        usage = self.loop.usage if self.loop is not None else Usage()
        return usage + (self.consultations.usage if self.consultations is not None else Usage())

    @property
    def model(self) -> str | None:
        return self.loop.model if self.loop is not None else None


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """Everything needed to answer what was asked."""

    context: RunContext
    thread: Thread
    agent: AgentDefinition
    opening: StoredMessage
    """The first message of the run: the user's, or the result of a call that had waited."""
    history: Sequence[StoredMessage]
    """The messages before what is being answered."""
    unfinished: Sequence[StoredMessage]
    """The exchange that was interrupted, where the run goes on with one."""
    transcript: Transcript
    answered: PendingInterrupts | None
    """What the run goes on with, all of it answered; None: it answers a user's message."""
    previous_seq: int | None
    """Where the jump in the sequence begins that a worker's death has left; None: there is none."""

    def started(self) -> BaseEvent:
        """RUN_STARTED, with what the run answers."""
        answered = self.answered
        return run_started(
            self.context.thread_id,
            self.context.run.run_id,
            self.opening,
            previous_seq=self.previous_seq,
            parent_run_id=answered.run_id if answered else None,
            answers=[each.answer for each in answered.interrupts if each.answer is not None] if answered else (),
        )


async def answer_events(step: AnswerStep, answer: Answer) -> AsyncGenerator[BaseEvent, None]:
    """Yield the answer's events, from RUN_STARTED on; whatever is opened is closed. What was said is in the transcript.

    A ``BatonError`` on the way becomes ``answer.error``. How the run ends (RUN_FINISHED, RUN_ERROR) is for the caller
    to say, who also commits it. Raises ``LeaseLost`` and ``StoreUnavailable``: then it is up for takeover.
    """
    yield step.started()
    reopened = replace(step.thread, status=ThreadStatus.ACTIVE)  # stored with the run's end; it may be closed still
    yield state_snapshot(thread_state(step.agent, reopened))
    context, services = step.context, step.context.services
    answer.consultations = Consultations(context)
    try:
        kit = await tool_kit(step.agent, context.scope, services.agents, services.tools)
        answer.loop = AgentLoop(context, step.agent, kit, step.transcript, consult=answer.consultations.ask)
        current: Sequence[StoredMessage] = (step.opening,)
        if step.answered is not None:
            async with contextlib.aclosing(_go_on(step, answer.loop, step.answered)) as events:
                async for event in events:
                    yield event
            current = (*step.unfinished, *step.transcript.messages)
        assembled = assemble(step.agent, step.history, current, services.counter, reserved=kit.tokens(services.counter))
        answer.loop.begin(assembled, _about(kit))
        if not context.stop.is_set():
            async with contextlib.aclosing(answer.loop.events()) as events:
                async for event in events:
                    yield event
        answer.is_cancelled = context.stop.is_set()
    except (LeaseLost, StoreUnavailable):
        raise
    except BatonError as error:
        answer.error = error


async def _go_on(step: AnswerStep, loop: AgentLoop, answered: PendingInterrupts) -> AsyncGenerator[BaseEvent, None]:
    """Carry out the calls that were approved; the model is told what became of the others."""
    known = {call.id: call for message in step.unfinished for call in message.tool_calls}
    calls = [known[each.tool_call_id] for each in answered.interrupts if each.tool_call_id in known]
    if not calls:
        raise InterruptUnavailable
    refused = refusals(answered)
    approved = {call.id for call in calls} - refused.keys()
    async with contextlib.aclosing(loop.go_on(calls, approved, refused)) as events:
        async for event in events:
            yield event


def refusals(answered: PendingInterrupts) -> Mapping[str, str]:
    """What the model is told of the calls that must not be made, by call id."""
    told: dict[str, str] = {}
    for interrupt in answered.interrupts:
        answer = interrupt.answer
        if answer is None or answer.answered_by is None:
            told[interrupt.tool_call_id] = EXPIRED
        elif not answer.approves:
            comment = f" They said: {answer.comment}" if answer.comment else ""
            told[interrupt.tool_call_id] = REFUSED + comment
    return told


def _about(kit: ToolKit) -> list[Prompt]:
    """What the model has to know about its tools besides their descriptions."""
    if not kit.missing:
        return []
    missing = "; ".join(f"{each.origin} ({each.reason})" for each in kit.missing)
    return [Prompt(Role.SYSTEM, f"Some of your tools cannot be reached at the moment: {missing}. Do without them.")]
