"""Procedures that agents have learned: captured, reviewed, used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_client.addresses import given, path
from baton_client.asynchronous.pages import AsyncPager
from baton_client.asynchronous.resource import AsyncResource
from baton_client.models import Procedure, ProcedureMatches, ProcedureSourceTurns, ProcedureWithVersions

PROCEDURES = "/v1/agents/{agent_id}/procedures"
PROCEDURE = PROCEDURES + "/{procedure_id}"
MARKDOWN = {"Content-Type": "text/markdown"}

Draft = str | Mapping[str, Any]
"""A procedure as a SKILL.md text, or with the fields of the HTTP API."""


class AsyncProcedures(AsyncResource):
    """``client.procedures``."""

    def list(
        self, agent_id: str | None = None, *, status: str | None = None, limit: int | None = None
    ) -> AsyncPager[Procedure]:
        """List procedures of one agent, or of all agents that the caller may review.

        ``status="offered"``, without an agent, lists the private skills that users ask to share.
        """
        address = path(PROCEDURES, agent_id=agent_id) if agent_id is not None else "/v1/procedures"
        return self._list(address, Procedure, status=status, limit=limit)

    def skills(self, *, scope: str | None = None, limit: int | None = None) -> AsyncPager[Procedure]:
        """List the approved procedures of all agents that the caller may talk to, and the caller's private skills."""
        return self._list("/v1/skills", Procedure, scope=scope, limit=limit)

    async def create(self, agent_id: str, draft: Draft) -> Procedure:
        """Save a procedure as pending. It is used once it is approved."""
        return await self._save("POST", path(PROCEDURES, agent_id=agent_id), draft, None)

    async def get(
        self, agent_id: str, procedure_id: str, *, version: int | None = None, user_id: str | None = None
    ) -> ProcedureWithVersions:
        """Return a procedure, by default in its newest version.

        ``user_id`` is the maker of a private skill that is offered.
        """
        address = path(PROCEDURE, agent_id=agent_id, procedure_id=procedure_id)
        return await self._get(address, ProcedureWithVersions, version=version, userId=user_id)

    async def markdown(self, agent_id: str, procedure_id: str, *, version: int | None = None) -> str:
        """Return a procedure as SKILL.md."""
        address = path(PROCEDURE + "/SKILL.md", agent_id=agent_id, procedure_id=procedure_id)
        return await self._get_text(address, version=version)

    async def source(self, agent_id: str, procedure_id: str, *, version: int | None = None) -> ProcedureSourceTurns:
        """Return the turns that a procedure was captured from."""
        address = path(PROCEDURE + "/source", agent_id=agent_id, procedure_id=procedure_id)
        return await self._get(address, ProcedureSourceTurns, version=version)

    async def match(self, agent_id: str, query: str, *, limit: int | None = None) -> ProcedureMatches:
        """Return the procedures that would be used for a message."""
        body = {"query": query} | given(limit=limit)
        return await self._post(path(PROCEDURES + "/match", agent_id=agent_id), ProcedureMatches, body)

    async def change(self, agent_id: str, procedure_id: str, draft: Draft, *, version: int) -> Procedure:
        """Save the next version. ``version`` is the edited one; raises ``ConflictError`` if there is a newer one."""
        address = path(PROCEDURE, agent_id=agent_id, procedure_id=procedure_id)
        return await self._save("PUT", address, draft, version)

    async def approve(self, agent_id: str, procedure_id: str, *, version: int) -> Procedure:
        """Approve a version for use. ``version`` is the one that was reviewed."""
        address = path(PROCEDURE + "/approve", agent_id=agent_id, procedure_id=procedure_id)
        return await self._post(address, Procedure, {"version": version})

    async def reject(self, agent_id: str, procedure_id: str, reason: str, *, version: int) -> Procedure:
        """Refuse a version, with a reason."""
        address = path(PROCEDURE + "/reject", agent_id=agent_id, procedure_id=procedure_id)
        return await self._post(address, Procedure, {"version": version, "reason": reason})

    async def offer(self, agent_id: str, skill_id: str, *, version: int | None = None) -> Procedure:
        """Offer one of the caller's private skills for sharing. Those who approve procedures can then read it."""
        address = path(PROCEDURE + "/offer", agent_id=agent_id, procedure_id=skill_id)
        return await self._post(address, Procedure, given(version=version))

    async def withdraw_offer(self, agent_id: str, skill_id: str) -> Procedure:
        """Withdraw the offer of a private skill."""
        return await self._delete(path(PROCEDURE + "/offer", agent_id=agent_id, procedure_id=skill_id), Procedure)

    async def share(
        self, agent_id: str, skill_id: str, *, version: int, user_id: str | None = None, replaces: int | None = None
    ) -> Procedure:
        """Make a private skill a procedure of the agent: the caller's own, or one that the user ``user_id`` offers.

        ``replaces`` is the version of the approved procedure of the same name; ``ProcedureNameTakenError`` states it.
        """
        address = path(PROCEDURE + "/share", agent_id=agent_id, procedure_id=skill_id)
        body = {"version": version} | given(userId=user_id, replaces=replaces)
        return await self._post(address, Procedure, body)

    async def decline(self, agent_id: str, skill_id: str, reason: str, *, version: int, user_id: str) -> Procedure:
        """Refuse to share a skill that the user ``user_id`` offers. It stays private."""
        address = path(PROCEDURE + "/decline", agent_id=agent_id, procedure_id=skill_id)
        return await self._post(address, Procedure, {"userId": user_id, "version": version, "reason": reason})

    async def retire(self, agent_id: str, procedure_id: str, *, version: int, reason: str | None = None) -> Procedure:
        """Take a procedure out of use. A private skill of the caller's is removed."""
        address = path(PROCEDURE, agent_id=agent_id, procedure_id=procedure_id)
        return await self._delete(address, Procedure, version=version, reason=reason)

    async def _save(self, method: str, address: str, draft: Draft, version: int | None) -> Procedure:
        # Safe to repeat: the same content makes no second version.
        if not isinstance(draft, str):
            body = dict(draft) | given(version=version)
            return await self._send(method, address, Procedure, json=body)
        params = {"version": version}
        return await self._send(method, address, Procedure, content=draft.encode(), headers=MARKDOWN, params=params)
