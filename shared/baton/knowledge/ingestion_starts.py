"""Starts of the pipeline: for an upload, and again after it has stopped."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from aws_lambda_powertools import Logger

from baton.domain.documents.document import (
    MAX_ATTEMPTS,
    STEP_WAIT,
    Document,
    DocumentRef,
    VersionStatus,
    parse_original_key,
)
from baton.domain.errors import TenantRemoved
from baton.domain.metrics import Metric, count
from baton.failures.reports import report_failure
from baton.knowledge.document_records import DocumentRecords
from baton.ports.clock import Clock
from baton.ports.documents.documents import Ingestions

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class IngestionStarts:
    """Starts of ``ingest_document``."""

    records: DocumentRecords
    ingestions: Ingestions
    clock: Clock
    since: datetime | None = None
    """The start of the pipelines' engine if runs end with it, as in the local cloud; None if it never stops."""

    async def start_uploaded(self, key: str) -> DocumentRef | None:
        """Start the pipeline for the content that was stored under ``key``, and return its document.

        Do nothing and return None for an object that is not the content of a document.
        """
        ref = parse_original_key(key)
        document = await self.records.get(ref) if ref is not None else None
        if ref is None or document is None:
            return None
        await self.ingestions.start(ref, attempt=0, created_at=document.created_at)
        return ref

    async def resume(self, *, seconds: float) -> int:
        """Start the pipeline again where it has stopped or was never started, for at most ``seconds``.

        Return the number of starts. A document that fails stays due and does not stop the others.
        """
        loop = asyncio.get_running_loop()
        deadline, started = loop.time() + seconds, 0
        now = self.clock.now()
        # Runs that ended with an earlier engine are due too.
        async for ref in self.records.documents.due(now if self.since is None else max(now, self.since + STEP_WAIT)):
            if loop.time() >= deadline:
                count(Metric.SWEEPS_UNFINISHED)
                break
            try:
                started += await self._resume(ref)
            except TenantRemoved:
                continue  # the tenant's items are about to be removed
            except Exception as failure:  # noqa: BLE001 - it stays due
                report_failure(failure, "document not resumed", document_id=ref.document_id, version=ref.version)
                count(Metric.SWEEP_FAILURES)
        return started

    async def _resume(self, ref: DocumentRef) -> bool:
        """Start a document's pipeline unless it waits or works. Return whether it was started."""
        starts = False

        def move_check(document: Document) -> Document | None:
            nonlocal starts
            now = self.clock.now()
            if document.check_at is None:
                return None  # another sweep was faster
            # The run has ended with an earlier engine, and was not started again.
            is_dead = self.since is not None and (
                document.updated_at < self.since and document.check_at < self.since + STEP_WAIT
            )
            if document.check_at > now and not is_dead:
                return None
            # A pipeline is considered to be running until this time after its last progress.
            check_at = document.updated_at + (STEP_WAIT if document.is_processing else timedelta())
            starts = is_dead or check_at <= now
            return _make_next_attempt(document, now) if starts else replace(document, check_at=check_at)

        def postpone_check(document: Document) -> Document | None:
            if document.check_at is None or document.deleted_at is not None:
                return None  # it has ended or was deleted meanwhile
            return replace(document, check_at=self.clock.now() + STEP_WAIT)

        if await self._is_pending(ref):
            await self.records.change(ref, postpone_check)
            return False
        document = await self.records.change(ref, move_check)
        if document is None or not starts:
            return False
        newest = replace(ref, version=document.latest.number)
        await self.ingestions.start(
            newest, attempt=document.attempt, created_at=document.created_at, removes=document.deleted_at is not None
        )
        return True

    async def _is_pending(self, ref: DocumentRef) -> bool:
        """Return whether the newest version's pipeline waits for others or is in progress."""
        document = await self.records.get(ref)
        if document is None or document.deleted_at is not None:
            return False
        newest = replace(ref, version=document.latest.number)
        return await self.ingestions.is_pending(newest, created_at=document.created_at)


def _make_next_attempt(document: Document, now: datetime) -> Document:
    """Return the document for another attempt. After ``MAX_ATTEMPTS`` its version has failed."""
    counted = replace(document, attempt=document.attempt + 1, check_at=now + STEP_WAIT)
    if not counted.is_processing or counted.attempt <= MAX_ATTEMPTS:
        return counted
    count(Metric.DOCUMENTS_FAILED)
    failed = replace(
        counted.latest,
        status=VersionStatus.FAILED,
        error_code="document_not_processed",
        error="The document could not be processed. Upload it again later.",
        step=None,
        ended_at=now,
    )
    return counted.fail(failed, now)
