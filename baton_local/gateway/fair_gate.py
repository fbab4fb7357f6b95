"""Fair shares of this machine for tenants: one that sends very much waits, and others hardly notice.

In AWS each invocation has a processor for itself. Here all functions share one process, so that the requests of one
tenant, each allowed, would slow down everybody's. A tenant begins only some requests at once, and its others wait in
their order. A request counts until its answer ends. One that lasts longer than ``BUSY_SECONDS`` probably waits for a
model, which needs no processor: it counts only while the process is overloaded.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from baton_local.serving.asgi import Scope

ALONE = 8
"""Requests of a tenant that begin at once if no other tenant has sent anything recently."""
CONTENDED = 2
"""The same while other tenants are active too."""
OVERLOADED = 1
"""The same if the process is overloaded as well."""
BUSY_SECONDS = 0.25
PATIENT_SECONDS = 20.0
"""The longest time for which a request counts. API Gateway answers those that wait for 29 seconds itself."""
RECENT_SECONDS = 10.0
REST = 3.0
"""The rest after a request of a tenant that has others waiting, as a multiple of the time that it took."""
MAX_REST_SECONDS = 0.5
LATE_SECONDS = 0.02
"""The lateness of the event loop from which it counts as overloaded."""
PAUSE_SECONDS = 0.02
"""The pause between two looks at the load."""
MAX_TENANTS = 10_000


@dataclass
class _Lane:
    """The requests of one tenant."""

    begun: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    last_at: float = 0.0
    rests_until: float = 0.0
    """A tenant with waiting requests rests after each, and so takes a quarter of the processor."""


class FairGate:
    """A gate through which the requests of all tenants begin in a fair order. It belongs to one event loop."""

    def __init__(self, is_pressed: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        """``is_pressed()`` holds while the process is overloaded."""
        self._is_pressed = is_pressed
        self._clock = clock
        self._lanes: OrderedDict[str, _Lane] = OrderedDict()
        """The lanes that were used last come last."""
        self._busy: dict[str, _Lane] = {}
        """The lanes with requests that have begun or wait."""
        self._watching: asyncio.Task[None] | None = None
        self._lateness = 0.0
        """Seconds by which this loop was late recently. It decays while requests go on."""

    @contextlib.asynccontextmanager
    async def turn(self, tenant: str) -> AsyncIterator[None]:
        """Wait until a request of the tenant may begin; within the block, it does."""
        lane = self._busy[tenant] = self._lane(tenant)
        self._watch()
        if lane.waiting or not self._has_room(tenant, lane):
            place = asyncio.get_running_loop().create_future()
            lane.waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self._leave(tenant, lane)
                else:
                    with contextlib.suppress(ValueError):  # it has left the queue if its turn came meanwhile
                        lane.waiting.remove(place)
                    self._remove_if_idle(tenant, lane)
                raise
        else:
            lane.begun += 1
        ended, began = False, self._clock()
        loop, patient_until = asyncio.get_running_loop(), self._clock() + PATIENT_SECONDS
        waiting: asyncio.TimerHandle

        def leave() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._rest(tenant, lane, self._clock() - began)
                self._leave(tenant, lane)

        def leave_if_idle() -> None:
            nonlocal waiting
            if self._is_overloaded and self._clock() < patient_until:
                waiting = loop.call_later(BUSY_SECONDS, leave_if_idle)
            else:
                leave()

        waiting = loop.call_later(BUSY_SECONDS, leave_if_idle)
        try:
            yield
        finally:
            waiting.cancel()
            leave()

    def charge(self, tenant: str, seconds: float) -> None:
        """Let a tenant that has requests waiting rest after work that an earlier request of it caused elsewhere.

        The work of a queue's message is not part of the request that sent it, and needs the same processor.
        """
        lane = self._lanes.get(tenant)
        if lane is not None:
            self._rest(tenant, lane, seconds)

    def charge_group(self, group: str, seconds: float) -> None:
        """Charge the work of a queue's message to the tenant with which the name of its group begins."""
        self.charge(lane_of(group.partition("#")[0]), seconds)

    def _rest(self, tenant: str, lane: _Lane, seconds: float) -> None:
        if lane.waiting and self._is_contended(tenant):
            now = self._clock()
            rests_until = max(now, lane.rests_until) + REST * seconds
            lane.rests_until = min(rests_until, now + MAX_REST_SECONDS)

    def _lane(self, tenant: str) -> _Lane:
        lane = self._lanes.setdefault(tenant, _Lane())
        lane.last_at = self._clock()
        self._lanes.move_to_end(tenant)
        while len(self._lanes) > MAX_TENANTS and (oldest := next(iter(self._lanes))) not in self._busy:
            del self._lanes[oldest]
        return lane

    def _has_room(self, tenant: str, lane: _Lane) -> bool:
        if not self._is_contended(tenant):
            return lane.begun < ALONE
        room = OVERLOADED if self._is_overloaded else CONTENDED
        return lane.begun < room and self._clock() >= lane.rests_until

    def _is_contended(self, tenant: str) -> bool:
        """Return whether another tenant is active or was recently."""
        if len(self._busy) > (tenant in self._busy):
            return True
        others = (lane for name, lane in islice(reversed(self._lanes.items()), 2) if name != tenant)
        return any(self._clock() - lane.last_at < RECENT_SECONDS for lane in others)

    @property
    def _is_overloaded(self) -> bool:
        return self._lateness > LATE_SECONDS or self._is_pressed()

    def _leave(self, tenant: str, lane: _Lane) -> None:
        lane.begun -= 1
        self._remove_if_idle(tenant, lane)
        self._admit()

    def _remove_if_idle(self, tenant: str, lane: _Lane) -> None:
        if not lane.begun and not lane.waiting:
            self._busy.pop(tenant, None)

    def _admit(self) -> None:
        """Let the waiting requests begin for which there is room, one of each tenant in turn."""
        moved = True
        while moved:
            moved = False
            for name, lane in self._busy.items():
                if lane.waiting and self._has_room(name, lane):
                    place = lane.waiting.popleft()
                    if not place.done():
                        lane.begun += 1
                        place.set_result(None)
                    moved = True

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._look())

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while self._busy:
            due = loop.time() + PAUSE_SECONDS
            await asyncio.sleep(PAUSE_SECONDS)
            self._lateness = max(self._lateness * 0.9, loop.time() - due)
            self._admit()
        self._lateness = 0.0


def lane_of(tenant: str) -> str:
    """Return the name of a tenant's lane."""
    return f"tenant {tenant}"


def tenant_of(scope: Scope) -> str:
    """Return the tenant that a request's token names, unverified, or the client's address.

    A forged token gets only the share of the tenant that it names, and the product refuses it soon after.
    """
    headers = {name.lower(): value for name, value in scope.get("headers", [])}
    token = headers.get(b"authorization", b"").rpartition(b" ")[2]
    token = token or headers.get(b"sec-websocket-protocol", b"").rpartition(b",")[2].strip()
    parts = token.split(b".")
    if len(parts) == 3:
        with contextlib.suppress(ValueError):
            claims: Any = json.loads(base64.urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4)))
            if isinstance(claims, dict) and isinstance(claims.get("tenant"), str):
                return lane_of(claims["tenant"])
    client = scope.get("client")
    return f"client {client[0] if client else ''}"
