"""Agents: the deployment's and the tenant's own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from baton_client.addresses import given, path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import Agent, AgentChange, AgentVersion, Rollout, VersionFigures, WholeAgentVersion

AGENT = "/v1/agents/{agent_id}"
YAML = "application/yaml"


class AsyncAgents(AsyncResource):
    """``client.agents``."""

    def list(self) -> AsyncPager[Agent]:
        """List the agents that the caller may use."""
        return self._list("/v1/agents", Agent)

    async def get(self, agent_id: str) -> Agent:
        """Return an agent."""
        return await self._get(path(AGENT, agent_id=agent_id), Agent)

    async def yaml(self, agent_id: str, *, version: int | None = None) -> str:
        """Return an agent's definition as YAML, as in a file. Needs ``agent:write``."""
        if version is None:
            return await self._get_text(path(AGENT, agent_id=agent_id), headers={"Accept": YAML})
        address = path(AGENT + "/versions/{number}", agent_id=agent_id, number=str(version))
        return await self._get_text(address, headers={"Accept": YAML})

    async def put(
        self,
        agent_id: str,
        definition: str | Mapping[str, Any],
        *,
        comment: str | None = None,
        dry_run: bool = False,
        version: int | None = None,
        share: int | None = None,
        override: str | None = None,
    ) -> AgentChange:
        """Store an agent, given as YAML text or with the fields of the HTTP API.

        ``version`` is the edited version, 0 for a new agent: if another one is stored by now, ``ConflictError`` is
        raised. With ``dry_run`` nothing is stored, and the answer has the changes. ``share`` is the percentage of new
        sessions that use the version; by default all of them do. ``override`` is the reason for which it needs no
        evaluation.
        """
        headers: dict[str, str] = {}
        if version is not None:
            headers = {"If-None-Match": "*"} if version == 0 else {"If-Match": f'"{version}"'}
        params = {"dryRun": "true" if dry_run else None, "comment": comment, "share": share, "override": override}
        address = path(AGENT, agent_id=agent_id)
        if isinstance(definition, str):
            headers = headers | {"Content-Type": YAML}
            return await self._send(
                "PUT", address, AgentChange, content=definition.encode(), headers=headers, params=params
            )
        return await self._send("PUT", address, AgentChange, json=dict(definition), headers=headers, params=params)

    async def delete(self, agent_id: str) -> None:
        """Delete one of the tenant's own agents."""
        await self._delete(path(AGENT, agent_id=agent_id), None)

    def versions(self, agent_id: str, *, limit: int | None = None) -> AsyncPager[AgentVersion]:
        """List versions, the newest first."""
        return self._list(path(AGENT + "/versions", agent_id=agent_id), AgentVersion, limit=limit)

    async def version(self, agent_id: str, number: int) -> WholeAgentVersion:
        """Return one version with its definition."""
        address = path(AGENT + "/versions/{number}", agent_id=agent_id, number=str(number))
        return await self._get(address, WholeAgentVersion)

    async def share(self, agent_id: str, version: int, share: int, *, override: str | None = None) -> Rollout:
        """Set the percentage of new sessions that use the candidate."""
        body = {"version": version, "share": share} | given(override=override)
        return await self._send("PUT", path(AGENT + "/share", agent_id=agent_id), Rollout, json=body)

    async def promote(self, agent_id: str, version: int, *, override: str | None = None) -> Rollout:
        """Put the candidate in force for all new sessions."""
        body = {"version": version} | given(override=override)
        return await self._post(path(AGENT + "/promote", agent_id=agent_id), Rollout, body)

    async def withdraw(self, agent_id: str) -> Rollout:
        """End the candidate, and withdraw it from running sessions."""
        return await self._delete(path(AGENT + "/candidate", agent_id=agent_id), Rollout)

    def figures(self, agent_id: str, *, since: datetime | None = None) -> AsyncPager[VersionFigures]:
        """List turns, failures, tokens, cost and ratings by version. Pages cover different turns: add them up."""
        period = {"from": since.isoformat() if since else None}
        return self._list(path(AGENT + "/figures", agent_id=agent_id), VersionFigures, **period)

    async def roll_back(
        self, agent_id: str, version: int, *, comment: str | None = None, override: str | None = None
    ) -> AgentChange:
        """Put an older version in force again. Running sessions leave the versions after it.

        ``override`` is the reason for which a version that was never in force needs no evaluation.
        """
        body = {"version": version} | given(comment=comment, override=override)
        return await self._post(path(AGENT + "/rollback", agent_id=agent_id), AgentChange, body, is_repeatable=False)
