"""Sandboxes: copies of a conversation up to one of its turns. Others continue them without changing the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import NotFound
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import StoredMessage, list_filtered_runs
from baton.domain.threads.thread import Thread
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.threads import ThreadStore
from baton.tenants.privacy.readers import Readers
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.threads.handoffs.forks import MAX_COPIED, Forks

TITLE = "Sandbox: {title}"
MAX_TITLE = 110
"""The characters of the copied conversation's title in the title of the sandbox."""
PAGE = 100
"""The number of messages in a page."""


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Forks that belong to the reader of a conversation, not to its user."""

    store: ThreadStore
    agents: AgentRegistry
    forks: Forks
    readers: Readers
    audit: AuditLog
    clock: Clock

    async def make(self, scope: Scope, source: Thread, message_id: str, *, is_answered: bool) -> Thread:
        """Copy the conversation up to a user message: with it and its answer if ``is_answered``, else without both.

        The copy belongs to the caller, and lacks the personal data that the caller may not see. Its main agent is the
        agent that answered, or that of ``source`` if a remote agent or a desk answered or the agent no longer exists.
        The caller must be allowed to read ``source``. Raises ``NotFound`` for a message that does not exist (yet),
        ``UnknownAgent``, ``ThreadBusy`` and ``StoreUnavailable``.
        """
        question = await self.store.find_message(scope, source, message_id)
        if question is None:
            raise NotFound("There is no such message in this conversation, or its turn has not ended yet.")
        turn = await self.store.run_messages(
            scope, source.id, first_ordinal=question.ordinal, below=source.next_ordinal
        )
        end = turn[-1].ordinal + 1 if is_answered and turn else question.ordinal
        copied_messages = await self._read_before(scope, source, end)
        agent = await self._choose_agent(scope, source, turn)
        child_id = self.clock.new_id()
        messages = await self.readers.redact_for(scope, source.user_id, copied_messages)
        title = TITLE.format(title=(source.title or source.id)[:MAX_TITLE])
        title = await self.readers.redact_for(scope, source.user_id, title)
        # Before the copy is made, so that there is no copy without its record.
        detail = {"sandboxThreadId": child_id, "messageId": message_id, "userId": source.user_id}
        await self.audit.record(scope, "thread.sandbox", thread_id=source.id, outcome="made", detail=detail)
        await self.forks.begin(scope, child_id, source.id, agent, messages, keeps_calls=True)
        return await self.store.keep_made_title(scope, child_id, title=title, preview=None)

    async def _read_before(self, scope: Scope, source: Thread, end: int) -> list[StoredMessage]:
        """Return the newest messages of the branch below the ordinal ``end``, in whole turns if possible."""
        if end == 0:
            return []
        branch = source.continue_from(end - 1)
        messages: list[StoredMessage] = []
        before: int | None = end
        while before is not None and len(messages) <= MAX_COPIED:
            page = await self.store.read_messages(scope, branch, limit=PAGE, before=before)
            messages = [*page.messages, *messages]
            before = page.next_before
        stored_messages = messages[-MAX_COPIED:]
        if len(stored_messages) < len(messages):
            # A call without its result, or a result without its call, would be refused by models.
            cut_run = messages[-MAX_COPIED - 1].run_id
            whole_run_indexes = (index for index, message in enumerate(stored_messages) if message.run_id != cut_run)
            stored_messages = stored_messages[next(whole_run_indexes, 0) :]
        refused_run_ids = list_filtered_runs(stored_messages)
        return [message for message in stored_messages if message.run_id not in refused_run_ids]

    async def _choose_agent(self, scope: Scope, source: Thread, turn: Sequence[StoredMessage]) -> AgentDefinition:
        speaker_id = next((message.agent_id for message in reversed(turn) if message.agent_id is not None), None)
        if speaker_id is not None and speaker_id != source.agent_id:
            agent = (await self.agents.in_force(scope)).describe(speaker_id)
            if agent is not None and agent.remote is None and agent.desk is None:
                return await self.agents.get(scope, speaker_id)
        return await self.agents.get(scope, source.agent_id)
