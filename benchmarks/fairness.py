"""The delay of a user's turns while another user floods the local cloud: ``python -m benchmarks.fairness``.

The first user's turns, alternately over SSE and WebSocket, are measured alone and during each kind of flood: messages
over WebSocket and SSE, imports, documents, exports, cancels, offers of tools, idle sockets, and requests with thousands
of query parameters. The users belong to different tenants, or to the same one with ``--colleague``. A separate process
sends the flood until the measured turns are over. The report shows the medians and 95th percentiles of the time to
the first token, their ratios, and the outcomes of the flood's requests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import multiprocessing
import statistics
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext

import httpx
import websockets.asyncio.client as websocket
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from benchmarks.instruments.frames import parse_events
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.turn_latency import local_cloud, model_endpoint
from benchmarks.workload import QUESTION

TURNS = 20
AT_ONCE = 50
"""The concurrent requests of most floods."""
SOCKETS = 400
PARAMETERS = 5_000
SUBSCHEMAS = 200
"""The parts of the schema of an offered tool."""
PATIENCE_SECONDS = 120.0
"""The longest wait for an answer or the next event."""
WARM_UP_SECONDS = 5.0
"""The seconds of a flood before the first measured turn."""
PERMISSIONS = ["document:write"]
FLOOD_TENANT, FLOOD_USER = "flood", "ada"

Act = Callable[["Client"], Awaitable[str]]


class Client:
    """A user of the local cloud."""

    def __init__(self, url: str, token: str, http: httpx.AsyncClient) -> None:
        self.url = url
        self.token = token
        self.http = http

    @classmethod
    @asynccontextmanager
    async def of(cls, url: str, tenant: str, user: str) -> AsyncIterator[Client]:
        """Yield the client of a tenant's user."""
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS, trust_env=False, limits=limits) as http:
            claims = {"tenant": tenant, "user": user, "permissions": PERMISSIONS}
            token = (await http.post("/local/token", json=claims)).raise_for_status().json()["token"]
            http.headers["Authorization"] = f"Bearer {token}"
            yield cls(url, token, http)

    def make_socket(self) -> websocket.connect:
        """Return a connection that is not yet opened."""
        return websocket.connect(
            self.url.replace("http", "ws", 1) + "/ws",
            subprotocols=[Subprotocol("baton.v1"), Subprotocol(self.token)],
            open_timeout=PATIENCE_SECONDS,
            ping_interval=None,
            max_queue=None,
            proxy=None,
        )


async def run_over_sse(client: Client, tools: Sequence[dict[str, object]] = ()) -> tuple[float, str]:
    """Run a turn with client tools. Return the seconds to the first token (0 without one), and the outcome."""
    thread_id, run_id = str(uuid.uuid4()), str(uuid.uuid4())
    message = {"id": str(uuid.uuid4()), "role": "user", "content": QUESTION}
    body = {"threadId": thread_id, "runId": run_id, "messages": [message], "tools": tools, "context": [], "state": {}}
    began, first, outcome = time.perf_counter(), 0.0, "broken off"
    async with client.http.stream("POST", "/v1/runs", json={**body, "forwardedProps": {}}) as answer:
        if answer.status_code != 200:
            return 0.0, str(answer.status_code)
        async for line in answer.aiter_lines():
            if line.startswith("data:"):
                event = json.loads(line.removeprefix("data:"))
                if event["type"] == "TEXT_MESSAGE_CONTENT" and not first:
                    first = time.perf_counter() - began
                if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                    outcome = event.get("code", "answered")
    return first, outcome


async def run_over_socket(client: Client) -> tuple[float, str]:
    """Run a turn over a new connection. Return the seconds to the first token (0 without one), and the outcome.

    Raises ``TimeoutError`` if no event arrives for ``PATIENCE_SECONDS``.
    """
    async with client.make_socket() as socket:
        frame = {"threadId": str(uuid.uuid4()), "messageId": str(uuid.uuid4()), "content": QUESTION}
        began, first = time.perf_counter(), 0.0
        await socket.send(json.dumps({"action": "message", **frame}))
        while True:
            for event in parse_events(await asyncio.wait_for(socket.recv(), PATIENCE_SECONDS)):
                if event["type"] == "TEXT_MESSAGE_CONTENT" and not first:
                    first = time.perf_counter() - began
                if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                    return first, event.get("code", "answered")


async def _send_over_sse(client: Client) -> str:
    return (await run_over_sse(client))[1]


async def _send_over_websocket(client: Client) -> str:
    return (await run_over_socket(client))[1]


async def _import_session(client: Client) -> str:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    messages = [
        {
            "id": uuid.uuid4().hex,
            "role": "user" if number % 2 == 0 else "assistant",
            "content": f"{uuid.uuid4().hex[:6]} and the boat number {number} in the harbour of Bern.",
            "timestamp": (at + timedelta(minutes=number)).isoformat(),
        }
        for number in range(20)
    ]
    body = {"sessionId": uuid.uuid4().hex, "messages": messages}
    return str((await client.http.post("/v1/episodes/import", json=body)).status_code)


async def _upload_document(client: Client) -> str:
    content = f"{uuid.uuid4().hex}: the torque of a bolt. ".encode() * 200
    description = {
        "name": f"{uuid.uuid4().hex}.txt",
        "contentType": "text/plain",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    response = await client.http.post("/v1/agents/knowledge/documents", json=description)
    if response.is_success:
        upload = response.json()["upload"]
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False) as plain:
            await plain.request(upload["method"], upload["url"], headers=upload["headers"], content=content)
    return str(response.status_code)


async def _export_user(client: Client) -> str:
    return str((await client.http.get("/v1/users/me/export")).status_code)


