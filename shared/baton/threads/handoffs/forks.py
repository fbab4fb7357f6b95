"""Forks: conversations branched from a parent, whose answers can be merged back one by one."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ag_ui.core import FileSource, TextPart

from baton.concurrency.tasks import gather_each
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import NotAFork, NothingToMerge, ThreadLed, UnknownAgent
from baton.domain.handoffs.handoff import HandoffRequest
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.content import Content, Part, derive_content_digest
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import Run, SessionVersions, Thread
from baton.memory.prompt.history_reading import ReadHistory, read_history, read_messages_between, select_spoken_messages
from baton.memory.prompt.message_prompts import count_message_tokens
from baton.ports.agents.chat_model import TokenCounter
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.leases import Commit, Lease, LeaseRequest
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.threads.leases import acquire_when_free, holding
from baton.threads.requests.thread_access import get_own_thread, refusals_audited

SPECIALIST = "specialist"
"""The ``source`` of a message that was merged from a fork."""
MAX_COPIED = 200
"""The largest number of messages of the parent that a fork begins with."""
AT_ONCE = 16
"""The number of messages that are written concurrently."""
PAGE = 100
"""The number of messages in a page."""
MAX_READS = 3
"""Pages that are searched for an answer of a fork. A long message may fill a page alone."""
FIRST_SESSION = 1
"""The number of the session that a fork begins with."""
PATIENCE_SECONDS = 15.0
"""Seconds to wait for a fork whose lease is held: fewer than the parent's lease has, as it is not renewed meanwhile."""


@dataclass(frozen=True, slots=True)
class ForkedExchange:
    """An exchange in a specialist's fork: the user's message and everything that answered it."""

    handoff: HandoffRequest
    agent: AgentDefinition
    run: Run
    question: StoredMessage
    messages: Sequence[StoredMessage]

    @property
    def child_thread_id(self) -> str:
        """The id of the fork."""
        return derive_fork_id(self.handoff)


