"""Storage of skills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.skill import Skill


class SkillStore(Protocol):
    """The skills of tenants, in all versions. The caller checks permissions.

    A skill is identified by its agent and its slug within the scope's tenant. Methods raise ``StoreUnavailable`` if the
    table does not answer.
    """

    async def put(self, scope: Scope, skill: Skill) -> Skill:
        """Save the skill as its next version and return it with its number.

        Saving a skill that equals the newest version returns that version.
        """
        ...

    async def get(self, scope: Scope, agent_id: str, slug: str, *, version: int | None = None) -> Skill | None:
        """Return one version of a skill, or its newest."""
        ...

    async def activate(self, scope: Scope, agent_id: str, slug: str, *, version: int) -> Skill | None:
        """Make this the version that answers messages; return None if there is no such version."""
        ...

    async def deactivate(self, scope: Scope, agent_id: str, slug: str) -> None:
        """Stop answering messages with the skill. All versions are kept."""
        ...

    async def active(self, scope: Scope, agent_id: str) -> Sequence[Skill]:
        """Return the agent's active skills, ordered by slug."""
        ...
