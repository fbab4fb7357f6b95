"""Routes of agents that the caller may use, and of changes of the tenant's own agents."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Request, Response

from baton.api.agents.agent_bodies import (
    AS_YAML,
    TAG,
    ListedAgent,
    OfferedDesk,
    ServedAgentChange,
    check_remark,
    make_etag,
    make_yaml_response,
    read_agent,
    read_expected,
    serve_change,
    wants_yaml,
)
from baton.api.http.dependencies import AgentId, Caller, UseCases, query
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing, ServedAgent
from baton.api.threads.access import audited_denials
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_version import MAX_COMMENT
from baton.domain.tenants.identity import Permission, Scope

router = APIRouter(prefix="/v1/agents", tags=["agents"], responses=responses("store_unavailable"))

Comment = Annotated[str | None, query("The reason, for readers of the versions.", None, max_length=MAX_COMMENT)]
Override = Annotated[
    str | None,
    query("The reason for which it needs no evaluation, if the deployment asks for one.", None, max_length=MAX_COMMENT),
]
WRITE = "agent.write"
READ = "agent.read"
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
            ("If-Match", 'The `ETag` of the agent, which is its version in force (`"3"`).', rf"\*|{TAG.pattern}"),
            ("If-None-Match", "`*` to store the agent only if it does not exist.", r"\*"),
        )
    ],
}


@router.get("", summary="List agents")
async def list_agents(scope: Caller, app: UseCases) -> Listing[ListedAgent]:
    """Return the shipped agents and the tenant's agents that the caller may use, ordered by id."""
    agents = await app.agents.read_current(scope)
    now = app.ports.clock.now()
    items = [
        ListedAgent.model_validate(
            {
                **_to_agent(scope, agent).model_dump(exclude_unset=True),
                "is_default": agents.is_default(agent),
                "desks": [
                    OfferedDesk.from_agent(desk, desk.desk, now)
                    for desk in agents.list_offered_desks(scope, agent)
                    if desk.desk is not None
                ],
            }
        )
        for agent in agents.list_visible(scope)
    ]
    return Listing[ListedAgent](items=items, next_cursor=None)


@router.get("/{agent_id}", summary="Read an agent", responses=AS_YAML | responses("forbidden"))
async def get_agent(
    agent_id: AgentId, scope: Caller, app: UseCases, request: Request, response: Response
) -> ServedAgent:
    """Return one agent. Holders of `agent:write` get its whole definition, and its version as `ETag`.

    With `Accept: application/yaml` they get the definition as a YAML file, which `PUT` accepts.
    """
    as_yaml = wants_yaml(request)
    if as_yaml:
        scope.require(Permission.AGENT_WRITE, READ)
    async with audited_denials(app, scope, agent_id, READ):
        agent = (await app.agents.read_current(scope)).get(scope, agent_id)
        if as_yaml and agent.version is not None:
            _, stored = await app.agent_editing.read_version(scope, agent_id, agent.version)
            return cast("ServedAgent", await make_yaml_response(agent_id, stored.values or {}, agent.version))
    if as_yaml:
        values = agent.model_dump(mode="json", exclude_unset=True)
        return cast("ServedAgent", await make_yaml_response(agent_id, values, None, functions=agent.code.names))
    if agent.version is not None:
        response.headers["ETag"] = make_etag(agent.version)
    return _to_agent(scope, agent)


@router.put(
    "/{agent_id}",
    summary="Make or replace an agent",
    openapi_extra=_SENT,
    responses=_MADE
    | responses(
        "forbidden agent_id_taken agent_limit_reached agent_version_mismatch message_too_large invalid_agent "
        "evaluation_required"
    ),
)
async def put_agent(
    agent_id: AgentId,
    scope: Caller,
    app: UseCases,
    request: Request,
    response: Response,
    dry_run: Annotated[bool, query("Check and compare only; store nothing.", alias="dryRun")] = False,
    comment: Comment = None,
    share: Annotated[
        int | None, query("The percentage of new sessions that use it; left out: all of them.", None, ge=0, le=100)
    ] = None,
    override: Override = None,
) -> ServedAgentChange:
    """Store a definition as a new version of an agent of the tenant. New sessions use it within a minute.

    With `share`, the version is a candidate, which that percentage of new sessions uses until it is promoted or rolled
    back. Needs `agent:write`. The rules are those of agents' files, with some more for tenants' agents: see the page
    about agents. The same definition again makes no version. JSON may contain `version`, which must be the version
    in force, like `If-Match`.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    check_remark("comment", comment)
    check_remark("override", override)
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
                share=share,
                override=override,
            )
    if change.is_stored:
        response.status_code = 201 if change.is_new else 200
    return serve_change(response, change)


@router.delete(
    "/{agent_id}",
    summary="Delete an agent",
    status_code=204,
    responses=responses("forbidden agent_id_taken agent_in_use agent_version_mismatch"),
)
async def delete_agent(agent_id: AgentId, scope: Caller, app: UseCases, request: Request) -> None:
    """Delete an agent of the tenant. Needs `agent:write`. Its versions are kept, and can be put in force again.

    Its sources and documents must be deleted first, and its procedures retired or rejected. Messages to conversations
    that began with it are refused as `unknown_agent`; if it was a specialist, the main agent continues.
    """
    scope.require(Permission.AGENT_WRITE, WRITE)
    async with audited_denials(app, scope, agent_id, WRITE):
        await app.agent_editing.delete(scope, agent_id, expected=read_expected(request, None))


def _to_agent(scope: Scope, agent: AgentDefinition) -> ServedAgent:
    """Return the public fields of an agent, or its whole definition if the caller may change agents."""
    if scope.has(Permission.AGENT_WRITE):
        # In Python's types: JSON mode would write a default of 60 seconds as 60.0.
        added = {"version": agent.version, "functions": agent.code.names or None}
        return ServedAgent.model_validate({**agent.model_dump(by_alias=True), **added})
    return ServedAgent.of(agent)