@dataclass(frozen=True, slots=True)
class Forks:
    """The creation of threads' forks, and the writing of exchanges into them.

    A fork is listed under its parent only and has no episodes.
    """

    store: ThreadStore
    agents: AgentRegistry
    audit: AuditLog
    counter: TokenCounter
    clock: Clock

    async def fork(
        self, scope: Scope, parent_thread_id: str, *, agent_id: str, include_history_messages: int = 5
    ) -> Thread:
        """Branch one of the caller's conversations. The fork's main agent is ``agent_id``.

        The fork begins with copies of the parent's last ``include_history_messages`` messages of users and agents, at
        most ``MAX_COPIED``. The fork's messages reach the parent only by a merge (``turns.merges``). Raises
        ``ThreadUnavailable`` (audited), ``UnknownAgent`` (also for a remote agent and a desk) and ``StoreUnavailable``.
        """
        async with refusals_audited(self.audit, scope, parent_thread_id, "thread.fork", {"agentId": agent_id}):
            parent = await get_own_thread(self.store, scope, parent_thread_id)
        agent = await self.agents.get_in_session(scope, parent, agent_id)
        if agent.remote is not None:
            raise UnknownAgent("A fork cannot begin with a remote agent.", is_visible=True)
        if agent.desk is not None:
            raise UnknownAgent("A fork cannot begin with a desk.", is_visible=True)
        child_id = self.clock.new_id()
        copied_messages = await self._read_last(scope, parent, include_history_messages)
        await self.begin(scope, child_id, parent.id, agent, copied_messages, pinned=parent.pinned)
        detail = {"agentId": agent.id, "forkThreadId": child_id}
        await self.audit.record(scope, "thread.fork", thread_id=parent.id, outcome="forked", detail=detail)
        return await self.store.get_thread(scope, child_id)

    async def begin(
        self,
        scope: Scope,
        child_id: str,
        parent_id: str,
        agent: AgentDefinition,
        copied: Sequence[StoredMessage],
        *,
        keeps_calls: bool = False,
        pinned: Mapping[str, int] | None = None,
    ) -> None:
        """Make a fork for the caller that begins with copies of ``copied``. Raises ``ThreadBusy``.

        With ``keeps_calls`` the copies keep their tool calls. ``pinned`` has the versions of agents that the fork
        keeps, besides that of ``agent``.
        """
        lease_request = self._make_lease_request(child_id, parent_id, agent, pinned or {})
        lease = await acquire_when_free(self.store, scope, lease_request, seconds=PATIENCE_SECONDS)
        async with holding(self.store, lease):
            if copied:
                copies = [self._copy(message, index, keeps_calls=keeps_calls) for index, message in enumerate(copied)]
                await self._commit(lease, copies)
            else:
                await self.store.release(lease)

    async def read_fork(
        self, scope: Scope, handoff: HandoffRequest, window: HistoryWindow, *, token_budget: int
    ) -> ReadHistory:
        """Return the newest messages of a specialist's fork in its window, within ``token_budget``."""
        child = await self.store.get_thread(scope, derive_fork_id(handoff))
        return await read_history(self.store, scope, child, window, token_budget=token_budget)

    async def extend(self, scope: Scope, exchange: ForkedExchange) -> None:
        """Write an exchange into its fork and create the fork if needed. A repetition changes nothing.

        Raises ``ThreadBusy``, ``LeaseLost`` and ``StoreUnavailable``.
        """
        child_id, question = exchange.child_thread_id, exchange.question
        lease_request = self._make_lease_request(child_id, exchange.handoff.thread_id, exchange.agent, {})
        lease = await acquire_when_free(self.store, scope, lease_request, seconds=PATIENCE_SECONDS)
        async with holding(self.store, lease):
            turn = await self.store.get_turn(scope, child_id, question.id)
            if turn is not None and turn.first_ordinal < lease.thread.next_ordinal:
                await self.store.release(lease)
                return
            copied = await self._read_granted(scope, exchange.handoff) if lease.thread.next_ordinal == 0 else []
            await self._write(lease, exchange, copied, is_known=turn is not None)

    async def extend_again(
        self, scope: Scope, parent: Thread, handoff: HandoffRequest, messages: Sequence[StoredMessage]
    ) -> None:
        """Extend the fork after a worker has died between the answer and the fork. ``messages`` are the parent's.

        Afterwards the fork contains the specialist's messages of the parent. Nothing happens if it has them already, or
        if none of the messages comes from a fork.
        """
        answers = [message for message in messages if message.source == SPECIALIST or message.is_steered]
        agent = (await self.agents.in_session(scope, parent)).describe(handoff.target_agent_id)
        has_answer = any(message.source == SPECIALIST for message in answers)
        if has_answer and agent is not None and handoff.child_thread_id is not None:
            last = answers[-1]
            run = Run(last.run_id, messages[0].id, last.attempt)
            await self.extend(scope, ForkedExchange(handoff, agent, run, messages[0], answers))

    async def find_newest_answer(self, scope: Scope, fork_thread_id: str) -> tuple[Thread, StoredMessage]:
        """Return the caller's fork and its last answer.

        Raises ``ThreadUnavailable``, ``NotAFork``, ``NothingToMerge``, and ``ThreadLed`` for a fork whose answers are
        merged anyway.
        """
        fork = await get_own_thread(self.store, scope, fork_thread_id)
        if fork.parent_thread_id is None:
            raise NotAFork
        if is_led_by_parent(fork):
            raise ThreadLed  # its answers are in the parent already
        async with contextlib.aclosing(self._list_answers(scope, fork)) as answers:
            async for answer in answers:
                return fork, answer
        raise NothingToMerge

    async def find_answer(self, scope: Scope, fork_thread_id: str, message_id: str) -> StoredMessage:
        """Return a recent answer of an agent in a fork. Raises ``ThreadUnavailable`` and ``NothingToMerge``."""
        fork = await self.store.get_thread(scope, fork_thread_id)
        async with contextlib.aclosing(self._list_answers(scope, fork)) as answers:
            async for answer in answers:
                if answer.id == message_id:
                    return answer
        raise NothingToMerge

    async def _list_answers(self, scope: Scope, fork: Thread) -> AsyncGenerator[StoredMessage, None]:
        """Yield answers of agents in a fork, the last first, from its last ``MAX_READS`` pages.

        Messages of people do not count. Copied messages are left out: only the last message of a run has an ``end``,
        and copies have none.
        """
        before: int | None = None
        runs: set[str] = set()
        for _ in range(MAX_READS):
            page = await self.store.read_messages(scope, fork, limit=PAGE, before=before)
            for message in reversed(page.messages):
                if message.end is not None:
                    runs.add(message.run_id)
                is_answer = message.is_said and message.role is Role.ASSISTANT and message.author is None
                if message.run_id in runs and is_answer:
                    yield message
            before = page.next_before
            if before is None:
                return

    async def _read_granted(self, scope: Scope, handoff: HandoffRequest) -> list[StoredMessage]:
        """Return the parent's messages that a handoff's fork begins with, with tool calls if the handoff shows them."""
        parent = await self.store.get_thread(scope, handoff.thread_id)
        granted_ids = set(handoff.recent_messages)
        messages = await self._read_last(scope, parent, len(granted_ids), before=handoff.ordinal)
        messages = [message for message in messages if message.id in granted_ids]
        if not handoff.show_tool_calls or not messages:
            return messages
        messages = await read_messages_between(self.store, scope, parent, messages[0].ordinal, handoff.ordinal)
        return [message for message in messages if message.id in granted_ids or not message.is_said]

    async def _read_last(
        self, scope: Scope, parent: Thread, count: int, *, before: int | None = None
    ) -> list[StoredMessage]:
        """Return the parent's last ``count`` messages of users and agents, or those ``before`` an ordinal.

        At most ``MAX_COPIED`` are returned.
        """
        messages: list[StoredMessage] = []
        before = parent.next_ordinal if before is None else before
        max_count = min(count, MAX_COPIED)
        while before is not None and before > 0 and len(messages) < max_count:
            page = await self.store.read_messages(scope, parent, limit=PAGE, before=before)
            messages = [*select_spoken_messages(page.messages), *messages]
            before = page.next_before
        return messages[-max_count:] if max_count else []

    @staticmethod
    def _make_lease_request(
        child_id: str, parent_id: str, agent: AgentDefinition, pinned: Mapping[str, int]
    ) -> LeaseRequest:
        versions = {**pinned, **({agent.id: agent.version} if agent.version is not None else {})}
        return LeaseRequest(
            child_id,
            may_create=True,
            agent_id=agent.id,
            idle_seconds=agent.timeouts.idle_minutes * 60,
            parent_thread_id=parent_id,
            versions=SessionVersions(FIRST_SESSION, versions) if versions else None,
        )

    async def _write(
        self, lease: Lease, exchange: ForkedExchange, copied: Sequence[StoredMessage], *, is_known: bool
    ) -> None:
        """Write the exchange after the existing and the copied messages, and commit all of it at once."""
        question, run = exchange.question, exchange.run
        first = lease.thread.next_ordinal
        next_ordinal = first + len(copied)
        turn = TurnRecord(question.id, run.run_id, derive_content_digest(question.content), next_ordinal, lease.fence)
        await (self.store.reopen_turn if is_known else self.store.open_turn)(lease, turn)
        keeps_calls = exchange.handoff.show_tool_calls
        new_messages = [
            self._copy(message, first + index, keeps_calls=keeps_calls)
            for index, message in enumerate((*copied, question))
        ]
        new_messages += [
            replace(message, ordinal=next_ordinal + number, fence=0, end=None)
            for number, message in enumerate(exchange.messages, start=1)
        ]
        end = RunEnd(OutcomeType.SUCCESS, Usage(), tail_seq=lease.thread.last_seq + 1)
        await self._commit(lease, [*new_messages[:-1], replace(new_messages[-1], end=end)])

    async def _commit(self, lease: Lease, messages: Sequence[StoredMessage]) -> None:
        """Store the messages and make them part of the fork."""
        await gather_each(messages, partial(self.store.put_message, lease), at_once=AT_ONCE)
        commit = Commit(
            next_ordinal=messages[-1].ordinal + 1,
            last_seq=lease.thread.last_seq,
            usage=Usage(),
            tokens=sum(message.tokens for message in messages),
        )
        await self.store.commit(lease, commit)

    def _copy(self, message: StoredMessage, ordinal: int, *, keeps_calls: bool = False) -> StoredMessage:
        """Return the fork's copy of a parent's message. Uploads stay with the parent."""
        content = _replace_uploads(message.content)
        tokens = message.tokens if content == message.content else count_message_tokens(content, self.counter)
        calls = message.tool_calls if keeps_calls else ()
        return replace(message, content=content, tokens=tokens, ordinal=ordinal, tool_calls=calls, fence=0, end=None)


def derive_fork_id(handoff: HandoffRequest) -> str:
    """Return the id of a handoff's fork. It is the same in every attempt."""
    return str(uuid.uuid5(uuid.UUID(handoff.thread_id), f"fork\0{handoff.id}"))


def is_led_by_parent(thread: Thread) -> bool:
    """Return whether a handoff created the fork. Such a fork is written from its parent and accepts no messages."""
    return thread.parent_thread_id is not None and uuid.UUID(thread.id).version == 5


def _replace_uploads(content: Content) -> Content:
    """Return the content with a sentence in place of each upload, which the fork cannot read."""
    if isinstance(content, str):
        return content
    parts: list[Part] = []
    for part in content:
        is_upload = not isinstance(part, TextPart) and isinstance(part.source, FileSource)
        parts.append(
            TextPart(text=f"[A file ({part.type}), which is in the parent conversation.]") if is_upload else part
        )
    return tuple(parts)
