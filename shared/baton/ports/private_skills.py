"""Storage of private skills."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from baton.domain.identity import Scope
from baton.domain.private_skill import SkillDecision
from baton.domain.procedure import Procedure


class SharedSkill(NamedTuple):
    """The version that a private skill has become."""

    version: Procedure
    replaced: int | None
    """The approved version that it has replaced."""


class PrivateSkills(Protocol):
    """The private skills of users. The scope is their maker's; the caller checks permissions.

    A skill is identified by its agent and its id, which begins with ``USER_PREFIX``. Making it again under the same
    name counts its version up, and only the newest content is kept. Methods raise ``StoreUnavailable`` if the table
    does not answer.
    """

    async def save(self, scope: Scope, skill: Procedure, *, made_of: str) -> Procedure:
        """Save a skill as private, and return it with its version.

        ``made_of`` names what has made it. Nothing is saved if that has made a version before, or if the skill in use
        has the same content: the skill is returned as it is.
        """
        ...

    async def get(self, scope: Scope, agent_id: str, skill_id: str) -> Procedure | None:
        """Return a skill of the user, in whichever status."""
        ...

    async def of_user(self, scope: Scope) -> Sequence[Procedure]:
        """Return all skills of the user, by agent and id."""
        ...

    async def in_use(self, scope: Scope, agent_id: str) -> Sequence[Procedure]:
        """Return the skills that turns of the user with this agent use, by id."""
        ...

    async def offered(
        self, scope: Scope, agent_ids: Collection[str], *, limit: int, cursor: str | None
    ) -> tuple[Sequence[Procedure], str | None]:
        """Return a page of the skills that users of the tenant offer, the latest first, and the next page's cursor.

        Raises ``InvalidRequest`` for a cursor that was not handed out.
        """
        ...

    async def change(
        self, scope: Scope, agent_id: str, skill_id: str, version: int, decision: SkillDecision
    ) -> Procedure:
        """Offer a skill, withdraw or decline the offer, and return the skill.

        Repeating a decision changes nothing. Raises ``UnknownProcedure``, and ``ProcedureChanged`` if the version is
        not the newest, or in a status that the decision is not for.
        """
        ...

    async def share(
        self,
        scope: Scope,
        agent_id: str,
        skill_id: str,
        version: int,
        decision: SkillDecision,
        *,
        replaces: int | None,
    ) -> SharedSkill:
        """Save the content of a skill as an approved version of its agent, made by the one who shares it.

        ``replaces`` is the approved version of the same name, which is retired in the same write; None if there is
        none. Repeating it changes nothing. Raises as ``change`` does, and ``ProcedureNameTaken`` if another version is
        approved.
        """
        ...

    async def remove(self, scope: Scope, agent_id: str, skill_id: str, version: int) -> Procedure:
        """Remove the content of a skill, and return it as retired. Its later versions count on.

        Raises ``UnknownProcedure``, and ``ProcedureChanged`` if the version is not the newest.
        """
        ...
