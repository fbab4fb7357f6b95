"""The pointer of a thread: one write moves it, and makes a run's messages part of the thread."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from datetime import datetime

from baton.agents.run_facts import RunFacts
from baton.domain.errors import BatonError
from baton.domain.memory.episode import EpisodeRef
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.usage import add_up_by_model
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.run_end import RunEnd
from baton.domain.threads.thread import ConversationState, Thread, ThreadStatus, Watchers
from baton.ports.threads.leases import Commit, CommittedThread
from baton.threads.outbox.outbox import Outbox
from baton.threads.sessions.unread_answers import find_unread_change
from baton.turns.finished_runs import FinishedRun
from baton.turns.lease_keeper import LeaseHolder
from baton.turns.turn_services import TurnServices


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPointer:
    """The pointer of a run's thread."""

    services: TurnServices
    facts: RunFacts
    holder: LeaseHolder
    outbox: Outbox
    time_zone: str | None
    """The user's time zone; None if it is not known."""

    async def move(
        self,
        messages: tuple[StoredMessage, ...],
        end: RunEnd,
        session: EpisodeRef | None,
        pending: PendingInterrupts | None,
        *,
        windows: tuple[HistoryWindow, ...] | None = None,
        messages_may_change: bool = False,
        summary_at: int | None = None,
    ) -> FinishedRun:
        """Make ``messages`` part of the thread in one write, then refresh the connections to deliver to.

        The other parameters are fields of ``Commit``. Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        before = self._thread
        conversation, check_at = await self._store_conversation(end)
        watchers = self.outbox.delivery.watchers
        # Requests to cancel later runs are read together with the watchers only, so the next run has to look.
        if self.outbox.delivery.cancelled_runs - {self.facts.run.run_id}:
            watchers = None
        reading = find_unread_change(self.facts.request, messages, before.user_id)
        commit = Commit(
            next_ordinal=messages[-1].ordinal + 1,
            last_seq=end.last_seq,
            usage=end.usage,
            tokens=sum(message.tokens for message in messages),
            ended=session,
            pending=pending,
            conversation=conversation,
            windows=windows if windows != before.windows else None,
            spent=end.by_model,
            error_code=end.error_code,
            time_zone=self.time_zone if self.time_zone != before.time_zone else None,
            messages_may_change=messages_may_change,
            summary_at=summary_at,
            messages_fence=messages[-1].fence or None,
            watchers=Watchers(before.live_changes, watchers) if watchers is not None else None,
            check_at=check_at,
            reading=reading,
            versions=before.with_pinned(end.versions),
        )
        committed_thread = await self.services.store.commit(self.holder.lease, commit)
        self.holder.note_commit()
        if conversation is not None:
            await self.services.conversations.leave_desk(self.holder.lease.scope, before, conversation)
        # Connections that attach after the commit read the tail from the message. This finds those attached before.
        if committed_thread.live_changes != before.live_changes or watchers is None:
            with contextlib.suppress(BatonError):
                await self.outbox.delivery.refresh(self.outbox.log.logged_seq)
        return FinishedRun(self._make_thread_after(commit, committed_thread, messages[-1]), messages)

    async def _store_conversation(self, end: RunEnd) -> tuple[ConversationState | None, datetime | None]:
        """Store the run's change of the conversation. Return the new state, and the time of its desk's check.

        Both are None without a change; the time is None if no new check is due.
        """
        if end.change is None:
            return None, None
        # Check the lease first. The change has its own fences, and a worker that took over may not have raised
        # them yet.
        await self.holder.ensure_held(self.outbox.log.last_seq)
        lease = self.holder.lease
        conversation = await self.services.conversations.keep(lease, end.change)
        check_at = await self.services.conversations.find_desk_check_time(lease.scope, lease.thread, conversation)
        return conversation, check_at

    def _make_thread_after(self, commit: Commit, committed: CommittedThread, last: StoredMessage) -> Thread:
        """Return the thread as the commit has left it, with the run's ``last`` message."""
        before, awaits_user = self._thread, commit.reading.awaits_user
        return replace(
            before,
            status=ThreadStatus.CLOSED if commit.ended else ThreadStatus.ACTIVE,
            run=None,
            next_ordinal=commit.next_ordinal,
            last_seq=commit.last_seq,
            reserved_seq=commit.last_seq,
            usage=before.usage + commit.usage,
            last_activity_at=last.timestamp,
            pending=commit.pending,
            conversation=commit.conversation or before.conversation,
            windows=before.windows if commit.windows is None else commit.windows,
            notifies=committed.notifies,
            title=committed.title,
            spent=add_up_by_model(before.spent, commit.spent),
            last_error=commit.error_code or before.last_error,
            time_zone=commit.time_zone or before.time_zone,
            versions=commit.versions or before.versions,
            messages_fence=commit.messages_fence or self.holder.lease.fence,
            live_changes=committed.live_changes,
            watchers=commit.watchers,
            unread=committed.unread,
            awaits_user=(before.awaits_user if awaits_user is None else awaits_user) and commit.ended is None,
        )

    @property
    def _thread(self) -> Thread:
        return self.holder.lease.thread
