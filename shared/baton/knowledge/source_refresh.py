"""Read due sources and keep their documents up to date.

A refresh is divided into slices of limited time. Its pages record the last refresh that has handled them, so another
worker can continue wherever one has stopped or died. An unchanged page costs one conditional request, one read and one
write.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta

from aws_lambda_powertools import Logger

from baton.concurrency.tasks import call_until
from baton.domain.documents.source import MAX_SOURCE_ERRORS, Refresh, Source, SourceError, SourceStatus
from baton.domain.errors import TenantRemoved
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.failures.reports import report_failure
from baton.knowledge.source_pages import PageListings, PageOutcome, PageRefreshes, PageResult
from baton.ports.clock import Clock
from baton.ports.documents.sources import DueSource, PageUnavailable, SourceStore

logger = Logger(child=True)

LEASE = timedelta(minutes=16)
"""The time after which another worker takes over. No worker lives longer, because Lambda ends it after 15 minutes."""
SLICE_SECONDS = 60.0
"""The time of one slice, so that a large source does not keep others waiting. Its last page may exceed it."""
LISTING_SECONDS = 120
"""The time limit for all sitemaps of an index."""
CONCURRENT = 4
"""The number of sources that are read at the same time. Each has at most one page (50 MB) in memory."""
PAGES_PER_SAVE = 20
"""The number of pages after which the counts are stored."""


@dataclass(slots=True)
class RefreshReport:
    """The counts of one run."""

    sources: int = 0
    pages_changed: int = 0
    failed: int = 0
    """Sources whose refresh failed unexpectedly; unavailable pages do not count."""
    is_complete: bool = True
    """True if every due source was handled. The others stay due."""


class _ClaimLost(Exception):
    """Another request has changed or deleted the source, so this worker must stop."""


@dataclass(frozen=True, slots=True)
class SourceRefreshes:
    """Refreshes of due sources. Runs may overlap, because each source is claimed by a conditional write."""

    store: SourceStore
    pages: PageRefreshes
    listings: PageListings
    clock: Clock

    async def refresh_due(self, *, seconds: float, slice_seconds: float = SLICE_SECONDS) -> RefreshReport:
        """Read due sources for about ``seconds``. Slices that have begun by then are completed."""
        deadline = asyncio.get_running_loop().time() + seconds
        report = RefreshReport()
        report.is_complete = await call_until(
            deadline,
            self.store.due(self.clock.now()),
            lambda due: self._refresh_or_remove(due, slice_seconds, report),
            at_once=CONCURRENT,
        )
        return report

    async def _refresh_or_remove(self, due: DueSource, slice_seconds: float, report: RefreshReport) -> None:
        """Refresh or remove a source. A failure does not stop other sources; this one is tried after the lease."""
        end = asyncio.get_running_loop().time() + slice_seconds
        report.sources += 1
        try:
            claimed = await self._claim(due.scope, due.source)
            if claimed.deleted_at is not None:
                await self._remove(due.scope, claimed, end)
            else:
                await self._refresh(due.scope, claimed, end, report)
        except _ClaimLost:
            logger.info("the source was changed by another request", source_id=due.source.id)
        except TenantRemoved:
            logger.info("the source is a removed tenant's", source_id=due.source.id)
        except Exception as failure:  # noqa: BLE001 - the source is tried again after the lease
            report_failure(failure, "refresh of a source failed", source_id=due.source.id)
            count(Metric.SOURCE_FAILURES)
            report.failed += 1

    async def _claim(self, scope: Scope, source: Source) -> Source:
        """Reserve the source for the time of the lease, and begin or continue its refresh. Raises ``_ClaimLost``."""
        now = self.clock.now()
        if source.deleted_at is not None:
            return await self._save(scope, replace(source, check_at=now + LEASE, worker=self.clock.new_id()))
        refresh = source.refresh or Refresh(source.refreshes + 1, now)
        return await self._save(
            scope,
            replace(
                source,
                status=SourceStatus.REFRESHING,
                refresh=refresh,
                refreshes=refresh.number,
                check_at=now + LEASE,
                worker=self.clock.new_id(),
            ),
        )

    async def _refresh(self, scope: Scope, source: Source, end: float, report: RefreshReport) -> None:
        """Refresh the pages of a source until ``end``, a time of the event loop."""
        try:
            async with asyncio.timeout(LISTING_SECONDS):
                listing = await self.listings.read(scope, source)
        except (PageUnavailable, TimeoutError) as failure:
            too_slow = f"Its pages could not be listed within {LISTING_SECONDS} seconds."
            error = too_slow if isinstance(failure, TimeoutError) else str(failure)
            await self._end(scope, source, documents=source.documents, error=error)
            return
        known_pages = {page.url: page for page in await self.store.pages(scope, source)}
        counted = 0
        for listed in listing.pages:
            page = known_pages.get(listed.url)
            if page is not None and page.seen >= source.refreshes:
                continue
            if self._is_over(end):
                await self._pause(scope, source)
                return
            result = await self.pages.refresh(scope, source, listed, page, number=source.refreshes)
            report.pages_changed += result.outcome is PageOutcome.CHANGED
            source, counted = _count_result(source, listed.url, result), counted + 1
            if counted % PAGES_PER_SAVE == 0:
                source = await self._save(scope, source)
        listed_urls = {page.url for page in listing.pages}
        # An incomplete listing does not show that a page is gone.
        missing = [page for url, page in known_pages.items() if url not in listed_urls] if listing.is_complete else []
        for page in missing:
            if self._is_over(end):
                await self._pause(scope, source)
                return
            await self.pages.drop(scope, source, page)
            source = _count_result(source, page.url, PageResult(PageOutcome.DELETED))
        pages = await self.store.pages(scope, source)
        await self._end(scope, source, documents=sum(page.sha256 is not None for page in pages), error=None)

    async def _remove(self, scope: Scope, source: Source, end: float) -> None:
        """Delete the documents of a deleted source, and repeat it after the lease, when no worker can create more."""
        for page in await self.store.pages(scope, source):
            if self._is_over(end):
                await self._pause(scope, source)
                return
            await self.pages.drop(scope, source, page)
        last_check_at = (source.deleted_at or self.clock.now()) + LEASE
        if self.clock.now() < last_check_at:
            await self._save(scope, replace(source, check_at=last_check_at))
        else:
            await self.store.remove(scope, source.agent_id, source.id)

    async def _pause(self, scope: Scope, source: Source) -> None:
        """End a slice. The source is due again at once, after the sources that are due already."""
        await self._save(scope, replace(source, check_at=self.clock.now()))

    async def _end(self, scope: Scope, source: Source, *, documents: int, error: str | None) -> None:
        now = self.clock.now()
        refresh = source.refresh or Refresh(source.refreshes, now)
        await self._save(
            scope,
            replace(
                source,
                status=SourceStatus.READY if error is None else SourceStatus.FAILED,
                refresh=None,
                refreshed_at=now,
                updated_at=now,
                check_at=now + source.interval,
                documents=documents,
                counts=refresh.counts,
                errors=refresh.errors,
                error=error,
            ),
        )

    async def _save(self, scope: Scope, source: Source) -> Source:
        """Store the source and return it. Raises ``_ClaimLost``."""
        saved = await self.store.save(scope, source)
        if saved is None:
            raise _ClaimLost
        return saved

    def _is_over(self, end: float) -> bool:
        return asyncio.get_running_loop().time() >= end


def _count_result(source: Source, url: str, result: PageResult) -> Source:
    """Return the source with the result of a page in the counts and errors of its refresh."""
    refresh = source.refresh
    if refresh is None:
        return source
    name = result.outcome.value
    counts = replace(refresh.counts, **{name: getattr(refresh.counts, name) + 1})
    errors = refresh.errors
    if result.error is not None:
        errors = (*errors, SourceError(url, result.error))[:MAX_SOURCE_ERRORS]
    return replace(source, refresh=replace(refresh, counts=counts, errors=errors))
