"""Agents that the caller may talk to."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from baton.api.authentication import Caller
from baton.api.problems import responses
from baton.api.schemas import Agent, Listing
from baton.api.services import ApiServices, Services
from baton.domain.agent import AgentDefinition
from baton.domain.errors import InvalidRequest, TokenExpired, Unauthorized, UnknownAgent
from baton.domain.identity import Permission, Scope

router = APIRouter(prefix="/agents", tags=["agents"])


@router.get("", summary="List agents", responses=responses(Unauthorized, TokenExpired))
async def list_agents(scope: Caller, services: Services) -> Listing[Agent]:
    """Return the agents that the caller has the permissions for, ordered by id."""
    shown = [_shown(scope, agent) for agent in (await services.agents.of(scope)).visible(scope)]
    return Listing[Agent](items=shown, next_cursor=None)


@router.get(
    "/{agent_id}",
    summary="Read an agent",
    responses=responses(Unauthorized, TokenExpired, UnknownAgent, InvalidRequest),
)
async def get_agent(
    agent_id: Annotated[str, Path(description="The agent's id.", max_length=64, examples=["assistant"])],
    scope: Caller,
    services: Services,
) -> Agent:
    """Return one agent. Holders of `agent:write` get its whole definition."""
    return _shown(scope, await agent_of(scope, services, agent_id, action="agent.read"))


async def agent_of(scope: Scope, services: ApiServices, agent_id: str, *, action: str) -> AgentDefinition:
    """Return an agent that the caller may talk to. A denial is audited as one of ``action``.

    Raises ``UnknownAgent``.
    """
    try:
        return await services.agents.get(scope, agent_id)
    except UnknownAgent as error:
        if error.permission is not None:
            detail = {"agentId": agent_id, "permission": error.permission}
            await services.audit.record(scope, action, thread_id=None, outcome="denied", detail=detail)
        raise


def _shown(scope: Scope, agent: AgentDefinition) -> Agent:
    """Return what everybody may know, or everything: prompts and settings are for users who may change them."""
    if scope.has(Permission.AGENT_WRITE):
        # In Python's types: JSON mode would write a default of 60 seconds as 60.0.
        return Agent.model_validate(agent.model_dump(by_alias=True))
    return Agent.of(agent)
