"""The rate at which conversations are imported: ``python -m benchmarks.import_rate``.

Printed are, for sessions of twenty messages: the requests to DynamoDB of one import and of the closing of its session;
the sessions a minute through the local cloud, without embeddings and facts, until every episode is complete, and the
CPU time of one; the seconds of one request with 5,000 messages; and the CPU time of embedding one session.
"""

from __future__ import annotations

import argparse
import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]

from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.composition.app import build
from baton.domain.pipelines import PipelineLimits
from baton.pipelines.admission import Admission
from baton.pipelines.starts import AdmittedClosings
from baton.requests.session_import import imported_session
from benchmarks.capacity import Request
from benchmarks.chat_histories import history
from benchmarks.closing_cost import NotedExecutions
from benchmarks.report import machine, table
from benchmarks.turn_cost import SCOPE, MeteredPorts, started
from benchmarks.turn_latency import local_cloud, model_endpoint

SESSIONS = 500
MESSAGES = 20
AT_ONCE = 8
LONG = 5_000
WORDS = 30
"""Words of a message."""
PATIENCE_SECONDS = 900.0
POLL_SECONDS = 0.5
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def messages(count: int) -> list[dict[str, str]]:
    """Return the messages of a session. No two are equal."""
    return [
        {
            "id": uuid.uuid4().hex,
            "role": "user" if number % 2 == 0 else "assistant",
            "content": f"{uuid.uuid4().hex[:6]} is the boat number {number} in the harbour of Bern. " * (WORDS // 10),
            "timestamp": (BEGIN + timedelta(seconds=number)).isoformat(),
        }
        for number in range(count)
    ]


async def requests() -> str:
    """Return a table of the requests of an import and of the closing of its session, alone and behind others."""
    executions, rows = NotedExecutions(), []

    def configure(ports: MeteredPorts) -> None:
        limits = PipelineLimits(at_once=3, of_tenant=1)
        ports.admission = Admission(DynamoPipelineQueue(ports.table), executions, ports.clock, limits)
        ports.closings = AdmittedClosings(ports.admission)

    async with started(configure=configure) as baton:
        ports = baton.make_ports()
        ports.with_episode_facts = False
        app = build(ports)
        baton.meter.take()
        for name in ("import", "import, others wait", "import, others wait"):  # the first one takes the only place
            imported = imported_session(
                SCOPE,
                session_id=uuid.uuid4().hex,
                agent_id=None,
                messages=messages(MESSAGES),
                ended_at=None,
                now=ports.clock.now(),
            )
            await app.sessions.importer.run(SCOPE, imported)
            rows.append(_row(name, baton.meter.take()))
        for name in ("closing, others wait", "closing, others wait", "closing"):
            ended = executions.runs[-1].described
            await app.closing_events.step({"step": "whole", "session": ended}, seconds=600)
            rows.append(_row(name, baton.meter.take()))
    head = ["", "requests", "write units", "read units", "reads", "writes"]
    return table(head, [rows[0], rows[2], rows[3], rows[5]])


def _row(name: str, done: Sequence[Request]) -> tuple[object, ...]:
    written_together = {request.target for request in done if request.operation == "TransactWriteItems"}
    single = [request for request in done if request.operation != "TransactWriteItems"]
    reads = Counter(f"{request.operation} {request.target}" for request in single if request.reads)
    writes = Counter(f"{request.operation} {request.target}" for request in single if not request.reads)
    return (
        name,
        len(single) + len(written_together),
        sum(request.write_units for request in done),
        sum(request.read_units for request in done),
        _listed(reads),
        ", ".join((_listed(writes), *(f"TransactWriteItems {target}" for target in sorted(written_together)))),
    )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(name if number == 1 else f"{number} {name}" for name, number in sorted(counts.items()))


async def rate(sessions: int, at_once: int) -> list[tuple[object, ...]]:
    """Import sessions through the local cloud, and then a long one. Return the figures."""
    variables = {"BATON_EMBEDDING_MODEL": "off", "BATON_EPISODE_FACTS": "false"}
    with ExitStack() as stack:
        url = stack.enter_context(local_cloud(stack.enter_context(model_endpoint()), **variables))
        async with httpx.AsyncClient(base_url=url, timeout=300, trust_env=False) as http:
            asked = {"tenant": "imports", "user": "ada"}
            token = (await http.post("/local/token", json=asked)).raise_for_status().json()["token"]
            http.headers["Authorization"] = f"Bearer {token}"
            await _import_all(http, 5, 1)  # loads what the first ones load
            with _cpu_seconds() as used:
                began = time.perf_counter()
                stored = await _import_all(http, sessions, at_once)
                seconds = time.perf_counter() - began
            with _cpu_seconds() as used_by_long:
                began = time.perf_counter()
                await _send(http, messages(LONG))
                long_seconds = time.perf_counter() - began
    return [
        ("sessions a minute until stored", 60 * sessions / stored),
        ("sessions a minute until complete", 60 * sessions / seconds),
        ("CPU milliseconds of a session", 1_000 * used[0] / sessions),
        (f"seconds of a request with {LONG:,} messages", long_seconds),
        ("CPU seconds of it", used_by_long[0]),
    ]


async def _import_all(http: httpx.AsyncClient, sessions: int, at_once: int) -> float:
    """Import sessions and wait until their episodes are complete. Return the seconds until all were stored."""
    episodes: list[str] = []
    waiting = iter(range(sessions))

    async def work() -> None:
        episodes.extend([await _send(http, messages(MESSAGES)) for _ in waiting])

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    stored = time.perf_counter() - began
    while episodes:
        answer = (await http.get(f"/v1/episodes/{episodes[-1]}", params={"limit": 1})).raise_for_status().json()
        if answer["status"] == "complete":
            episodes.pop()
        elif time.perf_counter() - began > PATIENCE_SECONDS:
            raise TimeoutError(f"{len(episodes)} sessions are not complete")
        else:
            await asyncio.sleep(POLL_SECONDS)
    return stored


async def _send(http: httpx.AsyncClient, said: list[dict[str, str]]) -> str:
    body = {"sessionId": uuid.uuid4().hex, "messages": said}
    answer: dict[str, Any] = (await http.post("/v1/episodes/import", json=body)).raise_for_status().json()
    return str(answer["episodeId"])


@contextmanager
def _cpu_seconds() -> Iterator[list[float]]:
    """Yield a list that gets the CPU seconds of this process's children, and of theirs, during the block."""

    def used() -> float:
        times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
        return float(sum(each.user + each.system for each in times))

    before, spent = used(), [0.0]
    yield spent
    spent[0] = used() - before


async def embedding() -> list[tuple[object, ...]]:
    """Return the seconds of embedding a session by the local cloud's model, with the first one that loads it."""
    from baton.memory.episodes.episode_documents import episode_documents
    from baton_local.demo_model.sentence_encoder import SentenceEncoder

    encoder, rows = SentenceEncoder(), list[tuple[object, ...]]()
    made = history(0, sessions=30, questions=1).sessions
    said = [(episode, message) for episode, talk, _ in made for message in talk]
    for name, start in (("the first, which loads the model", 0), ("another", MESSAGES), ("another", 2 * MESSAGES)):
        talk = [message for _, message in said[start : start + MESSAGES]]
        documents = episode_documents(made[0][0], talk, None, ())
        texts = [view.text for document in documents for view in document.views.values()]
        began, before = time.perf_counter(), time.process_time()
        encoded = await encoder.encode(texts)
        seconds, cpu = time.perf_counter() - began, time.process_time() - before
        rows.append((name, len(texts), encoded.tokens, f"{seconds:.2f}", f"{cpu:.2f}"))
    return rows


async def main(sessions: int, at_once: int) -> None:
    """Print the tables."""
    print(f"Measured on {machine()}. Sessions of {MESSAGES} messages.\n")
    print(await requests())
    figures = await rate(sessions, at_once)
    print(f"\n{sessions} sessions, {at_once} requests at once, without embeddings and facts:\n")
    print(table(["", ""], figures))
    print("\nEmbedding a session, three views a message:\n")
    print(table(["session", "texts", "tokens", "seconds", "CPU seconds"], await embedding()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.import_rate", description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="requests at the same time")
    given = parser.parse_args()
    asyncio.run(main(given.sessions, given.at_once))
