"""Import a session from another system: a closed thread, whose episode the closing pipeline makes like any other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.errors import ImportConflict, StoreUnavailable, ThreadUnavailable
from baton.domain.memory.episode import EpisodeRef
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope, derive_record_id, derive_run_id
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.imported_session import IMPORT_TURN, ImportedSession
from baton.domain.threads.message import IMPORTED, Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import EndReason
from baton.memory.prompt.message_prompts import count_message_tokens, quote_cause
from baton.ports.agents.chat_model import TokenCounter
from baton.ports.clock import TimeZones
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.leases import Commit, Lease, LeaseRequest, NoSuchThread
from baton.ports.threads.messages import FeedbackStore, TurnRecord
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.threads.leases import acquire_when_free, holding
from baton.threads.sessions.sessions import Sessions

PATIENCE_SECONDS = 30
"""Seconds for which an import waits for another request that holds the thread, such as an earlier try."""
MESSAGES_AT_ONCE = 200
"""The number of messages that are written concurrently."""
AT_ONCE = 16
"""The number of ratings that are written concurrently."""
RENEW_SECONDS = 8.0
"""The age at which the lease is renewed. It lasts thirty seconds."""
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further try to write messages: one partition takes a thousand write units a second."""


@dataclass(frozen=True, slots=True)
class Importer:
    """The import of sessions. A repeated request completes an import whose worker died half-way."""

    store: ThreadStore
    sessions: Sessions
    agents: AgentRegistry
    counter: TokenCounter
    feedback: FeedbackStore
    audit: AuditLog
    time_zones: TimeZones

    async def run(self, scope: Scope, imported: ImportedSession) -> EpisodeRef:
        """Store the session's messages, close the thread and start the pipeline.

        Raises ``ImportConflict`` if the thread has other messages, ``UnknownAgent``, ``ThreadUnavailable``,
        ``ThreadBusy`` and ``StoreUnavailable``.
        """
        agent = await self.agents.for_new_thread(scope, imported.agent_id)
        request = LeaseRequest(
            imported.thread_id,
            may_create=imported.may_create,
            agent_id=agent.id,
            idle_seconds=agent.timeouts.idle_minutes * 60,
        )
        try:
            lease = await acquire_when_free(self.store, scope, request, seconds=PATIENCE_SECONDS)
        except NoSuchThread:
            raise ThreadUnavailable(is_unused=True) from None
        ref = _make_ref(imported, lease.thread.created_at)
        async with holding(self.store, lease):
            if lease.thread.next_ordinal or lease.thread.run is not None or lease.thread.parent_thread_id is not None:
                await self._release_repeated(lease, imported)
                await self.sessions.finish_again(scope, ref.thread_id, ref.number)
            else:
                await self._store(lease, imported, ref)
                await self.sessions.finish(scope, ref.thread_id, ref, ref.reason)
        # The thread began with the import, also for a repetition. Its session may have ended years ago.
        once = Once(derive_record_id(ref.thread_id, "thread.import", ref.id), lease.thread.created_at)
        detail = {"episodeId": ref.id, "messages": len(imported.messages)}
        await self.audit.record(
            scope, "thread.import", thread_id=ref.thread_id, outcome="imported", detail=detail, once=once
        )
        return ref

    async def _release_repeated(self, lease: Lease, imported: ImportedSession) -> None:
        """End the lease, and raise ``ImportConflict`` unless the thread's import was the same."""
        turn = await self.store.get_turn(lease.scope, lease.thread_id, IMPORT_TURN)
        if lease.thread.run is not None:
            await self.store.abandon(lease)
        else:
            await self.store.release(lease)
        if turn is None or turn.digest != imported.digest or not lease.thread.next_ordinal:
            raise ImportConflict

    async def _store(self, lease: Lease, imported: ImportedSession, ref: EpisodeRef) -> None:
        """Store the messages, the title and the ratings, and commit them as a closed session."""
        thread_id = lease.thread_id
        record = TurnRecord(
            IMPORT_TURN, derive_run_id(thread_id, IMPORT_TURN), imported.digest, first_ordinal=0, fence=lease.fence
        )
        _, _, zone = await gather_all(
            self.store.reopen_turn(lease, record),
            self.sessions.episodes.begin(lease, ref),
            self._find_last_zone(lease, imported),
        )
        size = sum(len(message.text) for message in imported.messages)
        messages = await off_loop(size, _make_stored_messages, imported, self.counter, lease.thread.agent_id, zone)
        renewed_lease = _RenewedLease(self.store, lease)
        for start in range(0, len(messages), MESSAGES_AT_ONCE):
            await self._put(renewed_lease, messages[start : start + MESSAGES_AT_ONCE])
        await self._add_title_and_feedback(renewed_lease, imported, messages)
        lease = await renewed_lease.renew_if_due()
        commit = Commit(
            next_ordinal=len(messages),
            # As if there had been one event: clients that ask for events get the messages instead.
            last_seq=lease.first_seq,
            usage=Usage(),
            tokens=sum(message.tokens for message in messages),
            ended=ref,
        )
        await self.store.commit(lease, commit)

    async def _find_last_zone(self, lease: Lease, imported: ImportedSession) -> str | None:
        """Return the time zone that the user was in last, if the first message has none; otherwise None."""
        if imported.messages[0].time_zone is not None:
            return None
        last = await self.time_zones.last(lease.scope)
        return last.name if last is not None else None

    async def _put(self, renewed_lease: _RenewedLease, messages: Sequence[StoredMessage]) -> None:
        """Write messages, with further tries after ``PAUSES``: a repeated request would have to write all again."""
        for pause in PAUSES:
            try:
                return await self.store.put_messages(await renewed_lease.renew_if_due(), messages)
            except StoreUnavailable:
                await asyncio.sleep(pause)
        return await self.store.put_messages(await renewed_lease.renew_if_due(), messages)

    async def _add_title_and_feedback(
        self, renewed_lease: _RenewedLease, imported: ImportedSession, messages: Sequence[StoredMessage]
    ) -> None:
        """Add title and feedback before the commit, so that a repetition does not undo later changes of the user."""
        lease = await renewed_lease.renew_if_due()
        if imported.title is not None:
            await self.store.keep_made_title(lease.scope, lease.thread_id, title=imported.title, preview=None)
        ratings = [
            Feedback(message.id, ordinal, messages[ordinal].run_id, message.rating, message.comment, message.rated_at)
            for ordinal, message in enumerate(imported.messages)
            if message.rating is not None and message.rated_at is not None
        ]
        for start in range(0, len(ratings), AT_ONCE):
            batch = ratings[start : start + AT_ONCE]
            await gather_all(*(self.feedback.put(lease.scope, lease.thread, feedback) for feedback in batch))
            await renewed_lease.renew_if_due()


