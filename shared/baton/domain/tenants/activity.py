"""The activity of a tenant or of one user: places taken, messages in a minute, and tokens in a day.

A place is a unit of what may be used at once, such as a run or a connection. This module has values only: ``rates``
counts, and a store keeps the counts of each counter as one ``Activity``.
"""

from __future__ import annotations

import hashlib
import math
from base64 import urlsafe_b64encode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from baton.domain.errors import LimitReached, RateLimited
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.self_started_runs import SelfStartedRuns
from baton.domain.tenants.tenant_limits import DeploymentLimits

MAX_WAIT_SECONDS = 60
"""The longest wait for a place that callers are advised, because places are often given back early."""
MAX_COUNTED_USERS = 100
"""Users, or users and threads, whose counts of one kind are in a tenant's item, so that it stays small."""
MAX_PLACES = 1_000
"""Places in one item: about 90 KB of the 400 KB that DynamoDB allows."""
MINUTE_SECONDS, DAY_SECONDS = 60, 86_400
RUN_SECONDS = 3_600
"""Seconds after which the place of a connection, a stream or a wait is free again. It is longer than any run.

After this time, the place of a run is checked: see ``Place.until``."""


class CounterKind(StrEnum):
    """The kind of a counter: the users of its places."""

    RUNS = "RUNS"
    """Runs in progress, by their threads. This counter also counts messages and tokens."""
    CONNECTIONS = "CONNECTIONS"
    """WebSocket connections."""
    STREAMS = "STREAMS"
    """Streams that follow a thread's events, or a task."""
    WAITS = "WAITS"
    """Requests over HTTP that wait for a run of their thread in progress."""
    EXPORTS = "EXPORTS"
    """Pages of exports of the tenant."""


@dataclass(frozen=True, slots=True)
class Counter:
    """The item in which activity is counted: the tenant's, or one user's if only users are limited."""

    kind: CounterKind
    user: str = ""
    """The tag of the user; empty: the tenant's."""


@dataclass(frozen=True, slots=True)
class UserAndTenantLimit:
    """The limits of a tenant and of each of its users. None: no limit."""

    tenant: int | None = None
    user: int | None = None

    def __bool__(self) -> bool:
        return self.tenant is not None or self.user is not None


@dataclass(frozen=True, slots=True)
class DailyStarts:
    """The limits of runs that begin by themselves in a day. None: no limit."""

    user: int | None = None
    conversation: int | None = None

    def __bool__(self) -> bool:
        return self.user is not None or self.conversation is not None


@dataclass(frozen=True, slots=True)
class Rates:
    """The limits of one counter."""

    kind: CounterKind
    places: UserAndTenantLimit
    messages: UserAndTenantLimit = field(default=UserAndTenantLimit())
    """Messages a minute."""
    tokens: UserAndTenantLimit = field(default=UserAndTenantLimit())
    """Tokens a day."""
    starts: DailyStarts = field(default=DailyStarts())
    """Runs a day that begin by themselves."""

    @classmethod
    def of(cls, kind: CounterKind, limits: DeploymentLimits) -> Rates:
        """Return the limits of the counters of ``kind``."""
        match kind:
            case CounterKind.CONNECTIONS:
                return cls(kind, UserAndTenantLimit(limits.connections, limits.user_connections))
            case CounterKind.STREAMS:
                return cls(kind, UserAndTenantLimit(limits.follow_streams, limits.user_follow_streams))
            case CounterKind.WAITS:
                return cls(kind, UserAndTenantLimit(limits.runs_at_once, limits.user_runs_at_once))
            case CounterKind.EXPORTS:  # each reads the whole table, which all tenants share
                return cls(kind, UserAndTenantLimit(tenant=1))
            case CounterKind.RUNS:
                rules = limits.self_started_runs or SelfStartedRuns()
                return cls(
                    kind,
                    UserAndTenantLimit(limits.runs_at_once, limits.user_runs_at_once),
                    UserAndTenantLimit(limits.messages_per_minute, limits.user_messages_per_minute),
                    UserAndTenantLimit(limits.tokens_per_day, limits.user_tokens_per_day),
                    DailyStarts(rules.per_user_per_day, rules.per_conversation_per_day),
                )

    def __bool__(self) -> bool:
        """Return whether places, messages or tokens are limited. ``starts`` does not count."""
        return bool(self.places or self.messages or self.tokens)

    def choose_counter(self, user: str) -> Counter:
        """Return the counter in which a user (a tag) is counted: the tenant's, unless only users are limited."""
        is_of_tenant = any(most.tenant is not None for most in (self.places, self.messages, self.tokens))
        return Counter(self.kind, "" if is_of_tenant else user)


