"""Clients that leave the stream of a run: it stops, unless they ask otherwise or come back."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from baton.api.runs.sse import Timing
from baton.domain.threads.message import StoredMessage
from tests.fakes.chat_model import Answer
from tests.unit.api.served import Served

SOON = Timing(leaving_seconds=0.05)
LATER = Timing(leaving_seconds=30.0)


def run_input(served: Served, message_id: str = "m1", content: str = "Hello", **props: Any) -> dict[str, Any]:
    message = {"id": message_id, "role": "user", "content": content}
    body = {"threadId": served.harness.thread_id, "runId": str(uuid.uuid4()), "messages": [message]}
    return {**body, "state": {}, "tools": [], "context": [], "forwardedProps": props}


class Client:
    """An HTTP client whose connection can be closed in the middle of an answer."""

    def __init__(self, served: Served, body: dict[str, Any], user: str = "ada") -> None:
        self.closed = asyncio.Event()
        self.text = ""
        self._body: bytes | None = json.dumps(body).encode()
        tenant = served.harness.ada.tenant_id
        headers = [(b"authorization", f"Bearer {tenant},{user}".encode()), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/v1/runs",
            "raw_path": b"/v1/runs",
            "query_string": b"",
            "headers": headers,
            "server": ("baton.test", 80),
            "client": ("127.0.0.1", 1),
        }
        self.request = asyncio.ensure_future(served.app(scope, self._receive, self._send))

    async def wait_for_text(self, text: str) -> None:
        async with asyncio.timeout(10):
            while text not in self.text:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.005)

    async def leave(self) -> None:
        self.closed.set()
        await self.request

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.closed.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.text += message.get("body", b"").decode()


@asynccontextmanager
async def answering(timing: Timing, **props: Any) -> AsyncIterator[tuple[Served, Client, asyncio.Event]]:
    """A client is in the middle of an answer."""
    served, gate = Served(timing=timing), asyncio.Event()
    served.harness.model.script(Answer(("One ", "two."), gate=gate, gate_at=1))
    client = Client(served, run_input(served, **props))
    await client.wait_for_text("One")
    yield served, client, gate
    gate.set()


async def answer(served: Served) -> StoredMessage:
    """The answer, once its run is over."""
    harness = served.harness
    async with asyncio.timeout(10):
        while True:
            thread = await harness.store.get_thread(harness.ada, harness.thread_id)
            if thread.run is None:
                break
            await asyncio.sleep(0.01)
    page = await harness.store.read_messages(harness.ada, thread, limit=10, before=None)
    return page.messages[1]


async def test_a_client_that_aborts_stops_its_run_and_what_was_said_is_kept() -> None:
    async with answering(SOON) as (served, client, _):
        await client.leave()
        turn = await answer(served)
    assert (turn.text, turn.status.value) == ("One ", "cancelled")


async def test_a_client_that_asks_for_it_finds_the_whole_answer_later() -> None:
    async with answering(SOON, onDisconnect="continue") as (served, client, gate):
        await client.leave()
        await asyncio.sleep(0.2)
        gate.set()
        turn = await answer(served)
    assert (turn.text, turn.status.value) == ("One two.", "complete")


async def test_a_client_that_comes_back_by_the_same_request_loses_nothing() -> None:
    async with answering(Timing(leaving_seconds=0.3)) as (served, client, gate):
        await client.leave()
        second_client = Client(served, run_input(served))
        await asyncio.sleep(0.5)
        gate.set()
        await second_client.request
        turn = await answer(served)
    assert turn.text == "One two."
    assert "RUN_FINISHED" in second_client.text


async def test_a_client_that_comes_back_before_its_loss_is_noticed_loses_nothing() -> None:
    async with answering(SOON) as (served, client, gate):
        second_client = Client(served, run_input(served))
        await second_client.wait_for_text("One")
        await client.leave()
        await asyncio.sleep(0.2)
        gate.set()
        await second_client.request
        turn = await answer(served)
    assert turn.text == "One two."


async def test_a_client_that_follows_the_events_loses_nothing() -> None:
    async with answering(Timing(leaving_seconds=0.3, follow_seconds=5)) as (served, client, gate):
        await client.leave()
        following = asyncio.ensure_future(served.get(f"/threads/{served.harness.thread_id}/events", after=1))
        await asyncio.sleep(0.5)
        gate.set()
        assert "two." in (await following).text
        turn = await answer(served)
    assert turn.text == "One two."


async def test_another_message_after_an_abort_stops_the_run_at_once() -> None:
    async with answering(LATER) as (served, client, _):
        await client.leave()
        following = Client(served, run_input(served, "m2", "Something else"))
        await following.request
        turn = await answer(served)
    assert turn.status.value == "cancelled"
    assert "Hello there." in following.text


async def test_nobody_else_hastens_or_prevents_the_stop() -> None:
    async with answering(Timing(leaving_seconds=0.3)) as (served, client, _):
        await client.leave()
        for message_id in ("m1", "m2"):
            await Client(served, run_input(served, message_id), user="bob").request
        turn = await answer(served)
    assert turn.status.value == "cancelled"


@pytest.mark.parametrize("wrong", ["later", True, {}, 7])
async def test_what_to_do_must_be_known(wrong: Any) -> None:
    served = Served()
    answered = await served.post("/runs", run_input(served, onDisconnect=wrong))
    assert (answered.status_code, answered.json()["code"]) == (422, "invalid_request")
