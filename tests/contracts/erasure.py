"""The contract of everything that removes threads and objects."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from baton.domain.memory.forgetting import ThreadTrace
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.privacy import Erasure, ObjectErasure
from baton_testing.fakes.clock import FakeClock
from tests.contracts.stores import new_thread_id

HOUR = 3600.0


@dataclass
class Erasing:
    """The eraser under test, and the means to create something to be removed."""

    erasure: Erasure
    objects: ObjectErasure
    clock: FakeClock
    talk: Callable[[Scope, str, str | None], Awaitable[None]]
    """Have a question answered in a thread, which is a fork if it has a parent."""
    upload: Callable[[Scope, str], Awaitable[None]]
    """Put an object with two versions below a thread."""

    def __post_init__(self) -> None:
        self.tenant = f"t{uuid.uuid4().hex}"
        self.ada, self.bob = Scope(self.tenant, "ada"), Scope(self.tenant, "bob")
        self.stranger = Scope(f"{self.tenant}-2", "ada")
        """The same user id in another tenant."""

    async def make_thread(self, scope: Scope | None = None, *, parent: str | None = None) -> str:
        """Make a thread with a question and its answer, and return its id."""
        thread_id = new_thread_id()
        await self.talk(scope or self.ada, thread_id, parent)
        return thread_id

    async def trace(self, scope: Scope, thread_id: str) -> ThreadTrace:
        """The remains of a thread."""
        traces = await self.erasure.trace(scope, thread_id)
        assert traces is not None
        return traces

    async def bury(self, scope: Scope, thread_id: str) -> ThreadTrace:
        """Put a tombstone in the thread's place, and return it."""
        assert await self.erasure.bury(scope, await self.trace(scope, thread_id))
        return await self.trace(scope, thread_id)

    async def threads(self, scope: Scope) -> list[str]:
        """The ids of the user's threads."""
        return [item.id async for page in self.erasure.threads(scope) for item in page]


def far_deadline() -> float:
    """A deadline that does not come."""
    return asyncio.get_running_loop().time() + 60


