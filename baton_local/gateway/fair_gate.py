"""Fair shares of this machine for tenants and their users: one that sends very much waits, others hardly notice.

In AWS each invocation has a processor for itself. Here all functions share one process, so that the requests of one
user, each allowed, would slow down everybody's. A user begins only some requests at once, and the others wait in their
order. So does a tenant, so that it gains nothing by dividing its requests among users. A request counts until its
answer ends. One that lasts longer than ``BUSY_SECONDS`` probably waits for a model, which needs no processor: it counts
only while the process is overloaded.
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

from baton_local.gateway.callers import Caller, sender_of

ALONE = 8
"""Requests of a user that begin at once if nobody else has sent anything recently; also of a tenant."""
CONTENDED = 2
"""The same while others are active too. A tenant with several active users has twice as many."""
OVERLOADED = 1
"""The same if the process is overloaded as well."""
BUSY_SECONDS = 0.25
PATIENT_SECONDS = 20.0
"""The longest time for which a request counts. API Gateway answers those that wait for 29 seconds itself."""
RECENT_SECONDS = 10.0
REST = 3.0
"""The rest after a request of a user who has others waiting, as a multiple of the time that it took."""
MAX_REST_SECONDS = 0.5
LATE_SECONDS = 0.02
"""The lateness of the event loop from which it counts as overloaded."""
PAUSE_SECONDS = 0.02
"""The pause between two looks at the load."""
MAX_SHARES = 10_000
"""Tenants, and users of a tenant, that are kept in mind."""


@dataclass
class _Share:
    """The requests of a tenant or of a user."""

    begun: int = 0
    last_at: float = 0.0
    rests_until: float = 0.0
    """The end of its rest: one with waiting requests rests after each, and so takes a quarter of the processor."""

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
        """Those that were used last come last."""
        self.busy: dict[str, S] = {}
        """Those with requests that have begun or wait. The one that began a request last comes last."""

    def __len__(self) -> int:
        return len(self._shares)

    def find(self, name: str) -> S | None:
        return self._shares.get(name)

    def use(self, name: str, new: S, now: float) -> S:
        """Return the share of ``name``, or ``new`` if it has none."""
        share = self._shares.setdefault(name, new)
        share.last_at = now
        self._shares.move_to_end(name)
        while len(self._shares) > MAX_SHARES and (oldest := next(iter(self._shares))) not in self.busy:
            del self._shares[oldest]
        self.busy.setdefault(name, share)
        return share

    def begin(self, name: str) -> None:
        """Count a request that begins; the next is another's turn."""
        share = self.busy.pop(name)
        share.begun += 1
        self.busy[name] = share

    def is_contended(self, name: str, now: float) -> bool:
        """Return whether another one is active or was recently."""
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
        """``is_pressed()`` holds while the process is overloaded."""
        self._is_pressed = is_pressed
        self._clock = clock
        self._tenants: _Shares[_Tenant] = _Shares()
        self._watching: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lateness = 0.0
        """Seconds by which this loop was late recently. It decays while requests go on."""

    @contextlib.asynccontextmanager
    async def turn(self, caller: Caller) -> AsyncIterator[None]:
        """Wait until a request of the caller may begin; within the block, it does."""
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
        """Let a user rest who has requests waiting, and a tenant with several such users, after work for them.

        The work of a queue's message is not part of the request that sent it, and needs the same processor.
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
        caller = sender_of(body)
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
        return user.begun < room and tenant.begun < room_of_tenant and is_rested

    @property
    def _is_overloaded(self) -> bool:
        return self._lateness > LATE_SECONDS or self._is_pressed()

    def _begin(self, caller: Caller) -> None:
        self._tenants.busy[caller.tenant].users.begin(caller.user)
        self._tenants.begin(caller.tenant)

    def _leave(self, caller: Caller) -> None:
        tenant = self._tenants.busy[caller.tenant]
        tenant.begun -= 1
        tenant.users.busy[caller.user].begun -= 1
        self._remove_if_idle(caller)
        self._admit()

    def _remove_if_idle(self, caller: Caller) -> None:
        tenant = self._tenants.busy.get(caller.tenant)
        user = tenant.users.busy.get(caller.user) if tenant is not None else None
        if tenant is None or user is None:
            return  # requests that were cancelled together: another one has removed it
        if not user.begun and not user.waiting:
            del tenant.users.busy[caller.user]
        if not tenant.users.busy:
            del self._tenants.busy[caller.tenant]

    def _admit(self) -> None:
        """Let the waiting requests begin for which there is room, one of each tenant in turn."""
        has_begun = True
        while has_begun:
            has_begun = False
            for name, tenant in list(self._tenants.busy.items()):
                has_begun |= self._admit_one(name, tenant)

    def _admit_one(self, tenant_name: str, tenant: _Tenant) -> bool:
        """Let a request of the tenant begin, of the user with the fewest; return whether one could."""
        for name, user in sorted(tenant.users.busy.items(), key=lambda item: item[1].begun):
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
            self._watching = asyncio.create_task(self._look())

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while self._tenants.busy:
            due = loop.time() + PAUSE_SECONDS
            await asyncio.sleep(PAUSE_SECONDS)
            self._lateness = max(self._lateness * 0.9, loop.time() - due)
            self._admit()
        self._lateness = 0.0
