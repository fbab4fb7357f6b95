"""A conversation at a desk: it waits for a person, or a person has taken it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, Self

from baton.domain.desks.desk import DeskDefinition

MAX_PREVIEW = 200
"""Characters of the last message that lists of conversations show."""


class DeskStatus(StrEnum):
    """The status of a conversation at a desk."""

    WAITING = "waiting"
    ACTIVE = "active"
    """A person has taken it."""


class ReturnReason(StrEnum):
    """The reason why a conversation has left a desk."""

    PERSON = "person"
    USER = "user"
    SILENCE = "silence"
    NOBODY = "nobody"
    HOURS = "hours"
    CLOSED = "closed"
    UNAVAILABLE = "unavailable"
    """The desk no longer exists, or the user may no longer talk to it."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a desk, as users see them."""

    id: str
    """Their user id."""
    name: str
    avatar_url: str | None = None

    @property
    def kind(self) -> Literal["person"]:
        """The kind of author, beside users and agents."""
        return "person"


@dataclass(frozen=True, slots=True)
class DeskSession:
    """The state of a conversation at a desk. Every change returns a new value."""

    arrived_at: datetime
    """The time at which the conversation came to this desk."""
    since: datetime
    """The time since which it has its status."""
    status: DeskStatus = DeskStatus.WAITING
    person: Person | None = None
    """The person who has taken it; None while it waits."""
    unanswered_since: datetime | None = None
    """The time since which the user waits for a person's words, even without a message; None if nobody waits."""
    unread: int = 0
    """Messages of the user since a person's last one."""
    last_message: str = ""
    """The beginning of the last message of the user or the person, even from before the desk.

    For a message without text, it has the names of the files.
    """
    user_name: str | None = None
    """The user's name in the token of the message that led to the desk; None if the token has none."""
    user_locale: str | None = None
    """The user's language at the same time; None if it is not known."""
    permissions: tuple[str, ...] = ()
    """The permissions that desks require and the user has, from the token of their last message or request.

    Items of earlier releases have none, until the user's next message.
    """
    ahead: int | None = None
    """The number of conversations that waited already when it came; None if unknown, or if it no longer waits."""

    def take(self, person: Person, now: datetime) -> Self:
        """Return the session as taken by ``person``."""
        return replace(self, status=DeskStatus.ACTIVE, since=now, person=person, ahead=None)

    def receive(self, text: str, now: datetime) -> Self:
        """Return the session with another message of the user."""
        since = self.unanswered_since or now
        return replace(self, unread=self.unread + 1, unanswered_since=since, last_message=text[:MAX_PREVIEW])

    def answer(self, text: str) -> Self:
        """Return the session with another message of the person."""
        return replace(self, unread=0, unanswered_since=None, last_message=text[:MAX_PREVIEW])

    def take_over(self, previous: DeskSession) -> Self:
        """Return the session with the user and the unanswered messages of the session at the previous desk."""
        return replace(
            self,
            unanswered_since=previous.unanswered_since or self.unanswered_since,
            unread=previous.unread,
            last_message=previous.last_message,
            user_name=previous.user_name,
            user_locale=previous.user_locale,
            permissions=previous.permissions,
        )

    def is_taken_by(self, person_id: str) -> bool:
        """Return whether the person has taken the conversation."""
        return self.person is not None and self.person.id == person_id


@dataclass(frozen=True, slots=True)
class DeskCheck:
    """The result of a check of a conversation at a desk: it returns for ``reason``, or is checked again ``at``."""

    reason: ReturnReason | None = None
    at: datetime | None = None
    """The time of the next check; None if it returns now."""


MAX_UNCHECKED = timedelta(minutes=15)
"""The longest time between two checks, because the desk may be removed or get other hours."""
MAX_SPANS = 1_000
"""Spans of opening hours in one wait. A wait of a week may take many if the desk opens for minutes a day."""


def check_desk(desk: DeskDefinition | None, session: DeskSession, now: datetime) -> DeskCheck:
    """Return whether the conversation returns to its main agent now, or else when to check it again.

    ``desk`` is None if the conversation's desk no longer exists.
    """
    if desk is None:
        return DeskCheck(ReturnReason.UNAVAILABLE)
    check = _check_times(desk, session, now)
    if check.reason is not None:
        return check
    latest = now + MAX_UNCHECKED
    return DeskCheck(at=min(check.at or latest, latest))


def _check_times(desk: DeskDefinition, session: DeskSession, now: datetime) -> DeskCheck:
    """Return the check by the desk's rules alone. It has neither a reason nor a time if nothing ends the status."""
    if session.status is DeskStatus.ACTIVE:
        return _check_silence(desk, session, now)
    ends_at = _compute_end_of_wait(desk, session.since)
    if not desk.is_open(now) and not desk.waits_when_closed:
        return DeskCheck(ReturnReason.HOURS)
    if ends_at is not None and now >= ends_at:
        return DeskCheck(ReturnReason.NOBODY)
    closes_at = desk.hours.find_next_closing(now) if desk.hours is not None and not desk.waits_when_closed else None
    return DeskCheck(at=min((moment for moment in (ends_at, closes_at) if moment is not None), default=None))


def _check_silence(desk: DeskDefinition, session: DeskSession, now: datetime) -> DeskCheck:
    if desk.silence is None:
        return DeskCheck()
    if session.unanswered_since is None:
        return DeskCheck(at=now + desk.silence)  # early enough for a message that arrives meanwhile
    ends_at = max(session.unanswered_since, session.since) + desk.silence
    return DeskCheck(ReturnReason.SILENCE) if now >= ends_at else DeskCheck(at=ends_at)


def _compute_end_of_wait(desk: DeskDefinition, since: datetime) -> datetime | None:
    """Return the end of the wait that began at ``since``, counted in opening time; None if it has no end."""
    remaining, moment = desk.wait, since
    hours = desk.hours
    if hours is None:
        return moment + remaining
    for _ in range(MAX_SPANS):
        if not hours.is_open(moment):
            opening = hours.find_next_opening(moment)
            if opening is None:
                return None
            moment = opening
        closing = hours.find_next_closing(moment)
        if closing is None or moment + remaining <= closing:
            return moment + remaining
        remaining -= closing - moment
        moment = closing
    return moment
