"""The export of a whole tenant: all that a removal finds in the table and the bucket, page by page.

A tenant's search indices are not exported: they are made of its conversations, documents and procedures.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import NAMESPACE_OID, uuid5

from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.tenants.export import CursorSeal, StoredObject, StoredRecord, TenantFiles, TenantRecords

FORMAT = 1
"""The version of the export's form. It changes with every change that its readers must know of."""
VALID = timedelta(days=7)
"""The age up to which an export is continued. Later its first records would be too old."""
MAX_OBJECTS = 200
"""Objects of one page."""
MAX_BYTES = 100 * 1024 * 1024
"""Bytes of the objects of one page, without its last one. Their addresses must not expire before all are read."""


class ExportStage(StrEnum):
    """The store that an export is in. It goes through them in this order."""

    TABLE = "table"
    OBJECTS = "objects"


@dataclass(frozen=True, slots=True)
class ExportPosition:
    """The position at which an export continues."""

    began_at: datetime
    stage: ExportStage = ExportStage.TABLE
    stage_position: str | None = None
    """The position in the store; None for its beginning."""


@dataclass(frozen=True, slots=True)
class ExportEnd:
    """The end of a page of an export."""

    counts: Mapping[str, int]
    """The numbers of records and objects of the page, by kind."""
    left_out: Mapping[str, int]
    """The numbers of records that the page has left out, by kind."""
    cursor: str | None
    """The cursor of the next page; None after the last."""


ExportPart = StoredRecord | StoredObject | ExportEnd


@dataclass(frozen=True, slots=True)
class TenantExports:
    """Exports of whole tenants. They need ``tenant:export``, and also answer for tenants that are removed."""

    records: TenantRecords
    files: TenantFiles
    seal: CursorSeal
    audit: AuditLog
    clock: Clock

    async def begin(self, scope: Scope, cursor: str | None) -> ExportPosition:
        """Return the position at which an export begins or continues. Each export of a caller is audited once.

        Raises ``Forbidden``, and ``InvalidRequest`` for a cursor of no export of the tenant, or of an old one.
        """
        scope.require(Permission.TENANT_EXPORT, "tenant.export")
        now = self.clock.now()
        position = ExportPosition(now) if cursor is None else _parse_cursor(await self.seal.open(scope, cursor))
        if now - position.began_at > VALID:
            raise InvalidRequest(f"The export began more than {VALID.days} days ago. Begin a new one.")
        key = uuid5(NAMESPACE_OID, f"{scope.tenant_id} {scope.user_id} export {to_millis(position.began_at)}")
        once = Once(str(key), position.began_at)
        await self.audit.record(scope, "tenant.export", thread_id=None, outcome="allowed", detail={}, once=once)
        return position

    async def read_page(
        self, scope: Scope, position: ExportPosition, *, seconds: float
    ) -> AsyncGenerator[ExportPart, None]:
        """Yield the records and objects from ``position`` on, for about ``seconds``, and then the page's end.

        Raises ``StoreUnavailable``.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        counts: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        while position.stage is ExportStage.TABLE:
            page = await self.records.read_page(scope, position.stage_position)
            for record in page.records:
                counts[record.kind] += 1
                yield record
            left_out.update(page.left_out)
            stage = ExportStage.TABLE if page.position is not None else ExportStage.OBJECTS
            position = replace(position, stage=stage, stage_position=page.position)
            if loop.time() >= until:
                yield await self._end(scope, position, counts, left_out)
                return
        size = number = 0
        async with aclosing(self.files.list(scope, position.stage_position)) as objects:
            async for stored in objects:
                counts["bodies" if stored.url is None else "files"] += 1
                yield stored
                number, size = number + 1, size + stored.size
                if number >= MAX_OBJECTS or size >= MAX_BYTES or loop.time() >= until:
                    yield await self._end(scope, replace(position, stage_position=stored.name), counts, left_out)
                    return
        yield ExportEnd(counts, left_out, None)

    async def _end(
        self, scope: Scope, position: ExportPosition, counts: Mapping[str, int], left_out: Mapping[str, int]
    ) -> ExportEnd:
        cursor = {
            "began": to_millis(position.began_at),
            "stage": position.stage.value,
            "position": position.stage_position,
        }
        return ExportEnd(counts, left_out, await self.seal.seal(scope, cursor))


def _parse_cursor(cursor: Mapping[str, object]) -> ExportPosition:
    """Return the position in an opened cursor. Raises ``InvalidRequest``."""
    match cursor:
        case {"began": int(began), "stage": str(stage), "position": str() | None as stage_position}:
            return ExportPosition(from_millis(began), ExportStage(stage), stage_position)
    raise InvalidRequest("cursor was not handed out by this export.")
