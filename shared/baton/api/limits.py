"""The limits of the caller's tenant."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Header, Response
from pydantic import Field
from pydantic.alias_generators import to_camel

from baton.api.dependencies import Caller, UseCases
from baton.api.problems import responses
from baton.api.schemas import Asked
from baton.composition.app import App
from baton.domain.errors import Forbidden, InvalidRequest, LimitsChanged, StoreUnavailable
from baton.domain.identity import Permission
from baton.domain.served import TIMESTAMP, Served, Timestamp
from baton.domain.tenant_limits import LIMITS, MAX_AT_ONCE, MAX_LIMIT, TenantLimits

router = APIRouter(prefix="/v1/tenant/limits", tags=["limits"])

Amount = Annotated[int | None, Field(ge=0, le=MAX_LIMIT)]
AtOnce = Annotated[int | None, Field(ge=0, le=MAX_AT_ONCE)]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", description='The `ETag` of the limits that the caller has read (`"2"`), or `*`.'),
]


class LimitsRequest(Asked):
    """The tenant's limits; null, or left out: the deployment's."""

    agents: Amount = Field(default=None, description="Agents that the tenant has made.", examples=[20])
    documents_per_agent: Amount = Field(default=None, description="Documents of one agent.", examples=[500])
    captures_per_day: Amount = Field(
        default=None, description="Procedures captured in a day of UTC, of all agents together.", examples=[100]
    )
    thread_tokens: Amount = Field(
        default=None, description="Tokens of one conversation, of all its models.", examples=[500_000]
    )
    runs_at_once: AtOnce = Field(default=None, description="Runs in progress at the same time.", examples=[50])
    user_runs_at_once: AtOnce = Field(default=None, description="The same of one user.", examples=[3])
    messages_per_minute: Amount = Field(default=None, description="Messages in a minute of the clock.", examples=[300])
    user_messages_per_minute: Amount = Field(default=None, description="The same of one user.", examples=[20])
    tokens_per_day: Amount = Field(
        default=None, description="Tokens in a day of UTC, of all conversations and models.", examples=[20_000_000]
    )
    user_tokens_per_day: Amount = Field(default=None, description="The same of one user.", examples=[1_000_000])
    connections: AtOnce = Field(default=None, description="Open WebSocket connections.", examples=[400])
    user_connections: AtOnce = Field(default=None, description="The same of one user.", examples=[10])
    follow_streams: AtOnce = Field(
        default=None,
        description="Open streams of `GET /v1/threads/{id}/events` and of subscriptions to A2A tasks.",
        examples=[100],
    )
    user_follow_streams: AtOnce = Field(default=None, description="The same of one user.", examples=[5])


class Limits(Served):
    """A limit of each kind; null: none."""

    agents: int | None = Field(examples=[20])
    documents_per_agent: int | None = Field(examples=[500])
    captures_per_day: int | None = Field(examples=[None])
    thread_tokens: int | None = Field(examples=[500_000])
    runs_at_once: int | None = Field(examples=[50])
    user_runs_at_once: int | None = Field(examples=[3])
    messages_per_minute: int | None = Field(examples=[300])
    user_messages_per_minute: int | None = Field(examples=[20])
    tokens_per_day: int | None = Field(examples=[20_000_000])
    user_tokens_per_day: int | None = Field(examples=[1_000_000])
    connections: int | None = Field(examples=[400])
    user_connections: int | None = Field(examples=[10])
    follow_streams: int | None = Field(examples=[100])
    user_follow_streams: int | None = Field(examples=[5])


class CurrentLimits(Served):
    """The limits that hold for the tenant."""

    limits: Limits = Field(description="The tenant's choice; null: the deployment's.")
    deployment: Limits = Field(description="The deployment's maximum; null: anything.")
    effective: Limits = Field(description="The limits that hold: the lower of both.")
    changed_by: str | None = Field(examples=["alice"])
    changed_at: Timestamp | None = Field(examples=[TIMESTAMP])


@router.get("", summary="Read the tenant's limits", responses=responses(Forbidden, StoreUnavailable))
async def get_limits(caller: Caller, app: UseCases, response: Response) -> CurrentLimits:
    """Return the limits of the tenant and of the deployment. Needs `tenant:manage`."""
    caller.require(Permission.TENANT_MANAGE, "limits.read")
    return _to_response(app, await app.ports.tenant_limits.get(caller), response)


@router.put("", summary="Set the tenant's limits", responses=responses(Forbidden, LimitsChanged, StoreUnavailable))
async def put_limits(
    asked: LimitsRequest, caller: Caller, app: UseCases, response: Response, if_match: IfMatch = None
) -> CurrentLimits:
    """Set all limits of the tenant: they hold within a minute. Needs `tenant:manage`.

    None may be above the deployment's. What exceeds a new limit already is kept, but nothing is added to it. With
    `If-Match` the limits are set only if nobody has changed them since. Repeated: the same answer.
    """
    caller.require(Permission.TENANT_MANAGE, "limits.change")
    stored = await app.ports.tenant_limits.get(caller)
    wanted = replace(stored, **asked.model_dump())
    above = wanted.excess(app.current_limits.deployment)
    if above is not None:
        most = getattr(app.current_limits.deployment, above)
        raise InvalidRequest(f"{to_camel(above)}: this deployment allows at most {most}.")
    if wanted == stored and stored.changed_by == caller.user_id:
        return _to_response(app, stored, response)
    if not _matches(if_match, stored.revision):
        raise LimitsChanged
    changed = replace(wanted, revision=stored.revision + 1, changed_by=caller.user_id, changed_at=app.ports.clock.now())
    if not await app.ports.tenant_limits.put(caller, changed):
        raise LimitsChanged
    app.current_limits.forget(caller)
    detail = {to_camel(name): getattr(changed, name) for name in LIMITS}
    await app.ports.audit.record(caller, "limits.change", thread_id=None, outcome="changed", detail=detail)
    return _to_response(app, changed, response)


def _to_response(app: App, limits: TenantLimits, response: Response) -> CurrentLimits:
    deployment = app.current_limits.deployment
    response.headers["ETag"] = f'"{limits.revision}"'
    return CurrentLimits(
        limits=Limits.of(limits),
        deployment=Limits.of(deployment),
        effective=Limits.of(limits.within(deployment)),
        changed_by=limits.changed_by or None,
        changed_at=limits.changed_at,
    )


def _matches(if_match: str | None, revision: int) -> bool:
    """Return True if the caller has read this revision. Raises ``InvalidRequest`` for anything but such an ETag."""
    if if_match is None or if_match.strip() == "*":
        return True
    if re.fullmatch(r'"\d{1,18}"', given := if_match.strip(), re.ASCII) is None:
        raise InvalidRequest('If-Match: send the ETag of the limits, such as "3", or *.')
    return int(given.strip('"')) == revision
