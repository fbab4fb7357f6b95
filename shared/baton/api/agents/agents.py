"""Agents that the caller may talk to, and changes of those that the tenant has made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from fastapi import APIRouter, Path, Request, Response

from baton.api.agents.agent_bodies import (
    TAG,
    ListedAgent,
    OfferedDesk,
    RollbackRequest,
    ServedAgentChange,
    ServedAgentVersion,
    WholeAgentVersion,
    make_etag,
    read_agent,
    read_expected,
    wants_yaml,
)
from baton.api.http.dependencies import AgentId, Caller, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing, ServedAgent
from baton.api.threads.access import audited_denials
from baton.concurrency.tasks import LARGE, off_loop
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import check_agent
from baton.domain.agents.agent_version import MAX_COMMENT, AgentVersion, agent_yaml
from baton.domain.cursors import decode_text, encode_text
from baton.domain.tenants.identity import Permission, Scope, is_printable
from baton.tenants.registry.agent_editing import AgentChange
from baton.tenants.registry.tenant_agents import wire

router = APIRouter(prefix="/v1/agents", tags=["agents"], responses=responses("store_unavailable"))

Comment = Annotated[str | None, query("The reason, for readers of the versions.", None, max_length=MAX_COMMENT)]
Number = Annotated[int, Path(description="The version.", ge=1, le=999_999_999, examples=[1])]
WRITE = "agent.write"
READ = "agent.read"
READ_VERSIONS = "agent.versions"
YAML = "application/yaml"
_AS_YAML: dict[int | str, dict[str, Any]] = {
    200: {"content": {YAML: {"schema": {"type": "string"}, "example": "id: tutor\nname: Tutor\n"}}}
}
_MADE: dict[int | str, dict[str, Any]] = {201: {"description": "The agent is new.", "model": ServedAgentChange}}
_SENT: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The definition: JSON as `GET` serves it to holders of `agent:write`, or YAML as in an agent's"
        " file.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "example": {
                    "name": "Tutor",
                    "description": "Helps with homework.",
                    "main": True,
                    "systemPrompt": "You help the user to find the answer.",
                },
            },
            "application/yaml": {
                "schema": {"type": "string"},
                "example": "name: Tutor\ndescription: Helps with homework.\nmain: true\nsystem_prompt: You help.\n",
            },
        },
    },
    "parameters": [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": described,
            "schema": {"type": "string", "pattern": rf"^\s*({pattern})\s*$"},
        }
        for name, described, pattern in (
            ("If-Match", 'The version that is to be replaced, as `ETag` tells it (`"3"`).', rf"\*|{TAG.pattern}"),
            ("If-None-Match", "`*`: only if there is no such agent.", r"\*"),
        )
    ],
}


@router.get("", summary="List agents")
async def list_agents(scope: Caller, app: UseCases) -> Listing[ListedAgent]:
    """Return the agents that the caller has the permissions for, ordered by id: those that ship and the tenant's."""
    agents = await app.agents.current(scope)
    now = app.ports.clock.now()
    items = [
        ListedAgent.model_validate(
            {
                **_to_agent(scope, agent).model_dump(exclude_unset=True),
                "is_default": agents.is_default(agent),
                "desks": [
                    OfferedDesk.from_agent(desk, desk.desk, now)
                    for desk in agents.offered_desks(scope, agent)
                    if desk.desk is not None
                ],
            }
        )
        for agent in agents.visible(scope)
    ]
    return Listing[ListedAgent](items=items, next_cursor=None)


@router.get("/{agent_id}", summary="Read an agent", responses=_AS_YAML | responses("forbidden"))
async def get_agent(
    agent_id: AgentId, scope: Caller, app: UseCases, request: Request, response: Response
) -> ServedAgent:
    """Return one agent. Holders of `agent:write` get its whole definition, and its version as `ETag`.

    For `Accept: application/yaml` they get it as its file would have it, which `PUT` takes back.
    """
    as_yaml = wants_yaml(request)
    if as_yaml:
        scope.require(Permission.AGENT_WRITE, READ)
    async with audited_denials(app, scope, agent_id, READ):
        agent = (await app.agents.current(scope)).get(scope, agent_id)
        if as_yaml and agent.version is not None:
            stored = await app.agent_editing.version(scope, agent_id, agent.version)
            return cast("ServedAgent", await _make_yaml_response(agent_id, stored.values or {}, agent.version))
    if as_yaml:
        values = agent.model_dump(mode="json", exclude_unset=True)
        return cast("ServedAgent", await _make_yaml_response(agent_id, values, None, functions=agent.code.names))
    if agent.version is not None:
        response.headers["ETag"] = make_etag(agent.version)
    return _to_agent(scope, agent)


@router.put(
    "/{agent_id}",
    summary="Make or replace an agent",
    openapi_extra=_SENT,
    responses=_MADE
    | responses("forbidden agent_id_taken agent_limit_reached agent_version_mismatch message_too_large invalid_agent"),
)
async def put_agent(
    agent_id: AgentId,
    scope: Caller,
    app: UseCases,
    request: Request,
    response: Response,
    dry_run: Annotated[bool, query("Check and compare only; store nothing.", alias="dryRun")] = False,
    comment: Comment = None,
) -> ServedAgentChange:
    """Store a definition as the newest version of an agent of the tenant. Turns use it within a minute.

    Needs `agent:write`. The rules are those of agents' files, and a tenant's agents have some more: see the page about
    agents. A definition that is the newest already makes no version. JSON may hold `version`, which then must be the
    newest one, like `If-Match`.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    _check_comment(comment)
    sent = await read_agent(request)
    async with audited_denials(app, scope, agent_id, WRITE):
        with sent.locating():
            change = await app.agent_editing.put(
                scope,
                agent_id,
                sent.values,
                as_served=sent.as_served,
                expected=read_expected(request, sent.version),
                comment=comment,
                is_dry=dry_run,
            )
    if change.is_stored:
        response.status_code = 201 if change.is_new else 200
    return _to_change(response, change)


@router.delete(
    "/{agent_id}",
    summary="Delete an agent",
    status_code=204,
    responses=responses("forbidden agent_id_taken agent_in_use agent_version_mismatch"),
)
async def delete_agent(agent_id: AgentId, scope: Caller, app: UseCases, request: Request) -> None:
    """Delete an agent of the tenant. Needs `agent:write`. Its versions are kept, so that it can be rolled back to one.

    Its sources and documents have to be deleted first, and its procedures retired or rejected.
    Conversations that began with it are refused as `unknown_agent`; if it was a specialist, the main agent continues.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    async with audited_denials(app, scope, agent_id, WRITE):
        await app.agent_editing.delete(scope, agent_id, expected=read_expected(request, None))


