"""Requests of the commands. They use the client's transport, and keep answers as the JSON that the server sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from baton_client.asynchronous.transport import AsyncTransport, Request
from baton_client.errors import APIConnectionError, AuthenticationError, UnexpectedAnswerError
from baton_client.retries import wait_seconds
from baton_client.sse import EventDecoder

Json = dict[str, Any]

END_OF_RUN = frozenset({"RUN_FINISHED", "RUN_ERROR"})
PROTOCOL = {"protocolVersion": "1.0"}
PAGE_ITEMS = 100
MOST_FAILURES = 6
"""Of connections to a stream in a row, none of which has brought anything new: about ten seconds."""


def path(template: str, **names: str) -> str:
    """Return ``template`` with each ``{name}`` replaced, percent-encoded: ids of a host may have slashes."""
    return template.format(**{name: quote(value, safe="") for name, value in names.items()})


@dataclass(frozen=True, slots=True)
class Connection:
    """What commands ask the server. All methods raise what the transport raises."""

    transport: AsyncTransport

    async def get(self, address: str, **params: Any) -> Any:
        """Return the answer to a GET; parameters that are ``None`` are left out."""
        return await self.transport.value(Request(method="GET", path=address, params=params), Any)

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
    ) -> Any:
        """Return the answer to a request with a ``body`` of JSON, or other ``content``."""
        request = Request(
            method=method,
            path=address,
            json=body,
            content=content,
            headers=headers or {},
            params=params or {},
            is_repeatable=is_repeatable,
        )
        return await self.transport.value(request, Any)

    async def text(self, address: str, *, accept: str, **params: Any) -> str:
        """Return the answer to a GET as text."""
        return await self.transport.text(Request(method="GET", path=address, params=params, headers={"Accept": accept}))

    async def items(
        self, address: str, *, limit: int | None = None, page: int = PAGE_ITEMS, **params: Any
    ) -> list[Json]:
        """Return the first ``limit`` items of a list, or all, however many pages they are on."""
        found: list[Json] = []
        cursor: str | None = None
        while True:
            size = page if limit is None else min(page, limit - len(found))
            answer = await self.get(address, limit=size, cursor=cursor, **params)
            found += answer["items"]
            cursor = answer.get("nextCursor")
            if cursor is None or (limit is not None and len(found) >= limit):
                return found

    async def lines(self, address: str, **params: Any) -> AsyncIterator[Json]:
        """Yield the objects of an answer in JSON Lines, and of those that ``nextCursor`` of its last line asks for.

        Raises ``UnexpectedAnswerError`` if a line of type ``error`` ends it, or no line of type ``end``.
        """
        cursor: str | None = None
        while True:
            following: str | None = None
            is_whole = False
            request = Request(method="GET", path=address, params={**params, "cursor": cursor})
            async with self.transport.opened(request) as response:
                async for line in response.aiter_lines():
                    if not line.strip():
                        continue
                    value = json.loads(line)
                    if value.get("type") == "end":
                        following, is_whole = value.get("nextCursor"), True
                    elif value.get("type") == "error":
                        raise UnexpectedAnswerError(f"The export ended early: {value.get('message') or value}.")
                    else:
                        yield value
            if not is_whole:
                raise UnexpectedAnswerError("The export ended early. Run the same command again.")
            if following is None:
                return
            cursor = following

    async def run(self, body: Json) -> AsyncGenerator[Json, None]:
        """Yield the events of a run that ``body`` asks for, to its end, also across lost connections.

        Until its first event has come the same request is sent again: its ids make that safe.
        """
        first = Request(method="POST", path="/v1/runs", json=body, headers={"Accept": "text/event-stream"})
        async with aclosing(self._numbered(body["threadId"], 0, first)) as events:
            async for event in events:
                yield event
                if event["type"] in END_OF_RUN and _metadata(event).get("runId") in {None, body["runId"]}:
                    return

    async def follow(self, thread_id: str, after: int) -> AsyncGenerator[Json, None]:
        """Yield a conversation's events behind number ``after``, and go on for ever."""
        async with aclosing(self._numbered(thread_id, after, None)) as events:
            async for event in events:
                yield event

    async def _numbered(self, thread_id: str, last: int, first: Request | None) -> AsyncGenerator[Json, None]:
        """Yield events without a repeat: those that ``first`` answers, then whatever follows them."""
        address = path("/v1/threads/{thread_id}/events", thread_id=thread_id)
        failures = 0
        while True:
            following = Request(method="GET", path=address, params={"after": last, **PROTOCOL})
            before = last
            begun = asyncio.get_running_loop().time()
            try:
                async with aclosing(self._events(first if first is not None and not last else following)) as events:
                    async for event in events:
                        if _is_expiry(event):
                            await self._renew()
                            break
                        seq = _metadata(event).get("seq")
                        if isinstance(seq, int):
                            if seq <= last:
                                continue
                            last = seq
                        yield event
            except APIConnectionError:
                failures = 0 if last > before else failures + 1
                if failures > MOST_FAILURES:
                    raise
            else:
                # An answer that ends at once, without anything new: normal only between runs.
                is_empty = last == before and asyncio.get_running_loop().time() - begun < 1
                failures = failures + 1 if is_empty else 0
                if failures > MOST_FAILURES and first is not None:
                    raise UnexpectedAnswerError("The run's events end too early. `baton tail` shows how it goes on.")
            if failures:
                await asyncio.sleep(wait_seconds(min(failures, MOST_FAILURES), None))

    async def _renew(self) -> None:
        if not self.transport.tokens.can_renew:
            raise AuthenticationError("The token has expired; the run goes on.", code="token_expired")
        await self.transport.tokens.renew()

    async def _events(self, request: Request) -> AsyncGenerator[Json, None]:
        decoder = EventDecoder()
        async with self.transport.opened(request, read_seconds=self.transport.options.silence_seconds) as response:
            async for chunk in response.aiter_bytes():
                for data in decoder.feed(chunk):
                    yield _event(data)


def _event(data: str) -> Json:
    try:
        event = json.loads(data)
    except ValueError:
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise UnexpectedAnswerError("The stream holds something that is no event. Is BATON_URL the address of Baton?")
    return event


def _metadata(event: Json) -> Json:
    metadata = event.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _is_expiry(event: Json) -> bool:
    """Whether the stream ends because its request's token has: the run goes on, so this has no number."""
    return event["type"] == "RUN_ERROR" and event.get("code") == "token_expired" and "seq" not in _metadata(event)
