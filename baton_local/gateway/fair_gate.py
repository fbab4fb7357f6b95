"""Fair shares of this machine for tenants and their users: a busy one waits, and others hardly notice.

In AWS each invocation has a separate processor. Here all functions share one process, so that many requests of one
user would slow down everybody's. Therefore only some requests of a user run at the same time, and the others wait in
their order. A tenant has such a limit too, so that it gains nothing by dividing its requests among users. A request
counts until its answer ends. A request that lasts longer than ``BUSY_SECONDS`` probably waits for a model, which needs
no processor here, so it counts only while the process is overloaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from baton_local.gateway.callers import Caller, read_sender

ALONE = 8
"""The most requests of a user, or of a tenant, that run at the same time if nobody else was active recently."""
CONTENDED = 2
"""The most while others are active too. A tenant with several active users has twice as many."""
OVERLOADED = 1
"""The most while others are active and the process is overloaded."""
BUSY_SECONDS = 0.25
"""The time after which a request counts only while the process is overloaded."""
PATIENT_SECONDS = 20.0
"""The longest time for which a request counts. API Gateway itself ends requests after 29 seconds."""
RECENT_SECONDS = 10.0
"""The time after its last request for which a tenant or user counts as active."""
REST = 3.0
"""The rest after a request of a user who has others waiting, as a multiple of the time that it took."""
MAX_REST_SECONDS = 0.5
"""The longest rest."""
LATE_SECONDS = 0.02
"""The lateness of the event loop from which it counts as overloaded."""
PAUSE_SECONDS = 0.02
"""The pause between two measurements of the lateness."""
MAX_SHARES = 10_000
"""The most tenants, and users of a tenant, whose shares are kept."""


@dataclass
class _Share:
    """The requests of a tenant or of a user."""

    in_progress: int = 0
    """The number of requests that have begun and still count."""
    last_at: float = 0.0
    """The monotonic time of the last request, in seconds."""
    rests_until: float = 0.0
    """The monotonic time at which the rest ends. A share rests after each request while others of the share wait, and
    so uses a quarter of the time, or more if requests are long."""

    def rest(self, now: float, seconds: float) -> None:
        """Rest after work that took ``seconds``."""
        self.rests_until = min(max(now, self.rests_until) + REST * seconds, now + MAX_REST_SECONDS)


@dataclass
class _User(_Share):
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


S = TypeVar("S", bound=_Share)


class _Shares(Generic[S]):
    """The shares of tenants, or of the users of one tenant, by name."""

    def __init__(self) -> None:
        self._shares: OrderedDict[str, S] = OrderedDict()
        """In the order of their last use."""
        self.busy: dict[str, S] = {}
        """The shares with requests that run or wait, in the order in which they last began one."""

    def __len__(self) -> int:
        return len(self._shares)

    def find(self, name: str) -> S | None:
        return self._shares.get(name)

    def use(self, name: str, new: S, now: float) -> S:
        """Return the share of ``name``, which is ``new`` if it had none, and mark it as active."""
        share = self._shares.setdefault(name, new)
        share.last_at = now
        self._shares.move_to_end(name)
        while len(self._shares) > MAX_SHARES and (oldest := next(iter(self._shares))) not in self.busy:
            del self._shares[oldest]
        self.busy.setdefault(name, share)
        return share

    def begin(self, name: str) -> None:
        """Count a request that begins. The other shares are before this one in the order then."""
        share = self.busy.pop(name)
        share.in_progress += 1
        self.busy[name] = share

    def is_contended(self, name: str, now: float) -> bool:
        """Return whether another share is active or was recently."""
        if len(self.busy) > (name in self.busy):
            return True
        others = (share for other, share in islice(reversed(self._shares.items()), 2) if other != name)
        return any(now - share.last_at < RECENT_SECONDS for share in others)


@dataclass
class _Tenant(_Share):
    users: _Shares[_User] = field(default_factory=_Shares)

    @property
    def waiting_users(self) -> int:
        return sum(bool(user.waiting) for user in self.users.busy.values())


class FairGate:
    """A gate through which the requests of all users begin in a fair order. It belongs to one event loop."""

    def __init__(self, is_pressed: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        """``is_pressed()`` holds while the process is overloaded. ``clock`` returns seconds."""
        self._is_pressed = is_pressed
        self._clock = clock
        self._tenants: _Shares[_Tenant] = _Shares()
        self._watching: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lateness = 0.0
        """Seconds by which this loop was late recently. It decays while requests go on."""

    @contextlib.asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Wait until a request of the caller may begin. The request is the block."""
        tenant = self._tenants.use(caller.tenant, _Tenant(), self._clock())
        user = tenant.users.use(caller.user, _User(), self._clock())
        self._watch()
        if user.waiting or not self._has_room(caller):
            future = asyncio.get_running_loop().create_future()
            user.waiting.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    self._leave(caller)
                else:
                    with contextlib.suppress(ValueError):  # it has left the queue if its turn came meanwhile
                        user.waiting.remove(future)
                    self._remove_if_idle(caller)
                raise
        else:
            self._begin(caller)
        is_over, began = False, self._clock()
        loop, patient_until = asyncio.get_running_loop(), self._clock() + PATIENT_SECONDS
        waiting: asyncio.TimerHandle

        def leave() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self.charge(caller, self._clock() - began)
                self._leave(caller)

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

    def charge(self, caller: Caller, seconds: float) -> None:
        """Let the user rest after work of ``seconds`` if requests wait, and the tenant if it has several such users.

        Work for a queue's message is charged apart from the request that sent it, since it uses the same processor.
        """
        tenant = self._tenants.find(caller.tenant)
        user = tenant.users.find(caller.user) if tenant is not None else None
        if tenant is None or user is None:
            return
        now = self._clock()
        among_tenants = self._tenants.is_contended(caller.tenant, now)
        if user.waiting and (among_tenants or tenant.users.is_contended(caller.user, now)):
            user.rest(now, seconds)
        if among_tenants and tenant.waiting_users > 1:
            tenant.rest(now, seconds)

    def charge_record(self, body: str, seconds: float) -> None:
        """Charge the work of a queue's message to the user whom its body names, from any thread."""
        caller = read_sender(body)
        if caller is not None and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.charge, caller, seconds)

    def _has_room(self, caller: Caller) -> bool:
        """Return whether one more request of the user may begin."""
        tenant, now = self._tenants.busy[caller.tenant], self._clock()
        user = tenant.users.busy[caller.user]
        among_tenants = self._tenants.is_contended(caller.tenant, now)
        among_users = tenant.users.is_contended(caller.user, now)
        shared = OVERLOADED if self._is_overloaded else CONTENDED
        room = shared if among_tenants or among_users else ALONE
        room_of_tenant = shared * (1 + among_users) if among_tenants else ALONE
        is_rested = now >= user.rests_until and not (among_tenants and now < tenant.rests_until)
        return user.in_progress < room and tenant.in_progress < room_of_tenant and is_rested

    @property
    def _is_overloaded(self) -> bool:
        return self._lateness > LATE_SECONDS or self._is_pressed()

    def _begin(self, caller: Caller) -> None:
        self._tenants.busy[caller.tenant].users.begin(caller.user)
        self._tenants.begin(caller.tenant)

    def _leave(self, caller: Caller) -> None:
        """Count a request that no longer counts, and begin waiting ones."""
        tenant = self._tenants.busy[caller.tenant]
        tenant.in_progress -= 1
        tenant.users.busy[caller.user].in_progress -= 1
        self._remove_if_idle(caller)
        self._admit()

    def _remove_if_idle(self, caller: Caller) -> None:
        """Remove the user and the tenant from the busy shares if they have no requests."""
        tenant = self._tenants.busy.get(caller.tenant)
        user = tenant.users.busy.get(caller.user) if tenant is not None else None
        if tenant is None or user is None:
            return  # another request that was cancelled at the same time has removed it
        if not user.in_progress and not user.waiting:
            del tenant.users.busy[caller.user]
        if not tenant.users.busy:
            del self._tenants.busy[caller.tenant]

    def _admit(self) -> None:
        """Begin as many waiting requests as there is room for, one of each tenant in turn."""
        has_begun = True
        while has_begun:
            has_begun = False
            for name, tenant in list(self._tenants.busy.items()):
                has_begun |= self._admit_one(name, tenant)

    def _admit_one(self, tenant_name: str, tenant: _Tenant) -> bool:
        """Begin a waiting request of the tenant, if possible of the user with the fewest in progress.

        Return whether a request has left the queue. One that was cancelled meanwhile does not begin.
        """
        for name, user in sorted(tenant.users.busy.items(), key=lambda item: item[1].in_progress):
            caller = Caller(tenant_name, name)
            if user.waiting and self._has_room(caller):
                future = user.waiting.popleft()
                if not future.done():
                    self._begin(caller)
                    future.set_result(None)
                return True
        return False

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._loop = asyncio.get_running_loop()
            self._watching = asyncio.create_task(self._measure_lateness())

    async def _measure_lateness(self) -> None:
        """Measure the lateness of the event loop, and begin waiting requests, while there are any."""
        loop = asyncio.get_running_loop()
        while self._tenants.busy:
            due = loop.time() + PAUSE_SECONDS
            await asyncio.sleep(PAUSE_SECONDS)
            self._lateness = max(self._lateness * 0.9, loop.time() - due)
            self._admit()
        self._lateness = 0.0
