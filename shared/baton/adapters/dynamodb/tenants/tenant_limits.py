"""The limits of tenants on DynamoDB: an item of the tenant's settings."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import save_revised
from baton.adapters.dynamodb.table import TableStore
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.self_started_runs import SelfStartedRuns
from baton.domain.tenants.tenant_limits import LIMITS, TenantLimits
from baton.domain.times import from_millis, to_millis


class DynamoTenantLimits(TableStore):
    """``TenantLimitStore`` on the conversation table."""

    async def get(self, scope: Scope) -> TenantLimits:
        return await self._table.read(keys.tenant_limits(scope), _limits) or TenantLimits()

    async def put(self, scope: Scope, limits: TenantLimits) -> bool:
        rules = limits.self_started_runs
        item: Item = {
            **keys.tenant_limits(scope),
            "revision": limits.revision,
            "changed_by": limits.changed_by,
            "changed_at": to_millis(limits.changed_at) if limits.changed_at is not None else None,
            **{name: getattr(limits, name) for name in LIMITS},
            "self_started_runs": rules.model_dump_json(by_alias=True) if rules is not None else None,
        }
        return await save_revised(self._table, item)


def _limits(item: Item) -> TenantLimits:
    return TenantLimits(
        **{name: int(item[name]) for name in LIMITS if name in item},
        self_started_runs=SelfStartedRuns.model_validate_json(item["self_started_runs"])
        if "self_started_runs" in item
        else None,
        revision=int(item["revision"]),
        changed_by=item["changed_by"],
        changed_at=from_millis(item["changed_at"]) if "changed_at" in item else None,
    )
