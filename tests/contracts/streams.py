"""The stream log, attached connections and audit records: what every store does about them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from baton.domain.agents.agent_settings import WhileBusy
from baton.domain.runs.usage import Usage
from baton.domain.threads.queued import WaitingMessage
from baton.domain.threads.thread import LeaseMark, Watchers
from baton.ports.tenants.audit import Once
from baton.ports.threads.connections import Live
from baton.ports.threads.leases import Commit
from baton.ports.threads.stream_log import LogPiece
from baton.threads.requests.parsing import parse_message_request
from baton.threads.requests.queue_mapping import make_queued_message
from tests.contracts.stores import Stores, new_thread_id

DAY = 24 * 3600


class StreamLogContract:
    """Pieces of events, by their sequence numbers."""

    async def test_pieces_come_back_in_order(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        pieces = [piece(1, 3), piece(4, 1), piece(5, 10)]
        for one in pieces[::-1]:
            await stores.log.append(lease, one)
        assert list((await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces) == pieces

    async def test_events_come_back_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        events: tuple[dict[str, Any], ...] = (
            {"type": "TEXT_MESSAGE_CONTENT", "delta": "Grüße \x00 😀\u2028", "messageId": "m"},
            {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1, 2.5, None, True, {}], "": ""}},
        )
        await stores.log.append(lease, LogPiece("r1", 2, 7, events))
        assert list((await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces) == [
            LogPiece("r1", 2, 7, events)
        ]

    async def test_reading_begins_with_the_piece_that_holds_the_next_event(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        pieces = [piece(1, 3), piece(4, 3), piece(7, 3)]
        for one in pieces:
            await stores.log.append(lease, one)

        async def first_seqs(after: int) -> list[int]:
            return [one.first_seq for one in (await stores.log.read(stores.ada, lease.thread_id, after=after)).pieces]

        assert await first_seqs(2) == [1, 4, 7]
        assert await first_seqs(3) == [4, 7]
        assert await first_seqs(4) == [4, 7]
        assert await first_seqs(5) == [4, 7]
        assert await first_seqs(6) == [7]
        assert await first_seqs(8) == [7]
        assert await first_seqs(9) == []
        assert await first_seqs(10**9) == []

    async def test_a_log_with_a_jump_is_read_from_before_and_after_it(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.log.append(lease, piece(1, 3))
        await stores.log.append(lease, piece(10_001, 2))
        for after, expected in ((0, [1, 10_001]), (3, [10_001]), (5_000, [10_001]), (10_001, [10_001]), (10_002, [])):
            pieces = (await stores.log.read(stores.ada, lease.thread_id, after=after)).pieces
            assert [one.first_seq for one in pieces] == expected

    async def test_a_log_of_many_pieces_is_read_whole(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        long = {"type": "X", "text": "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(30_000))}
        for number in range(15):  # more than one page of a query, which ends at 1 MB
            await stores.log.append(lease, LogPiece("r1", 1, number + 1, (long,)))
        pieces = (await stores.log.read(stores.ada, lease.thread_id, after=1)).pieces
        assert [one.first_seq for one in pieces] == list(range(2, 16))

    async def test_a_log_up_to_a_number_is_read_without_what_begins_after_it(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        for first_seq in (1, 4, 7):
            await stores.log.append(lease, piece(first_seq, 3))
        for through, expected in ((0, []), (3, [1]), (4, [1, 4]), (6, [1, 4]), (9, [1, 4, 7])):
            read = await stores.log.read(stores.ada, lease.thread_id, after=0, through=through)
            assert ([one.first_seq for one in read.pieces], read.is_whole) == (expected, True)

    @pytest.mark.parametrize(
        ("runs", "expected"),
        [
            # Kibibytes of each piece, by run. The newest pieces up to the limit, from the beginning of a run.
            ([[200] * 4, [200] * 4], 8),
            ([[200] * 12, [200] * 12], 24),
            ([[200] * 12, [200] * 12, [200] * 12], 24),
            ([[200] * 30, [200] * 30], 30),
            ([[200] * 90], 82),
            ([[1] * 90, [200] * 90, [1] * 3], 85),
        ],
        ids=lambda value: str(value)[:20],
    )
    async def test_a_log_that_is_too_large_is_read_from_the_beginning_of_a_run(
        self, stores: Stores, runs: list[list[int]], expected: int
    ) -> None:
        lease = await stores.acquire(new_thread_id())
        pieces: list[LogPiece] = []
        for number, sizes in enumerate(runs):
            for size in sizes:
                event = {"type": "X", "text": "x" * (1024 * size)}
                pieces.append(LogPiece(f"r{number}", 1, len(pieces) + 1, (event,)))
        for one in pieces:
            await stores.log.append(lease, one)
        read = await stores.log.read(stores.ada, lease.thread_id, after=0)
        assert [one.first_seq for one in read.pieces] == [one.first_seq for one in pieces[-expected:]]
        assert read.is_whole == (expected == len(pieces))

    async def test_a_piece_written_again_is_there_once(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        for _ in range(2):
            await stores.log.append(lease, piece(1, 3))
        assert list((await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces) == [piece(1, 3)]

    async def test_an_empty_log_has_nothing(self, stores: Stores) -> None:
        assert list((await stores.log.read(stores.ada, new_thread_id(), after=0)).pieces) == []

    async def test_the_log_is_kept_for_a_day(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.log.append(lease, piece(1, 3))
        stores.clock.advance(DAY - 1)
        await stores.log.append(lease, piece(4, 3))
        assert len((await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces) == 2
        stores.clock.advance(1)
        assert [one.first_seq for one in (await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces] == [4]
        stores.clock.advance(DAY)
        assert list((await stores.log.read(stores.ada, lease.thread_id, after=0)).pieces) == []

    async def test_the_log_after_a_number_is_kept_longer_if_it_is_asked_for(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.log.append(lease, piece(1, 3))
        await stores.log.append(lease, piece(4, 3))
        stores.clock.advance(DAY)
        read = await stores.log.read(stores.ada, lease.thread_id, after=0, kept_after=3)
        assert [log_piece.first_seq for log_piece in read.pieces] == [4]

    async def test_every_tenant_has_a_log_of_its_own(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        await stores.log.append(lease, piece(1, 3))
        assert list((await stores.log.read(stores.stranger, lease.thread_id, after=0)).pieces) == []


class LiveContract:
    """Connections attached to threads."""

    async def test_nobody_is_attached_at_first(self, stores: Stores) -> None:
        assert await stores.live.live(stores.ada, new_thread_id()) == Live({})

    async def test_what_a_lease_is_asked_about_is_live_until_it_is_asked_about_again(self, stores: Stores) -> None:
        thread_id, now = new_thread_id(), stores.clock.now()
        await stores.live.ask(stores.ada, thread_id, LeaseMark(3, now))
        await stores.live.ask(stores.ada, thread_id, LeaseMark(4, now))
        await stores.live.ask(stores.ada, thread_id, LeaseMark(3, now + timedelta(seconds=10)))
        expected = {LeaseMark(3, now + timedelta(seconds=10)), LeaseMark(4, now)}
        assert await stores.live.live(stores.ada, thread_id) == Live({}, asked=frozenset(expected))
        assert (await stores.live.live(stores.ada, new_thread_id())).asked == frozenset()
        stores.clock.advance(61)
        assert (await stores.live.live(stores.ada, thread_id)).asked == frozenset()

    async def test_attached_connections_are_live_with_their_tokens_end(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        early, late = stores.clock.now() + timedelta(minutes=5), stores.clock.now() + timedelta(hours=1)
        await stores.live.attach(stores.ada, thread_id, "c1", early)
        await stores.live.attach(stores.bob, thread_id, "c2=", late)
        assert (await stores.live.live(stores.ada, thread_id)).users == {"c1": "ada", "c2=": "bob"}
        assert await stores.live.live(stores.ada, thread_id) == Live({"c1": early, "c2=": late})

    async def test_attaching_again_renews(self, stores: Stores) -> None:
        thread_id, end = new_thread_id(), stores.clock.now() + timedelta(hours=9)
        await stores.live.attach(stores.ada, thread_id, "c1", stores.clock.now())
        stores.clock.advance(2 * 3600)
        await stores.live.attach(stores.ada, thread_id, "c1", end)
        stores.clock.advance(2 * 3600)
        assert (await stores.live.live(stores.ada, thread_id)).connections == {"c1": end}

    async def test_a_commit_finds_out_that_a_connection_was_attached_or_a_run_asked_to_stop(
        self, stores: Stores
    ) -> None:
        thread_id, end = new_thread_id(), stores.clock.now() + timedelta(hours=1)
        await stores.live.attach(stores.ada, thread_id, "before-the-thread", end)
        await stores.turn(thread_id)
        lease = await stores.acquire(thread_id, message_id="m2", run_id="r2")
        await stores.live.attach(stores.ada, thread_id, "c1", end)
        await stores.live.request_cancel(stores.ada, thread_id, "r2")
        await stores.live.ask(stores.ada, thread_id, LeaseMark(2, end))
        await stores.live.note_reader(stores.ada, thread_id)
        commit = Commit(lease.thread.next_ordinal, lease.first_seq, Usage(), tokens=0)
        committed = await stores.store.commit(lease, commit)
        assert (lease.thread.live_changes, committed.live_changes) == (0, 2)
        assert await stores.store.commit(lease, commit) == committed  # its answer was lost
        assert (await stores.live.live(stores.stranger, thread_id)) == Live({})

    @pytest.mark.parametrize("count", [0, 1, 4])
    async def test_a_thread_knows_its_watchers_until_there_is_another(self, stores: Stores, count: int) -> None:
        thread_id, end = new_thread_id(), stores.clock.now() + timedelta(hours=1)
        await stores.turn(thread_id)
        watchers = {f"L0SM9cOFvHcCIh{number}=": end for number in range(count)}
        for watcher in watchers:
            await stores.live.attach(stores.ada, thread_id, watcher, end)
        lease = await stores.acquire(thread_id, message_id="m2", run_id="r2")
        assert (lease.thread.known_watchers, lease.thread.live_changes) == (None, count)
        existing = Watchers(count, watchers)
        at = lease.thread.next_ordinal
        await stores.store.commit(lease, Commit(at, lease.first_seq, Usage(), tokens=0, watchers=existing))
        lease = await stores.acquire(thread_id, message_id="m3", run_id="r3")
        assert lease.thread.known_watchers == watchers
        await stores.live.attach(stores.ada, thread_id, "another", end)
        assert (await stores.store.get_thread(stores.ada, thread_id)).known_watchers is None
        await stores.store.commit(lease, Commit(at, lease.first_seq, Usage(), tokens=0))
        assert (await stores.store.get_thread(stores.ada, thread_id)).watchers is None

    async def test_a_reader_of_the_log_counts_for_a_minute(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        await stores.live.note_reader(stores.ada, thread_id)
        assert await stores.live.live(stores.ada, thread_id) == Live({}, is_log_read=True)
        assert not (await stores.live.live(stores.stranger, thread_id)).is_log_read
        stores.clock.advance(61)
        assert not (await stores.live.live(stores.ada, thread_id)).is_log_read

    async def test_a_user_counts_as_typing_for_six_seconds(self, stores: Stores) -> None:
        typing, silent = new_thread_id(), new_thread_id()
        since = dict.fromkeys([typing, silent], stores.clock.now() - timedelta(seconds=1))
        await stores.live.note_typing(stores.ada, typing)
        assert await stores.live.find_typing(stores.ada, since) == {typing}
        assert await stores.live.find_typing(stores.ada, {typing: stores.clock.now()}) == frozenset()
        assert await stores.live.find_typing(stores.stranger, since) == frozenset()
        stores.clock.advance(2)
        await stores.live.note_typing(stores.ada, typing)  # too soon to be noted again
        stores.clock.advance(5)
        assert await stores.live.find_typing(stores.ada, since) == frozenset()
        await stores.live.note_typing(stores.ada, typing)
        assert await stores.live.find_typing(stores.ada, since) == {typing}
        assert await stores.live.live(stores.ada, typing) == Live({})

    async def test_a_detached_connection_keeps_its_other_threads(self, stores: Stores) -> None:
        first, second, end = new_thread_id(), new_thread_id(), stores.clock.now() + timedelta(hours=1)
        for thread_id in (first, second):
            await stores.live.attach(stores.ada, thread_id, f"c-{stores.tenant}", end)
        await stores.live.detach(stores.ada, first, f"c-{stores.tenant}")
        await stores.live.detach(stores.ada, first, "never-there")
        assert (await stores.live.live(stores.ada, first)).connections == {}
        assert list((await stores.live.live(stores.ada, second)).connections) == [f"c-{stores.tenant}"]

    async def test_a_disconnected_connection_is_attached_nowhere(self, stores: Stores) -> None:
        threads, end = [new_thread_id() for _ in range(3)], stores.clock.now() + timedelta(hours=1)
        for thread_id in threads:
            await stores.live.attach(stores.ada, thread_id, f"c-{stores.tenant}", end)
            await stores.live.attach(stores.ada, thread_id, "other", end)
        await stores.live.disconnect(f"c-{stores.tenant}")
        await stores.live.disconnect(f"c-{stores.tenant}")
        for thread_id in threads:
            assert list((await stores.live.live(stores.ada, thread_id)).connections) == ["other"]

    async def test_connections_are_forgotten_after_the_gateways_two_hours(self, stores: Stores) -> None:
        thread_id, end = new_thread_id(), stores.clock.now() + timedelta(hours=9)
        await stores.live.attach(stores.ada, thread_id, "c1", end)
        stores.clock.advance(2 * 3600)
        assert list((await stores.live.live(stores.ada, thread_id)).connections) == ["c1"]
        stores.clock.advance(15 * 60)
        assert (await stores.live.live(stores.ada, thread_id)).connections == {}

    async def test_every_tenants_thread_has_connections_of_its_own(self, stores: Stores) -> None:
        thread_id, end = new_thread_id(), stores.clock.now() + timedelta(hours=1)
        await stores.live.attach(stores.ada, thread_id, "c1", end)
        assert (await stores.live.live(stores.stranger, thread_id)).connections == {}

    async def test_messages_wait_in_the_order_in_which_they_were_sent(self, stores: Stores) -> None:
        thread_id, now = new_thread_id(), stores.clock.now()
        later = waiting_message(stores, thread_id, "m#1", sent_at=now + timedelta(seconds=1))
        first = waiting_message(stores, thread_id, "m2", sent_at=now, mode=WhileBusy.INTERRUPT)
        for message in (later, first):
            await stores.live.put_waiting(stores.ada, thread_id, message)
        assert list(await stores.live.waiting(stores.ada, thread_id)) == [first, later]
        assert (await stores.live.live(stores.ada, thread_id)).waiting == (first, later)
        assert list(await stores.live.waiting(stores.stranger, thread_id)) == []
        await stores.live.remove_waiting(stores.ada, thread_id, "m2")
        assert list(await stores.live.waiting(stores.ada, thread_id)) == [later]

    async def test_a_message_is_added_only_if_it_does_not_wait_yet(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        steered = waiting_message(stores, thread_id, "m1", sent_at=stores.clock.now(), mode=WhileBusy.STEER)
        await stores.live.add_waiting(stores.ada, thread_id, steered)
        await stores.live.add_waiting(stores.ada, thread_id, replace(steered, mode=WhileBusy.QUEUE))
        assert list(await stores.live.waiting(stores.ada, thread_id)) == [steered]

    async def test_a_message_waits_as_long_as_the_queue_has_it_or_its_sender_waits(self, stores: Stores) -> None:
        thread_id, now = new_thread_id(), stores.clock.now()
        queued = waiting_message(stores, thread_id, "m1", sent_at=now)
        bare = replace(queued, message_id="m2", queued=None, until=now + timedelta(minutes=10))
        for message in (queued, bare):
            await stores.live.put_waiting(stores.ada, thread_id, message)
        assert list(await stores.live.waiting(stores.ada, thread_id)) == [queued, bare]
        stores.clock.advance(3600 + 600)
        assert list(await stores.live.waiting(stores.ada, thread_id)) == [queued]
        stores.clock.advance(4 * DAY)
        assert list(await stores.live.waiting(stores.ada, thread_id)) == []


class AuditContract:
    """Audit records."""

    async def test_records_come_back_oldest_first(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for action in ("thread.read", "thread.write"):
            await stores.audit.record(stores.ada, action, thread_id=thread_id, outcome="denied", detail={"n": action})
            stores.clock.advance(1)
        assert await stores.audit_records(stores.ada) == [
            {"user_id": "ada", "action": a, "outcome": "denied", "thread_id": thread_id, "detail": {"n": a}}
            for a in ("thread.read", "thread.write")
        ]

    async def test_any_detail_is_kept(self, stores: Stores) -> None:
        detail: dict[str, Any] = {
            "score": 0.25,
            "none": None,
            "empty": {},
            "list": [[], ""],
            "text": "Ü😀",
            "big": 10**40,
        }
        await stores.audit.record(stores.ada, "x", thread_id=new_thread_id(), outcome="ok", detail=detail)
        [record] = await stores.audit_records(stores.ada)
        assert record["detail"] == detail

    async def test_what_is_recorded_once_is_one_record_however_often_it_is_tried(self, stores: Stores) -> None:
        thread_id, once = new_thread_id(), Once(new_thread_id(), stores.clock.now())
        for outcome in ("closed", "closed again"):
            await stores.audit.record(
                stores.ada, "thread.close", thread_id=thread_id, outcome=outcome, detail={}, once=once
            )
            stores.clock.advance(60)
        assert [record["outcome"] for record in await stores.audit_records(stores.ada)] == ["closed"]
        [record], _ = await stores.audit.of_thread(stores.ada, thread_id, limit=10, cursor=None)
        assert record.at == once.at

    async def test_a_record_may_be_about_no_thread(self, stores: Stores) -> None:
        await stores.audit.record(stores.ada, "audit.read", thread_id=None, outcome="denied", detail={"n": 1})
        [record], _ = await stores.audit.of_tenant(stores.ada, {"action": "audit.read"}, limit=10, cursor=None)
        assert (record.thread_id, record.user_id, dict(record.detail)) == (None, "ada", {"n": 1})

    async def test_every_tenant_has_records_of_its_own(self, stores: Stores) -> None:
        await stores.audit.record(stores.ada, "x", thread_id=new_thread_id(), outcome="ok", detail={})
        assert await stores.audit_records(stores.stranger) == []


def piece(first_seq: int, count: int) -> LogPiece:
    """``count`` events from ``first_seq`` on."""
    return LogPiece("r1", 1, first_seq, tuple({"type": "X", "n": first_seq + n} for n in range(count)))


def waiting_message(
    stores: Stores, thread_id: str, message_id: str, *, sent_at: datetime, mode: WhileBusy = WhileBusy.STEER
) -> WaitingMessage:
    """A message of ada's that waits for the run r1."""
    request = parse_message_request(stores.ada, thread_id=thread_id, message_id=message_id, content="To Graz!")
    queued = make_queued_message(stores.ada, request, request_id=message_id).model_copy(update={"busy": mode})
    return WaitingMessage(message_id, mode, "r1", request.digest, sent_at, queued)