async def _hold_socket(client: Client) -> str:
    """Open a connection, and wait until it is closed."""
    async with client.make_socket() as socket:
        await asyncio.wait_for(socket.wait_closed(), None)
    return "closed"


async def _cancel_run(client: Client) -> str:
    return str((await client.http.post(f"/v1/threads/{uuid.uuid4()}/cancel")).status_code)


async def _offer_tool(client: Client) -> str:
    parameters: dict[str, object] = {"type": "object", "allOf": [{}] * SUBSCHEMAS}
    name = f"tool_{uuid.uuid4().hex}"
    tools: list[dict[str, object]] = [{"name": name, "description": "A tool of a page.", "parameters": parameters}]
    return (await run_over_sse(client, tools))[1]


async def _send_parameters(client: Client) -> str:
    query = "&".join(f"p{number}={number}" for number in range(PARAMETERS))
    return str((await client.http.get(f"/v1/threads?{query}")).status_code)


FLOODS: dict[str, tuple[Act, int]] = {
    "WebSocket messages": (_send_over_websocket, AT_ONCE),
    "SSE runs": (_send_over_sse, AT_ONCE),
    "imports": (_import_session, AT_ONCE),
    "documents": (_upload_document, AT_ONCE),
    "exports": (_export_user, AT_ONCE),
    "cancels": (_cancel_run, AT_ONCE),
    "offers of tools": (_offer_tool, AT_ONCE),
    f"{SOCKETS} sockets": (_hold_socket, SOCKETS),
    f"{PARAMETERS:,} query parameters": (_send_parameters, AT_ONCE),
}
"""The request that is repeated, and the number of concurrent requests, by kind of flood."""


async def _flood(url: str, name: str, pipe: Connection) -> None:
    """Send a flood until the pipe receives something. Then send the outcomes through the pipe."""
    act, at_once = FLOODS[name]
    outcomes: Counter[str] = Counter()
    async with Client.of(url, FLOOD_TENANT, FLOOD_USER) as client:

        async def go_on() -> None:
            while True:
                try:
                    outcomes[await act(client)] += 1
                except (httpx.HTTPError, WebSocketException, OSError, TimeoutError) as error:
                    outcomes[type(error).__name__] += 1
                    await asyncio.sleep(0.1)

        flooding = [asyncio.create_task(go_on()) for _ in range(at_once)]
        await asyncio.sleep(WARM_UP_SECONDS)
        pipe.send("flooding")
        await asyncio.to_thread(pipe.recv)
        for task in flooding:
            task.cancel()
        await asyncio.gather(*flooding, return_exceptions=True)
    pipe.send(dict(outcomes))


def _run_flood(url: str, name: str, pipe: Connection) -> None:
    with contextlib.suppress(EOFError):
        asyncio.run(_flood(url, name, pipe))


async def measure(url: str, turns: int, tenant: str) -> list[float]:
    """Return the seconds to the first token of a user's turns, alternately over SSE and WebSocket.

    Raises ``RuntimeError`` if a turn fails.
    """
    seconds: list[float] = []
    async with Client.of(url, tenant, "bob") as client:
        for number in range(turns):
            first, outcome = await (run_over_sse if number % 2 else run_over_socket)(client)
            if outcome != "answered":
                raise RuntimeError(f"a turn of the other user ended with {outcome}")
            seconds.append(first)
            await asyncio.sleep(0.2)
    return seconds


def _measure_flood(context: SpawnContext, url: str, name: str, turns: int, tenant: str) -> list[str]:
    """Return the cells of the report for one kind of flood.

    Raises ``RuntimeError`` if a turn fails, and ``EOFError`` if the flood's process ends too early.
    """
    asyncio.run(measure(url, 4, tenant))  # the first turns load code
    alone = asyncio.run(measure(url, turns, tenant))
    ours, theirs = context.Pipe()
    process = context.Process(target=_run_flood, args=(url, name, theirs))
    process.start()
    theirs.close()  # so that a wait for a process that has ended fails
    with ours:
        ours.recv()
        during = asyncio.run(measure(url, turns, tenant))
        ours.send("stop")
        outcomes = ours.recv()
    process.join()
    outcome_counts = ", ".join(f"{outcome}: {count}" for outcome, count in sorted(outcomes.items()))
    times = [
        text
        for quiet, busy in (
            (statistics.median(alone), statistics.median(during)),
            (_find_p95(alone), _find_p95(during)),
        )
        for text in (f"{quiet * 1000:.0f}", f"{busy * 1000:.0f}", f"{busy / quiet:.2f}")
    ]
    return [name, *times, outcome_counts]


def _find_p95(seconds: Sequence[float]) -> float:
    """Return the 95th percentile of at least two times."""
    return statistics.quantiles(seconds, n=20, method="inclusive")[-1]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of the other user (default: %(default)s)")
    parser.add_argument("--only", choices=list(FLOODS), action="append", help="a kind of flood; default: all")
    parser.add_argument("--colleague", action="store_true", help="the other user is of the same tenant")
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    tenant = FLOOD_TENANT if arguments.colleague else "quiet"
    rows: list[list[str]] = []
    for name in arguments.only or FLOODS:
        with model_endpoint() as model, local_cloud(model) as url:  # a new cloud is not affected by the previous flood
            rows.append(_measure_flood(context, url, name, arguments.turns, tenant))
        print(" ".join(map(str, rows[-1])), flush=True)
    print(f"\nMeasured on {describe_machine()}.\n")
    columns = ["alone, ms", "during, ms", "ratio", "alone p95, ms", "during p95, ms", "ratio of p95"]
    print(format_table(["flood", *columns, "the flood's requests"], rows))


if __name__ == "__main__":
    main()
