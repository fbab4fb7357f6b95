"""Invoke functions on schedule, as EventBridge Scheduler does."""

import logging
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from baton_local.account import ACCOUNT, REGION
from baton_local.stack.declarations import ScheduleDefinition

logger = logging.getLogger("baton_local.workers.schedules")

STOP_SECONDS = 3.0
"""The longest time for which a stop waits for an invocation in progress."""


def make_scheduler_event(schedule: ScheduleDefinition, at: datetime) -> Any:
    """Return the schedule's own input, or EventBridge Scheduler's default event if it has none.

    The default event's ``detail`` is text, unlike that of EventBridge's rules, which is an object.
    """
    if schedule.input is not None:
        return schedule.input
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": ACCOUNT,
        "time": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/{schedule.name}"],
        "detail": "{}",
    }


class Scheduler:
    """A schedule that fires every ``seconds``. A slow function delays the next invocation."""

    def __init__(
        self, schedule: ScheduleDefinition, invoke: Callable[[Any], Any], seconds: float, *, at_once: bool = False
    ) -> None:
        """``at_once`` says whether the first invocation is at the start, rather than after one interval."""
        self._schedule = schedule
        self._invoke = invoke
        self._seconds = seconds
        self._first = 0.0 if at_once else seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"schedule {schedule.name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait up to ``STOP_SECONDS`` for an invocation in progress."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def fire(self) -> Any:
        """Invoke the function now and return its result. Raises its exceptions."""
        return self._invoke(make_scheduler_event(self._schedule, datetime.now(UTC)))

    def _run(self) -> None:
        wait = self._first
        while not self._stopping.wait(wait):
            wait = self._seconds
            try:
                self.fire()
            except Exception:
                logger.exception("%s failed; it is invoked again in %g s", self._schedule.function, self._seconds)
