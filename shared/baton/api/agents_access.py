"""Find the agent of a path, for holders of a permission."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from baton.composition.app import App
from baton.domain.errors import UnknownAgent
from baton.domain.identity import Permission, Scope

AgentId = Annotated[str, Path(description="The agent's id.", max_length=64, examples=["knowledge"])]


async def managed_agent(app: App, scope: Scope, agent_id: str, permission: Permission, action: str) -> str:
    """Return the id of an agent that the caller may see, if the caller holds the permission as well.

    Refusals are audited as ``action``. Raises ``Forbidden`` and ``UnknownAgent``.
    """
    scope.require(permission, action)
    try:
        return (await app.agents.get(scope, agent_id)).id
    except UnknownAgent as error:
        await audit_unknown(app, scope, agent_id, error, action)
        raise


async def audit_unknown(app: App, scope: Scope, agent_id: str, error: UnknownAgent, action: str) -> None:
    """Audit that there is no such agent for the caller: a permission is missing, or nobody has such an agent."""
    detail = {"agentId": agent_id} | ({"permission": error.permission} if error.permission is not None else {})
    await app.ports.audit.record(scope, action, thread_id=None, outcome=error.audited_as, detail=detail)
