"""The switch and the quiet hours of tenants for runs that begin by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from baton.domain.errors import LimitReached, RateLimited
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.self_started_runs import SelfStartedRuns
from baton.domain.times import DEFAULT_ZONE, convert_to_zone
from baton.ports.clock import Clock, TimeZones
from baton.tenants.tenant_copies import CurrentLimits

OFF_SECONDS = 3_600
"""Seconds after which the run for a task's result is tried again, while the switch is off."""


@dataclass(frozen=True, slots=True)
class SelfStarts:
    """The switch and the quiet hours of tenants. The limits of a day are counted with the other limits of runs."""

    limits: CurrentLimits
    zones: TimeZones
    clock: Clock

    async def check(self, scope: Scope, cause: RunSource) -> None:
        """Raise the error that refuses a run of the user now, if there is one.

        ``LimitReached``: the run does not begin at all. ``RateLimited``: it may begin after ``retry_after``. The run
        for a task's result, which the user has asked for, waits for the switch and ignores quiet hours.
        """
        rules = await self._read_rules(scope)
        is_result = cause.kind is CauseKind.TASK
        if not rules.enabled and is_result:
            raise RateLimited(SWITCHED_OFF, retry_after=OFF_SECONDS)
        await self.check_switch(scope)
        if rules.quiet_hours is None or is_result:
            return
        last = await self.zones.last(scope)
        local = convert_to_zone(last.name if last is not None else DEFAULT_ZONE, self.clock.now())
        seconds = rules.quiet_hours.count_seconds_left(local)
        if seconds:
            raise RateLimited("These are quiet hours for the user: the run begins after them.", retry_after=seconds)

    async def check_switch(self, scope: Scope) -> None:
        """Raise ``LimitReached`` if no run may begin by itself."""
        if not (await self._read_rules(scope)).enabled:
            raise LimitReached(SWITCHED_OFF)

    async def _read_rules(self, scope: Scope) -> SelfStartedRuns:
        return (await self.limits.of(scope)).self_started_runs or SelfStartedRuns()


SWITCHED_OFF = "Runs that begin by themselves are switched off here: see selfStartedRuns of the tenant's limits."
