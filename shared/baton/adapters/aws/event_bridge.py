"""Announce events on an EventBridge bus."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools import Logger

from baton.adapters.aws.blocking_calls import call
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.memory.procedures import PendingProcedure

logger = Logger(child=True)

SOURCE: Final = "baton"
PROCEDURE_PENDING: Final = "Procedure pending"


@dataclass(frozen=True, slots=True)
class EventBridgeAnnouncements:
    """``Announcements`` as events of the source ``baton``."""

    client: Any
    """boto3's client of ``events``."""
    bus: str
    """The name or ARN of the event bus."""

    async def procedure_pending(self, scope: Scope, procedure: PendingProcedure) -> None:
        detail = {
            "tenantId": scope.tenant_id,
            "agentId": procedure.agent_id,
            "procedureId": procedure.procedure_id,
            "version": procedure.version,
            "threadId": procedure.thread_id,
        }
        detail_json = json.dumps(detail)
        entry = {"Source": SOURCE, "DetailType": PROCEDURE_PENDING, "Detail": detail_json, "EventBusName": self.bus}
        answer = await call(self.client.put_events, Entries=[entry])
        if answer["FailedEntryCount"]:  # a successful answer may report failed entries
            raise StoreUnavailable
        logger.info("procedure pending", extra=detail)
