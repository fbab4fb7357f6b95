"""Routes of a tenant's agent's versions: lists, figures, the share of new sessions, promotion and rollback."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, cast

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field

from baton.api.agents.agent_bodies import (
    AS_YAML,
    ServedAgentChange,
    check_remark,
    make_yaml_response,
    read_expected,
    serve_change,
    wants_yaml,
)
from baton.api.agents.version_schemas import (
    PromotionRequest,
    RollbackRequest,
    ServedAgentVersion,
    ServedRollout,
    ShareRequest,
    WholeAgentVersion,
)
from baton.api.http.dependencies import AgentId, Caller, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing, describe
from baton.api.tenants.overview import DEFAULT_DAYS, EPOCH, MAX_CURSOR, TurnCounts
from baton.api.threads.access import audited_denials
from baton.domain import errors
from baton.domain.agents.agent_checks import check_agent
from baton.domain.agents.agent_version import AgentVersion
from baton.domain.cursors import decode_text, encode_text
from baton.domain.tenants.identity import Permission
from baton.domain.wire_model import RequestTime
from baton.tenants.registry.tenant_agents import to_wire
from baton.threads.sessions.overviews import OverviewPosition, Period

router = APIRouter(prefix="/v1/agents", tags=["agents"], responses=responses("store_unavailable"))

Number = Annotated[int, Path(description="The version.", ge=1, le=999_999_999, examples=[1])]
WRITE = "agent.write"
READ_VERSIONS = "agent.versions"


class ServedVersionFigures(TurnCounts):
    """Counts of the turns in which a version of an agent answered last."""

    version: int = Field(examples=[5])
    ups: int = describe("Answers that users rated up.", 3)
    downs: int = describe("Answers that users rated down.", 1)


@router.get("/{agent_id}/versions", summary="List an agent's versions", responses=responses("forbidden"))
async def list_versions(
    agent_id: AgentId,
    scope: Caller,
    app: UseCases,
    limit: Annotated[int, query("Versions per page.", ge=1, le=100)] = 20,
    cursor: Annotated[str | None, query("`nextCursor` of the previous page.", max_length=64)] = None,
) -> Listing[ServedAgentVersion]:
    """Return the versions of an agent of the tenant, the newest first, without definitions. Needs `agent:write`.

    Each version has its state and its last evaluation.
    """
    scope.require(Permission.AGENT_WRITE, READ_VERSIONS)
    start = decode_text(cursor) if cursor is not None else None
    if start is not None and (not start.isdecimal() or not start.isascii() or len(start) > 9):
        raise errors.InvalidRequest("cursor: use the one that the list has returned.")
    before = int(start) if start is not None else None
    async with audited_denials(app, scope, agent_id, READ_VERSIONS):
        entry, versions, following = await app.agent_editing.list_versions(scope, agent_id, limit=limit, before=before)
    evaluations = await app.agent_editing.gate.read_latest(scope, agent_id)
    agent_versions = [
        ServedAgentVersion.from_record(version, entry, evaluations.get(version.number)) for version in versions
    ]
    return Listing[ServedAgentVersion](
        items=agent_versions, next_cursor=encode_text(str(following)) if following else None
    )


@router.get(
    "/{agent_id}/versions/{number}",
    summary="Read a version of an agent",
    responses=AS_YAML | responses("forbidden unknown_agent_version"),
)
async def get_version(
    agent_id: AgentId, number: Number, scope: Caller, app: UseCases, request: Request
) -> WholeAgentVersion:
    """Return one version with its definition. Needs `agent:write`, and the permissions that the version requires.

    With `Accept: application/yaml`, only the definition is returned, as YAML.
    """
    scope.require(Permission.AGENT_WRITE, READ_VERSIONS)
    async with audited_denials(app, scope, agent_id, READ_VERSIONS):
        entry, version = await app.agent_editing.read_version(scope, agent_id, number)
    if wants_yaml(request) and version.values is not None:
        return cast("WholeAgentVersion", await make_yaml_response(agent_id, version.values, number))
    evaluation = (await app.agent_editing.gate.read_latest(scope, agent_id)).get(number)
    return WholeAgentVersion.from_record(version, entry, evaluation, agent=_read_definition(version))


@router.get("/{agent_id}/figures", summary="Figures of an agent's versions", responses=responses("forbidden"))
async def get_figures(
    agent_id: AgentId,
    scope: Caller,
    app: UseCases,
    since: Annotated[
        RequestTime | None, query("Turns that began at this time or later; default: 7 days ago.", alias="from")
    ] = None,
    cursor: Annotated[
        str | None, query("`nextCursor` of the previous page, whose time it keeps.", max_length=MAX_CURSOR)
    ] = None,
) -> Listing[ServedVersionFigures]:
    """Return turns, failures, tokens, cost and ratings by version, of one page of conversations. Add up the pages.

    A turn counts for the version of the agent that answered last; without an answer, for the versions of all its
    agents. Needs `agent:write`. The answer has sums, and no content.
    """
    scope.require(Permission.AGENT_WRITE, READ_VERSIONS)
    async with audited_denials(app, scope, agent_id, READ_VERSIONS):
        await app.agent_editing.list_versions(scope, agent_id, limit=1, before=None)
    if cursor is not None:
        position = OverviewPosition.decode(cursor)
    else:
        now = app.ports.clock.now()
        start = max(EPOCH, since if since is not None else now - timedelta(days=DEFAULT_DAYS))
        if start > now:
            raise errors.InvalidRequest("from must not be in the future.")
        position = OverviewPosition(Period(start, now))
    figures, following = await app.sessions.version_figures.read_page(scope, agent_id, position)
    items = [ServedVersionFigures.from_record(counts, version=number) for number, counts in sorted(figures.items())]
    return Listing[ServedVersionFigures](
        items=items[::-1], next_cursor=following.encode() if following is not None else None
    )


@router.post(
    "/{agent_id}/rollback",
    summary="Roll an agent back",
    responses=responses(
        "forbidden unknown_agent_version agent_id_taken agent_limit_reached agent_version_mismatch invalid_agent"
        " evaluation_required"
    ),
)
async def roll_back(
    agent_id: AgentId, body: RollbackRequest, scope: Caller, app: UseCases, request: Request, response: Response
) -> ServedAgentChange:
    """Put an older version in force again, even of a deleted agent. Needs `agent:write`. Today's rules apply.

    The versions after it are withdrawn, and running sessions stop using them with their next turn.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    check_remark("comment", body.comment)
    check_remark("override", body.override)
    async with audited_denials(app, scope, agent_id, WRITE):
        change = await app.agent_editing.restore(
            scope,
            agent_id,
            body.version,
            expected=read_expected(request, None),
            comment=body.comment,
            override=body.override,
        )
    return serve_change(response, change)


