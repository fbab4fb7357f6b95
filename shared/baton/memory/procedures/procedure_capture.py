"""The capture of a procedure, step by step. Every step may run twice, even at the same time, and in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Final

from aws_lambda_powertools import Logger

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import EmbedderUnavailable, SpendingRefusal, ThreadUnavailable
from baton.domain.handoffs.triggers import find_first_match
from baton.domain.memory.capture import Capture, CaptureRef, CaptureStatus, CaptureStep
from baton.domain.memory.procedure import (
    REVIEWED,
    Procedure,
    ProcedureDraft,
    ProcedureScope,
    ProcedureSource,
    ProcedureStatus,
)
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.text import fold
from baton.domain.threads.thread import Thread
from baton.memory.light_model import JunkAnswer, LightModel
from baton.memory.procedures.drafting import NoProcedure, detect_task, draft_procedure
from baton.memory.procedures.task_record import TaskRecord, TaskRecords
from baton.memory.recall.relevance import find_content_words
from baton.ports.agents.chat_model import ModelCaller
from baton.ports.clock import Clock
from baton.ports.documents.search import Embedder, EmbeddingPurpose
from baton.ports.memory.procedures import Announcements, CaptureStore, PendingProcedure, ProcedureStore
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.tenants.tenant_copies import CurrentLimits

logger = Logger(child=True)

CAPTURED_BY: Final = "capture"
"""The maker of a captured procedure. The user is not named, because the procedure outlives the user's data."""
PAGE: Final = 100
"""Procedures that are read at once."""
MAX_READ: Final = 1_000
"""Versions of an agent's procedures with which a draft is compared: the newest ones."""
MAX_COMPARED: Final = 50
"""Procedures that are compared by meaning: those with most words in common with the draft."""
WHOLE_TENANT = ""
"""The value in place of an agent's id, to count the captures of all agents."""


