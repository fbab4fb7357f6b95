"""Where skills are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from baton.domain.identity import Scope
from baton.domain.skill import Skill


class SkillStore(Protocol):
    """The skills of tenants, every version of them. Permissions are the caller's to check.

    A skill is named by its agent and its slug within the scope's tenant. ``StoreUnavailable`` when the table does not
    answer.
    """

    async def put(self, scope: Scope, skill: Skill) -> Skill:
        """Save the skill as its next version and return it with its number.

        What says the same as the newest version is that version: saving it again makes no other.
        """
        ...

    async def get(self, scope: Scope, agent_id: str, slug: str, *, version: int | None = None) -> Skill | None:
        """One version of a skill, or its newest."""
        ...

    async def activate(self, scope: Scope, agent_id: str, slug: str, *, version: int) -> Skill | None:
        """Answer messages with this version from now on, in place of any other; None if there is no such version."""
        ...

    async def deactivate(self, scope: Scope, agent_id: str, slug: str) -> None:
        """Answer messages with no version of the skill; every version is kept."""
        ...

    async def active(self, scope: Scope, agent_id: str) -> Sequence[Skill]:
        """The skills that messages to the agent are answered with, by slug."""
        ...