@dataclass(frozen=True, slots=True)
class Place:
    """A place that is taken, by a run, a connection, a stream or a wait."""

    user: str
    """The tag of the user."""
    until: int
    """Unix time, in seconds, until which it counts.

    For a run it is ``RUN_SECONDS`` after the run was last seen alive. The place also counts until the end of that day
    (UTC), unless it is given back when the run's tokens are counted."""
    run: str = ""
    """The tag of the run's message; empty for connections, streams and waits."""
    fence: int = 0
    """The fence of the thread when the run began."""
    tokens: int = 0
    """Tokens that the thread had used when the run began."""

    def is_taken(self, unix_time: int) -> bool:
        """Return whether the place counts at a Unix time, in seconds."""
        return self.until > unix_time or (
            bool(self.run) and (self.until - RUN_SECONDS) // DAY_SECONDS == unix_time // DAY_SECONDS
        )


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """The current state of a thread with a place."""

    fence: int
    lease_until: datetime | None
    """The end of its lease; None if nobody holds it."""
    tokens: int
    """Tokens of all its turns."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The counts of one counter."""

    revision: int = 0
    """The number of changes."""
    minute: int = 0
    """The number of the minute of the counted messages, since 1970."""
    messages: int = 0
    messages_of: Mapping[str, int] = field(default_factory=dict)
    """Messages of the minute by the tags of users."""
    day: int = 0
    """The number of the day of the counted tokens, since 1970."""
    tokens: int = 0
    tokens_of: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the day by the tags of users."""
    starts_of: Mapping[str, int] = field(default_factory=dict)
    """Runs of the day that began by themselves, by the tags of users and of threads."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Places by the ids of threads, connections, streams or waits."""

    def at(self, now: datetime) -> Activity:
        """Return the counts at ``now``, without those of an earlier minute or day and without expired places."""
        seconds = int(now.timestamp())
        activity = replace(self, places={name: place for name, place in self.places.items() if place.is_taken(seconds)})
        if seconds // MINUTE_SECONDS != self.minute:
            activity = replace(activity, minute=seconds // MINUTE_SECONDS, messages=0, messages_of={})
        if seconds // DAY_SECONDS != self.day:
            activity = replace(activity, day=seconds // DAY_SECONDS, tokens=0, tokens_of={}, starts_of={})
        return activity

    def give_back(self, name: str, *, tokens: int | None = None) -> Activity:
        """Return the counts without a place, and with its run's tokens. ``tokens`` is the thread's total, if known."""
        place = self.places.get(name)
        if place is None:
            return self
        spent_tokens = max(0, tokens - place.tokens) if tokens is not None else 0
        places = {other: other_place for other, other_place in self.places.items() if other != name}
        return replace(self, places=places).spend(place.user, tokens=spent_tokens)

    def spend(self, user: str, *, messages: int = 0, tokens: int = 0) -> Activity:
        """Return the counts with further messages and tokens of a user. Places stay as they are."""
        sent = {**self.messages_of, user: self.messages_of.get(user, 0) + messages} if messages else self.messages_of
        used = {**self.tokens_of, user: self.tokens_of.get(user, 0) + tokens} if tokens else self.tokens_of
        places = self.places.values()
        return replace(
            self,
            messages=self.messages + messages,
            messages_of=_limit_counts(sent, places),
            tokens=self.tokens + tokens,
            tokens_of=_limit_counts(used, places),
        )

    def take(self, name: str, place: Place, *, messages: int = 0) -> Activity:
        """Return the counts with the place, and with the user's ``messages``.

        If there are ``MAX_PLACES`` already, the place that expires first is dropped.
        """
        places = {other: other_place for other, other_place in self.places.items() if other != name}
        while len(places) >= MAX_PLACES:
            del places[min(places, key=lambda other: places[other].until)]
        places[name] = place
        return replace(self, places=places).spend(place.user, messages=messages)

    def begin_by_itself(self, user: str, thread_id: str) -> Activity:
        """Return the counts with a run of the user that has begun by itself in a thread."""
        tags = (user, derive_long_tag(thread_id))
        counted = {**self.starts_of, **{tag: self.starts_of.get(tag, 0) + 1 for tag in tags}}
        return replace(self, starts_of=_limit_counts(counted, self.places.values()))

    def find_start_refusal(self, rates: Rates, user: str, thread_id: str) -> LimitReached | None:
        """Return the error if no further run may begin by itself today; None if it may begin."""
        if _is_reached(rates.starts.conversation, self.starts_of.get(derive_long_tag(thread_id), 0)):
            return LimitReached("This conversation has reached its limit of automatic runs for today (UTC).")
        if _is_reached(rates.starts.user, self.starts_of.get(user, 0)):
            return LimitReached("This user has reached the limit of automatic runs for today (UTC).")
        return None

    def renew(self, names: Collection[str], until: int) -> Activity:
        """Return the counts with the places ``names`` extended to ``until``, in Unix seconds. Later ends stay.

        Raises ``KeyError`` for a name without a place.
        """
        renewed = {name: replace(self.places[name], until=until) for name in names if self.places[name].until < until}
        return replace(self, places={**self.places, **renewed}) if renewed else self

    def find_refusal(
        self,
        rates: Rates,
        user: str,
        name: str,
        now: datetime,
        *,
        leases: Mapping[str, datetime] | None = None,
        is_message: bool = False,
    ) -> RateLimited | None:
        """Return the error that refuses the user another place; None if it may be taken.

        The counts must be those ``at`` the time ``now``. ``user`` is a tag. ``name`` is the id of the thread,
        connection, stream or wait that requests the place; its own earlier place does not count. ``leases`` has the
        ends of the leases of threads with a place, for the wait that the error advises: then a dead worker's place is
        free. ``is_message``: whether the limits of messages apply too.
        """
        refusal = self.find_exhausted_rate(rates, user, now, is_message=is_message)
        if refusal is not None:
            return refusal
        others = {other: place for other, place in self.places.items() if other != name}
        of_user = {other: place for other, place in others.items() if place.user == user}
        if _is_reached(rates.places.user, len(of_user)):
            return _make_refusal(f"You have {_NAMES[rates.kind]}.", _count_seconds_to_wait(of_user, leases or {}, now))
        if _is_reached(rates.places.tenant, len(others)):
            return _make_refusal(
                f"Your organisation has {_NAMES[rates.kind]}.", _count_seconds_to_wait(others, leases or {}, now)
            )
        return None

    def find_exhausted_rate(self, rates: Rates, user: str, now: datetime, *, is_message: bool) -> RateLimited | None:
        """Return the error if the messages of the minute or the tokens of the day are used up; None if they are not."""
        day_ends, minute_ends = _count_seconds_left(now, DAY_SECONDS), _count_seconds_left(now, MINUTE_SECONDS)
        if _is_reached(rates.tokens.tenant, self.tokens):
            return _make_refusal("Your organisation has used its tokens of today (UTC).", day_ends)
        if _is_reached(rates.tokens.user, self.tokens_of.get(user, 0)):
            return _make_refusal("You have used your tokens of today (UTC).", day_ends)
        if is_message and _is_reached(rates.messages.tenant, self.messages):
            return _make_refusal("Your organisation has sent its messages of this minute.", minute_ends)
        if is_message and _is_reached(rates.messages.user, self.messages_of.get(user, 0)):
            return _make_refusal("You have sent your messages of this minute.", minute_ends)
        return None


_NAMES = {
    CounterKind.RUNS: "as many answers in progress as are allowed at once",
    CounterKind.CONNECTIONS: "as many open connections as are allowed",
    CounterKind.STREAMS: "as many open event streams as are allowed",
    CounterKind.WAITS: "as many requests waiting for answers in progress as are allowed",
    CounterKind.EXPORTS: "an export in progress, and only one is allowed at once",
}


def derive_user_tag(scope: Scope) -> str:
    """Return the user's tag in counts: eight characters, because one item has every count of the tenant."""
    return _digest(scope.user_id, 6)


def derive_long_tag(client_id: str) -> str:
    """Return the tag of a message or a thread in counts: sixteen characters.

    Clients choose these ids, and could find two ids with the same shorter tag.
    """
    return _digest(client_id, 12)


def _digest(text: str, size: int) -> str:
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:size]).decode()


