"""Routes of the limits of the caller's tenant."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, Field
from pydantic.alias_generators import to_camel

from baton.api.http.dependencies import Caller, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import describe
from baton.composition.app import App
from baton.domain.errors import InvalidRequest, LimitsChanged
from baton.domain.tenants.identity import Permission
from baton.domain.tenants.tenant_limits import LIMITS, RULES, TALKING_LIMITS, LimitFields, TenantLimits
from baton.domain.wire_model import TIMESTAMP, Timestamp, WireModel

router = APIRouter(prefix="/v1/tenant/limits", tags=["limits"], responses=responses("forbidden store_unavailable"))

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match",
        description='The `ETag` of the limits that the caller has read (`"2"`), or `*`.',
        json_schema_extra={"pattern": r'^\s*(\*|"[0-9]{1,18}")\s*$'},
    ),
]


class LimitsRequest(LimitFields):
    """The tenant's limits. The deployment's limit applies to a field that is null or left out."""


class Limits(LimitFields, WireModel, json_schema_serialization_defaults_required=True):
    """The limits of all kinds; null for no limit."""


class ServedCurrentLimits(WireModel):
    """The current limits of the tenant."""

    limits: Limits = describe("The tenant's choice; null for the deployment's limit.")
    deployment: Limits = describe("The deployment's maximum; null for no limit.")
    effective: Limits = describe("The limits in force: the lower of both.")
    changed_by: str | None = Field(examples=["alice"])
    changed_at: Timestamp | None = Field(examples=[TIMESTAMP])


@router.get("", summary="Read the tenant's limits")
async def get_limits(caller: Caller, app: UseCases, response: Response) -> ServedCurrentLimits:
    """Return the limits of the tenant and of the deployment. Needs `tenant:manage`."""
    caller.require(Permission.TENANT_MANAGE, "limits.read")
    return _serve_limits(app, await app.ports.tenant_limits.get(caller), response)


@router.put("", summary="Set the tenant's limits", responses=responses("limits_changed"))
async def put_limits(
    body: LimitsRequest, caller: Caller, app: UseCases, response: Response, if_match: IfMatch = None
) -> ServedCurrentLimits:
    """Set all limits of the tenant, which are in force within a minute. Needs `tenant:manage`.

    No limit may be above the deployment's, and no rate may be 0. Data that exceed a new limit are kept, but no more can
    be added. With `If-Match`, the limits are set only if they have not been changed since. A repeated request gets the
    same answer.
    """
    caller.require(Permission.TENANT_MANAGE, "limits.change")
    stored = await app.ports.tenant_limits.get(caller)
    limits = stored.model_copy(update={**body.model_dump(), **{name: getattr(body, name) for name in RULES}})
    zero_limit = next((name for name in TALKING_LIMITS if getattr(body, name) == 0), None)
    if zero_limit is not None:
        raise InvalidRequest(f"{to_camel(zero_limit)}: at least 1, because 0 would refuse everything to everybody.")
    exceeded = limits.find_excess(app.limits.current.deployment)
    if exceeded is not None:
        limit = getattr(app.limits.current.deployment, exceeded)
        raise InvalidRequest(f"{to_camel(exceeded)}: this deployment allows at most {limit}.")
    if limits == stored and stored.changed_by == caller.user_id:
        return _serve_limits(app, stored, response)
    if not _allows_change(if_match, stored.revision):
        raise LimitsChanged
    author = {"changed_by": caller.user_id, "changed_at": app.ports.clock.now()}
    changed = limits.model_copy(update={"revision": stored.revision + 1, **author})
    if not await app.ports.tenant_limits.put(caller, changed):
        raise LimitsChanged
    app.limits.current.forget(caller)
    detail = {to_camel(name): getattr(changed, name) for name in LIMITS}
    for name in RULES:
        rules: BaseModel | None = getattr(changed, name)
        if rules is not None:
            detail[to_camel(name)] = rules.model_dump(mode="json", by_alias=True)
    await app.ports.audit.record(caller, "limits.change", thread_id=None, outcome="changed", detail=detail)
    return _serve_limits(app, changed, response)


def _serve_limits(app: App, limits: TenantLimits, response: Response) -> ServedCurrentLimits:
    """Return the served form of the limits, and set their ``ETag`` on the response."""
    deployment = app.limits.current.deployment
    response.headers["ETag"] = f'"{limits.revision}"'
    return ServedCurrentLimits(
        limits=Limits.of(limits),
        deployment=Limits.of(deployment),
        effective=Limits.of(limits.within(deployment)),
        changed_by=limits.changed_by or None,
        changed_at=limits.changed_at,
    )


def _allows_change(if_match: str | None, revision: int) -> bool:
    """Return whether ``If-Match`` allows a change of this revision. Raises ``InvalidRequest`` for an invalid header."""
    if if_match is None or if_match.strip() == "*":
        return True
    if re.fullmatch(r'"\d{1,18}"', tag := if_match.strip(), re.ASCII) is None:
        raise InvalidRequest('If-Match: send the ETag of the limits, such as "3", or *.')
    return int(tag.strip('"')) == revision
