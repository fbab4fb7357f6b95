"""Owners of threads, and lists of threads, in every thread store."""

from __future__ import annotations

import base64
import json

import pytest

from baton.domain.errors import Forbidden, InvalidRequest, ThreadUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.threads.leases import Lease, LeaseRequest, NoSuchThread
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id

HOUR = 3600
MADE_UP_VALUES = [
    {"at": "1", "id": "x"},
    {"at": -1, "id": "x"},
    {"at": 10**30, "id": "x"},
    {"at": 1},
    {"after": 5},
    {"after": ""},
    {"after": "é"},
    {"after": "x" * 5_000},
    [[[[]]]],
    "text",
]
MADE_UP_CURSORS = ["x", "%%%", "é", "\x00", "\ud800", "A" * 10_000, "MQ=="]
MADE_UP_CURSORS += [base64.urlsafe_b64encode(json.dumps(value).encode()).decode() for value in MADE_UP_VALUES]


class OwnershipContract:
    """A thread is its user's; nobody else learns even that it exists."""

    @pytest.mark.parametrize("consistent", [True, False])
    async def test_a_user_finds_their_own_thread_and_no_other(self, stores: Stores, *, consistent: bool) -> None:
        thread_id = new_thread_id()
        await stores.turn(thread_id)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        assert await stores.store.find_own(stores.ada, thread_id, consistent=consistent) == thread
        for scope in (stores.auditor, stores.stranger):
            assert await stores.store.find_own(scope, thread_id, consistent=consistent) is None
        assert await stores.store.find_own(stores.ada, new_thread_id(), consistent=consistent) is None

    async def test_an_unknown_thread_is_unavailable(self, stores: Stores) -> None:
        with pytest.raises(ThreadUnavailable):
            await stores.store.get_thread(stores.ada, new_thread_id())

    async def test_a_thread_is_unavailable_to_other_users_and_tenants(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        for scope in (stores.bob, stores.stranger):
            with pytest.raises(ThreadUnavailable) as refusal:
                await stores.store.get_thread(scope, thread_id)
            assert refusal.value.detail == ThreadUnavailable.detail
            with pytest.raises(ThreadUnavailable):
                await stores.store.check_writable(scope, thread_id)
            with pytest.raises(ThreadUnavailable):
                await stores.acquire(thread_id, scope=scope)

    async def test_the_refusal_shows_baton_alone_whether_anybody_has_begun_the_thread(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        for scope in (stores.bob, stores.stranger, stores.ada):
            with pytest.raises(ThreadUnavailable) as refusal:
                await stores.store.get_thread(scope, new_thread_id() if scope == stores.ada else thread_id)
            assert refusal.value.is_unused is (scope == stores.ada)
            assert (refusal.value.detail, str(refusal.value)) == (ThreadUnavailable.detail,) * 2

    async def test_a_thread_in_use_is_unavailable_rather_than_busy(self, stores: Stores) -> None:
        thread_id = (await stores.acquire(new_thread_id())).thread_id
        for scope in (stores.bob, stores.stranger):
            with pytest.raises(ThreadUnavailable):
                await stores.acquire(thread_id, scope=scope)
            with pytest.raises(ThreadUnavailable):
                await stores.store.get_thread(scope, thread_id)

    async def test_a_user_who_was_refused_changed_nothing(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        before = await stores.store.get_thread(stores.ada, thread_id)
        for scope in (stores.bob, stores.stranger):
            with pytest.raises(ThreadUnavailable):
                await stores.acquire(thread_id, scope=scope, message_id="m2")

        assert await stores.store.get_thread(stores.ada, thread_id) == before
        await stores.turn(thread_id, 2)

    async def test_another_tenants_use_of_an_id_leaves_nothing_behind(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        for _ in range(2):
            with pytest.raises(ThreadUnavailable):
                await stores.acquire(thread_id, scope=stores.stranger)

        everything = Scope(stores.stranger.tenant_id, "ada", frozenset({"thread:read_all"}))
        with pytest.raises(ThreadUnavailable):
            await stores.store.get_thread(everything, thread_id)
        assert await stores.store.list_threads(everything, limit=10, cursor=None) == ([], None)
        assert await stores.store.list_threads(everything, limit=10, cursor=None, whole_tenant=True) == ([], None)

    async def test_another_tenants_mapped_id_is_the_same_as_an_unused_one(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        with pytest.raises(NoSuchThread):
            await stores.acquire(new_thread_id(), scope=stores.stranger, may_create=False)
        with pytest.raises(NoSuchThread):
            await stores.acquire(thread_id, scope=stores.stranger, may_create=False)

    async def test_a_user_who_may_read_all_reads_but_does_not_write(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        thread = await stores.store.get_thread(stores.auditor, thread_id)
        assert thread.user_id == "ada"
        page = await stores.store.read_messages(stores.auditor, thread, limit=10, before=None)
        assert len(page.messages) == 2
        with pytest.raises(ThreadUnavailable):
            await stores.acquire(thread_id, scope=stores.auditor, message_id="m2")
        with pytest.raises(ThreadUnavailable):
            await stores.store.check_writable(stores.auditor, thread_id)

    async def test_a_user_who_may_read_all_reads_only_the_own_tenant(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        elsewhere = Scope(stores.stranger.tenant_id, "auditor", frozenset({"thread:read_all"}))
        with pytest.raises(ThreadUnavailable):
            await stores.store.get_thread(elsewhere, thread_id)

    async def test_an_own_or_a_new_thread_is_writable(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        await stores.store.check_writable(stores.ada, thread_id)
        await stores.store.check_writable(stores.ada, new_thread_id())

    @pytest.mark.parametrize("user_id", ["a#b", "a/b%c", "日本語" * 80, "😀" * 256, "~", " x "])
    async def test_any_printable_user_id_will_do(self, stores: Stores, user_id: str) -> None:
        scope = Scope(stores.tenant, user_id)
        thread_id = (await stores.turn(new_thread_id(), scope=scope)).thread_id
        threads, _ = await stores.store.list_threads(scope, limit=10, cursor=None)
        assert [(thread.id, thread.user_id) for thread in threads] == [(thread_id, user_id)]


class ListContract:
    """Lists of threads, newest first."""

    async def test_a_user_without_threads_has_an_empty_list(self, stores: Stores) -> None:
        assert await stores.store.list_threads(stores.ada, limit=10, cursor=None) == ([], None)

    async def test_a_listed_thread_is_the_thread(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        threads, cursor = await stores.store.list_threads(stores.ada, limit=10, cursor=None)
        assert list(threads) == [await stores.store.get_thread(stores.ada, thread_id)]
        assert cursor is None

    async def test_a_users_list_has_the_latest_activity_first(self, stores: Stores) -> None:
        first, second, third = await _threads(stores, 3, apart=1)
        stores.clock.advance(1)
        await stores.turn(first, 2)
        assert await _pages(stores, stores.ada, 10) == [[first, third, second]]

    async def test_an_old_thread_that_is_used_again_comes_first(self, stores: Stores) -> None:
        first, second, third = await _threads(stores, 3, apart=2 * HOUR)
        stores.clock.advance(HOUR)
        await stores.turn(second, 2)
        assert await _pages(stores, stores.ada, 2) == [[second, third], [first]]

    @pytest.mark.parametrize("apart", [0.001, 25 * 60, 30 * HOUR])
    async def test_pages_show_every_thread_once_in_order(self, stores: Stores, apart: float) -> None:
        ids = await _threads(stores, 7, apart=apart)
        newest_first = ids[::-1]
        assert await _pages(stores, stores.ada, 3) == [newest_first[:3], newest_first[3:6], newest_first[6:]]
        assert await _pages(stores, stores.ada, 7) == [newest_first]

    async def test_threads_of_one_moment_are_shown_once_each(self, stores: Stores) -> None:
        ids = await _threads(stores, 5, apart=0)
        pages = await _pages(stores, stores.ada, 2)
        assert [len(page) for page in pages] == [2, 2, 1]
        assert sorted(thread_id for page in pages for thread_id in page) == sorted(ids)

    async def test_a_thread_that_moves_up_between_two_pages_is_not_shown_twice(self, stores: Stores) -> None:
        first, second, third = await _threads(stores, 3, apart=60)
        threads, cursor = await stores.store.list_threads(stores.ada, limit=1, cursor=None)
        assert [thread.id for thread in threads] == [third]
        stores.clock.advance(60)
        await stores.turn(third, 2)
        threads, cursor = await stores.store.list_threads(stores.ada, limit=2, cursor=cursor)
        assert [thread.id for thread in threads] == [second, first]

    async def test_a_users_list_has_only_the_users_threads(self, stores: Stores) -> None:
        own = await _threads(stores, 2, apart=1)
        await stores.turn(new_thread_id(), scope=stores.bob)
        await stores.turn(new_thread_id(), scope=stores.stranger)
        assert await _pages(stores, stores.ada, 10) == [own[::-1]]
        assert await _pages(stores, stores.auditor, 10) == [[]]

    async def test_the_tenants_list_has_everybodys_threads(self, stores: Stores) -> None:
        ids = []
        for scope in (stores.ada, stores.bob, stores.ada, stores.auditor):
            ids.append((await stores.turn(new_thread_id(), scope=scope)).thread_id)
            stores.clock.advance(HOUR)
        await stores.turn(new_thread_id(), scope=stores.stranger)

        newest_first = ids[::-1]
        assert await _pages(stores, stores.auditor, 10, whole_tenant=True) == [newest_first]
        assert await _pages(stores, stores.auditor, 3, whole_tenant=True) == [newest_first[:3], newest_first[3:]]
        assert await _pages(stores, stores.auditor, 2, whole_tenant=True) == [newest_first[:2], newest_first[2:]]
        assert await _pages(stores, stores.auditor, 1, whole_tenant=True) == [[thread_id] for thread_id in newest_first]

    @pytest.mark.parametrize("limit", [1, 4, 100])
    async def test_the_tenants_threads_of_one_moment_are_shown_once_each(self, stores: Stores, limit: int) -> None:
        moments = [await _threads(stores, 9, apart=0)]
        stores.clock.advance(0.001)
        moments.append(await _threads(stores, 9, apart=0))
        pages = await _pages(stores, stores.auditor, limit, whole_tenant=True)
        visible = [thread_id for page in pages for thread_id in page]
        assert (sorted(visible[:9]), sorted(visible[9:])) == (sorted(moments[1]), sorted(moments[0]))
        assert all(len(page) == limit for page in pages[:-1])

    async def test_a_thread_that_begins_between_two_pages_moves_nothing(self, stores: Stores) -> None:
        ids = await _threads(stores, 12, apart=1)
        threads, cursor = await stores.store.list_threads(stores.auditor, limit=5, cursor=None, whole_tenant=True)
        await stores.turn(new_thread_id())
        more, _ = await stores.store.list_threads(stores.auditor, limit=5, cursor=cursor, whole_tenant=True)
        assert [thread.id for thread in (*threads, *more)] == ids[::-1][:10]

    async def test_the_tenants_list_needs_a_permission(self, stores: Stores) -> None:
        with pytest.raises(Forbidden):
            await stores.store.list_threads(stores.ada, limit=10, cursor=None, whole_tenant=True)

    async def test_a_cursor_made_up_is_refused(self, stores: Stores) -> None:
        for cursor in MADE_UP_CURSORS:
            for whole_tenant in (False, True):
                with pytest.raises(InvalidRequest):
                    await stores.store.list_threads(stores.auditor, limit=9, cursor=cursor, whole_tenant=whole_tenant)

    async def test_a_cursor_of_one_list_is_refused_or_harmless_in_the_other(self, stores: Stores) -> None:
        await _threads(stores, 3, apart=1)
        for mine in (False, True):
            _, cursor = await stores.store.list_threads(stores.auditor, limit=1, cursor=None, whole_tenant=True)
            if mine:
                _, cursor = await stores.store.list_threads(stores.ada, limit=1, cursor=None)
            for other in (False, True):
                try:
                    threads, _ = await stores.store.list_threads(
                        stores.auditor, limit=5, cursor=cursor, whole_tenant=other
                    )
                except InvalidRequest:
                    continue
                assert all(isinstance(thread, Thread) for thread in threads)


class ForkContract:
    """Threads that are forks of another: listed under it and nowhere else."""

    async def test_a_fork_knows_its_parent(self, stores: Stores) -> None:
        parent = (await stores.turn(new_thread_id())).thread_id
        lease = await _fork(stores, parent)
        assert lease.thread.parent_thread_id == parent
        assert (await stores.store.get_thread(stores.ada, lease.thread_id)).parent_thread_id == parent
        assert (await stores.store.get_thread(stores.ada, parent)).parent_thread_id is None

    async def test_a_fork_is_listed_under_its_parent_only(self, stores: Stores) -> None:
        parent, other = await _threads(stores, 2, apart=60)
        fork = (await _fork(stores, parent)).thread_id
        assert await _pages(stores, stores.ada, 10, parent_thread_id=parent) == [[fork]]
        assert await _pages(stores, stores.ada, 10, parent_thread_id=other) == [[]]
        assert await _pages(stores, stores.ada, 10, parent_thread_id=fork) == [[]]
        assert await _pages(stores, stores.ada, 10) == [[other, parent]]
        assert await _pages(stores, stores.auditor, 10, whole_tenant=True) == [[other, parent]]

    async def test_a_fork_that_is_used_again_stays_under_its_parent(self, stores: Stores) -> None:
        parent = (await stores.turn(new_thread_id())).thread_id
        fork = (await _fork(stores, parent)).thread_id
        stores.clock.advance(30 * HOUR)
        await stores.turn(fork, 2)
        assert await _pages(stores, stores.ada, 10, parent_thread_id=parent) == [[fork]]
        assert await _pages(stores, stores.ada, 10) == [[parent]]
        thread = await stores.store.get_thread(stores.ada, fork)
        assert (thread.parent_thread_id, thread.next_ordinal) == (parent, 4)

    async def test_forks_come_in_pages_with_the_latest_first(self, stores: Stores) -> None:
        parent = (await stores.turn(new_thread_id())).thread_id
        forks = []
        for _ in range(5):
            stores.clock.advance(2 * HOUR)
            forks.append((await _fork(stores, parent)).thread_id)
        newest_first = forks[::-1]
        pages = await _pages(stores, stores.ada, 2, parent_thread_id=parent)
        assert pages == [newest_first[:2], newest_first[2:4], newest_first[4:]]

    async def test_others_see_no_forks(self, stores: Stores) -> None:
        parent = (await stores.turn(new_thread_id())).thread_id
        fork = (await _fork(stores, parent)).thread_id
        for scope in (stores.bob, stores.stranger):
            assert await _pages(stores, scope, 10, parent_thread_id=parent) == [[]]
            assert await _pages(stores, scope, 10) == [[]]
            with pytest.raises(ThreadUnavailable):
                await stores.store.get_thread(scope, fork)
            with pytest.raises(ThreadUnavailable):
                await stores.acquire(fork, scope=scope, message_id="m2")


async def _fork(stores: Stores, parent: str) -> Lease:
    """A fork of ``parent``, with a turn."""
    lease = await stores.store.acquire(stores.ada, fork_request(new_thread_id(), parent))
    await stores.commit(lease, make_question(lease), make_answer(lease))
    return lease


def fork_request(thread_id: str, parent: str) -> LeaseRequest:
    """The request that begins a fork of ``parent``."""
    return LeaseRequest(
        thread_id, "r1", "m1", may_create=True, agent_id="assistant", idle_seconds=1800, parent_thread_id=parent
    )


async def _threads(stores: Stores, count: int, *, apart: float) -> list[str]:
    """Threads of Ada's with a turn each, ``apart`` seconds between them, oldest first."""
    ids = []
    for _ in range(count):
        ids.append((await stores.turn(new_thread_id())).thread_id)
        stores.clock.advance(apart)
    return ids


async def _pages(
    stores: Stores, scope: Scope, limit: int, *, whole_tenant: bool = False, parent_thread_id: str | None = None
) -> list[list[str]]:
    """The ids on every page of a list."""
    pages, cursor = [], None
    while True:
        threads, cursor = await stores.store.list_threads(
            scope, limit=limit, cursor=cursor, whole_tenant=whole_tenant, parent_thread_id=parent_thread_id
        )
        pages.append([thread.id for thread in threads])
        if cursor is None:
            return pages
