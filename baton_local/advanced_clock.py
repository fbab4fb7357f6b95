"""POST /local/clock: advance the functions' clock and run the work that becomes due on the way."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from baton.domain.times import to_iso
from baton_local.engines.clients import client

MAX_SECONDS = 10 * 366 * 86_400
"""The most seconds of one advance: ten years."""
MAX_STOPS = 500
"""The most due times at which one advance stops. Work that is due after them begins late, at the end."""
DRAIN_SECONDS = 30.0
"""The longest real time to wait for the runs of one stop, and for those in progress at the beginning."""
MAX_DRAIN_SECONDS = 60.0
"""The longest real time to wait for all runs of an advance. Stops after that do not wait."""


class Advance(BaseModel):
    """A request to advance the clock."""

    model_config = ConfigDict(extra="forbid", strict=True)

    advance_seconds: int = Field(alias="advanceSeconds", ge=1, le=MAX_SECONDS)


class Schedule(Protocol):
    """A schedule of a function (``workers.schedules.Scheduler``)."""

    def fire(self) -> Any:
        """Invoke the function now."""


@dataclass
class AdvancedClock:
    """The clock of the functions in this process, which can only be advanced.

    Tokens, signatures, connections and queues keep the machine's time (``baton.ports.clock.read_machine_time``).
    """

    environment: Mapping[str, str]
    """The functions' variables."""
    schedulers: Mapping[str, Schedule]
    """The schedules by the names of their functions."""
    is_reached: bool
    """Whether the functions run in this process. Functions in other processes keep the machine's time."""
    _lock: Lock = field(default_factory=Lock)

    async def answer(self, request: Request) -> Response:
        """Serve POST /local/clock."""
        if not self.is_reached:
            return JSONResponse({"detail": "Functions in other processes keep the machine's time."}, status_code=409)
        try:
            advance = Advance.model_validate_json(await request.body())
        except ValidationError:
            problem = f'Send {{"advanceSeconds": n}}, where n is a whole number from 1 to {MAX_SECONDS}.'
            return JSONResponse({"detail": problem}, status_code=422)
        now = await asyncio.to_thread(self.advance, timedelta(seconds=advance.advance_seconds))
        return JSONResponse({"now": to_iso(now)})

    def advance(self, duration: timedelta) -> datetime:
        """Advance the clock and return the new time. Work that becomes due on the way runs at its time.

        The clock stops at ``MAX_STOPS`` of these times at most. Raises the errors of the sweeper.
        """
        with self._lock:
            drain_deadline = time.monotonic() + MAX_DRAIN_SECONDS
            self._wait_for_runs(drain_deadline)  # a run in progress could lose its lease
            end = _read_now() + duration
            for _ in range(MAX_STOPS):
                due = _find_next_due(_read_now(), end)
                if due is None:
                    break
                self._stop_at(due, drain_deadline)
            self._stop_at(end, drain_deadline)
            return _read_now()

    def _stop_at(self, moment: datetime, drain_deadline: float) -> None:
        """Advance the clock to ``moment``, run the sweeper, and wait for the runs that it has begun."""
        from baton.ports.clock import SystemClock

        SystemClock.advanced_by = max(SystemClock.advanced_by, moment - datetime.now(UTC))
        self.schedulers["SweeperFunction"].fire()
        self._wait_for_runs(drain_deadline)

    def _wait_for_runs(self, drain_deadline: float) -> None:
        """Wait until no run of the queue waits or is in progress, for ``DRAIN_SECONDS`` at most.

        Runs over HTTP are not in the queue.
        """
        deadline = min(time.monotonic() + DRAIN_SECONDS, drain_deadline)
        while self._is_busy() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _is_busy(self) -> bool:
        """Return whether the queue of turns has records that wait or are in flight."""
        queues = client("sqs", self.environment["AWS_ENDPOINT_URL_SQS"])
        url = self.environment["BATON_TURNS_QUEUE_URL"]
        attributes = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        waiting, in_flight = (
            attributes["ApproximateNumberOfMessages"],
            attributes["ApproximateNumberOfMessagesNotVisible"],
        )
        return int(waiting) + int(in_flight) > 0


def _read_now() -> datetime:
    from baton.ports.clock import SystemClock

    return SystemClock().now()


def _find_next_due(after: datetime, until: datetime) -> datetime | None:
    """Return the first time after ``after``, up to ``until``, at which work is due; None if none is."""
    from baton.composition import deployed_ports
    from baton.composition.startup import event_loop
    from baton.composition.startup.environment import current

    async def read() -> datetime | None:
        current.set("SweeperFunction")  # it finds what is due, and its role allows the read
        pages = [page async for page in deployed_ports().due_items.before(until)]
        return min((entry.at for page in pages for entry in page if entry.at > after), default=None)

    return event_loop.run(read())
