"""Many sessions are imported at once, or documents uploaded: ``python -m benchmarks.flood``.

The embedder computes one text after another, slowly, and a conversation continues meanwhile. First some sessions are
imported one after another, each once the one before is complete, then many at once. Printed are the seconds of a
session in both cases and their ratio, the texts that were computed in vain, and how the conversation's turns and their
recall went. The same is done with documents.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from baton_local.engines.process import start_on_free_port
from benchmarks.report import machine, table
from benchmarks.slow_embedder import DIMENSIONS, MODEL
from benchmarks.turn_latency import answers, local_cloud, model_endpoint

SESSIONS = 300
MESSAGES = 20
DOCUMENTS = 200
ALONE = 10
SECONDS_A_TEXT = 0.02
PATIENCE_SECONDS = 3600.0
POLL_SECONDS = 0.2
PAUSE_SECONDS = 5.0
"""Between two turns of the conversation."""
AGENT = "knowledge"


@dataclass
class Turns:
    """The turns of a conversation that continues during a flood."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    without_meaning: int = 0
    """Turns whose recall had no vector of the question in time."""


@dataclass(frozen=True)
class Flood:
    """One kind of work that comes in large numbers."""

    name: str
    count: int


class Client:
    """A user of the local cloud."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.at_once = 1
        """Pieces of work that are waited for. The more there are, the less often each is looked at."""

    async def import_session(self) -> None:
        """Import a session, and wait until its episode is complete."""
        at = datetime(2026, 3, 1, tzinfo=UTC)
        messages = [
            {
                "id": uuid.uuid4().hex,
                "role": "user" if number % 2 == 0 else "assistant",
                "content": f"{uuid.uuid4().hex[:6]} and the boat number {number} in the harbour of Bern.",
                "timestamp": (at + timedelta(minutes=number)).isoformat(),
            }
            for number in range(MESSAGES)
        ]
        body = {"sessionId": uuid.uuid4().hex, "messages": messages}
        answer = await self._request("POST", "/v1/episodes/import", json=body)
        await self._until(f"/v1/episodes/{answer['episodeId']}", {"complete"})

    async def upload_document(self) -> None:
        """Upload a document, and wait until it is ready."""
        paragraphs = [
            f"Paragraph {number} of {uuid.uuid4().hex}: the torque of bolt {number}." * 8 for number in range(12)
        ]
        content = "\n\n".join(paragraphs).encode()
        described = {
            "name": f"{uuid.uuid4().hex}.txt",
            "contentType": "text/plain",
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        made = await self._request("POST", f"/v1/agents/{AGENT}/documents", json=described)
        upload = made["upload"]
        async with httpx.AsyncClient(timeout=60, trust_env=False) as plain:
            answer = await plain.request(upload["method"], upload["url"], headers=upload["headers"], content=content)
            answer.raise_for_status()
        await self._until(f"/v1/agents/{AGENT}/documents/{made['document']['id']}", {"ready"})

    async def talk(self, turns: Turns) -> None:
        """Go on with a conversation until cancelled."""
        session = uuid.uuid4().hex
        while True:
            began = time.perf_counter()
            body = {"sessionId": session, "messageId": str(uuid.uuid4()), "message": "Which boat was in the harbour?"}
            try:
                answer = await self._request("POST", "/v1/messages", json=body)
                turns.seconds.append(time.perf_counter() - began)
                path = f"/v1/threads/{answer['sessionId']}/turns/{answer['runId']}/context"
                record = await self._request("GET", path)
                turns.without_meaning += "embedder" in str(record.get("recall", record).get("failed", ""))
            except httpx.HTTPError:
                turns.failed += 1
            await asyncio.sleep(PAUSE_SECONDS)

    async def _until(self, path: str, wanted: set[str]) -> None:
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while time.perf_counter() < deadline:
            answer = await self._http.get(path)
            if answer.status_code == 200 and answer.json()["status"] in wanted:
                return
            if answer.status_code == 200 and answer.json()["status"] == "failed":
                raise RuntimeError(f"{path} has failed: {answer.text}")
            await asyncio.sleep(POLL_SECONDS * self.at_once)
        raise TimeoutError(path)

    async def _request(self, method: str, path: str, **body: Any) -> Any:
        for attempt in range(10):
            answer = await self._http.request(method, path, **body)
            if answer.status_code not in (429, 503, 504):
                break
            await asyncio.sleep(1 + attempt)
        return answer.raise_for_status().json()


async def main(sessions: int, documents: int, alone: int, seconds_a_text: float) -> None:
    """Print the table."""
    with ExitStack() as stack:
        embedder = stack.enter_context(embedding_endpoint(seconds_a_text))
        variables = {
            "BATON_EMBEDDING_BASE_URL": embedder,
            "BATON_EMBEDDING_MODEL": MODEL,
            "BATON_EMBEDDING_DIMENSIONS": DIMENSIONS,
            "BATON_EPISODE_FACTS": "false",  # the model at hand writes no facts
        }
        url = stack.enter_context(local_cloud(stack.enter_context(model_endpoint()), **variables))
        async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=httpx.Limits()) as http:
            permissions = ["document:write", "context:inspect"]
            asked = {"tenant": "flood", "user": "ada", "permissions": permissions}
            answer = await http.post("/local/token", json=asked)
            http.headers["Authorization"] = f"Bearer {answer.raise_for_status().json()['token']}"
            client = Client(http)
            floods = (Flood("session", sessions), Flood("document", documents))
            rows = [await _row(client, flood, alone, embedder) for flood in floods if flood.count]
    print(machine())
    print(f"{seconds_a_text} s for each embedded text, {MESSAGES} messages a session\n")
    head = ["", "alone, s", "at once, s", "ratio", "texts in vain", "turns", "failed", "median, s", "without meaning"]
    print(table(head, rows))


async def _row(client: Client, flood: Flood, alone: int, embedder: str) -> list[object]:
    work = client.import_session if flood.name == "session" else client.upload_document
    await work()  # loads what the first one loads
    began = time.perf_counter()
    for _ in range(alone):
        await work()
    one = (time.perf_counter() - began) / alone
    turns = Turns()
    talking = asyncio.create_task(client.talk(turns))
    began = time.perf_counter()
    client.at_once = flood.count
    await asyncio.gather(*(work() for _ in range(flood.count)))
    each = (time.perf_counter() - began) / flood.count
    talking.cancel()
    client.at_once = 1
    async with httpx.AsyncClient(trust_env=False) as http:
        counts = (await http.get(embedder.removesuffix("/v1") + "/counts")).json()
    median = sorted(turns.seconds)[len(turns.seconds) // 2] if turns.seconds else 0.0
    numbers = [f"{one:.2f}", f"{each:.2f}", f"{each / one:.2f}", counts["inVain"], len(turns.seconds), turns.failed]
    return [f"{flood.count} of a {flood.name}", *numbers, f"{median:.2f}", turns.without_meaning]


@contextmanager
def embedding_endpoint(seconds_a_text: float) -> Iterator[str]:
    """Start the embedding endpoint, and yield its base URL."""

    def command(port: int) -> list[str]:
        server = [sys.executable, "-m", "uvicorn", "benchmarks.slow_embedder:app", "--port", str(port)]
        return ["env", f"SECONDS_A_TEXT={seconds_a_text}", *server, "--log-level", "warning", "--no-access-log"]

    child, port = start_on_free_port("the embedder", command, lambda port: answers(f"http://127.0.0.1:{port}/counts"))
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        child.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--alone", type=int, default=ALONE, help="sessions and documents one after another")
    parser.add_argument("--seconds-a-text", type=float, default=SECONDS_A_TEXT)
    given = parser.parse_args()
    asyncio.run(main(given.sessions, given.documents, given.alone, given.seconds_a_text))
