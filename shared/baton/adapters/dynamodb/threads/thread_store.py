"""The thread store on DynamoDB: leases and messages, and the lists of threads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shards import LISTING, make_page, read_batches, read_newest_first, read_page
from baton.adapters.dynamodb.threads.messages import DynamoMessages
from baton.adapters.dynamodb.threads.thread_item import make_listing_time, make_tenant_listing_time, thread_from_item
from baton.concurrency.tasks import gather_all
from baton.domain.cursors import decode, decode_text, encode, encode_text
from baton.domain.errors import InvalidRequest, ThreadUnavailable
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_search import MAX_SEARCHED, ThreadQuery
from baton.domain.times import from_millis, to_millis

SEARCHED_AT_ONCE = 100
"""The number of threads that a search loads with one request. All threads of one hour are loaded together."""


class DynamoThreadStore(DynamoMessages):
    """``ThreadStore`` on one table, with large messages in S3."""

    async def get_thread(self, scope: Scope, thread_id: str) -> Thread:
        item = await self._table.get(keys.thread(scope, thread_id))
        thread_item = item if item is not None and "user_id" in item else None
        may_read = thread_item is not None and (
            thread_item["user_id"] == scope.user_id or scope.has(Permission.THREAD_READ_ALL)
        )
        if thread_item is None or not may_read or thread_item["thread_status"] == "deleted":
            # Every refusal reads the owner, so that the response time does not show whether another tenant has the
            # thread.
            owner = await self._table.get(keys.owner(thread_id))
            is_foreign = not may_read if thread_item is not None else owner is not None
            raise ThreadUnavailable(is_unused=not is_foreign)
        return thread_from_item(thread_id, thread_item, self._clock.now())

    async def find_own(self, scope: Scope, thread_id: str, *, consistent: bool) -> Thread | None:
        item = await self._table.get(keys.thread(scope, thread_id), consistent=consistent)
        if item is None or item.get("user_id") != scope.user_id or item["thread_status"] == "deleted":
            return None
        return thread_from_item(thread_id, item, self._clock.now())

    async def check_writable(self, scope: Scope, thread_id: str) -> None:
        item, owner = await gather_all(
            self._table.get(keys.thread(scope, thread_id)), self._table.get(keys.owner(thread_id))
        )
        if item is not None and (item["user_id"] != scope.user_id or item["thread_status"] == "deleted"):
            raise ThreadUnavailable
        if owner is not None and owner["tenant_id"] != scope.tenant_id:
            raise ThreadUnavailable

    async def list_threads(
        self,
        scope: Scope,
        *,
        limit: int,
        cursor: str | None,
        whole_tenant: bool = False,
        parent_thread_id: str | None = None,
        of_user: str | None = None,
        query: ThreadQuery | None = None,
    ) -> tuple[Sequence[Thread], str | None]:
        if parent_thread_id is not None:
            return await self._list(scope, keys.fork_listing(scope, parent_thread_id), limit, cursor, query)
        if whole_tenant:
            scope.require(Permission.THREAD_READ_ALL)
            if of_user is None:
                return await self._list_tenant_threads(scope, limit, cursor, query)
            listing = keys.user_listing(replace(scope, user_id=of_user))
            return await self._list(scope, listing, limit, cursor, query)
        return await self._list(scope, keys.user_listing(scope), limit, cursor, query)

    async def _list(
        self, scope: Scope, listing: str, limit: int, cursor: str | None, query: ThreadQuery | None
    ) -> tuple[Sequence[Thread], str | None]:
        """Return a page of a listing in the order of the last activity. A search may end a page early."""
        is_search, query = query is not None, query or ThreadQuery()
        below = _decode_user_cursor(cursor) if cursor else None
        threads: list[Thread] = []
        batch: list[str] = []
        hour = None
        at_once = SEARCHED_AT_ONCE if is_search else limit
        searched_count, last = 0, None
        ends = (query.active_to, from_millis(below[0]) if below else None)
        latest = min((end for end in ends if end is not None), default=None)
        async for page in self._table.query(
            listing,
            first=make_listing_time(query.active_from) if query.active_from is not None else None,
            last=make_listing_time(latest) if latest is not None else "~",
            newest_first=True,
            index=LISTING,
        ):
            for item in page:
                # The index has only the hour, so whole hours are read and sorted here.
                if item["listed_at"] != hour and len(batch) + (0 if is_search else len(threads)) > at_once:
                    loaded = await self._load(scope, batch, below)
                    threads += filter(query.matches, loaded)
                    searched_count, last = searched_count + len(batch), loaded[-1] if loaded else last
                    batch = []
                    if len(threads) > limit:
                        return make_page(threads, limit, _make_user_cursor)
                    if is_search and last is not None and searched_count >= MAX_SEARCHED:
                        return threads, _make_user_cursor(last)
                hour = item["listed_at"]
                batch.append(item["PK"].partition("#")[2])
        threads += filter(query.matches, await self._load(scope, batch, below))
        return make_page(threads, limit, _make_user_cursor)

    async def _list_tenant_threads(
        self, scope: Scope, limit: int, cursor: str | None, query: ThreadQuery | None
    ) -> tuple[Sequence[Thread], str | None]:
        """Return a page in the order of the index, which has each thread at the first activity of its last hour."""
        if query is None:
            page, next_cursor = await read_page(self._table, keys.tenant_listings(scope), limit=limit, cursor=cursor)
            return await self._load(scope, [_get_thread_id(entry) for entry in page], None), next_cursor
        ends = [decode_text(cursor)] if cursor else []
        oldest = ""
        if query.active_to is not None:
            ends.append(f"{make_tenant_listing_time(query.active_to)}~")  # after all ids of that moment
        if query.active_from is not None:
            oldest = make_tenant_listing_time(
                query.active_from.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
            )
        before = min(ends, default=None)
        at_once = limit + 1 if query.is_of_time_only else SEARCHED_AT_ONCE
        listed: list[tuple[str, Thread]] = []
        searched_count = 0
        async with aclosing(
            read_newest_first(self._table, keys.tenant_listings(scope), before=before, limit=at_once)
        ) as entries:
            async for batch in read_batches(entries, at_once, oldest):
                places = {_get_thread_id(entry): entry["listed_at"] for entry in batch}
                loaded = await self._load(scope, list(places), None)
                matching = [(places[thread.id], thread) for thread in filter(query.matches, loaded)]
                listed += sorted(matching, key=lambda entry: entry[0], reverse=True)
                searched_count += len(batch)
                if len(listed) > limit:
                    return _sort_by_activity(listed[:limit]), encode_text(listed[limit - 1][0])
                if searched_count >= MAX_SEARCHED:
                    return _sort_by_activity(listed), encode_text(batch[-1]["listed_at"])
        return _sort_by_activity(listed), None

    async def _load(self, scope: Scope, thread_ids: list[str], below: tuple[int, str] | None) -> list[Thread]:
        """Return the threads after the cursor that the caller may read, newest activity first."""
        now = self._clock.now()
        items = await self._table.get_many([keys.thread(scope, thread_id) for thread_id in thread_ids])
        threads = [
            thread_from_item(item["PK"].partition("#")[2], item, now)
            for item in items
            if item.get("thread_status") != "deleted"
        ]
        if not scope.has(Permission.THREAD_READ_ALL):
            threads = [thread for thread in threads if thread.user_id == scope.user_id]
        threads.sort(key=_get_last_activity, reverse=True)
        return [thread for thread in threads if below is None or _get_last_activity(thread) < below]


def _get_thread_id(entry: Item) -> str:
    return str(entry["PK"]).removeprefix("~THREAD#")


def _sort_by_activity(listed: list[tuple[str, Thread]]) -> list[Thread]:
    """Return the threads of a page, newest activity first. The index has only the first activity of an hour."""
    return sorted((thread for _, thread in listed), key=_get_last_activity, reverse=True)


def _get_last_activity(thread: Thread) -> tuple[int, str]:
    return to_millis(thread.last_activity_at), thread.id


def _make_user_cursor(last: Thread) -> str:
    at, thread_id = _get_last_activity(last)
    return encode({"at": at, "id": thread_id})


def _decode_user_cursor(cursor: str) -> tuple[int, str]:
    """Return the last activity and the id of the thread before the page. Raises ``InvalidRequest``."""
    match decode(cursor):
        case {"at": int(at), "id": str(thread_id)} if 0 <= at < 10**14:
            return at, thread_id
    raise InvalidRequest("cursor was not handed out by this list.")
