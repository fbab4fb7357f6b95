"""People's actions on private skills: their makers read, offer and remove them, and others share or decline them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import UnknownProcedure
from baton.domain.memory.private_skill import IN_USE, SkillAction, SkillDecision
from baton.domain.memory.procedure import USER_PREFIX, Procedure, ProcedureStatus
from baton.domain.tenants.identity import Permission, Scope, derive_procedure_record_id
from baton.domain.times import to_millis
from baton.memory.procedures.approved_procedures import check_room
from baton.ports.clock import Clock
from baton.ports.memory.procedures import PrivateSkills, ProcedureStore
from baton.ports.tenants.audit import AuditLog, Once

SHARE, DECLINE = "procedure.share", "procedure.decline"
_AUDITED = {SkillAction.OFFER: "skill.offer", SkillAction.WITHDRAW: "skill.withdraw"}


def is_private_id(procedure_id: str) -> bool:
    """Return whether an id belongs to a private skill."""
    return procedure_id.startswith(USER_PREFIX)


@dataclass(frozen=True, slots=True)
class SkillAdministration:
    """Private skills for people. A maker sees their own; holders of ``procedure:approve`` see offered ones."""

    skills: PrivateSkills
    procedures: ProcedureStore
    audit: AuditLog
    clock: Clock

    async def list_own(self, scope: Scope, agents: Sequence[AgentDefinition]) -> list[Procedure]:
        """Return the caller's skills in use for these agents. Raises ``StoreUnavailable``."""
        agent_ids = {agent.id for agent in agents}
        return [
            procedure
            for procedure in await self.skills.of_user(scope)
            if procedure.agent_id in agent_ids and procedure.status in IN_USE
        ]

    async def list_offered(
        self, scope: Scope, agent_ids: Sequence[str], *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Procedure], str | None]:
        """Return a page of the skills that users offer, the latest first, and the cursor of the next page.

        Raises ``Forbidden``.
        """
        scope.require(Permission.PROCEDURE_APPROVE, "procedure.read")
        return await self.skills.offered(scope, agent_ids, limit=limit, cursor=cursor)

    async def read(self, scope: Scope, agent_id: str, skill_id: str, *, user_id: str | None = None) -> Procedure:
        """Return the caller's own skill, or a skill that another user (``user_id``) offers.

        Raises ``UnknownProcedure`` for a skill of another user that is not offered, whatever the caller's permissions,
        and ``Forbidden`` for another user's skill without ``procedure:approve``.
        """
        maker = self._make_maker_scope(scope, user_id)
        if maker != scope:
            scope.require(Permission.PROCEDURE_APPROVE, "procedure.read")
        return await self._get_visible(scope, maker, agent_id, skill_id)

    async def change_offer(
        self, scope: Scope, agent_id: str, skill_id: str, action: SkillAction, *, version: int | None
    ) -> Procedure:
        """Offer the caller's own skill, or withdraw the offer. A repetition changes nothing.

        Raises ``UnknownProcedure`` and ``ProcedureChanged``.
        """
        if version is None:
            version = (await self.read(scope, agent_id, skill_id)).version
        decision = SkillDecision(action, scope.user_id, self.clock.now())
        changed = await self.skills.change(scope, agent_id, skill_id, version, decision)
        await self._record(scope, _AUDITED[action], changed.status.value, changed)
        return changed

    async def decline(
        self, scope: Scope, agent_id: str, skill_id: str, *, user_id: str, version: int, reason: str
    ) -> Procedure:
        """Refuse to share an offered skill. It stays private, and its maker sees the reason.

        Raises ``Forbidden``, ``UnknownProcedure`` and ``ProcedureChanged``.
        """
        scope.require(Permission.PROCEDURE_APPROVE, DECLINE)
        maker = self._make_maker_scope(scope, user_id)
        decision = SkillDecision(SkillAction.DECLINE, scope.user_id, self.clock.now(), reason)
        if not decision.is_taken(await self._get(maker, agent_id, skill_id)):
            await self._get_visible(scope, maker, agent_id, skill_id)
        declined = await self.skills.change(maker, agent_id, skill_id, version, decision)
        detail = {"userId": user_id, "reason": declined.reason}
        await self._record(scope, DECLINE, "declined", declined, detail)
        return declined

    async def share(
        self, scope: Scope, agent_id: str, skill_id: str, *, user_id: str | None, version: int, replaces: int | None
    ) -> Procedure:
        """Make a skill an approved procedure of its agent: an offered skill of another user, or the caller's own.

        ``replaces`` is the approved version of the same name; None if there is none.

        Raises ``Forbidden``, ``UnknownProcedure``, ``ProcedureChanged``, ``ProcedureNameTaken`` and
        ``TooManyProcedures``.
        """
        scope.require(Permission.PROCEDURE_APPROVE, SHARE)
        maker = self._make_maker_scope(scope, user_id)
        decision = SkillDecision(SkillAction.SHARE, scope.user_id, self.clock.now())
        if not decision.is_taken(await self._get(maker, agent_id, skill_id)):
            await self._get_visible(scope, maker, agent_id, skill_id)
            await check_room(self.procedures, scope, agent_id, skill_id.removeprefix(USER_PREFIX))
        shared, replaced = await self.skills.share(maker, agent_id, skill_id, version, decision, replaces=replaces)
        detail: dict[str, Any] = {"userId": maker.user_id, "skill": skill_id, "skillVersion": version}
        if replaced is not None:
            detail["replaced"] = replaced
        await self._record(scope, SHARE, shared.status.value, shared, detail)
        return shared

    async def remove(self, scope: Scope, agent_id: str, skill_id: str, *, version: int) -> Procedure:
        """Remove the caller's own skill. Raises ``UnknownProcedure`` and ``ProcedureChanged``."""
        removed = await self.skills.remove(scope, agent_id, skill_id, version)
        await self._record(scope, "skill.remove", "removed", removed)
        return removed

    def _make_maker_scope(self, scope: Scope, user_id: str | None) -> Scope:
        return scope if user_id in (None, scope.user_id) else Scope(scope.tenant_id, str(user_id))

    async def _get(self, maker: Scope, agent_id: str, skill_id: str) -> Procedure:
        procedure = await self.skills.get(maker, agent_id, skill_id)
        if procedure is None:
            raise UnknownProcedure
        return procedure

    async def _get_visible(self, scope: Scope, maker: Scope, agent_id: str, skill_id: str) -> Procedure:
        """Return a skill of ``maker`` that the caller may see. Raises ``UnknownProcedure``."""
        procedure = await self._get(maker, agent_id, skill_id)
        if maker != scope and procedure.status is not ProcedureStatus.OFFERED:
            raise UnknownProcedure
        return procedure

    async def _record(
        self, scope: Scope, action: str, outcome: str, about: Procedure, more: dict[str, Any] | None = None
    ) -> None:
        at = about.decided_at or about.created_at
        key = f"{about.agent_id}\0{about.id}\0{about.version}\0{about.created_by}\0{scope.user_id}\0{to_millis(at)}"
        await self.audit.record(
            scope,
            action,
            thread_id=None,
            outcome=outcome,
            detail={"procedure": about.id, "version": about.version, "agentId": about.agent_id, **(more or {})},
            once=Once(derive_procedure_record_id(scope, action, key), at),
        )
