"""The limits of tenants on DynamoDB: an item of the tenant's settings."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import save_revised
from baton.adapters.dynamodb.table_stores import TableStore
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.self_started_runs import SelfStartedRuns
from baton.domain.tenants.spending_rules import SpendingRules
from baton.domain.tenants.tenant_limits import LIMITS, RULES, TenantLimits
from baton.domain.times import from_millis, to_millis

Rules = TypeVar("Rules", bound=BaseModel)


class DynamoTenantLimits(TableStore):
    """``TenantLimitStore`` on the conversation table."""

    async def get(self, scope: Scope) -> TenantLimits:
        return await self._table.read(keys.tenant_limits(scope), _to_limits) or TenantLimits()

    async def put(self, scope: Scope, limits: TenantLimits) -> bool:
        item: Item = {
            **keys.tenant_limits(scope),
            "revision": limits.revision,
            "changed_by": limits.changed_by,
            "changed_at": to_millis(limits.changed_at) if limits.changed_at is not None else None,
            **{name: getattr(limits, name) for name in LIMITS},
            **{name: _to_json(getattr(limits, name)) for name in RULES},
        }
        return await save_revised(self._table, item)


def _to_limits(item: Item) -> TenantLimits:
    return TenantLimits(
        **{name: int(item[name]) for name in LIMITS if name in item},
        self_started_runs=_from_json(SelfStartedRuns, item.get("self_started_runs")),
        spending=_from_json(SpendingRules, item.get("spending")),
        revision=int(item["revision"]),
        changed_by=item["changed_by"],
        changed_at=from_millis(item["changed_at"]) if "changed_at" in item else None,
    )


def _to_json(rules: BaseModel | None) -> str | None:
    return rules.model_dump_json(by_alias=True) if rules is not None else None


def _from_json(kind: type[Rules], text: str | None) -> Rules | None:
    return kind.model_validate_json(text) if text is not None else None
