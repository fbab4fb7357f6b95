"""Starts of pipelines by way of their admission, with the subject of each run and the names of its attempts."""

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
"""New versions of a tenant's documents are ingested before waiting rebuilds that are up to a day older."""


@dataclass(frozen=True, slots=True)
class AdmittedClosings:
    """``Closings`` with a limited number of runs in progress."""

    admission: PipelineAdmission

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        """See ``Closings``."""
        # Step Functions reserves a name for 90 days, so that the same attempt cannot be started twice. The name has the
        # thread's time of creation, because the id of a forgotten thread may be used again within that time.
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
    """``Captures`` with a limited number of runs in progress."""

    admission: PipelineAdmission

    async def start(self, scope: Scope, ref: CaptureRef, *, attempt: int) -> None:
        """See ``Captures``."""
        # Names are unique in the AWS account. Threads of two tenants may have the same id, and so may a new thread and
        # a forgotten thread.
        created_at = to_millis(ref.thread_created_at) if ref.thread_created_at is not None else ""
        slot = _hash_ids(scope.tenant_id, ref.thread_id, created_at)
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
    """``Ingestions`` with a limited number of runs in progress."""

    admission: PipelineAdmission

    async def start(self, ref: DocumentRef, *, attempt: int, created_at: datetime, removes: bool = False) -> None:
        """See ``Ingestions``."""
        subject = _make_document_subject(ref, created_at)
        run = _make_ingestion(ref, subject, f"{subject}-{attempt}")
        await (self.admission.start_at_once(run) if removes else self.admission.start(run))

    async def rebuild(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        """See ``Ingestions``."""
        subject = f"{_make_document_subject(ref, created_at)}-rebuild"
        if await self.admission.is_pending(Pipeline.INGESTION, subject):
            return False
        # The name has the time, because an index may be rebuilt several times in the 90 days for which it is reserved.
        run = _make_ingestion(ref, subject, f"{subject}-{to_millis(self.admission.clock.now())}", rebuilds=True)
        await self.admission.start(run, behind=REBUILDS_WAIT)
        return True

    async def is_pending(self, ref: DocumentRef, *, created_at: datetime) -> bool:
        """See ``Ingestions``."""
        return await self.admission.is_pending(Pipeline.INGESTION, _make_document_subject(ref, created_at))


def _make_ingestion(ref: DocumentRef, subject: str, name: str, *, rebuilds: bool = False) -> PipelineRun:
    execution_input = {
        "tenantId": ref.tenant_id,
        "agentId": ref.agent_id,
        "documentId": ref.document_id,
        "version": ref.version,
        "subject": subject,
    }
    if rebuilds:
        execution_input["rebuilds"] = True
    return PipelineRun(Pipeline.INGESTION, ref.tenant_id, subject, name, execution_input)


def _make_document_subject(ref: DocumentRef, created_at: datetime) -> str:
    # Documents of different tenants and agents may have the same id, and a removed document may be created again.
    return f"{_hash_ids(ref.tenant_id, ref.agent_id, ref.document_id, to_millis(created_at))}-{ref.version}"


def _hash_ids(*parts: object) -> str:
    """Return a digest of ids for a name. Only the last part may contain a slash, or two digests could be the same."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:32]