class ErasureContract:
    """Threads in the table."""

    async def test_threads_of_one_user_are_listed_and_forks_below_them(self, erasing: Erasing) -> None:
        first, second = await erasing.make_thread(), await erasing.make_thread()
        fork = await erasing.make_thread(parent=first)
        other, foreign = await erasing.make_thread(erasing.bob), await erasing.make_thread(erasing.stranger)
        assert set(await erasing.threads(erasing.ada)) == {first, second}
        assert await erasing.threads(erasing.bob) == [other]
        assert await erasing.threads(erasing.stranger) == [foreign]
        assert [fork.id for fork in await erasing.erasure.list_forks(erasing.ada, first)] == [fork]
        assert list(await erasing.erasure.list_forks(erasing.ada, second)) == []

    async def test_a_thread_id_with_uploads_only_is_listed_until_it_is_swept(self, erasing: Erasing) -> None:
        thread_id = new_thread_id()
        await erasing.erasure.note_upload(erasing.ada, thread_id)
        assert await erasing.threads(erasing.ada) == [thread_id]
        assert await erasing.erasure.trace(erasing.ada, thread_id) is None
        assert await erasing.erasure.bury(erasing.ada, ThreadTrace(thread_id))
        await erasing.erasure.sweep(erasing.ada, thread_id, deadline=far_deadline())
        await erasing.erasure.unbury(erasing.ada, thread_id)
        assert await erasing.threads(erasing.ada) == []

    async def test_a_thread_in_use_says_whose_it_is_and_since_when(self, erasing: Erasing) -> None:
        thread_id = await erasing.make_thread()
        began = erasing.clock.now()
        trace = await erasing.trace(erasing.ada, thread_id)
        assert (trace.user_id, trace.is_buried, trace.run_id) == ("ada", False, None)
        assert (trace.created_at, trace.last_activity_at) == (began, began)
        assert await erasing.erasure.trace(erasing.stranger, thread_id) is None
        assert await erasing.erasure.trace(erasing.ada, new_thread_id()) is None

    async def test_threads_are_found_by_their_age(self, erasing: Erasing) -> None:
        old, other = await erasing.make_thread(), await erasing.make_thread(erasing.bob)
        erasing.clock.advance(HOUR)
        between = erasing.clock.now()
        erasing.clock.advance(HOUR)
        await erasing.make_thread()
        results = [
            item.id async for page in erasing.erasure.list_inactive_threads(erasing.ada, between) for item in page
        ]
        assert set(results) == {old, other}

    async def test_a_tombstone_is_put_once_and_by_the_owner_only(self, erasing: Erasing) -> None:
        thread_id = await erasing.make_thread()
        trace = await erasing.trace(erasing.ada, thread_id)
        assert not await erasing.erasure.bury(erasing.bob, trace)
        assert not await erasing.erasure.bury(erasing.stranger, trace)
        assert not (await erasing.trace(erasing.ada, thread_id)).is_buried
        buried = await erasing.bury(erasing.ada, thread_id)
        assert (buried.is_buried, buried.buried_at) == (True, erasing.clock.now())
        erasing.clock.advance(HOUR)
        assert await erasing.bury(erasing.ada, thread_id) == buried
        assert await erasing.threads(erasing.ada) == [thread_id], "a tombstone is listed"

    async def test_a_thread_that_is_gone_gets_no_tombstone(self, erasing: Erasing) -> None:
        thread_id = await erasing.make_thread()
        seen = await erasing.bury(erasing.ada, thread_id)
        await erasing.erasure.sweep(erasing.ada, thread_id, deadline=far_deadline())
        await erasing.erasure.unbury(erasing.ada, thread_id)
        assert not await erasing.erasure.bury(erasing.ada, seen)
        assert await erasing.erasure.trace(erasing.ada, thread_id) is None

    async def test_a_thread_that_was_active_since_gets_no_tombstone(self, erasing: Erasing) -> None:
        thread_id = await erasing.make_thread()
        trace, noon = await erasing.trace(erasing.ada, thread_id), erasing.clock.now()
        erasing.clock.advance(HOUR)
        assert not await erasing.erasure.bury(erasing.ada, trace, unless_active_since=noon)
        later_on = noon + timedelta(seconds=1)
        assert await erasing.erasure.bury(erasing.ada, trace, unless_active_since=later_on)

    async def test_sweeping_leaves_the_tombstone_with_its_mark(self, erasing: Erasing) -> None:
        thread_id, other = await erasing.make_thread(), await erasing.make_thread()
        await erasing.erasure.mark_swept(erasing.ada, thread_id, "too early")
        await erasing.bury(erasing.ada, thread_id)
        assert (await erasing.erasure.count_left(erasing.ada, thread_id))["messages"] == 2
        counts, is_complete = await erasing.erasure.sweep(erasing.ada, thread_id, deadline=far_deadline())
        assert (counts["messages"], is_complete) == (2, True)
        assert not any((await erasing.erasure.count_left(erasing.ada, thread_id)).values())
        counts, is_complete = await erasing.erasure.sweep(erasing.ada, thread_id, deadline=far_deadline())
        assert (any(counts.values()), is_complete) == (False, True)
        assert (await erasing.trace(erasing.ada, thread_id)).swept == ""
        await erasing.erasure.mark_swept(erasing.ada, thread_id, "r1#1")
        tombstone = await erasing.trace(erasing.ada, thread_id)
        assert (tombstone.is_buried, tombstone.swept, tombstone.user_id) == (True, "r1#1", "ada")
        assert (await erasing.erasure.count_left(erasing.ada, other))["messages"] == 2

    async def test_only_a_tombstone_is_taken_away(self, erasing: Erasing) -> None:
        thread_id, other = await erasing.make_thread(), await erasing.make_thread()
        await erasing.bury(erasing.ada, thread_id)
        for item in (thread_id, other, thread_id, new_thread_id()):
            await erasing.erasure.unbury(erasing.ada, item)
        assert await erasing.threads(erasing.ada) == [other]
        assert not (await erasing.trace(erasing.ada, other)).is_buried


class ObjectErasureContract:
    """Objects in the bucket."""

    async def test_every_version_below_a_thread_is_removed_and_nothing_else(self, erasing: Erasing) -> None:
        thread_id, other = new_thread_id(), new_thread_id()
        for scope, item in ((erasing.ada, thread_id), (erasing.ada, other), (erasing.stranger, thread_id)):
            await erasing.upload(scope, item)
        assert await erasing.objects.count_left(erasing.ada, thread_id) == 2
        assert await erasing.objects.sweep(erasing.ada, thread_id, deadline=far_deadline()) == (2, True)
        assert await erasing.objects.sweep(erasing.ada, thread_id, deadline=far_deadline()) == (0, True)
        remaining = [
            await erasing.objects.count_left(scope, item)
            for scope, item in ((erasing.ada, thread_id), (erasing.ada, other), (erasing.stranger, thread_id))
        ]
        assert remaining == [0, 2, 2]
