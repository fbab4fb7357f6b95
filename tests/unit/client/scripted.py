"""A server of scripted answers, a clock that nobody waits for, and events as the server sends them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx

from baton_client import Baton
from baton_client._generated.synchronous import events, transport, waiting

Json = dict[str, Any]
Answer = httpx.Response | Exception | Callable[[httpx.Request], httpx.Response]

THREAD_ID = "550e8400-e29b-41d4-a716-446655440000"


class Clock:
    """A stand-in for the module ``time``: sleeping takes no time, and is counted."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Script(httpx.BaseTransport):
    """A transport that gives each request the next answer for its method and path; the last answer is repeated."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self._answers: dict[str, list[Answer]] = {}

    def answer(self, route: str, *answers: Answer) -> None:
        """Say what comes for ``route``: method, space, path; ``*`` for everything else."""
        self._answers[route] = list(answers)

    def sent(self, route: str) -> list[httpx.Request]:
        """Return the requests of a route."""
        return [request for request in self.requests if f"{request.method} {request.url.path}" == route]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        waiting_answers = self._answers.get(f"{request.method} {request.url.path}") or self._answers["*"]
        answer = waiting_answers.pop(0) if len(waiting_answers) > 1 else waiting_answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer(request) if callable(answer) else answer


class Pieces(httpx.SyncByteStream):
    """A body in pieces, which may break off."""

    def __init__(self, pieces: Iterable[bytes], error: BaseException | None = None) -> None:
        self._pieces = list(pieces)
        self._error = error

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._error is not None:
            raise self._error


def stream(*events: Json, error: BaseException | None = None) -> Answer:
    """The events of a stream, which ends with ``error`` if there is one."""
    pieces = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    headers = {"content-type": "text/event-stream"}
    return lambda _: httpx.Response(200, headers=headers, stream=Pieces(pieces, error))


def problem(status: int, code: str, **fields: Any) -> httpx.Response:
    """An answer that is an error."""
    headers = fields.pop("headers", {})
    return httpx.Response(status, json={"code": code, "detail": "Why.", **fields}, headers=headers)


def number_events(events: Iterable[Json], *, run_id: str = "run-1", start: int = 1, attempt: int = 1) -> list[Json]:
    """The events of a run with their metadata."""
    about = {"threadId": THREAD_ID, "runId": run_id, "attempt": attempt}
    return [
        {**event, "metadata": {**about, "seq": seq, **event.get("metadata", {})}}
        for seq, event in enumerate(events, start)
    ]


def make_message_events(*deltas: str, message_id: str = "m-1") -> list[Json]:
    """The events of one message."""
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant", "name": "Assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    ]


def thought(*deltas: str, message_id: str = "th-1") -> list[Json]:
    """The events of a block of visible thinking."""
    return [
        {"type": "REASONING_START", "messageId": message_id},
        {
            "type": "REASONING_MESSAGE_START",
            "messageId": message_id,
            "role": "reasoning",
            "metadata": {"agentId": "assistant", "agentName": "Assistant"},
        },
        *({"type": "REASONING_MESSAGE_CONTENT", "messageId": message_id, "delta": delta} for delta in deltas),
        {"type": "REASONING_MESSAGE_END", "messageId": message_id},
        {"type": "REASONING_END", "messageId": message_id},
    ]


def make_start(run_id: str = "run-1") -> Json:
    """The first event of a run."""
    return {"type": "RUN_STARTED", "threadId": THREAD_ID, "runId": run_id}


def make_end(run_id: str = "run-1", **fields: Any) -> Json:
    """The last event of a run."""
    return {"type": "RUN_FINISHED", "threadId": THREAD_ID, "runId": run_id, "outcome": {"type": "success"}, **fields}


def run(*deltas: str, run_id: str = "run-1", start: int = 1) -> list[Json]:
    """The events of a run that says something."""
    return number_events(
        [make_start(run_id), *make_message_events(*deltas), make_end(run_id)], run_id=run_id, start=start
    )


class Served:
    """A client, what answers it, and its clock."""

    def __init__(self, script: Script, clock: Clock, client: Baton) -> None:
        self.script = script
        self.clock = clock
        self.client = client

    @staticmethod
    def modules_with_time() -> tuple[Any, ...]:
        """The modules that wait."""
        return events, transport, waiting
