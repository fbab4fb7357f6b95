"""Answers that users have not read: how runs count them, how users mark them, and which clients are notified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.concurrency.tasks import gather_all, gather_each
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import make_thread_updated, make_unsequenced
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import OF_PEOPLE, ActionRequest, DecisionRequest, TurnRequest
from baton.failures.reports import report_failure
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.connections import Connections, Live, LiveRegistry
from baton.ports.threads.leases import UnreadChange
from baton.ports.threads.threads import ThreadStore
from baton.threads.outbox.connection_sender import WORKER_SECONDS, send_to
from baton.threads.requests.thread_access import get_own_thread, refusals_audited

PAGE = 100
"""The number of messages in a page."""
MAX_PAGES = 2
"""The most pages that are read to count unread answers. Earlier messages do not count."""
ATTEMPTS = 5
"""Attempts to move a marker while runs end."""
MAX_THREADS = 20
"""The number of the user's most recently active conversations whose connections are notified of a change elsewhere."""
AT_ONCE = 10
"""The number of conversations whose connections are read concurrently."""


def find_unread_change(request: TurnRequest, messages: Sequence[StoredMessage], user_id: str) -> UnreadChange:
    """Return the change that a run of ``request`` with these messages makes to its user's unread answers.

    Only answers after the user's last message in the run are unread: a user who writes has read what came before.
    """
    last_own = max((index for index, message in enumerate(messages) if message.is_own), default=-1)
    unread = sum(message.is_answer for message in messages[last_own + 1 :])
    is_read = last_own >= 0 or _is_by_user(request, user_id)
    begins_itself = messages[0].begun_by is not None
    awaits_user = False if is_read else True if begins_itself and unread else None
    return UnreadChange(unread, is_read=is_read, awaits_user=awaits_user)


def is_unasked(messages: Sequence[StoredMessage], reading: UnreadChange) -> bool:
    """Return whether the user's other connections must be notified of a run, because the user did not wait for it."""
    return not reading.is_read and (reading.unread > 0 or messages[0].begun_by is not None)


def _is_by_user(request: TurnRequest, user_id: str) -> bool:
    """Return whether the user has made a request other than a message."""
    if isinstance(request, DecisionRequest):
        return any(decision.answered_by == user_id for decision in request.decisions)
    return isinstance(request, ActionRequest) and request.action not in OF_PEOPLE


@dataclass(frozen=True, slots=True)
class UnreadAnswers:
    """The markers of what users have read, and the notifications of their changes for the users' other connections."""

    store: ThreadStore
    live: LiveRegistry
    connections: Connections
    audit: AuditLog
    clock: Clock

    async def mark_read(self, scope: Scope, thread_id: str, ordinal: int) -> None:
        """Note that the caller has read their own thread up to the message ``ordinal``, or all of a shorter thread.

        The number of unread answers never rises by this. Raises ``ThreadUnavailable`` (audited), and
        ``StoreUnavailable`` if runs end at the same time again and again.
        """
        async with refusals_audited(self.audit, scope, thread_id, "thread.mark_read"):
            for _ in range(ATTEMPTS):
                thread = await get_own_thread(self.store, scope, thread_id)
                unread = await self._count_unread(scope, thread, ordinal) if thread.unread else 0
                if unread >= thread.unread:
                    return
                marked_thread = await self.store.lower_unread(scope, thread, unread)
                if marked_thread is not None:
                    await self.announce(scope, marked_thread, is_marked=True)
                    return
        raise StoreUnavailable

    async def announce(self, scope: Scope, thread: Thread, *, is_marked: bool = False) -> None:
        """Send the event ``thread_updated`` to the user's connections that watch other conversations.

        Connections of the thread itself get the events of its runs, and this event only if the marker was moved
        (``is_marked``). Nothing is raised: clients read the number with the list of conversations.
        """
        try:
            await self._announce(scope, thread, is_marked=is_marked)
        except Exception as failure:  # noqa: BLE001 - the run is committed
            report_failure(failure, "unread answers not announced", thread_id=thread.id)

    async def _announce(self, scope: Scope, thread: Thread, *, is_marked: bool) -> None:
        """Send ``thread_updated`` to the receivers. Raises ``StoreUnavailable``."""
        recent, _ = await self.store.list_threads(scope, limit=MAX_THREADS, cursor=None)
        watched = [other.id for other in recent if other.id != thread.id and other.known_watchers != {}]
        own_live, *other_lives = await gather_each(
            [thread.id, *watched], lambda watched_id: self.live.live(scope, watched_id), at_once=AT_ONCE
        )
        receivers = {
            name
            for live in ([own_live] if is_marked else []) + other_lives
            for name in self._list_connections_of_user(scope, live)
        }
        receivers -= set() if is_marked else own_live.connections.keys()
        event = make_unsequenced(make_thread_updated(thread), threadId=thread.id)
        await gather_all(
            *(send_to(self.connections, name, [event], patience=WORKER_SECONDS) for name in sorted(receivers))
        )

    def _list_connections_of_user(self, scope: Scope, live: Live) -> list[str]:
        """Return the user's own connections among those of a thread, which other readers may watch too."""
        now = self.clock.now()
        return [name for name, end in live.connections.items() if end > now and live.users.get(name) == scope.user_id]

    async def _count_unread(self, scope: Scope, thread: Thread, ordinal: int) -> int:
        """Return the number of answers after the message ``ordinal``. Counting stops at the stored number or above."""
        unread, before = 0, None
        for _ in range(MAX_PAGES):
            page = await self.store.read_messages(scope, thread, limit=PAGE, before=before)
            unread += sum(message.is_answer for message in page.messages if message.ordinal > ordinal)
            before = page.next_before
            if before is None or before <= ordinal + 1 or unread >= thread.unread:
                break
        return unread
