"""An agent with schedules, a clock to advance, and what becomes due."""

from __future__ import annotations

from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.schedules.schedule import Schedule
from baton.domain.tenants.identity import ThreadRef
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.queued import RecordDelivery
from baton.threads.schedules.schedule_making import ScheduleRequest
from tests.harness.harness import ASSISTANT, Harness

RESEARCHER = AgentDefinition(id="researcher", name="Researcher", description="Finds out.", system_prompt="Find out.")
MAIN = AgentDefinition.model_validate(
    ASSISTANT.model_dump() | {"sub_agents": [{"agent": "researcher", "background": True}]}
)
"""An assistant that has the researcher work in the background."""


class DueHarness(Harness):
    """A conversation whose agent takes schedules. Nothing begins before ``pass_time`` or ``work``."""

    def __init__(self, *, assistant: AgentDefinition = ASSISTANT, **ports: Any) -> None:
        rules = assistant.schedules.model_copy(update={"allowed": True, **ports.pop("rules", {})})
        super().__init__(assistant=assistant.model_copy(update={"schedules": rules}), **ports)

    async def remind(self, text: str = "Water the plants.", **fields: Any) -> Schedule:
        """Make a schedule of ada's, by default in her conversation and in one hour."""
        fields = {"at": "2040-03-01T13:00", "thread": ThreadRef(self.thread_id, may_create=True)} | fields
        schedule, _ = await self.app.self_started.schedule_making.create(self.ada, ScheduleRequest(text=text, **fields))
        return schedule

    async def pass_time(self, *, hours: float = 0, minutes: float = 0) -> int:
        """Advance the clock, sweep as each minute does, and run what has begun. Returns the number of runs."""
        self.clock.advance(hours * 3600 + minutes * 60)
        await self.app.self_started.due_starts.sweep(seconds=10)
        return await self.run_queue()

    async def run_queue(self) -> int:
        """Run what the queue holds; return the number of records."""
        return await run_queue(self)

    async def messages(self, thread_id: str | None = None) -> list[StoredMessage]:
        """The messages of the conversation."""
        thread = await self.store.get_thread(self.ada, thread_id or self.thread_id)
        page = await self.store.read_messages(self.ada, thread, limit=100, before=None)
        return list(page.messages)


async def run_queue(harness: Harness) -> int:
    """Run what the queue holds; return the number of records."""
    done = 0
    while harness.queue.sent:
        _, queued = harness.queue.sent.pop(0)
        body, delivery = queued.model_dump_json(by_alias=True), RecordDelivery(f"r{done}", 1)
        await harness.app.queued_turns.run(body, "", delivery, seconds=20)
        done += 1
    return done
