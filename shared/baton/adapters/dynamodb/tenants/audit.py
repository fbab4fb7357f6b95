"""Audit records on DynamoDB, in the partition of their thread."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any

from aws_lambda_powertools import Logger
from botocore.exceptions import BotoCoreError, ClientError

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shards import make_page, read_batches, read_newest_first
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import BatonError, TenantRemoved
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.tenants.audit import AuditRecord, Once

logger = Logger(use_rfc3339=True)

PAGE = 50
"""The number of records that are read together."""
MAX_PAGES = 20
"""The maximum number of pages that one call searches for matching records."""


class DynamoAuditLog(TimedTableStore):
    """``AuditLog`` on the conversation table."""

    async def record(
        self,
        scope: Scope,
        action: str,
        *,
        thread_id: str | None,
        outcome: str,
        detail: dict[str, Any],
        once: Once | None = None,
    ) -> None:
        once = once or Once(self._clock.new_id(), self._clock.now())
        sortable_id = f"{to_millis(once.at):015d}#{once.key}"
        item = {
            **keys.audit(scope, thread_id, sortable_id),
            "user_id": scope.user_id,
            "action": action,
            "outcome": outcome,
            # JSON text: readable in the console, and free of DynamoDB's rules about numbers and empty sets.
            "detail": json.dumps(detail, default=str),
            "listing": keys.audit_listings.of(scope, sortable_id),
            "listed_at": sortable_id,
        }
        try:
            await self._table.put(item, condition=IS_NEW)
        except ConditionFailed:
            return  # written by an earlier attempt
        except TenantRemoved:
            # A removed tenant gets no further audit records, so what is still done to its data is in the log only.
            logger.info(
                "action of a removed tenant",
                action=action,
                outcome=outcome,
                tenant_id=scope.tenant_id,
                user_id=scope.user_id,
            )
        except (BatonError, ClientError, BotoCoreError):
            logger.exception("audit record lost", action=action, thread_id=thread_id, outcome=outcome)
            count(Metric.AUDIT_RECORDS_LOST)

    async def of_thread(
        self, scope: Scope, thread_id: str, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[AuditRecord], str | None]:
        before = f"{keys.AUDIT}{decode_text(cursor)}" if cursor else f"{keys.AUDIT}~"
        audit_records: list[AuditRecord] = []
        async for page in self._table.query(
            keys.partition(scope, thread_id), first=keys.AUDIT, last=before, newest_first=True, limit=limit + 2
        ):
            # Cleaned records belong to a forgotten conversation, whose id may be in use again. They stay in the
            # tenant's list.
            audit_records += [_to_record(item) for item in page if item["SK"] != before and "cleaned" not in item]
            if len(audit_records) > limit:
                break
        return make_page(audit_records, limit, lambda record: encode_text(record.id))

    async def of_tenant(
        self,
        scope: Scope,
        wanted: Mapping[str, str],
        *,
        limit: int,
        cursor: str | None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Sequence[AuditRecord], str | None]:
        before = decode_text(cursor) if cursor else None
        if until is not None:
            # This sorts after every id of that moment: ids continue with `#`, and `~` sorts after `#`.
            before = min(filter(None, (before, f"{to_millis(until):015d}~")))
        oldest = f"{to_millis(since):015d}" if since is not None else ""
        audit_records: list[AuditRecord] = []
        pages = 0
        listings = keys.audit_listings(scope)
        async with aclosing(read_newest_first(self._table, listings, before=before, limit=PAGE)) as entries:
            async for page in read_batches(entries, PAGE, oldest):
                pages += 1
                items = await self._table.get_listed(page)
                records = sorted((_to_record(item) for item in items), key=lambda record: record.id, reverse=True)
                audit_records += [record for record in records if record.matches(wanted)]
                if len(audit_records) > limit:
                    break
                if pages == MAX_PAGES:
                    return audit_records, encode_text(page[-1]["listed_at"])
        return make_page(audit_records, limit, lambda record: encode_text(record.id))


def _to_record(item: Item) -> AuditRecord:
    tenant_id, _, thread_id = item["PK"].partition("#")
    sortable_id = item["SK"].removeprefix(keys.AUDIT)
    return AuditRecord(
        id=sortable_id,
        at=from_millis(int(sortable_id.partition("#")[0])),
        tenant_id=tenant_id,
        user_id=item["user_id"],
        thread_id=None if thread_id.startswith("~") else thread_id,
        action=item["action"],
        outcome=item["outcome"],
        detail=json.loads(item["detail"]),
    )
