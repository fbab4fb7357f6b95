"""Agents that the caller may talk to."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from baton.api.authentication import Caller
from baton.api.problems import responses
from baton.api.schemas import Agent, Listing
from baton.api.services import Services
from baton.domain.agent import AgentDefinition
from baton.domain.errors import InvalidRequest, TokenExpired, Unauthorized, UnknownAgent
from baton.domain.identity import Permission, Scope

PUBLIC = ("id", "name", "description", "avatarUrl", "main")
"""The fields of an agent for everybody. Prompts and settings are for users who may change them."""

router = APIRouter(prefix="/agents", tags=["agents"])


@router.get("", summary="List agents", response_model=Listing[Agent], responses=responses(Unauthorized, TokenExpired))
async def list_agents(scope: Caller, services: Services) -> dict[str, Any]:
    """Return the agents that the caller has the permissions for, ordered by id."""
    return {"items": [_shown(scope, agent) for agent in services.agents.visible(scope)], "nextCursor": None}


@router.get(
    "/{agent_id}",
    summary="Read an agent",
    response_model=Agent,
    responses=responses(Unauthorized, TokenExpired, UnknownAgent, InvalidRequest),
)
async def get_agent(
    agent_id: Annotated[str, Path(description="The agent's id.", max_length=64, examples=["assistant"])],
    scope: Caller,
    services: Services,
) -> dict[str, Any]:
    """Return one agent. Holders of `agent:write` get its whole definition."""
    try:
        agent = services.agents.get(scope, agent_id)
    except UnknownAgent as error:
        if error.permission is not None:
            detail = {"agentId": agent_id, "permission": error.permission}
            await services.audit.record(scope, "agent.read", thread_id=None, outcome="denied", detail=detail)
        raise
    return _shown(scope, agent)


def _shown(scope: Scope, agent: AgentDefinition) -> dict[str, Any]:
    whole = agent.as_json()
    return whole if scope.has(Permission.AGENT_WRITE) else {name: whole[name] for name in PUBLIC}
