"""The tools with which agents make, list and cancel schedules of their user."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Protocol

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import BatonError, StoreUnavailable
from baton.domain.json_values import make_closed_object
from baton.domain.schedules.schedule import MAX_TEXT, Schedule, ScheduleStatus
from baton.domain.tenants.identity import Scope
from baton.domain.times import convert_to_zone, to_iso
from baton.ports.agents.chat_model import ToolSpec
from baton.ports.agents.tools import CallContext, OfferedTools, Tool, ToolFailed, ToolResult, Tools
from baton.ports.clock import Clock

SCHEDULE, LIST_SCHEDULES, CANCEL_SCHEDULE = "schedule", "list_schedules", "cancel_schedule"
SCHEDULE_TOOLS = (SCHEDULE, LIST_SCHEDULES, CANCEL_SCHEDULE)
MAX_MINUTES = 60 * 24 * 366
"""The most minutes until a schedule made with ``in_minutes``: one leap year."""

_SPECS = (
    ToolSpec(
        SCHEDULE,
        "Have yourself reminded to do something at a later time, once or repeatedly: you are asked again then, in this "
        "conversation, and the user reads your answer. Give `in_minutes`, or `at`, or a `rule` with `at` as its first "
        "time. Confirm to the user the time that comes back.",
        make_closed_object(
            {
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_TEXT,
                    "description": "What is to be done or said then: an instruction to yourself with all you need.",
                },
                "at": {
                    "type": "string",
                    "description": "The date and time on the user's clocks, such as 2027-03-14T09:00.",
                },
                "in_minutes": {"type": "integer", "minimum": 1, "maximum": MAX_MINUTES},
                "rule": {
                    "type": "string",
                    "description": "Only to repeat it: a rule of RFC 5545 that is daily or rarer, such as "
                    "FREQ=WEEKLY;BYDAY=MO,FR or FREQ=MONTHLY;BYMONTHDAY=1;COUNT=6.",
                },
            },
            optional=["at", "in_minutes", "rule"],
        ),
    ),
    ToolSpec(
        LIST_SCHEDULES,
        "List the user's schedules and reminders, with their ids and next times.",
        make_closed_object({}),
    ),
    ToolSpec(
        CANCEL_SCHEDULE,
        "Cancel one of the user's schedules or reminders.",
        make_closed_object({"id": {"type": "string", "description": "Its id, as list_schedules names it."}}),
    ),
)


class ScheduleBook(Protocol):
    """The schedules of the user for whom an agent works. ``ScheduleMaking`` implements it."""

    async def create_by_agent(
        self, scope: Scope, schedule_id: str, thread_id: str, *, text: str, at: str | None, rule: str | None
    ) -> Schedule:
        """Make a schedule in a conversation. Repeated calls with the same id make one schedule. Raises ``BatonError``.

        ``at`` is a date and time on the user's clocks, or None with a ``rule``; ``rule`` is a rule of RFC 5545.
        """

    async def list_schedules(self, scope: Scope, *, status: ScheduleStatus | None = None) -> Sequence[Schedule]:
        """Return the user's schedules, with ``status`` only those that have it."""

    async def remove(self, scope: Scope, schedule_id: str) -> None:
        """Cancel a schedule. Raises ``NotFound``."""


@dataclass(frozen=True, slots=True)
class ToolsWithSchedules:
    """``Tools`` with the tools of schedules, for agents that allow schedules."""

    others: Tools
    book: Callable[[], ScheduleBook]
    clock: Clock

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """See ``Tools.offered``. A tool of the agent with the same name replaces a tool of schedules."""
        offered_tools = await self.others.offered(agent, scope) if agent.tools else OfferedTools()
        if not agent.schedules.allowed:
            return offered_tools
        own_tools = tuple(Tool(spec, "baton") for spec in _SPECS if spec.name not in offered_tools.names)
        return replace(offered_tools, tools=(*offered_tools.tools, *own_tools))

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """See ``Tools.call``."""
        calls: dict[str, Callable[[Mapping[str, Any], CallContext], Awaitable[str]]] = {
            SCHEDULE: self._schedule,
            LIST_SCHEDULES: self._list,
            CANCEL_SCHEDULE: self._cancel,
        }
        is_own = agent.schedules.allowed and name in calls
        if is_own and agent.tools:
            is_own = name not in (await self.others.offered(agent, context.scope)).names
        if not is_own:
            return await self.others.call(agent, name, arguments, context)
        try:
            return ToolResult(await calls[name](arguments, context))
        except StoreUnavailable as error:
            raise ToolFailed(error.detail, is_outage=True) from error
        except BatonError as error:
            raise ToolFailed(error.detail, is_refused=True) from error

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        """See ``Tools.read_task``."""
        return await self.others.read_task(agent, name, location, context, deletes=deletes)

    async def _schedule(self, arguments: Mapping[str, Any], context: CallContext) -> str:
        """Make a schedule, and describe it. Raises ``ToolFailed`` for two times, and the errors of the book."""
        at, minutes = arguments.get("at"), arguments.get("in_minutes")
        if at is not None and minutes is not None:
            raise ToolFailed("Give `at` or `in_minutes`, not both.", is_refused=True)
        if minutes is not None:
            at = to_iso(self.clock.now() + timedelta(minutes=minutes))
        schedule = await self.book().create_by_agent(
            context.scope,
            context.idempotency_key,
            context.thread_id,
            text=arguments["text"],
            at=at,
            rule=arguments.get("rule"),
        )
        return _write_schedules([schedule])

    async def _list(self, arguments: Mapping[str, Any], context: CallContext) -> str:
        schedules = await self.book().list_schedules(context.scope)
        return _write_schedules([schedule for schedule in schedules if schedule.status is not ScheduleStatus.FINISHED])

    async def _cancel(self, arguments: Mapping[str, Any], context: CallContext) -> str:
        await self.book().remove(context.scope, arguments["id"])
        return "It is cancelled."


def _write_schedules(schedules: Sequence[Schedule]) -> str:
    """Return a text with the schedules, for a model."""
    if not schedules:
        return "There are none."
    return json.dumps([_describe_schedule(schedule) for schedule in schedules], ensure_ascii=False)


def _describe_schedule(schedule: Schedule) -> dict[str, Any]:
    description: dict[str, Any] = {"id": schedule.id, "text": schedule.text}
    if schedule.next_at is not None:
        description["next"] = f"{convert_to_zone(schedule.zone, schedule.next_at):%A, %Y-%m-%d %H:%M}"
    description["time_zone"] = schedule.zone
    if schedule.rule is not None:
        description["rule"] = schedule.rule
    if schedule.paused:
        description["paused"] = True
    return description
