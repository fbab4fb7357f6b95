"""A turn's answer, whole: everybody who speaks in a run, as a stream of AG-UI events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.dialogue.agent_router import AgentRouter
from baton.dialogue.answer_step import AnswerStep
from baton.domain.agent import AgentDefinition
from baton.domain.episode import EpisodeRef
from baton.domain.errors import (
    BatonError,
    InternalError,
    Interrupted,
    LeaseLost,
    ModelError,
    StoreUnavailable,
    TurnTimeout,
)
from baton.domain.events import run_error, run_finished, run_started, state_snapshot, thread_closed
from baton.domain.interrupt import PendingInterrupts
from baton.domain.message import OutcomeType
from baton.domain.metrics import Metric, count
from baton.domain.tool_call import ToolCall
from baton.domain.usage import Usage

logger = Logger(child=True)


@dataclass(slots=True)
class Answer:
    """What has come of a run so far."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by whoever wants the answer to end where it is."""
    error: BatonError | None = None
    is_cancelled: bool = False
    router: AgentRouter | None = None

    @property
    def agent(self) -> AgentDefinition | None:
        """Who spoke last; None: nobody did."""
        return self.router.last.agent if self.router is not None and self.router.last is not None else None

    @property
    def waiting(self) -> Sequence[ToolCall]:
        """Calls that a person has to agree to."""
        return self.router.last.waiting if self.router is not None and self.router.last is not None else ()

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
        """Whether an agent has decided that the conversation is over, and has said all it wanted to say."""
        last = self.router.last if self.router is not None else None
        return last is not None and last.ends_conversation and self.outcome is OutcomeType.SUCCESS

    @property
    def is_empty(self) -> bool:
        """Whether a run that ended well has nothing to show for it."""
        return self.outcome is OutcomeType.SUCCESS and (self.router is None or not self.router.has_answered)

    @property
    def usage(self) -> Usage:
        return self.router.usage if self.router is not None else Usage()

    @property
    def model(self) -> str | None:
        return self.router.model if self.router is not None else None


async def answer_events(step: AnswerStep, answer: Answer) -> AsyncGenerator[BaseEvent, None]:
    """Yield the answer's events, from RUN_STARTED on; whatever is opened is closed. What was said is in the transcript.

    A failure on the way becomes ``answer.error``. How the run ends (RUN_FINISHED, RUN_ERROR) is for the caller to say,
    who also commits it. Raises ``LeaseLost`` and ``StoreUnavailable``: then it is up for takeover.
    """
    yield started(step)
    yield state_snapshot(step.conversation.state)
    answer.router = AgentRouter(step)
    try:
        async with contextlib.aclosing(answer.router.events()) as events:
            async for event in events:
                yield event
        answer.is_cancelled = step.context.stop.is_set() and not step.is_exit
    except (LeaseLost, StoreUnavailable):
        raise
    except BatonError as error:
        answer.error = error
    except Exception:
        logger.exception("turn failed", thread_id=step.thread.id, run_id=step.context.run.run_id)
        count(Metric.INTERNAL_FAULTS)
        answer.error = InternalError()
    for event in step.conversation.step_ends():
        yield event


def count_failure(error: BatonError | None) -> None:
    """Count a run that has ended with an error; internal ones were counted where they were caught."""
    match error:
        case Interrupted():
            count(Metric.TURNS_INTERRUPTED)
        case TurnTimeout():
            count(Metric.TURNS_TIMED_OUT)
        case ModelError():
            count(Metric.MODEL_FAILURES)


def started(step: AnswerStep) -> BaseEvent:
    """RUN_STARTED, with what the run answers."""
    answered = step.answered
    return run_started(
        step.context.thread_id,
        step.context.run.run_id,
        step.opening,
        previous_seq=step.previous_seq,
        parent_run_id=answered.run_id if answered else None,
        answers=[each.answer for each in answered.interrupts if each.answer is not None] if answered else (),
    )


def end_events(
    thread_id: str,
    run_id: str,
    answer: Answer,
    pending: PendingInterrupts | None,
    ended: EpisodeRef | None,
    *,
    is_cut: bool,
) -> list[BaseEvent]:
    """How a run ends that left the thread ``pending``, and with it the session, if it has ``ended``.

    ``is_cut``: there was no room for all that was said in it.
    """
    if answer.error is not None:
        return [run_error(answer.error, answer.usage, answer.model)]
    finished = run_finished(
        thread_id,
        run_id,
        usage=answer.usage,
        model=answer.model,
        cancelled=answer.is_cancelled,
        interrupts=pending.interrupts if pending else (),
        is_cut=is_cut,
    )
    return [thread_closed(ended.reason, ended.id), finished] if ended is not None else [finished]
