"""The turns of an agent by its versions, page by page. They are counted when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.overview import DayCounts
from baton.ports.threads.messages import FeedbackStore
from baton.threads.sessions.overviews import OverviewPosition, Overviews


@dataclass(frozen=True, slots=True)
class VersionFigures:
    """The counting of turns and ratings by the version of the agent that spoke last, or of all agents if none spoke."""

    overviews: Overviews
    feedback: FeedbackStore

    async def read_page(
        self, scope: Scope, agent_id: str, position: OverviewPosition
    ) -> tuple[Mapping[int, DayCounts], OverviewPosition | None]:
        """Return the counts of one page by version, and the position of the next one; None after the last.

        A page has sums only, so that the caller need not be allowed to read conversations.
        """
        reader = replace(scope, permissions=scope.permissions | {Permission.THREAD_READ_ALL})
        counts, next_position = await self.overviews.read_page(reader, position, feedback=self.feedback)
        return {number: day for (name, number), day in counts.versions.items() if name == agent_id}, next_position
