"""The conversations that runs of schedules enter."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.domain.agents.agent_settings import ScheduleConversation
from baton.domain.errors import ThreadUnavailable, UnknownAgent
from baton.domain.schedules.schedule import Schedule, SlotConversation
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread_search import ThreadQuery
from baton.ports.threads.schedules import Schedules
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry

MAX_PAGES = 5
"""The most pages of the user's list that are searched for their newest conversation with an agent."""
PAGE = 10
"""The number of conversations in a page."""


@dataclass(frozen=True, slots=True)
class RunConversations:
    """The choice of conversations for runs of schedules."""

    schedules: Schedules
    store: ThreadStore
    agents: AgentRegistry

    async def choose(self, owner: Scope, schedule: Schedule) -> Schedule | None:
        """Return the schedule with the conversation that the run for its next slot enters.

        Return None if somebody has changed the schedule meanwhile: it stays due. The choice is stored before the
        message is queued, because another start of the same slot must not choose another conversation: the message
        would have another id there.
        """
        if not await self._enters_newest(schedule.make_scope(owner), schedule):
            return schedule
        if schedule.is_chosen and not await self.is_forgotten(owner, schedule.run_thread_id):
            return schedule
        newest = await self._find_newest(owner, schedule.agent_id)
        slot = SlotConversation(schedule.next_slot or "", newest or schedule.thread_id)
        chosen_schedule = replace(schedule, chosen=slot, revision=schedule.revision + 1)
        return chosen_schedule if await self.schedules.replace(owner, chosen_schedule) else None

    async def is_forgotten(self, owner: Scope, thread_id: str) -> bool:
        """Return whether a conversation was forgotten, or is another user's. False for one that has not begun."""
        try:
            await self.store.get_thread(owner, thread_id)
        except ThreadUnavailable as unavailable:
            return not unavailable.is_unused
        return False

    async def _enters_newest(self, scope: Scope, schedule: Schedule) -> bool:
        try:
            agent = await self.agents.get(scope, schedule.agent_id)
        except UnknownAgent:
            return False  # the run is refused and audited later
        return agent.schedules.conversation is ScheduleConversation.NEWEST

    async def _find_newest(self, owner: Scope, agent_id: str) -> str | None:
        """Return the id of the user's most recently active conversation with an agent; None if no page has one."""
        query, cursor = ThreadQuery(agent_id=agent_id), None
        for _ in range(MAX_PAGES):
            threads, cursor = await self.store.list_threads(owner, limit=PAGE, cursor=cursor, query=query)
            newest = next((thread.id for thread in threads if thread.agent_id == agent_id), None)
            if newest is not None or cursor is None:
                return newest
        return None
