"""The capture of a procedure, step by step. Every step may run twice, at the same time as itself, and in any order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aws_lambda_powertools import Logger

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import ThreadUnavailable
from baton.domain.memory.capture import Capture, CaptureRef, CaptureStatus, CaptureStep
from baton.domain.memory.procedure import ProcedureSource, ProcedureStatus
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.memory.light_model import JunkAnswer, LightModel
from baton.memory.procedures.drafting import NoProcedure, detect_task, draft_procedure
from baton.memory.procedures.proposals import Proposals
from baton.memory.procedures.task_record import TaskRecord, TaskRecords
from baton.ports.agents.chat_model import ModelCaller
from baton.ports.clock import Clock
from baton.ports.memory.procedures import Announcements, CaptureStore, PendingProcedure
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.tenants.tenant_copies import CurrentLimits

logger = Logger(child=True)

WHOLE_TENANT = ""
"""The value in place of an agent, for the captures of all agents."""


@dataclass(frozen=True, slots=True)
class ProcedureCapture:
    """The pipeline that makes a procedure of a completed task. It waits for approval, and nothing uses it before.

    Each step stores its result in the record of the capture, and a step begins with those before it that are missing.
    So a step that is killed is carried out again, and one that is repeated does nothing.
    """

    store: ThreadStore
    captures: CaptureStore
    agents: AgentRegistry
    records: TaskRecords
    light_model: LightModel
    proposals: Proposals
    announcements: Announcements
    clock: Clock
    limits: CurrentLimits

    async def run(self, step: CaptureStep, scope: Scope, ref: CaptureRef) -> Capture | None:
        """Carry out one step, and return the capture as it is then; None if the thread was deleted.

        Raises as the step's model, detector, search engine and store do.
        """
        try:
            thread = await self.store.get_thread(scope, ref.thread_id)
            capture = await self.captures.get(scope, ref) or Capture(ref)
            capture = capture.resume()
            for capture_step in CaptureStep:
                if not capture.has_done(capture_step):
                    result = await self._carry_out(capture_step, scope, thread, capture)
                    capture = await self._save(scope, replace(result, done=capture_step))
                if capture_step is step:
                    return capture
        except ThreadUnavailable:  # deleted since: nothing of it may be stored any more
            logger.info("capture of a deleted thread ends here", thread_id=ref.thread_id)
        return None

    async def give_up(self, scope: Scope, ref: CaptureRef) -> None:
        """Mark the capture as failed, because the pipeline has failed permanently."""
        count(Metric.CAPTURES_FAILED)
        try:
            await self.store.get_thread(scope, ref.thread_id)
        except ThreadUnavailable:
            return
        capture = await self.captures.get(scope, ref) or Capture(ref)
        if not capture.is_settled:
            await self._save(scope, replace(capture, status=CaptureStatus.FAILED))

    async def _carry_out(self, step: CaptureStep, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        """Return the capture after a step. It ends if the light model's answer cannot be used."""
        try:
            match step:
                case CaptureStep.DETECT:
                    return await self._detect(scope, thread, capture)
                case CaptureStep.DRAFT:
                    return await self._draft(scope, thread, capture)
                case CaptureStep.COMPARE:
                    return await self._compare(scope, thread, capture)
                case CaptureStep.STORE:
                    return await self._store(scope, thread, capture)
                case CaptureStep.ANNOUNCE:
                    return await self._announce(scope, capture)
        except JunkAnswer:
            return _end(capture, CaptureStatus.REFUSED, "the light model gave no answer that can be read")
        except NoProcedure as problem:
            return _end(capture, CaptureStatus.REFUSED, str(problem))

    async def _save(self, scope: Scope, capture: Capture) -> Capture:
        return await self.captures.save(scope, replace(capture, updated_at=self.clock.now()))

    async def _detect(self, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        agent = await self._agent(scope, thread)
        limit = agent.learning.max_per_day
        # Before the model is asked, so that no failure makes the day's cost larger than its limit.
        if not await self.captures.take_allowance(scope, agent.id, self.clock.now().date(), limit):
            return _end(capture, CaptureStatus.NO_TASK, "the day's limit was reached")
        most, today = (await self.limits.of(scope)).captures_per_day, self.clock.now().date()
        if most is not None and not await self.captures.take_allowance(scope, WHOLE_TENANT, today, most):
            return _end(capture, CaptureStatus.NO_TASK, "the day's limit of the tenant was reached")
        record = await self.records.read(scope, thread, agent, capture.ref)
        name = await detect_task(self.light_model.of(ModelCaller.of(scope, thread.id)), record)
        if name is None:
            return _end(capture, CaptureStatus.NO_TASK, "the light model saw no task that could be repeated")
        return replace(capture, name=name)

    async def _draft(self, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        record = await self._record(scope, thread, capture)
        light_model = self.light_model.of(ModelCaller.of(scope, thread.id))
        return replace(capture, draft=await draft_procedure(light_model, capture.name or "", record))

    async def _compare(self, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        if capture.draft is None:
            return _end(capture, CaptureStatus.REFUSED, "there is no draft")
        floor = (await self._agent(scope, thread)).learning.duplicate_floor
        proposal = await self.proposals.compare(scope, capture.ref.agent_id, capture.draft, floor=floor)
        if proposal.refusal is not None:
            return _end(replace(capture, procedure_id=proposal.procedure_id), CaptureStatus.KNOWN, proposal.refusal)
        compared = replace(capture, procedure_id=proposal.procedure_id, procedure_scope=proposal.scope)
        return replace(compared, draft=proposal.draft)

    async def _store(self, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        if capture.draft is None:
            return _end(capture, CaptureStatus.REFUSED, "there is no draft")
        record = await self._record(scope, thread, capture)
        source = ProcedureSource(capture.ref.thread_id, run_id=record.run_id, message_ids=record.message_ids)
        stored = await self.proposals.store(scope, capture, source)
        try:
            await self.store.get_thread(scope, thread.id)
        except ThreadUnavailable:
            if stored.source is not None and stored.source.thread_id == capture.ref.thread_id:
                await self.proposals.withdraw(scope, stored)
            raise
        if stored.status is not ProcedureStatus.PENDING:  # the same was stored and decided in the meantime
            stored_capture = replace(capture, procedure_id=stored.id)
            return _end(stored_capture, CaptureStatus.KNOWN, "there is the same procedure already")
        return replace(capture, status=CaptureStatus.STORED, procedure_id=stored.id, version=stored.version)

    async def _announce(self, scope: Scope, capture: Capture) -> Capture:
        ref = capture.ref
        if capture.procedure_id is not None and capture.version is not None:
            pending = PendingProcedure(ref.agent_id, capture.procedure_id, capture.version, ref.thread_id)
            await self.announcements.procedure_pending(scope, pending)
        return replace(capture, status=CaptureStatus.ANNOUNCED)

    async def _agent(self, scope: Scope, thread: Thread) -> AgentDefinition:
        return (await self.agents.of(scope)).main(thread)

    async def _record(self, scope: Scope, thread: Thread, capture: Capture) -> TaskRecord:
        return await self.records.read(scope, thread, await self._agent(scope, thread), capture.ref)


def _end(capture: Capture, status: CaptureStatus, reason: str) -> Capture:
    return replace(capture, status=status, reason=reason)