@dataclass(frozen=True, slots=True)
class ProcedureCapture:
    """The pipeline that makes a procedure of a completed task. The procedure is not used before its approval.

    Each step stores its result in the record of the capture, and first carries out missing earlier steps. A killed
    step is therefore carried out again, and a repeated step does nothing.
    """

    store: ThreadStore
    captures: CaptureStore
    agents: AgentRegistry
    records: TaskRecords
    light_model: LightModel
    procedures: ProcedureStore
    embedder: Embedder
    announcements: Announcements
    clock: Clock
    limits: CurrentLimits

    async def run(self, step: CaptureStep, scope: Scope, ref: CaptureRef) -> Capture | None:
        """Carry out one step, and return the changed capture; None if the thread was deleted.

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
        except ThreadUnavailable:  # deleted since: no data of the thread may be stored any more
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
        """Return the capture after a step. The capture ends if the light model's answer cannot be used."""
        try:
            match step:
                case CaptureStep.DETECT:
                    return await self._detect(scope, thread, capture)
                case CaptureStep.DRAFT:
                    return await self._draft(scope, thread, capture)
                case CaptureStep.COMPARE:
                    floor = (await self._find_agent(scope, thread)).learning.duplicate_floor
                    return await self.compare(scope, capture, floor=floor)
                case CaptureStep.STORE:
                    return await self._store(scope, thread, capture)
                case CaptureStep.ANNOUNCE:
                    return await self._announce(scope, capture)
        except JunkAnswer:
            return _end(capture, CaptureStatus.REFUSED, "the light model gave no answer that can be read")
        except SpendingRefusal as refusal:
            return _end(capture, CaptureStatus.REFUSED, refusal.title)
        except NoProcedure as problem:
            return _end(capture, CaptureStatus.REFUSED, str(problem))

    async def _save(self, scope: Scope, capture: Capture) -> Capture:
        return await self.captures.save(scope, replace(capture, updated_at=self.clock.now()))

    async def _detect(self, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        agent = await self._find_agent(scope, thread)
        limit = agent.learning.max_per_day
        # Allowances are taken before the model is asked, so that failures cannot exceed the day's limit.
        if not await self.captures.take_allowance(scope, agent.id, self.clock.now().date(), limit):
            return _end(capture, CaptureStatus.NO_TASK, "the day's limit was reached")
        most, today = (await self.limits.of(scope)).captures_per_day, self.clock.now().date()
        if most is not None and not await self.captures.take_allowance(scope, WHOLE_TENANT, today, most):
            return _end(capture, CaptureStatus.NO_TASK, "the day's limit of the tenant was reached")
        record = await self.records.read(scope, thread, agent, capture.ref)
        name = await detect_task(
            self.light_model.of(ModelCaller.of(scope, thread.id, agent_id=thread.agent_id)), record
        )
        if name is None:
            return _end(capture, CaptureStatus.NO_TASK, "the light model saw no task that could be repeated")
        return replace(capture, name=name)

    async def _draft(self, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        record = await self._read_record(scope, thread, capture)
        light_model = self.light_model.of(ModelCaller.of(scope, thread.id, agent_id=thread.agent_id))
        return replace(capture, draft=await draft_procedure(light_model, capture.name or "", record))

    async def compare(self, scope: Scope, capture: Capture, *, floor: float) -> Capture:
        """Return the capture, whose draft is now of a new procedure or of a version of a similar one.

        The capture ends if the draft is similar to a rejected or a pending procedure. Procedures are similar from
        the likeness ``floor`` on. Raises ``StoreUnavailable`` and ``EmbedderUnavailable``.
        """
        draft = capture.draft
        if draft is None:
            return _end(capture, CaptureStatus.REFUSED, "there is no draft")
        procedures = await self._list_all(scope, capture.ref.agent_id)
        for score, other in await rank_by_likeness(draft, procedures, self.embedder):
            if score < floor and other.draft.slug != draft.slug and not is_same(draft, other.draft):
                continue
            refusal = _find_refusal(draft, other, [procedure for procedure in procedures if procedure.id == other.id])
            if refusal is not None:
                return _end(replace(capture, procedure_id=other.id), CaptureStatus.KNOWN, refusal)
            draft = replace(draft, name=other.draft.name)
            return replace(capture, procedure_id=other.id, procedure_scope=other.scope, draft=draft)
        return replace(capture, procedure_id=None, procedure_scope=ProcedureScope.AGENT)

    async def _list_all(self, scope: Scope, agent_id: str) -> Sequence[Procedure]:
        procedures: list[Procedure] = []
        cursor: str | None = None
        while True:
            page, cursor = await self.procedures.of_agents(scope, [agent_id], REVIEWED, limit=PAGE, cursor=cursor)
            procedures += page
            if cursor is None or len(procedures) >= MAX_READ:
                return procedures

    async def _store(self, scope: Scope, thread: Thread, capture: Capture) -> Capture:
        if capture.draft is None:
            return _end(capture, CaptureStatus.REFUSED, "there is no draft")
        record = await self._read_record(scope, thread, capture)
        source = ProcedureSource(capture.ref.thread_id, run_id=record.run_id, message_ids=record.message_ids)
        stored = await self.propose(scope, capture, capture.draft, source)
        try:
            await self.store.get_thread(scope, thread.id)
        except ThreadUnavailable:
            if stored.source is not None and stored.source.thread_id == capture.ref.thread_id:
                await self.procedures.forget_source(scope, stored.agent_id, stored.id, stored.version)
            raise
        if stored.status is not ProcedureStatus.PENDING:  # the same procedure was stored and decided on in the meantime
            stored_capture = replace(capture, procedure_id=stored.id)
            return _end(stored_capture, CaptureStatus.KNOWN, "there is the same procedure already")
        return replace(capture, status=CaptureStatus.STORED, procedure_id=stored.id, version=stored.version)

    async def propose(
        self, scope: Scope, capture: Capture, draft: ProcedureDraft, source: ProcedureSource
    ) -> Procedure:
        """Store the draft of a capture as pending, and return it. A repetition returns the stored procedure."""
        ref, now = capture.ref, self.clock.now()
        of = capture.procedure_scope
        pending = Procedure(draft, scope.tenant_id, ref.agent_id, CAPTURED_BY, now, scope=of, source=source)
        return await self.procedures.put(scope, pending)

    async def _announce(self, scope: Scope, capture: Capture) -> Capture:
        ref = capture.ref
        if capture.procedure_id is not None and capture.version is not None:
            pending = PendingProcedure(ref.agent_id, capture.procedure_id, capture.version, ref.thread_id)
            await self.announcements.procedure_pending(scope, pending)
        return replace(capture, status=CaptureStatus.ANNOUNCED)

    async def _find_agent(self, scope: Scope, thread: Thread) -> AgentDefinition:
        return (await self.agents.in_session(scope, thread)).get_main(thread)

    async def _read_record(self, scope: Scope, thread: Thread, capture: Capture) -> TaskRecord:
        return await self.records.read(scope, thread, await self._find_agent(scope, thread), capture.ref)


def _end(capture: Capture, status: CaptureStatus, reason: str) -> Capture:
    return replace(capture, status=status, reason=reason)


def _find_refusal(draft: ProcedureDraft, other: Procedure, versions: Sequence[Procedure]) -> str | None:
    """Return the reason why a draft is not proposed as a version of ``other``; None if it is proposed."""
    if any(is_same(replace(draft, name=version.draft.name), version.draft) for version in versions):
        return "there is the same procedure already"
    newest = max(versions, key=lambda version: version.version)
    if ProcedureStatus.REJECTED in (other.status, newest.status):
        return "a procedure like it was rejected"
    if any(version.status is ProcedureStatus.PENDING for version in versions):
        return "a procedure like it waits for approval"
    return None


async def rank_by_likeness(
    draft: ProcedureDraft, procedures: Sequence[Procedure], embedder: Embedder
) -> list[tuple[float, Procedure]]:
    """Return the procedures nearest to a draft as pairs of likeness (0 to 1) and procedure, the most alike first.

    Procedures are alike if their texts have the same meaning, or if their triggers match the draft's, because both
    would answer the same messages. If embedding is switched off, common words count instead of meaning.

    Raises ``EmbedderUnavailable``.
    """
    words = _list_words(draft)
    nearest = sorted(
        procedures,
        key=lambda procedure: (
            -_measure_overlap(words, _list_words(procedure.draft)),
            procedure.slug,
            procedure.version,
        ),
    )
    nearest = nearest[:MAX_COMPARED]
    meanings = await _compare_meanings(draft, nearest, embedder) if nearest and embedder.dimensions else None
    scores = meanings or [_measure_overlap(words, _list_words(procedure.draft)) for procedure in nearest]
    likenesses = [
        (max(score, _measure_trigger_share(draft, procedure.draft)), procedure)
        for procedure, score in zip(nearest, scores, strict=True)
    ]
    return sorted(likenesses, key=lambda likeness: (-likeness[0], likeness[1].slug, -likeness[1].version))


def is_same(draft: ProcedureDraft, other: ProcedureDraft) -> bool:
    """Return whether two drafts have the same texts, apart from case and spacing."""
    return _make_comparable(draft) == _make_comparable(other)


async def _compare_meanings(draft: ProcedureDraft, procedures: Sequence[Procedure], embedder: Embedder) -> list[float]:
    vectors = await embedder.embed(
        [_join_texts(draft), *(_join_texts(procedure.draft) for procedure in procedures)],
        purpose=EmbeddingPurpose.DOCUMENT,
        tenant_id=procedures[0].tenant_id,
    )
    first, *others = vectors
    if any(len(other) != len(first) for other in others):
        raise EmbedderUnavailable("The embedding model has changed the length of its vectors.")
    return [sum(map(mul, first, other)) for other in others]


def _join_texts(draft: ProcedureDraft) -> str:
    return f"{draft.name}: {draft.description} {' '.join(step.text for step in draft.steps)}"


def _measure_trigger_share(draft: ProcedureDraft, other: ProcedureDraft) -> float:
    """Return the share of the draft's triggers that match a trigger of ``other``."""
    return sum(find_first_match(other.triggers, trigger) is not None for trigger in draft.triggers) / len(
        draft.triggers
    )


def _list_words(draft: ProcedureDraft) -> frozenset[str]:
    return frozenset(find_content_words(f"{_join_texts(draft)} {' '.join(draft.triggers)}"))


def _measure_overlap(words: frozenset[str], other_words: frozenset[str]) -> float:
    """Return the share of all words that both sets have, from 0 to 1; 0 if there are none."""
    return len(words & other_words) / len(words | other_words) if words or other_words else 0.0


def _make_comparable(draft: ProcedureDraft) -> tuple[object, ...]:
    """Return the texts of a draft without differences of case and spacing."""
    steps = tuple((fold(step.text), fold(step.condition or "")) for step in draft.steps)
    triggers = frozenset(map(fold, draft.triggers))
    return fold(draft.name), fold(draft.description), triggers, steps, frozenset(draft.allowed_tools)