@router.put(
    "/{agent_id}/share",
    summary="Set a candidate's share",
    responses=responses("forbidden agent_id_taken agent_version_mismatch evaluation_required"),
)
async def set_share(agent_id: AgentId, body: ShareRequest, scope: Caller, app: UseCases) -> ServedRollout:
    """Set the percentage of new sessions that use the candidate. Running sessions keep their versions.

    Needs `agent:write`, and is audited.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    check_remark("override", body.override)
    async with audited_denials(app, scope, agent_id, WRITE):
        rollout = await app.agent_rollouts.share(scope, agent_id, body.version, body.share, override=body.override)
    return ServedRollout.from_record(rollout)


@router.post(
    "/{agent_id}/promote",
    summary="Promote a candidate",
    responses=responses("forbidden agent_id_taken agent_version_mismatch evaluation_required invalid_agent"),
)
async def promote(agent_id: AgentId, body: PromotionRequest, scope: Caller, app: UseCases) -> ServedRollout:
    """Put the candidate in force, so that all new sessions use it. Running sessions keep their versions.

    Needs `agent:write`, and is audited. A repeated request changes nothing.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    check_remark("override", body.override)
    async with audited_denials(app, scope, agent_id, WRITE):
        rollout = await app.agent_rollouts.promote(scope, agent_id, body.version, override=body.override)
    return ServedRollout.from_record(rollout)


@router.delete("/{agent_id}/candidate", summary="Withdraw a candidate", responses=responses("forbidden agent_id_taken"))
async def withdraw(agent_id: AgentId, scope: Caller, app: UseCases) -> ServedRollout:
    """Withdraw the candidate. With their next turn, running sessions change to the version in force.

    Needs `agent:write`, and is audited. A repeated request changes nothing.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    async with audited_denials(app, scope, agent_id, WRITE):
        return ServedRollout.from_record(await app.agent_rollouts.withdraw(scope, agent_id))


def _read_definition(version: AgentVersion) -> dict[str, Any] | None:
    if version.values is None:
        return None
    definition, _ = check_agent(version.values)
    return to_wire(definition) if definition is not None else dict(version.values)
