"""Tasks that outlive the runs that began them. Their results begin separate runs in the same conversation."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from baton.domain.tenants.identity import Scope
from baton.domain.text import cut_to_bytes, make_readable

SHORTEST_PAUSE = timedelta(seconds=5)
"""The shortest pause between two reads of a task whose tool sets the pause."""
CHECKS_BEFORE_LONGER_PAUSES = 8
"""Checks after which the pause that a tool has set is doubled, and after as many more doubled again."""
FIRST_CHECK = timedelta(minutes=1)
LAST_CHECK = timedelta(minutes=30)
"""The first and the longest pause between two checks of a task whose tool sets no pause."""
LISTING_TIME = timedelta(days=30)
"""The time for which an ended task is listed."""
MAX_LISTED = 100
"""Ended tasks of a conversation that are listed. Beyond that, those that ended longest ago are removed."""
MAX_INPUT_BYTES = 96 * 1024
"""Bytes of a task's input: its message with its data, or its arguments. They fit into its item (at most 400 KB)."""
MAX_ENDED_MESSAGE = 1024
"""Bytes of the message of an ended task that are kept, because all tasks of a conversation are read together."""
MAX_PROGRESS = 200
"""Characters of a report on a task's progress."""
MAX_RESULT = 32_000
"""Characters of a result that are added to the conversation."""


def shorten_result(text: str, longest: int = MAX_RESULT) -> str:
    """Return the text, cut to ``longest`` characters. A cut text ends with a note on its length."""
    if len(text) <= longest:
        return text
    note = f"\n[Cut: {len(text)} characters in all.]"
    return f"{text[: longest - len(note)]}{note}"


def shorten_progress(text: str) -> str:
    """Return a report on a task's progress as one short line for people, without invisible characters."""
    return " ".join(make_readable(text[: 2 * MAX_PROGRESS]).split())[:MAX_PROGRESS]


class BackgroundKind(StrEnum):
    """The kind of a task's worker."""

    AGENT = "agent"
    """An agent of the deployment, in a fork of the conversation whose id is the task's."""
    REMOTE_AGENT = "remote_agent"
    """An agent that runs elsewhere, in its own task."""
    TOOL = "tool"


class BackgroundStatus(StrEnum):
    """The status of a task."""

    WORKING = "working"
    WAITING = "waiting"
    """It waits for an approval, in the fork in which it works."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def is_open(self) -> bool:
        """Whether a task may still report."""
        return self in (BackgroundStatus.WORKING, BackgroundStatus.WAITING)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTask:
    """A task in the background. Every change returns a new value."""

    id: str
    kind: BackgroundKind
    name: str
    """The id of the agent, or the name of the tool."""
    agent_id: str
    """The agent that began it."""
    message: str
    """The question to the agent, or the tool's arguments; the beginning of them once the task has ended."""
    started_at: datetime
    expires_at: datetime
    permissions: tuple[str, ...] = ()
    """The permissions of the user for whom it was begun. Its work and the run of its result have them."""
    user_name: str | None = None
    status: BackgroundStatus = BackgroundStatus.WORKING
    progress: str | None = None
    check_at: datetime | None = None
    """The time of the next check; None once it has ended."""
    checks: int = 0
    poll_seconds: float | None = None
    """The shortest pause between two reads, in seconds, that the tool allows; None if it sets none."""
    ended_at: datetime | None = None
    result_run_id: str | None = None
    """The run that its result began."""
    location: str | None = None
    """The address at which the state of a tool's task is read; a remote agent's own id of its task."""
    token: str | None = None
    """The secret with which a tool or a remote agent reports; its digest once the task has ended."""
    is_deletable: bool = False
    """Whether a cancelled task is deleted at its ``location``."""
    data: Mapping[str, Any] | None = None
    """Structured data for a remote agent."""
    continues: str | None = None
    """The remote agent's own id of the task that the message continues; None for a new task."""
    earlier_contents: Mapping[str, int] = field(default_factory=dict)
    """The contents of the continued task before the message: see ``RemoteTask.known``."""
    is_asking: bool = False
    """Whether the remote agent has asked a question, and keeps its task open for the answer."""
    is_put_off: bool = False
    """Whether the worker that checks the task does the tool's work itself. ``location`` then has the arguments."""
    failures: int = 0
    """Consecutive checks at which the remote agent could not be reached, or attempts at work that was put off."""
    revision: int = 1

    @property
    def is_open(self) -> bool:
        """True if it may still report."""
        return self.status.is_open

    def is_over(self, now: datetime) -> bool:
        """Return whether the task is open though its time has passed."""
        return self.is_open and now >= self.expires_at

    def plan_check(self, now: datetime) -> Self:
        """Return the task with the time of its next check, which is at most ``expires_at``.

        The first pause is ``FIRST_CHECK``, and each further pause is twice the previous one. A pause that the tool has
        set is at least ``SHORTEST_PAUSE``, and is doubled after every ``CHECKS_BEFORE_LONGER_PAUSES`` checks. No pause
        is longer than ``LAST_CHECK``.
        """
        if self.poll_seconds is None:
            pause = min(FIRST_CHECK * 2 ** min(self.checks, 20), LAST_CHECK)
        else:
            seconds = min(self.poll_seconds, LAST_CHECK.total_seconds())
            doublings = min(self.checks // CHECKS_BEFORE_LONGER_PAUSES, 20)
            pause = min(max(timedelta(seconds=seconds), SHORTEST_PAUSE) * 2**doublings, LAST_CHECK)
        return replace(self, checks=self.checks + 1, check_at=min(now + pause, self.expires_at))

    def end(self, status: BackgroundStatus, now: datetime, run_id: str | None = None) -> Self:
        """Return the task as ended with ``status``, without the fields that only its work needs.

        ``run_id`` is the id of the run of its result, if there is one.
        """
        return replace(
            self,
            status=status,
            ended_at=now,
            check_at=None,
            result_run_id=run_id,
            token=_digest_secret(self.token) if self.token is not None else None,
            message=cut_to_bytes(self.message, MAX_ENDED_MESSAGE),
            data=None,
            earlier_contents={},
            location=None if self.is_put_off else self.location,
        )

    def has_token(self, secret: str) -> bool:
        """Return whether the task's tool or remote agent reports with ``secret``, even if the task has ended."""
        if self.token is None:
            return False
        compared = secret if self.is_open else _digest_secret(secret)
        return hmac.compare_digest(compared.encode(), self.token.encode())

    def make_scope(self, owner: Scope) -> Scope:
        """Return the scope of its work and of the run of its result."""
        return Scope(owner.tenant_id, owner.user_id, frozenset(self.permissions), name=self.user_name)


def _digest_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def derive_background_task_id(thread_id: str, call_id: str) -> str:
    """Return the id of the task that a call begins, the same in every attempt at the call.

    It is also the id of the fork in which an agent works. Like clients' thread ids, it is a UUID of version 4, because
    thread ids of version 5 belong to handoffs.
    """
    digest = hashlib.sha256(f"background\0{thread_id}\0{call_id}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def derive_result_message_id(thread_id: str, task_id: str) -> str:
    """Return the id of the message with which the result of a task enters its conversation, once."""
    return str(uuid.uuid5(uuid.UUID(thread_id), f"task\0{task_id}"))
