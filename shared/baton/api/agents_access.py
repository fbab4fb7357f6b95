"""Find the agent of a path, for holders of a permission."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from baton.api.services import ApiServices
from baton.domain.errors import UnknownAgent
from baton.domain.identity import Permission, Scope

AgentId = Annotated[str, Path(description="The agent's id.", max_length=64, examples=["knowledge"])]


async def managed_agent(services: ApiServices, scope: Scope, agent_id: str, permission: Permission, action: str) -> str:
    """Return the id of an agent that the caller may see, if the caller holds the permission as well.

    Refusals are audited as ``action``. Raises ``Forbidden`` and ``UnknownAgent``.
    """
    scope.require(permission, action)
    try:
        return (await services.agents.get(scope, agent_id)).id
    except UnknownAgent as error:
        if error.permission is not None:
            detail = {"agentId": agent_id, "permission": error.permission}
            await services.audit.record(scope, action, thread_id=None, outcome="denied", detail=detail)
        raise
