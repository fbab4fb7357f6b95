"""Every store keeps titles and feedback as its contract says, and a search looks at a bounded number of threads."""

from __future__ import annotations

import pytest

from baton.adapters.dynamodb.threads import thread_store
from baton.domain.threads.thread_search import parse_thread_query
from tests.contracts.stores import new_thread_id
from tests.contracts.titles import FeedbackContract, FoundMessageContract, SearchContract, TitleContract, name_thread
from tests.contracts.unread_answers import UnreadContract
from tests.integration.store.conftest import Engine


class TestTitles(TitleContract):
    pass


class TestSearch(SearchContract):
    pass


class TestFoundMessages(FoundMessageContract):
    pass


class TestFeedback(FeedbackContract):
    pass


class TestUnreadAnswers(UnreadContract):
    pass


async def test_a_search_without_matches_goes_on_page_by_page(
    on_dynamodb_local: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_store, "MAX_SEARCHED", 4)
    monkeypatch.setattr(thread_store, "SEARCHED_AT_ONCE", 1)
    stores = on_dynamodb_local.stores()
    expected = await name_thread(stores, "Lisbon")
    for _ in range(7):
        stores.clock.advance(3_600)
        await stores.turn(new_thread_id())
    pages: list[list[str]] = []
    cursor: str | None = None
    while not pages or cursor is not None:
        page_items, cursor = await stores.store.list_threads(
            stores.ada, limit=5, cursor=cursor, query=parse_thread_query("lisbon")
        )
        pages.append([thread.id for thread in page_items])
    assert pages[-1] == [expected]
    assert pages[:-1]
    assert not any(pages[:-1])
