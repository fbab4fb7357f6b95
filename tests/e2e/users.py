"""Somebody who talks to the product, over HTTP and WebSocket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.e2e.ag_ui_rules import check_ag_ui
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import SocketClient, new_id, open_socket

Json = dict[str, Any]


@dataclass(frozen=True)
class User:
    """A user of a tenant, with a token."""

    cloud: RunningCloud
    client: httpx.AsyncClient
    tenant: str
    name: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        """The authorization header of this user's requests."""
        return {"Authorization": f"Bearer {self.token}"}

    def connect(self) -> AbstractAsyncContextManager[SocketClient]:
        """Open a WebSocket."""
        return open_socket(self.cloud.socket_url, self.token)

    async def get(self, path: str, headers: dict[str, str] | None = None, **query: object) -> httpx.Response:
        """GET below /v1."""
        parameters = {name: str(value) for name, value in query.items()}
        return await self.client.get(f"/v1{path}", params=parameters, headers={**self.headers, **(headers or {})})

    async def read(self, path: str, **query: Any) -> Json:
        """GET below /v1 what is there."""
        response = await self.get(path, **query)
        assert response.status_code == 200, response.text
        body: Json = response.json()
        return body

    async def post(self, path: str, body: object) -> httpx.Response:
        """POST below /v1."""
        return await self.client.post(f"/v1{path}", json=body, headers=self.headers)

    async def request(self, method: str, path: str, *, body: object = None) -> httpx.Response:
        """Any request below /v1."""
        return await self.client.request(method, f"/v1{path}", json=body, headers=self.headers)

    async def ask(self, message: object, **fields: object) -> Json:
        """POST /v1/messages; the answer, which is not a problem."""
        response = await self.post("/messages", {"message": message, **fields})
        assert response.status_code == 200, response.text
        body: Json = response.json()
        return body

    async def messages(self, thread_id: str, **query: object) -> list[Json]:
        """The first page of a thread's messages."""
        items: list[Json] = (await self.read(f"/threads/{thread_id}/messages", **query))["items"]
        return items

    async def run(self, body: Json) -> list[Json]:
        """POST /v1/runs; every event of the stream."""
        async with self.stream("POST", "/runs", json=body) as events:
            return [event async for event in events]

    async def follow(self, thread_id: str, headers: dict[str, str] | None = None, **query: object) -> list[Json]:
        """GET the thread's events until the stream ends."""
        path = f"/threads/{thread_id}/events"
        async with self.stream("GET", path, params=query, headers=headers or {}) as events:
            return [event async for event in events]

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, headers: dict[str, str] | None = None, **request: Any
    ) -> AsyncIterator[AsyncIterator[Json]]:
        """A request that is answered by a stream of events, each checked."""
        whole = {**self.headers, **(headers or {})}
        async with self.client.stream(method, f"/v1{path}", headers=whole, **request) as response:
            if response.status_code != 200:
                await response.aread()
            assert response.status_code == 200, response.text
            assert response.headers["content-type"].partition(";")[0] == "text/event-stream"
            events = sse_events(response)
            yield events
            await events.aclose()  # type: ignore[attr-defined]


def run_input(content: object, *, thread_id: str | None = None, message_id: str | None = None, **more: object) -> Json:
    """An AG-UI ``RunAgentInput`` whose last message is the user's."""
    return {
        "threadId": thread_id or new_id(),
        "runId": new_id(),
        "state": {},
        "messages": [{"id": message_id or new_id(), "role": "user", "content": content}],
        "tools": [],
        "context": [],
        "forwardedProps": {},
        **more,
    }


async def sse_events(response: httpx.Response) -> AsyncIterator[Json]:
    """The events of a ``text/event-stream``; ``id:`` is the sequence number of those that have one."""
    number: str | None = None
    async for line in response.aiter_lines():
        field, _, value = line.partition(": ")
        if field == "id":
            number = value
        elif field == "data":
            event = json.loads(value)
            check_ag_ui(event)
            seq = event.get("metadata", {}).get("seq")
            assert number == (None if seq is None else str(seq))
            number = None
            yield event
        elif field != "retry":
            assert line == "" or line.startswith(":"), line
