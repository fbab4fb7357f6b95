"""The histories that a process keeps are bounded, and have nothing that a worker wrote after it lost its lease."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.adapters.dynamodb.threads import recent_histories
from baton.adapters.dynamodb.threads.recent_histories import MESSAGE_SIZE, RecentHistories
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import StoredMessage
from baton.domain.times import to_millis
from baton.ports.threads.leases import Commit, Lease, LeaseRequest
from tests.contracts.stores import make_question
from tests.harness.harness import Harness

BUDGET = 10_000


async def lease_of(thread: str) -> Lease:
    harness = Harness()
    await harness.say("m1")
    lease = await harness.store.acquire(harness.ada, LeaseRequest(harness.thread_id, "r2", "m2"))
    return replace(lease, thread=replace(lease.thread, id=thread))


def keep_messages(histories: RecentHistories, lease: Lease, size: int) -> list[StoredMessage]:
    """Keep the thread's two messages of ``size`` bytes together, and return them."""
    thread = lease.thread
    histories.begin(
        lease.scope,
        thread.id,
        {"created_at": to_millis(thread.created_at), "committed_fence": 1, "next_ordinal": thread.next_ordinal},
    )
    messages = [replace(make_question(lease), ordinal=number) for number in range(thread.next_ordinal)]
    histories.keep(lease.scope, thread, messages, [size, *(0 for _ in messages[1:])])
    return messages


def is_kept(histories: RecentHistories, lease: Lease) -> bool:
    return histories.find(lease.scope, lease.thread, token_budget=BUDGET, first_ordinal=0) is not None


async def test_all_that_is_kept_has_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_histories, "MAX_SIZE", 10 * MESSAGE_SIZE)
    histories = RecentHistories()
    leases = [await lease_of(f"t{number}") for number in range(4)]
    for lease in leases:
        keep_messages(histories, lease, 2 * MESSAGE_SIZE)
    assert [is_kept(histories, lease) for lease in leases] == [False, False, True, True]


@pytest.mark.parametrize("more", [-1, 0, 1, MESSAGE_SIZE, 10 * MESSAGE_SIZE])
async def test_a_history_of_any_size_is_kept_or_left(monkeypatch: pytest.MonkeyPatch, more: int) -> None:
    monkeypatch.setattr(recent_histories, "MAX_SIZE", 10 * MESSAGE_SIZE)
    histories, lease = RecentHistories(), await lease_of("t")
    keep_messages(histories, lease, 7 * MESSAGE_SIZE + more)
    assert is_kept(histories, lease) is (more <= 0)


async def test_messages_of_a_run_in_progress_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_histories, "MAX_SIZE", 10 * MESSAGE_SIZE)
    histories, lease = RecentHistories(), await lease_of("t")
    keep_messages(histories, lease, 0)
    histories.note_written(lease, make_question(lease), 20 * MESSAGE_SIZE)
    assert not is_kept(histories, lease)


@pytest.mark.parametrize("fence", [0, 1])
async def test_what_an_earlier_worker_wrote_is_not_kept(fence: int) -> None:
    """Another worker of the same process may note its write only after it has lost the lease."""
    histories, lease = RecentHistories(), await lease_of("t")
    keep_messages(histories, lease, 0)
    for number in range(2):
        message = make_question(lease, index=number)
        histories.note_written(lease, replace(message, fence=message.fence - fence), 10)
    end = lease.thread.next_ordinal + 2
    histories.extend(lease, Commit(next_ordinal=end, last_seq=9, usage=Usage(1, 1), tokens=20))
    committed = replace(lease, thread=replace(lease.thread, next_ordinal=end))
    assert is_kept(histories, committed) is (fence == 0)


async def test_messages_that_were_dropped_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_histories, "MAX_SIZE", 20 * MESSAGE_SIZE)
    monkeypatch.setattr(recent_histories, "MAX_MESSAGES", 2)
    histories, lease = RecentHistories(), await lease_of("t")
    keep_messages(histories, lease, 6 * MESSAGE_SIZE)
    for _ in range(3):
        for index in range(2):
            histories.note_written(lease, make_question(lease, index=index), MESSAGE_SIZE)
        end = lease.thread.next_ordinal + 2
        histories.extend(lease, Commit(next_ordinal=end, last_seq=9, usage=Usage(1, 1), tokens=20))
        lease = replace(lease, thread=replace(lease.thread, next_ordinal=end))
    first = lease.thread.next_ordinal - 2
    stored = histories.find(lease.scope, lease.thread, token_budget=BUDGET, first_ordinal=first)
    assert stored is not None
    assert [message.ordinal for message in stored] == [first, first + 1]