@router.get("/{agent_id}/versions", summary="List an agent's versions", responses=responses("forbidden"))
async def list_versions(
    agent_id: AgentId,
    scope: Caller,
    app: UseCases,
    limit: Annotated[int, query("Versions per page.", ge=1, le=100)] = 20,
    cursor: Annotated[str | None, query("`nextCursor` of the previous page.", max_length=64)] = None,
) -> Listing[ServedAgentVersion]:
    """Return the versions of an agent of the tenant, the newest first, without definitions. Needs `agent:write`."""
    scope.require(Permission.AGENT_WRITE, READ_VERSIONS)
    start = decode_text(cursor) if cursor is not None else None
    if start is not None and (not start.isdecimal() or not start.isascii() or len(start) > 9):
        raise errors.InvalidRequest("cursor: use the one that the list has returned.")
    before = int(start) if start is not None else None
    async with audited_denials(app, scope, agent_id, READ_VERSIONS):
        versions, following = await app.agent_editing.versions(scope, agent_id, limit=limit, before=before)
    agent_versions = [ServedAgentVersion.of(version, is_deletion=version.values is None) for version in versions]
    return Listing[ServedAgentVersion](
        items=agent_versions, next_cursor=encode_text(str(following)) if following else None
    )


@router.get(
    "/{agent_id}/versions/{number}",
    summary="Read a version of an agent",
    responses=_AS_YAML | responses("forbidden unknown_agent_version"),
)
async def get_version(
    agent_id: AgentId, number: Number, scope: Caller, app: UseCases, request: Request
) -> WholeAgentVersion:
    """Return one version with its definition. Needs `agent:write`, and the permissions that the version requires.

    `Accept: application/yaml` gets the definition alone, as YAML.
    """
    scope.require(Permission.AGENT_WRITE, READ_VERSIONS)
    async with audited_denials(app, scope, agent_id, READ_VERSIONS):
        version = await app.agent_editing.version(scope, agent_id, number)
    if wants_yaml(request) and version.values is not None:
        return cast("WholeAgentVersion", await _make_yaml_response(agent_id, version.values, number))
    return WholeAgentVersion.of(version, is_deletion=version.values is None, agent=_read_definition(version))


@router.post(
    "/{agent_id}/rollback",
    summary="Roll an agent back",
    responses=responses(
        "forbidden unknown_agent_version agent_id_taken agent_limit_reached agent_version_mismatch invalid_agent"
    ),
)
async def roll_back(
    agent_id: AgentId, body: RollbackRequest, scope: Caller, app: UseCases, request: Request, response: Response
) -> ServedAgentChange:
    """Make an older version the newest again, of a deleted agent too. Needs `agent:write`. Today's rules apply."""
    scope.require(Permission.AGENT_WRITE, WRITE)
    _check_comment(body.comment)
    async with audited_denials(app, scope, agent_id, WRITE):
        change = await app.agent_editing.restore(
            scope, agent_id, body.version, expected=read_expected(request, None), comment=body.comment
        )
    return _to_change(response, change)


def _to_agent(scope: Scope, agent: AgentDefinition) -> ServedAgent:
    """Return what everybody may know, or everything: prompts and settings are for users who may change them."""
    if scope.has(Permission.AGENT_WRITE):
        # In Python's types: JSON mode would write a default of 60 seconds as 60.0.
        added = {"version": agent.version, "functions": agent.code.names or None}
        return ServedAgent.model_validate({**agent.model_dump(by_alias=True), **added})
    return ServedAgent.of(agent)


def _to_change(response: Response, change: AgentChange) -> ServedAgentChange:
    response.headers["ETag"] = make_etag(change.version)
    agent = ServedAgent.model_validate({**change.agent.model_dump(by_alias=True), "version": change.version})
    return ServedAgentChange.of(change, agent=agent)


async def _make_yaml_response(
    agent_id: str, values: Mapping[str, Any], version: int | None, *, functions: Sequence[str] = ()
) -> Response:
    """Return a definition as its file. Its ``functions`` in Python stand in a comment: a copy would lack them."""
    text = await off_loop(LARGE, agent_yaml, agent_id, values)
    if functions:
        text = f"# In Python: {', '.join(functions)}. A copy of this definition has none of these functions.\n{text}"
    headers = {"ETag": make_etag(version)} if version is not None else {}
    return Response(text, media_type=YAML, headers=headers)


def _read_definition(version: AgentVersion) -> dict[str, Any] | None:
    if version.values is None:
        return None
    definition, _ = check_agent(version.values)
    return wire(definition) if definition is not None else dict(version.values)


def _check_comment(comment: str | None) -> None:
    if comment is not None and not is_printable(comment, MAX_COMMENT):
        raise errors.InvalidRequest("comment must be one line of printable text.")
