"""The pipelines for their callers, with the subject of each run and the names of its attempts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from baton.domain.documents.document import DocumentRef
from baton.domain.documents.pipelines import Pipeline, PipelineRun
from baton.domain.memory.capture import CaptureRef
from baton.domain.memory.episode import EpisodeRef
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis
from baton.entry.jobs.pipeline_admission import PipelineAdmission

REBUILDS_WAIT = timedelta(days=1)
"""New versions of a tenant's documents begin before rebuilds that are up to so much older."""


@dataclass(frozen=True, slots=True)
class AdmittedClosings:
    """``Closings`` that wait for each other."""

    admission: PipelineAdmission

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        """See ``Closings``."""
        # A name is reserved for 90 days, so that the same attempt cannot be started twice. The id of a forgotten thread
        # may be used again within that time.
        began = f"-{to_millis(ref.thread_created_at)}" if ref.thread_created_at is not None else ""
        subject = f"{scope.tenant_id}/{ref.thread_id}/{ref.number}{began}"
        execution_input = {
            "tenantId": scope.tenant_id,
            "userId": scope.user_id,
            "threadId": ref.thread_id,
            "episode": ref.number,
            "episodeId": ref.id,
            "firstOrdinal": ref.first_ordinal,
            "endOrdinal": ref.end_ordinal,
            "reason": ref.reason.value,
            "attempt": attempt,
            "subject": subject,
        }
        name = f"{ref.thread_id}-{ref.number}-{attempt}{began}"
        await self.admission.start(PipelineRun(Pipeline.CLOSING, scope.tenant_id, subject, name, execution_input))


@dataclass(frozen=True, slots=True)
class AdmittedCaptures:
    """``Captures`` that wait for each other."""

    admission: PipelineAdmission

    async def start(self, scope: Scope, ref: CaptureRef, *, attempt: int) -> None:
        """See ``Captures``."""
        # A name is the account's, and two tenants may have threads of the same id; a forgotten one's may be used again.
        created_at = to_millis(ref.thread_created_at) if ref.thread_created_at is not None else ""
        slot = _hash(scope.tenant_id, ref.thread_id, created_at)
        subject = f"{slot}-{ref.first_ordinal}-{ref.end_ordinal}"
        execution_input = {
            "tenantId": scope.tenant_id,
            "userId": scope.user_id,
            "threadId": ref.thread_id,
            "agentId": ref.agent_id,
            "firstOrdinal": ref.first_ordinal,
            "endOrdinal": ref.end_ordinal,
            "attempt": attempt,
            "subject": subject,
        }
        name = f"{subject}-{attempt}"
        await self.admission.start(PipelineRun(Pipeline.CAPTURE, scope.tenant_id, subject, name, execution_input))


@dataclass(frozen=True, slots=True)
class AdmittedIngestions:
    """``Ingestions`` that wait for each other."""

    admission: PipelineAdmission

    async def start(self, ref: DocumentRef, *, attempt: int, created_at: datetime, removes: bool = False) -> None:
        """See ``Ingestions``."""
        subject = _document_subject(ref, created_at)
        run = _ingestion(ref, subject, f"{subject}-{attempt}")
        await (self.admission.start_at_once(run) if removes else self.admission.start(run))

    async def rebuild(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        """See ``Ingestions``."""
        subject = f"{_document_subject(ref, created_at)}-rebuild"
        if await self.admission.is_pending(Pipeline.INGESTION, subject):
            return False
        # A lost index may be rebuilt any number of times, and a name is reserved for 90 days.
        run = _ingestion(ref, subject, f"{subject}-{to_millis(self.admission.clock.now())}", rebuilds=True)
        await self.admission.start(run, behind=REBUILDS_WAIT)
        return True

    async def is_pending(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        """See ``Ingestions``."""
        return await self.admission.is_pending(Pipeline.INGESTION, _document_subject(ref, created_at))


def _ingestion(ref: DocumentRef, subject: str, name: str, **options: bool) -> PipelineRun:
    execution_input = {
        "tenantId": ref.tenant_id,
        "agentId": ref.agent_id,
        "documentId": ref.document_id,
        "version": ref.version,
        "subject": subject,
        **options,
    }
    return PipelineRun(Pipeline.INGESTION, ref.tenant_id, subject, name, execution_input)


def _document_subject(ref: DocumentRef, created_at: datetime) -> str:
    # Documents of different tenants and agents may have the same id, and one that was removed may be created again.
    return f"{_hash(ref.tenant_id, ref.agent_id, ref.document_id, to_millis(created_at))}-{ref.version}"


def _hash(*parts: object) -> str:
    """Return a digest of ids for a name. Only the last part may have a slash, so that different parts differ."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:32]
