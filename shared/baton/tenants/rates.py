"""Limits on what tenants and users do at once, in a minute and in a day.

A run costs one write, when it begins. Nothing is written when it ends: its place is free as soon as nobody holds the
lease of its thread, which the next run of the user checks. So the place of a dead worker is free when its lease ends,
and no place can be lost. The tokens of a run are counted when its place is given back; forgetting its thread gives it
back as well.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from aws_lambda_powertools import Logger

from baton.domain.errors import CountsBusy, LimitReached, RateLimited, StoreUnavailable, TenantRemoved
from baton.domain.metrics import Metric, count
from baton.domain.tenants.activity import (
    MAX_PLACES,
    RUN_SECONDS,
    Activity,
    Counter,
    CounterKind,
    Place,
    Rates,
    derive_long_tag,
    derive_user_tag,
)
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.ports.tenants.tenants import ActivityCounts, CountsTooLarge
from baton.ports.threads.leases import Lease
from baton.tenants.tenant_copies import CurrentLimits

logger = Logger(child=True)

PLACE_SECONDS = 15.0
"""Seconds after a stream's longest time at which its place is free, if its worker does not give it back."""
OTHERS_CHECKED = 2
"""The number of places of other users that a run checks, so that places of users who do not return are freed too."""
_TOO_LARGE = "the item is too large"
"""The reason, in the log, why activity is not counted."""