def _make_refusal(reason: str, seconds: int) -> RateLimited:
    hours, minutes = math.ceil(seconds / 3600), math.ceil(seconds / 60)
    wait = f"{hours} hours" if minutes > 90 else f"{minutes} minutes" if seconds > 90 else f"{seconds} s"
    return RateLimited(f"{reason} Try again in {wait}.", retry_after=seconds)


def _is_reached(most: int | None, count: int) -> bool:
    return most is not None and count >= most


def _count_seconds_left(now: datetime, period: int) -> int:
    """Return the whole seconds until the ``period`` of seconds ends; at least one."""
    return max(1, math.ceil(period - now.timestamp() % period))


def _count_seconds_to_wait(places: Mapping[str, Place], leases: Mapping[str, datetime], now: datetime) -> int:
    """Return the seconds until the first place is free, from 1 to ``MAX_WAIT_SECONDS``, if none is given back."""
    ends = [leases[name].timestamp() if name in leases else place.until for name, place in places.items()]
    return max(1, min(math.ceil(min(ends, default=0) - now.timestamp()), MAX_WAIT_SECONDS))


def _limit_counts(counts_of: Mapping[str, int], places: Iterable[Place]) -> Mapping[str, int]:
    """Return at most ``MAX_COUNTED_USERS`` counts by tags. Users with a place go first, then the highest counts."""
    if len(counts_of) <= MAX_COUNTED_USERS:
        return counts_of
    busy = {place.user for place in places}
    tags = sorted(counts_of, key=lambda tag: (tag in busy, counts_of[tag]), reverse=True)
    return {tag: counts_of[tag] for tag in tags[:MAX_COUNTED_USERS]}
