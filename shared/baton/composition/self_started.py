"""The use cases of runs that no user begins, built with the ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from baton.composition.limits import LimitUseCases
    from baton.composition.ports import Ports


class SelfStartedUseCases:
    """Use cases of schedules, background tasks and events of other systems, which begin runs."""

    def __init__(
        self,
        ports: Ports,
        limits: LimitUseCases,
        agents: Callable[[], parts.AgentRegistry],
        forks: Callable[[], parts.Forks],
        tools: Callable[[], parts.Tools],
    ) -> None:
        """All parameters but ``ports`` and ``limits`` return parts of ``App``.

        They are called when a use case first needs them.
        """
        self.ports = ports
        self._limits = limits
        self._agents = agents
        self._forks = forks
        self._tools = tools

    @cached_property
    def due_starts(self) -> parts.DueStarts:
        """The use case that begins runs of schedules, tasks and messages that are due."""
        ports = self.ports
        return parts.DueStarts(
            ports.due_items,
            self.later_runs,
            ports.schedules,
            parts.RunConversations(ports.schedules, ports.store, self._agents()),
            lambda: ports.queue,
            lambda: ports.delay_queue,
            ports.time_zones,
            ports.audit,
            ports.clock,
            lambda: self.background_work,
        )

    @cached_property
    def later_runs(self) -> parts.LaterRuns:
        """The use case that begins runs that were put off."""
        return parts.LaterRuns(self.ports.due_items, lambda: self.ports.queue)

    @cached_property
    def background_work(self) -> parts.BackgroundWork:
        """The use case that begins and ends background tasks."""
        ports = self.ports
        tasks = ports.background_tasks
        results = parts.TaskResults(
            tasks, ports.store, lambda: ports.queue, ports.live, ports.connections, ports.audit, ports.clock
        )
        return parts.BackgroundWork(
            tasks,
            results,
            parts.RemoteWork(tasks, results, lambda: ports.agent_client),
            parts.ToolWork(tasks, results, self._tools),
            parts.TaskCallbacks(tasks, results, ports.public_url),
            ports.store,
            ports.live,
            self._forks(),
            lambda: ports.queue,
            ports.audit,
            ports.clock,
        )

    @cached_property
    def schedule_making(self) -> parts.ScheduleMaking:
        """The use case that makes and changes schedules of users."""
        ports = self.ports
        return parts.ScheduleMaking(
            ports.schedules, ports.store, self._agents(), ports.time_zones, self.due_starts, ports.audit, ports.clock
        )

    @cached_property
    def schedule_lists(self) -> parts.ScheduleLists:
        """The use case that lists schedules of users."""
        return parts.ScheduleLists(self.ports.schedules, self.ports.audit)

    @cached_property
    def event_starts(self) -> parts.EventStarts:
        """The use case that begins runs by events of other systems."""
        ports = self.ports
        return parts.EventStarts(ports.store, self._agents(), self.self_starts, lambda: ports.queue, ports.audit)

    @cached_property
    def self_starts(self) -> parts.SelfStarts:
        """The rules for runs that no user begins: the tenant's switch, and users' quiet hours."""
        return parts.SelfStarts(self._limits.current, self.ports.time_zones, self.ports.clock)

    @cached_property
    def inbound_hooks(self) -> parts.InboundHooks:
        """The use case that takes the signed requests of other systems."""
        ports = self.ports
        return parts.InboundHooks(
            lambda: ports.hook_settings,
            ports.hook_verifier,
            self.event_starts,
            ports.audit,
            ports.clock,
            ports.removed_tenants,
        )
