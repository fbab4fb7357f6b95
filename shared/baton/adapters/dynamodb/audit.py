"""Audit records on DynamoDB, in the partition of the thread they are about."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools import Logger
from botocore.exceptions import BotoCoreError, ClientError

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.table import Table
from baton.domain.errors import BatonError
from baton.domain.identity import Scope
from baton.domain.times import to_millis
from baton.ports.clock import Clock

logger = Logger()


class DynamoAuditLog:
    """``AuditLog`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    async def record(self, scope: Scope, action: str, *, thread_id: str, outcome: str, detail: dict[str, Any]) -> None:
        at = to_millis(self._clock.now())
        sortable_id = f"{at:015d}#{self._clock.new_id()}"
        item = {
            **keys.audit(scope, thread_id, sortable_id),
            "user_id": scope.user_id,
            "action": action,
            "outcome": outcome,
            # JSON text: readable in the console, and free of DynamoDB's rules about numbers and empty sets.
            "detail": json.dumps(detail, default=str),
            "listing": keys.audit_listing(scope),
            "listed_at": sortable_id,
        }
        try:
            await self._table.put(item)
        except (BatonError, ClientError, BotoCoreError):
            logger.exception("audit record lost", action=action, thread_id=thread_id, outcome=outcome)
