"""Titles of threads, searches for them, and feedback on answers: what every store does about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.domain.errors import ThreadUnavailable
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback, Rating
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_search import parse_thread_query
from baton.ports.threads.leases import Commit, CommittedThread
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id
from tests.contracts.threads import HOUR


async def name_thread(stores: Stores, title: str, *, scope: Scope | None = None) -> str:
    """The id of a thread with a title."""
    thread_id = (await stores.turn(new_thread_id(), scope=scope)).thread_id
    await stores.store.rename(scope or stores.ada, thread_id, title)
    return thread_id


class TitleContract:
    """A title is the user's if the user gives one, otherwise the one that was made first."""

    async def test_a_thread_has_no_title_until_it_is_given_one(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        before = await stores.store.get_thread(stores.ada, thread_id)
        assert (before.title, before.preview) == (None, None)
        renamed = await stores.store.rename(stores.ada, thread_id, "Reise nach Köln 🚆")
        assert renamed == replace(before, title="Reise nach Köln 🚆")
        assert await stores.store.get_thread(stores.ada, thread_id) == renamed

    async def test_a_made_title_replaces_none(self, stores: Stores) -> None:
        thread_id = (await stores.turn(new_thread_id())).thread_id
        instance = await stores.store.keep_made_title(stores.ada, thread_id, title="First", preview="Hello")
        assert (instance.title, instance.preview) == ("First", "Hello")
        again = await stores.store.keep_made_title(stores.ada, thread_id, title="Second", preview="Hello")
        assert again.title == "First"
        await stores.store.rename(stores.ada, thread_id, "Mine")
        stored = await stores.store.keep_made_title(stores.ada, thread_id, title="Third", preview="Hello")
        assert stored.title == "Mine"

    async def test_a_title_stays_through_turns_and_closings(self, stores: Stores) -> None:
        thread_id = await name_thread(stores, "Mine")
        await stores.turn(thread_id, 2)
        lease = await stores.lease(thread_id)
        assert lease.thread.title == "Mine"
        await stores.store.close(lease, last_seq=lease.thread.last_seq, ended=None)
        assert (await stores.store.get_thread(stores.ada, thread_id)).title == "Mine"

    async def test_a_thread_in_the_middle_of_a_run_can_be_renamed_and_its_commit_finds_that_out(
        self, stores: Stores
    ) -> None:
        thread_id = new_thread_id()
        lease = await stores.acquire(thread_id)
        await stores.store.rename(stores.ada, thread_id, "Mine")
        commit = Commit(next_ordinal=0, last_seq=lease.first_seq, usage=Usage(), tokens=0)
        for _ in range(2):
            assert await stores.store.commit(lease, commit) == CommittedThread(notifies=False, title="Mine")
        assert (await stores.store.get_thread(stores.ada, thread_id)).title == "Mine"

    async def test_nobody_else_names_a_thread(self, stores: Stores) -> None:
        thread_id = await name_thread(stores, "Mine")
        for scope in (stores.bob, stores.stranger, stores.auditor):
            with pytest.raises(ThreadUnavailable):
                await stores.store.rename(scope, thread_id, "Theirs")
            with pytest.raises(ThreadUnavailable):
                await stores.store.keep_made_title(scope, thread_id, title="Theirs", preview="Hello")
        with pytest.raises(ThreadUnavailable) as refusal:
            await stores.store.rename(stores.ada, unknown := new_thread_id(), "Mine")
        assert refusal.value.is_unused
        with pytest.raises(ThreadUnavailable):
            await stores.store.get_thread(stores.ada, unknown)
        assert (await stores.store.get_thread(stores.ada, thread_id)).title == "Mine"


class SearchContract:
    """The rules of searches, which go through the list of the user's threads page by page."""

    async def test_a_search_finds_titles_and_beginnings_of_ones_own_threads(self, stores: Stores) -> None:
        lisbon = await name_thread(stores, "Weekend in Lisboa")
        stores.clock.advance(HOUR)
        started = await name_thread(stores, "Untitled")
        await stores.store.keep_made_title(stores.ada, started, title="", preview="How far is Lisbon from Porto?")
        await name_thread(stores, "Lisbon", scope=stores.bob)
        await name_thread(stores, "Lisbon", scope=stores.stranger)
        await stores.turn(new_thread_id())
        assert await _find_pages(stores, "LISBO") == [[started, lisbon]]
        assert await _find_pages(stores, "porto untitled") == [[started]]
        assert await _find_pages(stores, "Madrid") == [[]]

    async def test_pages_of_a_search_show_every_match_once_in_order(self, stores: Stores) -> None:
        matching = []
        for number in range(9):
            thread_id = await name_thread(stores, "even" if number % 2 == 0 else "odd")
            matching += [thread_id] if number % 2 == 0 else []
            stores.clock.advance(25 * 60)
        pages = await _find_pages(stores, "even", limit=2)
        assert [thread_id for page in pages for thread_id in page] == matching[::-1]
        assert all(len(page) <= 2 for page in pages)

    async def test_forks_are_searched_with_their_parent(self, stores: Stores) -> None:
        thread_id = await name_thread(stores, "Mine")
        page_items, cursor = await stores.store.list_threads(
            stores.ada, limit=5, cursor=None, parent_thread_id=thread_id, query=parse_thread_query("mine")
        )
        assert (list(page_items), cursor) == ([], None)


class FoundMessageContract:
    """A message is found by its id."""

    async def test_a_committed_message_is_found_on_whatever_branch(self, stores: Stores) -> None:
        thread_id = new_thread_id()
        for number in (1, 2):
            lease = await stores.turn(thread_id, number)
        thread = await stores.store.get_thread(stores.ada, thread_id)
        branch = thread.continue_from(0)
        for item in (thread, branch):
            message = await stores.store.find_message(stores.ada, item, "r2-1")
            assert message is not None
            assert (message.id, message.ordinal, message.text) == ("r2-1", 3, "a2")
        assert await stores.store.find_message(stores.ada, thread, "r9-1") is None
        lease = await stores.acquire(thread_id, message_id="m3", run_id="r3")
        await stores.store.put_message(lease, make_question(lease))
        assert await stores.store.find_message(stores.ada, lease.thread, "m3") is None

    async def test_an_old_message_is_found_as_well(self, stores: Stores) -> None:
        lease = await stores.acquire(new_thread_id())
        many = [make_question(lease, f"{index}", index=index) for index in range(110)]
        await stores.commit(lease, *many, make_answer(lease, index=110))
        thread = await stores.store.get_thread(stores.ada, lease.thread_id)
        message = await stores.store.find_message(stores.ada, thread, many[3].id)
        assert message is not None
        assert message.ordinal == 3


class FeedbackContract:
    """Feedback on an answer is the last that was given."""

    async def test_feedback_is_kept_until_it_is_withdrawn(self, stores: Stores) -> None:
        thread = await _thread(stores)
        assert not thread.has_feedback
        up, down = _feedback(stores, 1, Rating.UP), _feedback(stores, 3, Rating.DOWN, comment="Wrong.\nAll of it ❌")
        await stores.feedback.put(stores.ada, thread, down)
        await stores.feedback.put(stores.ada, thread, up)
        rated = await stores.store.get_thread(stores.ada, thread.id)
        assert rated == replace(thread, has_feedback=True)
        assert await stores.feedback.get(stores.ada, rated, 3) == down
        assert await stores.feedback.get(stores.ada, rated, 2) is None
        assert list(await stores.feedback.between(stores.ada, rated, 0, 9)) == [up, down]
        assert list(await stores.feedback.between(stores.ada, rated, 1, 3)) == [up]
        assert list(await stores.feedback.between(stores.ada, rated, 3, 3)) == []
        for _ in range(2):
            await stores.feedback.withdraw(stores.ada, rated, 3)
        assert list(await stores.feedback.between(stores.ada, rated, 0, 9)) == [up]

    async def test_later_feedback_replaces_the_earlier(self, stores: Stores) -> None:
        thread = await _thread(stores)
        await stores.feedback.put(stores.ada, thread, _feedback(stores, 1, Rating.DOWN, comment="Wrong."))
        stores.clock.advance(60)
        later = _feedback(stores, 1, Rating.UP)
        await stores.feedback.put(stores.ada, thread, later)
        rated = await stores.store.get_thread(stores.ada, thread.id)
        assert list(await stores.feedback.between(stores.ada, rated, 0, 9)) == [later]

    async def test_nobody_else_rates_and_other_threads_have_none_of_it(self, stores: Stores) -> None:
        thread, other = await _thread(stores), await _thread(stores)
        await stores.feedback.put(stores.ada, thread, _feedback(stores, 1, Rating.UP))
        for scope in (stores.bob, stores.stranger):
            with pytest.raises(ThreadUnavailable):
                await stores.feedback.put(scope, thread, _feedback(stores, 1, Rating.DOWN))
        marked = replace(other, has_feedback=True)
        assert list(await stores.feedback.between(stores.ada, marked, 0, 9)) == []
        elsewhere = replace(thread, has_feedback=True)
        assert list(await stores.feedback.between(stores.stranger, elsewhere, 0, 9)) == []


async def _find_pages(stores: Stores, text: str, *, limit: int = 10) -> list[list[str]]:
    """Pages of ids."""
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page_items, cursor = await stores.store.list_threads(
            stores.ada, limit=limit, cursor=cursor, query=parse_thread_query(text)
        )
        pages.append([thread.id for thread in page_items])
        if cursor is None:
            return pages


async def _thread(stores: Stores) -> Thread:
    thread_id = new_thread_id()
    for number in (1, 2):
        await stores.turn(thread_id, number)
    return await stores.store.get_thread(stores.ada, thread_id)


def _feedback(stores: Stores, ordinal: int, rating: Rating, *, comment: str | None = None) -> Feedback:
    return Feedback(f"r{ordinal}-1", ordinal, f"r{ordinal}", rating, comment, stores.clock.now())
