"""Ports for the messages of threads, the records of turns, and feedback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import ClientOffer
from baton.ports.threads.leases import Lease


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """The point of a run at which a message has entered it."""

    agent_id: str
    """The agent that was active."""
    results: int
    """The number of tool results before it, in that agent's messages."""


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """The record of an accepted message id, with the position of its run's messages."""

    message_id: str
    run_id: str
    digest: str
    """SHA-256 of the message's content."""
    first_ordinal: int
    fence: int
    """The fence of the latest attempt at the message."""
    permissions: tuple[str, ...] = ()
    """The permissions of the message's token, for a worker that takes over the run."""
    client: ClientOffer | None = None
    """The client's offer in the request, for that worker and for the run that continues this one."""
    entered: EntryPoint | None = None
    """Set if the message has entered a run that answers another one. It counts if the run's messages contain it."""
    is_withdrawn: bool = False
    """True if the user has withdrawn the message: it has no run."""

    def is_entered_in(self, run_id: str) -> bool:
        """Return whether the message has entered the run ``run_id``."""
        return self.entered is not None and self.run_id == run_id


@dataclass(frozen=True, slots=True)
class Page:
    """A page of messages, in order. ``next_before`` is the ``before`` of the next page; None on the last page."""

    messages: tuple[StoredMessage, ...]
    next_before: int | None


class Messages(Protocol):
    """Messages of threads, and the records of accepted ones.

    Methods that read messages of a ``thread`` return those of its selected branch (``Thread.path``). With
    ``thread.unbranched`` they return the messages of all branches, with ``thread.continue_from`` those of another one.
    See ``ThreadStore``.
    """

    async def open_turn(self, lease: Lease, turn: TurnRecord) -> TurnRecord | None:
        """Record that the message id is being answered, and return None; if it has a record, return that instead."""

    async def reopen_turn(self, lease: Lease, turn: TurnRecord) -> None:
        """Replace the record of a message id whose attempt died."""

    async def get_turn(self, scope: Scope, thread_id: str, message_id: str) -> TurnRecord | None:
        """Return the record of a message id. ``get_thread`` or a lease must have checked the thread's ownership."""

    async def withdraw(self, scope: Scope, thread_id: str, message_id: str, digest: str) -> TurnRecord | None:
        """Record that the message is withdrawn, and return None; if it has a record, return that instead.

        The thread's ownership must have been checked.
        """

    async def put_message(self, lease: Lease, message: StoredMessage) -> None:
        """Write a message at its ordinal. Readers see it once the pointer has passed it."""

    async def put_messages(self, lease: Lease, messages: Sequence[StoredMessage]) -> None:
        """Write many messages like ``put_message``, in fewer requests. Some may be written even if it raises."""

    async def find_message(self, scope: Scope, thread: Thread, message_id: str) -> StoredMessage | None:
        """Return the committed message of any branch by its id; None if it is not among the newest 20 MB of messages.

        ``get_thread`` must have checked the thread's ownership.
        """

    async def recent_messages(
        self, scope: Scope, thread: Thread, *, token_budget: int, before: int | None = None, first_ordinal: int = 0
    ) -> Sequence[StoredMessage]:
        """Return the newest messages below the pointer (or ``before``) whose tokens fit the budget, in order.

        Messages before ``first_ordinal`` are excluded. One more message that does not fit is included, to show that
        there are more.
        """

    async def put_summary(self, scope: Scope, thread: Thread, *, ordinal: int, agent_id: str, summary: str) -> None:
        """Store an agent's summary of all messages before a committed message, together with that message.

        The message is read with its summaries. No lease is needed, because nothing that a turn has written changes. Do
        nothing if the message no longer exists, or has a summary for the agent: prompts with it must not change.
        """

    async def read_messages(self, scope: Scope, thread: Thread, *, limit: int, before: int | None) -> Page:
        """Return the page of messages before ``before`` (None: the newest). Pages of long messages are shorter."""

    async def run_messages(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, below: int | None
    ) -> Sequence[StoredMessage]:
        """Return the messages below the ordinal ``below`` (None: all) of the run that begins at ``first_ordinal``."""


class FeedbackStore(Protocol):
    """Feedback of users on answers in their own threads. Every method raises ``StoreUnavailable``.

    ``get_thread`` must have checked that the caller may read the thread.
    """

    async def put(self, scope: Scope, thread: Thread, feedback: Feedback) -> None:
        """Store the feedback in place of earlier feedback, and mark the thread as having some.

        Raises ``ThreadUnavailable`` for a thread that is not the caller's own, or deleted meanwhile.
        """

    async def withdraw(self, scope: Scope, thread: Thread, ordinal: int) -> None:
        """Remove the feedback on the message at ``ordinal``, if there is any."""

    async def get(self, scope: Scope, thread: Thread, ordinal: int) -> Feedback | None:
        """Return the feedback on the message at ``ordinal``; None if there is none."""

    async def between(self, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int) -> Sequence[Feedback]:
        """Return the feedback on messages from ``first_ordinal`` up to, but not including, ``end_ordinal``, in order.

        No request is made for a thread without feedback (``Thread.has_feedback``).
        """
