"""The messages that enter a run in progress. The record of a message's turn ensures that it enters only once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import replace

from baton.agents.incoming import Admit
from baton.agents.run_facts import RunFacts
from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.errors import RateLimited
from baton.domain.threads.content import with_text
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import WaitingMessage
from baton.memory.prompt.message_prompts import count_message_tokens
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import EntryPoint, TurnRecord
from baton.turns.turn_services import TurnServices

REFUSED_NOTE = "[A message of the user, which a guardrail has refused.]"
"""The text that replaces a message that an earlier attempt has taken and a guardrail refuses now."""


class RunMessages:
    """The messages that enter one attempt at a run. Those of earlier attempts enter at the same points again."""

    def __init__(
        self,
        services: TurnServices,
        facts: RunFacts,
        *,
        lease: Callable[[], Lease],
        waiting: Callable[[], Sequence[WaitingMessage]],
        look: Callable[[], Awaitable[None]],
    ) -> None:
        """``waiting`` returns the thread's waiting messages, as they were read last; ``look`` reads them again."""
        self._services = services
        self._facts = facts
        self._lease = lease
        self._waiting = waiting
        self._look = look
        self._taken: dict[str, tuple[EntryPoint, WaitingMessage]] = {}
        """The messages that earlier attempts have taken, by id."""
        self._seen: set[str] = set()

    async def load(self) -> None:
        """Find the messages that earlier attempts have taken. Raises ``StoreUnavailable``."""
        facts = self._facts
        for waiting_message in self._waiting():
            if waiting_message.run_id != facts.run.run_id or waiting_message.queued is None:
                continue
            record = await self._services.store.get_turn(facts.scope, facts.thread.id, waiting_message.message_id)
            if record is not None and record.entered is not None and record.is_entered_in(facts.run.run_id):
                self._taken[waiting_message.message_id] = record.entered, waiting_message
                self._seen.add(waiting_message.message_id)

    async def take(self, at: EntryPoint, admit: Admit, *, only_earlier: bool = False) -> Sequence[StoredMessage]:
        """See ``Incoming.take``."""
        entered_messages = [
            await self._take_again(message_id, admit)
            for message_id, (point, _) in list(self._taken.items())
            if only_earlier or (point.agent_id == at.agent_id and point.results <= at.results)
        ]
        if only_earlier:
            return entered_messages
        await self._look()
        for waiting_message in self._waiting():
            if not self._may_enter(waiting_message):
                continue
            self._seen.add(waiting_message.message_id)
            # A message that is refused here gets a separate turn, in which it is refused again.
            message = await admit(self._make_message(waiting_message))
            if (
                message is not None
                and await self._count_message(waiting_message)
                and await self._claim(waiting_message, at)
            ):
                entered_messages.append(message)
        return entered_messages

    def enter_again(self, ids: Container[str]) -> Sequence[StoredMessage]:
        """See ``Incoming.enter_again``."""
        messages = [
            self._make_message(waiting_message)
            for message_id, (_, waiting_message) in self._taken.items()
            if message_id in ids
        ]
        for message in messages:
            del self._taken[message.id]
        return messages

    def list_remaining(self) -> Sequence[StoredMessage]:
        """See ``Incoming.list_remaining``."""
        return [self._make_message(waiting_message) for _, waiting_message in self._taken.values()]

    def _may_enter(self, waiting: WaitingMessage) -> bool:
        """Return whether the message was sent to enter this run, by a sender who has all permissions of the run."""
        facts, queued = self._facts, waiting.queued
        if queued is None or waiting.mode is not WhileBusy.STEER or waiting.message_id in self._seen:
            return False
        is_of_run = waiting.run_id == facts.run.run_id and waiting.is_waited_for(self._services.agents.clock.now())
        is_of_task = queued.request.a2a_task in (None, facts.began_with.a2a_task)
        return is_of_run and is_of_task and facts.scope.permissions <= queued.scope.permissions

    async def _take_again(self, message_id: str, admit: Admit) -> StoredMessage:
        """Return a message that an earlier attempt took. ``REFUSED_NOTE`` replaces its text if it is refused now."""
        _, waiting_message = self._taken.pop(message_id)
        message = self._make_message(waiting_message)
        admitted_message = await admit(message)
        if admitted_message is not None:
            return admitted_message
        content = with_text(message.content, REFUSED_NOTE)
        tokens = count_message_tokens(content, self._services.agents.counter)
        return replace(message, content=content, tokens=tokens, is_rewritten=True)

    async def _count_message(self, waiting: WaitingMessage) -> bool:
        """Count the message against the limits on messages, if there are any.

        Return False, without counting the message, if it exceeds a limit.
        """
        scope, limits = self._facts.scope, self._services.run_limits
        try:
            permit = await limits.check(scope, self._facts.thread.id, waiting.message_id, is_message=True)
        except RateLimited:
            return False
        return permit is None or await limits.begin(permit, self._lease()) is None

    async def _claim(self, waiting: WaitingMessage, at: EntryPoint) -> bool:
        """Record that the message has entered the run. Return False if it has a turn already, or is withdrawn."""
        facts, lease = self._facts, self._lease()
        record = TurnRecord(
            message_id=waiting.message_id,
            run_id=facts.run.run_id,
            digest=waiting.digest,
            first_ordinal=facts.question.ordinal,
            fence=lease.fence,
            permissions=tuple(sorted(facts.scope.permissions)),
            entered=at,
        )
        return await self._services.store.open_turn(lease, record) is None

    def _make_message(self, waiting: WaitingMessage) -> StoredMessage:
        """Return a waiting message as a message of the run. Its ordinal is assigned later."""
        assert waiting.queued is not None  # noqa: S101 - only queued messages are taken
        request, agents = waiting.queued.request, self._services.agents
        return StoredMessage(
            id=waiting.message_id,
            role=Role.USER,
            content=request.content,
            ordinal=0,
            run_id=self._facts.run.run_id,
            timestamp=agents.clock.now(),
            tokens=count_message_tokens(request.content, agents.counter),
            a2a_task=request.a2a_task,
            time_zone=request.time_zone,
            is_steered=True,
        )
