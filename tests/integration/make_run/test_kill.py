"""With BATON_DATA_DIR nothing that was acknowledged is lost, however often everything is killed."""

import asyncio
import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from baton_client import AsyncBaton, RunResult
from baton_client.events import TextMessageContentEvent, seq_of
from baton_local.root import ROOT
from baton_testing.fakes.threads.connections import events_in
from tests.integration.make_run.program import kill_everything, running

pytestmark = pytest.mark.nightly

PATIENCE_SECONDS = 180
THREADS = [str(uuid.uuid4()) for _ in range(4)]


def token(url: str) -> str:
    claims = {"tenant": "demo", "user": "ada"}
    options: str = httpx.post(f"{url}/local/token", json=claims, trust_env=False).json()["token"]
    return options


def api(url: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token(url)}"}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False)


def open_socket(url: str, http: httpx.AsyncClient) -> connect:
    protocols = [Subprotocol("baton.v1"), Subprotocol(http.headers["Authorization"].removeprefix("Bearer "))]
    return connect(url.replace("http", "ws", 1) + "/ws", subprotocols=protocols, proxy=None, max_queue=None)


async def send(socket: ClientConnection, number: int, *parts: dict[str, Any]) -> list[tuple[str, str]]:
    """Send a message into every conversation; return (thread, message) once all of them are acknowledged."""
    sent = [(thread, f"m-{number}-{position}") for position, thread in enumerate(THREADS)]
    for thread, message in sent:
        content = [{"type": "text", "text": f"What is {number} + 1?"}, *(parts if thread == THREADS[0] else ())]
        frame = {"action": "message", "threadId": thread, "messageId": message, "content": content}
        await socket.send(json.dumps(frame))
    waiting = {message for _, message in sent}
    while waiting:
        for event in events_in(await socket.recv()):
            if event.get("name") == "message_accepted":
                waiting.discard(event["value"]["messageId"])
    return sent


async def upload(http: httpx.AsyncClient) -> dict[str, Any]:
    """Upload a file to the first conversation and return the part of a message that refers to it."""
    file = {"name": "note.txt", "contentType": "text/plain", "size": 4}
    prepared = (await http.post(f"/v1/threads/{THREADS[0]}/files", json=file)).raise_for_status().json()
    request = prepared["upload"]
    async with httpx.AsyncClient(trust_env=False) as storage:
        put = await storage.request(request["method"], request["url"], headers=request["headers"], content=b"note")
        put.raise_for_status()
    part: dict[str, Any] = prepared["part"]
    return part


async def messages(http: httpx.AsyncClient, thread: str) -> list[dict[str, Any]]:
    answered = await http.get(f"/v1/threads/{thread}/messages", params={"limit": 100})
    results: list[dict[str, Any]] = answered.json()["items"] if answered.is_success else []
    return results


async def all_answered(http: httpx.AsyncClient, acknowledged: list[tuple[str, str]]) -> None:
    """Wait until every acknowledged message has an answer."""
    expected = Counter(thread for thread, _ in acknowledged)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for thread in THREADS:
            while True:
                answers = [message for message in await messages(http, thread) if message["role"] == "assistant"]
                if len(answers) >= expected[thread]:
                    break
                await asyncio.sleep(0.5)


class Story:
    """A long answer that the Python client reads meanwhile."""

    def __init__(self, url: str) -> None:
        self.has_begun = asyncio.Event()
        self._seqs: list[int] = []
        self._reading = asyncio.create_task(self._read(url))

    async def _read(self, url: str) -> RunResult:
        baton = AsyncBaton(url, token=lambda: token(url), resume_seconds=PATIENCE_SECONDS)
        async with baton, baton.runs.stream("Please write 300 words about lighthouses.") as stream:
            async for event in stream:
                if seq := seq_of(event):
                    self._seqs.append(seq)
                if isinstance(event, TextMessageContentEvent):
                    self.has_begun.set()
            return await stream.result()

    async def assert_whole(self, http: httpx.AsyncClient) -> None:
        """Read it to its end, although its server was killed; it is what is stored."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            result = await self._reading
        assert self._seqs == sorted(set(self._seqs))
        stored = await messages(http, result.thread_id)
        assert [message["content"] for message in stored if message["role"] == "assistant"] == [result.text]


async def test_every_acknowledged_message_is_answered_once_although_everything_is_killed_twice(tmp_path: Path) -> None:
    settings = {"BATON_DATA_DIR": str(tmp_path), "BATON_DEMO_DELAY_MS": "20"}
    acknowledged: list[tuple[str, str]] = []

    with running(ROOT / "template.yaml", **settings) as (process, url):
        settings["PORT"] = url.rpartition(":")[2]
        async with api(url) as http, open_socket(url, http) as socket:
            acknowledged += await send(socket, 1, await upload(http))
            acknowledged += await send(socket, 2)  # queued behind those at work
            story = Story(url)
            await story.has_begun.wait()
            kill_everything(process)

    with running(ROOT / "template.yaml", **settings) as (process, url):
        async with api(url) as http, open_socket(url, http) as socket:
            await all_answered(http, acknowledged)  # a run that two kills had hit would be given up
            await story.assert_whole(http)
            acknowledged += await send(socket, 3)
            await http.post("/v1/messages", json={"threadId": str(uuid.uuid4()), "messageId": "m", "message": "Hello"})
            kill_everything(process)  # turns are at work, or about to be taken up

    with running(ROOT / "template.yaml", **settings) as (process, url):
        async with api(url) as http:
            await all_answered(http, acknowledged)
            for thread in THREADS:
                texts = [
                    message for message in await messages(http, thread) if message["role"] in {"user", "assistant"}
                ]
                mine = [message for of, message in acknowledged if of == thread]
                assert [message["id"] for message in texts if message["role"] == "user"] == mine
                assert [message["role"] for message in texts] == ["user", "assistant"] * len(mine)
            [_, part] = (await messages(http, THREADS[0]))[0]["content"]
            async with httpx.AsyncClient(trust_env=False) as storage:
                assert (await storage.get(part["metadata"]["downloadUrl"])).content == b"note"