@dataclass(frozen=True, slots=True)
class RunPermit:
    """A run that the limits allow, and the activity with which it was checked."""

    scope: Scope
    thread_id: str
    message_id: str
    is_message: bool
    """False for answers to interrupts: they continue a run."""
    begins_itself: bool
    """True for a run that no message of a user begins."""
    rates: Rates
    counter: Counter
    activity: Activity
    leases: Mapping[str, datetime] = field(default_factory=dict)
    """The ends of the leases of threads that have a place."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits on runs, their messages and their tokens. Runs over a limit are refused."""

    counts: ActivityCounts
    limits: CurrentLimits
    clock: Clock

    async def check(
        self, scope: Scope, thread_id: str, message_id: str, *, is_message: bool, begins_itself: bool = False
    ) -> RunPermit | None:
        """Return the permit to begin a run, before anything is written; None if nothing is limited.

        Returns None in an outage of the store, too. Raises ``RateLimited``, and ``LimitReached`` if no further run may
        begin by itself today.
        """
        rates = Rates.of(CounterKind.RUNS, await self.limits.of(scope))
        if not rates and not (begins_itself and rates.starts):
            return None
        user = derive_user_tag(scope)
        counter = rates.choose_counter(user)
        try:
            activity = (await self.counts.get(scope, counter)).at(self.clock.now())
            start_refusal = activity.find_start_refusal(rates, user, thread_id) if begins_itself else None
            if start_refusal is not None:
                raise start_refusal
            # Check the rate first, so that a flood of messages does not read the threads of all places.
            refusal = activity.find_exhausted_rate(rates, user, self.clock.now(), is_message=is_message)
            if refusal is not None:
                raise refusal
            activity, leases = await self._settle(scope, activity, rates, user, thread_id)
        except StoreUnavailable:  # the turn's other requests report the outage
            return None
        refusal = activity.find_refusal(rates, user, thread_id, self.clock.now(), leases=leases, is_message=is_message)
        if refusal is not None:
            raise refusal
        return RunPermit(scope, thread_id, message_id, is_message, begins_itself, rates, counter, activity, leases)

    async def begin(self, permit: RunPermit, lease: Lease) -> RateLimited | LimitReached | None:
        """Take the place of the run that begins under ``lease``. Return the error if others have taken the last place.

        Another attempt at the same run keeps its place even if the place cannot be counted.
        """
        refusals: list[RateLimited | LimitReached] = []
        user, run, is_first, is_again = derive_user_tag(permit.scope), derive_long_tag(permit.message_id), True, False

        async def take(counted: Activity) -> Activity:
            nonlocal is_first, is_again
            refusals.clear()
            now, leases = self.clock.now(), permit.leases
            activity = counted.at(now)
            if not is_first:  # others have changed the activity since the permit was given
                activity, leases = await self._settle(permit.scope, activity, permit.rates, user, permit.thread_id)
            is_first = False
            before, used = activity.places.get(permit.thread_id), lease.thread.usage.total_tokens
            is_again = before is not None and before.run == run
            if before is not None and is_again and before.fence == lease.fence:
                return counted  # the place is stored; the store's answer was lost
            if not is_again:
                activity = activity.give_back(permit.thread_id, tokens=used)
                start_refusal = (
                    activity.find_start_refusal(permit.rates, user, permit.thread_id) if permit.begins_itself else None
                )
                refusal = start_refusal or activity.find_refusal(
                    permit.rates, user, permit.thread_id, now, leases=leases, is_message=permit.is_message
                )
                if refusal is not None:
                    refusals.append(refusal)
                    return counted
            tokens = before.tokens if before is not None and is_again else used
            run_place = Place(user, until=_compute_latest_run_end(now), run=run, fence=lease.fence, tokens=tokens)
            if permit.begins_itself and not is_again:
                activity = activity.begin_by_itself(user, permit.thread_id)
            return activity.take(permit.thread_id, run_place, messages=1 if permit.is_message and not is_again else 0)

        try:
            is_taken = await self.counts.change(permit.scope, permit.counter, take, known=permit.activity)
        except StoreUnavailable:  # the turn's other requests report the outage
            return None
        except CountsTooLarge:
            _note_uncounted(permit.scope, _TOO_LARGE)
            return None
        if refusals:
            return refusals[0]
        return None if is_taken or is_again else CountsBusy()

    async def admit(self, scope: Scope) -> None:
        """Count work with a model that belongs to no run, such as a dry run, as a message. Raises ``RateLimited``.

        If the store cannot be used, nothing is counted and the work is allowed.
        """
        rates, user = Rates.of(CounterKind.RUNS, await self.limits.of(scope)), derive_user_tag(scope)
        refusals: list[RateLimited] = []

        async def take(counted: Activity) -> Activity:
            refusals.clear()
            activity = counted.at(self.clock.now())
            refusal = activity.find_exhausted_rate(rates, user, self.clock.now(), is_message=True)
            if refusal is not None:
                refusals.append(refusal)
                return counted
            return activity.spend(user, messages=1)

        if rates.messages or rates.tokens:
            await self._count(scope, rates.choose_counter(user), take)
        if refusals:
            raise refusals[0]

    async def spend(self, scope: Scope, tokens: int) -> None:
        """Count the tokens of work that ``admit`` allowed. If they cannot be counted, the work keeps its result."""
        rates, user = Rates.of(CounterKind.RUNS, await self.limits.of(scope)), derive_user_tag(scope)

        async def add(counted: Activity) -> Activity:
            return counted.at(self.clock.now()).spend(user, tokens=tokens)

        if rates.tokens and tokens:
            try:
                await self._count(scope, rates.choose_counter(user), add)
            except CountsBusy:
                _note_uncounted(scope, "others change the counts all the time")

    async def _count(self, scope: Scope, counter: Counter, change: Callable[[Activity], Awaitable[Activity]]) -> None:
        """Change the counts. Raises ``CountsBusy`` if others change them all the time."""
        try:
            if not await self.counts.change(scope, counter, change):
                raise CountsBusy
        except StoreUnavailable:  # a limit must not cost a request
            return
        except CountsTooLarge:
            _note_uncounted(scope, _TOO_LARGE)

    async def _settle(
        self, scope: Scope, activity: Activity, rates: Rates, user: str, thread_id: str
    ) -> tuple[Activity, Mapping[str, datetime]]:
        """Give back the places of runs that have ended. Return the activity, and the ends of the other runs' leases.

        If no place of the tenant is free, all are checked. Otherwise the user's places are checked, and those
        ``OTHERS_CHECKED`` places of other users whose last check was longest ago.
        """
        now = self.clock.now()
        others = {name: run_place for name, run_place in activity.places.items() if name != thread_id}
        limit = rates.places.tenant
        is_full = len(others) >= (min(limit, MAX_PLACES) if limit is not None else MAX_PLACES)
        oldest = sorted(others, key=lambda name: others[name].until)[:OTHERS_CHECKED]
        to_check = {
            name: run_place for name, run_place in others.items() if is_full or run_place.user == user or name in oldest
        }
        if not to_check:
            return activity, {}
        threads = await self.counts.threads(scope, to_check)
        leases: dict[str, datetime] = {}
        for name, run_place in to_check.items():
            thread = threads.get(name)
            if thread is None:
                activity = activity.give_back(name)
            elif thread.lease_until is not None and thread.lease_until >= now:
                leases[name] = thread.lease_until
            # A thread with a smaller fence was read before the run with the place began.
            elif thread.fence >= run_place.fence or run_place.until <= now.timestamp():
                activity = activity.give_back(name, tokens=thread.tokens)
        # A renewed place is the last to be checked again.
        return activity.renew(leases, _compute_latest_run_end(now)), leases


