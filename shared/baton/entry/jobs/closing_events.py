"""Events of the function that closes sessions: all steps in one invocation, or one step of its state machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.concurrency.tasks import work_for
from baton.domain.documents.pipelines import Pipeline
from baton.domain.memory.episode import Episode
from baton.domain.tenants.identity import Scope
from baton.entry.jobs.pipeline_admission import PipelineAdmission
from baton.failures.reports import ExpectedFailure
from baton.memory.episodes.session_closing import ClosingSession, ClosingStep, SessionClosing
from baton.memory.procedures.learning import SessionLearning

Event = Mapping[str, Any]

STEP_SECONDS = 200.0
"""The seconds that a step may need. With less time left, ``OutOfTime`` makes the state machine continue."""


class OutOfTime(ExpectedFailure):
    """The steps of a session do not fit into one invocation. The state machine continues with single steps."""


@dataclass(frozen=True, slots=True)
class ClosingEvents:
    """The handler of the closing pipeline's events. Answers contain no content of conversations."""

    closing: SessionClosing
    learning: SessionLearning
    admission: PipelineAdmission

    async def run_step(self, event: Event, *, seconds: float) -> dict[str, Any]:
        """Carry out the ``step`` of the event for its ``session``: a single step, or all steps for "whole".

        Raises ``OutOfTime`` if a step of "whole" would begin in the last ``STEP_SECONDS`` of ``seconds``, and the
        errors of ``SessionClosing.run`` and ``SessionLearning.catch_up``. Steps may be repeated: completed parts stay.
        """
        session = event["session"]
        scope = Scope(session["tenantId"], session["userId"])
        work_for(scope.tenant_id)
        thread_id, number, subject = session["threadId"], session["episode"], session["subject"]
        match event["step"]:
            case "whole":
                return await self._run_all(scope, thread_id, number, subject, seconds)
            case "fail":
                await self.closing.give_up(scope, thread_id, number)
                await self.admission.note_end(Pipeline.CLOSING, subject)
                return {"status": "failed"}
            case "learn":
                return {"started": await self.learning.catch_up(scope, thread_id, number)}
            case step:
                episode = await self.closing.run(ClosingStep(step), scope, thread_id, number)
                if step == ClosingStep.COMPLETE.value:
                    await self.admission.note_end(Pipeline.CLOSING, subject)
                return _describe_episode(episode)

    async def _run_all(self, scope: Scope, thread_id: str, number: int, subject: str, seconds: float) -> dict[str, Any]:
        """Carry out all steps for a session, which is read only once."""
        loop = asyncio.get_running_loop()
        latest_begin = loop.time() + seconds - STEP_SECONDS
        session: ClosingSession | None = None
        for step in ClosingStep:
            if loop.time() > latest_begin:
                raise OutOfTime("the state machine continues with single steps")
            if step is ClosingStep.STORE:
                session = await self.closing.begin(scope, thread_id, number)
                continue
            if session is None:
                break
            if step is ClosingStep.COMPLETE:
                held = session.held.messages if session.held is not None else None
                await self.learning.catch_up_with(scope, session.thread, session.episode.ref, held)
            session = await self.closing.carry_out(step, scope, session)
        await self.admission.note_end(Pipeline.CLOSING, subject)
        return _describe_episode(session.episode if session is not None else None)


def _describe_episode(episode: Episode | None) -> dict[str, Any]:
    if episode is None:
        return {"status": "deleted"}
    return {"status": episode.status.value, "missing": [part.value for part in episode.missing]}
