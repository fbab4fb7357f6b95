"""Requests of the commands. They use the client's transport, and keep answers as the JSON that the server sent."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from baton_client.asynchronous.transport import AsyncTransport, Request

Json = dict[str, Any]

END_OF_RUN = frozenset({"RUN_FINISHED", "RUN_ERROR"})
"""Types of the events that end a run."""
PAGE_ITEMS = 100


@dataclass(frozen=True, slots=True)
class Connection:
    """Requests of commands to the server. All methods raise the errors of the transport."""

    transport: AsyncTransport

    async def get(self, address: str, **params: Any) -> Any:
        """Return the answer to a GET; parameters that are ``None`` are left out."""
        return await self.transport.read_value(Request(method="GET", path=address, params=params), Any)

    async def send(
        self,
        method: str,
        address: str,
        body: Any = None,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        is_repeatable: bool = True,
        read_seconds: float | None = None,
    ) -> Any:
        """Return the answer to a request with a ``body`` of JSON, or other ``content``.

        ``read_seconds`` replaces the timeout of other requests.
        """
        request = Request(
            method=method,
            path=address,
            json=body,
            content=content,
            headers=headers or {},
            params=params or {},
            is_repeatable=is_repeatable,
            read_seconds=read_seconds,
        )
        return await self.transport.read_value(request, Any)

    async def read_text(self, address: str, *, accept: str, **params: Any) -> str:
        """Return the answer to a GET as text."""
        return await self.transport.read_text(
            Request(method="GET", path=address, params=params, headers={"Accept": accept})
        )

    async def list_items(
        self, address: str, *, limit: int | None = None, page: int = PAGE_ITEMS, **params: Any
    ) -> list[Json]:
        """Return the first ``limit`` items of a list, or all, however many pages they are on."""
        items: list[Json] = []
        cursor: str | None = None
        while True:
            size = page if limit is None else min(page, limit - len(items))
            answer = await self.get(address, limit=size, cursor=cursor, **params)
            items += answer["items"]
            cursor = answer.get("nextCursor")
            if cursor is None or (limit is not None and len(items) >= limit):
                return items

    async def list_newest_messages(self, thread_address: str, limit: int) -> list[Json]:
        """Return the newest ``limit`` messages of a conversation, in order, however many pages they are on.

        Pages go back in time, and the messages of a page are in order. A page may be empty though older ones follow.
        """
        messages: list[Json] = []
        cursor: str | None = None
        while True:
            size = min(PAGE_ITEMS, limit - len(messages))
            answer = await self.get(thread_address + "/messages", limit=size, cursor=cursor)
            messages = [*answer["items"], *messages]
            cursor = answer.get("nextCursor")
            if cursor is None or len(messages) >= limit:
                return messages

    def read_lines(self, address: str, *, has_end: bool = True, **params: Any) -> AsyncIterator[Json]:
        """Yield the records of an answer in JSON Lines, and of the further answers that its last line names.

        Lines of the types ``end`` and ``cursor`` are left out. ``has_end`` is False for an answer without a line of
        type ``end``. Raises ``UnexpectedAnswerError`` for an answer that is cut off, ends with an error, or has a line
        that is no JSON object.
        """
        from baton_client.asynchronous.resource import AsyncResource

        return AsyncResource(self.transport).lines(address, has_end=has_end, **params)

    async def run(
        self, body: Json, *, on_wait: Callable[[Exception], object] | None = None
    ) -> AsyncGenerator[Json, None]:
        """Yield the events of a run that ``body`` asks for, to its end, also across lost connections.

        Until the first event the same request is repeated, which its ids make safe. ``on_wait`` is called when a
        connection is lost, before it is resumed.
        """
        # The events' models take longer to load than most commands.
        from baton_client.asynchronous.events import AsyncEvents
        from baton_client.events import metadata_of

        first = Request(method="POST", path="/v1/runs", json=body, headers={"Accept": "text/event-stream"})
        source = AsyncEvents(self.transport, body["threadId"], first=first, on_wait=on_wait)
        run_ids: set[str | None] | None = None
        async with aclosing(source.receive()) as events:
            async for received in events:
                run_id = metadata_of(received.event).get("runId")
                if run_ids is None:  # a message that enters a run in progress has the events of that run
                    run_ids = {None, body["runId"], run_id}
                yield json.loads(received.data)
                if received.event.type in END_OF_RUN and run_id in run_ids:
                    return

    async def follow(self, thread_id: str, after: int) -> AsyncGenerator[Json, None]:
        """Yield a conversation's events after number ``after``, without end."""
        from baton_client.asynchronous.events import AsyncEvents

        source = AsyncEvents(self.transport, thread_id, after=after, gives_up=False)
        async with aclosing(source.receive()) as events:
            async for received in events:
                yield json.loads(received.data)