@dataclass(frozen=True, slots=True)
class ForgottenRuns:
    """The tokens of forgotten threads, counted so that nobody gets tokens back by deleting conversations."""

    counts: ActivityCounts
    clock: Clock

    async def count(self, scope: Scope, thread_id: str) -> None:
        """Give back the place of the user's forgotten thread, before its tombstone is removed. It may be repeated.

        Raises ``StoreUnavailable``.
        """

        async def give_back(counted: Activity) -> Activity:
            activity = counted.at(self.clock.now())
            if thread_id not in activity.places:
                return counted
            thread = (await self.counts.threads(scope, [thread_id])).get(thread_id)
            return activity.give_back(thread_id, tokens=thread.tokens if thread is not None else None)

        for user in ("", derive_user_tag(scope)):
            try:
                is_changed = await self.counts.change(scope, Counter(CounterKind.RUNS, user), give_back)
            except CountsTooLarge:
                _note_uncounted(scope, _TOO_LARGE)
            else:
                if not is_changed:
                    raise StoreUnavailable


@dataclass(frozen=True, slots=True)
class PlaceLimits:
    """Limits on open connections, streams and waiting requests. Whatever exceeds a limit is refused."""

    counts: ActivityCounts
    limits: CurrentLimits
    clock: Clock

    async def take(self, scope: Scope, kind: CounterKind, name: str, *, seconds: float) -> None:
        """Take a place for ``seconds`` at most. Raises ``RateLimited`` if none is free.

        In an outage of the store no place is needed.
        """
        rates, user = Rates.of(kind, await self.limits.of(scope)), derive_user_tag(scope)
        if not rates:
            return
        refusals: list[RateLimited] = []

        async def take(activity: Activity) -> Activity:
            refusals.clear()
            now = self.clock.now()
            refusal = activity.at(now).find_refusal(rates, user, name, now)
            if refusal is not None:
                refusals.append(refusal)
                return activity
            return activity.at(now).take(name, Place(user, until=int(now.timestamp() + seconds)))

        is_taken = True
        with contextlib.suppress(StoreUnavailable, CountsTooLarge):  # a limit must not cost a connection
            is_taken = await self.counts.change(scope, rates.choose_counter(user), take)
        if refusals:
            raise refusals[0]
        if not is_taken:
            raise CountsBusy

    async def give_back(self, scope: Scope, kind: CounterKind, name: str) -> None:
        """Give the place back. If this fails, the place is free when its time has passed."""
        rates, user = Rates.of(kind, await self.limits.of(scope)), derive_user_tag(scope)
        if not rates:
            return

        async def give_back(activity: Activity) -> Activity:
            return activity.give_back(name)

        with contextlib.suppress(StoreUnavailable, CountsTooLarge, TenantRemoved):
            await self.counts.change(scope, rates.choose_counter(user), give_back)

    @asynccontextmanager
    async def hold(self, scope: Scope, kind: CounterKind, name: str, *, seconds: float) -> AsyncGenerator[None, None]:
        """Hold a place during the block, which lasts ``seconds`` at most. Raises ``RateLimited``."""
        await self.take(scope, kind, name, seconds=seconds + PLACE_SECONDS)
        try:
            yield
        finally:
            await self.give_back(scope, kind, name)


def _compute_latest_run_end(now: datetime) -> int:
    """Return the Unix time by which a run that is alive now must have ended."""
    return int(now.timestamp()) + RUN_SECONDS


def _note_uncounted(scope: Scope, reason: str) -> None:
    logger.warning("activity not counted", reason=reason, tenant_id=scope.tenant_id)
    count(Metric.RATES_NOT_COUNTED)
