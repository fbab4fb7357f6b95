"""One tenant's rooms in whatever stores a contract is checked against, and short ways to use them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from functools import cached_property
from typing import Any

from baton.composition.ports import Ports
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.run_end import OutcomeType, RunEnd
from baton.domain.threads.thread import LeaseMark
from baton.ports.threads.leases import Commit, CommittedThread, Lease, LeaseRequest, UnreadChange
from baton.ports.threads.messages import TurnRecord
from baton_testing.fakes.clock import FakeClock

HELLO = "a" * 64
"""A digest."""


class Stores(Ports):
    """Stores that share a clock. Every one has a separate tenant, so that several can share an engine."""

    def __init__(self, **overrides: Any) -> None:
        super().__init__(**overrides)
        self.tenant = f"t{uuid.uuid4().hex}"
        self.ada = Scope(self.tenant, "ada")
        self.bob = Scope(self.tenant, "bob")
        self.auditor = Scope(self.tenant, "auditor", frozenset({"thread:read_all"}))
        self.stranger = Scope(f"{self.tenant}-2", "ada")
        """The same user id in another tenant."""

    @cached_property
    def clock(self) -> FakeClock:
        return FakeClock()

    async def audit_records(self, scope: Scope) -> list[dict[str, Any]]:
        """Return a tenant's audit records, oldest first: action, outcome, user_id, thread_id and detail."""
        raise NotImplementedError

    async def bury(self, scope: Scope, thread_id: str) -> None:
        """Put a tombstone in the thread's place, as forgetting does."""
        trace = await self.erasure.trace(scope, thread_id)
        assert trace is not None
        assert await self.erasure.bury(scope, trace)

    async def unbury(self, scope: Scope, thread_id: str) -> None:
        """Remove the tombstone, as forgetting does at its end."""
        await self.erasure.unbury(scope, thread_id)

    async def acquire(
        self,
        thread_id: str,
        *,
        scope: Scope | None = None,
        message_id: str = "m1",
        run_id: str = "r1",
        may_create: bool = True,
        delivery: RecordDelivery | None = None,
        presumed_dead: LeaseMark | None = None,
    ) -> Lease:
        """Take the lease for a run, as ``ada`` unless ``scope`` says otherwise."""
        request = LeaseRequest(
            thread_id,
            run_id,
            message_id,
            may_create,
            agent_id="assistant",
            idle_seconds=1800,
            delivery=delivery,
            presumed_dead=presumed_dead,
        )
        return await self.store.acquire(scope or self.ada, request)

    async def lease(
        self, thread_id: str, *, scope: Scope | None = None, delivery: RecordDelivery | None = None
    ) -> Lease:
        """Take the lease for something else than a run."""
        return await self.store.acquire(scope or self.ada, LeaseRequest(thread_id, delivery=delivery))

    async def commit(
        self,
        lease: Lease,
        *messages: StoredMessage,
        events: int = 5,
        spent: Usage | None = None,
        models: tuple[ModelUsage, ...] = (),
        error_code: str | None = None,
        time_zone: str | None = None,
        summary_at: int | None = None,
        messages_may_change: bool = False,
        reading: UnreadChange = UnreadChange(),  # noqa: B008 - it is frozen
    ) -> CommittedThread:
        """Write the messages and commit a run of ``events`` events that ends with them."""
        for message in messages:
            await self.store.put_message(lease, message)
        return await self.store.commit(
            lease,
            Commit(
                next_ordinal=lease.thread.next_ordinal + len(messages),
                last_seq=lease.first_seq + events - 1,
                usage=spent or Usage(10, 5),
                tokens=sum(message.tokens for message in messages),
                spent=models,
                error_code=error_code,
                time_zone=time_zone,
                summary_at=summary_at,
                messages_may_change=messages_may_change,
                reading=reading,
            ),
        )

    async def turn(self, thread_id: str, number: int = 1, *, scope: Scope | None = None, tokens: int = 10) -> Lease:
        """A whole turn: question ``q<number>``, answer ``a<number>``, committed."""
        lease = await self.acquire(thread_id, scope=scope, message_id=f"m{number}", run_id=f"r{number}")
        await self.store.open_turn(lease, turn(lease))
        ask, answer = make_question(lease, f"q{number}", tokens=tokens), make_answer(lease, f"a{number}", tokens=tokens)
        await self.commit(lease, ask, answer)
        return lease


def new_thread_id() -> str:
    return str(uuid.uuid4())


def turn(lease: Lease, *, message_id: str | None = None, digest: str = HELLO) -> TurnRecord:
    """The record of the message that the lease's run answers."""
    run = lease.thread.run
    assert run is not None
    return TurnRecord(message_id or run.message_id, run.run_id, digest, lease.thread.next_ordinal, lease.fence)


def make_question(lease: Lease, content: Content = "Hello", *, index: int = 0, tokens: int = 10) -> StoredMessage:
    """The run's message number ``index``, by the user."""
    run = lease.thread.run
    assert run is not None
    return StoredMessage(
        id=run.message_id if index == 0 else f"{run.run_id}-{index}",
        role=Role.USER,
        content=content,
        ordinal=lease.thread.next_ordinal + index,
        run_id=run.run_id,
        timestamp=lease.thread.last_activity_at,
        tokens=tokens,
        attempt=run.attempt,
        fence=lease.fence,
    )


def make_answer(lease: Lease, content: Content = "Hi.", *, index: int = 1, tokens: int = 10) -> StoredMessage:
    """The run's last message, by the assistant."""
    end = RunEnd(OutcomeType.SUCCESS, Usage(10, 5), "model-1", tail_seq=lease.first_seq, first_seq=lease.first_seq)
    return replace(
        make_question(lease, content, index=index, tokens=tokens),
        role=Role.ASSISTANT,
        agent_id="assistant",
        agent_name="Assistant",
        end=end,
    )


def texts(messages: Any) -> list[str]:
    """The texts of messages, in order."""
    return [message.text for message in messages]
