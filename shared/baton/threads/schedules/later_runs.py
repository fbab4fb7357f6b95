"""Runs that could not begin when they were due, and wait."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import Scope
from baton.ports.threads.schedules import DueItems, LaterRun
from baton.ports.threads.turn_queue import TurnQueue

MAX_NAME = 100
"""Characters of a message's id in the name of its start. SQS takes names of 128 characters."""


@dataclass(frozen=True, slots=True)
class LaterRuns:
    """The starts of runs that wait. They may repeat: the fixed id of its message makes a run begin once."""

    items: DueItems
    queue: Callable[[], TurnQueue]

    async def begin(self, later: LaterRun) -> None:
        """Queue the message of a run. Raises ``StoreUnavailable``: then the run still waits."""
        message = later.message
        # The queue drops repetitions of this start, but not the next start.
        name = f"{message.request.message_id[:MAX_NAME]}.{message.put_off}"
        await self.queue().send(message.scope, message.model_copy(update={"request_id": name}))
        await self.items.settle(later)

    async def has_run_of(self, scope: Scope, thread_id: str, schedule_id: str, *, besides: str) -> bool:
        """Return whether a run of a schedule waits in a conversation, other than the run of the message ``besides``."""
        async with aclosing(self.items.of_thread(scope, thread_id)) as later_runs:
            async for later_run in later_runs:
                request = later_run.message.request
                if _is_of_schedule(request.begun_by, schedule_id) and request.message_id != besides:
                    return True
        return False

    async def begin_results(self, scope: Scope, thread_id: str) -> None:
        """Begin the runs of the results that wait in a conversation. Raises ``StoreUnavailable``."""
        async with aclosing(self.items.of_thread(scope, thread_id)) as later_runs:
            async for later_run in later_runs:
                cause = later_run.message.request.begun_by
                if cause is not None and cause.kind is CauseKind.TASK:
                    await self.begin(later_run)


def _is_of_schedule(cause: RunSource | None, schedule_id: str) -> bool:
    """Return whether a run was begun by a schedule."""
    return cause is not None and cause.kind is CauseKind.SCHEDULE and cause.id == schedule_id