class _RenewedLease:
    """The lease of an import, renewed while the import lasts."""

    def __init__(self, store: ThreadStore, lease: Lease) -> None:
        self._store = store
        self._lease = lease
        self._renewed_at = asyncio.get_running_loop().time()

    async def renew_if_due(self) -> Lease:
        """Return the lease, renewed if it is old. Raises ``LeaseLost`` and ``StoreUnavailable``."""
        await asyncio.sleep(0)  # others run between two of many records
        now = asyncio.get_running_loop().time()
        if now - self._renewed_at >= RENEW_SECONDS:
            self._lease = await self._store.renew(self._lease, used_seq=self._lease.first_seq)
            self._renewed_at = now
        return self._lease


def _make_ref(imported: ImportedSession, thread_created_at: datetime) -> EpisodeRef:
    return EpisodeRef(
        imported.thread_id,
        number=1,
        first_ordinal=0,
        end_ordinal=len(imported.messages),
        reason=EndReason.USER_CLOSED,
        ended_at=imported.ended_at,
        thread_created_at=thread_created_at,
    )


def _make_stored_messages(
    imported: ImportedSession, counter: TokenCounter, agent_id: str, last_zone: str | None
) -> Sequence[StoredMessage]:
    """Return the messages as the thread stores them. A run begins with every message of the user.

    ``last_zone`` is the time zone that the user was in last. It counts until a message has another one.
    """
    messages: list[StoredMessage] = []
    run_id = ""
    for ordinal, message in enumerate(imported.messages):
        if message.role is Role.USER or not run_id:
            run_id = derive_run_id(imported.thread_id, f"{IMPORT_TURN}\n{ordinal}")
        next_messages = imported.messages[ordinal + 1 : ordinal + 2]
        is_last = not next_messages or next_messages[0].role is Role.USER
        messages.append(
            StoredMessage(
                id=message.id,
                role=message.role,
                content=message.text,
                ordinal=ordinal,
                run_id=run_id,
                timestamp=message.timestamp,
                tokens=count_message_tokens(
                    message.text if message.begun_by is None else quote_cause(message.begun_by, message.text), counter
                ),
                agent_id=agent_id if message.role is Role.ASSISTANT and message.author is None else None,
                is_tool_result=message.role is Role.TOOL,
                tool_name=message.tool_name,
                author=message.author,
                begun_by=message.begun_by,
                source=IMPORTED,
                end=RunEnd(OutcomeType.SUCCESS, Usage()) if is_last else None,
                time_zone=message.time_zone or (last_zone if not ordinal else None),
            )
        )
    return messages
