"""Any interleaving of workers on one thread: what hypothesis looks for a counterexample to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from baton.domain.errors import LeaseLost
from baton.domain.memory.episode import make_episode_ref
from baton.domain.runs.interrupt import Interrupt, PendingInterrupts
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import EndReason, RunStatus, ThreadStatus
from baton.ports.threads.leases import Commit, CommittedThread, Lease, LeaseBusy
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.stream_log import LogPiece
from tests.contracts.stores import Stores, make_question, new_thread_id, turn

T = TypeVar("T")
UNCHANGED = CommittedThread(notifies=False, title=None)
"""The state that a commit finds if nobody wants to be notified, and nobody has named the thread."""
workers = st.integers(0, 3)
message_ids = st.sampled_from(["m1", "m2", "m3"])
deliveries = st.none() | st.builds(RecordDelivery, st.sampled_from(["record-1", "record-2"]), st.integers(1, 3))


@dataclass
class Worker:
    """The beliefs of one worker, and its writes under its lease."""

    lease: Lease
    put: list[StoredMessage] = field(default_factory=list)
    commits: Commit | None = None


@dataclass
class Holder:
    """The holder of the lease, by the rules."""

    fence: int
    until: datetime
    delivery: RecordDelivery | None = None


class OneWriter(RuleBasedStateMachine):
    """Workers that take, renew, use, lose, abandon and give back one thread's lease, while the clock jumps.

    Every answer of the store is compared with what the rules say, and every commit with what readers see.
    """

    def __init__(self, make_stores: Callable[[], Stores]) -> None:
        super().__init__()
        self.stores = make_stores()
        self.runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.thread_id = new_thread_id()
        self.workers: dict[int, Worker] = {}
        self.holder: Holder | None = None
        self.run: tuple[str, int] | None = None
        self.fence = 0
        self.number = 0
        self.committed: list[StoredMessage] = []
        self.last_seq = 0
        self.usage = Usage()
        self.turns: dict[str, TurnRecord] = {}
        self.status, self.episode, self.since = ThreadStatus.ACTIVE, 1, 0
        """Of the session in progress or the next: its number, and the ordinal it begins with."""
        self.pending: PendingInterrupts | None = None
        self.fences: dict[int, int] = {}
        """The fence under which each ordinal was written last."""
        self.log_fences: dict[int, int] = {}

    def teardown(self) -> None:
        self.runner.close()

    def do(self, call: Coroutine[Any, Any, T]) -> T | type[Exception]:
        """The call's result, or the type of its refusal."""
        try:
            return self.runner.run(call)
        except (LeaseLost, LeaseBusy) as refusal:
            return type(refusal)

    def holds(self, worker: Worker) -> bool:
        return self.holder is not None and self.holder.fence == worker.lease.fence

    @initialize()
    def begin(self) -> None:
        self.runner.run(self.stores.turn(self.thread_id, 0))
        [question, answer] = self.seen()
        self.committed = [question, answer]
        self.fence, self.last_seq, self.usage = 1, 5, Usage(10, 5)

    @rule(seconds=st.sampled_from([0.001, 5, 29, 30, 31, 600, -1, -45]))
    def jump(self, seconds: float) -> None:
        self.stores.clock.advance(seconds)

    @rule(number=workers, message_id=message_ids, delivery=deliveries)
    def acquire(self, number: int, message_id: str, delivery: RecordDelivery | None) -> None:
        self.number += 1
        run_id = f"run-{self.number}"
        answer = self.do(self.stores.acquire(self.thread_id, message_id=message_id, run_id=run_id, delivery=delivery))
        if self.holder is not None and self.holder.until >= self.stores.clock.now():
            held = self.holder.delivery
            if held is None or delivery is None or held.record_id != delivery.record_id:
                assert answer is LeaseBusy
                return
            if held.receives >= delivery.receives:
                assert answer is LeaseBusy
                return
        assert isinstance(answer, Lease)
        assert answer.fence > self.fence
        assert answer.first_seq > self.last_seq
        expected, attempt = self.run or (run_id, 0)
        run = answer.thread.run
        assert run is not None
        assert (run.run_id, run.attempt) == (expected, attempt + 1)
        assert answer.thread.next_ordinal == len(self.committed)
        self.fence, self.run = answer.fence, (run.run_id, run.attempt)
        self.holder = Holder(answer.fence, answer.until, delivery)
        self.workers[number] = Worker(answer)

    @rule(number=workers, message_id=message_ids)
    def take_over(self, number: int, message_id: str) -> None:
        self.jump(31)
        self.acquire(number, message_id, None)

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), used=st.sampled_from([0, 9_000]), alone=st.booleans())
    def renew(self, data: st.DataObject, used: int, alone: bool) -> None:
        worker = self.any_worker(data)
        used_seq = worker.lease.first_seq + used
        answer = self.do(self.stores.store.renew(worker.lease, used_seq=used_seq, without_record=alone))
        if self.holder is None or not self.holds(worker):
            assert answer is LeaseLost
            return
        assert isinstance(answer, Lease)
        worker.lease, self.holder.until = answer, answer.until
        self.holder.delivery = None if alone else self.holder.delivery

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def begin_run(self, data: st.DataObject) -> None:
        worker = self.any_worker(data)
        if worker.put or worker.commits:
            return  # only a run of which nothing was stored is replaced
        self.number += 1
        run_id = f"run-{self.number}"
        answer = self.do(self.stores.store.begin_run(worker.lease, run_id=run_id, message_id="m4"))
        if not self.holds(worker):
            assert answer is LeaseLost
            return
        assert isinstance(answer, Lease)
        worker.lease, self.run = answer, (run_id, 2)

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def open_turn(self, data: st.DataObject) -> None:
        lease = self.any_worker(data).lease
        expected = turn(lease)
        existing = self.turns.setdefault(expected.message_id, expected)
        own = (existing.fence, existing.run_id) == (expected.fence, expected.run_id)
        assert self.do(self.stores.store.open_turn(lease, expected)) == (None if own else existing)

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def reopen_turn(self, data: st.DataObject) -> None:
        lease = self.any_worker(data).lease
        expected = turn(lease)
        turn_record = self.turns.get(expected.message_id)
        answer = self.do(self.stores.store.reopen_turn(lease, expected))
        if turn_record is not None and turn_record.fence > lease.fence:
            assert answer is LeaseLost
        else:
            assert answer is None
            self.turns[expected.message_id] = expected

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def put(self, data: st.DataObject) -> None:
        worker = self.any_worker(data)
        if worker.commits is not None:
            return  # a worker writes nothing after its own commit
        self.number += 1
        index = data.draw(st.integers(0, len(worker.put)), "index")
        message = make_question(worker.lease, f"text {self.number}", index=index)
        answer = self.do(self.stores.store.put_message(worker.lease, message))
        if self.fences.get(message.ordinal, 0) > worker.lease.fence:
            assert answer is LeaseLost
        else:
            assert answer is None
            self.fences[message.ordinal] = worker.lease.fence
            worker.put[index:] = [message, *worker.put[index + 1 :]]
        assert self.seen() == self.committed

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        lease = self.any_worker(data).lease
        first_seq = lease.first_seq + data.draw(st.integers(0, 2), "offset")
        piece = LogPiece("r", 1, first_seq, ({"type": "X", "fence": lease.fence},))
        answer = self.do(self.stores.log.append(lease, piece))
        if self.log_fences.get(first_seq, 0) > lease.fence:
            assert answer is LeaseLost
        else:
            assert answer is None
            self.log_fences[first_seq] = lease.fence

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), events=st.integers(1, 9), waits=st.booleans())
    def commit(self, data: st.DataObject, events: int, waits: bool) -> None:
        worker = self.any_worker(data)
        lease = worker.lease
        again = worker.commits is not None
        expected = worker.commits or Commit(
            next_ordinal=lease.thread.next_ordinal + len(worker.put),
            last_seq=lease.first_seq + events - 1,
            usage=Usage(events, 1),
            tokens=sum(message.tokens for message in worker.put),
            pending=self.waiting() if waits else None,
        )
        answer = self.do(self.stores.store.commit(lease, expected))
        if again:
            # A repeated commit is the first one, as long as the store can know; it changes nothing either way.
            assert answer in (UNCHANGED, LeaseLost)
            assert answer == UNCHANGED or self.fence > lease.fence
        elif not self.holds(worker):
            assert answer is LeaseLost
        else:
            assert answer == UNCHANGED
            assert lease.first_seq > self.last_seq
            worker.commits = expected
            self.committed += worker.put
            self.last_seq, self.usage = expected.last_seq, self.usage + expected.usage
            self.holder = self.run = None
            self.status, self.pending = ThreadStatus.ACTIVE, expected.pending
        assert self.seen() == self.committed

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def keep_pending(self, data: st.DataObject) -> None:
        worker = self.any_worker(data)
        waiting = self.waiting()
        answer = self.do(self.stores.store.keep_pending(worker.lease, waiting))
        if not self.holds(worker):
            assert answer is LeaseLost
            return
        assert answer is None
        self.pending = waiting

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.workers)), "worker")
        worker = self.workers[number]
        lease = worker.lease
        episode_ref = make_episode_ref(
            lease.thread, lease.thread.next_ordinal, EndReason.TIMEOUT, self.stores.clock.now()
        )
        if worker.commits is not None:
            return
        answer = self.do(self.stores.store.close(lease, last_seq=lease.first_seq, ended=episode_ref))
        if not self.holds(worker):
            assert answer is LeaseLost
            return
        assert answer is False  # nobody wants to be notified
        del self.workers[number]  # it does nothing under this lease any more
        self.holder = self.run = None
        self.status, self.last_seq = ThreadStatus.CLOSED, lease.first_seq
        if episode_ref is not None:
            self.episode, self.since = self.episode + 1, len(self.committed)

    def waiting(self) -> PendingInterrupts:
        """An interrupt to wait for, with its number."""
        self.number += 1
        at = self.stores.clock.now().replace(microsecond=0)
        interrupt = Interrupt(f"i.{self.number}", f"call-{self.number}", "delete", "May I?", at)
        return PendingInterrupts("run", "answer.i", "assistant", ("wiki:write",), 0, (interrupt,))

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        worker = self.any_worker(data)
        assert self.do(self.stores.store.release(worker.lease)) is None
        if self.holds(worker):
            self.holder = self.run = None

    @precondition(lambda self: self.workers)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        worker = self.any_worker(data)
        assert self.do(self.stores.store.abandon(worker.lease)) is None
        if self.holder is not None and self.holds(worker):
            self.holder.until = self.stores.clock.now().replace(year=1970)

    @invariant()
    def the_thread_is_what_was_committed_and_the_run_in_progress(self) -> None:
        if not self.committed:
            return
        thread = self.runner.run(self.stores.store.get_thread(self.stores.ada, self.thread_id))
        assert (thread.next_ordinal, thread.last_seq) == (len(self.committed), self.last_seq)
        assert thread.usage == self.usage
        assert thread.stored_tokens == sum(message.tokens for message in self.committed)
        assert (thread.status, thread.pending) == (self.status, self.pending)
        assert (thread.episode, thread.episode_first_ordinal) == (self.episode, self.since)
        visible = (thread.run.run_id, thread.run.attempt) if thread.run else None
        assert visible == self.run
        if thread.run is not None and self.holder is not None:
            alive = self.holder.until >= self.stores.clock.now()
            assert thread.run.status is (RunStatus.RUNNING if alive else RunStatus.INTERRUPTED)

    def seen(self) -> list[StoredMessage]:
        """The messages as a reader finds them."""

        async def read() -> list[StoredMessage]:
            store, ada = self.stores.store, self.stores.ada
            thread = await store.get_thread(ada, self.thread_id)
            return list((await store.read_messages(ada, thread, limit=200, before=None)).messages)

        messages = self.runner.run(read())
        assert [message.ordinal for message in messages] == list(range(len(messages)))
        return messages

    def any_worker(self, data: st.DataObject) -> Worker:
        return self.workers[data.draw(st.sampled_from(sorted(self.workers)), "worker")]
